-- A chat's messages in a transcript's format: a row per block, so that a growing text is the last row. Rows and ids do not count earlier
-- messages (source.lua adds them).
-- Invariants: adding costs only the added length. A text's pieces are joined only on request.

---@class claude-ide.chat.Message
---@field id integer
---@field kind claude-ide.sessions.RowKind
---@field block claude-ide.sessions.Block a text's block has no text
---@field parts? string[] a text's pieces
---@field fence? claude-ide.transcript.Fence the code block at the end of a text
---@field rest? string its last line so far, which may be a fence
---@field partial? boolean not complete yet
---@field full? boolean the text continues in another row
---@field ends_at_gap? boolean after an empty line
---@field continues? claude-ide.chat.Continues set if the text begins in another row, other than after an empty line
---@field key? string of a text: its block
---@field start integer
---@field uuid? string of a prompt
---@field model? string
---@field usage? claude-ide.sessions.Usage
---@field more? claude-ide.sessions.Block[] a prompt's other blocks

---@class claude-ide.chat.Store
---@field messages claude-ide.chat.Message[]
---@field last_reply? claude-ide.sessions.Row
---@field private calls table<string, claude-ide.chat.Message> by id
---@field private listener? claude-ide.chat.store.Listener
---@field private batch? { from?: integer, changed: integer[] } changes not reported yet
local Store = {}
Store.__index = Store

---@class claude-ide.chat.store.Listener
---@field changed fun(from: integer, len: integer, changed: integer[]) 0-based rows
---@field appended fun(text: string, bytes: integer)

local growing = require("claude-ide.chat.growing_text")
local clock = require("claude-ide.clock")

---Bytes of a long text handled together.
local PIECE = 4 * 1024
---Results are cut to this length; a line below shows the rest.
local MAX_RESULT = 16 * 1024
local MAX_SHOWN = 8 * 1024 * 1024

---@return claude-ide.chat.Store
function Store.new()
  return setmetatable({ messages = {}, calls = {} }, Store)
end

---@param listener? claude-ide.chat.store.Listener
function Store:listen(listener)
  self.listener = listener
end

---@private
function Store:release()
  local batch = self.batch
  self.batch = nil
  if batch and batch.from then
    self:tell(batch.from, batch.changed)
  end
end

---Delays reports to the next tick, for many changes at once: rows above the window are then not drawn first.
function Store:hold()
  if not self.batch then
    self.batch = { changed = {} }
    vim.defer_fn(function()
      self:release()
    end, 1)
  end
end

---@private
---@param from integer row
---@param changed? integer[]
function Store:tell(from, changed)
  local batch = self.batch
  if batch then
    batch.from = math.min(batch.from or from, from)
    vim.list_extend(batch.changed, changed or {})
  elseif self.listener then
    self.listener.changed(from, #self.messages, changed or {})
  end
end

---@private
---@param changed integer[] messages with calls that ended
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
---Begins a text's row.
---@param key string
---@param kind "text"|"thinking"
---@param text string
---@param model? string
---@param before? claude-ide.chat.Message the row that it continues
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

---Appends to a text.
---@param key string its block
---@param kind "text"|"thinking"
---@param text string
---@param model? string
---@param is_row? boolean long enough for its own row
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
  if self.batch then
    self:tell(before.id - 1)
  elseif self.listener then
    self.listener.appended(first, before.block.bytes)
  end
  if cut then
    before.full, before.ends_at_gap = true, at_gap
    return self:append(key, kind, text:sub(cut + 1), model)
  end
end

---Adds a call whose arguments are incomplete.
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

---Removes incomplete messages.
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

---Marks incomplete messages as complete: nothing will follow.
function Store:settle()
  for at = #self.messages, 1, -1 do
    if not self.messages[at].partial then
      break
    end
    self.messages[at].partial = nil
  end
end

---@private
---The rows of a streamed text, and whether their text is equal to this one.
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
---Adds a complete text, with as many rows as if it had been streamed.
---@param kind "text"|"thinking"
---@param text string
---@param fields table
function Store:say_long(kind, text, fields)
  local listener, count = self.listener, #self.messages
  self.listener = nil -- all rows are reported together
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

---Handles a complete reply.
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

---Handles ended calls. A call that only started a background task ends with it.
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param refused table<string, "rejected"|"changed"> calls that the user denied or changed
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

---Handles the end of a call's background task: it may be reported twice, and again if the task was resumed.
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

---Marks running calls as void: the process is gone.
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

---Adds a complete message: a prompt, a notice, a rule.
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

---Adds a prompt.
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

---@param message claude-ide.chat.Message
---@return claude-ide.sessions.Row
local function row_of(message)
  local block = message.block
  local tools ---@type claude-ide.sessions.ToolRow[]?
  if block.type == "tool_use" then
    local tool = {
      name = block.name,
      status = block.status,
      start = block.start,
      ["end"] = block["end"],
      background = block.background,
    }
    tools = {
      tool --[[@as claude-ide.sessions.ToolRow]],
    }
  end
  return {
    id = message.id,
    kind = message.kind,
    start = message.start,
    model = message.model,
    usage = message.usage,
    tools = tools,
    bytes = block.bytes or 1024,
    continues = message.continues ~= nil or nil,
  }
end

local function cut(text, most)
  if text and #text > most then
    return (require("claude-ide.position").valid(text:sub(1, most)):gsub("\239\191\189+$", ""))
  end
  return text
end

---@param block claude-ide.sessions.Block
---@param most integer
---@return claude-ide.sessions.Block
local function shown(block, most)
  local copy = vim.tbl_extend("force", {}, block)
  if copy.result then
    copy.result = vim.tbl_extend("force", {}, copy.result)
    copy.result.content = vim.tbl_map(function(part)
      local of_part = vim.tbl_extend("force", {}, part)
      of_part.text = cut(part.text, most)
      return of_part
    end, copy.result.content or {})
  end
  return copy --[[@as claude-ide.sessions.Block]]
end

---@param message claude-ide.chat.Message
---@param all boolean long results, too
---@return claude-ide.sessions.Message
local function message_of(message, all)
  local block = shown(message.block, all and MAX_SHOWN or MAX_RESULT)
  if message.parts then
    block.text, block.continues = growing.text(message), message.continues
  end
  local blocks = { block }
  vim.list_extend(blocks, message.more or {})
  return {
    id = message.id,
    kind = message.kind,
    start = message.start,
    blocks = blocks,
  }
end

---@param from integer
---@param count integer
---@return claude-ide.sessions.Row[]
function Store:rows(from, count)
  local rows = {}
  for at = from + 1, math.min(from + count, #self.messages) do
    rows[#rows + 1] = row_of(self.messages[at])
  end
  return rows
end

---@param id integer
---@param all boolean long results, too
---@return claude-ide.sessions.Message?
function Store:message(id, all)
  local message = self.messages[id]
  return message and message_of(message, all)
end

---A call's block and row, if known.
---@param id string
---@return claude-ide.sessions.Block?
---@return integer? row
function Store:call(id)
  local message = self.calls[id]
  return message and message.block, message and message.id - 1
end

return Store
