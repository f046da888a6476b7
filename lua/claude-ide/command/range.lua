-- The lines that a command is about: its range, or what is selected where it was called by `<Cmd>` from Visual mode.
local M = {}

---@param at claude-ide.command.Context
---@return integer? first nil: none were given
---@return integer? last
function M.lines(at)
  if at.range then
    return math.min(at.first, at.last), math.max(at.first, at.last)
  elseif vim.api.nvim_get_mode().mode:find("^[vV\22]") then
    local from, to = vim.fn.line("v"), vim.fn.line(".")
    vim.cmd("normal! \27") -- sets '< and '>, as a range would have
    return math.min(from, to), math.max(from, to)
  end
  return nil
end

---The lines as a context that goes along: `#lines:lua/a.lua:3-9`.
---@param at claude-ide.command.Context
---@param cwd string
---@return string? reference nil: there are none, or they cannot go along
---@return string? why they cannot
function M.reference(at, cwd)
  local first, last = M.lines(at)
  if not first or not last then
    return nil
  end
  local buf = vim.api.nvim_get_current_buf()
  local name = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= "" or name ~= "" and not require("claude-ide.path").is_plain(name) then
    return nil, "Lines of this buffer cannot be told: it is no file."
  end
  local withheld = require("claude-ide.context.place").withheld(buf)
  if withheld then
    return nil, withheld .. "."
  end
  return require("claude-ide.context.lines").reference(buf, first, last, cwd)
end

return M
