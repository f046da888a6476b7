-- Checkpoints of a git work tree, so that what shell commands changed in a turn is known too (`checkpoint_changes.lua`).
-- Invariant: both what is copied and how long it is kept is bounded: which files that is, is measured before any of them is read.
-- Of what is large, withheld from Claude or more than there is room for, only that it changed is known. One checkpoint is taken at a time.
local M = {}

local repositories = require("claude-ide.journal.repositories")
local git = require("claude-ide.journal.git")

---Larger files cannot be undone anyway.
local MAX_FILE_BYTES = 4 * 1024 * 1024

---Of one checkpoint together.
M.MAX_BYTES = 64 * 1024 * 1024
local MAX_FILES = 10000

---More are not even looked at.
local MAX_LISTED = 50000

---Looking at files goes in steps of so long, so that the user's keys get their turn.
local STEP_NS = 4 * 1000 * 1000

---What a file is that git did not tell of before: made since, or there all the time, as one that was ignored, or whose folder was
---another repository. Changed since, it may also have been moved here.
---@alias claude-ide.journal.Meeting "made"|"unchanged"|"changed"

---@class claude-ide.journal.Candidates
---@field names string[] to be copied, or to be noted as gone; as git names them
---@field bytes integer
---@field skipped table<string, string> what else differs, by name: equal strings for equal contents
---@field met table<string, claude-ide.journal.Meeting|false> by name; false: it is gone

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

---The clock of file systems is so much behind ours, in seconds.
local CLOCK_LAG = 0.02

---@param time { sec: integer, nsec: integer } of a file
---@param moment number seconds since the epoch
---@return boolean also where the file system knows no such time
local function is_before(time, moment)
  if time.nsec == 0 then
    return time.sec < math.floor(moment) -- some know whole seconds only
  end
  return time.sec + time.nsec / 1e9 < moment - CLOCK_LAG
end

---@param stat uv.fs_stat.result
---@param looked_at? number when this was looked at before, in seconds since the epoch
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
    return -- another repository, or no file at all
  elseif require("claude-ide.privacy").denied_by(path) or (stat and not has_room(path, stat, found)) then
    found.skipped[name] = require("claude-ide.file").key(stat) or ""
  else
    found.names[#found.names + 1] = name
    found.met[name] = stat and meeting(stat, looked_at) or false
    found.bytes = found.bytes + (stat and stat.size or 0)
  end
end

---@param top string of the work tree
---@param listed string of `ls-files -z`, what comes first is more important
---@param looked_at? number when this was done before, in seconds since the epoch
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

---After so many failures a work tree is left alone.
local MAX_FAILURES = 2

---After so many bytes of copies they are thrown away, and the next turn begins with new ones.
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

---What may differ from our index, the files that git knows first. Time stamps are brought up to date before, so that each
---file is read once at most.
local LIST = [["$@" update-index -q --refresh >/dev/null
"$@" ls-files -z --modified && exec "$@" ls-files -z --others --exclude-standard]]

---Writes to our folder alone. The user's objects are not even looked for: git would renew the time stamp of each that it
---finds there. The second way is slower and knows how to go on where a file cannot be read.
local WRITE_TREE = [[list=$GIT_INDEX_FILE.list
"$@" update-index -q -z --add --remove --replace --stdin <"$list" ||
"$@" --literal-pathspecs add --all --ignore-errors --pathspec-from-file="$list" --pathspec-file-nul
exec "$@" write-tree --missing-ok]]

---@class claude-ide.journal.Checkpoint
---@field folder string
---@field tree string
---@field began integer when it was begun, in the nanoseconds of `store.now()`
---@field taken integer the same, at which it was complete
---@field skipped table<string, string> files that are not in it, by name: equal strings for equal contents

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
  -- Our own index knows of the untracked files that are unchanged; only the first one is a copy of the user's.
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

---Takes a checkpoint of the repository that holds a folder.
---@param folder string
---@param done fun(checkpoint: claude-ide.journal.Checkpoint?) on the main loop; nil: no repository, or it took too long
---@param is_first? fun(): boolean whether no earlier checkpoint of the folder is needed any more
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

---Copies what has to be copied of a repository before a checkpoint of it is needed: the first one of a turn then takes no longer
---than those that follow. Nothing holds the CLI back, and what a command changes before that one is complete is not seen.
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

---Throws all copies away, unless they are being read: nobody needs a checkpoint any more.
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

---What can be said of checkpoints, for the health check.
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
