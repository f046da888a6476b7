"""The Agent SDKs, Python's and TypeScript's, as a second opinion on the headless protocol: their messages to the real
CLI and our chat's have the same shapes.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import cli
from harness.nvim import ROOT

pytestmark = pytest.mark.one_nvim

WRITES = "CALL Write {} THEN SAY done"
SLEEPS = 'CALL Bash {"command": "touch begun; sleep 20"}'


def recorder(folder: Path) -> tuple[Path, dict[str, str]]:
    """A CLI that records its input, and its environment."""
    folder.mkdir()
    program = folder / "claude"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).parent / "recorder.py"}" "$@"\n')
    program.chmod(0o755)
    return program, {"RECORD": str(folder), "RECORDED": str(cli.binary())}


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def shape(value: object, but: tuple[str, ...] = ()) -> object:
    """The structure of a value without its content."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in sorted(value.items()) if key not in but}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def asked(folder: Path) -> dict[str, dict]:
    """The shape of each control request by its subtype, with how it was answered."""
    answers = {
        line["response"]["request_id"]: line["response"]
        for line in lines(folder / "out.jsonl")
        if line["type"] == "control_response"
    }
    found = {}
    for line in lines(folder / "in.jsonl"):
        if line["type"] == "control_request":
            answer = answers.get(line["request_id"], {})
            found.setdefault(
                line["request"]["subtype"], (shape(line), answer.get("subtype"), shape(answer.get("response")))
            )
    return found


def permissions(folder: Path) -> list[object]:
    """The shapes of the answers to `can_use_tool`."""
    return [
        shape(line["response"], but=("request_id",))
        for line in lines(folder / "in.jsonl")
        if line["type"] == "control_response" and "behavior" in (line["response"].get("response") or {})
    ]


def hooked(folder: Path) -> list[object]:
    """The shapes of the answers to `hook_callback`."""
    asks = [line for line in lines(folder / "out.jsonl") if line["type"] == "control_request"]
    ids = {line["request_id"] for line in asks if line["request"]["subtype"] == "hook_callback"}
    answers = [line for line in lines(folder / "in.jsonl") if line["type"] == "control_response"]
    mine = [line for line in answers if line["response"]["request_id"] in ids]
    return [shape(line["response"], but=("request_id",)) for line in mine]


NODE_MODULES = ROOT / ".deps" / "agent-sdk" / "node_modules"


def by_typescript(program: Path, env: dict[str, str], project: Path) -> None:
    writes = WRITES.format(json.dumps({"file_path": str(project / "a.txt"), "content": "x\n"}))
    script = Path(__file__).parent / "sdk_chat.mjs"
    command = ["node", str(script), str(NODE_MODULES), str(program), str(project), writes, SLEEPS]
    subprocess.run(command, env=env, check=True, timeout=120)


def by_python(program: Path, env: dict[str, str], project: Path) -> None:
    asyncio.run(asyncio.wait_for(in_python(program, env, project), 120))


async def in_python(program: Path, env: dict[str, str], project: Path) -> None:
    import claude_agent_sdk as sdk  # imported here: it takes as long as collecting half of all tests

    async def allow(_name, given, _context):
        return sdk.PermissionResultAllow(updated_input={**given, "content": "changed\n"})

    async def go_on(_given, _call, _context):
        return {}

    options = sdk.ClaudeAgentOptions(
        cli_path=str(program),
        cwd=str(project),
        env=env,
        can_use_tool=allow,
        hooks={"PreToolUse": [sdk.HookMatcher("Edit|MultiEdit|Write|NotebookEdit", [go_on], timeout=600)]},
        include_partial_messages=True,
        enable_file_checkpointing=True,
        extra_args={"replay-user-messages": None, "allow-dangerously-skip-permissions": None},
    )
    async with sdk.ClaudeSDKClient(options) as client:
        await client.query(WRITES.format(json.dumps({"file_path": str(project / "a.txt"), "content": "x\n"})))
        prompt = None
        async for message in client.receive_response():
            if isinstance(message, sdk.UserMessage) and message.uuid and not prompt:
                prompt = message.uuid
        await client.set_model("haiku")
        await client.rewind_files(prompt)
        await client.set_permission_mode("bypassPermissions")
        await client.query(SLEEPS)
        while not (project / "begun").exists():
            await asyncio.sleep(0.05)
        await client.interrupt()
        async for _ in client.receive_response():
            pass


@pytest.fixture
def theirs(mock_api, tmp_path) -> list[Path]:
    """The records of each SDK."""
    folders = []
    for drive in (by_python, by_typescript):
        project = tmp_path / drive.__name__ / "project"
        project.mkdir(parents=True)
        cli.prepare_home(tmp_path / "home", project)
        program, record = recorder(project.parent / "recorded")
        environment = {**os.environ, **cli.environment(tmp_path / "home", mock_api), **record}
        drive(program, environment, project)
        assert not (project / "a.txt").exists(), "the SDK has rewound it"
        folders.append(project.parent / "recorded")
    return folders


def test_what_we_write_has_the_shapes_of_what_the_sdks_write(start_nvim, mock_api, tmp_path, theirs):
    home, project = tmp_path / "home", tmp_path / "project"
    cli.prepare_home(home, project)
    args = ["--allow-dangerously-skip-permissions"]
    ours, record = recorder(tmp_path / "ours")
    environment = {**cli.environment(home, mock_api), **record}
    environment.pop("TERM")
    nvim = start_nvim(opts={"terminal": {"command": [str(ours), *args]}}, env=environment)
    nvim.cmd("Claude chat")
    chat = "Ide.chat.current()"
    nvim.wait(f"{chat}.state == 'idle'", what="the chat")
    arguments = json.dumps({"file_path": str(project / "a.txt"), "content": "x\n"})
    nvim.lua(f"assert(Ide.chat.say({chat}, (...)))", WRITES.format(arguments))
    nvim.wait(
        "Ide.proposal.count() == 1 and Ide.proposal.list()[1].seen",
        what="the diff",
    )
    nvim.lua("assert(Ide.proposal.accept())")
    nvim.wait(f"{chat}.state == 'idle'", what="the end of the turn")
    assert (project / "a.txt").read_text() == "x\n"

    def ask(subject, **fields):
        nvim.lua(
            f"answer = nil local subject, fields = ... {chat}:ask(subject, fields, function(result, err) answer = {{ result or true, err }} end)",
            subject,
            fields,
        )
        nvim.wait("answer ~= nil", what=f"the answer to {subject}")
        return nvim.lua("return answer")

    ask("set", setting="model", value="haiku")
    nvim.answer(1)
    nvim.lua(f"local chat = {chat} Ide.chat_rewind.to(chat, chat.store:prompts()[1])")
    nvim.wait(lambda: not (project / "a.txt").exists(), what="the file to be rewound")
    ask("set", setting="mode", value="bypassPermissions")
    nvim.lua(f"assert(Ide.chat.say({chat}, (...)))", SLEEPS)
    nvim.wait(lambda: (project / "begun").exists(), what="the tool to run")
    nvim.lua(f"{chat}:interrupt()")
    nvim.wait(f"{chat}.state == 'idle'", what="the interrupt")

    for recorded in theirs:
        compare(tmp_path / "ours", recorded)


def compare(ours: Path, theirs: Path) -> None:
    sdks, own = asked(theirs), asked(ours)
    for subtype in ("set_model", "set_permission_mode", "interrupt"):
        assert own[subtype] == sdks[subtype], subtype
    # Ours does a dry run first, marked as one; the SDK has none, or marks it as none.
    request, outcome, answer = own["rewind_files"]
    assert request["request"].pop("dry_run") == "bool"
    sdks["rewind_files"][0]["request"].pop("dry_run", None)
    assert (request, outcome) == sdks["rewind_files"][:2]
    # We send a subset of the SDK's fields; the answer has the same keys.
    request, outcome, answer = own["initialize"]
    assert request.keys() == sdks["initialize"][0].keys()
    assert request["request"].keys() <= sdks["initialize"][0]["request"].keys()
    assert request["request"]["hooks"] == sdks["initialize"][0]["request"]["hooks"]
    assert outcome == sdks["initialize"][1] == "success" and answer.keys() == sdks["initialize"][2].keys()
    assert hooked(ours) == hooked(theirs) == [{"subtype": "str", "response": {}}]
    # The SDKs differ in how they explain a decision; ours is their common part.
    assert shared(permissions(ours)[0], permissions(theirs)[0]) == permissions(ours)[0]
    said = [next(shape(line) for line in lines(of / "in.jsonl") if line["type"] == "user") for of in (ours, theirs)]
    assert said[1].keys() <= said[0].keys() and said[0].keys() - said[1].keys() <= {"uuid"}


def shared(left: object, right: object) -> object:
    """The part that two shapes share."""
    if isinstance(left, dict) and isinstance(right, dict):
        return {key: shared(left[key], right[key]) for key in left.keys() & right.keys()}
    return left if left == right else None
