-- The git work trees that checkpoints are of: where each lies, and the folder of ours that holds the copies of its files.
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
---@field looked_at? number when the last one was begun, in seconds since the epoch
---@field met table<string, claude-ide.journal.Meeting> files that were copied, by name: what they were when they first were

---@type table<string, claude-ide.journal.Repository|false> by folder; false: no repository, or none that can be used
local repositories = {}
local made = 0

---How many read copies just now: none goes meanwhile.
M.readers = 0

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
  repository.copied, repository.tree, repository.looked_at, repository.met = 0, nil, nil, {}
  vim.fn.mkdir(repository.folder .. "/objects", "p", "0o700")
  repository.env = {
    GIT_INDEX_FILE = repository.folder .. "/index",
    GIT_OBJECT_DIRECTORY = repository.folder .. "/objects",
  }
end

---Removes a folder of ours in a process of its own, for it may hold thousands of files.
local function remove(folder)
  pcall(vim.system, { "nice", "-n", "10", "rm", "-rf", "--", folder })
end

---@param folder string
---@return claude-ide.journal.Repository? repository the one that is known of it
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

---Throws the copies of a repository away.
---@param repository claude-ide.journal.Repository
function M.renew(repository)
  local own = require("claude-ide.journal.store").folder()
  if own then
    remove(repository.folder)
    settle_in(repository, own)
  end
end

---Throws all copies away, and what is known of the repositories.
function M.forget()
  for folder, repository in pairs(repositories) do
    if repository then
      remove(repository.folder)
      repositories[folder] = nil
    end
  end
end

return M
