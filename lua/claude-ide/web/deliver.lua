-- Takes what clients write to who can take it (route.lua), as soon as nobody else writes there: Claude is idle, nothing of the
-- user's stands at its prompt, and nothing waits to be decided.
-- Invariants: the library hands over one message of a session at a time, and hears once what became of it. What a user is
-- typing is never mixed with it.
local M = {}

---How often is looked again while something waits: a draft that is taken back tells nobody.
local LOOK_MS = 150
---How long a CLI may take to go on with a session.
local RESUME_MS = 90000
---How long what the library knows of a session may be ahead of what is known here.
local BEHIND_MS = 5000
---How long a message waits at most: the user may have gone.
local PATIENCE_MS = 60 * 60 * 1000

---@class claude-ide.web.Parcel
---@field key integer
---@field session string
---@field text string
---@field command boolean
---@field since integer
---@field ran boolean somebody ran the session when it was written, or has since
---@field resuming? "finding"|"started"
---@field gone? "asked"|"sure" nobody runs the session: so it seems, or so it is

---@type table<integer, claude-ide.web.Parcel>
local waiting = {}
---Sessions whose process is known to have gone on with another one.
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

---@param parcel claude-ide.web.Parcel
---@param told table
local function over(parcel, told)
  if waiting[parcel.key] then
    waiting[parcel.key] = nil
    require("claude-ide.web.tell").tell(told)
  end
  if not next(waiting) then
    stop_looking()
  end
end

---@param parcel claude-ide.web.Parcel
local function sent(parcel)
  require("claude-ide.log").info("a message of a page was handed to session %s", parcel.session)
  over(parcel, { sent = { key = parcel.key } })
end

---@param parcel claude-ide.web.Parcel
---@param reason string
---@param all? boolean nor will those be delivered that wait behind it
local function failed(parcel, reason, all)
  over(parcel, { failed = { key = parcel.key, reason = reason, all = all or false } })
end

---@param parcel claude-ide.web.Parcel
---@param chat claude-ide.chat.Chat
local function say(parcel, chat)
  local is_free = chat.state == "idle" or chat.state == "ended"
  if not is_free or #chat.queue > 0 or require("claude-ide.chat.asks").count(chat) > 0 then
    return
  end
  local ok, err = chat:say(parcel.text, { { type = "text", text = parcel.text } })
  if ok then
    sent(parcel)
  else
    failed(parcel, err or "the chat takes no words")
  end
end

---@param parcel claude-ide.web.Parcel
---@param route claude-ide.web.Route
local function type_it(parcel, route)
  local state, prompt = route.live.state, require("claude-ide.terminal.prompt")
  local is_idle = state.activity == "idle" and state.source == "record"
  local buf = route.buf --[[@as integer]]
  -- Why they rejected something comes first: both of them wait for the same moment.
  local is_theirs = require("claude-ide.sessions.next_prompt").is_waiting(buf)
  if not is_idle or is_theirs or not prompt.is_ready(buf) then
    return
  end
  if prompt.submit(buf, parcel.text, parcel.command) then
    sent(parcel)
  else
    failed(parcel, "Claude's terminal takes no words")
  end
end

---Somebody ran the session when it was written, and nobody seems to. The library is ahead of what is known here: what it told
---before it answers is known once it has.
---@param parcel claude-ide.web.Parcel
local function ended(parcel)
  if parcel.gone == "sure" then
    return failed(parcel, "Claude has ended", true)
  elseif not parcel.gone then
    parcel.gone = "asked"
    require("claude-ide.sessions").find(parcel.session, function()
      parcel.gone = "sure" -- unless a next look finds who runs it
    end)
  end
end

---No process runs the session: one is started, and what waits is typed when it is ready.
---@param parcel claude-ide.web.Parcel
local function resume(parcel)
  if parcel.resuming then
    local is_over = parcel.resuming == "started" and not require("claude-ide.terminal").is_running()
    if is_over or vim.uv.now() - parcel.since > RESUME_MS then
      failed(parcel, "Claude could not go on with this session")
    end
    return
  end
  if parcel.ran then
    -- By its session: a terminal whose process was killed still counts as one that runs for a moment.
    local inside = require("claude-ide.terminal").session()
    local goes_on = inside and inside.id ~= parcel.session and inside.state.activity ~= "gone"
    if goes_on and not left[parcel.session] and vim.uv.now() - parcel.since < BEHIND_MS then
      return -- after `/clear`: whoever wrote it was told of this one sooner than Neovim
    elseif goes_on then
      return failed(parcel, "Claude went on with another conversation", true)
    end
    return ended(parcel)
  end
  parcel.resuming = "finding"
  require("claude-ide.sessions.catalogue").find(parcel.session, function(item, err)
    if waiting[parcel.key] ~= parcel then
      return
    elseif not item or item.summary.id ~= parcel.session then
      return failed(parcel, err or "there is no such session any more")
    elseif item.live then
      return failed(parcel, ("it runs elsewhere (pid %d): write there"):format(item.live.pid))
    end
    local cwd = item.summary.cwd
    if cwd and vim.fn.isdirectory(cwd) == 0 then
      return failed(parcel, "the folder that it began in is gone")
    end
    local ok, why = require("claude-ide.terminal").open_in_background({ "--resume", parcel.session }, cwd)
    if not ok then
      return failed(parcel, why or "the terminal did not open")
    end
    parcel.resuming = "started"
    require("claude-ide.ui.notice").info("A page wrote to a session: it goes on in the terminal.")
  end)
end

---@param parcel claude-ide.web.Parcel
local function try(parcel)
  if vim.uv.now() - parcel.since > PATIENCE_MS then
    return failed(parcel, "Claude was not free for an hour")
  end
  local route, why = require("claude-ide.web.route").of(parcel.session)
  local chat = route and route.chat
  if parcel.ran and chat and chat.state == "ended" then
    return failed(parcel, "Claude has ended", true) -- it was for the one that ran when it came
  elseif not route then
    return failed(parcel, why or "nobody can take it")
  elseif route.kind == "dead" then
    return resume(parcel)
  end
  parcel.ran = parcel.ran or not parcel.resuming
  if route.kind == "chat" then
    say(parcel, chat --[[@as claude-ide.chat.Chat]])
  else
    type_it(parcel, route)
  end
end

local function look()
  for _, parcel in pairs(vim.tbl_extend("force", {}, waiting)) do
    local ok, trace = xpcall(try, debug.traceback, parcel)
    if not ok then
      require("claude-ide.log").error("a message of a page cannot be delivered: %s", trace)
      failed(parcel, "this is a bug in claude-ide.nvim: `:Claude log` tells more")
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
  local parcel = waiting[ask.key]
  if parcel then
    failed(parcel, "cancelled")
  end
end

function ASKS.decide(ask)
  require("claude-ide.web.decisions").decide(ask)
end

---Stops what Claude does in a session, as who sits here would.
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
  require("claude-ide.web.route").note()
  left[change.session.id] = nil
  if change.previous then
    left[change.previous] = true
  end
  for _, parcel in pairs(vim.tbl_extend("force", {}, waiting)) do
    if change.previous == parcel.session then
      failed(parcel, "Claude went on with another conversation", true)
    elseif change.session.id == parcel.session and change.session.state.activity == "gone" and parcel.ran then
      failed(parcel, "Claude has ended", true)
    end
  end
  look()
end

---Begins to take what clients write.
function M.attach()
  require("claude-ide.ui.guard.keys").listen()
  require("claude-ide.wake").on({ "web_ask" }, function(event)
    if not unsubscribe then
      return -- it was asked before they stopped being served
    end
    local take = ASKS[event.ask.type]
    if take then
      take(event.ask)
    end
  end)
  unsubscribe = unsubscribe or require("claude-ide.bus").on("session_changed", session_changed)
end

---Nothing is taken any more, and nobody waits for what was.
function M.detach()
  waiting = {}
  stop_looking()
  if unsubscribe then
    unsubscribe()
    unsubscribe = nil
  end
end

return M
