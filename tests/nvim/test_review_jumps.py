"""`]c` and `[c` in a review: through all changes to review, from file to file."""

import pytest
from review_steps import A_CLAUDE, A, B, review, turn, waiting, windows

pytestmark = pytest.mark.dealt

LAYOUTS = ["vertical", "unified"]
# Of the last file only its end is removed: its place is behind the last line.
D_CLAUDE = A.replace("eight\nnine\n", "")


@pytest.fixture
def opened(start_nvim, connect):
    def start(layout="vertical", args=""):
        files = {"a.txt": A, "b.txt": B, "d.txt": A}
        nvim = start_nvim(args=["a.txt"], files=files, notices=True, opts={"diff": {"layout": layout}})
        turn(nvim, connect(nvim), a_txt=A_CLAUDE, b_txt=B.replace("beta", "BETA"), d_txt=D_CLAUDE)
        nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="a.txt to be reloaded")
        review(nvim, args)
        return nvim

    return start


def place(nvim):
    """The file shown, and the cursor's line."""
    return windows(nvim)[-1]["name"], nvim.cursor()[0]


def go(nvim, keys, name, lnum):
    nvim.keys(keys)
    nvim.wait(lambda: place(nvim) == (name, lnum), what=f"line {lnum} of {name}, not {place(nvim)}")


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", LAYOUTS)
def test_they_go_on_from_file_to_file_and_stop_at_the_ends(opened, layout):
    nvim = opened(layout)
    go(nvim, "[c", "a.txt", 2)
    nvim.wait_notice("This is the first change")
    go(nvim, "]c", "a.txt", 9)
    go(nvim, "]c", "b.txt", 2)
    nvim.wait_notice("b.txt: file 2 of 3")
    go(nvim, "]c", "d.txt", 7)
    nvim.wait_notice("d.txt: file 3 of 3")
    go(nvim, "]c", "d.txt", 7)
    nvim.wait_notice("This is the last change")
    go(nvim, "[c", "b.txt", 2)
    go(nvim, "[c", "a.txt", 9)
    nvim.wait_notice("a.txt: file 1 of 3")
    go(nvim, "[c", "a.txt", 2)


@pytest.mark.every_nvim
def test_a_count_goes_through_files_as_far_as_there_are_changes(opened):
    nvim = opened()
    go(nvim, "2]c", "b.txt", 2)
    go(nvim, "2[c", "a.txt", 2)
    go(nvim, "3]c", "d.txt", 7)
    go(nvim, "9[c", "a.txt", 2)
    go(nvim, "99]c", "d.txt", 7)


def test_reviewed_files_are_passed_over(opened):
    nvim = opened()
    nvim.lua("Ide.review.keep_file('b.txt')")
    nvim.wait(lambda: waiting(nvim) == ["a.txt", "d.txt"], what="b.txt to be reviewed")
    go(nvim, "2]c", "d.txt", 7)
    go(nvim, "[c", "a.txt", 9)
    nvim.keys("gA")
    nvim.wait(lambda: waiting(nvim) == ["d.txt"], what="a.txt to be reviewed")
    nvim.keys("[c")
    nvim.wait_notice("This is the first change")


def test_from_the_text_before_they_go_to_that_of_the_next_file(opened):
    nvim = opened()
    nvim.keys("<C-w>h2G")
    nvim.keys("2]c")
    nvim.wait(lambda: windows(nvim)[-1]["name"] == "b.txt" and nvim.cursor()[0] == 2, what="the change of b.txt")
    assert windows(nvim)[1]["current"] and nvim.lines() == B.splitlines()
    nvim.keys("[c")
    nvim.wait(lambda: windows(nvim)[-1]["name"] == "a.txt" and nvim.cursor()[0] == 8, what="the last change of a.txt")
