-- Checkpoints of git work trees, which reveal the changes that shell commands make in a turn (`shell.lua`). The library takes and compares
-- them on threads that wait for git: crates/edits/src/checkpoints.
local lazy = require("claude-ide.lazy")
local at_exit = lazy("claude-ide.base.at_exit")
local clock = lazy("claude-ide.base.clock")
local config = lazy("claude-ide.config")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local privacy = lazy("claude-ide.server.privacy")
local store = lazy("claude-ide.edits.journal.store")
local untracked = lazy("claude-ide.edits.journal.untracked")
local wake = lazy("claude-ide.library.wake")

local M = {}

---More changed files are a checkout or a build, not an edit: only this many are recorded, changed and deleted ones first.
M.MAX_FILES = 200

---@class claude-ide.journal.Checkpoint
---@field id integer
---@field folder string
---@field top string of the work tree
---@field at integer when it was asked for, in milliseconds since the epoch
---@field began integer start of the checkpoint, in nanoseconds of `store.now()`
---@field taken integer its completion, likewise
---@field early string[] paths that changed after the time that the checkpoint was to be of, but before it saw them

---@alias claude-ide.journal.NoCheckpoint
---| "off" # by configuration
---| "no repository"
---| "failed" # git failed, or took too long
---| "paused" # as before, and from now on no checkpoint is tried for a while
---| "pausing" # none is tried for a while

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

---@class claude-ide.journal.CheckpointPart
---@field job integer
---@field file? claude-ide.journal.FoundFile
---@field is_over? boolean
---@field top? string of a checkpoint that was taken
---@field began integer likewise
---@field taken integer likewise
---@field early? string[] likewise
---@field left_out? string[]
---@field rest? claude-ide.journal.Rest[]
---@field too_many? integer
---@field text? string what differs from the last commit
---@field withheld? integer
---@field filtered? integer
---@field why? string

---@type table<integer, fun(part: claude-ide.journal.CheckpointPart)>
local jobs = {}

---Whether the copies are to be deleted once no job and no turn needs them.
local forgets = false

local function forget_if_unneeded()
  if forgets and next(jobs) == nil and not untracked.needs_copies() then
    forgets = false
    native.checkpoint("forget")
  end
end

local function packed(list)
  return table.concat(list, "\0")
end

local listen = require("claude-ide.base.once")(function()
  wake.on({ "checkpoint" }, function(part)
    if jobs[part.job] then
      jobs[part.job](part)
    end
  end)
  at_exit("checkpoints", function()
    native.checkpoint("stop")
  end)
end)

---@param wanted "take"|"compare"|"contained"|"read"|"uncommitted"
---@param each fun(file: claude-ide.journal.FoundFile)
---@param done fun(part: claude-ide.journal.CheckpointPart)
local function ask(wanted, each, done, ...)
  listen()
  privacy.load()
  local job, err = native.checkpoint(wanted, wake.handle(), ...)
  if not job then
    log.error("checkpoints: %s", err)
    return done({ job = 0, is_over = true, began = 0, taken = 0, why = err })
  end
  jobs[job] = function(part)
    if part.file then
      return each(part.file)
    end
    jobs[job] = nil
    done(part)
    forget_if_unneeded()
  end
end

local function nothing() end

---Folders in which no checkpoint is tried for a while.
---@type table<string, true>
local paused = {}

---Says when a pause begins, and when it is over.
---@param folder string
---@param why? string
local function tell_pause(folder, why)
  if why == "paused" then
    paused[folder] = true
    notice.warn(
      "Changes by shell commands are not reviewed: git failed or took too long twice. Neovim tries again in a minute."
    )
  elseif not why and paused[folder] then
    paused[folder] = nil
    notice.info("Changes by shell commands are reviewed again: git answers.")
  end
end

---Takes a checkpoint of a folder's repository.
---@param folder string
---@param is_first boolean whether no earlier checkpoint of the folder is needed
---@param done fun(checkpoint: claude-ide.journal.Checkpoint?, why_not: claude-ide.journal.NoCheckpoint?) on the main loop
---@param since? integer milliseconds since the epoch: it is to be of that time
local function take(folder, is_first, done, since)
  local ours = config.get().review.checkpoints and store.folder()
  if not ours then
    return done(nil, "off")
  end
  forgets = false
  local at = since or clock.now()
  ask("take", nothing, function(part)
    tell_pause(folder, part.why)
    if not part.top then
      return done(nil, part.why --[[@as claude-ide.journal.NoCheckpoint]])
    end
    local early = vim.tbl_map(function(name)
      return part.top .. "/" .. name
    end, part.early or {})
    done({
      id = part.job,
      folder = folder,
      top = part.top,
      at = at,
      began = part.began,
      taken = part.taken,
      early = early,
    })
  end, folder, vim.uv.os_homedir() or "/", ours, is_first, since)
end

M.take = take

---Copies a repository's files before a checkpoint is needed, so that the first checkpoint of a turn is as fast as later ones. The CLI does
---not wait for it: changes by commands before its completion are missed.
---@param folder string
function M.prepare(folder)
  take(folder, false, nothing)
end

---Deletes all copies as soon as they are not needed: no checkpoint is.
function M.forget()
  forgets = true
  forget_if_unneeded()
end

---@param from claude-ide.journal.Checkpoint
---@param each fun(change: claude-ide.journal.FoundChange)
---@return fun(file: claude-ide.journal.FoundFile)
local function changes_since(from, each)
  return function(file)
    each({
      path = from.top .. "/" .. file.name,
      before = file.before,
      mode = file.mode,
      since = from.began,
      taken = from.taken,
    })
  end
end

---Finds the files that differ between two checkpoints, with their contents at the first.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param unwanted table<string, true> resolved paths
---@param known string[] resolved paths, for which the journal's limit does not count
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun(left_out: string[], rest: claude-ide.journal.Rest[], too_many?: integer) paths without known contents;
---changes that can be undone without the journal; the number of changed files if it exceeds the journal's limit
function M.compare(from, to, unwanted, known, each, done)
  local top = from.top .. "/"
  ask("compare", changes_since(from, each), function(part)
    local left_out = vim.tbl_map(function(name)
      return top .. name
    end, part.left_out or {})
    for _, item in ipairs(part.rest or {}) do
      item.path, item.folder = top .. item.name, from.folder
    end
    done(left_out, part.rest or {}, part.too_many)
  end, from.id, to.id, packed(vim.tbl_keys(unwanted)), packed(known), M.MAX_FILES)
end

---Reads files' contents at a checkpoint; files that are not in it are skipped.
---@param from claude-ide.journal.Checkpoint
---@param paths string[] resolved
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun()
function M.held(from, paths, each, done)
  if #paths == 0 then
    return done()
  end
  ask("contained", changes_since(from, each), function()
    done()
  end, from.id, packed(vim.list_slice(paths, 1, M.MAX_FILES)))
end

---Reads contents from the copies that still exist, except files with a git filter.
---@param folder string of the checkpoints
---@param files { name: string, blob: string }[]
---@param done fun(contents: table<string, string>) by name
function M.read(folder, files, done)
  local contents, names = {}, {}
  for _, file in ipairs(files) do
    vim.list_extend(names, { file.blob, file.name })
  end
  if #names == 0 then
    return done({})
  end
  ask("read", function(file)
    contents[file.name] = file.before
  end, function()
    done(contents)
  end, folder, packed(names))
end

---What differs in a folder from the last commit, without withheld files.
---@param folder string
---@param private string[] paths of files that are withheld besides
---@param done fun(part: claude-ide.journal.CheckpointPart) with `text` and `withheld`, or `why` there is no text
function M.uncommitted(folder, private, done)
  ask("uncommitted", nothing, done, folder, packed(private))
end

---State of checkpoints, for the health check.
---@return { top: string, is_ignored: boolean }[] states of the work trees with checkpoints
function M.states()
  return native.is_loaded() and native.checkpoint("states") or {}
end

return M
