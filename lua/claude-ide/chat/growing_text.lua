-- A text of a chat that grows: its pieces, and where it may be cut in two.
local M = {}

---A text that is longer goes on in a row of its own, at the next empty line.
local SPLIT_AT = 48 * 1024

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
  local lines = (message.rest or "") .. text
  local from = 1
  while true do
    local stop = lines:find("\n", from, true)
    if not stop then
      break
    end
    local mark = lines:match("^ ? ? ?(```+)", from) or lines:match("^ ? ? ?(~~~+)", from)
    if mark and not message.fence then
      message.fence = mark
    elseif mark and vim.startswith(mark, message.fence or mark) then
      message.fence = nil
    end
    from = stop + 1
  end
  message.rest = lines:sub(from)
end

---Where a long text may be cut in two: after an empty line, outside of code.
---@param message claude-ide.chat.Message
---@param text string what is added
---@return integer? last byte that still belongs to the first
function M.cut(message, text)
  if message.block.bytes < SPLIT_AT or message.fence then
    return nil
  end
  local _, last = text:find("\n\n", 1, true)
  -- A block of code that begins or ends in the same piece would have to be told apart: the next piece will do.
  if not last or text:find("```", 1, true) or text:find("~~~", 1, true) then
    return nil
  end
  return last
end

return M
