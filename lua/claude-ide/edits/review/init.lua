-- The review of Claude's changes: the public functions.
-- Invariant: a change is shown as kept or undone only after the journal has done it.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local code_comments = lazy("claude-ide.edits.review.code_comments")
local counted = lazy("claude-ide.base.counted")
local current = lazy("claude-ide.edits.review.current")
local hunks = lazy("claude-ide.edits.review.hunks")
local journal = lazy("claude-ide.edits.journal")
local journal_undo = lazy("claude-ide.edits.journal.undo")
local keys = lazy("claude-ide.edits.review.keys")
local notice = lazy("claude-ide.base.notice")
local patch = lazy("claude-ide.editor.buffer.patch")
local paths = lazy("claude-ide.base.path")
local signs = lazy("claude-ide.edits.review.signs")
local stage = lazy("claude-ide.edits.review.stage")
local undo_turn = lazy("claude-ide.edits.review.undo_turn")
local view = lazy("claude-ide.edits.review.view")
local written = lazy("claude-ide.edits.review.written")

---@class claude-ide.review
local M = {}

---Takes an undo back of which the undo tree of the file that is shown knows nothing.
---@param buf integer
---@return boolean? done false: there is no such undo; nil: it stays
---@return string? err
function M.take_back(buf)
  local done, err = written.take_back(buf)
  if done ~= false then
    current.refresh()
  end
  return done, err
end

---The given file, else the review's, else the current window's.
local function meant(path)
  if path then
    return paths.normalize(path)
  end
  local here = current.here()
  return here and here.entries[here.shown].path or vim.api.nvim_buf_get_name(0)
end

---The changes to decide: those shown, if the review has the file; else the unreviewed ones.
---@param path string
---@return claude-ide.journal.Change?
---@return claude-ide.journal.Scope scope
local function changes_of(path)
  written.catch_up(path)
  current.refresh()
  local entry, here = current.find(path), current.here()
  if entry and here then
    return entry.change, here.scope
  end
  return journal.change(path), "unreviewed"
end

local function stays(left)
  return ("%s, which you have changed too, %s as %s."):format(
    counted(left, "place"),
    left == 1 and "stays" or "stay",
    left == 1 and "it is" or "they are"
  )
end

---Keeps or undoes each of some changes, the last one first: those above stay at their lines.
---@param action "keep"|"undo"
---@param path string
---@param list claude-ide.journal.Hunk[] top to bottom
---@param scope claude-ide.journal.Scope
---@return boolean? ok
---@return string? err
---@return integer? left
local function decide_each(action, path, list, scope)
  local ok, err, left = nil, nil, 0 ---@type boolean?, string?, integer
  for i = #list, 1, -1 do
    local done, problem, stay = journal_undo[action](path, list[i], scope)
    ok, err, left = ok or done, problem or err, left + (stay or 0)
  end
  return ok, err, left
end

---@param action "keep"|"undo"
---@param path string
---@param list? claude-ide.journal.Hunk[] nil: all of the file
---@param scope claude-ide.journal.Scope
---@return boolean? ok
---@return string? err
---@return integer? left
local function decide_one(action, path, list, scope)
  local function act()
    if not list then
      return journal_undo[action](path, nil, scope)
    end
    local buf = buffer.loaded(path)
    if #list == 1 or not buf then
      return decide_each(action, path, list, scope)
    end
    return patch.as_one_step(buf, function()
      return decide_each(action, path, list, scope)
    end)
  end
  local ok, err, left ---@type boolean?, string?, integer?
  if action == "undo" then
    ok, err, left = written.around(path, act)
  else
    ok, err, left = act()
  end
  return ok, err, left
end

---@param action "keep"|"undo"
---@param path string
---@param list? claude-ide.journal.Hunk[] nil: all of the file
---@param scope claude-ide.journal.Scope
---@return boolean? ok
---@return string? err
local function decide(action, path, list, scope)
  local entry = current.find(path)
  local change = entry and entry.change
  local from, to = change and change.moved_from, change and change.moved_to
  local other = from or to
  local ok, err, left ---@type boolean?, string?, integer?
  if other then
    -- A moved file is moved back, or reviewed, at both ends: the source is restored before the target is changed.
    from, to = from or path, to or path
    local function act()
      local done, problem, stay = decide_one(action, from, path == from and list or nil, scope)
      if done then
        done, problem, stay = decide_one(action, to, path == to and list or nil, scope)
      end
      return done, problem, stay
    end
    if action == "undo" then
      ok, err, left = written.around_move(from, to, scope, act)
    else
      ok, err, left = act()
    end
  else
    ok, err, left = decide_one(action, path, list, scope)
  end
  if not ok then
    return nil, err
  elseif err or left and left > 0 then
    local said = err and err .. "." or stays(left)
    notice.warn(("%s: %s"):format(paths.short(path), said))
  end
  current.refresh()
  for _, done in ipairs({ entry or false, other and current.find(other) or false }) do
    if done and not done.waits then
      local is_left = journal.change(done.path, "all") ~= nil -- of changes kept before
      done.outcome = action == "keep" and "kept" or not is_left and "undone" or nil
    end
  end
  current.refresh()
  return true
end

---Keeps or undoes the change under the cursor.
---@param action "keep"|"undo"
---@param path? string default: the current file
---@param lnum? integer default: the cursor's line
---@return boolean? ok
---@return string? err
local function decide_hunk(action, path, lnum)
  local wanted = meant(path)
  local change, scope = changes_of(wanted)
  local review = current.get()
  local side = review and not lnum and view.side(review.view) or "file"
  local at = lnum or vim.api.nvim_win_get_cursor(0)[1]
  local hunk = change and hunks.at(change, at, side)
  if not hunk then
    return nil, "No change by Claude here" .. (scope == "unreviewed" and " to review." or ".")
  elseif action == "undo" and hunk.state == "conflict" then
    return nil, "You have edited these lines since, so they stay. Edit or keep them."
  end
  return decide(action, wanted, { hunk }, scope)
end

---Keeps or undoes all changes of a file.
---@param action "keep"|"undo"
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
local function decide_file(action, path)
  local wanted = meant(path)
  local _, scope = changes_of(wanted)
  return decide(action, wanted, nil, scope)
end

---Makes the file that is shown again, after an undo has deleted it.
---@param is_redo? boolean after `u` has
---@return boolean? ok
---@return string? err
function M.bring_back(is_redo)
  local path = meant()
  if is_redo then
    if not written.is_taken_back(path) then
      return nil, "There is nothing to redo here."
    end
    return decide_file("undo", path)
  end
  local ok, err = written.bring_back(path)
  current.refresh()
  return ok, err
end

---Opens the review: Claude's changed files, each beside its text before.
---@param scope? claude-ide.review.Scope default: "unreviewed"; a number: the turn with that id
---@return boolean ok
function M.open(scope)
  keys.serve(M)
  return current.open(scope)
end

---Opens the review at a file with unreviewed changes.
---@param path string
function M.open_at(path)
  M.open()
  local _, index = current.find(path)
  if index then
    current.show(index)
  end
end

---Closes the review and restores the user's windows.
function M.close()
  current.close()
end

---Shows the diff of one listed file.
---@param index integer
function M.show(index)
  current.show(index)
end

---Switches this review, and later diffs, to the next layout.
function M.next_layout()
  current.next_layout()
end

---Marks the change under the cursor as reviewed.
---@param path? string default: the current file
---@param lnum? integer default: the cursor's line
---@return boolean? ok
---@return string? err
function M.keep_hunk(path, lnum)
  return decide_hunk("keep", path, lnum)
end

---Undoes the change under the cursor. `u` restores it.
---@param path? string default: the current file
---@param lnum? integer default: the cursor's line
---@return boolean? ok
---@return string? err
function M.undo_hunk(path, lnum)
  return decide_hunk("undo", path, lnum)
end

---Marks all changes of a file as reviewed.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.keep_file(path)
  return decide_file("keep", path)
end

---Undoes all changes of a file, except those that the user has changed since.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.undo_file(path)
  return decide_file("undo", path)
end

---Undoes all changes of a file that are of comments only. `u` restores them together.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.undo_comments(path)
  local wanted = meant(path)
  local change, scope = changes_of(wanted)
  local buf = buffer.loaded(wanted)
  local filetype = buf and vim.bo[buf].filetype or vim.filetype.match({ filename = wanted }) or ""
  local list, err = {}, nil ---@type claude-ide.journal.Hunk[]?, string?
  if change then
    list, err = code_comments.find(change, filetype)
  end
  if not list then
    return nil, err
  elseif #list == 0 then
    return nil, "No changes of comments only in this file."
  end
  local ok, problem = decide("undo", wanted, list, scope)
  if ok then
    notice.info(("%s of comments undone."):format(counted(#list, "change")))
  end
  return ok, problem
end

---Stages in git what the user has kept of Claude's changes to a file, and nothing else of it. A message tells what became of it.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.stage_file(path)
  return stage.file(meant(path))
end

---Shows the next unreviewed file.
function M.next_file()
  current.go(1)
end

---Shows the previous unreviewed file.
function M.previous_file()
  current.go(-1)
end

---@param step 1|-1
---@return boolean? ok
---@return string? err
local function jump_here(step)
  local here = current.here()
  local change = here and here.entries[here.shown].change
  if not here then
    change = journal.change(vim.api.nvim_buf_get_name(0))
  end
  return hunks.jump(change or nil, step, here and view.side(here.view) or "file", vim.o.wrapscan)
end

---Goes to Claude's next change in this buffer.
---@return boolean? ok
---@return string? err
function M.next_hunk()
  return jump_here(1)
end

---Goes to Claude's previous change in this buffer.
---@return boolean? ok
---@return string? err
function M.previous_hunk()
  return jump_here(-1)
end

---Goes on to the first or last change of the next or previous file with changes to review.
---@param step 1|-1
---@return boolean went
local function go_to_file(step)
  local index = current.next_waiting(step)
  local here = index and current.here()
  if not index or not here then
    return false
  end
  current.show(index) -- at its first change
  local change = here.entries[index].change
  local list = change and hunks.remaining(change) or {}
  local last = list[#list]
  if step == -1 and last then
    hunks.go(hunks.place(last, view.side(here.view)))
  end
  return true
end

---Goes to the next or previous change of the open review, [count] times; behind the last one of a file, on to the next file with changes
---to review. It does not wrap around.
---@param step 1|-1
---@param count integer
---@return boolean? ok
---@return string? err
function M.go_to_change(step, count)
  local here = current.here()
  if not here then
    return nil, "No review is open here."
  end
  local first = here.shown
  for i = 1, count do
    local change = here.entries[here.shown].change
    if not hunks.jump(change, step, view.side(here.view), false) and not go_to_file(step) then
      if i == 1 then
        return nil, ("This is the %s change to review."):format(step == 1 and "last" or "first")
      end
      break
    end
  end
  if here.shown ~= first then
    local path = paths.short(here.entries[here.shown].path)
    notice.info(("%s: file %d of %d"):format(path, here.shown, #here.entries))
  end
  return true
end

---Goes to the next or previous unreviewed change, in any file; notifies the user if there is none.
---@param step 1|-1
function M.jump(step)
  notice.unless_done(signs.jump(step))
end

---The changes of a scope, for use in other lists.
---@param scope? claude-ide.review.Scope
---@return claude-ide.journal.Change[]
function M.changes(scope)
  return journal.changes(current.meant(scope))
end

---Undoes a turn's file changes, after a preview and a confirmation.
---@param id? integer default: the last turn with changes left to undo, of the session in the tab page if it has one
---@return boolean ok
function M.undo_turn(id)
  return undo_turn.ask(id, M.open)
end

return M
