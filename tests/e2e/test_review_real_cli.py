"""The review with the real CLI, in the modes that do not ask: what it changed waits in Neovim, and can be undone there."""

import pytest

from harness.cli import call

pytestmark = pytest.mark.cli

WAITING = """
return vim.tbl_map(function(change) return { vim.fs.basename(change.path), change.added, change.removed } end,
  require("claude-ide").review.changes())
"""


@pytest.fixture
def nvim(start_nvim):
    """A Neovim with one of two files in its window."""
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n", "b.txt": "first\nsecond\n"})
    nvim.lua('require("claude-ide.server").start()')
    return nvim


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_what_was_edited_without_asking_waits_and_can_be_undone(nvim, cli, mode):
    claude = cli(nvim, mode=mode)
    a, b, c = (str(nvim.project / name) for name in ("a.txt", "b.txt", "c.txt"))
    claude.prompt(
        " THEN ".join(
            [
                call("Read", file_path=a),
                call("Edit", file_path=a, old_string="two", new_string="TWO"),
                call("Read", file_path=b),
                call("Edit", file_path=b, old_string="second\n", new_string=""),
                call("Write", file_path=c, content="new\n"),
            ]
        )
    )
    claude.wait_screen("● Done.")
    expected = [["a.txt", 1, 1], ["b.txt", 0, 1], ["c.txt", 1, 0]]
    nvim.wait(lambda: nvim.lua(WAITING) == expected, what="three files to wait for a review")
    nvim.keys(":Claude review<CR>")
    nvim.wait_screen("3 files")
    nvim.keys("dx")
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == "one\ntwo\nthree\n", what="the undo on disk")
    nvim.keys("]fgA")
    nvim.wait(lambda: nvim.lua(WAITING) == expected[2:], what="one file left")
    assert (nvim.project / "b.txt").read_text() == "first\n"
