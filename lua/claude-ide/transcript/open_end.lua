-- Where a text may go on: at the last line that surely shows something. Pure.
-- Invariant: the lines are those that the whole text would have. Where that cannot be known from its last line, there are none.

local M = {}

---Where a text may go on.
---@class claude-ide.transcript.OpenEnd
---@field first integer lines before the last one that has something on it
---@field package tail string the text from there on
---@field bytes integer of all of it

---Where the last line begins that surely shows something: a character that is neither blank nor for a terminal.
---@param text string
---@return integer byte from 1
local function last_line(text)
  local at = #text
  while at > 0 do
    local byte = text:byte(at)
    if byte > 32 and byte < 127 or byte >= 0xC3 then
      break
    end
    at = at - 1
  end
  while at > 0 and text:byte(at) ~= 10 do
    at = at - 1
  end
  return at + 1
end

---@param text string
---@return string[]
local function lines_of(text)
  return require("claude-ide.transcript.text").paragraphs(text)
end

---@param text string all of it
---@param count integer the lines it has
---@return claude-ide.transcript.OpenEnd? nil: a command for a terminal may go on over lines
function M.of(text, count)
  if text:find("\27", 1, true) then
    return nil
  end
  local tail = text:sub(last_line(text))
  return { first = count - #lines_of(tail), tail = tail, bytes = #text }
end

---The lines of what a text goes on with.
---@param open_end claude-ide.transcript.OpenEnd
---@param added string
---@return string[]? lines from `open_end.first` on
---@return claude-ide.transcript.OpenEnd? now
function M.go_on(open_end, added)
  if added:find("\27", 1, true) then
    return nil
  end
  local tail = open_end.tail .. added
  local lines, rest = lines_of(tail), tail:sub(last_line(tail))
  local first = open_end.first + #lines - #lines_of(rest)
  return lines, { first = first, tail = rest, bytes = open_end.bytes + #added }
end

return M
