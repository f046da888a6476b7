"""Collects the output of a run for an MCP client and a notebook: bounded, in order, without escape sequences.

Invariants: of any amount of text at most `limit` characters are kept, head and tail, and the rest is counted; at most
MAX_IMAGES images are kept; an image is never text.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections import deque
from collections.abc import Callable
from typing import Any

from cell_outputs import CellOutputs

MAX_IMAGES = 10
MAX_IMAGE_BYTES = 1_500_000
"""A larger image is saved and named: showing it would block Neovim for longer than a frame."""
MAX_SAVED_BYTES = 50_000_000
MAX_LINE = 64 * 1024
"""How long a line may grow before it counts as written. Until its end a later part may overwrite it, as in progress
bars.
"""

IMAGES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
"""Types that a model can see."""
TEXTS = ("text/markdown", "text/plain", "application/json", "text/latex", "image/svg+xml", "text/html")
"""In order: the first available says most in the fewest words."""

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_PLACEHOLDER = re.compile(r"^<IPython\.core\.display\.\w+ object>$")


def plain(text: str) -> str:
    """Without escape sequences."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def overwritten(line: str) -> str:
    """A line with carriage returns, as a terminal shows it."""
    line = line.rstrip("\r")
    return line.rsplit("\r", 1)[-1] if "\r" in line else line


def best_text(data: dict[str, Any]) -> str | None:
    """The text of a bundle of formats."""
    for mime in TEXTS:
        value = data.get(mime)
        if isinstance(value, list):
            value = "".join(map(str, value))
        if value is None or (mime == "text/plain" and _PLACEHOLDER.match(str(value).strip())):
            continue
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return data.get("text/plain")


class RunOutput:
    """Collects the output of a run. `tell` receives it as it arrives, within the same limits."""

    def __init__(self, limit: int, folder: str, name: str, tell: Callable[[dict[str, Any]], None]) -> None:
        self._limit, self._folder, self._name, self._tell = limit, folder, name, tell
        self._cells = CellOutputs(limit)
        self._lines = {"stdout": "", "stderr": ""}
        self._clear_next = False
        self._images = self._saved_bytes = 0
        self._begin()

    def _begin(self) -> None:
        self._content: list[dict[str, Any]] = []
        self._head = self._limit * 2 // 3
        self._tail: deque[str] = deque()
        self._tail_length = self._left_out = 0
        self._last_stream = "stdout"
        self._displays: dict[str, dict[str, Any]] = {}

    # The kernel's messages

    def stream(self, name: str, text: str) -> None:
        self._clear_if_asked()
        name = "stderr" if name == "stderr" else "stdout"
        if name != self._last_stream:
            self._end_line(self._last_stream)
        *whole, rest = (self._lines[name] + text).split("\n")
        if whole:
            self._say(name, "".join(overwritten(line.replace("\r\n", "\n")) + "\n" for line in whole))
        if len(rest) > MAX_LINE:
            self._say(name, overwritten(rest))
            rest = ""
        self._lines[name] = rest

    def display(
        self, data: dict[str, Any], metadata: dict[str, Any], result: int | None, display_id: str | None
    ) -> None:
        """Adds a displayed object, or the result of the last expression with the run's number."""
        self._clear_if_asked()
        self._end_lines()
        cell = self._cells.display(data, metadata, result)
        shown = self._show(data)
        if display_id:
            self._displays[display_id] = {"cell": cell, "shown": shown}

    def update_display(self, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None) -> None:
        """Replaces a displayed object by a new version."""
        earlier = self._displays.get(display_id or "")
        if not earlier:
            return
        self._cells.update(earlier["cell"], data, metadata)
        shown = earlier["shown"]
        text = best_text(data)
        if shown and shown["type"] == "text" and text and len(text) <= max(len(shown["text"]), 4096):
            shown["text"] = plain(text).rstrip("\n") + "\n"

    def page(self, data: dict[str, Any]) -> None:
        """Adds what a pager would show, such as the help of an object."""
        self._end_lines()
        self._show(data)

    def error(self, name: str, value: str, traceback: list[str]) -> None:
        self._clear_if_asked()
        self._end_lines()
        self._cells.error(name, value, traceback)
        self._text("\n".join(traceback) if traceback else f"{name}: {value}")

    def clear(self, wait: bool) -> None:
        if wait:
            self._clear_next = True
        else:
            self._clear()

    # Results

    def content(self) -> list[dict[str, Any]]:
        """MCP content blocks. Call it last: it closes open text."""
        self._end_lines()
        if self._tail:
            tail = "".join(self._tail)
            if self._left_out:
                tail = f"\n[… {self._left_out:,} characters left out …]\n{tail}"
            self._tail.clear()
            self._content.append({"type": "text", "text": tail})
            self._tell({"kind": "text", "text": tail})
        merged: list[dict[str, Any]] = []
        for item in self._content:
            if item["type"] == "text" and merged and merged[-1]["type"] == "text":
                merged[-1] = {"type": "text", "text": merged[-1]["text"] + item["text"]}
            else:
                merged.append(item)
        return merged

    def cells(self) -> str:
        """A notebook cell's outputs, as JSON. Call it after `content`."""
        return self._cells.text()

    # Helpers

    def _clear_if_asked(self) -> None:
        if self._clear_next:
            self._clear()

    def _clear(self) -> None:
        self._clear_next = False
        self._lines = {"stdout": "", "stderr": ""}
        self._cells.clear()
        self._images = 0
        self._begin()

    def _end_line(self, name: str) -> None:
        if self._lines[name]:
            rest, self._lines[name] = self._lines[name], ""
            self._say(name, overwritten(rest), ended=False)

    def _end_lines(self) -> None:
        self._end_line("stdout")
        self._end_line("stderr")

    def _say(self, name: str, text: str, ended: bool = True) -> None:
        text = plain(text)
        self._cells.stream(name, text)
        if name != self._last_stream:
            self._last_stream = name
            self._text(f"[{name}]\n")
        self._text(text, ended=ended)

    def _text(self, text: str, ended: bool = True) -> dict[str, Any] | None:
        """Keeps a text in the head while there is space, then in the tail."""
        text = plain(text)
        if ended and text and not text.endswith("\n"):
            text += "\n"
        item = None
        if self._head > 0:
            now, text = text[: self._head], text[self._head :]
            self._head -= len(now)
            item = {"type": "text", "text": now}
            self._content.append(item)
            self._tell({"kind": "text", "text": now})
        if text:
            self._tail.append(text)
            self._tail_length += len(text)
            room = self._limit - self._limit * 2 // 3
            while self._tail_length > room:
                first = self._tail.popleft()
                cut = min(self._tail_length - room, len(first))
                self._tail_length -= cut
                self._left_out += cut
                if cut < len(first):
                    self._tail.appendleft(first[cut:])
        return item

    def _show(self, data: dict[str, Any]) -> dict[str, Any] | None:
        for mime, extension in IMAGES.items():
            if mime in data:
                return self._image(mime, extension, data[mime])
        text = best_text(data)
        return self._text(text) if text else None

    def _image(self, mime: str, extension: str, encoded: Any) -> dict[str, Any] | None:
        encoded = "".join(encoded.split()) if isinstance(encoded, str) else "".join("".join(encoded).split())
        self._images += 1
        size = len(encoded) * 3 // 4
        if self._images > MAX_IMAGES or self._saved_bytes + size > MAX_SAVED_BYTES:
            return self._text(f"[{mime}, {size:,} bytes: left out, one of more than {MAX_IMAGES}]")
        try:
            raw = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return self._text(f"[{mime}: it cannot be read]")
        self._saved_bytes += len(raw)
        path = os.path.join(self._folder, f"{self._name}-{self._images}.{extension}")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(raw)
        self._tell({"kind": "image", "path": path, "mime": mime, "bytes": len(raw)})
        if len(raw) > MAX_IMAGE_BYTES:
            return self._text(f"[{mime}, {len(raw):,} bytes: too large to show, saved as {path}]")
        item = {"type": "image", "data": encoded, "mimeType": mime}
        self._content.append(item)
        return item
