-- Takes checkpoints of a git work tree, which reveal the changes that shell commands make in a turn (`checkpoint_changes.lua`).
-- Invariants: the copies are bounded in number and size, and measured before any file is read. Of files that are large, withheld from
-- Claude, or beyond the bounds, only the fact that they changed is recorded. One checkpoint is taken at a time.
local M = {}

local repositories = require("claude-ide.journal.repositories")
local git = require("claude-ide.journal.git")

---Larger files cannot be undone.
local MAX_FILE_BYTES = 4 * 1024 * 1024

---Limit of one checkpoint.
M.MAX_BYTES = 64 * 1024 * 1024
local MAX_FILES = 10000

---Files beyond this number are ignored.
local MAX_LISTED = 50000

---Length of one step of checking files, after which the event loop gets a turn.
local STEP_NS = 4 * 1000 * 1000

---A file that git had not listed before: created since, or an older one that was ignored or in another repository. An older file that
---changed since may also have been moved here.
---@alias claude-ide.journal.Meeting "made"|"unchanged"|"changed"

---@class claude-ide.journal.Candidates
---@field names string[] to copy, or to record as deleted; as git names them
---@field bytes integer
---@field skipped table<string, string> other files that differ, by name: equal strings for equal contents
---@field met table<string, claude-ide.journal.Meeting|false> by name; false: deleted

---@param path string
---@param stat uv.fs_stat.result
---@param found claude-ide.journal.Candidates
---@return boolean
local function has_room(path, stat, found)
  return stat.size <= MAX_FILE_BYTES
    and found.bytes + stat.size <= M.MAX_BYTES
    and #found.names < MAX_FILES
    and (stat.type == "link" or vim.uv.fs_access(path, "R") == true)
end

---File systems' clocks lag behind by up to this many seconds.
local CLOCK_LAG = 0.02

---@param time { sec: integer, nsec: integer } of a file
---@param moment number seconds since the epoch
---@return boolean true also if the file system has no such time
local function is_before(time, moment)
  if time.nsec == 0 then
    return time.sec < math.floor(moment) -- some file systems store whole seconds
  end
  return time.sec + time.nsec / 1e9 < moment - CLOCK_LAG
end

---@param stat uv.fs_stat.result
---@param looked_at? number time of the previous check, in seconds since the epoch
---@return claude-ide.journal.Meeting
local function meeting(stat, looked_at)
  if not looked_at then
    return "made"
  elseif is_before(stat.ctime, looked_at) then
    return "unchanged"
  end
  return stat.birthtime.sec > 0 and is_before(stat.birthtime, looked_at) and "changed" or "made"
end

---@param top string
---@param name string
---@param found claude-ide.journal.Candidates
---@param looked_at? number
local function look_at(top, name, found, looked_at)
  local path = top .. "/" .. name
  local stat = vim.uv.fs_lstat(path)
  if stat and stat.type ~= "file" and stat.type ~= "link" then
    return -- another repository, or not a regular file
  elseif require("claude-ide.privacy").denied_by(path) or (stat and not has_room(path, stat, found)) then
    found.skipped[name] = require("claude-ide.file").key(stat) or ""
  else
    found.names[#found.names + 1] = name
    found.met[name] = stat and meeting(stat, looked_at) or false
    found.bytes = found.bytes + (stat and stat.size or 0)
  end
end

---@param top string of the work tree
---@param listed string output of `ls-files -z`, the more important files first
---@param looked_at? number time of the previous check, in seconds since the epoch
---@param done fun(found: claude-ide.journal.Candidates) on the main loop
local function choose(top, listed, looked_at, done)
  local found = { names = {}, bytes = 0, skipped = {}, met = {} }
  local seen, count = {}, 0
  local each = listed:gmatch("[^%z]+")
  local function step()
    local began = vim.uv.hrtime()
    while vim.uv.hrtime() - began < STEP_NS do
      local name = each()
      if not name or count >= MAX_LISTED then
        return done(found)
      elseif not seen[name] then
        seen[name], count = true, count + 1
        look_at(top, name, found, looked_at)
      end
    end
    vim.defer_fn(step, 1)
  end
  step()
end

---A work tree is ignored after this many failures.
local MAX_FAILURES = 2

---Copies beyond this size are deleted; the next turn starts with new ones.
M.MAX_COPIED_BYTES = 256 * 1024 * 1024

---@class claude-ide.journal.Job
---@field run fun(finished: fun())

---@type claude-ide.journal.Job[]
local jobs = {}
local busy = false

local function next_job()
  local job = not busy and table.remove(jobs, 1)
  if job then
    busy = true
    job.run(function()
      busy = false
      next_job()
    end)
  end
end

---Lists files that may differ from our index, tracked ones first. Time stamps are refreshed before, so that each file is read at most
---once.
local LIST = [["$@" update-index -q --refresh >/dev/null
"$@" ls-files -z --modified && exec "$@" ls-files -z --others --exclude-standard]]

---Writes only to our folder. The user's objects are not searched: git would renew the time stamp of each object found. The second command
---is slower and continues past unreadable files.
local WRITE_TREE = [[list=$GIT_INDEX_FILE.list
"$@" update-index -q -z --add --remove --replace --stdin <"$list" ||
"$@" --literal-pathspecs add --all --ignore-errors --pathspec-from-file="$list" --pathspec-file-nul
exec "$@" write-tree --missing-ok]]

---@class claude-ide.journal.Checkpoint
---@field folder string
---@field tree string
---@field began integer start of the checkpoint, in nanoseconds of `store.now()`
---@field taken integer its completion, likewise
---@field skipped table<string, string> omitted files by name: equal strings for equal contents

---@param repository claude-ide.journal.Repository
---@param names string[]
---@return boolean ok
local function write_list(repository, names)
  local path = repository.env.GIT_INDEX_FILE .. ".list"
  return require("claude-ide.file").write_private(path, table.concat(names, "\0") .. "\0", false)
end

---@param repository claude-ide.journal.Repository
---@param done fun(tree: string?, skipped: table<string, string>)
local function write_tree(repository, done)
  local where = { cwd = repository.top, options = repository.options, env = repository.env }
  local function failed()
    repository.failures, repository.tree = repository.failures + 1, nil
    vim.uv.fs_unlink(repository.env.GIT_INDEX_FILE .. ".lock")
    done(nil, {})
  end
  local began ---@type number
  ---@param found claude-ide.journal.Candidates
  local function note(found)
    repository.looked_at = began
    for name, met in pairs(found.met) do
      repository.met[name] = met and (repository.met[name] or met) or nil
    end
  end
  ---@param found claude-ide.journal.Candidates
  local function write(found)
    if repository.tree and #found.names == 0 then
      note(found)
      return done(repository.tree, found.skipped)
    elseif #found.names > 0 and not write_list(repository, found.names) then
      return failed()
    end
    repository.copied = repository.copied + found.bytes
    git.run(#found.names > 0 and WRITE_TREE or [[exec "$@" write-tree --missing-ok]], where, function(tree)
      if not tree then
        return failed()
      end
      repository.tree = vim.trim(tree)
      note(found)
      done(repository.tree, found.skipped)
    end)
  end
  local function list()
    local seconds, microseconds = vim.uv.gettimeofday()
    began = seconds + microseconds / 1e6
    git.run(LIST, where, function(out)
      if not out then
        return failed()
      end
      choose(repository.top, out, repository.looked_at, write)
    end)
  end
  -- Our own index knows unchanged untracked files; only the first index is a copy of the user's.
  if vim.uv.fs_stat(repository.env.GIT_INDEX_FILE) then
    return list()
  end
  vim.uv.fs_copyfile(repository.index, repository.env.GIT_INDEX_FILE, nil, vim.schedule_wrap(list))
end

---@param repository claude-ide.journal.Repository
---@return boolean
local function is_large(repository)
  return repository.copied > M.MAX_COPIED_BYTES
end

---Takes a checkpoint of a folder's repository.
---@param folder string
---@param done fun(checkpoint: claude-ide.journal.Checkpoint?) on the main loop; nil: no repository, or a timeout
---@param is_first? fun(): boolean whether no earlier checkpoint of the folder is needed
function M.take(folder, done, is_first)
  if not require("claude-ide.config").get().review.checkpoints then
    return done(nil)
  end
  jobs[#jobs + 1] = {
    run = function(finished)
      repositories.find(folder, function(repository)
        if not repository or repository.failures >= MAX_FAILURES then
          finished()
          return done(nil)
        end
        if is_first and repositories.readers == 0 and is_first() and is_large(repository) then
          repositories.renew(repository)
        end
        local began = require("claude-ide.journal.store").now()
        write_tree(repository, function(tree, skipped)
          finished()
          local taken = require("claude-ide.journal.store").now()
          done(tree and { folder = folder, tree = tree, began = began, taken = taken, skipped = skipped })
        end)
      end)
    end,
  }
  next_job()
end

---Copies a repository's files before a checkpoint is needed, so that the first checkpoint of a turn is as fast as later ones. The CLI does
---not wait for it: changes by commands before its completion are missed.
---@param folder string
function M.prepare(folder)
  if not require("claude-ide.config").get().review.checkpoints then
    return
  end
  jobs[#jobs + 1] = {
    run = function(finished)
      repositories.find(folder, function(repository)
        if not repository or repository.failures >= MAX_FAILURES then
          return finished()
        end
        write_tree(repository, finished)
      end)
    end,
  }
  next_job()
end

---Deletes all copies, unless they are being read: no checkpoint is needed.
function M.forget()
  jobs[#jobs + 1] = {
    run = function(finished)
      if repositories.readers == 0 and not require("claude-ide.journal.rest").needs_copies() then
        repositories.forget()
      end
      finished()
    end,
  }
  next_job()
end

---State of checkpoints, for the health check.
---@return { git: boolean, repositories: string[], given_up: string[], misleading: string[] }
function M.describe()
  local about =
    { git = vim.fn.executable("git") == 1, repositories = {}, given_up = {}, misleading = git.misled_by() }
  for _, repository in ipairs(repositories.all()) do
    table.insert(repository.failures >= MAX_FAILURES and about.given_up or about.repositories, repository.top)
  end
  return about
end

return M
