-- Stages in git what the user has kept of Claude's changes in a file.
-- Invariants: the index gets these changes only, no unreviewed one and no line of the user's; the work tree stays as it is. Texts are
-- compared as git would store them, so that filters and line endings make no difference.
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local git = lazy("claude-ide.server.git")
local journal = lazy("claude-ide.edits.journal")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local task = lazy("claude-ide.language.task")

local M = {}

local REGULAR, EXECUTABLE = "100644", "100755"

---Files that are being staged.
---@type table<string, true>
local running = {}

---@class claude-ide.review.Kept what was kept of Claude's changes in a file
---@field path string
---@field name string for messages
---@field base string the text without any of Claude's changes
---@field text? string the same with those that were kept; nil: without the file
---@field is_new boolean Claude created the file
---@field waiting integer changes that wait for a review

---@param path string
---@return claude-ide.review.Kept?
---@return string? err
local function kept_of(path)
  local all = journal.change(path, "all")
  local left = all and journal.change(path, "unreviewed")
  local name = paths.short(path)
  if not all then
    return nil, ("Claude has not changed %s."):format(name)
  elseif all.behind then
    return nil, ("%s differs on disk from your unsaved buffer. Use `:Claude resolve` first."):format(name)
  end
  local kept = { path = path, name = name, base = all.without, is_new = all.kind == "created", waiting = 0 }
  kept.text = all.current
  if left then
    kept.text, kept.waiting = left.without, #left.hunks
  end
  if kept.text == kept.base then
    return nil, ("Nothing is kept yet of Claude's changes to %s."):format(name)
  end
  return kept
end

---Where a file is, for git.
---@class claude-ide.review.InGit
---@field folder string the next one above the file that exists
---@field path string from there
---@field full string from the top of the work tree
---@field mode string of the file in the index
---@field id? string its contents there; nil: the index does not have it

---@param path string
---@return string folder
---@return string rest
local function folder_of(path)
  local folder = vim.fs.dirname(path)
  while vim.fn.isdirectory(folder) == 0 and folder ~= vim.fs.dirname(folder) do
    folder = vim.fs.dirname(folder)
  end
  return folder, (path:sub(#folder + 1):gsub("^/+", ""))
end

---@param now claude-ide.language.Task
---@param kept claude-ide.review.Kept
---@return string? mode nil: the index does not have the file
---@return string? id
local function entry_of(now, kept, folder, rest)
  local out = git.must(now, folder, { "ls-files", "--stage", "-z", "--", ":(literal)" .. rest })
  local mode, id, stage = out:match("^(%d+) (%x+) (%d)\t")
  if not mode then
    return nil
  elseif stage ~= "0" then
    now:fail(("%s has a conflict in git's index. Resolve it first."):format(kept.name))
  elseif mode ~= REGULAR and mode ~= EXECUTABLE then
    now:fail(("%s is not a regular file in git's index."):format(kept.name))
  end
  return mode, id
end

---@param now claude-ide.language.Task
---@param kept claude-ide.review.Kept
---@return claude-ide.review.InGit
local function find(now, kept)
  local folder, rest = folder_of(paths.real(kept.path))
  local prefix, err = git.run(now, folder, { "rev-parse", "--show-prefix" })
  if not prefix then
    local is_none = err and err:find("not a git repository", 1, true)
    now:fail(is_none and ("%s is in no git repository."):format(kept.name) or err or "git failed")
  end
  local mode, id = entry_of(now, kept, folder, rest)
  if not mode and not kept.is_new and not vim.uv.fs_stat(kept.path) then
    now:fail(("%s is neither on disk nor in git's index: nothing is left to stage."):format(kept.name))
  elseif not mode and not kept.is_new then
    now:fail(("%s is not tracked by git. Use `git add` first."):format(kept.name))
  elseif not mode and git.run(now, folder, { "check-ignore", "--quiet", "--", rest }) then
    now:fail(("%s is ignored by git."):format(kept.name))
  elseif not mode then
    local stat = vim.uv.fs_stat(kept.path)
    local keeps_modes = git.run(now, folder, { "config", "--type=bool", "core.fileMode" }) ~= "false"
    mode = keeps_modes and stat and stat.mode % 2 == 1 and EXECUTABLE or REGULAR
  end
  ---@cast mode string
  return { folder = folder, path = rest, full = prefix .. rest, mode = mode, id = id }
end

---The text that git would store for a text of the file.
---@param now claude-ide.language.Task
---@param at claude-ide.review.InGit
---@param text string
---@return string
local function stored(now, at, text)
  local arguments = { "-c", "core.safecrlf=false", "hash-object", "-w", "--stdin", "--path=" .. at.path }
  local id = git.must(now, at.folder, arguments, { input = text })
  return git.must(now, at.folder, { "cat-file", "blob", id }, { exact = true })
end

---Whether the index has a file that Claude has created as `git mv` has put it there: with the text of one that Claude has deleted.
---@param now claude-ide.language.Task
---@param at claude-ide.review.InGit
---@param indexed string
---@return boolean
local function was_moved(now, at, indexed)
  return vim.iter(journal.changes("all")):any(function(change)
    return change.kind == "deleted" and stored(now, at, change.before) == indexed
  end)
end

---@param now claude-ide.language.Task
---@param kept claude-ide.review.Kept
---@return string said
local function stage(now, kept)
  local at = find(now, kept)
  local indexed = at.id and git.must(now, at.folder, { "cat-file", "blob", at.id }, { exact = true }) or ""
  local base = kept.is_new and kept.base == "" and "" or stored(now, at, kept.base)
  if base == "" and indexed ~= "" and was_moved(now, at, indexed) then
    base = indexed
  end
  local text, places = nil, 1 ---@type string?, integer
  if kept.text then
    local merged = native.merge(base, indexed, stored(now, at, kept.text))
    text = merged and merged.overlaps == 0 and merged.text or nil
    places = text and math.floor(#(native.diff(indexed, text) or {}) / 4) or 0
  end
  if kept.text and not text or not kept.text and at.id and indexed ~= base then
    now:fail(("%s is not staged: git's index differs at the lines that you kept."):format(kept.name))
  elseif (text == indexed and at.id) or (not kept.text and not at.id) then
    return ("%s: what you kept is staged already."):format(kept.name)
  end
  local id = text and git.must(now, at.folder, { "hash-object", "-w", "--stdin" }, { input = text })
    or ("0"):rep(#at.id)
  if select(2, entry_of(now, kept, at.folder, at.path)) ~= at.id then
    now:fail(("%s changed in git's index meanwhile. Try again."):format(kept.name))
  end
  local entry = ("%s %s\t%s\0"):format(text and at.mode or "0", id, at.full)
  git.must(now, at.folder, { "update-index", "-z", "--index-info" }, { input = entry })
  local left = kept.waiting > 0 and (", %d left to review"):format(kept.waiting) or ""
  local what = not text and "its deletion" or counted(math.max(places, 1), "kept change")
  return ("%s: %s staged%s."):format(kept.name, what, left)
end

---Stages what was kept in a file. A message tells what became of it.
---@param path string
---@return boolean? ok it has begun
---@return string? err
function M.file(path)
  local kept, err = kept_of(path)
  if not kept then
    return nil, err
  elseif running[path] then
    return nil, ("git is still at work on %s."):format(kept.name)
  end
  running[path] = true
  task.run("stage " .. kept.name, function(now)
    return stage(now, kept)
  end, function(said, failure)
    running[path] = nil
    if failure then
      notice.warn(failure.message)
    else
      notice.info(said)
    end
  end)
  return true
end

return M
