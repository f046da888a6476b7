-- Shows diffs and takes them down: when, in which order, and in which windows.
local M = {}

local entries = require("claude-ide.proposal.state").entries()

---@param diff claude-ide.Diff
---@return claude-ide.proposal.Entry
function M.add(diff)
  if not next(entries) then
    require("claude-ide.ui.guard.typing").listen()
    require("claude-ide.proposal.writes").start()
  end
  local entry = { diff = diff, file = diff.files[1], shown = 1 }
  entries[diff.id] = entry
  require("claude-ide.ui.guard.closing").await_next()
  return entry
end

---The diff to go to next: the oldest one that is shown.
---@param besides claude-ide.proposal.Entry
---@return claude-ide.proposal.Entry?
local function next_shown(besides)
  return vim.iter(require("claude-ide.proposal.state").pending_entries()):find(function(entry)
    return entry ~= besides and entry.view ~= nil
  end)
end

---@param entry claude-ide.proposal.Entry
local function delete_buffers(entry)
  for _, buf in ipairs(require("claude-ide.proposal.state").bufs(entry)) do
    require("claude-ide.ui.own_buffer").delete(buf)
  end
end

---Closes a diff's windows, and guards the window that the user returns to.
---@param entry claude-ide.proposal.Entry
local function close_view(entry)
  local view, turns = require("claude-ide.diffview.windows"), require("claude-ide.proposal.queue")
  local closed = entry.view --[[@as claude-ide.diffview.View]]
  local was_within = closed.lost_here or view.is_within(closed)
  local follower, after = next_shown(entry), turns.next()
  if follower and was_within then
    require("claude-ide.ui.guard.window").proposal_opens(require("claude-ide.proposal.state").sight(follower))
  end
  local went_back = view.close(closed, {
    next_view = follower and follower.view,
    another = after ~= nil,
    delete = function()
      delete_buffers(entry)
    end,
  })
  if after then
    turns.show_next(after, went_back and closed or nil)
  end
  local in_another = vim.iter(pairs(entries)):any(function(_, other)
    return other.view ~= nil and view.is_within(other.view)
  end)
  if was_within and not in_another then
    require("claude-ide.ui.guard.closing").mute_keys(require("claude-ide.proposal.keys").deciding_keys())
  end
end

---@param entry claude-ide.proposal.Entry
function M.remove(entry)
  if entries[entry.diff.id] ~= entry then
    return
  end
  entries[entry.diff.id] = nil
  require("claude-ide.ui.guard").forget(entry.diff.id)
  if entry.file.text then
    require("claude-ide.ui.guard.window").forget(require("claude-ide.proposal.state").sight(entry))
  end
  if entry.group then
    vim.api.nvim_del_augroup_by_id(entry.group)
  end
  if entry.view then
    close_view(entry)
  else
    delete_buffers(entry)
  end
  if not next(entries) then
    require("claude-ide.proposal.writes").stop()
    require("claude-ide.ui.restore").forget()
  end
end

---Removes a diff from the screen, when windows may change.
---@param entry claude-ide.proposal.Entry
local function clear(entry)
  require("claude-ide.ui.guard.waits").when_windows_may_change(function()
    M.remove(entry)
  end)
end

---Frees the buffer names for the next diff, which may be of the same file.
---@param entry claude-ide.proposal.Entry
local function give_up_names(entry)
  local bufs = entry.file.text.bufs
  if require("claude-ide.ui.guard.waits").windows_are_locked() then
    return
  end
  require("claude-ide.ui.quietly").run(function()
    for side, words in pairs({ proposal = "accepted", now = "before" }) do
      if vim.api.nvim_buf_is_valid(bufs[side]) then
        require("claude-ide.ui.buffer_marks").rename(bufs[side], words)
      end
    end
  end)
end

---Keeps an accepted diff on the screen for a moment, so that the next one of the turn can replace it.
---@param entry claude-ide.proposal.Entry shown
local function stay(entry)
  local closing = require("claude-ide.ui.guard.closing")
  closing.stay(entry, require("claude-ide.proposal.keys").is_deciding, function()
    clear(entry)
  end)
  local winbar = require("claude-ide.proposal.winbar").of_accepted(entry.file.path)
  require("claude-ide.ui.winbar").hold(entry.view.wins.proposal, winbar)
  vim.bo[entry.file.text.bufs.proposal].modifiable = false
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
  local closing = require("claude-ide.ui.guard.closing")
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
  local view = require("claude-ide.diffview.windows")
  local stays = entry.diff.state == "accepted"
    and not entry.diff.plan
    and entry.view
    and view.is_current(entry.view)
    and view.is_shown(entry.view, "proposal")
    and vim.api.nvim_get_mode().mode == "n"
  if stays then
    return stay(entry)
  end
  -- Not within the autocommand that decided it, which cannot close windows.
  require("claude-ide.ui.guard.typing").soon(function()
    clear(entry)
  end)
end

---The diff that the user is in, except `besides`.
---@param besides? claude-ide.proposal.Entry
---@return claude-ide.proposal.Entry?
local function current(besides)
  for _, entry in pairs(entries) do
    if entry ~= besides and entry.view and require("claude-ide.diffview.windows").is_current(entry.view) then
      return entry
    end
  end
end

---Takes a diff down temporarily, for another one; it returns when that is decided.
---@param entry claude-ide.proposal.Entry
local function hide_for_another(entry)
  vim.api.nvim_del_augroup_by_id(entry.group --[[@as integer]])
  require("claude-ide.diffview.windows").hide_for_another(entry.view --[[@as claude-ide.diffview.View]])
  entry.group, entry.view, entry.waits = nil, nil, true
end

---@class claude-ide.proposal.ShowOpts
---@field asked? boolean requested by the user
---@field instead_of? claude-ide.diffview.View closed view that the user was in

---Whether a diff must wait: its place is taken, or it would cover what the user looks at.
---@param entry claude-ide.proposal.Entry
---@param opts claude-ide.proposal.ShowOpts
---@return boolean
local function has_to_wait(entry, opts)
  local windows = require("claude-ide.diffview.windows")
  if not require("claude-ide.diffview.place").get(entry.diff.place or windows.preferred_place()).shared then
    return false
  end
  -- A decided one makes room first, which may show another waiting one.
  require("claude-ide.ui.guard.closing").finish()
  local before = current()
  if before and opts.asked then
    hide_for_another(before)
    return false
  elseif before then
    return true
  end
  return require("claude-ide.proposal.queue").is_unwanted(entry, opts)
end

---Takes down all diffs immediately: Neovim is about to exit.
function M.clear_all()
  require("claude-ide.ui.guard.closing").finish()
  for _, entry in pairs(vim.tbl_extend("force", {}, entries)) do
    local ok, err = pcall(M.remove, entry)
    if not ok then
      require("claude-ide.log").warn("a diff stayed on the screen: %s", tostring(err))
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
  local view = require("claude-ide.diffview.windows")
  local shown = require("claude-ide.proposal.view").make_view(entry)
  local before = require("claude-ide.ui.guard.closing").staying() --[[@as claude-ide.proposal.Entry?]]
  local takes_over = before and before.view and view.is_current(before.view)
  local here = current(before)
  if here then
    shown.screen = here.view.screen
  elseif takes_over or how.instead_of then
    shown.screen = (how.instead_of or before.view).screen
  end
  -- A user in another diff stays there.
  local follows = takes_over or how.instead_of ~= nil or require("claude-ide.config").get().diff.focus
  local focus = how.asked or not here and follows
  local was_shown = entry.was_shown
  entry.waits, entry.was_shown = nil, true
  require("claude-ide.ui.guard.window").proposal_opens(require("claude-ide.proposal.state").sight(entry))
  view.open(shown, focus)
  entry.view = shown
  require("claude-ide.proposal.view").begin(entry)
  require("claude-ide.ui.guard.closing").finish()
  if was_shown then
    return
  end
  for _, buf in pairs(entry.file.text.bufs) do
    require("claude-ide.ui.own_buffer").highlight(buf, entry.file.text.now.buf)
  end
end

return M
