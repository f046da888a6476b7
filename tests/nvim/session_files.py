"""The CLI's files, made for tests: transcripts of sessions, and records of running ones.

The shapes are those of CLI 2.1.329. A record needs a live process: `sleeper()` is one.
"""

import json
import os
import re
import subprocess
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path


class Sessions:
    """Claude's configuration folder in a home."""

    def __init__(self, home: Path) -> None:
        self.config = home / ".claude"
        self.processes: list[subprocess.Popen] = []

    def folder(self, cwd: Path) -> Path:
        """The folder of a project's transcripts."""
        folder = self.config / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(cwd.resolve()))
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write(self, cwd: Path, *turns, title=None, branch="main", id=None, age=timedelta(hours=2), tokens=0) -> str:
        """A session of prompts and answers: each turn is a pair, the answer a text or a list of content blocks.

        A list of blocks may hold tool_use blocks; a third part of the turn is the results, by tool id: a text, or one
        with what the CLI records beside it. The last answer was given with `tokens` of input.
        """
        session = id or str(uuid.uuid4())
        lines, parent = [], None
        written_at = datetime.now(UTC) - age - timedelta(seconds=5)
        clock = written_at - timedelta(minutes=5)

        def line(kind, **more):
            nonlocal parent, clock
            own = str(uuid.uuid4())
            clock += timedelta(seconds=1)
            lines.append(
                {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "type": kind,
                    "uuid": own,
                    "timestamp": clock.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                    "cwd": str(cwd.resolve()),
                    "sessionId": session,
                    "gitBranch": branch,
                    "version": "2.1.329",
                    **more,
                }
            )
            parent = own

        for prompt, answer, *results in turns:
            line("user", message={"role": "user", "content": prompt})
            content = [{"type": "text", "text": answer}] if isinstance(answer, str) else answer
            for block in content:
                message = {"id": f"msg_{len(lines)}", "role": "assistant", "model": "claude-test-1", "content": [block]}
                usage = {"output_tokens": 1} | ({"input_tokens": tokens} if tokens else {})
                line("assistant", message=message | {"stop_reason": "end_turn", "usage": usage})
            for tool, came in (results[0] if results else {}).items():
                text, record = came if isinstance(came, tuple) else (came, None)
                result = {"type": "tool_result", "tool_use_id": tool, "content": text}
                beside = {"toolUseResult": record} if record else {}
                line("user", message={"role": "user", "content": [result]}, **beside)
        if title:
            lines.append({"type": "custom-title", "customTitle": title, "sessionId": session})
        path = self.path(cwd, session)
        written = "".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n" for entry in lines)
        path.write_text(written)
        os.utime(path, (written_at.timestamp(), written_at.timestamp()))
        return session

    def ask(self, cwd: Path, session: str, prompt: str, *, queued: bool = False) -> None:
        """Appends a prompt, as the CLI does a moment after its record says that the session works; or one for after its turn."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"type": "user", "message": {"role": "user", "content": prompt}}
        if queued:
            line = {"type": "queue-operation", "operation": "enqueue", "content": prompt}
        self.append(cwd, session, {**line, "timestamp": now})

    def append(self, cwd: Path, session: str, *lines) -> None:
        with self.path(cwd, session).open("a") as file:
            file.writelines(json.dumps({**line, "sessionId": session}) + "\n" for line in lines)

    def reply(self, cwd: Path, session: str, text: str) -> None:
        """Appends an answer that ends the turn."""
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.append(cwd, session, {"type": "assistant", "message": message, "timestamp": now})

    def path(self, cwd: Path, session: str) -> Path:
        return self.folder(cwd) / f"{session}.jsonl"

    def sleeper(self) -> int:
        """The id of a process that lives until `close`."""
        process = subprocess.Popen(["sleep", "600"])
        self.processes.append(process)
        return process.pid

    def record(self, pid: int, session: str, status: str = "idle", cwd="/", **more) -> None:
        """A running CLI's record, written like the CLI in one piece."""
        folder = self.config / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        now = int(datetime.now(UTC).timestamp() * 1000)
        record = {"pid": pid, "sessionId": session, "cwd": str(cwd), "kind": "interactive", "status": status}
        record |= {"version": "2.1.329", "startedAt": now, "statusUpdatedAt": now, **more}
        scratch = folder / f".{pid}.tmp"
        scratch.write_text(json.dumps(record))
        scratch.rename(folder / f"{pid}.json")

    def forget(self, pid: int) -> None:
        (self.config / "sessions" / f"{pid}.json").unlink(missing_ok=True)

    def end(self, pid: int) -> None:
        """Ends a process that `sleeper` started, and its record."""
        process = next(one for one in self.processes if one.pid == pid)
        process.kill()
        process.wait()
        self.forget(pid)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
