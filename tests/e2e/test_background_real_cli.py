"""A session of the real CLI that outlives Neovim: handed over at `:qa`, found, reviewed and continued by the next one."""

import json
import os
import signal
import subprocess
import time

import pytest
from terminal_steps import IDLE, SESSION, begin, submit

from harness.cli import binary, call, environment
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli]

READY = "(Ide.server.clients()[1] or {}).pid"


@pytest.fixture
def service(mock_api, tmp_path):
    """Ends the service of the CLI, and with it the sessions in the background."""
    yield
    env = environment(tmp_path / "home", mock_api)
    subprocess.run([binary(), "daemon", "stop", "--any"], env=env, cwd=tmp_path, capture_output=True, timeout=60)


def state(nvim):
    return nvim.lua(
        "local live = require('claude-ide').sessions.live()[1] return live and { live.id, live.state.activity, live.job ~= nil }"
    )


def hold_prompts(nvim):
    """A hook of the user's, which the CLI waits for before it stores a prompt: it ends when this file is gone."""
    held = nvim.home / "held"
    hold = {"type": "command", "command": f"while [ -e {held} ]; do sleep 0.05; done"}
    settings = nvim.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hold]}]}}))
    return held


@pytest.mark.usefixtures("service")
def test_a_session_that_works_goes_on_without_neovim_and_comes_back(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\ntwo\n"})
    path, held = nvim.project / "a.txt", hold_prompts(nvim)
    subprocess.run(["git", "init", "-q"], cwd=nvim.project, check=True)
    begin(nvim, mock_api)
    nvim.wait_screen("● Hello.")
    nvim.wait(IDLE, what="the turn to be over")
    session = nvim.lua(SESSION)
    change = {"file_path": str(path), "old_string": "two", "new_string": "TWO"}
    mock_api.paused = True
    held.touch()  # the CLI stores a prompt once the user's hooks have seen it
    prompt = f"{call('Read', file_path=str(path))} THEN {call('Edit', **change)} THEN SAY All done."
    nvim.lua("vim.api.nvim_chan_send(vim.bo.channel, ...)", prompt)
    nvim.wait_screen("All done.")
    nvim.wait(at_work(nvim), what="the CLI to work")
    quit_while_it_goes_on(nvim)
    nvim.wait_screen("Neovim quits as soon as Claude is in the background.")
    held.unlink()
    nvim.terminal.wait_exit()
    mock_api.paused = False

    # The next Neovim shows that it waits for a permission, and attaches to it.
    after = start_with_claude(args=["a.txt"], notices=True)
    after.cmd("ClaudeConnect")
    after.wait(
        lambda: state(after) == [session, "waiting", True], what="the session to wait for a permission", timeout=90
    )
    assert path.read_text() == "one\ntwo\n"
    listed(after, 1)
    after.wait_screen("Do you want to make this edit")
    after.keys("1")
    after.wait(lambda: path.read_text() == "one\nTWO\n", what="the edit, in place")
    after.wait_screen("● All done.")

    # What it changed can be reviewed and undone.
    after.wait("Ide.journal.counts().files == 1", what="the change to review")
    after.cmd("Claude close")
    after.wait(lambda: state(after) == [session, "idle", True], what="the session to go on when its terminal is closed")

    # Idle, it comes back as any other: with this Neovim as its editor.
    listed(after, 1)
    after.wait(READY, what="the CLI to connect")
    after.wait(lambda: state(after) == [session, "idle", False], what="the same session")
    mock_api.script(Reply("Here I am."))
    after.wait_screen("manual mode on")
    submit(after, mock_api, "still there?")
    after.wait_screen("Here I am.")
    assert mock_api.seen("All done.")


@pytest.mark.usefixtures("service")
def test_a_prompt_that_waits_for_the_end_of_the_turn_goes_on_with_it(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\n"})
    held = hold_prompts(nvim)
    begin(nvim, mock_api)
    mock_api.paused = True
    nvim.keys("the first")
    nvim.wait_screen("the first")
    nvim.wait(at_work(nvim), what="the CLI to work")
    nvim.wait(lambda: stored(nvim, '"the first"'), what="the prompt on disk")
    nvim.keys("- the second")
    nvim.wait_screen("- the second")
    held.touch()
    nvim.keys("<CR>")
    nvim.wait_screen("running UserPromptSubmit hook")
    assert not stored(nvim, "- the second")
    quit_while_it_goes_on(nvim)
    nvim.wait_screen("Neovim quits as soon as Claude is in the background.")
    held.unlink()
    nvim.terminal.wait_exit()
    mock_api.paused = False

    after = start_with_claude(args=["a.txt"], notices=True)

    def is_asked_both():  # in any order: the ended CLI's request, with the first alone, is answered now, too
        asked = [json.dumps(body["messages"]) for body in list(mock_api.requests) if body.get("tools")]
        return any("the first" in messages and "- the second" in messages for messages in asked)

    after.wait(is_asked_both, what="the model to be asked")


def quit_while_it_goes_on(nvim):
    """Leaves Claude's terminal and quits Neovim, in the background."""
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.fn.mode() == 'n'")
    nvim.keys(":qa<CR>")
    nvim.wait_screen("Quit, and continue it in the background")
    nvim.keys("2<CR>")


def stored(nvim, text):
    """Whether a transcript has the text."""
    return any(text in path.read_text() for path in (nvim.home / ".claude" / "projects").rglob("*.jsonl"))


def shown(nvim):
    """What each terminal shows, by its name."""
    return nvim.lua(
        """
        local found = {}
        for _, one in ipairs(Ide.terminal.list()) do
          found[one:name()] = table.concat(vim.api.nvim_buf_get_lines(one:bufnr(), 0, -1, false), "\\n")
        end
        return found
        """
    )


def listed(nvim, *choice):
    """The lines of `:Claude list`, of which one may be chosen."""
    nvim.answer(*choice)
    nvim.cmd("Claude list")
    nvim.wait("#asked == 1", what="the list")
    return nvim.asked()[0]["lines"]


def at_work(nvim):
    """A condition: the CLI works, while the model does not answer. Presses Enter, and again if one was lost."""
    pressed = 0.0

    def works():
        nonlocal pressed
        if time.monotonic() - pressed > 5:
            pressed = time.monotonic()
            nvim.keys("<CR>")
        return nvim.lua("return ((Ide.terminal.session() or {}).state or {}).activity == 'working'")

    return works


def test_three_that_work_are_all_offered_after_neovim_was_killed(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\n"})
    mock_api.paused = True
    names = ["alpha", "beta", "gamma"]
    for number, name in enumerate(names, 1):
        nvim.keys(f":Claude new {name}<CR>")
        nvim.wait(f"#Ide.terminal.list() == {number}", what=f"the terminal {name}")
        nvim.wait_screen("manual mode on")
        nvim.wait("vim.fn.mode() == 't'")
        nvim.keys(f"task of {name}")
        nvim.wait_screen(f"task of {name}")
        nvim.wait(at_work(nvim), what=f"{name} to work")
        nvim.keys("<C-\\><C-\\>")
        nvim.wait("vim.fn.mode() == 'n'")
    records = nvim.home / ".local" / "state" / "nvim" / "claude-ide" / "terminals"
    nvim.wait(
        lambda: "".join(path.read_text() for path in records.glob("*.json")).count('"session"') == 3,
        what="the record of the three",
    )
    nvim.wait(
        lambda: all(stored(nvim, f"task of {name}") for name in names),
        what="the prompts on disk: the CLI writes them a moment later",
    )
    os.kill(nvim.lua("return vim.uv.os_getpid()"), signal.SIGKILL)  # Neovim alone
    nvim.terminal.wait_exit()
    mock_api.paused = False

    after = start_with_claude(args=["a.txt"], notices=True)
    after.cmd("ClaudeConnect")
    after.wait_notice("3 terminals of Claude ended with Neovim.")
    after.wait(lambda: len(listed(after)) == 3, what="the CLIs to have ended")
    for number, name in enumerate(names, 1):
        assert len(listed(after, number)) == 3, "those that run again come first"
        after.wait(f"#Ide.terminal.list() == {number}", what="the terminal")
        after.wait(lambda name=name: f"task of {name}" in shown(after).get(name, ""), what=f"what {name} was asked")
        after.wait("Ide.terminal.session() ~= nil", what="its record")
        leave = "<C-\\><C-\\>"
        after.wait("vim.fn.mode() == 't'")
        after.keys(leave)
        after.wait("vim.fn.mode() == 'n'")
    assert sorted(shown(after)) == names
