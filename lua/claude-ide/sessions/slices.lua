-- Work on thousands of sessions, in slices short enough that no key of the user's waits. What fits into one is done at once.

local SLICE_NS = 8 * 1000 * 1000

---@generic T
---@param what string for the log
---@param work fun(pause: fun()): T calls `pause` between items
---@param done fun(result: T) possibly before this returns
---@return fun() cancel
return function(what, work, done)
  local began, cancelled = 0, false
  local thread = coroutine.create(function()
    return work(function()
      if vim.uv.hrtime() - began > SLICE_NS then
        ---@diagnostic disable-next-line: await-in-sync -- `step` goes on
        coroutine.yield()
      end
    end)
  end)
  local step ---@type fun()
  step = require("claude-ide.safely").wrap(what, function()
    if cancelled then
      return
    end
    began = vim.uv.hrtime()
    local ok, result = coroutine.resume(thread)
    if not ok then
      error(result, 0)
    elseif coroutine.status(thread) == "dead" then
      done(result)
    else
      vim.defer_fn(step, 1)
    end
  end)
  step()
  return function()
    cancelled = true
  end
end
