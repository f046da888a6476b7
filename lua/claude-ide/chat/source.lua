-- A chat as a transcript: the resumed session's earlier messages, then the chat's own.
-- The earlier ones are read from the session's file as it was when the chat began; later additions to the file are the chat's own
-- messages.

---@class claude-ide.chat.Source : claude-ide.transcript.Source
---@field private store claude-ide.chat.Store
---@field private file? claude-ide.transcript.Source the session's
---@field private before_len integer number of earlier rows
---@field private is_counted boolean `before_len` is known
---@field private last_before? claude-ide.sessions.Row the last visible one of them
---@field private agents? claude-ide.sessions.Agent[] as last reported
---@field private linked table<string, true> calls drawn with the subagent that they started
---@field private looking? boolean
---@field private on_shown? fun() called when the earlier messages are shown
---@field private listener? claude-ide.transcript.Listener while it is shown
---@field private file_state? "opening"|"open"
---@field private is_over? boolean its chat has ended
---@field private is_others boolean
---@field private facts_of fun(): claude-ide.transcript.Fact[]
---@field private runs_now fun(): boolean
local Source = {}
Source.__index = Source

---Message ids from here on are the chat's own.
local OWN = 2 ^ 40
---A longer text has its own rows (store.lua).
local MAX_TEXT, MAX_LINES = 4 * 1024 * 1024, 1000000

---Where the last visible row is looked for, and the bytes of rows that are drawn at once.
local ROWS_BEFORE, MOST_DRAWN = 8, 192 * 1024

---How long to look for the session's file, which the CLI writes soon after the start.
local PATIENCE_MS = 3000

---@class claude-ide.chat.source.Fields
---@field number integer of the chat
---@field session string
---@field title string
---@field noun? string
---@field is_others boolean of an agent other than the CLI
---@field speaker string
---@field cwd string
---@field store claude-ide.chat.Store
---@field file? claude-ide.transcript.Source if it resumes a session
---@field facts fun(): claude-ide.transcript.Fact[]
---@field runs fun(): boolean

---@param fields claude-ide.chat.source.Fields
---@return claude-ide.chat.Source
function Source.new(fields)
  return setmetatable({
    key = "chat " .. fields.number,
    id = fields.session,
    session = fields.session,
    is_agent = false,
    is_chat = true,
    title = fields.title,
    noun = fields.noun,
    speaker = fields.speaker,
    is_others = fields.is_others,
    cwd = fields.cwd,
    max_text = MAX_TEXT,
    max_lines = MAX_LINES,
    store = fields.store,
    file = fields.file,
    before_len = 0,
    is_counted = fields.file == nil,
    linked = {},
    facts_of = fields.facts,
    runs_now = fields.runs,
  }, Source)
end

---@private
function Source:tell_own()
  self.store:listen({
    changed = function(from, len, changed)
      local shift = self.before_len
      self:tell({
        reset = false,
        from = shift + from,
        len = shift + len,
        changed = vim.tbl_map(function(row)
          return row + shift
        end, changed),
      })
    end,
    appended = function(text, bytes)
      if self.listener then
        self.listener.appended(text, bytes)
      end
    end,
  })
end

---@private
---@param delta claude-ide.sessions.Delta
function Source:tell(delta)
  if self.listener then
    self.listener.changed(delta)
  end
end

---Handles an addition to the session's file.
---@private
---@param delta claude-ide.sessions.Delta
function Source:file_changed(delta)
  if delta.reset and delta.shift and self.before_len > 0 then
    -- A huge file is now read completely. Other additions are the chat's own messages.
    self.before_len = self.before_len + delta.shift
    local len = self.before_len + #self.store.messages
    return self:tell({ reset = true, shift = delta.shift, from = 0, len = len, changed = {} })
  end
  self:look_at_agents()
end

---Links calls with subagents: a call of the chat that started one is drawn with it; the others are inside one.
---@private
function Source:look_at_agents()
  local info = self.file and self.file:info() --[[@as claude-ide.sessions.Info?]]
  local agents = info and info.agents
  if agents == self.agents then
    return
  end
  self.agents = agents
  local changed = {} ---@type integer[]
  for _, agent in ipairs(agents or {}) do
    local call = agent.tool_use_id
    local _, row = self.store:call(call or "")
    if call and row and not self.linked[call] then
      self.linked[call] = true
      changed[#changed + 1] = self.before_len + row
    end
  end
  local len = self:info().len
  self:tell({ reset = false, from = len, len = len, changed = changed })
end

---@private
---@param done fun() called when it is open, or cannot be opened
function Source:open_file(done)
  local file = self.file --[[@as claude-ide.transcript.Source]]
  self.file_state = "opening"
  file:open({
    opened = function()
      if self.file == file and self.file_state == "opening" then
        self.file_state = "open"
        done()
      end
    end,
    failed = function(err)
      -- The chat works without it.
      require("claude-ide.log").warn("the session's file cannot be read: %s", err)
      if self.file == file then
        local was_opening = self.file_state == "opening"
        self.file, self.file_state = nil, nil
        if was_opening then
          done()
        end
        self:shown()
      end
    end,
    changed = function(delta)
      self:file_changed(delta)
    end,
    appended = function() end,
  })
end

---@private
function Source:shown()
  local fn = self.on_shown
  self.on_shown = nil
  if fn then
    fn()
  end
end

---Runs a function once the end of the earlier messages is shown, or if there are none.
---@param fn fun()
function Source:when_shown(fn)
  self.on_shown = fn
  if not self.file then
    self:shown()
  end
end

---Learns how many rows there are before the chat's own, and the last visible one.
---@private
function Source:count_earlier()
  local file = self.file
  local len = (file and file:info() or { len = 0 }).len ---@type integer
  local function counted(rows)
    for _, row in ipairs(rows or {}) do
      self.last_before = require("claude-ide.transcript.render").is_hidden(row) and self.last_before or row
    end
    self.before_len, self.is_counted = len, true
    self:opened()
  end
  if not file or len == 0 then
    return counted()
  end
  file:rows(math.max(len - ROWS_BEFORE, 0), ROWS_BEFORE, counted)
end

---@private
function Source:opened()
  if self.listener then
    self:tell_own()
    self.listener.opened()
  end
end

---Also called when a new buffer replaces the previous one: the earlier messages are still those before the chat began.
---@param listener claude-ide.transcript.Listener
function Source:open(listener)
  self.listener = listener
  if self.is_counted then
    return self:opened()
  elseif not self.file_state then
    self:open_file(function()
      self:count_earlier()
    end)
  end
end

---Looks for the session's file, which has subagents, and texts before and after edits. The CLI's may appear in a moment.
---@param is_in_turn? boolean only that of the CLI grows in a turn
function Source:look_for_file(is_in_turn)
  if self.file or self.looking or not self.listener or is_in_turn and self.is_others then
    return
  end
  local function look(answer)
    require("claude-ide.sessions").find(self.id, function(path)
      answer(self.listener and path)
    end)
  end
  self.looking = true
  require("claude-ide.retry").until_found(look, self.is_others and 0 or PATIENCE_MS, function(path)
    self.looking = false
    if path and not self.file then
      self.file = require("claude-ide.transcript.source.file").new(path, self.cwd)
      self:open_file(function()
        self:look_at_agents()
      end)
    end
  end)
end

---@private
function Source:close_file()
  if self.file then
    self.file:close()
  end
end

---Handles the end of its buffer. The file stays open for the next one while the chat exists.
function Source:close()
  self.store:listen(nil)
  self.listener = nil
  if self.is_over then
    self:close_file()
  end
end

---Handles the end of the agent, which ends the chat unless it restarts.
---@param is_restarting? boolean
function Source:finish(is_restarting)
  self.is_over = not is_restarting
  if self.is_over and not self.listener then
    self:close_file()
  end
end

---@return claude-ide.transcript.Info
function Source:info()
  local file = self.file and self.file:info()
  return {
    len = self.before_len + #self.store.messages,
    complete = self.before_len == 0 or not file or file.complete,
    last_reply = self.store.last_reply or file and file.last_reply,
    total_usage = file and file.total_usage,
  }
end

---@private
---@param from integer
---@param count integer
---@return claude-ide.sessions.Row[]
function Source:own_rows(from, count)
  local rows = self.store:rows(from, count)
  for _, row in ipairs(rows) do
    row.id = row.id + OWN
  end
  return rows
end

function Source:rows(from, count, done)
  local own = self:own_rows(math.max(from - self.before_len, 0), count - math.max(self.before_len - from, 0))
  if not self.file or from >= self.before_len then
    return done(own)
  end
  self.file:rows(from, math.min(count, self.before_len - from), function(rows, err)
    done(rows and vim.list_extend(rows, own), err)
  end)
end

function Source:messages(ids, max_text, done)
  local own, before = {}, {}
  for _, id in ipairs(ids) do
    if id > OWN then
      local message = self.store:message(id - OWN, max_text > MAX_TEXT)
      if message then
        message.id = id
        own[#own + 1] = message
      end
    else
      before[#before + 1] = id
    end
  end
  if #before == 0 or not self.file then
    return done(own)
  end
  self.file:messages(before, max_text > MAX_TEXT and max_text or self.file.max_text, function(messages, err)
    done(messages and vim.list_extend(messages, own), err)
    self:shown()
  end)
end

function Source:draw(request, done)
  local before, own, list, bytes = {}, {}, {}, 0 ---@type integer[], integer[], claude-ide.transcript.InMemory[], integer
  for _, row in ipairs(request.rows) do
    local at = row - self.before_len --[[@as integer]]
    local last = at >= 0 and self:own_rows(at, 1)[1]
    local message = last and self.store:message(at + 1 --[[@as integer]], false)
    bytes = bytes + (last and last.bytes or 0)
    if at < 0 then
      before[#before + 1] = row
    elseif last and message and (#own == 0 or bytes <= MOST_DRAWN) then
      local above = at > 0 and self:own_rows(at - 1, 1)[1] or self.last_before
      own[#own + 1], list[#list + 1] = row, { row = last, before = above, message = message }
    end
  end
  local drawn = {} ---@type table<integer, claude-ide.transcript.Drawn>
  for at, one in ipairs(require("claude-ide.transcript.render").draw(self, request, list)) do
    drawn[own[at]] = one
  end
  if #before == 0 or not self.file then
    return done(drawn)
  end
  local part = vim.tbl_extend("force", request, { rows = before }) --[[@as claude-ide.transcript.DrawRequest]]
  self.file:draw(part, function(earlier, err)
    done(earlier and vim.tbl_extend("error", earlier, drawn), err)
    self:shown()
  end)
end

---A description from the first prompt, for other agents' sessions, which are not in the catalogue.
---@private
---@return claude-ide.transcript.About?
function Source:first_words()
  for _, message in ipairs(self.store.messages) do
    local prompt = message.kind == "prompt" and self.store:message(message.id, false)
    local words = vim.trim(prompt and prompt.blocks[1].text or "")
    if words ~= "" then
      return { title = self.title, name = words, cwd = self.cwd }
    end
  end
end

---A session is in the catalogue a moment after its file exists; without a file, it is requested again later.
function Source:describe(done)
  if self.is_others then
    return done(self:first_words())
  end
  local function look(answer)
    require("claude-ide.sessions.catalogue").find(self.id, function(item)
      local summary = item and item.summary.title and item.summary
      if not summary and self.file_state ~= "open" then
        return done()
      end
      answer(summary or nil)
    end)
  end
  require("claude-ide.retry").until_found(look, PATIENCE_MS, function(summary)
    done(summary and { title = require("claude-ide.sessions.phrases").title(summary), cwd = summary.cwd })
  end)
end

function Source:edit_texts(tool_id, done)
  if self.file and self.file.edit_texts then
    self.file:edit_texts(tool_id, done)
  else
    done()
  end
end

function Source:agent_of(tool_id)
  return self.file and self.file.agent_of and self.file:info() and self.file:agent_of(tool_id) or nil
end

function Source:subagent(agent, cwd)
  return require("claude-ide.transcript.source.file").new(agent.file, cwd)
end

function Source:facts()
  return self.facts_of()
end

function Source:runs()
  return self.runs_now()
end

---Handles a new session id, after `/clear`.
---@param id string
function Source:renew(id)
  self.id, self.session = id, id
  if self.file and self.before_len == 0 then
    self:close_file()
    self.file, self.file_state, self.agents, self.linked = nil, nil, nil, {}
  end
end

return Source
