-- The TextEdits of a language server applied to a text. Pure: lines in, lines out.
-- Invariant: all of a list is applied or none of it, and what no edit touches stays byte for byte.
-- LSP 3.17, "Text Documents", "Position", "TextEdit[]".
local M = {}

---So many edits are worked on before others may have their turn.
local PAUSE_AFTER = 200
local LINES_AT_ONCE = 2000

---A text as it lies in a file or a buffer.
---@class claude-ide.changeset.Text
---@field lines string[]
---@field format claude-ide.bytes.Format

---@alias claude-ide.changeset.Encoding "utf-8"|"utf-16"|"utf-32"

---@class claude-ide.changeset.Span one edit in bytes of the text
---@field first integer 0-based offset
---@field last integer exclusive
---@field text string
---@field order integer of the list
---@field line integer 0-based; for messages

---Byte column of a column that counts characters.
---@param line string
---@param character integer
---@return integer
local function byte_of_characters(line, character)
  if not line:find("[\128-\255]") then
    return math.min(character, #line)
  end
  local position, at = require("claude-ide.position"), 0
  -- A character outside of the first plane is two units of UTF-16 and one here.
  for _ = 1, character do
    if at >= #line then
      break
    end
    local units = position.utf16(line, at)
    local width = position.byte(line, units + 1)
    at = width > at and width or position.byte(line, units + 2)
  end
  return at
end

---Byte column within a line. One past its end is its end, as the protocol has it.
---@param line string
---@param character integer
---@param encoding claude-ide.changeset.Encoding
---@return integer
local function byte_column(line, character, encoding)
  if encoding == "utf-32" then
    return byte_of_characters(line, character)
  elseif encoding ~= "utf-8" then
    return require("claude-ide.position").byte(line, character)
  end
  local at = math.min(character, #line)
  -- Never within a character: back to where it begins.
  while at > 0 and at < #line and (line:byte(at + 1) or 0) >= 0x80 and line:byte(at + 1) < 0xC0 do
    at = at - 1
  end
  return at
end

---@param value any
---@return boolean
local function is_count(value)
  return type(value) == "number" and value >= 0 and value % 1 == 0
end

---@param position any
---@return boolean
local function is_position(position)
  return type(position) == "table" and is_count(position.line) and is_count(position.character)
end

---@class claude-ide.changeset.Joined
---@field text string with "\n" at the end of each line
---@field starts integer[] 0-based offset of each line; one more for the end, where the last line has an end
---@field lines string[]

---@param text claude-ide.changeset.Text
---@param pause fun()
---@return claude-ide.changeset.Joined
local function join(text, pause)
  local lines, final = text.lines, text.format.final
  if text.format.empty then
    lines, final = {}, false
  end
  local starts, at = {}, 0
  for i, line in ipairs(lines) do
    starts[i] = at
    at = at + #line + 1
  end
  pause()
  if #lines == 0 or final then
    starts[#starts + 1] = at
  end
  return { text = table.concat(lines, "\n") .. (final and "\n" or ""), starts = starts, lines = lines }
end

---@param joined claude-ide.changeset.Joined
---@param position { line: integer, character: integer }
---@param encoding claude-ide.changeset.Encoding
---@return integer? offset nil: there is no such line
local function offset(joined, position, encoding)
  local start = joined.starts[position.line + 1]
  if not start then
    return nil
  end
  return start + byte_column(joined.lines[position.line + 1] or "", position.character, encoding)
end

---@param joined claude-ide.changeset.Joined
---@param edit lsp.TextEdit
---@param encoding claude-ide.changeset.Encoding
---@param order integer
---@return claude-ide.changeset.Span?
---@return string? err
local function span_of(joined, edit, encoding, order)
  local range = type(edit) == "table" and edit.range or nil
  if type(range) ~= "table" or not is_position(range.start) or not is_position(range["end"]) then
    return nil, "has an edit without a range"
  elseif type(edit.newText) ~= "string" then
    return nil, "has an edit without a text"
  end
  local first, last = offset(joined, range.start, encoding), offset(joined, range["end"], encoding)
  local is_whole = range.start.line == 0 and range.start.character == 0
  if not last and is_whole then
    last = #joined.text -- how formatters say "all of it"
  end
  if not first or not last or last < first then
    return nil, ("has an edit at line %d, where the file has no such place"):format(range.start.line + 1)
  end
  local text = edit.newText
  if text:find("\r", 1, true) then
    text = text:gsub("\r\n?", "\n")
  end
  return { first = first, last = last, text = text, order = order, line = range.start.line }
end

---@param left claude-ide.changeset.Span
---@param right claude-ide.changeset.Span
---@return boolean
local function before(left, right)
  if left.first ~= right.first then
    return left.first < right.first
  end
  local left_inserts, right_inserts = left.first == left.last, right.first == right.last
  if left_inserts ~= right_inserts then
    return left_inserts -- what is put there comes before what is taken away
  end
  return left.order < right.order
end

---@param text string
---@param pause fun()
---@return string[]
local function lines_of(text, pause)
  local lines, from = {}, 1
  while true do
    local at = text:find("\n", from, true)
    lines[#lines + 1] = text:sub(from, at and at - 1)
    if not at then
      return lines
    end
    from = at + 1
    if #lines % LINES_AT_ONCE == 0 then
      pause()
    end
  end
end

---@param text string
---@param old claude-ide.bytes.Format
---@param pause fun()
---@return claude-ide.changeset.Text
local function split(text, old, pause)
  local final = text:sub(-1) == "\n"
  local lines = lines_of(final and text:sub(1, -2) or text, pause)
  return { lines = lines, format = { bom = old.bom, eol = old.eol, final = final, empty = text == "" } }
end

---@param spans claude-ide.changeset.Span[]
local function sort(spans)
  for i = 2, #spans do
    if before(spans[i], spans[i - 1]) then
      return table.sort(spans, before)
    end
  end
end

---@param text claude-ide.changeset.Text
---@param edits lsp.TextEdit[]
---@param encoding claude-ide.changeset.Encoding
---@param pause? fun() called now and then: others may have their turn
---@return claude-ide.changeset.Text? after
---@return string? err as in "a.lua …"
function M.apply(text, edits, encoding, pause)
  pause = pause or function() end
  local joined, spans = join(text, pause), {} ---@type claude-ide.changeset.Joined, claude-ide.changeset.Span[]
  pause()
  for i, edit in ipairs(edits) do
    if i % PAUSE_AFTER == 0 then
      pause()
    end
    local span, err = span_of(joined, edit, encoding, i)
    if not span then
      return nil, err
    end
    spans[i] = span
  end
  pause()
  sort(spans)
  pause()
  local pieces, at = {}, 0
  local last ---@type claude-ide.changeset.Span?
  for i, span in ipairs(spans) do
    if i % PAUSE_AFTER == 0 then
      pause()
    end
    local is_again = last ~= nil
      and last.last > last.first
      and last.first == span.first
      and last.last == span.last
      and last.text == span.text
    if not is_again then -- some servers name a place twice
      if span.first < at then
        return nil, ("has edits that overlap at line %d"):format(span.line + 1)
      end
      pieces[#pieces + 1] = joined.text:sub(at + 1, span.first)
      pieces[#pieces + 1] = span.text
      at, last = span.last, span
    end
  end
  pieces[#pieces + 1] = joined.text:sub(at + 1)
  pause()
  return split(table.concat(pieces), text.format, pause)
end

---@param left claude-ide.changeset.Text
---@param right claude-ide.changeset.Text
---@return boolean
function M.same(left, right)
  local encode = require("claude-ide.buffer.bytes").encode
  return left == right or encode(left.lines, left.format) == encode(right.lines, right.format)
end

return M
