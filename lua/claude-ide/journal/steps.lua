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

---Files in which an edit of a turn, when it was announced, met what nobody had seen there before.
---@param turn integer
---@param since number `vim.uv.hrtime()`
---@return string[] paths with links followed
function M.met_in(turn, since)
  local met = {}
  for _, history in ipairs(histories().all()) do
    local is_met, is_edited = false, history.turn == turn
    for _, step in ipairs(history.steps) do
      is_met = is_met or step.actor == "user" and (step.at or 0) > since
      is_edited = is_edited or step.turn == turn
    end
    met[#met + 1] = is_met and is_edited and history.real or nil
  end
  return met
end

---A checkpoint tells what a file held before a turn, or a part of it, changed it. What was found in the file in between, as an
---edit of it was announced, was written by a command of that turn.
---@param history claude-ide.journal.History
---@param change claude-ide.journal.FoundChange
---@param turn integer
function M.began_with(history, change, turn)
  local steps, before, from, first, last = history.steps, change.before, 0, 0, 0
  for i = history.decided.at, #steps do
    if steps[i].turn == turn then
      first, last = first == 0 and i or first, i
    end
  end
  for i = history.decided.at, last - 1 do
    if histories().bytes(steps[i]) == before then
      from = i
    elseif steps[i].at and steps[i].at < change.since then
      from = 0 -- it held something else by then
    end
  end
  -- A checkpoint that was not complete when the edit was announced may hold what the edit wrote, and one within the turn what
  -- the turn had made of the file by then.
  local is_older = history.announced ~= nil
    and change.taken < history.announced
    and first > 0
    and (change.is_start or (steps[first].at or 0) > change.taken)
  if
    from == 0
    and is_older
    and first > 1
    and steps[first - 1].actor == "user"
    and first - 1 >= history.decided.at
  then
    from = first - 1
    if from == history.decided.at and from > 1 then
      return -- reviewed as it was
    end
    M.insert(history, from, { actor = "user" }, before)
    last = last + 1
  elseif from == 0 then
    return
  end
  local amended = false
  for i = from + 1, last - 1 do
    if steps[i].actor == "user" then
      steps[i].actor, steps[i].turn, amended = "claude", turn, true
    end
  end
  if amended then
    histories().amended(history)
  end
end

return M
