"""Sessions on a page: how fast they reach readers (`crates/web/examples/web_reader.rs`), what that costs Neovim, and
what it costs while nothing is served.
"""

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench import sessions
from bench.editor import Editor
from harness.nvim import ROOT

BINARY = ROOT / "target" / "release" / "examples" / "web_reader"
LARGE, SHARED = 100_000_000, 25_000_000
READERS = 64
LISTENING = "0A"


class Site:
    """What a Neovim serves."""

    def __init__(self, nvim: Editor) -> None:
        info = nvim.lua("return assert(Ide.web.start())")
        self._start = [BINARY, f"127.0.0.1:{info['port']}", info["token"]]

    def read(self, session: str, *what: object) -> dict[str, float]:
        command = [*self._start, session, *map(str, what)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError(f"web_reader {what} failed:\n{done.stderr}")
        return json.loads(done.stdout)


def build() -> None:
    command = ["cargo", "build", "--release", "--quiet", "--package", "claude-ide-web", "--example", "web_reader"]
    subprocess.run(command, cwd=ROOT, check=True)


def bytes_read(pid: int) -> int:
    """Bytes that a process has read from files, not sockets. 0 outside Linux."""
    counters = Path(f"/proc/{pid}/io")
    return int(re.search(r"rchar: (\d+)", counters.read_text())[1]) if counters.exists() else 0


def threads(pid: int) -> int:
    """Threads of a process. 0 outside Linux."""
    return len(list(Path(f"/proc/{pid}/task").glob("*")))


def ports(pid: int) -> int:
    """Ports that a process listens on. 0 outside Linux."""
    process = Path(f"/proc/{pid}")
    if not process.exists():
        return 0
    table = "".join((process / "net" / name).read_text() for name in ("tcp", "tcp6"))
    rows = [row.split() for row in table.splitlines()]
    listening = {f"socket:[{row[9]}]" for row in rows if len(row) > 9 and row[3] == LISTENING}
    # A socket can be open twice: the server's is kept bound by a second one while no server runs.
    return len(listening & {str(file.readlink()) for file in (process / "fd").iterdir()})


def lines_of(file: Path) -> int:
    with file.open("rb") as transcript:
        return sum(1 for _ in transcript)


def measure(directory: Path, version: str, runs: int) -> Iterator[tuple[str, float, float, str, str]]:
    """Rows: name, figure, limit, unit, note; a negative limit is a minimum."""
    build()
    with Editor(directory, version, opts={"web": {"port": 0}}) as nvim:
        nvim.settle()
        yield "sessions are not served: ports beside the server's", ports(nvim.pid) - 1, 0, "", ""

        folder = directory / "home" / ".claude" / "projects" / "elsewhere"
        folder.mkdir(parents=True)
        project = Path(nvim.path("."))
        large = sessions.write(folder / "large.jsonl", project, LARGE)
        shared = sessions.write(folder / "shared.jsonl", project, SHARED)
        short = sessions.write(folder / "short.jsonl", project, 100_000)
        nvim.lua("assert(Ide.sessions_transport.start())")
        nvim.settle()
        before = threads(nvim.pid) + ports(nvim.pid)
        site = Site(nvim)
        nvim.start_heartbeat()
        lines = lines_of(large)
        read = [site.read("large", "read", lines) for _ in range(runs)]
        yield "100 MB to a reader, its first line", min(run["first_ms"] for run in read), 20, "ms", ""
        yield "100 MB to a reader", max(run["mb_per_s"] for run in read), -200, "MB/s", ""
        follow = [site.read("short", "follow", short, 300) for _ in range(runs)]
        best = min(follow, key=lambda run: run["p50_ms"])
        yield "a line from its write to a reader, p50", best["p50_ms"], 5, "ms", f" (p99 {best['p99_ms']:.1f})"
        start = bytes_read(nvim.pid)
        site.read("shared", "many", lines_of(shared), READERS)
        times = (bytes_read(nvim.pid) - start) / shared.stat().st_size
        yield f"{READERS} readers of one session: its file is read", times, 1.1, "×", ""
        yield "longest freeze of Neovim meanwhile", nvim.longest_freeze_ms(), 16, "ms", ""

        nvim.lua("Ide.web.stop()")
        nvim.wait("(Ide.native.web_info()) == nil", 30)
        # Threads that read files end after ten idle seconds.
        deadline = time.monotonic() + 20
        while (left := threads(nvim.pid) + ports(nvim.pid) - before) > 0 and time.monotonic() < deadline:
            time.sleep(0.5)
        yield "served no more: threads and ports that are left", max(0, left), 0, "", ""
