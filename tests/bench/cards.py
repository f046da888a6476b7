"""What a CLI asks by its hooks: how soon the card is on the screen, and how soon it is gone."""

import json
import time
from pathlib import Path

from harness.client import Client

from .editor import Editor

# Notes when a card came to the screen, and when it left. The clock is Python's `time.monotonic_ns`.
_WATCH = """
bench_card = {}
local function shown()
  return vim.iter(vim.api.nvim_list_wins()):any(function(win)
    return (vim.b[vim.api.nvim_win_get_buf(win)].claude_ide or {}).kind == "question"
  end)
end
local was = false
vim.uv.new_timer():start(0, 1, vim.schedule_wrap(function()
  local is = shown()
  if is ~= was then
    was = is
    vim.cmd.redraw()
    table.insert(bench_card, vim.uv.hrtime())
  end
end))
"""
ASKS = 20


def _noted(nvim: Editor, number: int) -> int:
    nvim.wait(f"#bench_card == {number}", timeout=30)
    return int(nvim.lua("return bench_card[#bench_card]"))


def milliseconds(directory: Path, version: str) -> tuple[float, float]:
    """The 95th percentiles of both, of commands that are asked for and then withdrawn."""
    shown, gone = [], []
    with Editor(directory, version, files={"a.txt": "one\n"}) as nvim:
        nvim.edit("a.txt")
        nvim.lua(_WATCH)
        with nvim.connected() as client:
            for number in range(ASKS):
                nvim.settle()
                began = time.monotonic_ns()
                call = _ask(client, number)
                shown.append((_noted(nvim, 2 * number + 1) - began) / 1e6)
                began = time.monotonic_ns()
                client.notify("notifications/cancelled", {"requestId": call})
                gone.append((_noted(nvim, 2 * number + 2) - began) / 1e6)
    worst = ASKS * 95 // 100 - 1
    return sorted(shown)[worst], sorted(gone)[worst]


def _ask(client: Client, number: int) -> int:
    command = {"command": f"echo {number}", "description": "say it"}
    return client.start_call(
        "hook_permission", tool="Bash", input=json.dumps(command), suggestions="[]", agent="", agent_type="", wait="60"
    )


ANSWERED_BY_RUST = (
    ("ping", {}),
    ("tools/list", {}),
    ("resources/list", {}),
    ("prompts/list", {}),
    ("tools/call", {"name": "getCurrentSelection", "arguments": {}}),
    ("tools/call", {"name": "getLatestSelection", "arguments": {}}),
    ("tools/call", {"name": "hook_display", "arguments": {"session": "s", "message": "m", "index": "0", "delta": "x"}}),
    (
        "tools/call",
        {"name": "hook_permission", "arguments": {"tool": "Bash", "input": "{}", "agent": "a", "wait": "0"}},
    ),
)


def while_busy_ms(directory: Path, version: str) -> float:
    """Calls that need no editor, while Lua blocks the main loop for two seconds: the 99th percentile of all."""
    with Editor(directory, version, files={"a.txt": "one\n"}) as nvim:
        nvim.edit("a.txt")
        with nvim.connected() as client:
            nvim.settle()
            nvim.busy_for(2000)
            times, until = [], time.monotonic() + 1.8
            while time.monotonic() < until:
                for method, params in ANSWERED_BY_RUST:
                    began = time.monotonic()
                    client.request(method, params)
                    times.append((time.monotonic() - began) * 1000)
            assert nvim.was_busy(), "Neovim was not busy while the calls ran"
            return sorted(times)[len(times) * 99 // 100]
