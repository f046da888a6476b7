-- What waits to be said to sessions: one queue for each, of prompts from the page, the board, scripts and code actions, and of reasons for
-- rejections, which come first. An entry is handed over (transport.lua) once the user is not in the way: Claude is idle, its prompt is
-- empty, and no request waits.
-- Invariants: an entry is sent once, taken back, or its writer is told why not. Those of a session are sent in order, and never mixed with
-- the user's typing.
-- Not here: what the agent of a chat has got already and will take up after its turn (chat/chat.lua), and mentions, which are for clients
-- (context/mention/queue.lua).
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local bridge = lazy("claude-ide.terminal.bridge")
local bus = lazy("claude-ide.base.bus")
local context = lazy("claude-ide.context")
local kept_words = lazy("claude-ide.ui.kept_words")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local place = lazy("claude-ide.context.place")
local route_to = lazy("claude-ide.outbox.route")
local transport = lazy("claude-ide.outbox.transport")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

---Interval of checks while an entry waits: a draft can be deleted without an event.
local LOOK_MS = 150
---How long an entry waits behind text at Claude's prompt before that is said.
local DRAFT_MS = 3000
---Limit for a prompt to wait: the user may be away.
local PATIENCE_MS = 60 * 60 * 1000
---Limit for a reason: Claude aborts its turn at a rejection. Measured: 40 to 300 ms, on a busy machine up to 3 s (2.1.329).
local ABORT_MS = 30000

---@alias claude-ide.outbox.Kind "reason"|"board"|"page"|"script"|"action"|"comments"

---@class claude-ide.outbox.Rule
---@field sender string for notices
---@field patience integer milliseconds
---@field late string why it is not sent then
---@field is_first? boolean it comes before other kinds, and is joined with one of its writer
---@field yields? boolean it is given up where the user has begun to type
---@field is_given_back? boolean its text is saved for the user if it is not sent

local LATE = "Claude was not free for an hour"
---@type table<claude-ide.outbox.Kind, claude-ide.outbox.Rule>
local RULES = {
  reason = {
    sender = "A reason",
    patience = ABORT_MS,
    late = "Claude was not ready",
    is_first = true,
    yields = true,
    is_given_back = true,
  },
  board = { sender = "The board", patience = PATIENCE_MS, late = LATE, is_given_back = true },
  page = { sender = "A page", patience = PATIENCE_MS, late = LATE },
  script = { sender = "A script", patience = PATIENCE_MS, late = LATE },
  comments = { sender = "A round of comments", patience = PATIENCE_MS, late = LATE },
  action = { sender = "A code action", patience = PATIENCE_MS, late = LATE, is_given_back = true },
}

---@class claude-ide.outbox.Message
---@field kind claude-ide.outbox.Kind
---@field key? integer the writer's name for it
---@field session string
---@field text string
---@field terminal? claude-ide.terminal.Session of several that run the session; one that resumes it
---@field command? boolean allow a slash command
---@field has_references? boolean what is named with `#` in it is read and sent along, but for quoted lines
---@field ran boolean the session was running when it was written, or has been since
---@field after? integer Unix milliseconds: Claude has to become idle later
---@field given? fun() called before Claude is given it: from then on its transcript may have it
---@field done? fun(err?: string, all?: boolean) called once, unless it is taken back; all: those behind it fail, too

---@class claude-ide.outbox.Entry: claude-ide.outbox.Message
---@field rule claude-ide.outbox.Rule
---@field since integer
---@field is_over? boolean it has a result
---@field resuming? boolean a CLI is started for it
---@field problem? string why it cannot be resumed
---@field gone? "asked"|"sure" the session is not running: apparently, or certainly
---@field waits_for string why it is not sent yet
---@field order? claude-ide.terminal.Order to the mod in its CLI, without a result yet
---@field is_refused? boolean the mod has not carried it out
---@field behind? integer since when it waits behind text at the prompt
---@field is_said? boolean that was said
---@field typed string its text without what was read for it
---@field reading integer texts of it whose references are being read

---In the order of each session.
---@type claude-ide.outbox.Entry[]
local waiting = {}
local timer = timers.new("look whether Claude is free")

---@param fits fun(entry: claude-ide.outbox.Entry): boolean
---@return boolean removed
local function remove(fits)
  local before = #waiting
  waiting = vim.tbl_filter(function(entry)
    entry.is_over = entry.is_over or fits(entry)
    return not entry.is_over
  end, waiting)
  if not waiting[1] then
    timer:stop()
  end
  if #waiting < before then
    bus.emit("outbox_changed")
  end
  return #waiting < before
end

---Texts that were not sent, to be given back together.
---@type string[]
local unsent = {}

---@param text string
---@param why string
local function give_back(text, why)
  unsent[#unsent + 1] = text
  if unsent[2] then
    return
  end
  vim.schedule(function()
    local texts = table.concat(unsent, "\n\n")
    unsent = {}
    kept_words.give_back(texts, why:sub(1, 1):upper() .. why:sub(2))
  end)
end

---@param entry claude-ide.outbox.Entry
---@param err? string nil: it was sent
---@param all? boolean those behind it fail, too
local function over(entry, err, all)
  if not M.take_back(entry) then
    return
  elseif err and entry.rule.is_given_back then
    give_back(entry.typed, err)
  end
  if entry.done then
    entry.done(err, all)
  end
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
    notice.info(("%s’s prompt waits: there is unsent text at Claude's prompt."):format(entry.rule.sender))
  end
end

---@param entry claude-ide.outbox.Entry
local function try(entry)
  if entry.order or entry.reading > 0 then
    return -- its result comes
  elseif vim.uv.now() - entry.since > entry.rule.patience then
    return over(entry, entry.rule.late)
  end
  local route, unknown = route_to.of(entry.session, entry.terminal)
  if not route then
    return over(entry, unknown or "it cannot be delivered")
  end
  local outcome, why, all = transport[route.kind].offer(entry, route, function(err)
    over(entry, err)
  end)
  entry.ran = entry.ran or route.kind ~= "dead" and not entry.resuming
  if outcome == "sent" then
    log.info("an entry of the outbox was handed to session %s", entry.session)
    over(entry)
  elseif outcome == "failed" then
    over(entry, why, all)
  elseif outcome == "draft" and entry.rule.yields then
    over(entry, "you have begun to type at Claude's prompt")
  else
    entry.waits_for = why or entry.waits_for
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
  if not timer:is_active() then
    timer:every(LOOK_MS, look)
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
    return why or "Claude is not working on it"
  end
  return transport[route.kind].interrupt(route)
end

---@param change claude-ide.sessions.LiveChange
local function session_changed(change)
  for _, entry in ipairs(vim.list_slice(waiting)) do
    if change.previous == entry.session then
      over(entry, "Claude switched to another session", true)
    elseif change.session.id == entry.session and change.session.state.activity == "gone" and entry.ran then
      over(entry, "Claude has ended", true)
    end
  end
  look()
end

---Follows the sessions that entries may be for, from the first call on.
M.attach = require("claude-ide.base.once")(function()
  typing.listen()
  route_to.attach()
  bus.on("session_stopped", stopped)
  bus.on("session_changed", session_changed)
end)

---Reads what a message names with `#`, as the user's files are now.
---@param entry claude-ide.outbox.Entry that gets it
---@param text string
local function read_references(entry, text)
  local words = ("\n" .. text):gsub("\n>[^\n]*", "")
  entry.reading = entry.reading + 1
  context.expand(words, place.here(paths.cwd()), function(parts)
    entry.reading = entry.reading - 1
    for _, part in ipairs(parts) do
      entry.text = entry.text .. "\n\n" .. context.written(part)
    end
    look()
  end)
end

---Queues a message.
---@param message claude-ide.outbox.Message
function M.send(message)
  M.attach()
  local rule, at = RULES[message.kind], #waiting + 1
  for index, other in ipairs(rule.is_first and waiting or {}) do
    -- What the CLI may have got already can be neither preceded nor changed.
    if other.session == message.session and not other.order then
      at = index
      break
    end
  end
  local next_one = waiting[at]
  if next_one and next_one.kind == message.kind and next_one.key == message.key then
    local done, also_done = next_one.done, message.done
    next_one.text = next_one.text .. "\n" .. message.text
    next_one.typed = next_one.typed .. "\n" .. message.text
    next_one.done = function(...)
      for _, call in pairs({ done, also_done }) do
        call(...)
      end
    end
    if message.has_references then
      read_references(next_one, message.text)
    end
    return
  end
  local state = {
    rule = rule,
    since = vim.uv.now(),
    waits_for = "Claude is not free",
    typed = message.text,
    reading = 0,
  }
  local entry = vim.tbl_extend("force", message, state) --[[@as claude-ide.outbox.Entry]]
  table.insert(waiting, at, entry)
  look_again_and_again()
  bus.emit("outbox_changed")
  if message.has_references then
    read_references(entry, message.text)
  else
    look()
  end
end

---The entries that wait, in order.
---@param session? string default: of all
---@return claude-ide.outbox.Entry[]
function M.list(session)
  return vim.tbl_filter(function(entry)
    return not session or entry.session == session
  end, waiting)
end

---The entry of a writer.
---@param kind claude-ide.outbox.Kind
---@param key integer
---@return claude-ide.outbox.Entry?
function M.find(kind, key)
  return vim.iter(waiting):find(function(entry)
    return entry.kind == kind and entry.key == key
  end)
end

---Removes an entry that has no result yet. Its `done` is not called.
---@param entry claude-ide.outbox.Entry
---@return boolean done false: it has a result
function M.take_back(entry)
  if entry.order and not bridge.take_back(entry.order) then
    return false -- the CLI has it: its result comes
  end
  return remove(function(other)
    return other == entry
  end)
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

---Removes all entries of a kind that have no result yet. Their `done` is not called.
---@param kind claude-ide.outbox.Kind
function M.drop(kind)
  for _, entry in ipairs(vim.list_slice(waiting)) do
    if entry.kind == kind then
      M.take_back(entry)
    end
  end
end

return M
