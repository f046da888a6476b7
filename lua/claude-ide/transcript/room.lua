-- How much of what a call was given is looked at and shown: bounded for all of its arguments together, for each may be as long as
-- a message may be, and a call is drawn in one go. Pure.

---@class claude-ide.transcript.Room
---@field private bytes integer that are left
---@field private count integer lines that are left
local Room = {}
Room.__index = Room

local BYTES, LINES = 64 * 1024, 1000

---@param bytes? integer
---@param lines? integer
---@return claude-ide.transcript.Room
function Room.new(bytes, lines)
  return setmetatable({ bytes = bytes or BYTES, count = lines or LINES }, Room)
end

---As many lines of a text as there is room for.
---@param text string
---@param lines_of? fun(text: string): string[]
---@param most? integer lines
---@return string[] lines
---@return string? note what is left out
function Room:lines(text, lines_of, most)
  local texts = require("claude-ide.transcript.text")
  local head, left = texts.head(text, self.bytes)
  self.bytes = self.bytes - #head
  local lines, over = (lines_of or texts.lines)(head), 0
  for at = #lines, math.min(self.count, most or self.count) + 1, -1 do
    over = over + 1
    left = left > 0 and left + #lines[at] + 1 or 0
    lines[at] = nil
  end
  self.count = self.count - #lines
  return lines, texts.left_note(over, left)
end

---A value that is no text, as JSON: as much of it as there is room for.
---@param value any
---@return string
---@return string? note what is left out
function Room:json(value)
  local left = self.bytes
  local function part(one)
    if type(one) == "string" then
      local head = require("claude-ide.transcript.text").head(one, math.max(left, 0))
      left = left - #one
      return head
    elseif type(one) ~= "table" then
      return one
    end
    local copy, is_list = setmetatable({}, getmetatable(one)), one[1] ~= nil
    for key, inner in (is_list and ipairs or pairs)(one) do
      left = left - 8
      if left <= 0 then
        break
      end
      copy[key] = part(inner)
    end
    return copy
  end
  local ok, encoded = pcall(vim.json.encode, part(value))
  return ok and encoded or tostring(value), left <= 0 and "… and more" or nil
end

return Room
