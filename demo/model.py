"""The model of the demo: a script that proposes two changes and knows which of them are still missing."""

import time
from dataclasses import dataclass
from pathlib import Path

from harness.scripted_model import Reply

PROMPT = "Make the greeting friendlier and mention it in the README."


@dataclass(frozen=True)
class Change:
    """One edit that the model proposes."""

    file: str
    old: str
    new: str


CHANGES = (
    Change(
        "greet.py",
        'print("hello " + name)',
        'print(f"Hello, {name}! Nice to see you.")',
    ),
    Change("README.txt", "greet: says hello.", "greet: says hello, and means it."),
)


class DemoModel:
    """Answers each prompt by reading the files and proposing, one after another, the changes that they lack."""

    def __init__(self, project: Path, connected: Path) -> None:
        self._project = project
        self._connected = connected

    def __call__(self, messages: list[dict[str, object]]) -> Reply:
        self._wait_for_neovim()
        missing = [change for change in CHANGES if change.old in (self._project / change.file).read_text()]
        done = _calls_since_prompt(messages)
        if not missing:
            return Reply("Both changes are in. I am only a script; try `make demo LIVE=1` for the real model.")
        if not done:
            calls = [("Read", {"file_path": str(self._project / change.file)}) for change in missing]
            return Reply("I'll look at the files first.", calls)
        proposed = {call["input"]["file_path"] for call in done if call["name"] == "Edit"}
        for change in missing:
            path = str(self._project / change.file)
            if path not in proposed:
                edit = {
                    "file_path": path,
                    "old_string": change.old,
                    "new_string": change.new,
                }
                return Reply(calls=[("Edit", edit)])
        return Reply("That is all I have. Ask me again for what you rejected.")

    def _wait_for_neovim(self) -> None:
        deadline = time.monotonic() + 15
        while not self._connected.exists() and time.monotonic() < deadline:
            time.sleep(0.02)


def _calls_since_prompt(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    """The tool calls of this turn: those after the last message that a user typed."""
    calls: list[dict[str, object]] = []
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        if message["role"] == "assistant":
            calls += [block for block in blocks if block.get("type") == "tool_use"]
        elif message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks):
            calls = []
    return calls
