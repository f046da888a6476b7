-- The process between Neovim and a kernel: kernel/bridge.py, one per kernel. JSON lines in both directions.
-- Invariant: it exits with Neovim, since its stdin is closed, and terminates its kernel. If it is killed, Neovim kills the kernel.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local root = lazy("claude-ide.base.root")
local safely = lazy("claude-ide.base.safely")

local M = {}

---As in kernel/bridge.py.
local PROTOCOL = 2
---Bytes of stderr kept for the log.
local STDERR_BYTES = 4096

---@class claude-ide.notebook.Bridge
---@field process vim.SystemObj
---@field kernel_pid? integer
local Bridge = {}
Bridge.__index = Bridge

---@class claude-ide.notebook.Event
---@field event "started"|"output"|"done"|"free"|"died"|"failed"|"answer"
---@field id? integer of the run

---Splits output into lines and passes each on, on the main loop.
---@param take fun(line: string)
---@return fun(err?: string, data?: string)
local function by_line(take)
  local parts = {} ---@type string[] of an incomplete line
  return function(_, data)
    local from = 1
    while data do
      local at = data:find("\n", from, true)
      if not at then
        parts[#parts + 1] = data:sub(from)
        return
      end
      parts[#parts + 1] = data:sub(from, at - 1)
      local line = table.concat(parts)
      parts, from = {}, at + 1
      vim.schedule(function()
        take(line)
      end)
    end
  end
end

local function kill_group(pid)
  pcall(vim.uv.kill, -pid, "sigkill")
end

---@param interpreter claude-ide.notebook.Interpreter
---@param wanted? { kernel?: string, language?: string } of the notebook
---@param cwd string
---@param images string folder for images
---@param on_event fun(event: claude-ide.notebook.Event) on the main loop
---@param on_exit fun(why: string) once, after the last event
---@return claude-ide.notebook.Bridge?
---@return string? err
function M.start(interpreter, wanted, cwd, images, on_event, on_exit)
  local self = setmetatable({}, Bridge)
  local stderr = ""
  local function exited(result)
    if result.signal ~= 0 and self.kernel_pid then
      kill_group(self.kernel_pid)
    end
    local said = vim.trim(stderr)
    if said ~= "" then
      log.info("the kernel's process said: %s", said)
    end
    on_exit(result.signal ~= 0 and "signal " .. result.signal or said:match("[^\n]*$") or "")
  end
  local ok, process = pcall(vim.system, {
    interpreter.path,
    root.dir() .. "/kernel/bridge.py",
  }, {
    cwd = cwd,
    stdin = true,
    detach = true, -- not interrupted by Ctrl-C in Neovim's terminal
    env = { PYTHONDONTWRITEBYTECODE = "1" },
    stdout = by_line(function(line)
      local decoded, event = pcall(vim.json.decode, line, { luanil = { object = true } })
      if not decoded or type(event) ~= "table" then
        return log.error("the kernel's process said no JSON: %s", line:sub(1, 200))
      end
      self.kernel_pid = event.kernel_pid or self.kernel_pid
      safely.wrap("hear a kernel", on_event)(event)
    end),
    stderr = function(_, data)
      stderr = (stderr .. (data or "")):sub(-STDERR_BYTES)
    end,
  }, vim.schedule_wrap(exited))
  if not ok then
    return nil, tostring(process)
  end
  self.process = process
  self:send({ protocol = PROTOCOL, kernel = interpreter.kernel, wanted = wanted, cwd = cwd, images = images })
  return self
end

---@param order table
function Bridge:send(order)
  pcall(self.process.write, self.process, vim.json.encode(order) .. "\n")
end

---Ends it; the kernel gets a moment to clean up.
function Bridge:close()
  pcall(self.process.write, self.process, nil)
end

return M
