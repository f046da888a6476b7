-- What the line of a call does not say of its arguments: one entry for each kind of call, the first that is meant. Pure.

local M = {}

local BODY = 4

---Arguments that are looked at.
local MOST_NAMES = 200

---@class claude-ide.transcript.ToolInput
---@field is fun(input: table, block: claude-ide.sessions.Block): boolean
---@field add fun(item: claude-ide.transcript.Item, input: table, call: claude-ide.transcript.Call, room: claude-ide.transcript.Room)

---@class claude-ide.transcript.Argument
---@field name string
---@field indent integer
---@field group? string
---@field language? string

---Adds lines of an argument, and what is left out of it.
---@param item claude-ide.transcript.Item
---@param lines string[]
---@param note? string
---@param argument claude-ide.transcript.Argument
---@param call claude-ide.transcript.Call
local function add_lines(item, lines, note, argument, call)
  item:block(lines, argument.indent, argument.group, argument.language)
  item:more(call.context, call.at, note, argument.indent, argument.name)
end

---@type claude-ide.transcript.ToolInput
local COMMAND = {
  is = function(input)
    return type(input.command) == "string"
  end,
  add = function(item, input, call, room)
    item.code = input.command
    local lines, note = room:lines(input.command)
    local argument = call.line.argument
    local is_cut = vim.endswith(argument, "…")
      or require("claude-ide.transcript.tool_line").fitted(argument) ~= argument
    if #lines > 1 or note or is_cut then
      local shown = { name = "command", indent = BODY, group = "ClaudeTranscriptInput", language = "sh" }
      add_lines(item, lines, note, shown, call)
    end
  end,
}

---@type claude-ide.transcript.ToolInput
local PLAN = {
  is = function(input)
    return type(input.plan) == "string"
  end,
  add = function(item, input, call, room)
    local lines, note = room:lines(input.plan)
    add_lines(item, lines, note, { name = "plan", indent = BODY, language = "markdown" }, call)
  end,
}

---@type claude-ide.transcript.ToolInput
local AGENT = {
  is = function(input)
    return type(input.prompt) == "string" and input.subagent_type ~= nil
  end,
  add = function(item, input, call, room)
    local lines, note = room:lines(input.prompt)
    add_lines(item, lines, note, { name = "prompt", indent = BODY, group = "ClaudeTranscriptInput" }, call)
  end,
}

local SIGNS = { completed = "[x]", in_progress = "[-]" }

---@type claude-ide.transcript.ToolInput
local TODOS = {
  is = function(input, block)
    local is_list = block.name == "TodoWrite" or block.name == "Plan"
    return is_list and type(input.todos) == "table"
  end,
  add = function(item, input, call)
    local text = require("claude-ide.transcript.text")
    for at, todo in ipairs(input.todos) do
      if at > MOST_NAMES then
        return item:more(call.context, call.at, text.left_note(#input.todos - MOST_NAMES, 0), BODY, "todos")
      elseif type(todo) == "table" then
        local what = text.summary(tostring(todo.content or ""))
        local group = todo.status == "completed" and "ClaudeTranscriptDim" or "ClaudeTranscriptInput"
        item:line(("%s%s %s"):format((" "):rep(BODY), SIGNS[todo.status] or "[ ]", what), group, BODY)
      end
    end
  end,
}

---The names of the arguments, in their order.
---@param input table
---@return string[] names
---@return integer left how many more there are
local function names_of(input)
  local names, left = {}, 0
  for name in pairs(input) do
    if #names < MOST_NAMES then
      names[#names + 1] = name
    else
      left = left + 1
    end
  end
  table.sort(names, function(one, other)
    return tostring(one) < tostring(other)
  end)
  return names, left
end

---@type claude-ide.transcript.ToolInput
local ANY = {
  is = function()
    return true
  end,
  add = function(item, input, call, room)
    local text, line = require("claude-ide.transcript.text"), call.line
    local names, more = names_of(input)
    for _, name in ipairs(names) do
      local value = input[name]
      local shown, cut = value, nil
      if type(value) ~= "string" then
        shown, cut = room:json(value)
      end
      local lines, note = room:lines(shown)
      note = cut or note
      local label = (" "):rep(BODY) .. text.summary(tostring(name)) .. ":"
      local said = not note and (line.path or line.argument:find(text.summary(shown), 1, true))
      if #lines == 1 and not said then
        local row = item:line(label .. " " .. lines[1])
        item:mark(row, "ClaudeTranscriptDim", BODY, #label)
      elseif #lines > 1 or note then
        item:line(label, "ClaudeTranscriptDim", BODY)
        item:block(lines, BODY + 2, "ClaudeTranscriptInput")
      end
      item:more(call.context, call.at, note, BODY + 2, name)
    end
    if more > 0 then
      item:line(("%s… %d more arguments"):format((" "):rep(BODY), more), "ClaudeTranscriptDim", BODY)
    end
  end,
}

local KINDS = { COMMAND, PLAN, AGENT, TODOS, ANY }

---@param item claude-ide.transcript.Item
---@param call claude-ide.transcript.Call
function M.add(item, call)
  local input = call.block.input
  if type(input) ~= "table" then
    return
  end
  for _, kind in ipairs(KINDS) do
    if kind.is(input, call.block) then
      return kind.add(item, input, call, require("claude-ide.transcript.room").new())
    end
  end
end

return M
