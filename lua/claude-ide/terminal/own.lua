-- The sessions of this Neovim: connected CLIs, the terminal's, and chats'. From memory, loads nothing.

local lazy = require("claude-ide.lazy")
local ide_server = lazy("claude-ide.server")
local ide_sessions = lazy("claude-ide.sessions")
local sessions_live = lazy("claude-ide.sessions.live")

local M = {}

---@class claude-ide.sessions.Ours
---@field session claude-ide.sessions.Live
---@field client? claude-ide.Client connection of its CLI
---@field terminal? claude-ide.terminal.Session it runs in a terminal buffer of this Neovim
---@field other? claude-ide.sessions.Other another part of this Neovim runs it

---@class claude-ide.sessions.Other
---@field id string of the session
---@field pid integer
---@field name? string its first prompt, if it has no title yet
---@field visible boolean it is on the screen
---@field requester claude-ide.requests.Requester
---@field run? string name of its CLI for the editor's tools
---@field release fun(done: fun()) ends its process, so that another can resume the session
---@field show fun() goes to it
---@field cost? number dollars
---@field mode? string permission mode
---@field journal? integer client of its changes in the journal

---@type (fun(): claude-ide.sessions.Other[])[]
local others = {}

---The part of this Neovim that runs a session, other than connected CLIs and the terminal.
---@param id string
---@return claude-ide.sessions.Other?
function M.other(id)
  for _, known in ipairs(others) do
    for _, other in ipairs(known()) do
      if other.id == id then
        return other
      end
    end
  end
  return nil
end

---Registers a provider of sessions that are neither connected nor in the terminal.
---@param known fun(): claude-ide.sessions.Other[]
function M.also(known)
  others[#others + 1] = known
end

---@return table? module if loaded
local function used(module)
  return type(module) == "table" and module or nil
end

---The session of a program that we started, by its name for the editor's tools.
local function of_run(run)
  local terminals = used(package.loaded["claude-ide.terminal"])
  local terminal = terminals and terminals.of_run(run)
  if terminal then
    local inside = terminal:live()
    return inside and inside.id
  end
  for _, known in ipairs(others) do
    for _, other in ipairs(known()) do
      if other.run == run then
        return other.id
      end
    end
  end
end

---The session of a caller: a CLI by its process, an agent by its name for the editor's tools. One that comes back from the last Neovim has
---the name that it had there, which is of no use here: it is known by its process, too.
---@param caller integer claude-ide.Client.id
---@return string? id nil: unknown
function M.of_caller(caller)
  local agent = ide_server.agent(caller)
  if agent then
    local live = sessions_live.of_pid(agent.pid)
    return agent.run and of_run(agent.run) or live and live.id
  end
  local live = ide_sessions.of_client(caller)
  return live and live.id
end

---The session that a request belongs to.
---@param request claude-ide.Request
---@return string? id nil: none yet, or none at all
function M.of_request(request)
  local requester = request.requester
  if requester.session then
    return requester.session()
  end
  return requester.client and M.of_caller(requester.client)
end

---The client of its changes in the journal.
---@param ours claude-ide.sessions.Ours
---@return integer? id
function M.journal_client(ours)
  return ours.client and ours.client.id or ours.other and ours.other.journal
end

---Whether a session waits for an answer in a terminal of this Neovim.
---@param ours claude-ide.sessions.Ours
---@return boolean
function M.asks_in_terminal(ours)
  local state = ours.session.state
  return ours.terminal ~= nil and state.activity == "waiting" and state.waiting_for ~= "other"
end

---In order of connection; then others in terminals, and those of chats.
---@return claude-ide.sessions.Ours[]
function M.list()
  local sessions = used(package.loaded["claude-ide.sessions"])
  local server = used(package.loaded["claude-ide.server"])
  local terminals = used(package.loaded["claude-ide.terminal"])
  if not sessions then
    return {}
  end
  local inside = {} ---@type table<integer, claude-ide.terminal.Session> by process
  local list, seen = {}, {}
  for _, terminal in ipairs(terminals and terminals.list() or {}) do
    local session = terminal:live()
    inside[session and session.pid or 0] = terminal
  end
  for _, client in ipairs(server and server.clients() or {}) do
    local session = sessions.of_client(client.id)
    if session and session.state.activity ~= "gone" and not seen[session.pid] then
      seen[session.pid] = true
      list[#list + 1] = {
        session = session,
        client = client,
        terminal = inside[session.pid],
      }
    end
  end
  for _, terminal in vim.spairs(inside) do
    local session = terminal:live()
    if session and session.state.activity ~= "gone" and not seen[session.pid] then
      seen[session.pid] = true
      list[#list + 1] = { session = session, terminal = terminal }
    end
  end
  for _, known in ipairs(others) do
    for _, other in ipairs(known()) do
      local session = not seen[other.pid] and sessions_live.of_pid(other.pid)
      if session and session.state.activity ~= "gone" then
        seen[other.pid] = true
        list[#list + 1] = { session = session, other = other }
      end
    end
  end
  return list
end

return M
