"""The real Claude Code CLI, pinned, against a scripted model: what a person has of the plugin, from the prompt to the disk."""

import itertools
import time

import pytest

from harness import PATIENCE
from harness.cli import QUESTION, call, submitting

pytestmark = [pytest.mark.cli, pytest.mark.dealt]

ONE_DIFF = "require('claude-ide.diff').count() == 1"
SEEN = "(require('claude-ide.diff').list()[1] or {}).seen"
IN_THE_DIFF = f"{ONE_DIFF} and vim.b.claude_ide and vim.b.claude_ide.kind == 'proposal'"
"""Keys go to the proposal from here on."""
NO_DIFF = "require('claude-ide.diff').count() == 0"


@pytest.fixture
def nvim(start_nvim):
    """A Neovim with a file of three lines in its window."""
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n", "b.txt": "first\nsecond\n"})
    nvim.lua('require("claude-ide").connect()')
    return nvim


def change(nvim, old, new, name="a.txt"):
    """A prompt that makes the model read a file and change it."""
    path = str(nvim.project / name)
    return f"{call('Read', file_path=path)} THEN {call('Edit', file_path=path, old_string=old, new_string=new)}"


def text(nvim, name="a.txt"):
    return (nvim.project / name).read_text()


def until_it_listens(nvim, claude):
    """Moves the cursor until the CLI shows the file: what comes before its prompt listens it throws away."""
    keys, moved = itertools.cycle("jk"), None

    def shown():
        nonlocal moved
        if moved is None or time.monotonic() - moved > 5:
            moved = time.monotonic()
            nvim.keys(next(keys))
        return "In a.txt" in claude.screen()

    claude.terminal.wait(shown, what="the CLI to show the file")


def test_connects_by_itself_and_says_who_it_is(nvim, cli):
    claude = cli(nvim)
    (client,) = nvim.lua("return require('claude-ide.server').clients()")
    assert (client["name"], client["version"]) == ("claude-code", "2.1.329")
    nvim.wait("require('claude-ide.server').clients()[1].pid", what="the CLI to tell its pid")
    roots = "return require('claude-ide.server').clients()[1].roots"
    nvim.wait(lambda: nvim.lua(roots) == [str(nvim.project)], what="the CLI to tell its folder")
    assert nvim.lua("return require('claude-ide.server').clients()[1].pid") == claude.pid


def test_shows_the_file_and_the_selection_in_its_prompt(nvim, cli):
    claude = cli(nvim)
    until_it_listens(nvim, claude)
    nvim.keys("ggVj")
    claude.wait_screen("2 lines selected")


def test_what_is_withheld_leaves_its_prompt_and_comes_back(nvim, cli):
    (nvim.project / ".env").write_text("SECRET=1\n")
    claude = cli(nvim)
    until_it_listens(nvim, claude)
    nvim.keys(":edit .env<CR>")
    claude.wait_gone("In a.txt")
    assert ".env" not in claude.screen()
    nvim.keys(":edit a.txt<CR>")
    claude.wait_screen("In a.txt")
    nvim.keys(":Claude selection off<CR>")
    claude.wait_gone("In a.txt")
    nvim.keys(":Claude selection on<CR>")
    claude.wait_screen("In a.txt")


def test_tells_the_model_what_is_selected(nvim, cli, mock_api):
    claude = cli(nvim)
    until_it_listens(nvim, claude)
    nvim.keys("2GV")
    claude.wait_screen("1 line selected")
    claude.prompt("SAY understood")
    claude.wait_screen("● understood")
    assert mock_api.seen("The user selected the lines 2 to 2 from")


def test_takes_a_mention_of_lines(nvim, cli):
    claude = cli(nvim)
    until_it_listens(nvim, claude)
    nvim.keys(":1,2ClaudeSend<CR>")
    claude.wait_screen("@a.txt#L1-2")


def test_takes_a_mention_that_waited_for_it(nvim, cli):
    for attempt in range(4):  # nothing tells when it listens: a CLI that the machine lets wait throws the mention away
        nvim.keys(":ClaudeSend<CR>")
        nvim.wait("require('claude-ide.mention').pending() == 1")
        claude = cli(nvim)
        nvim.wait("require('claude-ide.mention').pending() == 0")
        try:
            claude.wait_screen("@a.txt", PATIENCE if attempt == 3 else PATIENCE / 6)
            return
        except AssertionError:
            if attempt == 3:
                raise
            claude.kill()
            nvim.wait("#require('claude-ide.server').clients() == 0", what="the CLI to be gone")


def test_writes_what_is_accepted_and_the_buffer_shows_it(nvim, cli):
    claude = cli(nvim)
    claude.prompt(change(nvim, "two", "TWO"))
    nvim.wait(IN_THE_DIFF)
    nvim.wait_screen("TWO")
    assert text(nvim) == "one\ntwo\nthree\n"
    nvim.keys("ZZ")
    claude.wait_screen("● Done.")
    assert text(nvim) == "one\nTWO\nthree\n"
    nvim.wait("vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false)[2] == 'TWO'")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.lua("return vim.fn.bufname()") == "a.txt"


def test_leaves_the_file_when_the_change_is_rejected(nvim, cli):
    claude = cli(nvim)
    claude.prompt(change(nvim, "two", "TWO"))
    nvim.wait(IN_THE_DIFF)
    nvim.wait_screen("TWO")
    nvim.keys("ZQ")
    claude.wait_screen("Rejected update to")
    nvim.wait(NO_DIFF)
    assert text(nvim) == "one\ntwo\nthree\n"
    nvim.wait(lambda: nvim.lines() == ["one", "two", "three"], what="the file to be shown again")


def test_writes_the_proposal_as_the_person_edited_it(nvim, cli):
    claude = cli(nvim)
    claude.prompt(change(nvim, "two", "TWO"))
    nvim.wait(IN_THE_DIFF)
    nvim.wait("vim.api.nvim_get_current_line() == 'TWO'", what="the cursor to be on the change")
    nvim.keys("A, said I<Esc>:w<CR>")
    claude.wait_screen("● Done.")
    assert text(nvim) == "one\nTWO, said I\nthree\n"


@pytest.mark.parametrize(("choice", "expected"), [("1", "one\nTWO\nthree\n"), ("3", "one\ntwo\nthree\n")])
def test_closes_the_diff_that_was_answered_in_the_terminal(nvim, cli, choice, expected):
    claude = cli(nvim)
    claude.prompt(change(nvim, "two", "TWO"))
    nvim.wait(ONE_DIFF)
    claude.answer(choice)
    nvim.wait(NO_DIFF)
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    nvim.wait(lambda: text(nvim) == expected, what="the file to be as answered")
    nvim.wait(lambda: nvim.lines() == expected.splitlines(), what="the buffer to be as the file")


def test_reviews_several_edits_of_one_turn(nvim, cli):
    claude = cli(nvim)
    path = str(nvim.project / "a.txt")
    second = call("Edit", file_path=path, old_string="three", new_string="THREE")
    claude.prompt(f"{change(nvim, 'one', 'ONE')} THEN {second}")
    nvim.wait(IN_THE_DIFF)
    nvim.wait_screen("ONE")
    nvim.keys("ZZ")
    nvim.wait_screen("THREE")
    nvim.wait(SEEN)
    nvim.wait(IN_THE_DIFF)
    nvim.keys("ZZ")
    claude.wait_screen("● Done.")
    assert text(nvim) == "ONE\ntwo\nTHREE\n"


def test_creates_a_new_file(nvim, cli):
    claude = cli(nvim)
    claude.prompt(call("Write", file_path=str(nvim.project / "new.txt"), content="fresh\n"))
    nvim.wait(IN_THE_DIFF)
    nvim.wait_screen("fresh")
    assert not (nvim.project / "new.txt").exists()
    nvim.keys("ZZ")
    claude.wait_screen("● Done.")
    assert text(nvim, "new.txt") == "fresh\n"


def test_two_clis_leave_each_others_diffs_alone(nvim, cli):
    first = cli(nvim)
    second = cli(nvim)
    first.prompt(change(nvim, "two", "TWO"))
    nvim.wait(ONE_DIFF)
    second.prompt(change(nvim, "second", "2nd", "b.txt"))  # every prompt closes the tabs of its own client
    nvim.wait("require('claude-ide.diff').count() == 2")
    first.answer("1")
    nvim.wait(ONE_DIFF)
    second.wait_screen(QUESTION)
    nvim.wait(SEEN)
    nvim.cmd("Claude reject")
    second.wait_screen("Rejected update to")
    first.wait_screen("● Done.")
    assert (text(nvim), text(nvim, "b.txt")) == ("one\nTWO\nthree\n", "first\nsecond\n")


def test_quitting_neovim_rejects_the_open_diff(nvim, cli):
    claude = cli(nvim)
    claude.prompt(change(nvim, "two", "TWO"))
    nvim.wait(ONE_DIFF)
    nvim.keys(":qa<CR>")
    assert nvim.terminal.wait_exit() == 0
    claude.wait_screen("Rejected update to")
    assert text(nvim) == "one\ntwo\nthree\n"
    assert nvim.locks() == []


def test_reloads_the_buffer_of_an_edit_that_nobody_was_asked_about(nvim, cli):
    nvim.keys("G")
    claude = cli(nvim, mode="acceptEdits")
    claude.prompt(change(nvim, "one", "zero\none"))
    claude.wait_screen("● Done.")
    nvim.wait(lambda: nvim.lines() == ["zero", "one", "two", "three"], what="the buffer to show the edit")
    nvim.wait(lambda: nvim.cursor() == (4, 0), what="the cursor to be on its line")
    assert nvim.mode() == "n"


def test_reconnects_when_the_server_restarts(nvim, cli):
    claude = cli(nvim)
    before = nvim.lua("return require('claude-ide.server').clients()[1].id")
    nvim.cmd("Claude restart")
    # It tries five times, for 13 s in all.
    again = "local client = require('claude-ide.server').clients()[1] return client and client.state == 'ready' and client.id"
    nvim.wait(lambda: (nvim.lua(again) or 0) > before, what="the CLI to come back")
    claude.prompt(change(nvim, "two", "TWO"))
    nvim.wait(IN_THE_DIFF)
    nvim.keys("ZZ")
    claude.wait_screen("● Done.")
    assert text(nvim) == "one\nTWO\nthree\n"


@pytest.mark.one_nvim
def test_stays_away_when_it_is_disconnected_and_asks_its_question_itself(nvim, cli):
    claude = cli(nvim)
    claude.prompt(change(nvim, "two", "TWO"))
    nvim.wait(ONE_DIFF)
    nvim.cmd("Claude disconnect")
    nvim.wait("not require('claude-ide.server').is_running()")
    nvim.wait(NO_DIFF)
    nvim.cmd("Claude connect")
    claude.answer("1")
    claude.wait_screen("● Done.")
    claude.wait_screen("switched to another Claude Code session")
    assert text(nvim) == "one\nTWO\nthree\n"
    # It would have come back by now: its first attempts are at once, and after one second.
    assert nvim.lua("return #require('claude-ide.server').clients()") == 0


@pytest.mark.every_nvim
def test_the_command_opens_a_connected_cli_beside_the_file(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n"})
    nvim.keys(":Claude<CR>")
    ready = "(require('claude-ide.server').clients()[1] or {}).state == 'ready'"
    nvim.wait(ready, what="the CLI to connect")
    nvim.wait_screen("manual mode on")
    nvim.keys(change(nvim, "two", "TWO").replace("<", "<lt>"))
    nvim.wait_screen('"TWO"}')
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    nvim.wait(SEEN)
    nvim.cmd("Claude accept")
    nvim.wait_screen("● Done.")
    assert text(nvim) == "one\nTWO\nthree\n"
