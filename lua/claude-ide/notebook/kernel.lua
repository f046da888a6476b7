-- A kernel: queues runs, executes them in order, and answers each. Its process may be restarted.
-- Invariants: a run is answered once, or dropped by its requester; runs start in the order of their requests; the first run after the
-- variables were lost reports that.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local confirm = lazy("claude-ide.notebook.confirm")
local document = lazy("claude-ide.notebook.document")
local log = lazy("claude-ide.notebook.log")
local notebook_bridge = lazy("claude-ide.notebook.bridge")
local notebook_interpreter = lazy("claude-ide.notebook.interpreter")
local notebook_run = lazy("claude-ide.notebook.run")
local requests = lazy("claude-ide.requests")

local M = {}

local MAX_QUEUE = 64
---Timeout of a start, for a Python that hangs.
local START_MS = 90000

---@class claude-ide.notebook.Kernel
---@field name string for the user
---@field cwd string
---@field notebook? string its file
---@field state "off"|"starting"|"idle"|"busy"|"stubborn"
---@field bridge? claude-ide.notebook.Bridge
---@field about? string implementation and version
---@field language? string of the running kernel
---@field current? claude-ide.notebook.Run
---@field queue claude-ide.notebook.Run[]
---@field lost? string why earlier variables are gone, not reported yet
---@field unlike? string how it differs from the notebook's kernel, not reported yet
---@field tell_started? fun(err?: string) for a start without a run
---@field starts integer incremented by each start and end, to detect restarts in asynchronous code
---@field used number time of its last run
---@field failure? string why it cannot start
local Kernel = {}
Kernel.__index = Kernel

local last_run = 0

---@param name string
---@param cwd string
---@param notebook? string
---@return claude-ide.notebook.Kernel
function M.new(name, cwd, notebook)
  local fields = {
    name = name,
    cwd = cwd,
    notebook = notebook,
    state = "off",
    starts = 0,
    queue = {},
    used = vim.uv.now(),
  }
  return setmetatable(fields, Kernel)
end

---@return claude-ide.Config.notebook
local function options()
  return config.get().notebook
end

-- The process

---Ends the process, and answers its run.
---@param why string answer to the run
---@param lost? string why the variables are gone; nil: not to be reported
function Kernel:end_process(why, lost)
  local bridge, run = self.bridge, self.current
  self.bridge, self.about, self.language, self.tell_started = nil, nil, nil, nil
  if bridge or self.state == "starting" then
    self.state, self.starts = "off", self.starts + 1
  end
  if bridge then
    self.lost = lost
    bridge:close()
  end
  if run and (run.phase == "starting" or run.phase == "running") then
    self.current = nil
    log.ended(run, why)
    notebook_run.finish(run, nil, why)
  end
end

---@param event table
function Kernel:on_started(event)
  self.language = event.language
  self.about = ("%s, %s %s"):format(event.implementation, event.language, event.version)
  self.state = "idle"
  self.unlike = event.instead_of
    and ("The notebook names the kernel %s, which is not installed. This is %s."):format(
      event.instead_of,
      self.about
    )
  self:has_started()
  if self.current and self.current.phase == "starting" then
    self:send_run()
  else
    self:pump()
  end
end

---@param event table
function Kernel:on_done(event)
  local run = self.current
  if not run or run.id ~= event.id then
    return
  end
  if event.status == "died" and self.bridge then
    self.bridge:close()
    self.bridge = nil -- `lost` stays unset: this answer reports it
  end
  local answer, line = notebook_run.answer(run, event)
  notebook_run.finish(run, answer)
  log.ended(run, line)
  if event.status == "stubborn" then
    self.state, run.overdue = "stubborn", true
    self:refuse_waiting(notebook_run.STUBBORN)
  else
    self:become_idle()
  end
end

function Kernel:become_idle()
  self.current = nil
  self.state = self.bridge and "idle" or "off"
  self:pump()
end

---@param why string
function Kernel:refuse_waiting(why)
  local waiting = self.queue
  self.queue = {}
  for _, run in ipairs(waiting) do
    if run.restart then
      self.queue[#self.queue + 1] = run
    else
      notebook_run.finish(run, nil, why)
    end
  end
  self:pump()
end

---@param event table
function Kernel:on_event(event)
  if event.event == "started" then
    self:on_started(event)
  elseif event.event == "output" and self.current and self.current.id == event.id then
    log.output(event)
  elseif event.event == "done" then
    self:on_done(event)
  elseif event.event == "free" and self.state == "stubborn" then
    self:become_idle()
  elseif event.event == "failed" then
    self.failure = event.message
  elseif event.event == "died" and self.bridge then
    self.bridge:close()
    self:on_exit("the kernel ended")
  end
end

---The process has exited by itself.
---@param why string
function Kernel:on_exit(why)
  local failure = self.failure or (why ~= "" and "its process ended: " .. why) or "its process ended"
  local was = self.state
  self.bridge, self.state, self.failure = nil, "off", nil
  if was == "starting" then
    notebook_interpreter.look() -- Python may have been removed
  end
  local failed = "The kernel cannot be started: " .. failure .. "."
  local run = self.current
  self.current = nil
  self:has_started(failed)
  if was ~= "starting" and not (run and run.phase == "running" and not run.overdue) then
    self.lost = self.lost or "the one before had ended"
  end
  if run and not run.overdue then
    local message = was == "starting" and failed or notebook_run.DIED
    log.ended(run, message)
    notebook_run.finish(run, nil, message)
  end
  self:pump()
end

---@param interpreter claude-ide.notebook.Interpreter
---@param wanted? { kernel?: string, language?: string } of the notebook
function Kernel:spawn(interpreter, wanted)
  local bridge, err
  bridge, err = notebook_bridge.start(interpreter, wanted, self.cwd, log.images(), function(event)
    if self.bridge == bridge then
      self:on_event(event)
    end
  end, function(why)
    if self.bridge == bridge then
      self:on_exit(why)
    end
  end)
  self.bridge = bridge
  if not bridge then
    return self:on_exit(err or "")
  end
  vim.defer_fn(function()
    if self.bridge == bridge and self.state == "starting" then
      bridge.process:kill("sigkill")
    end
  end, START_MS)
end

---@param err? string
function Kernel:has_started(err)
  local tell = self.tell_started
  self.tell_started = nil
  if tell then
    tell(err)
  end
end

---Starts the process, if it is not running.
---@param tell? fun(err?: string) called when it is ready or has failed
function Kernel:start(tell)
  if self.state ~= "off" then
    return
  end
  self.tell_started = tell
  self.state, self.starts = "starting", self.starts + 1
  local start = self.starts
  notebook_interpreter.interpreter(function(found, missing)
    if self.starts ~= start then
      return -- stopped meanwhile
    elseif found then
      return document.wanted(self.notebook, function(wanted)
        if self.starts == start then
          self:spawn(found, wanted)
        end
      end)
    end
    self.failure = missing and missing.what:gsub("%.$", "") or "no Python was found"
    self:on_exit("")
  end)
end

-- The queue

---@param run claude-ide.notebook.Run
function Kernel:begin(run)
  run.phase = "starting"
  if run.restart then
    self.current = nil
    self:end_process("", nil)
    self.current = run
  end
  if self.state == "idle" then
    self:send_run() -- first: it runs while the log is written
    log.began(self, run)
  else
    log.began(self, run)
    self:start()
  end
end

function Kernel:send_run()
  local run = self.current --[[@as claude-ide.notebook.Run]]
  if run.dropped then
    return self:become_idle()
  end
  run.phase, self.state, self.used = "running", "busy", vim.uv.now()
  run.news = {}
  if self.lost and not run.restart then
    run.news[1] = ("A new kernel: %s. Variables of before are gone."):format(self.lost)
  end
  run.news[#run.news + 1] = self.unlike
  self.lost, self.unlike = nil, nil
  local bridge = self.bridge --[[@as claude-ide.notebook.Bridge]]
  bridge:send({
    ["do"] = "run",
    id = run.id,
    code = run.code,
    keep = run.keep or false,
    limit = options().max_output,
    timeout = options().timeout_ms / 1000,
  })
end

---Starts the next run.
function Kernel:pump()
  local is_free = not self.current or (self.state == "stubborn" and self.queue[1] and self.queue[1].restart)
  if not is_free or self.state == "starting" then
    return
  end
  local run = table.remove(self.queue, 1)
  if not run then
    return
  end
  self.current = run
  if not (run.confirm or options().confirm) then
    return self:begin(run)
  end
  run.phase = "asking"
  confirm.ask(self, run, function(may_run, err)
    run.request = nil
    if may_run then
      return self:begin(run)
    end
    self.current = nil
    notebook_run.finish(run, nil, err)
    self:pump()
  end)
end

---@param run claude-ide.notebook.Run
---@return boolean? ok
---@return string? err
function Kernel:add(run)
  if #self.queue >= MAX_QUEUE then
    return nil, ("%d runs wait for this kernel already."):format(MAX_QUEUE)
  elseif self.state == "stubborn" and not run.restart then
    return nil, notebook_run.STUBBORN
  end
  last_run = last_run + 1
  run.id, run.phase = last_run, "waiting"
  table.insert(self.queue, run)
  self:pump()
  return true
end

---The requester dropped a run.
---@param run claude-ide.notebook.Run
function Kernel:cancel(run)
  run.dropped = true
  if run.phase == "waiting" then
    self.queue = vim.tbl_filter(function(other)
      return other ~= run
    end, self.queue)
  elseif run.phase == "asking" and run.request then
    requests.cancel(run.request, "Claude withdrew it")
    self.current = nil
    self:pump()
  elseif run.phase == "running" then
    self:interrupt()
  end
end

---@return boolean interrupted false: nothing runs
function Kernel:interrupt()
  if not (self.current and self.current.phase == "running" and self.bridge) then
    return false
  end
  self.bridge:send({ ["do"] = "interrupt" })
  return true
end

---Restarts the kernel for the user.
function Kernel:restart()
  self:end_process("The user restarted the kernel.", "the user restarted it")
  self:start()
end

---Stops the kernel for the user.
function Kernel:stop()
  local waiting = self.queue
  self.queue = {}
  self:end_process("The user stopped the kernel.", "the user had stopped the one before")
  local asked = self.current
  if asked and asked.phase == "asking" and asked.request then
    self.current = nil
    requests.cancel(asked.request, "the kernel is stopped")
    table.insert(waiting, 1, asked)
  end
  for _, run in ipairs(waiting) do
    notebook_run.finish(run, nil, "The user stopped the kernel.")
  end
end

return M
