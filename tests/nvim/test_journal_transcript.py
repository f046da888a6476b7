"""Edits found in a session's transcript: alone, and combined with announced ones or those found otherwise."""

import os
import uuid
from datetime import timedelta

import pytest
from journal_steps import Claude

pytestmark = pytest.mark.dealt

A = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def claude(start_nvim, connect):
    return Claude(start_nvim(files={"a.txt": A, "b.txt": "b\n"}), connect)


def test_an_edit_that_nobody_announced_is_known_and_undone(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    assert claude.changes()["a.txt"]["source"] == "transcript"
    (result,) = claude.nvim.undo_turn()
    assert result["ok"]
    assert claude.text("a.txt") == A


def test_a_turn_that_neovim_was_too_busy_to_hear_of_is_one_of_its_own(claude, tmp_path):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    before = claude.text("a.txt")
    claude.nvim.notify("while not vim.uv.fs_stat(...) do vim.uv.sleep(1) end", str(tmp_path / "go"))
    prompt = claude.client.start_call("closeAllDiffTabs")
    claude.client.request("ping")  # the library answers that: it has the other one by now
    claude.line("user", message={"role": "user", "content": "more"})
    claude.edit("a.txt", "four", "FOUR")
    (tmp_path / "go").touch()
    claude.client.call_result(prompt)
    claude.wait(a_txt=(2, 2))
    claude.nvim.undo_turn()
    assert claude.text("a.txt") == before


def test_a_client_that_tells_nothing_at_all_is_followed_by_its_transcript(claude):
    claude.record("busy")
    claude.prompt(announced=False)
    claude.edit("a.txt", "two", "TWO")
    claude.edit("a.txt", "four", "FOUR")
    claude.wait(a_txt=(2, 2))
    claude.nvim.undo_turn()
    assert claude.text("a.txt") == A


COUNT = """
ended = {}
Ide.bus.on("calls_ended", function(_, calls)
  for _, call in ipairs(calls) do ended[#ended + 1] = call.id end
end)
"""


def test_calls_are_told_once_where_claude_comes_back_to_a_session_or_forks_it(claude):
    def switch(session):
        claude.session, claude.path = session, claude.files.path(claude.project, session)
        claude.record("idle")
        claude.nvim.wait(f"Ide.sessions.of_client(1).id == '{session}'", what="the switch")
        claude.prompt()

    claude.nvim.lua(COUNT)
    first, fork = claude.session, str(uuid.uuid4())
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    switch(str(uuid.uuid4()))  # `/clear`
    claude.edit("b.txt", "b", "B")
    claude.wait(a_txt=(1, 1), b_txt=(1, 1))
    switch(first)  # `/resume`
    claude.edit("a.txt", "four", "FOUR")
    claude.wait(a_txt=(2, 2), b_txt=(1, 1))
    claude.files.path(claude.project, fork).write_text(claude.path.read_text().replace(first, fork))
    switch(fork)
    claude.edit("a.txt", "one", "ONE")
    claude.wait(a_txt=(3, 3), b_txt=(1, 1))
    ended = claude.nvim.lua("return ended")
    assert len(ended) == len(set(ended)) == 4


def test_without_the_transcript_what_was_announced_is_known(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO", announce=True, tell=False)
    claude.wait(a_txt=(1, 1))


def test_a_turn_whose_end_is_seen_late_takes_nothing_of_the_next_one(claude):
    claude.prompt()
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.wait(a_txt=(1, 1))
    after_one_turn = claude.text("a.txt")
    claude.nvim.lua(
        """
        local file = Ide.file
        local read = file.read_later
        deferred = {}
        file.read_later = function(...)
          local args = { ... }
          table.insert(deferred, function() read(unpack(args)) end)
        end
        function let_reads_go()
          file.read_later = read
          for _, read_now in ipairs(deferred) do read_now() end
        end
        """
    )
    claude.prompt()
    claude.nvim.wait("#deferred > 0", what="a look at what the first turn wrote last")
    claude.edit("a.txt", "four", "FOUR")
    claude.wait(a_txt=(2, 2))
    before = claude.text("a.txt")
    claude.edit("a.txt", "one", "ONE", tell=False)
    claude.client.call("getDiagnostics", uri=f"file://{claude.project / 'a.txt'}")  # too late: it is written already
    claude.edited("a.txt", "one", "ONE", before)
    claude.wait(a_txt=(3, 3))
    claude.nvim.lua("let_reads_go()")
    claude.nvim.undo_turn()
    assert claude.text("a.txt") == after_one_turn


def test_edits_of_before_are_nobodys(claude):
    claude.prompt()
    claude.edited("b.txt", "a", "b", "a\n", age=timedelta(hours=1))
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))


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


def test_an_edit_of_a_subagent_that_is_read_after_its_end_is_found(claude):
    claude.prompt()
    folder = claude.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    main, parent = claude.path, claude.parent
    agent = folder / "agent-1.jsonl"
    claude.path, claude.parent = agent, None
    claude.line("user", message={"role": "user", "content": "as told"})
    agent.with_suffix(".meta.json").write_text('{"agentType": "Explore", "finished": true}')
    claude.path, claude.parent = main, parent
    claude.line("user", message={"role": "user", "content": "go on"})
    claude.nvim.lua("Ide.sessions.open(..., function(found) main = found end)", str(main))
    claude.nvim.wait("main and (main:info().agents[1] or {}).running == false", what="its end to be known")
    claude.nvim.lua("read = false vim.defer_fn(function() read = true end, 300)")
    claude.nvim.wait("read", what="its transcript to be read")
    claude.path, claude.parent = agent, None
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))


def test_of_many_subagents_only_those_that_run_are_followed(claude):
    """Each followed transcript costs a slot and a reader."""
    claude.nvim.lua("""
      opened = {}
      local sessions = Ide.sessions
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
    before.rename(folder)  # atomically: none is seen half written
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
    claude.session = str(uuid.uuid4())  # like after /clear
    claude.path = claude.files.path(nvim.project, claude.session)
    claude.record("busy")
    nvim.wait(lambda: nvim.lua("return Ide.sessions.of_client(1).id") == claude.session)
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.record("idle")
    claude.wait(a_txt=(1, 1))


COUNT_CALLS = """
told = {}
Ide.bus.on("calls_ended", function(_, calls)
  for _, call in ipairs(calls) do
    told[call.id] = (told[call.id] or 0) + 1
  end
end)
"""


def test_a_replaced_transcript_tells_no_call_again(claude):
    claude.nvim.lua(COUNT_CALLS)
    claude.prompt()
    claude.edit("a.txt", "two", "TWO")
    claude.wait(a_txt=(1, 1))
    copy = claude.path.with_suffix(".copy")
    copy.write_bytes(claude.path.read_bytes())
    copy.rename(claude.path)
    claude.edit("a.txt", "four", "FOUR")
    claude.wait(a_txt=(2, 2))
    assert list(claude.nvim.lua("return told").values()) == [1, 1]
    claude.nvim.undo_turn()
    assert claude.text("a.txt") == A


def test_many_edits_that_are_read_at_once_are_all_known(claude):
    claude.nvim.lua(COUNT_CALLS)
    claude.prompt()
    with claude.at_once():
        for number in range(30):
            (claude.project / f"{number}.txt").write_text("new\n")
            claude.edited(f"{number}.txt", "old", "new", "old\n")
    claude.nvim.wait(lambda: len(claude.changes()) == 30, what="all changes")
    assert list(claude.nvim.lua("return told").values()) == [1] * 30


@pytest.mark.slow
def test_each_edit_of_a_long_turn_is_told_once_and_without_its_texts(claude):
    claude.nvim.lua("""
      asked = { calls = 0, bytes = 0 }
      local transport = Ide.sessions_transport
      local request = transport.request
      transport.request = function(what, hear)
        local question = what.ask and next(what.ask.question)
        local reply = hear.reply
        return request(what, vim.tbl_extend("force", hear, {
          reply = function(result, err)
            if question then
              asked.calls = asked.calls + #((result or {}).calls or {})
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
            claude.edited(name, "old", "new", "old\n", more="x" * 20000)
        claude.nvim.wait(lambda batch=batch: len(claude.changes()) == 5 * batch + 5, what="the batch to be known")
    asked = claude.nvim.lua("return asked")
    assert asked["calls"] == 60
    assert asked["bytes"] < 60 * 1000, asked
