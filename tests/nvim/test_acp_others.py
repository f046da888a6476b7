"""The chat with real agents against the scripted model: Claude behind its adapter, the Gemini CLI and Codex.

One session for each, since starting one takes some seconds: each step is a function, named after what it asserts.
"""

import os
import signal

import other_agents
import pytest
from chat_steps import (
    accept,
    call,
    chat,
    edit_proposal,
    reject,
    say,
    text,
    wait_answer,
    wait_asked,
    wait_diff,
    wait_idle,
    wait_text,
)

from harness import cli
from harness.terminal import marked_processes

pytestmark = pytest.mark.dealt

LINES = "one\ntwo\nthree\n"


@pytest.fixture
def begin(start_nvim, mock_api, tmp_path):
    def begin(agent, words):
        cli.prepare_home(tmp_path / "home")
        agents = {"theirs": {"name": "Theirs", **agent(tmp_path / "theirs", mock_api)}}
        files = {f"{name}.txt": LINES for name in "abcdef"}
        nvim = start_nvim(files=files, opts={"agents": agents})
        nvim.lua("vim.cmd('Claude chat --agent theirs ' .. ...)", words)
        nvim.wait("Ide.chat.current() ~= nil", what="the chat")
        wait_answer(nvim, "\nhello from **them**")
        return nvim

    return begin


def an_edit_goes_through_the_review(nvim, edit):
    path = nvim.project / "a.txt"
    say(nvim, edit(path, "two", "TWO") + " THEN SAY **edited** then")
    wait_diff(nvim)
    assert path.read_text() == LINES
    accept(nvim)
    wait_answer(nvim, "\n**edited** then")
    assert path.read_text() == "one\nTWO\nthree\n"


def what_the_user_makes_of_an_edit_is_what_is_written(nvim, mock_api, edit):
    path = nvim.project / "b.txt"
    say(nvim, edit(path, "two", "TWO") + " THEN SAY over")
    wait_diff(nvim)
    edit_proposal(nvim, 1, 2, ["mine  ", "\tand more"])
    accept(nvim)
    nvim.wait(lambda: mock_api.seen("+mine  "), what="the model to be told")
    wait_idle(nvim)
    assert path.read_text() == "one\nmine  \n\tand more\nthree\n"
    assert "· changed by you" in text(nvim)


def an_edit_is_rejected(nvim, edit):
    path, reported = nvim.project / "a.txt", text(nvim).count("without asking")
    say(nvim, edit(path, "TWO", "never") + " THEN SAY after")
    wait_diff(nvim)
    reject(nvim)
    wait_idle(nvim)
    assert "+never" in text(nvim).rpartition("THEN SAY after")[2], "what was proposed stays to be seen"
    assert path.read_text() == "one\nTWO\nthree\n"
    assert text(nvim).count("without asking") == reported


def a_command_is_allowed_and_another_denied(nvim, command):
    say(nvim, command("touch made.txt") + " THEN SAY **ran** then")
    wait_asked(nvim, "touch made.txt")
    nvim.keys("y")
    wait_answer(nvim, "\n**ran** then")
    assert (nvim.project / "made.txt").exists() and "touch made.txt" in text(nvim)
    say(nvim, command("touch denied.txt") + " THEN SAY after")
    wait_asked(nvim, "touch denied.txt")
    nvim.keys("n")
    wait_idle(nvim)
    assert not (nvim.project / "denied.txt").exists()
    say(nvim, "SAY next")
    wait_answer(nvim, "\nnext")


def to_interrupt_closes_what_it_asks(nvim, command):
    say(nvim, command("touch late.txt") + " THEN SAY after")
    wait_asked(nvim, "touch late.txt")
    chat(nvim, "chat:interrupt()")
    wait_idle(nvim)
    nvim.wait("Ide.requests.count() == 0", what="the question to be gone")
    say(nvim, "SAY go on")
    wait_answer(nvim, "\ngo on")
    assert not (nvim.project / "late.txt").exists()


def killed_it_goes_on(nvim, mock_api):
    say(nvim, "SAY the first thing")
    wait_answer(nvim, "\nthe first thing")
    os.kill(chat(nvim, "return chat.pid"), signal.SIGKILL)
    wait_text(nvim, "Theirs was ended by signal 9.")
    say(nvim, "SAY the second thing")
    wait_answer(nvim, "\nthe second thing")
    # Gemini 0.61 forgets a session that it is to load within the minute (google-gemini/gemini-cli#28775).
    is_told = "This is a new one, and it knows nothing of what was said before." in " ".join(text(nvim).split())
    assert mock_api.seen("the first thing") != is_told


def quitting_leaves_no_process_behind(nvim):
    assert len(marked_processes(nvim.terminal.marker)) > 1
    nvim.leave()
    nvim.terminal.wait(lambda: not marked_processes(nvim.terminal.marker), 20, "the agent and its children to end")


def test_a_session_with_claude_behind_the_protocol(begin, mock_api):
    def edit(path, old, new):
        read = call("Read", file_path=str(path))
        return f"{read} THEN {call('Edit', file_path=str(path), old_string=old, new_string=new)}"

    def command(line):
        return call("Bash", command=line, description="Makes it")

    def closed_it_goes_on_with_its_session(nvim):
        session = chat(nvim, "return chat.session")
        nvim.lua("vim.cmd('Claude chat close')")
        nvim.lua("vim.cmd('Claude chat --agent theirs --resume ' .. ...)", session)
        nvim.wait("(Ide.chat.current() or {}).state == 'idle'", what="the session")
        wait_text(nvim, "\nthe second thing")
        assert "the first thing" in text(nvim)

    nvim = begin(other_agents.claude, "SAY hello from **them**")
    a_command_is_allowed_and_another_denied(nvim, command)
    an_edit_goes_through_the_review(nvim, edit)
    what_the_user_makes_of_an_edit_is_what_is_written(nvim, mock_api, edit)
    killed_it_goes_on(nvim, mock_api)
    assert "the first thing" in str(mock_api.conversation())
    closed_it_goes_on_with_its_session(nvim)
    quitting_leaves_no_process_behind(nvim)


def test_a_session_with_gemini(begin, mock_api):
    def edit(path, old, new):
        return call("replace", file_path=str(path), old_string=old, new_string=new, instruction="an edit")

    def command(line):
        return call("run_shell_command", command=line, description="Makes it")

    def a_new_file_goes_through_the_review(nvim):
        path = nvim.project / "new.txt"
        say(nvim, call("write_file", file_path=str(path), content="1\n2\n") + " THEN SAY **created** then")
        wait_diff(nvim)
        assert not path.exists()
        accept(nvim)
        wait_answer(nvim, "\n**created** then")
        assert path.read_text() == "1\n2\n"

    nvim = begin(other_agents.gemini, "SAY hello from **them**")
    an_edit_goes_through_the_review(nvim, edit)
    what_the_user_makes_of_an_edit_is_what_is_written(nvim, mock_api, edit)
    an_edit_is_rejected(nvim, edit)
    a_new_file_goes_through_the_review(nvim)
    a_command_is_allowed_and_another_denied(nvim, command)
    to_interrupt_closes_what_it_asks(nvim, command)
    killed_it_goes_on(nvim, mock_api)
    quitting_leaves_no_process_behind(nvim)


def test_a_session_with_codex(begin, mock_api):
    def edit(path, old, new):
        patch = f"*** Begin Patch\n*** Update File: {path.name}\n@@\n one\n-{old}\n+{new}\n three\n*** End Patch\n"
        return call("exec_command", cmd=f"apply_patch <<'EOF'\n{patch}EOF\n")

    def command(line):
        return call("exec_command", cmd=line, sandbox_permissions="require_escalated", justification="May I?")

    def what_is_dropped_of_an_edit_of_several_files_is_not_written(nvim):
        c, d = nvim.project / "c.txt", nvim.project / "d.txt"
        reported = text(nvim).count("without asking")
        for old_c, new, is_whole in (("two", "2", False), ("2", "3", True)):
            more = "*** Delete File: e.txt\n*** Update File: f.txt\n*** Move to: g.txt\n@@\n one\n-two\n+2\n three\n"
            pieces = (more if is_whole else "") + "".join(
                f"*** Update File: {path.name}\n@@\n one\n-{old}\n+{new}\n three\n"
                for path, old in ((c, old_c), (d, "two"))
            )
            say(
                nvim,
                call("exec_command", cmd=f"apply_patch <<'EOF'\n*** Begin Patch\n{pieces}*** End Patch\nEOF\n")
                + " THEN SAY after",
            )
            nvim.wait(
                "local changeset = Ide.proposal.pending()[1] return changeset and Ide.proposal.list()[1].seen",
                what="the changeset to be seen",
            )
            assert (c.read_text(), d.read_text()) == (f"one\n{old_c}\nthree\n", LINES)
            if not is_whole:
                nvim.answer("")
                nvim.lua("Ide.proposal.pending()[1].files[2].dropped = true")
            accept(nvim)
            nvim.wait(lambda new=new: c.read_text() == f"one\n{new}\nthree\n", what="what was accepted")
            if not is_whole:
                nvim.wait(lambda: mock_api.seen("was left as it was"), what="the model to be told")
            wait_idle(nvim)
            assert d.read_text() == ("one\n3\nthree\n" if is_whole else LINES)
        assert (nvim.project / "g.txt").read_text() == "one\n2\nthree\n"
        assert not (nvim.project / "e.txt").exists() and not (nvim.project / "f.txt").exists()
        assert text(nvim).count("without asking") == reported

    def what_it_changes_unasked_is_told(nvim):
        path = nvim.project / "b.txt"
        path.write_text(LINES)
        say(nvim, edit(path, "two", "unasked") + " THEN SAY **by itself** then")
        wait_answer(nvim, "\n**by itself** then")
        assert path.read_text() == "one\nunasked\nthree\n"
        assert f"{path} was changed without asking you." in " ".join(text(nvim).split())

    nvim = begin(other_agents.codex, "SAY hello from **them**")
    what_it_changes_unasked_is_told(nvim)
    (nvim.project / "b.txt").write_text(LINES)
    while chat(nvim, "return chat.mode") != "read-only":
        before = chat(nvim, "return chat.mode")
        chat(nvim, "Ide.chat_settings.next_mode(chat)")
        nvim.wait(lambda before=before: chat(nvim, "return chat.mode") != before, what="the mode to change")
    an_edit_goes_through_the_review(nvim, edit)
    what_the_user_makes_of_an_edit_is_what_is_written(nvim, mock_api, edit)
    an_edit_is_rejected(nvim, edit)
    a_command_is_allowed_and_another_denied(nvim, command)
    to_interrupt_closes_what_it_asks(nvim, command)
    what_is_dropped_of_an_edit_of_several_files_is_not_written(nvim)
    killed_it_goes_on(nvim, mock_api)
    quitting_leaves_no_process_behind(nvim)
