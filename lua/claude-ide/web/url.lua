-- Where programs of this machine reach what is served.
local M = {}

---@param info { host: string, port: integer }
---@return string
function M.of(info)
  local host = info.host
  if host == "0.0.0.0" or host == "::" then
    host = "127.0.0.1"
  end
  return ("http://%s:%d/"):format(host:find(":", 1, true) and "[" .. host .. "]" or host, info.port)
end

return M
