"""A transcript of 100 MB in Neovim: how soon it is there, and how long Neovim is blocked while a user moves through it."""

import json
import re
import time
from pathlib import Path

from bench.editor import HEARTBEAT, leave_ms
from harness import live_source
from harness.nvim import Nvim

SESSION = "77777777-2222-4333-8444-555555555555"
PROSE = (
    "The handler reads the **frame**, checks its length against `MAX_FRAME`, and only then decodes it. "
    "See src/frame.rs:12 for the limit.\n\n- one thing\n- another *thing*\n\n"
)
CODE = "```lua\nlocal function frame(bytes)\n  return bytes:sub(1, 4) -- the length\nend\n```\n"
OUTPUT = "".join(
    f"   Compiling crate-{number} v0.1.{number} (/home/u/project/crates/{number})\n" for number in range(40)
)
HUNK = [" fn main() {", '-    println!("one");', '+    println!("two");', " }"]


def write_large(home: Path, cwd: Path, size: int) -> Path:
    """A session like a user's: prompts, thinking, answers in Markdown, edits and commands with their output."""
    folder = home / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(cwd.resolve()))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{SESSION}.jsonl"
    turn = "".join(_turn(str(cwd)))
    with path.open("w") as file:
        written, number = 0, 0
        while written < size:
            # Ids of this turn and of the one before: "@0@".
            text = re.sub(r"@(-?\d+)@", lambda match, number=number: f"{number * 100 + int(match[1]):012d}", turn)
            if number == 0:
                text = text.replace('"parentUuid":"-00000000001"', '"parentUuid":null', 1)
            file.write(text)
            written += len(text)
            number += 1
    return path


def _turn(cwd: str):
    """The lines of a turn, with placeholders for its ids."""
    count = 0

    def line(kind: str, **more) -> str:
        nonlocal count
        base = {
            "parentUuid": f"@{count - 1 if count else -89}@",
            "isSidechain": False,
            "type": kind,
            "uuid": f"@{count}@",
        }
        base |= {"timestamp": "2026-01-05T09:00:00.000Z", "cwd": cwd, "sessionId": SESSION, "version": "2.1.329"}
        count += 1
        return json.dumps(base | more, separators=(",", ":")) + "\n"

    def reply(id: int, *blocks) -> str:
        message = {"id": f"msg_@{id}@", "role": "assistant", "model": "claude-test-1"}
        message["usage"] = {"input_tokens": 10, "output_tokens": 20}
        return "".join(line("assistant", message={**message, "content": [block]}) for block in blocks)

    def result(tool: str, content: str, outcome: dict[str, object]) -> str:
        block = {"type": "tool_result", "tool_use_id": tool, "content": content}
        return line("user", message={"role": "user", "content": [block]}, toolUseResult=outcome)

    yield line("user", message={"role": "user", "content": "Please do step @0@. " + PROSE})
    thinking = {"type": "thinking", "thinking": PROSE * 2, "signature": "c2ln"}
    yield reply(10, thinking, {"type": "text", "text": PROSE + CODE})
    edit = {"file_path": f"{cwd}/src/frame.rs", "old_string": HUNK[1][1:], "new_string": HUNK[2][1:]}
    yield reply(20, {"type": "tool_use", "id": "toolu_e@0@", "name": "Edit", "input": edit})
    patch = [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": HUNK}]
    original = 'fn main() {\n    println!("one");\n}\n' * 20
    outcome = {"filePath": edit["file_path"], "oldString": edit["old_string"], "newString": edit["new_string"]}
    yield result("toolu_e@0@", "updated", {**outcome, "originalFile": original, "structuredPatch": patch})
    for call in range(3):
        bash = {"type": "tool_use", "id": f"toolu_b{call}@0@", "name": "Bash", "input": {"command": f"make step{call}"}}
        yield reply(30 + call, bash)
        yield result(f"toolu_b{call}@0@", OUTPUT, {"stdout": OUTPUT, "stderr": "", "interrupted": False})
    while count < 11:
        yield line("attachment", attachment={"type": "hook", "content": "x" * 200})
    yield reply(40, {"type": "text", "text": "# Done\n\n" + PROSE * 3 + CODE})


class Reader:
    """A Neovim that reads the large transcript."""

    def __init__(self, directory: Path, version: str, path_of) -> None:
        self.nvim = Nvim(directory, version, opts={}, files={"a.txt": "one\n"}, args=["a.txt"])
        self.path = path_of(self.nvim.home, self.nvim.project)

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.nvim.kill()

    def open_ms(self) -> float:
        """From the command until the end of the conversation is in the buffer."""
        return self.nvim.lua(
            """
            local start, path = vim.uv.hrtime(), ...
            Ide.transcript.open({ file = path })
            assert(vim.wait(60000, function()
              local view = Ide.open_views.of_buffer(vim.api.nvim_get_current_buf())
              return view ~= nil and view.canvas.rows[view.canvas.heights:len() - 1] ~= nil
            end, 1), "no text after a minute")
            vim.cmd("redraw")
            return (vim.uv.hrtime() - start) / 1e6
            """,
            str(self.path),
            timeout=90,
        )

    def leave_ms(self) -> float:
        return leave_ms(self.nvim)

    def start_heartbeat(self) -> None:
        self.nvim.lua(HEARTBEAT)

    def wait_complete(self) -> None:
        """Waits until the whole file is indexed, and rendered near the window."""
        self.nvim.wait(
            """
            local view = Ide.open_views.of_buffer(vim.api.nvim_get_current_buf())
            return view.source:info().complete and not view.busy and not view.colouring
            """,
            timeout=120,
            what="all of the transcript",
        )

    def longest_ms(self, keys: list[str], pause: float) -> float:
        """Types keys at the rate of a held key; returns the longest freeze of Neovim."""
        self.nvim.lua("bench_longest = 0")
        for key in keys:
            self.nvim.keys(key)
            time.sleep(pause)
        self.wait_complete()
        return self.nvim.lua("return bench_longest") / 1e6


def word_us(directory: Path, version: str, lines: int) -> float:
    """The time to show one more word of a message of `lines` lines, median."""
    nvim = Nvim(directory, version, opts={})
    try:
        nvim.lua(live_source.LIVE)
        nvim.lua("live.say('reply', (...))", "\n".join(f"{number}: {PROSE[:90]}" for number in range(lines)))
        live_source.settle(nvim)
        return nvim.lua(
            """
            local times = {}
            for turn = 1, 1000 do
              local start = vim.uv.hrtime()
              live.append(turn % 12 == 0 and "word\\n" or "word ")
              times[turn] = vim.uv.hrtime() - start
            end
            table.sort(times)
            return times[#times / 2] / 1000
            """
        )
    finally:
        nvim.kill()
