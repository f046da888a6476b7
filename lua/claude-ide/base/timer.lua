-- Timers of the main loop. What one calls may use all of Neovim's functions, and its errors are logged.
-- Invariant: a timer that was stopped or started again does not call what it was to call before, though its time may have been over.
local lazy = require("claude-ide.lazy")
local safely = lazy("claude-ide.base.safely")

local M = {}

---@class claude-ide.Timer
---@field doing string
---@field package handle? uv.uv_timer_t while it runs
local Timer = {}
Timer.__index = Timer

---@param timer claude-ide.Timer
---@param milliseconds number
---@param again integer
---@param fn fun()
local function start(timer, milliseconds, again, fn)
  timer:stop()
  local handle = assert(vim.uv.new_timer())
  local call = safely.wrap(timer.doing, fn)
  timer.handle = handle
  local function run()
    if timer.handle ~= handle then
      return
    elseif again == 0 then
      timer:stop()
    end
    call()
  end
  handle:start(math.max(math.ceil(milliseconds), 0), again, vim.schedule_wrap(run))
end

---Calls a function after a time.
---@param milliseconds number
---@param fn fun()
function Timer:start(milliseconds, fn)
  start(self, milliseconds, 0, fn)
end

---Calls a function again and again.
---@param milliseconds integer
---@param fn fun()
function Timer:every(milliseconds, fn)
  start(self, milliseconds, milliseconds, fn)
end

function Timer:stop()
  if self.handle then
    self.handle:close()
    self.handle = nil
  end
end

---Whether it is to call something.
---@return boolean
function Timer:is_active()
  return self.handle ~= nil
end

---@param doing string what it does, for the log and for tests: "hide a hint"
---@return claude-ide.Timer
function M.new(doing)
  return setmetatable({ doing = doing }, Timer)
end

return M
