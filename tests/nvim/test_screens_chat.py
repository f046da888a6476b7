"""A chat on screen, as snapshots in `screens/`. See tests/README.md. Its agent is scripted, its clock stands still."""

import json
import sys

import pytest
from acp_steps import AGENT as AGENT_OF_ACP
from acp_steps import update
from chat_steps import start_with_stand_in, wait_answer, wait_asked, wait_diff, wait_text
from test_screens import CODE, OPTIONS, screen  # noqa: F401 (a fixture)

from harness import scripted_cli, snapshot
from harness.scripted_model import Reply

AGENT = """
def stream(kind, *pieces, index=0, **block):
    event(type="content_block_start", index=index, content_block=dict(block, type=kind))
    for piece in pieces:
        event(type="content_block_delta", index=index, delta=dict(type="text_delta", text=piece))

def begins(message):
    event(type="message_start", message=dict(id=message, model="claude-test-1"))

def has_said(message, *blocks):
    usage = dict(input_tokens=2100, output_tokens=30)
    write(type="assistant", message=dict(id=message, model="claude-test-1", content=blocks, usage=usage))

def calls(message, call, tool, input, result):
    has_said(message, dict(type="tool_use", id=call, name=tool, input=input))
    write(type="user", message=dict(role="user", content=[dict(type="tool_result", tool_use_id=call, content=result)]))

def turn():
    begins("one")
    text = "I look at what **calc.lua** has."
    stream("text", text[:9], text[9:], text="")
    has_said("one", dict(type="text", text=text))
    calls("one", "read", "Read", dict(file_path=os.path.realpath("calc.lua")), "local M = {}")
    calls("two", "bash", "Bash", dict(command="grep -c function calc.lua"), "3")
    begins("three")
    text = "It has three functions:\\n\\n- `M.add` adds two numbers\\n- `M.name` says what it is\\n"
    stream("text", *text.splitlines(keepends=True), text="")
    sys.stdout.flush()
    while not os.path.exists("go-on"):
        time.sleep(0.02)
    more = "- `M.old` does nothing\\n"
    has_said("three", dict(type="text", text=text + more))
    over()

def asks(tool, input, **more):
    begins("ask")
    has_said("ask", dict(type="tool_use", id="call", name=tool, input=input))
    ask(tool, input, "call", **more)

ASKS = {
    "Count its functions.": lambda: asks("Bash",
        dict(command="grep -c function calc.lua", description="Counts the functions"),
        permission_suggestions=[dict(type="addRules", behavior="allow", destination="localSettings",
            rules=[dict(toolName="Bash", ruleContent="grep:*")])]),
    "Name it.": lambda: asks("AskUserQuestion", dict(questions=[
        dict(question="What is it to be called?", header="Name", multiSelect=False, options=[
            dict(label="calculator", description="as it says of itself"),
            dict(label="sums", description="it is short, and it is what the module does most of the time")]),
        dict(question="Which functions are to stay?", header="Stay", multiSelect=True, options=[
            dict(label="M.add", description="adds"), dict(label="M.old", description="does nothing")])])),
    "Plan it.": lambda: asks("ExitPlanMode", dict(plan=(
        "# Take out `M.old`\\n\\n1. Look for callers.\\n2. Take it out.\\n\\n```lua\\nM.old()\\n```"))),
}

for prompt in prompts():
    if prompt["type"] == "user":
        ASKS.get(words(prompt), turn)()
"""

STILL = """
vim.uv.gettimeofday = function() return 1767603840, 0 end
vim.o.laststatus = 3 -- the name of a chat's buffer is another one each time
"""


@pytest.fixture
def begun(start_nvim, tmp_path):
    """A Neovim with a chat in which something was said."""
    agent = scripted_cli.program(tmp_path / "agent", AGENT)

    def begun(*words, **opts):
        nvim = start_nvim(
            args=["calc.lua"],
            files={"calc.lua": CODE},
            opts={"terminal": {"command": [str(agent)], "size": 60}, "chat": {"prompt_height": 3}, **opts},
            env={"TZ": "UTC"},
            init_lua=OPTIONS + STILL + snapshot.colour_scheme(),
        )
        nvim.lua("vim.cmd.Claude({ args = { 'chat', ... } })", *words)
        return nvim

    return begun


@pytest.fixture
def nvim(begun):
    """A chat whose answer is half there."""
    nvim = begun("What does this file offer?")
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
    wait_answer(nvim, "`M.old`")
    screen("chat_answered").check(nvim, "A chat whose turn is over: calls are folded, the prompt is empty.")


def test_a_tool_that_needs_a_permission(begun, screen):  # noqa: F811
    nvim = begun("Count its functions.")
    wait_asked(nvim, "grep -c function")
    screen("chat_permission").check(nvim, "A chat whose agent asks whether it may run a command.")


def test_a_question_with_choices(begun, screen):  # noqa: F811
    nvim = begun("Name it.")
    wait_asked(nvim, "What is it to be called?")
    screen("chat_question").check(nvim, "A chat whose agent asks two questions, the first one with one choice.")


def test_a_plan_to_be_approved(begun, screen):  # noqa: F811
    nvim = begun("Plan it.")
    nvim.wait_screen("Look for callers")
    screen("chat_plan").check(nvim, "A plan that is to be approved, changed or sent back.")


def test_another_agent_with_a_call_and_a_plan(begun, screen):  # noqa: F811
    call = {"toolCallId": "c1", "title": "Search callers of M.old", "kind": "search"}
    found = [{"type": "content", "content": {"type": "text", "text": "none"}}]
    steps = {"Look for callers": "completed", "Take M.old out": "in_progress", "Run the tests": "pending"}
    turn = [
        "SAY I look who calls **M.old**.",
        update("tool_call", **call, status="in_progress"),
        update("tool_call_update", toolCallId="c1", status="completed", content=found),
        update("plan", entries=[dict(content=what, priority="high", status=status) for what, status in steps.items()]),
        update("usage_update", used=30_000, size=200_000, cost={"amount": 0.25, "currency": "USD"}),
        "SAY Nobody does.",
    ]
    modes = {"currentModeId": "code", "availableModes": [{"id": "code", "name": "Code"}, {"id": "ask", "name": "Ask"}]}
    setup = {"turns": {"Take M.old out.": "\n".join(turn)}, "modes": modes}
    environment = {"ACP_AGENT": json.dumps(setup), "ACP_LOG": "/dev/null"}
    robot = {"cmd": [sys.executable, str(AGENT_OF_ACP)], "env": environment, "name": "Robot"}
    nvim = begun("--agent", "robot", "Take M.old out.", agents={"robot": robot})
    wait_answer(nvim, "Nobody does.")
    screen("chat_acp").check(nvim, "A chat with another agent: what it draws on, a call, its plan, its mode.")


def test_a_proposal_in_place(start_nvim, model, tmp_path, screen):  # noqa: F811
    model._model = lambda _: Reply("<replacement>\n" + PROPOSED + "</replacement>\n")
    init = OPTIONS + STILL + snapshot.colour_scheme()
    nvim = start_with_stand_in(start_nvim, model, tmp_path, files={"calc.lua": CODE}, args=["calc.lua"], init_lua=init)
    nvim.keys(":3,6Claude edit take texts too<CR>")
    wait_diff(nvim)
    screen("inline_proposal").check(nvim, "What `:Claude edit` proposes for lines 3 to 6, in place.")


PROPOSED = """-- Adds two numbers, or texts that are numbers.
function M.add(a, b)
  return tonumber(a) + tonumber(b)
end
"""
