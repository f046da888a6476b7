-- `:Claude kernel`: what a person does with the kernels that Claude's code runs in.
local M = {}

M.ACTIONS = { "start", "interrupt", "restart", "stop", "log" }

---@param text string
local function say(text)
  require("claude-ide.ui.notice").info(text)
end

---@param kernel claude-ide.notebook.Kernel
---@return string
local function describe(kernel)
  local states = {
    off = "does not run",
    starting = "starts",
    idle = "waits",
    busy = "runs code",
    stubborn = "runs code that ignores the interrupt",
  }
  local waiting = #kernel.queue > 0 and (", %d more wait"):format(#kernel.queue) or ""
  local about = kernel.about and (" (%s)"):format(kernel.about) or ""
  return ("%s %s%s%s"):format(kernel.name, states[kernel.state], waiting, about)
end

---Says how things stand.
---@return boolean? ok
---@return string? err
local function status()
  local list = require("claude-ide.notebook").list()
  if #list == 0 then
    say("No kernel was started yet.")
  else
    say("Kernel: " .. table.concat(vim.tbl_map(describe, list), "; "))
  end
  return true
end

---@param action? string
---@return boolean? ok
---@return string? err
function M.run(action)
  if not action then
    return status()
  elseif action == "log" then
    return require("claude-ide.notebook.log").open()
  elseif not vim.list_contains(M.ACTIONS, action) then
    return nil, ("`:Claude kernel %s`: expected start, interrupt, restart, stop or log."):format(action)
  end
  local kernel, err = require("claude-ide.notebook").meant(action == "start")
  if not kernel then
    return nil, err
  elseif action == "start" then
    kernel:start()
    say(describe(kernel))
  elseif action == "interrupt" then
    if not kernel:interrupt() then
      return nil, ("Nothing runs in the kernel of %s."):format(kernel.name)
    end
    say(("The kernel of %s is interrupted."):format(kernel.name))
  elseif kernel.state == "off" then
    return nil, ("The kernel of %s does not run."):format(kernel.name)
  elseif action == "restart" then
    kernel:restart()
    say(("The kernel of %s starts anew."):format(kernel.name))
  else
    kernel:stop()
    say(("The kernel of %s is stopped."):format(kernel.name))
  end
  return true
end

return M
