-- Converts between columns of a language server and byte columns.
-- LSP 3.17, "PositionEncodingKind".
local lazy = require("claude-ide.lazy")
local position = lazy("claude-ide.base.position")

local M = {}

---@param text string one line, without its end-of-line
---@param col integer 0-based byte column
---@param encoding string "utf-8"|"utf-16"|"utf-32"
---@return integer character 0-based
function M.character(text, col, encoding)
  if encoding == "utf-8" then
    return math.min(col, #text)
  elseif encoding == "utf-32" then
    return vim.fn.strchars(text:sub(1, col))
  end
  return position.utf16(text, col)
end

---@param text string one line, without its end-of-line
---@param character integer 0-based
---@param encoding string
---@return integer col 0-based byte column
function M.byte(text, character, encoding)
  if encoding == "utf-8" then
    -- Not within a character: back to its first byte.
    local is_inside = character > 0 and character < #text
    return is_inside and character + vim.str_utf_start(text, character + 1) or math.min(character, #text)
  elseif encoding == "utf-32" then
    local col = vim.fn.byteidxcomp(text, character)
    return col < 0 and #text or col
  end
  return position.byte(text, character)
end

return M
