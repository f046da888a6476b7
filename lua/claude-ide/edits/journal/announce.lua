-- Emits one delayed event when the list of Claude's changes was updated.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")

local M = {}

---Interval between two announcements.
local TELL_MS = 30

local announce = require("claude-ide.base.soon")(function()
  bus.emit("journal_changed")
end, TELL_MS)

---Files changed since `take()`; nil: any may have.
---@type table<integer, true>?
local stale

---Returns the files changed since the last call.
---@return table<integer, true>? stale nil: any may have changed
function M.take()
  local taken = stale
  stale = {}
  return taken
end

---Announces a change.
---@param file? integer the only one affected; nil: any may be
function M.tell(file)
  if not file then
    stale = nil
  elseif stale then
    stale[file] = true
  end
  announce()
end

return M
