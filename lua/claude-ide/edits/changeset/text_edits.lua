-- Applies a language server's TextEdits to a text. Pure: lines in, lines out.
-- Invariants: all edits of a list are applied, or none; text outside of the edits stays the same byte for byte.
-- LSP 3.17, "Text Documents", "Position", "TextEdit[]".
local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local language_encoding = lazy("claude-ide.language.encoding")
local line_breaks = lazy("claude-ide.base.line_breaks")

local M = {}

---Edits or lines handled before the event loop gets a turn.
local PAUSE_AFTER = 200
local LINES_AT_ONCE = 2000

---The text of a file or a buffer.
---@class claude-ide.changeset.Text
---@field lines string[]
---@field format claude-ide.bytes.Format

---@alias claude-ide.changeset.Encoding "utf-8"|"utf-16"|"utf-32"

---@class claude-ide.changeset.Span one edit in bytes of the text
---@field first integer 0-based offset
---@field last integer exclusive
---@field text string
---@field order integer index in the list
---@field line integer 0-based; for messages

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
---@field differ boolean servers count its lines differently

---@param text claude-ide.changeset.Text
---@return claude-ide.changeset.Joined
local function join(text)
  if text.format.empty then
    return { text = "", differ = false }
  end
  local joined = table.concat(text.lines, "\n") .. (text.format.final and "\n" or "")
  return { text = joined, differ = line_breaks.differ(joined) }
end

---@class claude-ide.changeset.Counted a text's lines as a server counts them
---@field size integer of the text
---@field starts integer[] 0-based offset of each line, and of the end if the last line ends with a line break
---@field lines string[]
---@field mark? string byte order mark of the file, which counts as a part of its first line

---@param text claude-ide.changeset.Text
---@param joined claude-ide.changeset.Joined
---@param kind claude-ide.LineBreaks
---@return claude-ide.changeset.Counted
local function counted(text, joined, kind)
  local lines = text.format.empty and {} or text.lines
  local starts, at, pieces = {}, 0, lines
  if joined.differ and kind ~= "lf" then
    pieces = {}
    for _, line in ipairs(lines) do
      for _, piece in ipairs(line_breaks.pieces(line, kind)) do
        starts[#starts + 1], pieces[#pieces + 1] = at + piece.at, piece.text
      end
      at = at + #line + 1
    end
  else
    for i, line in ipairs(lines) do
      starts[i] = at
      at = at + #line + 1
    end
  end
  if #lines == 0 or text.format.final then
    starts[#starts + 1] = at
  end
  return { size = #joined.text, starts = starts, lines = pieces }
end

---@param counting claude-ide.changeset.Counted
---@param position { line: integer, character: integer }
---@param encoding claude-ide.changeset.Encoding
---@return integer? offset nil: no such line
local function offset(counting, position, encoding)
  local start = counting.starts[position.line + 1]
  if not start then
    return nil
  end
  local mark = position.line == 0 and counting.mark or ""
  local line = mark .. (counting.lines[position.line + 1] or "")
  return math.max(start + language_encoding.byte(line, position.character, encoding) - #mark, 0)
end

---@param counting claude-ide.changeset.Counted
---@param edit lsp.TextEdit
---@param encoding claude-ide.changeset.Encoding
---@param order integer
---@return claude-ide.changeset.Span?
---@return string? err
local function span_of(counting, edit, encoding, order)
  local range = type(edit) == "table" and edit.range or nil
  if type(range) ~= "table" or not is_position(range.start) or not is_position(range["end"]) then
    return nil, "has an edit without a range"
  elseif type(edit.newText) ~= "string" then
    return nil, "has an edit without a text"
  end
  local first, last = offset(counting, range.start, encoding), offset(counting, range["end"], encoding)
  local is_whole = range.start.line == 0 and range.start.character == 0
  if not last and is_whole then
    last = counting.size -- formatters replace the whole text this way
  end
  if not first or not last or last < first then
    return nil, ("has an edit at line %d, where the file has no such place"):format(range.start.line + 1)
  end
  return { first = first, last = last, text = edit.newText, order = order, line = range.start.line }
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
    return left_inserts -- insertions before deletions at the same place
  end
  return left.order < right.order
end

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

---@param counting claude-ide.changeset.Counted
---@param edits lsp.TextEdit[]
---@param encoding claude-ide.changeset.Encoding
---@param pause fun()
---@return claude-ide.changeset.Span[]? spans in the order of the list
---@return string? err
local function spans_of(counting, edits, encoding, pause)
  local spans = {} ---@type claude-ide.changeset.Span[]
  for i, edit in ipairs(edits) do
    if i % PAUSE_AFTER == 0 then
      pause()
    end
    local span, err = span_of(counting, edit, encoding, i)
    if not span then
      return nil, err
    end
    spans[i] = span
  end
  return spans
end

---@param text string
---@return string letters and digits in lower case, so that `my-name` matches `MyName`
local function plain(text)
  local found = text:lower():gsub("[^%w\128-\255]", "")
  return found ~= "" and found or text
end

---Whether a rename replaces just the name on the first line.
---@param text string
---@param spans claude-ide.changeset.Span[]
---@param old_name string
---@return boolean
local function is_placed_at_start(text, spans, old_name)
  return vim.iter(spans):all(function(span)
    return span.line > 0 or text:sub(span.first + 1, span.last) == old_name
  end)
end

---The first edit of a rename that would replace anything but the name: the server has another version of the text, or counts lines
---differently. The replaced text may be the name, contain it (some servers replace the whole text), or be a part of it.
---@param text string
---@param spans claude-ide.changeset.Span[]
---@param old_name string
---@return claude-ide.changeset.Span?
local function misplaced(text, spans, old_name)
  local name = plain(old_name)
  for _, span in ipairs(spans) do
    local replaced = text:sub(span.first + 1, span.last)
    if replaced ~= old_name and not plain(replaced):find(name, 1, true) then
      local first, last = span.first, span.last
      while first > 0 and text:find("^[%w_\128-\255]", first) do
        first = first - 1
      end
      while text:find("^[%w_\128-\255]", last + 1) do
        last = last + 1
      end
      if plain(text:sub(first + 1, last)) ~= name then
        return span
      end
    end
  end
end

---@param left claude-ide.changeset.Span[]
---@param right claude-ide.changeset.Span[]
---@return boolean
local function are_same(left, right)
  for i, span in ipairs(left) do
    if span.first ~= right[i].first or span.last ~= right[i].last then
      return false
    end
  end
  return true
end

---Converts the edits to byte spans. If servers count the lines of this text differently, the right way must be known, or is the one in
---which a rename replaces its name.
---@param text claude-ide.changeset.Text
---@param joined claude-ide.changeset.Joined
---@param edits lsp.TextEdit[]
---@param asked claude-ide.changeset.Asked
---@param pause fun()
---@return claude-ide.changeset.Span[]?
---@return string? err
local function placed(text, joined, edits, asked, pause)
  local kinds, known = joined.differ and line_breaks.KINDS or { "lf" }, asked.breaks
  if joined.differ and known then
    kinds = asked.old_name and { known, unpack(kinds) } or { known }
  end
  local found, problem ---@type claude-ide.changeset.Span[]?, string?
  for _, kind in ipairs(kinds) do
    local counting = counted(text, joined, kind)
    local spans, err = spans_of(counting, edits, asked.encoding, pause)
    if
      spans
      and text.format.bom
      and asked.old_name
      and not is_placed_at_start(joined.text, spans, asked.old_name)
    then
      -- A server that has read the file itself may count its mark.
      counting.mark = bytes.BOM
      local others = spans_of(counting, edits, asked.encoding, pause)
      spans = others and is_placed_at_start(joined.text, others, asked.old_name) and others or spans
    end
    pause()
    local wrong = spans and asked.old_name and misplaced(joined.text, spans, asked.old_name)
    if wrong then
      err = ("would replace other text than `%s` at line %d"):format(asked.old_name, wrong.line + 1)
    elseif spans and asked.old_name then
      return spans
    elseif spans and found and not are_same(spans, found) then
      return nil,
        "cannot be placed: the file has a lone CR, U+2028 or U+2029, and servers do not count its lines alike"
    end
    problem = problem or err
    found = found or not wrong and spans or nil
  end
  return found, not found and problem or nil
end

---The origin of edits.
---@class claude-ide.changeset.Asked
---@field encoding claude-ide.changeset.Encoding
---@field breaks? claude-ide.LineBreaks which line breaks it counts
---@field old_name? string of a rename
---@field versions? table<string, integer> of its documents at the request, by path
---@field stamps? table<string, string> of the files that it edits, when it answered, by path

---@param text claude-ide.changeset.Text
---@param edits lsp.TextEdit[]
---@param asked claude-ide.changeset.Asked
---@param pause? fun() called now and then; may yield to the event loop
---@return claude-ide.changeset.Text? after
---@return string? err the predicate of a sentence whose subject is the file
function M.apply(text, edits, asked, pause)
  pause = pause or function() end
  local joined = join(text)
  pause()
  local spans, err = placed(text, joined, edits, asked, pause)
  if not spans then
    return nil, err
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
    if not is_again then -- some servers send an edit twice
      if span.first < at then
        return nil, ("has edits that overlap at line %d"):format(span.line + 1)
      end
      pieces[#pieces + 1] = joined.text:sub(at + 1, span.first)
      -- A lone CR is a line break, unless the text itself has lone CRs.
      pieces[#pieces + 1] = span.text:gsub(joined.differ and "\r\n" or "\r\n?", "\n")
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
  local encode = bytes.encode
  return left == right or encode(left.lines, left.format) == encode(right.lines, right.format)
end

return M
