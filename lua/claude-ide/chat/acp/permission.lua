-- Whether an agent may use a tool, with the answers that it offers. An edit of one file is shown as our diff; what the person
-- makes of it is written by the editor, since this protocol has no way to say it, and the agent is told.
local M = {}

local KIND = "agent_permission"

---@class claude-ide.chat.acp.Permission : claude-ide.Decision
---@field chat claude-ide.chat.Chat
---@field call table the call as the agent has it
---@field options table[]

---@type table<string, string[]>
local KEYS = {
  allow_once = { "y" },
  allow_always = { "a" },
  reject_once = { "n" },
  reject_always = { "N" },
}

---@param options table[]
---@param kinds string[] the first that is offered
---@return table?
local function option_of(options, kinds)
  for _, kind in ipairs(kinds) do
    for _, option in ipairs(options) do
      if option.kind == kind then
        return option
      end
    end
  end
end

---@param option? table
---@return table result
local function selected(option)
  return {
    outcome = option and { outcome = "selected", optionId = option.optionId } or { outcome = "cancelled" },
  }
end

---@param call table
---@return table[]
local function diffs_of(call)
  return vim.tbl_filter(function(content)
    return type(content) == "table" and content.type == "diff" and type(content.path) == "string"
  end, type(call.content) == "table" and call.content or {})
end

---@param lines { [1]: string, [2]: string? }[]
---@param text string
---@param sign string
---@param group? string
local function add_lines(lines, text, sign, group)
  local all = vim.split((text:gsub("\n$", "")), "\n", { plain = true })
  for at, line in ipairs(all) do
    if at > 200 then
      lines[#lines + 1] = { ("… %d more lines"):format(#all - 200), "ClaudeTranscriptDim" }
      return
    end
    lines[#lines + 1] = { sign .. line, group }
  end
end

---@param call table
---@return { [1]: string, [2]: string? }[]
local function lines_of(call)
  local lines = {}
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  if type(call.title) == "string" and call.title ~= "" then
    add_lines(lines, call.title, "", "ClaudeTranscriptInput")
  end
  local command = input.command
  command = type(command) == "table" and table.concat(vim.tbl_map(tostring, command), " ") or command
  if type(command) == "string" and command ~= call.title then
    add_lines(lines, command, "", "ClaudeTranscriptInput")
  end
  for _, content in ipairs(type(call.content) == "table" and call.content or {}) do
    if content.type == "diff" then
      lines[#lines + 1] = { tostring(content.path), "ClaudeTranscriptNotice" }
      if type(content.oldText) == "string" then
        add_lines(lines, content.oldText, "-", "ClaudeTranscriptRemoved")
      end
      add_lines(lines, tostring(content.newText or ""), "+", "ClaudeTranscriptAdded")
    elseif content.type == "content" and type((content.content or {}).text) == "string" then
      add_lines(lines, content.content.text, "")
    end
  end
  for _, location in ipairs(type(call.locations) == "table" and call.locations or {}) do
    lines[#lines + 1] = { tostring(location.path), "ClaudeTranscriptDim" }
  end
  for _, name in ipairs({ "description", "url", "query", "pattern", "path" }) do
    if type(input[name]) == "string" and input[name] ~= call.title then
      lines[#lines + 1] = { ("%s: %s"):format(name, input[name]), "ClaudeTranscriptArgument" }
    end
  end
  return lines
end

---@param permission claude-ide.chat.acp.Permission
---@return claude-ide.chat.panel.Text
local function text_of(permission)
  local actions, taken = {}, {} ---@type claude-ide.chat.panel.Action[], table<string, true>
  for at, option in ipairs(permission.options) do
    local keys = {}
    for _, key in ipairs(KEYS[option.kind] or {}) do
      if not taken[key] then
        taken[key], keys[#keys + 1] = true, key
      end
    end
    if at <= 9 then
      keys[#keys + 1] = tostring(at)
    end
    actions[#actions + 1] = {
      keys = keys,
      desc = tostring(option.name),
      run = function()
        local is_allowed = tostring(option.kind):find("^allow") ~= nil
        local answer = { outcome = is_allowed and "accepted" or "rejected", option = option } ---@type claude-ide.chat.Answer
        if require("claude-ide.decisions").settle(permission, answer) then
          require("claude-ide.chat.panel").close(permission)
        end
      end,
    }
  end
  actions[#actions + 1] = require("claude-ide.chat.panel").later()
  return {
    title = ("%s asks for permission"):format(permission.chat.name),
    lines = lines_of(permission.call),
    actions = actions,
  }
end

---@param request claude-ide.chat.acp.Request
local function ask_in_panel(request)
  local decisions = require("claude-ide.decisions")
  decisions.register(KIND, require("claude-ide.chat.panel").presenter("permission", "permissions", text_of))
  decisions.ask(KIND, request.chat.asker, request, {
    chat = request.chat,
    call = request.params.toolCall or {},
    options = request.params.options or {},
  })
end

---@param request claude-ide.chat.acp.Request
---@param respond claude-ide.chat.acp.Answer
---@return fun(answer?: claude-ide.decisions.Answer, err?: string)
local function answers_of(request, respond)
  local chat, params = request.chat, request.params
  local call, options = params.toolCall or {}, params.options or {}
  local path = (diffs_of(call)[1] or {}).path
  local function refuse(option)
    chat.rejected[call.toolCallId or ""] = true
    respond(selected(option or option_of(options, { "reject_once", "reject_always" })))
  end
  local function allow(option)
    chat.granted[call.toolCallId or ""] = true
    chat.acp.unasked = chat.acp.unasked or option and option.kind == "allow_always" or nil
    respond(selected(option or option_of(options, { "allow_once", "allow_always" })))
  end
  return function(answer, err)
    local words = chat.asker_words
    chat.asker_words = nil
    local option = answer and answer.option ---@diagnostic disable-line: undefined-field -- of our own panel
    if not answer or err or answer.outcome == "closed" then
      return respond(selected(nil))
    elseif answer.outcome ~= "accepted" then
      refuse(option)
      words = answer.words or words
      if words and vim.trim(words) ~= "" then
        -- No answer of this protocol takes words along: they are the next prompt.
        local content = { { type = "text", text = require("claude-ide.position").valid(words) } }
        if not chat:say(words, content) then
          require("claude-ide.ui.kept_words").give_back(words, ("%s is gone"):format(chat.name))
        end
      end
      return
    end
    local proposed, accepted = request.proposed, answer.contents
    if not proposed or not accepted or accepted == proposed then
      if path and accepted then
        chat.acp.accepted[path] = accepted
      end
      return allow(option)
    end
    local ok, why = require("claude-ide.chat.acp.files").put(chat, path, accepted)
    if not ok then
      require("claude-ide.ui.notice").error(("%s was not written: %s."):format(path, why or "unknown"))
      return respond(selected(nil))
    end
    refuse()
    require("claude-ide.chat.acp.changed").tell(chat, path, proposed, accepted)
  end
end

---@param chat claude-ide.chat.Chat
---@param params table
---@param respond claude-ide.chat.acp.Answer
---@param id string
function M.ask(chat, params, respond, id)
  local call = params.toolCall or {}
  local diffs = diffs_of(call)
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  local diff = diffs[1] or {}
  local is_new = type(diff.oldText) ~= "string"
  local request = {
    chat = chat,
    id = id,
    params = params,
    otherwise = ask_in_panel,
    ask = {
      tool_name = is_new and "Write" or "Edit",
      input = {
        file_path = diff.path,
        content = is_new and diff.newText or nil,
        -- The file is compared with LF line ends.
        old_string = not is_new and diff.oldText:gsub("\r\n", "\n") or nil,
        new_string = not is_new and tostring(diff.newText):gsub("\r\n", "\n") or nil,
        replace_all = input.replace_all == true,
      },
    },
  } --[[@as claude-ide.chat.acp.Request]]
  request.reply = answers_of(request, respond)
  if #diffs == 1 then
    return require("claude-ide.chat.edit").ask(request)
  end
  ask_in_panel(request)
end

return M
