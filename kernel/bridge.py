"""Connects one Jupyter kernel with the Neovim at stdin and stdout: one JSON object per line, in both directions.

Run by the kernel's interpreter, since jupyter_client comes with ipykernel. Input: the start order, once, then `run`,
one at a time, and `interrupt`. Output: `started`, `output` as it arrives, `done` once per run, `free` if a run
continued after that, and `died` or `failed`, after which the bridge ends. Invariant: when this process or Neovim ends,
in whatever way, the kernel and its children end too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable
from typing import Any

from one_kernel import OneKernel, Problem
from one_run import OneRun

PROTOCOL = 2
"""Counts changes of the protocol between this folder and lua/claude-ide/notebook: either may be from before an update."""
CHUNK = 1 << 20
MAX_LINE = 64 << 20


class Lines:
    """Reads the lines of stdin as they arrive."""

    def __init__(self, take: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._parts: list[bytes] = []
        self._take, self._end = take, end
        self._length = 0
        asyncio.get_running_loop().add_reader(0, self._read)

    def _read(self) -> None:
        data = os.read(0, CHUNK)
        *ended, rest = data.split(b"\n")
        for line in ended:
            self._take(b"".join([*self._parts, line]))
            self._parts, self._length = [], 0
        self._parts.append(rest)
        self._length += len(rest)
        if not data or self._length > MAX_LINE:
            asyncio.get_running_loop().remove_reader(0)
            self._end()


class Bridge:
    def __init__(self, out: int) -> None:
        self._out = out
        self._kernel: OneKernel | None = None
        self._run: OneRun | None = None
        self._over = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task] = set()
        Lines(self._obey, self._end)

    def say(self, event: str, **fields: Any) -> None:
        # Lone surrogates are not valid UTF-8.
        data = json.dumps({"event": event, **fields}, ensure_ascii=False).encode(errors="replace") + b"\n"
        while data:
            data = data[os.write(self._out, data) :]

    def _end(self, problem: Exception | None = None) -> None:
        if not self._over.done():
            if problem:
                self._over.set_exception(problem)
            else:
                self._over.set_result(None)

    async def serve(self) -> None:
        """Runs until Neovim or the kernel is gone."""
        try:
            await self._over
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._kernel:
                await self._kernel.end(gently=self._run is None)

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            self._end(task.exception())

    # Neovim's requests

    def _obey(self, line: bytes) -> None:
        try:
            order = json.loads(line)
            if self._kernel is None:
                if order.get("protocol") != PROTOCOL:
                    raise Problem("the plugin was updated: restart Neovim")
                self._images = order["images"]
                self._kernel = OneKernel(self._hear, self._died)
                self._spawn(self._start(order))
            elif order["do"] == "run":
                self._begin(order)
            elif order["do"] == "interrupt" and self._run:
                self._run.interrupt("interrupted")
        except Exception as problem:  # noqa: BLE001 - it is reported
            self._end(problem)

    async def _start(self, order: dict[str, Any]) -> None:
        info = await self._kernel.start(order)
        language = info.get("language_info", {})
        self.say(
            "started",
            kernel_pid=self._kernel.pid,
            language=language.get("name", ""),
            version=language.get("version", ""),
            implementation=f"{info.get('implementation', '')} {info.get('implementation_version', '')}",
            instead_of=self._kernel.instead_of,
        )

    def _begin(self, order: dict[str, Any]) -> None:
        if self._run:
            problem = "the kernel is busy"
        else:
            run = self._run = OneRun(order, self._images, self.say, self._interrupt, self._ended)
            try:
                run.began(self._kernel.execute(order["code"]))
                return
            except Exception as error:  # noqa: BLE001 - reported, and the kernel stays
                problem = f"{error}"
                run.forget()
                self._run = None
        self.say("done", id=order["id"], status="failed", message=problem, content=[], seconds=0)

    def _interrupt(self) -> None:
        self._spawn(self._kernel.interrupt())

    def _ended(self) -> None:
        self._run = None
        if self._kernel.is_dead:
            self.say("died")
            self._end()

    # The kernel's messages

    def _hear(self, message: dict[str, Any]) -> None:
        if self._run:
            self._run.hear(message)

    def _died(self) -> None:
        if self._run:
            self._run.died()
        else:
            self._ended()


async def main() -> None:
    out = os.dup(1)
    os.dup2(2, 1)  # a library's prints must not mix with the protocol
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, asyncio.current_task().cancel)
    bridge = Bridge(out)
    try:
        await bridge.serve()
    except Problem as problem:
        with contextlib.suppress(OSError):
            bridge.say("failed", message=str(problem))
    except OSError:
        pass  # the reader is gone


if __name__ == "__main__":
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(main())
