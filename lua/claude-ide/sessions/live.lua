-- The running sessions as last reported by the library, by process, in memory.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local ide_process = lazy("claude-ide.base.process")
local waits = lazy("claude-ide.sessions.waits")

local M = {}

---@type table<integer, claude-ide.sessions.Live>
local by_pid = {}
---Cache of parent processes.
---@type table<integer, integer>
local parents = {}

---Maximum processes between a CLI and its terminal's job: wrappers, a shell, a version manager.
local MAX_ANCESTORS = 8

---Handles the library's report on a session.
---@param change claude-ide.sessions.LiveChange
function M.take(change)
  local session = change.session
  local gone, before = session.state.activity == "gone", by_pid[session.pid]
  by_pid[session.pid] = not gone and session or nil
  if gone then
    parents[session.pid] = nil
  end
  waits.take(before, session)
  bus.emit("session_changed", change)
end

---Forgets all sessions, for a restart of the library.
function M.reset()
  by_pid, parents = {}, {}
end

---The running sessions, oldest first.
---@return claude-ide.sessions.Live[]
function M.list()
  local list = vim.tbl_values(by_pid)
  table.sort(list, function(left, right)
    return (left.started or 0) < (right.started or 0)
      or (left.started == right.started and left.pid < right.pid)
  end)
  return list
end

---@param pid integer?
---@return claude-ide.sessions.Live?
function M.of_pid(pid)
  return pid and by_pid[pid]
end

---The session in the background by this name.
---@param job string
---@return claude-ide.sessions.Live?
function M.of_job(job)
  return vim.iter(M.list()):find(function(session)
    return session.job == job
  end)
end

---@return integer? parent
local function parent_of(pid)
  local known = parents[pid]
  if known then
    return known
  end
  local process = ide_process.get(pid)
  local parent = process and process.parent
  parents[pid] = parent
  return parent
end

---@param pid integer
---@param ancestor integer
---@return boolean whether it is that process or one of its descendants
function M.is_below(pid, ancestor)
  local above = pid ---@type integer?
  for _ = 0, MAX_ANCESTORS do
    if above == ancestor then
      return true
    elseif not above or above <= 1 then
      return false
    end
    above = parent_of(above)
  end
  return false
end

---The session of a process or one of its descendants.
---@param pid integer
---@return claude-ide.sessions.Live?
function M.below(pid)
  return by_pid[pid]
    or vim.iter(M.list()):find(function(session)
      return M.is_below(session.pid, pid)
    end)
end

return M
