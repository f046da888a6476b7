-- Two texts compared on the screen: in Neovim's diff mode where there are two windows, else as one text (unified.lua).
-- Callers create and place the windows.
local M = {}

---@class claude-ide.diffview.Pair
---@field bufs table<claude-ide.diffview.Side, integer>
---@field wins table<claude-ide.diffview.Side, integer> `now` is missing where the layout has no window for it
---@field hunks claude-ide.diffview.Differences
---@field without_keys? boolean the caller maps the keys of diff mode, where that is missing
---@field marking? table what hidden_text.lua marks now
---@field unified? claude-ide.diffview.Unified while it is shown as one text
---@field unmap_keys? fun() takes the keys of diff mode away again

local MAX_BYTES = 4 * 1024 * 1024
local MAX_INLINE_LINES = 2000

---What diff mode takes, in milliseconds on a small machine: so much for a line, so much for a line of each hunk, at most.
local MS_PER_LINE, MS_PER_LINE_AND_HUNK, MAX_MS = 0.6e-3, 3.3e-6, 12

---Whether two texts can be shown in one window only: diff mode would hold Neovim up, or nothing is left of one of them.
---Measured on 0.10 to 0.12: diff mode takes time by the lines of a text for each of its hunks (2 × 50,000 lines with 500
---hunks: 0.25 to 0.5 s), and with `inline:` in 'diffopt' the first redraw takes time by the lines of a hunk (5,000 lines:
---220 ms, 50,000: 5 s).
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

---Colours the groups of diff mode in a window as those of its side.
---@param pair claude-ide.diffview.Pair
local function colour(pair)
  for side, win in pairs(pair.wins) do
    local groups = require("claude-ide.diffview.colours").of_side(side)
    local given = vim.wo[win].winhighlight
    if given ~= "" then
      table.insert(groups, 1, given)
    end
    vim.wo[win][0].winhighlight = table.concat(groups, ",")
  end
end

---@param pair claude-ide.diffview.Pair
function M.compare(pair)
  require("claude-ide.diffview.colours").define()
  if pair.wins.now then
    colour(pair)
    -- In the order in which they were compared here: the other way round, other lines may belong together.
    for _, side in ipairs({ "now", "proposal" }) do
      vim.api.nvim_win_call(pair.wins[side], vim.cmd.diffthis)
    end
  else
    require("claude-ide.diffview.unified").show(pair)
  end
  require("claude-ide.diffview.hidden_text").refresh(pair)
  if not pair.without_keys then
    require("claude-ide.diffview.change_keys").map(pair)
  end
end

---Takes everything out of the windows and buffers that comparing has put there.
---@param pair claude-ide.diffview.Pair
function M.end_comparing(pair)
  require("claude-ide.diffview.change_keys").unmap(pair)
  require("claude-ide.diffview.hidden_text").hide(pair)
  require("claude-ide.diffview.unified").hide(pair)
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
end

---Which line of the present text stands beside one of the proposal, and how many rows of filler above it are in sight.
---@param hunks claude-ide.buffer.Hunk[]
---@param lnum integer first line in the proposal's window
---@param filler integer rows of filler above it that are in sight
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
  -- Rows of filler here are lines there.
  local rows = offset == last.new_count and math.min(filler, math.max(last.old_count - last.new_count, 0))
    or 0
  return math.max(line - rows, 1), 0
end

---Brings the present text's window to where the proposal's is, in diff mode. `:syncbind` would move either of them.
---@param pair claude-ide.diffview.Pair
function M.align(pair)
  local hunks, now = pair.hunks.list, pair.wins.now
  if not now then
    return
  end
  local view = vim.api.nvim_win_call(pair.wins.proposal, vim.fn.winsaveview)
  local last = vim.api.nvim_buf_line_count(pair.bufs.now)
  local topline, topfill = beside(hunks, view.topline, view.topfill)
  local lnum = beside(hunks, view.lnum, 0)
  vim.api.nvim_win_call(now, function()
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
  if pair.wins.now then
    if require("claude-ide.diffview.first_change").show(pair) then
      M.align(pair)
    end
  else
    require("claude-ide.diffview.unified").go_to_first(pair)
  end
end

---The text, and with it the hunks, have changed.
---@param pair claude-ide.diffview.Pair
function M.refresh(pair)
  require("claude-ide.diffview.hidden_text").refresh(pair)
  require("claude-ide.diffview.unified").refresh(pair)
end

return M
