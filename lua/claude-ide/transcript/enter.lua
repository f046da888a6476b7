-- Enter in a transcript: what the line under the cursor offers.

local M = {}

---@param view claude-ide.transcript.View
function M.press(view)
  local spot, item = view.canvas:spot(vim.api.nvim_win_get_cursor(0)[1])
  local went_on = not item and require("claude-ide.transcript.open_views").went_on(view)
  if went_on and require("claude-ide.transcript.viewport").is_at_end(0) then
    local win = vim.api.nvim_get_current_win()
    require("claude-ide.hub").tell("transcript_wanted", { id = went_on }, { win = win })
    return
  end
  local target = item and item.targets[spot.offset]
  local kind = target and require("claude-ide.transcript.targets")[target.type]
  local is_done = target and kind and kind.enter and kind.enter(view, target) ~= false
  if not is_done and vim.fn.foldlevel(".") > 0 then
    vim.cmd("normal! za")
  end
end

return M
