-- What the windows of other plugins have in common, whose lines stand for files.
local M = {}

---A module of a plugin; nothing is known of its types.
---@param name string
---@return table
function M.plugin(name)
  return require(name)
end

---The lines that are meant: the range, else the cursor's.
---@param range? { first: integer, last: integer }
---@return integer first, integer last
function M.lines(range)
  if range then
    return range.first, range.last
  end
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  return lnum, lnum
end

return M
