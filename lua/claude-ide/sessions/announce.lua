-- What the sessions of this Neovim do, told: `User` events, the statusline, and what is worth a notice.

local M = {}

---By process. One that is not connected for a moment stays known: the CLI reconnects at `/clear`, and that is no news.
---@type table<integer, claude-ide.sessions.Progress>
local known = {}
---@type table<string, string>
local EVENTS = { working = "ClaudeWorking", waiting = "ClaudeWaiting", idle = "ClaudeIdle" }

---@class claude-ide.sessions.EventData what a handler of ClaudeWorking, ClaudeWaiting, ClaudeIdle gets
---@field session string
---@field pid integer
---@field client? integer
---@field title? string
---@field waiting_for? string
---@field previous? string

local function tell(ours, news)
  local session = ours.session
  require("claude-ide.event").emit(EVENTS[news.kind], {
    session = session.id,
    pid = session.pid,
    client = ours.client and ours.client.id,
    title = session.name,
    waiting_for = session.state.waiting_for,
    previous = news.previous,
  })
  require("claude-ide.sessions.notify").consider(ours, news)
end

---Looks at the sessions of this Neovim and tells what is new.
function M.update()
  local present, news, now = {}, {}, require("claude-ide.clock").now()
  for _, session in ipairs(require("claude-ide.sessions").live()) do
    present[session.pid] = known[session.pid]
  end
  for _, ours in ipairs(require("claude-ide.sessions.ours").list()) do
    local session = ours.session
    local after, item = require("claude-ide.sessions.progress").step(known[session.pid], session, now)
    present[session.pid] = after
    if item then
      news[#news + 1] = { ours = ours, item = item }
    end
  end
  -- Known before it is told: a handler may look at sessions, and so come back here.
  known = present
  require("claude-ide.bus").emit("sessions_changed")
  for _, one in ipairs(news) do
    tell(one.ours, one.item)
  end
end

---Begins to tell. Once for the life of this Neovim.
M.attach = require("claude-ide.once")(function()
  require("claude-ide.sessions.notify").attach()
  local sessions = require("claude-ide.sessions")
  require("claude-ide.bus").on("session_changed", M.update)
  sessions.attach()
  local bus = require("claude-ide.bus")
  for _, event in ipairs({ "client_ready", "client_changed", "client_disconnected", "server_stopped" }) do
    bus.on(event --[[@as claude-ide.bus.Topic]], M.update)
  end
  M.update()
end)

return M
