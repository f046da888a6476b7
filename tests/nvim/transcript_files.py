"""Transcripts in the CLI's format, made line by line for tests. Shapes of CLI 2.1.329, with a fixed clock."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

MODEL = "claude-test-1"


class Transcript:
    """A transcript that grows: each method writes its lines to the file at once."""

    def __init__(self, home: Path, cwd: Path, id: str = "11111111-2222-4333-8444-555555555555") -> None:
        self.id = id
        self.cwd = cwd
        folder = home / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(cwd.resolve()))
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{id}.jsonl"
        self._at(self.path)

    def _at(self, path: Path) -> None:
        self.file = path
        self.parent: str | None = None
        self.number = 0
        self.clock = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
        self.extra: dict[str, object] = {}
        self.prefix = ""

    def line(self, kind: str, parent: str | None = "", **more) -> str:
        """Writes a line; `parent` is the line before unless said otherwise."""
        self.number += 1
        own = f"{self.prefix}00000000-0000-4000-8000-{self.number:012d}"
        entry = {
            "parentUuid": self.parent if parent == "" else parent,
            "isSidechain": False,
            "type": kind,
            "uuid": own,
            "timestamp": self.clock.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
            "cwd": str(self.cwd),
            "sessionId": self.id,
            "version": "2.1.329",
            **self.extra,
            **more,
        }
        with self.file.open("a") as file:
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
        self.parent = own
        return own

    def raw(self, text: str) -> None:
        with self.file.open("a") as file:
            file.write(text)

    def wait(self, seconds: float) -> None:
        """Advances the transcript's clock."""
        self.clock += timedelta(seconds=seconds)

    def prompt(self, content, **more) -> str:
        self.wait(60)
        return self.line("user", message={"role": "user", "content": content}, **more)

    def reply(self, *blocks, usage=None) -> str:
        """A reply of texts and blocks; returns the id of its last line."""
        self.wait(2)
        message = {"id": f"{self.prefix}msg_{self.number}", "role": "assistant", "model": MODEL}
        message["usage"] = usage or {"input_tokens": 1200, "output_tokens": 80, "cache_read_input_tokens": 30000}
        for block in blocks:
            content = {"type": "text", "text": block} if isinstance(block, str) else block
            self.line("assistant", message={**message, "content": [content]})
        return self.parent

    def call(self, name: str, **arguments) -> dict[str, object]:
        """A block that calls a tool."""
        self.calls = getattr(self, "calls", 0) + 1
        return {"type": "tool_use", "id": f"toolu_{self.prefix}{self.calls}", "name": name, "input": arguments}

    def result(self, call, content, seconds: float = 0.3, is_error=False, outcome=None, denied=False) -> str:
        self.wait(seconds)
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": content}
        if is_error:
            block["is_error"] = True
        more = {} if outcome is None else {"toolUseResult": outcome}
        if denied:
            more = {"toolUseResult": "User rejected tool use", "toolDenialKind": "user-rejected"}
        return self.line("user", message={"role": "user", "content": [block]}, **more)

    def run(self, name: str, content, seconds: float = 0.3, is_error=False, outcome=None, **arguments):
        """A reply with one call, and its result."""
        call = self.call(name, **arguments)
        self.reply(call)
        self.result(call, content, seconds, is_error, outcome)
        return call

    def edit(self, path: Path, before: str, after: str, original: str, hunk) -> dict[str, object]:
        """A completed Edit. `hunk` is (old_start, new_start, lines)."""
        old_start, new_start, lines = hunk
        outcome = {
            "filePath": str(path),
            "oldString": before,
            "newString": after,
            "originalFile": original,
            "userModified": False,
            "replaceAll": False,
            "structuredPatch": [
                {
                    "oldStart": old_start,
                    "oldLines": sum(line[0] != "+" for line in lines),
                    "newStart": new_start,
                    "newLines": sum(line[0] != "-" for line in lines),
                    "lines": lines,
                }
            ],
        }
        return self.run(
            "Edit",
            f"The file {path} has been updated.",
            outcome=outcome,
            file_path=str(path),
            old_string=before,
            new_string=after,
        )

    def agent(self, call, kind="Explore", description="look around", id="a1") -> "Transcript":
        """The transcript of a subagent that a call started."""
        folder = self.path.with_suffix("") / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        meta = {"agentType": kind, "description": description, "toolUseId": call["id"]}
        (folder / f"agent-{id}.meta.json").write_text(json.dumps(meta))
        agent = object.__new__(Transcript)
        agent.id, agent.cwd, agent.path = self.id, self.cwd, self.path
        agent._at(folder / f"agent-{id}.jsonl")
        agent.prefix = f"{id}-"
        agent.extra = {"isSidechain": True, "agentId": id}
        return agent

    def title(self, title: str) -> None:
        self.raw(json.dumps({"type": "custom-title", "customTitle": title, "sessionId": self.id}) + "\n")


def conversation(home: Path, cwd: Path) -> Transcript:
    """One of everything that a transcript may hold."""
    script = Transcript(home, cwd)
    script.title("Fix the parser")
    script.prompt("Fix the off-by-one in the parser, then run the tests.")
    script.reply(
        {"type": "thinking", "thinking": "The loop goes one too far.\nI should look at it first.", "signature": "c2ln"},
        "I'll look at the **parser** first. It is `parse()` in `src/parser.lua`:\n\n"
        "```lua\nlocal function parse(n)\n  return n + 1 -- one too many\nend\n```",
    )
    source = "".join(f"line {number}\n" for number in range(1, 10)) + "for i = 0, n do\nend\n"
    script.run(
        "Read",
        "".join(f"{number:6}→line {number}\n" for number in range(1, 31)),
        0.1,
        file_path=str(cwd / "src/parser.lua"),
        offset=10,
        limit=31,
    )
    script.edit(
        cwd / "src/parser.lua",
        "for i = 0, n do",
        "for i = 0, n - 1 do",
        source,
        (9, 9, [" line 9", "-for i = 0, n do", "+for i = 0, n - 1 do", " end"]),
    )
    output = "\x1b[32mok\x1b[0m 1 parser\n\x1b[31mnot ok\x1b[0m 2 printer\n1 of 2 failed"
    script.run("Bash", output, 12.4, is_error=True, command="make test", description="Run the tests")
    script.run("Bash", "ok", 131, command="for i in 1 2; do\n  make test\ndone")
    script.reply(
        "Done: the loop ends one earlier. One test of the *printer* still fails:\n\n- it never passed\n- it is yours"
    )
    script.prompt("What else is there? Ask somebody.")
    agent = script.call(
        "Agent",
        description="look around",
        prompt="Look around in the project.",
        subagent_type="Explore",
    )
    script.reply("I'll ask.", agent)
    nested = script.agent(agent)
    nested.prompt("Look around in the project.")
    nested.run("Grep", "src/a.lua\nsrc/b.lua", 0.2, pattern="TODO", path="src")
    nested.reply("Two files have a **TODO**.")
    script.result(agent, [{"type": "text", "text": "Two files have a TODO."}], 41)
    script.reply("Two files have a TODO, see src/parser.lua:3.")
    return script
