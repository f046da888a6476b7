-- The address of a server for programs on this machine.
local M = {}

---@param host string
---@return boolean only programs on this machine reach it
function M.is_loopback(host)
  return host == "localhost" or host == "::1" or vim.startswith(host, "127.")
end

---@param info { host: string, port: integer }
---@return string address with port, as in a URL
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
