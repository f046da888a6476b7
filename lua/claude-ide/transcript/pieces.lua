-- Splits a text into pieces that are highlighted separately: fenced code, and prose at empty lines. Incremental, so that a growing
-- text is split from its last line on. Pure.

local lazy = require("claude-ide.lazy")
local drawn = lazy("claude-ide.transcript.drawn")

---An open code block.
---@class claude-ide.transcript.Fence
---@field mark string that opened it
---@field language string

---@param open? claude-ide.transcript.Fence before the line
---@param line string
---@return claude-ide.transcript.Fence? open after it
---@return boolean is_mark the line opens or closes a block
local function fence_after(open, line)
  local mark, info = line:match("^%s*(```+)%s*([^`]*)$")
  if not mark then
    mark, info = line:match("^%s*(~~~+)%s*(.*)$")
  end
  if not mark then
    return open, false
  elseif not open then
    return { mark = mark, language = ((info or ""):match("^[%w_+#-]+") or ""):lower() }, true
  elseif info == "" and #mark >= #open.mark and mark:sub(1, 1) == open.mark:sub(1, 1) then
    return nil, true
  end
  return open, false
end

---@class claude-ide.transcript.Piece
---@field row integer first row, within the text
---@field lines string[]
---@field language string
---@field fence? boolean a line that opens or closes code
---@field code? boolean inside a fence
---@field table? claude-ide.transcript.Table that its rows belong to
---@field table_row? integer its first row in the table, from 1

---@class claude-ide.transcript.Pieces
---@field list claude-ide.transcript.Piece[]
---@field rows integer number of lines
---@field bytes integer their size
---@field private language string "markdown", "prompt", or a code language
---@field private open? claude-ide.transcript.Piece that the next line may extend
---@field private open_bytes integer
---@field private fence? claude-ide.transcript.Fence open code block
---@field private table? claude-ide.transcript.Table that the next line may extend
local Pieces = {}
Pieces.__index = Pieces

---Bytes per piece: they parse in a millisecond, or a few where the parser must backtrack (an unclosed `**`).
local PIECE = 300
---Larger texts stay plain.
Pieces.MAX_TEXT = 64 * 1024

---@param language string
---@param fence? claude-ide.transcript.Fence code block that it starts in
---@return claude-ide.transcript.Pieces
function Pieces.new(language, fence)
  return setmetatable({
    list = {},
    rows = 0,
    bytes = 0,
    language = language,
    open_bytes = 0,
    fence = fence,
  }, Pieces)
end

---@private
---@param line string
---@param language string
---@param at_gap boolean end pieces at empty lines
---@param of? claude-ide.transcript.Table
function Pieces:put(line, language, at_gap, of)
  local bytes = self.open_bytes
  if
    not self.open
    or self.open.table ~= of
    or (bytes > PIECE and (not at_gap or line == "" or bytes > 4 * PIECE))
  then
    self.open = { row = self.rows, lines = {}, language = language, table = of, table_row = of and of.rows }
    self.open.code = self.fence ~= nil or nil
    bytes = 0
    self.list[#self.list + 1] = self.open
  end
  self.open.lines[#self.open.lines + 1] = line
  self.open_bytes = bytes + #line + 1
end

---@private
---@param line string
function Pieces:put_fence(line)
  self.list[#self.list + 1] = { row = self.rows, lines = { line }, language = "", fence = true }
  self.open = nil
end

---@private
---@param line string
function Pieces:put_row(line)
  self.table = self.table or drawn.new_table(#self.list + 1)
  drawn.add_row(self.table, line)
  self:put(line, "markdown", false, self.table)
end

---A prompt is plain text except for fences: it is shown as typed.
---@private
---@param line string
function Pieces:put_prose(line)
  local is_mark
  self.fence, is_mark = fence_after(self.fence, line)
  local is_row = not is_mark and not self.fence and self.language == "markdown" and drawn.is_row(line)
  if is_row then
    return self:put_row(line)
  end
  self.table = nil
  if is_mark then
    self:put_fence(line)
  elseif self.fence then
    self:put(line, self.fence.language, false)
  elseif self.language == "markdown" then
    self:put(line, "markdown", true)
  end
end

---@param line string
function Pieces:add(line)
  if self.language == "markdown" or self.language == "prompt" then
    self:put_prose(line)
  else
    self:put(line, self.language, false)
  end
  self.rows, self.bytes = self.rows + 1, self.bytes + #line + 1
end

---@class claude-ide.transcript.PiecesMark state before a line
---@field rows integer
---@field package bytes integer
---@field package count integer
---@field package open? claude-ide.transcript.Piece
---@field package open_lines integer
---@field package open_bytes integer
---@field package fence? claude-ide.transcript.Fence
---@field package table? claude-ide.transcript.Table
---@field package table_rows integer

---@return claude-ide.transcript.PiecesMark
function Pieces:mark()
  return {
    rows = self.rows,
    bytes = self.bytes,
    count = #self.list,
    open = self.open,
    open_lines = self.open and #self.open.lines or 0,
    open_bytes = self.open_bytes,
    fence = self.fence,
    table = self.table,
    table_rows = self.table and self.table.rows or 0,
  }
end

---Removes the lines added since a mark.
---@param mark claude-ide.transcript.PiecesMark
---@return integer pieces number of pieces that no longer change
function Pieces:rewind(mark)
  for at = #self.list, mark.count + 1, -1 do
    self.list[at] = nil
  end
  local open = mark.open
  for at = open and #open.lines or 0, mark.open_lines + 1, -1 do
    ---@cast open -nil
    open.lines[at] = nil
  end
  self.rows, self.bytes = mark.rows, mark.bytes
  self.open, self.open_bytes = mark.open, mark.open_bytes
  self.fence, self.table = mark.fence, mark.table
  if self.table then
    self.table.rows = mark.table_rows -- widths only grow
  end
  return mark.open and mark.count - 1 or mark.count
end

---The first piece to draw again: a table whose columns widened.
---@return integer? piece from 1
function Pieces:outdated()
  local of = self.table
  return of and of.drawn and of.drawn ~= of.version and of.first or nil
end

---The pieces of a whole text; none if it is too large.
---@param lines string[]
---@param language string "markdown", "prompt", or a code language
---@param fence? claude-ide.transcript.Fence code block that it starts in
---@return claude-ide.transcript.Piece[]
function Pieces.of(lines, language, fence)
  local pieces = Pieces.new(language, fence)
  for _, line in ipairs(lines) do
    pieces:add(line)
  end
  return pieces.bytes <= Pieces.MAX_TEXT and pieces.list or {}
end

return Pieces
