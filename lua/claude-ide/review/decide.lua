-- What the user decides of Claude's changes: which are meant, what the journal does with them, and what is said of it.
-- Invariant: whatever a user sees as kept or undone, the journal has done.
local M = {}

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
function M.hunk(action, path, lnum)
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
function M.file(action, path)
  local wanted = meant(path)
  local _, scope = changes_of(wanted)
  return decide(action, wanted, nil, scope)
end

return M
