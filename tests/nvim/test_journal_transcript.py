"""What a session's transcript tells of edits: alone, and together with what was announced or found otherwise."""

import contextlib
import json
import os
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from session_files import Sessions

pytestmark = pytest.mark.dealt

A = "one\ntwo\nthree\nfour\nfive\n"


class Claude:
    """A CLI whose session record and transcript are there; what it announces is up to the test."""

    def __init__(self, nvim, connect):
        self.nvim, self.project, self.session = nvim, nvim.project, str(uuid.uuid4())
        self.files, self.parent, self.held = Sessions(nvim.home), None, None
        self.path = self.files.path(nvim.project, self.session)
        self.path.write_text("")
        self.record("idle")
        self.client = connect(nvim)
        nvim.wait("(require('claude-ide.sessions').of_client(1) or {}).id ~= nil", what="the session to be known")

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
        if self.held is not None:
            self.held += text
            return
        with open(self.path, "a") as transcript:
            transcript.write(text)

    @contextlib.contextmanager
    def at_once(self):
        """What is told meanwhile is written in one go, so that it is read in one."""
        self.held = ""
        yield
        text, self.held = self.held, None
        self.write(text)

    def told(self, name, old, new, before, *, user_modified=False, age=timedelta(), more=""):
        """The transcript tells of an Edit."""
        tool = f"toolu_{uuid.uuid4().hex[:12]}"
        path = str(self.project / name)
        block = {"type": "tool_use", "id": tool, "name": "Edit", "input": {"file_path": path, "more": more}}
        self.line(
            "assistant",
            age=age,
            message={"id": tool, "role": "assistant", "model": "m", "content": [block], "stop_reason": "tool_use"},
        )
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
        temporary = path.with_suffix(".tmp")  # as the CLI writes: whole, or not at all
        temporary.write_text(before.replace(old, new, 1))
        temporary.rename(path)
        if tell:
            self.told(name, old, new, before)

    def changes(self, scope="unreviewed"):
        found = self.nvim.lua("return require('claude-ide.journal').changes(...)", scope)
        return {os.path.basename(change["path"]): change for change in found}

    def wait(self, **expected):
        """Waits until files have so many lines added and removed."""
        expected = {name.replace("_", "."): counts for name, counts in expected.items()}

        def found():
            return {name: (change["added"], change["removed"]) for name, change in self.changes().items()}

        self.nvim.wait(lambda: found() == expected, what=f"{expected}")

    def undo(self):
        return self.nvim.lua("return require('claude-ide.journal').undo_turn()")

    def text(self, name):
        path = self.project / name
        return path.read_text() if path.exists() else None


@pytest.fixture
def claude(start_nvim, connect):
    return Claude(start_nvim(files={"a.txt": A, "b.txt": "b\n"}), connect)


def test_an_edit_that_nobody_announced_is_known_and_undone(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    assert claude.changes()["a.txt"]["source"] == "transcript"
    (result,) = claude.undo()
    assert result["ok"]
    assert claude.text("a.txt") == A


def test_a_client_that_tells_nothing_at_all_is_followed_by_its_transcript(claude):
    claude.record("busy")
    claude.prompt(announced=False)
    claude.edit("a.txt", "two", "TWO")
    claude.edit("a.txt", "four", "FOUR")
    claude.wait(a_txt=(2, 2))
    claude.undo()
    assert claude.text("a.txt") == A


def test_what_was_announced_is_not_counted_twice(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.edit("a.txt", "four", "FOUR", announce=True)
    claude.edit("b.txt", "b", "B", announce=True)
    claude.client.call("getDiagnostics")
    claude.edit("a.txt", "one", "ONE")  # a sign that the transcript was read to its end
    claude.wait(a_txt=(3, 3), b_txt=(1, 1))
    (turn,) = claude.nvim.lua("return require('claude-ide.journal').turns()")
    assert sorted(os.path.basename(path) for path in turn["files"]) == ["a.txt", "b.txt"]
    claude.undo()
    assert (claude.text("a.txt"), claude.text("b.txt")) == (A, "b\n")


def test_without_the_transcript_what_was_announced_is_known(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO", announce=True, tell=False)
    claude.wait(a_txt=(1, 1))


def test_an_announcement_that_came_after_the_edit_does_no_harm(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO", tell=False)
    claude.client.call("getDiagnostics", uri=f"file://{claude.project / 'a.txt'}")
    assert claude.changes() == {}
    claude.told("a.txt", "two", "TWO", A)
    claude.wait(a_txt=(1, 1))
    claude.undo()
    assert claude.text("a.txt") == A


def test_edits_after_a_review_are_added_and_what_was_kept_stays(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    claude.nvim.lua("require('claude-ide.journal').keep(...)", str(claude.project / "a.txt"))
    claude.prompt()
    claude.edit("a.txt", "four", "FOUR")
    claude.wait(a_txt=(1, 1))
    claude.undo()
    assert claude.text("a.txt") == A.replace("two", "TWO")


def test_what_the_person_changed_between_two_edits_stays(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    claude.nvim.cmd("edit a.txt")
    claude.nvim.keys("Gomine<Esc>:w<CR>")
    claude.nvim.wait(lambda: claude.text("a.txt").endswith("mine\n"), what="the person's line on disk")
    claude.edit("a.txt", "four", "FOUR")
    claude.wait(a_txt=(2, 2))
    claude.undo()
    assert claude.text("a.txt") == A + "mine\n"


def test_a_proposal_that_the_person_changed_needs_no_review(claude):
    claude.prompt()
    (claude.project / "a.txt").write_text(A.replace("two", "TWO, said I"))
    claude.told("a.txt", "two", "TWO, said I", A, user_modified=True)
    claude.nvim.wait("#require('claude-ide.journal').changes('all') == 1")
    assert claude.changes() == {}


def test_edits_of_before_are_nobodys(claude):
    claude.prompt()
    claude.told("b.txt", "a", "b", "a\n", age=timedelta(hours=1))
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))


def test_ends_of_line_are_those_of_the_file(claude):
    path = claude.project / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    claude.prompt()
    path.write_bytes(b"\xef\xbb\xbfone\r\nTWO\r\n")
    claude.told("a.txt", "two", "TWO", "one\ntwo\n")
    claude.wait(a_txt=(1, 1))
    claude.undo()
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\n"


def test_edits_of_a_subagent_are_found(claude):
    claude.prompt()
    folder = claude.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    main, parent = claude.path, claude.parent
    claude.path, claude.parent = folder / "agent-1.jsonl", None
    claude.line("user", message={"role": "user", "content": "as told"})
    claude.edit("a.txt", "two", "TWO")
    claude.path, claude.parent = main, parent
    claude.line("user", message={"role": "user", "content": "go on"})
    claude.wait(a_txt=(1, 1))


def test_of_many_subagents_only_those_that_run_are_followed(claude):
    """Each transcript that is followed costs a place and a reader."""
    claude.nvim.lua("""
      opened = {}
      local sessions = require("claude-ide.sessions")
      local open = sessions.open
      sessions.open = function(file, ...)
        opened[#opened + 1] = vim.fs.basename(file)
        return open(file, ...)
      end
    """)
    folder = claude.path.with_suffix("") / "subagents"
    before = folder.with_name("before")
    before.mkdir(parents=True)
    for number in range(100):
        done = before / f"agent-done{number}.jsonl"
        done.write_text("{}\n")
        os.utime(done, (1_700_000_000, 1_700_000_000))
    before.rename(folder)  # at once: none of them is seen while it is written
    main, parent = claude.path, claude.parent
    claude.path, claude.parent = folder / "agent-runs.jsonl", None
    claude.line("user", message={"role": "user", "content": "as told"})
    claude.edit("a.txt", "two", "TWO")
    claude.path, claude.parent = main, parent
    claude.prompt()
    claude.wait(a_txt=(1, 1))
    assert set(claude.nvim.lua("return opened")) - {main.name} == {"agent-runs.jsonl"}


def test_a_transcript_that_is_only_begun_with_the_first_prompt_is_found(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": A})
    claude = Claude(nvim, connect)
    claude.path.unlink()
    claude.session = str(uuid.uuid4())  # as after /clear
    claude.path = claude.files.path(nvim.project, claude.session)
    claude.record("busy")
    nvim.wait(lambda: nvim.lua("return require('claude-ide.sessions').of_client(1).id") == claude.session)
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.record("idle")
    claude.wait(a_txt=(1, 1))


@pytest.mark.slow
def test_each_edit_of_a_long_turn_is_asked_for_once(claude):
    claude.nvim.lua("""
      asked = { edit_texts = 0, bytes = 0 }
      local transport = require("claude-ide.sessions.transport")
      local request = transport.request
      transport.request = function(what, hear)
        local question = what.ask and next(what.ask.question)
        local reply = hear.reply
        return request(what, vim.tbl_extend("force", hear, {
          reply = function(result, err)
            if question then
              asked[question] = (asked[question] or 0) + 1
              asked.bytes = asked.bytes + #vim.json.encode(result or "")
            end
            reply(result, err)
          end,
        }))
      end
    """)
    claude.prompt()
    for batch in range(12):
        for number in range(5):
            name = f"{batch}-{number}.txt"
            (claude.project / name).write_text("new\n")
            claude.told(name, "old", "new", "old\n", more="x" * 20000)
        claude.nvim.wait(lambda batch=batch: len(claude.changes()) == 5 * batch + 5, what="the batch to be known")
    asked = claude.nvim.lua("return asked")
    assert asked["edit_texts"] == 60
    assert asked["bytes"] < 60 * 1000, asked


def test_edits_of_one_file_that_only_the_transcript_tells_of_are_one_step(claude):
    claude.prompt()
    text, word = A, "three"
    for batch in range(3):
        with claude.at_once():
            for number in range(50):
                new = f"three {50 * batch + number}"
                before, text = text, text.replace(word, new)
                claude.told("a.txt", word, new, before)
                word = new
            (claude.project / "a.txt").write_text(text)
        claude.nvim.wait(
            lambda text=text: claude.changes().get("a.txt", {}).get("after") == text, what="the edits to be known"
        )
    claude.wait(a_txt=(1, 1))
    assert claude.nvim.lua("return #require('claude-ide.journal.history').all()[1].steps") < 10
    claude.undo()
    assert claude.text("a.txt") == A
