-- The process between Neovim and a kernel: kernel/bridge.py, one for each. Lines of JSON both ways.
-- Invariant: it ends with Neovim, however that ends, since its stdin does; and it takes its kernel along. Should it be killed,
-- its kernel is killed from here.
local M = {}

---As in kernel/bridge.py.
local PROTOCOL = 2
---How much of what it says on stderr is kept for the log.
local STDERR_BYTES = 4096

---@class claude-ide.notebook.Bridge
---@field process vim.SystemObj
---@field kernel_pid? integer
local Bridge = {}
Bridge.__index = Bridge

---@class claude-ide.notebook.Event
---@field event "started"|"output"|"done"|"free"|"died"|"failed"|"answer"
---@field id? integer of the run

---Calls a function with each line, on the main loop.
---@param take fun(line: string)
---@return fun(err?: string, data?: string)
local function by_line(take)
  local parts = {} ---@type string[] of a line that has not ended
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

---Starts one.
---@param interpreter claude-ide.notebook.Interpreter
---@param wanted? { kernel?: string, language?: string } by the notebook
---@param cwd string
---@param images string the folder for them
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
      require("claude-ide.log").info("the kernel's process said: %s", said)
    end
    on_exit(result.signal ~= 0 and "signal " .. result.signal or said:match("[^\n]*$") or "")
  end
  local ok, process = pcall(vim.system, {
    interpreter.path,
    require("claude-ide.root").dir() .. "/kernel/bridge.py",
  }, {
    cwd = cwd,
    stdin = true,
    detach = true, -- a Ctrl-C in the terminal of Neovim is not for it
    env = { PYTHONDONTWRITEBYTECODE = "1" },
    stdout = by_line(function(line)
      local decoded, event = pcall(vim.json.decode, line, { luanil = { object = true } })
      if not decoded or type(event) ~= "table" then
        return require("claude-ide.log").error("the kernel's process said no JSON: %s", line:sub(1, 200))
      end
      self.kernel_pid = event.kernel_pid or self.kernel_pid
      require("claude-ide.safely").wrap("hear a kernel", on_event)(event)
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

---Asks it to end: the kernel may still tidy up, for a moment.
function Bridge:close()
  pcall(self.process.write, self.process, nil)
end

return M
