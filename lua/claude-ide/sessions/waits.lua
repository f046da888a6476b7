-- When sessions waited for the user: transcripts do not tell, and a call's duration includes the wait for permission. In memory, from
-- states that the library reports.

local lazy = require("claude-ide.lazy")
local clock = lazy("claude-ide.base.clock")

local M = {}

---@alias claude-ide.sessions.Wait { [1]: integer, [2]: integer } start and end, Unix milliseconds

---Limits of remembered sessions, and waits of each.
local MAX_SESSIONS, MAX_WAITS = 50, 500

---Waits that delay a call. A dialog opened by the user does not.
---@type table<string, boolean>
local HOLDS_UP = { permission = true, input = true }

---@type table<string, claude-ide.sessions.Wait[]> by session, oldest first
local seen = {}
---@type string[] sessions, oldest first
local order = {}

---@param id string
---@param wait claude-ide.sessions.Wait
local function remember(id, wait)
  if not seen[id] then
    seen[id] = {}
    order[#order + 1] = id
    if #order > MAX_SESSIONS then
      seen[table.remove(order, 1)] = nil
    end
  end
  table.insert(seen[id], wait)
  if #seen[id] > MAX_WAITS then
    table.remove(seen[id], 1)
  end
end

---Handles a new state of a process.
---@param before? claude-ide.sessions.Live
---@param session claude-ide.sessions.Live
function M.take(before, session)
  local was, state = before and before.state, session.state
  if not before or not was or was.activity ~= "waiting" or not was.since or not HOLDS_UP[was.waiting_for] then
    return
  elseif state.activity == "waiting" and state.waiting_for == was.waiting_for then
    return -- still, or again, and the end of the previous wait was not seen
  end
  local now = state.since or clock.now()
  if now > was.since then
    remember(before.id, { was.since, now })
  end
end

---The waits of a session that have ended, oldest first.
---@param id string
---@return claude-ide.sessions.Wait[]
function M.of(id)
  return seen[id] or {}
end

return M
