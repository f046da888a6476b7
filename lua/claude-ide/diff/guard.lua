-- What fails on a diff's way to the screen: it becomes a line in the log, never a stack trace in an editor.
local M = {}

---@param err any
---@return string
local function traceback(err)
  return debug.traceback(tostring(err), 2)
end

---Makes a function that hands its error on instead of raising it.
---@param fn function
---@param failed fun(trace: string)
---@return fun(...: any): boolean ok
function M.wrap(fn, failed)
  return function(...)
    local ok, trace = xpcall(fn, traceback, ...)
    if not ok then
      failed(trace)
    end
    return ok
  end
end

return M
