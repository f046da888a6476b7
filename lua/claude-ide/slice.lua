-- Long work a little per turn of the event loop, so that no key of the user's waits. The only module that knows how long a turn may be.
local lazy = require("claude-ide.lazy")
local safely = lazy("claude-ide.safely")

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

---Runs a function in slices. What fits into one is done at once.
---@generic T
---@param what string for the log
---@param work fun(pause: fun()): T calls `pause` between items
---@param done fun(result: T) possibly before this returns
---@return fun() cancel
function M.run(what, work, done)
  local is_over, cancelled = M.begin(), false
  local thread = coroutine.create(function()
    return work(function()
      if is_over() then
        ---@diagnostic disable-next-line: await-in-sync -- `step` goes on
        coroutine.yield()
      end
    end)
  end)
  local step ---@type fun()
  step = safely.wrap(what, function()
    if cancelled then
      return
    end
    is_over = M.begin()
    local ok, result = coroutine.resume(thread)
    if not ok then
      error(result, 0)
    elseif coroutine.status(thread) == "dead" then
      done(result)
    else
      M.later(step)
    end
  end)
  step()
  return function()
    cancelled = true
  end
end

return M
