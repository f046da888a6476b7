-- Puts the items of open subagents below their line in the call that started them.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")

local M = {}

---Indent of what is within a call.
local INDENT = 4
local BLANKS = (" "):rep(INDENT)

---@param agent claude-ide.transcript.AgentView
---@return string
local function state_of(agent)
  if agent.err then
    return agent.err --[[@as string]]
  elseif agent.loading then
    return "reading …"
  end
  local shown = counted(agent.count, "message")
  return agent.left_out > 0 and ("%s · %d before: gf shows all"):format(shown, agent.left_out) or shown
end

---@generic T
---@param part T of an item
---@param fields table
---@return T
local function with(part, fields)
  return vim.tbl_extend("force", part, fields)
end

---Appends an item of a subagent, indented, with its marks, folds and targets.
---@param into claude-ide.transcript.Item
---@param item claude-ide.transcript.Item
---@param owner claude-ide.transcript.Source that has it
local function append(into, item, owner)
  local from = #into.lines
  for _, line in ipairs(item.lines) do
    into.lines[#into.lines + 1] = line == "" and "" or BLANKS .. line
  end
  for _, mark in ipairs(item.marks) do
    local indent = item.lines[mark.row + 1] == "" and 0 or INDENT
    local end_col = mark.end_col and mark.end_col + indent
    table.insert(
      into.marks,
      with(mark, { row = mark.row + from, col = mark.col + indent, end_col = end_col })
    )
  end
  for _, fold in ipairs(item.folds) do
    local left = vim.list_slice(fold.left)
    left[1] = left[1] and { BLANKS .. left[1][1], left[1][2] }
    local key = ("%s/%s"):format(item.key, fold.key)
    table.insert(
      into.folds,
      with(fold, { key = key, first = fold.first + from, last = fold.last + from, left = left })
    )
  end
  for _, prose in ipairs(item.prose) do
    table.insert(into.prose, with(prose, { row = prose.row + from, indent = prose.indent + INDENT }))
  end
  for _, target in ipairs(item.targets) do
    local fields = { first = target.first + from, last = target.last + from, owner = target.owner or owner }
    table.insert(into.targets, with(target, fields))
  end
end

---@param view claude-ide.transcript.View
---@param item claude-ide.transcript.Item a call
---@param at integer the subagent's line
---@param agent claude-ide.transcript.AgentView
---@return claude-ide.transcript.Item
local function with_agent(view, item, at, agent)
  local lines = vim.list_slice(item.lines, 1, at + 1)
  lines[at + 1] = ("%s · %s"):format(lines[at + 1], state_of(agent))
  local shown = with(item, { lines = lines, marks = {}, folds = {}, prose = {}, targets = {} })
  for _, nested in ipairs(M.embed(view, agent.items)) do
    append(shown, nested, agent.source or view.source)
  end
  local more = #shown.lines - at - 1
  if more > 0 then
    local left = { { lines[at + 1], "ClaudeTranscriptAgent" } }
    table.insert(
      shown.folds,
      { key = "agent", first = at, last = at + more, closed = false, left = left, right = {} }
    )
  end
  vim.list_extend(shown.lines, item.lines, at + 2)
  local function placed(row)
    return row > at and row + more or row
  end
  for _, fold in ipairs(item.folds) do
    local last = fold.last >= at and fold.last + more or fold.last
    table.insert(shown.folds, with(fold, { first = placed(fold.first), last = last }))
  end
  for _, target in ipairs(item.targets) do
    table.insert(shown.targets, with(target, { first = placed(target.first), last = placed(target.last) }))
  end
  for _, kind in ipairs({ "marks", "prose" }) do
    for _, part in ipairs(item[kind]) do
      table.insert(shown[kind], with(part, { row = placed(part.row) }))
    end
  end
  return shown
end

---Items with those of open subagents.
---@param view claude-ide.transcript.View
---@param items claude-ide.transcript.Item[]
---@return claude-ide.transcript.Item[]
function M.embed(view, items)
  return vim.tbl_map(function(item)
    local line = vim.iter(item.targets):find(function(target)
      return target.type == "agent" and not target.call
    end)
    local agent = line and view.agents[line.tool_id]
    return agent and agent.open and with_agent(view, item, line.first, agent) or item
  end, items)
end

return M
