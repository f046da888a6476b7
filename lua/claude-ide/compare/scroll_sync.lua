-- Keeps two windows without diff mode on the same lines: scrolling, cursor and folds of one follow the other.
-- Neovim's own 'scrollbind' counts the rows of all the text above, with every step; here a step takes what its hunks take.
local M = {}

---@class claude-ide.compare.ScrollSync
---@field pair claude-ide.compare.Pair
---@field seen table<claude-ide.ui.Side, string> position of each window, as it was left here
---@field group integer augroup

local OTHER = { now = "proposal", proposal = "now" }

---@class claude-ide.compare.Position first line in a window, and the rows of filler above it that are in sight
---@field topline integer
---@field topfill integer

---@param hunk claude-ide.buffer.Hunk
---@param side claude-ide.ui.Side
---@return integer first line on this side
---@return integer count
---@return integer first_there on the other one
---@return integer count_there
local function lines_of(hunk, side)
  if side == "now" then
    return hunk.old, hunk.old_count, hunk.new, hunk.new_count
  end
  return hunk.new, hunk.new_count, hunk.old, hunk.old_count
end

---The position in the other window that stands beside one.
---@param hunks claude-ide.buffer.Hunk[]
---@param side claude-ide.ui.Side
---@param at claude-ide.compare.Position
---@param filler fun(more: integer): integer rows that stand for lines that only the other side has
---@return claude-ide.compare.Position
local function beside(hunks, side, at, filler)
  local last ---@type claude-ide.buffer.Hunk?
  for _, hunk in ipairs(hunks) do
    if lines_of(hunk, side) > at.topline then
      break
    end
    last = hunk
  end
  if not last then
    return { topline = at.topline, topfill = at.topfill }
  end
  local first, count, first_there, count_there = lines_of(last, side)
  local offset = at.topline - first
  if offset < math.min(count, count_there) then
    return { topline = first_there + offset, topfill = 0 }
  elseif offset < count then
    local missing = filler(count - count_there)
    return { topline = first_there + count_there, topfill = missing > 0 and count - offset or 0 }
  end
  local line = first_there + count_there + offset - count
  -- Rows of filler here are lines there.
  local rows = offset == count and math.min(at.topfill, filler(count_there - count)) or 0
  return { topline = math.max(line - rows, 1), topfill = 0 }
end

---The same for windows that are drawn here, which have no filler for very many lines.
---@param hunks claude-ide.buffer.Hunk[]
---@param side claude-ide.ui.Side
---@param at claude-ide.compare.Position
---@return claude-ide.compare.Position
function M.beside(hunks, side, at)
  return beside(hunks, side, at, require("claude-ide.compare.shape").filler)
end

---The line in the other window that stands beside one.
---@param hunks claude-ide.buffer.Hunk[]
---@param side claude-ide.ui.Side
---@param lnum integer
---@return integer
local function line_beside(hunks, side, lnum)
  return M.beside(hunks, side, { topline = lnum, topfill = 0 }).topline
end

---@param win integer
---@return string
local function position(win)
  local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  return ("%d %d %d"):format(view.topline, view.topfill, view.leftcol)
end

---The side that was moved: the one of the cursor before the other.
---@param self claude-ide.compare.ScrollSync
---@return claude-ide.ui.Side?
local function moved(self)
  local current = vim.api.nvim_get_current_win()
  local here = current == self.pair.wins.now and "now" or current == self.pair.wins.proposal and "proposal"
  for _, side in ipairs(here and { here, OTHER[here] } or { "proposal", "now" }) do
    if position(self.pair.wins[side]) ~= self.seen[side] then
      return side
    end
  end
  return here or nil
end

---@param self claude-ide.compare.ScrollSync
local function stands(self)
  local wins = self.pair.wins
  return wins.now
    and vim.api.nvim_win_is_valid(wins.now)
    and vim.api.nvim_win_is_valid(wins.proposal)
    and not self.pair.hunks.scheduled
    and not require("claude-ide.compare.shape").is_emptied(self.pair.hunks)
end

---@param self claude-ide.compare.ScrollSync
local function follow(self)
  local side = stands(self) and moved(self)
  if not side then
    return
  end
  local from, to = self.pair.wins[side], self.pair.wins[OTHER[side]]
  local hunks = self.pair.hunks.list
  local view = vim.api.nvim_win_call(from, vim.fn.winsaveview)
  local at = M.beside(hunks, side, view --[[@as claude-ide.compare.Position]])
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(to))
  vim.api.nvim_win_call(to, function()
    vim.fn.winrestview({
      topline = math.min(at.topline, last),
      topfill = at.topfill,
      leftcol = view.leftcol,
      lnum = math.min(line_beside(hunks, side, view.lnum), last),
      col = view.leftcol > 0 and view.col or nil,
    })
  end)
  self.seen = { now = position(self.pair.wins.now), proposal = position(self.pair.wins.proposal) }
end

---@param self claude-ide.compare.ScrollSync
local function follow_folds(self)
  local current = vim.api.nvim_get_current_win()
  local side = current == self.pair.wins.now and "now" or current == self.pair.wins.proposal and "proposal"
  if side and stands(self) then
    local to = self.pair.wins[OTHER[side]]
    local lnum = line_beside(self.pair.hunks.list, side, vim.api.nvim_win_get_cursor(current)[1])
    local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(to))
    require("claude-ide.compare.folds").follow(current, to, math.min(lnum, last))
  end
end

---@param pair claude-ide.compare.Pair with both windows
function M.start(pair)
  local buf = pair.bufs.proposal
  local group = vim.api.nvim_create_augroup("claude-ide.compare.scroll_sync." .. buf, { clear = true })
  local self = { pair = pair, seen = {}, group = group }
  pair.sync = self
  vim.api.nvim_create_autocmd({ "WinScrolled", "CursorMoved", "CursorMovedI" }, {
    group = group,
    desc = "Claude Code: the sides of a diff go together",
    callback = function()
      follow(self)
    end,
  })
  vim.api.nvim_create_autocmd("SafeState", {
    group = group,
    desc = "Claude Code: the sides of a diff open and close their folds together",
    callback = function()
      follow_folds(self)
    end,
  })
end

---Brings the sides together now.
---@param pair claude-ide.compare.Pair
---@param side claude-ide.ui.Side that the other one is to follow
function M.align(pair, side)
  local self = pair.sync
  if self and stands(self) then
    self.seen = {}
    self.seen[OTHER[side]] = position(pair.wins[OTHER[side]])
    follow(self)
  end
end

---Brings the present text's window to where the proposal's is, in diff mode. `:syncbind` would move either of them.
---@param pair claude-ide.compare.Pair with both windows
function M.align_diff_mode(pair)
  local hunks, now = pair.hunks.list, pair.wins.now
  local view = vim.api.nvim_win_call(pair.wins.proposal, vim.fn.winsaveview)
  local last = vim.api.nvim_buf_line_count(pair.bufs.now)
  local at = beside(hunks, "proposal", view --[[@as claude-ide.compare.Position]], function(more)
    return math.max(more, 0)
  end)
  vim.api.nvim_win_call(now, function()
    vim.fn.winrestview({
      topline = math.min(at.topline, last),
      topfill = at.topfill,
      leftcol = view.leftcol,
      lnum = math.min(line_beside(hunks, "proposal", view.lnum), last),
      col = view.leftcol > 0 and view.col or nil,
    })
  end)
end

---@param pair claude-ide.compare.Pair
function M.stop(pair)
  local self = pair.sync
  if self then
    pair.sync = nil
    vim.api.nvim_del_augroup_by_id(self.group)
  end
end

return M
