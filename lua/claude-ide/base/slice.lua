-- Long work a little per turn of the event loop, so that no key of the user's waits. The only module that knows how long a turn may be.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")

local M = {}

---Time of a slice.
M.MS = 7

---Pause between two slices, for keys and the screen.
local PAUSE_MS = 1

---Begins a slice.
---@param ms? number default: `M.MS`
---@return fun(): boolean is_over call it after each piece of work: whether a further one may exceed the slice
function M.begin(ms)
  local before, longest = vim.uv.hrtime(), 0
  local stop = before + (ms or M.MS) * 1e6
  return function()
    local now = vim.uv.hrtime()
    before, longest = now, math.max(longest, now - before)
    return now + longest > stop
  end
end

---Goes on in a later slice. By a timer: scheduled functions that schedule more hold up the user's keys.
---@param fn fun()
---@param pause_ms? integer
function M.later(fn, pause_ms)
  vim.defer_fn(fn, pause_ms or PAUSE_MS)
end

---Yielded while the work waits for something else than its next slice.
local WAITS = {}

---Runs a function in slices, in a coroutine. What fits into one is done at once. An error is logged.
---@generic T
---@param what string for the log
---@param work fun(pause: fun(), wait: fun(start: fun(go_on: fun()))): T, any calls `pause` between items; `wait` starts something and
---  returns once that has called `go_on`
---@param done fun(result: T, more: any) possibly before this returns
---@param failed? fun() after an error of the work
---@return fun() cancel
function M.run(what, work, done, failed)
  local is_over, cancelled = M.begin(), false
  local step ---@type fun()
  local function pause()
    if is_over() then
      ---@diagnostic disable-next-line: await-in-sync -- `step` goes on
      coroutine.yield()
    end
  end
  local function wait(start)
    local has_come, is_awaited = false, false
    start(function()
      has_come = true
      if is_awaited then
        step()
      end
    end)
    if not has_come then
      is_awaited = true
      ---@diagnostic disable-next-line: await-in-sync -- `step` goes on
      coroutine.yield(WAITS)
    end
  end
  local thread = coroutine.create(function()
    return work(pause, wait)
  end)
  step = function()
    if cancelled then
      return
    end
    is_over = M.begin()
    local ok, result, more = coroutine.resume(thread)
    if not ok then
      log.error("cannot %s: %s", what, debug.traceback(thread, result))
      if failed then
        failed()
      end
    elseif coroutine.status(thread) == "dead" then
      done(result, more)
    elseif result ~= WAITS then
      M.later(step)
    end
  end
  step()
  return function()
    cancelled = true
  end
end

return M
