"""Changes by shell commands: found by checkpoints of the work tree that touch nothing of the user's repository."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from unittest import mock

import pytest

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

TEXT = "".join(f"line {i}\n" for i in range(1, 21))

WATCH_CHECKPOINTS = """
begun, looked, taken, compared, before = 0, 0, 0, 0, 0
local checkpoints = Ide.checkpoints
local take = checkpoints.take
checkpoints.take = function(folder, is_first, done, since)
  begun = begun + 1
  local number = begun
  take(folder, is_first, function(...)
    done(...)
    taken, looked, last = taken + 1, number, ...
  end, since)
end
local compare = checkpoints.compare
checkpoints.compare = function(from, to, unwanted, known, each, done)
  compare(from, to, unwanted, known, each, function(...) done(...) compared = compared + 1 end)
end
"""


KEPT_TREE = "#Ide.checkpoints.states() == 1"


def git(project, *args):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *args]
    return subprocess.run(command, cwd=project, check=True, capture_output=True, text=True).stdout


def commit(project):
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")


def settle(project):
    """The index is newer than the files: git need not read them to know that they are as committed."""
    later = time.time() + 1
    os.utime(project / ".git" / "index", (later, later))


def fingerprint(folder):
    """Every file below a folder, with its bytes and times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        stat = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (stat.st_mtime_ns, stat.st_ino, content)
    return found


NOTICES = """
notices = {}
vim.notify = function(message)
  -- An undo looks first what the turn did until now, and on a busy machine that is said.
  notices[#notices + 1] = not message:find("^Looking") and message or nil
end
"""


class Session:
    """A CLI with a status file, in a repository with a commit."""

    number = 1

    def __init__(self, nvim, connect, status="idle"):
        self.nvim, self.project = nvim, nvim.project
        self.status_file = nvim.home / ".claude" / "sessions" / f"{os.getpid()}.json"
        self.status_file.parent.mkdir(parents=True)
        self.status(status)
        nvim.lua(WATCH_CHECKPOINTS)
        self.client = connect(nvim)
        nvim.wait("Ide.server.clients()[1].pid ~= nil")

    def status(self, word):
        new = self.status_file.with_suffix(".tmp")
        new.write_text(json.dumps({"pid": int(self.status_file.stem), "sessionId": "x", "status": word}))
        new.replace(self.status_file)

    def prompt(self):
        """Submits a prompt, and waits for the checkpoint of its start."""
        self.nvim.lua("before = begun")
        self.client.call("closeAllDiffTabs")
        self.status("busy")
        self.nvim.wait("looked > before")
        self.wait_busy()

    def wait_busy(self):
        """Waits until the turn has seen the CLI busy: only then does idle end it."""
        self.nvim.wait(f"Ide.journal_store.is_busy({self.number})", what="the status to be read")

    def over(self, changes):
        """Ends the turn, and waits until this many files have changed."""
        self.status("idle")
        self.nvim.wait(f"#Ide.journal.changes() == {changes}", what="what the turn did")

    def changes(self, scope="unreviewed"):
        return self.nvim.lua("return Ide.journal.changes(...)", scope)

    def announce(self, path):
        """An edit of this file comes, or has come."""
        self.client.call("getDiagnostics", uri=path.as_uri())

    def finish(self):
        self.client.call("getDiagnostics")

    def a_command_is_taken_back(self):
        """What a command changes in the turn that goes on is known at its end, and undone."""
        path = self.project / "b.txt"
        path.write_text("by a command\n")
        self.over(changes=1)
        self.nvim.wait("Ide.journal.turns()[1].ended ~= nil", what="the end of the turn")
        self.nvim.undo_turn()
        assert path.read_text() == "b\n"


@pytest.fixture
def repository(start_nvim):
    """A Neovim in a repository with a commit."""
    nvim = start_nvim(
        args=["a.txt"],
        opts={"log": {"level": "debug"}},
        files={"a.txt": TEXT, "b.txt": "b\n", "gone.txt": "gone\n", ".gitignore": "*.log\n", "x.log": "log\n"},
    )
    commit(nvim.project)
    return nvim


@pytest.fixture
def session(repository, connect):
    return Session(repository, connect)


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
    session.over(changes=4)
    changes = {os.path.basename(change["path"]): change for change in session.changes()}
    assert {name: change["kind"] for name, change in changes.items()} == {
        "b.txt": "modified", "gone.txt": "deleted", "made.txt": "created", "untracked.txt": "modified",
    }  # fmt: skip
    assert {change["source"] for change in changes.values()} == {"checkpoint"}
    assert changes["b.txt"]["before"] == "not committed\n"
    results = session.nvim.undo_turn()
    assert all(result["ok"] for result in results), results
    assert (project / "b.txt").read_text() == "not committed\n"
    assert (project / "untracked.txt").read_text() == "old\n"
    assert (project / "gone.txt").read_text() == "gone\n"
    assert not (project / "made.txt").exists()
    assert session.changes() == []


@pytest.mark.every_nvim
@pytest.mark.parametrize("typed", ["before", "after"])
def test_a_file_that_a_command_deletes_beside_unsaved_changes_is_deleted_and_comes_back_beside_them(session, typed):
    nvim, path = session.nvim, session.project / "a.txt"
    text = path.read_text()

    def type_a_line():
        nvim.keys("ggccunsaved<Esc>")
        nvim.wait("vim.bo.modified and Ide.watch_conflict.base(vim.fn.bufnr()) ~= nil")

    session.prompt()
    if typed == "before":
        type_a_line()
    path.unlink()
    session.over(changes=1)
    if typed == "after":
        nvim.keys("ggccunsaved<Esc>")
        nvim.wait("vim.bo.modified")
    (change,) = session.changes()
    assert (change["kind"], change["conflicts"]) == ("deleted", 0)
    nvim.keys(":Claude review<CR>")
    nvim.wait_screen("a.txt · deleted")
    assert "E211" not in nvim.lua("return vim.fn.execute('messages')")
    nvim.keys("q")
    nvim.wait("Ide.review_current.get() == nil")
    assert (nvim.lines()[0], nvim.lua("return vim.bo.modified")) == ("unsaved", True)
    assert nvim.lua("return #vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { type = 'sign' })") == 0
    results = nvim.undo_turn()
    assert [(result["ok"], result.get("err")) for result in results] == [(True, None)]
    assert path.read_text() == text
    assert (nvim.lines()[0], nvim.lua("return vim.bo.modified")) == ("unsaved", True)
    if typed == "before":
        nvim.wait("not Ide.buffer_stamp.is_conflict(vim.fn.bufnr())", what="the file that the text was begun on")
        nvim.keys(":w<CR>")
        nvim.wait("not vim.bo.modified")
        assert path.read_text().startswith("unsaved\n")


SLOW_COMPARISON = """#!/bin/sh
case " $* " in
  *" cat-file --batch "*) while [ ! -e "$MARKS/go" ]; do touch "$MARKS/comparing"; sleep 0.05; done ;;
esac
exec %s "$@"
"""
"""A git with which the comparison of a file lasts until the test ends it, if it was as committed."""


@pytest.fixture
def marks(tmp_path):
    """The folder in which a slow git and its test signal each other."""
    marks = tmp_path / "marks"
    marks.mkdir()
    return marks


def slow_git(marks, script):
    """The environment in which git is this script."""
    (marks / "git").write_text(script % shutil.which("git"))
    (marks / "git").chmod(0o755)
    return {"PATH": f"{marks}:{os.environ['PATH']}", "MARKS": str(marks)}


@pytest.fixture
def compared_slowly(start_nvim, connect, marks):
    env = slow_git(marks, SLOW_COMPARISON)
    files = {"a.txt": TEXT, "b.txt": "b\n", "1.txt": "1\n", "2.txt": "2\n"}
    nvim = start_nvim(args=["a.txt"], env=env, files=files)
    commit(nvim.project)
    settle(nvim.project)
    return Session(nvim, connect)


@pytest.mark.every_nvim
def test_an_undo_waits_until_it_is_known_what_commands_changed(compared_slowly, marks):
    session, nvim = compared_slowly, compared_slowly.nvim
    path = nvim.project / "b.txt"
    (marks / "go").touch()
    nvim.lua("vim.ui.select = function(items, _, done) asked = (asked or 0) + 1 done(items[1], 1) end")
    # The second time, the change is one that an undo took back.
    for turn in (1, 2):
        session.prompt()
        (marks / "go").unlink()
        (marks / "comparing").unlink(missing_ok=True)
        path.write_text("by a command\n")
        (nvim.project / f"{turn}.txt").write_text("by a command\n")
        session.status("idle")
        nvim.wait("local turns = Ide.journal.turns() return turns[#turns].ended ~= nil")
        nvim.wait(lambda: (marks / "comparing").exists(), what="the comparison")
        assert session.changes() == []
        nvim.keys(":Claude undo<CR>:Claude undo<CR>")
        nvim.wait_screen("Looking for changes by shell commands")
        assert path.read_text() == "by a command\n"
        (marks / "go").touch()
        nvim.wait_screen("Undid Claude's changes in 2 files.")
        assert path.read_text() == "b\n"
        assert nvim.lua("return asked") == turn
        assert session.changes() == []


@pytest.mark.every_nvim
def test_an_undo_that_is_ready_when_the_user_types_asks_when_they_are_done(compared_slowly, marks):
    session, nvim = compared_slowly, compared_slowly.nvim
    path = nvim.project / "b.txt"
    session.prompt()
    path.write_text("by a command\n")
    session.status("idle")
    nvim.wait(lambda: (marks / "comparing").exists(), what="the comparison")
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("Looking for changes by shell commands")
    nvim.keys("O1")
    nvim.wait("vim.api.nvim_get_mode().mode == 'i'")
    (marks / "go").touch()
    nvim.wait_screen("An undo asks what to undo")
    nvim.keys("<CR>2")
    nvim.wait(lambda: nvim.lines()[:2] == ["1", "2"], what="the lines that are typed")
    assert path.read_text() == "by a command\n"
    nvim.keys("<Esc>")
    nvim.wait_screen("Undo in 1 file")
    nvim.keys("1<CR>", counts=True)
    nvim.wait(lambda: path.read_text() == "b\n", what="the undo")
    assert nvim.lines()[:3] == ["1", "2", "line 1"]


def test_an_undo_waits_for_no_comparison_for_ever(compared_slowly, marks):
    session, nvim = compared_slowly, compared_slowly.nvim
    nvim.answer(1)
    nvim.lua("Ide.journal_pending.PATIENCE_MS = 50")
    session.prompt()
    path = nvim.project / "a.txt"
    session.announce(path)
    path.write_text("by an edit\n")
    session.status("idle")
    nvim.wait(lambda: (marks / "comparing").exists(), what="the comparison")
    nvim.wait("#Ide.journal.changes() == 1", what="what was announced to be known")
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("Undid Claude's changes in 1 file.")
    assert path.read_text() == TEXT


def test_what_a_turn_did_is_known_where_the_next_prompt_was_waiting(session):
    """A prompt typed while Claude works starts at once: the CLI is never seen idle in between."""
    path, other = session.project / "b.txt", session.project / "c.txt"
    session.prompt()
    path.write_text("by the first\n")
    session.prompt()
    session.nvim.wait("#Ide.journal.changes() == 1", what="what the first turn did")
    other.write_text("by the second\n")
    session.over(changes=2)
    assert {(change["path"], tuple(change["turns"])) for change in session.changes()} == {
        (str(path), (1,)), (str(other), (2,)),
    }  # fmt: skip


def test_a_turn_that_goes_on_is_reviewed_and_taken_back_up_to_now(session):
    nvim, path = session.nvim, session.project / "b.txt"
    nvim.answer(1)
    session.prompt()
    path.write_text("by a command\n")
    (session.project / "link").symlink_to("a.txt")
    nvim.keys(":Claude review<CR>")
    nvim.wait("#vim.api.nvim_list_tabpages() == 2", what="the review")
    nvim.keys(":tabclose<CR>:Claude undo<CR>")
    nvim.wait_screen("Undid Claude's changes in 2 files.")
    assert path.read_text() == "b\n"
    assert not (session.project / "link").is_symlink()
    # The undo's change is not the turn's; the turn's later changes to the same file are.
    session.finish()
    nvim.wait("compared == 3", what="a comparison after those of the review and of the undo")
    assert session.changes() == []
    assert nvim.lua("return Ide.journal_untracked.count(1)") == 0
    path.write_text("once more\n")
    session.over(changes=1)
    (change,) = session.changes()
    assert (change["before"], change["after"]) == ("b\n", "once more\n")


SLOW_COPY = """#!/bin/sh
case " $* " in
  *" check-attr "*) touch "$MARKS/copying"; while [ ! -e "$MARKS/go" ]; do sleep 0.05; done ;;
esac
exec %s "$@"
"""
"""A git with which the first look at files lasts until the test ends it."""


SLOW_LOOK = """#!/bin/sh
case " $* " in
  *" ls-files "*) touch "$MARKS/looking"; while [ ! -e "$MARKS/go" ]; do sleep 0.05; done ;;
esac
exec %s "$@"
"""
"""A git whose answer which files there are lasts until the test allows it."""


FAILING_LOOK = """#!/bin/sh
case " $* " in
  *" ls-files "*) exit 1 ;;
esac
exec %s "$@"
"""


def test_a_command_of_the_first_turn_waits_for_no_copy_of_what_was_there_before(start_nvim, connect, marks):
    files = {"a.txt": TEXT, "b.txt": "b\n", ".gitattributes": "* text=auto\n"}
    nvim = start_nvim(env=slow_git(marks, SLOW_COPY), files=files)
    git(nvim.project, "init", "-q")
    session = Session(nvim, connect)
    nvim.wait(lambda: (marks / "copying").exists(), what="the copy of what is there, before any prompt")
    (marks / "go").touch()
    nvim.wait(KEPT_TREE, what="the copy to be there")
    (marks / "go").unlink()
    session.prompt()  # the checkpoint of its start is there, though nothing can be copied
    (session.project / "b.txt").write_text("by a command\n")
    (marks / "go").touch()
    session.over(changes=1)
    assert session.changes()[0]["before"] == "b\n"


def test_a_turn_that_began_before_the_cli_was_connected_is_known_too(repository, connect):
    session = Session(repository, connect, status="busy")
    repository.wait("taken == 1")
    session.wait_busy()
    session.a_command_is_taken_back()


def test_a_turn_whose_prompt_nobody_announced_is_known_from_its_first_edit_on(session):
    """The CLI does not announce a prompt that it gets at the very moment of connecting."""
    session.status("busy")
    session.announce(session.project / "a.txt")
    session.nvim.wait("taken == 1")
    session.wait_busy()
    session.a_command_is_taken_back()


def test_a_turn_that_nothing_announced_is_known_from_the_status_of_the_cli(session):
    """A CLI that gets its first prompt before it knows our tools announces nothing of that turn."""
    session.nvim.wait("Ide.server.clients()[1].state == 'ready'")
    session.status("busy")
    session.nvim.wait("taken == 1")
    session.wait_busy()
    session.a_command_is_taken_back()


def test_a_prompt_that_is_announced_after_the_cli_is_at_work_begins_no_second_turn(session):
    session.nvim.wait("Ide.server.clients()[1].state == 'ready'")
    session.status("busy")
    session.nvim.wait("taken == 1")
    session.client.call("closeAllDiffTabs")
    (session.project / "b.txt").write_text("by a command\n")
    session.wait_busy()
    session.over(changes=1)
    assert session.nvim.lua("return #Ide.journal.turns()") == 1
    session.prompt()
    assert session.nvim.lua("return #Ide.journal.turns()") == 2


def test_a_client_that_is_idle_when_it_comes_begins_no_turn(session):
    session.nvim.wait("Ide.server.clients()[1].state == 'ready'")
    (session.project / "b.txt").write_text("by hand\n")
    session.prompt()
    session.status("idle")
    session.nvim.wait("taken == 2")
    assert session.changes() == []
    assert session.nvim.lua("return #Ide.journal.turns()") == 1


def test_what_a_client_did_that_went_in_the_middle_of_its_turn_is_known(session):
    session.prompt()
    (session.project / "b.txt").write_text("by a command\n")
    session.client.close()
    session.nvim.wait("#Ide.journal.changes() == 1")


def test_a_command_and_an_announced_edit_of_one_file_are_undone_together(session):
    path = session.project / "b.txt"
    session.prompt()
    path.write_text("by a command\n")
    session.announce(path)
    path.write_text("by a command\nand by an edit\n")
    session.status("idle")
    session.nvim.wait("compared == 1 and #Ide.journal.changes() == 1")
    session.nvim.undo_turn()
    assert path.read_text() == "b\n"


def test_an_edit_that_restores_what_a_command_of_the_turn_had_changed_leaves_nothing_to_undo(session):
    path = session.project / "b.txt"
    session.prompt()
    path.write_text("by a command\n")
    session.announce(path)
    path.write_text("b\n")
    session.finish()
    session.nvim.wait("compared == 1")
    session.status("idle")
    session.nvim.wait("compared == 2")
    session.nvim.undo_turn()
    assert path.read_text() == "b\n"
    assert session.changes() == []


@pytest.mark.parametrize("last", ["by a command\nand by an edit\n", "b\n"], ids=["changed", "restored"])
def test_a_command_late_in_a_turn_and_an_edit_are_undone_together(session, last):
    path = session.project / "b.txt"
    session.prompt()
    session.announce(session.project / "a.txt")
    (session.project / "a.txt").write_text("an edit before\n")
    session.finish()
    session.nvim.wait("compared == 1")
    path.write_text("by a command\n")
    session.announce(path)
    path.write_text(last)
    session.status("idle")
    session.nvim.wait("compared == 2")
    session.nvim.undo_turn()
    assert path.read_text() == "b\n"
    assert (session.project / "a.txt").read_text() == TEXT


def test_what_two_edits_of_a_turn_left_between_them_is_not_what_it_began_with(session):
    path = session.project / "b.txt"
    session.prompt()
    for count, text in enumerate(["b one\n", "b one two\n"], start=1):
        session.announce(path)
        path.write_text(text)
        session.client.call("getDiagnostics")
        session.nvim.wait(f"compared == {count}")
    session.status("idle")
    session.nvim.wait("compared == 3")
    session.nvim.undo_turn()
    assert path.read_text() == "b\n"


def test_nothing_of_the_users_repository_is_touched(repository, connect):
    project = repository.project
    hook = project / ".git" / "hooks" / "post-index-change"
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o755)
    git(project, "config", "core.fsmonitor", f"touch {project}/monitor-ran; false")
    git(project, "config", "filter.loud.clean", f"touch {project}/filter-ran; cat")
    (project / ".git" / "info" / "attributes").write_text("b.txt filter=loud\n")
    (project / "b.txt").write_text("staged\n")
    quiet = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "filter.loud.clean=")
    git(project, *(word for setting in quiet for word in ("-c", setting)), "add", "b.txt")
    (project / "b.txt").write_text("not staged\n")
    before = fingerprint(project)
    session = Session(repository, connect)
    session.prompt()
    assert session.nvim.lua("return last ~= nil")
    assert fingerprint(project) == before
    (project / "a.txt").write_text("changed\n")
    session.finish()
    session.nvim.wait("#Ide.journal.changes() == 1")
    after = fingerprint(project)
    assert {path for path in after if after[path] != before.get(path)} == {str(project / "a.txt")}


@pytest.mark.parametrize("write", ["w", "noautocmd w"])
def test_what_the_user_writes_meanwhile_is_theirs(session, write):
    session.prompt()
    session.nvim.keys(f"ggImine <Esc>:silent {write}<CR>")
    session.nvim.wait("not vim.bo.modified and vim.fn.getline(1) == 'mine line 1'")
    (session.project / "b.txt").write_text("claude's\n")
    session.over(changes=1)
    assert [os.path.basename(change["path"]) for change in session.changes()] == ["b.txt"]


def test_what_the_user_writes_under_other_names_is_theirs_and_the_file_itself_is_not(session):
    session.prompt()
    for command in ("w whole.txt", "1,2w part.txt", "1,2w >> .gitignore"):
        session.nvim.cmd(f"silent {command}")
    (session.project / "a.txt").write_text("claude's\n")
    session.over(changes=1)
    assert [os.path.basename(change["path"]) for change in session.changes()] == ["a.txt"]
    session.nvim.undo_turn()
    assert (session.project / "a.txt").read_text() == TEXT
    assert (session.project / "whole.txt").exists() and (session.project / "part.txt").exists()


def test_what_happens_between_two_prompts_is_nobodys(session):
    session.prompt()
    session.status("idle")
    session.nvim.wait("taken == 2")
    (session.project / "b.txt").write_text("by hand\n")
    session.prompt()
    session.status("idle")
    session.nvim.wait("taken == 4")
    assert session.changes() == []


def test_a_neovim_that_git_started_takes_checkpoints_of_its_folder(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": "a\n"}, env={"GIT_INDEX_FILE": "elsewhere", "GIT_DIR": "nowhere"})
    git(nvim.project, "init", "-q")
    session = Session(nvim, connect)
    session.prompt()
    assert nvim.lua("return last ~= nil")
    assert not (nvim.project / "elsewhere").exists()


def test_a_command_that_changes_very_many_files_is_bounded_and_said(session):
    project = session.project
    session.nvim.lua(NOTICES + "Ide.checkpoints.MAX_FILES = 5")
    session.prompt()
    for number in range(40):
        (project / f"0made{number}.txt").write_text("made\n")
        (project / f"ignored{number}.log").write_text("ignored\n")
    (project / "b.txt").write_text("changed\n")
    (project / "gone.txt").unlink()
    session.finish()
    session.nvim.wait("#Ide.journal.changes() == 5 and #notices == 1")
    names = {os.path.basename(change["path"]) for change in session.changes()}
    assert {"b.txt", "gone.txt"} < names  # irreplaceable files come first
    assert not any(name.endswith(".log") for name in names)
    assert "42 files" in session.nvim.notices()[0]
    session.nvim.lua(
        "vim.ui.select = function(items, _, done) offered = items choose = function() done(items[1], 1) end end"
    )
    session.nvim.keys(":Claude undo<CR>")
    session.nvim.wait("offered ~= nil", what="the question")
    offered = session.nvim.lua("return offered[1]")
    assert offered.startswith("Undo in 42 files: 0made") and offered.endswith("; 37 that commands changed")
    (project / "0made7.txt").write_text("made, and mine\n")
    session.nvim.lua("choose()")
    session.nvim.wait("#notices == 2")
    assert "in 41 files" in session.nvim.notices()[1]
    assert [path.name for path in project.glob("0made*")] == ["0made7.txt"]
    assert (project / "b.txt").read_text() == "b\n" and (project / "gone.txt").exists()


def test_files_that_edits_changed_are_not_counted_as_those_of_commands(session):
    project = session.project
    session.nvim.lua(NOTICES + "Ide.checkpoints.MAX_FILES = 2")
    session.prompt()
    edited = [project / f"edited{number}.txt" for number in range(4)]
    for path in edited:
        session.client.call("getDiagnostics", uri=f"file://{path}")
        path.write_text("by an edit\n")
    (project / "b.txt").write_text("by a command\n")
    session.finish()
    session.nvim.wait("#Ide.journal.changes() == 5")
    session.nvim.wait("compared == 1")
    assert session.nvim.notices() == []
    session.nvim.lua("vim.ui.select = function(items, _, done) offered = items done(items[1], 1) end")
    session.nvim.keys(":Claude undo<CR>")
    session.nvim.wait("#notices == 1")
    assert session.nvim.lua("return offered[1]").startswith("Undo in 5 files: ")
    assert "in 5 files" in session.nvim.notices()[0] and not any(path.exists() for path in edited)


def test_permissions_and_links_are_taken_back(session):
    project = session.project
    (project / "to-b").symlink_to("b.txt")
    (project / "to-gone").symlink_to("gone.txt")
    (project / "run.sh").write_text("echo\n")
    (project / "both.sh").write_text(TEXT)
    (project / "plain.txt").write_text(TEXT)
    (project / "plain.txt").chmod(0o755)
    git(project, "add", "--all")
    session.prompt()
    (project / "to-b").unlink()
    (project / "to-b").symlink_to("gone.txt")
    (project / "to-gone").unlink()
    (project / "to-gone").write_text("a file now\n")
    (project / "new-link").symlink_to("b.txt")
    (project / "run.sh").chmod(0o755)
    (project / "both.sh").write_text(TEXT + "more\n")
    (project / "both.sh").chmod(0o755)
    (project / "plain.txt").chmod(0o644)
    session.finish()
    session.nvim.wait("compared == 1 and #Ide.journal.changes() == 1")
    assert session.nvim.lua("return Ide.journal.turns()[1].left_out") == 0
    session.nvim.lua(NOTICES + "vim.ui.select = function(items, _, done) done(items[1], 1) end")
    session.nvim.cmd("Claude undo")
    session.nvim.wait("#notices == 1")
    assert session.nvim.notices()[0] == "Undid Claude's changes in 6 files."
    assert os.readlink(project / "to-b") == "b.txt" and os.readlink(project / "to-gone") == "gone.txt"
    assert not (project / "new-link").is_symlink()
    modes = [(project / name).stat().st_mode & 0o777 for name in ("run.sh", "both.sh", "plain.txt")]
    assert modes == [0o644, 0o644, 0o755]
    assert (project / "both.sh").read_text() == TEXT
    session.nvim.cmd("Claude undo")
    session.nvim.wait("#notices == 2")
    assert "Nothing to undo" in session.nvim.notices()[1]


def test_a_great_undo_lets_keys_be_read_and_can_be_stopped(session):
    project, count = session.project, 600
    session.prompt()
    for number in range(count):
        (project / f"made{number:03}.txt").write_text("made\n")
    session.finish()
    session.nvim.wait("compared == 1 and #Ide.journal.changes() == 200")
    session.nvim.lua(NOTICES)
    session.nvim.lua("""
      vim.ui.select = function(items, _, done) done(items[1], 1) end
      local put_back = Ide.journal_write.through_buffer
      Ide.journal_write.through_buffer = function(...)
        undone = (undone or 0) + 1
        if undone == 250 then vim.api.nvim_input("<C-c>") end
        return put_back(...)
      end
    """)
    session.nvim.cmd("Claude undo")
    session.nvim.wait("#notices == 1")
    assert "then stopped" in session.nvim.notices()[0]
    assert list(project.glob("made*")) != []
    session.nvim.cmd("Claude undo")
    session.nvim.wait("#notices == 2")
    first, second = (int(re.search(r"in (\d+) files", text)[1]) for text in session.nvim.notices())
    assert first >= 250 and first + second == count, "each file is taken back once"
    assert list(project.glob("made*")) == []


def folders_of_copies(session):
    return list((session.nvim.home / ".local/state/nvim/claude-ide/journal").glob("*/repository-*"))


def copies(session):
    """Files copied by checkpoints, and the size of all of it."""
    paths = [path for folder in folders_of_copies(session) for path in folder.rglob("*") if path.is_file()]
    return b"".join(path.read_bytes() for path in paths), sum(path.stat().st_size for path in paths)


def test_what_is_large_or_withheld_is_not_copied_and_what_becomes_of_it_is_counted(session):
    project = session.project
    (project / "data").mkdir()
    with (project / "data" / "huge.bin").open("wb") as file:
        file.truncate(3 * 1024**3)
    (project / ".env").write_text("PASSWORD=hunter2\n")
    (project / "b.txt").write_text("not committed\n")
    session.prompt()
    assert session.nvim.lua("return last ~= nil")
    (project / "b.txt").write_text("by a command\n")
    (project / ".env").write_text("PASSWORD=changed\n")
    (project / "data" / "huge.bin").unlink()
    session.over(changes=1)
    session.nvim.wait("Ide.journal.turns()[1].left_out == 2")
    contents, size = copies(session)
    assert b"not committed" in contents and b"PASSWORD" not in contents
    assert size < 100_000
    session.nvim.undo_turn()
    assert (project / "b.txt").read_text() == "not committed\n"


def test_copies_go_when_the_last_client_goes(session):
    (session.project / "b.txt").write_text("z\n")
    session.prompt()
    (session.project / "b.txt").write_text("by a command\n")
    session.over(changes=1)
    session.client.close()
    session.nvim.wait(lambda: folders_of_copies(session) == [], what="the copies to go")
    session.nvim.undo_turn()
    assert (session.project / "b.txt").read_text() == "z\n"


def test_without_checkpoints_nothing_is_copied(repository, connect):
    repository.lua("require('claude-ide').setup({ auto_start = false, review = { checkpoints = false } })")
    session = Session(repository, connect)
    session.prompt()
    assert session.nvim.lua("return last == nil")
    session.nvim.cmd("checkhealth claude-ide")
    assert "review.checkpoints is false" in "\n".join(session.nvim.lines())
    assert folders_of_copies(session) == []


def test_a_turn_ends_once_when_the_cli_is_idle_again(session):
    session.nvim.lua("""
      ended = 0
      vim.api.nvim_create_autocmd("User", { pattern = "ClaudeTurnEnded", callback = function() ended = ended + 1 end })
    """)
    session.prompt()
    for name in ("a.txt", "b.txt"):
        session.announce(session.project / name)
        (session.project / name).write_text("changed\n")
        session.finish()
        path = str(session.project / name)
        session.nvim.wait(lambda path=path: path in [change["path"] for change in session.changes()])
    assert session.nvim.lua("return { ended, Ide.journal.turns()[1].ended }") == [0]
    session.status("idle")
    session.nvim.wait("ended > 0")
    session.prompt()
    assert session.nvim.lua("return ended") == 1


FORMATTER = """
package.loaded.conform = { format = function(opts)
  vim.api.nvim_buf_set_lines(opts.bufnr, 0, 0, true, { "formatted" })
end }
"""


@pytest.mark.every_nvim
def test_the_end_of_a_turn_is_told_with_what_its_commands_changed_and_the_helps_formatter_takes_that(session):
    nvim, project = session.nvim, session.project
    text = (Path(__file__).parents[2] / "doc" / "claude-ide.txt.in").read_text()
    nvim.lua(FORMATTER + re.search(r"With conform.nvim: >lua\n(.*?)\n<", text, re.S)[1])
    nvim.keep_events("ClaudeTurnEnded", "ClaudeFileChanged")
    nvim.keys("Gounsaved<Esc>")
    nvim.wait("vim.bo.modified")
    session.prompt()
    for name in ("b.txt", "made.txt"):
        (project / name).write_text("by a command\n")
    (project / "a.txt").write_text("by a command\n")
    (project / "gone.txt").unlink()
    session.over(changes=4)
    nvim.wait(lambda: nvim.events()[-1:] and nvim.events()[-1][0] == "ClaudeTurnEnded", what="the end to be told")
    events = nvim.events()
    assert [name for name, _ in events] == ["ClaudeFileChanged"] * 4 + ["ClaudeTurnEnded"]
    changed = [os.path.basename(path) for path in events[-1][1]["turn"]["files"]]
    assert sorted(changed) == ["a.txt", "b.txt", "gone.txt", "made.txt"]
    assert [(project / name).read_text() for name in ("b.txt", "made.txt")] == ["formatted\nby a command\n"] * 2
    assert not (project / "gone.txt").exists()
    assert (project / "a.txt").read_text() == "by a command\n", "unsaved changes are not saved"
    assert "unsaved" in nvim.lines()


class OtherCli(Session):
    """A second CLI in the same project, with its own process and status."""

    number = 2

    def __init__(self, nvim, connect):
        self.process = subprocess.Popen(["sleep", "1000"])
        self.nvim, self.status_file = nvim, nvim.home / ".claude" / "sessions" / f"{self.process.pid}.json"
        self.status("idle")
        with mock.patch("os.getpid", return_value=self.process.pid):
            self.client = connect(nvim)
        nvim.wait(f"Ide.server.clients()[2].pid == {self.process.pid}")


@pytest.fixture
def other(session, connect):
    other = OtherCli(session.nvim, connect)
    yield other
    other.process.kill()
    other.process.wait()


def test_what_one_of_two_clis_did_is_not_the_others_too(session, other):
    nvim, path = session.nvim, session.project / "b.txt"
    session.prompt()
    path.write_text("by the first\n")
    session.finish()
    nvim.wait("#Ide.journal.changes() == 1", what="what the first one did")
    other.prompt()
    path.write_text("by the first again\n")
    nvim.lua("before = compared")
    session.status("idle")
    nvim.wait("compared > before and Ide.journal.turns()[1].ended ~= nil")
    nvim.wait("Ide.journal.changes()[1].after == 'by the first again\\n'")
    nvim.lua("Ide.journal_undo.keep(...)", str(path))
    (session.project / "c.txt").write_text("by the second\n")
    nvim.lua("before = compared")
    other.status("idle")
    nvim.wait("compared > before and #Ide.journal.changes() == 1", what="what the second one did")
    found = {os.path.basename(change["path"]): change["turns"] for change in session.changes("all")}
    assert found == {"b.txt": [1], "c.txt": [2]}
    nvim.undo_turn(2)
    assert path.read_text() == "by the first again\n"
    nvim.undo_turn(1)
    assert path.read_text() == "b\n"


@pytest.mark.parametrize("setting", ["true", "input"])
def test_line_ends_and_idents_that_git_converts_come_back_as_they_were(start_nvim, connect, setting):
    nvim = start_nvim(files={".gitattributes": "* text=auto\n*.id ident\n*.big filter=big\n"})
    project, texts = nvim.project, {
        "unix.txt": b"one\ntwo\n", "dos.txt": b"one\r\ntwo\r\n", "mixed.txt": b"one\r\ntwo\n", "a.id": b"$Id: mine $\n",
        "a.big": b"big\n",
    }  # fmt: skip
    git(project, "init", "-q")
    git(project, "config", "core.autocrlf", setting)
    git(project, "config", "filter.big.clean", "tr a-z A-Z")
    for name, text in texts.items():
        (project / name).write_bytes(text)
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    settle(project)
    session = Session(nvim, connect)
    session.prompt()
    (project / "dos.txt").unlink()
    for name in ("unix.txt", "mixed.txt", "a.id", "a.big"):
        (project / name).write_bytes(texts[name] + b"by a command\n")
    session.over(changes=5)
    counts = {os.path.basename(change["path"]): (change["added"], change["removed"]) for change in session.changes()}
    assert counts == {"unix.txt": (1, 0), "mixed.txt": (1, 0), "a.id": (1, 0), "a.big": (1, 0), "dos.txt": (0, 2)}
    nvim.undo_turn()
    assert {name: (project / name).read_bytes() for name in texts} == texts


def test_files_that_git_was_told_to_take_for_unchanged_or_not_to_check_out_are_found(start_nvim, connect):
    nvim = start_nvim(files={"in/a.txt": "a\n", "out/b.txt": "b\n", "out/c.txt": "c\n", "assumed.txt": "a\n"})
    project = nvim.project
    commit(project)
    git(project, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    git(project, "update-index", "--assume-unchanged", "assumed.txt")
    session = Session(nvim, connect)
    session.prompt()
    (project / "assumed.txt").write_text("by a command\n")
    (project / "out").mkdir()
    (project / "out" / "new.txt").write_text("new\n")
    (project / "out" / "b.txt").write_text("by a command\n")
    session.over(changes=3)
    kinds = {os.path.basename(change["path"]): change["kind"] for change in session.changes()}
    assert kinds == {"assumed.txt": "modified", "new.txt": "created", "b.txt": "created"}
    nvim.undo_turn()
    assert (project / "assumed.txt").read_text() == "a\n"
    assert not (project / "out").exists()


def test_a_file_that_becomes_a_folder_a_pipe_or_lies_behind_a_link_is_deleted(start_nvim, connect):
    files = {"config": "committed\n", "pipe": "p\n", "real/b.txt": "b\n"}
    nvim = start_nvim(files=files)
    project = nvim.project
    commit(project)
    (project / "config").write_text("not committed\n")
    session = Session(nvim, connect)
    session.prompt()
    command = "mv config tmp; mkdir config; mv tmp config/main; rm pipe; mkfifo pipe; mv real moved; ln -s moved real"
    subprocess.run(command, shell=True, cwd=project, check=True)
    session.over(changes=5)
    kinds = {os.path.relpath(change["path"], project): change["kind"] for change in session.changes()}
    assert kinds == {
        "config": "deleted", "config/main": "created", "pipe": "deleted", "real/b.txt": "deleted", "moved/b.txt": "created",
    }  # fmt: skip
    before = {os.path.relpath(change["path"], project): change.get("before") for change in session.changes()}
    assert before["config"] == "not committed\n" and before["real/b.txt"] == "b\n"


def test_what_changes_before_a_slow_git_has_looked_is_said(start_nvim, connect, marks):
    nvim = start_nvim(env=slow_git(marks, SLOW_LOOK), files={"a.txt": TEXT, "b.txt": "b\n"})
    commit(nvim.project)
    (marks / "go").touch()
    session = Session(nvim, connect)
    nvim.wait(KEPT_TREE, what="the look before any prompt")
    nvim.lua(NOTICES)
    (marks / "go").unlink()
    (marks / "looking").unlink()
    session.client.call("closeAllDiffTabs")
    session.status("busy")
    nvim.wait(lambda: (marks / "looking").exists(), what="the look of the turn")
    (nvim.project / "made.txt").write_text("by a command\n")
    session.wait_busy()
    session.status("idle")
    nvim.wait("local turns = Ide.journal.turns() return turns[#turns].ended ~= nil")
    (marks / "go").touch()
    nvim.wait("#notices == 1")
    assert nvim.notices()[0].startswith("1 file changed before Neovim had looked")
    assert nvim.lua("return Ide.journal.turns()[1].left_out") == 1
    nvim.cmd("Claude undo")
    nvim.wait("#notices == 2")
    assert "no copy was made of 1 file that Claude's last turn changed" in nvim.notices()[1]


def test_a_git_that_fails_twice_is_said_and_not_given_up(start_nvim, connect, marks):
    nvim = start_nvim(env=slow_git(marks, FAILING_LOOK), files={"a.txt": TEXT, "b.txt": "b\n"})
    commit(nvim.project)
    session = Session(nvim, connect)
    nvim.lua(NOTICES)
    nvim.wait(KEPT_TREE, what="the first failure, before any prompt")
    session.prompt()
    nvim.wait("#notices == 1")
    assert "are not reviewed: git failed or took too long twice. Neovim tries again in a minute" in nvim.notices()[0]
    nvim.cmd("checkhealth claude-ide")
    assert "Neovim tries again in a minute" in "\n".join(nvim.lines())
