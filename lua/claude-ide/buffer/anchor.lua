-- The end of a Visual selection that the cursor is not at. Neovim moves it along with the text from 0.12 on only, and has
-- no function to set it.
local M = {}

---Where the selection in the current window begins, if that window shows the buffer.
---@param buf integer
---@return { lnum: integer, col: integer }? anchor both from 1; nil: there is no selection in the buffer
function M.get(buf)
  if vim.api.nvim_get_current_buf() ~= buf or not vim.api.nvim_get_mode().mode:find("^[vV\22]") then
    return nil
  end
  local at = vim.fn.getpos("v")
  return { lnum = at[2], col = at[3] }
end

---Moves it. The cursor and the view stay.
---@param anchor { lnum: integer, col: integer } of the current buffer, as `get` gives it
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
