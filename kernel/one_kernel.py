"""A kernel's process and the sockets to it.

Invariants: messages that are not signed with the kernel's key are ignored. The process, its children and the folder
with the key go when this process goes, in whatever way: a shell that waits for the end of a pipe cleans up after a
kill. If the shell is killed as well, the next kernel to start removes the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import glob
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

START_SECONDS = 60
ASK_SECONDS = 1
GOODBYE_SECONDS = 2
FOLDER = "claude-ide-kernel-"
IN_USE = "in-use"
"""A file that the folder's process keeps locked for its lifetime."""
UNMARKED_SECONDS = 24 * 60 * 60
"""A folder without that file is new, or from an older version."""
GENERIC = ("python3", "python", "")
"""The kernel names of notebooks made with an arbitrary Python."""
KEEPER = """
read -r group && read -r _ && exit 0
[ -n "$group" ] && kill -s KILL -- "-$group"
rm -rf -- "$1"
"""
"""Ends on request; if its pipe closes, it kills the group first."""


class Problem(Exception):
    """An error message for the user."""


def _locked(folder: str) -> int | None:
    """The folder's file, locked for this process; None if another process holds it."""
    file = os.open(os.path.join(folder, IN_USE), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def _is_left(folder: str) -> bool:
    """Whether no process needs a folder any more. Another user's cannot be judged."""
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        return False
    if not os.path.exists(os.path.join(folder, IN_USE)):
        return time.time() - about.st_mtime > UNMARKED_SECONDS
    file = _locked(folder)
    if file is not None:
        os.close(file)
    return file is not None


def sweep() -> None:
    """Removes the folders of kernels whose processes were all killed."""
    for folder in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), FOLDER + "*")):
        with contextlib.suppress(OSError):
            if _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)


class OneKernel:
    def __init__(self, hear: Callable[[dict[str, Any]], None], died: Callable[[], None]) -> None:
        self._hear, self._tell_died = hear, died
        sweep()
        self._folder = tempfile.mkdtemp(prefix=FOLDER)  # 0700
        self._lock = _locked(self._folder)  # until this process ends
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "sh", self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._loop = asyncio.get_running_loop()
        self._manager: Any = None
        self._client: Any = None
        self._info: dict[str, Any] | None = None
        self._asked: set[str] = set()
        self._ready = asyncio.Event()
        self._gone = asyncio.Event()
        self._is_answered = False
        self.pid: int | None = None
        self.is_dead = False
        self.instead_of: str | None = None
        """The notebook's own kernel, if that one is missing."""

    # Start

    async def start(self, order: dict[str, Any]) -> dict[str, Any]:
        """Starts the kernel; returns its self-description."""
        try:
            await asyncio.wait_for(self._start(order), START_SECONDS)
        except asyncio.TimeoutError:  # noqa: UP041 - a class of its own before Python 3.11
            raise Problem(f"the kernel did not start within {START_SECONDS} seconds") from None
        return self._info or {}

    async def _start(self, order: dict[str, Any]) -> None:
        try:
            from jupyter_client.blocking import BlockingKernelClient
            from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel
            from jupyter_client.manager import AsyncKernelManager
        except ImportError as error:
            raise Problem(f"{sys.executable} has no jupyter_client: {error}") from None

        class OwnInterpreter(KernelSpecManager):
            """This interpreter, whatever kernels the user has installed."""

            def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
                from ipykernel.kernelspec import get_kernel_dict

                # These runs are not the user's history, and writing it takes as long as running a line.
                return KernelSpec(resource_dir="", **get_kernel_dict(["--HistoryManager.enabled=False"]))

        kernel = order.get("kernel") or self._of_notebook(
            order.get("wanted") or {}, KernelSpecManager().find_kernel_specs
        )
        manager = AsyncKernelManager(
            kernel_name=kernel or "python3",
            connection_file=os.path.join(self._folder, "kernel.json"),
            # Sockets in our private folder. Kernels of other languages may only support ports.
            **({} if kernel else {"transport": "ipc", "ip": os.path.join(self._folder, "s")}),
        )
        if not kernel:
            manager.kernel_spec_manager = OwnInterpreter()
        self._manager = manager
        try:
            await manager.start_kernel(
                cwd=order["cwd"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=sys.stderr.fileno()
            )
        except NoSuchKernel:
            raise Problem(
                f"there is no kernel named {kernel}: `jupyter kernelspec list` names those there are"
            ) from None
        except ImportError as error:
            raise Problem(f"{sys.executable} has no ipykernel: {error}") from None
        except OSError as error:
            raise Problem(f"the kernel cannot be started: {error}") from None
        self.pid = manager.provisioner.pid
        self._tell_keeper(f"{self.pid}\n")
        threading.Thread(target=self._wait_for_its_end, daemon=True).start()
        self._client = BlockingKernelClient()
        self._client.load_connection_info(manager.get_connection_info())
        self._client.start_channels(shell=True, iopub=True, stdin=False, hb=False, control=True)
        await self._make_ready()

    def _of_notebook(self, wanted: dict[str, str], installed: Callable[[], dict[str, str]]) -> str | None:
        """The kernel that a notebook names, if it is not this interpreter's own and is installed."""
        name, language = wanted.get("kernel") or "", (wanted.get("language") or "python").lower()
        if name in GENERIC:
            return None
        if name in installed():
            return name
        if language != "python":
            raise Problem(
                f"the notebook is for the kernel {name} ({language}), which is not installed: "
                "`jupyter kernelspec list` names those there are"
            )
        self.instead_of = name
        return None

    async def _make_ready(self) -> None:
        """Requests the kernel's info until it answers on both channels: output published before we are subscribed is
        lost.
        """
        import zmq

        for channel in (self._client.shell_channel, self._client.iopub_channel):
            self._loop.add_reader(channel.socket.getsockopt(zmq.FD), self._read)
        while not self._ready.is_set() and not self.is_dead:
            self._asked.add(self._client.kernel_info())
            self._loop.call_soon(self._read)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._ready.wait(), ASK_SECONDS)
        if self.is_dead:
            raise Problem("the kernel ended while it started")

    def _wait_for_its_end(self) -> None:
        """Runs in its own thread. Does not reap the process, so that its id is not reused."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._died)

    def _died(self) -> None:
        if self._client:
            self._read()  # its last messages
        self.is_dead = True
        self._gone.set()
        if self._ready.is_set():
            self._tell_died()
        self._ready.set()

    # Messages

    def execute(self, code: str) -> str:
        """Sends code; returns the id that its answers carry."""
        message = self._client.execute(code, allow_stdin=False, stop_on_error=False)
        self._loop.call_soon(self._read)  # sending may have consumed the socket's event
        return message

    def _read(self) -> None:
        """Reads everything, since ZeroMQ's sockets only report new arrivals."""
        import zmq

        for channel in (self._client.iopub_channel, self._client.shell_channel):
            socket = channel.socket
            while socket.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                try:
                    _, message = self._client.session.recv(socket, mode=zmq.NOBLOCK)
                except (ValueError, TypeError, KeyError) as error:
                    print(f"a message was ignored: {error}", file=sys.stderr)
                    continue
                if message:
                    self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        if self._ready.is_set():
            return self._hear(message)
        kind = message["header"]["msg_type"]
        if kind == "kernel_info_reply":
            self._info = message["content"]
        elif kind == "iopub_welcome" or message["parent_header"].get("msg_id") in self._asked:
            self._is_answered = True
        if self._info is not None and self._is_answered:
            self._ready.set()
        return None

    async def interrupt(self) -> None:
        if self._manager and not self.is_dead:
            with contextlib.suppress(ProcessLookupError):
                await self._manager.interrupt_kernel()

    # End

    def _tell_keeper(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._keeper.stdin.write(text.encode())
            self._keeper.stdin.flush()

    async def end(self, gently: bool) -> None:
        """Asks the kernel to end, then kills it with all its children."""
        if self.pid is None:  # it may have started after the timeout
            self.pid = getattr(getattr(self._manager, "provisioner", None), "pid", None)
        if self.pid is not None:
            if gently and not self.is_dead and self._client:
                with contextlib.suppress(Exception):
                    self._client.shutdown()
                    await asyncio.wait_for(self._gone.wait(), GOODBYE_SECONDS)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._manager.shutdown_kernel(now=True), GOODBYE_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._tell_keeper("\n\n")
        with contextlib.suppress(Exception):
            self._keeper.communicate(timeout=GOODBYE_SECONDS)
