-- What a chat does with each thing that its agent tells.
local M = {}

local INTERRUPTED = "[Request interrupted by user"

---@type table<string, fun(self: claude-ide.chat.Chat, told: claude-ide.chat.Told)>
local HEAR = {}

function HEAR.started(self, told)
  self.pid = told.pid
end

function HEAR.ready(self, told)
  local about = told.about or {}
  self.commands, self.models = about.commands or {}, about.models or {}
  self.account = type(about.account) == "table" and about.account or nil
  self.mode = about.current_permission_mode or self.mode
  if self.state == "starting" then
    self.state = #self.queue > 0 and "working" or "idle"
  end
end

function HEAR.session(self, told)
  local about = told.about or {}
  if self.acp then
    require("claude-ide.chat.acp").session(self, about)
  end
  self.mode, self.model = about.permissionMode or self.mode, about.model or self.model
  if about.session_id and about.session_id ~= self.session then
    self:renew(about.session_id)
  end
  if self.acp then
    self:spoke() -- whether it can be gone on with is the agent's to say
  end
end

function HEAR.begins(self, told)
  self:spoke()
  self.retry, self.doing = nil, nil
  self.current_model = told.model
  -- The end of something in the background begins a turn by itself. Of other agents nobody would tell that it is over.
  self.state = not self.acp and self.state == "idle" and "working" or self.state
end

function HEAR.text(self, told)
  local text, kind = told.text or "", told.kind --[[@as "text"|"thinking"]]
  local is_row = #text >= require("claude-ide.chat.growing_text").ROW
  if is_row then
    self.store:hold()
  end
  self.store:append(tostring(told.block), kind, text, self.current_model, is_row)
end

function HEAR.calling(self, told)
  self.store:calling(told.id or "", told.name or "", self.current_model)
end

function HEAR.void(self)
  self.store:void()
end

---What is longer is drawn in a turn of its own: to take it over took some of this one.
local LARGE = 256 * 1024

---@param blocks claude-ide.sessions.Block[]
---@return boolean
local function has_large(blocks)
  return vim.iter(blocks):any(function(block)
    return type(block.input) == "table"
      and vim.iter(pairs(block.input)):any(function(_, value)
        return type(value) == "string" and #value > LARGE
      end)
  end)
end

---Whether what is told is of a session that is loaded: it was so before.
---@param self claude-ide.chat.Chat
---@return boolean
local function is_replay(self)
  return self.acp ~= nil and not self.acp.turn_began
end

---The CLI waits for leave.
function HEAR.before_edit(self, told)
  local ok, err = pcall(require("claude-ide.chat.record").before_edit, self, told.path or "")
  self:answerer()({ go_on = { request = told.request } })
  assert(ok, err)
end

---@param block claude-ide.sessions.Block
---@return boolean
local function is_call(block)
  return block.type == "tool_use"
end

function HEAR.said(self, told)
  local first = (told.blocks or {})[1]
  local text = first and first.type == "text" and first.text or ""
  if told.kind == "reply" or told.kind == "output" then
    if has_large(told.blocks or {}) then
      self.store:hold()
    end
    if self.acp and not is_replay(self) then
      require("claude-ide.chat.record").calls(self, told.blocks or {}, told.places or {})
    end
    self.store:said(told)
    if not self.acp and vim.iter(told.blocks or {}):any(is_call) then
      self.source:look_for_file() -- it may have started a subagent, which is followed as it works
    end
  elseif vim.startswith(text, INTERRUPTED) then
    self.store:put("interrupted", "")
  elseif text:find("^<local%-command%-std") then
    self.store:put("output", text)
  elseif self.acp then
    self.store:put("prompt", text) -- of a session that is loaded
  end
end

function HEAR.results(self, told)
  local results, places, more = told.results or {}, told.places or {}, {}
  if self.acp and not is_replay(self) then
    more = require("claude-ide.chat.acp").results(self, results, places)
  end
  self.store:results(results, self.refused)
  require("claude-ide.chat.asks").results(self, results)
  if not is_replay(self) then
    require("claude-ide.chat.tripwire").results(self, results, more)
    require("claude-ide.chat.record").results(results, places)
  end
end

function HEAR.asks(self, told)
  require("claude-ide.chat.asks").ask(self, told.request --[[@as string]], told.ask or {})
end

function HEAR.withdrawn(self, told)
  require("claude-ide.chat.asks").withdraw(self, told.request --[[@as string]])
end

---It has begun with a prompt that the user took back in the same moment: it is answered, so it is shown.
---@param self claude-ide.chat.Chat
---@param id string
local function begun_before_it_knew(self, id)
  local prompt = self.taken_back[id]
  self.taken_back[id] = nil
  if prompt then
    self:show_prompt(prompt)
    self.store:put("notice", ("%s had begun with this before it was taken back."):format(self.name))
  end
end

function HEAR.prompt(self, told)
  if told.state == "started" then
    require("claude-ide.chat.record").turn_begins(self, told.at)
    if self.acp then
      require("claude-ide.chat.acp.written").turn_begins(self, told.at or 0)
    end
    self.state = "working"
    local prompt = self:take(told.id or "")
    if prompt then
      table.insert(self.unanswered, prompt)
      self:show_prompt(prompt)
    else
      begun_before_it_knew(self, told.id or "")
    end
  elseif told.state == "cancelled" then
    self.taken_back[told.id or ""] = nil
    local prompt = self:take(told.id or "")
    if prompt and not prompt.shown and self.give_back then
      self.give_back(prompt.text)
    end
  end
end

function HEAR.turn(self, told)
  if self.state ~= "starting" then
    self:spoke() -- else it tells why it cannot begin
  end
  require("claude-ide.chat.turn").over(self, told.about or {})
end

function HEAR.status(self, told)
  require("claude-ide.chat.turn").status(self, told.subject or "", told.about or {})
end

function HEAR.answer(self, told)
  local done = self.answers[told.number]
  self.answers[told.number] = nil
  if done then
    done(told.result, told.error)
  end
end

function HEAR.ended(self, told)
  local transport = require("claude-ide.chat.transport")
  local number = self.number --[[@as integer]]
  transport.forget(number)
  transport.close(number)
  require("claude-ide.chat.turn").ended(self, told)
end

---What a subagent says is read from its own file.
local OF_SUBAGENTS_TOO = { asks = true, withdrawn = true }

---What belongs to an answer, or ends a turn without one.
local ANSWERS =
  { begins = true, text = true, calling = true, said = true, results = true, asks = true, turn = true }

---@param chat claude-ide.chat.Chat
---@param one claude-ide.chat.Told
function M.take_in(chat, one)
  if one.by and one.by.call and not OF_SUBAGENTS_TOO[one.type] then
    if one.type == "results" then
      require("claude-ide.chat.asks").results(chat, one.results or {}) -- they ask for their edits, too
    end
    return
  end
  if ANSWERS[one.type] and chat.unanswered[1] then
    chat.unanswered = {}
  end
  local take = HEAR[one.type]
  local ok, trace = xpcall(take or function() end, debug.traceback, chat, one)
  if not ok then
    require("claude-ide.log").error("a chat cannot take in %s: %s", one.type, trace)
  end
end

return M
