"""The other end of the bridge: what our mod inside a CLI says to Neovim, for tests with a stand-in for the CLI."""

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class Mod:
    """Speaks as the mod that a CLI was started with. The first one that uses its token owns it."""

    def __init__(self, started: dict[str, Any]) -> None:
        self.neovim = json.loads(started["mod"]["hooks/neovim.js"].partition("=")[2])
        self.name = f"mod-{started['pid']}"

    def post(self, body: object, token: str | None = None) -> tuple[int, str]:
        """Posts a message; returns the status and the text of the answer."""
        url = urlsplit(self.neovim["url"])
        connection = HTTPConnection(url.hostname or "", url.port, timeout=30)
        headers = {
            "Authorization": f"Bearer {token or self.neovim['token']}",
            "Content-Type": "application/json",
            "Mcp-Session-Id": self.name,
        }
        try:
            connection.request("POST", url.path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def call(self, name: str, /, **arguments: object) -> Any:
        """Calls a tool; returns what its answer's text says, None without one."""
        params = {"name": name, "arguments": arguments}
        status, text = self.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert status == 200, text
        answer = json.loads(text)
        assert "error" not in answer, answer
        content = answer["result"]["content"]
        return json.loads(content[0]["text"]) if content else None

    def next(self) -> dict[str, str] | None:
        """Waits for the next order."""
        return self.call("next")

    def done(self, order: dict[str, str], text: str = "", is_done: bool = True) -> None:
        """Reports what has become of an order."""
        self.call("report", event="done", id=order["id"], is_done=is_done, text=text)

    def serve(self, orders: Path, answers: Path) -> None:
        """Appends each order to a file, and answers it as the other file says: by its kind, `[is_done, text]`, or "silent"."""
        while True:
            if order := self.next():
                with orders.open("a") as file:
                    file.write(json.dumps(order) + "\n")
                answer = json.loads(answers.read_text()).get(order["op"]) if answers.exists() else None
                if answer != "silent":
                    is_done, text = answer or (True, "")
                    self.done(order, text, is_done)
