"""A round trip of code to a kernel, and jupyter_client's own share of it."""

import statistics
import subprocess
import time
from pathlib import Path

from harness.nvim import ROOT

from .editor import Editor

ENVIRONMENT = ROOT / ".deps" / "venv"
TURNS = 200

_OWN = f"""
import statistics, time
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel()
times = []
for _ in range({TURNS}):
    began = time.perf_counter()
    client.execute_interactive("1+1", output_hook=lambda message: None, allow_stdin=False)
    times.append(time.perf_counter() - began)
manager.shutdown_kernel(now=True)
print(statistics.median(times) * 1000)
"""


def own_ms() -> float:
    """`1+1` with jupyter_client alone, p50."""
    python = ENVIRONMENT / "bin" / "python"
    return float(subprocess.run([python, "-c", _OWN], capture_output=True, text=True, check=True, timeout=120).stdout)


def round_trip_ms(directory: Path, version: str) -> float:
    """`1+1` with executeCode, from a client of the server and back, p50."""
    with (
        Editor(directory, version, opts={"notebook": {}}, env={"VIRTUAL_ENV": str(ENVIRONMENT)}) as nvim,
        nvim.connected() as client,
    ):
        client.call("executeCode", code="1+1", timeout=120)
        times = []
        for _ in range(TURNS):
            began = time.perf_counter()
            assert client.call("executeCode", code="1+1") == ["2\n"]
            times.append(time.perf_counter() - began)
        return statistics.median(times) * 1000
