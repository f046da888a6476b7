-- Work on a transcript in slices short enough that no key waits. What fails there is a line in the log.

local M = {}

---How long a slice may take.
local BUDGET_NS = 7e6

---@param view claude-ide.transcript.View
---@return boolean
function M.is_alive(view)
  return not view.closed and vim.api.nvim_buf_is_valid(view.buf)
end

---@param view claude-ide.transcript.View
---@param fn fun()
function M.guarded(view, fn)
  local ok, trace = xpcall(fn, debug.traceback)
  if not ok then
    view.busy, view.colouring = false, false
    require("claude-ide.log").error("a transcript cannot be shown: %s", trace)
  end
end

---Runs in a slice of its own, after keys and redraws that wait.
---@param view claude-ide.transcript.View
---@param fn fun()
function M.later(view, fn)
  vim.defer_fn(function()
    if M.is_alive(view) then
      M.guarded(view, fn)
    end
  end, 1)
end

---@return number time of the clock of `vim.uv.hrtime()`
function M.deadline()
  return vim.uv.hrtime() + BUDGET_NS
end

return M
