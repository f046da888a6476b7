-- Where programs of this machine reach what is served.
local M = {}

---@param info { host: string, port: integer }
---@return string
function M.of(info)
  return "http://" .. require("claude-ide.address").of(info) .. "/"
end

return M
