-- The range of a command as a context that goes along: `#lines:lua/a.lua:3-9`.
local M = {}

---@param at claude-ide.command.Context with a range
---@param place claude-ide.context.At
---@return string? reference
---@return string? why the lines cannot go along
function M.reference(at, place)
  local buf = vim.api.nvim_get_current_buf()
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= "" or name ~= "" and not require("claude-ide.path").is_plain(name) then
    return nil, "Lines of this buffer cannot be told: it is no file."
  end
  local withheld = require("claude-ide.context.place").withheld(buf)
  if withheld then
    return nil, withheld .. "."
  end
  return require("claude-ide.context.lines").reference(buf, at.first, at.last, place.cwd)
end

return M
