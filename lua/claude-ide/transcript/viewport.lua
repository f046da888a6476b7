-- Keeps windows in place while a transcript's text changes: the same message stays at the same screen line, a cursor at the end
-- stays at the end, and one on the line that tells of earlier messages stays on it.

local lazy = require("claude-ide.lazy")
local waits = lazy("claude-ide.base.waits")

local M = {}

---@class claude-ide.transcript.SavedView
---@field view vim.fn.winsaveview.ret
---@field cursor claude-ide.transcript.Spot
---@field below integer lines below that spot
---@field top claude-ide.transcript.Spot
---@field screen_line integer of the cursor, from 1
---@field at_head boolean
---@field at_end boolean

---Whether a window's cursor is at the end, and follows it.
---@param win integer
---@return boolean
function M.is_at_end(win)
  local buf = vim.api.nvim_win_get_buf(win)
  return vim.api.nvim_win_get_cursor(win)[1] >= vim.api.nvim_buf_line_count(buf)
end

---The spot of an end of a selection. The last line stands for what is above it: it does not go on with the transcript.
---@param canvas claude-ide.transcript.Canvas
---@param lnum integer
---@return claude-ide.transcript.Spot
---@return integer below lines below it
local function selected_spot(canvas, lnum)
  local spot = canvas:spot(lnum)
  if spot.past and lnum > 1 then
    return canvas:spot(lnum - 1), 1
  end
  return spot, 0
end

---@param canvas claude-ide.transcript.Canvas
---@return table<integer, claude-ide.transcript.SavedView> by window
function M.save(canvas)
  local saved = {}
  local selecting = waits.pending_range(canvas.buf) == "visual" and vim.api.nvim_get_current_win() or nil
  for _, win in ipairs(vim.fn.win_findbuf(canvas.buf)) do
    saved[win] = vim.api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      local cursor, below = canvas:spot(view.lnum), 0
      if win == selecting then
        cursor, below = selected_spot(canvas, view.lnum)
      end
      return {
        view = view,
        cursor = cursor,
        below = below,
        top = canvas:spot(view.topline),
        screen_line = vim.fn.winline(),
        at_head = canvas:is_head(view.lnum),
        at_end = win ~= selecting and M.is_at_end(win),
      }
    end)
  end
  return saved
end

---@class claude-ide.transcript.SavedAnchor start of a selection
---@field spot claude-ide.transcript.Spot
---@field below integer lines below it
---@field col integer

---The start of the selection in this buffer: Neovim does not move it when lines above it change.
---@param canvas claude-ide.transcript.Canvas
---@return claude-ide.transcript.SavedAnchor?
function M.save_anchor(canvas)
  if waits.pending_range(canvas.buf) ~= "visual" then
    return nil
  end
  local place = vim.fn.getpos("v")
  local spot, below = selected_spot(canvas, place[2])
  return { spot = spot, below = below, col = place[3] - 1 }
end

---@param canvas claude-ide.transcript.Canvas
---@param anchor claude-ide.transcript.SavedAnchor
---@param shift integer rows inserted before the first
function M.restore_anchor(canvas, anchor, shift)
  anchor.spot.row = anchor.spot.row + shift
  local lnum, now = canvas:lnum(anchor.spot) + anchor.below, vim.fn.getpos("v")
  if now[2] == lnum and now[3] == anchor.col + 1 then
    return
  end
  -- Only the cursor can be set: swap the ends, and swap them back.
  local view = vim.fn.winsaveview()
  vim.cmd("normal! o")
  vim.api.nvim_win_set_cursor(0, { lnum, anchor.col })
  vim.cmd("normal! o")
  vim.fn.winrestview(view)
end

---The topline that leaves `above` screen lines above a line.
---@param win integer
---@param lnum integer
---@param above integer
---@return integer
local function topline_for(win, lnum, above)
  local top = lnum
  while above > 0 and top > 1 do
    local closed = vim.fn.foldclosed(top - 1)
    local before = closed > 0 and closed or top - 1
    local height = closed > 0 and 1
      or vim.api.nvim_win_text_height(win, { start_row = before - 1, end_row = before - 1 }).all
    if height > above then
      break
    end
    above, top = above - height, before
  end
  return top
end

---Scrolls the last line to the bottom. Without `:normal`: the user may be typing in another window.
---@param win integer current window
local function show_end(win)
  local last = vim.api.nvim_buf_line_count(0)
  local bar = vim.wo[win].winbar ~= "" and 1 or 0
  local topline = topline_for(win, last, vim.api.nvim_win_get_height(win) - 1 - bar)
  vim.fn.winrestview({ lnum = last, col = 0, curswant = 0, topline = topline, leftcol = 0, skipcol = 0 })
end

---@param canvas claude-ide.transcript.Canvas
---@param win integer
---@param saved claude-ide.transcript.SavedView
local function restore(canvas, win, saved)
  local view = saved.view
  if saved.at_end then
    show_end(win)
    return
  elseif saved.at_head then
    vim.fn.winrestview(vim.tbl_extend("force", view, { lnum = 1, topline = 1 }))
    return
  end
  local lnum, topline = canvas:lnum(saved.cursor) + saved.below, canvas:lnum(saved.top)
  if lnum - topline ~= view.lnum - view.topline then
    topline = topline_for(win, lnum, saved.screen_line - 1)
  end
  local now = vim.fn.winsaveview()
  if now.lnum ~= lnum or now.topline ~= topline or now.col ~= view.col or now.skipcol ~= view.skipcol then
    vim.fn.winrestview(vim.tbl_extend("force", view, { lnum = lnum, topline = topline }))
  end
end

---@param canvas claude-ide.transcript.Canvas
---@param saved table<integer, claude-ide.transcript.SavedView>
---@param shift integer rows inserted before the first
function M.restore(canvas, saved, shift)
  for win, view in pairs(saved) do
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == canvas.buf then
      view.cursor.row = view.cursor.row + shift
      view.top.row = view.top.row + shift
      vim.api.nvim_win_call(win, function()
        restore(canvas, win, view)
      end)
    end
  end
end

---@param win integer
function M.go_to_end(win)
  vim.api.nvim_win_call(win, function()
    show_end(win)
  end)
end

return M
