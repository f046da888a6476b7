"""Sessions of the real Claude Code CLI, pinned: what it does as Neovim shows it, and its sessions listed, resumed, forked."""

import os
import signal
import subprocess

import pytest

from harness.cli import QUESTION, binary, call, environment, prepare_home

pytestmark = pytest.mark.cli

EVENTS = """
events = {}
vim.api.nvim_create_autocmd("User", {
  pattern = { "ClaudeWorking", "ClaudeWaiting", "ClaudeIdle" },
  callback = function(event) events[#events + 1] = { event.match, event.data } end,
})
"""
TEXT = "require('claude-ide.statusline').text()"


def shows(nvim, text):
    nvim.wait(lambda: nvim.lua(f"return {TEXT}") == text, timeout=30, what=f"the statusline to say {text!r}")


@pytest.fixture
def home(tmp_path):
    prepare_home(tmp_path / "home", tmp_path / "project")
    (tmp_path / "project").mkdir(exist_ok=True)
    return tmp_path / "home"


@pytest.fixture
def headless(home, mock_api, tmp_path):
    """Asks a CLI without a screen; gives back the id of its session."""

    def headless(prompt):
        folder = home / ".claude" / "projects"
        before = set(folder.glob("*/*.jsonl"))
        subprocess.run(
            [binary(), "-p", prompt],
            env=environment(home, mock_api),
            cwd=tmp_path / "project",
            check=True,
            capture_output=True,
            timeout=120,
        )
        (new,) = set(folder.glob("*/*.jsonl")) - before
        return new.stem

    return headless


@pytest.fixture
def nvim(start_with_claude):
    """A Neovim whose own terminal runs the real CLI."""
    nvim = start_with_claude({"size": 100}, args=["a.txt"], files={"a.txt": "one\n"}, init_lua=EVENTS)
    nvim.lua('require("claude-ide.server").start()')
    return nvim


def terminal_session(nvim, id=None):
    """The session in the terminal, once its CLI waits for a prompt; that of this id, if one is given."""

    def idle():
        session = nvim.lua("return require('claude-ide.sessions').of_terminal()")
        fits = session and session["state"]["activity"] == "idle" and id in (None, session["id"])
        return session["id"] if fits else None

    return nvim.wait(idle, what="the CLI in the terminal to be idle")


def test_states_follow_a_turn_a_question_clear_and_a_kill(start_nvim, cli):
    nvim = start_nvim(init_lua=EVENTS)
    nvim.lua('require("claude-ide.server").start()')
    claude = cli(nvim)
    shows(nvim, "Claude idle")
    claude.prompt(call("Bash", command="sleep 3; touch made-by-claude"))
    claude.wait_screen(QUESTION)
    shows(nvim, "Claude waiting: permission")
    claude.answer("\r")  # the first choice; one Enter too many does nothing at the prompt that follows
    shows(nvim, "Claude working")
    claude.wait_screen("● Done.")
    shows(nvim, "Claude idle")
    names = [name for name, _ in nvim.lua("return events")]
    assert names[0] == names[-1] == "ClaudeIdle"
    assert [name for name in names if name != "ClaudeIdle"][-2:] == ["ClaudeWaiting", "ClaudeWorking"]
    (waiting,) = [data for name, data in nvim.lua("return events") if name == "ClaudeWaiting"]
    assert (waiting["pid"], waiting["waiting_for"], waiting["client"]) == (claude.pid, "permission", 1)

    claude.prompt("/clear")
    moved = "return vim.iter(events):find(function(event) return event[2].previous end)"
    _, cleared = nvim.wait(moved, what="the event of the cleared session")
    assert cleared["previous"] == waiting["session"] != cleared["session"]

    os.kill(claude.pid, signal.SIGKILL)
    shows(nvim, "Claude not connected")
    nvim.wait("#require('claude-ide').status().sessions == 0", what="the session to be gone")


def test_a_headless_session_is_listed_and_resumed_in_the_terminal(nvim, headless):
    session = headless("SAY the answer is 42")
    nvim.keys(":Claude sessions<CR>")
    nvim.wait_screen("SAY the answer is 42")
    nvim.wait_screen("Type number")
    nvim.keys("1<CR>")
    nvim.wait_screen("Resume it in the terminal")
    nvim.keys("2<CR>")
    assert terminal_session(nvim, session) == session
    nvim.wait_screen("● the answer is 42")
    nvim.wait(f"{TEXT} == 'Claude idle'", what="the statusline")


def test_a_fork_goes_on_with_a_copy(nvim, headless, home):
    session = headless("SAY the answer is 42")
    (file,) = (home / ".claude" / "projects").glob(f"*/{session}.jsonl")
    before = file.read_bytes()
    nvim.cmd(f"Claude sessions fork {session[:8]}")
    nvim.wait_screen("● the answer is 42")
    nvim.wait_screen("manual mode on")
    nvim.keys("SAY forked")
    nvim.wait_screen("SAY forked")
    nvim.keys("<CR>")
    nvim.wait_screen("● forked")
    fork = terminal_session(nvim)
    assert fork != session
    assert file.read_bytes() == before
    listed = """
    local done, found
    require("claude-ide").sessions.list({}, function(items) done, found = true, items end)
    vim.wait(10000, function() return done end, 5)
    return vim.tbl_map(function(item) return item.summary.id end, found or {})
    """
    # The CLI writes what it shows a moment later.
    nvim.wait(lambda: set(nvim.lua(listed)) == {session, fork}, timeout=30, what="both to be listed")


def test_what_runs_in_the_terminal_is_told_when_it_waits_out_of_sight(start_with_claude):
    nvim = start_with_claude(
        init_lua="notices = {} vim.notify = function(message) notices[#notices + 1] = message end",
    )
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("manual mode on")
    terminal_session(nvim)
    nvim.cmd("Claude hide")
    shown = """
    local buf = require("claude-ide.terminal").bufnr()
    return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n"):find('touch x', 1, true) ~= nil
    """
    send = "vim.fn.chansend(vim.bo[require('claude-ide.terminal').bufnr()].channel, ...)"
    nvim.lua(send, call("Bash", command="touch x"))
    nvim.wait(shown, what="the CLI to show the prompt")
    nvim.lua(send, "\r")
    nvim.wait("#notices == 1", what="the notice")
    assert nvim.lua("return notices") == ["Claude waits for your permission"]
