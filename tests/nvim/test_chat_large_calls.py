"""A call with an argument of 10 MB blocks nothing, its display says how much is omitted, and all of it can be read."""

import hashlib
import json

import chat_steps
import main_thread
import pytest
from acp_steps import diff, permission, say, text, update, wait_answer, wait_idle, wait_text

from harness.acp_agent import big
from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

LARGE = 10_000_000
# The CLI behind a chat: a prompt is a call that it makes, or requests.
CLI = """
sys.path.insert(0, TESTS)
from harness.acp_agent import inflated

for prompt in prompts():
    if prompt["type"] == "user":
        call = inflated(json.loads(words(prompt)))
        said(dict(type="tool_use", id="c1", name=call["name"], input=call["input"]))
        if call.get("asks"):
            ask(call["name"], call["input"], "c1")
            continue
        result = dict(type="tool_result", tool_use_id="c1", content="done")
        write(type="user", message=dict(role="user", content=[result]))
        said(dict(type="text", text="and the end"), id="n")
        over()
"""


@pytest.fixture
def headless(start_nvim, tmp_path):
    def begin():
        nvim = chat_steps.start_scripted(start_nvim, tmp_path, CLI, {"TESTS": str(ROOT / "tests")})
        chat_steps.begin(nvim)
        nvim.wait("(Ide.chat.current() or {}).state == 'idle'", what="the chat")
        return nvim

    return begin


def value(shape):
    return f"BIG {LARGE} {shape}"


def call(kind, **raw_input):
    begun = update("tool_call", toolCallId="c1", title="", kind=kind, status="in_progress", rawInput=raw_input)
    return begun + "\n" + update("tool_call_update", toolCallId="c1", status="completed")


def change(path, old, new):
    content = [diff(path, old, new)]
    return update("tool_call", toolCallId="c1", title="", kind="edit", status="completed", content=content)


def held_up(nvim, words, seen):
    main_thread.watch(nvim)
    say(nvim, words)
    nvim.wait(seen if callable(seen) else lambda: seen in text(nvim), what="the call on the screen")
    return main_thread.longest(nvim)


# CPU time, yet it varies; it was once 110 to 1,400. With a card it is 55 to 68: the first one loads its modules, whatever its size.
MOST_MS = 80


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["lines", "one line"])
@pytest.mark.parametrize("what", ["command", "content", "old_string", "others", "title", "diff"])
def test_a_large_argument_of_an_acp_agent_holds_nobody_up(begin_acp, tmp_path, what, shape):
    nvim = begin_acp()
    words = {
        "command": call("execute", command=value(shape)),
        "content": call("edit", file_path="/a.txt", content=value(shape)),
        "old_string": call("edit", file_path="/a.txt", old_string=value(shape), new_string=value(shape)),
        "others": call("other", one=value(shape), two={"three": [value(shape)]}, file_path=value(shape)),
        "title": update("tool_call", toolCallId="c1", title=value(shape), kind="execute", status="completed"),
        "diff": change(tmp_path / "a.txt", value(shape), value("words") + "\n"),
    }[what]
    assert held_up(nvim, words + "\nSAY and the end", "\nand the end") < MOST_MS


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["lines", "one line"])
@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("name", ["command", "content", "old_string"])
def test_a_large_argument_of_the_cli_holds_nobody_up(headless, name, asks, shape):
    nvim = headless()
    more = {} if name == "command" else {"file_path": "a.txt"}
    words = json.dumps({"name": "Bash", "input": {name: value(shape), **more}, "asks": asks})
    is_asked = "(vim.b.claude_ide or {}).kind == 'question'"
    seen = (lambda: nvim.lua("return " + is_asked)) if asks else "\nand the end"
    assert held_up(nvim, words, seen) < MOST_MS


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["lines", "one line"])
def test_a_permission_for_a_large_command_says_what_is_left_out_and_how_it_ends(begin_acp, shape):
    nvim = begin_acp()
    command = [value(shape), "rm -rf the end"]
    main_thread.watch(nvim)
    say(nvim, permission(title="Run", kind="execute", rawInput={"command": command}))
    nvim.wait_kind("question")
    asked = nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')")
    assert " MB more, which ends:" in asked and "rm -rf the end" in asked and len(asked) < 100_000
    assert main_thread.longest(nvim) < MOST_MS


@pytest.mark.every_nvim
def test_what_is_left_out_of_a_command_is_said_and_to_be_had(begin_acp):
    nvim = begin_acp()
    say(nvim, call("execute", command="BIG 1000000 lines") + "\nSAY and the end")
    wait_answer(nvim, "\nand the end")
    note = "    … 934 kB more · Enter shows it all"
    lines = text(nvim).splitlines()
    assert note in lines and len(lines) < 1000, "what is shown is bounded"
    row = lines.index(note) + 1
    yanked = nvim.lua(
        """
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          local view = Ide.open_views.of_buffer(vim.api.nvim_win_get_buf(win))
          if view then
            vim.cmd("stopinsert")
            vim.api.nvim_set_current_win(win)
            vim.cmd("normal! zR")
            vim.api.nvim_win_set_cursor(win, { ..., 0 })
            Ide.transcript_code.yank(view)
            return vim.fn.sha256(vim.fn.getreg('"'))
          end
        end
        """,
        row,
    )
    whole = big(1_000_000)
    assert yanked == hashlib.sha256(whole.encode()).hexdigest()
    nvim.keys("<CR>")
    nvim.wait("vim.api.nvim_buf_line_count(0) == 10001", what="all of it")
    assert nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')") == whole


@pytest.mark.slow
def test_many_arguments_are_shown_up_to_a_bound(begin_acp):
    nvim = begin_acp()
    main_thread.watch(nvim)
    many = {f"name{number}": "value" * 20 for number in range(50_000)}
    todos = {"todos": [{"content": f"todo {number}", "status": "pending"} for number in range(50_000)]}
    edits = {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}] * 5000}
    for id_, kind, raw_input in (("a", "other", many), ("b", "other", todos), ("c", "edit", edits)):
        say(nvim, update("tool_call", toolCallId=id_, kind=kind, title="", status="completed", rawInput=raw_input))
        wait_idle(nvim)
    for words in ("… 49800 more arguments", "… and more", "… 4800 more edits"):
        wait_text(nvim, words)
    assert len(text(nvim).splitlines()) < 2000
