"""A proposed edit, from the request to its one answer: every way it can end, with real keys."""

import pytest
from diff_steps import Diffs

OLD = "one\ntwo\nthree\nfour\n"
NEW = "one\ntwo\nTHREE\nfour\n"


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files={"a.txt": OLD, "b.txt": "b\n"}, args=["a.txt"]))


def test_shows_both_sides_in_a_tab_of_its_own(diffs):
    diffs.open(1, "a.txt", NEW)
    nvim = diffs.nvim
    assert len(nvim.lua("return vim.api.nvim_list_tabpages()")) == 2
    left, right = nvim.lua("""
      return vim.tbl_map(function(win)
        local buf = vim.api.nvim_win_get_buf(win)
        return {
          lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false), modifiable = vim.bo[buf].modifiable,
          swapfile = vim.bo[buf].swapfile, listed = vim.bo[buf].buflisted, diff = vim.wo[win].diff,
        }
      end, vim.api.nvim_tabpage_list_wins(0))
    """)
    same = {"swapfile": False, "listed": False, "diff": True}
    assert left == {"lines": OLD.split("\n")[:-1], "modifiable": False, **same}
    assert right == {"lines": NEW.split("\n")[:-1], "modifiable": True, **same}
    assert nvim.cursor() == (3, 0)
    screen = nvim.wait_screen("ZZ accept  ZQ reject")
    assert "a.txt · now" in screen and "a.txt · Claude's proposal  +1 −1" in screen


@pytest.mark.parametrize("keys", ["ZZ", ":w<CR>", ":wq<CR>", ":x<CR>", ":update<CR>", ":Claude accept<CR>", "<C-w>hZZ"])
def test_accepts(diffs, keys):
    before = diffs.screen_state()
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys(keys)
    assert diffs.accepted(1, "a.txt") == NEW
    diffs.wait_current(None)
    diffs.wait_clean()
    assert diffs.screen_state() == before
    assert diffs.events() == [["ClaudeDiffOpened", 1, ""], ["ClaudeDiffClosed", 1, "accepted"]]


@pytest.mark.parametrize(
    "keys",
    [
        "ZQ",
        ":q<CR>",
        ":q!<CR>",
        ":close<CR>",
        ":tabclose<CR>",
        ":bwipeout<CR>",
        ":bwipeout!<CR>",
        ":bdelete<CR>",
        ":only<CR>",
        ":Claude reject<CR>",
        "<C-w>c",
        "<C-w>h:q<CR>",
        "<C-w>hZQ",
        "<C-w>h:bwipeout<CR>",
        ":1tabnext<CR>:tabonly<CR>",
    ],
)
def test_rejects(diffs, keys):
    before = diffs.screen_state()
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys(keys)
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_current(None)
    diffs.wait_clean()
    assert diffs.screen_state() == before


def test_rejects_with_the_mapped_plug(start_nvim):
    diffs = Diffs(start_nvim(init_lua='vim.keymap.set("n", "gx", "<Plug>(claude-diff-reject)")', files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("gx")
    assert diffs.answer(1) == {"outcome": "rejected"}


def test_accepts_with_the_mapped_plug(start_nvim):
    diffs = Diffs(start_nvim(init_lua='vim.keymap.set("n", "ga", "<Plug>(claude-diff-accept)")', files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("ga")
    assert diffs.answer(1) == {"outcome": "saved", "contents": NEW}


def test_accepts_what_the_person_made_of_it(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("cwdrei<Esc>ZZ")
    assert diffs.accepted(1, "a.txt") == "one\ntwo\ndrei\nfour\n"
    diffs.wait_clean()


def test_accepts_the_proposal_after_the_edits_are_undone(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("ddu:x<CR>")
    assert diffs.answer(1) == {"outcome": "saved", "contents": NEW}


def test_edit_bang_brings_the_proposal_back(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("ggdG:e!<CR>")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == NEW.split("\n")[:-1])
    assert diffs.outcomes(1) == []
    diffs.nvim.keys("ZZ")
    assert diffs.accepted(1, "a.txt") == NEW
    diffs.wait_clean()


def test_a_second_write_is_no_error(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys(":w<CR>:w<CR>")
    assert diffs.accepted(1, "a.txt") == NEW
    diffs.wait_clean()
    assert diffs.nvim.lua("return vim.v.errmsg") == ""


def test_a_new_file_has_nothing_on_the_left(diffs):
    before = diffs.screen_state()
    diffs.open(1, "gone/deep/new.py", "print()\n")
    assert "+1 −0" in diffs.nvim.wait_screen("new.py · does not exist yet")
    assert diffs.nvim.lua("return vim.bo.filetype") == "python"
    diffs.nvim.keys("ZZ")
    assert diffs.accepted(1, "gone/deep/new.py") == "print()\n"
    diffs.wait_clean()
    assert diffs.screen_state() == before


def test_writes_nothing_itself(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("ZZ")
    diffs.answer(1)
    diffs.wait_current(None)
    assert (diffs.nvim.project / "a.txt").read_text() == OLD


def test_the_keys_can_be_chosen(start_nvim):
    opts = {"diff": {"keymaps": {"accept": ["ga", "gb"], "reject": False}}}
    diffs = Diffs(start_nvim(opts=opts, files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.wait_screen("ga accept  :q reject")
    diffs.nvim.keys("gb")
    assert diffs.answer(1)["outcome"] == "saved"


def test_writing_does_not_accept_where_that_is_switched_off(start_nvim):
    diffs = Diffs(start_nvim(opts={"diff": {"accept_on_write": False}}, files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys(":wq<CR>")
    diffs.nvim.wait_screen("Writing does not accept here")
    assert diffs.outcomes(1) == [] and diffs.current() == 1
    diffs.nvim.keys("ZZ")
    assert diffs.answer(1)["outcome"] == "saved"
