-- How much of what Claude changed waits for a review, kept up to date file by file: it is asked for after each edit of a turn,
-- and a turn may have hundreds of files.
local M = {}

---What nobody tells of (another program wrote a file, a buffer was changed and saved) is looked for at most so often.
local LOOK_AGAIN_NS = 1e9

---@class claude-ide.journal.Counts
---@field files integer
---@field hunks integer
---@field conflicts integer

---@type table<integer, claude-ide.journal.Counts>
local by_file = {}
---@type claude-ide.journal.Counts
local sum = { files = 0, hunks = 0, conflicts = 0 }
---Those that had unsaved changes when they were looked at.
---@type table<integer, claude-ide.journal.File>
local were_unsaved = {}
---When all were looked at.
local looked = 0

---@param counts? claude-ide.journal.Counts
---@param sign 1|-1
local function add(counts, sign)
  for name, number in pairs(counts or {}) do
    sum[name] = sum[name] + sign * number
  end
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

---@param file claude-ide.journal.File
---@param unsaved claude-ide.journal.UnsavedBuffers
local function look(file, unsaved)
  add(by_file[file.id], -1)
  local change = require("claude-ide.journal.changes").of(file, "unreviewed", unsaved)
  by_file[file.id] = change and count(change) or nil
  add(by_file[file.id], 1)
end

---Worked out anew for what changed alone, and for what has unsaved changes.
---@return claude-ide.journal.Counts
function M.get()
  local stale = require("claude-ide.journal.changed").take()
  local store, changes, now =
    require("claude-ide.journal.store"), require("claude-ide.journal.changes"), vim.uv.hrtime()
  if stale and next(stale) == nil then
    return vim.deepcopy(sum)
  end
  local unsaved = changes.unsaved()
  local are_unsaved = {} ---@type table<integer, claude-ide.journal.File>
  for name in pairs(unsaved) do
    local file = store.find(name)
    if file then
      are_unsaved[file.id] = file
    end
  end
  local look_too = vim.tbl_extend("keep", are_unsaved, were_unsaved)
  were_unsaved = are_unsaved
  if not stale or now - looked > LOOK_AGAIN_NS then
    by_file, sum = {}, { files = 0, hunks = 0, conflicts = 0 }
    for _, file in ipairs(store.files()) do
      look(file, unsaved)
    end
    looked = vim.uv.hrtime()
    return vim.deepcopy(sum)
  end
  for id in pairs(vim.tbl_extend("keep", stale, look_too)) do
    local file = store.file(id)
    if file then
      look(file, unsaved)
    else
      add(by_file[id], -1)
      by_file[id] = nil
      changes.forget(id)
    end
  end
  return vim.deepcopy(sum)
end

return M
