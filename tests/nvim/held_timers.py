"""Timers of the product in the hands of a test: those of some modules end when it says so, however long it takes to get there."""

from harness.nvim import Nvim

_HOLD = """
local sources, new_timer = ..., vim.uv.new_timer
local held = {}
function _G.let_timers_go()
  vim.uv.new_timer = new_timer
  for _, timer in ipairs(held) do
    if timer.fn then timer.fn() end
  end
end
vim.uv.new_timer = function()
  local caller = debug.getinfo(2, "S").source
  if not vim.iter(sources):any(function(source) return vim.endswith(caller, source) end) then
    return (new_timer())
  end
  local timer = { fn = nil, closing = false }
  function timer:start(_, _, fn) self.fn = fn end
  function timer:stop() self.fn = nil end
  function timer:close() self.fn, self.closing = nil, true end
  function timer:is_active() return self.fn ~= nil end
  function timer:is_closing() return self.closing end
  held[#held + 1] = timer
  return timer
end
"""


def hold_timers(nvim: Nvim, *sources: str) -> None:
    """From now on the timers that these files of the plugin make wait for `let_timers_go`."""
    nvim.lua(_HOLD, [f"claude-ide/{source}" for source in sources])


def let_timers_go(nvim: Nvim) -> None:
    """Ends the timers that were held, and holds no further ones."""
    nvim.lua("let_timers_go()")
