"""Keys of a review in one write: the screen ends as the last of them says."""

import pytest
from review_steps import A_CLAUDE, LAYOUT, A, B, review, turn, windows

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

LAYOUTS = ["vertical", "horizontal", "unified"]
# By name: changed, made empty, made, removed.
FILES = ["a.txt", "empty.txt", "fresh.txt", "gone.txt"]
STATE = """
local win = vim.api.nvim_get_current_win()
return {
  layout = Ide.diff_layout.preferred(),
  mapped = vim.fn.maparg("gl", "n", false, true).buffer == 1 and vim.fn.maparg("]f", "n", false, true).buffer == 1,
  fixed = vim.wo[win].winfixbuf,
}
"""


def shown(nvim):
    """The review's current file according to its list, and the number of windows of its sides."""
    return nvim.lua("return { vim.fn.line('.', vim.fn.win_getid(1)), vim.fn.winnr('$') - 1 }")


@pytest.mark.parametrize(("step", "window"), [("]f", "file"), ("[f", "file"), ("[f", "list")])
def test_a_file_and_a_layout_in_one_breath(start_nvim, connect, step, window):
    opts = {"diff": {"layout": LAYOUTS[0]}}
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "gone.txt": B}, notices=True, opts=opts)
    before = nvim.lua(LAYOUT)
    turn(nvim, connect(nvim), a_txt=A_CLAUDE, empty_txt="", fresh_txt=B, gone_txt=None)
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="a.txt to be reloaded")
    review(nvim)
    assert len(windows(nvim)[0]["lines"]) == len(FILES)
    if window == "list":
        nvim.keys("<C-w>t")
    file, name = 1, LAYOUTS[0]
    for at in range(len(FILES) * len(LAYOUTS)):
        times = 2 if at % len(FILES) == 3 else 1  # so each file comes in each layout
        file = (file - 1 + (1 if step == "]f" else -1)) % len(FILES) + 1
        alone = FILES[file - 1] == "gone.txt"  # a single window, whatever the layout
        name = name if alone else LAYOUTS[(LAYOUTS.index(name) + times) % 3]
        nvim.keys(step + "gl" * times)
        nvim.wait(
            lambda file=file, name=name, sides=1 if alone or name == "unified" else 2: (
                shown(nvim) == [file, sides] and nvim.lua(STATE) == {"layout": name, "mapped": True, "fixed": True}
            ),
            what=f"{FILES[file - 1]} in the {name} layout, with its keys",
        )
    nvim.keys(f"{step}gl{step}gl{step}glq")
    nvim.wait(lambda: len(windows(nvim)) == 1, what="the review to close")
    assert nvim.lua(LAYOUT)[0] == before[0]
    assert nvim.lua("return vim.v.errmsg") == ""
    assert set(nvim.notices()) == {"Only the unified layout can show this."}
