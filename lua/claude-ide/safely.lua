-- What goes wrong inside is a line in the log, never a stack trace in the middle of reading or editing.

local M = {}

---Makes a function that logs its error instead of raising it.
---@param doing string for the log: "follow a transcript"
---@param fn fun(...): any
---@return fun(...): any
function M.wrap(doing, fn)
  return function(...)
    local ok, result = xpcall(fn, debug.traceback, ...)
    if ok then
      return result
    end
    require("claude-ide.log").error("cannot %s: %s", doing, result)
  end
end

local function traceback(err)
  return debug.traceback(tostring(err), 2)
end

---Makes a function that hands its error on instead of raising it.
---@param fn function
---@param failed fun(trace: string)
---@return fun(...: any): boolean ok
function M.catch(fn, failed)
  return function(...)
    local ok, trace = xpcall(fn, traceback, ...)
    if not ok then
      failed(trace)
    end
    return ok
  end
end

return M
