-- Sets a buffer's text by changing only the parts that differ, so that marks, extmarks, jumps, folds, cursors and views elsewhere stay.
local lazy = require("claude-ide.lazy")
local buffer_anchor = lazy("claude-ide.editor.buffer.anchor")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local ide_hunk = lazy("claude-ide.base.hunk")
local native = lazy("claude-ide.library.native")
local option = lazy("claude-ide.base.option")
local window = lazy("claude-ide.base.window")

local M = {}

---A hunk with more lines is replaced as a whole; line by line takes too long.
local MAX_PAIRED_LINES = 400

---@param old string
---@param new string
---@return claude-ide.buffer.Hunk[]?
local function diff(old, new)
  local numbers = native.diff(old, new)
  if not numbers then
    return nil
  end
  local hunks = {}
  for at = 1, #numbers, 4 do
    hunks[#hunks + 1] =
      { old = numbers[at], old_count = numbers[at + 1], new = numbers[at + 2], new_count = numbers[at + 3] }
  end
  return hunks
end

---@param old string[]
---@param new string[]
---@return claude-ide.buffer.Hunk[] top to bottom
function M.hunks(old, new)
  return ide_hunk.compare(old, new, diff)
end

---Maps a line of the old text to the new one. A deleted line maps to the nearest remaining line of its hunk.
---@param hunks claude-ide.buffer.Hunk[]
---@param lnum integer 1-based
---@return integer lnum 1-based
function M.map(hunks, lnum)
  local shift = 0
  for _, hunk in ipairs(hunks) do
    if lnum < hunk.old then
      break
    elseif lnum < hunk.old + hunk.old_count then
      local at = math.min(lnum - hunk.old, math.max(hunk.new_count - 1, 0))
      return math.max(hunk.new + at, 1)
    end
    shift = hunk.new + hunk.new_count - hunk.old - hunk.old_count
  end
  return lnum + shift
end

---Replaces the part of a line that differs. Marks and extmarks on the rest stay.
---@param buf integer
---@param row integer 0-based
---@param old string
---@param new string
local function replace_line(buf, row, old, new)
  if old == new then
    return
  end
  local shorter = math.min(#old, #new)
  local head = 0
  while head < shorter and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  local tail = 0
  while tail < shorter - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  -- Not within a character: back to its first byte, on both sides.
  while head > 0 and (old:byte(head + 1) or 0) >= 0x80 do
    head = head - 1
  end
  while tail > 0 and old:byte(#old - tail + 1) >= 0x80 do
    tail = tail - 1
  end
  vim.api.nvim_buf_set_text(buf, row, head, row, #old - tail, { new:sub(head + 1, #new - tail) })
end

---@param buf integer
---@param hunk claude-ide.buffer.Hunk
---@param old string[]
---@param new string[]
local function apply_hunk(buf, hunk, old, new)
  local row = hunk.old - 1
  local paired = math.min(hunk.old_count, hunk.new_count)
  if paired > MAX_PAIRED_LINES then
    paired = 0
  end
  if hunk.old_count ~= hunk.new_count or paired == 0 then
    local rest = {}
    for i = paired, hunk.new_count - 1 do
      rest[#rest + 1] = new[hunk.new + i]
    end
    vim.api.nvim_buf_set_lines(buf, row + paired, row + hunk.old_count, true, rest)
  end
  for i = paired - 1, 0, -1 do
    replace_line(buf, row + i, old[hunk.old + i], new[hunk.new + i])
  end
end

---@class claude-ide.buffer.Place positions that the text change would move, mapped to the new text
---@field views table<integer, table> by window
---@field rows table<integer, integer> the cursor's row in windows with diff mode
---@field folds table<integer, claude-ide.buffer.Fold[]> closed folds with changes, by window
---@field marks { name: string, lnum: integer, col: integer }[]
---@field anchor? { lnum: integer, col: integer } of a Visual selection

---@class claude-ide.buffer.Fold 1-based lines of the new text
---@field first integer
---@field last integer
---@field at integer a line within

---The current window's closed folds with changes. Neovim 0.11 splits and opens those.
---@param hunks claude-ide.buffer.Hunk[]
---@return claude-ide.buffer.Fold[]
local function closed_folds(hunks)
  local folds, known = {}, nil ---@type claude-ide.buffer.Fold[], integer?
  for _, hunk in ipairs(hunks) do
    local at = math.max(hunk.old, 1)
    local first, last = vim.fn.foldclosed(at), vim.fn.foldclosedend(at)
    if first > 0 and first ~= known then
      known = first
      folds[#folds + 1] =
        { first = M.map(hunks, first), last = M.map(hunks, last + 1) - 1, at = M.map(hunks, at) }
    end
  end
  return folds
end

---@param folds claude-ide.buffer.Fold[]
local function close_folds(folds)
  if vim.wo.foldmethod == "diff" then
    return vim.cmd.diffupdate() -- which folds anew; setting 'foldmethod' would close those that the user has opened
  elseif #folds > 0 and vim.wo.foldmethod ~= "manual" then
    vim.cmd("noautocmd let &l:foldmethod = &l:foldmethod") -- recomputes the folds
  end
  for _, fold in ipairs(folds) do
    for _ = 1, math.max(vim.fn.foldlevel(fold.at), 1) do
      if vim.fn.foldclosed(fold.at) == fold.first and vim.fn.foldclosedend(fold.at) == fold.last then
        break
      elseif vim.wo.foldmethod == "manual" then
        vim.cmd(("silent! %d,%dfold"):format(fold.first, fold.last))
      else
        vim.cmd(("silent! %dfoldclose"):format(fold.at))
      end
    end
  end
end

---@param buf integer
---@param hunks claude-ide.buffer.Hunk[]
---@return claude-ide.buffer.Place
local function remember(buf, hunks)
  local place = { views = {}, rows = {}, folds = {}, marks = {} }
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local view = vim.api.nvim_win_call(win, function()
      place.folds[win] = closed_folds(hunks)
      place.rows[win] = vim.wo.foldmethod == "diff" and vim.fn.winline() or nil
      return vim.fn.winsaveview()
    end)
    local lnum, above = M.map(hunks, view.lnum), view.lnum - view.topline
    view.topline = M.map(hunks, view.topline)
    if lnum < view.topline or lnum >= view.topline + vim.api.nvim_win_get_height(win) then
      view.topline = math.max(lnum - above, 1)
    end
    view.lnum = lnum
    place.views[win] = view
  end
  local anchor = buffer_anchor.get(buf)
  if anchor then
    place.anchor = { lnum = M.map(hunks, anchor.lnum), col = anchor.col }
  end
  local marks = vim.fn.getmarklist(buf)
  for _, mark in ipairs(vim.fn.getmarklist()) do
    if mark.pos[1] == buf and mark.mark:find("^'%u$") then
      marks[#marks + 1] = mark
    end
  end
  for _, mark in ipairs(marks) do
    if mark.mark:find("^'[%a<>\"]$") then
      place.marks[#place.marks + 1] =
        { name = mark.mark:sub(2), lnum = M.map(hunks, mark.pos[2]), col = mark.pos[3] - 1 }
    end
  end
  return place
end

---@param buf integer
---@param place claude-ide.buffer.Place
local function put_back(buf, place)
  local last = vim.api.nvim_buf_line_count(buf)
  for _, mark in ipairs(place.marks) do
    local lnum = math.min(mark.lnum, last)
    local at = vim.api.nvim_buf_get_mark(buf, mark.name)
    if at[1] ~= lnum then
      pcall(vim.api.nvim_buf_set_mark, buf, mark.name, lnum, math.max(mark.col, 0), {})
    end
  end
  for win, view in pairs(place.views) do
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
      vim.api.nvim_win_call(win, function()
        close_folds(place.folds[win])
        vim.fn.winrestview(view)
        if place.rows[win] then
          window.scroll_to_row(place.rows[win]) -- other folds
        end
      end)
    end
  end
  if place.anchor then
    buffer_anchor.set(place.anchor)
  end
end

---Whether changes join one undo step.
local is_joined = false

---Closes the open undo block, so that changes before and after are undone separately.
---@param buf integer
function M.break_undo(buf)
  if is_joined then
    return
  end
  vim.api.nvim_buf_call(buf, function()
    vim.cmd("noautocmd let &g:undolevels = &g:undolevels")
  end)
end

---Runs changes of a buffer's text that are undone together.
---@generic T
---@param buf integer
---@param run fun(): T?, string?, integer?
---@return T?
---@return string?
---@return integer?
function M.as_one_step(buf, run)
  M.break_undo(buf)
  is_joined = true
  local ok, result, err, left = pcall(run)
  is_joined = false
  M.break_undo(buf)
  if not ok then
    error(result, 0)
  end
  return result, err, left
end

---Sets the whole text, as one undo step. 'modified' ends up as the change sets it.
---@param buf integer loaded and modifiable
---@param new string[]
---@param empty boolean the new text has no lines
---@return boolean changed
function M.apply(buf, new, empty)
  local old = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local hunks = M.hunks(old, new)
  local was_empty = #hunks == 0 and buffer_format.of(buf).empty
  if #hunks == 0 and was_empty == empty then
    return false
  end
  M.break_undo(buf)
  if #hunks == 0 or empty then
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, empty and {} or new)
  else
    local place = remember(buf, hunks)
    for i = #hunks, 1, -1 do
      apply_hunk(buf, hunks[i], old, new)
    end
    put_back(buf, place)
  end
  M.break_undo(buf)
  return true
end

---@param buf integer
---@param format claude-ide.buffer.Format
function M.set_format(buf, format)
  local bo = vim.bo[buf]
  option.during("eventignore", "all", function()
    if not bo.binary then
      bo.fileformat, bo.bomb = bytes.fileformat(format), format.bom
    end
    if bo.endofline ~= format.final then
      bo.endofline = format.final
    end
    if bo.endoffile ~= (format.endoffile or false) then
      bo.endoffile = format.endoffile or false
    end
  end)
end

---Sets a buffer's text and format, even with 'nomodifiable' or 'readonly'.
---@param buf integer
---@param lines string[]
---@param format claude-ide.buffer.Format
function M.set_text(buf, lines, format)
  local bo, during = vim.bo[buf], option.during
  local modifiable, readonly = bo.modifiable, bo.readonly
  during("eventignore", "all", function()
    bo.modifiable, bo.readonly = true, false
  end)
  local ok, err = pcall(M.apply, buf, lines, format.empty)
  if ok then
    M.set_format(buf, format)
  end
  during("eventignore", "all", function()
    bo.modifiable, bo.readonly = modifiable, readonly
  end)
  if not ok then
    error(err, 0)
  end
end

return M
