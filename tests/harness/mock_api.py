"""A stand-in for the Messages API on loopback, so that the real CLI runs without an account.

The model is a script (see `scripted_model`); `script()` queues replies that take precedence over prompts. Requests are
kept in `requests`. Wire format: Anthropic Messages API, streaming and not; `other_apis` has those of other agents.
"""

import json
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .other_apis import OTHERS
from .scripted_model import Reply, scripted_by_prompt

_USAGE = {"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        """A client may end at any time: no trace of that on the screen of a demo."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class MockApi:
    """The server; listens from construction to `close`.

    `model` makes the reply from a conversation's messages; by default the prompts are the script.
    """

    def __init__(self, model: Callable[[list[dict[str, object]]], Reply] | None = None) -> None:
        self._model = model or scripted_by_prompt
        self.requests: list[dict[str, object]] = []
        self.headers: dict[str, str] = {}
        """Sent with each answer."""
        self.usage = dict(_USAGE)
        """The token usage that each answer reports."""
        self.delay = 0.0
        """Seconds that each answer of the model takes."""
        self.paused = False
        """While true, answers of the model wait."""
        self._scripted: list[Reply] = []
        self._failures: list[tuple[int, str]] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, *replies: Reply) -> None:
        """Queues replies for the next turns; they take precedence over prompts."""
        with self._lock:
            self._scripted += replies

    def drop_script(self) -> None:
        """Forgets the queued replies, of a turn that ended before them."""
        with self._lock:
            self._scripted.clear()

    def fail(self, status: int, kind: str, *, times: int = 1) -> None:
        """Makes the next requests of the conversation fail with that status and error type."""
        with self._lock:
            self._failures += [(status, kind)] * times

    def recover(self) -> None:
        """Ends the failures."""
        with self._lock:
            self._failures.clear()

    def conversation(self) -> list[dict[str, object]]:
        """The messages of the latest request with tools (requests without are the CLI's housekeeping)."""
        with self._lock:
            bodies = [body for body in self.requests if body.get("tools")]
        return bodies[-1]["messages"] if bodies else []

    def turns(self) -> int:
        """Number of requests to the model, without the CLI's housekeeping."""
        with self._lock:
            return sum(bool(body.get("tools")) for body in self.requests)

    def seen(self, text: str) -> bool:
        """Whether the latest conversation contains this text."""
        return text in json.dumps(self.conversation(), ensure_ascii=False)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take_time(self) -> None:
        time.sleep(self.delay)
        while self.paused:
            time.sleep(0.01)

    def _failure(self, body: dict[str, object]) -> tuple[int, str] | None:
        with self._lock:
            return self._failures.pop(0) if self._failures and body.get("tools") else None

    def _reply(self, body: dict[str, object]) -> Reply:
        with self._lock:
            self.requests.append(body)
            if not body.get("tools"):
                return Reply("Mock")
            if self._scripted:
                return self._scripted.pop(0)
        return self._model(body["messages"])

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                raw = self.rfile.read(length)
                path = self.path.partition("?")[0]
                if path.endswith("/count_tokens"):
                    self._answer({"input_tokens": 10})
                elif path == "/v1/messages":
                    body = json.loads(raw)
                    if failure := api._failure(body):
                        status, kind = failure
                        self._answer({"type": "error", "error": {"type": kind, "message": f"mock {kind}"}}, status)
                        return
                    api._take_time()
                    reply = api._reply(body)
                    message = _message(body.get("model", "mock"), reply, api.usage)
                    if reply.pieces is not None:
                        self._stream_as_said(_events(message, reply.pieces))
                    elif body.get("stream"):
                        self._stream(_events(message))
                    else:
                        self._answer(message)
                elif other := next((api for api in OTHERS if api.serves(path)), None):
                    body = json.loads(raw)
                    body["messages"] = other.messages(body)
                    api._take_time()
                    self._stream(other.events(body.get("model", "mock"), api._reply(body)))
                else:
                    self._answer({})

            def do_GET(self) -> None:
                self._answer({})

            def do_HEAD(self) -> None:
                self._answer({})

            def end_headers(self) -> None:
                for name, value in api.headers.items():
                    self.send_header(name, value)
                super().end_headers()

            def _answer(self, value: object, status: int = 200) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            def _stream(self, events: Iterable[dict[str, object]]) -> None:
                data = "".join(map(_sent, events))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(data.encode())))
                self.end_headers()
                self.wfile.write(data.encode())

            def _stream_as_said(self, events: Iterable[dict[str, object]]) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for event in map(_sent, events):
                    data = event.encode()
                    self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_args: object) -> None:
                """Keeps standard error for the tests' own messages."""

        return Handler


def _message(model: str, reply: Reply, usage: dict[str, int]) -> dict[str, object]:
    return {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": reply.content(),
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _sent(event: dict[str, object]) -> str:
    return (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"


def _events(message: dict[str, object], pieces: Iterable[str] = ()):
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        elif block["type"] == "thinking":
            start = {**block, "thinking": "", "signature": ""}
            delta = {"type": "thinking_delta", "thinking": block["thinking"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for piece in pieces if block["type"] == "text" else ():
            yield {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        if block["type"] == "thinking":
            signature = {"type": "signature_delta", "signature": block["signature"]}
            yield {"type": "content_block_delta", "index": index, "delta": signature}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}
