-- What an agent wants allowed, in words: the tool, its arguments, and the rules that it suggests.
local M = {}

---Where a rule is kept, for the user.
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

---Whether words say no more than an argument: where the model gave none, the CLI takes the beginning of the command (2.1.329).
---@param words string
---@param argument any
---@return boolean
local function is_beginning(words, argument)
  return type(argument) == "string" and vim.startswith(argument, (words:gsub("…$", "")))
end

---@param ask table
---@param what_for? claude-ide.chat.AskedLines.For
---@return claude-ide.chat.AskedLines
function M.asked(ask, what_for)
  local asked = require("claude-ide.chat.asked_lines").new(what_for)
  local input = type(ask.input) == "table" and ask.input or {}
  local main = input.command or input.url or input.file_path or input.path or input.pattern
  if main then
    asked:add_argument("", main, "ClaudeTranscriptInput")
  end
  local names = vim.tbl_keys(input)
  table.sort(names, function(left, right)
    return tostring(left) < tostring(right)
  end)
  for _, name in ipairs(names) do
    if input[name] ~= main and name ~= "description" then
      asked:add_argument(("%s: "):format(name), input[name], "ClaudeTranscriptArgument")
    end
  end
  local why = input.description or ask.description
  if type(why) == "string" and not is_beginning(why, main) then
    asked:add(why, "ClaudeTranscriptDim")
  end
  if type(ask.decision_reason) == "string" then
    local reason = require("claude-ide.native").plain_text(ask.decision_reason) or ask.decision_reason
    asked:add("Asked because: " .. reason, "ClaudeTranscriptNotice")
  end
  if ask.tool_name == "ExitPlanMode" then
    asked:add("There is no plan.", "ClaudeTranscriptNotice")
  end
  if ask.blocked_path then
    asked:add_argument("It needs: ", ask.blocked_path, "ClaudeTranscriptNotice")
  end
  return asked
end

---@param permission claude-ide.chat.Permission
---@return string
function M.title(permission)
  local ask = permission.ask
  local who = ask.agent_id and "A subagent" or permission.source.name
  if ask.tool_name == "ExitPlanMode" then
    return who .. " wants to leave plan mode" -- one with a plan is shown as such
  end
  return ("%s wants to use %s"):format(who, name_of(ask))
end

return M
