-- Maps rows to lines of a transcript's buffer, and changes them without moving the visible text.
-- The buffer holds the rows from `first` on as text. If there are earlier ones, its first line says how many. An empty line follows
-- the last row: a cursor there follows the end.
-- Invariant: the text changes only within `edit`, which restores the view of each window and the selection.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local heights = lazy("claude-ide.transcript.heights")
local transcript_fold = lazy("claude-ide.transcript.fold")
local viewport = lazy("claude-ide.transcript.viewport")

---@class claude-ide.transcript.Rendered
---@field row claude-ide.sessions.Row
---@field items claude-ide.transcript.Item[]
---@field height integer lines
---@field shown integer lines while its folds are in their initial state
---@field stale? boolean the message may have changed

---@class claude-ide.transcript.Canvas
---@field buf integer
---@field heights claude-ide.transcript.Heights of all rows; 0 of those that are not in the buffer
---@field rows table<integer, claude-ide.transcript.Rendered> those in the buffer
---@field first integer the first of them
---@field stop integer the row after the last of them
---@field is_end_only boolean the rows are only the end of the session: the rest is not read yet
---@field stale integer number of stale rows
---@field private head integer lines above the first row: 0, or 1 that tells of earlier messages
---@field private outdated table<integer, true> rows that became stale since the current request
---@field private all_outdated boolean all rows did
---@field private new_folds claude-ide.transcript.NewFold[]
local Canvas = {}
Canvas.__index = Canvas

local namespace = vim.api.nvim_create_namespace("claude-ide.transcript")
---Marks of the painter, which sets them later and again as a text grows.
local colours = vim.api.nvim_create_namespace("claude-ide.transcript.colours")
Canvas.colours = colours

local head_namespace = vim.api.nvim_create_namespace("claude-ide.transcript.head")

---@param one claude-ide.transcript.Item
---@param other claude-ide.transcript.Item
---@return boolean
local function is_same(one, other)
  if one.key ~= other.key or #one.lines ~= #other.lines or #one.folds ~= #other.folds then
    return false
  end
  for at, line in ipairs(one.lines) do
    if line ~= other.lines[at] then
      return false
    end
  end
  return true
end

---@param items claude-ide.transcript.Item[]
---@return integer
local function height_of(items)
  local height = 0
  for _, item in ipairs(items) do
    height = height + #item.lines
  end
  return height
end

---@param items claude-ide.transcript.Item[]
---@return integer
local function shown_of(items)
  local hidden = 0
  for _, item in ipairs(items) do
    local fold = item.folds[#item.folds]
    hidden = hidden + (fold and fold.closed and fold.last - fold.first or 0)
  end
  return height_of(items) - hidden
end

---@param buf integer with one empty line
---@return claude-ide.transcript.Canvas
function Canvas.new(buf)
  return setmetatable({
    buf = buf,
    heights = heights.new(),
    rows = {},
    first = 0,
    stop = 0,
    is_end_only = false,
    stale = 0,
    head = 0,
    outdated = {},
    all_outdated = false,
    new_folds = {},
  }, Canvas)
end

---Deletes lines and their marks.
---@param first integer 0-based
---@param last integer exclusive
function Canvas:delete(first, last)
  if last > first then
    vim.api.nvim_buf_clear_namespace(self.buf, namespace, first, last)
    vim.api.nvim_buf_clear_namespace(self.buf, colours, first, last)
    vim.api.nvim_buf_set_lines(self.buf, first, last, true, {})
  end
end

---Inserts lines. nvim_buf_set_lines() would put them into a fold that begins at the line below.
---@param at integer 0-based
---@param lines string[]
function Canvas:insert(at, lines)
  if #lines > 0 then
    vim.fn.appendbufline(self.buf, at, lines --[[@as any]])
  end
end

---The number of lines of the rows.
---@return integer
function Canvas:lines()
  return self.heights:before(self.heights:len())
end

---The number of lines before a row.
---@param row integer
---@return integer
function Canvas:before(row)
  return self.head + self.heights:before(row)
end

---The row at a line; the first for one above it, the last for one below it.
---@param lnum integer from 1
---@return integer row
---@return integer offset of the line in it
function Canvas:at(lnum)
  if lnum <= self.head then
    return self.first, lnum - self.head - 1
  end
  return self.heights:at(lnum - self.head - 1)
end

---Whether a line tells of earlier messages.
---@param lnum integer from 1
---@return boolean
function Canvas:is_head(lnum)
  return lnum <= self.head
end

---@param row integer
---@param item integer from 1
---@return integer line first line, 0-based
function Canvas:line_of(row, item)
  local line = self:before(row)
  local rendered = self.rows[row]
  for at = 1, rendered and item - 1 or 0 do
    line = line + #rendered.items[at].lines
  end
  return line
end

---@class claude-ide.transcript.Spot
---@field row integer
---@field item integer from 1; 0 above the first row, and at the end
---@field key? string of the item
---@field offset integer lines below the item's first
---@field past? boolean after the last row

---The row and item at a line.
---@param lnum integer from 1
---@return claude-ide.transcript.Spot
---@return claude-ide.transcript.Item?
function Canvas:spot(lnum)
  local row, offset = self:at(lnum)
  local rendered = offset >= 0 and self.rows[row] or nil
  for at, item in ipairs(rendered and rendered.items or {}) do
    if offset < #item.lines then
      return { row = row, item = at, key = item.key, offset = offset }, item
    end
    offset = offset - #item.lines
  end
  local past = lnum > self:before(self.heights:len())
  return { row = row, item = 0, offset = offset, past = past or nil }
end

---The current line of a spot.
---@param spot claude-ide.transcript.Spot
---@return integer lnum from 1
function Canvas:lnum(spot)
  if spot.past then
    return vim.api.nvim_buf_line_count(self.buf)
  end
  local row = math.min(spot.row, math.max(self.heights:len() - 1, 0))
  local rendered = self.rows[row]
  local found
  for at, item in ipairs(rendered and rendered.items or {}) do
    if item.key == spot.key then
      return self:line_of(row, at) + math.min(spot.offset, #item.lines - 1) + 1
    elseif at == spot.item then
      found = at
    end
  end
  if found then
    return self:line_of(row, found) + 1
  end
  -- Its item is gone, or was above the first row: then above the same row.
  local gap = rendered and rendered.items[1] and rendered.items[1].kind == "gap" and 1 or 0
  return math.max(self:before(row) + 1 + (spot.item > 0 and gap or spot.offset), 1)
end

---@param line integer first line of the item, 0-based
---@param item claude-ide.transcript.Item
function Canvas:draw_marks(line, item)
  item.is_marked = true
  for _, mark in ipairs(item.marks) do
    local row = line + mark.row
    if mark.behind then
      vim.api.nvim_buf_set_extmark(self.buf, namespace, row, 0, {
        virt_text = mark.behind,
        virt_text_pos = "eol",
        hl_mode = "combine",
      })
    else
      vim.api.nvim_buf_set_extmark(self.buf, namespace, row, mark.col, {
        end_row = mark.end_col and row or row + 1,
        end_col = mark.end_col or 0,
        hl_group = mark.group,
        hl_eol = mark.eol,
        priority = mark.eol and 90 or 100,
        strict = false,
      })
    end
  end
end

---@class claude-ide.transcript.NewFold
---@field row integer
---@field item claude-ide.transcript.Item
---@field closed table<integer, table<string, boolean>> state set by the user, by window and fold key

---The state of an item's folds in each window.
---@param line integer first line of the item, 0-based
---@param item claude-ide.transcript.Item
---@return table<integer, table<string, boolean>>
function Canvas:fold_state(line, item)
  local states = {}
  for _, win in ipairs(#item.folds > 0 and vim.fn.win_findbuf(self.buf) or {}) do
    states[win] = vim.api.nvim_win_call(win, function()
      local closed = {}
      for _, fold in ipairs(item.folds) do
        local at = vim.fn.foldclosed(line + fold.first + 1)
        if at < 0 or at == line + fold.first + 1 then -- else unknown: it is inside a closed fold
          closed[fold.key] = at > 0
        end
      end
      return closed
    end)
  end
  return states
end

---Records what is rendered of a row.
---@param row integer
---@param rendered? claude-ide.transcript.Rendered
function Canvas:record(row, rendered)
  local before = self.rows[row]
  self.stale = self.stale - (before and before.stale and 1 or 0)
  self.rows[row] = rendered
end

---Marks the start of a request: rows that become stale from now on are drawn again after its response.
function Canvas:expect()
  self.outdated, self.all_outdated = {}, false
end

---The response to the current request is out of date.
function Canvas:distrust()
  self.all_outdated = true
end

---A row's message may have changed.
---@param row integer
function Canvas:mark_stale(row)
  self.outdated[row] = true
  local rendered = self.rows[row]
  if rendered and not rendered.stale then
    rendered.stale = true
    self.stale = self.stale + 1
  end
end

function Canvas:mark_all_stale()
  self:distrust()
  for row in pairs(self.rows) do
    self:mark_stale(row)
  end
end

---Draws the marks of a row that were left for later.
---@param row integer
function Canvas:mark_row(row)
  local line = self:before(row)
  for _, item in ipairs(self.rows[row].items) do
    if not item.is_marked then
      self:draw_marks(line, item)
    end
    line = line + #item.lines
  end
end

---Draws items whose lines are in the buffer.
---@private
---@param row integer
---@param line integer the first, 0-based
---@param items claude-ide.transcript.Item[]
---@param is_far boolean its marks are drawn later
---@param states table<string, table<integer, table<string, boolean>>> state of their folds that the user set, by item
---@return integer line after the last
function Canvas:draw_items(row, line, items, is_far, states)
  for _, item in ipairs(items) do
    if not is_far then
      self:draw_marks(line, item)
    end
    line = line + #item.lines
    if #item.folds > 0 then
      self.new_folds[#self.new_folds + 1] = { row = row, item = item, closed = states[item.key] or {} }
    end
  end
  return line
end

---@private
---@param row integer
---@param drawn claude-ide.transcript.Drawn
function Canvas:keep(row, drawn)
  local items, height = drawn.items, height_of(drawn.items)
  self.heights:set(row, height)
  self:record(row, { row = drawn.row, items = items, height = height, shown = shown_of(items) })
  if self.all_outdated or self.outdated[row] then
    self:mark_stale(row)
  end
end

---@param items claude-ide.transcript.Item[]
---@param lines string[] to append to
local function add_lines(items, lines)
  for _, item in ipairs(items) do
    vim.list_extend(lines, item.lines)
  end
end

---Shows rows above the first. Together, since each insertion there moves all marks and folds below. Marks are most of a row's cost:
---`painter` draws them once they are near a window, except for the first rows.
---@param drawn claude-ide.transcript.Drawn[] from the nearest to the farthest, as of the current request
function Canvas:prepend(drawn)
  local lines, line, below = {}, self.head, self.first
  local is_far = below < self.stop
  for at = #drawn, 1, -1 do
    add_lines(drawn[at].items, lines)
  end
  self:insert(line, lines)
  self.first = below - #drawn
  for at = #drawn, 1, -1 do
    line = self:draw_items(below - at, line, drawn[at].items, is_far, {})
    self:keep(below - at, drawn[at])
  end
end

---Shows a row, as of the current request: one in the buffer, or the next. Unchanged items stay untouched.
---@param row integer
---@param drawn claude-ide.transcript.Drawn
function Canvas:put(row, drawn)
  local items = drawn.items
  local rendered = self.rows[row]
  local before = rendered and rendered.items or {}
  local same = 0
  while before[same + 1] and items[same + 1] and is_same(before[same + 1], items[same + 1]) do
    same = same + 1
    before[same].open_end = items[same].open_end
    items[same] = before[same]
  end
  local tail = 0
  while
    #before - tail > same
    and #items - tail > same
    and is_same(before[#before - tail], items[#items - tail])
  do
    items[#items - tail] = before[#before - tail]
    tail = tail + 1
  end
  local first = self:line_of(row, same + 1)
  local old = vim.list_slice(before, same + 1, #before - tail)
  local new = vim.list_slice(items, same + 1, #items - tail)
  local states, line = {}, first
  for _, item in ipairs(old) do
    states[item.key] = self:fold_state(line, item)
    line = line + #item.lines
  end
  self:delete(first, line) -- and its folds
  local lines = {}
  add_lines(new, lines)
  self:insert(first, lines)
  self:draw_items(row, first, new, false, states)
  self:keep(row, drawn)
  self.stop = math.max(self.stop, row + 1)
end

---Replaces the end of a row's last item, which has no folds. Unchanged bytes stay untouched.
---@param row integer
---@param offset integer lines of the item to keep
---@param lines string[] at least as many as they replace
function Canvas:extend(row, offset, lines)
  local rendered = self.rows[row]
  local item = rendered.items[#rendered.items]
  local first, count = self:line_of(row, #rendered.items) + offset, #item.lines - offset
  for at = 1, count do
    local before, now = item.lines[offset + at], lines[at]
    if before ~= now then
      local same = 0
      while same < #before and before:byte(same + 1) == now:byte(same + 1) do
        same = same + 1
      end
      local line = first + at - 1
      vim.api.nvim_buf_set_text(self.buf, line, same, line, #before, { now:sub(same + 1) })
    end
  end
  self:insert(first + count, vim.list_slice(lines, count + 1))
  for at, line in ipairs(lines) do
    item.lines[offset + at] = line
  end
  local more = #lines - count
  rendered.height, rendered.shown = rendered.height + more, rendered.shown + more
  self.heights:set(row, rendered.height)
end

---@param count integer new number of rows
function Canvas:resize(count)
  local len = self.heights:len()
  if count < self.stop then
    self:delete(self:before(count), self:before(len))
    for row = math.max(count, self.first), self.stop - 1 do
      self:record(row, nil)
    end
    self.stop = count
  end
  self.heights:truncate(count)
  for _ = len, count - 1 do
    self.heights:push(0)
  end
  if self.first >= self.stop then
    self.first, self.stop = count, count -- no row is left: the text begins at the end again
  end
end

---Counts rows before those that were the first of all.
---@param count integer
function Canvas:shift(count)
  self.heights:prepend(count, 0)
  local rows = {}
  for row, rendered in pairs(self.rows) do
    rows[row + count] = rendered
  end
  self.rows = rows
  self.first, self.stop = self.first + count, self.stop + count
end

---Whether messages above the first row are known of.
---@return boolean
function Canvas:has_earlier()
  return self.first > 0 or self.is_end_only
end

---Tells of earlier messages in the first line.
---@private
function Canvas:tell_of_earlier()
  local is_needed = self:has_earlier() and self.first < self.stop
  if not is_needed then
    self:delete(0, self.head)
    self.head = 0
    return
  end
  local count = not self.is_end_only and counted(self.first, "earlier message") or "earlier messages"
  local text = ("… %s · Enter loads more"):format(count)
  if self.head == 0 then
    self:insert(0, { text })
    self.head = 1
  elseif vim.api.nvim_buf_get_lines(self.buf, 0, 1, true)[1] ~= text then
    vim.api.nvim_buf_set_lines(self.buf, 0, 1, true, { text })
  else
    return
  end
  local mark = { id = 1, line_hl_group = "ClaudeTranscriptFact", right_gravity = false }
  vim.api.nvim_buf_set_extmark(self.buf, head_namespace, 0, 0, mark)
end

---Changes the text, and restores the view of each window and the selection.
---@param change fun()
---@param shift? integer rows that the change inserts before the first
function Canvas:edit(change, shift)
  local saved, anchor = viewport.save(self), viewport.save_anchor(self)
  vim.bo[self.buf].modifiable = true
  local ok, err = xpcall(function()
    change()
    self:tell_of_earlier()
  end, debug.traceback)
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
  local created = self.new_folds
  self.new_folds = {}
  transcript_fold.create(self, created)
  viewport.restore(self, saved, shift or 0)
  if anchor then
    viewport.restore_anchor(self, anchor, shift or 0)
  end
  if not ok then
    error(err, 0)
  end
end

return Canvas
