-- Where the windows of two texts are opened: in their own tab page, among the user's windows, or in floats.
-- A place handles windows and sizes, not their content and look.
local M = {}

---@alias claude-ide.diffview.PlaceName "tab"|"current"|"float"

---@class claude-ide.diffview.Place
---@field shared boolean it uses the user's tab page, which has room for one diff
---@field open fun(view: claude-ide.diffview.View) opens and enters the proposal's window
---@field open_now fun(view: claude-ide.diffview.View, direction: "left"|"above"): integer opens the current text's window
---@field fit fun(view: claude-ide.diffview.View) sizes the windows, after they were opened or the screen was resized
---@field close fun(view: claude-ide.diffview.View) closes the windows

---Opens or closes windows without resizing others.
---@generic T
---@param fn fun(): T
---@return T
function M.keeping_sizes(fn)
  return require("claude-ide.option").during("equalalways", false, fn)
end

---The remaining windows, the one to keep longest first.
---@param view claude-ide.diffview.View
---@return integer[]
function M.windows(view)
  local found = {}
  for _, name in ipairs({ "proposal", "now", "list" }) do
    local win = view.wins[name]
    if win and vim.api.nvim_win_is_valid(win) then
      found[#found + 1] = win
    end
  end
  return found
end

---Whether the tab page has other windows. Floats and lists of diffs (`w:claude_diffs`) do not count: they close with it.
---@param view claude-ide.diffview.View
---@return boolean
function M.has_guests(view)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(view.tab)) do
    local floating = vim.api.nvim_win_get_config(win).relative ~= ""
    local passes = floating or vim.w[win].claude_diffs
    if not passes and not vim.tbl_contains(vim.tbl_values(view.wins), win) then
      return true
    end
  end
  return false
end

---Closes the windows and leaves their tab page. If that removes the tab line, hides it first: otherwise a terminal in the other tab page
---would be resized twice, and its program's output in between would be garbled.
---@param view claude-ide.diffview.View
---@param fn fun()
function M.leaving(view, fn)
  local tab_line_goes = vim.api.nvim_get_current_tabpage() == view.tab
    and vim.o.showtabline == 1
    and #vim.api.nvim_list_tabpages() == 2
    and not M.has_guests(view)
  if tab_line_goes then
    return require("claude-ide.option").during("showtabline", 0, fn)
  end
  fn()
end

---Shows another buffer in a window that cannot be closed because it is the last one.
---@param view claude-ide.diffview.View
---@param win integer
function M.vacate(view, win)
  local screen = view.screen
  vim.wo[win][0].winfixbuf = false
  local saved = screen.views[screen.win]
  local buf = saved and vim.api.nvim_buf_is_valid(saved.buf) and saved.buf
  vim.api.nvim_win_set_buf(win, buf or vim.api.nvim_create_buf(true, false))
end

---Opens the current text's window beside the proposal's.
---@param view claude-ide.diffview.View
---@param direction "left"|"above"
---@return integer win
function M.split(view, direction)
  return vim.api.nvim_open_win(view.bufs.now, false, { split = direction, win = view.wins.proposal })
end

---Gives two adjacent windows the same size.
---@param first integer
---@param second integer
---@param direction "left"|"above"
function M.even(first, second, direction)
  if not (vim.api.nvim_win_is_valid(first) and vim.api.nvim_win_is_valid(second)) then
    return
  end
  local get, set = vim.api.nvim_win_get_height, vim.api.nvim_win_set_height
  if direction == "left" then
    get, set = vim.api.nvim_win_get_width, vim.api.nvim_win_set_width
  end
  local here, there = get(first), get(second)
  if math.abs(here - there) > 1 then
    set(first, math.floor((here + there) / 2))
  end
end

return M
