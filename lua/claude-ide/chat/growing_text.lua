-- A growing text or thought of a chat: its pieces, and where it is split so that each row is fast to draw.
local M = {}

---A text delivered in pieces this large is part of an even larger one: it is handled in halves, each a row that is drawn within one slice,
---and only when visible.
M.LARGE = 48 * 1024
---Minimum size of such a half: other pieces are far shorter.
M.ROW = M.LARGE / 3

---A longer text continues in a new row: at the next empty line; in code, at the next line.
M.SPLIT_AT = 48 * 1024
---Prose without an empty line is split here, at the next line.
M.MOST = 2 * M.SPLIT_AT

---Length of the last line that is checked for a fence. Without a limit, a line without an end would be rebuilt with each piece.
local MOST_OF_LINE = 1024

---A row that continues the previous one: its first line follows the last one directly.
---@class claude-ide.chat.Continues
---@field fence? claude-ide.transcript.Fence of the code block that it begins in

---@param message claude-ide.chat.Message
---@return string
function M.text(message)
  local parts = message.parts or {}
  if #parts > 1 then
    message.parts = { table.concat(parts) }
  end
  return (message.parts or {})[1] or ""
end

---Tracks whether the end of a text is inside a code block, line by line.
---@param message claude-ide.chat.Message
---@param text string added
function M.follow(message, text)
  if message.block.type == "thinking" then
    return -- shown verbatim
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

---Where a text that is too long is split: after a visible line, since trailing empty lines are not shown.
---@param message claude-ide.chat.Message
---@param text string added
---@return integer? last byte of the first part
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
    -- The line may be an escape sequence, which is not shown.
    local line = lines:sub(from, last)
    if (require("claude-ide.native").plain_text(line) or line):find("[!-~\195-\255]") then
      return last - #rest
    end
    from = last + 1
  end
end

---Where a long text is split in two.
---@param message claude-ide.chat.Message
---@param text string added
---@param is_row? boolean start a new row as soon as possible
---@return integer? last byte of the first part
---@return boolean at_gap after an empty line, outside of code
function M.cut(message, text, is_row)
  local bytes = message.block.bytes
  if bytes < M.SPLIT_AT and not is_row then
    return nil, false
  elseif message.fence or is_row or message.block.type == "thinking" then
    return line_end(message, text), false
  end
  local _, last = text:find("\n\n", 1, true)
  -- A fence in the same piece would need parsing: wait for the next piece. Its mark may have begun in the previous piece.
  local lines = last and (message.rest or "") .. text
  if lines and not lines:find("```", 1, true) and not lines:find("~~~", 1, true) then
    return last, true
  end
  return bytes >= M.MOST and line_end(message, text) or nil, false
end

return M
