"""The review with the real CLI, in modes that do not ask: its changes await review in Neovim, and can be undone there."""

import re
import subprocess

import pytest

from harness.cli import QUESTION, call
from harness.files import text_of

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

WAITING = """
return vim.tbl_map(function(change) return { vim.fs.basename(change.path), change.added, change.removed } end,
  require("claude-ide").review.changes())
"""


@pytest.fixture
def nvim(start_nvim):
    """A Neovim with one of two files in its window."""
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n", "b.txt": "first\nsecond\n"})
    nvim.lua('require("claude-ide").connect()')
    return nvim


def commit_all(project):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=project, check=True)


def contents(nvim, name):
    return text_of(nvim.project / name)


def allow_until(claude, nvim, said):
    """Accepts every question of the CLI in the terminal until it says `said`."""

    def step():
        if said in claude.screen():
            return True
        if QUESTION in claude.screen():
            claude.answer("1")
        return False

    nvim.wait(step, what="the CLI to be done")


MODE = re.compile(r"^ +\S+ ([a-z ]+ on)\b.*\Z", re.MULTILINE)
"""The last line of the CLI."""


def switch(claude, mode):
    """Cycles through the CLI's modes to `mode`."""
    while (shown := MODE.search(claude.wait_screen(MODE))[1]) != mode:
        claude.keys("<S-Tab>")
        claude.terminal.wait(lambda shown=shown: MODE.search(claude.wait_screen(MODE))[1] != shown, what="another mode")


def steps(nvim, *more, said):
    """A prompt: reads a file, edits it twice, writes another one, and does `more`."""
    a, c = (str(nvim.project / name) for name in ("a.txt", "c.txt"))
    return " THEN ".join(
        [
            call("Read", file_path=a),
            call("Edit", file_path=a, old_string="one", new_string="ONE"),
            call("Edit", file_path=a, old_string="three", new_string="THREE"),
            call("Write", file_path=c, content="new\n"),
            *more,
            f"SAY {said}",
        ]
    )


def test_what_is_changed_in_each_mode_waits_and_is_undone(nvim, cli, tmp_path):
    # A shell command of the prompt that the CLI was started with.
    script = f"until [ -e {tmp_path}/go ]; do sleep 0.1; done; sed -i s/second/SECOND/ b.txt\n"
    (nvim.project / "change").write_text(script)
    commit_all(nvim.project)
    nvim.lua("""
      local checkpoints = require("claude-ide.journal.checkpoints")
      local take = checkpoints.take
      checkpoints.take = function(folder, is_first, done)
        take(folder, is_first, function(...) done(...) taken = true end)
      end
    """)
    # The mocked model answers at once; the command waits until Neovim has recorded the state before it.
    command = "sh change"
    prompt = f"{call('Bash', command=command, description='Change b.txt')} THEN SAY begun"
    claude = cli(nvim, mode="bypassPermissions", args=("--ide", prompt))
    nvim.wait("taken == true", what="the checkpoint of a turn that was going on")
    (tmp_path / "go").touch()
    claude.wait_screen("● begun")
    nvim.wait(lambda: nvim.lua(WAITING) == [["b.txt", 1, 1]], what="the file to wait for a review")
    nvim.lua("require('claude-ide.journal').undo_turn()")
    assert contents(nvim, "b.txt") == "first\nsecond\n"

    # Undo takes back several edits and a shell command of one turn together, in each mode.
    for mode in ("bypass permissions on", "manual mode on", "accept edits on"):
        switch(claude, mode)
        said = f"done with {mode}".replace(" on", "")
        (tmp_path / "go").unlink()
        nvim.lua("taken = false")
        claude.prompt(steps(nvim, call("Bash", command=command, description="Change b.txt"), said=said))
        nvim.wait("taken == true", what="the checkpoint of the turn")
        (tmp_path / "go").touch()
        allow_until(claude, nvim, f"● {said}")
        expected = [["a.txt", 2, 2], ["b.txt", 1, 1], ["c.txt", 1, 0]]
        nvim.wait(lambda expected=expected: nvim.lua(WAITING) == expected, what="three files to wait for a review")
        # Undo only when all is written, so that nothing of the turn counts as a foreign change.
        nvim.wait(
            "local turns = require('claude-ide.journal').turns() return turns[#turns].ended ~= nil", what="its end"
        )
        nvim.answer(1)
        nvim.keys(":Claude undo<CR>")
        nvim.wait(lambda: contents(nvim, "a.txt") == "one\ntwo\nthree\n", what="a.txt as it was")
        nvim.wait(lambda: contents(nvim, "b.txt") == "first\nsecond\n", what="b.txt as it was")
        nvim.wait(lambda: contents(nvim, "c.txt") is None, what="c.txt to be gone")
        nvim.wait(lambda: nvim.lua(WAITING) == [], what="nothing left to review")

    # Edits that could not be announced come from the transcript: Neovim was too busy to answer, the CLI gives up after
    # 500 ms each time, and writes all the same.
    nvim.lua(
        "local tool = require('claude-ide.tools.diagnostics').get_diagnostics run, tool.run = tool.run, function() end"
    )
    claude.prompt(steps(nvim, said="unannounced"))
    claude.wait_screen("● unannounced")
    nvim.wait(lambda: nvim.lua(WAITING) == [["a.txt", 2, 2], ["c.txt", 1, 0]], what="two files to wait for a review")
    results = nvim.lua("return require('claude-ide.journal').undo_turn()")
    assert all(result["ok"] for result in results)
    assert (contents(nvim, "a.txt"), contents(nvim, "c.txt")) == ("one\ntwo\nthree\n", None)
    nvim.lua("require('claude-ide.tools.diagnostics').get_diagnostics.run = run")

    # File by file in the review.
    a, b, c = (str(nvim.project / name) for name in ("a.txt", "b.txt", "c.txt"))
    claude.prompt(
        " THEN ".join(
            [
                call("Read", file_path=a),
                call("Edit", file_path=a, old_string="two", new_string="TWO"),
                call("Read", file_path=b),
                call("Edit", file_path=b, old_string="second\n", new_string=""),
                call("Write", file_path=c, content="new\n"),
                "SAY reviewed",
            ]
        )
    )
    claude.wait_screen("● reviewed")
    expected = [["a.txt", 1, 1], ["b.txt", 0, 1], ["c.txt", 1, 0]]
    nvim.wait(lambda: nvim.lua(WAITING) == expected, what="three files to wait for a review")
    nvim.keys(":Claude review<CR>")
    nvim.wait_screen("3 files")
    nvim.keys("dx")
    nvim.wait(lambda: contents(nvim, "a.txt") == "one\ntwo\nthree\n", what="the undo on disk")
    nvim.keys("]fgA")
    nvim.wait(lambda: nvim.lua(WAITING) == expected[2:], what="one file left")
    assert contents(nvim, "b.txt") == "first\n"


def warned(nvim):
    return [notice for notice in nvim.notices() if "changed without asking you" in notice]


def test_a_change_that_a_rule_allows_is_warned_of_once_a_turn(start_nvim, cli):
    nvim = start_nvim(files={"a.txt": "one\ntwo\nthree\n", "b.txt": "first\n"}, notices=True)
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim)
    path = str(nvim.project / "a.txt")

    def edits(*pairs):
        calls = [call("Edit", file_path=path, old_string=old, new_string=new) for old, new in pairs]
        claude.prompt(" THEN ".join([call("Read", file_path=path), *calls, f"SAY done {pairs[0][1]}"]))
        return f"● done {pairs[0][1]}"

    said = edits(("one", "ONE"))
    nvim.wait("(require('claude-ide.proposal').list()[1] or {}).seen", what="the diff")
    nvim.lua("assert(require('claude-ide.proposal').accept())")
    claude.wait_screen(said)

    said = edits(("two", "TWO"), ("three", "THREE"))
    claude.answer("2")  # all edits of the session: that mode is recorded later
    claude.wait_screen(said)
    switch(claude, "manual mode on")

    settings = nvim.project / ".claude"
    settings.mkdir(exist_ok=True)
    (settings / "settings.local.json").write_text('{"permissions": {"allow": ["Edit"]}}')
    assert warned(nvim) == []

    words = ["THREE", "three"]
    for _ in range(9):  # the CLI reads its settings again in its own time
        words.reverse()
        allow_until(claude, nvim, edits((words[1], words[0]), ("TWO", "TWO!"), ("TWO!", "TWO")))
        nvim.lua("passed = false vim.defer_fn(function() passed = true end, 1500)")
        nvim.wait("passed", what="a warning, if there is one")
        if warned(nvim):
            break
    (words,) = nvim.wait(lambda: warned(nvim), what="the warning")
    assert words.startswith("a.txt was changed without asking you: a rule or a hook allows it")

    nvim.lua("notices = {}")
    switch(claude, "accept edits on")
    claude.wait_screen("accept edits on")
    claude.wait_screen(edits(("ONE", "one")))
    nvim.wait(lambda: "one" in (nvim.project / "a.txt").read_text())
    switch(claude, "manual mode on")
    assert warned(nvim) == []
