-- Changes by commands in a turn that the journal does not track: files beyond its limit, links, permissions. Not part of reviews; the
-- turn's checkpoints suffice to undo them (undo_untracked.lua).
local lazy = require("claude-ide.lazy")
local store = lazy("claude-ide.edits.journal.store")

local M = {}

---@class claude-ide.journal.Rest
---@field path string
---@field name string as git names it, from the top
---@field folder string of the checkpoints
---@field old_mode string of git; "000000": no such file
---@field new_mode string
---@field blob string
---@field new_blob string
---@field mode_only? boolean the contents are unchanged, or in the journal

---@type table<integer, table<string, claude-ide.journal.Rest>> by turn and path
local rests = {}

---Limit of all turns together; a single turn has at most 10,000, a checkpoint's limit.
local MAX_ITEMS = 20000

---Drops the oldest turns' items beyond the limit: they can no longer be undone, and are counted as left out.
---@param besides integer turn
local function make_room(besides)
  local count, ids = 0, vim.tbl_keys(rests)
  for _, items in pairs(rests) do
    count = count + vim.tbl_count(items)
  end
  table.sort(ids)
  for _, id in ipairs(ids) do
    if count > MAX_ITEMS and id ~= besides then
      local paths = {}
      for _, item in pairs(rests[id]) do
        count, paths[#paths + 1] = count - 1, item.path
      end
      store.leave_out(id, paths)
      rests[id] = nil
    end
  end
end

require("claude-ide.base.bus").on("turn_forgotten", function(turn)
  rests[turn] = nil
end)

---A turn's items that are not undone yet.
---@param turn integer
---@return claude-ide.journal.Rest[]
function M.items(turn)
  return vim.tbl_values(rests[turn] or {})
end

---@param item claude-ide.journal.Rest
---@return string
local function key_of(item)
  return item.path .. (item.mode_only and "\0mode" or "")
end

---@param turn integer
---@param item claude-ide.journal.Rest tried
function M.remove(turn, item)
  if rests[turn] then
    rests[turn][key_of(item)] = nil
  end
end

---@param turn integer
---@param found claude-ide.journal.Rest[]
function M.add(turn, found)
  if #found == 0 then
    return
  end
  rests[turn] = rests[turn] or {}
  for _, item in ipairs(found) do
    local key = key_of(item)
    local before = rests[turn][key]
    if before then
      -- An earlier part of the turn changed it too.
      item.old_mode, item.blob = before.old_mode, before.blob
    end
    rests[turn][key] = item
  end
  make_room(turn)
end

---The number of a turn's files that only its checkpoints can undo.
---@param turn integer
---@return integer
function M.count(turn)
  local paths = {}
  for _, item in pairs(rests[turn] or {}) do
    paths[item.path] = true
  end
  return vim.tbl_count(paths)
end

---Whether an item needs the checkpoints' copies.
---@return boolean
function M.needs_copies()
  return vim.iter(pairs(rests)):any(function(_, items)
    return vim.iter(pairs(items)):any(function(_, item)
      return not item.mode_only
    end)
  end)
end

return M
