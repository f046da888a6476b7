-- Runs git in a folder, off the main loop. For tasks (language/task.lua).
local lazy = require("claude-ide.lazy")
local listed = lazy("claude-ide.base.listed")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local path = lazy("claude-ide.base.path")
local timers = lazy("claude-ide.base.timer")

local M = {}

local function environment()
  local variables = vim.fn.environ()
  for _, name in ipairs(native.misleading_for_git() or {}) do
    variables[name] = nil
  end
  -- Nothing of git may wait for the user: no terminal shows it.
  variables.GIT_TERMINAL_PROMPT, variables.GIT_EDITOR = "0", "true"
  if vim.fn.has("nvim-0.11") == 1 then
    return variables
  end
  local list = {} -- Neovim 0.10 hands it to the process as it is: of a table by name, git would get nothing
  for name, value in pairs(variables) do
    list[#list + 1] = name .. "=" .. value
  end
  return list
end

---Git says no more for this long: a hook may be running.
local LONG_MS = 2000

---@param output string
---@return string? the line that says most, with the files below it; nil: a hook may fail without a word
local function reason(output)
  local lines = vim.split(vim.trim(output), "\n")
  local said = vim.iter(lines):find(function(line)
    return line:find("^fatal: ") or line:find("^error: ")
  end) or lines[#lines] ~= "" and lines[#lines] or nil
  if not said or said:sub(-1) ~= ":" then
    return said
  end
  local files, is_below = {}, false
  for _, line in ipairs(lines) do
    files[#files + 1] = is_below and line:match("^\t(.+)$") or nil
    is_below = is_below and line:find("^\t") ~= nil or line == said
  end
  local what = said:gsub("^error: ", ""):gsub(":$", "")
  return files[1] and ("%s: %s"):format(listed(files), what) or said
end

---Says that git is still at work.
---@param folder string
---@param command string
---@return fun() stop
local function say_if_long(folder, command)
  local timer = timers.new("say that git is at work")
  timer:start(LONG_MS, function()
    notice.info(
      ("`git %s` in %s is still at work, or a hook of it."):format(command, vim.fs.basename(folder))
    )
  end)
  return function()
    timer:stop()
  end
end

---@param folder string
---@param arguments string[]
---@param options vim.SystemOpts
---@param done fun(result: vim.SystemCompleted)
local function start(folder, arguments, options, done)
  local argv = vim.list_extend({ "git", "-C", folder }, arguments)
  options.clear_env, options.env = true, environment() --[[@as table<string, string>]]
  vim.system(argv, options, vim.schedule_wrap(done))
end

---Runs git in the background, for no command of the user's: a failure goes to the log.
---@param folder string
---@param arguments string[]
---@param done fun(out?: string) with each byte; nil: it failed
function M.ask(folder, arguments, done)
  local ok, err = pcall(start, folder, arguments, {}, function(result)
    if result.code ~= 0 then
      log.info("git %s: %s", arguments[1], result.stderr)
    end
    done(result.code == 0 and result.stdout or nil)
  end)
  if not ok then
    log.info("git cannot run: %s", err)
    done(nil)
  end
end

---@class claude-ide.git.Opts
---@field input? string
---@field exact? boolean the output with each byte

---@param task claude-ide.language.Task
---@param folder string
---@param arguments string[]
---@param opts? claude-ide.git.Opts
---@return string? out without the last line break; nil: it failed
---@return string? err
function M.run(task, folder, arguments, opts)
  opts = opts or {}
  local stop = say_if_long(folder, arguments[1])
  local ok, result = pcall(function()
    return task:await(function(resume)
      start(folder, arguments, { text = not opts.exact, stdin = opts.input }, resume)
    end)
  end)
  stop()
  if not ok then
    return nil, ("git cannot run: %s"):format((tostring(result):gsub("^.-:%d+: ", "")))
  elseif result.code ~= 0 then
    log.info("git -C %s %s: %s", folder, table.concat(arguments, " "), result.stderr)
    local why = reason(result.stderr ~= "" and result.stderr or result.stdout)
    return nil, why or ("`git %s` failed with code %d."):format(arguments[1], result.code)
  end
  return opts.exact and result.stdout or (result.stdout:gsub("\n$", ""))
end

---@param task claude-ide.language.Task
---@param folder string
---@param arguments string[]
---@param opts? claude-ide.git.Opts
---@return string out fails the task if git fails
function M.must(task, folder, arguments, opts)
  local out, err = M.run(task, folder, arguments, opts)
  return out or task:fail(err or "git failed")
end

---The turns in a repository: the first one has begun, the others wait.
---@type table<string, fun()[]> by the folder that the worktrees share
local turns = {}

---Calls a function when those before it have ended: git fails at a worktree that is half made or half removed.
---No one cancels the tasks that do this; a cancelled one would keep its turn.
---@generic T
---@param task claude-ide.language.Task
---@param repository claude-ide.workspace.Repository
---@param fn fun(): T?
---@return T?
function M.in_turn(task, repository, fn)
  local key = path.real(repository.common)
  local queue = turns[key] or {}
  turns[key] = queue
  task:await(function(resume)
    table.insert(queue, resume)
    if #queue == 1 then
      resume()
    end
  end)
  local ok, value = pcall(fn)
  table.remove(queue, 1)
  if queue[1] then
    vim.schedule(queue[1]) -- this task goes on first
  else
    turns[key] = nil
  end
  if not ok then
    error(value, 0)
  end
  return value
end

---Files and folders that git has until a command ends, and its name. A rebase may have the head of a cherry-pick, too.
local UNFINISHED = {
  { "rebase-merge", "rebase" },
  { "rebase-apply/applying", "am" },
  { "rebase-apply", "rebase" },
  { "MERGE_HEAD", "merge" },
  { "REVERT_HEAD", "revert" },
  { "CHERRY_PICK_HEAD", "cherry-pick" },
  { "sequencer", "cherry-pick" },
  { "BISECT_START", "bisect" },
}

---What git has begun in a worktree and not ended.
---@param task claude-ide.language.Task
---@param folder string
---@return string? command
---@return string[] conflicts files
function M.unfinished(task, folder)
  local private = M.must(task, folder, { "rev-parse", "--absolute-git-dir" })
  local found = vim.iter(UNFINISHED):find(function(one)
    return vim.uv.fs_stat(private .. "/" .. one[1]) ~= nil
  end)
  local names = M.must(task, folder, { "diff", "--name-only", "-z", "--diff-filter=U" })
  return found and found[2], vim.split(names, "%z", { trimempty = true })
end

---@class claude-ide.git.Status
---@field uncommitted string[] changed and untracked files
---@field ignored string[] files and folders, and files with `--skip-worktree` or `--assume-unchanged`, whose changes git hides
---@field has_submodules boolean also a repository that was only added

---@param task claude-ide.language.Task
---@param folder string
---@return claude-ide.git.Status
function M.status(task, folder)
  local out = M.must(task, folder, {
    "status",
    "--porcelain=v1",
    "-z",
    "--untracked-files=normal",
    "--ignored=traditional",
    "--ignore-submodules=none",
  })
  local status = { uncommitted = {}, ignored = {}, has_submodules = false } ---@type claude-ide.git.Status
  local is_source = false -- of a renamed file: a part of its own
  for part in out:gmatch("[^%z]+") do
    local kind, name = part:sub(1, 2), part:sub(4)
    if is_source then
      is_source = false
    else
      is_source = kind:find("[RC]") ~= nil
      table.insert(kind == "!!" and status.ignored or status.uncommitted, name)
    end
  end
  for part in M.must(task, folder, { "ls-files", "-v", "--stage", "-z" }):gmatch("[^%z]+") do
    local tag, mode, name = part:match("^(%a) (%d+) %x+ %d\t(.*)$")
    status.has_submodules = status.has_submodules or mode == "160000"
    if tag and tag:find("[Sa-z]") and vim.uv.fs_lstat(folder .. "/" .. name) then -- a sparse worktree lacks most of these
      table.insert(status.ignored, name)
    end
    task:breathe()
  end
  return status
end

return M
