-- Finds changes between two checkpoints, and contents of files at one. The library does the work, on a thread that waits for git.
local M = {}

local repositories = require("claude-ide.journal.repositories")

---More changed files are a checkout or a build, not an edit: only this many are recorded, changed and deleted ones first.
M.MAX_FILES = 200

---@class claude-ide.journal.FoundChange
---@field path string
---@field before? string contents at the first checkpoint; nil: created since
---@field mode? integer permissions at the first checkpoint
---@field since integer start of the first checkpoint, in nanoseconds of `store.now()`
---@field taken integer its completion, likewise
---@field is_start? boolean it is the checkpoint at the turn's start

---@class claude-ide.journal.FoundFile
---@field name string as git names it, from the top
---@field before? string
---@field mode? integer

---@class claude-ide.journal.CheckpointTold
---@field job integer
---@field file? claude-ide.journal.FoundFile
---@field is_over? boolean
---@field left_out? string[]
---@field rest? claude-ide.journal.Rest[]
---@field too_many? integer

---@type table<integer, fun(told: claude-ide.journal.CheckpointTold)>
local jobs = {}

local function packed(names)
  return table.concat(names, "\0")
end

local listens = false

local function listen()
  listens = true
  require("claude-ide.wake").on({ "checkpoint" }, function(told)
    if jobs[told.job] then
      jobs[told.job](told)
    end
  end)
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("claude-ide.journal.checkpoint_changes", { clear = true }),
    desc = "Claude: nothing more is told of checkpoints",
    callback = function()
      require("claude-ide.native").checkpoint("stop")
    end,
  })
end

---@param wanted "compare"|"held"|"read"
---@param repository claude-ide.journal.Repository
---@param each fun(file: claude-ide.journal.FoundFile)
---@param done fun(told: claude-ide.journal.CheckpointTold)
local function ask(wanted, repository, each, done, ...)
  if not listens then
    listen()
  end
  local about = { repository.top, repository.objects, repository.folder }
  vim.list_extend(about, require("claude-ide.journal.git").harmless())
  vim.list_extend(about, repository.options)
  local job, err =
    require("claude-ide.native").checkpoint(wanted, require("claude-ide.wake").handle(), packed(about), ...)
  if not job then
    require("claude-ide.log").error("checkpoints: %s", err)
    return done({ job = 0, is_over = true })
  end
  repositories.readers = repositories.readers + 1
  jobs[job] = function(told)
    if told.file then
      return each(told.file)
    end
    jobs[job] = nil
    repositories.readers = repositories.readers - 1
    done(told)
  end
end

---@param repository claude-ide.journal.Repository
---@param from claude-ide.journal.Checkpoint
---@param file claude-ide.journal.FoundFile
---@return claude-ide.journal.FoundChange
local function change_of(repository, from, file)
  return {
    path = repository.top .. "/" .. file.name,
    before = file.before,
    mode = file.mode,
    since = from.began,
    taken = from.taken,
  }
end

---Files that at least one checkpoint has not copied, and those of them that differ: their old contents are unknown.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@return string[] names
---@return string[] differ
local function not_copied(from, to)
  local names, differ = {}, {} ---@type table<string, true>, string[]
  for _, skipped in ipairs({ from.skipped, to.skipped }) do
    for name in pairs(skipped) do
      differ[#differ + 1] = not names[name] and from.skipped[name] ~= to.skipped[name] and name or nil
      names[name] = true
    end
  end
  return vim.tbl_keys(names), differ
end

---@param met table<string, claude-ide.journal.Meeting>
---@return string[]
local function there_before(met)
  local found = {}
  for name, meeting in pairs(met) do
    found[#found + 1] = meeting ~= "made" and meeting:sub(1, 1) .. name or nil
  end
  return found
end

---Finds the files that differ between two checkpoints, with their contents at the first.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param unwanted table<string, true> resolved paths
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun(left_out: string[], rest: claude-ide.journal.Rest[], too_many?: integer) paths without known contents;
---changes that can be undone without the journal; the number of changed files if it exceeds the journal's limit
function M.compare(from, to, unwanted, each, done)
  local repository = repositories.get(from.folder)
  if not repository or from.folder ~= to.folder then
    return done({}, {})
  end
  local top, ignored, differ = repository.top .. "/", not_copied(from, to)
  local left_out = {}
  for _, name in ipairs(differ) do
    left_out[#left_out + 1] = not unwanted[require("claude-ide.path").real(top .. name)] and top .. name
      or nil
  end
  if from.tree == to.tree then
    return done(left_out, {})
  end
  ask(
    "compare",
    repository,
    function(file)
      each(change_of(repository, from, file))
    end,
    function(told)
      for _, name in ipairs(told.left_out or {}) do
        left_out[#left_out + 1] = top .. name
      end
      for _, item in ipairs(told.rest or {}) do
        item.path, item.folder = top .. item.name, from.folder
      end
      done(left_out, told.rest or {}, told.too_many)
    end,
    from.tree,
    to.tree,
    packed(ignored),
    packed(there_before(repository.met)),
    packed(vim.tbl_keys(unwanted)),
    M.MAX_FILES
  )
end

---Reads files' contents at a checkpoint; files that are not in it are skipped.
---@param from claude-ide.journal.Checkpoint
---@param paths string[] resolved
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun()
function M.held(from, paths, each, done)
  local repository = repositories.get(from.folder)
  local names = {}
  for _, path in ipairs(vim.list_slice(paths, 1, M.MAX_FILES)) do
    local name = repository
      and require("claude-ide.path").within(path, repository.top)
      and path:sub(#repository.top + 2)
    names[#names + 1] = name and name ~= "" and not from.skipped[name] and name or nil
  end
  if not repository or #names == 0 then
    return done()
  end
  ask("held", repository, function(file)
    each(change_of(repository, from, file))
  end, function()
    done()
  end, from.tree, packed(names))
end

---Reads contents from the copies that still exist, except files with a git filter.
---@param folder string of the checkpoints
---@param files { name: string, blob: string }[]
---@param done fun(contents: table<string, string>) by name
function M.read(folder, files, done)
  local repository, contents = repositories.get(folder), {}
  if not repository or #files == 0 then
    return done({})
  end
  local names = {}
  for _, file in ipairs(files) do
    vim.list_extend(names, { file.blob, file.name })
  end
  ask("read", repository, function(file)
    contents[file.name] = file.before
  end, function()
    done(contents)
  end, packed(names))
end

return M
