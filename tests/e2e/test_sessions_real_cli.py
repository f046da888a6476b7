"""Sessions of the real Claude Code CLI, pinned: what it does as Neovim shows it, and its sessions listed, resumed, forked."""

import os
import signal
import subprocess

import pytest

from harness.cli import QUESTION, Cli, binary, call, environment, prepare_home, submitting

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

EVENTS = """
events = {}
vim.api.nvim_create_autocmd("User", {
  pattern = { "ClaudeWorking", "ClaudeWaiting", "ClaudeIdle" },
  callback = function(event) events[#events + 1] = { event.match, event.data } end,
})
"""
TEXT = "require('claude-ide.statusline').text()"


def shows(nvim, text):
    nvim.wait(lambda: nvim.lua(f"return {TEXT}") == text, what=f"the statusline to say {text!r}")


def has_records():
    """Whether the CLI under test says of itself what it does."""
    version = subprocess.run([binary(), "--version"], capture_output=True, text=True, check=True).stdout
    return not version.startswith("2.0.")


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
            timeout=600,
        )
        (new,) = set(folder.glob("*/*.jsonl")) - before
        return new.stem

    return headless


@pytest.fixture
def nvim(start_with_claude):
    """A Neovim whose own terminal runs the real CLI."""
    nvim = start_with_claude({"size": 100}, args=["a.txt"], files={"a.txt": "one\n"}, init_lua=EVENTS)
    nvim.lua('require("claude-ide").connect()')
    return nvim


def terminal_session(nvim, id=None):
    """The session in the terminal, once its CLI waits for a prompt; that of this id, if one is given."""

    def idle():
        session = nvim.lua("return require('claude-ide.terminal').session()")
        fits = session and session["state"]["activity"] == "idle" and id in (None, session["id"])
        return session["id"] if fits else None

    return nvim.wait(idle, what="the CLI in the terminal to be idle")


def test_states_follow_a_turn_a_question_clear_and_a_kill(start_nvim, cli):
    wait = "until [ -e go ]; do sleep 0.1; done; touch made-by-claude\n"
    nvim = start_nvim(init_lua=EVENTS, files={"wait.sh": wait})
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim)
    shows(nvim, "Claude idle")
    claude.prompt(call("Bash", command="sh wait.sh"))
    claude.wait_screen(QUESTION)
    shows(nvim, "Claude waiting: permission")
    claude.answer("\r")  # the first choice; one Enter too many does nothing at the prompt that follows
    shows(nvim, "Claude working")
    (nvim.project / "go").touch()
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


def test_a_fork_goes_on_with_a_copy(nvim, headless, home, mock_api):
    session = headless("SAY the answer is 42")
    (file,) = (home / ".claude" / "projects").glob(f"*/{session}.jsonl")
    before = file.read_bytes()
    nvim.cmd(f"Claude sessions fork {session[:8]}")
    nvim.wait_screen("● the answer is 42")
    nvim.wait_screen("manual mode on")
    nvim.keys("SAY forked")
    nvim.wait_screen("SAY forked")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
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
    nvim.wait(lambda: set(nvim.lua(listed)) == {session, fork}, what="both to be listed")


def test_a_title_given_here_is_the_clis_own(start_nvim, cli, mock_api):
    """Given while the CLI runs the session, which takes it over; and written as the CLI itself writes one."""
    nvim = start_nvim(init_lua=EVENTS)
    nvim.lua('require("claude-ide.server").start()')
    claude = cli(nvim)
    claude.prompt("SAY the answer is 42")
    claude.wait_screen("● the answer is 42")
    session = nvim.wait("(require('claude-ide').status().sessions[1] or {}).id", what="the session")
    projects = nvim.home / ".claude" / "projects"
    file = nvim.wait(lambda: next(projects.glob(f"*/{session}.jsonl"), None), what="the transcript")
    nvim.wait(lambda: b'"the answer is 42"' in file.read_bytes(), what="the CLI to write the turn down")
    nvim.lua("require('claude-ide').sessions.rename(...)", session, "The answer “42”")
    nvim.wait(lambda: b"custom-title" in file.read_bytes(), what="the title")
    ours = titles(file)
    claude.prompt("SAY more")
    claude.wait_screen("● more")
    claude.prompt("/exit")
    claude.terminal.wait_exit()
    again = Cli(nvim.home, nvim.project, mock_api, args=("--resume",))
    try:
        again.answer("\r", question="❯ The answer “42”")
        again.wait_screen("● the answer is 42")
        again.prompt("/rename The answer “42”")
        again.wait_screen("Session renamed to: The answer “42”")
        nvim.wait(lambda: len(titles(file)) > len(ours), what="the title that the CLI wrote")
    finally:
        again.kill()
    assert set(titles(file)) == set(ours)
    listed = """
    local found
    require("claude-ide").sessions.list({}, function(items) found = items end)
    vim.wait(100000, function() return found ~= nil end, 5)
    return vim.tbl_map(function(item) return item.summary.title end, found)
    """
    assert nvim.lua(listed) == ["The answer “42”"]


def titles(file):
    return [line for line in file.read_bytes().splitlines() if line.startswith(b'{"type":"custom-title"')]


def test_states_of_a_cli_that_keeps_no_record(start_nvim, cli):
    """For CLI 2.0.77: `CLAUDE_IDE_CLI=…/claude`."""
    if has_records():
        pytest.skip("this CLI keeps records")
    nvim = start_nvim(init_lua=EVENTS, files={"a.txt": "one\n"})
    nvim.lua('require("claude-ide.server").start()')
    claude = cli(nvim)
    shows(nvim, "Claude")
    claude.prompt(call("Read", file_path=str(nvim.project / "a.txt")))
    claude.wait_screen("● Done.")
    shows(nvim, "Claude idle")
    question = {"question": "Which?", "header": "H", "multiSelect": False}
    question["options"] = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
    claude.prompt(call("AskUserQuestion", questions=[question]))
    shows(nvim, "Claude waiting: answer")
    claude.wait_screen("Which?")
    claude.answer("1", question="Enter to select")
    shows(nvim, "Claude idle")
    before = nvim.lua("return require('claude-ide.sessions').live()[1]")
    assert (before["pid"], before["state"]["source"]) == (claude.pid, "transcript")
    claude.prompt("/clear")
    claude.wait_gone("→ A")
    claude.prompt(call("Bash", command="sleep 2; touch made-by-claude"))
    claude.wait_screen(QUESTION)
    shows(nvim, "Claude working")
    after = nvim.lua("return require('claude-ide.sessions').live()[1]")
    assert (after["pid"], after["id"] != before["id"]) == (claude.pid, True)
    claude.answer("1")
    claude.wait_screen("● Done.")
    shows(nvim, "Claude idle")
    claude.kill()
    shows(nvim, "Claude not connected")
    nvim.wait("#require('claude-ide.sessions').live() == 0", timeout=30, what="its end")


def test_what_runs_in_the_terminal_is_told_when_it_waits_out_of_sight(start_with_claude, mock_api):
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
    nvim.wait(submitting(mock_api, lambda: nvim.lua(send, "\r")), what="the model to be asked")
    nvim.wait("#notices == 1", what="the notice")
    assert nvim.lua("return notices") == ["Claude waits for your permission"]
