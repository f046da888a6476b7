-- Time slices for work on transcripts, so that no key waits. Errors are logged.

local M = {}

---Duration of a slice.
local BUDGET_NS = 7e6

---Whether the view has a text: not after `:bdelete`, which unloads the buffer.
---@param view claude-ide.transcript.View
---@param canvas? claude-ide.transcript.Canvas of the work; `:edit` replaces the view's canvas
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

---Runs `fn` in a later slice, after pending keys and redraws.
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

---@return number time in terms of `vim.uv.hrtime()`
function M.deadline()
  return vim.uv.hrtime() + BUDGET_NS
end

return M
