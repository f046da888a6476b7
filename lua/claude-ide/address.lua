-- Where programs of this machine reach what listens here.
local M = {}

---@param info { host: string, port: integer } what is listened on
---@return string address with the port, as it stands in a URL
function M.of(info)
  local host = info.host
  if host == "0.0.0.0" then
    host = "127.0.0.1"
  elseif host == "::" then
    host = "::1"
  end
  return ("%s:%d"):format(host:find(":", 1, true) and "[" .. host .. "]" or host, info.port)
end

return M
