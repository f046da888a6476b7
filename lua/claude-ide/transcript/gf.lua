-- `gf` in a transcript: what a line leads to, or the file whose path is under the cursor.

local M = {}

local files = require("claude-ide.transcript.files")

---@param view claude-ide.transcript.View
---@param how claude-ide.transcript.HowToOpen
function M.go(view, how)
  local cursor = vim.api.nvim_win_get_cursor(0)
  local spot, item = view.canvas:spot(cursor[1])
  local target = item and item.targets[spot.offset]
  local kind = target and require("claude-ide.transcript.targets")[target.type]
  if item and target and kind and kind.go then
    kind.go(view, target, { item = item, offset = spot.offset }, how)
  else
    local path, lnum = files.under(vim.api.nvim_get_current_line(), cursor[2])
    files.open(view, path, lnum, how)
  end
end

return M
