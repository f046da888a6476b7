-- States of sessions whose CLI writes no record of them, as its hooks report them. A record comes first.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local live = lazy("claude-ide.sessions.live")
local process = lazy("claude-ide.base.process")
local retry = lazy("claude-ide.base.retry")

local M = {}

---How long a process may take to end after its connection.
local PATIENCE_MS = 30000

---@type table<integer, claude-ide.sessions.Live> by process
local reported = {}

---@param pid integer
---@param change claude-ide.sessions.LiveChange
local function take(pid, change)
  local known = live.of_pid(pid)
  if known == reported[pid] then
    reported[pid] = change.session.state.activity ~= "gone" and change.session or nil
    live.take(change)
  end
end

---@param pid integer
---@param line string "working {session} {folder}"
local function on_state(pid, _, line)
  local activity, id, cwd = line:match("^(%l+) (%S+) (/[^\n]*)\n")
  if not activity or not id or not cwd then
    return
  end
  local before, now = reported[pid], clock.now()
  ---@type claude-ide.sessions.Live
  local session = {
    pid = pid,
    id = id,
    cwd = cwd,
    kind = "interactive",
    entrypoint = "cli",
    started = before and before.started or now,
    liveness = "alive",
    state = {
      activity = activity --[[@as claude-ide.sessions.Activity]],
      waiting_for = activity == "waiting" and "permission" or nil,
      since = now,
      source = "hooks",
    },
  }
  take(pid, { session = session, previous = before and before.id ~= id and before.id or nil })
end

---Forgets a session once its process has ended, which takes a moment. A disconnected CLI goes on.
---@param pid integer
---@param session claude-ide.sessions.Live
local function forget_once_ended(pid, session)
  local function look(answer)
    answer(not process.runs(pid) or nil)
  end
  retry.until_found(look, PATIENCE_MS, function(has_ended)
    if has_ended and reported[pid] then
      local gone = vim.deepcopy(session)
      gone.liveness, gone.state = "dead", { activity = "gone", source = "hooks" }
      take(pid, { session = gone })
    end
  end)
end

---Handles the reports of hooks.
M.attach = require("claude-ide.base.once")(function()
  hook_folder.on("state", on_state)
  bus.on("client_disconnected", function(client)
    local session = client.pid and reported[client.pid]
    if session then
      forget_once_ended(client.pid, session)
    end
  end)
end)

return M
