-- The end of a terminal's output as text. An agent polls it while a command runs, so output is processed only once.
-- Invariant: the kept output is bounded, and adding costs only the added length.

local lazy = require("claude-ide.lazy")
local position = lazy("claude-ide.base.position")

---@class claude-ide.chat.acp.Output
---@field private limit integer bytes returned
---@field private clean string the end of the text so far
---@field private truncated boolean
---@field private raw string[] added since
---@field private bytes integer of `raw`
local Output = {}
Output.__index = Output

---Escape sequences take more bytes than the text: this much more is kept of unprocessed output.
local MORE = 8192
---The longest sequence that may continue in the next piece.
local SEQUENCE = 256

---@param limit integer
---@return claude-ide.chat.acp.Output
function Output.new(limit)
  return setmetatable({ limit = limit, clean = "", truncated = false, raw = {}, bytes = 0 }, Output)
end

---@param text string
function Output:add(text)
  self.raw[#self.raw + 1] = text
  self.bytes = self.bytes + #text
  local most = self.limit * 2 + MORE
  if self.bytes > most * 2 then
    self.raw = { table.concat(self.raw):sub(-most) }
    self.bytes, self.truncated, self.clean = most, true, ""
  end
end

---The start of a sequence that may continue in the next piece.
---@param text string
---@return integer? from byte
local function open_sequence(text)
  local from = #text - math.min(#text, SEQUENCE) + 1
  local start = text:sub(from):match(".*()\27") --[[@as integer?]]
  local last = start and text:sub(from + start - 1) or ""
  local is_whole = last:find("^\27%[[%d;:?<=>]*[ -/]*[@-~]")
    or last:find("^\27%].*[\7\27]")
    or last:find("^\27[^%[%]%(%)]")
    or last:find("^\27[%(%)].")
  if start and not is_whole then
    return from + start - 1
  end
  return text:match("()\r+$") --[[@as integer?]]
end

---Removes escape sequences.
local function cleaned(text)
  return (
    text
      :gsub("\27%][^\7\27]*\27?[\7\\]?", "")
      :gsub("\27%[[%d;:?<=>]*[ -/]*[@-~]", "")
      :gsub("\27[%(%)][%w]", "")
      :gsub("\27.", "")
      :gsub("\r+\n", "\n")
  )
end

---@private
---@param text string
---@return string its last bytes within the limit, from the start of a character
function Output:last_of(text)
  return (text:sub(-self.limit):gsub("^[\128-\191]+", ""))
end

---@return string text
---@return boolean truncated
function Output:text()
  local new = table.concat(self.raw)
  local open = open_sequence(new)
  self.raw = open and { new:sub(open) } or {}
  self.bytes = open and #new - open + 1 or 0
  self.clean = self.clean .. cleaned(open and new:sub(1, open - 1) or new)
  if #self.clean > self.limit then
    self.clean = self:last_of(self.clean)
    self.truncated = true
  end
  -- Replaced invalid UTF-8 is longer.
  local text = position.valid(self.clean)
  if #text > self.limit then
    return self:last_of(text), true
  end
  return text, self.truncated
end

return Output
