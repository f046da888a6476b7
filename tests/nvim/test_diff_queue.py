"""Several diffs that wait: from one to the next, all at once, in a list."""

import pytest
from diff_steps import Diffs

FILES = {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"}


@pytest.fixture
def diffs(start_nvim):
    diffs = Diffs(start_nvim(files=FILES))
    diffs.open(1, "a.txt", "A\n")
    diffs.propose(2, "b.txt", "B\n", client=2)
    diffs.propose(3, "c.txt", "c\nC\n")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 4, what="three tabs of diffs")
    return diffs


def test_goes_from_one_to_the_next_and_around(diffs):
    for keys, id in [("next", 2), ("next", 3), ("next", 1), ("previous", 3), ("previous", 2)]:
        diffs.nvim.keys(f":Claude diffs {keys}<CR>")
        diffs.wait_current(id)


def test_from_elsewhere_next_is_the_first_and_previous_the_last(diffs):
    for keys, id in [("next", 1), ("previous", 3)]:
        diffs.nvim.keys("1gt")
        diffs.wait_current(None)
        diffs.nvim.keys(f":Claude diffs {keys}<CR>")
        diffs.wait_current(id)


def test_accepts_all_as_they_now_stand(diffs):
    diffs.nvim.keys("ccedited<Esc>:Claude accept all<CR>")
    assert diffs.accepted(1, "a.txt") == "edited\n"
    assert diffs.accepted(2, "b.txt") == "B\n"
    assert diffs.accepted(3, "c.txt") == "c\nC\n"
    diffs.wait_clean()


def test_rejects_all(diffs):
    diffs.nvim.keys(":Claude reject all<CR>")
    for id in (1, 2, 3):
        assert diffs.answer(id) == {"outcome": "rejected"}
    diffs.wait_clean()


def test_a_word_that_nobody_would_read_decides_nothing(diffs):
    diffs.nvim.keys(":Claude accept too long<CR>")
    diffs.nvim.wait_screen("expected all, or nothing")
    assert len(diffs.nvim.lua("return require('claude-ide.diff').list()")) == 3


def test_lists_them_in_the_quickfix_window(diffs):
    diffs.nvim.keys("1gt")
    diffs.wait_current(None)
    diffs.nvim.keys(":Claude diffs quickfix<CR>")
    diffs.nvim.wait("vim.bo.buftype == 'quickfix'")
    listed = diffs.nvim.lua("""
      return vim.tbl_map(function(item)
        return { vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)), item.lnum, item.text }
      end, vim.fn.getqflist())
    """)
    assert listed == [
        ["a.txt", 1, "+1 −1 · session 1"],
        ["b.txt", 1, "+1 −1 · session 2"],
        ["c.txt", 2, "+1 −0 · session 1"],
    ]


def test_a_word_that_means_nothing_is_named(diffs):
    diffs.nvim.keys(":Claude diffs nxt<CR>")
    diffs.nvim.wait_screen("expected next, previous or quickfix")


DECIDE = """
local ok, err = require("claude-ide")[...](select(2, ...))
return { ok or false, err or "" }
"""


def test_whoever_decides_from_lua_learns_whether_it_was_done(diffs):
    assert diffs.nvim.lua(DECIDE, "accept") == [True, ""]
    assert diffs.answer(1) == {"outcome": "saved", "contents": "A\n"}
    for id in (2, 3):
        assert diffs.nvim.lua(DECIDE, "reject") == [True, ""]
        assert diffs.answer(id) == {"outcome": "rejected"}
    for name in ("accept", "reject"):
        assert diffs.nvim.lua(DECIDE, name) == [False, "No diff waits for a decision."]
