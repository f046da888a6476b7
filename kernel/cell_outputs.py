"""The outputs of one run in a notebook's format (nbformat 4), bounded.

Invariant: the JSON is the same as Jupyter's: sorted keys, one space per level, texts as lists of lines.
"""

from __future__ import annotations

import json
from typing import Any

MAX_OUTPUTS = 1000
MAX_BYTES = 16 << 20
"""For all displays together; an image counts as its base64."""
_SPLIT_TOO = ("application/javascript", "image/svg+xml")


def _lines(mime: str, value: Any) -> Any:
    is_text = isinstance(value, str) and (mime.startswith("text/") or mime in _SPLIT_TOO)
    return value.splitlines(True) if is_text else value


def _as_written(output: dict[str, Any]) -> dict[str, Any]:
    if "data" in output:
        return {**output, "data": {mime: _lines(mime, value) for mime, value in output["data"].items()}}
    if output["output_type"] == "stream":
        return {**output, "text": output["text"].splitlines(True)}
    return output


def _size(data: dict[str, Any]) -> int:
    return sum(len(value) if isinstance(value, str) else len(json.dumps(value)) for value in data.values())


class CellOutputs:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        self._outputs: list[dict[str, Any]] = []
        self._room, self._bytes, self._left_out = self._limit, MAX_BYTES, 0

    def stream(self, name: str, text: str) -> None:
        kept = text[: self._room]
        self._room -= len(kept)
        self._left_out += len(text) - len(kept)
        if kept:
            self._say(name, kept)

    def _say(self, name: str, text: str) -> None:
        last = self._outputs[-1] if self._outputs else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self._add({"output_type": "stream", "name": name, "text": text})

    def _add(self, output: dict[str, Any]) -> None:
        if len(self._outputs) < MAX_OUTPUTS:
            self._outputs.append(output)

    def _fits(self, data: dict[str, Any]) -> bool:
        size = _size(data)
        fits = size <= self._bytes
        if fits:
            self._bytes -= size
        return fits

    def display(self, data: dict[str, Any], metadata: dict[str, Any], result: int | None) -> dict[str, Any]:
        """Adds a displayed object, or the result of the last expression with the run's number. Returns it for `update`."""
        if not self._fits(data):
            data = {"text/plain": f"[… {', '.join(data)} of {_size(data):,} bytes left out …]"}
        output = {"output_type": "display_data", "data": data, "metadata": metadata}
        if result is not None:
            output = {**output, "output_type": "execute_result", "execution_count": result}
        self._add(output)
        return output

    def update(self, output: dict[str, Any], data: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Replaces a displayed object by a new version."""
        self._bytes += _size(output["data"])
        if self._fits(data):
            output.update(data=data, metadata=metadata)
        else:
            self._bytes -= _size(output["data"])

    def error(self, name: str, value: str, traceback: list[str]) -> None:
        kept = [line[: self._limit] for line in traceback]
        self._add({"output_type": "error", "ename": name, "evalue": value[: self._limit], "traceback": kept})

    def text(self) -> str:
        """The outputs as JSON."""
        outputs = list(map(_as_written, self._outputs))
        if self._left_out:
            note = f"[… {self._left_out:,} characters left out …]\n"
            outputs.append({"output_type": "stream", "name": "stderr", "text": [note]})
        return json.dumps(outputs, ensure_ascii=False, indent=1, sort_keys=True, separators=(",", ": "))
