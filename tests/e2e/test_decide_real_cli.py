"""What the CLI asks in its terminal, answered in Neovim or there: the first answer counts, and the other place closes."""

import collections
import json
import os
import random
import re
import signal
import sys
import time

import pytest
from terminal_steps import IDLE, begin

from harness import PATIENCE, asking_server, stretched
from harness.cli import QUESTION, answering, call
from harness.nvim import PENDING
from harness.scripted_model import Reply

pytestmark = pytest.mark.cli

FILES = {"a.txt": "one\n"}
SUBMIT = "Ide.terminal_prompt.submit(Ide.terminal.bufnr(), ..., false)"
PRESS = "vim.api.nvim_chan_send(vim.bo[Ide.terminal.bufnr()].channel, ...)"
ENOUGH_TO_JUDGE = 10
CARD = """
for _, win in ipairs(vim.api.nvim_list_wins()) do
  if (vim.b[vim.api.nvim_win_get_buf(win)].claude_ide or {}).kind == "question" then return true end
end
return false
"""


class Lab:
    """A Neovim at a file, with the real CLI in its terminal beside it."""

    def __init__(self, nvim, mock_api, mode="manual mode on"):
        self.nvim, self.api = nvim, mock_api
        nvim.keys_count()
        begin(nvim, mock_api, mode)
        nvim.keys("<C-\\><C-n>")
        nvim.cmd("wincmd p")
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus")

    def say(self, *calls, answer="Done."):
        """Has the model make these calls, one turn each; `answer=None`: the last one ends the turn."""
        self.nvim.wait(IDLE, what="the turn before to be over")
        self.api.script(*[Reply(calls=[call]) for call in calls], *([Reply(text=answer)] if answer else []))
        self.nvim.wait(lambda: self.nvim.lua(f"return {SUBMIT}", "go on"), what="the prompt to be taken")

    def ask(self, *calls, answer="Done.", kind="question"):
        """The same, until the card of the first is on the screen."""
        self.say(*calls, answer=answer)
        self.nvim.wait_kind(kind)

    def wait_sent(self, words):
        self.nvim.wait(lambda: self.api.seen(words), what=f"Claude to be told “{words}”")
        self.wait_over()

    def bash(self, command):
        return ("Bash", {"command": command, "description": "do it"})

    def press_in_terminal(self, key):
        terminal = "\n".join
        screen = lambda: terminal(  # noqa: E731
            self.nvim.lua("return vim.api.nvim_buf_get_lines(Ide.terminal.bufnr(), -60, -1, false)")
        )
        self.nvim.wait(lambda: QUESTION in screen(), what="the dialog")
        self.nvim.wait(answering(screen, lambda: self.nvim.lua(PRESS, key)), what="the CLI to take the answer")

    def wait_over(self):
        self.nvim.wait(lambda: not self.nvim.lua(CARD), what="the card to go")
        assert self.nvim.lua(f"return {PENDING}") == 0


def test_a_terminals_question_is_answered_in_neovim_or_there(start_with_claude, mock_api):
    lab = Lab(start_with_claude(args=["a.txt"], files=FILES), mock_api)
    for step in (
        it_is_allowed_in_neovim,
        a_yes_in_the_terminal_takes_the_card_away_while_the_command_runs,
        a_no_in_the_terminal_takes_it_away,
        a_no_with_words_lets_claude_go_on,
        what_is_allowed_always_is_not_asked_again,
        a_cell_of_a_notebook_is_asked_about,
        over_the_terminal_itself_nothing_opens,
    ):
        step(lab)


def it_is_allowed_in_neovim(lab):
    nvim, made = lab.nvim, lab.nvim.project / "made.txt"
    lab.ask(lab.bash(f"touch {made} '${{session_id}}'; rm '${{session_id}}'"))
    nvim.wait_screen("Claude wants to use Bash")
    assert nvim.lines()[0] == f"touch {made} '${{session_id}}'; rm '${{session_id}}'", "as it is, nothing filled in"
    assert nvim.lua("return require('claude-ide.statusline').text()").endswith("1 permission")
    nvim.wait_screen(QUESTION)
    assert not made.exists()
    nvim.keys("y")
    nvim.wait(made.exists, what="what was allowed")
    lab.wait_over()
    assert nvim.lua("return vim.fn.expand('%:t')") == "a.txt", "and the focus is where it was"
    made.unlink()


def a_yes_in_the_terminal_takes_the_card_away_while_the_command_runs(lab):
    nvim, made, go = lab.nvim, lab.nvim.project / "made.txt", lab.nvim.project / "go"
    lab.ask(lab.bash(f"touch {made}; until [ -e {go} ]; do sleep 0.05; done; rm {made} {go}"))
    lab.press_in_terminal("1")
    nvim.wait(made.exists, what="what was allowed")
    lab.wait_over()
    go.touch()
    nvim.wait(lambda: not made.exists(), what="the command to end")


def a_no_in_the_terminal_takes_it_away(lab):
    made = lab.nvim.project / "made.txt"
    lab.ask(lab.bash(f"touch {made}"), answer=None)
    lab.press_in_terminal("\x1b")
    lab.wait_over()
    lab.nvim.wait(IDLE)
    assert not made.exists()


def a_no_with_words_lets_claude_go_on(lab):
    nvim, made = lab.nvim, lab.nvim.project / "made.txt"
    lab.ask(lab.bash(f"touch {made}"), answer="As you like.")
    nvim.answer("not there")
    nvim.keys("r")
    lab.wait_over()
    nvim.wait(lambda: lab.api.seen("not there"), what="Claude to be told why")
    nvim.wait(IDLE)
    assert not made.exists()


def what_is_allowed_always_is_not_asked_again(lab):
    nvim, far = lab.nvim, lab.nvim.home / "far"
    far.mkdir()
    for name in "ab":
        (far / name).write_text(f"text of {name}")
    lab.ask(("Read", {"file_path": str(far / "a")}), ("Read", {"file_path": str(far / "b")}))
    nvim.answer(1)
    nvim.keys("a")
    nvim.wait(lambda: lab.api.seen("text of b"), what="both to be read")
    lab.wait_over()


def a_cell_of_a_notebook_is_asked_about(lab):
    path = lab.nvim.project / "a.ipynb"
    cell = {"cell_type": "code", "id": "c1", "metadata": {}, "source": "one", "outputs": [], "execution_count": None}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    change = {"notebook_path": str(path), "cell_id": "c1", "new_source": "two", "edit_mode": "replace"}
    lab.ask(("Read", {"file_path": str(path)}), ("NotebookEdit", change))
    assert "new_source: two" in lab.nvim.lines()
    lab.nvim.keys("y")
    lab.nvim.wait(lambda: '"two"' in path.read_text(), what="the cell to be changed")
    lab.wait_over()


def over_the_terminal_itself_nothing_opens(lab):
    nvim, made = lab.nvim, lab.nvim.project / "made.txt"
    nvim.wait(IDLE)
    nvim.cmd("Claude focus")
    lab.say(lab.bash(f"touch {made}"), answer=None)
    nvim.wait(f"{PENDING} == 1", what="the question")
    nvim.wait_screen(QUESTION)
    assert not nvim.lua(CARD)
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    nvim.wait_kind("question")
    nvim.keys("n")
    lab.wait_over()
    nvim.wait(IDLE)
    assert not made.exists()


def test_questions_plans_forms_and_subagents_are_answered_in_neovim(start_with_claude, mock_api):
    server = {"type": "stdio", "command": sys.executable, "args": [asking_server.__file__]}
    config = json.dumps({"mcpServers": {"asker": server}})
    command = ["claude", "--permission-mode=plan", f"--mcp-config={config}"]
    nvim = start_with_claude(terminal={"command": command}, args=["a.txt"], files=FILES)
    lab = Lab(nvim, mock_api, "plan mode on")
    for step in (
        a_form_of_a_server,
        a_question_with_previews,
        a_plan_goes_back_with_comments_and_is_approved_as_edited,
        a_subagent_waits_for_the_card,
    ):
        step(lab)


def a_form_of_a_server(lab):
    lab.ask(("mcp__asker__plan", {}))
    lab.nvim.keys("y")
    lab.nvim.wait_screen("asker asks you something")
    lab.nvim.answer("Rome")
    lab.nvim.keys("<CR>")
    lab.nvim.wait_screen("1 place: Rome")
    lab.nvim.keys("y")
    lab.wait_sent("Rome")


def a_question_with_previews(lab):
    options = [{"label": word, "description": "as shown", "preview": f"[{word}]"} for word in ("Red", "Blue")]
    question = {"question": "Which?", "header": "Colour", "options": options, "multiSelect": False}
    lab.ask(("AskUserQuestion", {"questions": [question]}))
    lab.nvim.wait_screen("│ [Blue]")
    lab.nvim.keys("2")
    lab.wait_sent("selected preview:\\n[Blue]")


def a_plan_goes_back_with_comments_and_is_approved_as_edited(lab):
    nvim = lab.nvim
    sent = lab.api.requests[-1].get("system", []) + lab.api.conversation()
    path = re.search(rf"{nvim.home}/\.claude/plans/[\w-]+\.md", json.dumps(sent))[0]
    lab.ask(
        ("Write", {"file_path": path, "content": "# Plan\nmake it\n"}),
        ("ExitPlanMode", {}),
        answer="Again.",
        kind="plan",
    )
    nvim.keys("jgcc")
    nvim.wait_kind("comment")
    nvim.wait("vim.fn.mode() == 'i'", what="Insert mode")
    nvim.keys("with tests<Esc>ZZ")
    nvim.wait_kind("plan")
    nvim.answer("")
    nvim.keys("r")
    lab.wait_sent("> make it\\nwith tests")
    lab.ask(("ExitPlanMode", {}), kind="plan")
    nvim.keys("jA and test it<Esc>ga")
    lab.wait_sent("make it and test it")
    nvim.wait_screen("accept edits on")


def a_subagent_waits_for_the_card(lab):
    nvim, made = lab.nvim, lab.nvim.project / "made.txt"
    task = call("Bash", command=f"perl -e 1; touch {made}", description="make it")
    agent = {"description": "Make a file", "prompt": task, "subagent_type": "general-purpose"}
    nvim.wait(IDLE, what="the turn before to be over")
    lab.api.script(Reply(calls=[("Agent", agent)]))  # all else as the prompts say
    nvim.lua(f"return {SUBMIT}", "go on")
    nvim.wait_kind("question")
    nvim.wait_screen("The subagent general-purpose (")
    nvim.wait_screen("The subagent's task: Make a file")
    assert not made.exists()
    nvim.keys("y")
    nvim.wait(made.exists, what="what was allowed")
    lab.wait_over()


HOOKS = "return select(2, Ide.hooks.of({ 'claude' }, {}, vim.fn.getcwd()))[1]"


@pytest.mark.one_nvim
def test_the_terminal_goes_on_alone_while_neovim_hangs(nvim, cli):
    """With a CLI in a terminal of its own. A new prompt would wait for Neovim: the CLI calls `closeAllDiffTabs` first."""
    nvim.start_server()
    nvim.keys_count()
    claude = cli(nvim, args=("--ide", nvim.lua(HOOKS)))

    def ask(*names):
        """Has files made in one turn, one after the other."""
        made = [nvim.project / name for name in names]
        claude.prompt(" THEN ".join(call("Bash", command=f"touch {path}", description="make it") for path in made))
        return made

    def answer_there(made):
        claude.wait_screen(QUESTION)
        assert not made.exists(), "nothing is allowed unasked"
        claude.answer("1", done=made.exists)

    first, second = ask("with-a-card", "while-it-hangs")
    nvim.wait_kind("question")
    os.kill(nvim.server_pid, signal.SIGSTOP)
    try:
        answer_there(first)
        answer_there(second)
    finally:
        os.kill(nvim.server_pid, signal.SIGCONT)
    nvim.wait(f"{PENDING} == 0", what="the cards to go")
    assert not re.search("hook.*(error|fail)", claude.screen(), re.IGNORECASE)


@pytest.mark.one_nvim
def test_over_a_restart_of_the_server_the_question_stays_in_the_terminal_and_the_next_one_comes_here(nvim, cli):
    nvim.start_server()
    nvim.keys_count()
    claude = cli(nvim, args=("--ide", nvim.lua(HOOKS)))
    first, second = (nvim.project / name for name in ("before", "after"))
    claude.prompt(
        " THEN ".join(call("Bash", command=f"touch {path}", description="make it") for path in (first, second))
    )
    nvim.wait_kind("question")
    claude.wait_screen(QUESTION)
    nvim.cmd("Claude restart")
    nvim.wait(lambda: not nvim.lua(CARD), what="the card to go")
    nvim.wait("(Ide.server.clients()[1] or {}).state == 'ready'", what="the CLI to come back")
    assert not first.exists(), "nothing is allowed unasked"
    claude.answer("1", done=first.exists)
    nvim.wait_kind("question")
    nvim.keys("y")
    nvim.wait(second.exists, what="what was allowed here")
    assert not re.search("hook.*(error|fail)", claude.screen(), re.IGNORECASE)


@pytest.mark.one_nvim
def test_several_calls_at_once_are_cards_of_their_own(start_with_claude, mock_api):
    lab = Lab(start_with_claude(args=["a.txt"], files=FILES), mock_api)
    nvim, far = lab.nvim, lab.nvim.home / "far"
    far.mkdir()
    for name in "abc":
        (far / name).write_text(f"text of {name}")
    lab.api.script(Reply(calls=[("Read", {"file_path": str(far / name)}) for name in "abc"]), Reply(text="Read."))
    nvim.lua(f"return {SUBMIT}", "go on")
    nvim.wait(f"{PENDING} == 3", what="three questions")
    nvim.wait(lambda: "3 permissions" in nvim.lua("return require('claude-ide.statusline').text()"))
    nvim.answer("not that one")
    left = {f"{far}/a": "y", f"{far}/b": "r", f"{far}/c": "y"}
    while left:  # the CLI asks in any order
        nvim.wait(lambda: nvim.lines()[0] in left, what=f"the card of one of {sorted(left)}")
        nvim.keys(left.pop(nvim.lines()[0]))
    lab.wait_over()
    nvim.wait(lambda: lab.api.seen("text of c"), what="the calls to be over")
    assert lab.api.seen("text of a") and lab.api.seen("not that one") and not lab.api.seen("text of b")


@pytest.mark.one_nvim
@pytest.mark.parametrize("way", ["disconnect", "kill"])
@pytest.mark.parametrize("at_once", [False, True])
def test_the_terminal_goes_on_alone_once_neovim_is_gone(nvim, cli, mock_api, way, at_once):
    nvim.start_server()
    nvim.keys_count()
    claude = cli(nvim, args=("--ide", nvim.lua(HOOKS)))
    made = [nvim.project / name for name in ("with-a-card", "without")]
    calls = [("Bash", {"command": f"touch {path}", "description": "make it"}) for path in made]
    replies = [Reply(calls=calls)] if at_once else [Reply(calls=[one]) for one in calls]
    mock_api.script(*replies, Reply(text="Done."))
    claude.prompt("go on")
    nvim.wait_kind("question")
    claude.wait_screen(QUESTION)
    if way == "kill":
        os.kill(nvim.server_pid, signal.SIGKILL)
    else:
        nvim.cmd("Claude disconnect")
        nvim.wait(f"{PENDING} == 0", what="the card to go")
    for path in made:
        claude.wait_screen(QUESTION)
        assert not path.exists(), "nothing is allowed unasked"
        claude.answer("1", done=path.exists)


class Story:
    """A `claude` of the user's own beside Neovim, with the hooks of a settings file. The model asks, the user answers."""

    def __init__(self, nvim, cli, api):
        self.nvim, self.api = nvim, api
        nvim.start_server()
        nvim.keys_count()
        nvim.cmd("edit a.txt")
        nvim.cmd("Claude hooks write")
        server = {"type": "stdio", "command": sys.executable, "args": [asking_server.__file__]}
        config = json.dumps({"mcpServers": {"asker": server}})
        self.claude = cli(nvim, args=("--ide", f"--mcp-config={config}", "--allowed-tools=mcp__asker__plan"))
        self.waits = []
        """Seconds from a key in the terminal to the end of the card."""

    def wait(self, condition, what):
        self.claude.terminal.wait(condition, PATIENCE, what)

    def pending(self):
        return self.nvim.lua(f"return {PENDING}")

    def begin(self, number, *calls):
        """Has the model make these calls at once."""
        self.api.script(Reply(calls=list(calls)), Reply(text=f"said {number}"))
        self.claude.prompt(f"go on {number}")
        self.nvim.wait(f"return not (function() {IDLE_THERE} end)()", what="the turn to begin")

    def end(self):
        """Waits until the turn is over, and with it all that asked."""
        self.nvim.wait(IDLE_THERE, what="the turn to be over")
        self.nvim.wait(lambda: not self.nvim.lua(CARD) and self.pending() == 0, what="no card to be left")
        self.wait(lambda: not any(words in self.claude.screen() for words in DIALOGS), "no dialog to be left")
        self.api.drop_script()

    def press(self, key, dialog):
        """Answers in the terminal, and measures how long a card stays."""
        self.claude.wait_screen(dialog)
        began = time.monotonic()
        asked = self.pending()

        def is_answered():
            nonlocal began
            if not asked or self.pending() < asked:
                return True
            if time.monotonic() - began > 3 and dialog in self.claude.screen():  # it ignores keys at first
                began = time.monotonic()
                self.claude.terminal.write(key)
            return False

        self.claude.terminal.write(key)
        self.nvim.wait(is_answered, what="the card to go")
        if asked:
            self.waits.append(time.monotonic() - began)
        else:
            self.claude.answer(key, dialog)


IDLE_THERE = """
local client = Ide.server.clients()[1]
local live = client and Ide.sessions.of_client(client.id)
return live and live.state.activity == "idle"
"""
SEEN = "vim.iter(Ide.proposal.list()):any(function(diff) return diff.seen end)"
CHOICES, INPUT = "Enter to select", "requests your input"
DIALOGS = (QUESTION, CHOICES, INPUT)


class Ask:
    """What the model asks: its call, and how often it took effect."""

    dialog, kind, yes = QUESTION, "question", "y"

    def __init__(self, story, number):
        self.story, self.number = story, number
        self.folder = story.nvim.home / f"far-{number}"
        self.folder.mkdir()
        self.path = story.nvim.project / f"made-{number}.txt"

    def effects(self):
        return self.path.read_text().count("x\n") if self.path.exists() else 0

    def allow(self):
        self.story.nvim.keys(self.yes)

    def deny(self, words):
        self.story.nvim.answer(words)
        self.story.nvim.keys("r")


class Bash(Ask):
    def call(self):
        return ("Bash", {"command": f"echo x >> {self.path}", "description": "add a line"})

    def change(self):
        self.story.nvim.keys("e")
        self.story.nvim.wait("vim.bo.buftype == 'acwrite'", what="the command in a buffer")
        self.story.nvim.keys(f"A; echo x >> {self.path}<Esc>:w<CR>")


class Write(Ask):
    kind = "proposal"

    def call(self):
        return ("Write", {"file_path": str(self.path), "content": "x\n"})

    def decide(self, command):
        """Nothing is decided unseen. The terminal may have been quicker."""
        nvim = self.story.nvim
        nvim.wait(f"return {PENDING} == 0 or {SEEN}", what="the diff")
        nvim.cmd(f"Claude {command}")

    def allow(self):
        self.decide("accept")

    def deny(self, words):
        self.decide(f"reject {words}")


class Read(Ask):
    def call(self, name="a"):
        (self.folder / name).write_text(f"text {name} of {self.number}")
        return ("Read", {"file_path": str(self.folder / name)})

    def effects(self):
        return int(self.story.api.seen(f"text a of {self.number}"))


class Mcp(Ask):
    def call(self):
        return ("mcp__asker__note", {"text": f"word-{self.number}"})

    def effects(self):
        return int(self.story.api.seen(f"noted word-{self.number}"))


class Fetch(Ask):
    def call(self):
        return ("WebFetch", {"url": f"https://host-{self.number}.invalid/", "prompt": "What does it say?"})

    def effects(self):
        contents = [message["content"] for message in self.story.api.conversation()]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        calls = [block.get("id") for block in blocks if f"host-{self.number}." in json.dumps(block.get("input"))]
        results = [json.dumps(block) for block in blocks if block.get("tool_use_id") in calls]
        return sum(f"not-{self.number}" not in result for result in results)  # it fetches, or says why it could not


class Question(Ask):
    dialog, yes = CHOICES, "1"

    def call(self):
        options = [{"label": f"{word}-{self.number}", "description": word} for word in ("Red", "Blue")]
        question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
        return ("AskUserQuestion", {"questions": [question]})

    def effects(self):
        return int(self.story.api.seen(f'=\\"Red-{self.number}'))

    def deny(self, words):
        self.story.nvim.answer(words)
        self.story.nvim.keys("o")


class Subagent(Ask):
    """What a subagent asks: a command, or an edit."""


class Form(Ask):
    dialog = INPUT

    def call(self):
        return ("mcp__asker__plan", {})

    def effects(self):
        return int(self.story.api.seen(f"Rome-{self.number}"))

    def allow(self):
        self.story.nvim.answer(f"Rome-{self.number}")
        self.story.nvim.keys("<CR>")
        self.story.nvim.wait_screen(f"Rome-{self.number}")
        self.story.nvim.keys("y")


KINDS = {
    Bash: ("here", "denied", "changed", "there", "there_no", "both", "against", "stopped"),
    Write: ("here", "denied", "there", "there_no", "both", "against"),
    Read: ("here", "denied", "always", "there", "there_no", "both", "against", "parallel", "mixed", "stopped"),
    Mcp: ("here", "denied", "there", "there_no", "both", "against", "stopped"),
    Fetch: ("here", "denied", "there", "there_no", "both", "against"),
    Question: ("here", "denied", "there", "there_no", "both", "stopped"),
    Form: ("here", "elsewhere"),
    Subagent: ("here", "denied", "elsewhere", "outlives", "outlives_diff"),
}
"""What the model asks, and how it is answered: `both` at once with the same word, `against` each other; several at once here
(`parallel`), or each here or there (`mixed`); by a subagent while another turn begins (`outlives`)."""


def test_claude_and_the_user_hear_what_became_of_a_changed_command(start_with_claude, mock_api):
    rules = json.dumps({"permissions": {"deny": ["Bash(rm:*)"]}})
    files = {**FILES, ".claude/settings.json": rules}
    lab = Lab(start_with_claude(args=["a.txt"], files=files, notices=True), mock_api)
    nvim, made = lab.nvim, lab.nvim.project / "made.txt"
    lab.ask(lab.bash(f"touch {made}"))
    change(nvim, f"touch {made}.other")
    lab.wait_sent("The user changed the command of your call before allowing it")
    assert made.with_name("made.txt.other").exists() and not made.exists()
    terminal = "table.concat(vim.api.nvim_buf_get_lines(Ide.terminal.bufnr(), 0, -1, false), '\\n')"
    nvim.wait(f"{terminal}:find('You changed the command') ~= nil", what="the terminal to say so")
    assert nvim.notices() == []
    nvim.cmd("Claude transcript")
    nvim.wait(lambda: f"touch {made}.other" in "\n".join(nvim.lines()), what="the transcript to say what ran")
    nvim.keys("q")
    nvim.wait("vim.fn.bufname() ~= '' and vim.bo.buftype ~= 'nofile'", what="it to close")
    lab.ask(lab.bash(f"touch {made}"))
    change(nvim, f"rm -f {made}.other")
    nvim.wait_notice("The changed command did not run: Permission to use Bash")
    lab.wait_over()
    assert made.with_name("made.txt.other").exists()


def change(nvim, command):
    nvim.keys("e")
    nvim.wait("vim.bo.buftype == 'acwrite'", what="the command in a buffer")
    nvim.keys(f"cc{command}<Esc>:w<CR>")


@pytest.mark.one_nvim
def test_of_parallel_questions_the_card_goes_that_is_answered_in_the_terminal(start_nvim, cli, mock_api):
    story = Story(start_nvim(files=FILES), cli, mock_api)
    nvim, claude, ask = story.nvim, story.claude, Read(story, "p")
    story.begin("p", *[ask.call(name) for name in "abcd"])
    nvim.wait(f"{PENDING} == 4", what="four questions")
    nvim.wait_kind("question")
    nvim.wait_screen("· 1 of 4")
    for left, name in ((3, "a"), (2, "b")):
        claude.wait_screen(f"Read({ask.folder / name})")
        press_until(story, "1", f"{PENDING} == {left}")
    nvim.wait(lambda: nvim.lines()[0] == str(ask.folder / "c"), what="the card of the third")
    nvim.keys("y", counts=True)
    claude.wait_screen(f"Read({ask.folder / 'd'})")
    press_until(story, "1", f"{PENDING} == 0")
    story.end()
    assert all(mock_api.seen(f"text {name} of p") for name in "abcd")


def press_until(story, key, condition):
    """Presses a key in the terminal, whose dialogs ignore keys at first, and do not say so."""
    began = time.monotonic()
    story.claude.terminal.write(key)

    def is_met():
        nonlocal began
        if time.monotonic() - began > 3:
            began = time.monotonic()
            story.claude.terminal.write(key)
        return story.nvim.lua(f"return {condition}")

    story.nvim.wait(is_met, what=condition)


def press_there(story, left):
    """Says yes to the dialog that the terminal shows, of these paths; returns the one that it asks for."""
    claude = story.claude
    of_dialog = lambda: re.findall(r"Read\((/\S+)\)", claude.screen())[-1:]  # noqa: E731
    story.wait(lambda: of_dialog() and of_dialog()[0] in left, "a dialog that nobody has answered")
    path, asked, began = of_dialog(), story.pending(), 0.0

    def is_over():
        nonlocal began
        if story.pending() < asked:
            return True
        if of_dialog() == path and time.monotonic() - began > 3:  # it ignores keys at first
            began = time.monotonic()
            claude.terminal.write("1")
        return False

    story.nvim.wait(is_over, what="the card of it to go")
    return path[0]


@pytest.mark.one_nvim
@pytest.mark.parametrize("kind", ["diff", "command"])
def test_what_a_subagent_asks_outlives_a_turn_of_the_main_thread(start_nvim, cli, mock_api, kind):
    story = Story(start_nvim(files=FILES), cli, mock_api)
    nvim, made = story.nvim, story.nvim.project / "made"
    nvim.lua("""
      prompts = 0
      local run = Ide.claude_client.close_all_diff_tabs.run
      Ide.claude_client.close_all_diff_tabs.run = function(...)
        prompts = prompts + 1
        return run(...)
      end
    """)
    path = str(nvim.project / "a.txt")
    read = call("Read", file_path=path)
    asking = f"{read} THEN {call('Edit', file_path=path, old_string='one', new_string='ONE')}"
    if kind == "command":
        asking = call("Bash", command=f"echo x >> {made}", description="make")
    agents = {"Mend it": asking, "Read it": " THEN ".join([read] * 6)}
    mock_api.script(
        Reply(
            calls=[
                ("Agent", {"description": name, "prompt": prompt, "subagent_type": "general-purpose"})
                for name, prompt in agents.items()
            ]
        )
    )
    mock_api.delay = 0.5  # so that the other one ends later
    story.claude.prompt("go on")
    nvim.wait_kind("proposal" if kind == "diff" else "question")
    before = nvim.lua("return prompts")
    nvim.wait(f"prompts > {before}", what="a turn that tells of the other subagent's end")
    story.claude.wait_screen('Agent "Read it" finished')
    assert story.pending() == 1
    if kind == "command":
        nvim.keys("y")
    else:
        nvim.wait(f"return {SEEN}", what="the diff")
        nvim.cmd("Claude accept")
    nvim.wait(lambda: made.exists() or "ONE" in (nvim.project / "a.txt").read_text(), what="what was allowed")


def answered(story, ask, way, rng):
    """Answers a request; returns how often it must have taken effect."""
    nvim, claude, number = story.nvim, story.claude, ask.number
    if way == "elsewhere":
        nvim.cmd("doautocmd FocusLost")
    calls = [ask.call()] + [ask.call(name) for name in {"always": "b", "parallel": "bc", "mixed": "bc"}.get(way, "")]
    story.begin(number, *calls)
    if way == "elsewhere":
        claude.wait_screen(ask.dialog)
        assert story.pending() == 0
        claude.escape()
        story.end()
        nvim.cmd("doautocmd FocusGained")
        return {0}
    if way == "stopped":
        nvim.wait_kind(ask.kind)
        os.kill(nvim.server_pid, signal.SIGSTOP)
        try:
            claude.answer("1", ask.dialog)
        finally:
            os.kill(nvim.server_pid, signal.SIGCONT)
        story.end()
        return {1}
    nvim.wait_kind(ask.kind)
    if way == "here":
        ask.allow()
    elif way == "denied":
        ask.deny(f"not-{number}")
    elif way == "changed":
        ask.change()
    elif way == "always":
        nvim.answer(1)
        nvim.keys("a")
    elif way in ("parallel", "mixed"):
        left = {str(ask.folder / name): "y" for name in "abc"}
        nvim.wait(lambda: story.pending() == len(left), what="all that Claude asks at once")
        while left:
            nvim.wait(lambda: nvim.lines()[0] in left, what="the next card")
            path = nvim.lines()[0]
            if way == "mixed" and rng.random() < 0.5:
                left.pop(press_there(story, left))
            elif rng.random() < 0.5:
                nvim.keys(left.pop(path))
            else:
                left.pop(path)
                nvim.answer(f"not-{path}")
                nvim.keys("r")
        story.end()
        return {int(not story.api.seen(f"not-{ask.folder}/a"))}
    elif way == "there":
        story.press("1", ask.dialog)
    elif way == "there_no":
        story.press("\x1b", ask.dialog)
        story.end()
        return {0}
    else:
        claude.wait_screen(ask.dialog)
        first, second = (
            ask.allow if way == "both" else lambda: ask.deny(f"not-{number}"),
            lambda: claude.terminal.write("1"),
        )
        for answer in rng.sample((first, second), 2):
            answer()
    story.end()
    sent = story.api.seen(f"not-{number}")
    if isinstance(ask, Write) and way in ("denied", "against"):
        return {0} if way == "denied" else {0, 1}  # a rejected diff ends the turn
    if way == "denied":
        assert sent
    elif way == "always":
        assert story.api.seen(f"text b of {number}"), "it was not asked again"
    return {"denied": {0}, "changed": {2}, "against": {int(not sent)}}.get(way, {1})


def of_a_subagent(story, number, way):
    """The dialog of a subagent is held back for the card, and opens at once for a user who is elsewhere. What it asks outlives a turn
    of the main thread, which begins when another subagent ends."""
    nvim, claude, ask = story.nvim, story.claude, Bash(story, number)
    path = nvim.project / f"of-{number}.txt"
    path.write_text("one\n")
    if way == "elsewhere":
        nvim.cmd("doautocmd FocusLost")
    tool, arguments = ask.call()
    read = call("Read", file_path=str(path))
    prompts = {f"make-{number}": call(tool, **arguments)}
    if way == "outlives_diff":
        prompts[f"make-{number}"] = (
            f"{read} THEN {call('Edit', file_path=str(path), old_string='one', new_string=f'{number}')}"
        )
    if way.startswith("outlives"):
        prompts[f"other-{number}"] = " THEN ".join([read] * 6)
        story.api.delay = 0.5
    agents = [
        ("Agent", {"description": name, "prompt": prompt, "subagent_type": "general-purpose"})
        for name, prompt in prompts.items()
    ]
    story.api.script(Reply(calls=agents))  # all else as the prompts say
    claude.prompt(f"go on {number}")
    if way == "elsewhere":
        claude.wait_screen(QUESTION)
        assert story.pending() == 0
        claude.answer("1")
        nvim.cmd("doautocmd FocusGained")
    else:
        nvim.wait_kind("proposal" if way == "outlives_diff" else "question")
        assert ask.effects() == 0
        if way.startswith("outlives"):
            claude.wait_screen(f'Agent "other-{number}" finished')
            assert story.pending() == 1
        else:
            assert QUESTION not in claude.screen()
        if way == "outlives_diff":
            Write(story, f"{number}-diff").allow()
        elif way == "denied":
            ask.deny(f"not-{number}")
        else:
            ask.allow()
    story.api.delay = 0.0

    def is_over():
        is_denied = any(f"not-{number}" in json.dumps(body) for body in story.api.requests)
        return ask.effects() == 1 or is_denied or path.read_text() == f"{number}\n"

    nvim.wait(is_over, what="the subagent to go on")
    assert ask.effects() == (way not in ("denied", "outlives_diff"))
    nvim.wait(lambda: not nvim.lua(CARD) and story.pending() == 0, what="no card to be left")
    told = f'Agent "make-{number}" finished'
    story.wait(lambda: "Done." in claude.screen().partition(told)[2], "the turn that tells of its end")
    nvim.wait(IDLE_THERE, what="the turn to be over")
    story.api.drop_script()


@pytest.mark.one_nvim
@pytest.mark.slow
def test_random_requests_are_answered_once_and_nothing_runs_unasked(start_nvim, cli, mock_api, request):
    """`--asks 200 --timeout 0` for more of them, `--seed` for others.

    The time that a card takes to go is judged if there are many: two have no middle, and other programs run.
    """
    count, seed = request.config.getoption("--asks"), request.config.getoption("--seed") or 1
    rng, figures, waits = random.Random(seed), collections.Counter(), []
    story = Story(start_nvim(files=FILES), cli, mock_api)
    stories = [(kind, way) for kind, ways in KINDS.items() for way in ways]
    chosen = []
    while len(chosen) < count:
        chosen += rng.sample(stories, len(stories))
    for number, (kind, way) in enumerate(chosen[:count]):
        print(f"{number}: {kind.__name__} {way}")
        if kind is Subagent:
            of_a_subagent(story, number, way)
        else:
            ask = kind(story, number)
            expected = answered(story, ask, way, rng)
            assert ask.effects() in expected, f"{kind.__name__} {way}"
        figures[f"{kind.__name__} {way}"] += 1
        waits += story.waits
        story.waits = []
        if number % 60 == 59:
            story = killed_and_begun_anew(story, start_nvim, cli, mock_api, number)
            figures["killed"] += 1
    waits.sort()
    print(dict(figures))
    if waits:
        middle, longest = waits[len(waits) // 2], waits[-1]
        print(
            f"{len(waits)} cards went after a key in the terminal: {middle:.3f} s in the middle, {longest:.3f} at most"
        )
        if len(waits) >= ENOUGH_TO_JUDGE:
            assert middle < 0.2 * stretched()


def killed_and_begun_anew(story, start_nvim, cli, api, number):
    """Neovim is killed while a card is open: the terminal asks on, and the next Neovim takes the next request."""
    ask = Bash(story, f"{number}-killed")
    story.begin(ask.number, ask.call())
    story.nvim.wait_kind("question")
    os.kill(story.nvim.server_pid, signal.SIGKILL)
    story.claude.wait_screen(QUESTION)
    assert ask.effects() == 0
    story.claude.answer("1", done=lambda: ask.effects() == 1)
    story.claude.wait_screen(f"said {ask.number}")
    story.claude.kill()
    return Story(start_nvim(), cli, api)
