-- The buffer of a transcript: which lines each row takes, and how they change without moving what is on the screen.
-- A row that is not near a window is one empty line. After the last row comes an empty line: the end, where a cursor
-- stays at the end.
-- Invariant: the text changes within `edit` alone, which puts the view of each window back.

---@class claude-ide.transcript.Rendered
---@field items claude-ide.transcript.Item[]
---@field height integer lines
---@field shown integer lines while its folds are as they were at first
---@field stale? boolean there may be more of the message now

---@class claude-ide.transcript.Canvas
---@field buf integer
---@field heights claude-ide.transcript.Heights
---@field rows table<integer, claude-ide.transcript.Rendered>
---@field lines integer of all rendered rows
---@field private new_folds claude-ide.transcript.NewFold[]
local Canvas = {}
Canvas.__index = Canvas

local namespace = vim.api.nvim_create_namespace("claude-ide.transcript")
Canvas.namespace = namespace

---Lines put into the buffer at one time, when many rows come at once.
local PIECE = 40000

---@param buf integer
---@return claude-ide.transcript.Canvas
function Canvas.new(buf)
  return setmetatable({
    buf = buf,
    heights = require("claude-ide.transcript.heights").new(),
    rows = {},
    lines = 0,
    new_folds = {},
  }, Canvas)
end

---Takes lines out, and all that belongs to them.
---@param first integer 0-based
---@param last integer exclusive
function Canvas:delete(first, last)
  if last > first then
    vim.api.nvim_buf_clear_namespace(self.buf, namespace, first, last)
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
  return { row = row, item = 0, offset = offset }
end

---Where a spot is now.
---@param spot claude-ide.transcript.Spot
---@return integer lnum from 1
function Canvas:lnum(spot)
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
        end_row = (mark.eol or mark.end_col < 0) and row + 1 or row,
        end_col = (mark.eol or mark.end_col < 0) and 0 or mark.end_col,
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
---@field closed table<integer, table<string, boolean>> by window, by the fold's key: as the person had it

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

---Shows a row's message. What is as it was stays untouched.
---@param row integer
---@param items claude-ide.transcript.Item[]
function Canvas:put(row, items)
  local rendered = self.rows[row]
  local before = rendered and rendered.items or {}
  local same = 0
  while before[same + 1] and items[same + 1] and is_same(before[same + 1], items[same + 1]) do
    same = same + 1
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
  self.lines = self.lines + height - (rendered and rendered.height or 0)
  self.heights:set(row, height)
  self.rows[row] = { items = items, height = height, shown = shown_of(items) }
end

---Makes a row an empty line again.
---@param row integer
function Canvas:drop(row)
  local rendered = self.rows[row]
  if rendered then
    local first = self.heights:before(row)
    self:delete(first, first + rendered.height)
    self:insert(first, { "" })
    self.lines = self.lines - rendered.height
    self.heights:set(row, 1)
    self.rows[row] = nil
  end
end

---@param count integer how many rows there are now
function Canvas:resize(count)
  local len = self.heights:len()
  if count < len then
    local first = self.heights:before(count)
    for row = count, len - 1 do
      self.lines = self.lines - (self.rows[row] and self.rows[row].height or 0)
      self.rows[row] = nil
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

---Changes the text, and puts the view of each window back.
---@param change fun()
---@param shift? integer rows that the change puts before the first
function Canvas:edit(change, shift)
  local views = require("claude-ide.transcript.viewport")
  local folds = require("claude-ide.transcript.fold")
  local saved = views.save(self)
  vim.bo[self.buf].modifiable = true
  local ok, err = xpcall(change, debug.traceback)
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
  local created = self.new_folds
  self.new_folds = {}
  folds.create(self, created)
  views.restore(self, saved, shift or 0)
  if not ok then
    error(err, 0)
  end
end

return Canvas
