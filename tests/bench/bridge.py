"""What our mod adds to the calls of the real CLI: a mod above it and one below it measure each call.

Its slowest calls are the CLI's and the machine's: with no mod between the two that measure, the slowest of 100 calls took 4 to 9 ms more
above than below, with an empty one 5 to 12 ms, with ours 5 to 15 (CLI 2.1.329, a load of 5 on two processors), five calls at once or one
by one. So an empty mod is measured beside ours.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from harness import cli as harness_cli
from harness.mock_api import MockApi
from harness.scripted_model import Reply

from . import editor

REPLIES, CALLS = 40, 5
ARCHIVE = "return Ide.terminal_mod.archive('bench')"
WATCH = """
Ide.bridge.attach()
Ide.bridge.watch(...)
"""
METER = """
const times = {}
export const register = (on) => {
  on("tool.call", async (_, event, next) => {
    const began = performance.now()
    const answer = await next(event)
    times[event.tool_use_id] = performance.now() - began
    return answer
  })
  on("turn.complete", async ($, event, next) => {
    const answer = await next(event)
    await $.fs.write(%s, JSON.stringify(times))
    return answer
  })
}
"""


EMPTY = 'export const register = (on) => on("tool.call", (_, event, next) => next(event))\n'


def added_ms(directory: Path, version: str) -> Iterator[tuple[str, float, float]]:
    """p50 and p99 of what a mod adds to a call: one that does nothing, and ours, alone and while it reports what calls did."""
    with editor.Editor(directory, version, files={"a.txt": "one\n"}) as nvim:
        _write_mod(directory / "nothing", EMPTY)
        took = sorted(_added(directory / "empty", Path(nvim.path("a.txt")), str(directory / "nothing")))
        yield "empty", took[len(took) // 2], took[len(took) * 99 // 100]
        for what in ("alone", "reporting"):
            nvim.lua(WATCH, what == "reporting")
            took = sorted(_added(directory / what, Path(nvim.path("a.txt")), str(nvim.lua(ARCHIVE))))
            yield what, took[len(took) // 2], took[len(took) * 99 // 100]


def _meter(folder: Path) -> Path:
    """A mod that measures calls; returns the file that has their times after a turn."""
    times = folder / "times.json"
    _write_mod(folder, METER % json.dumps(str(times)))
    return times


def _write_mod(folder: Path, module: str) -> None:
    for path, text in {
        ".claude-plugin/plugin.json": json.dumps({"name": folder.name, "version": "1.0.0"}),
        "hooks/hooks.json": json.dumps({"modules": ["./register.js"]}),
        "hooks/register.js": module,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _added(place: Path, file: Path, mod: str) -> Iterator[float]:
    above, below = _meter(place / "above"), _meter(place / "below")
    mods = [above.parent, mod, below.parent]  # the last one is the nearest to the CLI
    api = MockApi()
    harness_cli.prepare_home(place / "home", file.parent)
    args = [f"--plugin-dir={one}" for one in mods]
    cli = harness_cli.Cli(place / "home", file.parent, api, mode="bypassPermissions", args=args)
    try:
        cli.wait_ready()
        call = ("Read", {"file_path": str(file)})
        api.script(*[Reply(calls=[call] * CALLS)] * REPLIES, Reply(text="all read"))
        cli.prompt("read")
        # The one above writes after the one below has.
        cli.terminal.wait(lambda: above.exists() and above.read_text().endswith("}"), 120, "the end of the turn")
        whole, core = (json.loads(path.read_text()) for path in (above, below))
        assert len(whole) == REPLIES * CALLS, len(whole)
        yield from (took - core[call] for call, took in whole.items())
    finally:
        cli.kill()
        api.close()
