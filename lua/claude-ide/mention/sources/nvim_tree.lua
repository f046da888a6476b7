-- nvim-tree.lua. Read at 4213bd6 (2026-07-16): `api.tree.get_node_under_cursor()` gives a node with `absolute_path`, nil
-- off the tree; `api.marks.list()` gives the marked nodes. Both are documented since 2022.
local M = {}

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local api = require("claude-ide.mention.list_window").plugin("nvim-tree.api")
  local found = {}
  local function add(node)
    if node and node.absolute_path and node.name ~= ".." then
      found[#found + 1] = { path = node.absolute_path }
    end
  end
  if not range then
    for _, node in ipairs(api.marks.list() or {}) do
      add(node)
    end
    if #found == 0 then
      add(api.tree.get_node_under_cursor())
    end
    return found
  end
  -- There is no public function from a line to its node.
  local view = vim.fn.winsaveview()
  for lnum = range.first, range.last do
    vim.api.nvim_win_set_cursor(0, { lnum, 0 })
    add(api.tree.get_node_under_cursor())
  end
  vim.fn.winrestview(view)
  return found
end

return M
