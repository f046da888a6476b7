-- `:Claude worktree`: makes a worktree of git for a branch, with a tab page and a CLI in it. done.lua ends it.
-- Invariant: git alone decides whether a branch or a folder can be made; nothing is forced.
local lazy = require("claude-ide.lazy")
local background = lazy("claude-ide.terminal.background")
local done = lazy("claude-ide.worktree.done")
local git = lazy("claude-ide.server.git")
local guard = lazy("claude-ide.ui.guard")
local language_task = lazy("claude-ide.language.task")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local terminals = lazy("claude-ide.terminal")
local working_directory = lazy("claude-ide.base.working_directory")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local NO_REPOSITORY = "%s is in no work tree of git. `:cd` to one first."

---The folder that the user is in: the terminal's, else the current directory.
---@return string
local function here()
  local terminal = terminals.of_buffer(vim.api.nvim_get_current_buf())
  return terminal and terminal.spec.cwd or paths.cwd()
end

---@param repository claude-ide.workspace.Repository
---@param top string
---@param branch string
---@return string folder beside the repository's own worktree: `project.branch`; of a bare repository: `branch`
local function place(repository, top, branch)
  local name = branch:gsub("[^%w%._\128-\255-]", "-")
  local main = repository.worktrees[1]
  if main and main.is_main then
    return ("%s.%s"):format(main.path, name)
  end
  local is_one = vim.iter(repository.worktrees):any(function(worktree)
    return worktree.path == paths.real(top)
  end)
  return ("%s/%s"):format(is_one and vim.fs.dirname(top) or top, name)
end

---Makes a worktree: of the branch if there is one, also of a remote, else of a new one from the current commit.
---@param task claude-ide.language.Task
---@param repository claude-ide.workspace.Repository
---@param top string
---@param branch string
---@return string path
local function make(task, repository, top, branch)
  -- Git takes `@`, and puts a name in the place of `@{-1}`.
  if git.must(task, top, { "check-ref-format", "--branch", branch }) ~= branch or branch == "@" then
    task:fail(("'%s' is not a valid branch name"):format(branch))
  end
  local path = place(repository, top, branch)
  if vim.uv.fs_lstat(path) then
    task:fail(("%s exists already."):format(vim.fn.fnamemodify(path, ":~")))
  end
  local here_as, there_as = "refs/heads/" .. branch, "refs/remotes/*/" .. branch
  local found = git.must(task, top, { "for-each-ref", "--format=%(refname)", here_as, there_as })
  local is_here, remotes = false, 0 -- the patterns match `branch/more`, too
  for name in vim.gsplit(found, "\n") do
    is_here = is_here or name == here_as
    remotes = remotes + (name:match("^refs/remotes/[^/]+/(.*)$") == branch and 1 or 0)
  end
  if
    not is_here
    and remotes == 0
    and not git.run(task, top, { "rev-parse", "--quiet", "--verify", "HEAD" })
  then
    task:fail("There is no commit yet to start a branch from.")
  end
  if not is_here and remotes == 0 then
    -- The name of the branch that it begins at is in the new one's reflog, where done.lua finds it.
    local base = git.run(task, top, { "symbolic-ref", "--short", "HEAD" }) or "HEAD"
    git.must(task, top, { "branch", "--quiet", "--no-track", branch, base })
  end
  local _, err = git.run(task, top, { "worktree", "add", "--quiet", path, branch })
  if err and not is_here and not vim.uv.fs_lstat(path .. "/.git") then
    git.run(task, top, { "branch", "--quiet", "--delete", branch }) -- git keeps one that has commits of its own
  end
  if err and vim.uv.fs_lstat(path .. "/.git") then
    notice.warn(("The worktree is there, but git says: %s"):format(err))
  elseif err and err:find("missing but already registered", 1, true) then
    task:fail(
      ("`git worktree prune` first: git still lists %s, which is gone."):format(
        vim.fn.fnamemodify(path, ":~")
      )
    )
  elseif err and not is_here and remotes > 1 then
    task:fail(
      ("Several remotes have %s: make the branch first, or set `checkout.defaultRemote`."):format(branch)
    )
  elseif err then
    task:fail(err)
  end
  return path
end

---@param path string
---@return integer? tab page with this directory
local function tab_of(path)
  local real = paths.real
  for number, tab in ipairs(vim.api.nvim_list_tabpages()) do
    if real(vim.fn.getcwd(-1, number)) == real(path) then
      return tab
    end
  end
end

---Shows a worktree in its tab page, with the current file as it is there.
---@param path string
---@param top string of the current worktree
local function enter(path, top)
  local tab, mods = tab_of(path), modifiers.opens_tab() and modifiers.of_command({}) or nil
  if tab then
    return vim.api.nvim_set_current_tabpage(tab)
  end
  local name = vim.api.nvim_buf_get_name(0)
  local is_file = vim.bo.buftype == "" and paths.is_plain(name) and paths.within(name, top)
  local counterpart = is_file and path .. "/" .. paths.relative(name, top) or nil
  vim.cmd.tabnew({ mods = mods })
  local ok, err = pcall(working_directory.set, "tcd", path)
  if not ok then
    vim.cmd.tabclose()
    error(err, 0)
  end
  if counterpart and vim.uv.fs_stat(counterpart) then
    pcall(vim.cmd.edit, vim.fn.fnameescape(counterpart)) -- fails if the user does not want it over a swap file
  end
end

---@param path string
---@param branch string
---@param prompt string
local function start_cli(path, branch, prompt)
  local running = terminals.last_used(vim.tbl_filter(function(terminal)
    return terminal.spec.cwd == path
  end, terminals.list()))
  if running and prompt == "" then
    return terminals.show(running)
  end
  local away = vim.iter(background.list()):find(function(live)
    return paths.real(live.cwd) == paths.real(path)
  end)
  if away and prompt == "" then
    return background.open(away)
  end
  terminals.new(terminals.argument(prompt), { cwd = path, name = branch })
end

---@param err? claude-ide.CallError
local function say(err)
  if err then
    notice.error(err.message)
  end
end

---@param repository? claude-ide.workspace.Repository
---@param branch string
---@return claude-ide.workspace.Worktree?
local function with_branch(repository, branch)
  return vim.iter(repository and repository.worktrees or {}):find(function(worktree)
    return worktree.branch == branch
  end)
end

---Opens a tab page for a branch's worktree, which is made unless there is one, and starts a CLI there.
---@param branch string
---@param prompt string for the CLI; "": none
---@return boolean? ok
---@return string? err
function M.open(branch, prompt)
  local repository, top = workspace.repository(here())
  if not repository or not top then
    return nil, NO_REPOSITORY:format(vim.fn.fnamemodify(here(), ":~"))
  end
  local asked = guard.request()
  local function show(path, err)
    if not path then
      return say(err)
    end
    guard.when_requested("worktree " .. path, "The worktree", function()
      local ok, problem = pcall(function()
        enter(path, top)
        vim.t.claude_worktree = branch
        start_cli(path, branch, prompt)
      end)
      if not ok then
        local why = tostring(problem):gsub("^.-:%d+: ", "")
        say({ code = "failed", message = ("The worktree does not open: %s"):format(why) })
      end
    end, asked)
  end
  local existing = with_branch(repository, branch)
  if existing then
    show(existing.path)
  else
    language_task.run("worktree", function(task)
      return git.in_turn(task, repository, function()
        local made = with_branch(workspace.repository(top), branch)
        return made and made.path or make(task, repository, top, branch)
      end)
    end, show)
  end
  return true
end

---@param folder string
---@return claude-ide.workspace.Worktree?
---@return claude-ide.workspace.Repository?
local function worktree_of(folder)
  local repository, top = workspace.repository(folder)
  local real = top and paths.real(top)
  return vim.iter(repository and repository.worktrees or {}):find(function(worktree)
    return worktree.path == real
  end),
    repository
end

---Reviews, merges or keeps, and removes a worktree.
---@param branch? string whose worktree; nil: the one that the user is in
---@return boolean? ok
---@return string? err
function M.done(branch)
  local own, repository = worktree_of(here())
  if branch then
    own = with_branch(repository, branch)
  elseif not own or own.is_main then
    local name = vim.api.nvim_buf_get_name(0)
    if vim.bo.buftype == "" and paths.is_plain(name) then
      own, repository = worktree_of(vim.fs.dirname(name))
    end
  end
  if not repository or not own or own.is_main then
    local what = branch and ("The branch %s has no worktree"):format(branch) or "This is not a worktree"
    return nil, what .. " that `:Claude worktree` or `git worktree add` has made."
  end
  local asked = guard.request()
  language_task.run("worktree", function(task)
    done.run(task, repository, own, asked)
  end, function(_, err)
    say(err)
  end)
  return true
end

---What `:Claude worktree` takes: `done`, and branches that have a worktree.
---@param is_done boolean those that `done` takes
---@return string[]
function M.names(is_done)
  local repository = workspace.repository(here())
  local names = is_done and {} or { "done" }
  for _, worktree in ipairs(repository and repository.worktrees or {}) do
    names[#names + 1] = not (is_done and worktree.is_main) and worktree.branch or nil
  end
  return names
end

return M
