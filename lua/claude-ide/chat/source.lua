-- A chat as a transcript: the resumed session's earlier messages, then the chat's own.
-- The earlier ones are read from the session's file as it was when the chat began; later additions to the file are the chat's own
-- messages.

local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local log = lazy("claude-ide.base.log")
local phrases = lazy("claude-ide.sessions.phrases")
local retry = lazy("claude-ide.base.retry")
local sessions = lazy("claude-ide.sessions")
local source_file = lazy("claude-ide.transcript.source.file")

---@class claude-ide.chat.Source : claude-ide.transcript.Source, claude-ide.chat.source.Fields
---@field private before_len integer number of earlier rows
---@field private is_counted boolean `before_len` is known
---@field private last_before? claude-ide.sessions.Row the last visible one of them
---@field private agents? claude-ide.sessions.Agent[] as last reported
---@field private looking? boolean
---@field private on_shown? fun() called when the earlier messages are shown
---@field private listener? claude-ide.transcript.Listener while it is shown
---@field private file_state? "opening"|"open"
---@field private is_over? boolean its chat has ended
local Source = {}
Source.__index = Source

---A longer text has its own rows (store.lua).
local MAX_TEXT, MAX_LINES = 4 * 1024 * 1024, 1000000

---Where the last visible row is looked for.
local ROWS_BEFORE = 8

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
---@field file? claude-ide.transcript.FileSource the session's, if it resumes one
---@field facts fun(): claude-ide.transcript.Fact[]
---@field runs fun(): boolean

---@param fields claude-ide.chat.source.Fields
---@return claude-ide.chat.Source
function Source.new(fields)
  local own = {
    key = "chat " .. fields.number,
    id = fields.session,
    is_agent = false,
    is_chat = true,
    max_text = MAX_TEXT,
    max_lines = MAX_LINES,
    before_len = 0,
    is_counted = fields.file == nil,
  }
  return setmetatable(vim.tbl_extend("error", own, fields), Source)
end

---@private
function Source:tell_own()
  self.store:listen(function(change)
    local shift, listener = self.before_len, self.listener
    if not listener then
      return
    elseif change.appended then
      return listener.appended(change.appended, change.bytes or 0)
    end
    listener.changed({
      reset = false,
      from = shift + (change.from or 0),
      len = shift + (change.len or 0),
      changed = vim.tbl_map(function(row)
        return row + shift
      end, change.changed or {}),
    })
  end)
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
    local len = self:info().len
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
  self.store:link(agents or {})
  local len = self:info().len
  self:tell({ reset = false, from = len, len = len, changed = {} })
end

---@private
---@param done fun() called when it is open, or cannot be opened
function Source:open_file(done)
  local file = self.file --[[@as claude-ide.transcript.FileSource]]
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
      log.warn("the session's file cannot be read: %s", err)
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
      self.last_before = row.kind == "meta" and self.last_before or row
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
    sessions.find(self.id, function(path)
      answer(self.listener and path)
    end)
  end
  self.looking = true
  retry.until_found(look, self.is_others and 0 or PATIENCE_MS, function(path)
    self.looking = false
    if path and not self.file then
      self.file = source_file.new(path, self.cwd)
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
  local file, own = self.file and self.file:info(), self.store:info()
  return {
    len = self.before_len + own.len,
    complete = self.before_len == 0 or not file or file.complete,
    last_reply = own.last_reply or file and file.last_reply,
    total_usage = file and file.total_usage,
  }
end

function Source:messages(ids, max_text, done)
  local mine, before = {}, {}
  for _, id in ipairs(ids) do
    table.insert(id >= self.store.FIRST_ID and mine or before, id)
  end
  local own = self.store:messages(mine, max_text > MAX_TEXT)
  if #before == 0 or not self.file then
    return done(own)
  end
  self.file:messages(before, max_text > MAX_TEXT and max_text or self.file.max_text, function(messages, err)
    done(messages and vim.list_extend(messages, own), err)
    self:shown()
  end)
end

function Source:draw(request, done)
  local function part(rows)
    return vim.tbl_extend("force", request, { rows = rows }) --[[@as claude-ide.transcript.DrawRequest]]
  end
  local before, own = {}, {} ---@type integer[], integer[]
  for _, row in ipairs(request.rows) do
    if row < self.before_len then
      before[#before + 1] = row
    else
      own[#own + 1] = row - self.before_len
    end
  end
  local drawn = {} ---@type table<integer, claude-ide.transcript.Drawn>
  for _, one in ipairs(#own > 0 and self.store:draw(part(own), self.last_before) or {}) do
    drawn[self.before_len + one.at] = one
  end
  if #before == 0 or not self.file then
    return done(drawn)
  end
  self.file:draw(part(before), function(earlier, err)
    done(earlier and vim.tbl_extend("error", earlier, drawn), err)
    self:shown()
  end)
end

---A description from the first prompt, for sessions that are not in the catalogue: those of other agents, and new ones.
---@return claude-ide.transcript.About?
function Source:first_words()
  for _, prompt in ipairs(self.store:prompts()) do
    local words = vim.trim(prompt.text)
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
    catalogue.find(self.id, function(item)
      local summary = item and item.summary.title and item.summary
      if not summary and self.file_state ~= "open" then
        return done()
      end
      answer(summary or nil)
    end)
  end
  retry.until_found(look, PATIENCE_MS, function(summary)
    done(summary and { title = phrases.title(summary), cwd = summary.cwd })
  end)
end

function Source:edit_texts(tool_id, done)
  if self.file then
    self.file:edit_texts(tool_id, done)
  else
    done()
  end
end

function Source:known_agents()
  return self.file and self.file:known_agents() or {}
end

---Handles a new session id, after `/clear`.
---@param id string
function Source:renew(id)
  self.id, self.session = id, id
  if self.file and self.before_len == 0 then
    self:close_file()
    self.file, self.file_state, self.agents = nil, nil, nil
  end
end

return Source
