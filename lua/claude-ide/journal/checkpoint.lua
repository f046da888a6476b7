-- Checkpoints of a git work tree, so that what shell commands changed in a turn is known too.
-- Invariant: the person's repository is only read. Index and objects of a checkpoint lie in the journal's own folder; no
-- hook, filter, monitor or collection of garbage runs. Everything is done by processes of their own, one at a time.
local M = {}

---A work tree that takes longer is left alone after `MAX_FAILURES`.
local TIMEOUT_MS = 15000
local MAX_FAILURES = 2

---More changed files than this are no edit but a checkout or a build.
local MAX_FILES = 200
local MAX_FILE_BYTES = 4 * 1024 * 1024

---@class claude-ide.journal.Repository
---@field top string
---@field index string the person's index
---@field objects string
---@field folder string ours
---@field options string[] for git
---@field env table<string, string>
---@field failures integer

---@type table<string, claude-ide.journal.Repository|false> by folder; false: no repository, or none that can be used
local repositories = {}
local made = 0

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

---Nothing of a repository's configuration may run a program: file monitors, hooks.
local HARMLESS = {
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.hooksPath=/dev/null",
  "core.safecrlf=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "advice.addEmbeddedRepo=false",
}

---@param args string[]
---@param where { cwd: string, env?: table<string, string>, stdin?: string }
---@param done fun(out: string?) nil: it failed
local function git(args, where, done)
  local command = { "git", "--no-pager" }
  for _, option in ipairs(HARMLESS) do
    vim.list_extend(command, { "-c", option })
  end
  vim.list_extend(command, args)
  local env = vim.tbl_extend("force", {
    GIT_OPTIONAL_LOCKS = "0",
    GIT_TERMINAL_PROMPT = "0",
    GIT_NO_LAZY_FETCH = "1",
    LC_ALL = "C",
  }, where.env or {})
  local ok = pcall(
    vim.system,
    command,
    { cwd = where.cwd, env = env, stdin = where.stdin, timeout = TIMEOUT_MS },
    vim.schedule_wrap(function(result)
      if result.code ~= 0 then
        require("claude-ide.log").debug("git %s: %d %s", args[#args], result.code, result.stderr or "")
      end
      done(result.code == 0 and result.stdout or nil)
    end)
  )
  if not ok then
    done(nil) -- there is no git
  end
end

---Filters are programs too; what they would change is left out of the comparison instead.
---@param top string
---@param done fun(options: string[])
local function without_filters(top, done)
  git(
    { "config", "--name-only", "--get-regexp", [[^filter\..*\.(clean|smudge|process)$]] },
    { cwd = top },
    function(out)
      local options = {}
      for key in (out or ""):gmatch("[^\n]+") do
        vim.list_extend(options, { "-c", key .. "=" })
        vim.list_extend(options, { "-c", key:match("^(.*)%.") .. ".required=false" })
      end
      done(options)
    end
  )
end

---With these git would look at another repository than the folder's: as where git itself started Neovim for a message.
---They are not taken away from the processes, because `clear_env` of Neovim 0.10 drops all other variables too, ours with
---them, and git would write where the person's things are.
local MISLEADING = { "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY" }

---@return boolean
local function is_misled()
  return vim.iter(MISLEADING):any(function(name)
    return vim.env[name] ~= nil
  end)
end

---@param folder string
---@param done fun(repository: claude-ide.journal.Repository?)
local function discover(folder, done)
  if repositories[folder] ~= nil then
    return done(repositories[folder] or nil)
  elseif is_misled() then
    return done(nil)
  end
  local ask = {
    "rev-parse",
    "--path-format=absolute",
    "--show-toplevel",
    "--git-path",
    "index",
    "--git-path",
    "objects",
  }
  git(ask, { cwd = folder }, function(out)
    local found = vim.split(out or "", "\n", { plain = true })
    local own = require("claude-ide.journal.blob").folder()
    -- A repository of the whole home folder (dotfiles) has everything below it as untracked files.
    if #found < 4 or not own or require("claude-ide.path").within(vim.uv.os_homedir() or "/", found[1]) then
      repositories[folder] = false
      return done(nil)
    end
    made = made + 1
    local mine = ("%s/repository-%d"):format(own, made)
    vim.fn.mkdir(mine .. "/objects", "p", "0o700")
    without_filters(found[1], function(options)
      local repository = {
        top = found[1],
        index = found[2],
        objects = found[3],
        folder = mine,
        options = options,
        failures = 0,
        env = {
          GIT_INDEX_FILE = mine .. "/index",
          GIT_OBJECT_DIRECTORY = mine .. "/objects",
        },
      }
      repositories[folder] = repository
      done(repository)
    end)
  end)
end

---Writes to our folder alone. The person's objects are not even looked for: git would renew the time stamp of each that it
---finds there.
---@param repository claude-ide.journal.Repository
---@param args string[]
---@param done fun(out: string?)
local function git_writing(repository, args, done)
  local command = vim.list_extend(vim.list_slice(repository.options), args)
  git(command, { cwd = repository.top, env = repository.env }, done)
end

---Reads the person's objects too.
---@param repository claude-ide.journal.Repository
---@param args string[]
---@param done fun(out: string?)
---@param stdin? string
local function git_reading(repository, args, done, stdin)
  local objects = repository.objects
  local quoted = objects:find('[:"\n]') and vim.json.encode(objects) or objects
  local env = vim.tbl_extend("force", { GIT_ALTERNATE_OBJECT_DIRECTORIES = quoted }, repository.env)
  local command = vim.list_extend(vim.list_slice(repository.options), args)
  git(command, { cwd = repository.top, env = env, stdin = stdin }, done)
end

---@param repository claude-ide.journal.Repository
---@param done fun(tree: string?)
local function write_tree(repository, done)
  -- Our own index knows of the untracked files that are unchanged; only the first one is a copy of the person's.
  local function add()
    git_writing(repository, { "add", "--all", "--ignore-errors" }, function(added)
      if not added then
        repository.failures = repository.failures + 1
        vim.uv.fs_unlink(repository.env.GIT_INDEX_FILE .. ".lock")
        return done(nil)
      end
      git_writing(repository, { "write-tree", "--missing-ok" }, function(tree)
        done(tree and vim.trim(tree))
      end)
    end)
  end
  if vim.uv.fs_stat(repository.env.GIT_INDEX_FILE) then
    return add()
  end
  vim.uv.fs_copyfile(repository.index, repository.env.GIT_INDEX_FILE, nil, vim.schedule_wrap(add))
end

---@class claude-ide.journal.Checkpoint
---@field folder string
---@field tree string

---Takes a checkpoint of the repository that holds a folder.
---@param folder string
---@param done fun(checkpoint: claude-ide.journal.Checkpoint?) on the main loop; nil: no repository, or it took too long
function M.take(folder, done)
  jobs[#jobs + 1] = {
    run = function(finished)
      discover(folder, function(repository)
        if not repository or repository.failures >= MAX_FAILURES then
          finished()
          return done(nil)
        end
        write_tree(repository, function(tree)
          finished()
          done(tree and { folder = folder, tree = tree } or nil)
        end)
      end)
    end,
  }
  next_job()
end

---@class claude-ide.journal.TreeChange
---@field path string absolute
---@field blob? string nil: the file was made

---@param repository claude-ide.journal.Repository
---@param out string of `diff-tree --raw -z`
---@return claude-ide.journal.TreeChange[]
local function parse(repository, out)
  local found, fields = {}, vim.split(out, "\0", { plain = true, trimempty = true })
  for i = 1, #fields - 1, 2 do
    local old_mode, new_mode, blob = fields[i]:match("^:(%d+) (%d+) (%x+)")
    local is_file = old_mode
      and new_mode
      and (old_mode == "000000" or old_mode:sub(1, 3) == "100")
      and (new_mode == "000000" or new_mode:sub(1, 3) == "100")
    if is_file and blob then
      found[#found + 1] = {
        path = repository.top .. "/" .. fields[i + 1],
        blob = not blob:find("^0+$") and blob or nil,
      }
    end
  end
  return found
end

---Leaves out files that a filter (as LFS) changes on their way: their bytes are not in the checkpoint.
---@param repository claude-ide.journal.Repository
---@param changes claude-ide.journal.TreeChange[]
---@param done fun(changes: claude-ide.journal.TreeChange[])
local function unfiltered(repository, changes, done)
  local paths = vim.tbl_map(function(change)
    return change.path:sub(#repository.top + 2)
  end, changes)
  local stdin = table.concat(paths, "\0") .. "\0"
  git_reading(repository, { "check-attr", "-z", "--stdin", "filter", "working-tree-encoding" }, function(out)
    local fields, filtered = vim.split(out or "", "\0", { plain = true }), {}
    for i = 1, #fields - 2, 3 do
      if fields[i + 2] ~= "unspecified" and fields[i + 2] ~= "unset" then
        filtered[fields[i]] = true
      end
    end
    done(out and vim.tbl_filter(function(change)
      return not filtered[change.path:sub(#repository.top + 2)]
    end, changes) or {})
  end, stdin)
end

---Which files differ between two checkpoints, with what they held at the first.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param wanted fun(path: string): boolean
---@param each fun(path: string, bytes: string?) on the main loop; nil: the file was made since
---@param done fun()
function M.compare(from, to, wanted, each, done)
  local repository = repositories[from.folder]
  if not repository or from.folder ~= to.folder or from.tree == to.tree then
    return done()
  end
  git_reading(
    repository,
    { "diff-tree", "-r", "-z", "--raw", "--no-renames", from.tree, to.tree },
    function(out)
      local changes = vim.tbl_filter(function(change)
        return wanted(change.path)
      end, parse(repository, out or ""))
      if #changes == 0 or #changes > MAX_FILES then
        return done()
      end
      unfiltered(repository, changes, function(left)
        local function step()
          local change = table.remove(left, 1)
          if not change then
            return done()
          elseif not change.blob then
            each(change.path, nil)
            return step()
          end
          local name = change.path:sub(#repository.top + 2)
          -- With the ends of line that a checkout would give it, as it lay on the disk.
          git_reading(
            repository,
            { "cat-file", "--filters", ("%s:%s"):format(from.tree, name) },
            function(bytes)
              if bytes and #bytes <= MAX_FILE_BYTES then
                each(change.path, bytes)
              end
              step()
            end
          )
        end
        step()
      end)
    end
  )
end

return M
