-- Claude's changes by line: the one at a line, the next one.
local M = {}

---A hunk's lines on one side; if it has none there, the lines around its place.
---@param hunk claude-ide.journal.Hunk
---@param side claude-ide.review.Side
---@return integer first 1-based
---@return integer last
---@return integer count 0: no lines on this side
function M.range(hunk, side)
  local first = side == "before" and hunk.before_start or hunk.current_start
  local count = #(side == "before" and hunk.before_lines or hunk.after_lines)
  if count == 0 then
    return math.max(first - 1, 1), first, 0
  end
  return first, first + count - 1, count
end

---@param change claude-ide.journal.Change
---@param lnum integer
---@param side claude-ide.review.Side
---@return claude-ide.journal.Hunk?
function M.at(change, lnum, side)
  local beside
  for _, hunk in ipairs(change.hunks) do
    local first, last, count = M.range(hunk, side)
    if hunk.state ~= "gone" and lnum >= first and lnum <= last then
      if count > 0 then
        return hunk
      end
      beside = beside or hunk
    end
  end
  return beside
end

---The cursor's line for a hunk.
---@param hunk claude-ide.journal.Hunk
---@param side claude-ide.review.Side
---@return integer lnum
function M.place(hunk, side)
  return (M.range(hunk, side))
end

---@param change claude-ide.journal.Change
---@return claude-ide.journal.Hunk[]
function M.remaining(change)
  return vim.tbl_filter(function(hunk)
    return hunk.state ~= "gone"
  end, change.hunks)
end

---@param lnum integer
function M.go(lnum)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { math.min(lnum, vim.api.nvim_buf_line_count(0)), 0 })
  vim.cmd("normal! zv")
end

---Goes to another change in the current window.
---@param change claude-ide.journal.Change?
---@param step 1|-1
---@param side claude-ide.review.Side
---@param wrap boolean
---@return boolean? ok
---@return string? err
function M.jump(change, step, side, wrap)
  local hunks = change and M.remaining(change) or {}
  local here, last = vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_buf_line_count(0)
  local best, edge ---@type integer?, integer?
  for i, hunk in ipairs(hunks) do
    local lnum = math.min(M.place(hunk, side), last)
    if (lnum - here) * step > 0 and (step == -1 or not best) then
      best = lnum
    end
    edge = (step == -1 or i == 1) and lnum or edge
  end
  if not best and wrap then
    best = edge
  end
  if not best then
    return nil,
      edge and "No more changes by Claude in this file." or "No changes by Claude to review in this file."
  end
  M.go(best)
  return true
end

return M
