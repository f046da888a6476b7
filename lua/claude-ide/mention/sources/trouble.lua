-- trouble.nvim. Read at bd67efe (2025-10-31): `trouble.view.get({ open = true })` gives the views of it, each with its window
-- and `at({ row, column })`: the `item` of that row, or only a `node` where the row is the heading of a group, whose item has
-- the file. An item has `filename`, `pos` and `end_pos` (1,0-indexed).
local M = {}

local function current_view()
  local buf = vim.api.nvim_get_current_buf()
  for _, entry in
    ipairs(require("claude-ide.mention.list_window").plugin("trouble.view").get({ open = true }))
  do
    if entry.view.win.buf == buf then
      return entry.view
    end
  end
end

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local view = current_view()
  if not view then
    return nil, "This is not a window of an open list."
  end
  local found, seen = {}, {}
  local first, last = require("claude-ide.mention.list_window").lines(range)
  for row = first, last do
    local at = view:at({ row, 0 })
    -- A range means its lines, not the files that they stand below.
    local item = at.item or not range and at.node and at.node.item
    -- An item may take several rows.
    if item and not seen[item] then
      seen[item] = true
      local line = at.item and item.pos and item.pos[1] or nil
      found[#found + 1] =
        { path = item.filename, first = line, last = line and item.end_pos and item.end_pos[1] or line }
    end
  end
  return found
end

return M
