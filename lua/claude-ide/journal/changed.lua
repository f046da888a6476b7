-- Tells that what Claude changed is not what it was: a moment later, once for many changes.
local M = {}

---Those who show changes are told at most so often.
local TELL_MS = 30

local told = true

---Counts what was told, so that others know whether what they worked out still holds.
M.version = 0

---Something may have changed.
function M.tell()
  M.version = M.version + 1
  if not told then
    return
  end
  told = false
  vim.defer_fn(function()
    told = true
    require("claude-ide.hub").tell("journal_changed")
  end, TELL_MS)
end

return M
