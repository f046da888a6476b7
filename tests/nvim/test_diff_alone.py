"""The proposal alone: closing the other side leaves a unified diff, closing the proposal rejects it."""

import pytest
from diff_steps import Diffs

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

OLD = "one\ntwo\nthree\n"
NEW = "one\nTWO\nthree\n"
ROWS = ["one", "two", "TWO", "three"]
WINDOWS = """
local view = Ide.proposal_state.entry(...).view
return { view.layout, vim.tbl_count(view.wins), view.wins.right == vim.api.nvim_get_current_win() }
"""


def make(start_nvim, place="tab", layout="vertical"):
    opts = {"diff": {"layout": layout, "open_in": place}}
    return Diffs(start_nvim(["b.txt"], opts=opts, files={"a.txt": OLD, "b.txt": "b\n"}))


def wait_alone(diffs, id):
    """Waits until the proposal stands alone, complete, with removed lines drawn in it."""
    diffs.nvim.wait(lambda: diffs.current() == id and diffs.nvim.lua(WINDOWS, id) == ["unified", 1, True])

    def stands():
        drawn = [row.strip("~│ ") for row in diffs.drawn()]
        return any(drawn[i : i + len(ROWS)] == ROWS for i in range(len(drawn)))

    diffs.nvim.wait(stands, what="the proposal with its removed lines")
    assert diffs.outcomes(id) == []


@pytest.mark.every_nvim
@pytest.mark.parametrize("place", ["tab", "current"])
def test_losing_the_present_text_leaves_a_unified_diff(start_nvim, place):
    diffs = make(start_nvim, place)
    ways = ["<C-w>o", "<C-w>h:q<CR>", "<C-w>h<C-w>c", "<C-w>h:bdelete<CR>", "<C-w>h:bwipeout!<CR>", "<C-w>T"]
    for id, keys in enumerate(ways, 1):
        before = None if keys == "<C-w>o" and place == "current" else diffs.screen_state()["wins"]
        diffs.open(id, "a.txt", NEW)
        diffs.nvim.keys(keys)
        wait_alone(diffs, id)
        diffs.nvim.keys("gl")
        diffs.nvim.wait(lambda id=id: diffs.nvim.lua(WINDOWS, id) == ["vertical", 2, True], what="both sides again")
        left = diffs.nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(1), 1, '$')")
        assert left == OLD.splitlines() or place == "current"
        diffs.nvim.keys("<C-w>o" if place == "tab" else "<C-w>h:q<CR>")
        wait_alone(diffs, id)
        diffs.reject(id)
        diffs.wait_clean()
        assert before is None or diffs.screen_state()["wins"] == before


def test_a_frame_with_one_side_left_is_unified(start_nvim):
    diffs = make(start_nvim, "float", "horizontal")
    before = diffs.screen_state()
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.lua("vim.fn.win_gotoid(Ide.proposal_state.entry(1).view.wins.left)")
    diffs.nvim.keys(":q<CR>")
    wait_alone(diffs, 1)
    assert diffs.accept(1, "a.txt") == NEW
    diffs.wait_clean()
    assert diffs.screen_state() == before


def test_a_diff_that_stands_alone_says_nothing_of_the_next_ones(start_nvim):
    diffs = make(start_nvim)
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("oedited<Esc><C-w>o")
    diffs.nvim.wait(lambda: diffs.nvim.lua(WINDOWS, 1) == ["unified", 1, True])
    assert diffs.accept(1, "a.txt") == NEW.replace("TWO\n", "TWO\nedited\n")
    diffs.wait_clean()
    diffs.open(2, "a.txt", NEW)
    assert diffs.nvim.lua(WINDOWS, 2) == ["vertical", 2, True]


@pytest.mark.every_nvim
def test_a_second_window_of_the_proposal_takes_over_from_the_first(start_nvim):
    diffs = make(start_nvim)
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("<C-w>s<C-w>c")
    diffs.nvim.wait(lambda: diffs.nvim.lua(WINDOWS, 1) == ["vertical", 2, True])
    assert diffs.outcomes(1) == [] and diffs.nvim.lua("return vim.fn.winnr('$')") == 2
    diffs.nvim.wait_screen("ZZ accept  ZQ reject")
    diffs.reject(1, ":q<CR>")
    diffs.wait_clean()


@pytest.mark.parametrize("keys", ["<C-w>ho<Esc>:q<CR>:q<CR>", "<C-w>h<C-w>o", "<C-w>o:tabclose<CR>"])
def test_losing_the_proposal_rejects(start_nvim, keys):
    diffs = make(start_nvim)
    diffs.open(1, "a.txt", NEW)
    diffs.reject(1, keys)
    diffs.wait_clean()


@pytest.mark.parametrize("place", ["tab", "current", "float"])
def test_a_new_file_has_no_empty_half(start_nvim, place):
    diffs = make(start_nvim, place, "horizontal")
    diffs.open(1, "new.txt", NEW)
    assert diffs.nvim.lua(WINDOWS, 1) == ["unified", 1, True]
    diffs.propose(2, "a.txt", NEW)
    assert diffs.accept(1, "new.txt") == NEW
    diffs.wait_current(2)
    assert diffs.nvim.lua(WINDOWS, 2) == ["horizontal", 2, True]
    diffs.nvim.keys("ZQ")
    diffs.wait_clean()
    diffs.open(3, "other.txt", NEW)
    diffs.nvim.keys("gl")
    diffs.nvim.wait(lambda: diffs.nvim.lua(WINDOWS, 3) == ["vertical", 2, True], what="an empty half after all")
    diffs.nvim.wait_screen("does not exist yet")
