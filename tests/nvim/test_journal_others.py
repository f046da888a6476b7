"""What others change while Claude works: only what changed while a command ran may be Claude's."""

import os
import time
from datetime import timedelta

import pytest
from journal_steps import Claude
from test_journal_shell import WATCH_CHECKPOINTS, commit

pytestmark = [pytest.mark.dealt, pytest.mark.slow]


class InRepository(Claude):
    """Its project has a commit, so commands' changes are found."""

    def begin(self):
        """A prompt, and the checkpoint of its start."""
        self.nvim.lua("before = begun")
        self.prompt()
        self.record("busy")
        self.nvim.wait("looked > before", what="the checkpoint")
        self.nvim.wait("Ide.journal_store.is_busy(1)", what="the turn to be seen at work")

    def end(self, **changed):
        """The turn is over: exactly these files wait for a review."""
        self.record("idle")
        self.nvim.wait("not Ide.journal_store.is_busy(1)", what="the end of the turn")
        self.nvim.lua("known = false Ide.journal.when_known(function() known = true end)")
        self.nvim.wait("known", what="all changes of the turn")
        self.wait(**changed)

    def write(self, text, name=None):
        if name is None:
            super().write(text)
        else:
            (self.project / name).write_text(text)


@pytest.fixture
def nvim(start_nvim):
    nvim = start_nvim(files={"a.txt": "one\ntwo\n", "b.txt": "b\n", "gone.txt": "gone\n"})
    commit(nvim.project)
    nvim.lua(WATCH_CHECKPOINTS)
    return nvim


@pytest.fixture
def claude(nvim, connect):
    return InRepository(nvim, connect)


LONG_AGO, LATER = timedelta(seconds=20), timedelta(seconds=18)


@pytest.mark.every_nvim
def test_what_others_change_between_two_turns_is_of_neither(claude):
    claude.begin()
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.end(a_txt=(1, 1))
    claude.write("mine\n", "b.txt")
    claude.write("mine\n", "new.txt")
    (claude.project / "gone.txt").unlink()
    claude.record("busy")  # so does the CLI, before it tells of the prompt
    claude.nvim.wait("Ide.journal_store.is_busy(1)", what="the next turn to be seen")
    claude.client.call("getDiagnostics")
    claude.begin()
    claude.end(a_txt=(1, 1))


@pytest.mark.every_nvim
def test_what_others_change_in_a_turn_without_a_command_is_theirs(claude):
    claude.begin()
    claude.write("mine\n", "b.txt")
    claude.write("mine\n", "new.txt")
    (claude.project / "gone.txt").unlink()
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.end(a_txt=(1, 1))
    claude.nvim.undo_turn()
    assert (claude.text("a.txt"), claude.text("b.txt"), claude.text("new.txt")) == ("one\ntwo\n", "mine\n", "mine\n")
    assert claude.text("gone.txt") is None


def test_what_others_change_while_no_command_runs_is_theirs(claude):
    claude.begin()
    claude.ran(claude.called("", tool="Bash", age=LONG_AGO), age=LATER)
    claude.write("mine\n", "b.txt")
    theirs = (claude.project / "b.txt").stat().st_ctime
    claude.nvim.wait(f"Ide.clock.now() > {theirs * 1000 + 100}", what="another moment")
    command = claude.called("", tool="Bash")
    claude.write("by a command\n", "new.txt")
    claude.ran(command)
    claude.end(new_txt=(1, 0))


@pytest.mark.every_nvim
def test_what_changes_while_a_command_runs_is_found(claude):
    claude.begin()
    command = claude.called("", tool="Bash")
    claude.write("by a command\n", "b.txt")
    (claude.project / "gone.txt").unlink()
    claude.ran(command)
    claude.end(b_txt=(1, 1), gone_txt=(0, 1))


@pytest.mark.parametrize("tool", ["mcp__files__write", "Agent"])
def test_what_changes_while_another_tool_runs_that_may_write_is_found(claude, tool):
    claude.begin()
    call = claude.called("", tool=tool)
    claude.write("by a tool\n", "b.txt")
    claude.ran(call)
    claude.end(b_txt=(1, 1))


def test_a_command_in_the_background_may_write_after_its_result(claude):
    claude.begin()
    claude.ran(claude.called("", tool="Bash", age=LONG_AGO), age=LATER, backgroundTaskId="b1")
    claude.write("by a command\n", "b.txt")
    claude.end(b_txt=(1, 1))


def test_a_command_that_the_user_refused_writes_nothing(claude):
    claude.begin()
    command = claude.called("", tool="Bash")
    claude.write("mine\n", "b.txt")
    claude.failed(command, "no", denied=True)
    claude.end()


def test_a_command_that_the_user_interrupted_has_run(claude):
    claude.begin()
    command = claude.called("", tool="Bash")
    claude.write("by a command\n", "b.txt")
    claude.failed(command, "no", interrupted=True)
    claude.end(b_txt=(1, 1))


def named(claude, *names):
    """What the CLI says in auto mode of what a command changed."""
    files = [str(claude.project / name) for name in names]
    return {"bashEditDiff": {"files": [], "moreFiles": 0, "changedFiles": files}}


@pytest.mark.every_nvim
def test_a_file_that_a_command_names_is_its_own_whoever_touches_it_later(claude):
    claude.begin()
    (claude.project / "sub").mkdir()
    for name in ("b.txt", "sub/c.txt"):
        claude.write("by a command\n", name)
    (claude.project / "gone.txt").unlink()
    claude.ran(claude.called("", tool="Bash", age=LONG_AGO), **named(claude, "b.txt", "sub", "gone.txt"), age=-LATER)
    claude.end(b_txt=(1, 1), c_txt=(1, 0), gone_txt=(0, 1))


@pytest.mark.every_nvim
def test_a_folder_that_a_command_moves_is_found_whole(claude):
    old, new = claude.project / "old", claude.project / "new"
    old.mkdir()
    (old / "c.txt").write_text("c\n")
    claude.nvim.wait(f"Ide.clock.now() > {time.time() * 1000 + 100}", what="another moment")
    claude.begin()
    command = claude.called("", tool="Bash")
    old.rename(new)
    claude.ran(command)
    claude.record("idle")
    claude.nvim.wait("not Ide.journal_store.is_busy(1)", what="the end of the turn")
    claude.nvim.wait("#Ide.journal.changes() == 2", what="both names")
    claude.nvim.undo_turn()
    assert (old / "c.txt").exists() and not (new / "c.txt").exists()


@pytest.mark.every_nvim
def test_what_others_change_while_a_call_waits_for_the_user_is_theirs(claude):
    def asks(status):
        claude.files.record(
            os.getpid(), claude.session, status, claude.project, statusUpdatedAt=int(time.time() * 1000)
        )
        claude.nvim.wait(f"Ide.sessions.of_client(1).state.activity == '{'working' if status == 'busy' else status}'")

    claude.begin()
    command = claude.called("", tool="Bash")
    asks("waiting")
    claude.write("mine\n", "b.txt")
    claude.nvim.wait(f"Ide.clock.now() > {time.time() * 1000 + 2100}", what="another moment")
    asks("busy")
    claude.write("by a command\n", "new.txt")
    claude.ran(command)
    claude.end(new_txt=(1, 0))


def after_a_command(claude):
    """A turn in which a command has run, more than a moment ago."""
    claude.begin()
    claude.ran(claude.called("", tool="Bash"))
    claude.nvim.wait(f"Ide.clock.now() > {time.time() * 1000 + 1100}", what="another moment")


@pytest.mark.every_nvim
def test_what_may_be_of_others_is_named_and_stays(claude):
    nvim = claude.nvim
    nvim.keep_notices()
    nvim.answer(1)
    after_a_command(claude)
    claude.write("mine\n", "b.txt")
    claude.write("mine\n", "new.txt")
    (claude.project / "gone.txt").unlink()
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.end(a_txt=(1, 1))
    maybe = "b.txt, gone.txt, new.txt changed in Claude's turn after its commands, maybe by you"
    nvim.wait_notice(f"{maybe}, so not in the review.")
    nvim.cmd("Claude undo")
    nvim.wait_notice("Stays: b.txt")
    assert "Stays: b.txt, gone.txt, new.txt" in nvim.asked()[0]["prompt"]
    assert (claude.text("a.txt"), claude.text("b.txt"), claude.text("new.txt")) == ("one\ntwo\n", "mine\n", "mine\n")
    assert claude.text("gone.txt") is None
    nvim.cmd("Claude undo")
    nvim.wait_notice(f"Nothing to undo: {maybe}.")


def test_what_a_commands_child_writes_later_is_named_though_the_user_has_looked(claude):
    claude.nvim.keep_notices()
    after_a_command(claude)
    claude.nvim.lua("known = false Ide.journal.when_known(function() known = true end)")
    claude.nvim.wait("known", what="all changes so far")
    claude.write("by a child\n", "b.txt")
    claude.end()
    claude.nvim.wait_notice("b.txt changed in Claude's turn after its commands")


@pytest.mark.parametrize("has_text", [False, True])
def test_a_write_after_a_command_hides_its_change_only_with_text_of_the_users(claude, has_text):
    nvim = claude.nvim
    nvim.keep_notices()
    nvim.cmd("edit b.txt")
    claude.begin()
    claude.write("by a command\n", "b.txt")
    claude.ran(claude.called("", tool="Bash"), **named(claude, "b.txt"))
    nvim.wait("vim.fn.getline(1) == 'by a command'", what="the text of the file")
    if has_text:
        nvim.lua("vim.api.nvim_buf_set_lines(0, 1, 1, true, { 'mine' })")
    nvim.cmd("w")
    claude.end(**({} if has_text else {"b_txt": (1, 1)}))
    assert ["b.txt changed" in text for text in nvim.notices()] == ([True] if has_text else [])


def test_a_command_before_an_edit_of_the_same_file_is_found(claude):
    claude.begin()
    command = claude.called("", tool="Bash")
    claude.write("ONE\ntwo\n", "a.txt")
    claude.ran(command)
    claude.nvim.wait(f"Ide.clock.now() > {time.time() * 1000 + 1100}", what="another moment")
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.end(a_txt=(2, 2))


def test_links_and_permissions_that_others_change_are_not_undone(claude):
    claude.begin()
    (claude.project / "link").symlink_to("a.txt")
    (claude.project / "b.txt").chmod(0o755)
    claude.edit("a.txt", "two", "TWO", announce=True)
    claude.end(a_txt=(1, 1))
    claude.nvim.undo_turn()
    assert (claude.project / "link").is_symlink()
    assert (claude.project / "b.txt").stat().st_mode & 0o777 == 0o755


def test_where_the_transcript_is_not_read_all_that_changed_is_found(claude):
    claude.nvim.lua("Ide.client_transcripts.commands = function(_, _, done) done(nil) end")
    claude.begin()
    claude.write("mine\n", "b.txt")
    claude.end(b_txt=(1, 1))


def test_a_transcript_that_closes_before_it_answers_holds_nothing_up(claude):
    claude.nvim.lua("""
      local transcripts = Ide.client_transcripts
      local ask = transcripts.commands
      transcripts.commands = function(client, ...)
        ask(client, ...)
        transcripts.stop(client)
      end
    """)
    claude.begin()
    claude.write("mine\n", "b.txt")
    claude.end(b_txt=(1, 1))


@pytest.mark.every_nvim
def test_a_turn_is_over_before_its_transcript_is_open(nvim, connect):
    """As with a CLI that answers at once: it creates the file with the first prompt."""
    claude = InRepository(nvim, connect, stored=False)
    with claude.at_once():
        claude.begin()
        claude.write("mine\n", "b.txt")
        nvim.lua("before = taken")
        claude.record("idle")
        nvim.wait("taken > before", what="the checkpoint of the turn's end")
    claude.end()


def test_a_session_without_a_transcript_holds_nothing_up(nvim, connect):
    claude = InRepository(nvim, connect, stored=False)
    claude.pending = ""
    claude.begin()
    claude.write("mine\n", "b.txt")
    claude.end(b_txt=(1, 1))


def test_where_there_is_no_repository_it_is_said_that_commands_are_not_seen(start_nvim, connect):
    claude = Claude(start_nvim(files={"b.txt": "b\n"}, notices=True), connect)
    nvim = claude.nvim
    claude.prompt()
    claude.record("busy")
    nvim.wait("Ide.journal_store.is_busy(1)", what="the turn to be seen at work")
    claude.write("by a command\n")
    claude.record("idle")
    nvim.wait("not Ide.journal_store.is_busy(1)", what="the end of the turn")
    for command in ("review", "undo"):
        nvim.cmd(f"Claude {command}")
        nvim.wait_notice(f"Nothing to {command}")
        assert nvim.notices()[-1].endswith("hat commands change is seen only in git repositories.")
