-- Checkpoints of a git work tree, so that what shell commands changed in a turn is known too.
-- Invariant: the person's repository is only read. Index and objects of a checkpoint lie in the journal's own folder; no
-- hook, filter, monitor or collection of garbage runs. Everything is done by processes of their own, one at a time.
local M = {}

---A work tree that takes longer is left alone after `MAX_FAILURES`.
local TIMEOUT_MS = 15000
local MAX_FAILURES = 2

---More changed files than this are no edit but a checkout or a build: so many are looked at, changed and deleted ones first.
M.MAX_FILES = 200
local MAX_FILE_BYTES = 4 * 1024 * 1024
local MAX_BYTES = 64 * 1024 * 1024

---Found files are told in steps of so long, so that the person's keys get their turn.
local STEP_NS = 4 * 1000 * 1000

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

---For the shell: `"$@"` is git with its options, at low priority. What a checkpoint takes is done in few processes, because
---starting one holds up the main loop, the longer the more is going on on the machine.
---@alias claude-ide.journal.Script string

---@param script claude-ide.journal.Script
---@param where { cwd: string, options?: string[], env?: table<string, string>, stdin?: string }
---@param done fun(out: string?) nil: it failed, or its output is too large
local function git(script, where, done)
  local command = { "sh", "-c", script, "sh", "nice", "-n", "10", "git", "--no-pager" }
  for _, option in ipairs(HARMLESS) do
    vim.list_extend(command, { "-c", option })
  end
  vim.list_extend(command, where.options or {})
  local env = vim.tbl_extend("force", {
    GIT_OPTIONAL_LOCKS = "0",
    GIT_TERMINAL_PROMPT = "0",
    GIT_NO_LAZY_FETCH = "1",
    LC_ALL = "C",
  }, where.env or {})
  local out, size = {}, 0
  local function collect(_, chunk)
    size = size + #(chunk or "")
    out[#out + 1] = size <= MAX_BYTES and chunk or nil
  end
  local finish = vim.schedule_wrap(function(result)
    if result.code ~= 0 then
      require("claude-ide.log").debug("git: %s: %d %s", script, result.code, result.stderr or "")
    end
    done(result.code == 0 and size <= MAX_BYTES and table.concat(out) or nil)
  end)
  local options = { cwd = where.cwd, env = env, stdin = where.stdin, timeout = TIMEOUT_MS, stdout = collect }
  if not pcall(vim.system, command, options, finish) then
    done(nil) -- there is no shell
  end
end

---Where a repository lies, and which keys of its configuration are filters.
local DISCOVER =
  [["$@" rev-parse --path-format=absolute --show-toplevel --git-path index --git-path objects || exit 1
"$@" config --name-only --get-regexp '^filter\..*\.(clean|smudge|process)$' || true]]

---Filters are programs too; what they would change is left out of the comparison instead.
---@param keys string[]
---@return string[] options
local function without_filters(keys)
  local options = {}
  for _, key in ipairs(keys) do
    vim.list_extend(options, { "-c", key .. "=" })
    vim.list_extend(options, { "-c", key:match("^(.*)%.") .. ".required=false" })
  end
  return options
end

---With these git would look at another repository than the folder's: as where git itself started Neovim for a message.
---They are not taken away from the processes, because `clear_env` of Neovim 0.10 drops all other variables too, ours with
---them, and git would write where the person's things are.
local MISLEADING = { "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY" }

---@return string[]
local function misled_by()
  return vim.tbl_filter(function(name)
    return vim.env[name] ~= nil
  end, MISLEADING)
end

---@param folder string
---@param done fun(repository: claude-ide.journal.Repository?)
local function discover(folder, done)
  if repositories[folder] ~= nil then
    return done(repositories[folder] or nil)
  elseif #misled_by() > 0 then
    return done(nil)
  end
  git(DISCOVER, { cwd = folder }, function(out)
    local found = vim.split(out or "", "\n", { plain = true, trimempty = true })
    local own = #found >= 3 and require("claude-ide.journal.blob").folder()
    -- A repository of the whole home folder (dotfiles) has everything below it as untracked files.
    if not own or require("claude-ide.path").within(vim.uv.os_homedir() or "/", found[1]) then
      repositories[folder] = false
      return done(nil)
    end
    made = made + 1
    local mine = ("%s/repository-%d"):format(own, made)
    vim.fn.mkdir(mine .. "/objects", "p", "0o700")
    repositories[folder] = {
      top = found[1],
      index = found[2],
      objects = found[3],
      folder = mine,
      options = without_filters(vim.list_slice(found, 4)),
      failures = 0,
      env = {
        GIT_INDEX_FILE = mine .. "/index",
        GIT_OBJECT_DIRECTORY = mine .. "/objects",
      },
    }
    done(repositories[folder] --[[@as claude-ide.journal.Repository]])
  end)
end

---Reads the person's objects too.
---@param repository claude-ide.journal.Repository
---@param script claude-ide.journal.Script
---@param done fun(out: string?)
---@param stdin? string
local function git_reading(repository, script, done, stdin)
  local objects = repository.objects
  local quoted = objects:find('[:"\n]') and vim.json.encode(objects) or objects
  local env = vim.tbl_extend("force", { GIT_ALTERNATE_OBJECT_DIRECTORIES = quoted }, repository.env)
  git(script, { cwd = repository.top, options = repository.options, env = env, stdin = stdin }, done)
end

---Writes to our folder alone. The person's objects are not even looked for: git would renew the time stamp of each that it
---finds there.
local WRITE_TREE = [["$@" add --all --ignore-errors && exec "$@" write-tree --missing-ok]]

---@param repository claude-ide.journal.Repository
---@param done fun(tree: string?)
local function write_tree(repository, done)
  -- Our own index knows of the untracked files that are unchanged; only the first one is a copy of the person's.
  local function add()
    local where = { cwd = repository.top, options = repository.options, env = repository.env }
    git(WRITE_TREE, where, function(tree)
      if not tree then
        repository.failures = repository.failures + 1
        vim.uv.fs_unlink(repository.env.GIT_INDEX_FILE .. ".lock")
      end
      done(tree and vim.trim(tree))
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
---@field name string as git names it, from the top
---@field blob? string nil: the file was made
---@field mode? integer permissions that it had

---@param mode string of git
---@return boolean
local function is_file(mode)
  return mode == "000000" or mode:sub(1, 3) == "100"
end

---@param repository claude-ide.journal.Repository
---@param out string of `diff-tree --raw -z`
---@param wanted fun(path: string): boolean
---@return claude-ide.journal.TreeChange[] changed and deleted ones first
local function parse(repository, out, wanted)
  local found, made_since = {}, {}
  for old_mode, new_mode, blob, name in out:gmatch(":(%d+) (%d+) (%x+) %x+ %a%d*%z([^%z]+)%z") do
    local path = repository.top .. "/" .. name
    if is_file(old_mode) and is_file(new_mode) and wanted(path) then
      local is_new = blob:find("^0+$") ~= nil
      table.insert(is_new and made_since or found, {
        path = path,
        name = name,
        blob = not is_new and blob or nil,
        mode = not is_new and tonumber(old_mode:sub(4), 8) or nil,
      })
    end
  end
  return vim.list_extend(found, made_since)
end

---Leaves out files that a filter (as LFS) changes on their way: their bytes are not in the checkpoint.
---@param repository claude-ide.journal.Repository
---@param changes claude-ide.journal.TreeChange[]
---@param done fun(changes: claude-ide.journal.TreeChange[])
local function unfiltered(repository, changes, done)
  local names = {}
  for i, change in ipairs(changes) do
    names[i] = change.name .. "\0"
  end
  local ask = [[exec "$@" check-attr -z --stdin filter working-tree-encoding]]
  git_reading(repository, ask, function(out)
    local fields, filtered = vim.split(out or "", "\0", { plain = true }), {}
    for i = 1, #fields - 2, 3 do
      if fields[i + 2] ~= "unspecified" and fields[i + 2] ~= "unset" then
        filtered[fields[i]] = true
      end
    end
    done(out and vim.tbl_filter(function(change)
      return not filtered[change.name]
    end, changes) or {})
  end, table.concat(names))
end

---What files held at a checkpoint, with the ends of line that a checkout would give them, as they lay on the disk.
---@param repository claude-ide.journal.Repository
---@param changes claude-ide.journal.TreeChange[]
---@param done fun(contents: table<string, string>) by name
local function contents_of(repository, changes, done)
  -- Sizes are told as they were before the ends of line are converted, so names that do not exist stand between the files.
  local mark = ("between-%d-%d"):format(vim.uv.hrtime() % 1e9, math.random(1e9))
  local lines, asked = {}, {}
  for _, change in ipairs(changes) do
    if change.blob and not change.name:find("\n", 1, true) then
      asked[#asked + 1] = change.name
      vim.list_extend(lines, { change.blob .. " " .. change.name, ("%s-%d x"):format(mark, #asked) })
    end
  end
  if #asked == 0 then
    return done({})
  end
  local ask = [[exec "$@" cat-file --batch --buffer --filters]]
  git_reading(repository, ask, function(answer)
    local out, contents, at = answer or "", {}, 1
    for i, name in ipairs(asked) do
      local _, header = out:find("^%x+ blob %d+\n", at)
      local last, next_at = out:find(("\n%s-%d missing\n"):format(mark, i), header or at, true)
      if header and last and last - 1 - header <= MAX_FILE_BYTES then
        contents[name] = out:sub(header + 1, last - 1)
      end
      at = (next_at or #out) + 1
    end
    done(contents)
  end, table.concat(lines, "\n") .. "\n")
end

---@class claude-ide.journal.FoundChange
---@field path string
---@field before? string what it held at the first checkpoint; nil: it was made since
---@field mode? integer permissions that it had

---Which files differ between two checkpoints, with what they held at the first.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param wanted fun(path: string): boolean
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun(left_out: integer) how many were too many
function M.compare(from, to, wanted, each, done)
  local repository = repositories[from.folder]
  if not repository or from.folder ~= to.folder or from.tree == to.tree then
    return done(0)
  end
  local ask = ([[exec "$@" diff-tree -r -z --raw --no-renames %s %s]]):format(from.tree, to.tree)
  git_reading(repository, ask, function(out)
    local changes = parse(repository, out or "", wanted)
    if #changes == 0 then
      return done(0)
    end
    local left_out = math.max(#changes - M.MAX_FILES, 0)
    unfiltered(repository, vim.list_slice(changes, 1, M.MAX_FILES), function(left)
      contents_of(repository, left, function(contents)
        local next_one = 1
        local function step()
          local began = vim.uv.hrtime()
          while left[next_one] and vim.uv.hrtime() - began < STEP_NS do
            local change = left[next_one]
            next_one = next_one + 1
            if not change.blob or contents[change.name] then
              each({ path = change.path, before = contents[change.name], mode = change.mode })
            end
          end
          if left[next_one] then
            return vim.defer_fn(step, 1)
          end
          done(left_out)
        end
        step()
      end)
    end)
  end)
end

---What can be said of checkpoints, for the health check.
---@return { git: boolean, repositories: string[], given_up: string[], misleading: string[] }
function M.describe()
  local about =
    { git = vim.fn.executable("git") == 1, repositories = {}, given_up = {}, misleading = misled_by() }
  for _, repository in pairs(repositories) do
    if repository then
      table.insert(
        repository.failures >= MAX_FAILURES and about.given_up or about.repositories,
        repository.top
      )
    end
  end
  return about
end

return M
