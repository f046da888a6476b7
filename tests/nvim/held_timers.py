"""Control of the product's timers (`Ide.timer`): a test ends some, however slow the machine is.

Held timers end only by the test; known timers end by themselves, or sooner by `pass_time`.
"""

import functools
import re

from harness.nvim import ROOT, Nvim

# What the timers of a diff that has closed do.
CLOSED_DIFF = ("close an accepted diff", "restore the keys of what has closed")

_HOLD = """
local timer, names = Ide.timer, ...
local new, held, holding = timer.new, {}, true
local function let_go(one)
  local fn = one.fn
  one.fn = nil
  if fn then fn() end
  return fn ~= nil
end
function _G.let_timer_go(at) return let_go(held[at]) end
function _G.let_timers_go()
  timer.new, holding = new, false
  return #vim.tbl_filter(let_go, held)
end
timer.new = function(doing)
  local one = new(doing)
  if not vim.list_contains(names, doing) then return one end
  local real = { start = one.start, stop = one.stop, is_active = one.is_active }
  function one:start(ms, fn)
    if holding then
      self.fn = fn
    else
      real.start(self, ms, fn)
    end
  end
  function one:stop()
    self.fn = nil
    real.stop(self)
  end
  function one:is_active() return self.fn ~= nil or real.is_active(self) end
  held[#held + 1] = one
  return one
end
"""


@functools.cache
def _all_names() -> frozenset[str]:
    """What the product's timers do, as they say."""
    made = re.compile(r'timers?\.new\(\s*"([^"]+)"')
    return frozenset(name for file in (ROOT / "lua").rglob("*.lua") for name in made.findall(file.read_text()))


def _check(doing: tuple[str, ...]) -> None:
    unknown = set(doing) - _all_names()
    assert not unknown, f"no timer does this: {unknown}"


def hold_timers(nvim: Nvim, *doing: str) -> None:
    """From now on timers that do this, as they say, wait for `let_timers_go`."""
    _check(doing)
    nvim.lua(_HOLD, list(doing))


def let_timer_go(nvim: Nvim, at: int) -> None:
    """Ends this one of the held timers, which are counted from 1."""
    assert nvim.lua("return let_timer_go(...)", at), "it does not run"


def let_timers_go(nvim: Nvim) -> int:
    """Ends the held timers, and holds no further ones; returns how many ran."""
    return nvim.lua("return let_timers_go()")


_KNOW = """
local timer, names = Ide.timer, ...
local new, known = timer.new, setmetatable({}, { __mode = "k" })
function _G.pass_time()
  for one, fn in pairs(known) do
    if one:is_active() then one:start(0, fn) end
  end
end
timer.new = function(doing)
  local one = new(doing)
  if not vim.list_contains(names, doing) then return one end
  local start = one.start
  function one:start(ms, fn)
    known[self] = fn
    start(self, ms, fn)
  end
  return one
end
"""


def know_timers(nvim: Nvim, *doing: str) -> None:
    """From now on `pass_time` can end timers that do this, as they say."""
    _check(doing)
    nvim.lua(_KNOW, list(doing))


def pass_time(nvim: Nvim) -> None:
    """Ends all known timers at once."""
    nvim.lua("pass_time()")


_KNOW_CLOCK = """
local window = Ide.guard_window
local now, passed = window.now, 0
function _G.pass_clock(ms) passed = passed + ms end
window.now = function() return now() + passed end
"""


def know_clock(nvim: Nvim) -> None:
    """From now on `pass_clock` can move the clock of the window guard (`Ide.guard_window`)."""
    nvim.lua(_KNOW_CLOCK)


def pass_clock(nvim: Nvim, milliseconds: int) -> None:
    """Moves the window guard's clock."""
    nvim.lua("pass_clock(...)", milliseconds)
