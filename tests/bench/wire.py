"""The Rust client that takes the times (`crates/server/examples/bench_client.rs`)."""

import contextlib
import json
import subprocess
from collections.abc import Iterator

from harness.nvim import ROOT

BINARY = ROOT / "target" / "release" / "examples" / "bench_client"


def build() -> None:
    command = ["cargo", "build", "--release", "--quiet", "--package", "claude-ide-server", "--example", "bench_client"]
    subprocess.run(command, cwd=ROOT, check=True)


def run(*arguments: str) -> dict[str, float]:
    """Runs one measurement and returns its figures."""
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"bench_client {arguments[0]} failed:\n{done.stderr}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def large_diff(*arguments: str) -> Iterator[dict[str, float]]:
    """Opens a diff and yields the figures; the diff stays open inside the `with`."""
    with subprocess.Popen(
        [BINARY, "diff", *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        yield json.loads(client.stdout.readline())
        client.stdin.close()
