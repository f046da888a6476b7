"""The chat with the real `claude-agent-acp` and the real CLI behind it, against the scripted model.

All in one session, since starting the two takes some seconds: each step is a function, named after what it asserts.
"""

import os
import signal
from pathlib import Path

import pytest
from chat_steps import call, chat, edit_proposal, say, text, wait_answer, wait_asked, wait_diff, wait_idle, wait_text

from harness import cli

pytestmark = pytest.mark.dealt

ADAPTER = cli.ROOT / ".deps/acp/node_modules/.bin/claude-agent-acp"


@pytest.fixture
def begin(start_nvim, mock_api, tmp_path):
    def begin(words="", files=None, env=None):
        home, project = tmp_path / "home", tmp_path / "project"
        cli.prepare_home(home, project)
        environment = {**cli.environment(home, mock_api), "CLAUDE_CODE_EXECUTABLE": str(cli.binary()), **(env or {})}
        environment.pop("TERM")
        agents = {"claude": {"cmd": [str(ADAPTER)]}}
        nvim = start_nvim(files=files or {}, opts={"agents": agents}, env=environment)
        nvim.lua("vim.cmd('Claude chat --agent claude ' .. ...)", words)
        nvim.wait("require('claude-ide.chat').current() ~= nil", what="the chat")
        return nvim

    return begin


def made(name, words):
    return f"{call('Bash', command='touch ' + name, description='Makes it')} THEN SAY {words}"


def text_tool_and_permission(nvim):
    wait_asked(nvim, "touch made.txt")
    nvim.keys("y")
    wait_answer(nvim, "\n**done** then")
    assert (nvim.project / "made.txt").exists()
    assert "touch made.txt" in text(nvim)


def a_permission_is_denied(nvim):
    say(nvim, made("denied.txt", "after"))
    wait_asked(nvim, "touch denied.txt")
    nvim.keys("n")
    wait_idle(nvim)
    assert not (nvim.project / "denied.txt").exists()
    say(nvim, "SAY next")
    wait_answer(nvim, "\nnext")


def edit(path, words):
    return (
        f"{call('Read', file_path=str(path))} THEN "
        f"{call('Edit', file_path=str(path), old_string='two', new_string='TWO')} THEN SAY {words}"
    )


def an_edit_goes_through_the_review(nvim):
    path = nvim.project / "a.txt"
    say(nvim, edit(path, "**edited** then"))
    wait_diff(nvim)
    assert path.read_text() == "one\ntwo\nthree\n"
    nvim.lua("assert(require('claude-ide.proposal').accept())")
    wait_text(nvim, "\n**edited** then")
    assert path.read_text() == "one\nTWO\nthree\n"
    wait_idle(nvim)


def what_the_user_makes_of_an_edit_is_what_is_written(nvim, mock_api):
    path = nvim.project / "b.txt"
    say(nvim, edit(path, "over"))
    wait_diff(nvim)
    edit_proposal(nvim, 1, 2, ["mine  ", "\tand more"])
    nvim.lua("assert(require('claude-ide.proposal').accept())")
    nvim.wait(lambda: mock_api.seen("+mine  "), what="the model to be told")
    wait_idle(nvim)
    assert path.read_text() == "one\nmine  \n\tand more\nthree\n"


def killed_it_goes_on_with_its_session(nvim, mock_api):
    say(nvim, "SAY the first thing")
    wait_answer(nvim, "\nthe first thing")
    os.kill(chat(nvim, "return chat.pid"), signal.SIGKILL)
    wait_text(nvim, "Claude was ended by signal 9.")
    say(nvim, "SAY the second thing")
    wait_text(nvim, "\nthe second thing")
    assert "the first thing" in str(mock_api.conversation())
    wait_idle(nvim)


def closed_it_goes_on_with_its_session(nvim):
    session = chat(nvim, "return chat.session")
    nvim.lua("vim.cmd('Claude chat close')")
    nvim.lua("vim.cmd('Claude chat --agent claude --resume ' .. ...)", session)
    nvim.wait("(require('claude-ide.chat').current() or {}).state == 'idle'", what="the session")
    wait_text(nvim, "\nthe second thing")
    assert "the first thing" in text(nvim)


def quitting_leaves_no_process_behind(nvim):
    pid = chat(nvim, "return chat.pid")
    assert Path(f"/proc/{pid}").exists()
    nvim.leave()
    nvim.terminal.wait(lambda: not Path(f"/proc/{pid}").exists(), 20, "the agent to end")


def test_a_session_with_claude_behind_the_protocol(begin, mock_api):
    lines = "one\ntwo\nthree\n"
    nvim = begin(made("made.txt", "**done** then"), files={"a.txt": lines, "b.txt": lines})
    text_tool_and_permission(nvim)
    a_permission_is_denied(nvim)
    an_edit_goes_through_the_review(nvim)
    what_the_user_makes_of_an_edit_is_what_is_written(nvim, mock_api)
    killed_it_goes_on_with_its_session(nvim, mock_api)
    closed_it_goes_on_with_its_session(nvim)
    quitting_leaves_no_process_behind(nvim)
