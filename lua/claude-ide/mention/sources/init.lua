-- Windows of other plugins whose lines stand for files. One file each, chosen by filetype; nothing of a plugin is loaded
-- before the user is in its window.
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
  TelescopePrompt = "telescope",
  minipick = "mini_pick",
  trouble = "trouble",
  fyler = "fyler",
  fugitive = "fugitive",
}

---The source that a buffer belongs to; nil for one that is a file, or nothing.
---@param buf integer
---@return claude-ide.mention.Source?
function M.of(buf)
  local name = BY_FILETYPE[vim.bo[buf].filetype]
  return name and require("claude-ide.mention.sources." .. name)
end

return M
