-- Installs the native library: an existing one, else one that is downloaded, else one that cargo builds
-- (lua/claude-ide/library/install.lua). lazy.nvim finds this file by itself and runs it in a coroutine, which may take as long as it
-- takes; a shell command it would end after two minutes. For other plugin managers: `dofile(folder .. "/build.lua")`, or
-- `make install`.
-- Neovim goes on meanwhile. Progress is shown, what goes wrong is raised.

---@diagnostic disable: await-in-sync -- it asks whether it runs in a coroutine

local POLL_MS = 100
local SHOW_EVERY_NS = 500 * 1000 * 1000

local root = vim.fn.fnamemodify(assert(debug.getinfo(1, "S")).source:sub(2), ":p:h")

---The coroutine's handle in lazy.nvim, if lazy.nvim runs this: it can sleep. Other callers have to resume the coroutine.
---@return { sleep: fun(self: table, ms: integer) }?
local function lazy_task()
  local async = package.loaded["lazy.async"]
  local running = type(async) == "table" and async.running
  local task = type(running) == "function" and running()
  return type(task) == "table" and type(task.sleep) == "function" and task or nil
end

---Whether the caller can resume a coroutine that yields: within `dofile` none can.
---@return boolean
local function may_yield()
  ---@type (fun(): boolean)?
  local asked = coroutine["isyieldable"]
  if asked then
    return asked()
  end
  return coroutine.running() ~= nil
end

---@param message string
local function show(message)
  if may_yield() then
    coroutine.yield(message)
  elseif #vim.api.nvim_list_uis() == 0 then
    io.stdout:write(message, "\n")
    io.stdout:flush()
  else
    local room = math.max(vim.o.columns - 12, 1)
    vim.api.nvim_echo({ { vim.fn.strcharpart(message, 0, room) } }, false, {})
    vim.cmd.redraw()
  end
end

local task = may_yield() and lazy_task() or nil

---@type string?
local pending
local shown_at = 0

---Called from callbacks too, which may neither yield nor draw.
---@param message string
local function tell(message)
  pending = message
end

local function pause()
  if pending and vim.uv.hrtime() - shown_at > SHOW_EVERY_NS then
    show("claude-ide.nvim: " .. pending)
    pending, shown_at = nil, vim.uv.hrtime()
  end
  if task then
    task:sleep(POLL_MS)
  elseif may_yield() then
    coroutine.yield()
  elseif select(2, vim.wait(POLL_MS)) == -2 then
    error("claude-ide.nvim: the installation was stopped by CTRL-C", 0)
  end
end

local DONE = {
  there = "the library is there already",
  downloaded = "the library is downloaded",
  built = "the library is built",
}
-- From the disk: a Neovim in which the plugin is updated may have the older module loaded.
local install = dofile(root .. "/lua/claude-ide/library/install.lua")
local opts = { root = root, tell = tell, pause = pause }

if arg and vim.fn.fnamemodify(arg[0] or "", ":p") == root .. "/build.lua" then -- `nvim -l build.lua`, which would print a stack trace after an error
  local ok, said = pcall(install.run, opts)
  io[ok and "stdout" or "stderr"]:write(ok and "claude-ide.nvim: " .. DONE[said] or said, "\n")
  return not ok and vim.cmd("1cquit")
end
show("claude-ide.nvim: " .. DONE[install.run(opts)])
