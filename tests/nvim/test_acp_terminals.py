"""The commands that an agent of the Agent Client Protocol has run."""

import functools
import os

import acp_steps
import pytest
from acp_steps import answers, request, say, text, update, wait_idle, wait_text

pytestmark = pytest.mark.dealt


@pytest.fixture
def begin(start_nvim, tmp_path):
    return functools.partial(acp_steps.begin_idle, start_nvim, tmp_path)


def ran(nvim, command, *args, **more):
    """How it ended, and what it put out."""
    before = len(answers(nvim))
    last = nvim.lua("return require('claude-ide.chat').current().acp.last_terminal")
    of = {"terminalId": f"term-{last + 1}"}
    lines = [
        request("terminal/create", command=command, args=list(args), **more),
        request("terminal/wait_for_exit", **of),
        request("terminal/output", **of),
        request("terminal/release", **of),
    ]
    say(nvim, "\n".join(lines))
    nvim.wait(lambda: len(answers(nvim)) >= before + 4, what="the end of it")
    _, ended, told, _ = answers(nvim)[before:]
    return ended.get("exitCode"), told["output"]


@pytest.mark.every_nvim
def test_a_program_is_looked_for_where_the_command_runs(begin, tmp_path):
    nvim = begin(files={"folder/tool": "#!/bin/sh\necho here $1\n", "bin/other": "#!/bin/sh\necho found $1\n"})
    project = tmp_path / "project"
    for name in ("folder/tool", "bin/other"):
        (project / name).chmod(0o755)
    assert ran(nvim, "./tool", "x", cwd=str(project / "folder")) == (0, "here x\n")
    assert ran(nvim, "./tool", cwd=str(project / "folder")) == (0, "here\n")
    path = [{"name": "PATH", "value": f"{project / 'bin'}:{os.environ['PATH']}"}]
    assert ran(nvim, "other", "y", env=path) == (0, "found y\n")


@pytest.mark.every_nvim
def test_a_program_that_is_not_there_is_told_in_a_line(begin):
    nvim = begin()
    for args in ([], ["x"]):
        code, told = ran(nvim, "no-such-program", *args)
        assert code == 127 and "no-such-program: not found" in told and told.count("\n") == 1, told
    say(nvim, request("terminal/create", command="echo", args=["a\0b"]))
    nvim.wait(lambda: answers(nvim)[-1].get("code") == -32602, what="why not")
    assert answers(nvim)[-1]["message"] == "a command cannot have a NUL in it"


def test_nothing_waits_in_a_pager(begin):
    nvim = begin()
    assert ran(nvim, "echo $PAGER $GIT_PAGER") == (0, "cat cat\n")
    own = [{"name": "PAGER", "value": "more"}]
    assert ran(nvim, "echo $PAGER $GIT_PAGER", env=own) == (0, "more cat\n")


@pytest.mark.parametrize("is_released", [False, True])
def test_a_call_in_a_terminal_shows_what_came_there(begin, is_released):
    nvim = begin()
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
    wait_text(nvim, "\nover")
    wait_idle(nvim)
    shown = [line.strip() for line in text(nvim).splitlines()]
    at = shown.index("1")
    assert shown[at : at + 4] == ["1", "2", "3", "(in the terminal gone)"], shown
    assert "Count" in shown[at - 1] and not any("term-1)" in line for line in shown)
    nvim.cmd("buffer seq\\ (terminal)")
    assert nvim.lua("return vim.bo.buftype") == "terminal" and nvim.lines()[:3] == ["1", "2", "3"], (
        "it can be looked at"
    )


def test_no_more_is_told_than_was_asked_for(begin):
    nvim = begin()
    assert ran(nvim, "printf", r"abc\377\377\377", outputByteLimit=6) == (0, "\ufffd\ufffd")
    assert ran(nvim, "printf", "ääää", outputByteLimit=5) == (0, "ää")
