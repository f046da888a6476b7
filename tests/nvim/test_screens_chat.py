"""What a person sees of a chat, as snapshots in `screens/`. See tests/README.md. Its agent is a script, its clock stands still."""

import sys

import pytest
from chat_steps import begin, wait_idle, wait_text
from test_screens import CODE, OPTIONS, screen  # noqa: F401 (a fixture)

from harness import snapshot

AGENT = """#!{python}
import json, pathlib, sys, time

def write(**line):
    sys.stdout.write(json.dumps(line) + "\\n")
    sys.stdout.flush()

def stream(kind, *pieces, index=0, **block):
    write(type="stream_event", parent_tool_use_id=None, event=dict(
        type="content_block_start", index=index, content_block=dict(block, type=kind)))
    for piece in pieces:
        write(type="stream_event", parent_tool_use_id=None, event=dict(
            type="content_block_delta", index=index, delta=dict(type="text_delta", text=piece)))

def begins(message):
    write(type="stream_event", parent_tool_use_id=None, event=dict(
        type="message_start", message=dict(id=message, model="claude-test-1")))

def said(message, *blocks):
    write(type="assistant", message=dict(
        id=message, model="claude-test-1", content=blocks, usage=dict(input_tokens=2100, output_tokens=30)))

def result(call, text):
    write(type="user", message=dict(role="user", content=[dict(type="tool_result", tool_use_id=call, content=text)]))

def turn():
    begins("one")
    text = "I look at what **calc.lua** has."
    stream("text", text[:9], text[9:], text="")
    call = dict(type="tool_use", id="read", name="Read", input=dict(file_path=str(pathlib.Path("calc.lua").resolve())))
    said("one", dict(type="text", text=text))
    said("one", call)
    result("read", "local M = {{}}")
    call = dict(type="tool_use", id="bash", name="Bash", input=dict(command="grep -c function calc.lua"))
    said("two", call)
    result("bash", "3")
    begins("three")
    text = "It has three functions:\\n\\n- `M.add` adds two numbers\\n- `M.name` says what it is\\n"
    stream("text", *text.splitlines(keepends=True), text="")
    while not pathlib.Path("go-on").exists():
        time.sleep(0.02)
    more = "- `M.old` does nothing\\n"
    said("three", dict(type="text", text=text + more))
    write(type="result", subtype="success", is_error=False, terminal_reason="completed")

for line in sys.stdin:
    said_to_it = json.loads(line)
    if said_to_it["type"] == "control_request" and said_to_it["request"]["subtype"] == "initialize":
        write(type="control_response", response=dict(
            subtype="success", request_id=said_to_it["request_id"], response=dict(commands=[], models=[])))
    elif said_to_it["type"] == "user":
        write(type="command_lifecycle", command_uuid=said_to_it["uuid"], state="started")
        turn()
"""

STILL = """
vim.uv.gettimeofday = function() return 1767603840, 0 end
vim.o.laststatus = 3 -- the name of a chat's buffer is another one each time
"""


@pytest.fixture
def nvim(start_nvim, tmp_path):
    """A chat whose answer is half there."""
    agent = tmp_path / "agent"
    agent.write_text(AGENT.format(python=sys.executable))
    agent.chmod(0o755)
    nvim = start_nvim(
        args=["calc.lua"],
        files={"calc.lua": CODE},
        opts={"terminal": {"command": [str(agent)], "size": 60}, "chat": {"prompt_height": 3}},
        env={"TZ": "UTC"},
        init_lua=OPTIONS + STILL + snapshot.colour_scheme(),
    )
    begin(nvim, "What does this file offer?")
    wait_text(nvim, "`M.name`")
    return nvim


def test_a_prompt_waits_while_an_answer_comes_and_another_is_written(nvim, screen):  # noqa: F811
    nvim.keys("iTake M.old out.<Esc><CR>")
    nvim.wait_screen("next: Take M.old out.")
    nvim.keys("iAnd a test of `M.add`,<CR>please.<Esc>")
    nvim.wait_screen("please.")
    screen("chat_queue").check(
        nvim, "A chat: an answer on its way, a prompt that waits, another that is being written."
    )


def test_an_answer_that_is_complete(nvim, screen):  # noqa: F811
    (nvim.project / "go-on").touch()
    wait_text(nvim, "`M.old`")
    wait_idle(nvim)
    screen("chat_answered").check(nvim, "A chat whose turn is over: calls are folded, the prompt is empty.")
