"""A model that is a script. A prompt says what it should do:

CALL Edit {"file_path": …}                  calls a tool; several CALLs go out in one reply
CALL Read {…} THEN CALL Edit {…}            the second call follows when the first has its result
SAY hello                                   answers with that text (also after the last THEN)
"""

import json
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

_CALL = re.compile(r"CALL (\w+) (?=\{)")
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>|\[Request interrupted by user[^\]]*\]", re.DOTALL)


@dataclass
class Reply:
    """The model's reply: a text, tool calls, or both; and the thinking before it. `pieces`: the text, one after the other as they come."""

    text: str = ""
    calls: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    thinking: str = ""
    pieces: Iterable[str] | None = None

    def content(self) -> list[dict[str, object]]:
        blocks = [{"type": "thinking", "thinking": self.thinking, "signature": "c2ln"}] if self.thinking else []
        blocks += [{"type": "text", "text": self.text}] if self.text or self.pieces else []
        return blocks + [
            {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": arguments}
            for name, arguments in self.calls
        ]


def scripted_by_prompt(messages: list[dict[str, object]]) -> Reply:
    """The reply requested by the last typed prompt, given how many of its steps are done."""
    steps_done = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            steps_done += any(block.get("type") == "tool_use" for block in _blocks(message))
        elif message["role"] == "user" and (prompt := _typed(message)):
            return _step(prompt, steps_done)
    return Reply("Hello from the mock.")


def _typed(message: dict[str, object]) -> str:
    """The typed text, without the CLI's additions and the results of tools."""
    text = ""
    for block in _blocks(message):
        if block.get("type") == "tool_result":
            text = ""
        elif block.get("type") == "text":
            text += _REMINDER.sub("", block["text"]) + "\n"
    return text.strip()


def _step(prompt: str, done: int) -> Reply:
    steps = [_parse_step(step) for step in re.split(r"\bTHEN\b", prompt)]
    if done < len(steps) and (steps[done].calls or steps[done].text):
        return steps[done]
    return Reply("Done." if done else "Hello from the mock.")


def _parse_step(text: str) -> Reply:
    calls = []
    decoder = json.JSONDecoder()
    for match in _CALL.finditer(text):
        calls.append((match.group(1), decoder.raw_decode(text[match.end() :])[0]))
    said = re.search(r"\bSAY (.*)", text) if not calls else None
    return Reply(said.group(1) if said else "", calls)


def _blocks(message: dict[str, object]) -> list[dict[str, object]]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
