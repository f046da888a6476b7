-- When clients' turns begin and end. The library decides (`crates/edits/src/turns.rs`); this module tells it what the clients' sessions do,
-- as their records or their hooks say, and passes on what follows.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local store = lazy("claude-ide.edits.journal.store")

local M = {}

---@class claude-ide.journal.OnProgress
---@field began fun(client: integer, turn: claude-ide.journal.Turn) a turn whose prompt was not announced
---@field over fun(client: integer) a turn, or a part of it

---@type claude-ide.journal.OnProgress
local handlers

---@param client integer
---@param state claude-ide.sessions.State
local function tell(client, state)
  local is_busy = state.activity == "working" or state.activity == "waiting"
  if not is_busy and state.activity ~= "idle" then
    return
  end
  local progress = store.activity(client, is_busy, state.since)
  if progress and progress.began then
    handlers.began(client, progress.began)
  elseif progress then
    handlers.over(client)
  end
end

local follow_sessions = require("claude-ide.base.once")(function()
  sessions.attach()
  bus.on("session_changed", function(change)
    for _, client in ipairs(server.clients()) do
      if client.pid == change.session.pid and not client.mapped then
        tell(client.id, change.session.state)
      end
    end
  end)
end)

---Handles what a client's session does now and from now on.
---@param client integer of the server
function M.follow(client)
  local known = server.client(client)
  follow_sessions()
  local session = known and not known.mapped and sessions.of_client(client)
  if session then
    tell(client, session.state)
  end
end

---Tracks a turn that was not announced: the CLI does not announce a prompt given before it was connected, or at that moment.
---@param client integer of the server, with its process id
function M.await_work(client)
  store.await_work(client)
  M.follow(client)
end

---@param on claude-ide.journal.OnProgress
function M.attach(on)
  handlers = on
end

return M
