-- Who wants to know that something changed: told a moment later, once for many changes.
local M = {}

---Those who show changes are told at most so often.
local TELL_MS = 30

---@type table<integer, fun()>
local subscribers = {}
local newest = 0
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
    for _, subscriber in pairs(vim.tbl_extend("force", {}, subscribers)) do
      local ok, err = pcall(subscriber)
      if not ok then
        require("claude-ide.log").error("a subscriber to the journal failed: %s", err)
      end
    end
  end, TELL_MS)
end

---@param fn fun()
---@return fun() unsubscribe
function M.add(fn)
  newest = newest + 1
  local id = newest
  subscribers[id] = fn
  return function()
    subscribers[id] = nil
  end
end

return M
