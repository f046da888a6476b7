"""What the CLI asks in its terminal, answered in Neovim or there: the first answer counts, and the other place closes."""

import json
import os
import re
import signal
import sys

import pytest
from terminal_steps import IDLE, begin

from harness import asking_server
from harness.cli import QUESTION, answering, call
from harness.scripted_model import Reply

pytestmark = pytest.mark.cli

FILES = {"a.txt": "one\n"}
SUBMIT = "require('claude-ide.terminal.prompt').submit(require('claude-ide.terminal').bufnr(), ..., false)"
PRESS = "vim.api.nvim_chan_send(vim.bo[require('claude-ide.terminal').bufnr()].channel, ...)"
PENDING = "#require('claude-ide.decisions').pending()"
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

    def wait_told(self, words):
        self.nvim.wait(lambda: self.api.seen(words), what=f"Claude to be told “{words}”")
        self.wait_over()

    def bash(self, command):
        return ("Bash", {"command": command, "description": "do it"})

    def press_in_terminal(self, key):
        terminal = "\n".join
        screen = lambda: terminal(  # noqa: E731
            self.nvim.lua("return vim.api.nvim_buf_get_lines(require('claude-ide.terminal').bufnr(), -60, -1, false)")
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
    lab.wait_told("Rome")


def a_question_with_previews(lab):
    options = [{"label": word, "description": "as shown", "preview": f"[{word}]"} for word in ("Red", "Blue")]
    question = {"question": "Which?", "header": "Colour", "options": options, "multiSelect": False}
    lab.ask(("AskUserQuestion", {"questions": [question]}))
    lab.nvim.wait_screen("│ [Blue]")
    lab.nvim.keys("2")
    lab.wait_told("selected preview:\\n[Blue]")


def a_plan_goes_back_with_comments_and_is_approved_as_edited(lab):
    nvim = lab.nvim
    told = lab.api.requests[-1].get("system", []) + lab.api.conversation()
    path = re.search(rf"{nvim.home}/\.claude/plans/[\w-]+\.md", json.dumps(told))[0]
    lab.ask(
        ("Write", {"file_path": path, "content": "# Plan\nmake it\n"}),
        ("ExitPlanMode", {}),
        answer="Again.",
        kind="plan",
    )
    nvim.answer("with tests", "")
    nvim.keys("jgcr")
    lab.wait_told("> make it\\n\\nwith tests")
    lab.ask(("ExitPlanMode", {}), kind="plan")
    nvim.keys("jA and test it<Esc>ga")
    lab.wait_told("make it and test it")
    nvim.wait_screen("accept edits on")


def a_subagent_waits_for_the_card(lab):
    nvim, made = lab.nvim, lab.nvim.project / "made.txt"
    task = call("Bash", command=f"perl -e 1; touch {made}", description="make it")
    agent = {"description": "make", "prompt": task, "subagent_type": "general-purpose"}
    nvim.wait(IDLE, what="the turn before to be over")
    lab.api.script(Reply(calls=[("Agent", agent)]))  # all else as the prompts say
    nvim.lua(f"return {SUBMIT}", "go on")
    nvim.wait_kind("question")
    nvim.wait_screen("The subagent general-purpose (")
    assert not made.exists()
    nvim.keys("y")
    nvim.wait(made.exists, what="what was allowed")
    lab.wait_over()


HOOKS = "return select(2, require('claude-ide.terminal.hooks').of({ 'claude' }, {}, vim.fn.getcwd()))[1]"


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
        claude.answer("1")
        claude.terminal.wait(made.exists, what="what was allowed")

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
        claude.answer("1")
        claude.terminal.wait(path.exists, what="what was allowed")
