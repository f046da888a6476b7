-- The lines of the board. Only lines that differ are set; highlights are added when a line is drawn, so that none has to move.
-- Invariants: the cursor stays on its session while rows move; where the top of the list is not visible, it also stays in its place on
-- the screen. No line comes or goes under a selection or a pending operator.

local lazy = require("claude-ide.lazy")
local highlights = lazy("claude-ide.ui.highlights")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local redraw = lazy("claude-ide.base.redraw")
local waits = lazy("claude-ide.base.waits")

---@class claude-ide.board.Canvas
---@field private buf integer
---@field private lines string[]
---@field package marks table<integer, { [1]: integer, [2]: integer, [3]: string }[]> by line, from 1
---@field private ids string[] session by line; "": none
---@field private first table<string, integer> first line by session
---@field private gone table<integer, { id: string, lnum: integer }> by window: the cursor's session has no row any more
local Canvas = {}
Canvas.__index = Canvas

local namespace = vim.api.nvim_create_namespace("claude-ide.board")

local LINKS = {
  ClaudeBoardWaiting = "DiagnosticWarn",
  ClaudeBoardWorking = "DiagnosticInfo",
  ClaudeBoardIdle = "DiagnosticOk",
  ClaudeBoardEnded = "Comment",
  ClaudeBoardPlace = "Directory",
  ClaudeBoardAdded = "Added",
  ClaudeBoardRemoved = "Removed",
  ClaudeBoardReview = "DiagnosticHint",
  ClaudeBoardFact = "Comment",
  ClaudeBoardAsk = "DiagnosticWarn",
  ClaudeBoardTask = "Special",
  ClaudeBoardWords = "Comment",
  ClaudeBoardYou = "String",
}

---@type table<integer, claude-ide.board.Canvas> by buffer
local canvases = setmetatable({}, { __mode = "v" })

local provide = require("claude-ide.base.once")(function()
  highlights.link(LINKS)
  redraw.on(namespace, "draw the board", {
    on_win = function(_, _, buf)
      return canvases[buf] ~= nil
    end,
    on_line = function(_, _, buf, row)
      local canvas = canvases[buf]
      for _, mark in ipairs(canvas and canvas.marks[row + 1] or {}) do
        vim.api.nvim_buf_set_extmark(
          buf,
          namespace,
          row,
          mark[1],
          { end_col = mark[2], hl_group = mark[3], ephemeral = true, strict = false }
        )
      end
    end,
  })
end)

---@param buf integer
---@return claude-ide.board.Canvas
function Canvas.new(buf)
  provide()
  local self =
    setmetatable({ buf = buf, lines = { "" }, marks = {}, ids = {}, first = {}, gone = {} }, Canvas)
  canvases[buf] = self
  return self
end

---The session under the cursor.
---@return string? id
---@return string? gone the session that was there, whose row has gone: told once, if the cursor has not moved
function Canvas:session_here()
  local win, lnum = vim.api.nvim_get_current_win(), vim.api.nvim_win_get_cursor(0)[1]
  local gone, id = self.gone[win], self.ids[lnum]
  self.gone[win] = nil
  -- A user can make the buffer modifiable.
  local is_shown = id ~= "" and vim.api.nvim_get_current_line() == self.lines[lnum]
  return is_shown and id or nil, gone and gone.lnum == lnum and gone.id or nil
end

---Goes to another session.
---@param count integer negative: upwards
function Canvas:step(count)
  local lnum, step = vim.api.nvim_win_get_cursor(0)[1], count > 0 and 1 or -1
  local here, left = self.ids[lnum], math.abs(count)
  local at, goal = lnum, self.first[here or ""] or lnum
  while left > 0 and self.ids[at + step] do
    at = at + step
    if self.ids[at] ~= here then
      here, left, goal = self.ids[at], left - 1, self.first[self.ids[at]] or at
    end
  end
  vim.api.nvim_win_set_cursor(0, { goal, 0 })
end

---@param from string[]
---@param to string[]
---@return integer head equal lines at the beginning
---@return integer tail and at the end
local function common(from, to)
  local head, tail, most = 0, 0, math.min(#from, #to)
  while head < most and from[head + 1] == to[head + 1] do
    head = head + 1
  end
  while tail < most - head and from[#from - tail] == to[#to - tail] do
    tail = tail + 1
  end
  return head, tail
end

---@class claude-ide.board.Anchor
---@field win integer
---@field id string
---@field offset integer lines below the session's first
---@field look table of winsaveview()

---@private
---@return claude-ide.board.Anchor[]
function Canvas:anchors()
  return vim.tbl_map(function(win)
    local look = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    local id = self.ids[look.lnum] or ""
    return { win = win, id = id, offset = look.lnum - (self.first[id] or look.lnum), look = look }
  end, vim.fn.win_findbuf(self.buf))
end

---@private
---@param anchor claude-ide.board.Anchor
---@param last_of table<string, integer>
function Canvas:restore(anchor, last_of)
  local look, first = anchor.look, self.first[anchor.id]
  local lnum = first and math.min(first + anchor.offset, last_of[anchor.id])
    or math.min(look.lnum, #self.lines)
  local before = self.gone[anchor.win]
  if not first and anchor.id ~= "" then
    self.gone[anchor.win] = { id = anchor.id, lnum = lnum }
  elseif before and before.lnum == look.lnum then
    before.lnum = lnum
  end
  -- At the top, what comes there is seen.
  local topline = look.topline > 1 and math.floor(math.max(look.topline + lnum - look.lnum, 1)) or 1
  vim.api.nvim_win_call(anchor.win, function()
    vim.fn.winrestview({ lnum = lnum, col = look.col, leftcol = look.leftcol, topline = topline })
  end)
end

---@private
---@param lines string[]
function Canvas:set(lines)
  local before = vim.api.nvim_buf_get_lines(self.buf, 0, -1, false) -- a user can make it modifiable
  local head, tail = common(before, lines)
  if head == #before and head == #lines then
    return
  end
  own_buffer.change(self.buf, function()
    if #before ~= #lines then
      vim.api.nvim_buf_set_lines(
        self.buf,
        head,
        #before - tail,
        false,
        vim.list_slice(lines, head + 1, #lines - tail)
      )
      return
    end
    local at, stop = head + 1, #lines - tail
    while at <= stop do
      local from = at
      while at <= stop and lines[at] ~= before[at] do
        at = at + 1
      end
      if at > from then
        vim.api.nvim_buf_set_lines(self.buf, from - 1, at - 1, false, vim.list_slice(lines, from, at - 1))
      end
      at = at + 1
    end
  end)
end

---Shows rows.
---@param rows claude-ide.board.Row[]
---@param older integer sessions without a row
function Canvas:show(rows, older)
  local function is_blocked()
    return vim.api.nvim_buf_is_valid(self.buf) and waits.pending_range(self.buf) ~= nil
  end
  if is_blocked() then
    return waits.when_text_may_change("board", function()
      if canvases[self.buf] == self and vim.api.nvim_buf_is_valid(self.buf) then
        self:show(rows, older)
      end
    end, is_blocked)
  end
  local lines, marks, ids, first, last = {}, {}, {}, {}, {}
  for _, row in ipairs(rows) do
    first[row.id] = #lines + 1
    for _, line in ipairs(row.lines) do
      lines[#lines + 1], ids[#lines + 1] = line.text, row.id
      marks[#lines] = line.marks
    end
    last[row.id] = #lines
  end
  if older > 0 or #rows == 0 then
    lines[#lines + 1] = #rows == 0 and "No sessions here." or ("… %d older: :Claude sessions"):format(older)
    ids[#lines], marks[#lines] = "", { { 0, #lines[#lines], "ClaudeBoardFact" } }
  end
  local anchors = self:anchors()
  self:set(lines)
  self.lines, self.marks, self.ids, self.first = lines, marks, ids, first
  for _, anchor in ipairs(anchors) do
    self:restore(anchor, last)
  end
end

return Canvas
