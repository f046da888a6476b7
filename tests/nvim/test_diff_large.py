"""Texts that are too much for Neovim's diff mode, and the everyday ones that are not."""

import re

import pytest
from diff_steps import Diffs
from held_timers import hold_timers

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

LINES = 200_000


@pytest.fixture
def diffs(start_nvim):
    diffs = Diffs(start_nvim(files={"b.txt": "b\n"}, args=["b.txt"]))
    hold_timers(diffs.nvim, "compare/xdiff.lua")  # after a second and a half it would make do with one change
    return diffs


def propose(diffs, old, new, name="big.txt"):
    """Without the text going over RPC as an argument."""
    project = diffs.nvim.project
    if old:
        (project / name).write_text(old)
    (project / "proposal").write_text(new)
    diffs.nvim.lua(
        """
      local path, from = ...
      local file = assert(io.open(from, "rb"))
      propose(1, 1, path, file:read("*a"), "big")
      file:close()
    """,
        str(project / name),
        str(project / "proposal"),
    )
    diffs.nvim.wait(lambda: diffs.current() == 1, what="the cursor in the proposal")


def text(lines):
    return "".join(line + "\n" for line in lines)


def test_ten_megabytes_are_shown_and_answered_exactly(diffs):
    before = diffs.screen_state()
    old = [f"line {i} {'x' * 38}" for i in range(LINES)]
    new = [*old[:1000], "CHANGED", *old[1001:150_000], "ADDED", *old[150_000:-1], "LAST"]
    propose(diffs, text(old), text(new))
    diffs.nvim.wait_screen(re.compile(r"\+3 −2.*CHANGED", re.DOTALL))
    assert diffs.nvim.cursor() == (1001, 0)
    assert diffs.nvim.lua("return vim.wo.diff") is False
    diffs.nvim.keys("]c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (150_001, 0))
    diffs.nvim.keys("]c]c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (LINES + 1, 0))
    diffs.nvim.keys("[c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (150_001, 0))
    diffs.nvim.keys("ZZ")
    diffs.nvim.wait(lambda: diffs.nvim.lua("return #(answers[1] or {})") == 1)
    assert diffs.nvim.lua("return #answers[1][1].contents") == len(text(new))
    diffs.nvim.keys("<Esc>")
    diffs.wait_current(None)
    (diffs.nvim.project / "big.txt").write_text(text(new))
    diffs.wait_clean()
    assert diffs.screen_state() == before


def test_another_foldmethod_in_its_window_stands_in_no_layouts_way(diffs):
    propose(diffs, text(f"old {i}" for i in range(20_000)), text(f"new {i}" for i in range(20_000)))
    assert diffs.nvim.lua("return vim.wo.diff") is False
    diffs.nvim.cmd("set foldmethod=indent")
    diffs.nvim.lua("vim.v.errmsg = ''")
    diffs.nvim.keys("ZQ")
    assert diffs.answer(1)["outcome"] == "rejected"
    assert diffs.nvim.lua("return vim.v.errmsg") == ""


def test_a_large_new_file(diffs):
    propose(diffs, None, text([f"line {i}" for i in range(LINES)]))
    diffs.nvim.wait_screen(f"+{LINES} −0")
    diffs.nvim.keys("ZQ")
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_clean()


def test_a_diff_that_ends_while_it_is_being_made_leaves_nothing(diffs):
    project = diffs.nvim.project
    (project / "big.txt").write_text(text([f"line {i}" for i in range(LINES)]))
    diffs.nvim.lua(
        """
      propose(1, 1, ..., string.rep("other\\n", 200000), "big")
      vim.defer_fn(function() require("claude-ide.tools.client_source").prompt_submitted(1) end, 20)
    """.replace("...", "(...)"),
        str(project / "big.txt"),
    )
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_clean()


SIDES = """
vim.cmd.redraw()
local sides = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local mark = vim.b[vim.api.nvim_win_get_buf(win)].claude_ide
  if mark then
    sides[mark.kind] = vim.api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      return {
        top = view.topline, fill = view.topfill, column = view.leftcol, line = view.lnum,
        folded = vim.fn.foldclosed(".") > 0, level = vim.wo.foldlevel,
      }
    end)
  end
end
return sides
"""


def sides(diffs):
    return diffs.nvim.lua(SIDES)


def wait_sides(diffs, **expected):
    """Waits until these hold on both sides: `top=(of now, of the proposal)`."""

    def hold():
        found = sides(diffs)
        return len(found) == 2 and all(
            (found["now"][key], found["proposal"][key]) == pair for key, pair in expected.items()
        )

    diffs.nvim.wait(hold, what=f"{expected}")


@pytest.fixture
def long(diffs):
    """Sides that are drawn: line 51 changed, three lines more after line 1000, 20 lines less from line 2001 on."""
    old = [f"line {i} " + "x" * 200 for i in range(1, 50_001)]
    new = [*old[:50], "LINE 51", *old[51:1000], "a", "b", "c", *old[1000:2000], *old[2020:]]
    propose(diffs, text(old), text(new))
    diffs.nvim.wait_screen("+4 −21")
    assert diffs.nvim.lua("return vim.wo.diff") is False
    # What is far from the window is drawn so much later: timers of one length come in their order.
    diffs.nvim.lua("vim.defer_fn(function() drawn = true end, 20)")
    diffs.nvim.wait("drawn", what="all changes to be drawn")
    return diffs


@pytest.mark.every_nvim
def test_many_lines_look_and_move_as_in_diff_mode_without_it(long):
    nvim = long.nvim
    wait_sides(long, line=(51, 51), folded=(False, False))
    assert nvim.lua("return vim.fn.foldclosedend(1)") == 44
    nvim.keys("]c")
    wait_sides(long, line=(1001, 1001))
    nvim.keys("zt<C-e><C-e>")
    wait_sides(long, top=(1001, 1003), fill=(1, 0))
    nvim.keys("]c")
    wait_sides(long, line=(2021, 2004))
    nvim.keys("zt5<C-y>")
    wait_sides(long, top=(2016, 2004), fill=(0, 5))
    nvim.keys("20<C-y>")
    wait_sides(long, top=(1996, 1999), fill=(0, 0))
    nvim.keys("10zl")
    wait_sides(long, column=(10, 10))
    nvim.keys("G")
    wait_sides(long, line=(50_000, 49_983))
    nvim.keys("2[c")
    wait_sides(long, line=(1001, 1001))
    nvim.keys("<C-w>h5j")
    wait_sides(long, line=(1006, 1009))


@pytest.mark.every_nvim
def test_folds_of_both_sides_open_and_close_together_without_diff_mode(long):
    nvim = long.nvim
    nvim.keys("ggzo")
    wait_sides(long, folded=(False, False), line=(1, 1))
    nvim.keys("zc")
    wait_sides(long, folded=(True, True))
    nvim.keys("zR")
    wait_sides(long, folded=(False, False))
    nvim.keys("<C-w>hzM")
    wait_sides(long, folded=(True, True))


@pytest.mark.every_nvim
def test_do_and_dp_work_without_diff_mode(long):
    nvim = long.nvim
    nvim.keys("do")
    nvim.wait_screen("2 of 3 kept")
    assert nvim.lua("return vim.fn.getline(51)").startswith("line 51 ")
    nvim.keys("u")
    nvim.wait_screen("+4 −21")
    nvim.keys("<C-w>h]cdp")
    nvim.wait_screen("2 of 3 kept")
    nvim.keys("<C-w>l")
    nvim.wait(lambda: nvim.lua("return vim.api.nvim_buf_line_count(0)") == 49_980)


def test_drawn_sides_leave_nothing_behind_when_the_layout_changes(long):
    nvim = long.nvim
    shape = "return { vim.wo.foldmethod, vim.wo.foldcolumn, vim.wo.wrap, vim.fn.foldclosed(1), vim.wo.scrollbind }"
    nvim.keys("glgl")
    nvim.wait(lambda: "now" not in sides(long))
    assert nvim.lua(shape) == ["manual", "0", True, 1, False]
    nvim.keys("gl")
    wait_sides(long, line=(51, 51), folded=(False, False))
    assert nvim.lua("return vim.fn.foldclosed(1)") == 1


@pytest.mark.every_nvim
def test_filler_stands_for_what_only_the_other_side_has(long):
    nvim = long.nvim
    nvim.keys("]c")
    wait_sides(long, line=(1001, 1001))
    nvim.wait(lambda: sum(row.split("│")[0].count("-" * 50) for row in long.drawn()) == 3, what="three rows of filler")


def test_changes_everywhere_do_without_diff_mode(diffs):
    old = [f"line {i}" for i in range(20_000)]
    new = [f"LINE {i}" if i % 10 == 5 else line for i, line in enumerate(old)]
    propose(diffs, text(old), text(new))
    diffs.nvim.wait_screen("+2000 −2000")
    assert diffs.nvim.lua("return vim.wo.diff") is False
    diffs.nvim.keys("ZZ")
    diffs.nvim.wait(lambda: diffs.outcomes(1) == ["saved"])


def test_the_diffopt_of_the_user_counts(start_nvim):
    diffs = Diffs(
        start_nvim(
            init_lua='vim.o.diffopt = "internal,filler,iwhiteall,context:1"', files={"a.txt": "a b\nc\nd\ne\nf\n"}
        )
    )
    diffs.open(1, "a.txt", "a    b\nc\nd\ne\nF\n")
    assert diffs.nvim.lua("return vim.o.diffopt") == "internal,filler,iwhiteall,context:1"
    assert diffs.nvim.lua("return { vim.fn.diff_hlID(1, 1), vim.fn.foldclosed(1) }") == [0, 1]
    assert diffs.nvim.cursor() == (5, 0)
