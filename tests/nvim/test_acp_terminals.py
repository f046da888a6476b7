"""Commands run for an agent of the Agent Client Protocol."""

import json
import os

import pytest
from acp_steps import answers, request, say, text, update, wait_answer, wait_idle, wait_text
from chat_steps import wait_diff
from kernel_steps import alive

from harness import PATIENCE

pytestmark = pytest.mark.dealt


def ran(nvim, command, *args, **more):
    """The command's exit and its output."""
    before = len(answers(nvim))
    last = nvim.lua("return Ide.chat.current().acp.last_terminal")
    of = {"terminalId": f"term-{last + 1}"}
    lines = [
        request("terminal/create", command=command, args=list(args), **more),
        request("terminal/wait_for_exit", **of),
        request("terminal/output", **of),
        request("terminal/release", **of),
    ]
    say(nvim, "\n".join(lines))
    nvim.wait(lambda: len(answers(nvim)) >= before + 4, what="the end of it")
    _, ended, output, _ = answers(nvim)[before:]
    return ended.get("exitCode"), output["output"]


@pytest.mark.every_nvim
def test_a_program_is_looked_for_where_the_command_runs(begin_acp, tmp_path):
    nvim = begin_acp(files={"folder/tool": "#!/bin/sh\necho here $1\n", "bin/other": "#!/bin/sh\necho found $1\n"})
    project = tmp_path / "project"
    for name in ("folder/tool", "bin/other"):
        (project / name).chmod(0o755)
    assert ran(nvim, "./tool", "x", cwd=str(project / "folder")) == (0, "here x\n")
    assert ran(nvim, "./tool", cwd=str(project / "folder")) == (0, "here\n")
    path = [{"name": "PATH", "value": f"{project / 'bin'}:{os.environ['PATH']}"}]
    assert ran(nvim, "other", "y", env=path) == (0, "found y\n")


@pytest.mark.every_nvim
def test_a_program_that_is_not_there_is_reported_in_a_line(begin_acp):
    nvim = begin_acp()
    for args in ([], ["x"]):
        code, output = ran(nvim, "no-such-program", *args)
        assert code == 127 and "no-such-program: not found" in output and output.count("\n") == 1, output
    say(nvim, request("terminal/create", command="echo", args=["a\0b"]))
    nvim.wait(lambda: answers(nvim)[-1].get("code") == -32602, what="why not")
    assert answers(nvim)[-1]["message"] == "a command cannot have a NUL in it"


def test_nothing_waits_in_a_pager(begin_acp):
    nvim = begin_acp()
    assert ran(nvim, "echo $PAGER $GIT_PAGER") == (0, "cat cat\n")
    own = [{"name": "PAGER", "value": "more"}]
    assert ran(nvim, "echo $PAGER $GIT_PAGER", env=own) == (0, "more cat\n")


@pytest.mark.parametrize("is_released", [False, True])
def test_a_call_in_a_terminal_shows_what_came_there(begin_acp, is_released):
    nvim = begin_acp()
    of = {"terminalId": "term-1"}
    content = [{"type": "terminal", **of}, {"type": "terminal", "terminalId": "gone"}]
    call = {"toolCallId": "c1", "title": "Count", "kind": "execute"}
    lines = [
        request("terminal/create", command="seq", args=["3"]),
        update("tool_call", **call, status="in_progress", content=content),
        request("terminal/wait_for_exit", **of),
        *([request("terminal/release", **of)] if is_released else []),
        update("tool_call_update", toolCallId="c1", status="completed"),
        "SAY over",
    ]
    say(nvim, "\n".join(lines))
    wait_answer(nvim, "\nover")
    shown = [line.strip() for line in text(nvim).splitlines()]
    at = shown.index("1")
    assert shown[at : at + 4] == ["1", "2", "3", "(in the terminal gone)"], shown
    assert "Count" in shown[at - 1] and not any("term-1)" in line for line in shown)
    nvim.cmd("buffer seq\\ (terminal)")
    assert nvim.lua("return vim.bo.buftype") == "terminal"
    nvim.wait(lambda: nvim.lines()[:3] == ["1", "2", "3"], what="it to be looked at: a timer fills the buffer")


STUBBORN = "trap '' HUP TERM; (while :; do sleep 1; done) & echo $! $$; wait"
"""A command that ignores the end of its terminal, like its child."""


def begin_stubborn(nvim, command=STUBBORN):
    """The process ids of such a command, in the terminal `term-1`."""
    lines = [
        request("terminal/create", command="/bin/sh", args=["-c", command]),
        "SEND terminal/wait_for_exit " + json.dumps({"terminalId": "term-1"}),
    ]
    say(nvim, "\n".join(lines))
    terminal = "Ide.chat.current().acp.terminals['term-1']"
    nvim.wait(f"{terminal} and ({terminal}.output:text()):find('%d+ %d+')", what="its numbers")
    wait_idle(nvim)
    return [int(word) for word in nvim.lua(f"return ({terminal}.output:text())").split()]


def wait_ended(nvim, processes):
    nvim.terminal.wait(lambda: not any(map(alive, processes)), 2 * PATIENCE, f"{processes} to end")


BY_OURSELVES = [pytest.param(how, marks=pytest.mark.slow) for how in ("release", "close", "agent")]
"""As `kill`. Each waits for the time that a command gets to end by itself."""


@pytest.mark.parametrize("how", ["kill", "quit", "crash", *BY_OURSELVES])
def test_what_ignores_that_its_terminal_is_gone_ends_all_the_same(begin_acp, how):
    nvim = begin_acp()
    processes = begin_stubborn(nvim)
    assert all(map(alive, processes))
    if how in ("release", "kill"):
        say(nvim, request(f"terminal/{how}", terminalId="term-1"))
    elif how == "agent":
        say(nvim, "EXIT 3")
    elif how == "close":
        nvim.cmd("Claude chat close")
    elif how == "quit":
        nvim.leave()
    else:
        os.kill(nvim.server_pid, 9)
    wait_ended(nvim, processes)


def test_what_a_command_leaves_behind_ends_with_it(begin_acp):
    nvim = begin_acp()
    code, output = ran(nvim, "/bin/sh", "-c", "trap '' HUP TERM; (while :; do sleep 1; done) >/dev/null 2>&1 & echo $!")
    assert code == 0
    wait_ended(nvim, [int(output)])


@pytest.mark.every_nvim
def test_an_answer_for_an_agent_that_is_gone_does_not_reach_the_next_one(begin_acp):
    nvim = begin_acp(files={"a.txt": "one\n"})
    processes = begin_stubborn(nvim)
    nvim.lua("_G.gone = Ide.chat.current().acp.terminals['term-1']")
    say(nvim, "EXIT 3")
    wait_text(nvim, "Your next prompt restarts it")
    path = str(nvim.project / "a.txt")
    # The second request of this agent; the wait for the command was the second of the one before.
    say(
        nvim, request("fs/read_text_file", path=path) + "\n" + request("fs/write_text_file", path=path, content="two\n")
    )
    wait_diff(nvim)
    wait_ended(nvim, processes)
    nvim.wait("_G.gone.exit ~= nil", what="that the command has ended")
    nvim.cmd("Claude reject")
    nvim.wait(lambda: len(answers(nvim)) == 3, what="the answer")
    assert "rejected" in answers(nvim)[-1].get("message", ""), answers(nvim)[-1]
    assert (nvim.project / "a.txt").read_text() == "one\n"
