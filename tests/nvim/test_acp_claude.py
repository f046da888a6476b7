"""The chat with the real `claude-agent-acp` and the real CLI behind it, against the scripted model."""

import os
import signal
from pathlib import Path

import pytest
from chat_steps import call, chat, say, text, wait_idle, wait_text

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


def wait_asked(nvim, words):
    nvim.wait_screen(words)
    nvim.wait("(vim.b.claude_ide or {}).kind == 'question'", what="the question to have the focus")
    nvim.lua("require('claude-ide.chat.panel').GRACE_MS = 0")


@pytest.mark.every_nvim
def test_text_tool_and_permission(begin, tmp_path):
    nvim = begin(f"{call('Bash', command='touch made.txt', description='Makes it')} THEN SAY **done** then")
    wait_asked(nvim, "touch made.txt")
    nvim.keys("y")
    wait_text(nvim, "\n**done** then")
    wait_idle(nvim)
    assert (tmp_path / "project/made.txt").exists()
    assert "touch made.txt" in text(nvim)


def test_a_permission_is_denied(begin, tmp_path):
    nvim = begin(f"{call('Bash', command='touch made.txt', description='Makes it')} THEN SAY after")
    wait_asked(nvim, "touch made.txt")
    nvim.keys("n")
    wait_idle(nvim)
    assert not (tmp_path / "project/made.txt").exists()
    say(nvim, "SAY next")
    wait_text(nvim, "\nnext")


def edit(path):
    return (
        f"{call('Read', file_path=str(path))} THEN "
        f"{call('Edit', file_path=str(path), old_string='two', new_string='TWO')} THEN SAY **done** then"
    )


def wait_diff(nvim):
    nvim.wait("require('claude-ide.diff').count() == 1 and require('claude-ide.diff').list()[1].seen", 60, "a diff")


def test_an_edit_goes_through_the_review(begin, tmp_path):
    path = tmp_path / "project/a.txt"
    nvim = begin(files={"a.txt": "one\ntwo\nthree\n"})
    wait_idle(nvim)
    say(nvim, edit(path))
    wait_diff(nvim)
    assert path.read_text() == "one\ntwo\nthree\n"
    nvim.lua("assert(require('claude-ide.diff').accept())")
    wait_text(nvim, "\n**done** then")
    assert path.read_text() == "one\nTWO\nthree\n"


def test_what_the_person_makes_of_an_edit_is_what_is_written(begin, tmp_path, mock_api):
    path = tmp_path / "project/a.txt"
    nvim = begin(files={"a.txt": "one\ntwo\nthree\n"})
    wait_idle(nvim)
    say(nvim, edit(path))
    wait_diff(nvim)
    nvim.lua("""
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        if (vim.b[buf].claude_ide or {}).kind == "proposal" then
          vim.api.nvim_buf_set_lines(buf, 1, 2, false, { "mine  ", "\\tand more" })
        end
      end
      assert(require("claude-ide.diff").accept())
    """)
    nvim.wait(lambda: mock_api.seen("+mine  "), 60, "the model to be told")
    wait_idle(nvim)
    assert path.read_text() == "one\nmine  \n\tand more\nthree\n"


def test_killed_it_goes_on_with_its_session(begin, tmp_path, mock_api):
    nvim = begin("SAY the first thing")
    wait_text(nvim, "\nthe first thing")
    wait_idle(nvim)
    os.kill(chat(nvim, "return chat.pid"), signal.SIGKILL)
    wait_text(nvim, "Claude was ended by signal 9.")
    say(nvim, "SAY the second thing")
    wait_text(nvim, "\nthe second thing")
    assert "the first thing" in str(mock_api.conversation())
    session = chat(nvim, "return chat.session")
    nvim.lua("vim.cmd('Claude chat close')")
    nvim.lua("vim.cmd('Claude chat --agent claude --resume ' .. ...)", session)
    nvim.wait("(require('claude-ide.chat').current() or {}).state == 'idle'", 60, "the session")
    wait_text(nvim, "\nthe second thing")
    assert "the first thing" in text(nvim)


def test_quitting_leaves_no_process_behind(begin):
    nvim = begin("SAY hello")
    wait_idle(nvim)
    pid = chat(nvim, "return chat.pid")
    nvim.quit()
    nvim.terminal.wait(lambda: not Path(f"/proc/{pid}").exists(), 20, "the agent to end")
