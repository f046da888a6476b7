"""A program in a pseudo-terminal, with the screen a person would see.

Owns the process, the PTY and one reader thread, which feeds a `pyte` screen and answers what programs ask of a terminal
at their start (device attributes, background colour, cursor position), so that none waits for a terminal that is mute.
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
from pathlib import Path

import pyte

MARKER = "CLAUDE_IDE_TEST_RUN"
"""Variable that marks every process begun by a test, so that all that is left of it can be found and ended."""

_SEQUENCE = re.compile(
    r"""
    \x1b\][^\x07\x1b]*(?:\x07|\x1b\\)             # OSC: titles, colours, hyperlinks
  | \x1b[P_^X][^\x1b]*(?:\x1b\\)                  # DCS, APC, PM, SOS
  | \x1b\[[<>=?!]?[0-9;:]*[ $"'*]?[@-~]           # CSI
""",
    re.VERBOSE,
)
_INCOMPLETE = re.compile(r"\x1b(?:\][^\x07\x1b]*\x1b?|[P_^X][^\x1b]*\x1b?|\[[<>=?!]?[0-9;:]*[ $\"'*]?)?\Z")

_NAMED_KEYS = {
    "esc": "\x1b[27u",  # CSI u: a bare ESC would join with what follows into an Alt chord
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
    """Turns Vim key notation (`<Esc>:w<CR>`, `<C-w>h`, `<M-x>`) into what a terminal sends for it."""

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


class _Screen(pyte.Screen):
    """A screen that keeps quiet where pyte would raise: what it does not know is no matter to a test."""

    def write_process_input(self, data: str) -> None:
        """Answers are given by `Terminal`, once for all queries."""


class Terminal:
    """A child process in a PTY of its own."""

    def __init__(
        self, argv: Sequence[str | Path], *, env: dict[str, str], cwd: Path, rows: int = 40, columns: int = 140
    ) -> None:
        self.marker = uuid.uuid4().hex
        self._screen = _Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._lock = threading.Lock()
        self._pending = ""
        self.raw = bytearray()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        try:
            self._process = subprocess.Popen(
                [str(part) for part in argv],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=cwd,
                env={**env, MARKER: self.marker},
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
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
        """Sends bytes as if they had been typed. What a dead process no longer reads is dropped."""
        view = memoryview(data.encode() if isinstance(data, str) else data)
        while view:
            try:
                view = view[os.write(self._master, view) :]
            except OSError:
                return

    def keys(self, keys: str) -> None:
        """Types keys given in Vim notation."""
        self.write(key_bytes(keys))

    def paste(self, text: str) -> None:
        """Pastes text as a terminal does (bracketed)."""
        self.write(f"\x1b[200~{text}\x1b[201~")

    def screen(self) -> list[str]:
        """The lines on the screen, without trailing blanks."""
        with self._lock:
            return [line.rstrip() for line in self._screen.display]

    def text(self) -> str:
        """The screen as one text, without the blank lines at its end."""
        return "\n".join(self.screen()).rstrip()

    def cells(self) -> list[list[pyte.screens.Char]]:
        """The cells of the screen, with their colours; the second half of a wide character is left out."""
        with self._lock:
            rows = [[self._screen.buffer[y][x] for x in range(self._screen.columns)] for y in range(self._screen.lines)]
        return [[cell for cell in row if cell.data] for row in rows]

    def screen_cursor(self) -> tuple[int, int]:
        """Row and column of the terminal's cursor, from 0."""
        with self._lock:
            return self._screen.cursor.y, self._screen.cursor.x

    def wait(self, condition: Callable[[], object], timeout: float = 30, what: str = "") -> object:
        """Polls until `condition` holds and returns what it gave; raises with the screen when time is up."""
        deadline = time.monotonic() + timeout
        pause = 0.002
        while True:
            if result := condition():
                return result
            if time.monotonic() > deadline:
                raise AssertionError(f"timed out after {timeout} s: {what or 'condition'}\n{self.framed()}")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def wait_screen(self, text: str | re.Pattern[str], timeout: float = 30) -> str:
        """Waits until the screen shows `text` (a string or a compiled pattern) and returns the screen."""

        def shown() -> str | None:
            screen = self.text()
            hit = text in screen if isinstance(text, str) else text.search(screen)
            return screen if hit else None

        return str(self.wait(shown, timeout, f"the screen to show {text!r}"))

    def wait_quiet(self, quiet: float = 0.15, timeout: float = 30) -> None:
        """Waits until the program has drawn nothing for so many seconds."""
        drawn, since = len(self.raw), time.monotonic()

        def is_quiet() -> bool:
            nonlocal drawn, since
            if len(self.raw) != drawn:
                drawn, since = len(self.raw), time.monotonic()
            return time.monotonic() - since >= quiet

        self.wait(is_quiet, timeout, "the screen to come to rest")

    def wait_exit(self, timeout: float = 30) -> int:
        """Waits for the process to end and returns its exit code."""
        self.wait(lambda: self.exit_code() is not None, timeout, "the process to exit")
        return self._process.returncode

    def framed(self) -> str:
        """The screen in a frame, for messages."""
        rule = "─" * 40
        return (
            f"┌{rule} screen of {self._process.args[0]}\n"
            + "\n".join(f"│{line}" for line in self.text().splitlines())
            + f"\n└{rule}"
        )

    def kill(self) -> None:
        """Ends the process and everything it began, at once; harmless when it is gone."""
        for pid in marked_processes(self.marker) | {self._process.pid}:
            if pid == self._process.pid and self._process.poll() is not None:
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(5)
        self._reader.join(1)
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

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
            self._feed(decoder.decode(data))

    def _feed(self, text: str) -> None:
        text = self._pending + text
        cut = _INCOMPLETE.search(text)
        self._pending = text[cut.start() :] if cut and len(text) - cut.start() < 65536 else ""
        if self._pending:
            text = text[: cut.start()]
        position = 0
        with self._lock:
            for match in _SEQUENCE.finditer(text):
                self._stream.feed(text[position : match.start()])
                position = match.end()
                if plain := self._handle(match.group(0)):
                    self._stream.feed(plain)
            self._stream.feed(text[position:])

    def _handle(self, sequence: str) -> str:
        """Answers a query; returns the sequence in a form that pyte understands, or nothing."""
        reply = ""
        if sequence in ("\x1b[c", "\x1b[0c"):
            reply = "\x1b[?62;22c"
        elif sequence == "\x1b[5n":
            reply = "\x1b[0n"
        elif sequence == "\x1b[6n":
            reply = f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R"
        elif sequence.startswith("\x1b]11;?"):
            reply = "\x1b]11;rgb:0000/0000/0000\x1b\\"
        elif sequence.startswith("\x1b]10;?"):
            reply = "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"
        elif mode := re.fullmatch(r"\x1b\[\?([0-9]+)\$p", sequence):
            reply = f"\x1b[?{mode.group(1)};0$y"
        if reply:
            self.write(reply)
            return ""
        if sequence[1] != "[" or sequence[2] in "<>=!" or sequence[-2] in " $\"'*":
            return ""
        if sequence[2] == "?" and sequence[-1] not in "hl":
            return ""
        return re.sub(r":[0-9:]*", "", sequence)


def marked_processes(marker: str) -> set[int]:
    """The ids of living processes whose environment holds this run's marker (Linux; elsewhere none)."""
    needle = f"{MARKER}={marker}".encode()
    found = set()
    if sys.platform != "linux":
        return found
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if needle in Path(entry.path, "environ").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                continue
    return found
