-- Handles the agent's events.
local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.chat.asks")
local bus = lazy("claude-ide.base.bus")
local limits = lazy("claude-ide.sessions.limits")
local content = lazy("claude-ide.chat.content")
local log = lazy("claude-ide.base.log")
local record = lazy("claude-ide.chat.record")
local sessions = lazy("claude-ide.chat.acp.sessions")
local settings = lazy("claude-ide.chat.settings")
local sign_in = lazy("claude-ide.chat.acp.sign_in")
local transport = lazy("claude-ide.chat.transport")
local unapproved = lazy("claude-ide.edits.unapproved")

local M = {}

---@class claude-ide.chat.Retry
---@field words string reason and count
---@field at integer time, in milliseconds of `vim.uv.now()`

---@class claude-ide.chat.Task a background task
---@field id string
---@field words string

---@type table<string, fun(self: claude-ide.chat.Chat, event: claude-ide.chat.Event)>
local ON = {}

function ON.started(self, event)
  self.pid = event.pid
end

function ON.greeted(self, event)
  self.can = vim.tbl_extend("force", self.can, event.can or {})
end

function ON.ready(self)
  if self.state == "starting" then
    self.state = #self.queue > 0 and "working" or "idle"
  end
end

function ON.session(self, event)
  if event.id ~= self.session then
    self:renew(event.id --[[@as string]])
  end
  if event.is_kept then
    self:spoke()
  end
  self:drive("session")
end

function ON.settings(self, event)
  local before = self.mode
  self.settings = event.settings or {}
  self.mode, self.model, self.effort = nil, nil, nil
  for _, kind in ipairs({ "mode", "model", "effort" }) do
    local setting = settings.of_kind(self, kind)
    self[kind] = setting and setting.value
  end
  if self.mode ~= before then
    bus.emit("mode_changed")
  end
end

function ON.commands(self, event)
  self.commands = event.commands or {}
end

function ON.account(self, event)
  self.account = { brief = event.brief, full = event.full }
end

function ON.title(self, event)
  self.source.title = event.title
end

function ON.begins(self)
  self:spoke()
  self.retry, self.doing = nil, nil
  -- The end of a background task begins a turn.
  self.state = self.state == "idle" and "working" or self.state
end

---Whether events are the replay of a loaded session.
---@param self claude-ide.chat.Chat
---@return boolean
local function is_replay(self)
  return not record.began(self)
end

---The agent is about to write files, and may wait until what they hold is kept.
function ON.before_edit(self, event)
  if not event.request and is_replay(self) then
    return
  end
  local before_edit = record.before_edit
  local ok, err = pcall(before_edit, self, event.paths or {}, event.call)
  if event.request then
    self:answerer()({ go_on = { request = event.request } })
  end
  assert(ok, err)
end

function ON.located(self, event)
  if not is_replay(self) then
    record.located(self, event.call --[[@as string]], event.location --[[@as claude-ide.sessions.Location]])
  end
end

function ON.said(self, event)
  if event.calls then
    self.source:look_for_file(true) -- it may have started a subagent, which is followed as it works
  end
end

function ON.results(self, event)
  local results, places = event.results or {}, event.places or {}
  self:drive("results", results)
  asks.results(self, results)
  local began = record.began(self)
  if began then
    unapproved.results(self, results, places, began)
    record.results(self, results, places)
  end
end

function ON.asks(self, event)
  asks.ask(self, event.request --[[@as string]], event.ask --[[@as claude-ide.chat.Ask]])
end

function ON.withdrawn(self, event)
  asks.withdraw(self, event.request --[[@as string]])
end

---The agent had started a prompt before the user withdrew it: it will be answered, so it is shown.
---@param self claude-ide.chat.Chat
---@param id string
local function begun_before_it_knew(self, id)
  local prompt = self.taken_back[id]
  self.taken_back[id] = nil
  if prompt then
    self:show_prompt(prompt)
    self.store:put("notice", ("%s had started on this before it was unqueued."):format(self.name))
  end
end

function ON.prompt(self, event)
  if event.state == "started" then
    local prompt = self:take(event.id or "")
    record.turn_begins(self, { at = event.at, sent = prompt and prompt.sent })
    unapproved.turn_begins(self)
    self.state = "working"
    if prompt then
      table.insert(self.unanswered, prompt)
      self:show_prompt(prompt)
    else
      begun_before_it_knew(self, event.id or "")
    end
  elseif event.state == "cancelled" then
    self.taken_back[event.id or ""] = nil
    local prompt = self:take(event.id or "")
    if prompt and not prompt.shown and self.give_back then
      self.give_back(prompt.text)
    end
  end
end

function ON.turn(self)
  if self.state ~= "starting" then
    self:spoke() -- otherwise it reports why it cannot start
  end
  self.retry, self.doing = nil, nil
  -- Queued prompts begin the next turn at once, which is reported.
  self.state = self.state ~= "ended" and "idle" or self.state
  asks.turn_over(self)
  record.turn_over(self)
  unapproved.turn_over(self)
  self:drive("turn_over")
  self.source:look_for_file()
end

function ON.usage(self, event)
  self.cost = event.cost or self.cost
  if event.window then
    self.window_size = event.window > 0 and event.window or nil
  end
end

function ON.limit(self, event)
  self.limit = event.words and { words = event.words, resets = event.resets } or nil
  limits.tell(self.begin_with.config_dir, self.limit)
end

---Updates the winbar's countdown to the next retry.
---@param self claude-ide.chat.Chat
local function count_down(self)
  local retry = self.retry
  vim.defer_fn(function()
    if retry and self.retry == retry and self.state ~= "ended" then
      self.on_change()
      count_down(self)
    end
  end, 1000)
end

function ON.retry(self, event)
  self.retry = { words = event.words, at = vim.uv.now() + (event.delay or 0) } --[[@as claude-ide.chat.Retry]]
  count_down(self)
end

function ON.doing(self, event)
  self.doing = event.doing
end

function ON.task_started(self, event)
  self.tasks[event.id] = { id = event.id, words = event.words }
end

function ON.task_ended(self, event)
  self.tasks[event.id] = nil
end

---Handles `/clear`: earlier messages are no longer part of the session.
function ON.reset(self, event)
  self.unanswered = {}
  self.begin_with.resume, self.begin_with.fork = nil, nil
  if event.session then
    self:renew(event.session)
  end
end

function ON.failed(self)
  self.has_failed = true -- the end is then not reported again
  self:close()
end

function ON.sign_in(self, event)
  sign_in.ask(self, event.reason --[[@as string]], event.methods or {})
end

function ON.choose_session(self)
  sessions.choose(self)
end

function ON.answer(self, event)
  local done = self.answers[event.number]
  self.answers[event.number] = nil
  if done then
    done(event, event.error)
  end
end

---A sentence about the end.
---@param name string
---@param event claude-ide.chat.Event
---@return string
local function how(name, event)
  local words = vim.trim(event.words or "")
  if event.signal then
    return ("%s was ended by signal %d."):format(name, event.signal)
  elseif event.code == 0 then
    return name .. " ended."
  elseif event.code then
    return ("%s ended with code %d%s"):format(name, event.code, words ~= "" and ": " .. words or ".")
  end
  return words ~= "" and words or name .. " ended."
end

---Drops the state of the process that is gone.
---@param self claude-ide.chat.Chat
---@param event claude-ide.chat.Event
local function drop(self, event)
  transport.drop(self.number --[[@as integer]])
  self.state, self.retry, self.doing, self.pid = "ended", nil, nil, nil
  self.tasks, self.taken_back = {}, {}
  self.refused, self.granted = {}, {} -- the next process may reuse call ids
  self.words = how(self.name, event)
  record.ended(self)
  asks.gone(self, ("that %s is gone"):format(self.name))
  local done = self.on_ended
  self.on_ended = nil
  if done then
    done()
  end
end

function ON.ended(self, event)
  drop(self, event)
  -- Prompts of a chat that the user closed need no answer.
  local unanswered = self.closing and {} or self.unanswered
  local prompts = vim.list_extend(unanswered, self.queue)
  self.queue, self.unanswered = {}, {}
  -- A failure is reported already.
  local words = self.has_failed and "" or self.words or ""
  self.has_failed = nil
  self:drive("ended")
  local is_restart = self.restarting == true and not self.closing
  self.restarting = nil
  local is_returned = content.return_all(self, prompts)
  local said_again = is_returned and "\nUnanswered prompts are back in the prompt window." or ""
  if is_restart then
    self.store:put("notice", ("%s was restarted.%s"):format(self.name, said_again))
  elseif not self.closing then
    self.store:put("notice", vim.trim(words .. said_again .. "\nYour next prompt restarts it."))
  end
  if is_restart then
    local ok, err = self:begin_again()
    if not ok then
      self.store:put("notice", err or "It could not be started.")
    end
  end
end

---Events that belong to an answer, or end a turn without one.
local ANSWERS =
  { begins = true, text = true, calling = true, said = true, results = true, asks = true, turn = true }

---@param chat claude-ide.chat.Chat
---@param event claude-ide.chat.Event
function M.take_in(chat, event)
  if event.by then
    -- What a subagent says is read from its file.
    if event.type == "results" then
      asks.results(chat, event.results or {})
      record.calls_over(chat, event.results or {})
    end
    return
  end
  if ANSWERS[event.type] and chat.unanswered[1] then
    chat.unanswered = {}
  end
  local ok, trace = xpcall(ON[event.type] or function() end, debug.traceback, chat, event)
  if not ok then
    log.error("a chat cannot take in %s: %s", event.type, trace)
  end
end

return M
