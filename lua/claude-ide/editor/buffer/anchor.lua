-- The start of a Visual selection. Neovim moves it along with the text only since 0.12, and has no function to set it.
local M = {}

---The start of the selection in the current window, if that window shows the buffer.
---@param buf integer
---@return { lnum: integer, col: integer }? anchor both from 1; nil: no selection in the buffer
function M.get(buf)
  if vim.api.nvim_get_current_buf() ~= buf or not vim.api.nvim_get_mode().mode:find("^[vV\22]") then
    return nil
  end
  local at = vim.fn.getpos("v")
  return { lnum = at[2], col = at[3] }
end

---Moves the start. The cursor and the view stay.
---@param anchor { lnum: integer, col: integer } for the current buffer, as returned by `get`
function M.set(anchor)
  local lnum = math.max(math.min(anchor.lnum, vim.api.nvim_buf_line_count(0)), 1)
  local now = vim.fn.getpos("v")
  if now[2] == lnum and now[3] == anchor.col then
    return
  end
  local view = vim.fn.winsaveview()
  vim.cmd("noautocmd normal! o")
  pcall(vim.api.nvim_win_set_cursor, 0, { lnum, anchor.col - 1 })
  vim.cmd("noautocmd normal! o")
  vim.fn.winrestview(view)
end

return M
