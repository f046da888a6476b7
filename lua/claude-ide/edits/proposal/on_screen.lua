-- Shows diffs and takes them down: when, in which order, and in which windows.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local closing = lazy("claude-ide.ui.guard.closing")
local comment_writer = lazy("claude-ide.comments.writer")
local config = lazy("claude-ide.config")
local guard = lazy("claude-ide.ui.guard")
local keys = lazy("claude-ide.edits.proposal.keys")
local log = lazy("claude-ide.base.log")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local place = lazy("claude-ide.ui.diffview.place")
local proposal_winbar = lazy("claude-ide.edits.proposal.winbar")
local queue = lazy("claude-ide.edits.proposal.queue")
local quietly = lazy("claude-ide.ui.quietly")
local restore = lazy("claude-ide.ui.restore")
local state = lazy("claude-ide.edits.proposal.state")
local typing = lazy("claude-ide.ui.guard.typing")
local ui_winbar = lazy("claude-ide.ui.winbar")
local view = lazy("claude-ide.edits.proposal.view")
local waits = lazy("claude-ide.base.waits")
local window = lazy("claude-ide.ui.guard.window")
local windows = lazy("claude-ide.ui.diffview.windows")
local writes = lazy("claude-ide.edits.proposal.writes")

local M = {}

---@param entry claude-ide.proposal.Entry
function M.add(entry)
  if state.is_empty() then
    typing.listen()
    writes.start()
  end
  state.add(entry)
  closing.await_next()
end

---The diff to go to next: the oldest one that is shown.
---@param besides claude-ide.proposal.Entry
---@return claude-ide.proposal.Entry?
local function next_shown(besides)
  return vim.iter(state.pending_entries()):find(function(entry)
    return entry ~= besides and entry.view ~= nil
  end)
end

---@param entry claude-ide.proposal.Entry
local function delete_buffers(entry)
  for _, buf in ipairs(state.bufs(entry)) do
    own_buffer.delete(buf)
  end
end

---Closes a diff's windows, and guards the window that the user returns to.
---@param entry claude-ide.proposal.Entry
local function close_view(entry)
  local is_broken_off = entry.ended_by_others and closing.is_typed_into()
  local closed = entry.view --[[@as claude-ide.diffview.View]]
  local was_within = closed.lost_here or windows.is_within(closed)
  local follower, after = next_shown(entry), queue.next()
  if follower and was_within then
    window.proposal_opens(state.sight(follower))
  end
  local went_back = windows.close(closed, {
    next_view = follower and follower.view,
    another = after ~= nil,
    typing_goes_on = function()
      return is_broken_off or comment_writer.has_lost_window()
    end,
    delete = function()
      delete_buffers(entry)
    end,
  })
  if after then
    queue.show_next(after, went_back and closed or nil)
  end
  local in_another = vim.iter(state.entries()):any(function(other)
    return other.view ~= nil and windows.is_within(other.view)
  end)
  if was_within and not in_another then
    closing.mute_keys(keys.deciding_keys())
  end
  comment_writer.show_again()
end

---@param entry claude-ide.proposal.Entry
local function stop_listening(entry)
  if entry.group and entry.unfollow then
    vim.api.nvim_del_augroup_by_id(entry.group)
    entry.unfollow()
    entry.group, entry.unfollow = nil, nil
  end
end

---@param entry claude-ide.proposal.Entry
function M.remove(entry)
  if not state.remove(entry) then
    return
  end
  guard.forget(entry.diff.id)
  if entry.file.text then
    window.forget(state.sight(entry))
  end
  stop_listening(entry)
  if entry.view and entry.ended_by_others then
    closing.by_others(function()
      close_view(entry)
    end)
  elseif entry.view then
    close_view(entry)
  else
    delete_buffers(entry)
  end
  if state.is_empty() then
    writes.stop()
    restore.forget()
  end
end

---Removes a diff from the screen, when windows may change.
---@param entry claude-ide.proposal.Entry
local function clear(entry)
  waits.when_windows_may_change(function()
    M.remove(entry)
  end)
end

---Frees the buffer names for the next diff, which may be of the same file.
---@param entry claude-ide.proposal.Entry
local function give_up_names(entry)
  local bufs = entry.file.text.bufs
  if waits.windows_are_locked() then
    return
  end
  quietly.run(function()
    for side, words in pairs({ right = "accepted", left = "before" }) do
      if vim.api.nvim_buf_is_valid(bufs[side]) then
        buffer_marks.rename(bufs[side], words)
      end
    end
  end)
end

---Keeps an accepted diff on the screen for a moment, so that the next one of the turn can replace it.
---@param entry claude-ide.proposal.Entry shown
local function stay(entry)
  closing.stay(entry, keys.is_deciding, function()
    clear(entry)
  end)
  local winbar, shown = proposal_winbar.of_accepted(entry.file.path), entry.view --[[@as claude-ide.diffview.View]]
  windows.stop_following(shown)
  ui_winbar.hold(shown.wins.right, winbar)
  vim.bo[entry.file.text.bufs.right].modifiable = false
  -- Not during the write that has accepted it.
  vim.schedule(function()
    if closing.staying() == entry then
      give_up_names(entry)
    end
  end)
end

---The requester's turn is over.
---@param requester claude-ide.requests.Requester
function M.end_of_turn(requester)
  local staying = closing.staying() --[[@as claude-ide.proposal.Entry?]]
  if staying and staying.diff.requester == requester then
    closing.finish()
  end
end

---Takes down a settled diff, now or in a moment.
---@param entry claude-ide.proposal.Entry
function M.close_view(entry)
  if vim.v.exiting ~= vim.NIL then
    return
  end
  local stays = entry.diff.state == "accepted"
    and not entry.diff.plan
    and entry.view
    and windows.is_current(entry.view)
    and windows.is_shown(entry.view, "right")
    and vim.api.nvim_get_mode().mode == "n"
  if stays then
    return stay(entry)
  end
  -- Not within the autocommand that decided it, which cannot close windows.
  typing.soon(function()
    clear(entry)
  end)
end

---The diff that the user is in, except `besides`.
---@param besides? claude-ide.proposal.Entry
---@return claude-ide.proposal.Entry?
local function current(besides)
  for _, entry in ipairs(state.entries()) do
    if entry ~= besides and entry.view and windows.is_current(entry.view) then
      return entry
    end
  end
end

---Takes a diff down temporarily, for another one; it returns when that is decided.
---@param entry claude-ide.proposal.Entry
local function hide_for_another(entry)
  stop_listening(entry)
  windows.hide_for_another(entry.view --[[@as claude-ide.diffview.View]])
  entry.view, entry.waits = nil, true
end

---@class claude-ide.proposal.ShowOpts
---@field asked? boolean requested by the user
---@field instead_of? claude-ide.diffview.View closed view that the user was in

---Whether a diff must wait: its place is taken, or it would cover what the user looks at.
---@param entry claude-ide.proposal.Entry
---@param opts claude-ide.proposal.ShowOpts
---@return boolean
local function has_to_wait(entry, opts)
  if not place.get(entry.diff.place or windows.preferred_place()).shared then
    return false
  end
  -- A decided one makes room first, which may show another waiting one.
  closing.finish()
  local before = current()
  if before and opts.asked then
    hide_for_another(before)
    return false
  elseif before then
    return true
  end
  return queue.is_unwanted(entry, opts)
end

---Takes down all diffs immediately: Neovim is about to exit.
function M.clear_all()
  closing.finish()
  for _, entry in ipairs(state.entries()) do
    local ok, err = pcall(M.remove, entry)
    if not ok then
      log.warn("a diff stayed on the screen: %s", tostring(err))
    end
  end
end

---Shows a diff.
---@param entry claude-ide.proposal.Entry with its text
---@param how? claude-ide.proposal.ShowOpts
function M.show(entry, how)
  how = how or {}
  if entry.diff.state ~= "pending" or entry.view or entry.outdated then
    return
  elseif has_to_wait(entry, how) then
    entry.waits = true
    return
  elseif entry.view then
    return -- shown meanwhile
  end
  local shown = view.make_view(entry)
  local before = closing.staying() --[[@as claude-ide.proposal.Entry?]]
  local takes_over = before and before.view and windows.is_current(before.view)
  local here = current(before)
  local replaced = here and here.view or how.instead_of or takes_over and before and before.view
  if replaced then
    shown.screen = replaced.screen
  end
  -- A user in another diff stays there.
  local follows = takes_over or how.instead_of ~= nil or config.get().diff.focus
  local focus = how.asked or not here and follows
  local was_shown = entry.was_shown
  entry.waits, entry.was_shown = nil, true
  window.proposal_opens(state.sight(entry))
  windows.open(shown, focus)
  entry.view = shown
  view.begin(entry)
  closing.finish()
  if was_shown then
    return
  end
  for _, buf in pairs(entry.file.text.bufs) do
    own_buffer.highlight(buf, entry.file.text.now.buf)
  end
end

return M
