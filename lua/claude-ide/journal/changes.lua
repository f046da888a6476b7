-- What Claude changed, file by file, as it stands in the text of now.
local M = {}

---Larger files are not compared.
local MAX_BYTES = 8 * 1024 * 1024

---Where a zero byte in so many first ones says that a file is no text, as git has it.
local BINARY_BYTES = 8000

---@alias claude-ide.journal.Scope "unreviewed"|"turn"|"session"|"all"|integer a number: the turn with that id

---@class claude-ide.journal.Hunk
---@field before_start integer 1-based, in the text without Claude's hunks (`Change.without`)
---@field before_lines string[]
---@field after_start integer 1-based, in the text of now
---@field after_lines string[] what stands there now
---@field current_start integer the same as `after_start`
---@field state claude-ide.journal.State
---@field reviewed boolean nothing of it waits for a review any more

---@class claude-ide.journal.Change
---@field path string
---@field kind "modified"|"created"|"deleted"
---@field before? string bytes before Claude's first edit; nil: there was no file
---@field after? string bytes as Claude left them last
---@field current? string bytes as they are now: the buffer's text where it has unsaved changes, else the disk's
---@field without string bytes as they are now but for Claude's hunks; before ↔ current shows exactly the hunks
---@field hunks claude-ide.journal.Hunk[] top to bottom
---@field turns integer[]
---@field added integer lines
---@field removed integer lines
---@field conflicts integer hunks in which the user made changes too
---@field source claude-ide.journal.Source
---@field binary boolean no text
---@field behind boolean its buffer has unsaved changes of an older text: all of this is of the disk's
---@field moved_from? string path of another change: the file was there, with the same bytes
---@field moved_to? string

---The buffers with unsaved changes of files, by name and by path with links followed. Worked out once for many files.
---@alias claude-ide.journal.UnsavedBuffers table<string, integer|false> false: a buffer that is no file's

---@return claude-ide.journal.UnsavedBuffers
function M.unsaved()
  local found = {} ---@type claude-ide.journal.UnsavedBuffers
  for _, info in ipairs(vim.fn.getbufinfo({ bufmodified = 1, bufloaded = 1 })) do
    local name = info.name
    if name ~= "" then
      local buf = vim.bo[info.bufnr].buftype == "" and info.bufnr
      local real = require("claude-ide.path").real(name)
      found[name] = found[name] == nil and buf or found[name]
      found[real] = found[real] == nil and buf or found[real]
    end
  end
  return found
end

---The buffer in which the user has unsaved changes of a file.
---@param history claude-ide.journal.History
---@param among claude-ide.journal.UnsavedBuffers
---@return integer? buf
local function unsaved(history, among)
  local buf = among[history.path]
  if buf == nil then
    buf = among[history.real]
  end
  return buf or nil
end

---Whether a buffer with unsaved changes does not know of what was written to its file since.
---@param buf? integer
---@return boolean
local function is_behind(buf)
  return buf ~= nil and require("claude-ide.buffer.stamp").is_conflict(buf)
end

---What a file holds now, for the user.
---@param history claude-ide.journal.History
---@param buf? integer its buffer, where that has unsaved changes of what is on disk
---@return string? bytes nil: there is no file
---@return "large"|"unreadable"? why_not
local function current_of(history, buf)
  if buf then
    local text, encoding = require("claude-ide.buffer").text(buf), vim.bo[buf].fileencoding
    if encoding ~= "" and encoding ~= "utf-8" then
      text = vim.iconv(text, "utf-8", encoding) or text
    end
    return text
  end
  local bytes, why_not = require("claude-ide.file").read_now(history.path, MAX_BYTES)
  if not bytes and why_not ~= "missing" then
    return nil, why_not --[[@as "large"|"unreadable"]]
  end
  return bytes
end

---Equal for the same history and the same text of now.
---@param history claude-ide.journal.History
---@param among claude-ide.journal.UnsavedBuffers
---@return string
local function key_of(history, among)
  local buf, stat = unsaved(history, among), nil
  if not buf then
    stat = vim.uv.fs_stat(history.path)
  end
  return table.concat({
    require("claude-ide.journal.history").state(history),
    buf or "",
    buf and vim.api.nvim_buf_get_changedtick(buf) or "",
    tostring(is_behind(buf)),
    stat and require("claude-ide.buffer.stamp").key(stat) or "",
  }, " ")
end

---@class claude-ide.journal.View a history, as it stands in the text of now
---@field history claude-ide.journal.History
---@field lines string[]
---@field current? string
---@field regions claude-ide.journal.Region[]
---@field first integer step that is the first of Claude's
---@field last integer
---@field turns table<integer, true> whose changes these are
---@field behind boolean the buffer has unsaved changes of an older text: this is the disk's
---@field waiting? claude-ide.journal.Region[] what waits for a review; nil: these regions themselves

---@param scope claude-ide.journal.Scope
---@return fun(step: claude-ide.journal.Step): boolean
local function counting(scope)
  local turns = require("claude-ide.journal.turns")
  if scope == "all" then
    return function()
      return true
    end
  end
  local list = turns.list()
  local last = list[#list]
  if scope == "session" then
    return function(step)
      local turn = step.turn and turns.get(step.turn)
      return turn ~= nil and turn.client == last.client
    end
  end
  local id = scope == "turn" and last and last.id or scope
  return function(step)
    return step.turn == id
  end
end

---A history as it stood after so many of its steps.
---@param history claude-ide.journal.History
---@param scope claude-ide.journal.Scope
---@param count integer
---@return claude-ide.journal.View? nil: nothing of Claude's is there
local function view_at(history, scope, count)
  local histories = require("claude-ide.journal.history")
  local counts = scope ~= "unreviewed" and counting(scope) or nil
  local waiting, reviewed_to = histories.unreviewed(history, count)
  local regions, first = waiting, reviewed_to ---@type claude-ide.journal.Region[], integer?
  if counts then
    regions, first = require("claude-ide.journal.replay").changed_by(history, count, counts)
  end
  if #regions == 0 or not first then
    return nil
  end
  local steps, turns, last = history.steps, {}, first
  for i = first, count do
    local turn = steps[i].turn
    if turn and (not counts or counts(steps[i])) then
      turns[turn], last = true, i
    end
  end
  local current = histories.bytes(steps[count])
  ---@type claude-ide.journal.View
  return {
    history = history,
    lines = require("claude-ide.journal.merge").decode(current),
    current = current,
    regions = regions,
    waiting = counts and waiting or nil,
    first = first,
    last = last,
    turns = turns,
    behind = false,
  }
end

---@param history claude-ide.journal.History
---@param scope claude-ide.journal.Scope
---@param among? claude-ide.journal.UnsavedBuffers
---@return claude-ide.journal.View? nil: nothing of Claude's is there
function M.view(history, scope, among)
  -- Asked first: most files have nothing, and then the disk need not be.
  if not view_at(history, scope, #history.steps) and not history.steps[#history.steps].mark then
    return nil
  end
  local buf = unsaved(history, among or M.unsaved())
  local behind = is_behind(buf)
  local current, why_not = current_of(history, not behind and buf or nil)
  if why_not then
    return nil
  end
  -- What is on disk and nobody has looked at yet may be anybody's, even where it is what an undo took back.
  local is_unsaved = buf and not behind
  local count = is_unsaved and require("claude-ide.journal.history").length(history, current)
    or #history.steps
  local view = view_at(history, scope, count)
  if not view then
    return nil
  end
  local merge = require("claude-ide.journal.merge")
  local recorded, lines = view.lines, merge.decode(current)
  view.lines, view.current, view.behind = lines, current, behind
  view.regions = merge.advance(view.regions, recorded, lines, "user")
  view.waiting = view.waiting and merge.drop_gone(merge.advance(view.waiting, recorded, lines, "user"))
  return view
end

---A history as it stands in what was last seen on disk.
---@param history claude-ide.journal.History
---@param scope claude-ide.journal.Scope
---@return claude-ide.journal.View? nil: nothing of Claude's is there
function M.of_disk(history, scope)
  return view_at(history, scope, #history.steps)
end

---@param a claude-ide.journal.Region
---@param b claude-ide.journal.Region
---@return boolean whether they have a line in common, or one is where the other has none
local function meet(a, b)
  if a.count == 0 or b.count == 0 then
    return a.start <= b.start + b.count and b.start <= a.start + a.count
  end
  return a.start < b.start + b.count and b.start < a.start + a.count
end

---What waits for a review, apart from what has to do with some regions of the view.
---@param view claude-ide.journal.View
---@param regions claude-ide.journal.Region[]
---@return claude-ide.journal.Region[]
function M.waiting_without(view, regions)
  return vim.tbl_filter(function(waiting)
    return waiting.state ~= "gone"
      and not vim.iter(regions):any(function(region)
        return waiting == region or (view.waiting ~= nil and meet(waiting, region))
      end)
  end, view.waiting or view.regions)
end

---@param view claude-ide.journal.View
---@return claude-ide.journal.Hunk[] as many as the view has regions
---@return string without
function M.hunks(view)
  local merge, hunks, shift, theirs = require("claude-ide.journal.merge"), {}, 0, {}
  for i, region in ipairs(view.regions) do
    local after = vim.list_slice(view.lines, region.start, region.start + region.count - 1)
    hunks[i] = {
      before_start = region.start + shift,
      before_lines = merge.readable(region.before),
      after_start = region.start,
      after_lines = merge.readable(after),
      current_start = region.start,
      state = region.state,
      reviewed = view.waiting ~= nil and #M.waiting_without(view, { region }) == #view.waiting,
    }
    if region.state ~= "gone" then
      shift = shift + #region.before - region.count
      theirs[#theirs + 1] = region
    end
  end
  return hunks, merge.encode(merge.revert(view.lines, theirs))
end

---@param bytes? string
---@return boolean
local function is_binary(bytes)
  return (bytes or ""):sub(1, BINARY_BYTES):find("\0", 1, true) ~= nil
end

---@param view claude-ide.journal.View
---@return claude-ide.journal.Change? nil: the user has taken back all of it
function M.describe(view)
  local histories = require("claude-ide.journal.history")
  local history = view.history
  local steps = history.steps
  local hunks, without = M.hunks(view)
  local change = {
    path = history.path,
    before = histories.bytes(steps[view.first - 1]),
    after = histories.bytes(steps[view.last]),
    current = view.current,
    without = without,
    hunks = hunks,
    turns = vim.tbl_keys(view.turns),
    added = 0,
    removed = 0,
    conflicts = 0,
    source = history.source,
    behind = view.behind,
  }
  change.binary = is_binary(change.before) or is_binary(change.current)
  table.sort(change.turns)
  local left = 0
  for _, hunk in ipairs(hunks) do
    if hunk.state ~= "gone" then
      left = left + 1
      change.added, change.removed = change.added + #hunk.after_lines, change.removed + #hunk.before_lines
      change.conflicts = change.conflicts + (hunk.state == "conflict" and 1 or 0)
    end
  end
  change.kind = not change.current and "deleted" or not change.before and "created" or "modified"
  return left > 0 and change or nil
end

---What waits for a review changes seldom and is asked for often: by file.
---@type table<claude-ide.journal.History, { key: string, change: claude-ide.journal.Change? }>
local known = setmetatable({}, { __mode = "k" })

---What Claude changed in a file.
---@param history claude-ide.journal.History
---@param scope claude-ide.journal.Scope
---@param among? claude-ide.journal.UnsavedBuffers where many are asked for
---@return claude-ide.journal.Change? nil: nothing of it is there
function M.of(history, scope, among)
  among = among or M.unsaved()
  local key = scope == "unreviewed" and key_of(history, among) or nil
  if key and known[history] and known[history].key == key then
    return known[history].change
  end
  local view = M.view(history, scope, among)
  local change = view and M.describe(view)
  if key then
    known[history] = { key = key, change = change }
  end
  return change
end

---The region that a hunk speaks of: the same lines at the same place, or the nearest where lines were added or removed
---above since the hunk was made.
---@param view claude-ide.journal.View
---@param hunk claude-ide.journal.Hunk
---@return integer? index
function M.find(view, hunk)
  local best, distance
  for i, other in ipairs((M.hunks(view))) do
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

return M
