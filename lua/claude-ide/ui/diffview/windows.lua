-- The windows of two texts, with a list of files if there are several: opens, styles, rearranges and closes them. The content and
-- decisions are the caller's.
-- Invariants: the right window stays open throughout, so cursor, view and undo history survive changes of the layout. Only windows
-- opened here are closed. Nothing here triggers autocommands, which could change the windows, until they are ready: see `announce`.
local places = require("claude-ide.ui.diffview.place")
local silently = require("claude-ide.ui.quietly").run
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local highlights = lazy("claude-ide.ui.highlights")
local hunks = lazy("claude-ide.ui.diffview.hunks")
local key_list = lazy("claude-ide.ui.key_list")
local layout = lazy("claude-ide.ui.diffview.layout")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local pair = lazy("claude-ide.ui.diffview.pair")
local restore = lazy("claude-ide.ui.restore")
local safely = lazy("claude-ide.base.safely")
local split = lazy("claude-ide.ui.split")
local waits = lazy("claude-ide.base.waits")
local winbar = lazy("claude-ide.ui.winbar")
local window = lazy("claude-ide.base.window")
local window_options = lazy("claude-ide.ui.window_options")

local M = {}

---@class claude-ide.diffview.View: claude-ide.diffview.Pair the user may have closed some of its windows
---@field wins table<"list"|claude-ide.diffview.Side, integer> `left` only in a layout with such a window
---@field path string of the displayed file
---@field old_path string base of the proposal
---@field list? integer buffer
---@field list_width fun(): integer columns, if there is a list
---@field winbar fun(side: "list"|claude-ide.diffview.Side, width: integer, alone: boolean): string alone: no window shows the left side
---@field compare? fun() default: of pair.lua
---@field end_comparing? fun()
---@field layout claude-ide.diffview.LayoutName
---@field one_window? boolean only one text can be shown, in any layout
---@field place claude-ide.diffview.PlaceName
---@field fitted? string screen size and layout of the current window sizes
---@field tab integer
---@field gives_way? integer user's window that is shrunk meanwhile
---@field screen claude-ide.ui.Screen to restore
---@field stop_following? fun() of buffers that are drawn again
---@field lost_here? boolean the user was in it when they closed one of its windows

---The place of the next diff.
---@return claude-ide.diffview.PlaceName
function M.preferred_place()
  return config.get().diff.open_in
end

---@param view claude-ide.diffview.View
---@return claude-ide.diffview.Place
local function place_of(view)
  return places.get(view.place)
end

---Whether it is in the current tab page.
---@param view claude-ide.diffview.View
---@return boolean
function M.is_current(view)
  return vim.api.nvim_get_current_tabpage() == view.tab
end

---Whether the user is in it: in its tab page, or in one of its windows in a shared tab page.
---@param view claude-ide.diffview.View
---@return boolean
function M.is_within(view)
  if place_of(view).shared then
    return vim.tbl_contains(vim.tbl_values(view.wins), vim.api.nvim_get_current_win())
  end
  return M.is_current(view)
end

---@param view claude-ide.diffview.View
---@param side "list"|claude-ide.diffview.Side
---@return boolean
function M.is_shown(view, side)
  local win = view.wins[side]
  return win ~= nil and vim.api.nvim_win_is_valid(win)
end

---Whether all its windows are open.
---@param view claude-ide.diffview.View
---@return boolean
function M.all_windows_open(view)
  return vim.iter(vim.tbl_values(view.wins)):all(vim.api.nvim_win_is_valid)
end

---Call when a window is about to be closed.
---@param view claude-ide.diffview.View
function M.note_loss(view)
  view.lost_here = view.lost_here or M.is_within(view)
end

---A window with the right side: the user may have split it, or moved it to a tab page (`<C-w>T`).
---@param view claude-ide.diffview.View
---@param besides? integer
---@return integer?
function M.window_of_right(view, besides)
  for _, win in ipairs(vim.fn.win_findbuf(view.bufs.right)) do
    if win ~= besides and vim.api.nvim_win_is_valid(win) then
      return win
    end
  end
end

---@param view claude-ide.diffview.View
function M.focus(view)
  local win = M.is_shown(view, "right") and view.wins.right or view.wins.left
  if win and vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_set_current_tabpage(view.tab)
    window.enter(win)
  end
end

---Opens the left window, if the layout has one and there is space.
---@param view claude-ide.diffview.View
local function open_left(view)
  local direction = not view.one_window and layout.get(view.layout).direction
  if not direction then
    return
  end
  local ok, win = pcall(place_of(view).open_left, view, direction)
  if ok then
    view.wins.left = win
  else
    log.debug("no room for the %s layout: %s", view.layout, win)
    view.layout = "unified"
  end
end

---Whether the tab page has another diff, which diff mode would combine with this one.
---@param view claude-ide.diffview.View
---@return boolean
local function holds_another_diff(view)
  return vim.iter(vim.api.nvim_tabpage_list_wins(view.tab)):any(function(win)
    return vim.wo[win].diff and not vim.tbl_contains(vim.tbl_values(view.wins), win)
  end)
end

---@param view claude-ide.diffview.View
local function open_windows(view)
  split.keeping_sizes(function()
    local ok, err = pcall(place_of(view).open, view)
    if not ok and place_of(view).shared then
      log.debug("no room for a diff in the %s place: %s", view.place, err)
      view.place = "tab"
      place_of(view).open(view)
    elseif not ok then
      error(err, 0)
    end
    view.one_window = view.one_window or holds_another_diff(view)
    open_left(view)
  end)
  M.fit(view)
end

---@param view claude-ide.diffview.View
---@param win integer
local function dress_list(view, win)
  window_options.window(win)
  local wo = window_options.bare(win)
  wo.wrap, wo.cursorline, wo.spell = false, true, false
  -- Within a column of others Neovim keeps a fixed width where the screen has no room for it, and 0.11 crashes.
  wo.winfixwidth = not place_of(view).shared
end

---@param view claude-ide.diffview.View
function M.set_winbars(view)
  for side, win in pairs(view.wins) do
    if vim.api.nvim_win_is_valid(win) then
      local text = view.winbar(side, vim.api.nvim_win_get_width(win), view.wins.left == nil)
      winbar.hold(win, text)
    end
  end
end

---Sizes the windows, if the screen's size or the layout has changed.
---@param view claude-ide.diffview.View
function M.fit(view)
  if not M.is_current(view) or not M.is_shown(view, "right") then
    return
  end
  local size = ("%d×%d %s %s"):format(vim.o.columns, vim.o.lines, view.layout, view.wins.left ~= nil)
  if view.fitted ~= size then
    view.fitted = size
    silently(function()
      if M.is_shown(view, "list") then
        split.fit(view.wins.list)
      end
      split.keeping_cursors(function()
        place_of(view).fit(view)
      end)
    end)
  end
end

---@param view claude-ide.diffview.View
local function compare(view)
  if view.compare then
    view.compare()
  elseif view.hunks then
    pair.compare(view)
  end
end

---@param view claude-ide.diffview.View
local function end_comparing(view)
  if view.end_comparing then
    view.end_comparing()
  elseif view.hunks then
    pair.end_comparing(view)
  end
end

---Tells plugins that the user is in the proposal, where it has its keys: some read those of each buffer that is entered. By a name that
---is no file's: who looks at files need not see it.
---@param view claude-ide.diffview.View
local function announce(view)
  local win = vim.api.nvim_get_current_win()
  if win == view.wins.right and vim.api.nvim_win_get_buf(win) == view.bufs.right then
    pcall(vim.api.nvim_exec_autocmds, "BufEnter", { pattern = "claude://diff", modeline = false })
  end
end

---Compares the texts anew after `:edit`, which takes folds, filler rows and removed lines along.
---@param view claude-ide.diffview.View
local function follow_buffers(view)
  view.stop_following = bus.on("drawn_again", function(buf)
    if not view.hunks or buf ~= view.bufs.left and buf ~= view.bufs.right then
      return
    end
    local again = safely.wrap("compare texts again", function()
      if view.stop_following then
        M.compare_again(view, view.one_window or false)
      end
    end)
    vim.schedule(function() -- once the cursor is back
      waits.when_windows_may_change(again)
    end)
  end)
end

---The texts stay as they are until the windows close.
---@param view claude-ide.diffview.View
function M.stop_following(view)
  if view.stop_following then
    view.stop_following()
    view.stop_following = nil
  end
end

---Opens the windows and shows the first change.
---@param view claude-ide.diffview.View with its buffers; sets `wins`, `tab` and, if missing, `screen`
---@param focus boolean enter it
function M.open(view, focus)
  highlights.define_shared()
  view.screen = view.screen or restore.remember()
  view.hidden_counted = function()
    M.set_winbars(view)
  end
  follow_buffers(view)
  local back = not focus and restore.remember() or nil
  local ok, err = pcall(silently, function()
    open_windows(view)
    for side, win in pairs(view.wins) do
      if side == "list" then
        dress_list(view, win)
      else
        window_options.window(win)
      end
    end
    M.set_winbars(view)
    if view.hunks then
      compare(view)
      pair.go_to_first_change(view)
    end
    window.enter(view.wins.right)
    if back then
      restore.go(back)
    end
    return true
  end)
  if not ok then
    -- Some windows may be open.
    view.screen = back or view.screen
    if view.tab then
      M.close(view)
    end
    error(err, 0)
  end
  if focus then
    vim.schedule(function()
      announce(view)
    end)
  end
end

---Opens the left window again, according to the layout.
---@param view claude-ide.diffview.View
local function arrange(view)
  local left = view.wins.left
  if left and vim.api.nvim_get_current_win() == left then
    window.enter(view.wins.right)
  end
  view.wins.left = nil
  split.keeping_sizes(function()
    window.close(left)
    open_left(view)
  end)
  if view.wins.left then
    window_options.window(view.wins.left)
  end
  view.fitted = nil
  M.fit(view)
end

---Switches to another layout. The text, its history and the user's position stay.
---@param view claude-ide.diffview.View
---@param name claude-ide.diffview.LayoutName
function M.switch(view, name)
  if not M.is_shown(view, "right") then
    return
  end
  silently(function()
    local right = view.wins.right
    local saved = vim.api.nvim_win_call(right, vim.fn.winsaveview)
    if M.is_shown(view, "left") and vim.api.nvim_get_current_win() == view.wins.left then
      local lnum = vim.api.nvim_win_get_cursor(view.wins.left)[1]
      saved.lnum = hunks.map(view.hunks, lnum)
      saved.lnum = math.min(saved.lnum, vim.api.nvim_buf_line_count(view.bufs.right))
      saved.topline = math.max(saved.lnum - vim.fn.winline() + 1, 1)
    end
    end_comparing(view)
    view.layout = name
    arrange(view)
    compare(view)
    M.set_winbars(view)
    saved.topfill = nil
    vim.api.nvim_win_call(right, function()
      vim.fn.winrestview(saved)
      vim.cmd("normal! zv")
    end)
    pair.align(view)
  end)
end

---Switches to the next layout, also for later diffs.
---@param view claude-ide.diffview.View
---@param is_own? boolean the layout was fixed for this diff: do not apply the next one to others
function M.switch_to_next(view, is_own)
  if view.one_window then
    return notice.info("Only the unified layout can show this.")
  end
  local _, name = layout.get(view.layout)
  if not is_own then
    layout.prefer(name)
  end
  M.switch(view, name)
end

---Call before showing texts that can, or cannot, be side by side. Nothing is being compared.
---@param view claude-ide.diffview.View
---@param one_window boolean
function M.set_one_window(view, one_window)
  if (view.one_window or false) ~= one_window then
    view.one_window = one_window
    arrange(view)
  end
end

---Shows a buffer in a window with 'winfixbuf'.
---@param win integer
---@param buf integer
function M.put(win, buf)
  vim.wo[win][0].winfixbuf = false
  vim.api.nvim_win_set_buf(win, buf)
  window_options.window(win)
end

---@param view claude-ide.diffview.View
---@param text { bufs: table<claude-ide.diffview.Side, integer>, hunks: claude-ide.diffview.Hunks, path: string, one_window: boolean }
function M.show(view, text)
  silently(function()
    end_comparing(view)
    view.bufs, view.hunks, view.path = text.bufs, text.hunks, text.path
    M.set_one_window(view, text.one_window)
    M.put(view.wins.right, view.bufs.right)
    if view.wins.left then
      M.put(view.wins.left, view.bufs.left)
    end
    compare(view)
    pair.go_to_first_change(view)
    M.set_winbars(view)
  end)
end

---The texts have been compared anew.
---@param view claude-ide.diffview.View
---@param one_window boolean
function M.compare_again(view, one_window)
  if not M.is_shown(view, "right") then
    return
  end
  silently(function()
    local win, first = view.wins.right, view.hunks.list[1]
    local saved = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    end_comparing(view)
    M.set_one_window(view, one_window)
    compare(view)
    M.set_winbars(view)
    if first and saved.lnum == math.min(first.new, vim.api.nvim_buf_line_count(view.bufs.right)) then
      return pair.go_to_first_change(view)
    end
    saved.topfill = nil
    vim.api.nvim_win_call(win, function()
      vim.fn.winrestview(saved)
      vim.cmd("normal! zv")
    end)
    pair.align(view)
  end)
end

---Rearranges the remaining windows. If the user closed the left window, or moved the right one to another tab page (`<C-w>T`), the
---right side is shown alone.
---@param view claude-ide.diffview.View whose right side is in some window
function M.restore_windows(view)
  silently(function()
    local alone = not M.is_shown(view, "left")
    if not M.is_shown(view, "right") then
      local win = M.window_of_right(view) --[[@as integer]]
      local tab = vim.api.nvim_win_get_tabpage(win)
      if tab ~= view.tab then
        view.tab, view.place, view.gives_way, alone = tab, "tab", nil, true
      end
      view.wins.right = win
      window_options.window(win)
    end
    M.switch(view, alone and "unified" or view.layout)
    if view.lost_here then
      window.enter(view.wins.right)
    end
    view.lost_here = nil
  end)
end

---The text has changed.
---@param view claude-ide.diffview.View
function M.refresh(view)
  if M.is_shown(view, "right") then
    silently(function()
      pair.refresh(view)
      M.set_winbars(view)
    end)
  end
end

---Moves the list's cursor to the displayed file.
---@param view claude-ide.diffview.View
---@param index integer
function M.point_at(view, index)
  if vim.api.nvim_win_get_cursor(view.wins.list)[1] ~= index then
    vim.api.nvim_win_set_cursor(view.wins.list, { index, 0 })
  end
end

---@param view claude-ide.diffview.View
local function close_windows(view)
  M.stop_following(view)
  end_comparing(view)
  split.keeping_sizes(function()
    place_of(view).close(view)
  end)
end

---Goes back and closes the windows.
---@param view claude-ide.diffview.View
---@param go_back? fun()
local function leave(view, go_back)
  local function go()
    if go_back then
      go_back()
    end
    close_windows(view)
  end
  if place_of(view).shared then
    return go()
  end
  places.leaving(view, go)
end

---Closes windows in another, shared tab page, and restores that.
---@param view claude-ide.diffview.View
local function leave_from_afar(view)
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

---Closes the windows; the buffers stay.
---@param view claude-ide.diffview.View
---@param next_view? claude-ide.diffview.View to enter if the user is in this one; default: the previous window
---@return boolean went_back
local function take_away(view, next_view)
  key_list.close()
  local stands, shared = vim.api.nvim_tabpage_is_valid(view.tab), place_of(view).shared
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
  local guests = stands and not shared and places.has_guests(view)
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

---Closes the windows temporarily.
---@param view claude-ide.diffview.View
function M.hide_for_another(view)
  silently(function()
    return take_away(view)
  end)
end

---@class claude-ide.diffview.CloseOpts
---@field next_view? claude-ide.diffview.View to enter if the user is in this one; default: the previous window
---@field another? boolean another diff is shown directly after
---@field typing_goes_on? fun(): boolean what is typed in it or in a float over it is not for the window before
---@field delete? fun() deletes the buffers

---Closes a view.
---@param view claude-ide.diffview.View
---@param opts? claude-ide.diffview.CloseOpts
---@return boolean went_back the user was in it, and has returned to the previous window
function M.close(view, opts)
  opts = opts or {}
  local went_back = silently(function()
    return take_away(view, opts.next_view)
  end)
  if opts.delete then
    opts.delete()
  end
  if went_back and not opts.another then
    silently(function()
      restore.settle(view.screen, opts.typing_goes_on ~= nil and opts.typing_goes_on())
    end)
  end
  return went_back
end

return M
