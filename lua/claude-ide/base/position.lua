-- Converts between byte columns of Neovim and UTF-16 columns of the protocol.
-- Not by `vim.str_utfindex`: its signature differs between 0.10 and 0.11, it raises past the end, and it accepts surrogates and
-- overlong forms, which JSON parsers reject.
-- Invariant: a byte that is not well-formed UTF-8 is one unit, here and in `M.valid`, so positions match the text.
local M = {}

local byte = string.byte

---Replaces an invalid byte.
local REPLACEMENT = "\239\191\189"

---Maximum bytes of a grapheme; longer runs of combining marks are cut.
local MAX_GRAPHEME_BYTES = 256

local P, R = vim.lpeg.P, vim.lpeg.R
local next_byte = R("\128\191")

---Well-formed characters, like `sequence_length`, but in C: selections can be large.
local characters = R("\0\127") ^ 1
  + R("\194\223") * next_byte
  + (P("\224") * R("\160\191") + P("\237") * R("\128\159") + R("\225\236", "\238\239") * next_byte) * next_byte
  + (P("\240") * R("\144\191") + P("\244") * R("\128\143") + R("\241\243") * next_byte)
    * next_byte
    * next_byte

local well_formed = characters ^ 0 * vim.lpeg.Cp()
local replaced = vim.lpeg.Cs((characters + P(1) / REPLACEMENT) ^ 0)

---Length of the well-formed UTF-8 sequence at `i`, or 0.
---Table 3-7 of the Unicode Standard: no overlong forms, no surrogates, nothing above U+10FFFF.
---@param i integer 1-based
local function sequence_length(text, i)
  local first = byte(text, i)
  if first < 0x80 then
    return 1
  elseif first < 0xC2 or first > 0xF4 then
    return 0
  end
  local second = byte(text, i + 1)
  if not second or second < 0x80 or second > 0xBF then
    return 0
  elseif first < 0xE0 then
    return 2
  end
  if
    (first == 0xE0 and second < 0xA0)
    or (first == 0xED and second > 0x9F)
    or (first == 0xF0 and second < 0x90)
    or (first == 0xF4 and second > 0x8F)
  then
    return 0
  end
  local third = byte(text, i + 2)
  if not third or third < 0x80 or third > 0xBF then
    return 0
  elseif first < 0xF0 then
    return 3
  end
  local fourth = byte(text, i + 3)
  if not fourth or fourth < 0x80 or fourth > 0xBF then
    return 0
  end
  return 4
end

local ascii = R("\0\127") ^ 0 * vim.lpeg.Cp()

---The first byte that is not ASCII, within so many bytes: the rest of a long line is not searched.
---@param text string
---@param most integer
---@return integer?
local function first_wide(text, most)
  local i = ascii:match(most < #text and text:sub(1, most) or text)
  return i <= math.min(most, #text) and i or nil
end

---UTF-16 column of a byte column. Inside a character: its start; past the end: the end.
---@param text string one line, without its end-of-line
---@param col integer 0-based byte column
---@return integer character 0-based UTF-16 column
function M.utf16(text, col)
  local stop = math.min(col, #text)
  if stop <= 0 then
    return 0
  end
  local i = first_wide(text, stop)
  if not i then
    return stop
  end
  local units = i - 1
  while i <= stop do
    local length = sequence_length(text, i)
    local next_i = i + (length == 0 and 1 or length)
    if next_i - 1 > stop then
      break
    end
    units = units + (length == 4 and 2 or 1)
    i = next_i
  end
  return units
end

---Byte column of a UTF-16 column. Inside a surrogate pair: the character's start; past the end: the end.
---@param text string one line, without its end-of-line
---@param character integer 0-based UTF-16 column
---@return integer col 0-based byte column
function M.byte(text, character)
  if character <= 0 then
    return 0
  end
  local i = first_wide(text, character)
  if not i then
    return math.min(character, #text)
  end
  local units, size = i - 1, #text
  while i <= size do
    local length = sequence_length(text, i)
    local width = length == 4 and 2 or 1
    if units + width > character then
      break
    end
    units = units + width
    i = i + (length == 0 and 1 or length)
  end
  return i - 1
end

---Length of a line in UTF-16 units.
---@param text string one line, without its end-of-line
---@return integer
function M.length(text)
  return M.utf16(text, #text)
end

---Byte column after the character at `col` and its combining marks; `#text` at or past the end.
---@param text string one line, without its end-of-line
---@param col integer 0-based byte column of the character's first byte
---@return integer col 0-based, exclusive
function M.after(text, col)
  local size = #text
  if col >= size then
    return size
  end
  local following = byte(text, col + 2)
  if byte(text, col + 1) < 0x80 and (not following or following < 0x80) then
    return col + 1
  end
  -- byteidx() agrees with the cursor, whose notion of a character differs between versions for emoji.
  local piece = text:sub(col + 1, col + MAX_GRAPHEME_BYTES)
  local width = vim.fn.byteidx(piece, 1)
  return col + (width > 0 and width or #piece)
end

---The beginning of a text within `max_bytes`, cut between characters.
---@param text string
---@param max_bytes integer
---@return string
function M.truncate(text, max_bytes)
  if #text <= max_bytes then
    return text
  end
  for start = max_bytes, math.max(max_bytes - 2, 1), -1 do
    local length = sequence_length(text, start)
    if length > 0 then
      local stop = start + length - 1 > max_bytes and start - 1 or max_bytes
      return text:sub(1, stop)
    end
  end
  return text:sub(1, max_bytes)
end

---The text with U+FFFD for each invalid byte, for JSON.
---@param text string
---@return string
function M.valid(text)
  if well_formed:match(text) > #text then
    return text
  end
  return replaced:match(text)
end

return M
