-- The review's tab page: the list, the text before, and the file itself, which can be edited.
-- Invariant: the user's buffer is left unchanged. Its window options are restored before Neovim stores them with it.
local sides = require("claude-ide.edits.review.sides")
local comparison = require("claude-ide.edits.review.comparison")
local windows = require("claude-ide.ui.diffview.windows")
local silently = require("claude-ide.ui.quietly").run
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local callers = lazy("claude-ide.edits.journal.callers")
local buffer_hidden = lazy("claude-ide.editor.buffer.hidden")
local diffview_hunks = lazy("claude-ide.ui.diffview.hunks")
local hunks = lazy("claude-ide.edits.review.hunks")
local keys = lazy("claude-ide.edits.review.keys")
local layout = lazy("claude-ide.ui.diffview.layout")
local list = lazy("claude-ide.ui.diffview.list")
local modifiers = lazy("claude-ide.ui.modifiers")
local option = lazy("claude-ide.base.option")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local pair = lazy("claude-ide.ui.diffview.pair")
local review_winbar = lazy("claude-ide.edits.review.winbar")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local swap = lazy("claude-ide.editor.buffer.swap")
local ui_winbar = lazy("claude-ide.ui.winbar")
local window = lazy("claude-ide.base.window")
local window_options = lazy("claude-ide.ui.window_options")
local written = lazy("claude-ide.edits.review.written")
local zen_mode = lazy("claude-ide.ui.zen_mode")

local M = {}

---@alias claude-ide.review.Side "list"|"before"|"file"

---@class claude-ide.review.View: claude-ide.diffview.View `left` is the text before, `right` the file
---@field entry claude-ide.review.Entry shown
---@field lines string[] of the side before
---@field unmap? fun()
---@field options? table of the file's window, before the review
---@field loaded? integer state of the file's undo tree when its text was last loaded, or first shown
---@field caller? string[] whose call made the change under the cursor, as the winbars say
---@field unloaded? boolean the file's buffer was unloaded since the last update

---The side the cursor is on.
---@param view claude-ide.review.View
---@return claude-ide.review.Side
function M.side(view)
  local win = vim.api.nvim_get_current_win()
  return win == view.wins.list and "list" or win == view.wins.left and "before" or "file"
end

---Restores the file's buffer and window options.
---@param view claude-ide.review.View
function M.release(view)
  if view.unmap then
    view.unmap()
    view.unmap = nil
  end
  silently(function()
    comparison.stop(view)
    for _, side in ipairs({ "left", "right" }) do
      local win = view.wins[side]
      if win and vim.api.nvim_win_is_valid(win) then
        vim.wo[win][0].winfixbuf = false
      end
    end
    if view.options and vim.api.nvim_win_is_valid(view.wins.right) then
      window_options.put_back(view.wins.right, view.options)
    end
    ui_winbar.release(view.wins.right)
    view.options = nil
  end)
end

---Handles a change by the user: a buffer loaded only for the review is handed over to them.
---@param view claude-ide.review.View
function M.touched(view)
  local buf = view.bufs.right
  if buffer_hidden.owns(buf) and vim.bo[buf].modified then
    buffer_hidden.adopt(buf)
    swap.enable(buf)
  end
end

---Notes the file's text as it was loaded: `u` in the review goes back no further.
---@param view claude-ide.review.View
local function note_loaded(view)
  view.loaded = vim.api.nvim_buf_call(view.bufs.right, function()
    return vim.fn.undotree().seq_cur
  end)
end

---A buffer was loaded, or again since its file has changed.
---@param view claude-ide.review.View
---@param buf integer
function M.loaded(view, buf)
  if buf ~= view.bufs.right then
    return
  end
  note_loaded(view)
  if view.hunks and windows.all_windows_open(view) and vim.api.nvim_win_get_buf(view.wins.right) == buf then
    pair.align_again(view)
  end
end

---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
local function list_files(view, entries, index)
  list.render(view.list --[[@as integer]], entries, index)
  windows.point_at(view, index)
end

---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.update_list(view, entries, index)
  if windows.all_windows_open(view) then
    list_files(view, entries, index)
  end
end

---Shows a buffer in a window. The previous buffer keeps its unsaved changes, and what `u` takes back, even with 'nohidden'.
local function put(win, buf)
  local before = vim.api.nvim_win_get_buf(win)
  local hidden = vim.o.hidden or vim.bo[before].modified or written.has_history(before)
  option.during("hidden", hidden, function()
    vim.api.nvim_win_set_buf(win, buf)
  end)
end

---Shows the diff of one file.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.show(view, entries, index)
  if not windows.all_windows_open(view) then
    return
  end
  local entry = entries[index]
  M.release(view)
  local old = { view.bufs.left, view.bufs.right }
  local file, ours = sides.file(entry)
  if not ours and vim.bo[file].modified then
    stamp.is_conflict(file) -- without events Neovim itself would ask about it
  end
  silently(function()
    view.entry, view.path = entry, entry.path
    local before = sides.make("before Claude", entry.path, function(lnum)
      return view.hunks and diffview_hunks.map(view.hunks, lnum) or lnum
    end)
    view.bufs = { left = before, right = file }
    put(view.wins.right, file)
  end)
  buffer_hidden.show_to_edit(file, view.wins.right)
  silently(function()
    view.lines = sides.lines_before(entry, file)
    sides.fill(view.bufs.left, view.lines)
    vim.bo[view.bufs.left].filetype = ours
        and (vim.filetype.match({ filename = entry.path, buf = view.bufs.left }) or "")
      or vim.bo[file].filetype
    vim.bo[view.bufs.left].tabstop = vim.bo[file].tabstop
    view.options = not ours and window_options.remember(view.wins.right) or nil
    window_options.window(view.wins.right)
    windows.set_one_window(view, comparison.needs_one_window(view))
    if view.wins.left then
      windows.put(view.wins.left, view.bufs.left)
    end
    comparison.start(view)
    pair.go_to_first_change(view)
    windows.set_winbars(view)
  end)
  own_buffer.highlight(view.bufs.left, not ours and file or nil)
  if ours then
    own_buffer.highlight(file)
  end
  note_loaded(view)
  view.unmap = keys.map_sides(view)
  for _, buf in ipairs(old) do
    if buf ~= view.list and vim.api.nvim_buf_is_valid(buf) and sides.is_ours(buf) then
      own_buffer.delete(buf)
    end
  end
  silently(function()
    sides.name()
  end)
  list_files(view, entries, index)
end

---Switches this review, and later diffs, to the next layout.
---@param view claude-ide.review.View
function M.next_layout(view)
  if windows.all_windows_open(view) then
    windows.switch_to_next(view)
    if view.unmap then
      view.unmap()
    end
    view.unmap = keys.map_sides(view)
  end
end

---Refits after a resize.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.resized(view, entries, index)
  if windows.all_windows_open(view) and windows.is_current(view) then
    windows.fit(view)
    silently(function()
      windows.set_winbars(view)
    end)
    list_files(view, entries, index)
  end
end

---The state of the file's buffer: the user may have deleted or renamed it, or shown another buffer in its window.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
---@return "here"|"lost"|"elsewhere"
local function whereabouts(view, entry)
  local buf = view.bufs.right
  if not vim.api.nvim_buf_is_loaded(buf) then
    return "lost"
  elseif vim.api.nvim_win_get_buf(view.wins.right) ~= buf then
    return view.unloaded and "lost" or "elsewhere" -- it may have been loaded again
  elseif not sides.is_ours(buf) and buffer.find(entry.path) ~= buf then
    return "lost"
  end
  return "here"
end

---Updates the windows.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.update(view, entries, index)
  if not windows.all_windows_open(view) then
    return
  end
  local entry = entries[index]
  local found = whereabouts(view, entry)
  view.unloaded = nil
  if found == "lost" or view.path ~= entry.path then
    return M.show(view, entries, index)
  elseif found == "elsewhere" then
    return list_files(view, entries, index)
  end
  local on_disk = entry.change and entry.change.behind and sides.lines_on_disk(entry.change) or nil
  if sides.is_ours(view.bufs.right) ~= (on_disk ~= nil or not sides.has_text(entry)) then
    -- The file was created or deleted, or has changed on disk beside unsaved changes. Who is typing in it goes on, until InsertLeave.
    local is_here = view.wins.right == vim.api.nvim_get_current_win()
    if is_here and vim.api.nvim_get_mode().mode:find("^[iR]") then
      return list_files(view, entries, index)
    end
    return M.show(view, entries, index)
  end
  local lines = sides.lines_before(entry, view.bufs.right)
  silently(function()
    if on_disk then
      sides.fill(view.bufs.right, on_disk)
    end
    comparison.refresh(view, lines)
    windows.set_winbars(view)
  end)
  list_files(view, entries, index)
end

---@param view claude-ide.review.View
---@return string[]? words
local function caller_of(view)
  local change, win = view.entry.change, view.wins.right
  local side = vim.api.nvim_get_current_win() == view.wins.left and "before" or "file"
  if side == "before" then
    win = view.wins.left
  elseif vim.api.nvim_win_get_buf(win) ~= view.bufs.right then
    return nil
  end
  local hunk = change and hunks.at(change, vim.api.nvim_win_get_cursor(win)[1], side)
  return hunk and callers.words(hunk)
end

---@param view claude-ide.review.View
---@param side "list"|claude-ide.diffview.Side
---@param width integer
---@return string
local function winbar_of(view, side, width)
  if side == "list" then
    return review_winbar.of_list(width)
  end
  view.caller = caller_of(view)
  -- The window of the text before has more room.
  if side == "left" then
    return review_winbar.of_before(view.entry, width, view.caller)
  end
  return review_winbar.of_file(view.entry, width, view.hidden, not view.wins.left and view.caller or nil)
end

---The cursor moved: the winbars say whose call made the change there.
---@param view claude-ide.review.View
function M.moved(view)
  if windows.all_windows_open(view) and not vim.deep_equal(caller_of(view), view.caller) then
    silently(function()
      windows.set_winbars(view)
    end)
  end
end

---@param entries claude-ide.review.Entry[]
---@return claude-ide.review.View
function M.open(entries)
  local path = entries[1].path
  local blank = sides.make("before Claude", path)
  local view ---@type claude-ide.review.View
  ---@diagnostic disable-next-line: missing-fields -- the rest comes with the windows
  view = {
    bufs = { left = blank, right = blank },
    wins = {},
    path = path,
    old_path = path,
    entry = entries[1],
    lines = {},
    list = list.make(),
    list_width = function()
      return list.width(entries)
    end,
    layout = modifiers.layout() or layout.preferred(),
    place = "tab",
    without_keys = true, -- keys.lua restores the keys of the user's buffer
    winbar = function(side, width)
      return winbar_of(view, side, width)
    end,
    compare = function()
      comparison.start(view)
    end,
    end_comparing = function()
      comparison.stop(view)
    end,
  }
  zen_mode.keep("review", {
    is_there = function()
      return view.tab ~= nil and windows.is_current(view)
    end,
    enter = function()
      pcall(window.enter, view.wins.right)
    end,
  })
  windows.open(view, true)
  silently(function()
    list.render(view.list, entries, 1)
  end)
  keys.map_list(view)
  M.show(view, entries, 1)
  window.enter(view.wins.right)
  return view
end

---Closes the review; the user returns to where they were.
---@param view claude-ide.review.View
function M.close(view)
  M.release(view)
  windows.close(view, {
    delete = function()
      for _, buf in ipairs({ view.list, view.bufs.left, view.bufs.right }) do
        if vim.api.nvim_buf_is_valid(buf) and sides.is_ours(buf) then
          own_buffer.delete(buf)
        end
      end
    end,
  })
end

return M
