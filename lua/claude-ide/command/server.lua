-- Subcommands for the server and its connections. `:ClaudeConnect` and `:ClaudeSend` are commands of their own.
local lazy = require("claude-ide.lazy")
local mention = lazy("claude-ide.context.mention")
local notice = lazy("claude-ide.base.notice")
local server = lazy("claude-ide.server")
local sessions_names = lazy("claude-ide.sessions.names")
local status = lazy("claude-ide.command.status")

local M = {}

local function say(text)
  notice.info(text)
end

---@param info? claude-ide.server.Info
---@param err? string
---@return boolean? ok
---@return string? err
local function say_where(info, err)
  if not info then
    return nil, err
  end
  say(status.connection(info))
  return true
end

---@return boolean? ok
---@return string? err
function M.connect()
  return say_where(server.start())
end

---@return boolean? ok
---@return string? err
function M.restart()
  return say_where(server.restart())
end

---@param _ string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.send(_, at)
  local ok, err = server.start()
  if not ok then
    return nil, err
  end
  if at.range then
    return mention.send_range(at.first, at.last)
  end
  return mention.from_here()
end

---@return table<integer, string> names by client
local function names()
  local ids = vim.tbl_map(function(client)
    return client.id
  end, server.clients())
  return sessions_names.of_clients(ids)
end

---Disconnects all CLIs and stops the server, or disconnects one CLI.
---@param words string[]
---@return boolean? ok
---@return string? err
function M.disconnect(words)
  local name = table.concat(words, " ")
  if name == "" and not server.is_running() then
    return nil, "The server is not running."
  elseif name == "" then
    local is_connected = #server.clients() > 0
    server.dismiss()
    say(
      is_connected and "Disconnected. `/ide` in Claude connects it again after `:Claude connect`."
        or "Disconnected."
    )
    return true
  end
  for id, other in pairs(names()) do
    if other == name then
      local ok, err = server.disconnect(id)
      if ok then
        say(("%s is disconnected. `/ide` in it connects it again."):format(name))
      end
      return ok, err
    end
  end
  return nil, ("`:Claude disconnect %s`: no CLI of that name is connected."):format(name)
end

---@param _ string
---@param before string[]
---@return string[]
function M.complete_disconnect(_, before)
  local found = #before == 0 and vim.tbl_values(names()) or {}
  table.sort(found)
  return found
end

return M
