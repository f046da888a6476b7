-- Tells when files on disk change: the system's events of their folders, and a slow look where there are none.
-- A folder is watched, not the file: editors and git put a new file in the place of the old one, and a watch of the file
-- would go on watching the one that is gone.
-- Invariant: nothing here blocks, and what is watched is bounded; what lies beyond the bound is looked at in turns.
local M = {}

---A writer may need several writes for one change, and empty the file first: so long after the last event we look.
local QUIET_MS = 25

---But never later than this after the first event.
local LATEST_MS = 100

---Most folders that are watched by events: the system has a limit for all programs of a user together.
local MAX_FOLDERS = 512

---How often files without events are looked at, and how many of them in one go.
local POLL_MS = 1000
local POLL_BATCH = 200
local PARALLEL_STATS = 8

---Where writes of other machines bring no event here: NFS, SMB, CIFS, SMB2, 9P, FUSE, Ceph, AFS (statfs(2), f_type).
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

---Events for what happens inside a folder: inotify and FSEvents have them, kqueue does not.
local HAS_EVENTS = jit.os == "Linux" or jit.os == "OSX" or jit.os == "Windows"

---@class claude-ide.watch.Folder
---@field path string
---@field names table<string, claude-ide.watch.File> by name within the folder
---@field handle? uv.uv_fs_event_t nil: looked at by the poll
---@field remote? boolean events alone are not enough

---@class claude-ide.watch.File
---@field path string
---@field followers table<integer, fun(path: string)>
---@field key? string how the poll saw it last

---@type table<string, claude-ide.watch.Folder>
local folders = {}
local watched = 0
local next_id = 0

---Files with an event that nobody was told of yet.
---@type table<string, claude-ide.watch.File>
local pending = {}
local pending_since ---@type integer?
local quiet ---@type uv.uv_timer_t?
local poll ---@type uv.uv_timer_t?
local arm ---@type fun(folder: claude-ide.watch.Folder)

---Whether the system may tell nothing of a folder.
---@param folder claude-ide.watch.Folder
---@return boolean
local function is_polled(folder)
  return not folder.handle or folder.remote == true
end

---What is still to be looked at of this round.
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

---Looks in a moment, where there is something that only a look can find: who is idle is not woken for nothing.
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
      require("claude-ide.log").error("a follower of %s failed: %s", file.path, err)
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

---Notes that a file may have changed. Called in libuv's callbacks.
---@param file claude-ide.watch.File
local function touched(file)
  pending[file.path] = file
  local now = vim.uv.now()
  pending_since = pending_since or now
  quiet = quiet or assert(vim.uv.new_timer())
  local wait = math.max(math.min(QUIET_MS, pending_since + LATEST_MS - now), 0)
  quiet:start(wait, 0, vim.schedule_wrap(tell_pending))
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

---Watches the folder that has this name now: the one that was watched may be gone, and a new one can have its inode.
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
      watch_anew(folder) -- the folder itself was changed, or the system lost count
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

---Looks once at files without events, some at a time; at folders without a watch, whether they can be watched by now.
function M.look()
  if #round == 0 then
    for _, folder in pairs(folders) do
      if is_polled(folder) then
        vim.list_extend(round, vim.tbl_values(folder.names))
      end
      if not folder.handle then
        arm(folder) -- its files are in this round, so nothing is missed in between
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
        local now = require("claude-ide.file").key(stat) or "missing"
        if file.key ~= now then
          touched(file) -- also at the first look: it may have changed since it was read
        end
        file.key = now
        step()
      end)
    end
    if left == 0 and open == 0 then
      poll_soon() -- only now: a slow disk is not asked faster than it answers
    end
  end
  step()
end

---Calls a function on the main loop after each change of a file, until the returned function is called. The file need not
---exist; a change is also its coming and going.
---@param path string absolute; a link's own folder is watched, so follow the target too where that matters
---@param follower fun(path: string)
---@return fun() unfollow
function M.follow(path, follower)
  require("claude-ide.file") -- used in libuv's callbacks, where nothing can be loaded
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

---How many folders are watched by events and how many files are looked at in turns; whether they will be.
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
