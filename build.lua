-- Builds the native library. lazy.nvim finds this file by itself and runs it in a coroutine, which may take as long as it
-- takes; a shell command it would end after two minutes. For other plugin managers: `dofile(folder .. "/build.lua")`, or
-- `make build`.
-- Neovim goes on meanwhile. What cargo is at is told as progress, what goes wrong is raised.

---@diagnostic disable: await-in-sync -- it asks whether it runs in a coroutine

local POLL_MS = 100
local TELL_EVERY_NS = 500 * 1000 * 1000
local LINES_OF_FAILURE = 20

local root = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")

---The coroutine's handle in lazy.nvim, where that is what runs this. It can sleep; others have to come by again.
---@return { sleep: fun(self: table, ms: integer) }?
local function lazy_task()
  local async = package.loaded["lazy.async"]
  local running = type(async) == "table" and async.running
  local task = type(running) == "function" and running()
  return type(task) == "table" and type(task.sleep) == "function" and task or nil
end

---Whether whoever runs this comes by again: within `dofile` nobody could, even in a coroutine.
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
local function tell(message)
  if may_yield() then
    coroutine.yield(message)
  else
    local room = math.max(vim.o.columns - 12, 1)
    vim.api.nvim_echo({ { vim.fn.strcharpart(message, 0, room) } }, false, {})
    vim.cmd.redraw()
  end
end

local task = may_yield() and lazy_task() or nil

local function pause()
  if task then
    task:sleep(POLL_MS)
  elseif may_yield() then
    coroutine.yield()
  else
    vim.wait(POLL_MS)
  end
end

---@type string[]
local lines = {}
local last = "cargo begins"

---@param _ string?
---@param chunk? string
local function take(_, chunk)
  for line in (chunk or ""):gmatch("[^\r\n]+") do
    lines[#lines + 1] = line
    last = vim.trim(line)
  end
end

---@type vim.SystemCompleted?
local done
vim.system(
  { "sh", root .. "/scripts/build.sh" },
  { cwd = root, stdout = take, stderr = take },
  function(result)
    done = result
  end
)

local told
local told_at = 0
while not done do
  if last ~= told and vim.uv.hrtime() - told_at > TELL_EVERY_NS then
    told, told_at = last, vim.uv.hrtime()
    tell("claude-ide.nvim: " .. told)
  end
  pause()
end

if done.code ~= 0 then
  local first = math.max(#lines - LINES_OF_FAILURE + 1, 1)
  error("claude-ide.nvim could not be built:\n" .. table.concat(lines, "\n", first), 0)
end
tell("claude-ide.nvim: the library is built")
