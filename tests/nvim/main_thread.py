"""How long Neovim's main loop is blocked, in CPU time of the main thread, so that other programs do not count."""

CLOCK = """
local ffi = require("ffi")
pcall(ffi.cdef, "typedef struct { long sec; long nsec; } test_timespec; int clock_gettime(int clock, test_timespec *at);")
local at = ffi.new("test_timespec")
function main_thread_ms()
  ffi.C.clock_gettime(3, at)
  return tonumber(at.sec) * 1000 + tonumber(at.nsec) / 1e6
end
"""

# The longest delay of a timer of one millisecond.
HEARTBEAT = """
longest, turns, began = 0, 0, main_thread_ms()
local timer, last = assert(vim.uv.new_timer()), began
timer:start(0, 1, function()
  local now = main_thread_ms()
  turns, longest, last = turns + 1, math.max(longest, now - last), now
end)
"""


def watch(nvim):
    nvim.lua(CLOCK + HEARTBEAT)


def longest(nvim):
    """Milliseconds, since `watch`."""
    return nvim.lua("return longest")
