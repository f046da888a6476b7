-- Whether an agent may use a tool, with the answers that it offers. An edit of one file is shown as our diff, one of several as a
-- changeset; what the person makes of it is written by the editor, since this protocol has no way to say it, and the agent is told.
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

---@param option table
---@return boolean
local function is_allowing(option)
  return tostring(option.kind):find("^allow") ~= nil
end

---@param options table[]
---@param option? table
---@return table result
local function selected(options, option)
  -- One that refuses and is named as one that allows could be taken for that.
  local is_doubtful = option
    and not is_allowing(option)
    and vim.iter(options):any(function(other)
      return is_allowing(other) and other.optionId == option.optionId
    end)
  return {
    outcome = option and not is_doubtful and { outcome = "selected", optionId = option.optionId }
      or { outcome = "cancelled" },
  }
end

---@param call table
---@return table[]
local function diffs_of(call)
  return vim.tbl_filter(function(content)
    return type(content) == "table" and content.type == "diff" and type(content.path) == "string"
  end, type(call.content) == "table" and call.content or {})
end

---Places of a call that are named.
local MOST_PLACES = 20

---@param asked claude-ide.chat.AskedLines
---@param content table
local function add_content(asked, content)
  local inner = type(content.content) == "table" and content.content or {}
  if content.type == "diff" then
    asked:add(tostring(content.path), "ClaudeTranscriptNotice")
    asked:add_change(
      type(content.oldText) == "string" and content.oldText or nil,
      tostring(content.newText or "")
    )
  elseif content.type == "content" and type(inner.text) == "string" then
    asked:add(inner.text)
  end
end

---@param call table
---@return { [1]: string, [2]: string? }[]
local function lines_of(call)
  local asked = require("claude-ide.chat.asked_lines").new()
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  if type(call.title) == "string" and call.title ~= "" then
    asked:add(call.title, "ClaudeTranscriptInput")
  end
  local command = input.command
  command = type(command) == "table" and table.concat(vim.tbl_map(tostring, command), " ") or command
  if type(command) == "string" and command ~= call.title then
    asked:add(command, "ClaudeTranscriptInput")
  end
  for _, content in ipairs(type(call.content) == "table" and call.content or {}) do
    if type(content) == "table" then
      add_content(asked, content)
    end
  end
  local places = type(call.locations) == "table" and call.locations or {}
  for at, location in ipairs(places) do
    if at > MOST_PLACES then
      asked:add(("… and %d more places"):format(#places - MOST_PLACES), "ClaudeTranscriptDim")
      break
    end
    asked:add(tostring(type(location) == "table" and location.path or "?"), "ClaudeTranscriptDim")
  end
  for _, name in ipairs({ "description", "url", "query", "pattern", "path" }) do
    if type(input[name]) == "string" and input[name] ~= call.title then
      asked:add_argument(name .. ": ", input[name], "ClaudeTranscriptArgument")
    end
  end
  return asked.lines
end

---An agent that offers no way to refuse is told that nobody chose.
local NEITHER = { name = "None of these", kind = "reject_once" }

---The answers that a person has.
---@param options table[] of the agent
---@return table[]
local function choices_of(options)
  local can_refuse = vim.iter(options):any(function(option)
    return not is_allowing(option)
  end)
  return can_refuse and options or vim.list_extend(vim.list_slice(options), { NEITHER })
end

---Answers that have a key.
local MOST_KEYS = 9

---@param permission claude-ide.chat.acp.Permission
---@param settle fun(option: table)
local function choose_among_the_rest(permission, settle)
  require("claude-ide.ui.choose").select(vim.list_slice(permission.options, MOST_KEYS + 1), {
    prompt = ("%s asks for permission"):format(permission.chat.name),
    format_item = function(option)
      return tostring(option.name)
    end,
  }, function(option)
    if option then
      settle(option)
    end
  end)
end

---@param permission claude-ide.chat.acp.Permission
---@return claude-ide.chat.panel.Text
local function text_of(permission)
  local actions, taken = {}, {} ---@type claude-ide.chat.panel.Action[], table<string, true>
  ---@param option table
  local function settle(option)
    local answer = { outcome = is_allowing(option) and "accepted" or "rejected", option = option } ---@type claude-ide.chat.Answer
    if require("claude-ide.decisions").settle(permission, answer) then
      require("claude-ide.chat.panel").close(permission)
    end
  end
  for at, option in ipairs(vim.list_slice(permission.options, 1, MOST_KEYS)) do
    local keys = {}
    for _, key in ipairs(KEYS[option.kind] or {}) do
      if not taken[key] then
        taken[key], keys[#keys + 1] = true, key
      end
    end
    keys[#keys + 1] = tostring(at)
    actions[#actions + 1] = {
      keys = keys,
      desc = tostring(option.name),
      run = function()
        settle(option)
      end,
    }
  end
  if #permission.options > MOST_KEYS then
    actions[#actions + 1] = {
      keys = { "m" },
      desc = ("%d more …"):format(#permission.options - MOST_KEYS),
      run = function()
        choose_among_the_rest(permission, settle)
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

---For somebody who does not see the panel.
---@type claude-ide.decisions.Remote
local remote = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.acp.Permission
    local choices, words = {}, {} ---@type claude-ide.decisions.Choice[], string[]
    for at, option in ipairs(decision.options) do
      -- Words that go with a no are the next prompt.
      choices[at] =
        { id = "option:" .. at, label = tostring(option.name), message = not is_allowing(option) or nil }
    end
    for at, line in ipairs(lines_of(decision.call)) do
      words[at] = line[1]
    end
    return {
      kind = "permission",
      title = ("%s asks for permission"):format(decision.chat.name),
      text = table.concat(words, "\n"),
      choices = choices,
    }
  end,
  answer = function(decision, answer)
    ---@cast decision claude-ide.chat.acp.Permission
    local at = tonumber(answer.choice:match("^option:(%d+)$")) --[[@as integer]]
    local option = decision.options[at]
    if not option then
      return "there is no such choice"
    end
    require("claude-ide.decisions").settle_elsewhere(decision, {
      outcome = is_allowing(option) and "accepted" or "rejected",
      option = option,
      words = answer.message,
    } --[[@as claude-ide.chat.Answer]])
  end,
}

---@param request claude-ide.chat.acp.Request
local function ask_in_panel(request)
  local decisions = require("claude-ide.decisions")
  decisions.register(
    KIND,
    require("claude-ide.chat.panel").presenter("permission", "permissions", text_of, function()
      return remote
    end)
  )
  decisions.ask(KIND, request.chat.asker, request, {
    chat = request.chat,
    call = request.params.toolCall or {},
    options = choices_of(request.params.options or {}),
  })
end

---@param request claude-ide.chat.acp.Request
---@param respond claude-ide.chat.acp.Answer
---@return fun(answer?: claude-ide.decisions.Answer, err?: string)
local function answers_of(request, respond)
  local chat, params = request.chat, request.params
  local call, options = params.toolCall or {}, params.options or {}
  local path = (diffs_of(call)[1] or {}).path
  local function refuse(option, status)
    chat.refused[call.toolCallId or ""] = status or "rejected"
    option = option or option_of(options, { "reject_once", "reject_always" })
    respond(selected(options, option ~= NEITHER and option or nil))
  end
  local function allow(option)
    chat.acp.unasked = chat.acp.unasked or option and option.kind == "allow_always" or nil
    option = option or option_of(options, { "allow_once", "allow_always" })
    chat.granted[call.toolCallId or ""] = option and true or nil
    if not option then
      require("claude-ide.ui.notice").error(("%s offers no way to allow it: nothing was."):format(chat.name))
    end
    respond(selected(options, option))
  end
  ---@param answer claude-ide.changeset.Answer
  local function took(answer)
    local became = require("claude-ide.chat.acp.changeset").became(answer)
    for _, one in ipairs(became) do
      if answer.written and one.accepted then
        require("claude-ide.chat.acp.written").reviewed(chat, one.path)
      elseif one.accepted then
        chat.acp.accepted[one.path] = one.bytes
      end
    end
    if not answer.written then
      return allow()
    end
    refuse(nil, "changed")
    require("claude-ide.chat.acp.changed").tell(chat, became, answer.report.words)
  end
  return function(answer, err)
    local words = chat.asker_words
    chat.asker_words = nil
    local option = answer and answer.option ---@diagnostic disable-line: undefined-field -- of our own panel
    if not answer or err or answer.outcome == "closed" then
      return respond(selected(options, nil))
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
    if answer.jobs then ---@diagnostic disable-line: undefined-field -- of a changeset
      return took(answer --[[@as claude-ide.changeset.Answer]])
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
      return respond(selected(options, nil))
    end
    refuse(nil, "changed")
    local became = { path = path, proposed = proposed, accepted = accepted }
    require("claude-ide.chat.acp.changed").tell(chat, { became })
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
  local with_lf = require("claude-ide.buffer.bytes").with_lf
  local request = {
    chat = chat,
    id = id,
    params = params,
    otherwise = ask_in_panel,
    ask = {
      tool_name = is_new and "Write" or "Edit",
      tool_use_id = call.toolCallId,
      input = {
        file_path = diff.path,
        content = is_new and diff.newText or nil,
        -- The file is compared with LF line ends.
        old_string = not is_new and with_lf(diff.oldText) or nil,
        new_string = not is_new and with_lf(tostring(diff.newText)) or nil,
        replace_all = input.replace_all == true,
      },
    },
  } --[[@as claude-ide.chat.acp.Request]]
  request.reply =
    require("claude-ide.chat.acp.answered").anyway(respond, "a permission", answers_of(request, respond))
  if require("claude-ide.chat.acp.changeset").ask(request, call, diffs, ask_in_panel) then
    return
  elseif #diffs == 1 then
    return require("claude-ide.chat.edit").ask(request)
  end
  ask_in_panel(request)
end

return M
