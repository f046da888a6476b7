-- Turns errors into log lines instead of stack traces on the screen.

local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")

local M = {}

---Wraps a function to log its errors.
---@param doing string what fails, for the log: "follow a transcript"
---@param fn fun(...): any
---@return fun(...): any
function M.wrap(doing, fn)
  return function(...)
    local ok, result = xpcall(fn, debug.traceback, ...)
    if ok then
      return result
    end
    log.error("cannot %s: %s", doing, result)
  end
end

---The first line of an error, without its position.
---@param err any
---@return string
function M.brief(err)
  local line = tostring(err):match("^[^\n]*") --[[@as string]]
  return (line:gsub("^[^%s:]+%.lua:%d+: ", ""))
end

local function traceback(err)
  return debug.traceback(tostring(err), 2)
end

---Wraps a function to pass on its errors.
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
