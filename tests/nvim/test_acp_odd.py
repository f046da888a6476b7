"""An agent of the Agent Client Protocol that does odd things: each is ignored or shown, and breaks nothing."""

import json
import os

import acp_steps
import main_thread
import pytest
from acp_steps import answers, diff, permission, request, say, text, update, wait_answer, wait_idle, wait_text
from chat_steps import accept, chat, wait_diff

pytestmark = pytest.mark.dealt

SUNNY = [{"type": "content", "content": {"type": "text", "text": "sunny"}}]


def shown(nvim, *lines):
    """A turn's text after its prompt."""
    say(nvim, "\n".join([*lines, "SAY over"]))
    wait_answer(nvim, "\nover")
    assert "cannot take in" not in nvim.log()
    return text(nvim).rpartition("SAY over\n")[2]


def tool(id_, title="Look", **fields):
    return update("tool_call", toolCallId=id_, title=title, kind="fetch", **fields)


def more(id_, **fields):
    return update("tool_call_update", toolCallId=id_, **fields)


def chunk(content, **fields):
    return update("agent_message_chunk", content=content, **fields)


def asked(nvim, *lines, count=None):
    """The answers to requests."""
    before, count = len(answers(nvim)), count or len(lines)
    say(nvim, "\n".join(lines))
    nvim.wait(lambda: len(answers(nvim)) >= before + count, what="the answers")
    return answers(nvim)[before:]


def test_what_comes_after_the_end_of_a_turn_is_shown(begin_acp):
    nvim = begin_acp()
    said = shown(
        nvim, tool("a"), "END", "SAY late words", more("a", status="completed", content=SUNNY), tool("b", "Late")
    )
    assert "late words" in said and "Late" in said and "sunny" in said
    assert "running" not in shown(nvim), "the next turn's end ends what began between"
    assert chat(nvim, "return chat.state") == "idle"


def decide(nvim, words, key):
    """Answers a permission with a key."""
    before = len(answers(nvim))
    say(nvim, words)
    nvim.wait_kind("question")
    nvim.keys(key, counts=True)
    nvim.wait(lambda: len(answers(nvim)) > before, what="the answer")
    wait_idle(nvim)
    return answers(nvim)[-1]["outcome"]


def test_a_permission_with_many_answers(begin_acp):
    nvim = begin_acp()
    many = [{"optionId": f"o{number}", "name": f"N\n{number}", "kind": "allow_once"} for number in range(30)]
    assert decide(nvim, permission(title="Do it", options=many), "9") == {"outcome": "selected", "optionId": "o8"}


def test_an_edit_that_cannot_be_allowed_is_not_written(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\n"})
    path = tmp_path / "project/a.txt"
    say(nvim, permission(title="Do it", options=[], kind="edit", content=[diff(path, "one\n", "two\n")]))
    wait_diff(nvim)
    accept(nvim)
    nvim.wait(lambda: answers(nvim) == [{"outcome": {"outcome": "cancelled"}}], what="the answer")
    nvim.wait("vim.fn.execute('messages'):find('Robot offers no way to allow this') ~= nil", what="the notice")
    assert path.read_text() == "one\n"


@pytest.mark.slow
def test_terminals_ended_and_released_in_any_order(begin_acp, tmp_path):
    nvim = begin_acp()
    of = {"terminalId": "term-1"}
    given = asked(
        nvim,
        request("terminal/create", command="sleep", args=["100"]),
        request("terminal/kill", **of),
        request("terminal/wait_for_exit", **of),
        request("terminal/kill", **of),
        request("terminal/release", **of),
        *(request(f"terminal/{name}", **of) for name in ("release", "wait_for_exit", "output", "kill")),
    )
    assert given[1] == {} and given[2]["signal"] == "SIGTERM" and given[3:5] == [{}, {}]
    assert [one["code"] for one in given[5:]] == [-32002] * 4
    # One that something waits for when it is released.
    lines = [
        request("terminal/create", command="sleep", args=["100"]),
        "SEND terminal/wait_for_exit " + json.dumps({"terminalId": "term-2"}),
        request("terminal/release", terminalId="term-2"),
        request("terminal/create", command="true", env=[{"name": "", "value": "x"}, {"name": "A=B", "value": "y"}]),
        request("terminal/create", command="", args=None),
        request("terminal/create", command="true", cwd="/nowhere"),
        request("terminal/create", command="printf 'a\\nb'", outputByteLimit=0),
    ]
    given = asked(nvim, *lines, count=6)
    assert given[1] == {} and given[4]["code"] == -32602 and given[5]["terminalId"]

    def ended():
        return [message for message in acp_steps.read(tmp_path) if (message.get("result") or {}).get("signal")]

    nvim.wait(lambda: len(ended()) == 2, what="who waits for one that is released to be told")
    wait_idle(nvim)


@pytest.mark.slow
def test_a_file_of_15_mb_is_read_whole_and_holds_nobody_up(begin_acp, tmp_path):
    nvim = begin_acp(files={})
    path, length = tmp_path / "project/large.txt", 15_000_000
    path.write_bytes(b"%099d\n" % 7 * (length // 100))
    main_thread.watch(nvim)
    say(nvim, f"SEND fs/read_text_file {json.dumps({'path': str(path)})}\nWAIT")

    def contents():
        given = [message["result"] for message in acp_steps.read(tmp_path) if "result" in message]
        return [one["content"] for one in given if "content" in one]

    nvim.wait(contents, what="what the agent reads")
    assert len(contents()[0]) == length
    assert main_thread.longest(nvim) < 30, "it was 160 when it went through Lua"


@pytest.mark.slow
def test_what_cannot_be_written_is_said(begin_acp, tmp_path):
    nvim = begin_acp(files={"folder/b.txt": "b\n"})
    project = tmp_path / "project"
    os.mkfifo(project / "fifo")

    def write(path):
        return request("fs/write_text_file", path=str(path), content="new\n")

    given = asked(nvim, write(project / "folder"), write(project / "fifo"))
    assert all("cannot be shown, so it was not written" in one["message"] for one in given)
    for path in ("/proc/version", project / "folder/b.txt/c.txt"):
        say(nvim, write(path))
        wait_diff(nvim)
        before = len(answers(nvim))
        accept(nvim)
        nvim.wait(lambda before=before: len(answers(nvim)) > before, what="the answer")
        assert "could not be written" in answers(nvim)[-1]["message"]
        wait_idle(nvim)


def test_what_is_not_saved_is_what_an_edit_is_shown_against(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\n"})
    path = tmp_path / "project/a.txt"
    nvim.lua("vim.cmd.split('a.txt') vim.api.nvim_buf_set_lines(0, 1, 1, false, { 'typed' })")
    say(nvim, request("fs/write_text_file", path=str(path), content="ONE\ntyped\n"))
    wait_diff(nvim)
    assert path.read_text() == "one\n"
    accept(nvim)
    nvim.wait(lambda: answers(nvim) == [{}], what="the answer")
    lines = "vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false)"
    nvim.wait(lambda: nvim.lua(f"return {lines}") == ["ONE", "typed"], what="the buffer to hold it")
    assert path.read_text() == "ONE\ntyped\n"


@pytest.mark.slow
def test_what_5000_calls_of_a_turn_cost_grows_with_their_number_alone(begin_acp):
    nvim = begin_acp()
    took = {}
    for count in (1250, 5000):
        main_thread.watch(nvim)
        before = chat(nvim, "return chat.store:info().len")
        say(nvim, f"CALLS {count}")
        nvim.wait(
            lambda before=before, count=count: chat(nvim, "return chat.store:info().len") > before + count,
            what="all of them",
            timeout=60,
        )
        wait_idle(nvim)
        took[count] = nvim.lua("return main_thread_ms() - began")
        assert main_thread.longest(nvim) < 60
    # Many drawn together cost less each: the few take 54 to 150 ms.
    assert took[5000] < 8 * max(took[1250], 100), f"{took}: it was 4 ms each"
    wait_text(nvim, "Call 4999")


@pytest.mark.every_nvim
def test_a_nul_in_a_question_is_shown_as_one(begin_acp):
    nvim = begin_acp()
    options = [{"optionId": "x", "name": "Al\0low\nit", "kind": "allow_once"}]
    call = {"title": "rm\0 -rf\n /", "rawInput": {"command": "a\0b", "url": "u\0v"}, "locations": [{"path": "/a\0b"}]}
    say(nvim, permission(options=options, **call))
    nvim.wait_screen("rm^@ -rf")
    nvim.wait_kind("question")
    nvim.keys("y", counts=True)
    nvim.wait(lambda: answers(nvim) == [{"outcome": {"outcome": "selected", "optionId": "x"}}], what="the answer")
    wait_idle(nvim)
    schema = {"type": "object", "properties": {"a\0b": {"type": "string", "title": "t\0u", "description": "d\0e"}}}
    say(nvim, request("elicitation/create", mode="form", message="m\0n", requestedSchema=schema))
    nvim.wait_screen("m^@n")
    nvim.keys("n")
    nvim.wait(lambda: answers(nvim)[-1] == {"action": "decline"}, what="the answer")


def test_sessions_of_any_name_are_listed(start_nvim, tmp_path):
    titles = ["two\nlines", "nul \0 here", None]
    sessions = [{"sessionId": f"s{at}", "cwd": "/", "title": title} for at, title in enumerate(titles)]
    setup = {
        "capabilities": {"loadSession": True, "sessionCapabilities": {"list": {}}},
        "sessions": [*sessions, {"sessionId": "", "cwd": "/"}],
    }
    nvim = acp_steps.begin(start_nvim, tmp_path, setup=setup, args="--resume")
    for line in ("1  A new session", "2  two lines", "3  nul ^@ here", "4  s2"):
        nvim.wait_screen(line)
    assert "│5 " not in "\n".join(nvim.screen())
    nvim.keys("3<CR>", counts=True)
    wait_idle(nvim)
    assert acp_steps.read(tmp_path, "session/load")[0]["sessionId"] == "s1"


def test_a_plan_is_not_said_to_run_between_turns(begin_acp):
    nvim = begin_acp()
    entries = [{"content": "go out", "priority": "high", "status": status} for status in ("completed", "pending")]
    said = shown(nvim, update("plan", entries=entries))
    assert "Plan 1 of 2 done" in said and "running" not in said
