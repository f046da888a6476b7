-- The wake: the library rings, and what it has to say is taken here, event by event, on the main loop.
-- Lua pulls, Rust never calls Lua. One async handle serves the whole process, whether the server runs or not.
local M = {}

---How long events may hold the main loop before it gets a turn for the user's keys.
local BUDGET_NS = 8 * 1000 * 1000

---@type uv.uv_async_t? one for the life of the process: the library keeps it
local async
---@type table<string, fun(event: table)>
local receivers = {}

---Says who takes the events of these types.
---@param types string[]
---@param receive fun(event: table)
function M.on(types, receive)
  for _, type in ipairs(types) do
    receivers[type] = receive
  end
end

---Lets what comes now be done as a whole: the first call into Neovim while an interrupt waits is the one that fails, whoever's it
---is. The `<C-c>` itself stays among the keys that were typed.
local function let_interrupt_fail_here()
  pcall(vim.api.nvim_eval, "0")
end

---Takes events until none waits or the time is up.
---@param budget_ns? integer no limit when nil
---@return boolean drained whether none waits any more
function M.drain(budget_ns)
  local native = require("claude-ide.native")
  local deadline = budget_ns and vim.uv.hrtime() + budget_ns
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
        require("claude-ide.log").error("handling %s failed: %s", event.type, trace)
      end
    end
  until deadline and vim.uv.hrtime() > deadline
  return false
end

---The callback of the handle.
local function on_ring()
  if package.loaded["claude-ide.wake"] ~= M then
    return -- The plugin was loaded anew: what waits is for the new one, which the library rings too.
  end
  if not M.drain(BUDGET_NS) and async then
    -- Through the event loop again, not vim.schedule: so keys and the screen get their turn.
    async:send()
  end
end

---What the library is to ring.
---@return uv.uv_async_t
function M.handle()
  async = async or assert(vim.uv.new_async(vim.schedule_wrap(on_ring)))
  return async
end

return M
