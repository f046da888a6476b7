-- The open review: its files, the one shown, and its end.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local comments = lazy("claude-ide.comments")
local guard = lazy("claude-ide.ui.guard")
local journal = lazy("claude-ide.edits.journal")
local store = lazy("claude-ide.edits.journal.store")
local timers = lazy("claude-ide.base.timer")
local undo_turn = lazy("claude-ide.edits.review.undo_turn")
local view = lazy("claude-ide.edits.review.view")
local windows = lazy("claude-ide.ui.diffview.windows")

local M = {}

---Delay before the list shows typed text.
local SETTLE_MS = 150

local GROUP = "claude-ide.review"

---@alias claude-ide.review.Scope "unreviewed"|"turn"|"session"|"all"|integer

---A reviewed file stays listed, so that the list does not shift under the cursor.
---@class claude-ide.review.Entry: claude-ide.diffview.Listed
---@field change? claude-ide.journal.Change nil: no change of Claude's is left

---@class claude-ide.review.Review
---@field scope claude-ide.journal.Scope
---@field entries claude-ide.review.Entry[] by path
---@field shown integer index of the entry shown
---@field view claude-ide.review.View
---@field stop fun()[]

---@type claude-ide.review.Review?
local review

---Files that the user has looked at in a review, or that came while one was open. They are forgotten once they are reviewed and the
---review is closed.
---@type table<string, "seen"|"new"> new: Claude has changed it since
local looked = {}

local follow_changes = require("claude-ide.base.once")(function()
  bus.on("file_changed", function(path)
    local is_shown = review ~= nil and review.entries[review.shown].path == path
    if looked[path] and not is_shown then
      looked[path] = "new"
    end
  end)
  bus.on("file_renamed", function(from, to)
    looked[from], looked[to] = nil, looked[from]
    local entry = M.find(from)
    if entry and not M.find(to) then
      entry.path = to
    end
  end)
end)

---@return claude-ide.review.Review?
function M.get()
  return review
end

---@return claude-ide.review.Review? review if it is in the current tab page
function M.here()
  return review and windows.is_current(review.view) and review or nil
end

---@param path string
---@return claude-ide.review.Entry? entry of that file
---@return integer? index
function M.find(path)
  for i, entry in ipairs(review and review.entries or {}) do
    if entry.path == path then
      return entry, i
    end
  end
end

---@param entries claude-ide.review.Entry[]
local function count_comments(entries)
  local counts = comments.count_by_file()
  for _, entry in ipairs(entries) do
    entry.comments = counts[entry.path]
  end
end

---Updates the list from the journal.
---@param to claude-ide.review.Review
local function gather(to)
  local by_path = {}
  for _, change in ipairs(journal.changes(to.scope)) do
    by_path[change.path] = change
  end
  for _, entry in ipairs(to.entries) do
    entry.change, by_path[entry.path] = by_path[entry.path], nil
  end
  local path = to.entries[to.shown] and to.entries[to.shown].path
  for _, change in pairs(by_path) do
    table.insert(to.entries, { path = change.path, change = change, waits = true })
    if to == review then
      looked[change.path] = "new"
    end
  end
  local waiting = {}
  for _, change in ipairs(to.scope == "unreviewed" and {} or journal.changes("unreviewed")) do
    waiting[change.path] = true
  end
  for _, entry in ipairs(to.entries) do
    entry.waits = entry.change ~= nil and (to.scope == "unreviewed" or waiting[entry.path] == true)
    entry.is_new = entry.waits and looked[entry.path] == "new"
    entry.outcome = not entry.waits and entry.outcome or nil
    if not entry.change and not entry.outcome and not journal.change(entry.path, "all") then
      -- Else by git, another program or the user; nobody has reviewed it.
      entry.outcome = journal.is_undone(entry.path) and "undone" or "gone"
    end
  end
  table.sort(to.entries, function(left, right)
    return left.path < right.path
  end)
  for i, entry in ipairs(to.entries) do
    to.shown = entry.path == path and i or to.shown
  end
  count_comments(to.entries)
end

---Updates the review.
function M.refresh()
  if not review then
    return
  end
  gather(review)
  view.update(review.view, review.entries, review.shown)
end

---Closes the review and restores the user's windows.
function M.close()
  local ended = review
  if not ended then
    return
  end
  review = nil
  vim.api.nvim_create_augroup(GROUP, { clear = true })
  for _, stop in ipairs(ended.stop) do
    stop()
  end
  for _, entry in ipairs(ended.entries) do
    looked[entry.path] = entry.waits and looked[entry.path] or nil
  end
  view.close(ended.view)
end

---@param entry claude-ide.review.Entry that is shown now
local function note_look(entry)
  looked[entry.path], entry.is_new = "seen", false
end

---Shows the diff of one listed file.
---@param index integer
function M.show(index)
  if review and review.entries[index] and review.shown ~= index then
    review.shown = index
    note_look(review.entries[index])
    view.show(review.view, review.entries, index)
  end
end

---Switches this review, and later diffs, to the next layout.
function M.next_layout()
  if review then
    view.next_layout(review.view)
  end
end

---@param of claude-ide.review.Review
local function listen(of)
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  local timer = timers.new("update the review")
  of.stop = {
    bus.on("journal_changed", M.refresh),
    bus.on("conflict_over", function()
      timer:start(SETTLE_MS, M.refresh)
    end),
    bus.on("comments_changed", function()
      count_comments(of.entries)
      view.update_list(of.view, of.entries, of.shown)
    end),
    function()
      timer:stop()
    end,
  }
  vim.api.nvim_create_autocmd({ "TextChanged", "InsertLeave" }, {
    group = group,
    desc = "Claude: update the review after edits",
    callback = function(event)
      if event.buf == of.view.bufs.right then
        view.touched(of.view)
        timer:start(SETTLE_MS, M.refresh)
      end
    end,
  })
  vim.api.nvim_create_autocmd("CursorMoved", {
    group = group,
    desc = "Claude: say whose call made the change at the cursor",
    callback = function()
      if vim.tbl_contains(vim.tbl_values(of.view.wins), vim.api.nvim_get_current_win()) then
        view.moved(of.view)
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufFilePost" }, {
    group = group,
    desc = "Claude: update the review after buffer changes",
    callback = function(event)
      if event.buf == of.view.bufs.right then
        of.view.unloaded = of.view.unloaded or event.event == "BufUnload"
        vim.schedule(function()
          if review == of then
            M.refresh()
          end
        end)
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "BufReadPost", "FileChangedShellPost" }, {
    group = group,
    desc = "Claude: keep `u` from undoing what was loaded during the review",
    callback = function(event)
      view.loaded(of.view, event.buf)
    end,
  })
  vim.api.nvim_create_autocmd({ "VimResized", "WinResized" }, {
    group = group,
    desc = "Claude: fit the review to the screen",
    callback = function()
      view.resized(of.view, of.entries, of.shown)
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "Claude: close the review with its windows",
    callback = function(event)
      if vim.tbl_contains(vim.tbl_values(of.view.wins), tonumber(event.match)) then
        windows.note_loss(of.view)
        view.release(of.view)
        vim.schedule(function()
          if review == of then
            M.close()
          end
        end)
      end
    end,
  })
end

local NOTHING = {
  unreviewed = "no changes by Claude in this Neovim since your last review.",
  turn = "Claude's last turn changed no file.",
  session = "this session changed no file.",
  all = "Claude has changed no file in this Neovim.",
}

---The last turn is one of the session with which `:Claude undo` begins, if that has any.
---@param scope? claude-ide.review.Scope
---@return claude-ide.journal.Scope? for the journal
function M.meant(scope)
  local client = (scope == "turn" or scope == "session") and undo_turn.client_here()
  return client and store.last_turn(client) and ("%s %d"):format(scope, client) or scope
end

---@param scope claude-ide.review.Scope
---@return boolean shown false: there are no changes
local function open_now(scope)
  local fresh = { scope = M.meant(scope) or scope, entries = {}, shown = 1, stop = {} }
  gather(fresh)
  if #fresh.entries == 0 then
    return false
  end
  M.close()
  follow_changes()
  note_look(fresh.entries[1])
  fresh.view = view.open(fresh.entries)
  review = fresh --[[@as claude-ide.review.Review]]
  listen(review)
  return true
end

---Opens the review: Claude's changed files, each beside its text before. If there are none, it first waits for the scan for changes by
---commands; otherwise the scan's results are added to the open review.
---@param scope? claude-ide.review.Scope default: "unreviewed"; a number: the turn with that id
---@return boolean ok
function M.open(scope)
  scope = scope or "unreviewed"
  if open_now(scope) then
    journal.look_again()
    return true
  end
  local request = guard.request()
  journal.when_known(function()
    guard.when_requested("review", "The review of what Claude changed", function()
      if not open_now(scope) then
        undo_turn.say_nothing("Nothing to review", NOTHING[scope] or "that turn changed no file.")
      end
    end, request)
  end)
  return true
end

---The next file of the list that has changes to review. The list does not wrap around.
---@param step 1|-1
---@return integer? index
function M.next_waiting(step)
  local entries, index = review and review.entries or {}, review and review.shown + step or 0
  while entries[index] and not entries[index].waits do
    index = index + step
  end
  return entries[index] and index
end

---Goes to another file of the review, unreviewed ones first.
---@param step 1|-1
function M.go(step)
  if not review then
    return
  end
  local count = #review.entries
  for i = 1, count do
    local index = (review.shown - 1 + step * i) % count + 1
    if review.entries[index].waits or i == count then
      M.show(index)
      return
    end
  end
end

return M
