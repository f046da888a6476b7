-- mini.files. Read at b5bae7d (2025-08-29): `get_fs_entry(buf, lnum)` gives `{ fs_type, name, path }`, nil for a line
-- without a file.
local M = {}

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local files = require("claude-ide.mention.list_window").plugin("mini.files")
  local buf, found = vim.api.nvim_get_current_buf(), {}
  local first, last = require("claude-ide.mention.list_window").lines(range)
  for lnum = first, last do
    local entry = files.get_fs_entry(buf, lnum)
    if entry and entry.path then
      found[#found + 1] = { path = entry.path }
    end
  end
  return found
end

return M
