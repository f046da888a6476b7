-- Scrolls a diff to its first change, on both sides, when it opens.
local lazy = require("claude-ide.lazy")
local changed_words = lazy("claude-ide.ui.diffview.changed_words")

local M = {}

---Whether diff mode shows a change; with `iwhite` etc. in 'diffopt' it hides some.
---@param win integer of the right side, in diff mode
---@param hunk claude-ide.buffer.Hunk
---@return boolean
function M.is_seen(win, hunk)
  return vim.api.nvim_win_call(win, function()
    local last = vim.api.nvim_buf_line_count(0)
    if hunk.old_count > hunk.new_count and vim.fn.diff_filler(hunk.new + hunk.new_count) > 0 then
      return true
    end
    for lnum = hunk.new, math.min(hunk.new + hunk.new_count - 1, last) do
      if vim.fn.diff_hlID(lnum, 1) > 0 or vim.fn.diff_filler(lnum) > 0 then
        return true
      end
    end
    return false
  end)
end

---@param pair claude-ide.diffview.Pair
---@return claude-ide.buffer.Hunk?
local function first_of(pair)
  if vim.wo[pair.wins.right].diff then
    for _, hunk in ipairs(pair.hunks.list) do
      if M.is_seen(pair.wins.right, hunk) then
        return hunk
      end
    end
  end
  return pair.hunks.list[1]
end

---Cursor position for a change. The column is 0 unless the change would be out of sight.
---@param hunks claude-ide.diffview.Differences
---@param win integer of the new text
---@param hunk claude-ide.buffer.Hunk
---@param rows integer virtual rows of removed lines above the line
---@return integer lnum
---@return integer column bytes
function M.place(hunks, win, hunk, rows)
  local buf = hunks.buf
  local last, height = vim.api.nvim_buf_line_count(buf), vim.api.nvim_win_get_height(win)
  local lnum = math.min(hunk.new, last)
  if hunk.new_count == 0 then
    -- From the line above, a long block of removed lines is visible from its beginning.
    return hunk.new > 1 and rows > height / 2 and lnum == hunk.new and lnum - 1 or lnum, 0
  elseif hunk.old_count == 0 then
    return lnum, 0
  end
  local line = vim.api.nvim_buf_get_lines(buf, lnum - 1, lnum, true)[1]
  local column = changed_words.common(hunks.old[hunk.old], line)
  local info = vim.fn.getwininfo(win)[1]
  local room = (info.width - info.textoff) * (vim.wo[win].wrap and math.max(height / 2, 1) or 1)
  local before = line:sub(1, column):gsub("%z", "\n") -- a NUL would make it a Blob
  local beyond = vim.fn.strdisplaywidth(before) >= room - 1
  return lnum, beyond and math.min(column, math.max(#line - 1, 0)) or 0
end

---Scrolls to a position, including removed lines above it.
---@param win integer
---@param lnum integer
---@param column integer
---@param rows integer virtual rows above the line
---@param above boolean the change begins below the line
function M.reveal(win, lnum, column, rows, above)
  vim.api.nvim_win_call(win, function()
    vim.api.nvim_win_set_cursor(win, { lnum, column })
    vim.cmd("normal! zvzz")
    local height = vim.api.nvim_win_get_height(win)
    if above then
      vim.fn.winrestview({ topline = lnum, topfill = 0 })
    elseif rows > 0 and (lnum == 1 or rows > vim.fn.winline() - 2) then
      vim.fn.winrestview({ topline = lnum, topfill = math.min(rows, height - 2) })
    end
  end)
end

---Shows the first change in two windows.
---@param pair claude-ide.diffview.Pair
---@return boolean shown
function M.show(pair)
  local wins, hunk = pair.wins, first_of(pair)
  for _, win in ipairs({ wins.left, wins.right }) do
    vim.api.nvim_win_set_cursor(win, { 1, 0 })
  end
  if not hunk then
    return false
  end
  local missing = math.max(hunk.old_count - hunk.new_count, 0)
  local lnum, column = M.place(pair.hunks, wins.right, hunk, missing)
  local line = math.min(hunk.old, vim.api.nvim_buf_line_count(pair.bufs.left))
  M.reveal(wins.left, line, 0, 0, false)
  -- The right side last: the left one is aligned to it.
  M.reveal(wins.right, lnum, column, hunk.new_count == 0 and missing or 0, lnum < hunk.new)
  return true
end

return M
