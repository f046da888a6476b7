-- Tells that what Claude changed is not what it was: a moment later, once for many changes.
local M = {}

---Those who show changes are told at most so often.
local TELL_MS = 30

local told = true

---Which files changed since `take()`; nil: any may have.
---@type table<integer, true>?
local stale

---Which files are not what they were when this was asked last.
---@return table<integer, true>? stale nil: any may be
function M.take()
  local taken = stale
  stale = {}
  return taken
end

---Something may have changed.
---@param file? integer nothing but this one
function M.tell(file)
  if not file then
    stale = nil
  elseif stale then
    stale[file] = true
  end
  if not told then
    return
  end
  told = false
  vim.defer_fn(function()
    told = true
    require("claude-ide.bus").emit("journal_changed")
  end, TELL_MS)
end

return M
