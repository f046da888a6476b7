"""Control of the product's timers: a test ends those of some modules, however slow the machine is.

Held timers end only by the test; known timers end by themselves, or sooner by `pass_time`.
"""

from harness.nvim import Nvim

_HOLD = """
local sources, new_timer = ..., vim.uv.new_timer
local deferred, holding = {}, true
function _G.timers_held()
  return vim.iter(deferred):any(function(timer) return timer.fn ~= nil end)
end
function _G.run_timers()
  for _, timer in ipairs(deferred) do
    local fn = timer.fn
    timer.fn = nil
    if fn then fn() end
  end
end
function _G.let_timers_go()
  vim.uv.new_timer, holding = new_timer, false
  run_timers()
end
vim.uv.new_timer = function()
  local caller = debug.getinfo(2, "S").source
  if not vim.iter(sources):any(function(source) return vim.endswith(caller, source) end) then
    return (new_timer())
  end
  local timer, real = { closing = false }, nil
  function timer:start(ms, again, fn)
    self.fn = holding and fn or nil
    if not holding then
      real = real or new_timer()
      real:start(ms, again, fn)
    end
  end
  function timer:stop()
    self.fn = nil
    if real then real:stop() end
  end
  function timer:close()
    self:stop()
    self.closing = true
    if real then real:close() end
  end
  function timer:is_active() return self.fn ~= nil or real ~= nil and real:is_active() end
  function timer:is_closing() return self.closing end
  deferred[#deferred + 1] = timer
  return timer
end
"""


def hold_timers(nvim: Nvim, *sources: str) -> None:
    """From now on timers created by these files of the plugin wait for `let_timers_go`."""
    nvim.lua(_HOLD, [f"claude-ide/{source}" for source in sources])


def let_timers_go(nvim: Nvim) -> None:
    """Ends the held timers, and holds no further ones."""
    nvim.lua("let_timers_go()")


_KNOW = """
local sources, new_timer = ..., vim.uv.new_timer
local known = setmetatable({}, { __mode = "k" })
function _G.pass_time()
  for timer in pairs(known) do
    if timer.real:is_active() then timer.real:start(0, 0, timer.fn) end
  end
end
vim.uv.new_timer = function()
  local real, caller = new_timer(), debug.getinfo(2, "S").source
  if not vim.iter(sources):any(function(source) return vim.endswith(caller, source) end) then return real end
  local timer = { real = real }
  function timer:start(ms, again, fn)
    self.fn = fn
    return real:start(ms, again, fn)
  end
  for _, name in ipairs({ "stop", "close", "is_active", "is_closing" }) do
    timer[name] = function() return real[name](real) end
  end
  known[timer] = true
  return timer
end
"""


def know_timers(nvim: Nvim, *sources: str) -> None:
    """From now on `pass_time` can end timers created by these files of the plugin."""
    nvim.lua(_KNOW, [f"claude-ide/{source}" for source in sources])


def pass_time(nvim: Nvim) -> None:
    """Ends all known timers at once."""
    nvim.lua("pass_time()")


_KNOW_CLOCK = """
local window = require("claude-ide.ui.guard.window")
local now, passed = window.now, 0
function _G.pass_clock(ms) passed = passed + ms end
window.now = function() return now() + passed end
"""


def know_clock(nvim: Nvim) -> None:
    """From now on `pass_clock` can move the clock of the window guard (`ui/guard/window.lua`)."""
    nvim.lua(_KNOW_CLOCK)


def pass_clock(nvim: Nvim, milliseconds: int) -> None:
    """Moves the window guard's clock."""
    nvim.lua("pass_clock(...)", milliseconds)
