-- Finds files that have another name now: among git's new files, when the user comes back to Neovim or asks what became of them.
-- Whether a new file is a missing one, those decide who know its text: the comments (crates/comments), the journal.
local lazy = require("claude-ide.lazy")
local file = lazy("claude-ide.base.file")
local git = lazy("claude-ide.server.git")
local slice = lazy("claude-ide.base.slice")

local M = {}

---New files that are looked at, and how large they may be.
local MOST_FILES, MAX_BYTES = 200, 4 * 1024 * 1024
---Files that are not found are looked for again after this time, and then after ever longer ones: they may have been deleted.
local PAUSE_MS, LONGER = 30 * 1000, 4

---Who knows the text of files.
---@class claude-ide.renames.Seeker
---@field roots fun(): string[] worktrees
---@field missing fun(root: string): string[], integer relative paths, and since when they may be missing, in milliseconds since the epoch
---@field claim fun(root: string, path: string, text: string) is given a file that may be one of them
---@field last table<string, { missing: string, at: integer, pause: integer }?> the last searches, by worktree

---@type claude-ide.renames.Seeker[]
local seekers = {}

---Files that are new in a worktree, or were committed as new since a time.
---@param root string
---@param since integer milliseconds since the epoch
---@param done fun(paths: string[])
local function new_files(root, since, done)
  local status =
    { "--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames" }
  local log = { "log", "--diff-filter=A", "--no-renames", "--name-only", "-z", "--format=" }
  vim.list_extend(log, { "-n", tostring(MOST_FILES), ("--since=@%d"):format(math.floor(since / 1000)) })
  git.ask(root, status, function(changed)
    git.ask(root, log, function(committed)
      local paths = {}
      for _, entry in ipairs(vim.split(changed or "", "\0", { trimempty = true })) do
        local is_new = entry:sub(1, 2):find("[?A]") ~= nil
        paths[#paths + 1] = is_new and entry:sub(4) or nil
      end
      vim.list_extend(paths, vim.split(committed or "", "\0", { trimempty = true })) -- a pull may have brought many
      done(vim.list_slice(paths, 1, MOST_FILES))
    end)
  end)
end

---Looks for the files of a worktree that are missing.
---@param seeker claude-ide.renames.Seeker
---@param root string
---@param done fun()
local function look_in(seeker, root, done)
  local missing, since = seeker.missing(root)
  local key, before, now = table.concat(missing, "\0"), seeker.last[root], vim.uv.now()
  before = before and before.missing == key and before or nil
  if not missing[1] or before and now - before.at < before.pause then
    return done()
  end
  seeker.last[root] = { missing = key, at = now, pause = before and before.pause * LONGER or PAUSE_MS }
  slice.run("find files that were renamed", function(pause, wait)
    local found = {} ---@type string[]
    wait(function(go_on)
      new_files(root, since, function(paths)
        found = paths
        go_on()
      end)
    end)
    for _, path in ipairs(found) do
      local text = file.read_now(root .. "/" .. path, MAX_BYTES)
      if text then
        seeker.claim(root, path, text)
      end
      pause()
    end
  end, done, done)
end

---@param seeker claude-ide.renames.Seeker
---@param done? fun()
local function look(seeker, done)
  local roots = seeker.roots()
  local open = #roots + 1
  local function one_less()
    open = open - 1
    if open == 0 and done then
      done()
    end
  end
  for _, root in ipairs(roots) do
    look_in(seeker, root, one_less)
  end
  one_less()
end

local follow_user = require("claude-ide.base.once")(function()
  vim.api.nvim_create_autocmd({ "FocusGained", "ShellCmdPost", "TermLeave" }, {
    group = vim.api.nvim_create_augroup("claude-ide.renames", { clear = true }),
    desc = "Claude Code: find files that were renamed",
    callback = function()
      for _, seeker in ipairs(seekers) do
        look(seeker)
      end
    end,
  })
end)

---Looks for files whenever the user comes back to Neovim.
---@param roots fun(): string[]
---@param missing fun(root: string): string[], integer
---@param claim fun(root: string, path: string, text: string)
---@return fun(done?: fun()) look looks for them now
function M.seek(roots, missing, claim)
  local seeker = { roots = roots, missing = missing, claim = claim, last = {} } ---@type claude-ide.renames.Seeker
  seekers[#seekers + 1] = seeker
  follow_user()
  return function(done)
    look(seeker, done)
  end
end

return M
