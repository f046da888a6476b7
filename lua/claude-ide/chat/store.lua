-- The messages of a chat as it goes on, in the shapes of a transcript: a row for each block, so that a text that grows is the
-- last one. Rows and numbers count from what was there before it (source.lua adds that).
-- Invariants: what is added costs what it is long, however long the rest is. A text is put together only when it is asked for.

---@class claude-ide.chat.Message
---@field id integer
---@field kind claude-ide.sessions.RowKind
---@field block claude-ide.sessions.Block of a text: without its text
---@field parts? string[] of a text: its pieces
---@field fence? claude-ide.transcript.Fence the code that the end of a text is within
---@field rest? string its last line so far, where code may begin or end
---@field partial? boolean it was not said in full yet
---@field full? boolean what a text goes on with is another row
---@field ends_at_gap? boolean after an empty line
---@field continues? claude-ide.chat.Continues of a text that another row begins with, and not at an empty line
---@field key? string of a text: which block of the replies it is
---@field start integer
---@field uuid? string of a prompt
---@field model? string
---@field usage? claude-ide.sessions.Usage
---@field more? claude-ide.sessions.Block[] what else a prompt consists of

---@class claude-ide.chat.Store
---@field messages claude-ide.chat.Message[]
---@field total claude-ide.sessions.Usage
---@field last_reply? claude-ide.sessions.Row
---@field private calls table<string, claude-ide.chat.Message> by call
---@field private listener? claude-ide.chat.store.Listener
---@field private held? { from?: integer, changed: integer[] } what the listener was not told yet
local Store = {}
Store.__index = Store

---@class claude-ide.chat.store.Listener
---@field changed fun(from: integer, len: integer, changed: integer[]) rows, counted from 0
---@field appended fun(text: string, bytes: integer)

local growing, shape = require("claude-ide.chat.growing_text"), require("claude-ide.chat.shape")
local clock = require("claude-ide.clock")

---Bytes of a long text that are looked at together.
local PIECE = 4 * 1024

---@return claude-ide.chat.Store
function Store.new()
  return setmetatable({
    messages = {},
    total = { input = 0, output = 0, cache_write = 0, cache_read = 0 },
    calls = {},
  }, Store)
end

---@param listener? claude-ide.chat.store.Listener
function Store:listen(listener)
  self.listener = listener
end

---@private
function Store:release()
  local held = self.held
  self.held = nil
  if held and held.from then
    self:tell(held.from, held.changed)
  end
end

---Much comes at once: the listener is told of all of it in a turn of its own. What is above its windows then is not drawn first.
function Store:hold()
  if not self.held then
    self.held = { changed = {} }
    vim.defer_fn(function()
      self:release()
    end, 1)
  end
end

---@private
---@param from integer row
---@param changed? integer[]
function Store:tell(from, changed)
  local held = self.held
  if held then
    held.from = math.min(held.from or from, from)
    vim.list_extend(held.changed, changed or {})
  elseif self.listener then
    self.listener.changed(from, #self.messages, changed or {})
  end
end

---@private
---@param changed integer[] messages with calls that came to an end
function Store:tell_calls(changed)
  if #changed > 0 then
    self:tell(#self.messages, changed)
  end
end

---@private
---@param fields table
---@return claude-ide.chat.Message
function Store:add(fields)
  local message = vim.tbl_extend("keep", fields, { id = #self.messages + 1, start = clock.now() })
  self.messages[message.id] = message
  return message --[[@as claude-ide.chat.Message]]
end

---@private
---Begins a row of a text.
---@param key string
---@param kind "text"|"thinking"
---@param text string
---@param model? string
---@param before? claude-ide.chat.Message the row whose text it goes on with
function Store:begin_text(key, kind, text, model, before)
  local message = self:add({
    kind = "reply",
    block = { type = kind, bytes = #text },
    parts = { text },
    partial = true,
    key = key,
    model = model,
    fence = before and before.fence,
    continues = before and not before.ends_at_gap and { fence = before.fence } or nil,
  })
  growing.follow(message, text)
  self:tell(message.id - 1)
end

---A text goes on.
---@param key string names its block
---@param kind "text"|"thinking"
---@param text string
---@param model? string
---@param is_row? boolean it is so long that it begins a row of its own
function Store:append(key, kind, text, model, is_row)
  local last = self.messages[#self.messages]
  local before = last and last.key == key and last.partial and last or nil
  if text == "" then
    return
  elseif not before or before.full then
    return self:begin_text(key, kind, text, model, before)
  end
  local cut, at_gap = growing.cut(before, text, is_row)
  local first = cut and text:sub(1, cut) or text
  before.parts[#before.parts + 1] = first
  before.block.bytes = before.block.bytes + #first
  growing.follow(before, first)
  if self.held then
    self:tell(before.id - 1)
  elseif self.listener then
    self.listener.appended(first, before.block.bytes)
  end
  if cut then
    before.full, before.ends_at_gap = true, at_gap
    return self:append(key, kind, text:sub(cut + 1), model)
  end
end

---A call is being written down.
---@param id string
---@param name string
---@param model? string
function Store:calling(id, name, model)
  if self.calls[id] then
    return
  end
  local block = {
    type = "tool_use",
    id = id,
    name = name,
    input = vim.empty_dict(),
    status = "running",
    start = clock.now(),
  }
  self.calls[id] = self:add({ kind = "reply", block = block, partial = true, model = model })
  self:tell(#self.messages - 1)
end

---What is not said in full is void.
function Store:void()
  local len = #self.messages
  while len > 0 and self.messages[len].partial do
    local message = self.messages[len]
    self.messages[len] = nil
    if message.block.type == "tool_use" then
      self.calls[message.block.id] = nil
    end
    len = len - 1
  end
  self:tell(len)
end

---Nothing more comes of what was being said: it stays as it is.
function Store:settle()
  for at = #self.messages, 1, -1 do
    if not self.messages[at].partial then
      break
    end
    self.messages[at].partial = nil
  end
end

---@private
---The rows that hold what was streamed of a text, and whether they say this.
---@param block claude-ide.sessions.Block
---@return integer? first
---@return boolean same
function Store:streamed_text(block)
  local first = #self.messages
  while first > 0 and self.messages[first].partial and self.messages[first].block.type == block.type do
    first = first - 1
  end
  first = first + 1
  local texts = {}
  for at = first, #self.messages do
    texts[#texts + 1] = growing.text(self.messages[at])
  end
  if #texts == 0 then
    return nil, false
  end
  return first, table.concat(texts) == block.text
end

---@private
---A text that is whole, in as many rows as it would have if it had grown.
---@param kind "text"|"thinking"
---@param text string
---@param fields table
function Store:say_long(kind, text, fields)
  local listener, count = self.listener, #self.messages
  self.listener = nil -- all of them are told together
  for at = 1, #text, PIECE do
    self:append("whole", kind, text:sub(at, at + PIECE - 1), fields.model)
  end
  self.listener = listener
  for at = count + 1, #self.messages do
    local message = self.messages[at]
    message.partial, message.key, message.usage = nil, nil, fields.usage
  end
end

---@private
---@param block claude-ide.sessions.Block text or thinking
---@param fields table
---@return integer? row that changed
function Store:say_text(block, fields)
  local first, same = self:streamed_text(block)
  if first and same then
    for at = first, #self.messages do
      self.messages[at].partial = nil
      self.messages[at].usage = fields.usage
    end
    return nil
  end
  for at = #self.messages, first or #self.messages + 1, -1 do
    self.messages[at] = nil
  end
  local text = block.text or ""
  if vim.trim(text) == "" then
    return first and first - 1 or nil
  end
  local row = #self.messages
  if fields.kind == "reply" and #text > growing.MOST then
    self:say_long(block.type --[[@as "text"|"thinking"]], text, fields)
  else
    self:add(vim.tbl_extend("error", fields, {
      block = { type = block.type, bytes = block.bytes or #text },
      parts = { text },
    }))
  end
  return row
end

---A reply, in full.
---@param event claude-ide.chat.Event
function Store:said(event)
  local changed, from = {}, nil ---@type integer[], integer?
  local fields = { kind = event.kind, model = event.model, usage = event.usage }
  for _, block in ipairs(event.blocks or {}) do
    local row
    if block.type == "text" or block.type == "thinking" then
      row = self:say_text(block, fields)
    elseif block.type == "tool_use" and self.calls[block.id] then
      local message = self.calls[block.id]
      message.block.input, message.block.name, message.partial = block.input, block.name, nil
      message.usage = event.usage
      changed[#changed + 1] = message.id - 1
    else
      if block.type == "tool_use" then
        block.start = clock.now()
      end
      local message = self:add(vim.tbl_extend("error", fields, { block = block }))
      if block.type == "tool_use" then
        self.calls[block.id] = message
      end
      row = message.id - 1
    end
    from = row and math.min(from or row, row) or from
  end
  if event.usage then
    self.last_reply = { id = 0, kind = "reply", usage = event.usage, model = event.model } --[[@as any]]
  end
  if from or #changed > 0 then
    self:tell(from or #self.messages, changed)
  end
end

---Calls came to an end. One that only says that something goes on in the background ends when that does.
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param refused table<string, "rejected"|"changed"> what the user made of calls that were not let through as they were
function Store:results(results, refused)
  local changed = {}
  for _, pair in ipairs(results) do
    local call, result = pair[1], pair[2]
    local message = self.calls[call]
    if message then
      local block = message.block
      block.result = result
      block.background = result.outcome and result.outcome.type == "launch" and not result.is_error or nil
      if not block.background then
        block.status = refused[call] or result.is_error and "failed" or "done"
        block["end"] = clock.now()
      end
      changed[#changed + 1] = message.id - 1
    end
  end
  self:tell_calls(changed)
end

---What a call left in the background ended: that may be said twice, and again where it was woken and ended once more.
---@param call string
---@param is_done boolean
function Store:background_over(call, is_done)
  local message = self.calls[call]
  local block = message and message.block
  local status = is_done and "done" or "failed"
  if block and block.background and block.status ~= status then
    block.status, block["end"] = status, clock.now()
    self:tell_calls({ message.id - 1 })
  end
end

---The process that would say how calls end is gone.
function Store:end_running()
  local changed = {}
  for _, message in pairs(self.calls) do
    if message.block.status == "running" then
      message.block.status = "void"
      changed[#changed + 1] = message.id - 1
    end
  end
  self:tell_calls(changed)
end

---A prompt of the user, a notice, a rule: a message that is whole.
---@param kind claude-ide.sessions.RowKind
---@param text string
---@param more? claude-ide.sessions.Block[] images
---@return claude-ide.chat.Message
function Store:put(kind, text, more)
  self:settle()
  local message =
    self:add({ kind = kind, block = { type = "text", bytes = #text }, parts = { text }, more = more })
  self:tell(message.id - 1)
  return message
end

---What the user said.
---@param prompt claude-ide.chat.Prompt
function Store:put_prompt(prompt)
  local images = vim.tbl_filter(function(block)
    return block.type ~= "text"
  end, prompt.content)
  local kind = prompt.text:find("^/%w") and "command" or "prompt"
  local message = self:put(
    kind,
    prompt.text,
    vim.tbl_map(function(image)
      local encoded = image.source and image.source.data or ""
      return { type = "image", media_type = (image.source or {}).media_type or "", encoded_bytes = #encoded }
    end, images)
  )
  message.uuid = prompt.id
end

---@param from integer
---@param count integer
---@return claude-ide.sessions.Row[]
function Store:rows(from, count)
  local rows = {}
  for at = from + 1, math.min(from + count, #self.messages) do
    rows[#rows + 1] = shape.row(self.messages[at])
  end
  return rows
end

---@param id integer
---@param all boolean results too, however long
---@return claude-ide.sessions.Message?
function Store:message(id, all)
  local message = self.messages[id]
  return message and shape.message(message, all)
end

---Whether a call is known, and what it was given.
---@param id string
---@return claude-ide.sessions.Block?
---@return integer? row
function Store:call(id)
  local message = self.calls[id]
  return message and message.block, message and message.id - 1
end

return Store
