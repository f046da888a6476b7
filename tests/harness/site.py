"""A writing client of the page's socket: receives frames in order until a given one."""

import json
import time
import urllib.request

from websockets.sync.client import connect as open_socket

from . import LONGEST, left


class Reader:
    def __init__(self, site, session, query=""):
        self.frames = []
        self.connection = open_socket(
            f"ws://{site.at}/api/claude/sessions/{session}/subscribe{query}",
            additional_headers=site.headers,
            open_timeout=LONGEST,
            ping_interval=None,  # a busy machine may answer slowly
            max_size=None,
            compression=None,
        )

    def __enter__(self):
        self.socket = self.connection.__enter__()
        return self

    def __exit__(self, *why):
        self.connection.__exit__(*why)

    def say(self, **frame):
        self.socket.send(json.dumps(frame))

    def until(self, matches, what="a frame"):
        """Reads on to the first frame that matches; a dict matches by its fields."""
        if isinstance(matches, dict):
            wanted = matches
            what = str(wanted)

            def matches(frame):
                return all(frame.get(key) == value for key, value in wanted.items())

        began = time.monotonic()
        seen = []
        while (patience := left(began)) > 0:
            try:
                frame = json.loads(self.socket.recv(timeout=patience))
            except TimeoutError:
                break
            self.frames.append(frame)
            seen.append(frame)
            if matches(frame):
                return frame
        tail = [str(frame)[:300] for frame in seen[-30:]]
        raise AssertionError(f"no {what} came, but: {tail}")

    def once(self, matches, what="a frame"):
        """The first matching frame, already received or still to come."""
        return next((frame for frame in self.frames if matches(frame)), None) or self.until(matches, what)

    def of_type(self, kind):
        return [frame for frame in self.frames if frame.get("type") == kind]


class Site:
    """A Neovim's page, for a client with its token."""

    def __init__(self, nvim):
        self.nvim = nvim
        nvim.lua("assert(Ide.web.start())")
        self.info = nvim.lua("return Ide.web.info()")
        self.at = f"127.0.0.1:{self.info['port']}"
        self.headers = {"Authorization": f"Bearer {self.info['token']}"}

    def get(self, path, headers=None):
        headers = self.headers if headers is None else headers
        request = urllib.request.Request(f"http://{self.at}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=LONGEST) as answer:
            return json.load(answer)

    def has(self, session):
        try:
            self.get(f"/api/claude/sessions/{session}")
        except OSError:
            return False
        return True

    def read(self, session, query=""):
        return Reader(self, session, query)
