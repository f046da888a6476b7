-- Maintains a shown diff: keys, winbars, layout, sizes, and closed windows. Decides nothing: presenter.lua does.
local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local change_keys = lazy("claude-ide.ui.diffview.change_keys")
local config = lazy("claude-ide.config")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local diffview_hunks = lazy("claude-ide.ui.diffview.hunks")
local events = lazy("claude-ide.edits.proposal.events")
local files = lazy("claude-ide.edits.proposal.files")
local key_list = lazy("claude-ide.ui.key_list")
local keys = lazy("claude-ide.edits.proposal.keys")
local layout = lazy("claude-ide.ui.diffview.layout")
local list = lazy("claude-ide.ui.diffview.list")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local prepare = lazy("claude-ide.edits.proposal.prepare")
local state = lazy("claude-ide.edits.proposal.state")
local watch_files = lazy("claude-ide.edits.watch.files")
local winbar = lazy("claude-ide.edits.proposal.winbar")
local window = lazy("claude-ide.ui.guard.window")
local windows = lazy("claude-ide.ui.diffview.windows")
local writes = lazy("claude-ide.edits.proposal.writes")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.proposal.choice")

---The dropped hunk at or next to a line.
---@param hunks claude-ide.diffview.Hunks
---@param side claude-ide.diffview.Side
---@param lnum integer
---@return claude-ide.buffer.Hunk?
local function dropped_at(hunks, side, lnum)
  for _, hunk in ipairs(diffview_hunks.dropped(hunks)) do
    local first = side == "left" and hunk.old or diffview_hunks.place(hunks, hunk)
    local last = first + hunk.old_count - 1
    if first <= lnum and lnum <= last or hunk.old_count == 0 and (lnum == first or lnum == first - 1) then
      return hunk
    end
  end
end

---Drops or restores the change at the cursor, as an ordinary edit that `u` undoes.
---@param view claude-ide.diffview.View
local function toggle(view)
  local hunks = view.hunks
  local side = vim.api.nvim_get_current_buf() == view.bufs.left and "left" or "right"
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  local hunk, at = diffview_hunks.at(hunks, side, lnum), nil
  if hunk then
    at = hunk.new
    diffview_hunks.drop(hunks, hunk)
  else
    local dropped = dropped_at(hunks, side, lnum)
    if not dropped then
      return notice.info("There is no change in this line.")
    end
    at = diffview_hunks.place(hunks, dropped)
    diffview_hunks.take(hunks, dropped)
  end
  local win = view.wins.right
  if not vim.api.nvim_win_is_valid(win) then
    return -- closed a moment ago: the windows are arranged again soon
  end
  if vim.wo[win].diff then
    vim.cmd("diffupdate")
  end
  local last = vim.api.nvim_buf_line_count(view.bufs.right)
  vim.api.nvim_win_set_cursor(win, { math.max(math.min(at, last), 1), 0 })
  -- The text is now equal on both sides, and would be folded at the cursor.
  vim.api.nvim_win_call(win, function()
    vim.cmd("normal! zv")
  end)
end

---Marks dropped hunks in the proposal.
---@param hunks claude-ide.diffview.Hunks
local function show_dropped(hunks)
  vim.api.nvim_buf_clear_namespace(hunks.buf, namespace, 0, -1)
  local key = key_list.keys(config.get().diff.keymaps.hunk)[1]
  local text = key and (" ◌ dropped · %s restores it"):format(key) or " ◌ dropped"
  local last = vim.api.nvim_buf_line_count(hunks.buf)
  for _, hunk in ipairs(diffview_hunks.dropped(hunks)) do
    vim.api.nvim_buf_set_extmark(
      hunks.buf,
      namespace,
      math.max(math.min(diffview_hunks.place(hunks, hunk), last), 1) - 1,
      0,
      {
        virt_text = { { text, "ClaudeDiffNote" } },
        virt_text_pos = "eol",
        undo_restore = false,
      }
    )
  end
end

---Forward declaration, see below.
local restore ---@type fun(entry: claude-ide.proposal.Entry)

---Handles events of a file's buffers.
---@param entry claude-ide.proposal.Entry on the screen
---@param file claude-ide.proposal.PreparedFile
local function listen_to(entry, file)
  events.attach(entry, file, restore)
  for _, buf in pairs(file.text.bufs) do
    keys.map(entry, buf, M.verbs_of(entry))
  end
end

---Keys of a diff, and their actions.
---@param entry claude-ide.proposal.Entry shown
---@return table<claude-ide.proposal.Verb, fun()>
function M.verbs_of(entry)
  local actions, count = entry.actions, #entry.diff.files
  ---@type table<claude-ide.proposal.Verb, fun()>
  local found = {
    accept = actions.accept,
    reject = actions.reject,
    reject_with_reason = actions.reject_with_reason,
    hunk = function()
      local view = entry.view --[[@as claude-ide.diffview.View]]
      local file, in_list = entry.file, vim.api.nvim_get_current_win() == view.wins.list
      if in_list or file.dropped or files.is_deletion(file) then
        M.drop_file(entry)
      else
        toggle(view)
      end
    end,
    removed = function()
      change_keys.show_removed(entry.view)
    end,
    layout = function()
      local is_own = M.is_of_new_file(entry) or entry.diff.layout ~= nil
      windows.switch_to_next(entry.view --[[@as claude-ide.diffview.View]], is_own)
    end,
    help = function()
      keys.help(count > 1)
    end,
  }
  if count > 1 then
    found.undo_file = function()
      M.drop_file(entry)
    end
    found.next_file = function()
      M.show_file(entry, entry.shown % count + 1)
    end
    found.previous_file = function()
      M.show_file(entry, (entry.shown - 2) % count + 1)
    end
  end
  return found
end

---Whether it is a new file, without another side.
---@param entry claude-ide.proposal.Entry
---@return boolean
function M.is_of_new_file(entry)
  return #entry.diff.files == 1 and entry.file.kind == "created"
end

---@param entry claude-ide.proposal.Entry
---@return claude-ide.diffview.LayoutName
local function layout_of(entry)
  if entry.view then
    return entry.view.layout
  end
  return entry.diff.layout or M.is_of_new_file(entry) and "unified" or layout.preferred()
end

---@param entry claude-ide.proposal.Entry shown
---@param side "list"|claude-ide.diffview.Side
---@param width integer
---@param alone boolean
---@param hidden? integer hidden characters and runs of blanks
---@return string
local function winbar_of(entry, side, width, alone, hidden)
  local file = entry.file
  if side == "list" then
    return winbar.of_list(entry.diff, width)
  end
  local text = file.text
  local format = diffview_hunks.format(file.hunks --[[@as claude-ide.diffview.Hunks]])
  if text.now.format.eol == "\r\n" and format.eol == "\n" and entry.diff.requester.writes == "agent" then
    -- The CLI proposes LF for every file, and keeps the file's CRLF when writing.
    format = vim.tbl_extend("force", format, { eol = "\r\n" }) --[[@as claude-ide.bytes.Format]]
  end
  local has_both = file.kind ~= "created" and file.kind ~= "deleted"
  local unseen = has_both and bytes.unseen_changes(text.now.format, format) or nil
  if side == "left" then
    return winbar.of_left(file.old_path, text.now, width, unseen)
  end
  return winbar.of_right(entry.diff, {
    file = file,
    remaining = files.remaining(file),
    others = state.count() - 1,
    width = width,
    now = alone and text.now or nil,
    unseen = alone and unseen or nil,
    hidden = hidden,
    is_rough = files.comparison(file).is_rough,
  })
end

---Updates the number of waiting diffs in winbars.
function M.recount()
  for _, entry in ipairs(state.entries()) do
    if entry.view and entry.diff.state == "pending" then
      windows.set_winbars(entry.view)
    end
  end
end

---The user has edited the proposal.
---@param entry claude-ide.proposal.Entry
local function refresh(entry)
  if entry.view and entry.diff.state == "pending" then
    windows.refresh(entry.view)
    show_dropped(entry.view.hunks)
    if entry.list then
      files.render_list(entry)
    end
  end
end

---Prepares the texts of a file, to be shown.
---@param entry claude-ide.proposal.Entry
---@param index integer
---@param done fun() possibly before this returns; not called if another file was chosen meanwhile
---@param failed fun(trace: string)
function M.prepare_file(entry, index, done, failed)
  local file = entry.diff.files[index]
  entry.shown = index
  prepare.run(entry.diff, file, function()
    if entry.file == file then
      refresh(entry)
    end
  end, function()
    if entry.file == file and entry.view and entry.diff.state == "pending" then
      local one_window = files.needs_one_window(file)
      windows.compare_again(entry.view, one_window)
    end
  end, function()
    if entry.shown == index and entry.diff.state == "pending" then
      entry.file = file
      done()
    end
  end, failed)
end

---Shows another one of several files.
---@param entry claude-ide.proposal.Entry
---@param index integer
function M.show_file(entry, index)
  local view = entry.view
  local file = entry.diff.files[index]
  if not file or not view or not windows.all_windows_open(view) or entry.shown == index then
    return
  end
  local is_new = file.text == nil
  M.prepare_file(entry, index, function()
    if entry.view ~= view or not windows.all_windows_open(view) then
      return
    end
    local text = file.text --[[@as claude-ide.proposal.Prepared]]
    if is_new then
      for _, buf in pairs(text.bufs) do
        window.join(buf, entry.list --[[@as integer]])
        own_buffer.highlight(buf, text.now.buf)
      end
      listen_to(entry, file)
    end
    windows.show(view, {
      bufs = text.bufs,
      hunks = file.hunks --[[@as claude-ide.diffview.Hunks]],
      path = file.path,
      one_window = files.needs_one_window(file),
    })
    refresh(entry)
  end, function(trace)
    log.error("%s of an edit of several files cannot be shown: %s", file.path, trace)
  end)
end

---Drops or restores the displayed file.
---@param entry claude-ide.proposal.Entry
function M.drop_file(entry)
  local file = entry.file
  file.dropped = not file.dropped
  refresh(entry)
  if file.dropped and entry.shown < #entry.diff.files then
    M.show_file(entry, entry.shown + 1)
  end
end

---Adapts windows and winbars to the screen's size.
---@param entry claude-ide.proposal.Entry shown
local function follow_sizes(entry)
  vim.api.nvim_create_autocmd({ "WinResized", "VimResized", "TabEnter" }, {
    group = entry.group,
    desc = "Claude Code: fit a diff to the screen",
    callback = function()
      if entry.view and entry.diff.state == "pending" then
        windows.fit(entry.view)
        windows.set_winbars(entry.view)
      end
    end,
  })
end

---Follows the file that a proposal was made for: the winbars tell that it has changed since.
---@param entry claude-ide.proposal.Entry shown
---@return fun() unfollow
local function follow_file(entry)
  local diff, file = entry.diff, entry.file
  if diff.plan or file.base then
    return function() end
  end
  local function look()
    current_text.read(file.old_path, function(disk)
      local now = file.text and file.text.now
      local is_past = now ~= nil and disk.bytes ~= now.disk.bytes
      if now and entry.view and diff.state == "pending" and is_past ~= (now.is_past == true) then
        now.is_past = is_past
        windows.set_winbars(entry.view)
      end
    end)
  end
  look() -- it may have waited for its place on the screen
  return watch_files.follow(file.old_path, look)
end

---Starts handling events of the windows.
---@param entry claude-ide.proposal.Entry shown
function M.begin(entry)
  if entry.unfollow then
    entry.unfollow()
  end
  entry.unfollow = follow_file(entry)
  entry.group = vim.api.nvim_create_augroup("claude-ide.proposal." .. entry.diff.id, { clear = true })
  for _, file in ipairs(entry.diff.files) do
    if file.text then
      listen_to(entry, file)
    end
  end
  if entry.list then
    keys.map(entry, entry.list, M.verbs_of(entry))
    writes.attach(entry, entry.file, entry.list)
    list.follow(entry.view --[[@as claude-ide.diffview.View]], entry.group, function(index)
      M.show_file(entry, index)
    end)
  end
  follow_sizes(entry)
end

---@param entry claude-ide.proposal.Entry with a closed window, but not the proposal's last one
function restore(entry)
  local file, view = entry.file, entry.view --[[@as claude-ide.diffview.View]]
  local function in_order()
    if entry.view == view and entry.diff.state == "pending" then
      windows.restore_windows(view)
    end
  end
  if vim.api.nvim_buf_is_loaded(file.text.bufs.left) then
    return in_order()
  end
  prepare.make_now_again(entry.diff, file, function()
    if entry.view == view and entry.diff.state == "pending" then
      M.begin(entry)
      in_order()
    end
  end)
end

---A view of a diff, before its windows are created.
---@param entry claude-ide.proposal.Entry with its text
---@return claude-ide.diffview.View
function M.make_view(entry)
  local diff, file = entry.diff, entry.file
  local view ---@type claude-ide.diffview.View
  ---@diagnostic disable-next-line: missing-fields -- the rest comes with the windows
  view = {
    bufs = file.text.bufs,
    wins = {},
    hunks = file.hunks --[[@as claude-ide.diffview.Hunks]],
    path = file.path,
    old_path = file.old_path,
    list = entry.list,
    list_width = function()
      return files.list_width(diff)
    end,
    layout = layout_of(entry),
    one_window = files.needs_one_window(file),
    place = diff.place or windows.preferred_place(),
    winbar = function(side, width, alone)
      return winbar_of(entry, side, width, alone, view.hidden)
    end,
  }
  return view
end

return M
