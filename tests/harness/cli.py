"""The real Claude Code CLI in a terminal, offline: a throw-away home, a clean environment, a mock of the Messages API.

For a CLI in Neovim's own terminal, give `environment()` to that Neovim.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import PATIENCE
from .mock_api import MockApi
from .terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Do you want to"
"""The beginning of every permission question of the CLI."""

_LOST = 5.0
"""Seconds after which keys without effect are typed again."""

_CLEAR = "\x15"
"""Ctrl-U: empties the prompt."""

_KEY = "sk-ant-dummy-000000000000"


def binary() -> Path:
    """The CLI under test: `$CLAUDE_IDE_CLI`, else the one that `make setup` has installed in `.deps/`."""
    chosen = os.environ.get("CLAUDE_IDE_CLI")
    path = Path(chosen) if chosen else ROOT / ".deps" / "node" / "node_modules" / ".bin" / "claude"
    if not path.exists():
        raise FileNotFoundError(f"no Claude Code CLI at {path}: run `make setup`")
    return path


def version() -> str:
    """The version of the CLI under test."""
    shown = subprocess.run([binary(), "--version"], capture_output=True, text=True, check=True).stdout
    return shown.split()[0]


def prepare_home(home: Path, *projects: Path) -> None:
    """Prevents the CLI's first-run questions in that home. Existing content of the file stays."""
    path = home / ".claude.json"
    state = json.loads(path.read_text()) if path.exists() else {}
    state |= {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
    }
    known = state.setdefault("projects", {})
    for project in projects:
        known.setdefault(str(project.resolve()), {}).update(
            {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        )
    home.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state))


def environment(home: Path, api: MockApi, executable: Path | None = None) -> dict[str, str]:
    """The CLI's whole environment, with `claude` on the PATH."""
    executable = executable or binary()
    return {
        "PATH": f"{executable.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": _KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_IDE_SKIP_AUTO_INSTALL": "true",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
        "NO_PROXY": "localhost,127.0.0.1",
    }


def submitting(api: MockApi, enter: Callable[[], None]) -> Callable[[], bool]:
    """A condition: the prompt was submitted to the model. Presses Enter, and again if one was lost."""
    turns, pressed = api.turns(), None

    def asked() -> bool:
        nonlocal pressed
        if pressed is None or time.monotonic() - pressed > _LOST:
            pressed = time.monotonic()  # before this, nothing was submitted that a request could answer
            enter()
        return api.turns() > turns

    return asked


def typing(text: str, screen: Callable[[], str], write: Callable[[str], None]) -> Callable[[], bool]:
    """A condition: the prompt shows this text. Types it, and again in its place if keys were lost.

    CLI 2.1.329 drops what is typed while it redraws a rejection, and sometimes the first key after it has started.
    """
    tail, written = _compact(text)[-24:], 0.0

    def shown() -> bool:
        nonlocal written
        if tail in _compact(screen().rpartition("❯")[2]):  # an earlier prompt may have the same end
            return True
        if time.monotonic() - written > _LOST:
            write(text if written == 0 else _CLEAR + text)
            written = time.monotonic()
        return False

    return shown


def answering(
    screen: Callable[[], str],
    press: Callable[[], None],
    question: str = QUESTION,
    done: Callable[[], bool] | None = None,
) -> Callable[[], bool]:
    """A condition: a question on the screen is answered. `done` tells by what the answer does, surer than the screen.

    The CLI ignores keys for a moment after it shows a question, so the key is pressed again while the question stays.
    Not soon: a busy CLI shows an answered question for a while, and would take the second key as text of its prompt.
    One look without the question may have met the CLI as it draws.
    """
    pressed, looks_without = 0.0, 0

    def answered() -> bool:
        nonlocal pressed, looks_without
        if done and done():
            return True
        looks_without = 0 if question in screen() else looks_without + 1
        if looks_without > 0:
            return looks_without > 1 and not done
        if time.monotonic() - pressed > 3:
            pressed = time.monotonic()
            press()
        return False

    return answered


class Cli:
    """A CLI in its own terminal."""

    def __init__(
        self,
        home: Path,
        cwd: Path,
        api: MockApi,
        *,
        mode: str = "default",
        args: Sequence[str] = ("--ide",),
        env: Mapping[str, str] | None = None,
        within: Sequence[str] = (),
    ) -> None:
        """`within`: a program that runs the CLI, and its arguments."""
        self.cwd = cwd
        self._api = api
        self.terminal = Terminal(
            [*within, binary(), "--permission-mode", mode, *args],
            env={**environment(home, api), **(env or {})},
            cwd=cwd,
        )

    @property
    def pid(self) -> int:
        return self.terminal.pid

    def wait_ready(self, timeout: float = PATIENCE) -> None:
        """Waits until the CLI accepts a prompt."""
        self.wait_screen(re.compile(r"^❯", re.MULTILINE), timeout)

    def type(self, text: str) -> None:
        """Types text at the prompt and waits until the CLI shows it; does not submit."""
        typed = typing(text, self.screen, self.terminal.write)
        self.terminal.wait(typed, PATIENCE, f"the CLI to show {text!r}")

    def enter(self) -> None:
        self.terminal.write("\r")

    def prompt(self, text: str) -> None:
        """Types a prompt and submits it; waits until the model has it, if it is for the model."""
        self.type(text)
        if text.startswith("/"):
            self.enter()
        else:
            self.terminal.wait(submitting(self._api, self.enter), PATIENCE, "the CLI to ask the model")

    def answer(self, choice: str = "1", question: str = QUESTION, done: Callable[[], bool] | None = None) -> None:
        """Answers the permission question on the screen, or the question with this text (see `answering`)."""
        self.wait_screen(question)
        answered = answering(self.screen, lambda: self.terminal.write(choice), question, done)
        self.terminal.wait(answered, PATIENCE, "the CLI to take the answer")

    def keys(self, keys: str) -> None:
        """Types keys in Vim notation."""
        self.terminal.keys(keys)

    def escape(self) -> None:
        """Presses Escape, as a plain terminal sends it."""
        self.terminal.write("\x1b")

    def screen(self) -> str:
        """The screen as one text."""
        return self.terminal.text()

    def wait_screen(self, text: str | re.Pattern[str], timeout: float = PATIENCE) -> str:
        """Waits until the screen shows the text, or matches the compiled pattern."""
        return self.terminal.wait_screen(text, timeout)

    def wait_gone(self, text: str, timeout: float = PATIENCE) -> None:
        """Waits until the screen no longer shows the text."""
        self.terminal.wait(lambda: text not in self.terminal.text(), timeout, f"{text!r} to leave the screen")

    def kill(self) -> None:
        self.terminal.kill()


def call(tool: str, **arguments: object) -> str:
    """A prompt that makes the mocked model call a tool (see `mock_api`)."""
    return f"CALL {tool} {json.dumps(arguments, ensure_ascii=False)}"


def _compact(text: str) -> str:
    """Without whitespace and frames, since the CLI wraps typed text."""
    return re.sub(r"[\s│❯>]", "", text)
