-- Records when sessions waited for the user: transcripts do not, and a call's duration includes the wait for permission. In memory,
-- from states that the library reports.

local M = {}

---@class claude-ide.sessions.Wait Unix milliseconds
---@field from integer
---@field to integer

---@class claude-ide.sessions.Open
---@field id string the session
---@field from integer
---@field reason string

---Limits of remembered sessions, and waits of each.
local MAX_SESSIONS, MAX_WAITS = 50, 500

---Waits that delay a call. A dialog opened by the user does not.
---@type table<string, boolean>
local HOLDS_UP = { permission = true, input = true }

---@type table<string, claude-ide.sessions.Wait[]> by session, oldest first
local seen = {}
---@type string[] sessions, oldest first
local order = {}
---@type table<integer, claude-ide.sessions.Open> by process
local open = {}

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

---Records a session's current state.
---@param session claude-ide.sessions.Live
function M.take(session)
  local state, before = session.state, open[session.pid]
  local now = state.since or require("claude-ide.clock").now()
  local waits = state.activity == "waiting" and HOLDS_UP[state.waiting_for] or false
  if before and before.id == session.id and waits and before.from == now then
    return
  end
  open[session.pid] = waits and { id = session.id, from = now, reason = state.waiting_for } or nil
  -- Waiting again for the same: the end of the previous wait was not seen.
  local is_unseen = before and waits and before.reason == state.waiting_for
  if before and not is_unseen and now > before.from then
    remember(before.id, { from = before.from, to = now })
  end
end

---The last completed wait.
---@param id string
---@return claude-ide.sessions.Wait?
function M.last(id)
  return seen[id] and seen[id][#seen[id]]
end

---The waits of a session that have ended.
---@param id string
---@return { [1]: integer, [2]: integer }[] waits start and end
function M.of(id)
  return vim.tbl_map(function(wait)
    return { wait.from, wait.to }
  end, seen[id] or {})
end

---Forgets waits in progress; completed ones stay.
function M.forget_running()
  open = {}
end

return M
