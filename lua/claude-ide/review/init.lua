-- The review of what Claude has changed already: all that others, and the user, can do with it.
---@class claude-ide.review
local M = {}

local function current()
  return require("claude-ide.review.current")
end

---Shows what is true now.
function M.refresh()
  current().refresh()
end

---Opens the review: the files that Claude changed, each beside what it was.
---@param scope? claude-ide.review.Scope default: "unreviewed"; a number: the turn with that id
---@return boolean ok
function M.open(scope)
  require("claude-ide.review.keys").serve(M)
  return current().open(scope)
end

---Ends the review: its windows go and the user's are as they were.
function M.close()
  current().close()
end

---Shows the diff of one file of the list.
---@param index integer
function M.show(index)
  current().show(index)
end

---Shows this review, and the diffs that come after it, in the next layout.
function M.next_layout()
  current().next_layout()
end

---Takes the change under the cursor as reviewed.
---@param path? string default: the current file
---@param lnum? integer default: the cursor's line
---@return boolean? ok
---@return string? err
function M.keep_hunk(path, lnum)
  return require("claude-ide.review.decide").hunk("keep", path, lnum)
end

---Takes the change under the cursor back. `u` brings it back again.
---@param path? string default: the current file
---@param lnum? integer default: the cursor's line
---@return boolean? ok
---@return string? err
function M.undo_hunk(path, lnum)
  return require("claude-ide.review.decide").hunk("undo", path, lnum)
end

---Takes all changes of a file as reviewed.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.keep_file(path)
  return require("claude-ide.review.decide").file("keep", path)
end

---Takes all changes of a file back, but for those that the user has changed since.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.undo_file(path)
  return require("claude-ide.review.decide").file("undo", path)
end

---Shows the next file that waits for a review.
function M.next_file()
  current().go(1)
end

---Shows the one before.
function M.previous_file()
  current().go(-1)
end

---@param step 1|-1
---@return boolean? ok
---@return string? err
local function jump_here(step)
  local hunks, view = require("claude-ide.review.hunks"), require("claude-ide.review.view")
  local here = current().here()
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
  return require("claude-ide.journal").changes(scope)
end

---Takes back what a turn changed in files, after showing what that means and asking.
---@param id? integer default: the last turn of which something is left to take back
---@return boolean ok
function M.undo_turn(id)
  return require("claude-ide.review.undo").ask(id, M.open)
end

return M
