"""Sessions through the library: what Lua asks, what it hears, and that Neovim never waits for it."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from session_files import Sessions

from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

FIXTURES = ROOT / "tests" / "sessions" / "fixtures"

ASK = """
local sessions = require("claude-ide.sessions")
answer = nil
local function done(result, err) answer = { result = result, err = err } end
"""

OPEN = """
local name, file = ...
opened = opened or {}
local entry = { changes = {} }
opened[name] = entry
entry.close = require("claude-ide.sessions").open(file, function(transcript, err)
  entry.transcript, entry.err = transcript, err
end, function(delta)
  table.insert(entry.changes, delta)
  entry.changed_at = vim.uv.hrtime()
end)
"""


@pytest.fixture
def claude(sessions):
    """What Claude keeps in the home of the Neovims of this test."""
    return sessions


def ask(nvim, code, *args):
    """Runs Lua that hands `done` to a request; its result and its error."""
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
    """A line with a prompt; lines hang together by their numbers."""
    uuid = "00000000-0000-4000-8000-%012d"
    return {
        "type": "user",
        "uuid": uuid % number,
        "parentUuid": parent and uuid % parent,
        "timestamp": "2026-11-21T10:00:00.000Z",
        "message": {"role": "user", "content": text},
    }


def chain(count, size=0):
    """Prompts, each following the one before."""
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


def test_finds_a_transcript_by_the_id_of_its_session(nvim, claude):
    session = claude.write(nvim.home, ("elsewhere", "an answer"))
    assert ask(nvim, "sessions.find(..., done)", session) == (str(claude.path(nvim.home, session)), None)
    assert ask(nvim, "sessions.find(..., done)", "none") == (None, "no session with the id none")


def test_reads_rows_and_messages(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    shutil.copy(FIXTURES / "terminal.jsonl", file)
    shutil.copytree(FIXTURES / "terminal", file.with_suffix(""))
    open_transcript(nvim, file)
    known = info(nvim)
    assert known["complete"] and known["len"] > 10 and known["broken_lines"] == 0
    assert known["last_reply"]["kind"] == "reply" and known["total_usage"]["output"] > 0
    assert [agent["agent_type"] for agent in known["agents"]]
    rows, _ = ask(nvim, "opened.t.transcript:rows(0, 1000, done)")
    assert len(rows) == known["len"] and rows[0]["kind"] == "prompt"
    message, _ = ask(nvim, "opened.t.transcript:messages({ ... }, 5, done)", rows[0]["id"])
    assert message[0]["blocks"] == [{"type": "text", "text": "Hello", "bytes": len("Hello there, first prompt")}]
    position, _ = ask(nvim, "opened.t.transcript:position(..., done)", rows[3]["id"])
    assert position == {"place": "row", "row": 3}
    lines = file.read_text().splitlines()
    line = next(number for number, line in enumerate(lines, 1) if "Hello there, first prompt" in line)
    assert ask(nvim, "opened.t.transcript:message_at_line(..., done)", line)[0] == rows[0]["id"]


def test_gives_the_texts_of_an_edit(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    call = {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {"file_path": "/p/a"}}
    change = {"filePath": "/p/a", "oldString": "b", "newString": "c", "originalFile": "a b", "structuredPatch": []}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    append(
        file,
        prompt("edit it", 1),
        {"type": "assistant", "uuid": "b", "message": {"id": "m", "role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "c", "message": {"role": "user", "content": [result]}, "toolUseResult": change},
    )
    open_transcript(nvim, file)
    texts, _ = ask(nvim, "opened.t.transcript:edit_texts('toolu_1', done)")
    assert texts == {"path": "/p/a", "before": "a b", "after": "a c"}
    assert ask(nvim, "opened.t.transcript:edit_texts('none', done)") == (None, None)
    owner, _ = ask(nvim, "opened.t.transcript:message_of_tool('toolu_1', done)")
    (message,), _ = ask(nvim, "opened.t.transcript:messages({ ... }, 1000, done)", owner)
    assert message["blocks"][0]["status"] == "done" and message["blocks"][0]["input"] == {"file_path": "/p/a"}


def test_shows_another_branch(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, prompt("root", 1), prompt("one way", 2, 1), prompt("another way", 3, 1), prompt("on", 4, 3))
    open_transcript(nvim, file)
    rows, _ = ask(nvim, "opened.t.transcript:rows(0, 9, done)")
    assert [row["id"] for row in rows] == [0, 2, 3]
    assert rows[1]["branch"] == {"number": 2, "siblings": [1, 2]}
    delta, _ = ask(nvim, "opened.t.transcript:show_branch(1, done)")
    assert (delta["from"], delta["len"], info(nvim)["len"]) == (1, 2, 2)
    assert ask(nvim, "opened.t.transcript:position(3, done)")[0] == {"place": "other_branch"}
    assert ask(nvim, "opened.t.transcript:show_branch(nil, done)")[0]["len"] == 3


def test_a_new_line_is_seen_soon(nvim, claude):
    """At most 20 ms on a quiet machine, which `make bench` measures; here only that nobody waits for a sweep."""
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(1))
    open_transcript(nvim, file)
    nvim.lua(
        """
        local file = ...
        function write(line)
          local out = assert(io.open(file, "a"))
          written = vim.uv.hrtime()
          out:write(line)
          out:close()
        end
        """,
        str(file),
    )
    took = []
    for number in range(2, 42):  # one that is late may be the machine's fault
        nvim.lua("write(...)", json.dumps(prompt("more", number, number - 1)) + "\n")
        nvim.wait(lambda number=number: info(nvim)["len"] == number)
        took.append(nvim.lua("return (opened.t.changed_at - written) / 1e9"))
        if took[-1] < 0.5:
            break
    assert min(took) < 0.5
    changes = nvim.lua("return opened.t.changes")
    assert changes[0] == {"reset": False, "from": 1, "len": 2, "changed": []}


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


def test_a_half_written_line_waits_and_a_broken_one_is_counted(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(1), "no json\n", json.dumps(prompt("half", 2, 1))[:40])
    open_transcript(nvim, file)
    assert (info(nvim)["len"], info(nvim)["broken_lines"]) == (1, 1)
    append(file, json.dumps(prompt("half", 2, 1))[40:] + "\n")
    nvim.wait(lambda: info(nvim)["len"] == 2)
    append(file, "broken again\n")
    nvim.wait(lambda: info(nvim)["broken_lines"] == 2)


def test_a_file_that_is_replaced_begins_anew(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(5))
    open_transcript(nvim, file)
    before = info(nvim)["epoch"]
    other = file.with_suffix(".new")
    append(other, *chain(2))
    other.rename(file)
    nvim.wait("opened.t.transcript:info().len == 2")
    delta = nvim.lua("return opened.t.changes[#opened.t.changes]")
    assert delta["reset"] and delta["from"] == 0 and delta["len"] == 2
    assert info(nvim)["epoch"] > before


def test_a_question_of_before_a_replacement_is_not_answered_with_other_messages(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(3))
    open_transcript(nvim, file)
    nvim.lua("old = vim.deepcopy(opened.t.transcript:info())")
    other = file.with_suffix(".new")
    append(other, prompt("another conversation", 9))
    other.rename(file)
    nvim.wait("opened.t.transcript:info().len == 1")
    nvim.lua("opened.t.transcript.current = old")
    result, err = ask(nvim, "opened.t.transcript:messages({ 0 }, 100, done)")
    assert (result, err) == (None, "the transcript was replaced")


def test_a_file_that_goes_keeps_what_was_read(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(3))
    open_transcript(nvim, file)
    file.unlink()
    rows, _ = ask(nvim, "opened.t.transcript:rows(0, 9, done)")
    assert len(rows) == 3
    append(file, *chain(4))
    nvim.wait(lambda: info(nvim)["len"] == 4)


def test_a_file_that_is_not_there_is_an_error(nvim, tmp_path):
    _, err = ask(nvim, "sessions.open(..., done, function() end)", str(tmp_path / "none.jsonl"))
    assert err == f"could not read {tmp_path}/none.jsonl: No such file or directory (os error 2)"


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


def test_of_a_huge_transcript_the_end_is_there_first(nvim, claude):
    file = claude.folder(nvim.project) / "s.jsonl"
    append(file, *chain(3000, 4000))
    open_transcript(nvim, file)
    nvim.wait("opened.t.transcript:info().complete")
    (delta,) = nvim.lua("return opened.t.changes")
    assert delta["reset"] and delta["len"] == 3000
    shown_first = 3000 - delta["shift"]
    assert 200 <= shown_first < 3000
    rows, _ = ask(nvim, "opened.t.transcript:rows(2999, 1, done)")
    (message,), _ = ask(nvim, "opened.t.transcript:messages({ ... }, 12, done)", rows[0]["id"])
    assert message["blocks"][0]["text"] == "prompt 3000 "
    append(file, prompt("more", 3001, 3000))
    nvim.wait(lambda: info(nvim)["len"] == 3001)


def test_finds_text_in_batches_and_tells_the_end(nvim, claude):
    claude.write(nvim.project, ("where is the Needle", "one needle\nand a needle more"))
    claude.write(nvim.home, ("needle elsewhere", "no"))
    nvim.lua("hits = {}")
    search = "sessions.search(..., function(found) vim.list_extend(hits, found) end, done)"
    report, _ = ask(nvim, search, {"pattern": "needle"})
    assert report == {"hits": 3, "files": 1, "unreadable": 0, "incomplete": False}
    hits = nvim.lua("return hits")
    assert [hit["role"] for hit in hits] == ["prompt", "reply", "reply"]
    assert hits[1]["text"][hits[1]["start"] : hits[1]["end"]] == "needle"
    nvim.lua("hits = {}")
    assert ask(nvim, search, {"pattern": "n.+le", "scope": "all", "max_hits": 2})[0]["incomplete"]
    assert len(nvim.lua("return hits")) == 2
    report, err = ask(nvim, search, {"pattern": "("})
    assert report is None and err.startswith("not a valid search pattern: ")


def test_nothing_is_heard_after_a_cancel(nvim, claude):
    claude.write(nvim.project, *[(f"a needle {n}", "no") for n in range(500)])
    nvim.lua(
        """
        local sessions = require("claude-ide.sessions")
        heard = 0
        local function hear() heard = heard + 1 end
        for _ = 1, 20 do
          sessions.search({ pattern = "needle" }, hear, hear)()
          sessions.list({}, hear)()
          sessions.find("x", hear)()
        end
        """
    )
    assert len(ask(nvim, "sessions.list({}, done)")[0]) == 1
    assert nvim.lua("return heard") == 0


def test_a_search_can_be_cancelled_from_its_own_hits(nvim, claude):
    claude.write(nvim.project, *[(f"a needle {n}", "no") for n in range(500)])
    nvim.lua(
        """
        heard, ended = 0, false
        local cancel
        cancel = require("claude-ide.sessions").search({ pattern = "needle" }, function()
          heard = heard + 1
          cancel()
        end, function() ended = true end)
        """
    )
    nvim.wait("heard == 1")
    ask(nvim, "sessions.list({}, done)")
    assert nvim.lua("return { heard, ended }") == [1, False]


def test_works_beside_the_server_and_after_it(nvim, claude, connect):
    session = claude.write(nvim.project, ("hello", "an answer"))
    client = connect(nvim)
    open_transcript(nvim, claude.path(nvim.project, session))
    assert client.call("getWorkspaceFolders")
    nvim.lua('require("claude-ide.server").stop()')
    append(claude.path(nvim.project, session), prompt("more", 9))
    nvim.wait("#opened.t.changes > 0")
    assert len(ask(nvim, "sessions.list({}, done)")[0]) == 1
    nvim.lua('require("claude-ide.server").start()')
    assert connect(nvim).call("getWorkspaceFolders")


def test_follows_the_states_of_running_sessions(nvim, claude):
    pid = claude.sleeper()
    nvim.lua(
        """
        states = {}
        local sessions = require("claude-ide.sessions")
        require("claude-ide.bus").on("session_changed", function(change)
          table.insert(states, { change.session.id, change.session.state.activity, change.previous })
        end)
        sessions.attach()
        """
    )

    def last(state):
        nvim.wait(lambda: nvim.lua("return states[#states]") == state, what=f"the state {state}")

    claude.record(pid, "a", "busy")
    last(["a", "working"])
    claude.record(pid, "a", "waiting", waitingFor="permission prompt")
    last(["a", "waiting"])
    (live,) = nvim.lua('return require("claude-ide.sessions").live()')
    assert (live["pid"], live["state"]["waiting_for"]) == (pid, "permission")
    claude.record(pid, "b", "idle")
    last(["b", "idle", "a"])
    claude.forget(pid)
    last(["b", "gone"])
    assert nvim.lua('return require("claude-ide.sessions").live()') == []
    assert nvim.lua('return require("claude-ide.sessions").problem()') is None


def test_sessions_that_run_already_are_known(start_nvim, claude):
    claude.record(claude.sleeper(), "a", "idle")
    nvim = start_nvim()
    nvim.lua('require("claude-ide.sessions").attach()')
    nvim.wait('#require("claude-ide.sessions").live() == 1')


def test_knows_the_session_of_a_client_by_its_process(nvim, claude, connect):
    pid = claude.sleeper()
    claude.record(pid, "a", "idle")
    client = connect(nvim)
    client.notify("ide_connected", {"pid": pid})
    nvim.lua('require("claude-ide.sessions").attach()')
    of_client = """
        local sessions, client = require("claude-ide.sessions"), require("claude-ide.server").clients()[1]
        local session = sessions.of_client(client.id)
        return session and session.id
    """
    nvim.wait(lambda: nvim.lua(of_client) == "a")
    assert nvim.lua('return require("claude-ide.sessions").of_client(4711)') is None


@pytest.mark.parametrize("command", ["exec sleep 600", "sleep 600; true"], ids=["itself", "a child of it"])
def test_knows_the_session_in_our_terminal(start_nvim, claude, tmp_path, command):
    program = tmp_path / "claude"
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    nvim = start_nvim(opts={"terminal": {"command": [str(program)]}})
    nvim.lua('require("claude-ide.sessions").attach(); require("claude-ide.terminal").open()')
    job = nvim.wait('return vim.b[require("claude-ide.terminal").bufnr()].terminal_job_pid')
    if not command.startswith("exec"):
        children = Path(f"/proc/{job}/task/{job}/children")
        if not children.exists():
            pytest.skip("this system does not list the children of a process")
        job = int(nvim.wait(lambda: children.read_text().split())[0])
    claude.record(claude.sleeper(), "other", "idle")
    claude.record(job, "ours", "idle")
    nvim.wait('(require("claude-ide.terminal").session() or {}).id == "ours"')


def test_looks_where_claude_keeps_its_files(start_nvim, tmp_path):
    there = Sessions(tmp_path / "there")
    there.config = tmp_path / "there"
    nvim = start_nvim(env={"CLAUDE_CONFIG_DIR": str(tmp_path / "there")})
    session = there.write(nvim.project, ("hello", "an answer"))
    assert [summary["id"] for summary in ask(nvim, "sessions.list({}, done)")[0]] == [session]
    nvim.lua("vim.env.CLAUDE_CONFIG_DIR = nil")
    assert ask(nvim, "sessions.list({}, done)") == ([], None)


def test_says_why_states_cannot_be_seen(nvim, claude):
    def problem():
        return nvim.lua('return require("claude-ide.sessions").problem()')

    assert "Claude Code has not run yet" in problem()
    claude.config.mkdir()
    assert "does not say what a session does" in problem()
    (claude.config / "sessions").write_text("a file, not a folder")
    assert "cannot be read" in problem()
    (claude.config / "sessions").unlink()
    (claude.config / "sessions").mkdir()
    assert problem() is None


def test_tells_the_state_also_where_no_record_is_kept(nvim, claude):
    look = "local id, file = ... sessions.state(id, file, done)"
    session = claude.write(nvim.project, ("hello", "an answer"))
    state, _ = ask(nvim, look, session, str(claude.path(nvim.project, session)))
    assert state["source"] == "transcript"
    claude.record(claude.sleeper(), session, "waiting", waitingFor="input needed")
    state, _ = ask(nvim, look, session, str(claude.path(nvim.project, session)))
    assert (state["source"], state["activity"], state["waiting_for"]) == ("record", "waiting", "input")
    assert ask(nvim, "sessions.watch_mode(done)")[0] in ("events", "polling")


def test_an_odd_request_is_a_clear_error(nvim):
    errors = nvim.lua(
        """
        local native = require("claude-ide.native")
        require("claude-ide.sessions").attach()
        local function err(request) return (select(2, native.session_request(request))) end
        return {
          err('{"dance":{}}'), err('{"list":{"scope":"moon"}}'), err('{"open":{"file":"x","more":1}}'),
          err('{"ask":{"transcript":7,"epoch":1,"question":{"agents":{}}}}'), err("nonsense"),
        }
        """
    )
    assert errors[0].startswith("request is no valid JSON for this: unknown variant `dance`, expected one of `list`")
    assert errors[1].startswith("request is no valid JSON for this: unknown variant `moon`")
    assert errors[2].startswith("request is no valid JSON for this: unknown field `more`")
    assert errors[3] == "no transcript 7 is open"
    assert errors[4].startswith("request is no valid JSON for this: ")


def test_a_request_before_the_start_is_a_clear_error(nvim):
    err = nvim.lua("""return (select(2, require("claude-ide.native").session_request('{"find":{"id":"x"}}')))""")
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
    assert time.monotonic() - before < 20


@pytest.mark.every_nvim
def test_a_reload_of_the_plugin_begins_anew(nvim, claude):
    """As plugin managers do it: the modules are loaded again, the library stays."""
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
    nvim.wait('#require("claude-ide.sessions").live() == 1')
