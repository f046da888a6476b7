-- Attributes changes on disk to Claude or the user: announced edits, changes found later, and the user's own writes.
-- Invariant: a file's bytes are kept before the CLI may write it, and the user's typing is never attributed to Claude.
local store = require("claude-ide.edits.journal.store")
local lazy = require("claude-ide.lazy")
local ide_file = lazy("claude-ide.base.file")
local log = lazy("claude-ide.base.log")
local paths = lazy("claude-ide.base.path")
local pending = lazy("claude-ide.edits.journal.pending")
local shell = lazy("claude-ide.edits.journal.shell")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local watch_files = lazy("claude-ide.edits.watch.files")

local M = {}

---Larger files are not tracked: keeping their bytes would delay the CLI.
M.MAX_BYTES = 4 * 1024 * 1024

---@class claude-ide.journal.Followed a file with an announced edit
---@field file claude-ide.journal.File
---@field unfollow fun()
---@field turn integer of its last announced edit
---@field calls table<string, true> running tool calls that will write it; a subagent's call may outlast its turn
---@field settled? { is_over: boolean } its turn was settled while calls were running

---Files of running turns, by client; tracked until the edits are over.
---@type table<integer, table<integer, claude-ide.journal.Followed>>
local followed = {}

---Announced files that are too large to keep, by client: each one's state before, by path.
---@type table<integer, table<string, string>>
local unkept = {}

---Whether there is no file at the path of one that could not be read, or only one behind a link that has taken its folder's place.
---@param file claude-ide.journal.File
---@param why_not? claude-ide.file.WhyNot
---@return boolean
local function is_none(file, why_not)
  return ide_file.is_none(file.path, why_not) or M.is_elsewhere(file)
end

---Whether a link has taken the place of a tracked file or of its folder: the path leads to another file.
---@param file claude-ide.journal.File
---@return boolean
function M.is_elsewhere(file)
  return paths.real(file.real) ~= file.real
end

---Records what this Neovim has written without autocommands: it is not Claude's.
function M.note_silent_writes()
  for _, path in ipairs(stamp.take_silent_writes()) do
    M.user_wrote(path)
  end
end

---Checks a file's contents in the background.
---@param file claude-ide.journal.File
---@param done? fun()
---@param actor? "claude"
---@param turn? integer
function M.look(file, done, actor, turn)
  local known = store.revision(file.id)
  ide_file.read_later(file.path, M.MAX_BYTES, function(bytes, why_not)
    local none = is_none(file, why_not)
    bytes = not none and bytes or nil
    M.note_silent_writes()
    if known ~= store.revision(file.id) and not (bytes and store.is_last(file.id, bytes)) then
      return M.look(file, done, actor, turn) -- it may have been read before the last write
    elseif bytes or none then
      store.note(file.id, bytes, actor, turn)
    end
    if done then
      done()
    end
  end)
end

---Checks a file's contents now, before or after another change.
---@param file claude-ide.journal.File
---@param actor? "user"
function M.look_now(file, actor)
  if not actor then
    M.note_silent_writes()
  end
  local bytes, why_not = ide_file.read_now(file.path, M.MAX_BYTES)
  local none = is_none(file, why_not)
  if bytes or none then
    store.note(file.id, not none and bytes or nil, actor)
  end
end

---Records changed files that were not kept, so that the user learns that they cannot be undone.
local function leave_out_unkept(client, turn)
  local changed = {}
  for path, look in pairs(unkept[client] or {}) do
    changed[#changed + 1] = (ide_file.key_now(path) or "") ~= look and path or nil
  end
  unkept[client] = nil
  store.leave_out(turn, changed)
end

---Handles the announcement of an edit: keeps the file's contents before this returns.
---@param client integer
---@param path string absolute
---@param call? string id of the tool call
function M.before_edit(client, path, call)
  M.note_silent_writes()
  local name, real, secret = store.named(path)
  local kept = store.before_edit(client, name, real, secret, M.MAX_BYTES)
  local file = kept.file
  if kept.why_not == "large" then
    local mine = unkept[client] or {}
    mine[path] = mine[path] or ide_file.key_now(path) or ""
    unkept[client] = mine
    store.current_turn(client)
  end
  if not file then
    log.debug("%s is not kept before its edit: %s", path, kept.why_not)
    return
  end
  local mine = followed[client] or {}
  followed[client] = mine
  local one = mine[file.id]
  if not one then
    local unfollow = watch_files.follow(real, function()
      M.look(file)
    end)
    one = { file = file, unfollow = unfollow, calls = {} }
    mine[file.id] = one
  end
  one.turn, one.settled = store.last_turn(client), nil
  if call then
    one.calls[call] = true
  end
end

---Checks all announced files that may have been written.
function M.look_again()
  for _, mine in pairs(followed) do
    for _, one in pairs(mine) do
      M.look(one.file, pending.begin())
    end
  end
end

---The latest of a file's last checks that are not over.
---@type table<integer, claude-ide.journal.Followed>
local leaving = {}

---Checks the last contents of files; later writes are not attributed to Claude.
---@param client integer
---@param turn integer
---@param files table<integer, claude-ide.journal.Followed> no longer tracked
---@param is_over boolean whether the turn ends, too
local function finish_tracking(client, turn, files, is_over)
  local open, known = 1, pending.begin()
  local function one_less()
    open = open - 1
    if open == 0 then
      known()
    end
    if is_over and open == 0 and followed[client] == nil and store.last_turn(client) == turn then
      store.finish_turn(client)
    end
  end
  for id, one in pairs(files) do
    one.unfollow()
    open = open + 1
    local of = store.turn_of(id) == one.turn and one.turn or nil
    leaving[id] = one
    M.look(one.file, function()
      local latest = leaving[id]
      leaving[id] = latest ~= one and latest or nil
      -- Unless another edit of it was announced since, and is not over or not read yet.
      local is_written_again = followed[client] and followed[client][id]
        or leaving[id] and leaving[id].turn == one.turn
      if not is_written_again then
        store.release(id, one.turn)
      end
      one_less()
    end, nil, of)
  end
  one_less()
end

---Ends the edits of a turn, except those whose calls are running.
---@param client integer
---@param is_over boolean whether the turn ends, too
function M.settle(client, is_over)
  local turn, files, left = store.last_turn(client), {}, {}
  for id, one in pairs(followed[client] or {}) do
    if next(one.calls) then
      one.settled, left[id] = { is_over = is_over }, one
    else
      files[id] = one
    end
  end
  followed[client] = next(left) and left or nil
  if turn then
    leave_out_unkept(client, turn)
    finish_tracking(client, turn, files, is_over)
  end
end

---Handles the end of a call: its file is written.
---@param client integer
---@param call string
function M.edit_over(client, call)
  local mine = followed[client] or {}
  for id, one in pairs(mine) do
    if one.calls[call] then
      one.calls[call] = nil
      if one.settled and not next(one.calls) then
        mine[id] = nil
        followed[client] = next(mine) and mine or nil
        finish_tracking(client, one.turn, { [id] = one }, one.settled.is_over)
      end
    end
  end
end

---Handles a client's exit, which ends its calls.
---@param client integer
function M.left(client)
  for _, one in pairs(followed[client] or {}) do
    one.calls = {}
  end
  M.settle(client, true)
end

---Handles a change between checkpoints: made by a shell command, or by an edit that is recorded already.
---@param change claude-ide.journal.FoundChange
---@param turn integer
---@param looked fun() called when the file's contents are recorded
function M.found_changed(change, turn, looked)
  -- A checkpoint follows no links.
  local path, real, secret = change.path, change.path, select(3, store.named(change.path))
  local is_start = change.is_start == true
  local file =
    store.found(path, real, secret, turn, change.before, change.mode, change.since, change.taken, is_start)
  M.look(file, looked, "claude", turn)
end

---Handles a write by the user in this Neovim.
---@param path string
---@param had_no_changes? boolean what the file had before is still whose it was
function M.user_wrote(path, had_no_changes)
  if not had_no_changes then
    shell.user_wrote(path)
  end
  local file = store.find(path)
  if file and not store.is_landing(file.id) then
    M.look_now(file, "user")
  end
end

---Handles a write of a file seen by other code; announced files are watched already.
---@param path string absolute
function M.landed(path)
  local file = store.find(path)
  if file then
    M.look(file)
  end
end

return M
