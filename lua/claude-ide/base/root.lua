-- The plugin's folder.
local M = {}

---@return string
function M.dir()
  local source = assert(debug.getinfo(1, "S")).source:gsub("^@", "")
  return vim.fn.fnamemodify(source, ":p:h:h:h:h")
end

return M
