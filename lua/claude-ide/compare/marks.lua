-- Shows the differences of texts that are too much for Neovim's diff mode, in two windows that look and move as in diff mode:
-- lines and words highlighted, filler where a side has no line, equal text folded away.
--
-- Measured on 0.10 to 0.12: diff mode takes time by the lines of a text for each of its hunks (2 × 50,000 lines with 500
-- hunks: 0.25 to 0.5 s), and with `inline:` in 'diffopt' the first redraw takes time by the lines of a hunk (5,000 lines:
-- 220 ms, 50,000: 5 s).
local M = {}

local MAX_BYTES = 4 * 1024 * 1024
local MAX_INLINE_LINES = 2000

---What diff mode takes, in milliseconds on a small machine: so much for a line, so much for a line of each hunk, at most.
local MS_PER_LINE, MS_PER_LINE_AND_HUNK, MAX_MS = 0.6e-3, 3.3e-6, 12

---Columns of the longest row of filler.
local FILLER_COLUMNS = 500

---Hunks of more lines are not looked at word by word.
local MAX_WORD_LINES = 60

local namespace = vim.api.nvim_create_namespace("claude-ide.compare.marks")

---@param hunks claude-ide.buffer.Hunk[]
---@param lines integer of both sides
---@param bytes integer of both sides
---@return boolean
function M.needed(hunks, lines, bytes)
  if bytes > MAX_BYTES or lines * (MS_PER_LINE + #hunks * MS_PER_LINE_AND_HUNK) > MAX_MS then
    return true
  end
  if not vim.o.diffopt:find("inline:", 1, true) then
    return false
  end
  for _, hunk in ipairs(hunks) do
    if hunk.old_count + hunk.new_count > MAX_INLINE_LINES then
      return true
    end
  end
  return false
end

---@param buf integer
---@param first integer 1-based
---@param count integer
---@param group string
local function mark_lines(buf, first, count, group)
  if count > 0 then
    vim.api.nvim_buf_set_extmark(buf, namespace, first - 1, 0, {
      end_row = first - 1 + count,
      hl_group = group,
      hl_eol = true,
      strict = false,
      priority = 20,
      undo_restore = false,
    })
  end
end

---@param win integer
---@return table[] row
local function filler_row(win)
  local shown = ("," .. vim.wo[win].fillchars):match(",diff:([^,]+)") or "-"
  return { { shown:rep(FILLER_COLUMNS), "ClaudeDiffFiller" } }
end

---@param pair claude-ide.compare.Pair
---@param side claude-ide.ui.Side
---@param before integer 1-based; the filler goes above this line
---@param more integer
local function fill(pair, side, before, more)
  local count = require("claude-ide.compare.shape").filler(more)
  if count == 0 then
    return
  end
  local buf, filler = pair.bufs[side], {}
  local row = filler_row(pair.wins[side])
  for i = 1, count do
    filler[i] = row
  end
  local last = vim.api.nvim_buf_line_count(buf)
  vim.api.nvim_buf_set_extmark(buf, namespace, math.min(before, last) - 1, 0, {
    virt_lines = filler,
    virt_lines_above = before <= last,
    undo_restore = false,
  })
end

---@param pair claude-ide.compare.Pair
---@param hunk claude-ide.buffer.Hunk
local function mark_words(pair, hunk)
  if hunk.old_count + hunk.new_count > MAX_WORD_LINES then
    return
  end
  local words = require("claude-ide.compare.changed_words")
  local now, proposal = pair.bufs.now, pair.bufs.proposal
  local old = vim.api.nvim_buf_get_lines(now, hunk.old - 1, hunk.old - 1 + hunk.old_count, false)
  local new = vim.api.nvim_buf_get_lines(proposal, hunk.new - 1, hunk.new - 1 + hunk.new_count, false)
  ---@param buf integer
  ---@param row integer
  ---@param spans claude-ide.compare.Span[]
  local function mark(buf, row, spans)
    for _, span in ipairs(spans) do
      vim.api.nvim_buf_set_extmark(buf, namespace, row, span[1], {
        end_col = span[2],
        hl_group = "ClaudeDiffChangedWord",
        strict = false,
        priority = 21,
        undo_restore = false,
      })
    end
  end
  for i, j in pairs(words.pair(old, new)) do
    local old_spans, new_spans = words.between(old[i], new[j])
    mark(now, hunk.old + i - 2, old_spans)
    mark(proposal, hunk.new + j - 2, new_spans)
  end
end

---@param pair claude-ide.compare.Pair
---@param hunk claude-ide.buffer.Hunk
local function draw(pair, hunk)
  local changed = math.min(hunk.old_count, hunk.new_count)
  local now, proposal = pair.bufs.now, pair.bufs.proposal
  mark_lines(now, hunk.old, changed, "ClaudeDiffChangedLine")
  mark_lines(now, hunk.old + changed, hunk.old_count - changed, "ClaudeDiffRemovedLine")
  mark_lines(proposal, hunk.new, changed, "ClaudeDiffChangedLine")
  mark_lines(proposal, hunk.new + changed, hunk.new_count - changed, "ClaudeDiffAddedLine")
  fill(pair, "now", hunk.old + hunk.old_count, hunk.new_count - hunk.old_count)
  fill(pair, "proposal", hunk.new + hunk.new_count, hunk.old_count - hunk.new_count)
  if changed > 0 then
    mark_words(pair, hunk)
  end
end

---The hunks have changed.
---@param pair claude-ide.compare.Pair
function M.refresh(pair)
  for _, buf in pairs(pair.bufs) do
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
  local turn = {}
  pair.drawing = turn
  require("claude-ide.compare.nearest_first").draw(pair.hunks, pair.wins.proposal, function(hunk)
    draw(pair, hunk)
  end, function()
    return pair.drawing == turn
      and vim.iter(pair.wins):all(function(_, win)
        return vim.api.nvim_win_is_valid(win)
      end)
  end)
end

---@param pair claude-ide.compare.Pair with both windows
function M.show(pair)
  for _, win in pairs(pair.wins) do
    if not vim.o.diffopt:find("followwrap", 1, true) then
      vim.wo[win][0].wrap = false
    end
  end
  M.refresh(pair)
  require("claude-ide.compare.folds").show(pair)
  require("claude-ide.compare.scroll_sync").start(pair)
end

---@param pair claude-ide.compare.Pair
function M.hide(pair)
  if not pair.drawing then
    return
  end
  pair.drawing = nil
  require("claude-ide.compare.scroll_sync").stop(pair)
  require("claude-ide.compare.folds").hide(pair)
  for side, buf in pairs(pair.bufs) do
    if vim.api.nvim_buf_is_valid(buf) then
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
    local win = pair.wins[side]
    if win and vim.api.nvim_win_is_valid(win) then
      vim.wo[win][0].wrap = vim.go.wrap
    end
  end
end

return M
