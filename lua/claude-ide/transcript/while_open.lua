-- Work on a transcript in slices while it is open. Its errors are logged.

local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local safely = lazy("claude-ide.base.safely")
local slice = lazy("claude-ide.base.slice")

local M = {}

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
  safely.catch(fn, function(trace)
    view.busy, view.colouring = false, false
    log.error("a transcript cannot be shown: %s", trace)
  end)()
end

---Runs `fn` in a later slice, after pending keys and redraws.
---@param view claude-ide.transcript.View
---@param fn fun()
function M.later(view, fn)
  local canvas = view.canvas
  slice.later(function()
    if M.is_alive(view, canvas) then
      M.guarded(view, fn)
    end
  end)
end

return M
