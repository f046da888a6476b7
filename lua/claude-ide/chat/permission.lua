-- Whether a tool may be used: a kind of decision. Allowed once, or always by a rule that the agent suggests, or not, with a word.
local M = {}

local KIND = "permission"

---@class claude-ide.chat.Permission : claude-ide.Decision
---@field ask table the agent's own words
---@field panel claude-ide.chat.Panel

---Where a rule is kept, for the person.
---@type table<string, string>
local DESTINATIONS = {
  session = "this session",
  localSettings = ".claude/settings.local.json",
  projectSettings = ".claude/settings.json",
  userSettings = "your settings",
  cliArg = "this run",
}

---What a suggestion of the agent's would mean.
---@param suggestion table
---@return string
function M.describe(suggestion)
  local where = DESTINATIONS[suggestion.destination] or tostring(suggestion.destination or "?")
  if suggestion.type == "setMode" then
    return ("mode %s (%s)"):format(suggestion.mode, where)
  elseif suggestion.type == "addDirectories" then
    return ("work in %s (%s)"):format(table.concat(suggestion.directories or {}, ", "), where)
  end
  local rules = vim.tbl_map(function(rule)
    return rule.ruleContent and ("%s(%s)"):format(rule.toolName, rule.ruleContent) or tostring(rule.toolName)
  end, suggestion.rules or {})
  return ("%s %s (%s)"):format(suggestion.behavior or "allow", table.concat(rules, ", "), where)
end

---@param ask table
---@return string
local function name_of(ask)
  local server, tool = tostring(ask.tool_name):match("^mcp__(.-)__(.+)$")
  return server and ("%s of %s"):format(tool, server) or ask.display_name or ask.tool_name
end

---@param value any
---@return string
local function shown(value)
  if type(value) == "string" then
    return value
  end
  local ok, text = pcall(vim.json.encode, value)
  return ok and text or tostring(value)
end

---@param ask table
---@return { [1]: string, [2]: string? }[]
local function lines_of(ask)
  local lines, input = {}, type(ask.input) == "table" and ask.input or {}
  local main = input.command or input.url or input.file_path or input.path or input.pattern
  if main then
    lines[1] = { shown(main), "ClaudeTranscriptInput" }
  end
  local names = vim.tbl_keys(input)
  table.sort(names, function(left, right)
    return tostring(left) < tostring(right)
  end)
  for _, name in ipairs(names) do
    if input[name] ~= main and name ~= "description" then
      lines[#lines + 1] = { ("%s: %s"):format(name, shown(input[name])), "ClaudeTranscriptArgument" }
    end
  end
  local why = input.description or ask.description
  if type(why) == "string" and why ~= main then
    lines[#lines + 1] = { why, "ClaudeTranscriptDim" }
  end
  if type(ask.decision_reason) == "string" then
    local reason = ask.decision_reason:gsub("\27%[[%d;]*m", "")
    lines[#lines + 1] = { "Asked because: " .. reason, "ClaudeTranscriptNotice" }
  end
  if ask.blocked_path then
    lines[#lines + 1] = { "It needs: " .. shown(ask.blocked_path), "ClaudeTranscriptNotice" }
  end
  return lines
end

---@param permission claude-ide.chat.Permission
---@param answer claude-ide.chat.Answer
local function settle(permission, answer)
  if require("claude-ide.decisions").settle(permission, answer) then
    require("claude-ide.chat.panel").close(permission)
  end
end

---@param permission claude-ide.chat.Permission
local function allow_always(permission)
  local suggestions = permission.ask.permission_suggestions
  require("claude-ide.ui.choose").select(suggestions, {
    prompt = "Allow from now on",
    format_item = M.describe,
  }, function(choice, index)
    if choice and index then
      settle(permission, { outcome = "accepted", always = { index - 1 } })
    end
  end)
end

---@param permission claude-ide.chat.Permission
local function deny_with_words(permission)
  vim.ui.input({ prompt = "Why not? " }, function(text)
    if text and vim.trim(text) ~= "" then
      if permission.state == "pending" then
        settle(permission, { outcome = "rejected", message = vim.trim(text) })
      else
        require("claude-ide.ui.kept_words").give_back(text, "The question is gone")
      end
    end
  end)
end

---@param permission claude-ide.chat.Permission
---@return claude-ide.chat.panel.Text
local function text_of(permission)
  local ask = permission.ask
  local suggestions = ask.permission_suggestions
  local allow = {
    keys = { "y" },
    desc = "allow once",
    run = function()
      settle(permission, { outcome = "accepted" })
    end,
  }
  local deny = {
    keys = { "n" },
    desc = "deny, and stop",
    run = function()
      settle(permission, { outcome = "rejected" })
    end,
  }
  -- Where the agent says that a no is the safe answer, that stands first, and Enter is it.
  local first = ask.default_to_no and deny or allow
  if ask.default_to_no then
    deny.keys = { "n", "<CR>" }
  end
  local is_asked_each_time = ask.suppress_always_allow_rule or ask.requires_user_interaction
  local actions = { first, first == allow and deny or allow }
  if type(suggestions) == "table" and #suggestions > 0 and not is_asked_each_time then
    table.insert(actions, 2, {
      keys = { "a" },
      desc = "allow always …",
      run = function()
        allow_always(permission)
      end,
    })
  end
  vim.list_extend(actions, {
    {
      keys = { "r" },
      desc = "deny and say why",
      run = function()
        deny_with_words(permission)
      end,
    },
    {
      keys = { "q", "<Esc>" },
      desc = "later",
      run = function()
        require("claude-ide.chat.panel").hide()
      end,
    },
  })
  return {
    title = ("%s wants to use %s"):format(
      ask.agent_id and "A subagent" or permission.source.name,
      name_of(ask)
    ),
    lines = lines_of(ask),
    actions = actions,
  }
end

---Asks the person.
---@param request claude-ide.chat.Request
function M.ask(request)
  require("claude-ide.decisions").register(
    KIND,
    require("claude-ide.chat.panel").presenter("permission", "permissions", text_of)
  )
  require("claude-ide.decisions").ask(KIND, request.chat.asker, request, { ask = request.ask })
end

return M
