"""The demo: the real CLI beside Neovim in a sample project, and a change that waits for review.

With a terminal a user drives it. Without one it drives itself through a terminal of its own: it accepts one change,
rejects one, prints what happened and the resulting files, and fails if anything is not as it should be.
"""

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from harness import cli
from harness.mock_api import MockApi
from harness.terminal import MARKER, Terminal, marked_processes
from model import CHANGES, PROMPT, DemoModel

HERE = Path(__file__).resolve().parent


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nvim", type=Path, required=True, help="the Neovim to use")
    options.add_argument("--claude", type=Path, required=True, help="the CLI to use")
    options.add_argument("--live", action="store_true", help="the user's own home, login and model")
    chosen = options.parse_args()

    # Resolved: the CLI knows its folder by its real path.
    folder = Path(tempfile.mkdtemp(prefix="claude-ide-demo-")).resolve()
    project, connected = folder / "greet", folder / "connected"
    shutil.copytree(HERE / "project", project)
    api = MockApi(DemoModel(project, connected))
    try:
        environment = neovim_environment(folder, chosen.claude, None if chosen.live else api, project)
        environment |= {
            "CLAUDE_IDE_ROOT": str(HERE.parent),
            "CLAUDE_IDE_DEMO_COMMAND": json.dumps([str(chosen.claude), "--permission-mode", "default"]),
            "CLAUDE_IDE_DEMO_CONNECTED": str(connected),
            "CLAUDE_IDE_DEMO_PROMPT": PROMPT,
        }
        command = [
            str(chosen.nvim),
            "-u",
            str(HERE / "init.lua"),
            "-i",
            "NONE",
            "greet.py",
        ]
        if sys.stdin.isatty() and sys.stdout.isatty():
            marker = os.environ.get(MARKER) or uuid.uuid4().hex
            code = subprocess.call(command, cwd=project, env=environment | {MARKER: marker})
            show_changes(project)
            wait_for_the_end(marker)
            return code
        if chosen.live:
            sys.exit("LIVE=1 needs a terminal: a user has to decide")
        return drive(
            Terminal(command, env=environment, cwd=project, rows=24, columns=140),
            project,
        )
    finally:
        api.close()
        shutil.rmtree(folder, ignore_errors=True)


def neovim_environment(folder: Path, claude: Path, api: MockApi | None, project: Path) -> dict[str, str]:
    """Neovim without the user's configuration; with a mocked model, also with a home of its own."""
    own = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    if api is None:
        return os.environ | own
    home = folder / "home"
    cli.prepare_home(home, project)
    return cli.environment(home, api, claude) | own | {"TERM": os.environ.get("TERM") or "xterm-256color"}


def wait_for_the_end(marker: str) -> None:
    """The CLI writes its settings when its terminal is gone already, and would make the folder anew."""
    last = time.monotonic() + 5
    while marked_processes(marker) - {os.getpid()} and time.monotonic() < last:
        time.sleep(0.02)


def drive(terminal: Terminal, project: Path) -> int:
    """Does what the screen says: accepts the first change, rejects the second, and checks the files."""
    accepted, rejected = CHANGES
    before = {change: (project / change.file).read_text() for change in CHANGES}
    try:
        print(f"1. Neovim opened a sample project, Claude runs beside it and was asked: {PROMPT}")
        wait_for_diff(terminal, accepted.new)
        print(f"2. A change of {accepted.file} waits for review:\n{terminal.framed()}")
        if (project / accepted.file).read_text() != before[accepted]:
            return fail(terminal, f"{accepted.file} was written before the change was accepted")

        terminal.keys("ZZ")
        wanted = before[accepted].replace(accepted.old, accepted.new)
        terminal.wait(
            lambda: (project / accepted.file).read_text() == wanted,
            what=f"{accepted.file} to be written",
        )
        print(f"3. Pressed ZZ: accepted, and Claude wrote {accepted.file}")

        wait_for_diff(terminal, rejected.new)
        print(f"4. A change of {rejected.file} waits for review")
        terminal.keys("ZQ")
        terminal.wait_screen("Last change: rejected")
        terminal.wait_screen("Rejected update to")
        if (project / rejected.file).read_text() != before[rejected]:
            return fail(
                terminal,
                f"{rejected.file} was written although the change was rejected",
            )
        print(f"5. Pressed ZQ: rejected, and {rejected.file} is as it was")

        terminal.keys("<C-\\><C-n>:qall!<CR>")
        if code := terminal.wait_exit():
            return fail(terminal, f"Neovim ended with exit code {code}")
        print("6. Left Neovim. The files now:")
    except AssertionError as error:
        return fail(terminal, str(error))
    finally:
        terminal.kill()
    show_changes(project)
    print("demo: passed")
    return 0


def wait_for_diff(terminal: Terminal, line: str) -> None:
    terminal.wait_screen("A change waits for you")
    terminal.wait_screen(line)
    terminal.wait_quiet(0.5)  # nobody decides sooner: keys that come at once are taken for the diff before


def fail(terminal: Terminal, message: str) -> int:
    print(f"demo: FAILED: {message}", file=sys.stderr)
    if "┌" not in message:
        print(terminal.framed(), file=sys.stderr)
    return 1


def show_changes(project: Path) -> None:
    """Prints each file of the sample project, and how it differs from what it was."""
    for original in sorted((HERE / "project").iterdir()):
        old = original.read_text().splitlines(keepends=True)
        new = (project / original.name).read_text().splitlines(keepends=True)
        changes = list(difflib.unified_diff(old, new, "before", "after", n=0))[2:]
        print(f"\n--- {original.name}: {'changed' if changes else 'as it was'}")
        print("".join(changes or new), end="")
    print()


if __name__ == "__main__":
    sys.exit(main())
