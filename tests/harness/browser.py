"""A headless Chromium, driven over its DevTools protocol by the `websockets` package."""

import base64
import json
import os
import re
import subprocess
import time
from pathlib import Path

from websockets.sync.client import connect

from . import LONGEST, left

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CLAUDE_IDE_CHROMIUM", ROOT / ".deps" / "chromium" / "bin" / "chromium"))

GONE = (
    "Inspected target navigated or closed",
    "Execution context was destroyed",
    "Cannot find default execution context",
)
"""What Chromium says of an expression whose page was left before it had its value."""


class Browser:
    """A page in its own browser."""

    def __init__(self, folder: Path) -> None:
        log = folder / "stderr"
        with log.open("w") as stderr:
            self._process = self._start(folder, stderr)
        self._last = 0
        self.errors: list[str] = []
        self.network_may_fail = False
        """Whether refused requests and lost connections are no errors: the test causes them."""
        began = time.monotonic()
        while not (match := re.search(r"DevTools listening on (ws://\S+)", log.read_text())):
            assert left(began) > 0 and self._process.poll() is None, log.read_text()
            time.sleep(0.05)
        # No pings: a busy machine may be slow to answer.
        more = {"max_size": None, "open_timeout": LONGEST, "ping_interval": None, "compression": None, "legacy": True}
        self._socket = connect(match[1], **more)
        self._session: str | None = None
        self.context: str | None = None
        self.begin()

    def begin(self) -> None:
        """Opens a page that knows nothing of the one before: a site at a port that was used before finds no storage."""
        self._session = None
        if self.context:
            self.command("Target.disposeBrowserContext", browserContextId=self.context)
        self.context = self.command("Target.createBrowserContext")["browserContextId"]
        target = self.command("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.errors.clear()
        self.network_may_fail = False
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    @staticmethod
    def _start(folder: Path, stderr) -> subprocess.Popen:
        return subprocess.Popen(
            [
                PROGRAM,
                "--no-sandbox",  # root in a container has no sandbox
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            stderr=stderr,
        )

    def command(self, method: str, **params):
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=LONGEST))
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("sessionId") == self._session:
                self._note(answer)

    def _note(self, event) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            if params["entry"]["source"] == "network" and self.network_may_fail:
                return
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, url: str) -> None:
        self.command("Page.navigate", url=url)

    def reload(self) -> None:
        """Returns once the page before is gone."""
        self.js("pageBefore = true")
        self.command("Page.reload")
        self.wait("!window.pageBefore", "the page to make way for itself")

    def js(self, expression: str):
        """The value of an expression in the page; a promise is awaited."""
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if details := result.get("exceptionDetails"):
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def _js_of_any_page(self, expression: str):
        """The same; None while one page makes way for another."""
        try:
            return self.js(expression)
        except RuntimeError as error:
            if any(gone in str(error) for gone in GONE):
                return None
            raise

    def wait(self, expression: str, what: str = ""):
        """Waits until the expression is true; returns its value."""
        began = time.monotonic()
        while not (value := self._js_of_any_page(expression)):
            assert left(began) > 0, f"{what or expression}: {self.text()[-2000:]}\n{self.errors}"
            time.sleep(0.02)
        return value

    def text(self) -> str:
        return self.js("document.body.innerText")

    def key(self, key: str, *, shift: bool = False) -> None:
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, text=text, modifiers=8 if shift else 0)

    def type(self, text: str) -> None:
        """Types text into the focused element, in one go."""
        self.command("Input.insertText", text=text)

    def before_pages(self, script: str) -> None:
        """Runs a script in each page before the page's own."""
        self.command("Page.addScriptToEvaluateOnNewDocument", source=script)

    def size(self, width: int, height: int, *, mobile: bool = False) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile
        )

    def picture(self) -> bytes:
        return base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._socket.close()
