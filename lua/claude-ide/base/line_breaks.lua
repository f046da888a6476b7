-- Line breaks of language servers. Neovim and most servers end lines at LF (and CRLF); LSP also at a lone CR, and TypeScript's server
-- (5.9) also at U+2028 and U+2029.
-- LSP 3.17, "Text Documents".
local M = {}

---@alias claude-ide.LineBreaks "lf"|"cr"|"unicode" each includes the previous ones

---@type claude-ide.LineBreaks[]
M.KINDS = { "lf", "cr", "unicode" }

local LINE_SEPARATOR, PARAGRAPH_SEPARATOR = "\226\128\168", "\226\128\169"

---Whether the kinds differ for a text.
---@param text string
---@return boolean
function M.differ(text)
  return text:find("\r", 1, true) ~= nil
    or text:find(LINE_SEPARATOR, 1, true) ~= nil
    or text:find(PARAGRAPH_SEPARATOR, 1, true) ~= nil
end

---@param at integer 1-based, of a CR or of the first byte of a separator
---@param kind claude-ide.LineBreaks
---@return integer length in bytes; 0: not a line break
local function length_at(line, at, kind)
  if line:byte(at) == 13 then
    return at < #line and 1 or 0 -- a final CR is part of a CRLF
  end
  local char = kind == "unicode" and line:sub(at, at + 2) or ""
  return (char == LINE_SEPARATOR or char == PARAGRAPH_SEPARATOR) and 3 or 0
end

---Splits a line of Neovim's into the server's lines.
---@param line string
---@param kind claude-ide.LineBreaks
---@return { at: integer, text: string }[] at: 0-based byte column
function M.pieces(line, kind)
  local pieces, from, look = {}, 1, 1
  while kind ~= "lf" do
    local at = line:find("[\r\226]", look)
    if not at then
      break
    end
    local length = length_at(line, at, kind)
    look = at + math.max(length, 1)
    if length > 0 then
      pieces[#pieces + 1] = { at = from - 1, text = line:sub(from, at - 1) }
      from = look
    end
  end
  pieces[#pieces + 1] = { at = from - 1, text = line:sub(from) }
  return pieces
end

---Converts a position to the server's line.
---@param lines string[] of Neovim, at least up to the row
---@param kind claude-ide.LineBreaks
---@param row integer 0-based, Neovim's
---@param col integer 0-based bytes
---@return integer row 0-based, the server's
---@return { at: integer, text: string } piece containing the position
function M.to_server(lines, kind, row, col)
  local server_row = row
  for index = 1, row do
    if M.differ(lines[index]) then
      server_row = server_row + #M.pieces(lines[index], kind) - 1
    end
  end
  local pieces = M.pieces(lines[row + 1] or "", kind)
  local found = 1
  while pieces[found + 1] and pieces[found + 1].at <= col do
    found = found + 1
  end
  return server_row + found - 1, pieces[found]
end

---Converts a server's line.
---@param lines string[] of Neovim
---@param kind claude-ide.LineBreaks
---@param server_row integer 0-based
---@return integer row 0-based, Neovim's
---@return { at: integer, text: string } piece
function M.from_server(lines, kind, server_row)
  local left = server_row
  for index, line in ipairs(lines) do
    if left == 0 or M.differ(line) then
      local pieces = M.pieces(line, kind)
      if left < #pieces then
        return index - 1, pieces[left + 1]
      end
      left = left - #pieces
    else
      left = left - 1
    end
  end
  return #lines + left, { at = 0, text = "" }
end

return M
