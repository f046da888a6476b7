-- The review of what Claude has changed already: which files, what is done with each, and what is on the screen.
-- Invariant: whatever a person sees as kept or undone, the journal has done; nothing is decided here.
---@class claude-ide.review
local M = {}

---What is typed shows in the list when the person pauses.
local SETTLE_MS = 150

local GROUP = "claude-ide.review"

---@alias claude-ide.review.Scope "unreviewed"|"turn"|"session"|"all"|integer

---One line of the list. A file stays on it when it is done with, so that nothing moves under the cursor.
---@class claude-ide.review.Entry
---@field path string
---@field change? claude-ide.journal.Change nil: nothing of Claude's is left
---@field waits boolean something in it waits for a review
---@field outcome? "kept"|"undone"

---@class claude-ide.review.Review
---@field scope claude-ide.review.Scope
---@field entries claude-ide.review.Entry[] by path
---@field shown integer index of the entry whose diff is on the screen
---@field view claude-ide.review.View
---@field stop fun()[]

---@type claude-ide.review.Review?
local review

---@return table
local function journal()
  return require("claude-ide.journal")
end

---@param path string
---@return string
local function short(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

---@param path string
---@return claude-ide.review.Entry?
---@return integer? index
local function find(path)
  for i, entry in ipairs(review and review.entries or {}) do
    if entry.path == path then
      return entry, i
    end
  end
end

---Brings the list in line with the journal.
---@param to claude-ide.review.Review
local function gather(to)
  local by_path = {}
  for _, change in ipairs(journal().changes(to.scope)) do
    by_path[change.path] = change
  end
  for _, entry in ipairs(to.entries) do
    entry.change, by_path[entry.path] = by_path[entry.path], nil
  end
  local path = to.entries[to.shown] and to.entries[to.shown].path
  for _, change in pairs(by_path) do
    table.insert(to.entries, { path = change.path, change = change, waits = true })
  end
  local waiting = {}
  for _, change in ipairs(to.scope == "unreviewed" and {} or journal().changes("unreviewed")) do
    waiting[change.path] = true
  end
  for _, entry in ipairs(to.entries) do
    entry.waits = entry.change ~= nil and (to.scope == "unreviewed" or waiting[entry.path] == true)
    entry.outcome = not entry.waits and entry.outcome or nil
  end
  table.sort(to.entries, function(left, right)
    return left.path < right.path
  end)
  for i, entry in ipairs(to.entries) do
    to.shown = entry.path == path and i or to.shown
  end
end

---Shows what is true now.
function M.refresh()
  if not review then
    return
  end
  gather(review)
  require("claude-ide.review.view").update(review.view, review.entries, review.shown)
end

---Ends the review: its windows go and the person's are as they were.
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
  require("claude-ide.review.view").close(ended.view)
end

---Shows the diff of one file of the list.
---@param index integer
function M.show(index)
  if review and review.entries[index] and review.shown ~= index then
    review.shown = index
    require("claude-ide.review.view").show(review.view, review.entries, index)
  end
end

---Shows this review, and the diffs that come after it, in the next layout.
function M.next_layout()
  if review then
    local layout = require("claude-ide.ui.layout")
    local name = layout.after(review.view.layout)
    layout.prefer(name)
    require("claude-ide.review.view").switch(review.view, review.entries, review.shown, name)
  end
end

---@param of claude-ide.review.Review
local function listen(of)
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  local timer = assert(vim.uv.new_timer())
  of.stop = {
    require("claude-ide.hub").on("journal_changed", M.refresh),
    function()
      timer:close()
    end,
  }
  vim.api.nvim_create_autocmd({ "TextChanged", "InsertLeave" }, {
    group = group,
    desc = "Claude: the review shows what is typed",
    callback = function(event)
      if event.buf == of.view.bufs.file then
        require("claude-ide.review.view").touched(of.view)
        timer:start(SETTLE_MS, 0, vim.schedule_wrap(M.refresh))
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "VimResized", "WinResized" }, {
    group = group,
    desc = "Claude: the review fits the screen",
    callback = function(event)
      require("claude-ide.review.view").resized(of.view, of.entries, of.shown, event.event == "VimResized")
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "Claude: a window of the review was closed, so it is over",
    callback = function(event)
      if vim.tbl_contains(vim.tbl_values(of.view.wins), tonumber(event.match)) then
        require("claude-ide.review.view").release(of.view)
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
  unreviewed = "Nothing to review: Claude has changed no file since you last looked.",
  turn = "Claude's last turn changed no file.",
  session = "This session changed no file.",
  all = "Claude has changed no file.",
}

---Opens the review: the files that Claude changed, each beside what it was.
---@param scope? claude-ide.review.Scope default: "unreviewed"; a number: the turn with that id
---@return boolean ok
function M.open(scope)
  scope = scope or "unreviewed"
  local fresh = { scope = scope, entries = {}, shown = 1, stop = {} }
  gather(fresh)
  if #fresh.entries == 0 then
    require("claude-ide.ui.notice").info(NOTHING[scope] or "That turn changed no file.")
    return true
  end
  M.close()
  require("claude-ide.review.keys").serve(M)
  fresh.view = require("claude-ide.review.view").open(fresh.entries)
  review = fresh --[[@as claude-ide.review.Review]]
  listen(review)
  return true
end

---The file that is meant: the one given, the one of the review, the one of the current window.
---@param path? string
---@return string
local function meant(path)
  if path then
    return require("claude-ide.path").normalize(path)
  end
  local here = review and require("claude-ide.review.view").is_current(review.view)
  return here and review.entries[review.shown].path or vim.api.nvim_buf_get_name(0)
end

---The changes that a decision is about: those that the review shows, where it shows the file; else those that wait.
---@param path string
---@return claude-ide.journal.Change?
---@return claude-ide.journal.Scope scope
local function changes_of(path)
  local entry = find(path)
  local here = entry and review and require("claude-ide.review.view").is_current(review.view)
  if here then
    return entry.change, review.scope
  end
  return require("claude-ide.review.hunks").change_of(path), "unreviewed"
end

---@param left integer
---@return string
local function stays(left)
  return ("%d %s, which you have changed too, %s as %s."):format(
    left,
    left == 1 and "place" or "places",
    left == 1 and "stays" or "stay",
    left == 1 and "it is" or "they are"
  )
end

---@param action "keep"|"undo"
---@param path string
---@param hunk? claude-ide.journal.Hunk
---@param scope claude-ide.journal.Scope
---@return boolean? ok
---@return string? err
local function decide(action, path, hunk, scope)
  local entry = find(path)
  -- What was moved is moved back, or reviewed, at both ends: the bytes are where they were before they go elsewhere.
  local from, to =
    entry and entry.change and entry.change.moved_from, entry and entry.change and entry.change.moved_to
  local other = from or to
  local ok, err, left = true, nil, nil ---@type boolean?, string?, integer?
  if from then
    ok, err, left = journal()[action](from, nil, scope)
  end
  if ok then
    local function act()
      return journal()[action](path, hunk, scope)
    end
    if action == "undo" then
      ok, err, left = require("claude-ide.review.again").around(path, act)
    else
      ok, err, left = act()
    end
  end
  if ok and to then
    ok, err, left = journal()[action](to, nil, scope)
  end
  if not ok then
    return nil, err
  elseif err then
    require("claude-ide.ui.notice").warn(("%s: %s."):format(short(path), err))
  elseif left and left > 0 then
    require("claude-ide.ui.notice").warn(("%s: %s"):format(short(path), stays(left)))
  end
  M.refresh()
  for _, done in ipairs({ entry or false, other and find(other) or false }) do
    if done and not done.waits then
      done.outcome = action == "keep" and "kept" or "undone"
    end
  end
  M.refresh()
  return true
end

---@param action "keep"|"undo"
---@param path? string
---@param lnum? integer
---@return boolean? ok
---@return string? err
local function decide_hunk(action, path, lnum)
  local wanted = meant(path)
  local change, scope = changes_of(wanted)
  local side = review and not lnum and require("claude-ide.review.view").side(review.view) or "file"
  local at = lnum or vim.api.nvim_win_get_cursor(0)[1]
  local hunk = change and require("claude-ide.review.hunks").at(change, at, side)
  if not hunk then
    return nil,
      "Claude changed nothing here" .. (scope == "unreviewed" and " that waits for a review." or ".")
  elseif action == "undo" and hunk.state == "conflict" then
    return nil, "You have changed the same lines since, so they stay. Edit them, or keep them as they are."
  end
  return decide(action, wanted, hunk, scope)
end

---@param action "keep"|"undo"
---@param path? string
---@return boolean? ok
---@return string? err
local function decide_file(action, path)
  local wanted = meant(path)
  local _, scope = changes_of(wanted)
  return decide(action, wanted, nil, scope)
end

---Takes the change under the cursor as reviewed.
---@param path? string default: the current file
---@param lnum? integer default: the cursor's line
---@return boolean? ok
---@return string? err
function M.keep_hunk(path, lnum)
  return decide_hunk("keep", path, lnum)
end

---Takes the change under the cursor back. `u` brings it back again.
---@param path? string default: the current file
---@param lnum? integer default: the cursor's line
---@return boolean? ok
---@return string? err
function M.undo_hunk(path, lnum)
  return decide_hunk("undo", path, lnum)
end

---Takes all changes of a file as reviewed.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.keep_file(path)
  return decide_file("keep", path)
end

---Takes all changes of a file back, but for those that the person has changed since.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.undo_file(path)
  return decide_file("undo", path)
end

---Goes on to another file of the review, first one that waits.
---@param step 1|-1
local function go(step)
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

---Shows the next file that waits for a review.
function M.next_file()
  go(1)
end

---Shows the one before.
function M.previous_file()
  go(-1)
end

---@param step 1|-1
---@return boolean? ok
---@return string? err
local function jump_here(step)
  local hunks, view = require("claude-ide.review.hunks"), require("claude-ide.review.view")
  local here = review and view.is_current(review.view) and review or nil
  local change = here and here.entries[here.shown].change
  if not here then
    change = hunks.change_of(vim.api.nvim_buf_get_name(0))
  end
  return hunks.jump(change or nil, step, here and view.side(here.view) or "file", vim.o.wrapscan)
end

---Goes to the next change of Claude's in this buffer.
---@return boolean? ok
---@return string? err
function M.next_hunk()
  return jump_here(1)
end

---Goes to the one before.
---@return boolean? ok
---@return string? err
function M.previous_hunk()
  return jump_here(-1)
end

---Goes to the next or previous change that waits for a review, in any file, and says so where there is none.
---@param step 1|-1
function M.jump(step)
  local ok, err = require("claude-ide.review.signs").jump(step)
  if not ok and err then
    require("claude-ide.ui.notice").info(err)
  end
end

---What waits for a review, to build other lists of.
---@param scope? claude-ide.review.Scope
---@return claude-ide.journal.Change[]
function M.changes(scope)
  return journal().changes(scope)
end

---Takes back what a turn changed in files, after showing what that means and asking.
---@param id? integer default: the last turn of which something is left to take back
---@return boolean ok
function M.undo_turn(id)
  return require("claude-ide.review.undo").ask(id, M.open)
end

return M
