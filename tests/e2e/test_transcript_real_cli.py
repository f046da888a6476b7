"""A transcript read while the real CLI writes it: tools, a permission question, an edit, a shell command."""

import queue
import re

import pytest

from harness.cli import QUESTION, call
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

SESSION = """
local live = Ide.sessions.live()[1]
return live and live.id
"""


@pytest.fixture
def nvim(start_nvim):
    files = {"a.txt": "one\ntwo\nthree\n", "wait.sh": "until [ -e go ]; do sleep 0.1; done\necho 42\n"}
    nvim = start_nvim(args=["a.txt"], files=files, env={"TZ": "UTC"})
    nvim.lua('require("claude-ide").connect()')
    return nvim


def lines_with(nvim, text):
    return [line for line in nvim.lines() if text in line]


def wait_line(nvim, text, pattern):
    """Waits until the first line with `text` matches `pattern`."""
    nvim.wait(lambda: re.fullmatch(pattern, next(iter(lines_with(nvim, text)), "")), what=f"a line like {pattern!r}")


def test_a_conversation_is_followed_as_it_happens(nvim, cli, mock_api):
    path, shell = str(nvim.project / "a.txt"), "sh wait.sh"
    claude = cli(nvim, args=["--ide"], mode="acceptEdits")
    claude.prompt("SAY Hello **there**")
    claude.wait_screen("Hello")
    nvim.wait(SESSION, what="the session to be known")
    nvim.cmd("Claude transcript")
    nvim.wait_screen("Hello there")
    nvim.wait_screen(re.compile(r"SAY Hello .* · idle .*in context", re.MULTILINE))

    claude.prompt(
        f"{call('Read', file_path=path)} THEN {call('Edit', file_path=path, old_string='two', new_string='TWO')} "
        f"THEN {call('Bash', command=shell, description='Calculate')} THEN SAY All is done"
    )
    claude.wait_screen(QUESTION)
    nvim.wait_screen("Claude waits for your permission")
    nvim.wait(lambda: lines_with(nvim, f"  Bash {shell} · running"))
    wait_line(nvim, "  Read ", r"  Read a.txt · ok · [\d.]+ s")
    wait_line(nvim, "  Edit ", r"  Edit a.txt \+1 −1 · ok · [\d.]+ s")
    nvim.wait(lambda: {"    +TWO", "    -two"} <= set(nvim.lines()), what="the edit")
    nvim.terminal.wait_quiet(0.3)  # an immediate answer would not count as a wait
    claude.answer("1")
    # The end of the question arrives separately from the transcript: on a busy machine long after a quick command.
    nvim.wait_screen("Claude works")
    (nvim.project / "go").touch()
    nvim.wait(lambda: lines_with(nvim, "All is done")[1:])
    nvim.wait(lambda: "    42" in nvim.lines())
    wait_line(nvim, "  Bash ", r"  Bash sh wait.sh · ok · [\d.]+ s \(\+[\d.]+ s asked\)")
    nvim.wait("vim.fn.line('.') == vim.fn.line('$')", what="it to follow")
    nvim.wait_screen(re.compile(r" · idle ", re.MULTILINE))

    nvim.keys("[c<CR>")
    nvim.wait("#vim.api.nvim_list_tabpages() == 2")
    second = (
        "return vim.tbl_map(function(win) return vim.fn.getbufline(vim.api.nvim_win_get_buf(win), 2)[1] end, "
        "vim.api.nvim_tabpage_list_wins(0))"
    )
    nvim.wait(lambda: nvim.lua(second) == ["two", "TWO"], what="what the edit changed")
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    nvim.keys("gf")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'")

    nvim.cmd("Claude transcript")
    nvim.wait(lambda: lines_with(nvim, "All is done"))
    nvim.keys("G")
    nvim.wait("vim.fn.line('.') == vim.fn.line('$')", what="it to follow again")

    # A failed tool and a refused one are marked.
    claude.prompt(f"{call('Read', file_path=str(nvim.project / 'missing.txt'))} THEN SAY It is missing")
    claude.wait_screen("● It is missing")
    nvim.wait(lambda: lines_with(nvim, "  Read missing.txt · failed"))
    claude.prompt(call("Bash", command="python3 make.py", description="Make it"))
    claude.wait_screen(QUESTION)
    claude.answer("\x1b")
    nvim.wait(lambda: lines_with(nvim, "  Bash python3 make.py · rejected"))
    nvim.wait(lambda: lines_with(nvim, "  Interrupted by you"))
    claude.wait_ready()

    # Thinking is folded.
    mock_api.script(Reply("I have thought.", thinking="First one thing.\nThen another."))
    claude.prompt("Think")
    claude.wait_screen("I have thought.")
    nvim.wait(lambda: lines_with(nvim, "I have thought."))
    nvim.wait(lambda: "  Thinking\n    First one thing.\n" in "\n".join(nvim.lines()), what="what it thought")
    screen = nvim.wait_screen(re.compile(r"^  Thinking First one thing. +2 lines$", re.MULTILINE))
    assert "Then another." not in screen

    # `/clear` names the session that continues.
    claude.prompt("/clear")
    nvim.wait_screen("── continued in session")


HOOKS = "return select(2, Ide.hooks.of({ 'claude' }, {}, vim.fn.getcwd()))[1]"


def test_an_answer_is_shown_while_it_is_said(nvim, cli, mock_api):
    claude = cli(nvim, args=("--ide", nvim.lua(HOOKS)))
    claude.prompt("SAY Hello")
    claude.wait_screen("Hello")
    nvim.wait(SESSION, what="the session to be known")
    nvim.cmd("Claude transcript")
    nvim.wait_screen("SAY Hello")
    said = queue.Queue()
    mock_api.script(Reply(pieces=iter(said.get, None)))
    claude.prompt("Go on")
    (file,) = nvim.home.glob(".claude/projects/*/*.jsonl")
    for number in range(3):
        said.put(f"paragraph {number}\n\n")
        nvim.wait_screen(f"paragraph {number}")
    assert "paragraph" not in file.read_text(), "the record has a message once it is complete"
    said.put("and the end")
    said.put(None)
    nvim.wait_screen("and the end")
    nvim.wait(lambda: "and the end" in file.read_text(), what="the record")
    nvim.wait_screen("SAY Hello · idle")
    nvim.wait(lambda: [len(lines_with(nvim, f"paragraph {number}")) for number in range(3)] == [1, 1, 1])
