"""A CLI killed at each step: no message is lost, nothing is sent unasked, the chat goes on."""

import json
import os
import signal

import pytest
from chat_steps import begin, chat, say, start_with_stand_in, text, wait_answer, wait_idle, wait_text

from harness.headless_cli import STEPS
from harness.worktrees import git

pytestmark = pytest.mark.dealt

BEFORE = ("begin", "ready")
"""Steps before its first message."""
DONE = ("reply", "result", "reset", "cleared")
"""Steps that settle a message."""
CLEARED = ("reset", "cleared")
RECEIVED = {
    "started": "chat.state == 'working'",
    "reply": "chat.store:rows(chat.store:info().len - 1, 1)[1].kind == 'reply'",
    "result": "chat.state == 'idle'",
}
"""Conditions that show that the CLI's last line was taken in."""


class Lab:
    """A chat with the stand-in."""

    def __init__(self, nvim):
        self.nvim = nvim

    def starts(self):
        """The arguments of each start."""
        return [json.loads(line) for line in (self.nvim.home / "starts").read_text().splitlines()]

    def hold(self, step):
        (self.nvim.home / "hold").write_text(step)

    def wait_held(self):
        self.nvim.wait(lambda: (self.nvim.home / "deferred").exists(), what="the CLI to be there")

    def kill(self):
        ends = text(self.nvim).count("was ended by signal 9")
        pid = self.nvim.wait("Ide.chat.current().pid", what="its process to be known")
        os.kill(pid, signal.SIGKILL)
        self.nvim.wait(lambda: text(self.nvim).count("was ended by signal 9") == ends + 1, what="that it is told")
        (self.nvim.home / "deferred").unlink(missing_ok=True)

    def prompt(self):
        """The text in the prompt window."""
        return self.nvim.lua(
            f"{PROMPT} return table.concat(vim.api.nvim_buf_get_lines(prompt.buf, 0, -1, false), '\\n')"
        )

    def send(self):
        """Sends the prompt."""
        self.nvim.lua(f"{PROMPT} Ide.chat_prompt.send(prompt)")


PROMPT = "local _, prompt = next(Ide.open_prompts.by_buffer)"


@pytest.fixture
def lab(start_nvim, model, tmp_path):
    return Lab(start_with_stand_in(start_nvim, model, tmp_path))


def answer_once(lab):
    begin(lab.nvim, "SAY before")
    wait_text(lab.nvim, "\nbefore")
    wait_idle(lab.nvim)
    # Else it may be held at the end of this turn.
    lab.nvim.wait(lambda: (lab.nvim.home / "rests").exists(), what="the CLI to be past the last step")


@pytest.mark.parametrize("answered", [False, True], ids=["new", "answered"])
@pytest.mark.parametrize("step", STEPS)
def test_what_was_not_answered_is_at_the_prompt_again_and_the_chat_goes_on(lab, model, step, answered):
    nvim = lab.nvim
    if answered:
        answer_once(lab)
        if step in BEFORE:
            lab.kill()
    lab.hold(step)
    first = "/clear" if step in CLEARED else "SAY first"
    if answered:
        say(nvim, first)
    else:
        begin(nvim, first)
    lab.wait_held()
    nvim.wait(lambda: chat(nvim, f"return {RECEIVED.get(step, 'true')}"), what="what it said before it stopped")
    say(nvim, "SAY second")
    before = lab.starts()
    lab.kill()
    assert lab.prompt() == ("SAY second" if step in DONE else f"{first}\n\nSAY second")
    assert "Unanswered prompts are back in the prompt window." in text(nvim)
    lab.send()
    nvim.wait(lambda: model.seen("SAY second"), what="what was sent again")
    wait_idle(nvim)
    shown = text(nvim)
    assert "No conversation" not in shown and "in use" not in shown, shown
    assert len(lab.starts()) == len(before) + 1
    assert model.seen("SAY before") == (answered and step not in CLEARED)
    assert lab.prompt() == ""


def test_what_is_still_read_for_it_is_said_to_no_other(lab, model):
    nvim = lab.nvim
    answer_once(lab)
    lab.hold("read")
    say(nvim, "SAY first")
    lab.wait_held()
    nvim.lua("Ide.context.expand = function(_, _, done) _G.is_read = done end")
    say(nvim, "SAY #slow")
    before = lab.starts()
    lab.kill()
    assert lab.prompt() == "SAY first\n\nSAY #slow"
    nvim.lua("_G.is_read({})")
    assert lab.prompt() == "SAY first\n\nSAY #slow" and chat(nvim, "return { chat.state, #chat.queue }") == ["ended", 0]
    assert lab.starts() == before


def test_one_that_is_restarted_is_told_nothing_unasked(lab, model):
    nvim = lab.nvim
    lab.hold("asked")
    begin(nvim, "SAY first")
    lab.wait_held()
    say(nvim, "SAY second")
    nvim.cmd("Claude chat restart")
    wait_answer(nvim, "Claude was restarted.\n  Unanswered prompts are back in the prompt window.")
    assert lab.prompt() == "SAY first\n\nSAY second" and not model.turns()
    say(nvim, "SAY third")
    wait_text(nvim, "\nthird")
    assert not model.seen("second")


@pytest.mark.parametrize("step", ["ready", "init"])
@pytest.mark.parametrize("fork", [False, True], ids=["resumed", "copied"])
def test_one_that_goes_on_with_a_session_does_so_again(lab, model, step, fork):
    nvim = lab.nvim
    answer_once(lab)
    session = chat(nvim, "return chat.session")
    nvim.cmd("Claude chat close")
    nvim.wait(f"not Ide.sessions_catalogue.running('{session}')", what="its process to be gone")
    lab.hold(step)
    nvim.cmd(f"Claude chat --{'fork' if fork else 'resume'} {session} SAY first")
    nvim.wait("Ide.chat.current() ~= nil", what="the chat")
    lab.wait_held()
    nvim.wait("#Ide.chat.current().queue + #Ide.chat.current().unanswered == 1")
    lab.kill()
    assert lab.prompt() == "SAY first"
    lab.send()
    wait_answer(nvim, "\nfirst")
    assert model.seen("SAY before")
    assert (chat(nvim, "return chat.session") == session) == (not fork)


def test_all_that_waits_is_kept_where_the_chat_is_closed(lab):
    nvim = lab.nvim
    answer_once(lab)
    lab.hold("read")
    for words in ("SAY first", "SAY second"):
        say(nvim, words)
    lab.wait_held()
    nvim.cmd("Claude chat close")
    nvim.wait(
        lambda: nvim.lua("return vim.fn.getreg('\"')") == "SAY first\n\nSAY second", what="the words in the register"
    )


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["here", "elsewhere"])
def test_what_commands_did_in_a_turn_that_ended_with_the_cli_is_known(lab, tmp_path, is_elsewhere):
    nvim, folder = lab.nvim, lab.nvim.project
    if is_elsewhere:
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        nvim.lua("require('claude-ide').setup({ auto_start = false, terminal = { cwd = ... } })", str(folder))
    for words in ("init -q", "add -A", "commit -q --allow-empty -m first"):
        git(folder, *words.split())
    begin(nvim)
    lab.hold("started")
    say(nvim, "SAY never")
    lab.wait_held()
    nvim.wait("#Ide.journal.turns() == 1", what="the turn")
    nvim.wait("#Ide.checkpoints.states() == 1", what="the checkpoint of the start")
    (folder / "made.txt").write_text("by a command\n")
    lab.kill()
    nvim.wait("#Ide.journal.changes() == 1", what="what the command made")
    assert nvim.lua("return Ide.journal.turns()[1].ended ~= nil")
    # Later foreign changes are not the turn's.
    (folder / "other.txt").write_text("by somebody\n")
    nvim.keys(":Claude review<CR>")
    nvim.wait("#vim.api.nvim_list_tabpages() == 2", what="the review")
    nvim.wait("#Ide.checkpoints.states() == 0", what="the copies to go")
    assert len(nvim.lua("return Ide.journal.changes()")) == 1
