-- The windows of a diff as its layout wants them: made, dressed, and turned from one layout into another.
-- Invariant: the proposal's window is there from first to last, so cursor, view and undo history survive every change.
local M = {}

---Another window that shows the proposal: the user may have split one, or moved it to a tab page (`<C-w>T`).
---@param view claude-ide.diff.View
---@param besides? integer
---@return integer?
function M.window_of_proposal(view, besides)
  for _, win in ipairs(vim.fn.win_findbuf(view.bufs.proposal)) do
    if win ~= besides and vim.api.nvim_win_is_valid(win) then
      return win
    end
  end
end

---@param view claude-ide.diff.View
---@return claude-ide.diffview.Place
local function place_of(view)
  return require("claude-ide.diffview.windows").place(view.place)
end

---Makes the window of the present text, if the layout has one and there is room for it.
---@param view claude-ide.diff.View
local function open_now(view)
  view.layout = view.one_window and "unified" or view.layout
  local direction = require("claude-ide.diffview.layout").get(view.layout).now
  if not direction then
    return
  end
  local ok, win = pcall(place_of(view).open_now, view, direction)
  if ok then
    view.wins.now = win
  else
    require("claude-ide.log").debug("no room for the %s layout: %s", view.layout, win)
    view.layout = "unified"
  end
end

---Whether diff mode would take the diff for a part of one that the user looks at.
---@param view claude-ide.diff.View
---@return boolean
local function holds_another_diff(view)
  return vim.iter(vim.api.nvim_tabpage_list_wins(view.tab)):any(function(win)
    return vim.wo[win].diff and not vim.tbl_contains(vim.tbl_values(view.wins), win)
  end)
end

---@param view claude-ide.diff.View
local function open_windows(view)
  require("claude-ide.diffview.place").keeping_sizes(function()
    local ok, err = pcall(place_of(view).open, view)
    if not ok and place_of(view).shared then
      require("claude-ide.log").debug("no room for a diff in the %s place: %s", view.place, err)
      view.place = "tab"
      place_of(view).open(view)
    elseif not ok then
      error(err, 0)
    end
    view.one_window = view.one_window or holds_another_diff(view)
    open_now(view)
    return true
  end)
  M.fit(view)
end

---@param view claude-ide.diff.View
---@param side claude-ide.diffview.Side
---@param win integer
---@param winbar claude-ide.diff.WinbarOf
---@return string
local function winbar_of(view, side, win, winbar)
  return winbar(side, vim.api.nvim_win_get_width(win), view.wins.now == nil)
end

---@param view claude-ide.diff.View
---@param winbar claude-ide.diff.WinbarOf
function M.set_winbars(view, winbar)
  for side, win in pairs(view.wins) do
    if vim.api.nvim_win_is_valid(win) then
      require("claude-ide.ui.winbar").hold(win, winbar_of(view, side, win, winbar))
    end
  end
end

---Gives the windows their sizes, if the screen is another than it was.
---@param view claude-ide.diff.View
function M.fit(view)
  local size = ("%d×%d %s"):format(vim.o.columns, vim.o.lines, view.layout)
  if view.fitted ~= size then
    view.fitted = size
    place_of(view).fit(view)
  end
end

---Opens the windows and goes to the proposal.
---@param view claude-ide.diff.View
---@param winbar claude-ide.diff.WinbarOf
function M.open(view, winbar)
  open_windows(view)
  for side, win in pairs(view.wins) do
    require("claude-ide.ui.window_look").window(win, winbar_of(view, side, win, winbar))
  end
  local pair = require("claude-ide.diffview.pair")
  pair.compare(view)
  pair.go_to_first_change(view)
  vim.api.nvim_set_current_win(view.wins.proposal)
end

---Turns the windows into those of another layout. The text, its history and where the user is in it stay.
---@param view claude-ide.diff.View whose proposal is shown
---@param name claude-ide.diffview.LayoutName
---@param winbar claude-ide.diff.WinbarOf
function M.switch(view, name, winbar)
  local proposal, now = view.wins.proposal, nil ---@type integer, integer?
  if view.wins.now and vim.api.nvim_win_is_valid(view.wins.now) then
    now = view.wins.now
  end
  local saved = vim.api.nvim_win_call(proposal, vim.fn.winsaveview)
  if now and vim.api.nvim_get_current_win() == now then
    saved.lnum = require("claude-ide.diffview.hunks").map(view.hunks, vim.api.nvim_win_get_cursor(now)[1])
    saved.topline = math.max(saved.lnum - vim.fn.winline() + 1, 1)
    vim.api.nvim_set_current_win(proposal)
  end
  local pair = require("claude-ide.diffview.pair")
  pair.end_comparing(view)
  view.wins.now = nil
  view.layout = name
  require("claude-ide.diffview.place").keeping_sizes(function()
    require("claude-ide.window").close(now)
    open_now(view)
    return true
  end)
  M.fit(view)
  if view.wins.now then
    require("claude-ide.ui.window_look").window(view.wins.now)
  end
  pair.compare(view)
  M.set_winbars(view, winbar)
  saved.topfill = nil
  vim.api.nvim_win_call(proposal, function()
    vim.fn.winrestview(saved)
    vim.cmd("normal! zv")
  end)
  pair.align(view)
end

---Puts in order what the user has left of the windows. Where the present text went, or the proposal went to another tab
---page (`<C-w>T`), they want the proposal alone.
---@param view claude-ide.diff.View whose proposal is in some window
---@param winbar claude-ide.diff.WinbarOf
function M.mend(view, winbar)
  local is_valid = vim.api.nvim_win_is_valid
  local alone = not (view.wins.now and is_valid(view.wins.now))
  if not is_valid(view.wins.proposal) then
    local win = M.window_of_proposal(view) --[[@as integer]]
    local tab = vim.api.nvim_win_get_tabpage(win)
    if tab ~= view.tab then
      view.tab, view.place, view.gives_way, alone = tab, "tab", nil, true
    end
    view.wins.proposal = win
    require("claude-ide.ui.window_look").window(win)
  end
  M.switch(view, alone and "unified" or view.layout, winbar)
end

return M
