"""Timers of the main loop (`Ide.timer`)."""

BEGIN = """
timer, called = Ide.timer.new("test"), {}
local function call(what) return function() table.insert(called, what) end end
timer:start(0, call("before"))
vim.wait(50, function() return false end, 10, true) -- its time is over, and what it calls has yet to run
assert(#called == 0 and timer:is_active())
"""


def test_a_timer_that_is_stopped_or_started_again_does_not_call_what_it_was_to_call_before(nvim):
    nvim.lua(BEGIN + "timer:stop() vim.schedule(call('next'))")
    nvim.wait("#called > 0")
    assert nvim.lua("return called") == ["next"]
    nvim.lua(BEGIN + "timer:start(1, call('again'))")
    nvim.wait("#called > 0")
    assert nvim.lua("return { called, timer:is_active() }") == [["again"], False]


def test_a_timer_goes_on_until_it_is_stopped_and_after_an_error(nvim):
    nvim.lua("""
      timer, count = Ide.timer.new("count"), 0
      timer:every(1, function()
        count = count + 1
        if count == 3 then timer:stop() end
        error("no")
      end)
    """)
    nvim.wait("not timer:is_active()")
    assert nvim.lua("return count") == 3
    assert "cannot count" in nvim.log()
