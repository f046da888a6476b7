-- Renders removed lines as virtual lines, with syntax highlighting and changed words, cut or wrapped to the window's width.
local lazy = require("claude-ide.lazy")
local invisible_text = lazy("claude-ide.base.invisible_text")

local M = {}

---Size limit for syntax highlighting, which takes some ten milliseconds after the diff is displayed.
local MAX_SYNTAX_BYTES = 256 * 1024

---Maximum bytes of a rendered line, and of context before its first change.
local MAX_BYTES, LEAD_BYTES = 2000, 200

---@class claude-ide.diffview.Look display of the window
---@field width integer columns for text
---@field rows integer most rows of the removed lines of one change
---@field wrap boolean
---@field tabstop integer

---@class claude-ide.diffview.Colour of the bytes [from, to)
---@field from integer
---@field to integer
---@field group string

---@alias claude-ide.diffview.Chunk [string, string|string[]]

---@class claude-ide.diffview.Syntax
---@field query vim.treesitter.Query
---@field root TSNode
---@field language string

---@param buf integer
---@return claude-ide.diffview.Syntax? syntax nil: no parser, or too large
function M.syntax(buf)
  local bytes = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  local filetype = vim.bo[buf].filetype
  if filetype == "" or bytes > MAX_SYNTAX_BYTES then
    return nil
  end
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  local ok, parser = pcall(vim.treesitter.get_parser, buf, language)
  if not ok or not parser then
    return nil
  end
  local found, query = pcall(vim.treesitter.query.get, language, "highlights")
  local parsed, trees = pcall(parser.parse, parser)
  if not found or not query or not parsed or not trees or not trees[1] then
    return nil
  end
  return { query = query, root = trees[1]:root(), language = language }
end

---Highlights of lines.
---@param buf integer
---@param first integer 1-based
---@param count integer
---@param syntax claude-ide.diffview.Syntax
---@return table<integer, claude-ide.diffview.Colour[]> by line of `count`
function M.colours(buf, first, count, syntax)
  local query = syntax.query
  local found = {}
  for id, node in query:iter_captures(syntax.root, buf, first - 1, first - 1 + count) do
    local name = query.captures[id]
    if name:sub(1, 1) ~= "_" and name ~= "spell" and name ~= "nospell" and name ~= "conceal" then
      local start_row, start_col, end_row, end_col = node:range()
      for row = math.max(start_row, first - 1), math.min(end_row, first + count - 2) do
        local list = found[row - first + 2] or {}
        found[row - first + 2] = list
        list[#list + 1] = {
          from = row == start_row and start_col or 0,
          to = row == end_row and end_col or math.huge,
          group = "@" .. name .. "." .. syntax.language,
        }
      end
    end
  end
  return found
end

---@param line string
---@param spans claude-ide.diffview.Span[]
---@param colours? claude-ide.diffview.Colour[]
---@return claude-ide.diffview.Chunk[] chunks of the unmodified line
local function coloured(line, spans, colours)
  if #spans == 0 and not colours then
    return { { line, "ClaudeDiffRemovedLine" } }
  end
  -- A chunk starts wherever a span starts or ends.
  local cuts = { [0] = true, [#line] = true }
  local function cut(from, to)
    cuts[math.min(from, #line)], cuts[math.min(to, #line)] = true, true
  end
  for _, span in ipairs(spans) do
    cut(span[1], span[2])
  end
  for _, colour in ipairs(colours or {}) do
    cut(colour.from, colour.to)
  end
  local at = vim.tbl_keys(cuts)
  table.sort(at)
  local chunks = {}
  for i = 1, #at - 1 do
    local groups = { "ClaudeDiffRemovedLine" }
    for _, span in ipairs(spans) do
      if span[1] <= at[i] and at[i] < span[2] then
        groups[1] = "ClaudeDiffRemovedWord"
      end
    end
    for _, colour in ipairs(colours or {}) do
      if colour.from <= at[i] and at[i] < colour.to then
        groups[#groups + 1] = colour.group
      end
    end
    chunks[i] = { line:sub(at[i] + 1, at[i + 1]), groups }
  end
  return chunks
end

---Replaces tabs and control characters.
---@param text string
---@param column integer
---@param look claude-ide.diffview.Look
---@return string
---@return integer width
local function visible(text, column, look)
  if text == "\t" then
    local width = look.tabstop - column % look.tabstop
    return (" "):rep(width), width
  end
  text = vim.fn.strtrans(text .. invisible_text.names(text))
  return text, vim.api.nvim_strwidth(text)
end

---@param text string
---@return fun(): string? next characters with combining marks, or runs of plain ones
local function pieces(text)
  if not text:find("[%z\1-\31\127-\255]") then
    return vim.gsplit(text, "", { plain = true })
  end
  local count, i = vim.fn.strcharlen(text), -1
  return function()
    i = i + 1
    return i < count and vim.fn.strcharpart(text, i, 1, true) or nil
  end
end

---@param chunks claude-ide.diffview.Chunk[]
---@param look claude-ide.diffview.Look
---@return claude-ide.diffview.Chunk[][] rows
local function cut_to_width(chunks, look)
  local rows, row, column = {}, {}, 0
  for _, chunk in ipairs(chunks) do
    local text, group = chunk[1], chunk[2]
    if column + #text <= look.width and not text:find("[%z\1-\31\127-\255]") then
      row[#row + 1], column = chunk, column + #text
    else
      local drawn = {}
      for piece in pieces(text) do
        local shown, width = visible(piece, column, look)
        if look.wrap and column + width > look.width and column > 0 then
          row[#row + 1] = { table.concat(drawn), group }
          rows[#rows + 1] = row
          row, drawn, column = {}, {}, 0
          shown, width = visible(piece, column, look)
        end
        drawn[#drawn + 1], column = shown, column + width
      end
      row[#row + 1] = { table.concat(drawn), group }
    end
  end
  row[#row + 1] = { (" "):rep(math.max(look.width - column, 0)), "ClaudeDiffRemovedLine" }
  rows[#rows + 1] = row
  return rows
end

---The part of a long line to render.
---@param line string
---@param spans claude-ide.diffview.Span[]
---@param colours? claude-ide.diffview.Colour[]
---@param changed integer bytes before its first change
---@return string
---@return claude-ide.diffview.Span[]
---@return claude-ide.diffview.Colour[]?
local function part_of(line, spans, colours, changed)
  if #line <= MAX_BYTES then
    return line, spans, colours
  end
  local from = changed > MAX_BYTES - LEAD_BYTES and changed - LEAD_BYTES or 0
  from = from > 0 and from + vim.str_utf_start(line, from + 1) or 0
  local upto = math.min(from + MAX_BYTES, #line)
  upto = upto < #line and upto + vim.str_utf_start(line, upto + 1) or upto
  local lead = from > 0 and "…" or ""
  local shift = #lead - from
  local part_spans, part_colours = {}, colours and {}
  for _, span in ipairs(spans) do
    if span[2] > from then
      part_spans[#part_spans + 1] = { math.max(span[1] + shift, #lead), span[2] + shift }
    end
  end
  for _, colour in ipairs(colours or {}) do
    if part_colours and colour.to > from then
      part_colours[#part_colours + 1] =
        { from = math.max(colour.from + shift, #lead), to = colour.to + shift, group = colour.group }
    end
  end
  return lead .. line:sub(from + 1, upto) .. (upto < #line and "…" or ""), part_spans, part_colours
end

---@param line string
---@param spans claude-ide.diffview.Span[]
---@param colours? claude-ide.diffview.Colour[]
---@param look claude-ide.diffview.Look
---@param changed? integer bytes before its first change
---@return claude-ide.diffview.Chunk[][] rows several if the window wraps
function M.rows(line, spans, colours, look, changed)
  line, spans, colours = part_of(line, spans, colours, changed or 0)
  -- Functions of Vim script take a line feed for a zero byte, and fail for a zero byte.
  return cut_to_width(coloured(line:gsub("%z", "\n"), spans, colours), look)
end

return M
