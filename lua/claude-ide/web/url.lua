-- The server's address for programs on this machine.
local M = {}

---@param info { host: string, port: integer }
---@return string
function M.of(info)
  return "http://" .. require("claude-ide.address").of(info) .. "/"
end

return M
