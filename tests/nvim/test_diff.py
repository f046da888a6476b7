"""A proposed edit, from the request to its one answer: every possible end, with real keys."""

import pytest
from diff_steps import Diffs

pytestmark = pytest.mark.dealt

OLD = "one\ntwo\nthree\nfour\n"
NEW = "one\ntwo\nTHREE\nfour\n"


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files={"a.txt": OLD, "b.txt": "b\n"}, args=["a.txt"]))


@pytest.mark.every_nvim
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
    screen = nvim.wait_screen("ZZ accept  ZQ reject  ]c next  dx gl ZW g?")
    assert "a.txt · now" in screen and "a.txt +1 −1  " in screen


ACCEPT = ["ZZ", ":w<CR>", ":wq<CR>", ":x<CR>", ":update<CR>", ":Claude accept<CR>", "<C-w>hZZ"]
REJECT = ["ZQ", ":q<CR>", ":q!<CR>", ":close<CR>", ":tabclose<CR>", ":bwipeout<CR>", ":bwipeout!<CR>", ":bdelete<CR>"]
REJECT += [":Claude reject<CR>", ":hide<CR>", "<C-w>c", "<C-w>q", "<C-w>hZQ", ":1tabnext<CR>:tabonly<CR>"]
REJECT += [":1tabnext<CR>:2tabclose<CR>"]


def test_accepts(diffs):
    before = diffs.screen_state()
    for id, keys in enumerate(ACCEPT, 1):
        diffs.open(id, "a.txt", new := f"{NEW}{id}\n")
        assert diffs.accept(id, "a.txt", keys) == new, keys
        diffs.wait_current(None)
        diffs.wait_clean()
        assert diffs.screen_state() == before, keys
        assert diffs.events()[-2:] == [("ClaudeDiffOpened", id, ""), ("ClaudeDiffClosed", id, "accepted")]


def test_rejects(diffs):
    before = diffs.screen_state()
    for id, keys in enumerate(REJECT, 1):
        diffs.open(id, "a.txt", NEW)
        diffs.nvim.keys(keys)
        assert diffs.answer(id) == {"outcome": "rejected"}, keys
        diffs.wait_current(None)
        diffs.wait_clean()
        assert diffs.screen_state() == before, keys


@pytest.mark.every_nvim
def test_mapped_plugs_decide(diffs):
    diffs.nvim.cmd("nmap gx <Plug>(claude-diff-reject)| nmap ga <Plug>(claude-diff-accept)")
    diffs.open(1, "a.txt", NEW)
    diffs.reject(1, "gx")
    diffs.wait_current(None)
    diffs.open(2, "a.txt", NEW)
    assert diffs.accept(2, "a.txt", "ga") == NEW


@pytest.mark.every_nvim
def test_accepts_what_the_user_made_of_it(diffs):
    diffs.open(1, "a.txt", NEW)
    assert diffs.accept(1, "a.txt", "cwdrei<Esc>ZZ") == "one\ntwo\ndrei\nfour\n"
    diffs.wait_clean()


@pytest.mark.every_nvim
def test_edit_bang_brings_the_proposal_back(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("ggdG:e!<CR>")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == NEW.split("\n")[:-1])
    assert diffs.outcomes(1) == []
    assert diffs.accept(1, "a.txt") == NEW
    diffs.wait_clean()


def test_a_second_write_is_no_error(diffs):
    diffs.open(1, "a.txt", NEW)
    assert diffs.accept(1, "a.txt", ":w<CR>:w<CR>") == NEW
    diffs.wait_clean()
    assert diffs.nvim.lua("return vim.v.errmsg") == ""


@pytest.mark.every_nvim
def test_a_new_file_stands_alone(diffs):
    before = diffs.screen_state()
    diffs.open(1, "gone/deep/new.py", "print()\n")
    diffs.nvim.wait_screen("new.py · new file")
    diffs.nvim.wait_screen("+1 −0")
    assert diffs.nvim.lua("return vim.bo.filetype") == "python"
    assert diffs.accept(1, "gone/deep/new.py") == "print()\n"
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


@pytest.mark.every_nvim
def test_writing_does_not_accept_where_that_is_switched_off(start_nvim):
    diffs = Diffs(start_nvim(opts={"diff": {"accept_on_write": False}}, files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys(":wq<CR>")
    diffs.nvim.wait_screen("`:w` does not accept")
    assert diffs.outcomes(1) == [] and diffs.current() == 1
    diffs.nvim.keys("ZZ")
    assert diffs.answer(1)["outcome"] == "saved"


BREAK = """
local module, name = ...
local broken = Ide[module]
local whole = broken[name]
broken[name] = function() error("the " .. name .. " is broken") end
_G.mend = function() broken[name] = whole end
"""


BROKEN = [
    "proposal_writes.start",
    "proposal_current_text.present",
    "proposal_buffers.finish",
    "diff_hunks.follow",
]
BROKEN += [
    "diff_windows.open",
    "window_options.window",
    "diff_unified.go_to_first",
    "proposal_events.attach",
]
BROKEN += ["own_buffer.highlight"]


@pytest.mark.parametrize(
    ("lines", "broken"),
    [(1, BROKEN), (60000, ["proposal_buffers.finish", "diff_comparison.run"])],
    ids=["short", "long"],
)
def test_a_diff_that_cannot_be_shown_is_left_to_the_clis_prompt(start_nvim, lines, broken):
    diffs = Diffs(start_nvim(files={"a.txt": OLD * lines}, opts={"diff": {"layout": "unified"}}))
    for at, function in enumerate(broken):
        module, _, name = function.rpartition(".")
        (diffs.nvim.project / (file := f"{name}.txt")).write_text(OLD * lines)
        before = diffs.screen_state()
        diffs.nvim.keep_notices()
        diffs.nvim.lua(BREAK, module, name)
        diffs.propose(2 * at + 1, file, NEW * lines)
        assert diffs.answer(2 * at + 1) == {"outcome": "error", "message": "the editor could not show the diff"}, (
            function
        )
        diffs.wait_clean()
        assert diffs.screen_state() | {"last_tab": 0} == before | {"last_tab": 0}, function
        diffs.nvim.wait_notice()
        assert diffs.nvim.notices() == [f"Answer in Claude's prompt: the diff of {file} cannot be shown."]
        assert "Error" not in "\n".join(diffs.nvim.screen()) and "traceback" not in diffs.nvim.lua(
            "return vim.v.errmsg"
        )
        log = diffs.nvim.log()
        assert f"the {name} is broken" in log and "stack traceback" in log
        assert diffs.events()[-1] == ("ClaudeDiffClosed", 2 * at + 1, "closed")
        diffs.nvim.lua("mend()")
        diffs.open(2 * at + 2, file, NEW)
        assert diffs.accept(2 * at + 2, file) == NEW, function
        diffs.wait_clean()
    diffs.wait_clean()


def test_one_that_cannot_be_shown_when_it_is_gone_to_leaves_the_others_alone(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("i")
    diffs.nvim.wait("vim.fn.mode() == 'i'")
    diffs.propose(2, "b.txt", "B\n")
    diffs.nvim.wait("Ide.proposal.list()[2].added")
    diffs.nvim.lua(BREAK, "diff_windows", "open")
    ok, err = diffs.nvim.lua("local ok, err = Ide.proposal.focus(2) return { ok or false, err }")
    assert not ok and err == "The diff cannot be shown."
    assert diffs.answer(2)["outcome"] == "error"
    diffs.nvim.keys("<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.mode() == "n")
    assert diffs.current() == 1 and diffs.outcomes(1) == []
    assert diffs.accept(1, "a.txt") == NEW
    diffs.wait_clean()
