-- `:Claude kernel`: controls the kernels that Claude's code runs in.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.notebook.log")
local notebook = lazy("claude-ide.notebook")
local notice = lazy("claude-ide.base.notice")

local M = {}

local function say(text)
  notice.info(text)
end

local function describe(kernel)
  local states = {
    off = "not running",
    starting = "starting",
    idle = "idle",
    busy = "running code",
    stubborn = "running code that ignores the interrupt",
  }
  local count = #kernel.queue
  local waiting = count == 0 and "" or count == 1 and ", 1 more waits" or (", %d more wait"):format(count)
  local about = kernel.about and (" (%s)"):format(kernel.about) or ""
  return ("%s is %s%s%s"):format(kernel.name, states[kernel.state], waiting, about)
end

---Starts a kernel, and reports when it is ready, after seconds.
local function start(kernel)
  if kernel.state ~= "off" then
    return say("Kernel: " .. describe(kernel))
  end
  kernel:start(function(err)
    if err then
      notice.warn(err)
    else
      say(("The kernel of %s is ready (%s)."):format(kernel.name, kernel.about))
    end
  end)
  if kernel.state == "starting" then
    say(("The kernel of %s is starting."):format(kernel.name))
  end
end

---@return boolean? ok
---@return string? err
local function status()
  local list = notebook.list()
  if #list == 0 then
    say("No kernel was started yet.")
  else
    say("Kernel: " .. table.concat(vim.tbl_map(describe, list), "; "))
  end
  return true
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  local action = words[1]
  if not action then
    return status()
  elseif action == "log" then
    return log.open()
  end
  local kernel, err = notebook.meant(action == "start")
  if not kernel then
    return nil, err
  elseif action == "start" then
    start(kernel)
  elseif action == "interrupt" then
    if not kernel:interrupt() then
      return nil, ("Nothing runs in the kernel of %s."):format(kernel.name)
    end
    say(("The kernel of %s is interrupted."):format(kernel.name))
  elseif kernel.state == "off" then
    return nil, ("The kernel of %s is not running."):format(kernel.name)
  elseif action == "restart" then
    kernel:restart()
    say(("Restarting the kernel of %s."):format(kernel.name))
  else
    kernel:stop()
    say(("The kernel of %s is stopped."):format(kernel.name))
  end
  return true
end

return M
