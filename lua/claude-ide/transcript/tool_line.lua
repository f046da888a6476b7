-- A tool call in one line: its name, the argument that says most, how it went and how long that took. Pure.

local M = {}

---@class claude-ide.transcript.ToolLine
---@field name string
---@field argument string
---@field detail string "+3 −1", "lines 10-40"; may be empty
---@field status string "ok", "failed", …
---@field group string the status's
---@field duration string may be empty
---@field asked string how long it waited for the user besides, "+14 s asked"; may be empty
---@field path? string absolute, of the file it is about
---@field lnum? integer where in that file

---@type table<claude-ide.sessions.ToolStatus, { [1]: string, [2]: string }>
local STATUS = {
  done = { "ok", "ClaudeTranscriptOk" },
  failed = { "failed", "ClaudeTranscriptFailed" },
  rejected = { "rejected", "ClaudeTranscriptRejected" },
  changed = { "changed by you", "ClaudeTranscriptOk" },
  running = { "running", "ClaudeTranscriptRunning" },
  void = { "no result", "ClaudeTranscriptDim" },
}

---A wait that is shorter is none.
local LEAST_WAIT_MS = 100

---Arguments that name what a call is about, the most telling first. For tools that this file does not know.
local TELLING = {
  "command",
  "file_path",
  "notebook_path",
  "path",
  "pattern",
  "url",
  "query",
  "description",
  "skill",
  "name",
  "prompt",
}

---@param value any
---@return string? nil: no text, or an empty one
local function text_of(value)
  if type(value) ~= "string" then
    return nil
  end
  local text = require("claude-ide.transcript.text").summary(value)
  return text ~= "" and text or nil
end

---A duration to the precision that matters.
---@param milliseconds integer
---@return string
function M.duration(milliseconds)
  if milliseconds < 0 then
    return ""
  elseif milliseconds < 9950 then
    return ("%.1f s"):format(milliseconds / 1000)
  elseif milliseconds < 119500 then
    return ("%.0f s"):format(milliseconds / 1000)
  end
  local minutes = math.floor(milliseconds / 60000 + 0.5)
  if minutes < 120 then
    return ("%d min"):format(minutes)
  end
  return ("%d h %d min"):format(math.floor(minutes / 60), minutes % 60)
end

---@param path string
---@param cwd? string the session's
---@return string
function M.shown_path(path, cwd)
  if cwd and vim.startswith(path, cwd:gsub("/$", "") .. "/") then
    return path:sub(#cwd:gsub("/$", "") + 2)
  end
  local home = vim.env.HOME
  if home and home ~= "" and vim.startswith(path, home .. "/") then
    return "~" .. path:sub(#home + 1)
  end
  return path
end

---Bytes of a new file whose lines are counted.
local MOST_COUNTED = 512 * 1024

---@param content any of a new file
---@return string
local function new_detail(content)
  if type(content) ~= "string" then
    return "new"
  elseif #content > MOST_COUNTED then
    return "new, " .. require("claude-ide.sessions.phrases").size(#content)
  end
  local _, breaks = content:gsub("\n", "")
  return ("new, +%d"):format(breaks + (content:sub(-1) == "\n" and 0 or 1))
end

---What a change of a file amounts to.
---@param block claude-ide.sessions.Block
---@return string
---@return integer? lnum of the first change
local function change_detail(block)
  local outcome = block.result and block.result.outcome
  if not outcome or outcome.type ~= "file_change" then
    return ""
  elseif outcome.created and not outcome.others then
    return new_detail(type(block.input) == "table" and block.input.content)
  end
  local hunks = outcome.hunks or {}
  local detail = ("+%d −%d"):format(outcome.added or 0, outcome.removed or 0)
  local others = #(outcome.others or {})
  if others > 0 then
    detail = ("%s, and %d more %s"):format(detail, others, others == 1 and "file" or "files")
  end
  if outcome.user_modified then
    detail = detail .. ", changed by you"
  end
  return detail, hunks[1] and hunks[1].new_start
end

---@param input table
---@return string
---@return integer? lnum
local function read_detail(input)
  local first = tonumber(input.offset) --[[@as integer?]]
  local count = tonumber(input.limit) --[[@as integer?]]
  if first and count then
    return ("lines %d-%d"):format(first, first + count - 1), first
  elseif first then
    return ("from line %d"):format(first), first
  elseif count then
    return ("%d lines"):format(count)
  end
  return ""
end

---@param todos any
---@return string?
local function todo_summary(todos)
  if type(todos) ~= "table" then
    return nil
  end
  local done, now = 0, nil
  for _, todo in ipairs(todos) do
    if type(todo) == "table" then
      done = done + (todo.status == "completed" and 1 or 0)
      now = now or todo.status == "in_progress" and text_of(todo.activeForm or todo.content) or nil
    end
  end
  local counted = ("%d of %d done"):format(done, #todos)
  return now and ("%s, now: %s"):format(counted, now) or counted
end

---@type table<string, fun(input: table, block: claude-ide.sessions.Block): string?>
local ARGUMENTS = {
  Grep = function(input)
    local pattern, path = text_of(input.pattern), text_of(input.path or input.glob)
    return pattern and path and ("%s in %s"):format(pattern, path) or pattern
  end,
  TodoWrite = function(input)
    return todo_summary(input.todos)
  end,
  AskUserQuestion = function(_, block)
    return text_of(require("claude-ide.transcript.question").line(block))
  end,
  Agent = function(input)
    return text_of(input.description) or text_of(input.prompt)
  end,
  ExitPlanMode = function()
    return "the plan"
  end,
  Skill = function(input)
    return text_of(input.skill) or text_of(input.command)
  end,
}
ARGUMENTS.Task = ARGUMENTS.Agent
ARGUMENTS.Plan = ARGUMENTS.TodoWrite -- of other agents

---@param input table
---@return string
local function any_argument(input)
  for _, name in ipairs(TELLING) do
    local text = text_of(input[name])
    if text then
      return text
    end
  end
  local first, said = nil, nil ---@type string?, string?
  for name, value in pairs(input) do
    name = tostring(name)
    local text = (not first or name < first) and text_of(value)
    if text then
      first, said = name, text
    end
  end
  return said or ""
end

---An agent may describe a call by words that begin with what its tool is called: "Search for callers".
---@param argument string
---@param name string
---@param input table
---@return string
local function without_name(argument, name, input)
  local first, rest = argument:match("^(%a+)%s+(%S.*)$")
  local is_said_twice = first and first:lower() == name:lower() and argument == text_of(input.description)
  return is_said_twice and rest or argument
end

---As much of an argument as a line has room for.
---@param argument string
---@return string
function M.fitted(argument)
  return require("claude-ide.sessions.phrases").fit(argument, 160)
end

---The name as a user reads it: "mcp__ide__getDiagnostics" is "ide: getDiagnostics".
---@param name string
---@return string
local function shown_name(name)
  local server, tool = name:match("^mcp__(.-)__(.+)$")
  return server and ("%s: %s"):format(server, tool) or name
end

---Whether a call changes a file: it is shown as a diff.
---@param block claude-ide.sessions.Block
---@return boolean
function M.is_edit(block)
  local outcome = block.result and block.result.outcome
  if outcome and outcome.type == "file_change" then
    return true
  end
  local input = block.input
  return type(input) == "table"
    and type(input.file_path) == "string"
    and (
      type(input.content) == "string"
      or type(input.new_string) == "string"
      or type(input.edits) == "table"
    )
end

---How long a call took, without what its session waited for the user meanwhile; and that wait.
---@param block claude-ide.sessions.Block
---@param waited? fun(start: integer, stop: integer): integer
---@return string duration
---@return string asked
local function times(block, waited)
  local start, stop = block.start, block["end"]
  if not start or not stop or block.status == "running" then
    return "", ""
  end
  -- One in the background goes on while the user is asked.
  local wait = waited and not block.background and waited(start, stop) or 0
  if wait < LEAST_WAIT_MS then
    return M.duration(stop - start), ""
  end
  return M.duration(stop - start - wait), ("+%s asked"):format(M.duration(wait))
end

---@param block claude-ide.sessions.Block a tool_use
---@param cwd? string the session's: paths below it are shown without it
---@param is_ended? boolean nobody runs it any more
---@param waited? fun(start: integer, stop: integer): integer milliseconds that the session waited for the user
---@return claude-ide.transcript.ToolLine
function M.of(block, cwd, is_ended, waited)
  local input = type(block.input) == "table" and block.input or {}
  local status = STATUS[block.status or "running"]
  if status == STATUS.running and is_ended then
    status = STATUS.void
  end
  local outcome = block.result and block.result.outcome
  local path = outcome and outcome.type == "file_change" and outcome.path
    or text_of(input.file_path)
    or text_of(input.notebook_path)
  local detail, lnum = change_detail(block)
  if detail == "" and path then
    detail, lnum = read_detail(input)
  end
  local argument
  if path then
    argument = M.shown_path(path, cwd)
  else
    local specific = ARGUMENTS[block.name]
    argument = specific and specific(input, block) or any_argument(input)
    argument = without_name(argument, block.name or "", input)
  end
  local duration, asked = times(block, waited)
  return {
    name = shown_name(block.name or "?"),
    argument = argument or "",
    detail = detail,
    status = status[1],
    group = status[2],
    duration = duration,
    asked = asked,
    path = path,
    lnum = lnum,
  }
end

return M
