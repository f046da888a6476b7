-- The review of what Claude has changed already: all that others, and the user, can do with it.
-- Invariant: whatever a user sees as kept or undone, the journal has done.
---@class claude-ide.review
local M = {}

---`u` after an undo in a review: the undo was written, so what `u` and `CTRL-R` make of it is written as well. Only texts that were in
---the file before are written, and only into a file that nobody else has changed.
local GROUP = "claude-ide.review.again"

---@type table<integer, table<integer, string>> by buffer: state of the undo tree → the text that was in the file then
local written = {}

---@param buf integer
---@return integer state of the undo tree
---@return string text
local function state_of(buf)
  return vim.api.nvim_buf_call(buf, function()
    return vim.fn.undotree().seq_cur
  end),
    table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
end

local function follow(buf)
  if not vim.bo[buf].modified or require("claude-ide.buffer.stamp").is_conflict(buf) then
    return
  end
  local state, text = state_of(buf)
  if written[buf][state] == text then
    local ok, err = require("claude-ide.journal.write").save(buf)
    if not ok then
      require("claude-ide.log").warn("what `u` brought back was not written: %s", err)
    end
  end
end

local function watch(buf)
  local group = vim.api.nvim_create_augroup(("%s.%d"):format(GROUP, buf), { clear = true })
  vim.api.nvim_create_autocmd("TextChanged", {
    group = group,
    buffer = buf,
    nested = true, -- the journal and others follow what is written
    desc = "Claude Code: what `u` brings back after an undo is written",
    callback = function()
      follow(buf)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufWipeout" }, {
    group = group,
    buffer = buf,
    desc = "Claude Code: the history of a buffer goes with its text",
    callback = function()
      written[buf] = nil
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
end

---@param path string
---@return integer? buf whose text is that of the file
local function in_step(path)
  local buf = require("claude-ide.buffer").find(path)
  local same = buf and vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified and vim.uv.fs_stat(path)
  return same and buf or nil
end

---Undoes something in a file, and remembers both texts.
---@generic T
---@param path string
---@param undo fun(): T?, string?, integer?
---@return T?
---@return string?
---@return integer?
local function around(path, undo)
  local buf = in_step(path)
  local before, before_text
  if buf then
    before, before_text = state_of(buf)
  end
  local ok, err, left = undo()
  if ok and buf and in_step(path) == buf then
    local after, after_text = state_of(buf)
    if not written[buf] then
      written[buf] = {}
      watch(buf)
    end
    written[buf][before], written[buf][after] = before_text, after_text
  end
  return ok, err, left
end

local function journal()
  return require("claude-ide.journal")
end

local function current()
  return require("claude-ide.review.current")
end

local function short(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

---The file that is meant: the one given, the one of the review, the one of the current window.
---@param path? string
---@return string
local function meant(path)
  if path then
    return require("claude-ide.path").normalize(path)
  end
  local here = current().here()
  return here and here.entries[here.shown].path or vim.api.nvim_buf_get_name(0)
end

---The changes that a decision is about: those that the review shows, where it shows the file; else those that wait.
---@param path string
---@return claude-ide.journal.Change?
---@return claude-ide.journal.Scope scope
local function changes_of(path)
  local entry, here = current().find(path), current().here()
  if entry and here then
    return entry.change, here.scope
  end
  return require("claude-ide.review.hunks").change_of(path), "unreviewed"
end

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
  local entry = current().find(path)
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
      ok, err, left = around(path, act)
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
  current().refresh()
  for _, done in ipairs({ entry or false, other and current().find(other) or false }) do
    if done and not done.waits then
      done.outcome = action == "keep" and "kept" or "undone"
    end
  end
  current().refresh()
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
  local review = current().get()
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

---Takes all changes of a file back, but for those that the user has changed since.
---@param path? string default: the current file
---@return boolean? ok
---@return string? err
function M.undo_file(path)
  return decide_file("undo", path)
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
