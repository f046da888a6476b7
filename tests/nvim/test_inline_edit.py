"""`:Claude edit`: a proposal in place for some lines.

The CLI's part is tested with the real one against the scripted model, Neovim's with a stand-in.
"""

import re
import threading

import pytest
from chat_steps import accept, at_work_in, reject, start, start_with_stand_in, wait_diff

from harness.scripted_model import Reply

pytestmark = pytest.mark.dealt

TEXT = "one\ntwo\nthree\nfour\nfive\n"


def replacement(*lines):
    return Reply("Here it is.\n<replacement>\n" + "\n".join(lines) + "\n</replacement>\n")


class Deferred:
    """A model whose answer waits for the test."""

    def __init__(self, api, *replies):
        self._go = threading.Semaphore(0)
        self._replies = list(replies)
        api._model = self._answer

    def _answer(self, _messages):
        self._go.acquire(timeout=60)
        return self._replies.pop(0)

    def go(self):
        self._go.release()


def begin(nvim, command, keys=""):
    nvim.keys(keys)
    if command:
        nvim.keys(f":{command}<CR>")
    return nvim


@pytest.fixture
def edit(start_nvim, model, tmp_path):
    def edit(command, *, text=TEXT, keys="", files=None, **more):
        files = {"a.txt": text, **(files or {})}
        nvim = start_with_stand_in(start_nvim, model, tmp_path, files=files, args=["a.txt"], **more)
        return begin(nvim, command, keys)

    return edit


@pytest.fixture
def edit_with_cli(start_nvim, mock_api, tmp_path):
    def edit(command, *, keys="", **more):
        nvim = start(start_nvim, mock_api, tmp_path, files={"a.txt": TEXT}, args=["a.txt"], **more)
        return begin(nvim, command, keys)

    return edit


def wait_asked(nvim, model, count=1):
    nvim.wait(lambda: model.turns() >= count, what="Claude to be asked")


def lines(nvim):
    return nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false)")


def accept_it(nvim):
    accept(nvim)
    nvim.wait("Ide.inline_edit.count() == 0", what="the edit to be over")


def assert_reported(api):
    said = str(api.conversation())
    assert "make it loud" in said and "5\\tfivemine" in said and "<region>\\ntwo\\nthree\\n</region>" in said


@pytest.mark.every_nvim
def test_some_lines_become_a_proposal_in_place_and_one_u_takes_it_back(edit, model):
    model.script(replacement("TWO", "THREE"))
    nvim = edit("2,3Claude edit make it loud", keys="GAmine<Esc>")
    wait_diff(nvim)
    assert nvim.lua("return Ide.proposal.list()[1].path") == str(nvim.project / "a.txt")
    nvim.wait_screen("three")  # removed lines are drawn above the new ones
    nvim.wait_screen("+2 −2")
    assert nvim.lua("return #vim.api.nvim_list_tabpages()") == 1
    assert lines(nvim) == ["one", "two", "three", "four", "fivemine"], "nothing changes before it is accepted"
    assert_reported(model)
    accept_it(nvim)
    assert lines(nvim) == ["one", "TWO", "THREE", "four", "fivemine"]
    assert (nvim.project / "a.txt").read_text() == TEXT, "nothing is written"
    nvim.wait("vim.fn.bufname() == 'a.txt' and #vim.api.nvim_list_wins() == 1", what="the file to be back")
    nvim.keys("u")
    nvim.wait(lambda: lines(nvim) == ["one", "two", "three", "four", "fivemine"], what="one undo to take it back")
    nvim.keys("u")
    nvim.wait(lambda: lines(nvim)[-1] == "five", what="the user's own change to be another one")


def test_what_is_wrong_with_the_lines_and_the_symbols_of_the_file_go_along(edit, model):
    model.script(replacement("  return 2"))
    source = "local function outer()\n  return one\nend\n\nlocal function other()\nend\n"
    nvim = edit("", text="", files={"a.lua": source})
    nvim.cmd("edit a.lua")
    nvim.lua("""
      vim.diagnostic.set(vim.api.nvim_create_namespace("test"), 0, {
        { lnum = 1, col = 9, message = "undefined\\nglobal one", severity = vim.diagnostic.severity.ERROR },
        { lnum = 4, col = 0, message = "nobody calls it", severity = vim.diagnostic.severity.HINT },
      })
    """)
    begin(nvim, "2Claude edit return two")
    wait_diff(nvim)
    said = model.conversation()[-1]["content"][-1]["text"]
    assert "\n<diagnostics>\nline 2: error: undefined global one\n</diagnostics>\n" in said
    (symbols,) = re.findall(r"\n<symbols>\n(.*?)\n</symbols>\n", said, re.DOTALL)
    assert [line.split(", ") for line in symbols.split("\n")] == [
        ["function outer", "lines 1-3"],
        ["function other", "lines 5-6"],
    ]


def test_a_change_can_be_dropped_and_the_rest_taken(edit, model):
    model.script(replacement("ONE", "two", "THREE"))
    nvim = edit("1,3Claude edit louder")
    wait_diff(nvim)
    nvim.keys("gg" + nvim.lua("return Ide.config.get().diff.keymaps.hunk"))
    nvim.wait_screen("1 of 2 selected")
    accept_it(nvim)
    assert lines(nvim) == ["one", "two", "THREE", "four", "five"]


def test_what_is_typed_meanwhile_is_merged(edit, model):
    deferred = Deferred(model, replacement("one", "TWO", "three"))
    nvim = edit("1,3Claude edit louder")
    wait_asked(nvim, model)
    nvim.wait_screen("Claude: louder")
    nvim.keys("ggOabove<Esc>3jAmine<Esc>Gobelow<Esc>")
    nvim.wait(lambda: lines(nvim) == ["above", "one", "two", "threemine", "four", "five", "below"])
    deferred.go()
    wait_diff(nvim)
    nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), -2, -1, false, { 'later' })")
    accept_it(nvim)
    assert lines(nvim) == ["above", "one", "TWO", "threemine", "four", "five", "later"]


A_MOMENT_AGO = """
local typing = Ide.guard_typing
local quiet_for = typing.quiet_for
typing.quiet_for = function() return quiet_for() == math.huge and math.huge or 500 end
Ide.guard_times.unread = 1e9
"""
"""The last key known was pressed half a second ago, whenever that is asked."""


def answered_under_the_hands(edit, model, reply):
    """A Neovim whose user typed a moment before the answer came."""
    deferred = Deferred(model, reply)
    nvim = edit("2Claude edit louder")
    wait_asked(nvim, model)
    nvim.lua(A_MOMENT_AGO)
    nvim.keys("Gx")
    nvim.wait(lambda: lines(nvim)[-1] == "ive", what="what is typed")
    deferred.go()
    return nvim


@pytest.mark.every_nvim
def test_what_somebody_goes_on_typing_accepts_no_proposal_that_came_meanwhile(edit, model):
    nvim = answered_under_the_hands(edit, model, replacement("TWO"))
    wait_diff(nvim)
    nvim.keys(":w<CR>:let g:typed = 1<CR>")
    nvim.wait("vim.g.typed == 1")
    assert nvim.lua("return Ide.proposal.count()") == 1
    nvim.keys(":w<CR>", counts=True)
    nvim.wait(lambda: lines(nvim) == ["one", "TWO", "three", "four", "ive"], what="the proposal to be accepted")


def test_an_answer_waits_until_the_user_has_written(edit, model):
    deferred = Deferred(model, Reply("I would rather **not**."))
    nvim = edit("2Claude edit louder")
    wait_asked(nvim, model)
    nvim.keys("Gomine")
    nvim.wait(lambda: lines(nvim)[-1] == "mine", what="what is typed")
    deferred.go()
    nvim.wait_screen("Claude answers · opens when you leave insert mode")
    nvim.keys(", all of it<Esc>")
    nvim.wait_screen("I would rather")
    assert lines(nvim)[-1] == "mine, all of it"


def test_lines_that_both_changed_are_shown_again_before_they_go(edit, model):
    model.script(replacement("TWO"))
    nvim = edit("2Claude edit louder")
    wait_diff(nvim)
    nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 1, 2, false, { 'mine' })")
    accept(nvim)
    nvim.wait_screen("changed in the same lines")
    wait_diff(nvim)
    assert lines(nvim)[1] == "mine", "what the user typed is there until they say so"
    accept_it(nvim)
    assert lines(nvim)[1] == "TWO"


def test_an_answer_whose_lines_are_gone_is_kept_in_a_register(edit, model):
    deferred = Deferred(model, replacement("TWO"))
    nvim = edit("2,3Claude edit louder")
    wait_asked(nvim, model)
    nvim.keys("2Gdj")
    nvim.wait(lambda: lines(nvim) == ["one", "four", "five"])
    deferred.go()
    nvim.wait_screen("are gone")
    nvim.wait_screen("Claude's text is in")
    assert nvim.lua("""return { vim.fn.getreg('"'), vim.fn.getregtype('"') }""") == ["TWO\n", "V"]
    assert lines(nvim) == ["one", "four", "five"]


@pytest.mark.parametrize("keys", [":wqa<CR>", ":xa<CR>", ":wqa!<CR>", ":qa<CR>"])
def test_quitting_does_not_lose_a_proposal_that_no_terminal_asks_about_again(edit, model, keys):
    model.script(replacement("TWO"))
    nvim = edit("2Claude edit louder")
    wait_diff(nvim)
    nvim.keys(keys)
    nvim.wait_screen(re.compile("E37|E162|Accept or reject the proposal for a.txt, then quit."))
    nvim.keys("<CR>")
    nvim.wait(lambda: nvim.mode() == "n")
    accept_it(nvim)
    assert lines(nvim)[1] == "TWO"
    nvim.keys(":wqa<CR>")
    assert nvim.terminal.wait_exit() == 0
    assert (nvim.project / "a.txt").read_text() == TEXT.replace("two", "TWO")


@pytest.mark.parametrize("how", ["%!cat", "call setline(1, getline(1, '$')) | 1,5!sort -s -k 9"])
def test_the_lines_are_found_again_where_all_were_replaced(edit, model, how):
    deferred = Deferred(model, replacement("TWO"))
    nvim = edit("2,3Claude edit louder")
    wait_asked(nvim, model)
    nvim.keys(f":{how}<CR>")
    nvim.wait("vim.fn.histget(':') ~= '2,3Claude edit louder' and vim.fn.mode() == 'n'")
    deferred.go()
    wait_diff(nvim)
    accept_it(nvim)
    assert lines(nvim) == ["one", "TWO", "four", "five"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("how", ["edit!", "checktime"])
@pytest.mark.parametrize(
    ("on_disk", "accepted"),
    [
        ("z1\nz2\nz3\none\ntwo\nthree\nfour\nfive\n", ["z1", "z2", "z3", "one", "TWO", "four", "five"]),
        ("zero\nTwo\nthree\nfive\n", ["zero", "TWO", "five"]),
        ("one\nfour\nfive\n", None),
    ],
    ids=["moved", "changed", "gone"],
)
def test_the_lines_are_found_again_in_a_file_that_is_read_anew(edit, model, how, on_disk, accepted):
    deferred = Deferred(model, replacement("TWO"))
    nvim = edit("2,3Claude edit louder", init_lua="vim.o.autoread = true")
    wait_asked(nvim, model)
    (nvim.project / "a.txt").write_text(on_disk)
    nvim.cmd(how)
    nvim.wait(lambda: lines(nvim) == on_disk.splitlines(), what="what is on disk")
    deferred.go()
    if accepted is None:
        nvim.wait_screen("are gone")
        accepted = on_disk.splitlines()
    else:
        wait_diff(nvim)
        accept_it(nvim)
    assert lines(nvim) == accepted


def test_several_edits_at_once_each_have_their_lines(edit, model):
    deferred = Deferred(model, replacement("ONE"), replacement("FIVE", "SIX"))
    nvim = edit("1Claude edit first")
    wait_asked(nvim, model)
    nvim.keys(":5Claude edit second<CR>")
    wait_asked(nvim, model, 2)
    nvim.wait_screen("Claude: first")
    nvim.wait_screen("Claude: second")
    deferred.go()
    wait_diff(nvim)
    deferred.go()
    nvim.wait("Ide.proposal.count() == 2")
    for count in (1, 0):
        nvim.wait("Ide.proposal.list()[1].seen", what="the next one")
        accept(nvim)
        nvim.wait(f"Ide.inline_edit.count() == {count}")
    assert lines(nvim) == ["ONE", "two", "three", "four", "FIVE", "SIX"]


def test_an_edit_is_cancelled_and_leaves_no_process(edit_with_cli, mock_api):
    Deferred(mock_api, replacement("TWO"))
    nvim = edit_with_cli("2Claude edit louder")
    wait_asked(nvim, mock_api)
    nvim.cmd("Claude edit cancel")
    nvim.wait_screen("canceled")
    assert nvim.lua("return Ide.inline_edit.count()") == 0
    assert nvim.lua("return #vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, {})") == 0
    nvim.terminal.wait(lambda: "stream-json" not in str(at_work_in(nvim.project)), 20, "the CLI to end")


def test_no_tool_but_those_that_read_is_there_and_a_reason_makes_another_proposal(edit_with_cli, mock_api):
    write = ("Write", {"file_path": "/tmp/never", "content": "x"})
    mock_api.script(
        Reply("", [write, ("Bash", {"command": "touch never"})]), replacement("TWO", "THREE"), replacement("Two")
    )
    command = ["claude", "--permission-mode", "bypassPermissions"]
    nvim = edit_with_cli("2,3Claude edit make it loud", keys="GAmine<Esc>", opts={"terminal": {"command": command}})
    wait_diff(nvim)
    tools = {tool["name"] for tool in mock_api.requests[-1]["tools"]}
    assert tools - {"DeferredToolPlaceholder"} == {"Read", "Glob", "Grep"}
    assert mock_api.seen("No such tool available: Write") and mock_api.seen("No such tool available: Bash")
    assert not (nvim.project / "never").exists()
    assert_reported(mock_api)
    before = nvim.lua("return Ide.proposal.list()[1].id")
    reject(nvim, "not so loud")
    nvim.wait(f"(Ide.proposal.list()[1] or {{ id = {before} }}).id ~= {before}", what="another one")
    wait_diff(nvim)
    said = str(mock_api.conversation())
    assert "not so loud" in said and "<rejected_proposal>\\nTWO\\nTHREE\\n" in said
    accept_it(nvim)
    assert lines(nvim) == ["one", "Two", "four", "fivemine"]


def test_an_answer_without_text_to_put_there_is_shown(edit, model):
    model.script(Reply("I would rather **not**."))
    nvim = edit("2Claude edit louder")
    nvim.wait_screen("I would rather")
    nvim.keys("q", counts=True)
    nvim.wait("#vim.api.nvim_list_wins() == 1")
    assert lines(nvim) == TEXT.splitlines()


def test_bytes_that_nobody_changed_stay(edit, model):
    model.script(replacement("TWO"))
    nvim = edit("2Claude edit louder", text="one\r\ntwo\r\nthree")
    wait_diff(nvim)
    accept_it(nvim)
    nvim.lua("vim.api.nvim_buf_call(vim.fn.bufnr('a.txt'), function() vim.cmd('setl nofixeol | write') end)")
    assert (nvim.project / "a.txt").read_bytes() == b"one\r\nTWO\r\nthree"


def test_what_is_withheld_is_not_edited(edit, model):
    nvim = edit("", files={".env": "SECRET=1\n"})
    nvim.cmd("edit .env | %Claude edit louder")
    nvim.wait_screen(".env is private")
    assert not model.requests


def test_what_became_private_is_not_reported_again_and_the_words_come_back(edit, model):
    model.script(replacement("TWO"))
    nvim = edit("2Claude edit louder")
    wait_diff(nvim)
    asked = model.turns()
    nvim.lua("vim.b[vim.fn.bufnr('a.txt')].claude_private = true")
    reject(nvim, "not so loud")
    nvim.wait("Ide.inline_edit.count() == 0", what="the edit to be over")
    nvim.wait("vim.fn.getreg('\"') == 'not so loud'", what="the words to be back")
    assert model.turns() == asked


def test_on_a_narrow_screen_too_an_edit_that_fails_says_why(edit):
    nvim = edit(
        "1Claude edit louder", opts={"terminal": {"command": ["claude-is-not-here"]}}, keys=":set columns=80<CR>"
    )
    nvim.wait_screen("`claude-is-not-here` was not found")
    assert "Your text is in" in nvim.screen()[-1] and "Press ENTER" not in "".join(nvim.screen())


def test_the_words_of_an_edit_that_fails_come_back(edit):
    nvim = edit("2Claude edit louder", opts={"terminal": {"command": ["false"]}})
    nvim.wait("vim.fn.getreg('\"') == 'louder'", what="the words to be back")


def test_a_carriage_return_in_the_text_stays_where_a_proposal_leaves_one_in_every_line(edit, model):
    model.script(replacement())
    nvim = edit("3Claude edit drop it", text="one\r\ntwo\r\nthree\n")
    wait_diff(nvim)
    accept_it(nvim)
    assert lines(nvim) == ["one\r", "two\r"]
