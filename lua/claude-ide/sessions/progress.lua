-- Detects state changes of a session, and how long its turn took. Pure.

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

return M
