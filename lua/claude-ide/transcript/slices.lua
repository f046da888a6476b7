-- Work on a transcript in slices short enough that no key waits. What fails there is a line in the log.

local M = {}

---How long a slice may take.
local BUDGET_NS = 7e6

---Whether there is a text to work on: not after `:bdelete`, which leaves the buffer for later.
---@param view claude-ide.transcript.View
---@param canvas? claude-ide.transcript.Canvas that the work is meant for: after `:edit` there is another one
---@return boolean
function M.is_alive(view, canvas)
  return not view.closed and vim.api.nvim_buf_is_loaded(view.buf) and (canvas == nil or canvas == view.canvas)
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
  local canvas = view.canvas
  vim.defer_fn(function()
    if M.is_alive(view, canvas) then
      M.guarded(view, fn)
    end
  end, 1)
end

---@return number time of the clock of `vim.uv.hrtime()`
function M.deadline()
  return vim.uv.hrtime() + BUDGET_NS
end

return M
