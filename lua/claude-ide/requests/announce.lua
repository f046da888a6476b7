-- Reports state changes of this Neovim's sessions: `User` events, the statusline, notices.

local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local ide_event = lazy("claude-ide.config.event")
local notify = lazy("claude-ide.requests.notify")
local own = lazy("claude-ide.terminal.own")
local sessions = lazy("claude-ide.sessions")

local M = {}

---State of a process.
---@class claude-ide.sessions.Progress
---@field id string the session
---@field activity claude-ide.sessions.Activity
---@field waiting_for? string
---@field began? integer start of the current turn, Unix milliseconds

---@class claude-ide.sessions.News
---@field kind "working"|"waiting"|"idle"
---@field previous? string session that the process was in before
---@field took? integer milliseconds of the turn that has ended

---By process. A disconnected one is kept for a moment: the CLI reconnects at `/clear`, which is no change.
---@type table<integer, claude-ide.sessions.Progress>
local known = {}
---@type table<string, string>
local EVENTS = { working = "ClaudeWorking", waiting = "ClaudeWaiting", idle = "ClaudeIdle" }

---@class claude-ide.sessions.EventData data of ClaudeWorking, ClaudeWaiting, ClaudeIdle
---@field session string
---@field pid integer
---@field client? integer
---@field title? string
---@field waiting_for? string
---@field previous? string

local function tell(ours, news)
  local session = ours.session
  ide_event.emit(EVENTS[news.kind], {
    session = session.id,
    pid = session.pid,
    client = ours.client and ours.client.id,
    title = session.name,
    waiting_for = session.state.waiting_for,
    previous = news.previous,
  })
  notify.consider(ours, news)
end

---What a state of a session tells beside the last one of its process.
---@param before? claude-ide.sessions.Progress nil: the process is new
---@param session claude-ide.sessions.Live running
---@param now integer Unix milliseconds
---@return claude-ide.sessions.Progress after
---@return claude-ide.sessions.News? news nil: no change
function M.step(before, session, now)
  local state = session.state
  local after = { id = session.id, activity = state.activity, waiting_for = state.waiting_for }
  local moved = before ~= nil and before.id ~= session.id
  local began = before and not moved and before.began or nil
  local took
  if state.activity ~= "idle" then
    after.began = began or state.since or now
  elseif began then
    took = math.max((state.since or now) - began, 0)
  end
  if
    before
    and not moved
    and before.activity == after.activity
    and before.waiting_for == after.waiting_for
  then
    return after, nil
  end
  local kind = state.activity --[[@as "working"|"waiting"|"idle"]]
  return after, { kind = kind, previous = moved and before and before.id or nil, took = took }
end

---Compares the sessions of this Neovim with their last state, and reports changes.
function M.update()
  local present, news, now = {}, {}, clock.now()
  for _, session in ipairs(sessions.live()) do
    present[session.pid] = known[session.pid]
  end
  for _, ours in ipairs(own.list()) do
    local session = ours.session
    local after, item = M.step(known[session.pid], session, now)
    present[session.pid] = after
    if item then
      news[#news + 1] = { ours = ours, item = item }
    end
  end
  -- Set before events are emitted: a handler may look at sessions and end up here.
  known = present
  bus.emit("sessions_changed")
  for _, one in ipairs(news) do
    tell(one.ours, one.item)
  end
end

---Starts reporting, once per Neovim.
M.attach = require("claude-ide.base.once")(function()
  notify.attach()
  bus.on("session_changed", M.update)
  sessions.attach()
  for _, event in ipairs({ "client_ready", "client_changed", "client_disconnected", "server_stopped" }) do
    bus.on(event --[[@as claude-ide.bus.Topic]], M.update)
  end
  M.update()
end)

return M
