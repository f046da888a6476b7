-- `:Claude disconnect`: all CLIs and the server, or one of several.

local M = {}

---@return table<integer, string> names by client
local function names()
  local ids = vim.tbl_map(function(client)
    return client.id
  end, require("claude-ide.server").clients())
  return require("claude-ide.sessions.names").of_clients(ids)
end

---@return boolean? ok
---@return string? err
local function all()
  local server = require("claude-ide.server")
  if not server.is_running() then
    return nil, "The server does not run."
  end
  local anybody = #server.clients() > 0
  server.dismiss()
  require("claude-ide.ui.notice").info(
    anybody and "Disconnected. `/ide` in Claude connects it again after `:Claude connect`." or "Disconnected."
  )
  return true
end

---@return boolean? ok
---@return string? err
local function one(name)
  for id, other in pairs(names()) do
    if other == name then
      local ok, err = require("claude-ide.server").disconnect(id)
      if ok then
        require("claude-ide.ui.notice").info(
          ("%s is disconnected. `/ide` in it connects it again."):format(name)
        )
      end
      return ok, err
    end
  end
  return nil, ("`:Claude disconnect %s`: no CLI of that name is connected."):format(name)
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  if #words == 0 then
    return all()
  end
  return one(table.concat(words, " "))
end

---@param before string[]
---@return string[]
function M.complete(before)
  local found = #before == 0 and vim.tbl_values(names()) or {}
  table.sort(found)
  return found
end

return M
