-- Compares two texts on the screen: by diff mode in two windows, else in one (unified.lua). Callers create and place the windows.
local lazy = require("claude-ide.lazy")
local change_keys = lazy("claude-ide.ui.diffview.change_keys")
local colours = lazy("claude-ide.ui.diffview.colours")
local first_change = lazy("claude-ide.ui.diffview.first_change")
local hidden_marks = lazy("claude-ide.ui.hidden_marks")
local nearest_first = lazy("claude-ide.ui.diffview.nearest_first")
local unified = lazy("claude-ide.ui.diffview.unified")
local window = lazy("claude-ide.base.window")

local M = {}

---@class claude-ide.diffview.Pair
---@field bufs table<claude-ide.diffview.Side, integer>
---@field wins table<claude-ide.diffview.Side, integer> without `left` in a layout with one window
---@field hunks claude-ide.diffview.Differences
---@field without_keys? boolean the caller maps diff mode's keys
---@field marking? table token of the current pass that marks hidden text
---@field hidden? integer hidden characters and runs of blanks in the changed lines, as far as they are counted
---@field hidden_counted? fun() `hidden` has changed
---@field unified? claude-ide.diffview.Unified set by the unified layout
---@field unmap_keys? fun() removes the mappings
---@field removed_win? integer float with the removed lines of a change

local namespace = vim.api.nvim_create_namespace("claude-ide.diffview.hidden_text")
local MAX_BYTES = 4 * 1024 * 1024
local MAX_INLINE_LINES = 2000

---Cost of diff mode in milliseconds on a small machine: per line, per line and hunk, and the limit.
local MS_PER_LINE, MS_PER_LINE_AND_HUNK, MAX_MS = 0.6e-3, 3.3e-6, 12

---Whether two texts need one window: diff mode would be too slow, or one of them is empty.
---Measured on 0.10 to 0.12: diff mode's time grows with lines times hunks (2 × 50,000 lines with 500 hunks: 0.25 to 0.5 s), and with
---`inline:` in 'diffopt' the first redraw's time grows with the lines of a hunk (5,000 lines: 220 ms, 50,000: 5 s).
---@param hunks claude-ide.buffer.Hunk[]
---@param old_count integer lines
---@param new_count integer
---@param bytes integer of both sides
---@return boolean
function M.needs_one_window(hunks, old_count, new_count, bytes)
  local lines = old_count + new_count
  if bytes > MAX_BYTES or lines * (MS_PER_LINE + #hunks * MS_PER_LINE_AND_HUNK) > MAX_MS then
    return true
  end
  local is_emptied = #hunks == 1 and hunks[1].new_count == 0 and hunks[1].old_count == old_count
  return is_emptied
    or vim.o.diffopt:find("inline:", 1, true) ~= nil
      and vim.iter(hunks):any(function(hunk)
        return hunk.old_count + hunk.new_count > MAX_INLINE_LINES
      end)
end

---Lines marked in one go.
local PART_LINES = 100

---@param hunks claude-ide.buffer.Hunk[]
---@param start "old"|"new"
---@return claude-ide.diffview.Lines[] parts of at most `PART_LINES`
local function parts_of(hunks, start)
  local parts = {}
  for _, hunk in ipairs(hunks) do
    local first, count = hunk[start], hunk[start .. "_count"] --[[@as integer]]
    for at = 0, count - 1, PART_LINES do
      parts[#parts + 1] = { new = first + at, new_count = math.min(PART_LINES, count - at) }
    end
  end
  return parts
end

---@param pair claude-ide.diffview.Pair
---@param side claude-ide.diffview.Side
---@param counted fun(count: integer)
local function mark_side(pair, side, counted)
  local buf, win, turn = pair.bufs[side], pair.wins[side], pair.marking
  local parts = parts_of(pair.hunks.list, side == "left" and "old" or "new")
  nearest_first.draw(parts, pair.hunks, win, function(part)
    local lines = vim.api.nvim_buf_get_lines(buf, part.new - 1, part.new - 1 + part.new_count, false)
    local count, line_of = 0, hidden_marks.line
    for at, line in ipairs(lines) do
      count = count + line_of(buf, part.new + at - 2, line, { namespace = namespace })
    end
    counted(count)
  end, function()
    return pair.marking == turn and vim.api.nvim_win_is_valid(win) and vim.api.nvim_buf_is_loaded(buf)
  end)
end

---@param pair claude-ide.diffview.Pair
local function clear_marks(pair)
  for _, buf in pairs(pair.bufs) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
  end
end

---Marks hidden content in changed lines, which are about to be accepted: long blanks, invisible characters. Neovim itself already shows
---some (`<202e>`, `^M`). Counts that of the new text.
---@param pair claude-ide.diffview.Pair
local function mark_hidden_text(pair)
  clear_marks(pair)
  pair.marking, pair.hidden = {}, 0
  mark_side(pair, "right", function(count)
    if count > 0 then
      pair.hidden = pair.hidden + count
      if pair.hidden_counted then
        pair.hidden_counted()
      end
    end
  end)
  if pair.wins.left then
    mark_side(pair, "left", function() end)
  end
end

---@param pair claude-ide.diffview.Pair
local function unmark_hidden_text(pair)
  pair.marking = nil
  clear_marks(pair)
end

---Maps diff mode's groups to those of each side.
---@param pair claude-ide.diffview.Pair
local function colour(pair)
  for side, win in pairs(pair.wins) do
    local groups = colours.of_side(side)
    local given = vim.wo[win].winhighlight
    if given ~= "" then
      table.insert(groups, 1, given)
    end
    vim.wo[win][0].winhighlight = table.concat(groups, ",")
  end
end

---@type table<claude-ide.diffview.Pair, true> those with diff mode
local in_diff_mode = {}
---Whether 'scrollopt' had "hor" before the first of them: diff mode adds it, and removes it in the end, the user's too.
local had_hor = false

---@param pair claude-ide.diffview.Pair
local function start_diff_mode(pair)
  if not next(in_diff_mode) then
    had_hor = vim.list_contains(vim.opt.scrollopt:get(), "hor")
  end
  in_diff_mode[pair] = true
  -- In the order of the comparison: in the other order, diff mode may pair other lines.
  for _, side in ipairs({ "left", "right" }) do
    vim.api.nvim_win_call(pair.wins[side], vim.cmd.diffthis)
  end
end

---@param pair claude-ide.diffview.Pair
local function end_diff_mode(pair)
  for _, win in pairs(pair.wins) do
    if vim.api.nvim_win_is_valid(win) and vim.wo[win].diff then
      vim.api.nvim_win_call(win, function()
        vim.cmd("diffoff")
      end)
      local without = vim.wo[win].winhighlight:gsub(",?Diff%a+:ClaudeDiff%a+", "")
      vim.wo[win][0].winhighlight = without
      vim.wo[win][0].scrollbind = false
    end
  end
  local was_in = in_diff_mode[pair]
  in_diff_mode[pair] = nil
  if was_in and not next(in_diff_mode) and had_hor then
    vim.opt.scrollopt:append("hor")
  end
end

---@param pair claude-ide.diffview.Pair
function M.compare(pair)
  colours.define()
  if pair.wins.left then
    colour(pair)
    start_diff_mode(pair)
  else
    unified.show(pair)
  end
  mark_hidden_text(pair)
  if not pair.without_keys then
    change_keys.map(pair)
  end
end

---Removes everything that `compare` has set in windows and buffers.
---@param pair claude-ide.diffview.Pair
function M.end_comparing(pair)
  change_keys.unmap(pair)
  change_keys.hide_removed(pair)
  unmark_hidden_text(pair)
  unified.hide(pair)
  end_diff_mode(pair)
end

---The line of the left side beside a line of the right one, and the visible filler rows above it.
---@param hunks claude-ide.buffer.Hunk[]
---@param lnum integer first line in the right window
---@param filler integer visible filler rows above it
---@return integer lnum
---@return integer filler
local function beside(hunks, lnum, filler)
  local last ---@type claude-ide.buffer.Hunk?
  for _, hunk in ipairs(hunks) do
    if hunk.new > lnum then
      break
    end
    last = hunk
  end
  if not last then
    return lnum, filler
  end
  local offset = lnum - last.new
  if offset < math.min(last.new_count, last.old_count) then
    return last.old + offset, 0
  elseif offset < last.new_count then
    return last.old + last.old_count, last.new_count - offset
  end
  local line = last.old + last.old_count + offset - last.new_count
  -- Filler rows here are lines there.
  local rows = offset == last.new_count and math.min(filler, math.max(last.old_count - last.new_count, 0))
    or 0
  return math.max(line - rows, 1), 0
end

---Aligns the left window with the right one in diff mode. `:syncbind` could move either.
---@param pair claude-ide.diffview.Pair
function M.align(pair)
  local hunks, left = pair.hunks.list, pair.wins.left
  if not left then
    return
  end
  local view = vim.api.nvim_win_call(pair.wins.right, vim.fn.winsaveview)
  local last = vim.api.nvim_buf_line_count(pair.bufs.left)
  local topline, topfill = beside(hunks, view.topline, view.topfill)
  local lnum = beside(hunks, view.lnum, 0)
  vim.api.nvim_win_call(left, function()
    vim.fn.winrestview({
      topline = math.min(topline, last),
      topfill = topfill,
      leftcol = view.leftcol,
      lnum = math.min(lnum, last),
      col = view.leftcol > 0 and view.col or nil,
    })
  end)
end

---@param pair claude-ide.diffview.Pair
function M.go_to_first_change(pair)
  if pair.wins.left then
    if first_change.show(pair) then
      M.align(pair)
    end
  else
    unified.go_to_first(pair)
  end
end

---Aligns the left window after a change of the texts. A cursor in it stays on its line.
---@param pair claude-ide.diffview.Pair
function M.align_again(pair)
  local left = pair.wins.left
  local cursor = left == vim.api.nvim_get_current_win() and vim.api.nvim_win_get_cursor(left) or nil
  M.align(pair)
  if left and cursor then
    vim.api.nvim_win_set_cursor(left, cursor)
  end
end

---Lets folds, filler rows and removed lines follow the texts. They come and go above the cursor, too: its line stays on its row.
---@param pair claude-ide.diffview.Pair
---@param update fun() changes them
function M.keep_row(pair, update)
  local right = pair.wins.right
  local row = vim.api.nvim_win_call(right, vim.fn.winline)
  update()
  vim.api.nvim_win_call(right, function()
    if pair.wins.left then
      vim.cmd.diffupdate()
    end
    window.scroll_to_row(row)
  end)
  M.align_again(pair)
end

---The text and its hunks have changed.
---@param pair claude-ide.diffview.Pair
function M.refresh(pair)
  mark_hidden_text(pair)
  unified.refresh(pair)
end

return M
