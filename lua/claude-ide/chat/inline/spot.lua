-- Tracks lines that Claude works on while the user edits the buffer, and shows progress there.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local highlights = lazy("claude-ide.ui.highlights")
local patch = lazy("claude-ide.editor.buffer.patch")
local width = lazy("claude-ide.base.width")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.inline")
local FRAMES = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" }
local FRAME_MS = 120

---@class claude-ide.inline.Spot
---@field buf integer
---@field mark integer extmark of the lines
---@field text string[] the buffer as the lines were last known in it without the extmark, which a reload leaves where it was
---@field first integer line in that text
---@field last integer
---@field autocmd integer
---@field words? string progress text; nil: none
---@field since integer

---@type table<claude-ide.inline.Spot, true>
local spinning = {}
local timer = timers.new("turn the signs of inline edits")

---@param spot claude-ide.inline.Spot
---@return integer? row first line, 0-based
---@return integer? end_row exclusive
local function rows(spot)
  if not vim.api.nvim_buf_is_loaded(spot.buf) then
    return nil
  end
  local at = vim.api.nvim_buf_get_extmark_by_id(spot.buf, namespace, spot.mark, { details = true })
  local row, details = at[1], at[3] or {}
  local last = details.end_row
  if not row or not last or details.invalid then
    return nil
  end
  return row, math.min(last, vim.api.nvim_buf_line_count(spot.buf))
end

---@param spot claude-ide.inline.Spot
---@param row integer
---@param end_row integer
local function mark(spot, row, end_row)
  local text = nil ---@type string?
  if spot.words then
    local passed = vim.uv.now() - spot.since
    local frame = FRAMES[math.floor(passed / FRAME_MS) % #FRAMES + 1]
    local words = width.in_a_line(spot.words, 50)
    text = (" %s Claude: %s · %d s"):format(frame, words, math.floor(passed / 1000))
  end
  spot.mark = vim.api.nvim_buf_set_extmark(spot.buf, namespace, row, 0, {
    id = spot.mark,
    end_row = end_row,
    end_col = 0,
    -- Lines inserted before the first belong to it: a merge keeps them. The end is at the start of the next line, where no change of the
    -- last line moves it.
    right_gravity = false,
    end_right_gravity = false,
    invalidate = true,
    undo_restore = true,
    strict = false,
    virt_text = text and { { text, "ClaudeInlineWorking" } } or nil,
    virt_text_pos = text and "eol" or nil,
    hl_mode = text and "combine" or nil,
  })
end

local function turn()
  for spot in pairs(spinning) do
    local row, end_row = rows(spot)
    if row and end_row and #vim.fn.win_findbuf(spot.buf) > 0 then
      mark(spot, row, end_row)
    end
  end
  if not next(spinning) then
    timer:stop()
  end
end

---@param spot claude-ide.inline.Spot
---@param words? string progress text; nil: none
function M.say(spot, words)
  spot.words, spot.since = words, vim.uv.now()
  spinning[spot] = words and true or nil
  local row, end_row = rows(spot)
  if row and end_row then
    mark(spot, row, end_row)
  end
  if words and not timer:is_active() then
    timer:every(FRAME_MS, turn)
  elseif not next(spinning) then
    timer:stop()
  end
end

---Takes note of the lines and what they are among.
---@param spot claude-ide.inline.Spot
---@param first integer
---@param last integer
function M.hold(spot, first, last)
  spot.text, spot.first, spot.last = vim.api.nvim_buf_get_lines(spot.buf, 0, -1, false), first, last
end

---Finds the lines again in a buffer that was read anew, or of which all lines were replaced, as some formatters do.
---@param spot claude-ide.inline.Spot
local function find_again(spot)
  local now = vim.api.nvim_buf_get_lines(spot.buf, 0, -1, false)
  local hunks = patch.hunks(spot.text, now)
  local is_gone = vim.iter(hunks):any(function(hunk)
    return hunk.new_count == 0 and hunk.old <= spot.first and spot.last < hunk.old + hunk.old_count
  end)
  vim.api.nvim_buf_del_extmark(spot.buf, namespace, spot.mark)
  if not is_gone then
    mark(spot, patch.map(hunks, spot.first) - 1, patch.map(hunks, spot.last))
  end
end

---@param buf integer
---@param first integer
---@param last integer
---@return claude-ide.inline.Spot
function M.new(buf, first, last)
  highlights.link({ ClaudeInlineWorking = "DiagnosticVirtualTextInfo" })
  local spot = { buf = buf, since = vim.uv.now() } ---@type claude-ide.inline.Spot
  M.hold(spot, first, last)
  mark(spot, first - 1, last)
  spot.autocmd = vim.api.nvim_create_autocmd("BufReadPost", {
    buffer = buf,
    desc = "Claude Code: find the lines of an edit again",
    callback = function()
      find_again(spot)
    end,
  })
  return spot
end

---The current lines.
---@param spot claude-ide.inline.Spot
---@return integer? first nil: deleted
---@return integer? last
function M.lines(spot)
  local row, end_row = rows(spot)
  if not row and vim.api.nvim_buf_is_loaded(spot.buf) then
    find_again(spot)
    row, end_row = rows(spot)
  end
  if not row or not end_row or end_row <= row then
    return nil
  end
  return row + 1, end_row
end

---@param spot claude-ide.inline.Spot
function M.remove(spot)
  spinning[spot] = nil
  pcall(vim.api.nvim_del_autocmd, spot.autocmd)
  if vim.api.nvim_buf_is_valid(spot.buf) then
    pcall(vim.api.nvim_buf_del_extmark, spot.buf, namespace, spot.mark)
  end
  if not next(spinning) then
    timer:stop()
  end
end

return M
