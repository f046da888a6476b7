-- A chat with an agent: its state, reports, and queued prompts. No windows.
-- Invariants: a prompt is shown, queued, or returned to the user; it is never lost. A request of the agent is answered once (asks.lua).

local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.chat.asks")
local bus = lazy("claude-ide.base.bus")
local chat_content = lazy("claude-ide.chat.content")
local chat_program = lazy("claude-ide.chat.program")
local clock = lazy("claude-ide.base.clock")
local context = lazy("claude-ide.context")
local events = lazy("claude-ide.chat.events")
local facts = lazy("claude-ide.chat.facts")
local file = lazy("claude-ide.transcript.source.file")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local source = lazy("claude-ide.chat.source")
local store = lazy("claude-ide.chat.store")
local transport = lazy("claude-ide.chat.transport")
local unapproved = lazy("claude-ide.edits.unapproved")

---@class claude-ide.chat.Prompt a sent or queued prompt
---@field id string a UUID
---@field text string
---@field content table[] blocks for the agent
---@field shown boolean among the messages
---@field sent integer milliseconds since the epoch

---@class claude-ide.chat.Chat
---@field number? integer of the library, as long as its process runs; then the last one; nil: nothing was started yet
---@field count integer the chats that there were before it, and this one
---@field run string what it is called where it uses the editor's tools
---@field name string what the user calls who speaks there
---@field keeper string the agent that keeps its session: two chats with the same one may have the same session
---@field driver claude-ide.chat.Driver
---@field is_cli boolean it is the CLI itself: it writes a transcript, and has rules and hooks
---@field wanted? boolean|string the agent's sessions are listed first; a string: to go on with the one whose id begins so
---@field acp? claude-ide.chat.acp.State nil: it speaks another protocol
---@field session string
---@field cwd string
---@field store claude-ide.chat.Store
---@field source claude-ide.chat.Source
---@field requester claude-ide.requests.Requester
---@field state "starting"|"idle"|"working"|"ended"
---@field queue claude-ide.chat.Prompt[] sent while it was working, in order
---@field unanswered claude-ide.chat.Prompt[] started, without output since
---@field taken_back table<string, claude-ide.chat.Prompt> by id: withdrawn, but perhaps started before the agent knew
---@field commands { name: string, description: string }[]
---@field settings claude-ide.chat.Setting[] what can be set
---@field can { list?: boolean, fork?: boolean, close?: boolean, embeds?: boolean, terminal?: boolean, rewind?: boolean, tasks?: boolean, find_files?: boolean }
---@field account? { brief?: string, full: string } what it draws on; nil: it has not said
---@field greeted? boolean it has said once who it is
---@field has_failed? boolean it is ended for what it said
---@field mode? string permission mode
---@field tried_mode? { at?: string|boolean, value: string|boolean } the last one that a key requested, and the mode then
---@field model? string
---@field effort? string
---@field cost? number dollars
---@field window_size? integer tokens of the model's context
---@field retry? claude-ide.chat.Retry
---@field limit? { words: string, resets?: integer } the account's usage limit
---@field knows_files? boolean the CLI has scanned the project: it has listed files
---@field tasks table<string, claude-ide.chat.Task> background tasks by id
---@field doing? string reported activity: "compacting"
---@field pid? integer
---@field words? string why it ended
---@field refused table<string, "rejected"|"changed"> calls that the user denied, or wrote differently
---@field granted table<string, true> calls that the user allowed
---@field writes claude-ide.unapproved.Writes of the turn
---@field unasked? boolean the user has allowed something permanently
---@field requester_words? string the user's message with the next answer
---@field give_back? fun(text: string) returns an unsent text to the prompt
---@field closing? boolean the user closed it
---@field on_ended? fun() called once, when its process is gone
---@field has_spoken? boolean its session can be resumed: it has an answer
---@field restarting? boolean starts again when it has ended
---@field begin_with claude-ide.chat.ProgramOpts
---@field package unsent? (table|string)[] commands sent before the start
---@field answers table<integer, fun(answer: claude-ide.chat.Event?, err?: string)> by number
---@field package last_ask integer
---@field on_change fun() draws it anew
---@field package elsewhere? fun(chat: claude-ide.chat.Chat): string?
---@field give_way? fun(chat: claude-ide.chat.Chat, session: string): boolean shows the chat that has the session, if there is one
local Chat = {}
Chat.__index = Chat

---@class claude-ide.chat.Begin
---@field resume? string
---@field fork? boolean
---@field file? string the transcript of the session that is resumed
---@field cwd? string
---@field config_dir? string of the session that is resumed
---@field title? string
---@field args? string[]
---@field agent? claude-ide.chat.acp.Agent nil: the CLI
---@field list? boolean|string choose one of the agent's sessions first, or take the one whose id begins like this
---@field alone? boolean without the editor's tools
---@field elsewhere? fun(chat: claude-ide.chat.Chat): string? why its session cannot be gone on with here
---@field give_way? fun(chat: claude-ide.chat.Chat, session: string): boolean
---@field on_change fun() it is to be drawn anew

---Number of chats so far.
local count = 0

---Creates a chat; its agent is started by `begin`. Commands sent before are queued.
---@param begin claude-ide.chat.Begin
---@return claude-ide.chat.Chat?
---@return string? err
function Chat.new(begin)
  local driver = begin.agent and require("claude-ide.chat.acp") or chat_program.driver
  local cwd, why = driver.check(begin)
  if not cwd then
    return nil, why
  end
  count = count + 1
  local session = begin.resume and not begin.fork and begin.resume or chat_program.uuid()
  local self = setmetatable({
    driver = driver,
    is_cli = not begin.agent,
    session = session,
    count = count,
    run = ("chat:%d"):format(count),
    cwd = cwd,
    store = store.new(),
    state = "starting",
    queue = {},
    unanswered = {},
    taken_back = {},
    commands = {},
    settings = {},
    refused = {},
    granted = {},
    writes = unapproved.none(),
    tasks = {},
    answers = {},
    last_ask = 0,
    on_change = begin.on_change,
    elsewhere = begin.elsewhere,
    give_way = begin.give_way,
    wanted = begin.list,
    unsent = {},
    begin_with = {
      session = session,
      resume = begin.resume,
      fork = begin.fork,
      cwd = cwd,
      config_dir = begin.config_dir,
      args = begin.args,
      alone = begin.alone,
    },
  }, Chat)
  driver.begin(self, begin)
  self.requester = asks.requester(self)
  self.source = source.new({
    number = count,
    session = session,
    title = begin.title or "Chat",
    noun = self.is_cli and begin.title or nil,
    is_others = not self.is_cli,
    speaker = self.name,
    cwd = self.cwd,
    store = self.store,
    file = begin.file and file.new(begin.file, self.cwd) or nil,
    facts = function()
      return facts.of(self)
    end,
    runs = function()
      return self.state ~= "ended"
    end,
  })
  return self
end

---@package
---@param opts claude-ide.chat.ProgramOpts
---@return boolean? ok
---@return string? err
function Chat:start(opts)
  local program, backend, why = self.driver.program(self, opts)
  if not program or not backend then
    return nil, why
  end
  self.cwd = program.cwd
  local number, err = transport.open({
    program = program,
    backend = backend,
    speaker = self.name,
    transcript = self.store:id(),
    take_in = function(event)
      self.store:hold()
      events.take_in(self, event)
    end,
    taken_in = function()
      self.store:release()
      self.on_change()
    end,
  })
  if not number then
    return nil, err
  end
  self.number, self.state, self.words = number, "starting", nil
  self.settings, self.mode, self.model, self.effort = {}, nil, nil, nil -- belong to a process
  return true
end

---Starts the agent, once.
---@return boolean? ok
---@return string? err
function Chat:begin()
  local unsent = self.unsent
  if self.closing or not unsent then
    return true
  end
  self.unsent = nil
  local ok, err = self:start(self.begin_with)
  for _, command in ipairs(ok and unsent or {}) do
    self:send(command)
  end
  return ok, err
end

---@return boolean
function Chat:is_busy()
  return self.state == "working"
end

---@param command table|string
---@return boolean sent
---@return string? err
function Chat:send(command)
  if self.unsent then
    table.insert(self.unsent, command)
    return true
  end
  local ok, err = transport.send(self.number --[[@as integer]], command)
  if not ok then
    log.warn("a chat takes no command: %s", err)
  end
  return ok == true, err
end

---@param prompt claude-ide.chat.Prompt
function Chat:show_prompt(prompt)
  if prompt.shown then
    return
  end
  prompt.shown = true
  self.store:put_prompt(prompt)
end

---Starts the process again, with the same session. A session without an answer is started anew with another id: the CLI cannot resume it,
---and rejects the id of a session that has a file (2.1.329).
---@return boolean? ok
---@return string? err
function Chat:begin_again()
  local elsewhere = self.has_spoken and self.elsewhere and self.elsewhere(self)
  if self.closing or elsewhere then
    return nil, elsewhere or "The chat is closed."
  end
  local opts = vim.tbl_extend("force", self.begin_with, { cwd = self.cwd })
  if self.has_spoken then
    opts.resume, opts.fork = self.session, nil
  elseif not opts.resume or opts.fork then
    self:renew(chat_program.uuid())
  end
  opts.session = self.session
  return self:start(opts)
end

---Sends a prompt: at once, or after the current turn. An ended chat is resumed.
---@param text string as the user sees it
---@param content? table[] blocks for the agent; default: the text
---@return boolean? ok
---@return string? err
function Chat:say(text, content)
  content = content or context.blocks(text, {})
  if self.closing then
    -- Closed while references were read. Another process may have its session now.
    return nil, "The chat is closed."
  elseif self.state == "ended" then
    local ok, err = self:begin_again()
    if not ok then
      return nil, err
    end
  end
  local prompt =
    { id = chat_program.uuid(), text = text, content = content, shown = false, sent = clock.now() }
  local sent, err = self:send({ prompt = { id = prompt.id, content = content } })
  if not sent then
    return nil, ("%s does not take it: %s."):format(self.name, err)
  end
  if not self:is_busy() then
    self:show_prompt(prompt)
    if self.state ~= "starting" then
      self.state = "working"
    end
  end
  self.queue[#self.queue + 1] = prompt
  self.on_change()
  return true
end

---Removes a prompt from the queue.
---@param id string
---@return claude-ide.chat.Prompt?
function Chat:take(id)
  for at, prompt in ipairs(self.queue) do
    if prompt.id == id then
      return table.remove(self.queue, at)
    end
  end
end

---Withdraws a queued prompt.
---@param prompt claude-ide.chat.Prompt
---@return boolean
function Chat:take_back(prompt)
  if prompt.shown or not self:take(prompt.id) then
    return false
  end
  self.taken_back[prompt.id] = prompt
  self:send({ cancel = { id = prompt.id } })
  self.on_change()
  return true
end

---The queued prompts.
---@return claude-ide.chat.Prompt[]
function Chat:waiting()
  return vim.tbl_filter(function(prompt)
    return not prompt.shown
  end, self.queue)
end

---Lets the kind of agent that it is do what is special to it, if anything.
---@param what "session"|"results"|"turn_over"|"ended"
function Chat:drive(what, ...)
  local fn = self.driver[what]
  if fn then
    fn(self, ...)
  end
end

---Breaks the turn off.
function Chat:interrupt()
  if not self:is_busy() then
    return
  end
  local back = vim.tbl_filter(function(prompt)
    return self:take_back(prompt) -- else the agent would go on with the next one
  end, self:waiting())
  self:send("interrupt")
  if back[1] and chat_content.return_all(self, back) then
    notice.info("Queued prompts are back in the prompt window.")
  end
  bus.emit("session_stopped", self.session)
end

---Sends a numbered request to the agent.
---@param command string see `crates/agent/src/command.rs`
---@param fields table
---@param done fun(answer?: claude-ide.chat.Event, err?: string) called once; not if the chat ends before
function Chat:ask(command, fields, done)
  self.last_ask = self.last_ask + 1
  self.answers[self.last_ask] = done
  local sent, err = self:send({ [command] = vim.tbl_extend("error", fields, { number = self.last_ask }) })
  if not sent then
    self.answers[self.last_ask] = nil
    done(nil, err)
  end
end

---Answers requests of the current process only: an answer may come after its process is gone.
---@return fun(answer: table) `allow`, `deny`, `go_on` …, see `crates/agent/src/command.rs`
function Chat:answerer()
  local number = self.number
  return function(answer)
    if self.number == number and self.state ~= "ended" then
      self:send(answer)
    end
  end
end

---Closes the chat.
function Chat:close()
  local number = self.number
  self.source:finish(self.restarting)
  local function close()
    if number then
      transport.close(number)
    end
  end
  if self.driver.close and not self.restarting then
    self.driver.close(self, close)
  else
    close()
  end
end

---Restarts the agent: it hangs, or needs new settings.
---@return boolean? ok
---@return string? err
function Chat:restart()
  if self.state == "ended" then
    local ok, err = self:begin_again()
    self.on_change()
    return ok, err
  end
  if not self.unsent then
    self.restarting = true
    self:close()
  end
  return true
end

---Handles a new session id.
---@param id string
function Chat:renew(id)
  self.session, self.has_spoken = id, nil
  self.source:renew(id)
end

---Records that the session has an answer: from now on it is resumed, not the one that it came from.
function Chat:spoke()
  self.has_spoken = true
  self.begin_with.resume, self.begin_with.fork = nil, nil
end

return Chat
