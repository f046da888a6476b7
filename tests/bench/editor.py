"""The measured Neovim, and measurements inside it."""

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from harness.client import Client
from harness.nvim import ROOT, Nvim, binary

HEARTBEAT = """
local timer, last = vim.uv.new_timer(), vim.uv.hrtime()
bench_longest = 0
timer:start(0, 1, function()
  local now = vim.uv.hrtime()
  bench_longest = math.max(bench_longest, now - last)
  last = now
end)
"""

# The cursor moves each time, so that the handler has work. The median, since Lua collects garbage now and then.
CURSOR_MOVED = """
local handlers = vim.tbl_filter(function(autocmd)
  return (autocmd.group_name or ""):find("^claude%-ide")
end, vim.api.nvim_get_autocmds({ event = "CursorMoved" }))
assert(#handlers > 0, "nothing follows the cursor")
local times = {}
for turn = 1, 20000 do
  vim.api.nvim_win_set_cursor(0, { turn, turn % 20 })
  local start = vim.uv.hrtime()
  for _, autocmd in ipairs(handlers) do
    autocmd.callback({ buf = 1, event = "CursorMoved", id = autocmd.id, file = "", match = "" })
  end
  times[turn] = vim.uv.hrtime() - start
end
table.sort(times)
return times[#times / 2] / 1000
"""

# The slices follow each other within 20 ms: 100 ms with less than 1 ms of work are the end.
READ_AHEAD = """
local start = os.clock()
local worked, since = start, vim.uv.hrtime()
Ide.library_update.keep()
assert(vim.wait(30000, function()
  if os.clock() - worked > 0.001 then
    worked, since = os.clock(), vim.uv.hrtime()
  end
  return vim.uv.hrtime() - since > 100e6
end, 10), "Neovim is not idle")
return (worked - start) * 1000
"""


class Editor:
    """A Neovim in a terminal with the server running."""

    def __init__(
        self,
        directory: Path,
        version: str,
        *,
        files: dict[str, str] | None = None,
        start: bool = True,
        env: dict[str, str] | None = None,
        opts: dict[str, object] | None = None,
    ) -> None:
        self._nvim = Nvim(directory, version, opts=opts or {}, files=files, env=env)
        self._busy_until = 0.0
        if start:
            self._nvim.lua('assert(require("claude-ide").connect())')

    def __enter__(self) -> "Editor":
        return self

    def __exit__(self, *_: object) -> None:
        self._nvim.kill()

    @property
    def port(self) -> str:
        return str(self._nvim.lua("return Ide.server.info().port"))

    @property
    def token(self) -> str:
        return self._nvim.locks()[0]["authToken"]

    @property
    def pid(self) -> int:
        return self._nvim.server_pid

    def path(self, name: str) -> str:
        return str(self._nvim.project / name)

    def json(self, value: object) -> str:
        return json.dumps(value)

    def lua(self, code: str, *args: object) -> object:
        return self._nvim.lua(code, *args, timeout=60)

    def wait(self, condition: str, timeout: float) -> None:
        self._nvim.wait(condition, timeout)

    def edit(self, name: str) -> None:
        self._nvim.cmd(f"edit {name}")

    @contextlib.contextmanager
    def connected(self) -> Iterator[Client]:
        """One listening client, like a CLI; without one, nothing is followed or sent."""
        client = Client(int(self.port), self.token, roots=[self._nvim.project])
        try:
            client.initialize()
            self._nvim.wait("#Ide.server.clients() > 0", what="Neovim to know of the client")
            yield client
        finally:
            client.close()

    def busy_for(self, milliseconds: int) -> None:
        """Keeps Lua running on the main loop; returns once that has begun."""
        self._nvim.lua(
            """
            local length = ... * 1000 * 1000
            bench_busy = nil
            vim.schedule(function()
              local start = vim.uv.hrtime()
              while vim.uv.hrtime() - start < length do end
              bench_busy = (vim.uv.hrtime() - start) / 1e6
            end)
            """,
            milliseconds,
        )
        self._busy_until = time.monotonic() + milliseconds / 1000

    def was_busy(self) -> bool:
        """Whether it was busy until now."""
        return time.monotonic() <= self._busy_until + 0.05 and self._nvim.wait("bench_busy ~= nil") is True

    def start_heartbeat(self) -> None:
        """Records from now on how long the main loop is blocked."""
        self._nvim.lua(HEARTBEAT)
        self.settle()
        self._nvim.lua("bench_longest = 0")

    def settle(self) -> None:
        """Waits until Neovim has done and drawn everything asked of it."""
        for _ in range(50):
            self._nvim.lua("vim.wait(10)")

    def wait_for_diff(self) -> None:
        """Waits until a diff is complete and drawn."""
        shown = """
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          if (vim.b[vim.api.nvim_win_get_buf(win)].claude_ide or {}).kind == "proposal" then
            return true
          end
        end
        return false
        """
        self._nvim.wait(shown, timeout=30, what="the diff to be shown")
        self.settle()

    def leave_ms(self) -> float:
        return leave_ms(self._nvim)

    def wake_ups(self, seconds: float) -> int:
        """How often a thread slept and was woken. 0 outside Linux."""

        def slept() -> dict[Path, int]:
            files = Path(f"/proc/{self._nvim.server_pid}/task").glob("*/status")
            return {file: int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", file.read_text())[1]) for file in files}

        before = slept()
        time.sleep(seconds)
        return sum(times - before.get(thread, 0) for thread, times in slept().items())

    def answer_at_once(self) -> None:
        """From now on one line of Lua answers every call."""
        self._nvim.lua("""
          local native = Ide.native
          Ide.library_wake.on({ "call" }, function(event)
            native.respond(event.id, '{"success":true,"filePath":"a.txt","isDirty":false,"isUntitled":false}')
          end)
        """)

    def longest_freeze_ms(self) -> float:
        return self._nvim.lua("return bench_longest") / 1e6

    def cursor_moved_us(self) -> float:
        return self._nvim.lua(CURSOR_MOVED, timeout=60)

    def selection_freeze_ms(self) -> float:
        """Selects the whole buffer with and without the plugin's tracking, and compares the longest freezes."""

        def select() -> float:
            self._nvim.keys("<Esc>gg0")
            self._nvim.wait("vim.fn.line('.') == 1 and vim.fn.mode() == 'n'")
            self.settle()
            self._nvim.lua("bench_longest = 0")
            self._nvim.keys("VG")
            self._nvim.wait("vim.fn.line('.') == 200000 and vim.fn.mode() == 'V'")
            self.settle()
            return self.longest_freeze_ms()

        self.start_heartbeat()
        with_plugin = min(select() for _ in range(5))
        self._nvim.lua("Ide.selection.disable()")
        without = min(select() for _ in range(5))
        return max(0.0, with_plugin - without)

    def time_connect_ms(self) -> float:
        return self._nvim.lua(
            """
            local start = vim.uv.hrtime()
            vim.cmd("silent ClaudeConnect")
            return (vim.uv.hrtime() - start) / 1e6
            """
        )

    def private_kib(self) -> int:
        return self._nvim.private_kib()

    def read_ahead_ms(self) -> float:
        """Processor time until all modules are cached, and nothing of that is left to do."""
        used = self._nvim.lua(READ_AHEAD)
        self.wait_until_all_is_kept()
        return used

    def wait_until_all_is_kept(self) -> None:
        """Waits until all modules are in memory (`update.lua` keeps them for an update while Neovim runs)."""
        self._nvim.modules_are_cached()


def leave_ms(nvim: Nvim) -> float:
    """From `:qa!` until only Neovim itself is left to end."""
    took = nvim.project / "left"
    nvim.lua(
        """
        local path, began = ..., nil
        vim.api.nvim_create_autocmd("ExitPre", { callback = function() began = vim.uv.hrtime() end })
        vim.api.nvim_create_autocmd("VimLeave", {
          callback = function() vim.fn.writefile({ tostring((vim.uv.hrtime() - began) / 1e6) }, path) end,
        })
        """,
        str(took),
    )
    nvim.leave()
    return float(took.read_text())


def plugin_startup_ms(directory: Path, version: str) -> float:
    """Neovim's own figure for sourcing plugin/."""
    report = directory / "startuptime"
    report.unlink(missing_ok=True)
    command = [
        binary(version),
        "--headless",
        "--clean",
        "--startuptime",
        report,
        "-u",
        ROOT / "tests" / "minimal_init.lua",
    ]
    subprocess.run(
        [*command, "+qa!"], check=True, capture_output=True, env={"HOME": str(directory), "PATH": "/usr/bin:/bin"}
    )
    lines = [line for line in report.read_text().splitlines() if "plugin/claude-ide.lua" in line]
    assert len(lines) == 1, f"plugin/claude-ide.lua was sourced {len(lines)} times"
    # "<clock>  <self+sourced>  <self>: sourcing <file>"
    return float(lines[0].split()[1])


def library_bytes() -> int:
    return next(path for path in (ROOT / "build").iterdir() if path.suffix in {".so", ".dylib"}).stat().st_size
