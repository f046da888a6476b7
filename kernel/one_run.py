"""One run of code in a kernel, from the request to its answer.

Invariants: it reports `done` once: when the kernel has answered and all output has arrived, when the kernel is dead, or
when the code ignores an interrupt. In that case it reports `free` once the code ends.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import run_output

LAST_OUTPUT_SECONDS = 2
"""How long an answered run may take to report its output as complete; a kernel may drop that under load."""
STUBBORN_SECONDS = 5
"""How long an interrupt may take."""
INTERRUPT_SECONDS = 1.5
"""Between two interrupts: one that comes while IPython formats the traceback of the last replaces it by a line."""
BEGIN_SECONDS = 1
"""How long an interrupt waits for the code to begin: ipykernel loses a request that is interrupted earlier."""
SETTLE_SECONDS = 0.1
"""From the kernel's report of the beginning to the code itself."""


class OneRun:
    def __init__(
        self,
        order: dict[str, Any],
        images: str,
        say: Callable[..., None],
        interrupt: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._id, self._keep = order["id"], order.get("keep", False)
        self._say, self._send_interrupt, self._ended = say, interrupt, ended
        self._output = run_output.RunOutput(
            order["limit"], images, f"{os.getpid()}-{self._id}", lambda piece: say("output", id=self._id, **piece)
        )
        self._loop = asyncio.get_running_loop()
        self._message: str | None = None
        self._reply: dict[str, Any] | None = None
        self._is_idle = self._is_reported = self._has_begun = False
        self._why: str | None = None
        self._insists_until: float | None = None
        self._began = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        if order["timeout"]:
            self._timer = self._loop.call_later(order["timeout"], self.interrupt, "timeout")

    def began(self, message: str) -> None:
        """The request was sent with this id."""
        self._message = message

    def forget(self) -> None:
        """The request was never sent."""
        self._wait(None)

    def _wait(self, timer: asyncio.TimerHandle | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = timer

    # Events

    def hear(self, message: dict[str, Any]) -> None:
        """Handles a message of the kernel, of this run or an earlier one."""
        if message["parent_header"].get("msg_id") != self._message:
            return
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "execute_reply":
            self._answered(content)
        elif kind == "status":
            if content.get("execution_state") == "idle":
                self._is_idle = True
                if self._reply is not None:
                    self._finish()
        elif kind == "execute_input":
            self._loop.call_later(SETTLE_SECONDS, self._begins)
        elif not self._is_reported:
            self._take(kind, content)

    def _take(self, kind: str, content: dict[str, Any]) -> None:
        output = self._output
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

    def _answered(self, content: dict[str, Any]) -> None:
        self._reply = content
        if self._is_reported:
            self._say("free", id=self._id)
            self._ended()
        elif self._is_idle:
            self._finish()
        else:
            self._wait(self._loop.call_later(LAST_OUTPUT_SECONDS, self._finish))

    def died(self) -> None:
        if self._is_reported:
            self._ended()
        else:
            self._finish("died")

    def _begins(self) -> None:
        self._has_begun = True
        if self._why:
            self.interrupt(self._why)

    def interrupt(self, why: str) -> None:
        """Interrupts repeatedly: the code may ignore one."""
        if self._reply is not None or self._is_reported:
            return
        now = self._loop.time()
        is_first = self._why is None
        self._why = self._why or why
        if is_first and not self._has_begun:
            return self._wait(self._loop.call_later(BEGIN_SECONDS, self.interrupt, why))
        self._insists_until = self._insists_until or now + STUBBORN_SECONDS
        if now < self._insists_until:
            self._send_interrupt()
            self._wait(self._loop.call_later(INTERRUPT_SECONDS, self.interrupt, why))
        else:
            self._finish("stubborn")
        return None

    def _finish(self, status: str | None = None) -> None:
        if self._is_reported:
            return
        self._is_reported = True
        self._wait(None)
        reply = self._reply or {}
        for payload in reply.get("payload") or []:
            if payload.get("source") == "page":  # what `obj?` shows; it is no output of the cell
                self._output.page(payload.get("data") or {})
        self._say(
            "done",
            id=self._id,
            status=status or self._why or reply.get("status", "error"),
            error=reply.get("ename"),
            count=reply.get("execution_count"),
            seconds=round(self._loop.time() - self._began, 3),
            content=self._output.content(),
            **({"outputs": self._output.cells()} if self._keep else {}),
        )
        if status != "stubborn":
            self._ended()
