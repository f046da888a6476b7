-- What waits to be said to sessions: one queue for each, of prompts from the page and the board. An entry is handed over
-- (transport.lua) once the user is not in the way: Claude is idle, its prompt is empty, and no request waits.
-- Invariants: an entry has one result. Those of a session are sent in order, and never mixed with the user's typing.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local rejection_reason = lazy("claude-ide.terminal.rejection_reason")
local route_to = lazy("claude-ide.outbox.route")
local transport = lazy("claude-ide.outbox.transport")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

---Interval of checks while an entry waits: a draft can be deleted without an event.
local LOOK_MS = 150
---How long an entry waits behind text at Claude's prompt before that is said.
local DRAFT_MS = 3000
---Limit for an entry to wait: the user may be away.
local PATIENCE_MS = 60 * 60 * 1000

---@class claude-ide.outbox.Message
---@field session string
---@field text string
---@field command? boolean allow a slash command
---@field ran boolean the session was running when it was written, or has been since
---@field sender string for a notice: "A page"
---@field done fun(err?: string, all?: boolean) called once, unless it is dropped; all: those behind it fail, too

---@class claude-ide.outbox.Entry: claude-ide.outbox.Message
---@field since integer
---@field is_over? boolean it has a result
---@field resuming? boolean a CLI is started for it
---@field terminal? claude-ide.terminal.Session that resumes the session
---@field problem? string why it cannot be resumed
---@field gone? "asked"|"sure" the session is not running: apparently, or certainly
---@field behind? integer since when it waits behind text at the prompt
---@field is_said? boolean that was said

---Oldest first.
---@type claude-ide.outbox.Entry[]
local waiting = {}
local timer ---@type uv.uv_timer_t?
local unsubscribe ---@type fun()?

local function stop_looking()
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
end

---@param entry claude-ide.outbox.Entry
---@param err? string nil: it was sent
---@param all? boolean those behind it fail, too
local function over(entry, err, all)
  if entry.is_over then
    return
  end
  entry.is_over = true
  waiting = vim.tbl_filter(function(other)
    return other ~= entry
  end, waiting)
  if not waiting[1] then
    stop_looking()
  end
  entry.done(err, all)
  for _, other in ipairs(all and vim.list_slice(waiting) or {}) do
    if other.session == entry.session then
      over(other, err, all)
    end
  end
end

---Says what an entry waits for, once: the user may have forgotten that text.
---@param entry claude-ide.outbox.Entry
---@param is_behind boolean text stands at the prompt
local function say_behind(entry, is_behind)
  entry.behind = is_behind and (entry.behind or vim.uv.now()) or nil
  if entry.behind and not entry.is_said and vim.uv.now() - entry.behind > DRAFT_MS then
    entry.is_said = true
    notice.info(
      ("%s’s prompt waits: text that is not sent stands at Claude's prompt."):format(entry.sender)
    )
  end
end

---@param entry claude-ide.outbox.Entry
local function try(entry)
  if vim.uv.now() - entry.since > PATIENCE_MS then
    return over(entry, "Claude was not free for an hour")
  end
  local route, unknown = route_to.of(entry.session)
  if not route then
    return over(entry, unknown or "it cannot be delivered")
  elseif route.buf and rejection_reason.is_waiting(route.buf) then
    return say_behind(entry, false) -- it comes first: it waits for the same moment
  end
  local outcome, why, all = transport[route.kind].offer(entry, route)
  entry.ran = entry.ran or route.kind ~= "dead" and not entry.resuming
  if outcome == "sent" then
    log.info("an entry of the outbox was handed to session %s", entry.session)
    over(entry)
  elseif outcome == "failed" then
    over(entry, why, all)
  else
    say_behind(entry, outcome == "draft")
  end
end

---Offers the first entry of each session.
local function look()
  local seen = {} ---@type table<string, true>
  for _, entry in ipairs(vim.list_slice(waiting)) do
    if not seen[entry.session] and not entry.is_over then
      seen[entry.session] = true
      local ok, trace = xpcall(try, debug.traceback, entry)
      if not ok then
        log.error("an entry of the outbox cannot be sent: %s", trace)
        over(entry, "this is a bug in claude-ide.nvim: `:Claude log` tells more")
      end
    end
  end
end

local function look_again_and_again()
  if not timer then
    timer = assert(vim.uv.new_timer())
    timer:start(LOOK_MS, LOOK_MS, vim.schedule_wrap(look))
  end
end

---The user has stopped Claude: what waits would start the next turn. It goes back to where it was written.
---@param session string
local function stopped(session)
  local first = vim.iter(waiting):find(function(entry)
    return entry.session == session
  end)
  if first then
    over(first, "you stopped Claude", true)
  end
end

---Interrupts Claude, as the user here would. What waits for it goes back to its sender.
---@param session string
---@return string? why not
function M.interrupt(session)
  local route, why = route_to.of(session)
  if not route then
    return why or "Claude does not work on it"
  end
  return transport[route.kind].interrupt(route)
end

---@param change claude-ide.sessions.LiveChange
local function session_changed(change)
  route_to.note(change)
  for _, entry in ipairs(vim.list_slice(waiting)) do
    if change.previous == entry.session then
      over(entry, "Claude went on with another conversation", true)
    elseif
      change.session.id == entry.session
      and change.session.state.activity == "gone"
      and entry.ran
    then
      over(entry, "Claude has ended", true)
    end
  end
  look()
end

---Follows the sessions that entries may be for. Cheap to repeat.
function M.attach()
  typing.listen()
  if not unsubscribe then
    bus.on("session_stopped", stopped)
  end
  unsubscribe = unsubscribe or bus.on("session_changed", session_changed)
end

---Queues a message.
---@param message claude-ide.outbox.Message
---@return fun() take_back
function M.send(message)
  M.attach()
  local entry = vim.tbl_extend("force", message, { since = vim.uv.now() }) --[[@as claude-ide.outbox.Entry]]
  waiting[#waiting + 1] = entry
  look_again_and_again()
  look()
  return function()
    over(entry, "cancelled")
  end
end

---How many entries wait, by session.
---@return table<string, integer>
function M.counts()
  local counts = {} ---@type table<string, integer>
  for _, entry in ipairs(waiting) do
    counts[entry.session] = (counts[entry.session] or 0) + 1
  end
  return counts
end

---Drops the entries of a sender without a result.
---@param sender string
function M.drop(sender)
  waiting = vim.tbl_filter(function(entry)
    entry.is_over = entry.is_over or entry.sender == sender
    return not entry.is_over
  end, waiting)
  if not waiting[1] then
    stop_looking()
  end
end

return M
