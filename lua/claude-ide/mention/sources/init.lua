-- Windows of other plugins whose lines stand for files. One file each, chosen by filetype; nothing of a plugin is loaded
-- before the person is in its window.
local M = {}

---@class claude-ide.mention.Source
---@field entries fun(range?: { first: integer, last: integer }): claude-ide.mention.Entry[]?, string? the files of the
--- current window: on the lines of the range; without one the marked files, else the one under the cursor

---@type table<string, string>
local BY_FILETYPE = {
  NvimTree = "nvim_tree",
  ["neo-tree"] = "neo_tree",
  oil = "oil",
  minifiles = "mini_files",
  netrw = "netrw",
  qf = "quickfix",
  snacks_picker_list = "snacks",
  snacks_picker_input = "snacks",
}

---The source that a buffer belongs to; nil for one that is a file, or nothing.
---@param buf integer
---@return claude-ide.mention.Source?
function M.of(buf)
  local name = BY_FILETYPE[vim.bo[buf].filetype]
  return name and require("claude-ide.mention.sources." .. name)
end

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
