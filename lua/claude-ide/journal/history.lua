-- The history of each file that Claude was about to edit: its text after every step, and whose step it was.
-- Invariant: what is still unreviewed is known from the last mark on, whatever older steps were dropped for space.
local M = {}

---A file with so many steps forgets its oldest.
local MAX_STEPS = 100

---@class claude-ide.journal.Step
---@field actor "claude"|"person"|"accepted"
---@field blob? integer nil: there was no file
---@field turn? integer of Claude's steps

---What was unreviewed at one step.
---@class claude-ide.journal.Mark
---@field at integer
---@field base integer the last step at which nothing was
---@field regions claude-ide.journal.Region[]

---@class claude-ide.journal.History
---@field path string as it was named first
---@field steps claude-ide.journal.Step[]
---@field mark claude-ide.journal.Mark
---@field turn? integer the turn that announced an edit and is not over: changes on disk are Claude's
---@field source "announced"|"checkpoint"
---@field secret boolean a file that is kept from Claude: its texts stay off the disk

---@type table<string, claude-ide.journal.History> by path with links followed
local histories = {}

---@param path string
---@return claude-ide.journal.History?
function M.find(path)
  if next(histories) == nil then
    return nil
  end
  return histories[require("claude-ide.path").real(path)]
end

---@return claude-ide.journal.History[] by path
function M.all()
  local list = vim.tbl_values(histories)
  table.sort(list, function(left, right)
    return left.path < right.path
  end)
  return list
end

---@param step claude-ide.journal.Step
---@return string[]
local function lines_of(step)
  local bytes = step.blob and require("claude-ide.journal.blob").get(step.blob)
  return require("claude-ide.journal.merge").decode(bytes or "")
end

---The bytes after a step; nil where there was no file.
---@param step claude-ide.journal.Step
---@return string?
function M.bytes(step)
  return step.blob and require("claude-ide.journal.blob").get(step.blob)
end

---Brings the mark up to the last step.
---@param history claude-ide.journal.History
local function fold(history)
  local merge, steps, mark = require("claude-ide.journal.merge"), history.steps, history.mark
  if mark.at >= #steps then
    return
  end
  local lines = lines_of(steps[mark.at])
  for i = mark.at + 1, #steps do
    local new = lines_of(steps[i])
    mark.regions = merge.drop_gone(merge.advance(mark.regions, lines, new, steps[i].actor))
    mark.at, lines = i, new
    mark.base = #mark.regions == 0 and i or mark.base
  end
end

---Forgets the oldest step; the mark never points at one that is gone.
---@param history claude-ide.journal.History
local function forget_oldest(history)
  fold(history)
  local old = table.remove(history.steps, 1)
  history.mark.at, history.mark.base = history.mark.at - 1, math.max(history.mark.base - 1, 1)
  if old.blob then
    require("claude-ide.journal.blob").drop(old.blob)
  end
end

---Makes room: old steps of reviewed files first, then reviewed files, then old steps of others, then the others.
local function make_room()
  local is_full = require("claude-ide.journal.blob").is_full
  if not is_full() then
    return
  end
  for _, keep in ipairs({ 1, 0 }) do
    for _, reviewed_only in ipairs({ true, false }) do
      for key, history in pairs(histories) do
        fold(history)
        while is_full() and #history.steps > 1 and (not reviewed_only or #history.mark.regions == 0) do
          forget_oldest(history)
        end
        if
          is_full()
          and keep == 0
          and not history.turn
          and (not reviewed_only or #history.mark.regions == 0)
        then
          forget_oldest(history)
          histories[key] = nil
        end
      end
    end
  end
end

---Notes what a file holds now.
---@param history claude-ide.journal.History
---@param actor "claude"|"person"|"accepted"
---@param bytes? string nil: there is no file
---@param turn? integer
---@return boolean changed
function M.record(history, actor, bytes, turn)
  local last = history.steps[#history.steps]
  if last and M.bytes(last) == bytes then
    return false
  end
  history.steps[#history.steps + 1] = {
    actor = actor,
    blob = bytes and require("claude-ide.journal.blob").put(bytes, history.secret),
    turn = turn,
  }
  if #history.steps > MAX_STEPS then
    forget_oldest(history)
  end
  make_room()
  return true
end

---The history of a file; a new one begins with what the file holds now.
---@param path string
---@param bytes? string nil: there is no file yet
---@param source "announced"|"checkpoint"
---@return claude-ide.journal.History
---@return boolean is_new
function M.open(path, bytes, source)
  local key = require("claude-ide.path").real(path)
  local history = histories[key]
  if history then
    return history, false
  end
  history = {
    path = path,
    steps = {},
    mark = { at = 1, base = 1, regions = {} },
    source = source,
    secret = require("claude-ide.selection.privacy").denied_by(path) ~= nil,
  }
  histories[key] = history
  M.record(history, "person", bytes)
  return history, true
end

---@param history claude-ide.journal.History
---@return claude-ide.journal.Region[] of the last step's text
---@return integer first the first step that is not reviewed
function M.unreviewed(history)
  fold(history)
  return history.mark.regions, history.mark.base + 1
end

---Sets what is unreviewed of the text that was recorded last.
---@param history claude-ide.journal.History
---@param regions claude-ide.journal.Region[]
function M.set_unreviewed(history, regions)
  local last = #history.steps
  history.mark = { at = last, base = #regions == 0 and last or history.mark.base, regions = regions }
end

---What of the last step's text some of Claude's steps changed, with all other steps taken as the person's.
---@param history claude-ide.journal.History
---@param counts fun(step: claude-ide.journal.Step): boolean
---@return claude-ide.journal.Region[]
---@return integer? first the first step that counts; nil: none does
function M.changed_by(history, counts)
  local merge, regions, first = require("claude-ide.journal.merge"), {}, nil
  local lines = {} ---@type string[]
  for i = 2, #history.steps do
    local step = history.steps[i]
    local is_claude = step.actor ~= "person" and counts(step)
    if is_claude and not first then
      first, lines = i, lines_of(history.steps[i - 1])
    end
    if first then
      local new = lines_of(step)
      regions = merge.drop_gone(merge.advance(regions, lines, new, is_claude and "claude" or "person"))
      lines = new
    end
  end
  return regions, first
end

return M
