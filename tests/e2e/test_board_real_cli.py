"""The board beside real CLIs that this Neovim did not start."""

import pytest

from harness.cli import call

pytestmark = pytest.mark.one_nvim


def test_what_a_cli_elsewhere_asks_and_does_is_on_the_board(start_nvim, cli):
    nvim = start_nvim()
    claude = cli(nvim, args=(), wait_connected=False)
    nvim.cmd("Claude board")

    def board():
        return nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")

    claude.prompt(call("Bash", command="touch made", description="Make it"))
    nvim.wait(
        lambda: board()[0].startswith("● permission") and "your permission: Bash touch made" in board()[1],
        what="the question",
    )
    nvim.keys("a")
    nvim.wait_screen("Answer there.")
    claude.answer("1")
    nvim.wait(lambda: board()[0].startswith("○ idle"), what="the end of its turn")
    assert (nvim.project / "made").exists()
    assert "permission" not in board()[1]
    claude.prompt("SAY the last words")
    nvim.wait(lambda: board()[1].strip() == "the last words", what="what it said")
