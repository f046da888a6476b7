"""Floating windows over what is ours when that goes: the list of keys, or a notice of some plugin. Neovim 0.10 and 0.11 crash
where the last window of a tab page is closed beside one, so each test ends by quitting, which must not crash either."""

import pytest
from diff_steps import Diffs
from review_steps import A, B, review, turn

from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

KEYS = "keys"
FLOAT = """
local buf = vim.api.nvim_create_buf(false, true)
vim.api.nvim_open_win(buf, ..., { relative = "editor", row = 2, col = 2, width = 10, height = 2 })
"""
OVER = [KEYS, True, False]
IDS = ["its keys", "a window with the focus", "a notice"]


def put_over(nvim, what):
    if what == KEYS:
        nvim.keys("g?")
        nvim.wait_screen("Keys of")
    else:
        nvim.lua(FLOAT, what)


@pytest.mark.parametrize("over", OVER, ids=IDS)
@pytest.mark.parametrize("how", ["review').close()", "review').open('all')", ""], ids=["closed", "anew", "quit"])
def test_over_a_review(start_nvim, connect, over, how):
    nvim = start_nvim(files={"a.txt": A, "b.txt": B}, args=["b.txt"])
    turn(nvim, connect(nvim), a_txt=None, b_txt=B.upper())
    review(nvim)
    put_over(nvim, over)
    if how:
        nvim.lua(f"require('claude-ide.{how}")
        nvim.wait(lambda: nvim.lua("return vim.api.nvim_win_get_config(0).relative") == "", what="the focus below")
        assert nvim.lua("return #vim.api.nvim_list_tabpages()") == (1 if "close" in how else 2)
    assert nvim.quit() == 0


@pytest.mark.parametrize("over", OVER, ids=IDS)
@pytest.mark.parametrize("place", ["tab", "current", "float"])
@pytest.mark.parametrize(
    "how", ["hub').tell('client_disconnected', { id = 1 })", "diff').reject(1)", ""], ids=["gone", "rejected", "quit"]
)
def test_over_a_diff(start_nvim, over, place, how):
    diffs = Diffs(start_nvim(files={"a.txt": A, "b.txt": B}, args=["b.txt"], opts={"diff": {"open_in": place}}))
    nvim = diffs.nvim
    diffs.open(1, "a.txt", "new\n")
    put_over(nvim, over)
    if how:
        nvim.lua(f"require('claude-ide.{how}")
        nvim.wait(lambda: diffs.traces()["buffers"] == [], what="the diff to go")
        nvim.wait("require('claude-ide.diff').count() == 0")
    assert nvim.quit() == 0


@pytest.mark.every_nvim
def test_over_the_terminal(start_nvim, tmp_path):
    nvim = start_nvim(files={"a.txt": A}, args=["a.txt"], env=FakeCli(tmp_path).environment())
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("fake CLI ready")
    nvim.cmd("stopinsert | wincmd T | tabnext 1")
    nvim.cmd("tabnext 2")
    nvim.lua(FLOAT, False)
    assert nvim.quit() == 0
