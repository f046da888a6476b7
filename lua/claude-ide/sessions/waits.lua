-- When sessions waited for the user, as far as this Neovim saw it: a transcript tells nothing of that, and the time of a
-- call that had to be allowed holds the wait. In memory, from the states that the library tells of.

local M = {}

---@class claude-ide.sessions.Wait Unix milliseconds
---@field from integer
---@field to integer

---A wait that goes on.
---@class claude-ide.sessions.Open
---@field id string the session
---@field from integer
---@field reason string

---Sessions, and waits of each, that are remembered.
local MAX_SESSIONS, MAX_WAITS = 50, 500

---What holds a call up. A dialog that the user opened holds up none.
---@type table<string, boolean>
local HOLDS_UP = { permission = true, input = true }

---@type table<string, claude-ide.sessions.Wait[]> by session, the first one first
local seen = {}
---@type string[] sessions, the one that waited first first
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

---Takes note of what a session does now.
---@param session claude-ide.sessions.Live
function M.take(session)
  local state, before = session.state, open[session.pid]
  local now = state.since or require("claude-ide.clock").now()
  local waits = state.activity == "waiting" and HOLDS_UP[state.waiting_for] or false
  if before and before.id == session.id and waits and before.from == now then
    return
  end
  open[session.pid] = waits and { id = session.id, from = now, reason = state.waiting_for } or nil
  -- Waiting anew for the same: what lay between was not seen, and so neither was the end.
  local is_unseen = before and waits and before.reason == state.waiting_for
  if before and not is_unseen and now > before.from then
    remember(before.id, { from = before.from, to = now })
  end
end

---The last wait that ended.
---@param id string
---@return claude-ide.sessions.Wait?
function M.last(id)
  return seen[id] and seen[id][#seen[id]]
end

---The waits of a session that ended after a time.
---@param id string
---@param start integer
---@return { [1]: integer, [2]: integer }[] waits from and to
function M.since(id, start)
  local waits = {}
  for _, wait in ipairs(seen[id] or {}) do
    if wait.to >= start then
      waits[#waits + 1] = { wait.from, wait.to }
    end
  end
  return waits
end

---What ran is not known any more; what was seen stays true.
function M.forget_running()
  open = {}
end

return M
