"""Changes by shell commands: found by checkpoints of the work tree that touch nothing of the person's repository."""

import hashlib
import json
import os
import subprocess

import pytest

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

TEXT = "".join(f"line {i}\n" for i in range(1, 21))


def git(project, *args):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *args]
    return subprocess.run(command, cwd=project, check=True, capture_output=True, text=True).stdout


def fingerprint(folder):
    """Every file below a folder, with its bytes and times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (stat.st_mtime_ns, stat.st_ino, content)
    return found


class Session:
    """A CLI with a status file, in a repository with a commit."""

    def __init__(self, nvim, connect):
        self.nvim, self.project = nvim, nvim.project
        self.status_file = nvim.home / ".claude" / "sessions" / f"{os.getpid()}.json"
        self.status_file.parent.mkdir(parents=True)
        self.status("idle")
        self.client = connect(nvim)
        nvim.wait("require('claude-ide.server').clients()[1].pid ~= nil")

    def status(self, word):
        new = self.status_file.with_suffix(".tmp")
        new.write_text(json.dumps({"sessionId": "x", "status": word}))
        new.replace(self.status_file)

    def prompt(self):
        """Submits a prompt, and waits for the checkpoint of its start."""
        self.nvim.lua("""
          if not taken then
            taken = 0
            local checkpoint = require("claude-ide.journal.checkpoint")
            local take = checkpoint.take
            local file = require("claude-ide.file")
            local read = file.read_later
            file.read_later = function(path, max, done)
              read(path, max, function(bytes, ...) done(bytes, ...) busy = busy or (bytes or ""):find("busy") ~= nil end)
            end
            checkpoint.take = function(folder, done)
              take(folder, function(...) done(...) taken = taken + 1 last = ... end)
            end
          end
          before, busy = taken, false
        """)
        self.client.call("closeAllDiffTabs")
        self.status("busy")
        self.nvim.wait("taken > before and busy")

    def changes(self, scope="unreviewed"):
        return self.nvim.lua("return require('claude-ide.journal').changes(...)", scope)

    def finish(self):
        self.client.call("getDiagnostics")


@pytest.fixture
def session(start_nvim, connect):
    nvim = start_nvim(
        args=["a.txt"],
        opts={"log": {"level": "debug"}},
        files={"a.txt": TEXT, "b.txt": "b\n", "gone.txt": "gone\n", ".gitignore": "*.log\n", "x.log": "log\n"},
    )
    git(nvim.project, "init", "-q")
    git(nvim.project, "add", "-A")
    git(nvim.project, "commit", "-qm", "first")
    return Session(nvim, connect)


def test_what_a_shell_command_changed_is_found_and_taken_back(session):
    project = session.project
    (project / "b.txt").write_text("not committed\n")
    (project / "untracked.txt").write_text("old\n")
    session.prompt()
    subprocess.run(
        "sed -i s/committed/COMMITTED/ b.txt; echo new > untracked.txt; rm gone.txt; echo m > made.txt; echo m > y.log",
        shell=True,
        cwd=project,
        check=True,
    )
    session.status("idle")
    session.nvim.wait("#require('claude-ide.journal').changes() == 4")
    changes = {os.path.basename(change["path"]): change for change in session.changes()}
    assert {name: change["kind"] for name, change in changes.items()} == {
        "b.txt": "modified", "gone.txt": "deleted", "made.txt": "created", "untracked.txt": "modified",
    }  # fmt: skip
    assert {change["source"] for change in changes.values()} == {"checkpoint"}
    assert changes["b.txt"]["before"] == "not committed\n"
    results = session.nvim.lua("return require('claude-ide.journal').undo_turn()")
    assert all(result["ok"] for result in results), results
    assert (project / "b.txt").read_text() == "not committed\n"
    assert (project / "untracked.txt").read_text() == "old\n"
    assert (project / "gone.txt").read_text() == "gone\n"
    assert not (project / "made.txt").exists()
    assert session.changes() == []


def test_nothing_of_the_persons_repository_is_touched(session):
    project = session.project
    hook = project / ".git" / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o755)
    git(project, "config", "core.fsmonitor", f"touch {project}/monitor-ran; false")
    git(project, "config", "filter.loud.clean", f"touch {project}/filter-ran; cat")
    (project / ".git" / "info" / "attributes").write_text("b.txt filter=loud\n")
    (project / "b.txt").write_text("staged\n")
    subprocess.run(
        [
            "git",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "filter.loud.clean=",
            "add",
            "b.txt",
        ],
        cwd=project,
        check=True,
    )
    (project / "b.txt").write_text("not staged\n")
    before = fingerprint(project)
    session.prompt()
    assert session.nvim.lua("return last ~= nil")
    assert fingerprint(project) == before
    (project / "a.txt").write_text("changed\n")
    session.finish()
    session.nvim.wait("#require('claude-ide.journal').changes() == 1")
    after = fingerprint(project)
    assert {path for path in after if after[path] != before.get(path)} == {str(project / "a.txt")}


def test_what_the_person_writes_meanwhile_is_theirs(session):
    session.prompt()
    session.nvim.keys("ggImine <Esc>:w<CR>")
    session.nvim.wait("not vim.bo.modified and vim.fn.getline(1) == 'mine line 1'")
    (session.project / "b.txt").write_text("claude's\n")
    session.status("idle")
    session.nvim.wait("#require('claude-ide.journal').changes() == 1")
    assert [os.path.basename(change["path"]) for change in session.changes()] == ["b.txt"]


def test_what_happens_between_two_prompts_is_nobodys(session):
    session.prompt()
    session.status("idle")
    session.nvim.wait("taken == 2")
    (session.project / "b.txt").write_text("by hand\n")
    session.prompt()
    session.status("idle")
    session.nvim.wait("taken == 4")
    assert session.changes() == []


def test_line_ends_that_git_converts_come_back_as_they_lay_on_the_disk(session):
    project = session.project
    (project / ".gitattributes").write_text("*.txt text eol=crlf\n")
    (project / "b.txt").write_bytes(b"one\r\ntwo\r\n")
    session.prompt()
    (project / "b.txt").write_bytes(b"one\r\nTWO\r\n")
    session.finish()
    session.nvim.wait("#require('claude-ide.journal').changes() == 1")
    assert session.nvim.lua("return require('claude-ide.journal').undo(...) == true", str(project / "b.txt"))
    assert (project / "b.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_without_a_repository_turns_go_on(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": "a\n"})
    session = Session(nvim, connect)
    session.prompt()
    assert nvim.lua("return last == nil")
    session.status("idle")
    nvim.wait("require('claude-ide.journal').turns()[1].ended ~= nil")


def test_a_neovim_that_git_started_takes_no_checkpoints(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": "a\n"}, env={"GIT_INDEX_FILE": "elsewhere"})
    git(nvim.project, "init", "-q")
    session = Session(nvim, connect)
    session.prompt()
    assert nvim.lua("return last == nil")
    assert not (nvim.project / "elsewhere").exists()


def test_a_command_that_changes_very_many_files_is_bounded_and_said(session):
    project = session.project
    session.nvim.lua("""
      notices = {}
      vim.notify = function(message) notices[#notices + 1] = message end
      require("claude-ide.journal.checkpoint").MAX_FILES = 5
    """)
    session.prompt()
    for number in range(40):
        (project / f"0made{number}.txt").write_text("made\n")
        (project / f"ignored{number}.log").write_text("ignored\n")
    (project / "b.txt").write_text("changed\n")
    (project / "gone.txt").unlink()
    session.finish()
    session.nvim.wait("#require('claude-ide.journal').changes() == 5 and #notices == 1")
    names = {os.path.basename(change["path"]) for change in session.changes()}
    assert {"b.txt", "gone.txt"} < names  # what could be lost comes first
    assert not any(name.endswith(".log") for name in names)
    assert "42 files" in session.nvim.lua("return notices[1]")


def test_renamed_binary_and_executable_files_are_taken_back(session):
    project = session.project
    image = bytes(range(256)) * 4
    (project / "image.bin").write_bytes(image)
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    (project / "odd \\ name\twith\nlines.txt").write_text("odd\n")
    session.prompt()
    (project / "image.bin").write_bytes(image[::-1])
    (project / "run.sh").rename(project / "walk.sh")
    (project / "a.txt").chmod(0o755)  # the text is as it was: nothing to review
    (project / "b.txt").rename(project / "odd name é.txt")
    session.status("idle")
    session.nvim.wait("#require('claude-ide.journal').changes() == 5")
    kinds = {os.path.basename(change["path"]): change["kind"] for change in session.changes()}
    assert kinds == {
        "image.bin": "modified", "run.sh": "deleted", "walk.sh": "created", "b.txt": "deleted", "odd name é.txt": "created",
    }  # fmt: skip
    results = session.nvim.lua("return require('claude-ide.journal').undo_turn()")
    assert all(result["ok"] for result in results), results
    assert (project / "image.bin").read_bytes() == image
    assert (project / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (project / "b.txt").read_text() == "b\n"
    assert not (project / "walk.sh").exists() and not (project / "odd name é.txt").exists()


def test_contents_that_look_like_gits_own_answers_come_back(session):
    project = session.project
    text = "0123456789012345678901234567890123456789 blob 3\nabc\nbetween-1-1 missing\n\n"
    (project / "b.txt").write_text(text)
    (project / "empty.txt").write_text("")
    (project / "unended.txt").write_text("unended")
    session.prompt()
    for name in ("b.txt", "empty.txt", "unended.txt"):
        (project / name).write_text("other\n")
    session.status("idle")
    session.nvim.wait("#require('claude-ide.journal').changes() == 3")
    session.nvim.lua("require('claude-ide.journal').undo_turn()")
    assert (project / "b.txt").read_text() == text
    assert (project / "empty.txt").read_text() == ""
    assert (project / "unended.txt").read_text() == "unended"


def test_a_turn_ends_once_when_the_cli_is_idle_again(session):
    session.nvim.lua("""
      ended = 0
      vim.api.nvim_create_autocmd("User", { pattern = "ClaudeTurnEnded", callback = function() ended = ended + 1 end })
    """)
    session.prompt()
    for name in ("a.txt", "b.txt"):
        session.client.call("getDiagnostics", uri=f"file://{session.project / name}")
        (session.project / name).write_text("changed\n")
        session.finish()
        path = str(session.project / name)
        session.nvim.wait(lambda path=path: path in [change["path"] for change in session.changes()])
    assert session.nvim.lua("return { ended, require('claude-ide.journal').turns()[1].ended }") == [0]
    session.status("idle")
    session.nvim.wait("ended > 0")
    session.prompt()
    assert session.nvim.lua("return ended") == 1
