"""Scripts that stand in for the CLI behind a chat: what each of them would begin with."""

import sys
from pathlib import Path

_BEGINS = """#!{python} -SE
import json, os, sys, time

def write(**line):
    sys.stdout.write(json.dumps(line) + "\\n")

def event(**event):
    write(type="stream_event", event=event, parent_tool_use_id=None)

def said(*content, id="m", model="mock", tokens=5):
    write(type="assistant", message=dict(id=id, model=model, content=content, usage=dict(input_tokens=tokens)))

def ask(tool, input, id="ask", **more):
    ask = dict(subtype="can_use_tool", tool_name=tool, input=input, tool_use_id=id)
    write(type="control_request", request_id=id, request=dict(ask, **more))

def over():
    write(type="result", subtype="success", is_error=False, terminal_reason="completed")

def prompts(mode=None, unsaid=lambda: None):
    # The prompts, each of which begins a turn, and the answers; where Neovim asks for something, that is answered here. `unsaid` is
    # done before a turn is said to have begun.
    starts = dict(current_permission_mode=mode) if mode else {{}}
    for line in sys.stdin:
        prompt = json.loads(line)
        if prompt["type"] == "control_request":
            changes = prompt["request"]["subtype"] == "set_permission_mode"
            answer = dict(mode=mode) if changes else dict(commands=[], models=[], **starts)
            response = dict(subtype="success", request_id=prompt["request_id"], response=answer)
            write(type="control_response", response=response)
        else:
            if prompt["type"] == "user":
                unsaid()
                write(type="command_lifecycle", command_uuid=prompt["uuid"], state="started")
            yield prompt
        sys.stdout.flush()

def words(prompt):
    return prompt["message"]["content"][-1]["text"]
"""


def program(path: Path, script: str, **values: object) -> Path:
    """Writes a program that is this script, with these names in it."""
    names = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    path.write_text("\n".join((_BEGINS.format(python=sys.executable), names, script)))
    path.chmod(0o755)
    return path
