-- Finds changes by shell commands in a turn: compares checkpoints at its start and end.
-- The end is reported by the CLI's status file, if there is one, and by the last call after edits. Without either nothing is compared:
-- changes by others between two prompts must not be attributed to Claude.
local M = {}

---@class claude-ide.journal.Watched one turn
---@field turn integer
---@field folder string
---@field from? claude-ide.journal.Checkpoint
---@field first? claude-ide.journal.Checkpoint at the turn's start
---@field wrote table<string, true> the user's writes in this Neovim since the last checkpoint, as resolved paths
---@field was_busy boolean
---@field looks integer number of status checks
---@field known integer the check with the latest answer
---@field tells_end boolean only the reported end of the turn ends it: a chat
---@field unfollow? fun()

---@type table<integer, claude-ide.journal.Watched> by client
local watched = {}

---@type table<integer, fun()> by client: stops the status watch of a client without a known turn
local awaited = {}

---The CLI's status file: busy, or waiting for a prompt. Undocumented, so it may be missing.
local function status_file(pid)
  local config = vim.env.CLAUDE_CONFIG_DIR
  local folder = config and config ~= "" and config or (vim.uv.os_homedir() .. "/.claude")
  return ("%s/sessions/%d.json"):format(folder, pid)
end

local MAX_STATUS_BYTES = 64 * 1024

---@param path string
---@param done fun(is_busy: boolean?) nil: unknown
local function read_status(path, done)
  require("claude-ide.file").read_later(path, MAX_STATUS_BYTES, function(bytes)
    local ok, status = pcall(vim.json.decode, bytes or "")
    local word = ok and type(status) == "table" and status.status
    if word == "busy" or word == "waiting" then
      done(true)
    elseif word == "idle" then
      done(false)
    else
      done(nil)
    end
  end)
end

---Checks the status now and after each write. A CLI with a status file creates its folder before it connects: without the folder nothing is
---watched, since that would mean polling.
---@param path string
---@param look fun()
---@return fun() unfollow
local function follow_status(path, look)
  local is_kept = vim.uv.fs_stat(vim.fs.dirname(path)) ~= nil
  local unfollow = is_kept and require("claude-ide.watch.files").follow(path, look) or function() end
  look()
  return unfollow
end

---@param entry claude-ide.journal.Watched
---@param path string
---@param on_idle fun()
local function look_at_status(entry, path, on_idle)
  entry.looks = entry.looks + 1
  local look = entry.looks
  read_status(path, function(is_busy)
    if look < entry.known then
      return -- a later read has answered already
    end
    entry.known = look
    if is_busy then
      entry.was_busy = true
    elseif is_busy == false and entry.was_busy then
      entry.was_busy = false
      on_idle()
    end
  end)
end

---@param client claude-ide.Client?
---@return string folder
local function folder_of(client)
  return client and client.roots[1] or require("claude-ide.workspace").folders()[1]
end

---Handles a new client: its first turn may begin at any moment.
---@param client claude-ide.Client
function M.prepare(client)
  require("claude-ide.journal.checkpoints").prepare(folder_of(client))
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

local function await_no_more(client)
  local unfollow = awaited[client]
  awaited[client] = nil
  if unfollow then
    unfollow()
  end
end

---Handles a new client that may be working on a prompt that was not announced: one given before it connected or knew our tools.
---@param client claude-ide.Client with its process id
---@param on_busy fun() once
function M.await_work(client, on_busy)
  await_no_more(client.id)
  local path = status_file(client.pid --[[@as integer]])
  local unfollow ---@type fun()
  unfollow = follow_status(path, function()
    read_status(path, function(is_busy)
      if is_busy and awaited[client.id] == unfollow then
        await_no_more(client.id)
        on_busy()
      end
    end)
  end)
  awaited[client.id] = unfollow
end

local function unwatch(client)
  await_no_more(client)
  local entry = watched[client]
  if entry and entry.unfollow then
    entry.unfollow()
  end
  watched[client] = nil
end

---Handles a changed file; call `looked` when its contents are recorded.
---@alias claude-ide.journal.OnFound fun(change: claude-ide.journal.FoundChange, turn: integer, looked: fun())

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
  require("claude-ide.journal.store").copied_for(entry.turn, now.began)
  local open = 1
  local function one_less()
    open = open - 1
    if open == 0 then
      done()
    end
  end
  local changes, paths = require("claude-ide.journal.checkpoints"), require("claude-ide.path")
  local unwanted = vim.tbl_extend("force", wrote, entry.wrote)
  local function wanted(path)
    local real = paths.real(path)
    return not unwanted[real] and not entry.wrote[real]
  end
  local told = {} ---@type table<string, true>
  ---@param change claude-ide.journal.FoundChange
  local function tell_one(change)
    if not wanted(change.path) then
      return -- written since
    end
    told[paths.real(change.path)] = true
    change.is_start = from == entry.first
    open = open + 1
    each(change, entry.turn, one_less)
  end
  changes.compare(from, now, unwanted, tell_one, function(left_out, rest, too_many)
    require("claude-ide.journal.store").leave_out(entry.turn, left_out)
    require("claude-ide.journal.rest").add(entry.turn, rest)
    if too_many then
      require("claude-ide.ui.notice").warn(
        ("Commands of Claude's changed %d files. `:Claude review` shows %d of them."):format(
          too_many,
          changes.MAX_FILES
        )
      )
    end
    -- A file that a command changed and an edit restored does not differ, but the edit did not see its contents at the turn's start.
    local met = vim.tbl_filter(function(path)
      return not told[path] and wanted(path)
    end, require("claude-ide.journal.store").met_in(entry.turn, from.began))
    changes.held(from, met, tell_one, one_less)
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
  local known, wrote = require("claude-ide.journal.pending").begin(), take_written(entry)
  require("claude-ide.journal.checkpoints").take(entry.folder, false, function(now)
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
  local turn = require("claude-ide.journal.store").turn(entry.turn)
  return entry.was_busy or (entry.tells_end and turn ~= nil and not turn.ended)
end

---Starts a turn with a checkpoint to compare its end with. Also ends the previous turn if its end was not seen: a queued prompt starts at
---once.
---@param client integer
---@param turn integer
---@param works_in? string default: the client's folder
---@param each claude-ide.journal.OnFound
---@param on_idle fun() called when the CLI waits for a prompt again
function M.begin(client, turn, works_in, each, on_idle)
  local before = watched[client] and goes_on(watched[client]) and watched[client] or nil
  unwatch(client)
  local connected = require("claude-ide.server").client(client)
  local folder = works_in or folder_of(connected)
  local entry = {
    turn = turn,
    folder = folder,
    wrote = {},
    was_busy = false,
    looks = 0,
    known = 0,
    tells_end = connected == nil,
  }
  watched[client] = entry
  local is_same = before ~= nil and before.folder == folder
  local known = is_same and require("claude-ide.journal.pending").begin() or nil
  local wrote = known and before and take_written(before) or {}
  if before and not is_same then
    compare(before, each)
  end
  local is_needed = known
    or require("claude-ide.journal.pending").is_open()
    or vim.iter(pairs(watched)):any(function(_, other)
      return other ~= entry and other.folder == folder
    end)
  require("claude-ide.journal.checkpoints").take(folder, not is_needed, function(checkpoint)
    entry.from, entry.first = checkpoint, checkpoint
    if checkpoint then
      require("claude-ide.journal.store").copied_for(turn, checkpoint.began)
    end
    if known and before then
      tell(before, checkpoint, wrote, each, known)
    end
  end)
  if connected and connected.pid then
    local path = status_file(connected.pid)
    entry.unfollow = follow_status(path, function()
      look_at_status(entry, path, on_idle)
    end)
  end
end

---Records a write by the user.
---@param path string
function M.user_wrote(path)
  if next(watched) ~= nil then
    local real = require("claude-ide.path").real(path)
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
      require("claude-ide.journal.checkpoints").forget()
    end
  end
  if entry and goes_on(entry) then
    compare(entry, each, forget)
  else
    forget()
  end
end

return M
