-- Converts Vim's selections into ranges and texts of the protocol.
-- Reads no more of the buffer than the text needs, however large the selection is.
local M = {}

local position = require("claude-ide.base.position")

local api, fn = vim.api, vim.fn

local BLOCK = "\22"
local TAB = 9

---Past the end of any line.
local MAXCOL = vim.v.maxcol --[[@as integer]]

---Work limit of a block's text: lines, runs of letters, wide characters. Each takes up to 1 µs.
local BLOCK_STEPS = 8000

---A selection as Vim has it. The corners are in any order.
---@class claude-ide.selection.Region
---@field kind string "v" charwise, "V" linewise, "\22" blockwise, "" only a cursor (the first corner)
---@field lnum1 integer 1-based
---@field col1 integer 1-based byte column; may be past the end of the line
---@field off1 integer cells past the column, with 'virtualedit'
---@field lnum2 integer
---@field col2 integer
---@field off2 integer
---@field dollar boolean blockwise to the end of each line
---@field inclusion "inclusive"|"exclusive"|"old" 'selection' at that time
---@field virtual boolean 'virtualedit' allowed positions without text

---@class claude-ide.selection.Position
---@field line integer 0-based
---@field character integer 0-based, in UTF-16 units

---@class claude-ide.selection.Range
---@field start claude-ide.selection.Position
---@field end claude-ide.selection.Position exclusive
---@field isEmpty boolean

---@param row integer 0-based
local function line(buf, row)
  return api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
end

---Bytes past a column that decide what is at the column: a character with its combining marks.
local MARGIN = 512

---A line from one column past another, or to its end: a line can have megabytes, and the cursor moves often.
---@param row integer 0-based
---@param from integer 0-based
---@param col integer 0-based
---@return string
local function text_from(buf, row, from, col)
  local length = api.nvim_buf_get_offset(buf, row + 1) - api.nvim_buf_get_offset(buf, row) - 1
  local stop = math.max(col, 0) + MARGIN
  if stop < length then
    return api.nvim_buf_get_text(buf, row, from, row, stop, {})[1]
  end
  return line(buf, row):sub(from + 1)
end

---The last cursor that was converted, at the start of a character.
local counted = { buf = 0, row = 0, tick = 0, col = 0, character = 0 }

---Whether a character starts with a byte: one that goes on does not.
local function starts(text, col)
  local byte = text:byte(col + 1) or 0
  return byte < 0x80 or byte > 0xBF
end

---The UTF-16 column of a cursor, counted from the last one in the same line if that is nearer than the line's start.
---@param row integer 0-based
---@param col integer 0-based
---@return integer
local function cursor_character(buf, row, col)
  local tick = api.nvim_buf_get_changedtick(buf)
  local is_same = counted.buf == buf and counted.row == row and counted.tick == tick
  local character, is_start
  if is_same and math.abs(col - counted.col) < col then
    local from = math.min(col, counted.col)
    local text = text_from(buf, row, from, math.max(col, counted.col))
    is_start = starts(text, col - from)
    if col >= counted.col then
      character = counted.character + position.utf16(text, col - from)
    elseif is_start then
      character = counted.character - position.utf16(text, counted.col - from)
    end
  end
  if not character then
    local text = text_from(buf, row, 0, col)
    character, is_start = position.utf16(text, col), starts(text, col)
  end
  if is_start then
    counted = { buf = buf, row = row, tick = tick, col = col, character = character }
  end
  return character
end

---Neovim represents a NUL in a line as a line feed.
local function with_nul(content)
  return content:find("\n", 1, true) and (content:gsub("\n", "\0")) or content
end

---@param row integer 0-based
---@return claude-ide.selection.Position
local function at(row, character)
  return { line = row, character = character }
end

---The end of a row that is selected to its end. Readers do not count the line of an end at character 0, so the end of an empty line is
---the start of the next one.
---@param row integer 0-based
---@return claude-ide.selection.Position
local function row_end(buf, row)
  local length = position.length(line(buf, row))
  if length == 0 and row + 1 < api.nvim_buf_line_count(buf) then
    return at(row + 1, 0)
  end
  return at(row, length)
end

---The last row within `max_bytes` bytes from row `first`, at most `last`.
---@param first integer 0-based
---@param last integer 0-based, inclusive
---@return integer row 0-based
local function row_reached(buf, first, last, max_bytes)
  local base = api.nvim_buf_get_offset(buf, first)
  local function reached(row)
    return api.nvim_buf_get_offset(buf, row + 1) - base >= max_bytes
  end
  if not reached(last) then
    return last
  end
  local low, high = first, last
  while low < high do
    local middle = math.floor((low + high) / 2)
    if reached(middle) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

---Text of a byte range: all of it, or a beginning that is longer than `max_bytes`.
---@param row integer 0-based
---@param col integer 0-based
---@param last_row integer 0-based, inclusive
---@param last_col integer 0-based, exclusive; clamped to its line
local function text_between(buf, row, col, last_row, last_col, max_bytes)
  local most = max_bytes + 4 -- one character more, so that the cut is at a character boundary
  local stop_row = row_reached(buf, row, last_row, col + most)
  local from = stop_row == row and col or 0
  local stop_line = text_from(buf, stop_row, 0, from + most)
  local stop_col = math.min(stop_row == last_row and last_col or MAXCOL, from + most, #stop_line)
  local lines = api.nvim_buf_get_text(buf, row, col, stop_row, math.max(stop_col, from), {})
  for i, content in ipairs(lines) do
    lines[i] = with_nul(content)
  end
  return table.concat(lines, "\n")
end

---The corners as 0-based rows and columns, in order.
---@param region claude-ide.selection.Region
---@return integer row, integer col, integer off, integer last_row, integer last_col, integer last_off
local function ordered(region)
  local row1, col1, off1 = region.lnum1 - 1, region.col1 - 1, region.off1
  local row2, col2, off2 = region.lnum2 - 1, region.col2 - 1, region.off2
  local backwards = row1 > row2 or (row1 == row2 and (col1 > col2 or (col1 == col2 and off1 > off2)))
  if backwards then
    return row2, col2, off2, row1, col1, off1
  end
  return row1, col1, off1, row2, col2, off2
end

---@param region claude-ide.selection.Region
---@return string text
---@return claude-ide.selection.Position start
---@return claude-ide.selection.Position stop
local function charwise(buf, region, max_bytes)
  local row, col, off, last_row, last_col, last_off = ordered(region)
  local first_line, last_line = text_from(buf, row, 0, col), text_from(buf, last_row, 0, last_col)
  local one_place = row == last_row and col == last_col and off == last_off
  local line_break = false
  col = math.min(col, #first_line)
  if region.inclusion == "exclusive" and not one_place then
    last_col = math.min(last_col, #last_line)
  elseif last_col >= #last_line then
    -- The cursor is on the end of the line, which is selected too.
    line_break = not region.virtual and region.inclusion ~= "old"
    last_col = #last_line
  else
    last_col = position.after(last_line, last_col)
  end
  local start = at(row, position.utf16(first_line, col))
  local text = text_between(buf, row, col, last_row, last_col, max_bytes)
  if line_break and last_row + 1 < api.nvim_buf_line_count(buf) then
    return text .. "\n", start, at(last_row + 1, 0)
  end
  return text, start, at(last_row, position.utf16(last_line, last_col))
end

---@param region claude-ide.selection.Region
---@return string text
---@return claude-ide.selection.Position start
---@return claude-ide.selection.Position stop
local function linewise(buf, region, max_bytes)
  local row, _, _, last_row = ordered(region)
  local text, stop = text_between(buf, row, 0, last_row, MAXCOL, max_bytes), row_end(buf, last_row)
  return stop.line > last_row and text .. "\n" or text, at(row, 0), stop
end

---Width of a character at a given cell.
---@param character string
---@param cell integer 0-based
---@return integer
local function cells(character, cell)
  local byte = character:byte()
  if #character == 1 and byte >= 32 and byte < 127 then
    return 1
  end
  return fn.strdisplaywidth(character, cell)
end

---First and last cell of a corner of a block, 0-based. Past the end of the line a column is one cell; with 'virtualedit' so is each cell of
---a tab.
---@param col integer 0-based
---@return integer first, integer last
local function cells_at(text, col, off, virtual)
  local first = fn.strdisplaywidth(text:sub(1, col))
  local width = 1
  if col < #text and not (virtual and text:byte(col + 1) == TAB) then
    width = cells(text:sub(col + 1, position.after(text, col)), first)
  end
  if off >= width then
    return first + off, first + off
  end
  return first, first + width - 1
end

---The next piece of a line to process as one: a run of plain letters, without the last if something may combine with it, or one
---character.
---@param text string
---@param col integer 0-based
---@param cell integer 0-based start cell
---@return integer next_col, integer next_cell, boolean plain each byte is a cell
local function piece_at(text, col, cell)
  local special = text:find("[^\32-\126]", col + 1) or #text + 2
  local plain = special - 2 - col
  if plain > 0 then
    return col + plain, cell + plain, true
  end
  local next_col = position.after(text, col)
  return next_col, cell + cells(text:sub(col + 1, next_col), cell), false
end

---The part of a line between two cells, as Vim yanks it: partial wide characters and tabs become spaces. Unlike Vim, short lines
---are not padded.
---@param left integer 0-based cell
---@param right integer 0-based cell, inclusive; may be MAXCOL
---@return string part
---@return integer col 0-based byte column of the start
---@return integer stop_col 0-based byte column, exclusive
---@return integer steps amount of work
local function slice(text, left, right)
  local pieces, col, cell, steps = {}, 0, 0, 0
  local start_col, stop_col
  while col < #text and cell <= right do
    local next_col, next_cell, plain = piece_at(text, col, cell)
    steps = steps + 1
    if next_cell > left then
      local from, to = math.max(cell, left), math.min(next_cell - 1, right)
      local first, last = col, next_col
      if plain then
        first, last = col + from - cell, col + to - cell + 1
      end
      local whole = plain or (from == cell and to == next_cell - 1)
      pieces[#pieces + 1] = whole and text:sub(first + 1, last) or (" "):rep(to - from + 1)
      start_col, stop_col = start_col or first, last
    end
    col, cell = next_col, next_cell
  end
  return table.concat(pieces), start_col or #text, stop_col or #text, steps
end

---Lines of a block, within the limits of bytes and work.
---@param row integer 0-based
---@param last_row integer 0-based, inclusive
---@param left integer 0-based cell
---@param right integer 0-based cell, inclusive; may be MAXCOL
local function block_text(buf, row, last_row, left, right, max_bytes)
  local parts, size, steps = {}, 0, 0
  while row <= last_row and size <= max_bytes and steps <= BLOCK_STEPS do
    local part, _, _, taken = slice(with_nul(line(buf, row)), left, right)
    parts[#parts + 1] = part
    size, steps, row = size + #part + 1, steps + taken + 1, row + 1
  end
  return table.concat(parts, "\n")
end

---@param region claude-ide.selection.Region
---@return string text
---@return claude-ide.selection.Position start
---@return claude-ide.selection.Position stop
local function blockwise(buf, region, max_bytes)
  local row, col, off, last_row, last_col, last_off = ordered(region)
  local first_line, last_line = line(buf, row), line(buf, last_row)
  local first1, last1 = cells_at(first_line, col, off, region.virtual)
  local first2, last2 = cells_at(last_line, last_col, last_off, region.virtual)
  local left, right = math.min(first1, first2), last1
  if last2 > right then
    right = region.inclusion == "exclusive" and first2 > last1 and first2 - 1 or last2
  end
  if region.dollar then
    right = MAXCOL
  end
  local _, start_col = slice(first_line, left, right)
  local _, _, stop_col = slice(last_line, left, right)
  local stop = at(last_row, position.utf16(last_line, stop_col))
  if stop.character == 0 then
    stop = row_end(buf, last_row)
  end
  local text = block_text(buf, row, last_row, left, right, max_bytes)
  return text, at(row, position.utf16(first_line, start_col)), stop
end

---`blockwise` from any buffer: tabs have the current buffer's width.
---@param region claude-ide.selection.Region
---@return string text
---@return claude-ide.selection.Position start
---@return claude-ide.selection.Position stop
local function blockwise_anywhere(buf, region, max_bytes)
  if api.nvim_get_current_buf() == buf then
    return blockwise(buf, region, max_bytes)
  end
  local read ---@type [string, claude-ide.selection.Position, claude-ide.selection.Position]
  api.nvim_buf_call(buf, function()
    read = { blockwise(buf, region, max_bytes) }
  end)
  return read[1], read[2], read[3]
end

local READERS = { v = charwise, V = linewise, [BLOCK] = blockwise_anywhere }

---Reads a region of a loaded buffer.
---@param buf integer
---@param region claude-ide.selection.Region
---@param max_bytes integer limit of the text; the range is never cut
---@return string text
---@return claude-ide.selection.Range range
function M.read(buf, region, max_bytes)
  if region.kind == "" then
    local row, col = region.lnum1 - 1, region.col1 - 1
    local here = at(row, cursor_character(buf, row, col))
    return "", { start = here, ["end"] = here, isEmpty = true }
  end
  local read = READERS[region.kind] --[[@as function]]
  local text, start, stop = read(buf, region, max_bytes)
  text = position.truncate(position.valid(text), max_bytes)
  local empty = start.line == stop.line and start.character == stop.character
  return text, { start = start, ["end"] = stop, isEmpty = empty }
end

return M
