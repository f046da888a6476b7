"""The pictures of the README (SVG, one of them moving; the page: PNG) and of the help (text): real screens of Neovim with the real CLI connected to it.

A beginning is a project and a scripted turn of Claude; every scene of it is some keys, and a text that shows when the screen is
complete.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from nvim.session_files import Sessions
from run import neovim_environment

from harness.browser import Browser
from harness.mock_api import MockApi
from harness.scripted_model import Reply
from harness.terminal import Terminal
from picture import draw, write_film, write_png, write_svg

HERE = Path(__file__).resolve().parent

PROMPT = "Searching should ignore case, and say so in the README. Keep the file readable, too."

EDITS = (
    (
        "shelf.py",
        "    FILE.write_text(json.dumps(books))\n",
        '    """Writes the shelf, one book a line, in the order of the authors."""\n'
        '    books = sorted(books, key=lambda book: book["author"])\n'
        "    FILE.write_text(json.dumps(books, indent=1))\n",
    ),
    (
        "shelf.py",
        "    found = []\n"
        "    for book in load():\n"
        '        if word in book["title"]:\n'
        "            found.append(book)\n"
        "    return found\n",
        '    word = word.casefold()\n    return [book for book in load() if word in book["title"].casefold()]\n',
    ),
    (
        "shelf.py",
        '        print(book["title"] + ", " + book["author"])\n',
        "        print(f\"{book['title']}, {book['author']}\")\n",
    ),
    (
        "README.txt",
        "python3 shelf.py find dune\n",
        "python3 shelf.py find dune     # upper and lower case are the same\n",
    ),
)


@dataclass(frozen=True)
class Shown:
    """Between keys: the screen is to show this before the next ones are typed."""

    text: str


@dataclass(frozen=True)
class Frame:
    """Between keys: the screen as it is now is a frame of a moving picture."""

    seconds: float
    still: bool = False
    """What somebody sees who wants no motion."""


@dataclass(frozen=True)
class Scene:
    """One picture; one with frames moves."""

    name: str
    keys: Sequence[str | Shown | Frame]
    shows: Sequence[str]
    """Texts that the finished screen shows."""
    columns: int = 120
    rows: int = 34
    leave: Sequence[str] = ()
    """Keys that restore the screen for the next picture."""
    text: bool = False
    """A screen as text for the help, not a picture."""
    page: Callable[[Browser], None] | None = None
    """Goes to the place to be pictured: a picture of the page in a browser, not of the screen."""

    @property
    def file(self) -> str:
        """Where it goes, below the folder of the documents."""
        return f"screens/{self.name}.txt" if self.text else f"{self.name}.png" if self.page else f"{self.name}.svg"


@dataclass(frozen=True)
class Beginning:
    """What happens before pictures are taken: one Neovim and one turn of Claude, for one picture after another."""

    mode: str
    """Permission mode of the CLI."""
    calls: Callable[[Path], list[tuple[str, dict[str, object]]]]
    """Claude's calls, one after another."""
    ready: str
    """A Lua condition: keys may be typed."""
    scenes: Sequence[Scene]
    options: dict[str, object] = field(default_factory=dict)
    """For `setup()`."""
    prompt: str = PROMPT
    """What Claude is asked once it is connected; empty: the keys of a scene ask."""
    answer: str = "Done. The search ignores case now, and the shelf is written in a readable form."
    replies: Sequence[dict[str, object]] = ()
    """What Claude replies to the user's comments, one after another."""
    chat: bool = False
    """In a chat, not in the terminal."""
    others: Callable[[Sessions, Path], None] | None = None
    """Writes other sessions, as if other CLIs ran."""


def written_at_once(project: Path) -> list[tuple[str, dict[str, object]]]:
    """All of the change as one new text of the file."""
    text = (project / "shelf.py").read_text()
    for file, old, new in EDITS:
        if file == "shelf.py":
            text = text.replace(old, new)
    return [
        ("Read", {"file_path": str(project / "shelf.py")}),
        ("Write", {"file_path": str(project / "shelf.py"), "content": text}),
    ]


def edit_by_edit(project: Path) -> list[tuple[str, dict[str, object]]]:
    """Each change as an edit of its own, and a look at the result."""
    calls = [("Read", {"file_path": str(project / name)}) for name in ("shelf.py", "README.txt")]
    for file, old, new in EDITS:
        calls.append(("Edit", {"file_path": str(project / file), "old_string": old, "new_string": new}))
    calls.append(("Bash", {"command": "grep -c casefold shelf.py", "description": "Look that it is there"}))
    return calls


def one_edit(project: Path) -> list[tuple[str, dict[str, object]]]:
    """A look at two files and one short edit, for a screen that is shared with the chat."""
    old = '    found = []\n    for book in load():\n        if word in book["title"]:\n'
    new = (
        '    word, found = word.casefold(), []\n    for book in load():\n        if word in book["title"].casefold():\n'
    )
    return [
        *(("Read", {"file_path": str(project / name)}) for name in ("README.txt", "shelf.py")),
        ("Edit", {"file_path": str(project / "shelf.py"), "old_string": old, "new_string": new}),
    ]


def a_command(_project: Path) -> list[tuple[str, dict[str, object]]]:
    """A command that the user is asked about."""
    return [("Bash", {"command": "git checkout -f -- shelf.json", "description": "Undo what the test wrote"})]


def other_sessions(sessions: Sessions, project: Path) -> None:
    """Sessions beside the one that is played: at work, done, and ended."""

    def edit(name: str, added: int, removed: int) -> dict[str, object]:
        lines = ["-old"] * removed + ["+new"] * added
        hunk = {"oldStart": 1, "oldLines": removed, "newStart": 1, "newLines": added, "lines": lines}
        return {"filePath": str(project / name), "oldString": "", "newString": "", "structuredPatch": [hunk]}

    def call(at: int, name: str) -> dict[str, object]:
        return {"type": "tool_use", "id": f"t{at}", "name": name, "input": {}}

    def todos(*done: str, now: str = "", then: Sequence[str] = ()) -> dict[str, object]:
        items = [{"content": text, "status": "completed"} for text in done]
        items += [{"content": now, "activeForm": now, "status": "in_progress"}] if now else []
        return {"newTodos": [*items, *({"content": text, "status": "pending"} for text in then)]}

    def write(title: str, said: str, results: dict[str, object], **more: object) -> str:
        calls = [call(at, name) for at, name in enumerate(results)]
        answers = {f"t{at}": ("ok", record) for at, record in enumerate(results.values())}
        turns = [(title, calls, answers)] if calls else []
        return sessions.write(project, *turns, (title, said), title=title, **more)

    loans = write(
        "Lend books, and remind the borrower",
        "The table of loans is there; now the reminder.",
        {"TodoWrite": todos("Loans", now="Writing the reminder", then=["Tests"]), "Edit": edit("loans.py", 86, 4)},
        branch="loans",
        tokens=92_000,
        age=timedelta(),
    )
    docs = write(
        "Document every command",
        "All commands have an example now. Shall I add the exit codes?",
        {"Edit": edit("README.txt", 41, 12)},
        branch="docs",
        tokens=35_000,
        age=timedelta(minutes=7),
    )
    for title, age in (
        ("Why is the first search slow?", timedelta(hours=3)),
        ("Import from a CSV file", timedelta(days=2)),
    ):
        session = write(title, "ok", {"Edit": edit("shelf.py", 12, 3)}, tokens=24_000, age=age)
        path, cost = sessions.path(project, session), {"type": "cost-state", "sessionId": session, "totalCostUSD": 0.38}
        written = path.stat().st_mtime
        path.write_text(path.read_text() + json.dumps(cost) + "\n")
        os.utime(path, (written, written))
    for session, status, age in ((loans, "busy", 2), (docs, "idle", 7)):
        since = int((time.time() - 60 * age) * 1000)
        sessions.record(sessions.sleeper(), session, status, project, startedAt=since, statusUpdatedAt=since)


def go_to_session(browser: Browser) -> None:
    """Opens the session that is played."""
    browser.js(
        "[...document.querySelectorAll('#sessions a')].find((one) => one.innerText.includes('Searching')).click()"
    )


def conversation(browser: Browser) -> None:
    """One session beside the list, with an edit unfolded."""
    browser.size(1180, 820)
    go_to_session(browser)
    browser.wait("document.querySelectorAll('article.tool').length == 7 && !document.querySelector('article.live')")
    browser.js("document.querySelectorAll('article.tool summary')[3].click()")
    browser.wait("document.querySelector('.diff .add') !== null")


def in_the_dark(browser: Browser) -> None:
    """The same where the user likes it dark."""
    browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    conversation(browser)


def request_on_a_phone(browser: Browser) -> None:
    """A request on a phone that may answer it."""
    browser.size(390, 760, mobile=True)
    go_to_session(browser)
    browser.wait("!document.querySelector('#write').hidden")
    browser.js("document.querySelector('#write').click()")
    browser.wait("document.querySelector('.card .choice:not([disabled], [aria-disabled=true])') !== null")
    # The card has taken room from the transcript, whose end need not be in sight any more.
    browser.wait("scroller.scrollTo(0, scroller.scrollHeight) || newest.hidden")


def list_on_a_phone(browser: Browser) -> None:
    """The sessions on a phone."""
    browser.size(390, 760, mobile=True)
    browser.wait("document.querySelectorAll('#sessions a').length == 5")


PENDING = "require('claude-ide.edits.proposal').count() == 1 and (vim.b.claude_ide or {}).kind == 'proposal'"
ASKED = "require('claude-ide.edits.proposal').count() == 1"
LANDED = "#require('claude-ide').review.changes() == 2 and vim.g.claude_demo_idle"

WAITS = "#require('claude-ide.requests').pending() == 1"

IDE_FEELING = (
    ":Claude",
    Frame(0.9),
    "<CR>",
    Shown("In shelf.py"),
    Frame(1.6),
    "<C-\\><C-\\>",
    "25GV5j",
    Shown("6 lines selected"),
    Frame(2.0),
    "<Esc>:Claude focus<CR>",
    "Let the search ",
    Shown("selected] Let the search"),
    Frame(0.6),
    "ignore case.",
    Shown("  case."),
    Frame(0.8),
    "<CR>",
    Shown("casefold"),
    Frame(3.0),
    "dx",
    Shown("dropped"),
    Frame(2.4, still=True),
    "ZZ",
    Shown("Done. The search ignores case now."),
    Shown("· done"),
    Shown("In shelf.py"),
    Frame(3.0),
)
"""Selects lines, asks, drops a change that was not asked for, accepts the others."""

BEGINNINGS = (
    Beginning(
        "default",
        written_at_once,
        "vim.iter(require('claude-ide.server').clients()):any(function(client) return client.state == 'ready' end)",
        (Scene("demo", IDE_FEELING, (), columns=116),),
        options={"terminal": {"size": 0.44}},
        prompt="",
        answer="Done. The search ignores case now.",
    ),
    Beginning(
        "default",
        a_command,
        WAITS,
        (
            Scene("card", (), ("wants to use Bash", "git checkout -f"), rows=28),
            Scene("page-list", (), ("Waits for you", "Working", "Idle"), page=list_on_a_phone),
            Scene("page-phone", (), ("git checkout -f", "Allow once"), page=request_on_a_phone),
        ),
        options={"web": {"write": True}},
        others=other_sessions,
    ),
    Beginning(
        "default",
        one_edit,
        PENDING,
        (
            Scene(
                "board",
                (":tabfirst<CR>", ":Claude board<CR>"),
                ("A change to shelf.py", "Writing the reminder", "ended"),
                rows=14,
            ),
        ),
        others=other_sessions,
    ),
    Beginning(
        "default",
        written_at_once,
        PENDING,
        (
            Scene("proposal", (), ("casefold",), columns=76, rows=30, text=True),
            Scene("diff-vertical", (), ("+6 −7", "casefold")),
            Scene("diff-unified", ("gl", "gl", "]c", "dx"), ("2 of 3 selected",), rows=24),
        ),
    ),
    Beginning(
        "auto",
        edit_by_edit,
        LANDED,
        (
            Scene(
                "review",
                (":Claude review<CR>", Shown("2 files"), "]f"),
                ("2 files", "casefold", "Edit · turn 1, step"),
                columns=108,
                rows=33,
                leave=("q",),
            ),
            Scene(
                "changes",
                (":Claude review<CR>", Shown("2 files"), "]f", "]c"),
                ("2 files", "casefold", "Edit · turn 1, step"),
                columns=76,
                rows=30,
                text=True,
                leave=("q",),
            ),
            Scene(
                "comments",
                (
                    ":Claude review<CR>",
                    Shown("2 files"),
                    "]f",
                    "18Ggcc",
                    Shown("empty removes"),
                    "Do old files load?<Esc>ZZ",
                    Shown("(not sent)"),
                    "29Ggcc",
                    Shown("empty removes"),
                    "Why not lower()?<Esc>ZZ",
                    "gS",
                    Shown("[2]"),
                    "ZZ",
                    Shown("casefold() also"),
                    "gC",
                ),
                ("Yes, it reads both. (says it is done)", "Shall I use lower()?"),
                columns=108,
                rows=33,
            ),
        ),
        options={"diff": {"layout": "unified"}},
        replies=(
            {"id": 1, "text": "Yes, it reads both.", "done": True},
            {
                "id": 2,
                "text": "casefold() also finds “strasse” in “Straße”, which lower() does not. Shall I use lower()?",
            },
        ),
    ),
    Beginning(
        "acceptEdits",
        edit_by_edit,
        LANDED,
        (
            Scene(
                "transcript",
                (":Claude transcript<CR>", Shown("Edit README.txt"), "gg"),
                ("Searching should ignore case", "Edit shelf.py", "casefold"),
                leave=("q",),
            ),
            Scene("page", (), ("casefold", "ignores case now"), page=conversation),
            Scene("page-dark", (), ("casefold", "ignores case now"), page=in_the_dark),
        ),
        others=other_sessions,
    ),
    Beginning(
        "default",
        one_edit,
        ASKED,
        (
            Scene(
                "chat",
                ("<C-w>b", "iThen let it look in the authors, too.<CR>See #lines:shelf.py:33-35"),
                ("casefold", "asks you something", "#lines:shelf.py:33-35   #lines"),
                rows=28,
            ),
        ),
        options={"diff": {"open_in": "current", "layout": "unified"}},
        chat=True,
    ),
)


USAGE = {
    "input_tokens": 400,
    "output_tokens": 600,
    "cache_creation_input_tokens": 2_000,
    "cache_read_input_tokens": 28_000,
}
"""Of each answer: what a session of this kind has."""


class Script:
    """A model that makes its calls one after another and then is done."""

    def __init__(
        self, calls: list[tuple[str, dict[str, object]]], answer: str, replies: Sequence[dict[str, object]]
    ) -> None:
        self._calls, self._answer, self._replies = calls, answer, replies

    def __call__(self, messages: list[dict[str, object]]) -> Reply:
        calls = self._calls
        if "[1] " in json.dumps(messages):  # the comments have been sent
            calls = calls + [("mcp__nvim__comment_reply", reply) for reply in self._replies]
        done = sum(
            block.get("type") == "tool_use"
            for message in messages
            if message["role"] == "assistant" and isinstance(message["content"], list)
            for block in message["content"]
        )
        if done < len(calls):
            return Reply("I'll make the search ignore case." if not done else "", [calls[done]])
        return Reply(self._answer)


def take(beginning: Beginning, scenes: Sequence[Scene], nvim: Path, claude: Path, into: Path) -> None:
    """Plays a beginning and takes pictures of it."""
    folder = Path(tempfile.mkdtemp(prefix="claude-ide-picture-")).resolve()
    project = folder / "shelf"
    shutil.copytree(HERE / "shelf", project)
    api = MockApi(Script(beginning.calls(project), beginning.answer, beginning.replies))
    api.usage = USAGE
    terminal = browser = None
    home = folder / "home"
    sessions = Sessions(home)
    try:
        environment = neovim_environment(folder, claude, api, project) | {
            "CLAUDE_IDE_ROOT": str(HERE.parent),
            "CLAUDE_IDE_DEMO_COMMAND": json.dumps([str(claude), "--permission-mode", beginning.mode]),
            "CLAUDE_IDE_DEMO_OPTIONS": json.dumps(beginning.options),
            "CLAUDE_IDE_DEMO_PROMPT": beginning.prompt,
            "CLAUDE_IDE_DEMO_READY": beginning.ready,
        }
        if any(scene.page for scene in scenes):
            environment["CLAUDE_IDE_DEMO_PAGE"] = "1"
        if beginning.chat:
            environment["CLAUDE_IDE_DEMO_CHAT"] = "1"
        home.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(project)], check=True)
        if beginning.others:
            beginning.others(sessions, project)
        command = [str(nvim), "-u", str(HERE / "pictures.lua"), "-i", "NONE", "shelf.py"]
        first = scenes[0]
        terminal = Terminal(command, env=environment, cwd=project, rows=first.rows, columns=first.columns)
        try:
            terminal.wait((folder / "ready").exists, timeout=120, what=f"{first.name}: {beginning.ready}")
        except AssertionError as error:
            terminal.keys(":Claude<CR>")
            terminal.wait_quiet()
            log = "\n".join(path.read_text() for path in (folder / "state").rglob("claude-ide.log"))
            error.add_note(f"Claude's terminal:\n{terminal.framed()}\nThe log:\n{log}")
            raise
        for scene in scenes:
            path = into / scene.file
            path.parent.mkdir(parents=True, exist_ok=True)
            if scene.page:
                browser = browser or let_in((folder / "ready").read_text().strip(), folder / "browser")
                take_page(scene, browser, path)
            else:
                take_screen(scene, terminal, path)
            print(f"picture: {path}")
    finally:
        if browser:
            browser.close()
        if terminal:
            terminal.kill()
        api.close()
        sessions.close()
        shutil.rmtree(folder, ignore_errors=True)


def take_screen(scene: Scene, terminal: Terminal, path: Path) -> None:
    """Takes a picture of the screen."""
    terminal.resize(scene.rows, scene.columns)
    terminal.wait_quiet()
    frames, still = [], 0
    for keys in scene.keys:
        if isinstance(keys, Shown):
            terminal.wait_screen(keys.text)
        elif isinstance(keys, Frame):
            still = len(frames) if keys.still else still
            frames.append((keys.seconds, draw(terminal)))
        else:
            terminal.keys(keys)
        terminal.wait_quiet()
    for text in scene.shows:
        terminal.wait_screen(text)
    terminal.wait_quiet()
    if frames:
        write_film(frames, still, path)
    elif scene.text:
        path.write_text(terminal.text() + "\n")
    else:
        write_svg(terminal, path)
    for keys in scene.leave:
        terminal.keys(keys)
        terminal.wait_quiet()


def let_in(url: str, folder: Path) -> Browser:
    """A headless browser with the page; its address lets in once."""
    folder.mkdir()
    browser = Browser(folder)
    browser.open(url)
    browser.wait("document.querySelector('#sessions a') !== null")
    return browser


def take_page(scene: Scene, browser: Browser, path: Path) -> None:
    """Takes a picture of the page, as if it had just been opened."""
    page = browser.js("location.origin")
    browser.command("Emulation.setEmulatedMedia", features=[])
    browser.open("about:blank")
    browser.wait("location.href == 'about:blank'")
    browser.open(page)
    browser.wait("document.querySelector('#sessions a') !== null")
    scene.page(browser)
    for text in scene.shows:
        browser.wait(f"document.body.innerText.includes({json.dumps(text)})")
    browser.js("new Promise((done) => setTimeout(done, 300))")
    browser.js("said.remove()")  # for screen readers: what was said last may differ, and is not in the picture
    write_png(browser.picture(), browser.text(), path)


def main() -> int:
    """Takes all pictures, or those named."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nvim", type=Path, required=True, help="the Neovim to use")
    options.add_argument("--claude", type=Path, required=True, help="the CLI to use")
    options.add_argument("--into", type=Path, default=HERE.parent / "doc", help="folder to write to")
    options.add_argument("scenes", nargs="*", help="names of the pictures; default: all")
    chosen = options.parse_args()
    for beginning in BEGINNINGS:
        scenes = [scene for scene in beginning.scenes if not chosen.scenes or scene.name in chosen.scenes]
        if scenes:
            take(beginning, scenes, chosen.nvim, chosen.claude, chosen.into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
