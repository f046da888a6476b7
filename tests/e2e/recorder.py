"""Stands in for the CLI: runs the real one and records the lines of both directions in `$RECORD/in.jsonl` and
`out.jsonl`.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path


def pass_on(source, target, path: Path) -> None:
    with path.open("ab") as record:
        for line in iter(source.readline, b""):
            record.write(line)
            record.flush()
            target.write(line)
            target.flush()
    target.close()


def main() -> int:
    folder = Path(os.environ["RECORD"])
    if "--input-format" not in sys.argv:  # `--version`: no conversation
        return subprocess.call([os.environ["RECORDED"], *sys.argv[1:]])
    child = subprocess.Popen([os.environ["RECORDED"], *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ways = (sys.stdin.buffer, child.stdin, folder / "in.jsonl"), (child.stdout, sys.stdout.buffer, folder / "out.jsonl")
    threads = [threading.Thread(target=pass_on, args=way, daemon=True) for way in ways]
    for thread in threads:
        thread.start()
    code = child.wait()
    threads[1].join(5)
    return code


if __name__ == "__main__":
    os._exit(main())
