-- Receives events of the library on the main loop: the library wakes Lua, which polls one event at a time.
-- Rust never calls Lua. One async handle serves the process, also without the server.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local slice = lazy("claude-ide.base.slice")

local M = {}

---@type uv.uv_async_t? one per process: the library keeps it
local async
---@type table<string, fun(event: table)>
local receivers = {}

---Sets the receiver for types of events.
---@param types string[]
---@param receive fun(event: table)
function M.on(types, receive)
  for _, type in ipairs(types) do
    receivers[type] = receive
  end
end

---Consumes a pending interrupt: otherwise the next call into Neovim would fail, in the middle of an event. The `<C-c>` itself stays in the
---typeahead.
local function let_interrupt_fail_here()
  pcall(vim.api.nvim_eval, "0")
end

---Handles events until the queue is empty or the time is up.
---@param is_over? fun(): boolean nil: unlimited
---@return boolean drained whether the queue is empty
function M.drain(is_over)
  repeat
    local event = native.poll()
    if not event then
      return true
    end
    local receive = receivers[event.type]
    if receive then
      let_interrupt_fail_here()
      local ok, trace = xpcall(receive, debug.traceback, event)
      if not ok then
        log.error("handling %s failed: %s", event.type, trace)
      end
    end
  until is_over and is_over()
  return false
end

local function on_ring()
  if package.loaded["claude-ide.library.wake"] ~= M then
    return -- After a reload the events are for the new instance, which is woken too.
  end
  if not M.drain(slice.begin()) and async then
    -- Through the event loop, not vim.schedule: keys and redraws get their turn. Not `slice.later`: the library may ring meanwhile.
    async:send()
  end
end

---The handle for the library.
---@return uv.uv_async_t
function M.handle()
  async = async or assert(vim.uv.new_async(vim.schedule_wrap(on_ring)))
  return async
end

return M
