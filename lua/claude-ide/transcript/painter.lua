-- Highlights what is near the windows of a transcript, visible rows first, a few pieces per turn.
-- Pieces of a growing text are kept: only the one with its last line is highlighted again.

local slice = require("claude-ide.base.slice")
local while_open = require("claude-ide.transcript.while_open")
local lazy = require("claude-ide.lazy")
local colour = lazy("claude-ide.transcript.colour")
local config = lazy("claude-ide.config")
local drawn = lazy("claude-ide.transcript.drawn")
local render_order = lazy("claude-ide.transcript.render_order")
local transcript_pieces = lazy("claude-ide.transcript.pieces")

local M = {}

---Highlights a row once it is near a window.
---@param view claude-ide.transcript.View
---@param row integer
function M.want(view, row)
  view.uncoloured[row] = true
end

---The next row to highlight.
---@param view claude-ide.transcript.View
---@return integer? row
local function next_uncoloured(view)
  for _, row in ipairs(render_order.near(view.canvas)) do
    if view.uncoloured[row] then
      return row
    end
  end
  return nil
end

---@param item claude-ide.transcript.Item
---@param prose claude-ide.transcript.Prose
---@param first integer first line of the text, from 0
---@param pieces claude-ide.transcript.Pieces
---@param last integer exclusive
local function add_lines(item, prose, first, pieces, last)
  for at = prose.row + first + 1, prose.row + last do
    if pieces.bytes > pieces.MAX_TEXT then
      return -- too long: stays plain
    end
    pieces:add(item.lines[at]:sub(prose.indent + 1))
  end
end

---@param item claude-ide.transcript.Item
---@param prose claude-ide.transcript.Prose
---@return claude-ide.transcript.Pieces
local function pieces_of(item, prose)
  local pieces = transcript_pieces.new(prose.language, prose.fence)
  local open_end = item.open_end
  if open_end then
    add_lines(item, prose, 0, pieces, open_end.first)
    prose.mark, prose.pieces = pieces:mark(), pieces
  end
  add_lines(item, prose, pieces.rows, pieces, prose.count)
  return pieces
end

---A text grew; its item has the new lines already.
---@param view claude-ide.transcript.View
---@param row integer
---@param item claude-ide.transcript.Item
---@param prose claude-ide.transcript.Prose
function M.went_on(view, row, item, prose)
  local pieces, mark = prose.pieces, prose.mark
  if not pieces or not mark then
    prose.painted = nil
  elseif pieces.bytes > pieces.MAX_TEXT then
    return
  else
    prose.painted = math.min(prose.painted or 0, pieces:rewind(mark))
    local open_end = item.open_end
    ---@cast open_end -nil
    add_lines(item, prose, pieces.rows, pieces, open_end.first)
    prose.mark = pieces:mark()
    add_lines(item, prose, pieces.rows, pieces, prose.count)
    prose.painted = math.min(prose.painted, (pieces:outdated() or #pieces.list + 1) - 1)
  end
  prose.is_done = nil
  M.want(view, row)
end

---@class claude-ide.transcript.Colouring
---@field row integer
---@field item claude-ide.transcript.Item
---@field prose claude-ide.transcript.Prose
---@field pieces claude-ide.transcript.Pieces

---Texts of a row that are not highlighted yet.
---@param view claude-ide.transcript.View
---@param row integer
---@return claude-ide.transcript.Colouring[]
local function colourings(view, row)
  local list = {}
  local rendered = view.canvas.rows[row]
  for _, item in ipairs(rendered and rendered.items or {}) do
    for _, prose in ipairs(item.prose) do
      if not prose.is_done then
        local pieces = prose.pieces or pieces_of(item, prose)
        list[#list + 1] = { row = row, item = item, prose = prose, pieces = pieces }
      end
    end
  end
  return list
end

---@param canvas claude-ide.transcript.Canvas
---@param first integer first line of the piece, 0-based
---@param indent integer
---@param mark claude-ide.transcript.DrawnMark
local function draw(canvas, first, indent, mark)
  local row, is_line = first + mark.row, mark.line == true
  local chunk = mark.over and { mark.over, mark.group } or mark.insert and { (" "):rep(mark.insert) } or nil
  vim.api.nvim_buf_set_extmark(canvas.buf, canvas.colours, row, is_line and 0 or mark.col + indent, {
    end_row = mark.end_col and row or nil,
    end_col = mark.end_col and mark.end_col + indent or nil,
    hl_group = not chunk and not is_line and mark.group or nil,
    -- Not a mark that ends on the next line: highlighting that line again would clear it.
    line_hl_group = is_line and mark.group or nil,
    conceal = mark.conceal,
    virt_text = chunk and { chunk },
    virt_text_pos = mark.over and "overlay" or mark.insert and "inline" or nil,
    priority = 96,
    strict = false,
  })
end

---Width of the narrowest window. One with 'nowrap' has room for any line.
---@param buf integer
---@return number
local function columns_in(buf)
  local windows = vim.fn.win_findbuf(buf)
  local columns = windows[1] and math.huge or vim.o.columns ---@type number
  for _, win in ipairs(windows) do
    columns = vim.wo[win].wrap and math.min(columns, vim.api.nvim_win_get_width(win)) or columns
  end
  return columns
end

---@param canvas claude-ide.transcript.Canvas
---@param line integer first line of the text, 0-based
---@param prose claude-ide.transcript.Prose
---@param piece claude-ide.transcript.Piece
local function paint(canvas, line, prose, piece)
  local first = line + piece.row
  local spans = colour.spans(piece)
  vim.api.nvim_buf_clear_namespace(canvas.buf, canvas.colours, first, first + #piece.lines)
  for _, span in ipairs(spans) do
    vim.api.nvim_buf_set_extmark(canvas.buf, canvas.colours, first + span.row, span.col + prose.indent, {
      end_row = first + span.end_row,
      end_col = span.end_col + (span.end_col > 0 and prose.indent or 0),
      hl_group = span.group ~= "" and span.group or nil,
      conceal = span.hidden and "" or nil,
      priority = 95,
      strict = false,
    })
  end
  if config.get().transcript.draw_markdown then
    prose.has_table = prose.has_table or piece.table ~= nil
    for _, mark in ipairs(drawn.marks(piece, columns_in(canvas.buf) - prose.indent)) do
      draw(canvas, first, prose.indent, mark)
    end
  end
end

---A window's width or 'wrap' changed: draws tables again that fit now, or no longer.
---@param view claude-ide.transcript.View
function M.resized(view)
  local columns = columns_in(view.buf)
  if view.columns == columns then
    return
  end
  view.columns = columns
  for row, rendered in pairs(view.canvas.rows) do
    for _, item in ipairs(rendered.items) do
      for _, prose in ipairs(item.prose) do
        if prose.has_table then
          prose.painted, prose.is_done = nil, nil
          M.want(view, row)
        end
      end
    end
  end
end

---@param canvas claude-ide.transcript.Canvas
---@param colouring claude-ide.transcript.Colouring
---@return integer? line first line of the text, 0-based; nil: no longer rendered
local function line_of(canvas, colouring)
  local rendered = canvas.rows[colouring.row]
  for at, item in ipairs(rendered and rendered.items or {}) do
    if item == colouring.item then
      return canvas:line_of(colouring.row, at) + colouring.prose.row
    end
  end
  return nil
end

---Highlights the next piece.
---@param view claude-ide.transcript.View
---@param colouring claude-ide.transcript.Colouring
---@return boolean over no pieces are left
local function go_on(view, colouring)
  local prose, pieces = colouring.prose, colouring.pieces
  local list = pieces.bytes <= pieces.MAX_TEXT and pieces.list or {}
  local piece = list[(prose.painted or 0) + 1]
  local line = line_of(view.canvas, colouring)
  if not line then
    return true
  elseif not piece then
    prose.is_done = true
  elseif not colour.load(piece.language) then
    paint(view.canvas, line, prose, piece)
    prose.painted = (prose.painted or 0) + 1
  end
  return piece == nil
end

---Highlights what is near a window, a few pieces per turn.
---@param view claude-ide.transcript.View
---@param done fun(view: claude-ide.transcript.View) called after the last one
function M.colour(view, done)
  if view.colouring or not while_open.is_alive(view) or not next_uncoloured(view) then
    return
  end
  local work = {} ---@type claude-ide.transcript.Colouring[]
  local function turn()
    view.colouring = false
    local is_over = slice.begin()
    repeat
      local current = work[#work]
      if not current then
        local row = next_uncoloured(view)
        if not row then
          return done(view)
        end
        view.uncoloured[row] = nil
        view.canvas:mark_row(row)
        work = colourings(view, row)
      elseif go_on(view, current) then
        work[#work] = nil
      end
    until is_over()
    view.colouring = true
    while_open.later(view, turn)
  end
  view.colouring = true
  while_open.later(view, turn)
end

return M
