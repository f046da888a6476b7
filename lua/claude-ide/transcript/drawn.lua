-- Display of Markdown: headings without marks, code blocks, aligned tables. All of it is virtual; the text stays Markdown. Pure,
-- except for character widths.

local M = {}

---A mark in a piece.
---@class claude-ide.transcript.DrawnMark
---@field row integer within the piece
---@field col integer byte
---@field end_col? integer byte
---@field line? boolean the whole line, to the window's edge
---@field conceal? string replacement
---@field group? string
---@field insert? integer blanks before `col`
---@field over? string overlay from `col` on

---@class claude-ide.transcript.Cell
---@field from integer byte of the blanks before the text, 0-based
---@field text_from integer
---@field text_to integer exclusive
---@field to integer byte of the next pipe, or the line's end
---@field width integer of the text

---@class claude-ide.transcript.Table
---@field first integer first piece, from 1
---@field rows integer
---@field widths integer[] of its columns
---@field sides? string[] "left", "right" or "center"; nil: no delimiter row, thus no table
---@field version integer incremented when a column widens
---@field drawn? integer version on display

---@param line string
---@return claude-ide.transcript.Cell[]
local function cells_of(line)
  local pipes, at = {}, line:find("|", 1, true) ---@type integer[], integer?
  while at do
    if #line:sub(math.max(at - 8, 1), at - 1):match("\\*$") % 2 == 0 then
      pipes[#pipes + 1] = at
    end
    at = line:find("|", at + 1, true)
  end
  local cells = {} ---@type claude-ide.transcript.Cell[]
  for number, pipe in ipairs(pipes) do
    local to = (pipes[number + 1] or #line + 1) - 1
    local inner = line:sub(pipe + 1, to)
    local blanks = #inner:match("^ *")
    local text = inner:sub(blanks + 1):gsub(" +$", "")
    if pipes[number + 1] or text ~= "" then
      cells[#cells + 1] = {
        from = pipe,
        text_from = pipe + blanks,
        text_to = pipe + blanks + #text,
        to = to,
        width = vim.api.nvim_strwidth(text),
      }
    end
  end
  return cells
end

---@param line string
---@return string[]? sides nil: not a delimiter row
local function sides_of(line)
  if not line:find("^%s*|[%s|:%-]+$") or not line:find("-", 1, true) then
    return nil
  end
  local sides = {}
  for number, cell in ipairs(cells_of(line)) do
    local left, right = line:sub(cell.text_from + 1, cell.text_to):match("^(:?)%-+(:?)$")
    if not left then
      return nil
    end
    sides[number] = right == ":" and (left == ":" and "center" or "right") or "left"
  end
  return sides
end

---@param line string
---@return boolean
function M.is_row(line)
  return line:find("^%s*|") ~= nil
end

---@param first integer first piece
---@return claude-ide.transcript.Table
function M.new_table(first)
  return { first = first, rows = 0, widths = {}, version = 0 }
end

---Adds a table's next row.
---@param of claude-ide.transcript.Table
---@param line string
function M.add_row(of, line)
  of.rows = of.rows + 1
  if of.rows == 2 then
    of.sides = sides_of(line)
    if of.sides then
      of.version = of.version + 1
      return
    end
  end
  for number, cell in ipairs(cells_of(line)) do
    if cell.width > (of.widths[number] or 3) then
      of.widths[number], of.version = cell.width, of.version + 1
    end
    of.widths[number] = of.widths[number] or 3
  end
end

---@param of claude-ide.transcript.Table
---@param left string
---@param middle string
---@param right string
---@return string
local function rule(of, left, middle, right)
  local parts = {}
  for number, width in ipairs(of.widths) do
    parts[number] = ("─"):rep(width + 2)
  end
  return left .. table.concat(parts, middle) .. right
end

---@param marks claude-ide.transcript.DrawnMark[]
---@param row integer
---@param from integer byte of the blanks
---@param to integer exclusive
---@param wanted integer blanks
local function space(marks, row, from, to, wanted)
  local there = to - from
  if there < wanted then
    marks[#marks + 1] = { row = row, col = to, insert = wanted - there }
  elseif there > wanted then
    marks[#marks + 1] = { row = row, col = from, end_col = to - wanted, conceal = "" }
  end
end

---@param marks claude-ide.transcript.DrawnMark[]
---@param row integer
---@param line string
---@param of claude-ide.transcript.Table
local function add_row_marks(marks, row, line, of)
  local group = "ClaudeTranscriptTable"
  local function pipe(col)
    marks[#marks + 1] = { row = row, col = col, end_col = col + 1, conceal = "│", group = group }
  end
  for number, cell in ipairs(cells_of(line)) do
    pipe(cell.from - 1)
    local left = (of.widths[number] or cell.width) - cell.width
    local side = of.sides and of.sides[number] or "left"
    local before = side == "right" and left or side == "center" and math.floor(left / 2) or 0
    if cell.width == 0 then
      space(marks, row, cell.from, cell.to, left + 2)
    else
      space(marks, row, cell.from, cell.text_from, 1 + before)
      space(marks, row, cell.text_to, cell.to, 1 + left - before)
    end
    if cell.to < #line and number == #of.widths then
      pipe(cell.to)
    end
  end
end

---@param marks claude-ide.transcript.DrawnMark[]
---@param piece claude-ide.transcript.Piece
---@param columns number cells of the window
local function add_table(marks, piece, columns)
  local of = piece.table --[[@as claude-ide.transcript.Table]]
  of.drawn = of.version
  local indent = #piece.lines[1]:match("^%s*")
  local width = indent + vim.api.nvim_strwidth(rule(of, "|", "|", "|"))
  if not of.sides or width > columns then
    return -- wrapped lines would be harder to read than the plain text
  end
  for at, line in ipairs(piece.lines) do
    if (piece.table_row or 1) + at - 1 == 2 then
      local over = rule(of, "├", "┼", "┤")
      local longer = vim.api.nvim_strwidth(line) - indent - vim.api.nvim_strwidth(over)
      over = over .. (" "):rep(longer)
      marks[#marks + 1] = { row = at - 1, col = indent, over = over, group = "ClaudeTranscriptTable" }
    else
      add_row_marks(marks, at - 1, line, of)
    end
  end
end

---Marks of a piece.
---@param piece claude-ide.transcript.Piece
---@param columns number cells of the window
---@return claude-ide.transcript.DrawnMark[]
function M.marks(piece, columns)
  local marks = {} ---@type claude-ide.transcript.DrawnMark[]
  if piece.fence or piece.code then
    for at, line in ipairs(piece.lines) do
      marks[at] = { row = at - 1, col = 0, line = true, group = "ClaudeTranscriptCodeBlock" }
      local indent, sign = line:match("^(%s*)([`~]+)")
      if piece.fence and indent then
        marks[#marks + 1] = { row = at - 1, col = #indent, end_col = #indent + #sign, conceal = "" }
      end
    end
  elseif piece.table then
    add_table(marks, piece, columns)
  elseif piece.language == "markdown" then
    for at, line in ipairs(piece.lines) do
      local sign = line:match("^#+%s+")
      if sign and #line:match("^#+") <= 6 and line:find("%S", #sign + 1) then
        marks[#marks + 1] = { row = at - 1, col = 0, end_col = #sign, conceal = "" }
      end
    end
  end
  return marks
end

return M
