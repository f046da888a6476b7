-- Replays the steps of a file's history: which lines of its text are Claude's after them.
local M = {}

---@param step claude-ide.journal.Step
---@return string[]
local function lines_of(step)
  local bytes = step.blob and (require("claude-ide.journal.blob").get(step.blob) or "")
  return require("claude-ide.journal.merge").decode(bytes or nil)
end

---An undo can bring back a text that was there before, with nothing of the user's in between: then what was Claude's in
---it is Claude's again, line by line.
---@param history claude-ide.journal.History
---@param index integer of the undo
---@return integer? earlier
local function same_before(history, index)
  local steps = history.steps
  local get = require("claude-ide.journal.blob").get
  local bytes = get(steps[index].blob)
  for i = index - 1, 1, -1 do
    if get(steps[i].blob) == bytes then
      return i
    elseif steps[i].actor == "user" or steps[i].actor == "accepted" then
      return nil
    end
  end
end

---Carries regions through steps.
---@param history claude-ide.journal.History
---@param mark claude-ide.journal.Mark where it begins
---@param last integer where it ends
---@param actor_of fun(index: integer): claude-ide.journal.Actor
---@return claude-ide.journal.Mark
---@return claude-ide.journal.Mark before the last step
function M.run(history, mark, last, actor_of)
  local merge, steps = require("claude-ide.journal.merge"), history.steps
  local passed = { [mark.at] = mark } ---@type table<integer, claude-ide.journal.Mark>
  local lines = lines_of(steps[mark.at])
  for i = mark.at + 1, last do
    local new, before = lines_of(steps[i]), passed[i - 1]
    local same = steps[i].actor == "undo" and same_before(history, i) or 0
    local earlier = passed[same] ---@type claude-ide.journal.Mark?
    if earlier then
      passed[i] = { at = i, base = #earlier.regions == 0 and i or earlier.base, regions = earlier.regions }
    else
      local regions = merge.drop_gone(merge.advance(before.regions, lines, new, actor_of(i)))
      passed[i] = { at = i, base = #regions == 0 and i or before.base, regions = regions }
    end
    lines = new
  end
  return passed[math.max(last, mark.at)], passed[math.max(last - 1, mark.at)]
end

---Whether an undo took back only what counts.
---@param history claude-ide.journal.History
---@param index integer of the undo
---@param counts fun(step: claude-ide.journal.Step): boolean
---@return boolean
local function is_undo_of(history, index, counts)
  local undone = history.steps[index].undone or {}
  for i = 2, index - 1 do
    local step = history.steps[i]
    if step.turn and undone[step.turn] and not counts(step) then
      return false
    end
  end
  return true
end

---What some of Claude's steps changed, with all other steps taken as the user's.
---@param history claude-ide.journal.History
---@param count integer of `history.length()`
---@param counts fun(step: claude-ide.journal.Step): boolean
---@return claude-ide.journal.Region[] of the text after so many steps
---@return integer? first the first step that counts; nil: none does
function M.changed_by(history, count, counts)
  ---@param index integer
  ---@return claude-ide.journal.Actor
  local function actor_of(index)
    local step = history.steps[index]
    if step.actor == "undo" then
      return is_undo_of(history, index, counts) and "claude" or "undo"
    end
    return step.actor ~= "user" and counts(step) and "claude" or "user"
  end
  for i = 2, count do
    if history.steps[i].actor ~= "undo" and actor_of(i) == "claude" then
      return M.run(history, { at = i - 1, base = i - 1, regions = {} }, count, actor_of).regions, i
    end
  end
  return {}, nil
end

return M
