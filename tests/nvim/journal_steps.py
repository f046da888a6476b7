"""A CLI with a session record and a transcript written by the test, which also decides what the CLI announces."""

import contextlib
import json
import os
import uuid
from datetime import UTC, datetime, timedelta

from session_files import Sessions

from harness.files import text_of


class Claude:
    """Writes a transcript and talks to the server, like the CLI."""

    def __init__(self, nvim, connect, stored=True):
        self.nvim, self.project, self.session = nvim, nvim.project, str(uuid.uuid4())
        self.files, self.parent, self.pending = Sessions(nvim.home), None, None
        self.path = self.files.path(nvim.project, self.session)
        if stored:
            self.path.write_text("")
        self.record("idle")
        self.client = connect(nvim)
        nvim.wait("(Ide.sessions.of_client(1) or {}).id ~= nil", what="the session to be known")

    def record(self, status):
        self.files.record(os.getpid(), self.session, status, self.project)

    def prompt(self, announced=True):
        if announced:
            self.client.call("closeAllDiffTabs")
        self.line("user", message={"role": "user", "content": "do it"})

    def line(self, kind, *, age=timedelta(), **more):
        entry = {
            "parentUuid": self.parent, "isSidechain": False, "type": kind, "uuid": str(uuid.uuid4()), "sessionId": self.session,
            "timestamp": (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
            "cwd": str(self.project), "version": "2.1.329", **more,
        }  # fmt: skip
        self.parent = entry["uuid"]
        self.write(json.dumps(entry) + "\n")

    def write(self, text):
        if self.pending is not None:
            self.pending += text
            return
        with open(self.path, "a") as transcript:
            transcript.write(text)

    @contextlib.contextmanager
    def at_once(self):
        """Writes everything in one go, so that it is read in one."""
        self.pending = ""
        yield
        text, self.pending = self.pending, None
        self.write(text)

    def called(self, name, *, age=timedelta(), tool="Edit", **more):
        """The transcript gets a call, without its result."""
        id = f"toolu_{uuid.uuid4().hex[:12]}"
        block = {"type": "tool_use", "id": id, "name": tool, "input": {"file_path": str(self.project / name), **more}}
        message = {"id": id, "role": "assistant", "model": "m", "content": [block], "stop_reason": "tool_use"}
        self.line("assistant", age=age, message=message)
        return id

    def ran(self, id, *, age=timedelta(), **outcome):
        """The call of the shell has its result."""
        result = {"type": "tool_result", "tool_use_id": id, "content": "ok"}
        self.line(
            "user", age=age, message={"role": "user", "content": [result]}, toolUseResult={"stdout": "", **outcome}
        )

    def failed(self, id, words, *, age=timedelta(), denied=False, interrupted=False):
        """The call failed."""
        result = {"type": "tool_result", "tool_use_id": id, "content": words, "is_error": True}
        more = {"toolDenialKind": "user-rejected"} if denied or interrupted else {}
        if denied:
            more["toolDenialBeforeRun"] = True
        message = {"role": "user", "content": [result]}
        self.line("user", age=age, message=message, toolUseResult=f"Error: {words}", **more)

    def edited(self, name, old, new, before, *, user_modified=False, age=timedelta(), more=""):
        """The transcript gets a successful Edit."""
        self.succeeded(
            self.called(name, age=age, more=more), name, old, new, before, user_modified=user_modified, age=age
        )

    def succeeded(self, tool, name, old, new, before="", *, user_modified=False, age=timedelta()):
        """The call changed the file."""
        path = str(self.project / name)
        result = {"type": "tool_result", "tool_use_id": tool, "content": "ok"}
        outcome = {
            "filePath": path, "oldString": old, "newString": new, "originalFile": before, "structuredPatch": [],
            "userModified": user_modified, "replaceAll": False,
        }  # fmt: skip
        self.line("user", age=age, message={"role": "user", "content": [result]}, toolUseResult=outcome)

    def edit(self, name, old, new, *, announce=False, tell=True):
        path = self.project / name
        before = path.read_text()
        if announce:
            self.client.call("getDiagnostics", uri=f"file://{path}")
        temporary = path.with_suffix(".tmp")  # atomically, like the CLI
        temporary.write_text(before.replace(old, new, 1))
        temporary.rename(path)
        if tell:
            self.edited(name, old, new, before)

    def changes(self, scope="unreviewed"):
        found = self.nvim.lua("return Ide.journal.changes(...)", scope)
        return {os.path.basename(change["path"]): change for change in found}

    def wait(self, **expected):
        """Waits until files have these counts of added and removed lines."""
        expected = {name.replace("_", "."): counts for name, counts in expected.items()}

        def found():
            return {name: (change["added"], change["removed"]) for name, change in self.changes().items()}

        self.nvim.wait(lambda: found() == expected, what=f"{expected}")

    def text(self, name):
        return text_of(self.project / name)
