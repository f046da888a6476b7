-- A review on the screen, in a tab page of its own: the list, what was before, and the file itself, to be edited.
-- Invariant: the person's buffer leaves as it came. Its window options are put back before Neovim remembers them with it.
local M = {}

---@alias claude-ide.review.Side "list"|"before"|"file"

---@class claude-ide.review.View
---@field bufs table<claude-ide.review.Side, integer>
---@field wins table<claude-ide.review.Side, integer>
---@field tab integer
---@field screen claude-ide.diff.Screen what to go back to
---@field lines string[] of the side before
---@field unmap? fun()
---@field options? table of the file's window, as they were

local namespace = vim.api.nvim_create_namespace("claude-ide.review.view")

---@generic T
---@param fn fun(): T
---@return T
local function silently(fn)
  return require("claude-ide.diff.buffers").silently(fn)
end

---@return claude-ide.review.sides
local function sides()
  return require("claude-ide.review.sides")
end

---@param view claude-ide.review.View
---@return boolean
function M.is_current(view)
  return vim.api.nvim_get_current_tabpage() == view.tab
end

---The side the cursor is on.
---@param view claude-ide.review.View
---@return claude-ide.review.Side
function M.side(view)
  local win = vim.api.nvim_get_current_win()
  return win == view.wins.list and "list" or win == view.wins.before and "before" or "file"
end

---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
---@return boolean whether Neovim's diff mode would take too long
local function is_much(view, entry)
  local change = entry.change
  if not change then
    return false
  end
  local hunks = vim.tbl_map(function(hunk)
    return { old_count = #hunk.before_lines, new_count = #hunk.after_lines }
  end, change.hunks)
  local lines = #view.lines + vim.api.nvim_buf_line_count(view.bufs.file)
  local bytes = #change.without + #(change.current or "")
  return require("claude-ide.diff.marks").needed(hunks, lines, bytes)
end

---Marks what diff mode does not show: conflicts, and everything where there is no diff mode.
---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
---@param plain boolean
local function mark(view, entry, plain)
  local hunks = require("claude-ide.review.hunks")
  for _, side in ipairs({ "before", "file" }) do
    local buf = view.bufs[side]
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    for _, hunk in ipairs(entry.change and hunks.left(entry.change) or {}) do
      local first, last, count = hunks.range(hunk, side)
      local row = math.min(first, vim.api.nvim_buf_line_count(buf)) - 1
      if hunk.state == "conflict" and side == "file" then
        vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
          virt_text = { { "! you changed this too, so it stays", "ClaudeDiffWarning" } },
          virt_text_pos = "eol",
        })
      elseif hunk.reviewed and side == "file" then
        vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
          virt_text = { { "✓ reviewed", "ClaudeReviewDone" } },
          virt_text_pos = "eol",
        })
      end
      if plain and count > 0 then
        vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
          end_row = math.min(last, vim.api.nvim_buf_line_count(buf)),
          hl_group = side == "before" and "DiffDelete" or "DiffAdd",
          hl_eol = true,
          strict = false,
        })
      end
    end
  end
end

---Lets the file's buffer go as it came.
---@param view claude-ide.review.View
function M.release(view)
  if view.unmap then
    view.unmap()
    view.unmap = nil
  end
  if vim.api.nvim_buf_is_valid(view.bufs.file) then
    vim.api.nvim_buf_clear_namespace(view.bufs.file, namespace, 0, -1)
  end
  silently(function()
    for _, side in ipairs({ "before", "file" }) do
      local win = view.wins[side]
      if vim.api.nvim_win_is_valid(win) then
        vim.api.nvim_win_call(win, function()
          vim.cmd("diffoff")
        end)
        vim.wo[win][0].winfixbuf = false
      end
    end
    if view.options and vim.api.nvim_win_is_valid(view.wins.file) then
      require("claude-ide.diff.dress").put_back(view.wins.file, view.options)
    end
    view.options = nil
    return true
  end)
end

---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
local function set_winbars(view, entry)
  local winbar = require("claude-ide.review.winbar")
  vim.wo[view.wins.list][0].winbar = winbar.of_list()
  vim.wo[view.wins.before][0].winbar = winbar.of_before(entry)
  vim.wo[view.wins.file][0].winbar = winbar.of_file(entry, vim.api.nvim_win_get_width(view.wins.file))
end

---@param view claude-ide.review.View
---@param entry claude-ide.review.Entry
local function go_to_first(view, entry)
  local hunks = require("claude-ide.review.hunks")
  local first = entry.change and hunks.left(entry.change)[1]
  for _, side in ipairs({ "before", "file" }) do
    local lnum = first and hunks.place(first, side) or 1
    vim.api.nvim_win_call(view.wins[side], function()
      vim.api.nvim_win_set_cursor(0, { math.min(lnum, vim.api.nvim_buf_line_count(0)), 0 })
      vim.cmd("normal! zvzz")
    end)
  end
  vim.api.nvim_win_call(view.wins.file, function()
    vim.cmd("syncbind")
  end)
end

---Without a difference all of the text would be one fold.
---@param view claude-ide.review.View
local function unfold(view)
  for _, side in ipairs({ "before", "file" }) do
    vim.wo[view.wins[side]][0].foldenable = false
  end
end

---The person changed the file: if it was read for the review alone, it is theirs now.
---@param view claude-ide.review.View
function M.touched(view)
  local buf, hidden = view.bufs.file, require("claude-ide.buffer.hidden")
  if hidden.owns(buf) and vim.bo[buf].modified then
    hidden.adopt(buf)
    require("claude-ide.buffer.swap").enable(buf)
  end
end

---@param view claude-ide.review.View
---@return boolean
local function stands(view)
  return vim.iter(vim.tbl_values(view.wins)):all(vim.api.nvim_win_is_valid)
end

---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
local function list_files(view, entries, index)
  require("claude-ide.review.list").render(view.bufs.list, entries, index)
  if vim.api.nvim_win_get_cursor(view.wins.list)[1] ~= index then
    vim.api.nvim_win_set_cursor(view.wins.list, { index, 0 })
  end
end

---Shows the diff of one file.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.show(view, entries, index)
  if not stands(view) then
    return
  end
  local entry, buffers = entries[index], require("claude-ide.diff.buffers")
  local dress = require("claude-ide.diff.dress")
  M.release(view)
  local old = { view.bufs.before, view.bufs.file }
  silently(function()
    local file, ours = sides().file(entry)
    view.bufs = { list = view.bufs.list, before = sides().make("before", entry.path), file = file }
    view.lines = sides().lines_before(entry, file)
    sides().fill(view.bufs.before, view.lines)
    vim.bo[view.bufs.before].filetype = ours
        and (vim.filetype.match({ filename = entry.path, buf = view.bufs.before }) or "")
      or vim.bo[file].filetype
    vim.bo[view.bufs.before].tabstop = vim.bo[file].tabstop
    for _, side in ipairs({ "before", "file" }) do
      vim.api.nvim_win_set_buf(view.wins[side], view.bufs[side])
      if side == "file" and not ours then
        view.options = dress.remember(view.wins.file)
      end
      dress.window(view.wins[side], "")
    end
    local plain = is_much(view, entry)
    if not plain then
      for _, side in ipairs({ "before", "file" }) do
        vim.api.nvim_win_call(view.wins[side], vim.cmd.diffthis)
      end
    end
    if not entry.change then
      unfold(view)
    end
    set_winbars(view, entry)
    mark(view, entry, plain)
    go_to_first(view, entry)
    return true
  end)
  buffers.highlight(view.bufs.before, not sides().is_ours(view.bufs.file) and view.bufs.file or nil)
  view.unmap = require("claude-ide.review.keys").map_sides(view)
  for _, buf in ipairs(old) do
    if buf ~= view.bufs.list and vim.api.nvim_buf_is_valid(buf) and sides().is_ours(buf) then
      buffers.delete(buf)
    end
  end
  list_files(view, entries, index)
end

---Brings what is on the screen up to date.
---@param view claude-ide.review.View
---@param entries claude-ide.review.Entry[]
---@param index integer
function M.update(view, entries, index)
  if not stands(view) then
    return
  end
  local entry = entries[index]
  if sides().is_ours(view.bufs.file) ~= (vim.uv.fs_stat(entry.path) == nil) then
    -- The file came back, or went.
    local buf = require("claude-ide.buffer").find(entry.path)
    if not buf or not vim.api.nvim_buf_is_loaded(buf) or buf ~= view.bufs.file then
      return M.show(view, entries, index)
    end
  end
  local lines = sides().lines_before(entry, view.bufs.file)
  silently(function()
    if not vim.deep_equal(lines, view.lines) then
      view.lines = lines
      sides().fill(view.bufs.before, lines)
    end
    if not entry.change then
      unfold(view)
    end
    set_winbars(view, entry)
    mark(view, entry, not vim.wo[view.wins.file].diff)
    return true
  end)
  list_files(view, entries, index)
end

---@param entries claude-ide.review.Entry[]
---@return claude-ide.review.View
function M.open(entries)
  local list, dress = require("claude-ide.review.list"), require("claude-ide.diff.dress")
  local stacked = require("claude-ide.config").get().diff.layout == "horizontal"
  require("claude-ide.diff.winbar").define_highlights()
  local view = {
    screen = require("claude-ide.diff.restore").remember(),
    bufs = {},
    wins = {},
    lines = {},
  }
  silently(function()
    local bufs, wins = view.bufs, view.wins
    bufs.list, bufs.before = list.make(), sides().make("before", entries[1].path)
    bufs.file = bufs.before
    vim.cmd(("noautocmd keepalt tab sbuffer %d"):format(bufs.list))
    view.tab = vim.api.nvim_get_current_tabpage()
    wins.list = vim.api.nvim_get_current_win()
    wins.before = vim.api.nvim_open_win(bufs.before, false, { split = "right", win = wins.list })
    wins.file =
      vim.api.nvim_open_win(bufs.before, false, { split = stacked and "below" or "right", win = wins.before })
    dress.window(wins.list, "")
    local wo = vim.wo[wins.list][0]
    wo.number, wo.relativenumber, wo.signcolumn, wo.foldcolumn = false, false, "no", "0"
    wo.statuscolumn, wo.wrap, wo.cursorline, wo.list, wo.spell = "", false, true, false, false
    wo.colorcolumn, wo.winfixwidth = "", true
    vim.api.nvim_win_set_width(wins.list, list.width(entries))
    if not stacked then
      local room = vim.api.nvim_win_get_width(wins.before) + vim.api.nvim_win_get_width(wins.file)
      vim.api.nvim_win_set_width(wins.before, math.floor(room / 2))
    end
    list.render(bufs.list, entries, 1)
    return true
  end)
  require("claude-ide.review.keys").map_list(view)
  M.show(view, entries, 1)
  vim.api.nvim_set_current_win(view.wins.file)
  return view
end

---Takes the review off the screen; the person goes back to where they came from.
---@param view claude-ide.review.View
function M.close(view)
  local buffers, restore = require("claude-ide.diff.buffers"), require("claude-ide.diff.restore")
  M.release(view)
  local here = not vim.api.nvim_tabpage_is_valid(view.tab) or M.is_current(view)
  silently(function()
    local wins = vim.tbl_filter(vim.api.nvim_win_is_valid, vim.tbl_values(view.wins))
    if here then
      restore.go(view.screen)
    end
    if #vim.api.nvim_list_tabpages() == 1 and #wins == #vim.api.nvim_tabpage_list_wins(0) then
      -- There is nothing to go back to: the file stays.
      local stays = vim.api.nvim_win_is_valid(view.wins.file) and view.wins.file or wins[1]
      wins = vim.tbl_filter(function(win)
        return win ~= stays
      end, wins)
      if stays and sides().is_ours(vim.api.nvim_win_get_buf(stays)) then
        vim.wo[stays][0].winfixbuf = false
        vim.api.nvim_win_set_buf(stays, vim.api.nvim_create_buf(true, false))
      end
    end
    for _, win in ipairs(wins) do
      if vim.api.nvim_win_is_valid(win) then
        pcall(vim.api.nvim_win_close, win, true)
      end
    end
    return true
  end)
  for _, buf in pairs(view.bufs) do
    if vim.api.nvim_buf_is_valid(buf) and sides().is_ours(buf) then
      buffers.delete(buf)
    end
  end
  if here then
    silently(function()
      restore.settle(view.screen)
      return true
    end)
  end
end

return M
