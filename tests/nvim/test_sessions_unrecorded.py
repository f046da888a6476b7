"""What a CLI does that keeps no record of itself (2.0.77): worked out of the transcript that it writes, once that is found."""

import os
import time

import pytest
from transcript_files import Transcript

pytestmark = pytest.mark.dealt

TEXT = "require('claude-ide.statusline').text()"
CAPTURE = """
notices, events = {}, {}
vim.notify = function(message) notices[#notices + 1] = message end
vim.api.nvim_create_autocmd("User", {
  pattern = { "ClaudeWorking", "ClaudeWaiting", "ClaudeIdle" },
  callback = function(event) events[#events + 1] = { event.match, event.data } end,
})
"""
QUESTION = {"questions": [{"question": "Which?", "header": "H", "options": [{"label": "A"}]}]}


class Session(Transcript):
    """What such a CLI writes, and what it says to Neovim."""

    def __init__(self, home, cwd, id, client) -> None:
        super().__init__(home, cwd, id)
        self.client = client

    def prompt(self, content, **more):
        self.client.call("closeAllDiffTabs")
        return super().prompt(content, **more)

    def ends(self, text):
        """The last word of a turn."""
        self.wait(2)
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
        self.line("assistant", message=message)


@pytest.fixture
def start(start_nvim, connect):
    def start(opts=None, **more):
        nvim = start_nvim(opts=opts or {}, init_lua=CAPTURE, **more)
        nvim.client = connect(nvim)
        return nvim

    return start


@pytest.fixture
def session(tmp_path):
    def session(nvim, id="11111111-2222-4333-8444-555555555555", client=None):
        return Session(tmp_path / "home", nvim.project, id, client or nvim.client)

    return session


def shows(nvim, text):
    nvim.wait(lambda: nvim.lua(f"return {TEXT}") == text, what=f"the statusline to say {text!r}")


def test_the_statusline_and_the_command_say_what_it_does(start, session):
    nvim = start()
    shows(nvim, "Claude")
    script = session(nvim)
    script.prompt("Do it")
    shows(nvim, "Claude working")
    call = script.call("AskUserQuestion", **QUESTION)
    script.reply(call)
    shows(nvim, "Claude waiting: answer")
    nvim.cmd("Claude status")
    assert f"(pid {os.getpid()}, waiting: answer)" in nvim.lua("return notices")[-1]
    script.result(call, "A")
    shows(nvim, "Claude working")
    script.ends("Done.")
    shows(nvim, "Claude idle")
    names = [name for name, _ in nvim.lua("return events")]
    assert names == ["ClaudeWorking", "ClaudeWaiting", "ClaudeWorking", "ClaudeIdle"]
    (live,) = nvim.lua("return require('claude-ide.sessions').live()")
    assert (live["id"], live["version"], live["state"]["source"]) == (script.id, "2.1.329", "transcript")


def test_a_text_before_a_call_is_not_the_end_of_the_turn(start, session):
    nvim = start()
    script = session(nvim)
    for _ in range(10):
        nvim.lua("events = {}")
        script.prompt("Do it")
        shows(nvim, "Claude working")
        began = time.monotonic()
        script.reply("Let me see.")  # which such a CLI writes before it knows what follows
        script.run("Bash", "ok", command="make")
        is_slow = time.monotonic() - began > 2
        script.reply("Done.")
        shows(nvim, "Claude idle")  # once nothing follows
        if not is_slow:  # else the machine stood still, and that was rightly taken for the end
            break
    assert [name for name, _ in nvim.lua("return events")] == ["ClaudeWorking", "ClaudeIdle"]


def test_one_notice_tells_of_the_end_and_of_a_question(start, session, connect):
    nvim = start(opts={"terminal": {"command": ["sh", "-c", "exec sleep 600"]}, "notify": {"min_turn_ms": 10000}})
    nvim.keys(":Claude<CR>")
    nvim.wait("require('claude-ide.terminal').is_visible()", what="the terminal")
    pid = nvim.lua("return vim.b[require('claude-ide.terminal').bufnr()].terminal_job_pid")
    nvim.client.notify("ide_connected", {"pid": pid})
    nvim.wait(f"require('claude-ide.server').clients()[1].pid == {pid}", what="the pid")
    nvim.cmd("Claude hide")
    script = session(nvim)
    script.prompt("Do it")
    shows(nvim, "Claude working")
    call = script.call("AskUserQuestion", **QUESTION)
    script.reply(call)
    nvim.wait("#notices == 1", what="the notice of the question")
    script.result(call, "A", seconds=118)
    script.ends("Done.")
    nvim.wait("#notices == 2", what="the notice of the end")
    assert nvim.lua("return notices") == ["Claude waits for your answer", "Claude has finished after 2 min"]
    assert nvim.lua("return require('claude-ide.terminal').session().id") == script.id


def test_it_is_followed_to_the_session_after_clear(start, session):
    nvim = start()
    first = session(nvim)
    first.prompt("Do it")
    first.ends("Done.")
    shows(nvim, "Claude idle")
    os.utime(first.path, (1e9, 1e9))  # long before what follows
    second = session(nvim, "22222222-2222-4333-8444-555555555555")
    second.prompt("<command-name>/clear</command-name>")
    second.prompt("Do more")
    shows(nvim, "Claude working")
    name, data = nvim.lua("return events[#events]")
    assert (name, data["session"]) == ("ClaudeWorking", second.id)
    assert first.id in [data.get("previous") for _, data in nvim.lua("return events")]


def test_two_in_one_folder_are_told_apart_by_their_prompts(start, session, connect, sessions):
    nvim = start()
    other = connect(nvim)
    pid = sessions.sleeper()
    other.notify("ide_connected", {"pid": pid})
    nvim.wait(f"require('claude-ide.server').clients()[2].pid == {pid}", what="the pid")
    one = session(nvim)
    two = session(nvim, "22222222-2222-4333-8444-555555555555", other)
    one.prompt("Do this")
    shows(nvim, "Claude working")
    two.prompt("Do that")
    two.ends("Done.")
    shows(nvim, "Claude 1 working, 1 idle")
    found = "return vim.tbl_map(function(s) return { s.pid, s.id } end, require('claude-ide.sessions').live())"
    assert {tuple(one) for one in nvim.lua(found)} == {(os.getpid(), one.id), (pid, two.id)}


def test_its_end_is_seen(start, session, sessions):
    nvim = start()
    pid = sessions.sleeper()
    nvim.client.notify("ide_connected", {"pid": pid})
    nvim.wait(f"require('claude-ide.server').clients()[1].pid == {pid}", what="the pid")
    session(nvim).prompt("Do it")
    shows(nvim, "Claude working")
    sessions.processes[0].kill()
    nvim.wait("#require('claude-ide.sessions').live() == 0", what="the end")
    shows(nvim, "Claude")


def test_a_record_says_it_better(start, session, sessions):
    nvim = start()
    script = session(nvim)
    script.prompt("Do it")
    shows(nvim, "Claude working")
    sessions.record(os.getpid(), script.id, "waiting", nvim.project, waitingFor="permission prompt")
    shows(nvim, "Claude waiting: permission")
    assert len(nvim.lua("return require('claude-ide.sessions').live()")) == 1


def test_what_is_written_elsewhere_or_by_others_is_not_its_own(start, session, sessions, tmp_path):
    nvim = start()
    (tmp_path / "other").mkdir()
    recorded = session(nvim, "22222222-2222-4333-8444-555555555555")
    sessions.record(sessions.sleeper(), recorded.id, "busy", nvim.project)
    nvim.wait("#require('claude-ide.sessions').live() == 1", what="the session with a record")
    recorded.prompt("Do that")
    Transcript(tmp_path / "home", tmp_path / "other", "33333333-2222-4333-8444-555555555555").prompt("elsewhere")
    mine = session(nvim)
    mine.prompt("Do this")
    shows(nvim, "Claude working")
    assert nvim.lua("return require('claude-ide').status().sessions[1].id") == mine.id
