"""Several pending diffs: from one to the next, all at once, in a list."""

import pytest
from diff_steps import Diffs

pytestmark = pytest.mark.dealt

FILES = {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"}


@pytest.fixture
def diffs(start_nvim):
    diffs = Diffs(start_nvim(files=FILES))
    diffs.open(1, "a.txt", "A\n")
    diffs.propose(2, "b.txt", "B\n", client=2)
    diffs.propose(3, "c.txt", "c\nC\n")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 4, what="three tabs of diffs")
    return diffs


@pytest.mark.every_nvim
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


def see_all(diffs):
    for id in (2, 3, 1):
        diffs.nvim.keys(":Claude diffs next<CR>")
        diffs.wait_current(id)


def test_accepts_all_as_they_now_stand(diffs):
    see_all(diffs)
    assert diffs.accept(1, "a.txt", "ccedited<Esc>:Claude accept all<CR>") == "edited\n"
    assert diffs.accepted(2, "b.txt") == "B\n"
    assert diffs.accepted(3, "c.txt") == "c\nC\n"
    diffs.wait_clean()


def test_accepts_none_that_was_not_seen(diffs):
    see_all(diffs)
    (diffs.nvim.project / "d.txt").write_text("d\n")
    diffs.propose(4, "d.txt", "D\n")
    diffs.nvim.wait("Ide.proposal.list()[4].tab ~= nil", what="the fourth to be open")
    diffs.nvim.keys(":Claude accept all<CR>")
    diffs.nvim.wait_screen("Look at 1 other proposal first, then accept or reject. 3 proposals accepted.")
    assert [diffs.outcomes(id) for id in (1, 2, 3, 4)] == [["saved"], ["saved"], ["saved"], []]
    diffs.wait_current(4)
    diffs.nvim.keys(":Claude accept all<CR>")
    assert diffs.accepted(4, "d.txt") == "D\n"


def test_rejects_all(diffs):
    diffs.nvim.keys(":Claude reject all<CR>")
    for id in (1, 2, 3):
        assert diffs.answer(id) == {"outcome": "rejected"}
    diffs.wait_clean()


def test_a_word_that_nobody_would_read_decides_nothing(diffs):
    diffs.nvim.keys(":Claude accept too long<CR>")
    diffs.nvim.wait_screen("unexpected argument")
    assert len(diffs.nvim.lua("return Ide.proposal.list()")) == 3


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
        ["a.txt", 1, "+1 −1 · connection 1"],
        ["b.txt", 1, "+1 −1 · connection 2"],
        ["c.txt", 2, "+1 −0 · connection 1"],
    ]


def test_enter_in_the_list_goes_to_the_diff_also_from_within_one(diffs):
    nvim = diffs.nvim
    nvim.keys(":Claude diffs quickfix<CR>")
    nvim.wait("vim.bo.buftype == 'quickfix'")
    for line, id in [(3, 3), (2, 2), (1, 1)]:
        nvim.keys(f"{line}G<CR>")
        diffs.wait_current(id)
        if id > 1:
            nvim.keys("2gt" if id == 3 else ":2tabnext<CR>")
            nvim.keys("<C-w>b")
            nvim.wait("vim.bo.buftype == 'quickfix'")
    for id in (1, 2, 3):
        diffs.wait_current(id)
        diffs.reject(id)
    diffs.wait_clean()
    nvim.cmd("call setqflist([{'filename': 'b.txt', 'lnum': 1}]) | copen")
    nvim.keys("<CR>")
    nvim.wait(lambda: nvim.lines() == ["b"], what="Enter in another list to be Enter")


def test_those_on_the_screen_say_how_many_more_wait(diffs):
    diffs.nvim.wait_screen("2 more")
    diffs.propose(4, "b.txt", "BB\n")
    diffs.nvim.wait_screen("3 more")
    diffs.nvim.lua("Ide.proposal.accept(3)")
    diffs.nvim.wait_screen("2 more")


LABELS = """
local labels
vim.ui.select = function(items, options) labels = vim.tbl_map(options.format_item, items) end
Ide.command_diffs.run({})
return labels
"""
TEXTS = """
Ide.command_diffs.run({ "quickfix" })
return vim.tbl_map(function(item) return item.text end, vim.fn.getqflist())
"""


def propose(nvim, client, name, contents):
    """Sends an edit through the server; answers do not matter here."""
    path = str(nvim.project / name)
    count = nvim.lua("return Ide.proposal.count()")
    args = {"old_file_path": path, "new_file_path": path, "new_file_contents": contents, "tab_name": name}
    client.start_call("openDiff", **args)
    nvim.wait(f"Ide.proposal.count() == {count + 1}")
    nvim.wait("return vim.iter(Ide.proposal.list()):all(function(diff) return diff.added ~= nil end)")


def test_each_names_its_session_and_no_two_are_alike(start_nvim, connect, sessions):
    nvim = start_nvim(files={**FILES, "long/name.txt": "x\n"})
    clients, pids = [], []
    for name in ("fix the parser", None, None, None):
        client = connect(nvim, roots=[nvim.project])
        pid = sessions.sleeper()
        client.notify("ide_connected", {"pid": pid})
        if name or len(pids) == 1:
            sessions.record(pid, f"session-{len(pids)}", "busy", cwd=nvim.project, name=name)
        clients.append(client)
        pids.append(pid)
    nvim.wait(f"vim.tbl_count(Ide.sessions.live()) == 2 and Ide.server.client(4).pid == {pids[3]}")
    nvim.wait(
        "return vim.iter(Ide.server.clients()):all(function(client) return #client.roots > 0 end)",
        what="the folders of all",
    )
    propose(nvim, clients[0], "a.txt", "A\n")
    propose(nvim, clients[1], "long/name.txt", "x\ny\n")
    propose(nvim, clients[2], "a.txt", "A\n")
    propose(nvim, clients[2], "a.txt", "A\n")
    project = nvim.project.name
    assert nvim.lua(LABELS) == [
        "a.txt          +1 −1 · fix the parser",
        f"long/name.txt  +1 −0 · {project} (pid {pids[1]})",
        f"a.txt          +1 −1 · {project} (pid {pids[2]})",
        f"a.txt          +1 −1 · {project} (pid {pids[2]}) (2)",
    ]
    assert nvim.lua(TEXTS)[:2] == ["+1 −1 · fix the parser", f"+1 −0 · {project} (pid {pids[1]})"]
    nvim.wait("require('claude-ide.statusline').text():find('4 diffs', 1, true)")


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
        # One not seen yet is shown first.
        diffs.nvim.wait(lambda: diffs.nvim.lua(DECIDE, "reject") == [True, ""], what=f"diff {id} to be rejected")
        assert diffs.answer(id) == {"outcome": "rejected"}
    for name in ("accept", "reject"):
        assert diffs.nvim.lua(DECIDE, name) == [False, "No open diffs."]
