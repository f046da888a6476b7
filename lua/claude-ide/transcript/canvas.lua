-- The buffer of a transcript: which lines each row takes, and how they change without moving what is on the screen.
-- A row that is not near a window is one empty line. After the last row comes an empty line: the end, where a cursor
-- stays at the end.
-- Invariant: the text changes within `edit` alone, which puts the view of each window and the selection back.

---@class claude-ide.transcript.Rendered
---@field items claude-ide.transcript.Item[]
---@field height integer lines
---@field shown integer lines while its folds are as they were at first
---@field stale? boolean there may be more of the message now

---@class claude-ide.transcript.Canvas
---@field buf integer
---@field heights claude-ide.transcript.Heights
---@field rows table<integer, claude-ide.transcript.Rendered>
---@field count integer of rendered rows
---@field stale integer how many of them are stale
---@field lines integer of all rendered rows
---@field private outdated table<integer, true> rows that became stale since what is being drawn was asked for
---@field private all_outdated boolean all did
---@field private new_folds claude-ide.transcript.NewFold[]
local Canvas = {}
Canvas.__index = Canvas

local namespace = vim.api.nvim_create_namespace("claude-ide.transcript")
---What the painter puts there comes later, and anew where a text goes on.
local colours = vim.api.nvim_create_namespace("claude-ide.transcript.colours")
Canvas.colours = colours

---Lines put into the buffer at one time, when many rows come at once.
local PIECE = 40000

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

---@param buf integer
---@return claude-ide.transcript.Canvas
function Canvas.new(buf)
  return setmetatable({
    buf = buf,
    heights = require("claude-ide.transcript.heights").new(),
    rows = {},
    count = 0,
    stale = 0,
    lines = 0,
    outdated = {},
    all_outdated = false,
    new_folds = {},
  }, Canvas)
end

---Takes lines out, and all that belongs to them.
---@param first integer 0-based
---@param last integer exclusive
function Canvas:delete(first, last)
  if last > first then
    vim.api.nvim_buf_clear_namespace(self.buf, namespace, first, last)
    vim.api.nvim_buf_clear_namespace(self.buf, colours, first, last)
    vim.api.nvim_buf_set_lines(self.buf, first, last, true, {})
  end
end

---Puts lines in. Not with nvim_buf_set_lines(): where a fold begins at the line below, that takes them into the fold.
---@param at integer 0-based
---@param lines string[]
function Canvas:insert(at, lines)
  if #lines > 0 then
    vim.fn.appendbufline(self.buf, at, lines --[[@as any]])
  end
end

---@param at integer 0-based
---@param count integer
function Canvas:insert_empty(at, count)
  local empty = {}
  for index = 1, math.min(count, PIECE) do
    empty[index] = ""
  end
  while count > 0 do
    if count < #empty then
      empty = vim.list_slice(empty, 1, count)
    end
    self:insert(at, empty)
    count = count - #empty
  end
end

---@param row integer
---@param item integer from 1
---@return integer line of its first line, 0-based
function Canvas:line_of(row, item)
  local line = self.heights:before(row)
  local rendered = self.rows[row]
  for at = 1, rendered and item - 1 or 0 do
    line = line + #rendered.items[at].lines
  end
  return line
end

---@class claude-ide.transcript.Spot
---@field row integer
---@field item integer from 1; 0 in a row that is not rendered, and at the end
---@field key? string the item's
---@field offset integer lines from the item's first
---@field past? boolean the line after the last row

---What a line shows.
---@param lnum integer from 1
---@return claude-ide.transcript.Spot
---@return claude-ide.transcript.Item?
function Canvas:spot(lnum)
  local row, offset = self.heights:at(lnum - 1)
  local rendered = self.rows[row]
  for at, item in ipairs(rendered and rendered.items or {}) do
    if offset < #item.lines then
      return { row = row, item = at, key = item.key, offset = offset }, item
    end
    offset = offset - #item.lines
  end
  local past = lnum > self.heights:before(self.heights:len())
  return { row = row, item = 0, offset = offset, past = past or nil }
end

---Where a spot is now.
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
  local line = self.heights:before(row)
  if spot.item > 0 or spot.offset == 0 then
    -- It was rendered and is not now, or the other way round. An empty line stands before a heading.
    local gap = rendered and rendered.items[1] and rendered.items[1].kind == "gap" and 1 or 0
    return line + 1 + (spot.item == 0 and gap or 0)
  end
  return math.min(line + spot.offset + 1, vim.api.nvim_buf_line_count(self.buf))
end

---@param line integer of the item's first line, 0-based
---@param item claude-ide.transcript.Item
function Canvas:dress(line, item)
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
---@field closed table<integer, table<string, boolean>> by window, by the fold's key: as the user had it

---How the folds of an item are in each window.
---@param line integer of its first line, 0-based
---@param item claude-ide.transcript.Item
---@return table<integer, table<string, boolean>>
function Canvas:fold_state(line, item)
  local states = {}
  for _, win in ipairs(#item.folds > 0 and vim.fn.win_findbuf(self.buf) or {}) do
    states[win] = vim.api.nvim_win_call(win, function()
      local closed = {}
      for _, fold in ipairs(item.folds) do
        local at = vim.fn.foldclosed(line + fold.first + 1)
        if at < 0 or at == line + fold.first + 1 then -- else it is within a closed one, and nobody knows
          closed[fold.key] = at > 0
        end
      end
      return closed
    end)
  end
  return states
end

---Says what is rendered of a row now.
---@param row integer
---@param rendered? claude-ide.transcript.Rendered
function Canvas:record(row, rendered)
  local before = self.rows[row]
  self.count = self.count + (rendered and 1 or 0) - (before and 1 or 0)
  self.stale = self.stale - (before and before.stale and 1 or 0)
  self.lines = self.lines + (rendered and rendered.height or 0) - (before and before.height or 0)
  self.rows[row] = rendered
end

---Rows are asked for: what becomes stale from now on is drawn again, though its answer is still to come.
function Canvas:expect()
  self.outdated, self.all_outdated = {}, false
end

---What is being drawn does not know all that is known now.
function Canvas:distrust()
  self.all_outdated = true
end

---There may be more of a row's message now.
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

---Shows a row's message as it was drawn when it was asked for.
---@param row integer
---@param items claude-ide.transcript.Item[]
function Canvas:answer(row, items)
  self:put(row, items)
  if self.all_outdated or self.outdated[row] then
    self:mark_stale(row)
  end
end

---Shows a row's message. What is as it was stays untouched.
---@param row integer
---@param items claude-ide.transcript.Item[]
function Canvas:put(row, items)
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
  if not rendered then
    line = line + 1 -- its empty line
  end
  self:delete(first, line) -- the folds go with the lines
  local lines = {}
  for _, item in ipairs(new) do
    vim.list_extend(lines, item.lines)
  end
  self:insert(first, lines)
  for _, item in ipairs(new) do
    self:dress(first, item)
    first = first + #item.lines
    if #item.folds > 0 then
      self.new_folds[#self.new_folds + 1] = { row = row, item = item, closed = states[item.key] or {} }
    end
  end
  local height = height_of(items)
  self.heights:set(row, height)
  self:record(row, { items = items, height = height, shown = shown_of(items) })
end

---Lets the last item of a row, one without folds, end with other lines. What is as it was stays untouched, to the byte.
---@param row integer
---@param offset integer lines of the item that stay
---@param lines string[] no fewer than those that they replace
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
  self.lines = self.lines + more
  self.heights:set(row, rendered.height)
end

---Makes a row an empty line again.
---@param row integer
function Canvas:drop(row)
  local rendered = self.rows[row]
  if rendered then
    local first = self.heights:before(row)
    self:delete(first, first + rendered.height)
    self:insert(first, { "" })
    self.heights:set(row, 1)
    self:record(row, nil)
  end
end

---@param count integer how many rows there are now
function Canvas:resize(count)
  local len = self.heights:len()
  if count < len then
    local first = self.heights:before(count)
    for row = count, len - 1 do
      self:record(row, nil)
    end
    self:delete(first, self.heights:before(len))
    self.heights:truncate(count)
  elseif count > len then
    self:insert_empty(self.heights:before(len), count - len)
    for _ = len, count - 1 do
      self.heights:push(1)
    end
  end
end

---Puts rows before the first.
---@param count integer
function Canvas:prepend(count)
  self:insert_empty(0, count)
  self.heights:prepend(count, 1)
  local rows = {}
  for row, rendered in pairs(self.rows) do
    rows[row + count] = rendered
  end
  self.rows = rows
end

---Changes the text, and puts the view of each window and the selection back.
---@param change fun()
---@param shift? integer rows that the change puts before the first
function Canvas:edit(change, shift)
  local views = require("claude-ide.transcript.viewport")
  local folds = require("claude-ide.transcript.fold")
  local saved, anchor = views.save(self), views.save_anchor(self)
  vim.bo[self.buf].modifiable = true
  local ok, err = xpcall(change, debug.traceback)
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
  local created = self.new_folds
  self.new_folds = {}
  folds.create(self, created)
  views.restore(self, saved, shift or 0)
  if anchor then
    views.restore_anchor(self, anchor, shift or 0)
  end
  if not ok then
    error(err, 0)
  end
end

return Canvas
