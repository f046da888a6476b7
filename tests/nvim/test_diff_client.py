"""Diffs as clients see them, over a real connection: the answers, and the end of either side."""

import os
import signal

import pytest
from diff_steps import Diffs
from held_timers import CLOSED_DIFF, hold_timers

from harness.client import RpcError

pytestmark = pytest.mark.dealt

OLD, NEW = "one\ntwo\n", "ONE\ntwo\n"
TAB = "✻ [Claude Code] a.txt (1c9983) ⧉"


@pytest.fixture
def nvim(start_nvim):
    return start_nvim(files={"a.txt": OLD, "b.txt": OLD}, args=["b.txt"])


def ask(client, nvim, name="a.txt", contents=NEW, tab=TAB):
    path = str(nvim.project / name)
    more = {"new_file_contents": contents, "tab_name": tab}
    return client.start_call("openDiff", old_file_path=path, new_file_path=path, **more)


SEEN = """
return vim.iter(Ide.proposal.list()):any(function(diff) return diff.current and diff.seen end)
"""


def wait_open(nvim, name="a.txt"):
    nvim.wait(f"vim.fn.bufname() == '{name} (Claude)'", what="the cursor in the proposal")
    nvim.wait(SEEN, what="the diff to have been seen")


def open_diff(client, nvim, name="a.txt", **more):
    """Requests a diff, and waits until it is shown; returns the request."""
    request = ask(client, nvim, name, **more)
    wait_open(nvim, name)
    return request


def accepts(nvim, client, request, text=NEW):
    wait_open(nvim)
    nvim.keys("ZZ")
    assert client.call_result(request) == ["FILE_SAVED", text]


def wait_gone(nvim):
    nvim.wait("#vim.api.nvim_list_tabpages() == 1 and Ide.proposal.count() == 0", what="no diff")


@pytest.mark.every_nvim
def test_accepted(nvim, connect):
    client = connect(nvim)
    request = open_diff(client, nvim)
    assert not client.answered(request)
    nvim.keys("ZZ")
    assert client.call_result(request) == ["FILE_SAVED", NEW]
    wait_gone(nvim)


@pytest.mark.every_nvim
def test_rejected_and_never_closed(nvim, connect):
    client = connect(nvim)
    request = open_diff(client, nvim)
    nvim.keys("ZQ")
    assert client.call_result(request) == ["DIFF_REJECTED"]
    wait_gone(nvim)


def test_every_byte_comes_back(nvim, connect):
    client = connect(nvim)
    text = "\ufeffa\r\nb\tü\U0001f600\u2028\x00\x7f\r\nno end"
    accepts(nvim, client, ask(client, nvim, contents=text), text)


def test_the_terminal_answers_first(nvim, connect):
    client = connect(nvim)
    before = Diffs(nvim).screen_state()
    request = open_diff(client, nvim)
    assert client.call("close_tab", tab_name=TAB) == ["TAB_CLOSED"]
    assert client.call_result(request) == ["DIFF_REJECTED"]
    wait_gone(nvim)
    assert client.call("close_tab", tab_name=TAB) == ["TAB_CLOSED"]
    assert client.call("close_tab", tab_name="never opened") == ["Tab not found"]
    assert Diffs(nvim).screen_state() == before


@pytest.mark.slow
def test_a_diff_that_vanishes_says_why(nvim, connect):
    client = connect(nvim)
    for ends, why in {
        lambda _: client.call("close_tab", tab_name=TAB): "it was answered in Claude's prompt",
        lambda _: client.call("closeAllDiffTabs"): "Claude has a new prompt",
        lambda request: client.cancel(request): "Claude withdrew it",
        lambda _: client.drop(): "that Claude is gone",
    }.items():
        request = open_diff(client, nvim)
        ends(request)
        nvim.wait_screen(f"a.txt: {why}.")
        wait_gone(nvim)


def test_close_tab_after_the_editor_answered_is_no_error(nvim, connect):
    client = connect(nvim)
    request = open_diff(client, nvim)
    nvim.keys("ZZ")
    client.call_result(request)
    for _ in range(2):
        assert client.call("close_tab", tab_name=TAB) == ["TAB_CLOSED"]
    assert connect(nvim).call("close_tab", tab_name=TAB) == ["Tab not found"]
    wait_gone(nvim)


def test_a_prompt_closes_the_diffs_of_its_own_client_only(nvim, connect):
    first, second = connect(nvim), connect(nvim)
    mine, other = ask(first, nvim), ask(second, nvim, "b.txt")
    nvim.wait("Ide.proposal.count() == 2 and #vim.api.nvim_list_tabpages() == 3")
    assert second.call("closeAllDiffTabs") == ["CLOSED_1_DIFF_TABS"]
    assert second.call_result(other) == ["DIFF_REJECTED"]
    nvim.wait("#vim.api.nvim_list_tabpages() == 2")
    assert not first.answered(mine)
    assert second.call("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
    accepts(nvim, first, mine)


def test_a_client_that_leaves_takes_its_diffs_along(nvim, connect):
    first, second = connect(nvim), connect(nvim)
    ask(first, nvim)
    wait_open(nvim)
    kept = ask(second, nvim, "b.txt")
    nvim.wait("Ide.proposal.count() == 2 and #vim.api.nvim_list_tabpages() == 3")
    first.close()
    wait_open(nvim, "b.txt")
    nvim.keys("ZQ")
    assert second.call_result(kept) == ["DIFF_REJECTED"]
    wait_gone(nvim)


def assert_undecided(client, name, request):
    """An error leaves the CLI's own question open."""
    if name == "claude-code":
        with pytest.raises(RpcError, match="the editor is closing"):
            client.call_result(request)
    else:
        assert client.call_result(request) == ["DIFF_REJECTED"]


@pytest.mark.parametrize("name", ["claude-code", "another"])
@pytest.mark.parametrize("keys", [":qa<CR>", ":qa!<CR>", ":x<CR>:qa<CR>"])
def test_quitting_decides_only_where_there_is_no_terminal(nvim, connect, keys, name):
    client = connect(nvim, clientInfo={"name": name, "version": "1"})
    request = open_diff(client, nvim)
    waiting = ask(client, nvim, "b.txt")
    nvim.wait("Ide.proposal.count() == 2 and #vim.api.nvim_list_tabpages() == 3")
    nvim.keys(keys)
    if ":x" in keys:
        assert client.call_result(request) == ["FILE_SAVED", NEW]
    else:
        assert_undecided(client, name, request)
    assert_undecided(client, name, waiting)
    assert nvim.terminal.wait_exit() == 0
    assert (nvim.project / "a.txt").read_text() == OLD


@pytest.mark.parametrize("name", ["claude-code", "another"])
def test_a_restart_of_the_server_clears_the_screen_and_decides_only_where_there_is_no_terminal(nvim, connect, name):
    client = connect(nvim, clientInfo={"name": name, "version": "1"})
    request = open_diff(client, nvim)
    nvim.lua("Ide.server.restart()")
    assert_undecided(client, name, request)
    wait_gone(nvim)
    again = connect(nvim)
    accepts(nvim, again, ask(again, nvim))


def test_a_turn_of_five_edits_in_the_order_of_the_cli(nvim, connect):
    client, text = connect(nvim), OLD
    client.call("closeAllDiffTabs")
    for number in range(5):
        tab = f"✻ [Claude Code] a.txt ({number}) ⧉"
        client.call("getDiagnostics", uri=f"file://{nvim.project / 'a.txt'}")
        proposal = f"{text}edit {number}\n"
        request = ask(client, nvim, contents=proposal, tab=tab)
        nvim.wait(f"vim.bo.buftype == 'acwrite' and vim.api.nvim_buf_get_lines(0, -2, -1, false)[1] == 'edit {number}'")
        wait_open(nvim)
        nvim.keys("ZZ")
        kind, text = client.call_result(request)
        assert (kind, text) == ("FILE_SAVED", proposal)
        (nvim.project / "a.txt").write_text(text)
        assert client.call("close_tab", tab_name=tab) == ["TAB_CLOSED"]
    wait_gone(nvim)
    assert (nvim.project / "a.txt").read_text() == text


def test_diffs_can_be_left_to_the_terminal(start_nvim, connect):
    client = connect(start_nvim(opts={"diff": {"enabled": False}}))
    tools = [tool["name"] for tool in client.request("tools/list")["tools"]]
    assert "openDiff" not in tools and "openFile" in tools


def test_the_accepted_diff_stays_for_the_next_edit_and_goes_when_the_turn_is_over(nvim, connect):
    client = connect(nvim)
    request = open_diff(client, nvim)
    hold_timers(nvim, *CLOSED_DIFF)
    nvim.keys("ZZ")
    _, text = client.call_result(request)
    (nvim.project / "a.txt").write_text(text)
    client.call("close_tab", tab_name=TAB)
    client.call("getDiagnostics", uri=f"file://{nvim.project / 'a.txt'}")
    assert len(nvim.lua("return vim.api.nvim_list_tabpages()")) == 2
    nvim.wait_screen("a.txt · accepted")
    client.call("getDiagnostics")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="it to go, without a timer")


def test_a_client_that_goes_while_the_user_types_takes_nothing_of_it(nvim, connect):
    """Their text is kept, and further typing does not land in the file below."""
    client = connect(nvim)
    open_diff(client, nvim)
    nvim.keys("omine")
    nvim.wait(lambda: nvim.mode() == "i" and "mine" in nvim.lines())
    client.drop()
    wait_gone(nvim)
    nvim.wait(lambda: nvim.mode() == "n", what="normal mode, in a file that nobody began to edit")
    nvim.wait_screen("Your edits to the proposal are saved")
    kept = nvim.lua("return vim.fn.bufnr('a.txt (recovered)')")
    assert nvim.lines(kept) == ["ONE", "mine", "two"] and nvim.lines() == OLD.splitlines()


@pytest.mark.every_nvim
def test_neovim_warns_before_recovered_edits_are_lost(nvim, connect):
    client = connect(nvim)
    open_diff(client, nvim)
    nvim.keys("omine<Esc>")
    nvim.wait(lambda: nvim.mode() == "n" and "mine" in nvim.lines())
    client.drop()
    wait_gone(nvim)
    nvim.wait_screen("Your edits to the proposal are saved")
    nvim.cmd("buffer a.txt\\ (recovered)")
    for command, error in (("edit", "E37"), ("bdelete", "E89"), ("qall", "E162"), ("wqall", "E162")):
        nvim.cmd(f"silent! {command}")
        assert error in nvim.lua("return vim.v.errmsg"), command
        assert nvim.lines() == ["ONE", "mine", "two"]
    nvim.keys("omore<Esc>:w<CR>")
    nvim.wait_screen("These edits have no file: use `:w {file}`.")
    nvim.cmd("edit!")
    assert nvim.lines() == ["ONE", "mine", "two"]
    nvim.keys("u")
    nvim.wait(lambda: nvim.lines() == ["ONE", "more", "mine", "two"], what="what was typed since")
    nvim.keys(":w copy.txt<CR>")
    nvim.wait("not vim.bo.modified", what="a copy that makes the edits safe")
    assert (nvim.project / "copy.txt").read_text() == "ONE\nmore\nmine\ntwo\n"
    nvim.cmd("edit")
    assert nvim.lines() == ["ONE", "more", "mine", "two"]
    nvim.keys(":qa<CR>")
    assert nvim.terminal.wait_exit() == 0


def test_a_client_that_goes_while_the_user_types_elsewhere_disturbs_nobody(nvim, connect):
    client = connect(nvim)
    open_diff(client, nvim)
    nvim.keys("1gtohere")
    nvim.wait(lambda: nvim.mode() == "i" and "here" in nvim.lines())
    client.drop()
    wait_gone(nvim)
    assert nvim.mode() == "i"
    nvim.keys(" I am<Esc>")
    nvim.wait(lambda: nvim.lines()[1] == "here I am")


def test_an_empty_new_file_is_left_to_the_prompt_and_said_so(nvim, connect):
    nvim.keep_notices()
    client = connect(nvim)
    request = open_diff(client, nvim, "new.txt", contents="")
    nvim.keys("ZZ")
    nvim.wait("#notices == 1")
    assert nvim.notices() == ["new.txt: only Claude's own prompt can accept an empty new file."]
    assert not client.answered(request)
    nvim.keys("ifilled<Esc>ZZ")
    assert client.call_result(request) == ["FILE_SAVED", "filled\n"]


def test_the_text_of_a_crlf_file_typed_back_as_lf_is_a_rejection_and_said_so(nvim, connect):
    (nvim.project / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    nvim.keep_notices()
    client = connect(nvim)
    request = open_diff(client, nvim, "crlf.txt")
    assert not nvim.lua(
        "return vim.iter(vim.api.nvim_tabpage_list_wins(0)):any(function(w) return vim.wo[w].winbar:find('LF') end)"
    ), "the CLI keeps the ends of the lines"
    nvim.keys("ggcwone<Esc>ZZ")
    assert client.call_result(request) == ["DIFF_REJECTED"]
    assert nvim.notices() == ["crlf.txt: nothing is left to change, so it counts as rejected."]
    wait_gone(nvim)


# Like a plugin manager's reload (`:Lazy reload`).
RELOAD = """
require("claude-ide").deactivate()
for name in pairs(package.loaded) do
  if vim.startswith(name, "claude-ide") then package.loaded[name] = nil end
end
vim.g.loaded_claude_ide = nil
vim.cmd("runtime! plugin/claude-ide.lua")
"""


@pytest.mark.every_nvim
def test_a_plugin_that_is_loaded_anew_leaves_no_diff_that_nobody_can_decide(nvim, connect):
    client = connect(nvim)
    request = open_diff(client, nvim)
    nvim.keys("omine<Esc>")
    nvim.wait(lambda: nvim.lines() == ["ONE", "mine", "two"] and nvim.mode() == "n")
    nvim.lua(RELOAD)
    with pytest.raises(RpcError, match="the editor is closing"):
        client.call_result(request)
    wait_gone(nvim)
    assert nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt (recovered)'), 0, -1, true)")[1] == "mine"
    again = connect(nvim)
    accepts(nvim, again, ask(again, nvim))
    again.close()
    nvim.keys(":qa!<CR>")
    assert nvim.terminal.wait_exit() == 0


@pytest.mark.every_nvim
def test_where_nothing_may_be_changed_what_was_typed_into_a_proposal_is_kept_too(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": OLD, "b.txt": OLD}, args=["-M", "b.txt"])
    client = connect(nvim)
    open_diff(client, nvim)
    nvim.keys("omine<Esc>g?")
    nvim.wait_screen("Keys of a diff")
    nvim.keys("q")
    nvim.wait(lambda: "Keys of a diff" not in "\n".join(nvim.screen()), what="the help to go: without it `q` records")
    client.drop()
    wait_gone(nvim)
    nvim.wait_screen("Your edits to the proposal are saved")
    assert nvim.lines(nvim.lua("return vim.fn.bufnr('a.txt (recovered)')")) == ["ONE", "mine", "two"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("ended", [True, False], ids=["terminal ended", "terminal goes on"])
def test_back_in_the_terminal_it_stays_to_be_read_where_the_typed_text_is(start_nvim, connect, ended):
    opts = {"terminal": {"command": ["sh", "-c", "exec sleep 1000"]}}
    nvim = start_nvim(files={"a.txt": OLD, "b.txt": OLD}, args=["b.txt"], opts=opts)
    client = connect(nvim)
    nvim.keys(":Claude<CR>")
    nvim.wait("vim.fn.mode() == 't'")
    job, pid = nvim.lua("return { vim.bo.channel, vim.b.terminal_job_pid }")
    nvim.lua("Ide.terminal.is_focused_on = function() return true end")  # the client is none of its
    open_diff(client, nvim)
    nvim.keys(":1s/$/ more<CR>")
    nvim.wait(lambda: nvim.lines() == ["ONE more", "two"])
    if ended:
        os.kill(pid, signal.SIGKILL)
        nvim.wait(f"vim.fn.jobwait({{ {job} }}, 0)[1] ~= -1")
    client.drop()
    wait_gone(nvim)
    # A terminal that has ended is closed by the next key in its mode.
    nvim.wait("vim.bo.buftype == 'terminal'")
    nvim.wait(f"vim.api.nvim_get_mode().mode == '{'nt' if ended else 't'}'")
    if not ended:
        nvim.keys("<C-\\><C-n>")  # the mode line would cover the message
    nvim.wait_screen("Your edits to the proposal are saved")


@pytest.mark.parametrize(
    "on_disk",
    [b"one\r\ntwo\r\n", b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\r\ntwo\r\n"],
    ids=["crlf", "bom", "both"],
)
def test_a_proposal_that_equals_the_file_but_for_its_marks_is_a_rejection_and_said_so(nvim, connect, on_disk):
    (nvim.project / "marks.txt").write_bytes(on_disk)
    nvim.keep_notices()
    client = connect(nvim)
    request = open_diff(client, nvim, "marks.txt", contents="one\ntwo\n")
    nvim.keys("ZZ")
    assert client.call_result(request) == ["DIFF_REJECTED"]
    assert nvim.notices() == ["marks.txt: nothing is left to change, so it counts as rejected."]


@pytest.mark.parametrize("keys", ["dxZZ", ":%d<CR>ZZ"])
def test_a_new_file_of_which_nothing_is_kept_is_rejected(nvim, connect, keys):
    nvim.keep_notices()
    client = connect(nvim)
    request = open_diff(client, nvim, "new.txt", contents="one\ntwo\n")
    nvim.keys(keys)
    assert client.call_result(request) == ["DIFF_REJECTED"]
    assert nvim.notices() == ["new.txt: nothing is left to change, so it counts as rejected."]
