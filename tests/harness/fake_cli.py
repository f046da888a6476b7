"""A stand-in for the CLI in Neovim's terminal: a script that records how it was started and every byte it reads."""

import json
import os
import stat
import sys
import zipfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

CLI = """#!{python}
import json, os, signal, sys, tty  # few: each costs every test that starts it

os.makedirs({folder!r}, exist_ok=True)
started = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "pid": os.getpid()}}
started |= {{"tools": None, "settings": None}}
mod = None
for argument in sys.argv[1:]:
    if argument.startswith("--mcp-config=/"):
        started["argv"].remove(argument)
        started["tools"] = open(argument.removeprefix("--mcp-config=")).read()
    if argument.startswith("--settings=/"):
        started["argv"].remove(argument)
        started["settings_file"] = argument.removeprefix("--settings=")
        started["settings"] = open(started["settings_file"]).read()
    if argument.startswith("--plugin-dir=/") and argument.endswith(".zip"):
        started["argv"].remove(argument)
        mod = open(argument.removeprefix("--plugin-dir="), "rb").read()
if os.isatty(0):
    tty.setraw(0)  # what was typed before is lost
number, typed = 0, None
while not typed:  # another one may start at the same time
    try:
        typed = open(os.path.join({folder!r}, f"{{number}}.typed"), "xb", buffering=0)
    except FileExistsError:
        number += 1


def report_size(*_):
    size = os.get_terminal_size(1)
    os.write(1, b"size %dx%d\\r\\n" % (size.columns, size.lines))


signal.signal(signal.SIGWINCH, report_size)
if mod:
    with open(os.path.join({folder!r}, f"{{number}}.mod"), "wb") as file:
        file.write(mod)
partial = os.path.join({folder!r}, f"{{number}}.tmp")
with open(partial, "w") as file:
    json.dump(started, file)
os.rename(partial, os.path.join({folder!r}, f"{{number}}.json"))  # from now on it takes keys
if not os.isatty(0):  # `--bg`, `stop`
    refusal = os.path.join({folder!r}, "refusal")
    sys.exit(open(refusal).read() if os.path.exists(refusal) else 0)
if mod and os.environ.get("FAKE_CLI_MOD"):
    import threading
    from pathlib import Path

    sys.path.insert(0, {tests!r})
    from harness.fake_cli import with_mod
    from harness.mod import Mod

    files = [Path({folder!r}, name) for name in (f"{{number}}.orders", "answers")]
    start = with_mod(started, Path({folder!r}, f"{{number}}.mod"))
    threading.Thread(target=Mod(start).serve, args=files, daemon=True).start()
os.write(1, b"\\x1b[?2004hfake CLI ready\\r\\n")
while True:
    data = os.read(0, 65536)
    typed.write(data)
    if data in (b"Q", b"\x04"):
        sys.exit(0)
    if data in (b"E", b"\x05"):
        os.write(1, b"something is wrong\\r\\n")
        sys.exit(3)
    if data == b"\x07":
        import subprocess

        subprocess.run([os.environ["EDITOR"], os.path.join({folder!r}, f"{{number}}.prompt")])
    if data == b"L":
        os.write(1, b"".join(b"line %d\\r\\n" % i for i in range(200)))
    if data == b"S":
        report_size()
"""


def with_mod(start: dict[str, object], archive: Path) -> dict[str, object]:
    """What is known of a start, with the texts of the mod that it was given."""
    if not archive.exists():
        return {**start, "mod": None}
    with zipfile.ZipFile(archive) as mod:
        return {**start, "mod": {name: mod.read(name).decode() for name in mod.namelist()}}


class FakeCli:
    """The program, to be first on the PATH of a Neovim."""

    def __init__(self, directory: Path) -> None:
        self.folder = directory / "cli"
        self.bin = directory / "bin"
        self.bin.mkdir()
        program = self.bin / "claude"
        program.write_text(CLI.format(python=sys.executable, folder=str(self.folder), tests=str(TESTS)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def environment(self, *, mod: bool = False) -> dict[str, str]:
        """The PATH that contains it; `mod`: with our mod inside, which takes orders."""
        return {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", **({"FAKE_CLI_MOD": "1"} if mod else {})}

    def starts(self) -> list[dict]:
        """Its starts. The arguments with the editor's tools, hooks and mod are in `tools` and `settings`, as text, and in `mod`, as texts
        by file; not in `argv`."""
        found = sorted(self.folder.glob("*.json"), key=lambda path: int(path.stem))
        return [with_mod(json.loads(path.read_text()), path.with_suffix(".mod")) for path in found]

    def typed(self, number: int = 0) -> bytes:
        """The bytes it read."""
        path = self.folder / f"{number}.typed"
        return path.read_bytes() if path.exists() else b""

    def orders(self, number: int = 0) -> list[tuple[str, str]]:
        """What its mod was ordered."""
        path = self.folder / f"{number}.orders"
        lines = map(json.loads, path.read_text().splitlines() if path.exists() else [])
        return [(order["op"], order["text"]) for order in lines]

    def answer_orders(self, **answers: object) -> None:
        """Has its mod answer orders of a kind with `[is_done, text]`, or not at all ("silent")."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "answers").write_text(json.dumps(answers))

    def refuse(self, words: str) -> None:
        """Lets starts without a terminal fail with these words."""
        (self.folder / "refusal").write_text(words)

    def show(self, text: str, number: int = 0) -> None:
        """Draws text on its terminal."""
        with open(f"/proc/{self.starts()[number]['pid']}/fd/1", "wb", buffering=0) as terminal:
            terminal.write(text.encode())

    def show_prompt(self, draft: str = "", number: int = 0) -> None:
        """Draws the prompt, which holds a draft."""
        line = "─" * 20
        self.show(f"\x1b[2J\x1b[H\r\n{line}\r\n❯ {draft}\r\n{line}\r\n  manual mode on\r\n", number)
