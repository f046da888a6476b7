-- A diff on the screen: its windows, wherever their place is. Knows nothing of answers.
-- Invariant: it closes its own windows and buffers and no others.
local M = {}

---@class claude-ide.diff.View: claude-ide.diffview.Pair the user may have closed some of its windows
---@field diff claude-ide.Diff
---@field hunks claude-ide.diffview.Hunks
---@field layout claude-ide.diffview.LayoutName
---@field place claude-ide.diffview.PlaceName
---@field fitted? string size of the screen, and layout, that the windows have the sizes for
---@field one_window boolean the texts can be shown as one only
---@field tab integer
---@field gives_way? integer a window of the user's that is low as long as the diff is there
---@field screen claude-ide.ui.Screen what to go back to
---@field lost_here? boolean the user was in it when they closed a window of it

---@alias claude-ide.diff.WinbarOf fun(side: claude-ide.diffview.Side, width: integer, alone: boolean): string alone: no other window is there

---@class claude-ide.diff.ViewOpts
---@field focus boolean go there
---@field layout claude-ide.diffview.LayoutName
---@field hunks claude-ide.diffview.Hunks
---@field winbar claude-ide.diff.WinbarOf
---@field one_window boolean the texts can be shown as one only
---@field screen? claude-ide.ui.Screen default: the present one

---@param diff claude-ide.Diff
---@param bufs table<claude-ide.diffview.Side, integer>
---@param opts claude-ide.diff.ViewOpts
---@return claude-ide.diff.View
function M.open(diff, bufs, opts)
  local restore = require("claude-ide.ui.restore")
  require("claude-ide.ui.highlights").define_shared()
  ---@type claude-ide.diff.View
  ---@diagnostic disable-next-line: missing-fields -- the tab is made below
  local view = {
    diff = diff,
    bufs = bufs,
    wins = {},
    layout = opts.one_window and "unified" or opts.layout,
    place = diff.place or require("claude-ide.diffview.windows").preferred_place(),
    hunks = opts.hunks,
    one_window = opts.one_window,
    screen = opts.screen or restore.remember(),
  }
  local back = not opts.focus and restore.remember() or nil
  local ok, err = pcall(require("claude-ide.ui.quietly").run, function()
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

---Whether the user has it before them.
---@param view claude-ide.diff.View
---@return boolean
function M.is_current(view)
  return vim.api.nvim_get_current_tabpage() == view.tab
end

---@param view claude-ide.diff.View
---@return boolean
local function is_shared(view)
  return require("claude-ide.diffview.windows").place(view.place).shared
end

---Whether the user is in it: in its tab page, or in a window of it where the tab page is their own.
---@param view claude-ide.diff.View
---@return boolean
function M.is_within(view)
  if is_shared(view) then
    return vim.tbl_contains(vim.tbl_values(view.wins), vim.api.nvim_get_current_win())
  end
  return M.is_current(view)
end

---Takes down that a window is being closed, while it is still there.
---@param view claude-ide.diff.View
function M.note_loss(view)
  view.lost_here = view.lost_here or M.is_within(view)
end

---@param view claude-ide.diff.View
---@param side claude-ide.diffview.Side
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
---@param name claude-ide.diffview.LayoutName
---@param winbar claude-ide.diff.WinbarOf
function M.switch(view, name, winbar)
  if M.is_shown(view, "proposal") then
    require("claude-ide.ui.quietly").run(function()
      require("claude-ide.diff.arrange").switch(view, name, winbar)
      return true
    end)
  end
end

---The user has closed a window of it, or moved one; the proposal is in sight.
---@param view claude-ide.diff.View
---@param winbar claude-ide.diff.WinbarOf
function M.mend(view, winbar)
  require("claude-ide.ui.quietly").run(function()
    require("claude-ide.diff.arrange").mend(view, winbar)
    if view.lost_here then
      vim.api.nvim_set_current_win(view.wins.proposal)
    end
    view.lost_here = nil
    return true
  end)
end

---The screen may have another size.
---@param view claude-ide.diff.View
function M.fit(view)
  if M.is_current(view) and M.is_shown(view, "proposal") then
    require("claude-ide.ui.quietly").run(function()
      require("claude-ide.diff.arrange").fit(view)
      return true
    end)
  end
end

---The text has changed.
---@param view claude-ide.diff.View
---@param winbar claude-ide.diff.WinbarOf
function M.refresh(view, winbar)
  if M.is_shown(view, "proposal") then
    require("claude-ide.diffview.pair").refresh(view)
    require("claude-ide.diff.arrange").set_winbars(view, winbar)
  end
end

---@param view claude-ide.diff.View
---@param text string
function M.set_winbar(view, text)
  if M.is_shown(view, "proposal") then
    require("claude-ide.ui.winbar").hold(view.wins.proposal, text)
  end
end

---@param view claude-ide.diff.View
local function close_windows(view)
  local place = require("claude-ide.diffview.place")
  require("claude-ide.diffview.pair").end_comparing(view)
  place.keeping_sizes(function()
    require("claude-ide.diffview.windows").place(view.place).close(view)
    return true
  end)
end

---Goes back and takes the windows away.
---@param view claude-ide.diff.View
---@param go_back? fun()
local function leave(view, go_back)
  local function go()
    if go_back then
      go_back()
    end
    close_windows(view)
  end
  if is_shared(view) then
    return go()
  end
  require("claude-ide.diffview.place").leaving(view, go)
end

---Takes the windows out of the user's own tab page, in which they are not now, and puts that in order.
---@param view claude-ide.diff.View
local function leave_from_afar(view)
  local restore = require("claude-ide.ui.restore")
  local here = restore.remember_place()
  vim.api.nvim_set_current_tabpage(view.tab)
  local within = M.is_within(view)
  if within then
    restore.go(view.screen)
  end
  close_windows(view)
  restore.settle_windows(view.screen, not within and vim.api.nvim_get_current_win() or nil)
  restore.go(here)
end

---Takes the windows off the screen; the buffers stay.
---@param view claude-ide.diff.View
---@param next_view? claude-ide.diff.View where a user who is in it goes; default: back
---@return boolean went_back
local function take_away(view, next_view)
  require("claude-ide.ui.key_list").close()
  local restore = require("claude-ide.ui.restore")
  local stands, shared = vim.api.nvim_tabpage_is_valid(view.tab), is_shared(view)
  local within = view.lost_here and (shared or not stands) or stands and M.is_within(view)
  if not shared and within and next_view then
    next_view.screen = view.screen
    M.focus(next_view)
    close_windows(view)
    return false
  elseif shared and stands and not M.is_current(view) then
    leave_from_afar(view)
    return false
  end
  local guests = stands and not shared and require("claude-ide.diffview.place").has_guests(view)
  local goes_back = within == true and not guests
  leave(view, goes_back and function()
    restore.go(view.screen)
  end or nil)
  if shared then
    restore.settle_windows(view.screen, not goes_back and vim.api.nvim_get_current_win() or nil)
  end
  if goes_back and next_view then
    next_view.screen = view.screen
    M.focus(next_view)
    return false
  end
  return goes_back
end

---Takes the windows off the screen, to be opened again.
---@param view claude-ide.diff.View
function M.put_aside(view)
  require("claude-ide.ui.quietly").run(function()
    return take_away(view)
  end)
end

---@class claude-ide.diff.CloseOpts
---@field next_view? claude-ide.diff.View where a user who is in this one goes; default: back to where they came from
---@field another? boolean another one is shown right after

---Takes the diff off the screen.
---@param view claude-ide.diff.View
---@param opts? claude-ide.diff.CloseOpts
---@return boolean went_back the user was in it, and is where they came from
function M.close(view, opts)
  opts = opts or {}
  local restore = require("claude-ide.ui.restore")
  local went_back = require("claude-ide.ui.quietly").run(function()
    return take_away(view, opts.next_view)
  end)
  for _, buf in pairs(view.bufs) do
    require("claude-ide.ui.own_buffer").delete(buf)
  end
  if went_back and not opts.another then
    require("claude-ide.ui.quietly").run(function()
      restore.settle(view.screen)
      return true
    end)
  end
  return went_back
end

return M
