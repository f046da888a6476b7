-- The quickfix window and location lists: each entry is a file, and most are a line of it.
local M = {}

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local win = vim.api.nvim_get_current_win()
  local is_loclist = vim.fn.getwininfo(win)[1].loclist == 1
  local items = is_loclist and vim.fn.getloclist(win) or vim.fn.getqflist()
  local first, last = require("claude-ide.mention.list_window").lines(range)
  local found = {}
  for index = first, math.min(last, #items) do
    local item = items[index]
    local path = item.bufnr > 0
        and vim.api.nvim_buf_is_valid(item.bufnr)
        and vim.api.nvim_buf_get_name(item.bufnr)
      or ""
    if require("claude-ide.path").is_plain(path) then
      local lnum = item.lnum > 0 and item.lnum or nil
      found[#found + 1] = { path = path, first = lnum, last = lnum and math.max(lnum, item.end_lnum or 0) }
    end
  end
  return found
end

return M
