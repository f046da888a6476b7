"""Diffs of a long file: the main loop's work until one is on the screen, and per step from change to change."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.client import Client
from harness.nvim import Nvim

LAYOUTS = ("vertical", "horizontal", "unified")
LINES, HUNKS = 50_000, 500

# The main loop works between two polls for events; during a poll it waits.
CLOCK = """
local uv, clock = vim.uv, { idle = 0 }
local prepare, check, since = uv.new_prepare(), uv.new_check(), uv.hrtime()
prepare:start(function() since = uv.hrtime() end)
check:start(function() clock.idle = clock.idle + uv.hrtime() - since end)
local began = uv.hrtime()
function clock.stop()
  vim.cmd.redraw()
  local worked = (uv.hrtime() - began - clock.idle) / 1e6
  prepare:stop()
  check:stop()
  return worked
end
"""

PROPOSE = f"""
local path, contents = ...
{CLOCK}
local shown
vim.api.nvim_create_autocmd("User", {{ pattern = "ClaudeDiffOpened", once = true, callback = function() shown = true end }})
Ide.claude_client.open_diff.run(
  {{ old_file_path = path, new_file_path = path, new_file_contents = contents, tab_name = "long" }},
  function() end,
  {{ id = 1, client = 1, name = "open_diff", at = 0 }}
)
assert(vim.wait(20000, function() return shown end, 1))
return clock.stop()
"""

# Starts at the first change; each step is drawn.
STEPS = """
local times = {}
local jump = assert(vim.fn.maparg("]c", "n", false, true).callback)
for turn = 1, 100 do
  local began = vim.uv.hrtime()
  jump()
  vim.api.nvim_exec_autocmds("CursorMoved", {})
  vim.cmd.redraw()
  times[turn] = (vim.uv.hrtime() - began) / 1e6
end
local every = 50000 / ...
assert(vim.fn.line(".") == math.floor(every * 100.5), vim.fn.line("."))
table.sort(times)
return times[95]
"""


def texts(hunks: int = HUNKS) -> tuple[str, str]:
    """A long file, and Claude's version of it."""
    old = [f"line {number} of a long file, with some text in it" for number in range(1, LINES + 1)]
    every = LINES // hunks
    new = [line.replace("some", "other") if at % every == every // 2 - 1 else line for at, line in enumerate(old)]
    return "\n".join(old) + "\n", "\n".join(new) + "\n"


def proposal(version: str, layout: str) -> tuple[float, float]:
    """Milliseconds until a proposed edit is on the screen, and for a step to the next change."""
    old, new = texts()
    with Neovim(version, layout, {"long.txt": old}) as nvim:
        opened = nvim.lua(PROPOSE, str(nvim.project / "long.txt"), new, timeout=60)
        return opened, nvim.lua(STEPS, HUNKS, timeout=60)


_REVIEW = """
local began = vim.uv.hrtime()
Ide.review.open()
vim.cmd.redraw()
local took = (vim.uv.hrtime() - began) / 1e6
assert(vim.fn.line(".") == 50, vim.fn.line("."))
return took
"""


def review(version: str, layout: str) -> tuple[float, float]:
    """The same for a review of a turn's changes."""
    old, new = texts()
    with Neovim(version, layout, {"long.txt": old}) as nvim:
        path = nvim.project / "long.txt"
        nvim.cmd("edit long.txt")
        nvim.lua('assert(require("claude-ide").connect())')
        lock = nvim.locks()[0]
        client = Client(lock["port"], lock["authToken"], roots=[nvim.project])
        try:
            client.initialize()
            nvim.wait("#Ide.server.clients() > 0", what="Neovim to know of the client")
            client.call("closeAllDiffTabs")
            client.call("getDiagnostics", uri=f"file://{path}")
            path.write_text(new)
            client.call("getDiagnostics")
            nvim.wait("#Ide.review.changes() == 1", what="the journal to know of the change")
            nvim.wait("vim.fn.getline(50):find('other')", what="the buffer to follow the disk")
            return nvim.lua(_REVIEW, timeout=60), nvim.lua(STEPS, HUNKS, timeout=60)
        finally:
            client.close()


class Neovim:
    def __init__(self, version: str, layout: str, files: dict[str, str]) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="bench-diff-")
        opts = {"diff": {"layout": layout}}
        self._nvim = Nvim(Path(self._directory.name), version, opts=opts, files=files)

    def __enter__(self) -> Nvim:
        return self._nvim

    def __exit__(self, *_: object) -> None:
        self._nvim.kill()
        self._directory.cleanup()


def measure(version: str, runs: int) -> Iterator[tuple[str, float, float]]:
    """Rows: name, best of the runs in milliseconds, target."""
    for name, what in (("diff", proposal), ("review", review)):
        for layout in LAYOUTS:
            found = [what(version, layout) for _ in range(runs)]
            yield f"{name} of 50,000 lines, 500 changes, {layout}", min(opened for opened, _ in found), 100
            yield f"{name}, {layout}: to the next change, p95", min(step for _, step in found), 5
