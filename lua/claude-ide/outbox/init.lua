-- Delivers messages to sessions: to a chat, a terminal, or a resumed CLI (route.lua) once the user is not in the way: Claude is idle,
-- its prompt is empty, and no request waits. Senders are the page and the board.
-- Invariants: a message has one result. Those of a session are delivered in order, and never mixed with the user's typing.
local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.chat.asks")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local prompt = lazy("claude-ide.terminal.prompt")
local rejection_reason = lazy("claude-ide.terminal.rejection_reason")
local route_to = lazy("claude-ide.outbox.route")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

---Interval of checks while a message waits: a draft can be deleted without an event.
local LOOK_MS = 150
---Limit for a CLI to resume a session.
local RESUME_MS = 90000
---Limit for the library to be ahead of this module's state of a session.
local BEHIND_MS = 5000
---How long a message waits behind text at Claude's prompt before that is said.
local DRAFT_MS = 3000
---Limit for a message to wait: the user may be away.
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
---@field resuming? "finding"|"started"
---@field terminal? claude-ide.terminal.Session that resumes it
---@field gone? "asked"|"sure" the session is not running: apparently, or certainly
---@field behind? integer since when it waits behind text at the prompt
---@field is_said? boolean that was said

---Oldest first.
---@type claude-ide.outbox.Entry[]
local waiting = {}
---Sessions whose process has switched to another one.
---@type table<string, true?>
local left = {}
local timer ---@type uv.uv_timer_t?
local unsubscribe ---@type fun()?

local function stop_looking()
  if timer then
    timer:stop()
    timer:close()
    timer = nil
  end
end

---@param message claude-ide.outbox.Entry
---@return boolean
local function is_waiting(message)
  return vim.list_contains(waiting, message)
end

---@param message claude-ide.outbox.Entry
---@param err? string
---@param all? boolean
local function over(message, err, all)
  local before = #waiting
  waiting = vim.tbl_filter(function(other)
    return other ~= message
  end, waiting)
  if not waiting[1] then
    stop_looking()
  end
  if #waiting == before then
    return
  end
  message.done(err, all)
  for _, other in ipairs(all and vim.list_slice(waiting) or {}) do
    if other.session == message.session then
      over(other, err, all)
    end
  end
end

---@param message claude-ide.outbox.Entry
local function sent(message)
  log.info("a message was handed to session %s", message.session)
  over(message)
end

---@type fun(message: claude-ide.outbox.Entry, reason: string, all?: boolean)
local failed = over

---@param message claude-ide.outbox.Entry
---@param chat claude-ide.chat.Chat
local function say(message, chat)
  local is_free = chat.state == "idle" or chat.state == "ended"
  if not is_free or #chat.queue > 0 or asks.count(chat) > 0 then
    return
  end
  local ok, err = chat:say(message.text)
  if ok then
    sent(message)
  else
    failed(message, err or "the chat does not accept input")
  end
end

---Says what a message waits for, once: the user may have forgotten that text.
---@param message claude-ide.outbox.Entry
---@param is_behind boolean text stands at the prompt
local function say_behind(message, is_behind)
  message.behind = is_behind and (message.behind or vim.uv.now()) or nil
  if message.behind and not message.is_said and vim.uv.now() - message.behind > DRAFT_MS then
    message.is_said = true
    notice.info(
      ("%s’s prompt waits: text that is not sent stands at Claude's prompt."):format(message.sender)
    )
  end
end

---@param message claude-ide.outbox.Entry
---@param route claude-ide.outbox.Route
local function type_it(message, route)
  local live = route.live --[[@as claude-ide.sessions.Live]]
  local state = live.state
  local is_idle = state.activity == "idle" and state.source == "record"
  local buf = route.buf --[[@as integer]]
  -- Feedback on a rejection comes first: it waits for the same moment.
  local is_theirs = rejection_reason.is_waiting(buf)
  if not is_idle or is_theirs or not prompt.is_ready(buf) then
    return say_behind(message, is_idle and not is_theirs and prompt.has_draft(buf))
  end
  if prompt.submit(buf, message.text, message.command == true) then
    sent(message)
  else
    failed(message, "Claude's terminal does not accept input")
  end
end

---Fails a message whose session was running when it was written and seems not to be. The library may be ahead of this module: events that
---precede its answer arrive before the answer.
---@param message claude-ide.outbox.Entry
local function ended(message)
  if message.gone == "sure" then
    return failed(message, "Claude has ended", true)
  elseif not message.gone then
    message.gone = "asked"
    sessions.find(message.session, function()
      message.gone = "sure" -- unless the next check finds a process
    end)
  end
end

---Starts a CLI for a session that is not running; the message is typed when it is ready.
---@param message claude-ide.outbox.Entry
local function resume(message)
  if message.resuming then
    local terminal = message.terminal
    local is_over = terminal ~= nil and not terminal:is_alive()
    if is_over or vim.uv.now() - message.since > RESUME_MS then
      failed(message, "Claude could not continue this session")
    end
    return
  end
  if message.ran then
    -- Compared by session: a terminal whose process was killed still counts as running for a moment.
    local inside = terminals.session()
    local goes_on = inside and inside.id ~= message.session and inside.state.activity ~= "gone"
    if goes_on and not left[message.session] and vim.uv.now() - message.since < BEHIND_MS then
      return -- after `/clear`: the client has learned of this session sooner than Neovim
    elseif goes_on then
      return failed(message, "Claude went on with another conversation", true)
    end
    return ended(message)
  end
  message.resuming = "finding"
  catalogue.find(message.session, function(item, err)
    if not is_waiting(message) then
      return
    elseif not item or item.summary.id ~= message.session then
      return failed(message, err or "this session no longer exists")
    elseif item.live then
      return failed(message, ("it runs in another terminal (pid %d): write there"):format(item.live.pid))
    end
    local cwd = item.summary.cwd
    if cwd and vim.fn.isdirectory(cwd) == 0 then
      return failed(message, "the folder that it began in is gone")
    end
    local terminal, why = terminals.open_in_background({ "--resume", message.session }, cwd)
    if not terminal then
      return failed(message, why or "the terminal did not open")
    end
    message.resuming, message.terminal = "started", terminal
    notice.info(message.sender .. " wrote to a session: it continues in the terminal.")
  end)
end

---@param message claude-ide.outbox.Entry
local function try(message)
  if vim.uv.now() - message.since > PATIENCE_MS then
    return failed(message, "Claude was not free for an hour")
  end
  local route, why = route_to.of(message.session)
  local chat = route and route.chat
  if message.ran and chat and chat.state == "ended" then
    return failed(message, "Claude has ended", true) -- it was meant for the process that was running
  elseif not route then
    return failed(message, why or "it cannot be delivered")
  elseif route.kind == "dead" then
    return resume(message)
  end
  message.ran = message.ran or not message.resuming
  if route.kind == "chat" then
    say(message, chat --[[@as claude-ide.chat.Chat]])
  else
    type_it(message, route)
  end
end

---The first message of each session.
local function look()
  local seen = {} ---@type table<string, true>
  for _, message in ipairs(vim.list_slice(waiting)) do
    if not seen[message.session] then
      seen[message.session] = true
      local ok, trace = xpcall(try, debug.traceback, message)
      if not ok then
        log.error("a message cannot be delivered: %s", trace)
        failed(message, "this is a bug in claude-ide.nvim: `:Claude log` tells more")
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
  local first = vim.iter(waiting):find(function(message)
    return message.session == session
  end)
  if first then
    failed(first, "you stopped Claude", true)
  end
end

---Interrupts Claude, as the user here would. What waits for it goes back to its sender.
---@param session string
---@return string? why not
function M.interrupt(session)
  local route, why = route_to.of(session)
  if not route or route.kind == "dead" then
    return why or "Claude does not work on it"
  elseif route.kind == "chat" then
    local chat = route.chat --[[@as claude-ide.chat.Chat]]
    if not chat:is_busy() then
      return "Claude does not work"
    end
    return chat:interrupt()
  end
  local live = route.live --[[@as claude-ide.sessions.Live]]
  local activity = live.state.activity
  if activity ~= "working" then
    return activity == "waiting" and "Claude waits for an answer: give one" or "Claude does not work"
  elseif
    not prompt.interrupt(route.buf --[[@as integer]])
  then
    return "Claude's terminal does not accept keys"
  end
  stopped(session)
end

---@param change claude-ide.sessions.LiveChange
local function session_changed(change)
  route_to.note(change.session)
  left[change.session.id] = nil
  if change.previous then
    left[change.previous] = true
  end
  for _, message in ipairs(vim.list_slice(waiting)) do
    if change.previous == message.session then
      failed(message, "Claude went on with another conversation", true)
    elseif
      change.session.id == message.session
      and change.session.state.activity == "gone"
      and message.ran
    then
      failed(message, "Claude has ended", true)
    end
  end
  look()
end

---Follows the sessions that messages may be for. Cheap to repeat.
function M.attach()
  typing.listen()
  if not unsubscribe then
    bus.on("session_stopped", stopped)
  end
  unsubscribe = unsubscribe or bus.on("session_changed", session_changed)
end

---Queues a message.
---@param fields claude-ide.outbox.Message
---@return fun() take_back
function M.send(fields)
  M.attach()
  local message = vim.tbl_extend("force", fields, { since = vim.uv.now() }) --[[@as claude-ide.outbox.Entry]]
  waiting[#waiting + 1] = message
  look_again_and_again()
  look()
  return function()
    failed(message, "cancelled")
  end
end

---How many messages wait, by session.
---@return table<string, integer>
function M.counts()
  local counts = {} ---@type table<string, integer>
  for _, message in ipairs(waiting) do
    counts[message.session] = (counts[message.session] or 0) + 1
  end
  return counts
end

---Drops the messages of a sender without a result.
---@param sender string
function M.drop(sender)
  waiting = vim.tbl_filter(function(message)
    return message.sender ~= sender
  end, waiting)
  if not waiting[1] then
    stop_looking()
  end
end

return M
