-- Reports changes of files on disk: by the system's events for their folders, and by polling where there are none.
-- The folder is watched, not the file: editors and git replace a file with a new one, and a watch on the file would stay on the old one.
-- Invariants: nothing here blocks; the number of watches is bounded, and files beyond the bound are polled in turns.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local ide_file = lazy("claude-ide.base.file")
local log = lazy("claude-ide.base.log")

local M = {}

---Delay after the last event: a writer may need several writes for one change, and truncate the file first.
local QUIET_MS = 25

---Limit for the delay, from the first event.
local LATEST_MS = 100

---Limit for watched folders: the system's own limit is per user, for all programs.
local MAX_FOLDERS = 512

---Interval of polling, and files per round.
local POLL_MS = 1000
local POLL_BATCH = 200
local PARALLEL_STATS = 8

---File systems without events for other machines' writes: NFS, SMB, CIFS, SMB2, 9P, FUSE, Ceph, AFS (statfs(2), f_type).
local REMOTE = {
  [0x6969] = true,
  [0x517B] = true,
  [0xFF534D42] = true,
  [0xFE534D42] = true,
  [0x01021997] = true,
  [0x65735546] = true,
  [0x00C36400] = true,
  [0x5346414F] = true,
}

---Whether events for a folder's contents exist: inotify and FSEvents have them, kqueue does not.
local HAS_EVENTS = jit.os == "Linux" or jit.os == "OSX" or jit.os == "Windows"

---@class claude-ide.watch.Folder
---@field path string
---@field names table<string, claude-ide.watch.File> by name within the folder
---@field handle? uv.uv_fs_event_t nil: polled
---@field remote? boolean events are incomplete: polled, too

---@class claude-ide.watch.File
---@field path string
---@field followers table<integer, fun(path: string)>
---@field key? string the file's state at the last poll

---@type table<string, claude-ide.watch.Folder>
local folders = {}
local watched = 0
local next_id = 0

---Files with events that are not reported yet.
---@type table<string, claude-ide.watch.File>
local pending = {}
local pending_since ---@type integer?
local quiet = timers.new("tell of changed files")
local poll ---@type uv.uv_timer_t?
local arm ---@type fun(folder: claude-ide.watch.Folder)

---Whether a folder's events are missing or incomplete.
---@param folder claude-ide.watch.Folder
---@return boolean
local function is_polled(folder)
  return not folder.handle or folder.remote == true
end

---Files left in this polling round.
---@type claude-ide.watch.File[]
local round = {}

local function has_to_look()
  for _, folder in pairs(folders) do
    if is_polled(folder) then
      return true
    end
  end
  return #round > 0
end

---Starts the poll timer if any folder needs polling, so that an idle editor is not woken.
local function poll_soon()
  if poll and not poll:is_active() and has_to_look() then
    poll:start(POLL_MS, 0, function()
      M.look()
    end)
  end
end

---@param file claude-ide.watch.File
local function tell(file)
  for _, follower in pairs(vim.tbl_extend("force", {}, file.followers)) do
    local ok, err = pcall(follower, file.path)
    if not ok then
      log.error("a follower of %s failed: %s", file.path, err)
    end
  end
end

local function tell_pending()
  local files = pending
  pending, pending_since = {}, nil
  for _, file in pairs(files) do
    tell(file)
  end
end

---Records a possible change. Called in libuv callbacks.
---@param file claude-ide.watch.File
local function touched(file)
  pending[file.path] = file
  local now = vim.uv.now()
  pending_since = pending_since or now
  local wait = math.max(math.min(QUIET_MS, pending_since + LATEST_MS - now), 0)
  quiet:start(wait, tell_pending)
end

---@param folder claude-ide.watch.Folder
local function disarm(folder)
  if folder.handle then
    folder.handle:stop()
    folder.handle:close()
    folder.handle = nil
    watched = watched - 1
  end
end

---Watches the folder again by name: it may have been replaced, and the new one can have the same inode.
---@param folder claude-ide.watch.Folder
local function watch_anew(folder)
  if folders[folder.path] == folder then
    disarm(folder)
    arm(folder)
    poll_soon()
    for _, file in pairs(folder.names) do
      touched(file)
    end
  end
end

---@param folder claude-ide.watch.Folder
function arm(folder)
  if not HAS_EVENTS or folder.handle or watched >= MAX_FOLDERS then
    return
  end
  local handle = vim.uv.new_fs_event()
  if not handle then
    return
  end
  local own_name = vim.fs.basename(folder.path)
  local started = handle:start(folder.path, {}, function(err, name)
    if err then
      disarm(folder)
      return poll_soon()
    end
    local file = name and folder.names[name]
    if file then
      touched(file)
    elseif not name or name == own_name then
      watch_anew(folder) -- the folder itself changed, or events were lost
    end
  end)
  if not started then
    handle:close()
    return
  end
  folder.handle, watched = handle, watched + 1
  vim.uv.fs_statfs(folder.path, function(_, system)
    folder.remote = system ~= nil and REMOTE[system.type] or false
    poll_soon()
  end)
end

---Polls a batch of files without events, and retries watches on folders without one.
function M.look()
  if #round == 0 then
    for _, folder in pairs(folders) do
      if is_polled(folder) then
        vim.list_extend(round, vim.tbl_values(folder.names))
      end
      if not folder.handle then
        arm(folder) -- its files are in this round, so no change is missed
      end
    end
  end
  local left, open = math.min(#round, POLL_BATCH), 0
  local function step()
    while left > 0 and open < PARALLEL_STATS do
      local file = table.remove(round) --[[@as claude-ide.watch.File]]
      left, open = left - 1, open + 1
      vim.uv.fs_stat(file.path, function(_, stat)
        open = open - 1
        local now = ide_file.key(stat) or "missing"
        if file.key ~= now then
          touched(file) -- also at the first poll: it may have changed since it was read
        end
        file.key = now
        step()
      end)
    end
    if left == 0 and open == 0 then
      poll_soon() -- only now, so that polls of a slow disk do not pile up
    end
  end
  step()
end

---Calls a function on the main loop after each change of a file, also when it is created or deleted, until the returned function is called.
---@param path string absolute; of a symbolic link, only the link's folder is watched: follow the target, too
---@param follower fun(path: string)
---@return fun() unfollow
function M.follow(path, follower)
  require("claude-ide.base.file") -- used in libuv's callbacks, where nothing can be loaded
  local dir, name = vim.fs.dirname(path), vim.fs.basename(path)
  local folder = folders[dir]
  if not folder then
    folder = { path = dir, names = {} }
    folders[dir] = folder
    arm(folder)
  end
  local file = folder.names[name] or { path = path, followers = {} }
  folder.names[name] = file
  next_id = next_id + 1
  local id = next_id
  file.followers[id] = follower
  poll = poll or assert(vim.uv.new_timer())
  poll_soon()
  return function()
    file.followers[id] = nil
    if next(file.followers) == nil and folder.names[name] == file then
      folder.names[name], pending[path] = nil, nil
    end
    if next(folder.names) == nil and folders[dir] == folder then
      disarm(folder)
      folders[dir] = nil
    end
    if next(folders) == nil and poll then
      poll:stop()
    end
  end
end

---The number of watched folders and polled files, and whether the poll timer runs.
---@return { watched: integer, polled: integer, folders: integer, looks: boolean }
function M.counts()
  local polled = 0
  for _, folder in pairs(folders) do
    if is_polled(folder) then
      polled = polled + vim.tbl_count(folder.names)
    end
  end
  local looks = poll ~= nil and poll:is_active() == true
  return { watched = watched, polled = polled, folders = vim.tbl_count(folders), looks = looks }
end

return M
