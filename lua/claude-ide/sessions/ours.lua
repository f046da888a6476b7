-- The sessions of this Neovim: those of connected CLIs, and the one in its own terminal. From memory, loads nothing.

local M = {}

---@class claude-ide.sessions.Ours
---@field session claude-ide.sessions.Live
---@field client? claude-ide.Client the connection of its CLI
---@field terminal boolean it runs in a terminal buffer of this Neovim

---@param module any
---@return table? module if it is in use
local function used(module)
  return type(module) == "table" and module or nil
end

---First the one whose CLI connected first.
---@return claude-ide.sessions.Ours[]
function M.list()
  local sessions = used(package.loaded["claude-ide.sessions"])
  local server = used(package.loaded["claude-ide.server"])
  local terminal = used(package.loaded["claude-ide.terminal"])
  if not sessions then
    return {}
  end
  local inside = terminal and terminal.bufnr() and terminal.session() or nil
  local list, seen = {}, {}
  for _, client in ipairs(server and server.clients() or {}) do
    local session = sessions.of_client(client.id)
    if session and session.state.activity ~= "gone" and not seen[session.pid] then
      seen[session.pid] = true
      list[#list + 1] = {
        session = session,
        client = client,
        terminal = inside ~= nil and inside.pid == session.pid,
      }
    end
  end
  if inside and inside.state.activity ~= "gone" and not seen[inside.pid] then
    list[#list + 1] = { session = inside, terminal = true }
  end
  return list
end

return M
