-- Claude's changes by file, relative to the current text. The library compares; this module supplies the current text.
local store = require("claude-ide.edits.journal.store")
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local buffer = lazy("claude-ide.editor.buffer")
local files = lazy("claude-ide.base.file")
local format = lazy("claude-ide.editor.buffer.format")
local observe = lazy("claude-ide.edits.journal.observe")
local path = lazy("claude-ide.base.path")
local stamp = lazy("claude-ide.editor.buffer.stamp")

local M = {}

---Larger files are not compared.
local MAX_BYTES = 8 * 1024 * 1024

---@class claude-ide.journal.Hunk
---@field before_start integer 1-based, in the text without Claude's hunks (`Change.without`)
---@field before_lines string[]
---@field after_start integer 1-based, in the current text
---@field after_lines string[] current
---@field current_start integer the same as `after_start`
---@field state claude-ide.journal.State
---@field reviewed boolean completely
---@field calls string[] ids of the calls that made it, the latest first; none: not known

---@class claude-ide.journal.Change
---@field path string
---@field kind "modified"|"created"|"deleted"
---@field before? string bytes before Claude's first edit; nil: no such file
---@field after? string bytes after Claude's last edit
---@field current? string current bytes: the buffer's text if it has unsaved changes, else the disk's; nil: no such file
---@field without string current bytes without Claude's hunks; before ↔ current shows exactly the hunks
---@field hunks claude-ide.journal.Hunk[] top to bottom
---@field turns integer[]
---@field added integer lines
---@field removed integer lines
---@field conflicts integer hunks that the user has changed, too
---@field source "announced"|"checkpoint"|"transcript" announced before the edit, found between two checkpoints, or read in the transcript
---@field binary boolean not text
---@field by_user boolean the user has deleted the file, which Claude has only changed: no line counts, and nothing is undone
---@field behind boolean its buffer has unsaved changes of an older text: everything here is about the file on disk
---@field moved_from? string path of another change: the file was moved from there, with the same bytes
---@field moved_to? string

---Buffers with unsaved changes, by name and by resolved path. Computed once for many files.
---@alias claude-ide.journal.UnsavedBuffers table<string, integer|false> false: not a file's buffer

---@return claude-ide.journal.UnsavedBuffers
function M.unsaved()
  local found = {} ---@type claude-ide.journal.UnsavedBuffers
  for _, info in ipairs(vim.fn.getbufinfo({ bufmodified = 1, bufloaded = 1 })) do
    local name = info.name
    if name ~= "" then
      local buf = vim.bo[info.bufnr].buftype == "" and info.bufnr
      local real = path.real(name)
      found[name] = found[name] == nil and buf or found[name]
      found[real] = found[real] == nil and buf or found[real]
    end
  end
  return found
end

---The buffer with unsaved changes of a file.
---@param file claude-ide.journal.File
---@param among claude-ide.journal.UnsavedBuffers
---@return integer? buf
---@return boolean behind the file was written since the buffer was read
local function unsaved(file, among)
  local buf = among[file.path]
  if buf == nil then
    buf = among[file.real]
  end
  return buf or nil, buf and stamp.is_conflict(buf) or false
end

---The file's current text, as the user sees it. Unsaved changes of a file that was deleted are no text of it.
---@param file claude-ide.journal.File
---@param among? claude-ide.journal.UnsavedBuffers for calls about many files
---@return claude-ide.journal.TextKind? kind nil: too large or unreadable
---@return string? bytes nil: no such file
function M.text(file, among)
  local buf, behind = unsaved(file, among or M.unsaved())
  if buf and not behind and files.key_now(file.path) then
    local text, encoding = buffer.text(buf), vim.bo[buf].fileencoding
    return "unsaved", format.encoded(text, encoding) or vim.iconv(text, "utf-8", encoding) or text
  end
  local bytes, why_not = files.read_now(file.path, MAX_BYTES)
  -- What has become a folder, a pipe or the like, or lies behind a link now, is a file that was deleted.
  if bytes and observe.is_elsewhere(file) then
    bytes = nil
  elseif not bytes and not files.is_none(file.path, why_not) then
    return nil
  end
  return behind and "behind" or "disk", bytes
end

---Equal for equal history and equal current text.
---@param file claude-ide.journal.File
---@param among claude-ide.journal.UnsavedBuffers
---@return string
local function key_of(file, among)
  local buf, behind = unsaved(file, among)
  return table.concat({
    store.revision(file.id),
    buf or "",
    buf and vim.api.nvim_buf_get_changedtick(buf) or "",
    tostring(behind),
    files.key_now(file.path) or "",
  }, " ")
end

---Cache of unreviewed changes, which are often requested and seldom change.
---@type table<integer, { key: string, change: claude-ide.journal.Change? }>
local known = {}

---Drops a file that is no longer tracked.
---@param id integer
function M.forget(id)
  known[id] = nil
end

---Claude's changes of a file.
---@param file claude-ide.journal.File
---@param scope claude-ide.journal.Scope
---@param among? claude-ide.journal.UnsavedBuffers for calls about many files
---@return claude-ide.journal.Change? nil: none
function M.of(file, scope, among)
  among = among or M.unsaved()
  local key = scope == "unreviewed" and key_of(file, among) or nil
  if key and known[file.id] and known[file.id].key == key then
    return known[file.id].change
  end
  local change, kind, bytes ---@type claude-ide.journal.Change?, claude-ide.journal.TextKind?, string?
  -- Checked first: most files have no changes, and their text is then not read.
  if store.may_have(file.id, tostring(scope)) then
    kind, bytes = M.text(file, among)
    change = kind and store.change(file.id, tostring(scope), kind, bytes) or nil
  end
  if key then
    known[file.id] = { key = key, change = change }
  end
  return change
end

---Pairs a deleted file and a created one with the same bytes as a move.
---@param changes claude-ide.journal.Change[]
function M.pair_moves(changes)
  local gone = {} ---@type table<string, claude-ide.journal.Change> by contents
  for _, change in ipairs(changes) do
    change.moved_from, change.moved_to = nil, nil
    if change.kind == "deleted" and not change.by_user and change.before and change.before ~= "" then
      gone[change.before] = change
    end
  end
  for _, change in ipairs(changes) do
    local from = change.kind == "created" and gone[change.current] or nil
    if from then
      change.moved_from, from.moved_to = from.path, change.path
      gone[change.current] = nil
    end
  end
end

---The current hunk that corresponds to an earlier one: the same lines at the same place, or the nearest if lines were added or removed
---above.
---@param hunks claude-ide.journal.Hunk[]
---@param hunk claude-ide.journal.Hunk
---@return integer? index
function M.find(hunks, hunk)
  local best, distance
  for i, other in ipairs(hunks) do
    local same = other.state == hunk.state
      and vim.deep_equal(other.before_lines, hunk.before_lines)
      and vim.deep_equal(other.after_lines, hunk.after_lines)
    local away = math.abs(other.current_start - hunk.current_start)
    if same and (not distance or away < distance) then
      best, distance = i, away
    end
  end
  return best
end

---Interval of checks for changes without an event, such as writes by other programs.
local LOOK_AGAIN_NS = 1e9

---@class claude-ide.journal.Counts
---@field files integer
---@field hunks integer
---@field conflicts integer

---@type table<integer, claude-ide.journal.Counts>
local by_file = {}
---@type claude-ide.journal.Counts
local sum = { files = 0, hunks = 0, conflicts = 0 }
---Files that had unsaved changes at the last count.
---@type table<integer, claude-ide.journal.File>
local were_unsaved = {}
---Time of the last full count.
local looked = 0

---@param counts? claude-ide.journal.Counts
---@param sign 1|-1
local function add(counts, sign)
  for name, number in pairs(counts or {}) do
    sum[name] = sum[name] + sign * number
  end
end

---@param change claude-ide.journal.Change
---@return claude-ide.journal.Counts
local function count(change)
  local hunks = 0
  for _, hunk in ipairs(change.hunks) do
    hunks = hunks + (hunk.state ~= "gone" and not change.by_user and 1 or 0)
  end
  return { files = 1, hunks = hunks, conflicts = change.conflicts }
end

---@param file claude-ide.journal.File
---@param among claude-ide.journal.UnsavedBuffers
local function look(file, among)
  add(by_file[file.id], -1)
  local change = M.of(file, "unreviewed", among)
  by_file[file.id] = change and count(change) or nil
  add(by_file[file.id], 1)
end

---Counts the unreviewed changes. Requested after each edit of a turn, which may have hundreds of files, so only changed files and those
---with unsaved changes are counted again.
---@return claude-ide.journal.Counts
function M.counts()
  local stale = announce.take()
  local now = vim.uv.hrtime()
  if stale and next(stale) == nil then
    return vim.deepcopy(sum)
  end
  local among = M.unsaved()
  local are_unsaved = {} ---@type table<integer, claude-ide.journal.File>
  for name in pairs(among) do
    local file = store.find(name)
    if file then
      are_unsaved[file.id] = file
    end
  end
  local look_too = vim.tbl_extend("keep", are_unsaved, were_unsaved)
  were_unsaved = are_unsaved
  if not stale or now - looked > LOOK_AGAIN_NS then
    by_file, sum = {}, { files = 0, hunks = 0, conflicts = 0 }
    for _, file in ipairs(store.files()) do
      look(file, among)
    end
    looked = vim.uv.hrtime()
    return vim.deepcopy(sum)
  end
  for id in pairs(vim.tbl_extend("keep", stale, look_too)) do
    local file = store.file(id)
    if file then
      look(file, among)
    else
      add(by_file[id], -1)
      by_file[id] = nil
      M.forget(id)
    end
  end
  return vim.deepcopy(sum)
end

return M
