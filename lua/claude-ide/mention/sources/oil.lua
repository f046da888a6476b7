-- oil.nvim. Read at b91ee5a (2026-05-24): `get_entry_on_line(buf, lnum)` gives the entry with the `name` it has on disk,
-- nil for a blank line; `get_current_dir(buf)` gives the folder with a final slash, nil for one that is not local.
local M = {}

---@param range? { first: integer, last: integer }
---@return claude-ide.mention.Entry[]?
---@return string? err
function M.entries(range)
  local oil = require("claude-ide.mention.list_window").plugin("oil")
  local buf = vim.api.nvim_get_current_buf()
  local dir = oil.get_current_dir(buf)
  if not dir then
    return nil, "This folder is not on this machine, so Claude cannot read it."
  end
  local found = {}
  local first, last = require("claude-ide.mention.list_window").lines(range)
  for lnum = first, last do
    local entry = oil.get_entry_on_line(buf, lnum)
    -- A line that was only typed has no id yet, and no file. `..` is listed when hidden files are shown.
    if entry and entry.id and entry.name and entry.name ~= ".." then
      found[#found + 1] = { path = dir .. entry.name }
    end
  end
  return found
end

return M
