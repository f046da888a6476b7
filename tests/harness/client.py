"""An MCP client over WebSocket that behaves like the CLI, for tests of the server alone.

Owns one connection and one reader thread. Answers `ping` and `roots/list` by itself.
"""

import contextlib
import itertools
import json
import os
import threading
import time
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as ws_connect

from . import LONGEST, PATIENCE, left

PROTOCOL_VERSION = "2025-11-25"


class RpcError(Exception):
    """A JSON-RPC error from the server."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.data = code, message, data


class ToolError(Exception):
    """A tool that ran and failed (`isError`)."""


class Client:
    def __init__(
        self,
        port: int,
        token: str | None,
        *,
        roots: list[str | Path] | None = None,
        path: str = "/",
        subprotocols: list[str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.roots = [str(root) for root in roots or []]
        self.notifications: list[dict[str, object]] = []
        self.requests: list[dict[str, object]] = []
        self.initialized: dict[str, object] | None = None
        self._ids = itertools.count(1)
        self._replies: dict[object, dict[str, object]] = {}
        self._changed = threading.Condition()
        self._closed = False
        sent = {"X-Claude-Code-Ide-Authorization": token} if token is not None else {}
        connecting = ws_connect(
            f"ws://127.0.0.1:{port}{path}",
            subprotocols=["mcp"] if subprotocols is None else subprotocols,
            additional_headers={**sent, **(headers or {})},
            user_agent_header="claude-code/2.1.329 (cli)",
            max_size=None,
            ping_interval=None,
            open_timeout=LONGEST,
            close_timeout=2,
            proxy=None,
        )
        self._socket = connecting.__enter__()  # ends in `close`, after any `with`
        self._reader = threading.Thread(target=self._read, name="mcp-client", daemon=True)
        self._reader.start()

    def initialize(self, **overrides: object) -> dict[str, object]:
        """Runs the MCP handshake and sends the pid, as the CLI does."""
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {"roots": {"listChanged": True}, "elicitation": {}},
            "clientInfo": {"name": "claude-code", "version": "2.1.329"},
            **overrides,
        }
        self.initialized = self.request("initialize", params)
        self.notify("notifications/initialized")
        self.notify("ide_connected", {"pid": os.getpid()})
        return self.initialized

    def request(self, method: str, params: object = None, timeout: float = PATIENCE) -> object:
        """Sends a request and returns its result; raises RpcError."""
        return self.result(self.send(method, params), timeout)

    def send(self, method: str, params: object = None) -> int:
        """Sends a request and returns its id without waiting."""
        request_id = next(self._ids)
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self._send(message if params is None else {**message, "params": params})
        return request_id

    def result(self, request_id: int, timeout: float = PATIENCE) -> object:
        """Waits for the response to a request; raises RpcError."""
        self._wait(lambda: request_id in self._replies, timeout, f"the answer to request {request_id}")
        reply = self._replies.pop(request_id)
        if error := reply.get("error"):
            raise RpcError(error["code"], error["message"], error.get("data"))
        return reply["result"]

    def answered(self, request_id: int) -> bool:
        """Whether a response has arrived that was not fetched yet."""
        with self._changed:
            return request_id in self._replies

    def tools(self) -> dict[str, dict[str, object]]:
        """The listed tools, by name."""
        return {tool["name"]: tool for tool in self.request("tools/list")["tools"]}

    def call(self, tool: str, /, *, timeout: float = PATIENCE, **args: object) -> list[str]:
        """Calls a tool and returns its text items; raises ToolError if the tool failed."""
        return self.call_result(self.start_call(tool, **args), timeout)

    def start_call(self, tool: str, /, **args: object) -> int:
        """Calls a tool without waiting (a diff, for instance); returns the request's id."""
        return self.send("tools/call", {"name": tool, "arguments": args})

    def call_result(self, request_id: int, timeout: float = PATIENCE) -> list[str]:
        """Waits for a started tool call and returns its text items; raises ToolError."""
        result = self.result(request_id, timeout)
        texts = [item["text"] for item in result["content"]]
        if result.get("isError"):
            raise ToolError("\n".join(texts))
        return texts

    def notify(self, method: str, params: object = None) -> None:
        """Sends a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        self._send(message if params is None else {**message, "params": params})

    def cancel(self, request_id: int, reason: str = "") -> None:
        """Cancels a request."""
        self.notify("notifications/cancelled", {"requestId": request_id, "reason": reason})

    def wait_notification(self, method: str, timeout: float = PATIENCE, match=lambda params: True) -> dict[str, object]:
        """Waits for a notification, removes it from the list and returns its params."""

        def find() -> int | None:
            for index, message in enumerate(self.notifications):
                if message["method"] == method and match(message.get("params", {})):
                    return index
            return None

        self._wait(lambda: find() is not None, timeout, f"the notification {method}")
        with self._changed:
            return self.notifications.pop(find()).get("params", {})

    def wait_closed(self, timeout: float = PATIENCE) -> tuple[int | None, str]:
        """Waits until the connection is closed; returns the server's code and reason."""
        self._wait(lambda: self._closed, timeout, "the connection to close", closed_is_fine=True)
        return self._socket.close_code, self._socket.close_reason or ""

    @property
    def closed(self) -> bool:
        return self._closed

    def drop(self) -> None:
        """Cuts the connection without a closing handshake, like a killed process."""
        with contextlib.suppress(OSError):
            self._socket.socket.shutdown(2)
        self._reader.join(2)

    def close(self) -> None:
        """Closes the connection; may be called twice."""
        with contextlib.suppress(OSError, ConnectionClosed):
            self._socket.close()
        self._reader.join(2)

    def _send(self, message: object) -> None:
        self._socket.send(json.dumps(message, ensure_ascii=False))

    def _wait(self, condition, timeout: float, what: str, *, closed_is_fine: bool = False) -> None:
        began = time.monotonic()
        with self._changed:
            while not condition():
                if self._closed and not closed_is_fine:
                    code, reason = self._socket.close_code, self._socket.close_reason
                    raise AssertionError(f"the connection closed ({code} {reason!r}) while waiting for {what}")
                if (patience := left(began, timeout)) <= 0:
                    seen = [message["method"] for message in self.notifications]
                    raise AssertionError(f"timed out after {timeout} s waiting for {what}; notifications: {seen}")
                self._changed.wait(patience)

    def _read(self) -> None:
        try:
            for data in self._socket:
                self._take(json.loads(data))
        except (ConnectionClosed, OSError):
            pass
        finally:
            with self._changed:
                self._closed = True
                self._changed.notify_all()

    def _take(self, message: dict[str, object]) -> None:
        with self._changed:
            if "method" not in message:
                self._replies[message.get("id")] = message
            elif "id" not in message:
                self.notifications.append(message)
            else:
                self.requests.append(message)
            self._changed.notify_all()
        if "method" in message and "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            match message["method"]:
                case "ping":
                    reply["result"] = {}
                case "roots/list":
                    reply["result"] = {"roots": [{"uri": f"file://{root}"} for root in self.roots]}
                case _:
                    reply["error"] = {"code": -32601, "message": "Method not found"}
            with contextlib.suppress(OSError, ConnectionClosed):
                self._send(reply)
