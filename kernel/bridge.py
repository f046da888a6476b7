"""One Jupyter kernel, for the Neovim at the other end of stdin and stdout: a JSON object a line, both ways.

Run by the interpreter that the kernel is to have, for jupyter_client comes with ipykernel. What goes in: `start` once, then `run`,
one at a time, and `interrupt`. What comes out: `started`, `output` as it comes, `done` once for each run, `free` where a run went
on after that, `died` or `failed`, after which it ends.
Invariant: when this process ends, or the one at the other end, however it ends, the kernel and what it started end, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any

import run_output

PROTOCOL = 1
"""Counts the changes of what passes between this file and lua/claude-ide/notebook: one of the two may be from before an update."""
START_SECONDS = 60
LAST_OUTPUT_SECONDS = 2
"""How long a run that was answered may take to say that its output is complete. A kernel may drop that under load."""
STUBBORN_SECONDS = 5
"""How long an interrupt may take."""
INTERRUPT_SECONDS = 0.5
GOODBYE_SECONDS = 2
MAX_LINE = 64 << 20


class Problem(Exception):
    """In words for a person."""


class Bridge:
    def __init__(self, out: int) -> None:
        self._out = out
        self._folder = tempfile.mkdtemp(prefix="claude-ide-kernel-")  # 0700
        self._manager: Any = None
        self._client: Any = None
        self._pid: int | None = None
        self._dead = asyncio.Event()
        self._busy: dict[str, Any] | None = None
        self._tasks: set[asyncio.Task] = set()
        self._loop = asyncio.get_running_loop()

    def say(self, event: str, **fields: Any) -> None:
        data = json.dumps({"event": event, **fields}, ensure_ascii=True).encode() + b"\n"
        while data:
            data = data[os.write(self._out, data) :]

    # The kernel

    async def start(self, kernel: str | None, cwd: str, images: str) -> None:
        self._images = images
        try:
            await asyncio.wait_for(self._start(kernel, cwd), START_SECONDS)
        except asyncio.TimeoutError:  # noqa: UP041 - before Python 3.11 it is one of its own
            raise Problem(f"the kernel did not start within {START_SECONDS} seconds") from None
        info = self._info
        language = info.get("language_info", {})
        self.say(
            "started",
            kernel_pid=self._pid,
            language=language.get("name", ""),
            version=language.get("version", ""),
            implementation=f"{info.get('implementation', '')} {info.get('implementation_version', '')}",
        )

    async def _start(self, kernel: str | None, cwd: str) -> None:
        try:
            from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel
            from jupyter_client.manager import AsyncKernelManager
        except ImportError as error:
            raise Problem(f"{sys.executable} has no jupyter_client: {error}") from None

        class OwnInterpreter(KernelSpecManager):
            """Whatever kernels are installed for the user: this interpreter."""

            def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
                from ipykernel.kernelspec import get_kernel_dict

                return KernelSpec(resource_dir="", **get_kernel_dict())

        manager = AsyncKernelManager(
            kernel_name=kernel or "python3",
            connection_file=os.path.join(self._folder, "kernel.json"),
            # Sockets in our folder, which nobody else can open. A kernel that is not Python's may know only of ports.
            **({} if kernel else {"transport": "ipc", "ip": os.path.join(self._folder, "s")}),
        )
        if not kernel:
            manager.kernel_spec_manager = OwnInterpreter()
        try:
            await manager.start_kernel(
                cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=sys.stderr.fileno()
            )
        except NoSuchKernel:
            raise Problem(f"there is no kernel named {kernel}") from None
        except ImportError as error:
            raise Problem(f"{sys.executable} has no ipykernel: {error}") from None
        except OSError as error:
            raise Problem(f"the kernel cannot be started: {error}") from None
        self._manager, self._pid = manager, manager.provisioner.pid
        threading.Thread(target=self._wait_for_its_end, daemon=True).start()
        self._client = manager.client()
        self._client.start_channels(shell=True, iopub=True, stdin=False, hb=False, control=True)
        await self._make_ready()
        for pump in (self._hear_shell, self._hear_iopub):
            self.spawn(pump())

    def _wait_for_its_end(self) -> None:
        """In a thread of its own. Leaves the body to be buried: until then its number is nobody else's."""
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._dead.set)

    async def _make_ready(self) -> None:
        """Asks who it is until it says so on both channels: what is published before we are subscribed is lost."""
        answered = heard = False
        while not (answered and heard):
            asked = self._client.kernel_info()
            deadline = self._loop.time() + (1 if answered else 5)
            while not (answered and heard) and self._loop.time() < deadline:
                if self._dead.is_set():
                    raise Problem("the kernel ended while it started")
                if not answered:
                    reply = await self._message(self._client.shell_channel, 0.1)
                    if reply and reply["header"]["msg_type"] == "kernel_info_reply":
                        answered, self._info = True, reply["content"]
                published = await self._message(self._client.iopub_channel, 0.1)
                heard = heard or bool(published and published["parent_header"].get("msg_id") == asked)
                heard = heard or bool(published and published["header"]["msg_type"] == "iopub_welcome")

    @staticmethod
    async def _message(channel: Any, seconds: float) -> dict[str, Any] | None:
        from queue import Empty

        try:
            return await channel.get_msg(timeout=seconds)
        except Empty:
            return None

    # Running code

    async def run(self, id: int, code: str, limit: int, timeout: float, keep: bool) -> None:
        if self._busy:
            raise Problem("the kernel is busy")
        output = run_output.RunOutput(
            limit, self._images, f"{os.getpid()}-{id}", lambda piece: self.say("output", id=id, **piece)
        )
        busy = {"id": id, "output": output, "reply": self._loop.create_future(), "idle": asyncio.Event(), "why": None}
        self._busy = busy
        began = self._loop.time()
        busy["message"] = self._client.execute(code, allow_stdin=False, stop_on_error=False)
        died = self.spawn(self._dead.wait())
        try:
            reply, stubborn = await self._reply(busy, died, timeout)
            if reply and not self._dead.is_set():
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(busy["idle"].wait(), LAST_OUTPUT_SECONDS)
        finally:
            died.cancel()
        content = reply.get("content", {}) if reply else {}
        status = (
            "died" if self._dead.is_set() else "stubborn" if stubborn else busy["why"] or content.get("status", "error")
        )
        self.say(
            "done",
            id=id,
            status=status,
            error=content.get("ename"),
            count=content.get("execution_count"),
            seconds=round(self._loop.time() - began, 3),
            content=output.content(),
            **({"outputs": output.cells()} if keep else {}),
        )
        if stubborn:
            died = self.spawn(self._dead.wait())
            await asyncio.wait({busy["reply"], died}, return_when=asyncio.FIRST_COMPLETED)
            died.cancel()
            self.say("free", id=id)
        self._busy = None

    async def _reply(self, busy: dict[str, Any], died: asyncio.Task, timeout: float) -> tuple[Any, bool]:
        """The reply to what runs, and whether it goes on although it was interrupted."""
        busy["interrupted"] = asyncio.Event()
        interrupted = self.spawn(busy["interrupted"].wait())
        ends = {busy["reply"], died}
        try:
            await asyncio.wait({*ends, interrupted}, timeout=timeout or None, return_when=asyncio.FIRST_COMPLETED)
            # Again and again: one that comes before the code begins is lost.
            deadline = self._loop.time() + STUBBORN_SECONDS
            while not any(end.done() for end in ends) and self._loop.time() < deadline:
                await self.interrupt("timeout")
                await asyncio.wait(ends, timeout=INTERRUPT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            interrupted.cancel()
        if busy["reply"].done():
            return busy["reply"].result(), False
        return None, not self._dead.is_set()

    async def interrupt(self, why: str) -> None:
        if self._busy and not self._dead.is_set():
            self._busy["why"] = self._busy["why"] or why
            await self._manager.interrupt_kernel()
            self._busy["interrupted"].set()

    async def _hear_shell(self) -> None:
        while True:
            message = await self._client.shell_channel.get_msg()
            busy = self._busy
            if busy and message["parent_header"].get("msg_id") == busy["message"] and not busy["reply"].done():
                busy["reply"].set_result(message)

    async def _hear_iopub(self) -> None:
        while True:
            message = await self._client.iopub_channel.get_msg()
            busy = self._busy
            if busy and message["parent_header"].get("msg_id") == busy.get("message"):
                self._take(busy, message["header"]["msg_type"], message["content"])

    @staticmethod
    def _take(busy: dict[str, Any], kind: str, content: dict[str, Any]) -> None:
        output: run_output.RunOutput = busy["output"]
        display_id = content.get("transient", {}).get("display_id")
        if kind == "stream":
            output.stream(content["name"], content["text"])
        elif kind in ("display_data", "execute_result"):
            output.display(content["data"], content.get("metadata", {}), content.get("execution_count"), display_id)
        elif kind == "update_display_data":
            output.update_display(content["data"], content.get("metadata", {}), display_id)
        elif kind == "error":
            output.error(content.get("ename", ""), content.get("evalue", ""), content.get("traceback", []))
        elif kind == "clear_output":
            output.clear(bool(content.get("wait")))
        elif kind == "status" and content.get("execution_state") == "idle":
            busy["idle"].set()

    # The other end

    def spawn(self, work: Any) -> asyncio.Task:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def serve(self, lines: asyncio.StreamReader) -> None:
        """Until the other end is gone, or the kernel is."""
        first = json.loads(await lines.readline() or b"{}")
        if first.get("protocol") != PROTOCOL:
            raise Problem("the plugin was updated: restart Neovim")
        gone = self.spawn(self._dead.wait())
        started = self.spawn(self.start(first.get("kernel"), first["cwd"], first["images"]))
        reading = self.spawn(lines.readline())
        while not gone.done():
            waiting = {gone, reading} | ({started} if started else set())
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if started and started.done():
                started.result()
                started = None
            if reading.done():
                line = reading.result()
                if not line:
                    return
                self.spawn(self._obey(json.loads(line)))
                reading = self.spawn(lines.readline())
        while self._busy:
            await asyncio.sleep(0.01)
        self.say("died")

    async def _obey(self, order: dict[str, Any]) -> None:
        try:
            if order["do"] == "run":
                await self.run(order["id"], order["code"], order["limit"], order["timeout"], order.get("keep", False))
            elif order["do"] == "interrupt":
                await self.interrupt("interrupted")
        except Exception as error:  # noqa: BLE001: said, and the kernel stays
            if self._busy and self._busy["id"] == order.get("id"):
                self._busy = None
            self.say("done", id=order.get("id", 0), status="failed", message=f"{error}", content=[], seconds=0)

    async def end(self) -> None:
        """The kernel is asked to end, then made to, with all that it started."""
        if self._pid is not None:
            if not self._dead.is_set() and not self._busy and self._client:
                with contextlib.suppress(Exception):
                    self._client.shutdown()
                    await asyncio.wait_for(self._dead.wait(), GOODBYE_SECONDS)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._manager.shutdown_kernel(now=True), GOODBYE_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)


async def main() -> None:
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints must not come between our lines
    bridge = Bridge(out)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, asyncio.current_task().cancel)
    lines = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    try:
        await bridge.serve(lines)
    except Problem as problem:
        with contextlib.suppress(OSError):
            bridge.say("failed", message=str(problem))
    except OSError:
        pass  # nobody listens any more
    finally:
        await bridge.end()


if __name__ == "__main__":
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(main())
