-- What is seen on disk, and whose it is: files that a client said it would edit, what is found changed afterwards, what the
-- user writes.
-- Invariant: the bytes of a file are kept before the CLI may write it, and nothing the user typed counts as Claude's.
local M = {}

local store = require("claude-ide.journal.store")

---Larger files are not followed: keeping their bytes would hold up the CLI.
M.MAX_BYTES = 4 * 1024 * 1024

---@class claude-ide.journal.Followed a file that a client said it would edit
---@field file claude-ide.journal.File
---@field unfollow fun()
---@field turn integer that announced its last edit
---@field calls table<string, true> that are to write it and are not over: one of a subagent may outlive its turn
---@field settled? { is_over: boolean } its turn was settled without it

---Files of turns that go on, by client: no longer followed when the edits are over.
---@type table<integer, table<integer, claude-ide.journal.Followed>>
local followed = {}

---Files that a client said it would edit and that are too large to be kept, by client: how each looked before, by path.
---@type table<integer, table<string, string>>
local unkept = {}

---Looks what a file holds now, in the background.
---@param file claude-ide.journal.File
---@param done? fun()
---@param actor? "claude"
---@param turn? integer
function M.look(file, done, actor, turn)
  local known = store.revision(file.id)
  require("claude-ide.file").read_later(file.path, M.MAX_BYTES, function(bytes, why_not)
    if known ~= store.revision(file.id) and not (bytes and store.is_last(file.id, bytes)) then
      return M.look(file, done, actor, turn) -- it may have been read before that was written
    elseif bytes or why_not == "missing" then
      store.note(file.id, bytes, actor, turn)
    end
    if done then
      done()
    end
  end)
end

---What a file holds now, at once: something else is about to happen to it, or just has.
---@param file claude-ide.journal.File
---@param actor? "user"
function M.look_now(file, actor)
  local bytes, why_not = require("claude-ide.file").read_now(file.path, M.MAX_BYTES)
  if bytes or why_not == "missing" then
    store.note(file.id, bytes, actor)
  end
end

---What a client changed in files that are not kept cannot be taken back, and that is said.
local function leave_out_unkept(client, turn)
  local changed = {}
  for path, look in pairs(unkept[client] or {}) do
    changed[#changed + 1] = (require("claude-ide.file").key_now(path) or "") ~= look and path or nil
  end
  unkept[client] = nil
  store.leave_out(turn, changed)
end

---A client is about to edit a file: what it holds now is kept, before this returns.
---@param client integer
---@param path string absolute
---@param call? string that writes it
function M.before_edit(client, path, call)
  local bytes, why_not = require("claude-ide.file").read_now(path, M.MAX_BYTES)
  if why_not == "large" then
    local mine = unkept[client] or {}
    mine[path] = mine[path] or require("claude-ide.file").key_now(path) or ""
    unkept[client] = mine
    store.current_turn(client)
  end
  if not bytes and why_not ~= "missing" then
    require("claude-ide.log").debug("%s is not kept before its edit: %s", path, why_not)
    return
  end
  local name, real, secret = store.named(path)
  local file, stat = store.before_edit(client, name, real, secret, bytes), vim.uv.fs_stat(path)
  store.set_mode(file.id, stat and stat.mode % 4096)
  local mine = followed[client] or {}
  followed[client] = mine
  local one = mine[file.id]
  if not one then
    local unfollow = require("claude-ide.watch.files").follow(real, function()
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

---Looks at all files of edits that were announced and that may have been written by now.
function M.look_again()
  for _, mine in pairs(followed) do
    for _, one in pairs(mine) do
      M.look(one.file, require("claude-ide.journal.pending").begin())
    end
  end
end

---Sees what was written last in files: what is written from now on is not taken for Claude's.
---@param client integer
---@param turn integer
---@param files table<integer, claude-ide.journal.Followed> that are followed no more
---@param is_over boolean whether this is the end of the turn, too
local function let_go(client, turn, files, is_over)
  local open, known = 1, require("claude-ide.journal.pending").begin()
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
    M.look(one.file, function()
      -- Unless another edit of it was announced meanwhile.
      if not (followed[client] and followed[client][id]) then
        store.release(id, one.turn)
      end
      one_less()
    end, nil, of)
  end
  one_less()
end

---The edits of a turn are over, but for those whose calls are not.
---@param client integer
---@param is_over boolean whether this is the end of the turn, too
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
    let_go(client, turn, files, is_over)
  end
end

---A call is over: what it was to write is written.
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
        let_go(client, one.turn, { [id] = one }, one.settled.is_over)
      end
    end
  end
end

---A client is gone, and its calls with it.
---@param client integer
function M.left(client)
  for _, one in pairs(followed[client] or {}) do
    one.calls = {}
  end
  M.settle(client, true)
end

---A checkpoint shows that a file changed in a turn: by a shell command, or by an edit that is known already.
---@param change claude-ide.journal.FoundChange
---@param turn integer
---@param looked fun() it is known what the file holds now
function M.found_changed(change, turn, looked)
  local path, real, secret = store.named(change.path)
  local is_start = change.is_start == true
  local file =
    store.found(path, real, secret, turn, change.before, change.mode, change.since, change.taken, is_start)
  M.look(file, looked, "claude", turn)
end

---The user wrote a file in this Neovim.
---@param path string
function M.user_wrote(path)
  require("claude-ide.journal.shell").user_wrote(path)
  local file = store.find(path)
  if file and not store.is_landing(file.id) then
    M.look_now(file, "user")
  end
end

---Something saw that a file was written; the watch of announced files does so itself.
---@param path string absolute
function M.landed(path)
  local file = store.find(path)
  if file then
    M.look(file)
  end
end

return M
