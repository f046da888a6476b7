-- fyler.nvim. Read at b271c7a (2026-03-03): each line holds "/00012", the number of its entry; `parse_ref_id(line)` of
-- `fyler.views.finder.helper` reads it, `get(number)` of `fyler.views.finder.files.manager` gives the entry with its `path`.
local M = {}

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local sources = require("claude-ide.mention.list_window")
  local helper = sources.plugin("fyler.views.finder.helper")
  local manager = sources.plugin("fyler.views.finder.files.manager")
  local first, last = sources.lines(range)
  local found = {}
  for _, line in ipairs(vim.api.nvim_buf_get_lines(0, first - 1, last, false)) do
    local number = helper.parse_ref_id(line)
    -- A line that was only typed has no number, and no file.
    local entry = number and manager.get(number)
    if entry then
      found[#found + 1] = { path = entry.link or entry.path }
    end
  end
  return found
end

return M
