-- Delivers clients' messages to a chat, the terminal, or a resumed CLI (route.lua) once the user is not in the way: Claude is idle, its
-- prompt is empty, and no decision waits.
-- Invariants: the library hands over one message per session at a time, and gets one result for it. It is never mixed with the user's
-- typing.
local M = {}

---Interval of checks while a message waits: a draft can be deleted without an event.
local LOOK_MS = 150
---Limit for a CLI to resume a session.
local RESUME_MS = 90000
---Limit for the library to be ahead of this module's state of a session.
local BEHIND_MS = 5000
---Limit for a message to wait: the user may be away.
local PATIENCE_MS = 60 * 60 * 1000

---@class claude-ide.web.QueuedMessage
---@field key integer
---@field session string
---@field text string
---@field command boolean
---@field since integer
---@field ran boolean the session was running when it was written, or has been since
---@field resuming? "finding"|"started"
---@field gone? "asked"|"sure" the session is not running: apparently, or certainly

---@type table<integer, claude-ide.web.QueuedMessage>
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

---@param message claude-ide.web.QueuedMessage
---@param answer table
local function over(message, answer)
  if waiting[message.key] then
    waiting[message.key] = nil
    require("claude-ide.web.tell").tell(answer)
  end
  if not next(waiting) then
    stop_looking()
  end
end

---@param message claude-ide.web.QueuedMessage
local function sent(message)
  require("claude-ide.log").info("a message of a page was handed to session %s", message.session)
  over(message, { sent = { key = message.key } })
end

---@param message claude-ide.web.QueuedMessage
---@param reason string
---@param all? boolean also fails the messages queued behind it
local function failed(message, reason, all)
  over(message, { failed = { key = message.key, reason = reason, all = all or false } })
end

---@param message claude-ide.web.QueuedMessage
---@param chat claude-ide.chat.Chat
local function say(message, chat)
  local is_free = chat.state == "idle" or chat.state == "ended"
  if not is_free or #chat.queue > 0 or require("claude-ide.chat.asks").count(chat) > 0 then
    return
  end
  local ok, err = chat:say(message.text, { { type = "text", text = message.text } })
  if ok then
    sent(message)
  else
    failed(message, err or "the chat takes no words")
  end
end

---@param message claude-ide.web.QueuedMessage
---@param route claude-ide.web.Route
local function type_it(message, route)
  local state, prompt = route.live.state, require("claude-ide.terminal.prompt")
  local is_idle = state.activity == "idle" and state.source == "record"
  local buf = route.buf --[[@as integer]]
  -- Feedback on a rejection comes first: it waits for the same moment.
  local is_theirs = require("claude-ide.sessions.next_prompt").is_waiting(buf)
  if not is_idle or is_theirs or not prompt.is_ready(buf) then
    return
  end
  if prompt.submit(buf, message.text, message.command) then
    sent(message)
  else
    failed(message, "Claude's terminal takes no words")
  end
end

---Fails a message whose session was running when it was written and seems not to be. The library may be ahead of this module: events that
---precede its answer arrive before the answer.
---@param message claude-ide.web.QueuedMessage
local function ended(message)
  if message.gone == "sure" then
    return failed(message, "Claude has ended", true)
  elseif not message.gone then
    message.gone = "asked"
    require("claude-ide.sessions").find(message.session, function()
      message.gone = "sure" -- unless the next check finds a process
    end)
  end
end

---Starts a CLI for a session that is not running; the message is typed when it is ready.
---@param message claude-ide.web.QueuedMessage
local function resume(message)
  if message.resuming then
    local is_over = message.resuming == "started" and not require("claude-ide.terminal").is_running()
    if is_over or vim.uv.now() - message.since > RESUME_MS then
      failed(message, "Claude could not go on with this session")
    end
    return
  end
  if message.ran then
    -- Compared by session: a terminal whose process was killed still counts as running for a moment.
    local inside = require("claude-ide.terminal").session()
    local goes_on = inside and inside.id ~= message.session and inside.state.activity ~= "gone"
    if goes_on and not left[message.session] and vim.uv.now() - message.since < BEHIND_MS then
      return -- after `/clear`: the client has learned of this session sooner than Neovim
    elseif goes_on then
      return failed(message, "Claude went on with another conversation", true)
    end
    return ended(message)
  end
  message.resuming = "finding"
  require("claude-ide.sessions.catalogue").find(message.session, function(item, err)
    if waiting[message.key] ~= message then
      return
    elseif not item or item.summary.id ~= message.session then
      return failed(message, err or "there is no such session any more")
    elseif item.live then
      return failed(message, ("it runs elsewhere (pid %d): write there"):format(item.live.pid))
    end
    local cwd = item.summary.cwd
    if cwd and vim.fn.isdirectory(cwd) == 0 then
      return failed(message, "the folder that it began in is gone")
    end
    local ok, why = require("claude-ide.terminal").open_in_background({ "--resume", message.session }, cwd)
    if not ok then
      return failed(message, why or "the terminal did not open")
    end
    message.resuming = "started"
    require("claude-ide.ui.notice").info("A page wrote to a session: it goes on in the terminal.")
  end)
end

---@param message claude-ide.web.QueuedMessage
local function try(message)
  if vim.uv.now() - message.since > PATIENCE_MS then
    return failed(message, "Claude was not free for an hour")
  end
  local route, why = require("claude-ide.web.route").of(message.session)
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

local function look()
  for _, message in pairs(vim.tbl_extend("force", {}, waiting)) do
    local ok, trace = xpcall(try, debug.traceback, message)
    if not ok then
      require("claude-ide.log").error("a message of a page cannot be delivered: %s", trace)
      failed(message, "this is a bug in claude-ide.nvim: `:Claude log` tells more")
    end
  end
end

local function look_again_and_again()
  if not timer then
    timer = assert(vim.uv.new_timer())
    timer:start(LOOK_MS, LOOK_MS, vim.schedule_wrap(look))
  end
end

---@type table<string, fun(ask: table)>
local ASKS = {}

function ASKS.deliver(ask)
  waiting[ask.key] = {
    key = ask.key,
    session = ask.session,
    text = ask.text,
    command = ask.command,
    since = vim.uv.now(),
    ran = ask.ran,
  }
  look_again_and_again()
  look()
end

function ASKS.take_back(ask)
  local message = waiting[ask.key]
  if message then
    failed(message, "cancelled")
  end
end

function ASKS.decide(ask)
  require("claude-ide.web.decisions").decide(ask)
end

---Interrupts Claude, as the user here would.
---@param session string
---@return string? why not
local function interrupt(session)
  local route, why = require("claude-ide.web.route").of(session)
  if not route or route.kind == "dead" then
    return why or "Claude does not work on it"
  elseif route.kind == "chat" then
    local chat = route.chat --[[@as claude-ide.chat.Chat]]
    if not chat:is_busy() then
      return "Claude does not work"
    end
    return chat:interrupt()
  end
  local activity = route.live.state.activity
  if activity ~= "working" then
    return activity == "waiting" and "Claude waits for an answer: give one" or "Claude does not work"
  elseif
    not require("claude-ide.terminal.prompt").interrupt(route.buf --[[@as integer]])
  then
    return "Claude's terminal takes no keys"
  end
end

function ASKS.interrupt(ask)
  local err = interrupt(ask.session)
  require("claude-ide.web.tell").tell({ done = { key = ask.key, error = err } })
end

---@param change claude-ide.sessions.LiveChange
local function session_changed(change)
  require("claude-ide.web.route").note(change.session)
  left[change.session.id] = nil
  if change.previous then
    left[change.previous] = true
  end
  for _, message in pairs(vim.tbl_extend("force", {}, waiting)) do
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

---Starts to handle clients' messages.
function M.attach()
  require("claude-ide.ui.guard.keys").listen()
  require("claude-ide.wake").on({ "web_ask" }, function(event)
    if not unsubscribe then
      return -- sent before the server stopped
    end
    local take = ASKS[event.ask.type]
    if take then
      take(event.ask)
    end
  end)
  unsubscribe = unsubscribe or require("claude-ide.bus").on("session_changed", session_changed)
end

---Stops, and drops queued messages.
function M.detach()
  waiting = {}
  stop_looking()
  if unsubscribe then
    unsubscribe()
    unsubscribe = nil
  end
end

return M
