-- Where on the screen the windows of two texts are made: in a tab page of their own, among the user's windows, or over them.
-- A place knows windows and sizes; what is in them and how they look it does not.
local M = {}

---@alias claude-ide.diffview.PlaceName "tab"|"current"|"float"

---@class claude-ide.diffview.Place
---@field shared boolean it is in the user's own tab page, where there is room for one diff at a time
---@field open fun(view: claude-ide.diffview.View) makes the proposal's window and goes there
---@field open_now fun(view: claude-ide.diffview.View, direction: "left"|"above"): integer makes the present text's window
---@field fit fun(view: claude-ide.diffview.View) gives the windows their sizes: all are made, or the screen is another
---@field close fun(view: claude-ide.diffview.View) takes the windows away

---Makes or closes windows of which the others take no notice.
---@generic T
---@param fn fun(): T
---@return T
function M.keeping_sizes(fn)
  return require("claude-ide.option").during("equalalways", false, fn)
end

---The windows that are still there, the one that stays where they are the last ones first.
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

---Whether the tab page holds windows of other people's making. Floating ones do not count: they go with the tab, and so does
---a list of diffs (`w:claude_diffs`).
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

---Leaves a tab page and takes its windows away. A tab line that goes with it goes first: a terminal in the other tab page would be
---made a line smaller and larger again, and what its program draws in between would stay as rubbish.
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

---Windows that are the last ones have to stay: one of them then shows something else.
---@param view claude-ide.diffview.View
---@param win integer
function M.vacate(view, win)
  local screen = view.screen
  vim.wo[win][0].winfixbuf = false
  local saved = screen.views[screen.win]
  local buf = saved and vim.api.nvim_buf_is_valid(saved.buf) and saved.buf
  vim.api.nvim_win_set_buf(win, buf or vim.api.nvim_create_buf(true, false))
end

---Makes the present text's window beside that of the proposal.
---@param view claude-ide.diffview.View
---@param direction "left"|"above"
---@return integer win
function M.split(view, direction)
  return vim.api.nvim_open_win(view.bufs.now, false, { split = direction, win = view.wins.proposal })
end

---Gives two windows side by side, or one above the other, the same room.
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
