-- Steps put into the history of a file after the fact.
local M = {}

---@return table
local function histories()
  return require("claude-ide.journal.history")
end

---@param history claude-ide.journal.History
---@param index integer where it will stand
---@param step claude-ide.journal.Step
---@param bytes? string
function M.insert(history, index, step, bytes)
  step.blob = bytes and require("claude-ide.journal.blob").put(bytes, history.secret)
  table.insert(history.steps, index, step)
end

---A checkpoint tells what a file held before a turn, or a part of it, changed it. What was found in the file in between, as an
---edit of it was announced, was written by a command of that turn.
---@param history claude-ide.journal.History
---@param before? string nil: there was no file
---@param turn integer
---@param taken? number when the checkpoint was complete; nil: not that of the turn's start
function M.began_with(history, before, turn, taken)
  local steps, from, first, last = history.steps, 0, 0, 0
  for i = history.decided.at, #steps do
    if histories().bytes(steps[i]) == before then
      from = i
    end
    if steps[i].turn == turn then
      first, last = first == 0 and i or first, i
    end
  end
  -- One that was not complete when the edit was announced may hold what the edit wrote.
  local is_start = taken ~= nil and history.announced ~= nil and taken < history.announced
  if
    from == 0
    and is_start
    and first > 1
    and steps[first - 1].actor == "person"
    and first - 1 >= history.decided.at
  then
    from = first - 1
    if from == history.decided.at and from > 1 then
      return -- reviewed as it was
    end
    M.insert(history, from, { actor = "person" }, before)
    last = last + 1
  elseif from == 0 then
    return
  end
  local amended = false
  for i = from + 1, last - 1 do
    if steps[i].actor == "person" then
      steps[i].actor, steps[i].turn, amended = "claude", turn, true
    end
  end
  if amended then
    histories().amended(history)
  end
end

return M
