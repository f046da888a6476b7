-- A review on the screen, in a tab page of its own: the list, what was before, and the file itself, to be edited.
-- Invariant: the user's buffer leaves as it came. Its window options are put back before Neovim remembers them with it.
local M = {}

---@alias claude-ide.review.Side "list"|"before"|"file"

local listed_pair = require("claude-ide.diffview.windows")
local silently = require("claude-ide.ui.quietly").run

---@class claude-ide.review.View: claude-ide.diffview.ListedPair
---@field bufs table<claude-ide.review.Side, integer>
---@field wins table<claude-ide.review.Side, integer> without `before` in a layout that draws it within the file
---@field pair? claude-ide.diffview.Pair the two sides, as long as they are compared
---@field lines string[] of the side before
---@field unmap? fun()
---@field options? table of the file's window, as they were
---@field unloaded? boolean the buffer of the file was, since this was brought up to date

---@return claude-ide.review.sides
local function sides()
  return require("claude-ide.review.sides")
end

---@return claude-ide.review.comparison
local function comparison()
  return require("claude-ide.review.comparison")
end

---The side the cursor is on.
---@param view claude-ide.review.View
---@return claude-ide.review.Side
function M.side(view)
  local win = vim.api.nvim_get_current_win()
  return win == view.wins.list and "list" or win == view.wins.before and "before" or "file"
end

---Lets the file's buffer go as it came.
---@param view claude-ide.review.View
function M.release(view)
  if view.unmap then
    view.unmap()
    view.unmap = nil
  end
  silently(function()
    comparison().stop(view)
    for _, side in ipairs({ "before", "file" }) do
      local win = view.wins[side]
      if win and vim.api.nvim_win_is_valid(win) then
        vim.wo[win][0].winfixbuf = false
      end
    end
    if view.options and vim.api.nvim_win_is_valid(view.wins.file) then
      require("claude-ide.ui.window_look").put_back(view.wins.file, view.options)
    end
    require("claude-ide.ui.winbar").release(view.wins.file)
    view.options = nil
    return true
  end)
end

---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
local function set_winbars(view, entry)
  local winbar = require("claude-ide.review.winbar")
  listed_pair.set_winbars(view, {
    list = winbar.of_list,
    file = function(width)
      return winbar.of_file(entry, width)
    end,
    before = function(width)
      return winbar.of_before(entry, width)
    end,
  })
end

---The user changed the file: if it was read for the review alone, it is theirs now.
---@param view claude-ide.review.View
function M.touched(view)
  local buf, hidden = view.bufs.file, require("claude-ide.buffer.hidden")
  if hidden.owns(buf) and vim.bo[buf].modified then
    hidden.adopt(buf)
    require("claude-ide.buffer.swap").enable(buf)
  end
end

---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
local function list_files(view, entries, index)
  require("claude-ide.diffview.list").render(view.bufs.list, entries, index)
  listed_pair.point_at(view, index)
end

---Shows a buffer in a window. Unsaved changes of the one before stay in it, whatever 'hidden' says.
---@param win integer
---@param buf integer
local function put(win, buf)
  local hidden = vim.o.hidden or vim.bo[vim.api.nvim_win_get_buf(win)].modified
  require("claude-ide.option").during("hidden", hidden, function()
    vim.api.nvim_win_set_buf(win, buf)
  end)
end

---Shows the diff of one file.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.show(view, entries, index)
  if not listed_pair.stands(view) then
    return
  end
  local entry = entries[index]
  local dress = require("claude-ide.ui.window_look")
  M.release(view)
  local old = { view.bufs.before, view.bufs.file }
  local file, ours = sides().file(entry)
  silently(function()
    view.bufs = { list = view.bufs.list, before = sides().make("before Claude", entry.path), file = file }
    put(view.wins.file, file)
    return true
  end)
  require("claude-ide.buffer.hidden").show_to_edit(file, view.wins.file)
  silently(function()
    view.lines = sides().lines_before(entry, file)
    sides().fill(view.bufs.before, view.lines)
    vim.bo[view.bufs.before].filetype = ours
        and (vim.filetype.match({ filename = entry.path, buf = view.bufs.before }) or "")
      or vim.bo[file].filetype
    vim.bo[view.bufs.before].tabstop = vim.bo[file].tabstop
    view.options = not ours and dress.remember(view.wins.file) or nil
    dress.window(view.wins.file)
    local width = require("claude-ide.diffview.list").width(entries)
    listed_pair.set_one_window(view, comparison().needs_one_window(view, entry), view.bufs.before, width)
    if view.wins.before then
      vim.api.nvim_win_set_buf(view.wins.before, view.bufs.before)
      dress.window(view.wins.before)
    end
    comparison().start(view, entry)
    comparison().go_to_first(view)
    set_winbars(view, entry)
    return true
  end)
  require("claude-ide.ui.own_buffer").highlight(view.bufs.before, not ours and file or nil)
  if ours then
    require("claude-ide.ui.own_buffer").highlight(file)
  end
  view.unmap = require("claude-ide.review.keys").map_sides(view)
  for _, buf in ipairs(old) do
    if buf ~= view.bufs.list and vim.api.nvim_buf_is_valid(buf) and sides().is_ours(buf) then
      require("claude-ide.ui.own_buffer").delete(buf)
    end
  end
  silently(function()
    sides().name()
    return true
  end)
  list_files(view, entries, index)
end

---Turns the windows into those of another layout. Where the user is in the file stays.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
---@param name claude-ide.diffview.LayoutName
function M.switch(view, entries, index, name)
  if not listed_pair.stands(view) then
    return
  elseif view.one_window then
    return require("claude-ide.diffview.layout").say_one_window()
  end
  listed_pair.turn(view, name, {
    beside = view.bufs.before,
    list_width = require("claude-ide.diffview.list").width(entries),
    leave = function(saved)
      saved.lnum = comparison().beside(view, vim.api.nvim_win_get_cursor(0)[1])
      saved.topline = math.max(saved.lnum - vim.fn.winline() + 1, 1)
    end,
    stop = function()
      comparison().stop(view)
    end,
    start = function()
      comparison().start(view, entries[index])
      set_winbars(view, entries[index])
    end,
  })
  silently(function()
    comparison().align(view)
    return true
  end)
  view.unmap()
  view.unmap = require("claude-ide.review.keys").map_sides(view)
end

---The screen, or a window, has another size.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
---@param screen boolean
function M.resized(view, entries, index, screen)
  if listed_pair.stands(view) and listed_pair.is_current(view) then
    silently(function()
      if screen then
        listed_pair.fit(view, require("claude-ide.diffview.list").width(entries))
      end
      set_winbars(view, entries[index])
      return true
    end)
    list_files(view, entries, index)
  end
end

---What became of the buffer of the file: the user may have deleted it, given it another name, or put another one in its place.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
---@return "here"|"lost"|"elsewhere"
local function whereabouts(view, entry)
  local buf = view.bufs.file
  if not vim.api.nvim_buf_is_loaded(buf) then
    return "lost"
  elseif vim.api.nvim_win_get_buf(view.wins.file) ~= buf then
    return view.unloaded and "lost" or "elsewhere" -- somebody may have loaded it again
  elseif not sides().is_ours(buf) and require("claude-ide.buffer").find(entry.path) ~= buf then
    return "lost"
  end
  return "here"
end

---Brings what is on the screen up to date.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.update(view, entries, index)
  if not listed_pair.stands(view) then
    return
  end
  local entry = entries[index]
  local found = whereabouts(view, entry)
  view.unloaded = nil
  if found == "lost" then
    return M.show(view, entries, index)
  elseif found == "elsewhere" then
    return list_files(view, entries, index)
  end
  local on_disk = entry.change and entry.change.behind and sides().lines_on_disk(entry.change) or nil
  if sides().is_ours(view.bufs.file) ~= (on_disk ~= nil or vim.uv.fs_stat(entry.path) == nil) then
    -- The file came back, or went.
    local buf = require("claude-ide.buffer").find(entry.path)
    if buf ~= view.bufs.file or not vim.bo[buf].modified then
      return M.show(view, entries, index)
    end
  end
  local lines = sides().lines_before(entry, view.bufs.file)
  silently(function()
    if on_disk then
      sides().fill(view.bufs.file, on_disk)
    end
    if not vim.deep_equal(lines, view.lines) then
      view.lines = lines
      sides().fill(view.bufs.before, lines)
    end
    comparison().refresh(view, entry)
    set_winbars(view, entry)
    return true
  end)
  list_files(view, entries, index)
end

---@param entries claude-ide.review.Entry[]
---@return claude-ide.review.View
function M.open(entries)
  local list = require("claude-ide.diffview.list")
  local bufs = { list = list.make(), before = sides().make("before Claude", entries[1].path) }
  bufs.file = bufs.before
  local view ---@type claude-ide.review.View?
  require("claude-ide.ui.focus").keep("review", {
    is_there = function()
      return view ~= nil and vim.api.nvim_get_current_tabpage() == view.tab
    end,
    enter = function()
      if view then
        pcall(vim.api.nvim_set_current_win, view.wins.file)
      end
    end,
  })
  local frame =
    listed_pair.open({ text = "file", beside = "before" }, bufs.list, bufs.before, list.width(entries))
  view = vim.tbl_extend("error", frame, { bufs = bufs, lines = {} }) --[[@as claude-ide.review.View]]
  silently(function()
    list.render(bufs.list, entries, 1)
    return true
  end)
  require("claude-ide.review.keys").map_list(view)
  M.show(view, entries, 1)
  vim.api.nvim_set_current_win(view.wins.file)
  return view
end

---Takes the review off the screen; the user goes back to where they came from.
---@param view claude-ide.review.View
function M.close(view)
  M.release(view)
  listed_pair.close(view, sides().is_ours, function()
    for _, buf in pairs(view.bufs) do
      if vim.api.nvim_buf_is_valid(buf) and sides().is_ours(buf) then
        require("claude-ide.ui.own_buffer").delete(buf)
      end
    end
  end)
end

return M
