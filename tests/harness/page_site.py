"""A site that serves the page of `web/` and plays a session to it, as crates/web does: for frames that no real session
can be made to send in an instant, and for connections that drop.

The protocol is that of `:h claude-ide-web`; `tests/nvim/test_web_page.py` tests the page with the library itself.
"""

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from socket import SHUT_RDWR
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response
from websockets.sync.server import serve

from . import left

ROOT = Path(__file__).resolve().parents[2]
KINDS = {".css": "text/css", ".js": "text/javascript", ".html": "text/html"}
POLICY = re.search(  # the library's own, so that a page that needs more fails here too
    r'"content-security-policy",\s*"((?:[^"\\]|\\\n)*)"', (ROOT / "crates/web/src/answer.rs").read_text()
)[1]


class PageSite:
    """One session, `s`, written by the test, and all sockets that read it."""

    def __init__(self) -> None:
        self.lines: list[dict] = []
        self.listed = {"id": "s", "title": "The session", "cwd": "/p", "state": "idle", "updated": time.time() * 1000}
        self.state = {"type": "state", "state": "idle", "waitingFor": None}
        self.received: list[dict] = []
        """Frames from the page, except its login, its wish to write and its pings."""
        self.is_silent = False
        """Accepts connections, but answers nothing any more."""
        self.standing: Callable[[], list[dict]] = list
        """The frames for a new reader after the history: queued messages and pending decisions."""
        self.answers: Callable[[dict], list[dict]] = lambda frame: []  # noqa: ARG005
        """The frames sent to all readers in reply to a frame of the page."""
        self.may_write = True
        self.opened = 0
        self._sockets: dict = {}
        self._lock = threading.RLock()
        # No pings: only the test drops connections, not a busy machine.
        more = {"process_request": self._http, "compression": None, "ping_interval": None}
        self._server = serve(self._socket, "127.0.0.1", 0, **more)
        self.url = f"http://127.0.0.1:{self._server.socket.getsockname()[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.drop()
        self._server.shutdown()

    def append(self, *lines: dict) -> None:
        """Appends lines to the transcript and sends them."""
        with self._lock:
            self.lines += lines
            self.tell(*lines)

    def tell(self, *frames: dict) -> None:
        """Sends frames to all readers."""
        with self._lock:
            for frame in frames:
                for socket in list(self._sockets):
                    self._send(socket, frame)

    def tell_state(self, state: str, waiting_for: str | None = None) -> None:
        with self._lock:
            self.state |= {"state": state, "waitingFor": waiting_for}
            self.listed |= {"state": state, "waitingFor": waiting_for}
            for socket, writes in list(self._sockets.items()):
                self._send(socket, {**self.state, "canWrite": writes})

    def drop(self) -> None:
        """Cuts all connections, like a network failure."""
        with self._lock:
            sockets = list(self._sockets)
            self._sockets.clear()
        for socket in sockets:
            with contextlib.suppress(OSError):
                # Not closed: a thread blocked in a read would not notice.
                socket.socket.shutdown(SHUT_RDWR)

    def wait(self, is_so: Callable[[], object], what: str = ""):
        began = time.monotonic()
        while not (value := is_so()):
            assert left(began) > 0, f"{what}: heard {self.received[-5:]}"
            time.sleep(0.01)
        return value

    def _send(self, socket, frame) -> None:
        try:
            socket.send(json.dumps(frame))
        except (ConnectionClosed, OSError):
            self._sockets.pop(socket, None)

    def _http(self, connection, request):
        path = urlsplit(request.path).path
        if path.endswith("/subscribe"):
            return None
        if path.startswith("/api/"):
            return self._api(path, parse_qs(urlsplit(request.path).query))
        file = ROOT / "web" / (path.strip("/") or "index.html")
        if not file.is_file():
            return _answer(HTTPStatus.NOT_FOUND, "application/json", b'{"error":"Not found"}')
        return _answer(HTTPStatus.OK, KINDS[file.suffix], file.read_bytes())

    def _api(self, path: str, query: dict):
        if path == "/api/claude/sessions":
            answer = {"sessions": [self.listed]}
        elif path == "/api/claude/sessions/s":
            answer = self.listed
        elif path in ("/api/claude/sessions/s/messages", "/api/claude/sessions/t/messages"):
            # `t` continues `s` after /clear.
            names = [line.get("uuid") for line in self.lines] if "/s/" in path else []
            before = names.index(query["before"][0]) if names else 0
            first = max(0, before - int(query["limit"][0]))
            answer = {"messages": self.lines[first:before], "hasMore": first > 0}
        elif path == "/api/claude/sessions/s/agents":
            answer = {"agents": []}
        else:
            return _answer(HTTPStatus.NOT_FOUND, "application/json", b'{"error":"Session not found"}')
        return _answer(HTTPStatus.OK, "application/json", json.dumps(answer).encode())

    def _socket(self, socket) -> None:
        query = parse_qs(urlsplit(socket.request.path).query)
        with self._lock:
            self.opened += 1
            lines = self.lines
            if "fromUuid" in query:
                names = [line.get("uuid") for line in lines]
                uuid = query["fromUuid"][0]
                lines = lines[names.index(uuid) + 1 :]
                self._send(socket, {"type": "subscribed", "fromUuid": uuid, "found": True})
            elif "last" in query:
                lines = lines[-int(query["last"][0]) :]
                self._send(socket, {"type": "subscribed", "found": True})
            self._sockets[socket] = False
            for frame in [{**self.state, "canWrite": False}, *lines]:
                self._send(socket, frame)
            self._send(socket, {"type": "caught_up", "messages": len(self.lines)})
            for frame in self.standing():
                self._send(socket, frame)
        try:
            for text in socket:
                self._hear(socket, json.loads(text))
        except (ConnectionClosed, OSError):
            pass
        finally:
            with self._lock:
                self._sockets.pop(socket, None)

    def _hear(self, socket, frame: dict) -> None:
        with self._lock:
            if frame["type"] == "auth" or self.is_silent:
                pass
            elif frame["type"] == "ping":
                self._send(socket, {"type": "pong"})
            elif frame["type"] != "write":
                self.received.append(frame)
                self.tell(*self.answers(frame))
            elif socket not in self._sockets:
                pass  # it is being dropped
            elif self.may_write:
                self._sockets[socket] = frame["on"]
                self._send(socket, {"type": "writing", "on": frame["on"], "commands": False})
                self._send(socket, {**self.state, "canWrite": frame["on"]})
            else:
                reason = "writing is off: web.write"
                self._send(socket, {"type": "error", "error": "Not allowed", "reason": reason})


def _answer(status: HTTPStatus, kind: str, body: bytes) -> Response:
    headers = Headers(
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Content-Security-Policy": re.sub(r"\\\n\s*", "", POLICY),
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, body)
