-- What the line of a call does not say of its arguments: one entry for each kind of call, the first that is meant. Pure.

local M = {}

local text = require("claude-ide.transcript.text")

local BODY = 4

---@class claude-ide.transcript.ToolInput
---@field is fun(input: table, block: claude-ide.sessions.Block): boolean
---@field add fun(item: claude-ide.transcript.Item, input: table, line: claude-ide.transcript.ToolLine)

---@type claude-ide.transcript.ToolInput
local COMMAND = {
  is = function(input)
    return type(input.command) == "string"
  end,
  add = function(item, input, line)
    local lines = text.lines(input.command)
    item.code = lines
    if #lines > 1 or require("claude-ide.transcript.tool_line").fitted(line.argument) ~= line.argument then
      item:block(lines, BODY, "ClaudeTranscriptInput", "sh")
    end
  end,
}

---@type claude-ide.transcript.ToolInput
local PLAN = {
  is = function(input)
    return type(input.plan) == "string"
  end,
  add = function(item, input)
    item:block(text.lines(input.plan), BODY, nil, "markdown")
  end,
}

---@type claude-ide.transcript.ToolInput
local AGENT = {
  is = function(input)
    return type(input.prompt) == "string" and input.subagent_type ~= nil
  end,
  add = function(item, input)
    item:block(text.lines(input.prompt), BODY, "ClaudeTranscriptInput")
  end,
}

local SIGNS = { completed = "[x]", in_progress = "[-]" }

---@type claude-ide.transcript.ToolInput
local TODOS = {
  is = function(input, block)
    return block.name == "TodoWrite" and type(input.todos) == "table"
  end,
  add = function(item, input)
    for _, todo in ipairs(input.todos) do
      if type(todo) == "table" then
        local what = text.one_line(tostring(todo.content or ""))
        local group = todo.status == "completed" and "ClaudeTranscriptDim" or "ClaudeTranscriptInput"
        item:line(("%s%s %s"):format((" "):rep(BODY), SIGNS[todo.status] or "[ ]", what), group, BODY)
      end
    end
  end,
}

---@param value any
---@return string
local function json(value)
  local ok, encoded = pcall(vim.json.encode, value)
  return ok and encoded or tostring(value)
end

---@type claude-ide.transcript.ToolInput
local ANY = {
  is = function()
    return true
  end,
  add = function(item, input, line)
    local names = vim.tbl_keys(input)
    table.sort(names, function(left, right)
      return tostring(left) < tostring(right)
    end)
    for _, name in ipairs(names) do
      local value = input[name]
      local shown = type(value) == "string" and value or json(value)
      local lines = text.lines(shown)
      local said = line.path or line.argument:find(text.one_line(shown), 1, true)
      if #lines == 1 and not said then
        local row = item:line(("%s%s: %s"):format((" "):rep(BODY), name, lines[1]))
        item:mark(row, "ClaudeTranscriptDim", BODY, BODY + #tostring(name) + 1)
      elseif #lines > 1 then
        item:line(("%s%s:"):format((" "):rep(BODY), name), "ClaudeTranscriptDim", BODY)
        item:block(lines, BODY + 2, "ClaudeTranscriptInput")
      end
    end
  end,
}

local KINDS = { COMMAND, PLAN, AGENT, TODOS, ANY }

---@param item claude-ide.transcript.Item
---@param block claude-ide.sessions.Block
---@param line claude-ide.transcript.ToolLine
function M.add(item, block, line)
  local input = block.input
  if type(input) ~= "table" then
    return
  end
  for _, kind in ipairs(KINDS) do
    if kind.is(input, block) then
      return kind.add(item, input, line)
    end
  end
end

return M
