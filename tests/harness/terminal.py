"""A program in a pseudo-terminal, with the user's view of the screen.

Owns the process, the PTY and one reader thread. The thread collects the output and answers the queries that programs
send at their start (device attributes, background colour, cursor position), so that none waits for a mute terminal.
It knows synchronized output (DEC mode 2026): a test sees the frame before or the whole next one, never a part of it.
"""

import codecs
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import pyte

from . import PATIENCE, left
from .screen import Screen, split_incomplete

MARKER = "CLAUDE_IDE_TEST_RUN"
"""An environment variable of every process begun by a test, by which leftovers are found and ended."""
_NEEDLE = f"{MARKER}=".encode()

_TAKES_TERMINAL = 'PWD=$1; shift; exec "$@" <>"$0"'
"""A session leader gets the terminal that it opens. A Python function for this would fork: a copy of everything that
the worker's tests hold, ten milliseconds per program.
"""

_QUERY = re.compile(
    r"""
    \x1b\[(?P<attributes>0?c)
  | \x1b\[(?P<status>5n)
  | \x1b\[(?P<cursor>6n)
  | \x1b\](?P<colour>1[01]);\?
  | \x1b\[\?(?P<mode>[0-9]+)\$p
""",
    re.VERBOSE,
)
_SYNCHRONIZED, _BEGIN, _END = "2026", "\x1b[?2026h", "\x1b[?2026l"
_COLOURS = {"10": "ffff/ffff/ffff", "11": "0000/0000/0000"}

_NAMED_KEYS = {
    "esc": "\x1b[27u",  # CSI u: a bare ESC would combine with the next key into an Alt chord
    "cr": "\r",
    "enter": "\r",
    "return": "\r",
    "tab": "\t",
    "s-tab": "\x1b[Z",
    "space": " ",
    "bs": "\x7f",
    "del": "\x1b[3~",
    "insert": "\x1b[2~",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "lt": "<",
    "bar": "|",
    "bslash": "\\",
    "nl": "\n",
    "nul": "\0",
}
_KEY = re.compile(r"<([^<>\s]+|[CMAS]-<)>")


def key_bytes(keys: str) -> bytes:
    """Converts Vim key notation (`<Esc>:w<CR>`, `<C-w>h`, `<M-x>`) to a terminal's bytes."""

    def translate(match: re.Match[str]) -> str:
        name = match.group(1)
        if (known := _NAMED_KEYS.get(name.lower())) is not None:
            return known
        modifiers, _, key = name.rpartition("-")
        if not modifiers or not key:
            return match.group(0)
        held = {part.upper() for part in modifiers.split("-")}
        if held == {"C"} and len(key) == 1 and (code := ord(key.upper()) ^ 0x40) < 0x20:
            return chr(code)
        point = {"cr": 13, "tab": 9, "space": 32, "esc": 27, "bs": 127, "lt": 60}.get(key.lower()) or ord(key[0])
        bits = 1 + ("S" in held) + 2 * bool(held & {"M", "A"}) + 4 * ("C" in held)
        return f"\x1b[{point};{bits}u"

    return _KEY.sub(translate, keys).encode()


class Terminal:
    """A child process in its own PTY."""

    def __init__(
        self, argv: Sequence[str | Path], *, env: dict[str, str], cwd: Path, rows: int = 40, columns: int = 140
    ) -> None:
        self.marker = uuid.uuid4().hex
        self._name = str(argv[0])
        self._screen = Screen(columns, rows)
        self._lock = threading.Lock()
        self._undrawn: list[str] = []
        self._pending = ""
        self._ended = False
        self.raw = bytearray()
        self._master, slave = pty.openpty()
        _set_size(slave, rows, columns)
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _TAKES_TERMINAL, os.ttyname(slave), env.get("PWD", str(cwd)), *map(str, argv)],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=cwd,
                env={**env, MARKER: self.marker},
                start_new_session=True,
            )
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(slave)
        self._reader = threading.Thread(target=self._read, name=f"pty-{self._process.pid}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """The exit code once the process has ended, negative for a signal; None while it runs."""
        return self._process.poll()

    def write(self, data: bytes | str) -> None:
        """Sends bytes as if typed. Bytes for a dead process are dropped."""
        view = memoryview(data.encode() if isinstance(data, str) else data)
        while view:
            try:
                view = view[os.write(self._master, view) :]
            except OSError:
                return

    def keys(self, keys: str) -> None:
        """Types keys in Vim notation."""
        self.write(key_bytes(keys))

    def paste(self, text: str) -> None:
        """Pastes text as a terminal does (bracketed)."""
        self.write(f"\x1b[200~{text}\x1b[201~")

    def resize(self, rows: int, columns: int) -> None:
        """Resizes the screen and notifies the program."""
        with self._lock:
            screen = self._drawn()
            if (screen.lines, screen.columns) == (rows, columns):
                return
            screen.resize(rows, columns)
        _set_size(self._master, rows, columns)

    def screen(self) -> list[str]:
        """The lines on the screen, without trailing blanks."""
        with self._lock:
            return self._drawn().rows()

    def text(self) -> str:
        """The screen as one text, without blank lines at its end."""
        return "\n".join(self.screen()).rstrip()

    def cells(self) -> list[list[pyte.screens.Char]]:
        """The cells with their colours, without the second halves of wide characters."""
        with self._lock:
            return self._drawn().cells()

    def screen_cursor(self) -> tuple[int, int]:
        """Row and column of the terminal's cursor, from 0."""
        with self._lock:
            cursor = self._drawn().cursor
            return cursor.y, cursor.x

    def wait(self, condition: Callable[[], object], timeout: float = PATIENCE, what: str = "") -> object:
        """Polls until `condition` holds and returns its value; raises with the screen after the timeout."""
        began = time.monotonic()
        pause = 0.002
        while True:
            if result := condition():
                return result
            if left(began, timeout) < 0:
                raise AssertionError(f"timed out after {timeout} s: {what or 'condition'}\n{self.framed()}")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def wait_screen(self, text: str | re.Pattern[str], timeout: float = PATIENCE) -> str:
        """Waits until the screen shows `text` (a string or a compiled pattern) and returns the screen."""

        def shown() -> str | None:
            screen = self.text()
            hit = text in screen if isinstance(text, str) else text.search(screen)
            return screen if hit else None

        return str(self.wait(shown, timeout, f"the screen to show {text!r}"))

    def wait_quiet(self, quiet: float = 0.15, timeout: float = PATIENCE) -> None:
        """Waits until the program has drawn nothing for `quiet` seconds."""
        drawn, since = len(self.raw), time.monotonic()

        def is_quiet() -> bool:
            nonlocal drawn, since
            if len(self.raw) != drawn:
                drawn, since = len(self.raw), time.monotonic()
            return time.monotonic() - since >= quiet

        self.wait(is_quiet, timeout, "the screen to come to rest")

    def wait_exit(self, timeout: float = PATIENCE) -> int:
        """Waits for the process to end; returns its exit code."""
        self.wait(lambda: self.exit_code() is not None, timeout, "the process to exit")
        return self._process.returncode

    def framed(self) -> str:
        """The screen in a frame, for messages."""
        rule, lines = "─" * 40, []
        for line, group in groupby(self.text().splitlines()):
            count = len(list(group))
            lines += [f"│{line}"] * min(count, 2) + [f"┊ {count - 2} more like it"] * (count > 2)
        return "\n".join([f"┌{rule} screen of {self._name}", *lines, f"└{rule}"])

    def hang_up(self) -> None:
        """Tells the process that its terminal is closed."""
        os.kill(self._process.pid, signal.SIGHUP)

    def kill(self) -> None:
        """Kills the process and all its descendants at once; may be called twice."""
        if self._ended:
            return
        for look in range(20):  # a process within exec has no environment to be found by
            for pid in marked_processes(self.marker) | {self._process.pid}:
                if pid == self._process.pid and self._process.poll() is not None:
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait(PATIENCE)
            self._reader.join(0.05 * (1 + look))
            if not self._reader.is_alive():
                break
        master, self._master = self._master, -1
        os.close(master)
        self._ended = True

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                data = b""
            if not data:
                return
            self.raw += data
            self._take(decoder.decode(data))

    def _take(self, text: str) -> None:
        """Answers queries. Drawing waits until the screen is read: it costs as much as Neovim's start, and many tests
        never read it.
        """
        text, self._pending = split_incomplete(self._pending + text)
        position = 0
        for match in _QUERY.finditer(text):
            with self._lock:
                self._undrawn.append(text[position : match.start()])
            position = match.start()
            self.write(self._answer(match))
        with self._lock:
            self._undrawn.append(text[position:])

    def _answer(self, query: re.Match[str]) -> str:
        if query["attributes"]:
            return "\x1b[?62;22c"
        if query["status"]:
            return "\x1b[0n"
        if query["cursor"]:
            row, column = self.screen_cursor()
            return f"\x1b[{row + 1};{column + 1}R"
        if colour := query["colour"]:
            return f"\x1b]{colour};rgb:{_COLOURS[colour]}\x1b\\"
        return f"\x1b[?{query['mode']};{2 if query['mode'] == _SYNCHRONIZED else 0}$y"

    def _drawn(self) -> Screen:
        if self._undrawn:
            text, begun = "".join(self._undrawn), ""
            at = text.rfind(_BEGIN)
            if at > text.rfind(_END) and self._reader.is_alive():
                text, begun = text[:at], text[at:]
            self._undrawn = [begun] if begun else []
            self._screen.feed(text)
        return self._screen


def _set_size(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def marked_processes(marker: str) -> set[int]:
    """The ids of living processes with this run's marker in their environment (Linux; elsewhere none)."""
    return {pid for pid, found in _markers().items() if found == marker and _marker(pid) == marker}


_known: dict[int, str] = {}
"""Each process's marker, or nothing. Only exec changes an environment, and our processes inherit their parent's."""


def _markers() -> dict[int, str]:
    """Reads only the processes that are new since the last call: reading all of them after every test is expensive."""
    global _known
    if sys.platform != "linux":
        return {}
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            pid = int(name)
            marker = _known.get(pid)
            if marker is None:
                marker = _marker(pid)
            if marker is not None:
                found[pid] = marker
    _known = found
    return found


def _marker(pid: int) -> str | None:
    """The marker of a process; "" if it is no test's, None if it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            environment = file.read()
    except OSError:
        return None
    if not environment:
        return None
    _, _, rest = environment.partition(_NEEDLE)
    return rest[:32].decode(errors="replace")
