"""Sessions of the real Claude Code CLI, pinned: its activity as shown by Neovim, and its titles."""

import os
import signal

import pytest

from harness.cli import QUESTION, Cli, call

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

TEXT = "require('claude-ide.statusline').text()"


def shows(nvim, text, mode=""):
    """Waits for what it does, and for its mode if that is given: it is known from the first prompt on."""

    def is_shown():
        does, _, rest = nvim.lua(f"return {TEXT}").partition(" · ")
        return does == text and (not mode or rest == mode)

    nvim.wait(is_shown, what=f"the statusline to say {text!r} {mode}")


def test_states_and_a_title_follow_turns_a_question_an_exit_clear_and_a_kill(start_nvim, cli, mock_api):
    wait = "until [ -e go ]; do sleep 0.1; done; touch made-by-claude\n"
    nvim = start_nvim(files={"wait.sh": wait})
    nvim.keep_events("ClaudeWorking", "ClaudeWaiting", "ClaudeIdle")
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim)
    shows(nvim, "Claude idle")
    claude.prompt(call("Bash", command="sh wait.sh"))
    claude.wait_screen(QUESTION)
    shows(nvim, "Claude waiting: permission")
    claude.answer("\r")  # the first choice; an extra Enter does nothing at the next prompt
    shows(nvim, "Claude working", "manual")
    (nvim.project / "go").touch()
    claude.wait_screen("● Done.")
    shows(nvim, "Claude idle")
    names = [name for name, _ in nvim.events()]
    assert names[0] == names[-1] == "ClaudeIdle"
    assert [name for name in names if name != "ClaudeIdle"][-2:] == ["ClaudeWaiting", "ClaudeWorking"]
    (waiting,) = [data for name, data in nvim.events() if name == "ClaudeWaiting"]
    assert (waiting["pid"], waiting["waiting_for"], waiting["client"]) == (claude.pid, "permission", 1)

    # The running CLI adopts a title given here, and writes it in its own form.
    session = waiting["session"]
    (file,) = (nvim.home / ".claude" / "projects").glob(f"*/{session}.jsonl")
    nvim.wait(lambda: b'"Done."' in file.read_bytes(), what="the CLI to write the turn down")
    nvim.lua("require('claude-ide').sessions.rename(...)", session, "The answer “42”")
    nvim.wait(lambda: b"custom-title" in file.read_bytes(), what="the title")
    ours = titles(file)
    claude.prompt("SAY more")
    claude.wait_screen("● more")
    claude.prompt("/exit")
    claude.terminal.wait_exit()
    shows(nvim, "Claude not connected")
    again = Cli(nvim.home, nvim.project, mock_api, args=("--ide", "--resume"))
    try:
        again.answer("\r", question="❯ The answer “42”")
        again.wait_screen("● more")
        again.prompt("/rename The answer “42”")
        again.wait_screen("Session renamed to: The answer “42”")
        nvim.wait(lambda: len(titles(file)) > len(ours), what="the title that the CLI wrote")
        assert set(titles(file)) == set(ours)
        listed = """
        local found
        require("claude-ide").sessions.list({}, function(items) found = items end)
        vim.wait(100000, function() return found ~= nil end, 5)
        return vim.tbl_map(function(item) return item.summary.title end, found)
        """
        assert nvim.lua(listed) == ["The answer “42”"]

        # After `/clear` it runs another session.
        shows(nvim, "Claude idle")
        again.prompt("/clear")
        moved = f"return vim.iter(events):find(function(event) return event[2].previous == '{session}' end)"
        _, cleared = nvim.wait(moved, what="the event of the cleared session")
        assert cleared["session"] != session

        os.kill(again.pid, signal.SIGKILL)
        shows(nvim, "Claude not connected")
        nvim.wait("#require('claude-ide').status().sessions == 0", what="the session to be gone")
    finally:
        again.kill()


def titles(file):
    return [line for line in file.read_bytes().splitlines() if line.startswith(b'{"type":"custom-title"')]
