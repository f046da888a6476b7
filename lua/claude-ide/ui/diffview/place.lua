-- Where the windows of two texts are opened: in their own tab page, among the user's windows, or in floats.
-- A place handles windows and sizes, not their content and look.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local file_window = lazy("claude-ide.ui.file_window")
local option = lazy("claude-ide.base.option")
local split = lazy("claude-ide.ui.split")
local window = lazy("claude-ide.base.window")

local M = {}

---@alias claude-ide.diffview.PlaceName "tab"|"current"|"float"

---@class claude-ide.diffview.Place
---@field shared boolean it uses the user's tab page, which has room for one diff
---@field open fun(view: claude-ide.diffview.View) opens and enters the right window
---@field open_left fun(view: claude-ide.diffview.View, direction: claude-ide.diffview.Direction): integer opens the left window
---@field fit fun(view: claude-ide.diffview.View) sizes the windows, after they were opened or the screen was resized
---@field close fun(view: claude-ide.diffview.View) closes the windows

---The remaining windows, the one to keep longest first.
---@param view claude-ide.diffview.View
---@return integer[]
local function windows(view)
  local found = {}
  for _, name in ipairs({ "right", "left", "list" }) do
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
    return option.during("showtabline", 0, fn)
  end
  fn()
end

---The buffer that the user was in before the diff.
---@param view claude-ide.diffview.View
---@return integer
local function buffer_before(view)
  local saved = view.screen.views[view.screen.win]
  return saved and vim.api.nvim_buf_is_valid(saved.buf) and saved.buf or vim.api.nvim_create_buf(true, false)
end

---Whether Neovim would end with this window: floats, previews and help do not keep it.
---@param win integer
---@return boolean
local function is_last_that_counts(win)
  return #vim.api.nvim_list_tabpages() == 1
    and not vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(other)
      local is_help = vim.bo[vim.api.nvim_win_get_buf(other)].buftype == "help"
      local floats = vim.api.nvim_win_get_config(other).relative ~= ""
      return other ~= win and not floats and not is_help and not vim.wo[other].previewwindow
    end)
end

---Call when a window of a diff is about to be quit: what the user was in stays, so that Neovim does not end with the diff.
---@param view claude-ide.diffview.View
---@param win integer
---@return integer? win opened for it
function M.keep_neovim(view, win)
  if is_last_that_counts(win) then
    return vim.api.nvim_open_win(buffer_before(view), false, { split = "below", win = win })
  end
end

---Opens the left window beside the right one.
---@param view claude-ide.diffview.View
---@param direction claude-ide.diffview.Direction
---@return integer win
local function open_left(view, direction)
  return vim.api.nvim_open_win(view.bufs.left, false, { split = direction, win = view.wins.right })
end

---A list at the left.
---@param size number|fun(): integer
---@param beside? integer the window that gives it room; default: all of the tab page
---@return claude-ide.ui.Side
local function list_side(size, beside)
  return { side = "left", beside = beside, size = size, least = { columns = 1, lines = 1 } }
end

---Gives the windows of the two texts the same size.
---@param view claude-ide.diffview.View
local function even(view)
  local first, second = view.wins.left, view.wins.right
  if first and vim.api.nvim_win_is_valid(first) and vim.api.nvim_win_is_valid(second) then
    split.even(first, second)
  end
end

---A tab page for a diff. It is closed with the diff, unless it has other windows.
---@type claude-ide.diffview.Place
---@diagnostic disable-next-line: missing-fields -- the functions follow
local tab = { shared = false, open_left = open_left }

function tab.open(view)
  vim.cmd(("noautocmd keepalt tab sbuffer %d"):format(view.bufs.right))
  view.tab, view.wins.right = vim.api.nvim_get_current_tabpage(), vim.api.nvim_get_current_win()
  if view.list then
    view.wins.list = split.open(view.list, list_side(view.list_width))
    window.enter(view.wins.list, true) -- as its previous window: `<C-w>p`
    window.enter(view.wins.right, true)
  end
end

function tab.fit(view)
  if not M.has_guests(view) then
    even(view)
  end
end

function tab.close(view)
  local open = windows(view)
  if #open == 0 then
    return
  end
  -- A valid window implies a valid tab page.
  local alone = #vim.api.nvim_list_tabpages() == 1 and not M.has_guests(view)
  if alone then
    split.vacate(table.remove(open, 1), buffer_before(view))
  elseif not M.has_guests(view) then
    pcall(vim.api.nvim_command, vim.api.nvim_tabpage_get_number(view.tab) .. "tabclose!")
  end
  window.close_all(open)
end

---A diff among the user's windows: it takes space from one that shows a file, which keeps a line or two.
---Invariant: the user's windows keep their buffers and places; when the diff is closed, `ui.restore` restores their sizes and views.
---@type claude-ide.diffview.Place
---@diagnostic disable-next-line: missing-fields -- the functions follow
local current = { shared = true, open_left = open_left }

---Minimum height of a window to take lines from.
local MIN_HEIGHT = 8

---The window to take space from, preferably the file's own, and the side.
---@param view claude-ide.diffview.View
---@return integer win
---@return "above"|"left"|"right" side
local function neighbour(view)
  local buf = buffer.find(view.old_path)
  local win = file_window.choose(buf or -1, vim.api.nvim_get_current_tabpage())
  if win and vim.api.nvim_win_get_height(win) >= MIN_HEIGHT then
    return win, "above"
  end
  return file_window.beside()
end

---The list beside the texts: at most a third of what it has with them.
---@param view claude-ide.diffview.View
---@return claude-ide.ui.Side
local function list_among(view)
  local left, right = view.wins.left, view.wins.right
  local is_above = left ~= nil
    and vim.api.nvim_win_get_position(left)[1] ~= vim.api.nvim_win_get_position(right)[1]
  return list_side(function()
    local cells = 0
    for _, win in ipairs(windows(view)) do
      cells = cells + (is_above and win == left and 0 or vim.api.nvim_win_get_width(win) + 1)
    end
    return math.min(view.list_width(), math.floor(cells / 3))
  end, is_above and left or right)
end

function current.open(view)
  local buf = view.bufs.right
  view.tab = vim.api.nvim_get_current_tabpage()
  local win, side = neighbour(view)
  view.wins.right = vim.api.nvim_open_win(buf, true, { split = side, win = win })
  if view.list then
    view.wins.list = split.open(view.list, list_among(view))
  end
  view.gives_way = side == "above" and win or nil
end

function current.fit(view)
  if view.gives_way and vim.api.nvim_win_is_valid(view.gives_way) then
    split.set_height(view.gives_way, 1)
  end
  if #windows(view) == vim.tbl_count(view.wins) and view.list then
    split.keep(view.wins.list, list_among(view)) -- the layout may be another one
  end
  even(view)
end

function current.close(view)
  local open = windows(view)
  if #open == 0 then
    return
  elseif not M.has_guests(view) then
    split.vacate(table.remove(open, 1), buffer_before(view))
  end
  window.close_all(open)
end

---@param name claude-ide.diffview.PlaceName
---@return claude-ide.diffview.Place
function M.get(name)
  return name == "tab" and tab or name == "current" and current or require("claude-ide.ui.diffview.float")
end

return M
