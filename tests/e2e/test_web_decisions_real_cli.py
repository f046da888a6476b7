"""Questions of the real CLI, each kind, answered over the socket: once, and the CLI acts on that answer."""

import contextlib
import socket

import pytest
from e2e_servers import PYRIGHT
from terminal_steps import IDLE, SESSION, begin

from harness.cli import QUESTION, answering
from harness.nvim import PENDING, ROOT
from harness.scripted_model import Reply
from harness.site import Site

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

WRITE = {"web": {"port": 0, "write": True}}
QUESTIONS = [
    {
        "question": "Which colour?",
        "header": "Colour",
        "multiSelect": False,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
    }
]


PLAN_CHOICES = ["accept", "accept_edits", "reject"]


def say(reader, mock_api, *calls, answer="Done."):
    """The model makes these calls, one turn each; returns the first question to the user."""
    mock_api.script(*[Reply(calls=[call]) for call in calls], Reply(text=answer))
    reader.say(type="user_message", content="go on")
    return reader.until({"type": "decision"})


def decide(reader, decision, outcome, **answer):
    """Answers a decision; a second answer is refused."""
    reader.say(type="decide", id=decision["id"], **answer)
    assert reader.until({"type": "decision_closed", "id": decision["id"]})["outcome"] == outcome
    reader.say(type="decide", id=decision["id"], **answer)
    refused = reader.until({"type": "error"})
    assert refused["error"] == "Failed to decide" and "answered" in refused["reason"]


def choices(decision):
    return [choice["id"] for choice in decision["choices"]]


CORE = "def add(a: int, b: int) -> int:\n    return a + b\n"
FILES = {"core.py": CORE, "m.py": "from core import add\n\nx = add(1, 2)\n"}


def test_what_the_cli_asks_in_the_terminal_is_answered_over_the_socket(start_with_claude, mock_api):
    command = ["claude", "--permission-mode", "default", "--allowedTools", "mcp__nvim,mcp__ide__executeCode"]
    nvim = start_with_claude(
        terminal={"command": command},
        opts={**WRITE, "notebook": {"confirm": True}},
        env={"VIRTUAL_ENV": str(ROOT / ".deps" / "venv")},
        args=["core.py"],
        files=FILES,
        init_lua=PYRIGHT,
    )
    site = Site(nvim)
    begin(nvim, mock_api)
    nvim.wait(lambda: site.has(nvim.lua(SESSION)), what="the session to be listed")
    for step in (
        what_the_terminals_own_dialog_asks_is_answered_by_the_first,
        a_changeset_is_accepted_over_the_socket_and_written_whole,
        code_runs_once_it_is_allowed_over_the_socket,
    ):
        nvim.wait(IDLE, what="the turn to be over")
        with site.read(nvim.lua(SESSION)) as reader:
            reader.until({"type": "caught_up"})
            step(nvim, reader, mock_api)
    nvim.wait(IDLE, what="the turn to be over")
    once_nothing_is_served_who_takes_the_port_is_asked_nothing(nvim, site, mock_api)


def came(listener):
    """Whether anybody has connected to it."""
    with contextlib.suppress(BlockingIOError):
        listener.accept()[0].close()
        return True
    return False


def once_nothing_is_served_who_takes_the_port_is_asked_nothing(nvim, site, mock_api):
    """The CLI was started while sessions were served."""
    made = nvim.project / "made-later.txt"
    nvim.cmd("Claude serve stop")
    with socket.create_server(("127.0.0.1", site.info["port"])) as other:
        other.setblocking(False)
        mock_api.script(
            Reply(calls=[("Bash", {"command": f"touch {made}", "description": "make it"})]), Reply(text="Made later.")
        )
        nvim.lua("Ide.terminal_prompt.submit(Ide.terminal.bufnr(), 'go on', false)")
        nvim.wait(f"{PENDING} == 1", what="the question in Neovim")
        nvim.lua("Ide.terminal.back()")  # the CLI's own dialog is there
        nvim.wait_kind("question")
        assert not made.exists() and not came(other)
        nvim.keys("y", counts=True)
        nvim.wait(made.exists, what="what was allowed")
        nvim.wait_screen("Made later.")
        assert not came(other), "and what Claude says goes nowhere else"


def what_the_terminals_own_dialog_asks_is_answered_by_the_first(nvim, reader, mock_api):
    made = nvim.project / "made.txt"
    touch = ("Bash", {"command": f"touch {made}", "description": "make a file"})
    # From the socket, while the dialog stands in the terminal.
    asked = say(reader, mock_api, touch)
    assert (asked["kind"], asked["title"]) == ("permission", "Claude wants to use Bash")
    assert asked["text"].startswith(f"touch {made}")
    assert {choice["id"]: choice["label"] for choice in asked["choices"]} == {
        "allow": "Allow once",
        "always:1": f"Allow from now on: add {nvim.project} to the folders that Claude works in (this session)",
        "always:2": "Allow from now on: accept edits of files without asking: mode acceptEdits (this session)",
        "reject": "Deny",
    }
    nvim.wait_screen(QUESTION)
    assert not made.exists()
    decide(reader, asked, "accepted", choice="allow")
    nvim.wait(made.exists, what="what was allowed")
    nvim.wait(lambda: QUESTION not in nvim.terminal.text(), what="the dialog to go")
    nvim.wait(IDLE)
    made.unlink()
    # With a rule that the CLI offers, which does not cover this command.
    asked = say(reader, mock_api, touch)
    decide(reader, asked, "accepted", choice="always:1")
    nvim.wait(made.exists, what="what was allowed")
    nvim.wait(IDLE)
    made.unlink()
    # A no with words: Claude gets them and continues.
    asked = say(reader, mock_api, touch, answer="As you like.")
    decide(reader, asked, "rejected", choice="reject", message="not there")
    reader.once(lambda frame: "As you like." in str(frame), what="that Claude goes on")
    assert mock_api.seen("not there") and not made.exists()
    nvim.wait(IDLE)
    # At the terminal: the card goes, and a later answer is too late.
    asked = say(reader, mock_api, touch)
    nvim.wait_screen(QUESTION)
    nvim.wait(answering(nvim.terminal.text, lambda: nvim.keys("1")), what="the CLI to take the answer")
    assert reader.until({"type": "decision_closed", "id": asked["id"]})["outcome"] == "closed"
    nvim.wait(made.exists, what="what was allowed")
    reader.say(type="decide", id=asked["id"], choice="reject")
    assert "answered" in reader.until({"type": "error"})["reason"]
    nvim.wait(IDLE)
    # A question of Claude's.
    asked = say(reader, mock_api, ("AskUserQuestion", {"questions": QUESTIONS}))
    assert (asked["kind"], asked["questions"][0]["question"]) == ("question", "Which colour?")
    decide(reader, asked, "accepted", choice="answer", answers={"Which colour?": "Blue"})
    nvim.wait(lambda: mock_api.seen("Blue"), what="the model to be told")
    assert nvim.lua(f"return {PENDING}") == 0


def a_changeset_is_accepted_over_the_socket_and_written_whole(nvim, reader, mock_api):
    nvim.wait("#vim.lsp.get_clients({ method = 'textDocument/rename' }) == 1", what="it to rename")
    rename, again = [
        ("mcp__nvim__rename", {"path": "core.py", "symbol": old, "line": 1, "new_name": new})
        for old, new in (("add", "plus"), ("plus", "total"))
    ]
    asked = say(reader, mock_api, rename, again, answer="Renamed once.")
    assert (asked["kind"], choices(asked)) == ("diff", ["accept", "reject"])
    assert {file["path"].rsplit("/", 1)[-1] for file in asked["files"]} == set(FILES)
    assert "+def plus(a: int, b: int) -> int:" in str(asked["files"])
    assert (nvim.project / "core.py").read_text() == CORE
    decide(reader, asked, "accepted", choice="accept")
    first = asked["id"]
    asked = reader.once(lambda frame: frame.get("type") == "decision" and frame["id"] > first, what="the second one")
    assert mock_api.seen("Rename add to plus: accepted, 3 changes in 2 files.")
    decide(reader, asked, "rejected", choice="reject", message="plus is fine")
    reader.once(lambda frame: "Renamed once." in str(frame), what="the end of the turn")
    assert mock_api.seen("plus is fine")
    for name, old in FILES.items():
        assert (nvim.project / name).read_text() == old.replace("add", "plus")
    nvim.wait(f"{PENDING} == 0 and #vim.api.nvim_list_tabpages() == 1", what="what showed them to go")


def code_runs_once_it_is_allowed_over_the_socket(nvim, reader, mock_api):
    nvim.wait("Ide.notebook_interpreter.is_available()", what="the Python to be found")
    made = nvim.project / "by-code.txt"
    code = f"open({str(made)!r}, 'w').write('made')"
    asked = say(reader, mock_api, ("mcp__ide__executeCode", {"code": code}))
    assert (asked["kind"], asked["text"], choices(asked)) == ("code", code, ["accept", "reject"])
    decide(reader, asked, "rejected", choice="reject")
    nvim.wait(lambda: mock_api.seen("The user did not let this run."), what="the model to be told")
    assert not made.exists()
    nvim.wait(IDLE)
    windows = nvim.lua("return #vim.api.nvim_list_wins()")
    asked = say(reader, mock_api, ("mcp__ide__executeCode", {"code": code}))
    nvim.keys("<C-\\><C-n>")
    nvim.wait_screen("Claude wants to run this")
    decide(reader, asked, "accepted", choice="accept")
    nvim.wait(lambda: made.exists() and made.read_text() == "made", what="what the code makes")
    nvim.wait(f"#vim.api.nvim_list_wins() == {windows}", what="the window to go")


def test_a_chats_question_plan_and_permission_are_answered_over_the_socket(start_with_claude, mock_api):
    nvim = start_with_claude(terminal={"command": ["claude", "--permission-mode", "plan"]}, opts=WRITE)
    mock_api.script(Reply(text="Hello."))
    nvim.lua("vim.cmd.Claude({ args = { 'chat', 'begin' } })")
    nvim.wait("Ide.chat.current().state == 'idle'", what="the turn to be over")
    site, session = Site(nvim), nvim.lua("return Ide.chat.current().session")
    nvim.wait(lambda: site.has(session), what="the session to be listed")
    sent = str(mock_api.conversation()) + str(mock_api.requests[-1].get("system", ""))
    folder = str(nvim.home / ".claude/plans")
    path = next(part for part in sent.replace("\\n", " ").split() if part.startswith(folder) and ".md" in part)
    path = path[: path.index(".md") + 3]
    idle = "Ide.chat.current().state == 'idle'"
    with site.read(session) as reader:
        reader.until({"type": "caught_up"})
        asked = say(reader, mock_api, ("AskUserQuestion", {"questions": QUESTIONS}))
        assert (asked["kind"], choices(asked)) == ("question", ["option:1", "option:2", "answer", "reject"])
        nvim.wait_screen("Which colour?")
        decide(reader, asked, "accepted", choice="option:2")
        nvim.wait(lambda: mock_api.seen("Blue"), what="the model to be told")
        nvim.wait(lambda: "Which colour?" not in "\n".join(nvim.screen()[-12:]), what="the question to go")
        nvim.wait(idle)
        write = ("Write", {"file_path": path, "content": "# Plan\ndo it"})
        asked = say(reader, mock_api, write, ("ExitPlanMode", {}))
        assert (asked["kind"], asked["text"], choices(asked)) == ("plan", "# Plan\ndo it", PLAN_CHOICES)
        nvim.wait("vim.fn.bufnr('Claude (plan)') ~= -1", what="the plan in Neovim")
        decide(reader, asked, "accepted", choice="accept")
        nvim.wait("vim.fn.bufwinid('Claude (plan)') == -1", what="the plan to go")
        nvim.wait("Ide.chat.current().mode == 'default'", what="the mode after a plan")
        nvim.wait(idle)
        made = nvim.project / "made.txt"
        touch = ("Bash", {"command": f"touch {made}", "description": "make a file"})
        asked = say(reader, mock_api, touch, answer="As you like.")
        assert asked["kind"] == "permission" and str(made) in asked["text"]
        decide(reader, asked, "rejected", choice="reject", message="not there")
        reader.once(lambda frame: "As you like." in str(frame), what="that Claude goes on")
        assert mock_api.seen("not there") and not made.exists()
        nvim.wait(idle)
        asked = say(reader, mock_api, touch)
        decide(reader, asked, "accepted", choice="allow")
        nvim.wait(made.exists, what="what was allowed")
        nvim.wait(f"{PENDING} == 0")
