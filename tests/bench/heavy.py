"""What a heavy user feels: a large repository, a diff of thousands of changes, one line of megabytes, tens of thousands
of diagnostics, thousands of sessions. Blocked time is CPU time of the main thread (`chat.CLOCK`).
"""

import math
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from nvim.session_files import Sessions

from bench import chat, diffs
from bench.editor import Editor
from bench.journal import COUNT_CHECKPOINTS, large_repository
from harness.client import Client

FILES = 75_000
HUNKS = 5_000
LINE_BYTES = 5_000_000
DIAGNOSTICS = 50_000
DIFFS, DIFF_BYTES, MOST_MIB = 6, 10_000_000, 200
SESSIONS = 5_000
HITS = 1_000

# CPU time to feed a key and draw, median. With `is_told` it includes the selection_changed that follows.
_KEYS = """
local keys, count, is_told = ...
local told, times = 0, {}
Ide.bus.on("selection_changed", function() told = told + 1 end)
for turn = 1, count do
  local began = bench_cpu()
  vim.api.nvim_feedkeys(keys, "xt", false)
  vim.api.nvim_exec_autocmds("CursorMoved", {})
  vim.cmd.redraw()
  assert(not is_told or vim.wait(10000, function() return told >= turn end, 10), "nobody was told of the cursor")
  times[turn] = bench_cpu() - began
end
table.sort(times)
return times[math.ceil(count / 2)]
"""

_DIAGNOSTICS = """
local count = ...
local namespace, found = vim.api.nvim_create_namespace("bench"), {}
for at = 1, count do
  found[at] = { lnum = at - 1, col = 0, message = "an error of line " .. at, severity = 1 }
end
vim.diagnostic.set(namespace, 0, found)
local diagnostics, buf, least = Ide.diagnostics, vim.api.nvim_get_current_buf(), math.huge
for _ = 1, 10 do
  local began = bench_cpu()
  vim.diagnostic.get(buf)
  local between = bench_cpu()
  diagnostics.of_buffer(buf)
  least = math.min(least, bench_cpu() - between - (between - began))
end
return math.max(0, least)
"""

_CHOOSE = """
local command, count = ...
local shown
vim.ui.select = function(items) shown = #items end
bench_longest = 0
vim.cmd(command)
assert(vim.wait(30000, function()
  return (shown or #vim.fn.getqflist()) >= count
end, 5), "nothing was listed")
return bench_longest
"""


def first_checkpoint_ms(directory: Path, version: str) -> tuple[float, float]:
    """From the begin of a session's first turn until its changes can be told, in a repository that was never looked at; and how
    long `:qa` waits there.
    """
    large_repository(directory / "project", FILES)
    with Editor(directory, version) as nvim, nvim.connected() as client:
        nvim.lua(COUNT_CHECKPOINTS)
        began = time.perf_counter()
        client.call("closeAllDiffTabs")
        nvim.wait("bench_taken == 1", 120)
        return (time.perf_counter() - began) * 1000, nvim.leave_ms()


def many_hunks(version: str) -> tuple[float, float]:
    """Work until a diff of thousands of changes is shown, and the share of them that are marked."""
    old, new = diffs.texts(HUNKS)
    with diffs.Neovim(version, "vertical", {"long.txt": old}) as nvim:
        opened = nvim.lua(diffs.PROPOSE, str(nvim.project / "long.txt"), new, timeout=60)
        nvim.wait_screen(f"+{HUNKS} −{HUNKS}")
        return opened, nvim.lua(diffs.STEPS, HUNKS, timeout=60)


def long_line_ms(directory: Path, version: str) -> float:
    """Work for a cursor key in one line of megabytes, beyond what it is without the plugin."""
    with Editor(directory, version, files={"a.json": "[" + "12345678, " * (LINE_BYTES // 10) + "0]\n"}) as nvim:
        nvim.lua("vim.o.wrap = false")
        nvim.edit("a.json")
        with nvim.connected():
            nvim.lua(chat.CLOCK + "vim.fn.cursor(1, 2000000)")
            nvim.settle()
            ours = nvim.lua(_KEYS, "l", 20, True)
            nvim.lua("Ide.selection.disable()")
            return max(0.0, ours - nvim.lua(_KEYS, "l", 20, False))


def diagnostics_ms(directory: Path, version: str) -> float:
    """Work for a message of a file's diagnostics, beyond Neovim's for a copy of them."""
    with Editor(directory, version, files={"a.txt": "a line\n" * DIAGNOSTICS}) as nvim:
        nvim.edit("a.txt")
        nvim.lua(chat.CLOCK)
        return nvim.lua(_DIAGNOSTICS, DIAGNOSTICS)


def memory_after_diffs_mib(directory: Path, version: str) -> float:
    """What stays of large diffs that are over."""
    line = "let answer = 41;\n"
    old = line * (DIFF_BYTES // len(line))
    with Editor(directory, version, files={"a.txt": old}) as nvim, nvim.connected() as client:
        nvim.settle()
        before = nvim.private_kib()
        path = nvim.path("a.txt")
        for number in range(DIFFS):
            new = old.replace("41", "42", 1000 + number)
            client.start_call(
                "openDiff", old_file_path=path, new_file_path=path, new_file_contents=new, tab_name=f"{number}"
            )
            nvim.wait_for_diff()
            client.call("closeAllDiffTabs")
            nvim.settle()
        began, left = time.monotonic(), math.inf
        while left > MOST_MIB and time.monotonic() < began + 10:  # it is given back after five seconds
            time.sleep(0.1)
            left = (nvim.private_kib() - before) / 1024
        return left


def initialize_ms(directory: Path, version: str) -> float:
    with Editor(directory, version) as nvim:
        times = []
        for _ in range(20):
            client = Client(int(nvim.port), nvim.token)
            began = time.perf_counter()
            client.initialize()
            times.append((time.perf_counter() - began) * 1000)
            client.close()
        return sorted(times)[len(times) // 2]


def lists_ms(directory: Path, version: str) -> tuple[float, float, float]:
    """The longest freeze of `:Claude sessions` and of `:Claude grep`, and the kilobytes of a page's first list."""
    home = Sessions(directory / "home")
    try:
        with Editor(directory, version, start=False, opts={"web": {"port": 0}}) as nvim:
            project = Path(nvim.path("."))
            for number in range(SESSIONS):
                said = "a needle" if number < HITS else "nothing"
                home.write(project, (f"prompt {number}", said), title=f"Session {number} of many")
            nvim.lua(chat.CLOCK + chat.HEARTBEAT)
            nvim.settle()
            chosen = min(nvim.lua(_CHOOSE, "Claude sessions", SESSIONS) for _ in range(3))
            found = min(nvim.lua(_CHOOSE, "Claude grep needle", HITS) for _ in range(3))
            site = nvim.lua("return assert(Ide.web.start())")
            headers = {"Authorization": f"Bearer {site['token']}", "Accept-Encoding": "deflate"}
            address = f"http://127.0.0.1:{site['port']}/api/claude/sessions"
            with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
                return chosen, found, len(answer.read()) / 1000
    finally:
        home.close()


def measure(directory: Path, version: str, runs: int) -> Iterator[tuple[str, float, float, str]]:
    """Rows: name, figure, limit, unit."""

    def each(name: str, what) -> list:
        places = [directory / f"{name}{run}" for run in range(runs)]
        for place in places:
            place.mkdir()
        return [what(place, version) for place in places]

    ready, left = (min(figures) for figures in zip(*each("checkpoint", first_checkpoint_ms), strict=True))
    yield f"{FILES:,}-file checkpoint, the first one: ready after", ready, 1000, "ms"
    yield "leaving Neovim there waits", left, 50, "ms"
    shown, step = (min(figures) for figures in zip(*(many_hunks(version) for _ in range(runs)), strict=True))
    yield f"diff of 50,000 lines, {HUNKS:,} changes", shown, 400, "ms"
    yield "the same: to the next change, p95", step, 16, "ms"
    yield f"a cursor key in one line of {LINE_BYTES // 1_000_000} MB", min(each("line", long_line_ms)), 1, "ms"
    yield (
        f"a message of {DIAGNOSTICS:,} diagnostics, beyond their copy",
        min(each("diagnostics", diagnostics_ms)),
        16,
        "ms",
    )
    yield f"memory after {DIFFS} diffs of 10 MB", min(each("memory", memory_after_diffs_mib)), MOST_MIB, "MiB"
    yield "initialize, p50", min(each("initialize", initialize_ms)), 2, "ms"
    chosen, found, kilobytes = (min(figures) for figures in zip(*each("lists", lists_ms), strict=True))
    yield f"`:Claude sessions` with {SESSIONS:,}: longest freeze", chosen, 50, "ms"
    yield f"`:Claude grep` with {HITS:,} hits: longest freeze", found, 50, "ms"
    yield f"a page's first list of {SESSIONS:,} sessions", kilobytes, 500, "kB"
