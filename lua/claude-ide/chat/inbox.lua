-- A queue of events, handled in order and in small slices, so that an agent's output does not block the main loop.

---@class claude-ide.chat.Inbox
---@field private events (claude-ide.chat.Event|false)[]
---@field private next_event integer
---@field private next_byte integer of a text handled in pieces
---@field private take_in fun(event: claude-ide.chat.Event, waiting: integer)
---@field private on_empty fun() all of it was taken in
local Inbox = {}
Inbox.__index = Inbox

---Time limit of a slice, and bytes of a text per event.
local BUDGET_NS, PIECE = 6 * 1000 * 1000, 4 * 1024
---A text of so many bytes is taken in in two pieces, of which each is a row: the library has at most 64 KiB.
local LARGE = require("claude-ide.chat.growing_text").LARGE
---Pause between slices, for the screen and keys.
local PAUSE_MS = 5

---@param take_in fun(event: claude-ide.chat.Event, waiting: integer) waiting: number of events left
---@param on_empty fun()
---@return claude-ide.chat.Inbox
function Inbox.new(take_in, on_empty)
  return setmetatable({
    events = {},
    next_event = 1,
    next_byte = 1,
    take_in = take_in,
    on_empty = on_empty,
  }, Inbox)
end

---The next event: a long text in pieces, cut between characters.
---@private
---@return claude-ide.chat.Event
function Inbox:next_piece()
  local one = self.events[self.next_event] --[[@as claude-ide.chat.Event]]
  local text, from = one.text or "", self.next_byte
  ---@param last? integer
  ---@return claude-ide.chat.Event
  local function piece(last)
    ---@diagnostic disable-next-line: return-type-mismatch -- the same event with another text
    return vim.tbl_extend("force", one, { text = text:sub(from, last) })
  end
  local size = #text >= LARGE and math.ceil(#text / 2) or PIECE
  local last = from + size - 1
  if one.type ~= "text" or last >= #text then
    self.events[self.next_event] = false
    self.next_event, self.next_byte = self.next_event + 1, 1
    return from == 1 and one or piece()
  end
  while last > from and text:byte(last + 1) >= 0x80 and text:byte(last + 1) < 0xc0 do
    last = last - 1
  end
  self.next_byte = last + 1
  return piece(last)
end

---@private
function Inbox:go_on()
  local stop = vim.uv.hrtime() + BUDGET_NS
  local events = self.events
  repeat
    self.take_in(self:next_piece(), #events - self.next_event + 1)
  until self.next_event > #events or vim.uv.hrtime() > stop
  if self.next_event > #events then
    self.events, self.next_event = {}, 1
    self.on_empty()
  else
    self:go_on_later()
  end
end

---@private
function Inbox:go_on_later()
  vim.defer_fn(function()
    self:go_on()
  end, PAUSE_MS)
end

---@param events claude-ide.chat.Event[]
function Inbox:put(events)
  local is_going_on = #self.events > 0
  vim.list_extend(self.events, events)
  if is_going_on or #events == 0 then
    return
  end
  self:go_on()
end

return Inbox
