-- A tool call that waits for others: for language servers, for its turn. It is one function, run as a coroutine, whose result is the
-- answer.
-- Invariants: a call is answered once, or cancelled and not answered; cancelling withdraws what it waits for; no slice blocks Neovim
-- for long.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local safely = lazy("claude-ide.base.safely")
local server = lazy("claude-ide.server")
local slice = lazy("claude-ide.base.slice")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---@class claude-ide.language.Task
---@field call claude-ide.Call
---@field thread thread
---@field respond claude-ide.Respond
---@field ended boolean answered or cancelled
---@field take_back? fun() withdraws what it waits for
---@field is_over fun(): boolean whether its slice is used up
---@field reports integer number of progress reports
local Task = {}
Task.__index = Task

---A failure that is the answer, as opposed to a bug.
---@class claude-ide.language.Failure
---@field code "invalid_params"|"failed"
---@field message string
local Failure = {}
Failure.__index = Failure

---@type table<integer, claude-ide.language.Task> by call
local tasks = {}

function Task:finish(result, err)
  self.ended = true
  tasks[self.call.id] = nil
  self.respond(result, err)
end

function Task:continue(...)
  if self.ended then
    return
  end
  self.is_over = slice.begin()
  local serve = workspace.serve
  local ok, result, err = serve(self.call.client, coroutine.resume, self.thread, ...)
  if not ok then
    local failure = result
    if getmetatable(failure) ~= Failure then
      local name = self.call.name
      log.error("%s failed: %s", name, debug.traceback(self.thread, tostring(failure)))
      local line = safely.brief(failure)
      failure = { code = "failed", message = ("%s failed: %s"):format(name:match("[^.]*$"), line) }
    end
    self:finish(nil, failure)
  elseif coroutine.status(self.thread) == "dead" then
    self:finish(result, err)
  end
end

---Ends the task with an error for the model.
---@param message string for the model to read
---@param code? "invalid_params"|"failed"
---@return any never
function Task:fail(message, code)
  error(setmetatable({ code = code or "failed", message = message }, Failure), 0)
end

---Starts something, waits for its callback, and returns the arguments of the first call.
---@param begin fun(resume: fun(...)): fun()? returns a function that cancels it
---@return any ...
function Task:await(begin)
  local values ---@type table?
  local waiting = false
  local function resume(...)
    if values then
      return
    end
    values = vim.F.pack_len(...)
    if not waiting then
      return
    elseif vim.in_fast_event() then
      vim.schedule(function()
        self:continue()
      end)
    else
      self:continue()
    end
  end
  local take_back = begin(resume)
  if not values then
    waiting, self.take_back = true, take_back
    ---@diagnostic disable-next-line: await-in-sync
    coroutine.yield()
    self.take_back = nil
  end
  return vim.F.unpack_len(values --[[@as table]])
end

---@param ms integer
function Task:sleep(ms)
  self:await(function(resume)
    local timer = vim.defer_fn(resume, ms)
    return function()
      if not timer:is_closing() then
        timer:close()
      end
    end
  end)
end

---Yields when the slice is used up. Call it regularly in long loops.
function Task:breathe()
  if self.is_over() then
    -- Through the event loop: scheduled functions would run before the next key.
    self:sleep(0)
  end
end

---Sends a progress report, if the client asked for them.
---@param message string
function Task:progress(message)
  if self.call.progress == nil then
    return
  end
  self.reports = self.reports + 1
  server.notify("notifications/progress", {
    progressToken = self.call.progress,
    progress = self.reports,
    message = message,
  }, self.call.client)
end

---Runs a call as a task.
---@param call claude-ide.Call
---@param respond claude-ide.Respond
---@param fn fun(task: claude-ide.language.Task): any, claude-ide.CallError?
function M.start(call, respond, fn)
  local task = setmetatable({ call = call, respond = respond, ended = false, reports = 0 }, Task)
  task.thread = coroutine.create(fn)
  tasks[call.id] = task
  task:continue(task)
end

---The last call that is not a client's. Negative: ids of clients' calls are positive.
local last_own = 0

---Runs a task that no client has called.
---@param name string
---@param fn fun(task: claude-ide.language.Task): any, claude-ide.CallError?
---@param done claude-ide.Respond not called if it is cancelled
---@return claude-ide.Call call for `cancel`
function M.run(name, fn, done)
  last_own = last_own - 1
  local call = { id = last_own, client = 0, name = name } --[[@as claude-ide.Call]]
  M.start(call, done, fn)
  return call
end

---Cancels the task of a call, and what it waits for.
---@param call claude-ide.Call
function M.cancel(call)
  local task = tasks[call.id]
  if not task then
    return
  end
  tasks[call.id] = nil
  task.ended = true
  if task.take_back then
    task.take_back()
  end
end

---A tool that runs as a task.
---@param fn fun(task: claude-ide.language.Task, args: table): any, claude-ide.CallError?
---@return claude-ide.Tool
function M.tool(fn)
  return {
    run = function(args, respond, call)
      M.start(call, respond, function(task)
        return fn(task, args)
      end)
    end,
    cancel = M.cancel,
  }
end

return M
