-- How a text is handed to a session, by the kind of its receiver (route.lua): a chat, a CLI in a terminal, one that is not running.
-- A prompt for a CLI with our mod goes over the bridge, beside what stands at its prompt; else, or if it is more than text, it is typed.
-- Invariant: nothing is typed unless the CLI is idle at an empty prompt and the user does not type there.
local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.chat.asks")
local bus = lazy("claude-ide.base.bus")
local bridges = lazy("claude-ide.terminal.bridge")
local catalogue = lazy("claude-ide.sessions.catalogue")
local clock = lazy("claude-ide.base.clock")
local keep = lazy("claude-ide.sessions.keep")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local prompt = lazy("claude-ide.terminal.prompt")
local route_to = lazy("claude-ide.outbox.route")
local sessions = lazy("claude-ide.sessions")
local terminals = lazy("claude-ide.terminal")

---Limit for a CLI to resume a session.
local RESUME_MS = 90000
---Limit for the library to be ahead of this module's state of a session.
local BEHIND_MS = 5000

---Limit for the record of a CLI to say that it works on a prompt which it has taken.
local START_MS = 5000

---What has become of an entry; draft: it waits, and text of the user stands at the prompt.
---@alias claude-ide.outbox.Outcome "sent"|"waits"|"draft"|"failed"

---@class claude-ide.outbox.Transport
---@field offer fun(entry: claude-ide.outbox.Entry, route: claude-ide.outbox.Route, over: fun(err?: string)): claude-ide.outbox.Outcome, string?, boolean? sends it if the user is not in the way; else why not and, if it failed, whether those behind it fail, too. While the entry has an order, it is not offered again; over: called if the order has sent it, or may have
---@field interrupt fun(route: claude-ide.outbox.Route): string? stops Claude; returns why not

---What an entry waits for, as it is shown.
local WORKS, ASKS = "Claude works", "Claude waits for an answer"
local STARTS, ENDED = "Claude starts", "Claude is not running"

---@param entry claude-ide.outbox.Entry
local function say_given(entry)
  if entry.given then
    entry.given()
  end
end

---@type table<claude-ide.outbox.RouteKind, claude-ide.outbox.Transport>
local M = {}

M.chat = {
  offer = function(entry, route)
    local chat = route.chat --[[@as claude-ide.chat.Chat]]
    if entry.ran and chat.state == "ended" then
      return "failed", "Claude has ended", true -- it was meant for the process that was running
    end
    local is_free = chat.state == "idle" or chat.state == "ended"
    if asks.count(chat) > 0 then
      return "waits", ASKS
    elseif not is_free or #chat.queue > 0 then
      return "waits", WORKS
    end
    say_given(entry)
    local ok, err = chat:say(entry.text)
    if ok then
      return "sent"
    end
    return "failed", err or "the chat does not accept input"
  end,
  interrupt = function(route)
    local chat = route.chat --[[@as claude-ide.chat.Chat]]
    if not chat:is_busy() then
      return "Claude is not working"
    end
    chat:interrupt()
  end,
}

---Whether a text is a prompt as it is: at the prompt a command or a mention would be more than that.
---@param text string
---@return boolean
local function is_plain(text)
  return not text:find("^%s*[/!#]") and not text:find("@", 1, true)
end

---When a CLI was last given a prompt over its bridge (Unix milliseconds), and when it had it (Neovim's clock).
---@type table<claude-ide.terminal.Bridge, { given: integer, taken: integer }>
local last = setmetatable({}, { __mode = "k" })

---Whether a CLI that seems to be idle has a prompt, with which it has not begun yet.
---@param bridge claude-ide.terminal.Bridge?
---@param state claude-ide.sessions.State
---@return boolean
local function is_starting(bridge, state)
  local one = bridge and last[bridge]
  return one ~= nil and (state.since or 0) < one.given and vim.uv.now() - one.taken < START_MS
end

---Gives an entry to the mod in a CLI.
---@param entry claude-ide.outbox.Entry
---@param bridge claude-ide.terminal.Bridge
---@param over fun(err?: string)
local function order(entry, bridge, over)
  local given = clock.now()
  say_given(entry)
  entry.order = bridges.order(bridge, "submit", native.typed_text(entry.text) or "", function(result, why)
    entry.order, entry.is_refused = nil, result == "refused"
    last[bridge] = result == "done" and { given = given, taken = vim.uv.now() } or last[bridge]
    log.info("an order to submit a prompt: %s %s", result, why)
    -- At once: until the next look it could be taken back, or its session be left.
    if not entry.is_refused then
      over(result == "lost" and "Claude did not confirm that it has it" or nil)
    end
  end)
end

M.terminal = {
  offer = function(entry, route, over)
    local live = route.live --[[@as claude-ide.sessions.Live]]
    local state, buf = live.state, route.buf
    local is_later = not entry.after or (state.since or entry.after) >= entry.after
    if state.activity ~= "idle" or state.source ~= "record" or not is_later then
      return "waits", state.activity == "waiting" and ASKS or WORKS
    end
    local bridge = bridges.of(route.terminal --[[@as claude-ide.terminal.Session]])
    if is_starting(bridge, state) then
      return "waits", WORKS
    elseif bridge and not entry.is_refused and is_plain(entry.text) then
      order(entry, bridge, over)
      return "waits", "Claude takes it"
    elseif not buf then
      return "failed", route_to.elsewhere(live)
    elseif not prompt.is_ready(buf) then
      local is_draft = prompt.has_draft(buf)
      return is_draft and "draft" or "waits",
        is_draft and "text stands at its prompt" or "its prompt is not free"
    end
    say_given(entry)
    if prompt.submit(buf, entry.text, entry.command == true) then
      return "sent"
    end
    return "failed", "Claude's terminal does not accept input"
  end,
  interrupt = function(route)
    local live = route.live --[[@as claude-ide.sessions.Live]]
    local activity = live.state.activity
    if activity ~= "working" then
      return activity == "waiting" and "Claude waits for an answer: give one" or "Claude is not working"
    end
    local bridge = not route.buf and bridges.of(route.terminal --[[@as claude-ide.terminal.Session]])
    if bridge then
      bridges.order(bridge, "stop", "", function(result, why)
        if result ~= "done" then
          notice.error("Claude was not stopped: " .. why)
        end
      end)
    elseif not route.buf or not prompt.interrupt(route.buf) then
      return "Claude's terminal does not accept keys"
    end
    bus.emit("session_stopped", live.id)
  end,
}

---Waits for the CLI that resumes a session; the entry is typed into its terminal.
---@param entry claude-ide.outbox.Entry
---@return claude-ide.outbox.Outcome
---@return string? why
local function await_resumed(entry)
  local is_over = entry.terminal ~= nil and not entry.terminal:is_alive()
  if entry.problem then
    return "failed", entry.problem
  elseif is_over or vim.uv.now() - entry.since > RESUME_MS then
    return "failed", "Claude could not continue this session"
  end
  return "waits", STARTS
end

---Fails an entry whose session was running when it was written and seems not to be. The library may be ahead of the state here: events that
---precede its answer arrive before the answer.
---@param entry claude-ide.outbox.Entry
---@return claude-ide.outbox.Outcome
---@return string? why
---@return boolean? all
local function await_end(entry)
  -- Compared by session: a terminal whose process was killed still counts as running for a moment.
  local inside = terminals.session()
  local goes_on = inside and inside.id ~= entry.session and inside.state.activity ~= "gone"
  if goes_on and not route_to.was_left(entry.session) and vim.uv.now() - entry.since < BEHIND_MS then
    return "waits", ENDED -- after `/clear`: the client has learned of this session sooner than Neovim
  elseif goes_on then
    return "failed", "Claude switched to another session", true
  elseif entry.gone == "sure" then
    return "failed", "Claude has ended", true
  elseif not entry.gone then
    entry.gone = "asked"
    sessions.find(entry.session, function()
      entry.gone = "sure" -- unless the next check finds a process
    end)
  end
  return "waits", ENDED
end

---Starts a CLI for the session of an entry.
---@param entry claude-ide.outbox.Entry
local function resume(entry)
  entry.resuming = true
  catalogue.find(entry.session, function(item, err)
    if entry.is_over then
      return
    elseif not item or item.summary.id ~= entry.session then
      entry.problem = err or "this session no longer exists"
    elseif item.live then
      entry.problem = route_to.elsewhere(item.live)
    else
      local cwd, why = item.summary.cwd, nil ---@type string?, string?
      if cwd and vim.fn.isdirectory(cwd) == 0 then
        entry.problem = "the folder that it began in is gone"
        return
      end
      keep.put_back(item.summary, function()
        if entry.is_over then
          return
        end
        entry.terminal, why = terminals.open_in_background(
          { "--resume", entry.session },
          { cwd = cwd, config_dir = item.summary.config_dir }
        )
        if entry.terminal then
          notice.info(entry.rule.sender .. " wrote to a session: it continues in the terminal.")
        else
          entry.problem = why or "the terminal did not open"
        end
      end, function()
        entry.problem = "its copy could not be put back"
      end)
    end
  end)
end

M.dead = {
  offer = function(entry)
    if entry.resuming then
      return await_resumed(entry)
    elseif entry.ran then
      return await_end(entry)
    elseif not catalogue.running(entry.session) then -- else its terminal was closed just now
      resume(entry)
    end
    return "waits", STARTS
  end,
  interrupt = function()
    return "Claude is not working on it"
  end,
}

return M
