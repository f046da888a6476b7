-- What goes wrong while a transcript is shown is a line in the log, never an error in the middle of reading.

local M = {}

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

return M
