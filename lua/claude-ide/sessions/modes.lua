-- The permission modes of sessions. The CLI writes a session's mode to its transcript with each prompt: it is not known before the first,
-- and not at once after the user has changed it (2.1.329). Its own record of the session does not have it.
-- Read after each change of the session's state, and again once the transcript grows, which happens later.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")

local M = {}

---Modes in which edits need no approval.
---@type table<string, true>
M.UNASKED = { acceptEdits = true, bypassPermissions = true, auto = true }

---@type table<string, claude-ide.sessions.Mode> by session
local known = {}
---Sessions whose state has changed since their transcript was last seen to grow.
---@type table<string, true>
local stale = {}

---@param id string of a session
---@param done fun(mode: claude-ide.sessions.Mode?) once; nil: unknown
local function stored(id, done)
  sessions.stored(id, nil, function(about)
    done(about and about.mode)
  end)
end

---@param id string of a session
local function read(id)
  stored(id, function(mode)
    if mode and known[id] ~= mode then
      known[id] = mode
      bus.emit("mode_changed")
    end
  end)
end

---The permission mode of a connected client's session, read now.
---@param client integer
---@param done fun(mode: claude-ide.sessions.Mode?) once; nil: unknown
function M.of_client(client, done)
  local session = sessions.of_client(client)
  if not session then
    return done(nil)
  end
  stored(session.id, done)
end

---The mode of a session, from memory.
---@param id string
---@return claude-ide.sessions.Mode? nil: unknown
function M.of(id)
  return known[id]
end

---@param session claude-ide.sessions.Live
---@return boolean
local function is_connected(session)
  return vim.iter(server.clients()):any(function(client)
    return client.pid == session.pid and not client.mapped
  end)
end

---@param client claude-ide.Client
local function join(client)
  local session = not client.mapped and sessions.of_client(client.id)
  if session and not known[session.id] then
    read(session.id)
  end
end

---Starts following the modes of connected CLIs.
M.attach = require("claude-ide.base.once")(function()
  bus.on("session_changed", function(change)
    local id, is_gone = change.session.id, change.session.state.activity == "gone"
    local over = is_gone and id or change.previous or ""
    known[over], stale[over] = nil, nil
    if not is_gone and is_connected(change.session) then
      stale[id] = true
      read(id)
    end
  end)
  bus.on("transcript_grew", function(client)
    local session = sessions.of_client(client)
    if session and stale[session.id] then
      stale[session.id] = nil
      read(session.id)
    end
  end)
  bus.on("client_ready", join)
  bus.on("client_changed", join)
  for _, client in ipairs(server.clients()) do
    join(client)
  end
end)

return M
