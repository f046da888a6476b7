-- Checkpoints of a git work tree, so that what shell commands changed in a turn is known too.
-- Invariant: the person's repository is only read. Index and objects of a checkpoint lie in the journal's own folder, and
-- both what is copied (`candidates.lua`) and how long it is kept is bounded. One checkpoint is taken at a time.
local M = {}

---After so many failures a work tree is left alone.
local MAX_FAILURES = 2

---More changed files than this are no edit but a checkout or a build: so many are looked at, changed and deleted ones first.
M.MAX_FILES = 200
local MAX_FILE_BYTES = 4 * 1024 * 1024

---After so many bytes of copies they are thrown away, and the next turn begins with new ones.
M.MAX_COPIED_BYTES = 256 * 1024 * 1024

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
---@field copied integer bytes
---@field tree? string of the last checkpoint

---@type table<string, claude-ide.journal.Repository|false> by folder; false: no repository, or none that can be used
local repositories = {}
local made = 0

---How many comparisons read copies just now.
local comparing = 0

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

---@return table
local function git()
  return require("claude-ide.journal.git")
end

---Where a repository lies, and which keys of its configuration are filters.
local DISCOVER =
  [["$@" rev-parse --path-format=absolute --show-toplevel --git-path index --git-path objects || exit 1
"$@" config --name-only --get-regexp '^filter\..*\.(clean|smudge|process)$' || true]]

---Gives a repository an empty folder of ours.
---@param repository claude-ide.journal.Repository
---@param own string the journal's
local function settle_in(repository, own)
  made = made + 1
  repository.folder = ("%s/repository-%d"):format(own, made)
  repository.copied, repository.tree = 0, nil
  vim.fn.mkdir(repository.folder .. "/objects", "p", "0o700")
  repository.env = {
    GIT_INDEX_FILE = repository.folder .. "/index",
    GIT_OBJECT_DIRECTORY = repository.folder .. "/objects",
  }
end

---Removes a folder of ours in a process of its own, for it may hold thousands of files.
---@param folder string
local function remove(folder)
  pcall(vim.system, { "nice", "-n", "10", "rm", "-rf", "--", folder })
end

---@param folder string
---@param done fun(repository: claude-ide.journal.Repository?)
local function discover(folder, done)
  if repositories[folder] ~= nil then
    return done(repositories[folder] or nil)
  elseif #git().misled_by() > 0 then
    return done(nil)
  end
  git().run(DISCOVER, { cwd = folder }, function(out)
    local found = vim.split(out or "", "\n", { plain = true, trimempty = true })
    local own = #found >= 3 and require("claude-ide.journal.blob").folder()
    -- A repository of the whole home folder (dotfiles) has everything below it as untracked files.
    if not own or require("claude-ide.path").within(vim.uv.os_homedir() or "/", found[1]) then
      repositories[folder] = false
      return done(nil)
    end
    ---@type claude-ide.journal.Repository
    local repository = {
      top = found[1],
      index = found[2],
      objects = found[3],
      folder = "",
      env = {},
      copied = 0,
      options = git().without_filters(vim.list_slice(found, 4)),
      failures = 0,
    }
    settle_in(repository, own)
    repositories[folder] = repository
    done(repository)
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
  git().run(script, { cwd = repository.top, options = repository.options, env = env, stdin = stdin }, done)
end

---What may differ from our index, the files that git knows first. Time stamps are brought up to date before, so that each
---file is read once at most.
local LIST = [["$@" update-index -q --refresh >/dev/null
"$@" ls-files -z --modified && exec "$@" ls-files -z --others --exclude-standard]]

---Writes to our folder alone. The person's objects are not even looked for: git would renew the time stamp of each that it
---finds there. The second way is slower and knows how to go on where a file cannot be read.
local WRITE_TREE = [[list=$GIT_INDEX_FILE.list
"$@" update-index -q -z --add --remove --replace --stdin <"$list" ||
"$@" --literal-pathspecs add --all --ignore-errors --pathspec-from-file="$list" --pathspec-file-nul
exec "$@" write-tree --missing-ok]]

---@class claude-ide.journal.Checkpoint
---@field folder string
---@field tree string
---@field skipped table<string, string> files that are not in it, by name: equal strings for equal contents

---@param repository claude-ide.journal.Repository
---@param names string[]
---@return boolean ok
local function write_list(repository, names)
  local fd = vim.uv.fs_open(repository.env.GIT_INDEX_FILE .. ".list", "w", 384) -- 0600
  local text = table.concat(names, "\0") .. "\0"
  local ok = fd and vim.uv.fs_write(fd, text, 0) == #text
  if fd then
    vim.uv.fs_close(fd)
  end
  return ok == true
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
  ---@param found claude-ide.journal.Candidates
  local function write(found)
    if repository.tree and #found.names == 0 then
      return done(repository.tree, found.skipped)
    elseif #found.names > 0 and not write_list(repository, found.names) then
      return failed()
    end
    repository.copied = repository.copied + found.bytes
    git().run(#found.names > 0 and WRITE_TREE or [[exec "$@" write-tree --missing-ok]], where, function(tree)
      if not tree then
        return failed()
      end
      repository.tree = vim.trim(tree)
      done(repository.tree, found.skipped)
    end)
  end
  local function list()
    git().run(LIST, where, function(out)
      if not out then
        return failed()
      end
      require("claude-ide.journal.candidates").choose(repository.top, out, write)
    end)
  end
  -- Our own index knows of the untracked files that are unchanged; only the first one is a copy of the person's.
  if vim.uv.fs_stat(repository.env.GIT_INDEX_FILE) then
    return list()
  end
  vim.uv.fs_copyfile(repository.index, repository.env.GIT_INDEX_FILE, nil, vim.schedule_wrap(list))
end

---Throws the copies of a repository away, if they are many.
---@param repository claude-ide.journal.Repository
local function renew(repository)
  local own = require("claude-ide.journal.blob").folder()
  if repository.copied > M.MAX_COPIED_BYTES and own then
    remove(repository.folder)
    settle_in(repository, own)
  end
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
      discover(folder, function(repository)
        if not repository or repository.failures >= MAX_FAILURES then
          finished()
          return done(nil)
        end
        if is_first and comparing == 0 and is_first() then
          renew(repository)
        end
        write_tree(repository, function(tree, skipped)
          finished()
          done(tree and { folder = folder, tree = tree, skipped = skipped } or nil)
        end)
      end)
    end,
  }
  next_job()
end

---Throws all copies away, unless they are being read: nobody needs a checkpoint any more.
function M.forget()
  jobs[#jobs + 1] = {
    run = function(finished)
      if comparing == 0 and not require("claude-ide.journal.rest").needs_copies() then
        for folder, repository in pairs(repositories) do
          if repository then
            remove(repository.folder)
            repositories[folder] = nil
          end
        end
      end
      finished()
    end,
  }
  next_job()
end

---@class claude-ide.journal.TreeChange
---@field path string absolute
---@field name string as git names it, from the top
---@field blob? string nil: the file was made
---@field mode? integer permissions that it had
---@field began? number `vim.uv.hrtime()` at which the first checkpoint was complete, where that is one of a turn's start
---@field rest claude-ide.journal.Rest the same, for where the journal has no room for it

---@param mode string of git
---@return boolean
local function is_file(mode)
  return mode == "000000" or mode:sub(1, 3) == "100"
end

---@param repository claude-ide.journal.Repository
---@param out string of `diff-tree --raw -z`
---@param wanted fun(path: string): boolean
---@param ignored table<string, true> names
---@return claude-ide.journal.TreeChange[] changed and deleted ones first
---@return string[] left_out repositories within this one
---@return claude-ide.journal.Rest[] rest links and permissions
local function parse(repository, out, wanted, ignored)
  local found, made_since, left_out, rest = {}, {}, {}, {}
  local entry = ":(%d+) (%d+) (%x+) (%x+) %a%d*%z([^%z]+)%z"
  for old_mode, new_mode, blob, new_blob, name in out:gmatch(entry) do
    local path = repository.top .. "/" .. name
    local counts = not ignored[name] and wanted(path)
    local are_files = is_file(old_mode) and is_file(new_mode)
    ---@type claude-ide.journal.Rest
    local item = {
      path = path,
      name = name,
      folder = "",
      old_mode = old_mode,
      new_mode = new_mode,
      blob = blob,
      new_blob = new_blob,
    }
    if counts and are_files and blob ~= new_blob then
      local is_new = blob:find("^0+$") ~= nil
      table.insert(is_new and made_since or found, {
        path = path,
        name = name,
        blob = not is_new and blob or nil,
        mode = not is_new and tonumber(old_mode:sub(4), 8) or nil,
        rest = item,
      })
    elseif counts and (old_mode:sub(1, 3) == "160" or new_mode:sub(1, 3) == "160") then
      left_out[#left_out + 1] = path
    elseif counts and not are_files then
      rest[#rest + 1] = item
    end
    if counts and are_files and old_mode:sub(1, 3) == new_mode:sub(1, 3) and old_mode ~= new_mode then
      rest[#rest + 1] = vim.tbl_extend("force", item, { mode_only = true })
    end
  end
  return vim.list_extend(found, made_since), left_out, rest
end

---Leaves out files that a filter (as LFS) changes on their way: their bytes are not in the checkpoint.
---@param repository claude-ide.journal.Repository
---@generic T: { name: string }
---@param changes T[]
---@param done fun(changes: T[])
local function unfiltered(repository, changes, done)
  if #changes == 0 then
    return done({})
  end
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
---@param changes { name: string, blob?: string }[]
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
---@field began? number `vim.uv.hrtime()` at which the checkpoint of the start of its turn was complete; nil: not compared with that

---Files that at least one of two checkpoints has not copied, and that differ: what they held is not known.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param top string
---@param wanted fun(path: string): boolean
---@return string[] paths
---@return table<string, true> names of all that were not copied
local function unknown(from, to, top, wanted)
  local paths, names = {}, {}
  for _, skipped in ipairs({ from.skipped, to.skipped }) do
    for name in pairs(skipped) do
      if not names[name] and from.skipped[name] ~= to.skipped[name] and wanted(top .. "/" .. name) then
        paths[#paths + 1] = top .. "/" .. name
      end
      names[name] = true
    end
  end
  return paths, names
end

---Which files differ between two checkpoints, with what they held at the first.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param wanted fun(path: string): boolean
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun(left_out: string[], rest: claude-ide.journal.Rest[], too_many?: integer) paths of which nothing more is known;
---what can be taken back without the journal; how many files changed, where that is more than the journal has room for
function M.compare(from, to, wanted, each, done)
  local repository = repositories[from.folder]
  if not repository or from.folder ~= to.folder then
    return done({}, {})
  end
  local left_out, names = unknown(from, to, repository.top, wanted)
  if from.tree == to.tree then
    return done(left_out, {})
  end
  comparing = comparing + 1
  local ask = ([[exec "$@" diff-tree -r -z --raw --no-renames %s %s]]):format(from.tree, to.tree)
  git_reading(repository, ask, function(out)
    local changes, others, rest = parse(repository, out or "", wanted, names)
    vim.list_extend(left_out, others)
    for i = M.MAX_FILES + 1, #changes do
      rest[#rest + 1] = changes[i].rest
    end
    for _, item in ipairs(rest) do
      item.folder = from.folder
    end
    local looked_at = vim.list_slice(changes, 1, M.MAX_FILES)
    unfiltered(repository, looked_at, function(left)
      local is_left = {} ---@type table<claude-ide.journal.TreeChange, true>
      for _, change in ipairs(left) do
        rawset(is_left, change, true)
      end
      for _, change in ipairs(looked_at) do
        left_out[#left_out + 1] = not is_left[change] and change.path or nil
      end
      contents_of(repository, left, function(contents)
        comparing = comparing - 1
        local next_one = 1
        local function step()
          local began = vim.uv.hrtime()
          while left[next_one] and vim.uv.hrtime() - began < STEP_NS do
            local change = left[next_one]
            next_one = next_one + 1
            if not change.blob or contents[change.name] then
              each({ path = change.path, before = contents[change.name], mode = change.mode })
            else
              left_out[#left_out + 1] = change.path
            end
          end
          if left[next_one] then
            return vim.defer_fn(step, 1)
          end
          done(left_out, rest, #changes > M.MAX_FILES and #changes or nil)
        end
        step()
      end)
    end)
  end)
end

---What files held, as far as the copies are still there. Not of those that a filter changes.
---@param folder string of the checkpoints
---@param files { name: string, blob: string }[]
---@param done fun(contents: table<string, string>) by name
function M.read(folder, files, done)
  local repository = repositories[folder]
  if not repository or #files == 0 then
    return done({})
  end
  comparing = comparing + 1
  unfiltered(repository, files, function(left)
    contents_of(repository, left, function(contents)
      comparing = comparing - 1
      done(contents)
    end)
  end)
end

---What can be said of checkpoints, for the health check.
---@return { git: boolean, repositories: string[], given_up: string[], misleading: string[] }
function M.describe()
  local about =
    { git = vim.fn.executable("git") == 1, repositories = {}, given_up = {}, misleading = git().misled_by() }
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
