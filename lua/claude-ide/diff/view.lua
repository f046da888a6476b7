-- A diff on the screen: its windows in a tab of their own. Knows nothing of answers.
-- Invariant: it closes its own windows and buffers and no others.
local M = {}

---@class claude-ide.diff.View
---@field diff claude-ide.Diff
---@field bufs table<claude-ide.diff.Side, integer>
---@field wins table<claude-ide.diff.Side, integer> as the layout has them; the person may have closed some
---@field layout claude-ide.diff.LayoutName
---@field hunks claude-ide.diff.Hunks
---@field plain boolean without Neovim's diff mode
---@field tab integer
---@field screen claude-ide.diff.Screen what to go back to
---@field lost_here? boolean the person was in its tab when they closed a window of it

---@class claude-ide.diff.ViewOpts
---@field focus boolean go there
---@field hunks claude-ide.diff.Hunks
---@field winbar fun(side: claude-ide.diff.Side, width: integer): string
---@field plain boolean without Neovim's diff mode
---@field screen? claude-ide.diff.Screen default: the present one

---@param diff claude-ide.Diff
---@param bufs table<claude-ide.diff.Side, integer>
---@param opts claude-ide.diff.ViewOpts
---@return claude-ide.diff.View
function M.open(diff, bufs, opts)
  local buffers, restore = require("claude-ide.diff.buffers"), require("claude-ide.diff.restore")
  require("claude-ide.diff.winbar").define_highlights()
  ---@type claude-ide.diff.View
  ---@diagnostic disable-next-line: missing-fields -- the tab is made below
  local view = {
    diff = diff,
    bufs = bufs,
    wins = {},
    layout = require("claude-ide.diff.layout").preferred(),
    hunks = opts.hunks,
    plain = opts.plain,
    screen = opts.screen or restore.remember(),
  }
  local back = not opts.focus and restore.remember() or nil
  local ok, err = pcall(buffers.silently, function()
    require("claude-ide.diff.arrange").open(view, opts.winbar)
    if back then
      restore.go(back)
    end
    return true
  end)
  if not ok then
    -- Half of it may be on the screen.
    if view.tab then
      view.screen = back or view.screen
      M.close(view)
    end
    error(err, 0)
  end
  return view
end

---@param view claude-ide.diff.View
---@return boolean
function M.is_current(view)
  return vim.api.nvim_get_current_tabpage() == view.tab
end

---Takes down that a window is being closed, while its tab is still there.
---@param view claude-ide.diff.View
function M.note_loss(view)
  view.lost_here = M.is_current(view)
end

---@param view claude-ide.diff.View
---@param side claude-ide.diff.Side
---@return boolean
function M.is_shown(view, side)
  local win = view.wins[side]
  return win ~= nil and vim.api.nvim_win_is_valid(win)
end

---@param view claude-ide.diff.View
function M.focus(view)
  local win = M.is_shown(view, "proposal") and view.wins.proposal or view.wins.now
  if win and vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_set_current_tabpage(view.tab)
    vim.api.nvim_set_current_win(win)
  end
end

---@param view claude-ide.diff.View
---@param name claude-ide.diff.LayoutName
---@param winbar fun(side: claude-ide.diff.Side, width: integer): string
function M.switch(view, name, winbar)
  if M.is_shown(view, "proposal") then
    require("claude-ide.diff.buffers").silently(function()
      require("claude-ide.diff.arrange").switch(view, name, winbar)
      return true
    end)
  end
end

---The text has changed.
---@param view claude-ide.diff.View
---@param winbar fun(side: claude-ide.diff.Side, width: integer): string
function M.refresh(view, winbar)
  if M.is_shown(view, "proposal") then
    require("claude-ide.diff.arrange").refresh(view)
    require("claude-ide.diff.arrange").set_winbars(view, winbar)
  end
end

---@param view claude-ide.diff.View
---@param text string
function M.set_winbar(view, text)
  if M.is_shown(view, "proposal") then
    vim.wo[view.wins.proposal][0].winbar = text
  end
end

---Whether the tab holds windows of other people's making. Floating ones do not count: they go with the tab.
---@param view claude-ide.diff.View
---@return boolean
local function has_guests(view)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(view.tab)) do
    local floating = vim.api.nvim_win_get_config(win).relative ~= ""
    if not floating and not vim.tbl_contains(vim.tbl_values(view.wins), win) then
      return true
    end
  end
  return false
end

---The diff's tab is the only one left: its window has to stay and show something else.
---@param win integer
---@param screen claude-ide.diff.Screen
local function vacate(win, screen)
  vim.wo[win][0].winfixbuf = false
  local saved = screen.views[screen.win]
  local buf = saved and vim.api.nvim_buf_is_valid(saved.buf) and saved.buf
  vim.api.nvim_win_set_buf(win, buf or vim.api.nvim_create_buf(true, false))
end

---@param view claude-ide.diff.View
local function close_windows(view)
  require("claude-ide.diff.unified").hide(view.bufs.proposal)
  local open = vim.tbl_filter(vim.api.nvim_win_is_valid, vim.tbl_values(view.wins))
  for _, win in ipairs(open) do
    vim.api.nvim_win_call(win, function()
      vim.cmd("diffoff")
    end)
  end
  if #open == 0 then
    return
  end
  -- With a valid window there is a valid tab.
  local alone = #vim.api.nvim_list_tabpages() == 1 and not has_guests(view)
  if alone then
    vacate(table.remove(open, 1), view.screen)
  elseif not has_guests(view) then
    pcall(vim.api.nvim_command, vim.api.nvim_tabpage_get_number(view.tab) .. "tabclose!")
  end
  for _, win in ipairs(open) do
    if vim.api.nvim_win_is_valid(win) then
      pcall(vim.api.nvim_win_close, win, true)
    end
  end
end

---Whether the tab line goes when the diff does.
---@param view claude-ide.diff.View
---@return boolean
local function brought_tab_line(view)
  return vim.o.showtabline == 1 and #vim.api.nvim_list_tabpages() == 2 and not has_guests(view)
end

---Goes back and takes the windows away. A tab line that goes with them goes first: a terminal there would be made a line
---smaller and larger again, and what its program draws in between would stay as rubbish.
---@param view claude-ide.diff.View
---@param go_back? fun()
local function leave(view, go_back)
  local hide = vim.api.nvim_tabpage_is_valid(view.tab) and M.is_current(view) and brought_tab_line(view)
  local shown = vim.o.showtabline
  if hide then
    vim.o.showtabline = 0
  end
  if go_back then
    go_back()
  end
  close_windows(view)
  if hide then
    vim.o.showtabline = shown
  end
end

---Takes the diff off the screen. If the person is in its tab they go on to `next_view`, or back to where they came from.
---@param view claude-ide.diff.View
---@param next_view? claude-ide.diff.View
function M.close(view, next_view)
  local buffers, restore = require("claude-ide.diff.buffers"), require("claude-ide.diff.restore")
  local stands = vim.api.nvim_tabpage_is_valid(view.tab)
  local leaves = not stands and view.lost_here or stands and M.is_current(view)
  local goes_back = false
  buffers.silently(function()
    if leaves and next_view then
      next_view.screen = view.screen
      M.focus(next_view)
      close_windows(view)
      return true
    end
    goes_back = leaves and not (stands and has_guests(view))
    leave(view, goes_back and function()
      restore.go(view.screen)
    end or nil)
    return true
  end)
  for _, buf in pairs(view.bufs) do
    buffers.delete(buf)
  end
  if goes_back then
    buffers.silently(function()
      restore.settle(view.screen)
      return true
    end)
  end
end

return M
