-- How much of what Claude changed waits for a review, kept up to date file by file: it is asked for after each edit of a turn,
-- and a turn may have hundreds of files.
local M = {}

---What nobody tells of (another program wrote a file, a buffer was changed and saved) is looked for at most so often.
local LOOK_AGAIN_NS = 1e9

---@class claude-ide.journal.Counts
---@field files integer
---@field hunks integer
---@field conflicts integer

---@type table<claude-ide.journal.History, claude-ide.journal.Counts>
local by_history = {}
---@type claude-ide.journal.Counts
local sum = { files = 0, hunks = 0, conflicts = 0 }
---Those that had unsaved changes when they were looked at.
---@type table<claude-ide.journal.History, true>
local were_unsaved = {}
---When all were looked at.
local looked = 0

---@param counts claude-ide.journal.Counts
---@param sign 1|-1
local function add(counts, sign)
  sum.files = sum.files + sign * counts.files
  sum.hunks = sum.hunks + sign * counts.hunks
  sum.conflicts = sum.conflicts + sign * counts.conflicts
end

---@param change claude-ide.journal.Change
---@return claude-ide.journal.Counts
local function count(change)
  local hunks = 0
  for _, hunk in ipairs(change.hunks) do
    hunks = hunks + (hunk.state ~= "gone" and 1 or 0)
  end
  return { files = 1, hunks = hunks, conflicts = change.conflicts }
end

---@param history claude-ide.journal.History
---@param unsaved claude-ide.journal.UnsavedBuffers
local function look(history, unsaved)
  local before = by_history[history]
  if before then
    add(before, -1)
  end
  local known = require("claude-ide.journal.history").knows(history)
  local change = known and require("claude-ide.journal.changes").of(history, "unreviewed", unsaved) or nil
  local counts = change and count(change) or nil
  by_history[history] = counts
  if counts then
    add(counts, 1)
  end
end

---Worked out anew for what changed alone, and for what has unsaved changes.
---@return claude-ide.journal.Counts
function M.get()
  local stale = require("claude-ide.journal.changed").take()
  local histories, now = require("claude-ide.journal.history"), vim.uv.hrtime()
  if stale and next(stale) == nil then
    return vim.deepcopy(sum)
  end
  local unsaved = require("claude-ide.journal.changes").unsaved()
  local are_unsaved = {} ---@type table<claude-ide.journal.History, true>
  for name in pairs(unsaved) do
    local history = histories.find(name)
    if history then
      are_unsaved[history] = true
    end
  end
  local look_too = vim.tbl_extend("keep", are_unsaved, were_unsaved)
  were_unsaved = are_unsaved
  if not stale or now - looked > LOOK_AGAIN_NS then
    by_history, sum = {}, { files = 0, hunks = 0, conflicts = 0 }
    for _, history in ipairs(histories.all()) do
      look(history, unsaved)
    end
    looked = vim.uv.hrtime()
    return vim.deepcopy(sum)
  end
  for history in pairs(vim.tbl_extend("keep", stale, look_too)) do
    look(history, unsaved)
  end
  return vim.deepcopy(sum)
end

return M
