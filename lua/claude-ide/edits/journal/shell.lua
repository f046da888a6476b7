-- Finds changes by shell commands in a turn: compares checkpoints at its start and end.
-- The end is reported by the CLI's session, as its record or its hooks tell what it does, and by the last call after edits. Without either
-- nothing is compared: changes by others between two prompts must not be attributed to Claude.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local checkpoints = lazy("claude-ide.edits.journal.checkpoints")
local counted = lazy("claude-ide.base.counted")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local pending = lazy("claude-ide.edits.journal.pending")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")
local store = lazy("claude-ide.edits.journal.store")
local untracked = lazy("claude-ide.edits.journal.untracked")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---@class claude-ide.journal.Watched one turn
---@field turn integer
---@field folder string
---@field from? claude-ide.journal.Checkpoint
---@field first? claude-ide.journal.Checkpoint at the turn's start
---@field wrote table<string, true> the user's writes in this Neovim since the last checkpoint, as resolved paths
---@field began integer milliseconds since the epoch
---@field was_busy boolean
---@field tells_end boolean only the reported end of the turn ends it: a chat
---@field on_idle fun()

---@type table<integer, claude-ide.journal.Watched> by client
local watched = {}

---@type table<integer, fun()> handlers of the first work of clients without a known turn
local awaited = {}

---Handles what a client's session does. Neovim may have missed that it worked: an idle state that is newer than the turn ends it, too.
---An older one is of the turn before.
---@param client integer
---@param state claude-ide.sessions.State
local function take(client, state)
  local is_busy = state.activity == "working" or state.activity == "waiting"
  local on_busy = is_busy and awaited[client]
  if on_busy then
    awaited[client] = nil
    on_busy()
  end
  local entry = watched[client]
  if entry and is_busy then
    entry.was_busy = true
  elseif entry and state.activity == "idle" then
    local is_newer = state.since ~= nil and state.since > entry.began
    if is_newer or (entry.was_busy and not state.since) then
      entry.was_busy, entry.began = false, state.since or entry.began
      entry.on_idle()
    end
  end
end

local follow_sessions = require("claude-ide.base.once")(function()
  sessions.attach()
  bus.on("session_changed", function(change)
    for _, client in ipairs(server.clients()) do
      if client.pid == change.session.pid and not client.mapped then
        take(client.id, change.session.state)
      end
    end
  end)
end)

---Handles what a client's session does now and from now on.
---@param client claude-ide.Client
local function follow(client)
  follow_sessions()
  local session = not client.mapped and sessions.of_client(client.id)
  if session then
    take(client.id, session.state)
  end
end

---@param client claude-ide.Client?
---@return string folder
local function folder_of(client)
  return client and client.roots[1] or workspace.folders()[1]
end

---Handles a new client: its first turn may begin at any moment.
---@param client claude-ide.Client
function M.prepare(client)
  checkpoints.prepare(folder_of(client))
end

---Whether a client is known to be working on its turn.
---@param client integer
---@return boolean
function M.is_busy(client)
  return watched[client] ~= nil and watched[client].was_busy
end

---Whether the start of a client's turn is known.
---@param client integer
---@return boolean
function M.is_watching(client)
  return watched[client] ~= nil
end

---Handles a new client that may be working on a prompt that was not announced: one given before it connected or knew our tools.
---@param client claude-ide.Client with its process id
---@param on_busy fun() once
function M.await_work(client, on_busy)
  awaited[client.id] = on_busy
  follow(client)
end

local function unwatch(client)
  awaited[client], watched[client] = nil, nil
end

---Handles a changed file; call `looked` when its contents are recorded.
---@alias claude-ide.journal.OnFound fun(change: claude-ide.journal.FoundChange, turn: integer, looked: fun())

---Says that a turn is not looked at. A pause of checkpoints is told when it begins.
---@param why_not? claude-ide.journal.NoCheckpoint
local function tell_failure(why_not)
  if why_not == "failed" then
    notice.warn(
      "Git failed or took too long: what Claude's commands change in this turn may not be reviewed."
    )
  end
end

---Tells which files changed in a turn before its first checkpoint: nobody knows what they were.
---@param entry claude-ide.journal.Watched
---@param checkpoint claude-ide.journal.Checkpoint
local function tell_early(entry, checkpoint)
  local known = {} ---@type table<string, true>
  for _, file in ipairs(store.files(entry.turn)) do
    known[file.real] = true
  end
  local early = vim.tbl_filter(function(path)
    local real = paths.real(path)
    local file = store.find(path)
    return not entry.wrote[real] and not known[real] and not (file and store.turn_of(file.id) == entry.turn)
  end, checkpoint.early)
  if #early == 0 then
    return
  end
  store.leave_out(entry.turn, early)
  notice.warn(
    ("%s changed before Neovim had looked, as git was slow: no review shows %s, and an undo leaves %s."):format(
      counted(#early, "file"),
      #early == 1 and "it" or "them",
      #early == 1 and "it" or "them"
    )
  )
end

---@param entry claude-ide.journal.Watched
---@param now claude-ide.journal.Checkpoint?
---@param wrote table<string, true> the user's writes before the checkpoint
---@param each claude-ide.journal.OnFound
---@param done fun()
local function tell(entry, now, wrote, each, done)
  local from = entry.from
  if not now or not from then
    entry.wrote = vim.tbl_extend("force", wrote, entry.wrote)
    return done()
  end
  entry.from = now
  store.copied_for(entry.turn, now.began)
  local open = 1
  local function one_less()
    open = open - 1
    if open == 0 then
      done()
    end
  end
  local unwanted = vim.tbl_extend("force", wrote, entry.wrote)
  local function wanted(path)
    local real = paths.real(path)
    return not unwanted[real] and not entry.wrote[real]
  end
  local known = {} ---@type table<string, true>
  ---@param change claude-ide.journal.FoundChange
  local function tell_one(change)
    if not wanted(change.path) then
      return -- written since
    end
    known[paths.real(change.path)] = true
    change.is_start = from == entry.first
    open = open + 1
    each(change, entry.turn, one_less)
  end
  checkpoints.compare(from, now, unwanted, tell_one, function(left_out, rest, too_many)
    store.leave_out(entry.turn, left_out)
    untracked.add(entry.turn, rest)
    if too_many then
      notice.warn(
        ("Commands of Claude's changed %d files. `:Claude review` shows %d of them."):format(
          too_many,
          checkpoints.MAX_FILES
        )
      )
    end
    -- A file that a command changed and an edit restored does not differ, but the edit did not see its contents at the turn's start.
    local met = vim.tbl_filter(function(path)
      return not known[path] and wanted(path)
    end, store.met_in(entry.turn, from.began))
    checkpoints.held(from, met, tell_one, one_less)
  end)
end

---Returns and clears the user's writes: the next checkpoint includes them, and later differences are not the user's.
---@param entry claude-ide.journal.Watched
---@return table<string, true> wrote
local function take_written(entry)
  local wrote = entry.wrote
  entry.wrote = {}
  return wrote
end

---@param entry claude-ide.journal.Watched
---@param each claude-ide.journal.OnFound
---@param done? fun()
local function compare(entry, each, done)
  local known, wrote = pending.begin(), take_written(entry)
  checkpoints.take(entry.folder, false, function(now, why_not)
    tell_failure(entry.from and why_not)
    tell(entry, now, wrote, each, function()
      known()
      if done then
        done()
      end
    end)
  end)
end

---Whether a turn is known to be running.
---@param entry claude-ide.journal.Watched
---@return boolean
local function goes_on(entry)
  local turn = store.turn(entry.turn)
  return entry.was_busy or (entry.tells_end and turn ~= nil and not turn.ended)
end

---Starts a turn with a checkpoint to compare its end with. Also ends the previous turn if its end was not seen: a queued prompt starts at
---once.
---@param client integer
---@param turn integer
---@param at integer when it began, in milliseconds since the epoch
---@param works_in? string default: the client's folder
---@param each claude-ide.journal.OnFound
---@param on_idle fun() called when the CLI waits for a prompt again
function M.begin(client, turn, at, works_in, each, on_idle)
  local before = watched[client] and goes_on(watched[client]) and watched[client] or nil
  unwatch(client)
  local connected = server.client(client)
  local folder = works_in or folder_of(connected)
  local entry = {
    turn = turn,
    folder = folder,
    wrote = {},
    began = at,
    was_busy = false,
    tells_end = connected == nil,
    on_idle = on_idle,
  }
  watched[client] = entry
  local is_same = before ~= nil and before.folder == folder
  local known = is_same and pending.begin() or nil
  local wrote = known and before and take_written(before) or {}
  if before and not is_same then
    compare(before, each)
  end
  local is_needed = known
    or pending.is_open()
    or vim.iter(pairs(watched)):any(function(_, other)
      return other ~= entry and other.folder == folder
    end)
  checkpoints.take(folder, not is_needed, function(checkpoint, why_not)
    tell_failure(why_not)
    entry.from, entry.first = checkpoint, checkpoint
    if checkpoint then
      store.copied_for(turn, checkpoint.began)
    end
    if known and before then
      tell(before, checkpoint, wrote, each, known)
    elseif checkpoint then
      tell_early(entry, checkpoint)
    end
  end, at)
  if connected then
    follow(connected)
  end
end

---Records a write by the user.
---@param path string
function M.user_wrote(path)
  if next(watched) ~= nil then
    local real = paths.real(path)
    for _, entry in pairs(watched) do
      entry.wrote[real] = true
    end
  end
end

---Ends a turn, or a part of it: reports each file that differs from its start, with its old contents.
---@param client integer
---@param each claude-ide.journal.OnFound
function M.finish(client, each)
  if watched[client] then
    compare(watched[client], each)
  end
end

---Reports the changes of all running turns so far.
---@param each claude-ide.journal.OnFound
function M.look_again(each)
  for _, entry in pairs(watched) do
    if goes_on(entry) then
      compare(entry, each)
    end
  end
end

---Handles a client's exit, perhaps in the middle of a turn.
---@param client integer
---@param each claude-ide.journal.OnFound
function M.stop(client, each)
  local entry = watched[client]
  local function forget()
    if watched[client] == entry then
      unwatch(client)
    end
    if next(watched) == nil then
      checkpoints.forget()
    end
  end
  if entry and goes_on(entry) then
    compare(entry, each, forget)
  else
    forget()
  end
end

return M
