-- neo-tree.nvim. Read at 5e076e5 (2026-08-18): `sources.manager.get_state_for_window(win)` gives the state, whose `tree` is
-- a NuiTree (`get_node(lnum)`) and whose `selected`, in newer versions, holds the ids of the marked nodes. A node's `path`
-- is its file; `type` is "file", "directory", or another for what is no file.
local M = {}

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local manager = require("claude-ide.mention.list_window").plugin("neo-tree.sources.manager")
  local state = manager.get_state_for_window(vim.api.nvim_get_current_win())
  if not state or not state.tree then
    return nil, "neo-tree has not drawn its tree yet."
  end
  local found = {}
  local function add(node)
    if node and node.path and (node.type == "file" or node.type == "directory") then
      found[#found + 1] = { path = node.path }
    end
  end
  if not range then
    local ids = vim.tbl_keys(state.selected or {})
    table.sort(ids)
    for _, id in ipairs(ids) do
      add(state.tree:get_node(id))
    end
    if #found > 0 then
      return found
    end
  end
  local first, last = require("claude-ide.mention.list_window").lines(range)
  for lnum = first, last do
    add(state.tree:get_node(lnum))
  end
  return found
end

return M
