-- What an agent wants to do, in a window with the answers that it offers; or for somebody who does not see the window.
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

---@param option table
---@return boolean
function M.is_allowing(option)
  return tostring(option.kind):find("^allow") ~= nil
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
  elseif content.type == "text" and type(content.text) == "string" then
    asked:add(content.text) -- as the protocol's own example of a plan has it
  end
end

---@param call table
---@param what_for? claude-ide.chat.AskedLines.For
---@return claude-ide.chat.AskedLines
local function asked_of(call, what_for)
  local asked = require("claude-ide.chat.asked_lines").new(what_for)
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  if type(call.title) == "string" and call.title ~= "" then
    asked:add(call.title, "ClaudeTranscriptInput")
  end
  local command = input.command
  command = type(command) == "table" and table.concat(vim.tbl_map(tostring, command), " ") or command
  if type(command) == "string" and command ~= call.title then
    asked:add(command, "ClaudeTranscriptInput")
  end
  local has_diff = false
  for _, content in ipairs(type(call.content) == "table" and call.content or {}) do
    if type(content) == "table" then
      has_diff = has_diff or content.type == "diff"
      add_content(asked, content)
    end
  end
  local places = type(call.locations) == "table" and call.locations or {}
  for at, location in ipairs(places) do
    if at > MOST_PLACES and not what_for then
      asked.is_cut = true
      asked:add(("… and %d more places"):format(#places - MOST_PLACES), "ClaudeTranscriptDim")
      break
    end
    asked:add(tostring(type(location) == "table" and location.path or "?"), "ClaudeTranscriptDim")
  end
  local names = has_diff and { "description", "path" } or vim.tbl_keys(input) -- the texts of an edit are in its diff
  table.sort(names, function(left, right)
    return tostring(left) < tostring(right)
  end)
  for _, name in ipairs(names) do
    local value = input[name]
    if name ~= "command" and value ~= nil and value ~= call.title then
      asked:add_argument(("%s: "):format(name), value, "ClaudeTranscriptArgument")
    end
  end
  return asked
end

---An agent that offers no way to refuse is told that nobody chose: it has no name for this.
local NEITHER = { name = "None of these", kind = "reject_once" }

---The answers that a user has.
---@param options table[] of the agent
---@return table[]
local function choices_of(options)
  local can_refuse = vim.iter(options):any(function(option)
    return not M.is_allowing(option)
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
---@param is_whole boolean
---@return claude-ide.chat.panel.Text
local function text_of(permission, is_whole)
  local actions, taken = {}, {} ---@type claude-ide.chat.panel.Action[], table<string, true>
  ---@param option table
  local function settle(option)
    local answer = { outcome = M.is_allowing(option) and "accepted" or "rejected", option = option } ---@type claude-ide.chat.Answer
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
      allows = M.is_allowing(option),
      run = function()
        settle(option)
      end,
    }
  end
  if #permission.options > MOST_KEYS then
    actions[#actions + 1] = {
      keys = { "m" },
      desc = ("%d more …"):format(#permission.options - MOST_KEYS),
      allows = true,
      run = function()
        choose_among_the_rest(permission, settle)
      end,
    }
  end
  actions[#actions + 1] = require("claude-ide.chat.panel").later()
  local asked = asked_of(permission.call, is_whole and "whole" or nil)
  return {
    title = ("%s asks for permission"):format(permission.chat.name),
    lines = asked.lines,
    is_cut = asked.is_cut,
    actions = actions,
  }
end

---For somebody who does not see the panel.
---@type claude-ide.decisions.Remote
local remote = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.acp.Permission
    local choices = {} ---@type claude-ide.decisions.Choice[]
    local asked = asked_of(decision.call, "page")
    for at, option in ipairs(decision.options) do
      local is_yes = M.is_allowing(option)
      if not (is_yes and asked.is_cut) then
        -- Words that go with a no are the next prompt.
        choices[#choices + 1] =
          { id = "option:" .. at, label = tostring(option.name), message = not is_yes or nil }
      end
    end
    return {
      kind = "permission",
      title = ("%s asks for permission"):format(decision.chat.name),
      text = asked:text(),
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
      outcome = M.is_allowing(option) and "accepted" or "rejected",
      option = option,
      words = answer.message,
    } --[[@as claude-ide.chat.Answer]])
  end,
}

---Asks the user, whatever the call is.
---@param request claude-ide.chat.acp.Request
function M.ask(request)
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

return M
