"""The real Claude Code CLI, pinned, against a scripted model: the plugin's features from the prompt to the disk."""

import itertools
import json
import re
import sys
import time

import pytest

from harness import PATIENCE
from harness.cli import QUESTION, call, version

pytestmark = [pytest.mark.cli, pytest.mark.dealt]
"""Starting a CLI costs more than ten of its turns: each test is a session, and each comment in it a case of its own."""

ONE_DIFF = "Ide.proposal.count() == 1"
SEEN = "(Ide.proposal.list()[1] or {}).seen"
IN_THE_DIFF = f"{ONE_DIFF} and vim.b.claude_ide and vim.b.claude_ide.kind == 'proposal'"
"""From here on keys go to the proposal."""
NO_DIFF = "Ide.proposal.count() == 0"
LOST = "Ide.server.lost()[1]"


@pytest.fixture
def nvim(start_nvim):
    """A Neovim with the first of three files in its window."""
    nvim = start_nvim(
        args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n", "b.txt": "first\nsecond\n", "c.txt": "third\n"}
    )
    nvim.lua('require("claude-ide").connect()')
    return nvim


def is_2_0():
    """The oldest CLI that works, of which `make compat` runs this module."""
    return version().startswith("2.0.")


def rejected(name=""):
    return re.compile(f"(?i)rejected update to {name}")


def read(nvim, name="a.txt"):
    return call("Read", file_path=str(nvim.project / name))


def edit(nvim, old, new, name="a.txt"):
    """The model must have read the file once in its session."""
    return call("Edit", file_path=str(nvim.project / name), old_string=old, new_string=new)


def text(nvim, name="a.txt"):
    return (nvim.project / name).read_text()


def until_it_listens(nvim, claude):
    """Moves the cursor until the CLI shows the file: it drops what comes before its prompt is ready."""
    keys, moved = itertools.cycle("jk"), None

    def shown():
        nonlocal moved
        if moved is None or time.monotonic() - moved > 5:
            moved = time.monotonic()
            nvim.keys(next(keys))
        return "In a.txt" in claude.screen()

    claude.terminal.wait(shown, what="the CLI to show the file")


def start_for_a_mention(nvim, cli):
    """Starts the CLI after a mention, which must wait for it, and shows that it arrived."""
    for attempt in range(4):  # no sign says when it listens: a slow CLI drops the mention
        nvim.keys(":ClaudeSend<CR>")
        nvim.wait("Ide.mention.pending() == 1")
        claude = cli(nvim)
        nvim.wait("Ide.mention.pending() == 0")
        try:
            claude.wait_screen("@a.txt", PATIENCE if attempt == 3 else PATIENCE / 6)
            break
        except AssertionError:
            if attempt == 3:
                raise
            claude.kill()
            nvim.wait("#Ide.server.clients() == 0", what="the CLI to be gone")
    return claude


def clear_prompt(claude, shown):
    claude.keys("<C-u>")
    claude.wait_gone(shown)


@pytest.mark.smoke
def test_knows_what_is_shown_selected_and_mentioned(nvim, cli, mock_api):
    (nvim.project / ".env").write_text("SECRET=1\n")
    claude = cli(nvim)

    # It connected by itself and identifies itself.
    (client,) = nvim.lua("return Ide.server.clients()")
    assert (client["name"], client["version"]) == ("claude-code", version())
    nvim.wait("Ide.server.clients()[1].pid", what="the CLI to tell its pid")
    roots = "return Ide.server.clients()[1].roots"
    nvim.wait(lambda: nvim.lua(roots) == [str(nvim.project)], what="the CLI to tell its folder")
    assert nvim.lua("return Ide.server.clients()[1].pid") == claude.pid

    # Its prompt shows the file and the selection.
    until_it_listens(nvim, claude)
    nvim.keys("ggVj")
    claude.wait_screen("2 lines selected")
    nvim.keys("<Esc>gg")
    claude.wait_screen("In a.txt")

    # A withheld file leaves the prompt, and comes back.
    nvim.keys(":edit .env<CR>")
    claude.wait_gone("In a.txt")
    assert ".env" not in claude.screen()
    nvim.keys(":edit a.txt<CR>")
    claude.wait_screen("In a.txt")
    nvim.keys(":Claude selection off<CR>")
    claude.wait_gone("In a.txt")
    nvim.keys(":Claude selection on<CR>")
    claude.wait_screen("In a.txt")

    # A mention of lines.
    nvim.keys(":1,2ClaudeSend<CR>")
    claude.wait_screen("@a.txt#L1-2")
    clear_prompt(claude, "@a.txt")

    # The model gets the selection.
    nvim.keys("2GV")
    claude.wait_screen("1 line selected")
    claude.prompt("SAY understood")
    claude.wait_screen("● understood")
    number = 1 if is_2_0() else 2  # it counted from 0
    assert mock_api.seen(f"The user selected the lines {number} to {number} from")
    nvim.keys("<Esc>")

    # After an edit without a question the buffer is reloaded, and the cursor keeps its line.
    nvim.keys("G")
    nvim.wait(lambda: nvim.cursor() == (3, 0))
    claude.keys("<S-Tab>")
    claude.wait_screen("accept edits on")
    above_one = "zero\none"
    claude.prompt(f"{read(nvim)} THEN {edit(nvim, 'one', above_one)} THEN SAY inserted")
    claude.wait_screen("● inserted")
    nvim.wait(lambda: nvim.lines() == ["zero", "one", "two", "three"], what="the buffer to show the edit")
    nvim.wait(lambda: nvim.cursor() == (4, 0), what="the cursor to be on its line")
    assert nvim.mode() == "n"


def accepted_by_write(nvim):
    """`:w`, repeated if Neovim was blocked so long that the diff counts as new (it says so)."""
    nvim.keys(":w<CR>")

    def decided():
        if any("`:w` again accepts it" in line for line in nvim.screen()):
            nvim.keys(":<C-u>echo<CR>:w<CR>")
        return nvim.lua(f"return {NO_DIFF}")

    nvim.wait(decided, what="the diff to be decided")


@pytest.mark.smoke
def test_what_it_writes_is_decided_in_neovim_or_in_its_terminal(nvim, cli):
    claude = cli(nvim)

    def open_diff(prompt, shown):
        nvim.wait(NO_DIFF)
        nvim.wait("#vim.api.nvim_list_tabpages() == 1")
        claude.prompt(prompt)
        nvim.wait(IN_THE_DIFF)
        nvim.wait_screen(shown)
        nvim.wait(SEEN)  # right after a decision keys are ignored

    # An accepted edit is written, and the buffer shows it.
    open_diff(f"{read(nvim)} THEN {edit(nvim, 'two', 'TWO')} THEN SAY accepted", "TWO")
    assert text(nvim) == "one\ntwo\nthree\n"
    nvim.keys("ZZ")
    claude.wait_screen("● accepted")
    assert text(nvim) == "one\nTWO\nthree\n"
    nvim.wait("vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false)[2] == 'TWO'")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.lua("return vim.fn.bufname()") == "a.txt"

    # As the user edited it.
    open_diff(f"{edit(nvim, 'TWO', 'II')} THEN SAY edited", "II")
    nvim.wait("vim.api.nvim_get_current_line() == 'II'", what="the cursor to be on the change")
    nvim.keys("A, said I<Esc>")
    accepted_by_write(nvim)
    claude.wait_screen("● edited")
    assert text(nvim) == "one\nII, said I\nthree\n"

    # Several edits of one turn.
    open_diff(f"{edit(nvim, 'one', 'ONE')} THEN {edit(nvim, 'three', 'THREE')} THEN SAY several", "ONE")
    nvim.keys("ZZ")
    nvim.wait_screen("THREE")
    nvim.wait(SEEN)
    nvim.wait(IN_THE_DIFF)
    nvim.wait(SEEN)
    nvim.keys("ZZ")
    claude.wait_screen("● several")
    assert text(nvim) == "ONE\nII, said I\nTHREE\n"

    # A new file.
    new = call("Write", file_path=str(nvim.project / "new.txt"), content="fresh\n")
    open_diff(f"{new} THEN SAY created", "fresh")
    assert not (nvim.project / "new.txt").exists()
    nvim.keys("ZZ")
    claude.wait_screen("● created")
    assert text(nvim, "new.txt") == ("fresh" if is_2_0() else "fresh\n"), "2.0 drops the end of a new file itself"

    # The diff closes when the user answers in the CLI's terminal: with yes,
    def answer(prompt, choice, expected):
        nvim.wait(NO_DIFF)
        claude.prompt(prompt)
        nvim.wait(ONE_DIFF)
        if is_2_0() and choice == "3":  # there it is a field for words
            claude.wait_screen(QUESTION)
            claude.escape()
        else:
            claude.answer(choice)
        nvim.wait(NO_DIFF)
        nvim.wait("#vim.api.nvim_list_tabpages() == 1")
        nvim.wait(lambda: text(nvim) == expected, what="the file to be as answered")
        nvim.wait(lambda: nvim.lines() == expected.splitlines(), what="the buffer to be as the file")

    answer(f"{edit(nvim, 'II, said I', 'two')} THEN SAY allowed", "1", "ONE\ntwo\nTHREE\n")
    claude.wait_screen("● allowed")
    # and with no.
    answer(edit(nvim, "two", "2"), "3", "ONE\ntwo\nTHREE\n")
    claude.wait_ready()

    # A rejected edit leaves the file.
    open_diff(f"{read(nvim, 'b.txt')} THEN {edit(nvim, 'first', '1st', 'b.txt')}", "1st")
    nvim.keys("ZQ")
    claude.wait_screen(rejected("b.txt"))
    nvim.wait(NO_DIFF)
    assert text(nvim, "b.txt") == "first\nsecond\n"
    nvim.wait(lambda: nvim.lines() == ["ONE", "two", "THREE"], what="the file to be shown again")

    # Outside Neovim's own terminal, words given with a rejection are kept, not sent.
    open_diff(edit(nvim, "second", "2nd", "b.txt"), "2nd")
    nvim.keys(":Claude reject use two words<CR>")
    said = "Claude runs in another terminal. Your text is in"
    nvim.wait(lambda: said in nvim.lua("return vim.fn.execute('messages')"), what="where the words are")
    assert nvim.lua("return vim.fn.getreg('\"')") == "use two words"
    nvim.wait(NO_DIFF)
    claude.wait_ready()
    assert "use two words" not in claude.screen()

    # Quitting Neovim decides nothing: the question stays in the terminal.
    claude.prompt(f"{read(nvim, 'c.txt')} THEN {edit(nvim, 'third', '3rd', 'c.txt')} THEN SAY alone")
    nvim.wait(ONE_DIFF)
    nvim.keys(":qa<CR>")
    assert nvim.terminal.wait_exit() == 0
    assert nvim.locks() == []
    claude.wait_screen(QUESTION)
    assert text(nvim, "c.txt") == "third\n"
    claude.answer("1")
    claude.wait_screen("● alone")
    assert text(nvim, "c.txt") == "3rd\n"


@pytest.mark.one_nvim
def test_what_was_accepted_and_is_not_written_is_reported(nvim, cli, tmp_path):
    if is_2_0():
        pytest.skip("2.0 keeps no record that says why it wrote nothing")
    # A formatter hook, as people have: the disk never holds the accepted text.
    formatter = {"type": "command", "command": f"echo formatted >>{nvim.project}/a.txt; echo >>{tmp_path}/formatted"}
    hooks = {"PostToolUse": [{"matcher": "Edit|Write", "hooks": [formatter]}]}
    claude = cli(nvim, args=("--ide", "--settings", json.dumps({"hooks": hooks})))
    a = nvim.project / "a.txt"

    def accept(prompt, typed="", meanwhile=None):
        claude.prompt(prompt)
        nvim.wait(IN_THE_DIFF)
        nvim.wait(SEEN)
        if typed:
            nvim.keys(f"Go{typed}<Esc>")
            nvim.wait(lambda: nvim.lines()[-1] == typed and nvim.mode() == "n", what="the words to be typed")
        if meanwhile:
            a.write_text(meanwhile)
        nvim.cmd("Claude accept")

    def notices():
        return [line for line in nvim.lua("return vim.fn.execute('messages')").splitlines() if "did not write" in line]

    def wait_known():
        nvim.wait("Ide.expected_write.count() == 0", what="what became of it to be known")

    # It is written, and formatted.
    accept(f"{read(nvim)} THEN {edit(nvim, 'two', 'TWO')} THEN SAY formatted")
    claude.wait_screen("● formatted")
    assert (text(nvim), (tmp_path / "formatted").exists()) == ("one\nTWO\nthree\nformatted\n", True)
    wait_known()

    # The file changes where the edit is: the CLI refuses, and the user's typing is kept.
    accept(f"{read(nvim)} THEN {edit(nvim, 'TWO', '2')} THEN SAY refused", "said I", "one\nTWO, two\nthree\n")
    nvim.wait_screen(
        "Claude did not write a.txt: it had changed since Claude read it. Your edits to the proposal are saved:"
    )
    claude.wait_screen("● refused")
    assert text(nvim) == "one\nTWO, two\nthree\n"
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    kept = re.search(r":buffer \d+", notices()[0])[0]
    nvim.keys(f"{kept}<CR>")
    nvim.wait(lambda: nvim.lines() == ["one", "2", "three", "formatted", "said I"], what="what was typed")
    nvim.keys(":buffer a.txt<CR>")
    nvim.wait(lambda: nvim.lines() == ["one", "TWO, two", "three"], what="the file as it is")

    # It changes elsewhere: the CLI writes both.
    a.write_text("one\nTWO\n" + "more\n" * 9)
    accept(f"{read(nvim)} THEN {edit(nvim, 'TWO', '2')} THEN SAY merged", "", "one\nTWO\n" + "more\n" * 9 + "last\n")
    claude.wait_screen("● merged")
    assert text(nvim) == "one\n2\n" + "more\n" * 9 + "last\nformatted\n"
    wait_known()
    assert len(notices()) == 1


@pytest.mark.every_nvim
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells which process connects")
def test_comes_back_to_the_next_neovim_in_the_folder(nvim, start_nvim, cli):
    # As one that `:Claude` started in another terminal, with the tools for agents.
    tools = nvim.lua('return Ide.agent_tools.of("terminal:1")')
    claude = cli(nvim, args=("--ide", *tools))
    kept = nvim.home / ".local/state/nvim/claude-ide/handover"
    nvim.wait("#Ide.server.agents() == 1", what="its other connection")
    (path,) = nvim.wait(lambda: list(kept.glob("*.json")), what="its process to be known")
    nvim.wait(lambda: len(json.loads(path.read_text())["clients"]) == 2, what="both connections to be known")
    # The CLI gives up a connection that drops while it is being made.
    claude.prompt("SAY connected")
    claude.wait_screen("● connected")

    def come_back_to(following):
        # It runs already: the CLI tries for 13 s, which a busy machine may need to start a Neovim.
        following.lua('require("claude-ide").connect()')
        following.cmd("edit a.txt")
        following.wait("#Ide.server.clients() == 1", what="the CLI to come back")
        following.wait("Ide.server.clients()[1].pid", what="the CLI to tell its pid")
        assert following.lua("return Ide.server.clients()[1].pid") == claude.pid
        assert following.locks()[0]["port"] == lock["port"]
        following.wait("#Ide.server.agents() == 1", what="its other connection to come back")
        (agent,) = following.lua("return Ide.server.agents()")
        assert (agent["run"], agent["pid"]) == ("terminal:1 of the last Neovim", claude.pid)

    # After a crash, with another token.
    second = start_nvim()
    lock = nvim.crash()
    come_back_to(second)
    assert second.locks()[0]["authToken"] != lock["authToken"]
    claude.prompt(f"{read(second)} THEN {edit(second, 'two', 'TWO')} THEN SAY again")
    second.wait(IN_THE_DIFF)
    second.wait(SEEN)
    second.keys("ZZ")
    claude.wait_screen("● again")
    assert text(second) == "one\nTWO\nthree\n"

    # After it was quit, while the CLI still has the token of the first.
    third = start_nvim()
    second.keys(":qa<CR>")
    assert second.terminal.wait_exit() == 0
    come_back_to(third)

    # Not after it was disconnected.
    third.cmd("Claude disconnect")
    third.wait("not Ide.server.is_running()")
    assert list(kept.glob("*.json")) == []


def test_comes_back_when_the_server_restarts_not_when_it_is_disconnected_and_is_not_alone(nvim, cli):
    first = start_for_a_mention(nvim, cli)
    clear_prompt(first, "@a.txt")
    before = nvim.lua("return Ide.server.clients()[1].id")
    nvim.cmd("Claude restart")
    # Five attempts, 13 s in all.
    again = "local client = Ide.server.clients()[1] return client and client.state == 'ready' and client.id"
    nvim.wait(lambda: (nvim.lua(again) or 0) > before, what="the CLI to come back")
    first.prompt(f"{read(nvim)} THEN {edit(nvim, 'two', 'TWO')} THEN SAY restarted")
    nvim.wait(IN_THE_DIFF)
    nvim.wait(SEEN)
    nvim.keys("ZZ")
    first.wait_screen("● restarted")
    assert text(nvim) == "one\nTWO\nthree\n"
    nvim.wait(NO_DIFF)

    # A diff goes with the server, and its question stays in the terminal. However long that lasts: the port accepts meanwhile.
    first.prompt(f"{edit(nvim, 'one', 'ONE')} THEN SAY offline")
    nvim.wait(IN_THE_DIFF)
    before = nvim.lua("return Ide.server.clients()[1].id")
    nvim.lua("Ide.server.stop()")
    nvim.wait(NO_DIFF)
    first.answer("1")
    first.wait_screen("● offline")
    assert text(nvim) == "ONE\nTWO\nthree\n"
    assert nvim.lua(f"return {LOST}.tries")
    nvim.cmd("Claude connect")
    nvim.wait(lambda: (nvim.lua(again) or 0) > before, what="the CLI to come back")
    first.prompt(f"{read(nvim)} THEN {edit(nvim, 'ONE', 'one')}")
    nvim.wait(IN_THE_DIFF)
    nvim.wait(SEEN)
    nvim.keys("ZZ")
    nvim.wait(NO_DIFF)

    # Two CLIs leave each other's diffs alone.
    second = cli(nvim)
    first.prompt(f"{edit(nvim, 'three', 'THREE')} THEN SAY first")
    nvim.wait(ONE_DIFF)
    second.prompt(f"{read(nvim, 'b.txt')} THEN {edit(nvim, 'second', '2nd', 'b.txt')}")
    nvim.wait("Ide.proposal.count() == 2")  # every prompt closes its own client's tabs
    first.answer("1")
    nvim.wait(ONE_DIFF)
    second.wait_screen(QUESTION)
    nvim.wait(SEEN)
    nvim.cmd("Claude reject")
    second.wait_screen(rejected())
    first.wait_screen("● first")
    assert (text(nvim), text(nvim, "b.txt")) == ("one\nTWO\nTHREE\n", "first\nsecond\n")
    second.kill()
    nvim.wait(NO_DIFF)

    # A disconnected CLI stays away, and asks in its terminal.
    first.prompt(f"{edit(nvim, 'one', 'ONE')} THEN SAY alone")
    nvim.wait(ONE_DIFF)
    nvim.cmd("Claude disconnect")
    nvim.wait("not Ide.server.is_running()")
    nvim.wait(NO_DIFF)
    nvim.cmd("Claude connect")
    first.answer("1")
    first.wait_screen("● alone")
    if is_2_0():  # it comes back in any case
        return
    first.wait_screen("switched to another Claude Code session")
    assert text(nvim) == "ONE\nTWO\nTHREE\n"
    # By now it would have come back: it retries at once and after one second.
    assert nvim.lua("return #Ide.server.clients()") == 0
    assert nvim.lua(f"return {LOST}.sent_away")
    first.terminal.write("/ide")
    first.wait_screen("Manage IDE integrations")
    first.enter()
    first.answer("\r", "Connect to an IDE")
    first.answer("\r", "Connect to your IDE automatically?")
    nvim.wait("#Ide.server.clients() == 1", what="the CLI that was asked to connect")
