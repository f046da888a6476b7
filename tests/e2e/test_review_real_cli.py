"""The review with the real CLI, in the modes that do not ask: what it changed waits in Neovim, and can be undone there."""

import subprocess

import pytest

from harness.cli import QUESTION, call

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


def test_what_was_edited_without_asking_waits_and_can_be_undone(nvim, cli):
    claude = cli(nvim, mode="acceptEdits")
    a, b, c = (str(nvim.project / name) for name in ("a.txt", "b.txt", "c.txt"))
    claude.prompt(
        " THEN ".join(
            [
                call("Read", file_path=a),
                call("Edit", file_path=a, old_string="two", new_string="TWO"),
                call("Read", file_path=b),
                call("Edit", file_path=b, old_string="second\n", new_string=""),
                call("Write", file_path=c, content="new\n"),
            ]
        )
    )
    claude.wait_screen("● Done.")
    expected = [["a.txt", 1, 1], ["b.txt", 0, 1], ["c.txt", 1, 0]]
    nvim.wait(lambda: nvim.lua(WAITING) == expected, what="three files to wait for a review")
    nvim.keys(":Claude review<CR>")
    nvim.wait_screen("3 files")
    nvim.keys("dx")
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == "one\ntwo\nthree\n", what="the undo on disk")
    nvim.keys("]fgA")
    nvim.wait(lambda: nvim.lua(WAITING) == expected[2:], what="one file left")
    assert (nvim.project / "b.txt").read_text() == "first\n"


def commit_all(project):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=project, check=True)


def allow_until_done(claude, nvim):
    """Says yes to whatever the CLI asks, in the terminal, until it is done."""

    def step():
        if "● Done." in claude.screen():
            return True
        if QUESTION in claude.screen():
            claude.answer("1")
        return False

    nvim.wait(step, what="the CLI to be done")


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_several_edits_and_a_shell_command_of_one_turn_are_undone_together(nvim, cli, mode):
    commit_all(nvim.project)
    claude = cli(nvim, mode=mode)
    a, c = (str(nvim.project / name) for name in ("a.txt", "c.txt"))
    claude.prompt(
        " THEN ".join(
            [
                call("Read", file_path=a),
                call("Edit", file_path=a, old_string="one", new_string="ONE"),
                call("Edit", file_path=a, old_string="three", new_string="THREE"),
                call("Write", file_path=c, content="new\n"),
                call("Bash", command="sed -i s/second/SECOND/ b.txt", description="Change b.txt"),
            ]
        )
    )
    allow_until_done(claude, nvim)
    expected = [["a.txt", 2, 2], ["b.txt", 1, 1], ["c.txt", 1, 0]]
    nvim.wait(lambda: nvim.lua(WAITING) == expected, what="three files to wait for a review")
    # Undoing it waits until all is written, so that nothing of the turn is taken for somebody else's.
    nvim.wait("require('claude-ide.journal').turns()[1].ended ~= nil")
    nvim.lua("vim.ui.select = function(items, _, done) done(items[1], 1) end")
    nvim.keys(":Claude undo<CR>")
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == "one\ntwo\nthree\n", what="a.txt as it was")
    nvim.wait(lambda: (nvim.project / "b.txt").read_text() == "first\nsecond\n", what="b.txt as it was")
    nvim.wait(lambda: not (nvim.project / "c.txt").exists(), what="c.txt to be gone")
    nvim.wait(lambda: nvim.lua(WAITING) == [], what="nothing left to review")


def test_edits_that_could_not_be_announced_are_told_by_the_transcript(nvim, cli):
    # Neovim was too busy to answer: the CLI gives up after 500 ms each time, and writes all the same.
    nvim.lua("require('claude-ide.tools.get_diagnostics').run = function() end")
    claude = cli(nvim, mode="acceptEdits")
    a, c = (str(nvim.project / name) for name in ("a.txt", "c.txt"))
    claude.prompt(
        " THEN ".join(
            [
                call("Read", file_path=a),
                call("Edit", file_path=a, old_string="two", new_string="TWO"),
                call("Edit", file_path=a, old_string="three", new_string="THREE"),
                call("Write", file_path=c, content="new\n"),
            ]
        )
    )
    claude.wait_screen("● Done.")
    expected = [["a.txt", 2, 2], ["c.txt", 1, 0]]
    nvim.wait(lambda: nvim.lua(WAITING) == expected, what="two files to wait for a review")
    results = nvim.lua("return require('claude-ide.journal').undo_turn()")
    assert all(result["ok"] for result in results)
    assert (nvim.project / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not (nvim.project / "c.txt").exists()


def test_a_shell_command_of_the_prompt_that_the_cli_was_started_with_is_undone(nvim, cli, tmp_path):
    commit_all(nvim.project)
    nvim.lua("""
      local checkpoint = require("claude-ide.journal.checkpoint")
      local take = checkpoint.take
      checkpoint.take = function(folder, done, ...)
        take(folder, function(...) done(...) taken = true end, ...)
      end
    """)
    # The mocked model answers at once; the command waits until Neovim has seen what was there before.
    command = f"until [ -e {tmp_path}/go ]; do sleep 0.1; done; sed -i s/second/SECOND/ b.txt"
    prompt = call("Bash", command=command, description="Change b.txt")
    claude = cli(nvim, mode="bypassPermissions", args=("--ide", prompt))
    nvim.wait("taken == true", what="the checkpoint of a turn that was going on")
    (tmp_path / "go").touch()
    claude.wait_screen("● Done.")
    nvim.wait(lambda: nvim.lua(WAITING) == [["b.txt", 1, 1]], what="the file to wait for a review")
    nvim.lua("require('claude-ide.journal').undo_turn()")
    assert (nvim.project / "b.txt").read_text() == "first\nsecond\n"
