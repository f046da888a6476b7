-- What is seen on disk, and whose it is: files that a client said it would edit, what is found changed afterwards, what the
-- user writes.
-- Invariant: the bytes of a file are kept before the CLI may write it, and nothing the user typed counts as Claude's.
local M = {}

---Larger files are not followed: keeping their bytes would hold up the CLI.
M.MAX_BYTES = 4 * 1024 * 1024

---Files of turns that go on, by client: no longer followed when the edits are over.
---@type table<integer, table<claude-ide.journal.History, fun()>>
local followed = {}

---Files that a client said it would edit and that are too large to be kept, by client: how each looked before, by path.
---@type table<integer, table<string, string>>
local unkept = {}

---What the user accepted in a diff and the CLI has not written yet, by path.
---@type table<string, string>
local accepted = {}

---@return table
local function histories()
  return require("claude-ide.journal.history")
end

---@param history claude-ide.journal.History
---@param turn integer
---@param who claude-ide.journal.Actor
function M.announce(history, turn, who)
  local turns = require("claude-ide.journal.turns")
  turns.touch(turn, history.path)
  local owner = turns.get(turn)
  require("claude-ide.event").emit("ClaudeFileChanged", {
    path = history.path,
    turn = turn,
    client = owner and owner.client,
    accepted = who == "accepted",
  })
end

---Whether the client of a turn has changed the file in a later one: what is found there now is of the earlier one no more, however
---late its end is looked at.
---@param history claude-ide.journal.History
---@param turn integer
---@return boolean
local function has_gone_on(history, turn)
  local turns, step = require("claude-ide.journal.turns"), history.steps[#history.steps]
  local owner, last = turns.get(turn), step and step.turn and turns.get(step.turn)
  if not owner or not last or last.id <= turn or last.client ~= owner.client then
    return false
  end
  local now = turns.last_of(owner.client)
  return now ~= nil and now.id > turn -- else that was written beside the turn that goes on
end

---Notes what was found on disk, and whose it is.
---@param history claude-ide.journal.History
---@param bytes? string
---@param actor? "user"|"accepted"|"claude" where that is known
---@param turn? integer default: the turn that announced an edit of it
function M.note(history, bytes, actor, turn)
  if history.undoing then
    if histories().record(history, "undo", bytes, history.undoing) then
      require("claude-ide.journal.changed").tell(history)
    end
    return
  end
  local landing = history.landing
  if landing and actor ~= "user" then
    actor, turn = landing.actor, landing.turn
  end
  -- What is read late of one turn holds what the next one, which announced an edit since, has written.
  turn = not actor and history.turn or turn or history.turn
  if not actor and turn and has_gone_on(history, turn) then
    turn = nil
  end
  if not actor and bytes and accepted[history.path] == bytes then
    accepted[history.path], actor = nil, "accepted"
  end
  local who = actor or (turn and "claude" or "user")
  if not histories().record(history, who, bytes, who ~= "user" and turn or nil) then
    return
  end
  if who ~= "user" and turn then
    M.announce(history, turn, who)
  end
  require("claude-ide.journal.changed").tell(history)
end

---Looks what a file holds now, in the background.
---@param history claude-ide.journal.History
---@param done? fun()
---@param actor? "claude"
---@param turn? integer
function M.look(history, done, actor, turn)
  local known = histories().state(history)
  require("claude-ide.file").read_later(history.path, M.MAX_BYTES, function(bytes, why_not)
    local last = history.steps[#history.steps]
    local is_known = bytes ~= nil and last ~= nil and histories().bytes(last) == bytes
    if known ~= histories().state(history) and not is_known then
      return M.look(history, done, actor, turn) -- it may have been read before that was written
    elseif bytes or why_not == "missing" then
      M.note(history, bytes, actor, turn)
    end
    if done then
      done()
    end
  end)
end

---What a file holds now, at once: something else is about to happen to it, or just has.
---@param history claude-ide.journal.History
---@param actor? "user"
function M.look_now(history, actor)
  local bytes, why_not = require("claude-ide.file").read_now(history.path, M.MAX_BYTES)
  if bytes or why_not == "missing" then
    M.note(history, bytes, actor)
  end
end

---How a file looks from outside.
---@param path string
---@return string
local function look_of(path)
  local stat = vim.uv.fs_stat(path)
  return stat and require("claude-ide.buffer.stamp").key(stat) or ""
end

---What a client changed in files that are not kept cannot be taken back, and that is said.
---@param client integer
---@param turn integer
local function leave_out_unkept(client, turn)
  local changed = {}
  for path, look in pairs(unkept[client] or {}) do
    changed[#changed + 1] = look_of(path) ~= look and path or nil
  end
  unkept[client] = nil
  require("claude-ide.journal.turns").leave_out(turn, changed)
end

---A client is about to edit a file: what it holds now is kept, before this returns.
---@param client integer
---@param path string absolute
function M.before_edit(client, path)
  local bytes, why_not = require("claude-ide.file").read_now(path, M.MAX_BYTES)
  if why_not == "large" then
    local mine = unkept[client] or {}
    mine[path] = mine[path] or look_of(path)
    unkept[client] = mine
    require("claude-ide.journal.turns").current(client)
  end
  if not bytes and why_not ~= "missing" then
    require("claude-ide.log").debug("%s is not kept before its edit: %s", path, why_not)
    return
  end
  local turn = require("claude-ide.journal.turns").current(client)
  local history, is_new = histories().open(path, bytes, "announced")
  if not is_new then
    M.note(history, bytes)
  end
  if history.turn ~= turn.id then
    history.turn, history.announced = turn.id, vim.uv.hrtime()
  end
  local stat = vim.uv.fs_stat(path)
  history.mode = stat and stat.mode % 4096 or history.mode
  local mine = followed[client] or {} ---@type table<claude-ide.journal.History, fun()>
  followed[client] = mine
  if not mine[history] then
    local real = require("claude-ide.path").real(path)
    local unfollow = require("claude-ide.watch.files").follow(real, function()
      M.look(history)
    end)
    rawset(mine, history, unfollow)
  end
end

---Looks at all files of edits that were announced and that may have been written by now.
function M.look_again()
  for _, mine in pairs(followed) do
    for history in pairs(mine) do
      M.look(history, require("claude-ide.journal.pending").begin())
    end
  end
end

---@param client integer
---@param history claude-ide.journal.History
---@return boolean
local function is_followed(client, history)
  return followed[client] ~= nil and followed[client][history] ~= nil
end

---Sees what was written last: what is written from now on is not taken for Claude's.
---@param client integer
---@param is_over boolean whether this is the end of the turn, too
function M.settle(client, is_over)
  local mine = followed[client] or {}
  followed[client] = nil
  local turns = require("claude-ide.journal.turns")
  local turn = turns.last_of(client)
  if not turn then
    return
  end
  leave_out_unkept(client, turn.id)
  local open, known = 1, require("claude-ide.journal.pending").begin()
  local function one_less()
    open = open - 1
    if open == 0 then
      known()
    end
    if is_over and open == 0 and followed[client] == nil and turns.last_of(client) == turn then
      turns.finish(client)
    end
  end
  for history, unfollow in pairs(mine) do
    unfollow()
    open = open + 1
    local of = history.turn == turn.id and turn.id or nil
    M.look(history, function()
      -- Unless another edit of it was announced meanwhile.
      if history.turn == turn.id and not is_followed(client, history) then
        history.turn, accepted[history.path] = nil, nil
      end
      one_less()
    end, nil, of)
  end
  one_less()
end

---A checkpoint shows that a file changed in a turn: by a shell command, or by an edit that is known already.
---@param change claude-ide.journal.FoundChange
---@param turn integer
---@param looked fun() it is known what the file holds now
function M.found_changed(change, turn, looked)
  local history, is_new = histories().open(change.path, change.before, "checkpoint")
  history.mode = history.mode or change.mode
  local seen = vim.iter(history.steps):any(function(step)
    return step.turn == turn
  end)
  -- What is known to have become of it since is another turn's that goes on beside this one, or the user's.
  local is_known = is_new or seen or histories().was_known(history, change.before, change.since)
  if not is_known then
    M.note(history, change.before, "user")
  elseif seen then
    require("claude-ide.journal.steps").began_with(history, change, turn)
  end
  M.look(history, looked, "claude", turn)
end

---The user wrote a file in this Neovim.
---@param path string
function M.user_wrote(path)
  require("claude-ide.journal.shell").user_wrote(path)
  local history = histories().find(path)
  if history and not history.landing then
    M.look_now(history, "user")
  end
end

---Something saw that a file was written; the watch of announced files does so itself.
---@param path string absolute
function M.landed(path)
  local history = histories().find(path)
  if history then
    M.look(history)
  end
end

---The user accepted contents that the CLI will write now: they are reviewed.
---@param path string absolute
---@param contents string
function M.accepted(path, contents)
  accepted[path] = contents
end

---@param path string
---@param contents string
---@return boolean
function M.was_accepted(path, contents)
  return accepted[path] == contents
end

return M
