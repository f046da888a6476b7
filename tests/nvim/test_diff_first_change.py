"""A diff opens at its first change, in sight on both sides, whatever its size and place."""

import pytest
from diff_steps import Diffs
from held_timers import hold_timers
from review_steps import turn, windows

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

# Lua iterates over a table in another order in each Neovim.
ORDERED = """
local forward = %s
local pairs_of_lua = pairs
function pairs(t)
  if type(t) ~= "table" or not (rawget(t, "left") and rawget(t, "right")) then
    return pairs_of_lua(t)
  end
  local keys = forward and { "left", "right" } or { "right", "left" }
  for key in pairs_of_lua(t) do
    if key ~= "left" and key ~= "right" then keys[#keys + 1] = key end
  end
  local i = 0
  return function()
    i = i + 1
    if keys[i] then return keys[i], t[keys[i]] end
  end
end
"""

LINES = [f"line {i}" for i in range(1, 301)]


def text(lines):
    return "".join(f"{line}\n" for line in lines)


def make(start_nvim, layout="vertical", init_lua="", **files):
    files = {name.replace("_", "."): content for name, content in files.items()}
    return Diffs(start_nvim(opts={"diff": {"layout": layout}}, files=files or None, init_lua=init_lua))


def sees(diffs, *expected):
    """Waits until all of these are on the screen."""
    diffs.nvim.wait(lambda: all(any(one in row for row in diffs.drawn()) for one in expected), what=f"{expected}")


def decide(diffs, id):
    diffs.nvim.keys("ZQ")
    diffs.answer(id)
    diffs.wait_clean()


@pytest.mark.every_nvim
@pytest.mark.parametrize("forward", ["true", "false"])
def test_opens_at_the_first_change_on_both_sides(start_nvim, forward):
    init = ORDERED % forward + "vim.o.diffopt = 'internal,filler,context:3'"
    diffs = make(start_nvim, init_lua=init, a_txt=text(LINES))
    changed = [*LINES[:99], "first", *LINES[100:199], "second", *LINES[200:]]
    diffs.open(1, "a.txt", text(changed))
    assert diffs.nvim.cursor() == (100, 0)
    sees(diffs, "line 100 ", "first")
    decide(diffs, 1)
    diffs.open(2, "a.txt", text(["new 1", "new 2", *LINES, "last"]))
    assert diffs.nvim.cursor() == (1, 0)
    sees(diffs, "new 1", "new 2")


def test_shows_an_emptied_file_from_its_first_line(start_nvim):
    diffs = make(start_nvim, a_txt=text(LINES))
    for id, layout in enumerate(["vertical", "horizontal", "unified"], 1):
        diffs.nvim.lua("Ide.diff_layout.prefer(...)", layout)
        diffs.open(id, "a.txt", "")
        sees(diffs, "line 1 ", "line 2 ")
        decide(diffs, id)


def test_shows_where_a_long_removed_part_begins(start_nvim):
    diffs = make(start_nvim, a_txt=text(LINES))
    for id, layout in enumerate(["vertical", "unified"], 1):
        diffs.nvim.lua("Ide.diff_layout.prefer(...)", layout)
        diffs.open(id, "a.txt", text([*LINES[:100], *LINES[250:]]))
        sees(diffs, "line 100", "line 101", "line 102")
        diffs.nvim.keys("dx")
        diffs.nvim.wait(lambda: len(diffs.nvim.lines()) == 300, what="the change to be dropped")
        decide(diffs, id)


@pytest.mark.every_nvim
def test_shows_a_change_far_to_the_right(start_nvim):
    before, after = "x" * 2020 + "before\n", "x" * 2020 + "after\n"
    diffs = make(start_nvim, a_txt=before, b_txt=text(LINES) * 150 + before)
    hold_timers(diffs.nvim, "show a diff without its hunks")
    for id, (name, layout) in enumerate(
        [("a.txt", "vertical"), ("a.txt", "horizontal"), ("a.txt", "unified"), ("b.txt", "vertical")], 1
    ):
        diffs.nvim.lua("Ide.diff_layout.prefer(...)", layout)
        diffs.open(id, name, text(LINES) * 150 + after if name == "b.txt" else after)
        sees(diffs, "xbefore", "xafter")
        decide(diffs, id)


def test_a_review_shows_new_and_deleted_files_from_their_first_line(start_nvim, connect):
    nvim = start_nvim(files={"gone.txt": text(LINES), "z.txt": "z\n"}, opts={"diff": {"layout": "vertical"}})
    turn(nvim, connect(nvim), gone_txt=None, new_txt=text(f"new {i}" for i in range(1, 301)))
    nvim.cmd("Claude review")
    nvim.wait(lambda: len(windows(nvim)) == 2, what="the review: nothing stands beside a file that is gone")
    for key, row in [("", "line 1"), ("]f", "new 2"), ("gl", "new 2"), ("gl", "new 2"), ("[f", "line 2")]:
        nvim.keys(key)
        nvim.wait_screen(row)
