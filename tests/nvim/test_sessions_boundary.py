"""Sessions through the library: Lua's requests, its answers, and that Neovim never waits for it."""

import json
import os
import time
from pathlib import Path

import pytest
from session_files import Sessions

from harness import left

pytestmark = pytest.mark.dealt

ASK = """
local sessions = Ide.sessions
answer = nil
local function done(result, err) answer = { result = result, err = err } end
"""

OPEN = """
local name, file = ...
opened = opened or {}
local entry = { changes = {} }
opened[name] = entry
entry.close = Ide.sessions.open(file, function(transcript, err)
  entry.transcript, entry.err = transcript, err
end, function(delta)
  table.insert(entry.changes, delta)
end)
"""


@pytest.fixture
def claude(sessions):
    """Claude's files in the home of this test's Neovims."""
    return sessions


def ask(nvim, code, *args):
    """Runs Lua that passes `done` to a request; returns its result and error."""
    nvim.lua(ASK + code, *args)
    nvim.wait("answer ~= nil")
    answer = nvim.lua("return answer") or {}
    return answer.get("result"), answer.get("err")


def open_transcript(nvim, file, name="t"):
    nvim.lua(OPEN, name, str(file))
    nvim.wait(f"opened.{name}.transcript ~= nil or opened.{name}.err ~= nil")
    assert nvim.lua(f"return opened.{name}.err") is None


def info(nvim, name="t"):
    return nvim.lua(f"return opened.{name}.transcript:info()")


def append(file: Path, *lines) -> None:
    with file.open("a") as out:
        for line in lines:
            out.write(line if isinstance(line, str) else json.dumps(line) + "\n")


def prompt(text, number, parent=None):
    """A line with a prompt; numbers link lines to their parents."""
    uuid = "00000000-0000-4000-8000-%012d"
    return {
        "type": "user",
        "uuid": uuid % number,
        "parentUuid": parent and uuid % parent,
        "timestamp": "2026-11-21T10:00:00.000Z",
        "message": {"role": "user", "content": text},
    }


def chain(count, size=0):
    """Prompts, each the child of the one before."""
    return [prompt(f"prompt {n} " + "x" * size, n, n - 1 if n > 1 else None) for n in range(1, count + 1)]


def test_lists_the_sessions_of_a_folder_newest_first(nvim, claude):
    (nvim.project / "below").mkdir()
    old = claude.write(nvim.project, ("the first", "an answer"))
    path = claude.path(nvim.project, old)
    os.utime(path, (path.stat().st_mtime - 1000,) * 2)
    new = claude.write(nvim.project, ("the second", "an answer"), title="A title")
    below = claude.write(nvim.project / "below", ("deeper", "an answer"))
    elsewhere = claude.write(nvim.home, ("elsewhere", "an answer"))

    def ids(opts):
        return [summary["id"] for summary in ask(nvim, "sessions.list(..., done)", opts)[0]]

    assert ids({}) == [new, old]
    assert set(ids({"scope": "tree"})) == {new, old, below}
    assert set(ids({"scope": "all"})) == {new, old, below, elsewhere}
    assert ids({"folder": str(nvim.home)}) == [elsewhere]
    summary = ask(nvim, "sessions.list({}, done)")[0][0]
    assert (summary["title"], summary["named"], summary["branch"]) == ("A title", True, "main")


def test_changes_are_one_when_neovim_had_no_time_to_look(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(1))
    open_transcript(nvim, file)
    lines = [json.dumps(line) + "\n" for line in chain(41)[1:]]
    nvim.lua(
        """
        local file, lines = ...
        local out = assert(io.open(file, "a"))
        for _, line in ipairs(lines) do
          out:write(line)
          out:flush()
          vim.uv.sleep(10)
        end
        out:close()
        """,
        str(file),
        lines,
    )
    nvim.wait(lambda: info(nvim)["len"] == 41)
    assert len(nvim.lua("return opened.t.changes")) <= 3


def test_two_transcripts_are_followed_each_for_itself(nvim, claude):
    one, two = claude.folder(nvim.project) / "one.jsonl", claude.folder(nvim.project) / "two.jsonl"
    append(one, *chain(3))
    append(two, *chain(7))
    open_transcript(nvim, one, "one")
    open_transcript(nvim, two, "two")
    append(two, prompt("more", 8, 7))
    nvim.wait(lambda: info(nvim, "two")["len"] == 8)
    assert info(nvim, "one")["len"] == 3
    assert nvim.lua("return #opened.one.changes") == 0
    nvim.lua("opened.two.transcript:close()")
    append(two, prompt("more", 9, 8))
    append(one, prompt("more", 4, 3))
    nvim.wait(lambda: info(nvim, "one")["len"] == 4)
    assert info(nvim, "two")["len"] == 8
    assert ask(nvim, "opened.two.transcript:rows(0, 1, done)") == (None, "the transcript is closed")


def test_nothing_is_heard_after_a_cancel_which_may_come_from_the_hits_themselves(nvim, claude):
    claude.write(nvim.project, *[(f"a needle {n}", "no") for n in range(500)])
    nvim.lua(
        """
        local sessions = Ide.sessions
        received, hits, ended = 0, 0, false
        local function hear() received = received + 1 end
        for _ = 1, 20 do
          sessions.search({ pattern = "needle" }, hear, hear)()
          sessions.list({}, hear)()
          sessions.find("x", hear)()
        end
        local cancel
        cancel = sessions.search({ pattern = "needle" }, function()
          hits = hits + 1
          cancel()
        end, function() ended = true end)
        """
    )
    nvim.wait("hits == 1")
    assert len(ask(nvim, "sessions.list({}, done)")[0]) == 1
    assert nvim.lua("return { received, hits, ended }") == [0, 1, False]


def test_works_beside_the_server_and_after_it(nvim, claude, connect):
    session = claude.write(nvim.project, ("hello", "an answer"))
    client = connect(nvim)
    open_transcript(nvim, claude.path(nvim.project, session))
    assert client.call("getWorkspaceFolders")
    nvim.lua("Ide.server.stop()")
    append(claude.path(nvim.project, session), prompt("more", 9))
    nvim.wait("#opened.t.changes > 0")
    assert len(ask(nvim, "sessions.list({}, done)")[0]) == 1
    nvim.lua("Ide.server.start()")
    assert connect(nvim).call("getWorkspaceFolders")


@pytest.mark.parametrize("command", ["exec sleep 600", "sleep 600; true"], ids=["itself", "a child of it"])
def test_knows_the_session_in_our_terminal(start_nvim, claude, tmp_path, command):
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    nvim = start_nvim(opts={"terminal": {"command": [str(program)]}})
    nvim.lua("Ide.sessions.attach(); Ide.terminal.open()")
    job = nvim.wait("return vim.b[Ide.terminal.bufnr()].terminal_job_pid")
    if not command.startswith("exec"):
        children = Path(f"/proc/{job}/task/{job}/children")
        if not children.exists():
            pytest.skip("this system does not list the children of a process")
        job = int(nvim.wait(lambda: children.read_text().split())[0])
    claude.record(claude.sleeper(), "other", "idle")
    claude.record(job, "ours", "idle")
    nvim.wait('(Ide.terminal.session() or {}).id == "ours"')


def test_looks_where_claude_keeps_its_files(start_nvim, tmp_path):
    there = Sessions(tmp_path / "there")
    there.config = tmp_path / "there"
    nvim = start_nvim(env={"CLAUDE_CONFIG_DIR": str(tmp_path / "there")})
    session = there.write(nvim.project, ("hello", "an answer"))
    assert [summary["id"] for summary in ask(nvim, "sessions.list({}, done)")[0]] == [session]
    nvim.lua("vim.env.CLAUDE_CONFIG_DIR = nil")
    assert ask(nvim, "sessions.list({}, done)") == ([], None)


def test_an_odd_request_is_a_clear_error(nvim):
    errors = nvim.lua(
        """
        local native = Ide.native
        Ide.sessions.attach()
        local function err(request) return (select(2, native.session_request(request))) end
        return {
          err('{"dance":{}}'), err('{"list":{"scope":"moon"}}'), err('{"open":{"file":"x","more":1}}'),
          err('{"ask":{"transcript":7,"epoch":1,"question":{"position":{"id":0}}}}'), err("nonsense"),
        }
        """
    )
    assert errors[0].startswith("request is no valid JSON for this: unknown variant `dance`, expected one of `list`")
    assert errors[1].startswith("request is no valid JSON for this: unknown variant `moon`")
    assert errors[2].startswith("request is no valid JSON for this: unknown field `more`")
    assert errors[3] == "no transcript 7 is open"
    assert errors[4].startswith("request is no valid JSON for this: ")


def test_a_request_before_the_start_is_a_clear_error(nvim):
    err = nvim.lua("""return (select(2, Ide.native.session_request('{"find":{"id":"x"}}')))""")
    assert err == "sessions are not watched yet: sessions_start comes first"


@pytest.mark.slow
@pytest.mark.every_nvim
@pytest.mark.parametrize("busy", ["search", "open", "follow"])
def test_neovim_quits_while_sessions_are_read(start_nvim, claude, busy):
    nvim = start_nvim()
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(4000, 4000))
    for number in range(8):
        os.link(file, file.with_name(f"s{number}.jsonl"))
    open_transcript(nvim, file)
    if busy == "search":
        search = "sessions.search({ pattern = 'p.*[^x]$', scope = 'all', max_hits = 10000 }, function() end, done)"
        nvim.lua(ASK + search)
    elif busy == "open":
        for number in range(8):
            nvim.lua(OPEN, f"t{number}", str(file.with_name(f"s{number}.jsonl")))
    before = time.monotonic()
    assert nvim.quit() == 0
    assert left(before) > 0


@pytest.mark.every_nvim
def test_a_reload_of_the_plugin_begins_anew(nvim, claude):
    """Like a plugin manager: the modules are loaded again, the library stays."""
    session = claude.write(nvim.project, ("hello", "an answer"))
    claude.record(claude.sleeper(), session, "idle")
    open_transcript(nvim, claude.path(nvim.project, session))
    nvim.lua(
        """
        for name in pairs(package.loaded) do
          if name:find("^claude%-ide") then package.loaded[name] = nil end
        end
        """
    )
    assert len(ask(nvim, "sessions.list({}, done)")[0]) == 1
    nvim.wait("#Ide.sessions.live() == 1")
