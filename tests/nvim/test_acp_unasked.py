"""Unasked writes of an agent of the Agent Client Protocol are shown and can be undone, however little it reports."""

import json
import time

import pytest
from acp_steps import diff, permission, say, text, update, wait_answer, wait_idle
from chat_steps import accept, wait_diff

pytestmark = pytest.mark.dealt

WARNING = "was changed without asking you"


def write(path, contents):
    return f"WRITE {path} {json.dumps(contents)}"


def call(id_, kind, places=(), diffs=(), status="completed", does=()):
    """A call's start, its work, and its end."""
    locations = [{"path": str(path)} for path in places]
    content = [diff(path, "one\n", new) for path, new in dict(diffs).items()]
    begun = update("tool_call", toolCallId=id_, title="", kind=kind, status="in_progress", locations=locations)
    ended = update("tool_call_update", toolCallId=id_, status=status, **({"content": content} if content else {}))
    return "\n".join([begun, 'REQUEST fs/read_text_file {"path": "/nowhere"}', *does, ended])


def does(nvim, *lines):
    say(nvim, "\n".join([*lines, "SAY over"]))
    wait_answer(nvim, "\nover")
    return [line.strip().split(" was ")[0] for line in text(nvim).splitlines() if WARNING in line and "/" in line]


def changes(nvim):
    nvim.wait("#Ide.journal.changes('all') > 0", what="the journal")
    return nvim.lua(
        "return vim.tbl_map(function(change) return vim.fs.basename(change.path) end, Ide.journal.changes('all'))"
    )


@pytest.mark.every_nvim
def test_an_edit_that_names_its_file_alone_is_reported_and_undone(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\n"})
    path = tmp_path / "project/a.txt"
    assert does(nvim, call("c1", "edit", [path], does=[write(path, "two\n")])) == [str(path)]
    assert changes(nvim) == ["a.txt"]
    nvim.undo_turn()
    assert path.read_text() == "one\n"


# Neovim notices nothing of the agent's work until all of it is done, and the clock has ticked.
SAY_AND_BE_BUSY = """
local words, path = ...
local chats = Ide.chat
assert(chats.say(chats.current(), words))
local stat, seconds, microseconds
repeat
  vim.uv.sleep(5)
  stat = vim.uv.fs_stat(path)
  seconds, microseconds = vim.uv.gettimeofday()
until stat and seconds + microseconds / 1e6 > stat.ctime.sec + stat.ctime.nsec / 1e9 + 0.1
"""


def test_what_was_written_while_neovim_was_busy_is_reported(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\n"})
    path, done = tmp_path / "project/a.txt", tmp_path / "done"
    begun = update("tool_call", toolCallId="c1", title="", kind="edit", locations=[{"path": str(path)}])
    ended = update("tool_call_update", toolCallId="c1", status="completed")
    lines = [begun, write(path, "two\n"), ended, write(done, "")]
    nvim.lua(SAY_AND_BE_BUSY, "\n".join([*lines, "SAY over"]), str(done))
    wait_answer(nvim, "\nover")
    assert f"{path} {WARNING}" in text(nvim)


def test_all_files_of_a_call_are_reported(begin_acp, tmp_path):
    project = tmp_path / "project"
    nvim = begin_acp(files={f"{name}.txt": "one\n" for name in "abcd"})
    a, b, c, d = (project / f"{name}.txt" for name in "abcd")
    writes = [write(path, "two\n") for path in (a, b, c, d)]
    assert does(nvim, call("c1", "edit", [c, d, c], {a: "two\n", b: "two\n"}, does=writes)) == [
        str(path) for path in (a, b, c, d)
    ]
    # Files that a call names before it writes are kept; for the others only a git repository helps.
    nvim.wait(lambda: sorted(changes(nvim)) == ["c.txt", "d.txt"], what="the journal")


def test_a_diff_of_a_file_that_is_as_it_was_is_not_reported(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\n"})
    path = tmp_path / "project/a.txt"
    assert does(nvim, call("c1", "edit", [path], {path: "two\n"})) == []


def test_a_file_that_is_only_looked_at_or_left_as_it_was_is_not_reported(begin_acp, tmp_path):
    path = tmp_path / "project/a.txt"
    nvim = begin_acp(files={"a.txt": "one\n", "folder/b.txt": "two\n"})
    # The file is older than the turn, also by a clock that is a tick behind.
    nvim.wait(lambda: time.time() > path.stat().st_ctime + 0.03, what="the file to be older")
    assert does(nvim, call("c1", "edit", [path, path.parent / "folder"]), call("c2", "read", [path])) == []


def test_what_is_deleted_or_moved_is_reported(begin_acp, tmp_path):
    project = tmp_path / "project"
    nvim = begin_acp(files={"a.txt": "one\n", "b.txt": "one\n"})
    a, b = project / "a.txt", project / "b.txt"
    calls = [
        call("c1", "delete", [a], does=[write(a, None)]),
        call("c2", "move", [b, project / "c.txt"], does=[write(b, None), write(project / "c.txt", "one\n")]),
        call("c3", "delete", [project / "never.txt"], status="failed"),
    ]
    assert does(nvim, *calls) == [str(a), str(b), str(project / "c.txt")]


@pytest.mark.parametrize("has_diff", [False, True])
def test_a_failed_call_that_wrote_all_the_same_is_reported(begin_acp, tmp_path, has_diff):
    path = tmp_path / "project/a.txt"
    nvim = begin_acp(files={"a.txt": "one\n"})
    diffs = {path: "two\n"} if has_diff else {}
    assert does(nvim, call("c1", "edit", [path], diffs, status="failed", does=[write(path, "half")])) == [str(path)]


@pytest.mark.parametrize("is_told", [False, True])
def test_what_was_reviewed_is_not_reported_and_excuses_nothing_else(begin_acp, tmp_path, is_told):
    """The call that brings a reviewed edit about may say little of it; what is written after it was not reviewed."""
    path = tmp_path / "project/a.txt"
    nvim = begin_acp(files={"a.txt": "one\n"})
    asked = "REQUEST fs/write_text_file " + json.dumps({"path": str(path), "content": "two\n"})
    lines = [call("c1", "edit", [path], does=[asked])]
    if is_told:
        lines = [asked, call("c2", "edit", [], {path: "three\n"}, does=[write(path, "three\n")])]
    say(nvim, "\n".join([*lines, "SAY over"]))
    wait_diff(nvim)
    accept(nvim)
    wait_answer(nvim, "\nover")
    assert (f"{path} {WARNING}" in text(nvim)) is is_told


@pytest.mark.parametrize("option", ["once", "ever"])
def test_what_was_allowed_is_not_reported(begin_acp, tmp_path, option):
    path = tmp_path / "project/a.txt"
    nvim = begin_acp(files={"a.txt": "one\n"})
    kinds = {"once": "allow_once", "ever": "allow_always"}
    options = [{"optionId": option, "name": "Allow", "kind": kinds[option]}]
    say(nvim, permission(title="Edit", kind="edit", options=options))
    nvim.wait_kind("question")
    nvim.keys("1", counts=True)
    wait_idle(nvim)
    warned = does(nvim, call("c1" if option == "once" else "c2", "edit", [path], does=[write(path, "two\n")]))
    assert warned == []


def test_what_a_session_did_before_is_not_reported_again(begin_acp, tmp_path):
    path = tmp_path / "project/a.txt"
    said = {
        "sessionUpdate": "tool_call",
        "toolCallId": "old",
        "title": "Edit",
        "kind": "edit",
        "status": "completed",
        "content": [diff(path, "one\n", "two\n")],
        "locations": [{"path": str(path)}],
    }
    setup = {
        "capabilities": {"loadSession": True, "sessionCapabilities": {"list": {}}},
        "sessions": [{"sessionId": "old", "cwd": "/", "title": "An old one"}],
        "history": [said],
    }
    nvim = begin_acp(setup=setup, files={"a.txt": "two\n"}, args="--resume", chosen=[-1])
    wait_answer(nvim, "Edit ")
    assert does(nvim) == []
