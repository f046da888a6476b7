-- A text or a thought of a chat that grows: its pieces, and where it is cut in two, so that no row takes long to show.
local M = {}

---A text that is told so large is part of one that is larger still: it is taken in in halves, and each is a row, which is drawn at
---once, in the time of one slice, and only where somebody sees it.
M.LARGE = 48 * 1024
---What is no shorter than this is such a half: all else is taken in in pieces that are far shorter.
M.ROW = M.LARGE / 3

---A text that is longer goes on in a row of its own: at the next empty line, in code at the next line.
M.SPLIT_AT = 48 * 1024
---Where prose has no empty line so far, at the next line, too.
M.MOST = 2 * M.SPLIT_AT

---So much of the line at the end tells whether it is a fence. One without an end would be put together anew with each piece.
local MOST_OF_LINE = 1024

---How a row goes on with the text of the one before: the first line follows the last one.
---@class claude-ide.chat.Continues
---@field fence? claude-ide.transcript.Fence the code that it begins in

---@param message claude-ide.chat.Message
---@return string
function M.text(message)
  local parts = message.parts or {}
  if #parts > 1 then
    message.parts = { table.concat(parts) }
  end
  return (message.parts or {})[1] or ""
end

---Follows whether the end of a text is within a block of code, line by line.
---@param message claude-ide.chat.Message
---@param text string what is added
function M.follow(message, text)
  if message.block.type == "thinking" then
    return -- it is shown as it stands
  end
  local lines = (message.rest or "") .. text
  local from = 1
  while true do
    local stop = lines:find("\n", from, true)
    if not stop then
      break
    elseif lines:find("^[^%S\n]*[`~]", from) then
      local line = lines:sub(from, stop - 1):gsub("\r+$", "")
      message.fence = require("claude-ide.transcript.fences").after(message.fence, line)
    end
    from = stop + 1
  end
  message.rest = lines:sub(from, from + MOST_OF_LINE - 1)
end

---Where a text that is too long ends: after a line that surely shows something, for empty ones at its end are not shown.
---@param message claude-ide.chat.Message
---@param text string what is added
---@return integer? last byte that still belongs to the first
local function line_end(message, text)
  if not text:find("\n", 1, true) then
    return nil
  end
  local rest = message.rest or ""
  local lines, from = rest .. text, 1
  while true do
    local _, last = lines:find("[!-~\195-\255][^\n]*\n", from)
    if not last then
      return nil
    end
    -- The line may be what a terminal takes as a command: that is not shown.
    local line = lines:sub(from, last)
    if (require("claude-ide.native").plain_text(line) or line):find("[!-~\195-\255]") then
      return last - #rest
    end
    from = last + 1
  end
end

---Where a long text is cut in two.
---@param message claude-ide.chat.Message
---@param text string what is added
---@param is_row? boolean it begins a row of its own as soon as it can
---@return integer? last byte that still belongs to the first
---@return boolean at_gap after an empty line, outside of code
function M.cut(message, text, is_row)
  local bytes = message.block.bytes
  if bytes < M.SPLIT_AT and not is_row then
    return nil, false
  elseif message.fence or is_row or message.block.type == "thinking" then
    return line_end(message, text), false
  end
  local _, last = text:find("\n\n", 1, true)
  -- A block of code that begins or ends in the same piece would have to be told apart: the next piece will do. Its mark may have
  -- begun in the piece before.
  local lines = last and (message.rest or "") .. text
  if lines and not lines:find("```", 1, true) and not lines:find("~~~", 1, true) then
    return last, true
  end
  return bytes >= M.MOST and line_end(message, text) or nil, false
end

return M
