-- The git work trees of checkpoints, and our folders with the copies of their files.
-- Invariant: the user's repository is only read.
local M = {}

local git = require("claude-ide.journal.git")

---@class claude-ide.journal.Repository
---@field top string
---@field index string the user's index
---@field objects string
---@field folder string ours
---@field options string[] for git
---@field env table<string, string>
---@field failures integer
---@field copied integer bytes
---@field tree? string of the last checkpoint
---@field looked_at? number start of the last checkpoint, in seconds since the epoch
---@field met table<string, claude-ide.journal.Meeting> copied files by name: their state when first copied

---@type table<string, claude-ide.journal.Repository|false> by folder; false: no usable repository
local repositories = {}
local made = 0

---Number of readers of copies: none is deleted meanwhile.
M.readers = 0

---Finds a repository's paths, and its filters' configuration keys.
local DISCOVER =
  [["$@" rev-parse --path-format=absolute --show-toplevel --git-path index --git-path objects || exit 1
"$@" config --name-only --get-regexp '^filter\..*\.(clean|smudge|process)$' || true]]

---Creates an empty folder for a repository.
---@param repository claude-ide.journal.Repository
---@param own string the journal's
local function settle_in(repository, own)
  made = made + 1
  repository.folder = ("%s/repository-%d"):format(own, made)
  repository.copied, repository.tree, repository.looked_at, repository.met = 0, nil, nil, {}
  vim.fn.mkdir(repository.folder .. "/objects", "p", "0o700")
  repository.env = {
    GIT_INDEX_FILE = repository.folder .. "/index",
    GIT_OBJECT_DIRECTORY = repository.folder .. "/objects",
  }
end

---Deletes a folder of ours in another process: it may have thousands of files.
local function remove(folder)
  pcall(vim.system, { "nice", "-n", "10", "rm", "-rf", "--", folder })
end

---@param folder string
---@return claude-ide.journal.Repository? repository if known
function M.get(folder)
  return repositories[folder] or nil
end

---@return claude-ide.journal.Repository[]
function M.all()
  local list = {}
  for _, repository in pairs(repositories) do
    list[#list + 1] = repository or nil
  end
  return list
end

---@param folder string
---@param done fun(repository: claude-ide.journal.Repository?)
function M.find(folder, done)
  if repositories[folder] ~= nil then
    return done(repositories[folder] or nil)
  elseif #git.misled_by() > 0 then
    return done(nil)
  end
  git.run(DISCOVER, { cwd = folder }, function(out)
    local found = vim.split(out or "", "\n", { plain = true, trimempty = true })
    local own = #found >= 3 and require("claude-ide.journal.store").folder()
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
      met = {},
      copied = 0,
      options = git.without_filters(vim.list_slice(found, 4)),
      failures = 0,
    }
    settle_in(repository, own)
    repositories[folder] = repository
    done(repository)
  end)
end

---Deletes a repository's copies.
---@param repository claude-ide.journal.Repository
function M.renew(repository)
  local own = require("claude-ide.journal.store").folder()
  if own then
    remove(repository.folder)
    settle_in(repository, own)
  end
end

---Deletes all copies and forgets the repositories.
function M.forget()
  for folder, repository in pairs(repositories) do
    if repository then
      remove(repository.folder)
      repositories[folder] = nil
    end
  end
end

return M
