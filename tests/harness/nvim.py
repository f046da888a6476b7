"""A real Neovim in a terminal, with its own project, home and state.

The user's actions go through the PTY (`keys`), the test's queries over RPC (`lua`); `screen` is the user's view. Neovim
reads keys in its own time: after typing, wait for their effect.
"""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import LONGEST, PATIENCE, left
from .rpc import NvimError, Rpc, RpcTimeout
from .terminal import Terminal

# Lua that frees all that nothing holds: compiled code holds tables, and what is finalized goes with the second collection.
COLLECT = "jit.flush() collectgarbage() collectgarbage()"
ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("0.10", "0.11", "0.12")
NAMES = ("--cmd", f"lua dofile({json.dumps(str(ROOT / 'tests' / 'harness' / 'ide.lua'))})")
"""Gives a Neovim, whatever it is started with, the names of the plugin's modules."""
PENDING = "#Ide.requests.pending()"
"""How many requests wait for the user, in Lua."""


_UNDO = """
local turn, undo = ..., Ide.journal_undo
undone = nil
Ide.journal.when_known(function()
  turn = turn or undo.undoable_turn()
  if not turn then
    undone = {}
    return
  end
  undo.turn(turn, function(results) undone = results end)
end)
"""


def binary(version: str) -> Path:
    """The Neovim of that version: `$CLAUDE_IDE_NVIM_010` and so on, else the one that `make setup` has installed in
    `.deps/`.
    """
    chosen = os.environ.get("CLAUDE_IDE_NVIM_" + version.replace(".", ""))
    path = Path(chosen) if chosen else ROOT / ".deps" / f"nvim-{version}" / "bin" / "nvim"
    if not path.exists():
        raise FileNotFoundError(f"no Neovim {version} at {path}: run `make setup`")
    return path


def compile_modules(version: str, folder: Path) -> Path:
    """Compiles the modules of the plugin and of that Neovim into the folder, for Neovims that read nothing ahead."""
    write = f"lua {_bytecode('write', folder)}"
    command = [binary(version), "--clean", "--headless", "--cmd", write, "--cmd", "qall!"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True)
    assert not ran.stderr, ran.stderr
    return folder


class Nvim:
    def __init__(
        self,
        directory: Path,
        version: str,
        *,
        args: Sequence[str] = (),
        opts: Mapping[str, object] | None,
        init_lua: str = "",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        files: Mapping[str, str | bytes] | None = None,
        notices: bool = False,
        compiled: Path | None = None,
    ) -> None:
        self.version = version
        self.home = directory / "home"
        self.project = directory / "project"
        self._run = Path(tempfile.mkdtemp(prefix="nvim-"))  # short: a socket's path has a limit
        self._marks = itertools.count(1)
        self._rpc: Rpc | None = None
        self.home.mkdir(exist_ok=True)
        self.project.mkdir(exist_ok=True)
        for name, content in (files or {}).items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        config = self.home / ".config" / "nvim" / "init.lua"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(_init(opts, f"{_KEEP}.notices() {init_lua}" if notices else init_lua, compiled))
        listen = self._run / "rpc"
        self.terminal = Terminal(
            [binary(version), "-i", "NONE", "--listen", str(listen), *NAMES, *args],
            env={**self.environment(), **(env or {})},
            cwd=cwd or self.project,
        )
        try:
            self._rpc = Rpc(listen)
            self.server_pid = int(self._request("nvim_call_function", "getpid", []))
            self.wait("vim.v.vim_did_enter == 1 and #vim.api.nvim_list_uis() > 0", what="Neovim to start")
        except BaseException:
            message = self.terminal.framed()
            self.kill()
            print(message)
            raise

    def environment(self) -> dict[str, str]:
        """This Neovim's whole environment; only the PATH comes from the caller."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_RUNTIME_DIR": str(self._run),
            "XDG_CONFIG_DIRS": str(self.home / "none"),
            "XDG_DATA_DIRS": str(self.home / "none"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "NVIM_NOTTYFAST": "1",  # else 0.12 complains if the terminal takes 0.1 s to answer, as on a busy machine
            "SHELL": "/bin/sh",
        }

    def lua(self, code: str, *args: object, timeout: float = PATIENCE) -> object:
        """Runs Lua in Neovim with the arguments as `...`; returns its result."""
        return self._request("nvim_exec_lua", code, list(args), timeout=timeout)

    def notify(self, code: str, *args: object) -> None:
        """Runs Lua as soon as Neovim can, without waiting."""
        self._rpc.notify("nvim_exec_lua", code, list(args))

    def cmd(self, command: str) -> None:
        """Runs an Ex command as if from a script."""
        self._request("nvim_command", command)

    def keys(self, keys: str, *, counts: bool = False) -> None:
        """Types keys in Vim notation through the terminal. `<` itself is `<lt>`. `counts`: after `keys_count`."""
        if counts:
            self.keys_count()
        self.terminal.keys(keys)

    def input(self, keys: str) -> None:
        """Adds keys to the input buffer directly: Neovim finds them at its next check, before anything else that waits."""
        self._rpc.notify("nvim_input", keys)

    def stop_insert(self) -> None:
        """Ends Insert or Terminal mode, and waits until it has ended: until then, nothing takes the focus."""
        self.cmd("stopinsert")
        self.wait("not vim.api.nvim_get_mode().mode:find('^[itR]')", what="Normal mode")

    def interrupt(self) -> None:
        """A `<C-c>` while Neovim does not wait for a key: it is not mapped then."""
        self.lua(
            """
            local ffi = require("ffi")
            pcall(ffi.cdef, "extern unsigned char got_int;")
            vim.schedule(function() ffi.C.got_int = 1 end)
            """
        )

    def paste(self, text: str) -> None:
        """Pastes text into the terminal."""
        self.terminal.paste(text)

    def screen(self) -> list[str]:
        """The lines on the screen."""
        return self.terminal.screen()

    def drawn(self) -> list[str]:
        """The lines on the screen but the last, once the terminal shows all that Neovim has to draw now."""
        mark = f"drawn {next(self._marks)}"
        self.lua("vim.cmd('redrawstatus! | redraw') vim.api.nvim_echo({ { ... } }, false, {})", mark)
        self.wait_screen(re.compile(rf"^{mark}\b", re.MULTILINE))
        return self.screen()[:-1]

    def wait_screen(self, text: str | re.Pattern[str], timeout: float = PATIENCE) -> str:
        """Waits until the screen shows the text (or matches the compiled pattern)."""
        return self.terminal.wait_screen(text, timeout)

    def keys_count(self) -> None:
        """Ends the input guard's wait: everything has been visible for long and no typing goes on, so the next key counts."""
        self.lua("local times = Ide.guard_times times.unread, times.gap = 0, 0")

    def modules_are_cached(self) -> None:
        """Waits until all modules of the plugin are loaded or cached, so that none is read from disk any more."""
        self.wait(
            """
            local root = Ide.native.plugin_root() .. "/lua/"
            local function is_module(name) return name:match("%.lua$") end
            return vim.iter(vim.fs.find(is_module, { path = root .. "claude-ide", limit = 1000 })):all(function(path)
              local module = path:sub(#root + 1, -5):gsub("/", "."):gsub("%.init$", "")
              return package.loaded[module] ~= nil or package.preload[module] ~= nil
            end)
            """,
            what="all modules to be cached",
        )

    def cursor(self) -> tuple[int, int]:
        """The cursor of the current window: line from 1, byte column from 0."""
        row, column = self._request("nvim_win_get_cursor", 0)
        return row, column

    def lines(self, buf: int = 0) -> list[str]:
        """The lines of a buffer."""
        return self._request("nvim_buf_get_lines", buf, 0, -1, False)

    def mode(self) -> str:
        """The mode, as `mode(1)` gives it; works while Neovim waits for a key."""
        return self._request("nvim_get_mode")["mode"]

    def wait(self, condition: str | Callable[[], object], timeout: float = PATIENCE, what: str = "") -> object:
        """Polls until the condition holds; returns its value.

        `condition` is a function, or Lua: an expression, or a chunk with `return`.
        """
        if callable(condition):
            check, what = condition, what or "condition"
        else:
            chunk = condition if "return" in condition else f"return {condition}"
            check, what = lambda: self.lua(chunk), what or condition
        return self.terminal.wait(check, timeout, what)

    def wait_kind(self, kind: str) -> None:
        """Waits until the cursor is in a buffer of that kind: `question`, `prompt`, `proposal`, …"""
        self.wait(f"(vim.b.claude_ide or {{}}).kind == '{kind}'", what=f"a window of the kind {kind} to have the focus")

    def start_server(self) -> None:
        """Starts the plugin's server, without a client."""
        self.lua("assert(Ide.server.start())")

    def keep_notices(self, *, shown: bool = False) -> None:
        """Records the calls of `vim.notify` instead of showing them. `start_nvim(notices=True)` does so from the start."""
        self.lua(f"{_KEEP}.notices(...)", shown)

    def notices(self) -> list[str]:
        """The notices recorded so far (`notices` in Lua)."""
        return self.lua("return notices")

    def wait_notice(self, part: str = "") -> str:
        """Waits for a notice that contains the text; returns the first one."""
        return self.wait(
            lambda: next((text for text in self.notices() if part in text), None), what=f"a notice: {part!r}"
        )

    def keep_events(self, *patterns: str) -> None:
        """Records `User` events with these patterns."""
        self.lua(f"{_KEEP}.events(...)", patterns)

    def events(self) -> list[list[object]]:
        """Names and data of the events recorded so far (`events` in Lua)."""
        return self.lua("return events")

    def answer(self, *answers: int | str) -> None:
        """Makes each `vim.ui.select` take an item by number (negative: from the end), each `vim.ui.input` a text.

        Further questions are cancelled. Clears `asked`.
        """
        self.lua(f"{_KEEP}.questions(...)", answers)

    def asked(self) -> list[dict[str, object]]:
        """The questions so far: `prompt`, and for a list `kind` and `lines` (`asked` in Lua)."""
        return self.lua("return asked")

    def undo_turn(self, turn: int | None = None) -> list[dict[str, object]]:
        """Undoes the last turn that has changes, or this one, like `:Claude undo`; returns what became of each file."""
        self.lua(_UNDO, turn or False)
        self.wait("undone ~= nil", what="the turn to be taken back")
        return self.lua("return undone")

    def log(self) -> str:
        """The text of the plugin's log file."""
        logs = sorted(self.home.glob(".local/state/nvim/**/claude-ide*.log"))
        return "".join(path.read_text(errors="replace") for path in logs)

    def locks(self) -> list[dict[str, object]]:
        """The lock files in the home, newest first, each with its `port`."""
        found = []
        for path in (self.home / ".claude" / "ide").glob("*.lock"):
            try:
                found.append((path.stat().st_mtime_ns, {"port": int(path.stem), **json.loads(path.read_text())}))
            except (OSError, ValueError):
                continue
        return [lock for _, lock in sorted(found, key=lambda entry: -entry[0])]

    def running(self) -> bool:
        """Whether Neovim is running."""
        return self.terminal.exit_code() is None

    def private_kib(self) -> int:
        """Memory that this Neovim shares with no other, after garbage collection; outside Linux, all of it."""
        self.lua(COLLECT)
        sizes = Path(f"/proc/{self.server_pid}/smaps_rollup")
        if sizes.exists():
            return sum(int(kib) for kib in re.findall(r"(?:Private_Dirty|Swap):\s+(\d+) kB", sizes.read_text()))
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(self.server_pid)], capture_output=True, text=True)
        return int(shown.stdout)

    def leave(self, timeout: float = PATIENCE) -> int:
        """Quits with `:qa!` and returns the exit code; processes that it left running stay, for the test to see."""
        self._rpc.notify("nvim_command", "qall!")
        return self.terminal.wait_exit(timeout)

    def quit(self, timeout: float = PATIENCE) -> int:
        """Quits with `:qa!` and returns the exit code; kills a hanging Neovim and any process left behind."""
        if self._rpc is not None and self.running():
            with contextlib.suppress(OSError):
                self._rpc.notify("nvim_command", "qall!")
        try:
            return self.terminal.wait_exit(timeout)
        finally:
            self.kill()

    def kill(self) -> None:
        """Ends Neovim and all its children with SIGKILL, at once."""
        self.terminal.kill()
        if self._rpc is not None:
            self._rpc.close()
            self._rpc = None
        shutil.rmtree(self._run, ignore_errors=True)

    def crash(self) -> dict[str, object]:
        """Ends Neovim alone with SIGKILL, and waits until its server's port is free; returns the lock file that it left.

        What it started lives on until the test ends: to find all of that can take longer than a CLI tries to reconnect.
        """
        lock = next(lock for lock in self.locks() if lock["pid"] == self.server_pid)
        os.kill(self.server_pid, signal.SIGKILL)
        began = time.monotonic()
        while True:
            try:
                socket.create_server(("127.0.0.1", lock["port"])).close()
            except OSError:
                if left(began) <= 0:
                    raise
                time.sleep(0.01)
            else:
                return lock

    def report(self) -> str:
        """The screen and the end of the log, for a failure message."""
        log = "\n".join(self.log().splitlines()[-40:]) or "(no log)"
        return f"{self.terminal.framed()}\nNeovim {self.version}, log:\n{log}"

    def _request(self, method: str, *args: object, timeout: float = PATIENCE) -> object:
        if self._rpc is None:
            raise NvimError("Neovim has been ended")
        try:
            return self._rpc.request(method, *args, timeout=timeout)
        except RpcTimeout as error:
            raise RpcTimeout(f"{error}\n{self.terminal.framed()}") from None


_KEEP = f"dofile({json.dumps(str(ROOT / 'tests' / 'harness' / 'keep.lua'))})"
_NO_PROVIDERS = "vim.g.loaded_python3_provider = 0"
"""Else each first Python file makes Neovim run `python3`; pyenv's shim alone costs 0.7 s."""


_READS_NOTHING_AHEAD = "Ide.library_update.keep = function() end Ide.library_update.attach = Ide.library_update.keep"
"""Modules are read on first use: reading all of them ahead takes 70 ms of a processor (`tests/bench/run.py --only costs`), looking
whether they were updated 5.
"""


_NO_KERNEL = {"kernel": "/nowhere/python"}
"""Unless a test sets other options of `notebook`: no search for a Python, so no tool appears when one is found."""

_NO_REMINDER = {"remind": False}
"""Unless a test sets other options of `review`: notices are those of what it does, none of what waits for a review."""


def _bytecode(does: str, folder: Path) -> str:
    """A function of `bytecode.lua`, called."""
    script, *arguments = map(json.dumps, map(str, (ROOT / "tests" / "harness" / "bytecode.lua", folder, ROOT)))
    return f"dofile({script}).{does}({', '.join(arguments)})"


def _init(opts: Mapping[str, object] | None, extra: str, compiled: Path | None) -> str:
    """The init.lua of a test: the minimal one, `setup()` unless skipped, and the test's own lines."""
    parts = [f"dofile({json.dumps(str(ROOT / 'tests' / 'minimal_init.lua'))})", _NO_PROVIDERS]
    if opts is not None:
        if compiled:
            parts.append(_bytecode("read", compiled))
        encoded = json.dumps({"auto_start": False, "notebook": _NO_KERNEL, "review": _NO_REMINDER, **opts})
        parts.append(f'require("claude-ide").setup(vim.json.decode([==[{encoded}]==]))')
        if compiled:
            parts.append(_READS_NOTHING_AHEAD)
    return "\n".join([*parts, extra, ""])
