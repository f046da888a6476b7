"""The review with the real CLI, in modes that do not ask: its changes await review in Neovim, and can be undone there."""

import json
import re
import subprocess

import pytest
from terminal_steps import IDLE, begin, submit

from harness.cli import QUESTION, call
from harness.files import text_of
from harness.scripted_model import Reply

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
    """Accepts every question of the CLI in the terminal until it says `said`; returns whether there was any."""
    asked = False

    def step():
        nonlocal asked
        if said in claude.screen():
            return True
        if QUESTION in claude.screen():
            asked = True
            claude.answer("1")
        return False

    nvim.wait(step, what="the CLI to be done")
    return asked


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
      local checkpoints = Ide.checkpoints
      local take = checkpoints.take
      checkpoints.take = function(folder, is_first, done, since)
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
    nvim.undo_turn()
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
            "local turns = Ide.journal.turns() return turns[#turns].ended ~= nil",
            what="its end",
        )
        nvim.answer(1)
        nvim.keys(":Claude undo<CR>")
        nvim.wait(lambda: contents(nvim, "a.txt") == "one\ntwo\nthree\n", what="a.txt as it was")
        nvim.wait(lambda: contents(nvim, "b.txt") == "first\nsecond\n", what="b.txt as it was")
        nvim.wait(lambda: contents(nvim, "c.txt") is None, what="c.txt to be gone")
        nvim.wait(lambda: nvim.lua(WAITING) == [], what="nothing left to review")

    # Edits that could not be announced come from the transcript: Neovim was too busy to answer, the CLI gives up after
    # 500 ms each time, and writes all the same.
    nvim.lua("local tool = Ide.tools_diagnostics.get_diagnostics run, tool.run = tool.run, function() end")
    claude.prompt(steps(nvim, said="unannounced"))
    claude.wait_screen("● unannounced")
    nvim.wait(lambda: nvim.lua(WAITING) == [["a.txt", 2, 2], ["c.txt", 1, 0]], what="two files to wait for a review")
    results = nvim.undo_turn()
    assert all(result["ok"] for result in results)
    assert (contents(nvim, "a.txt"), contents(nvim, "c.txt")) == ("one\ntwo\nthree\n", None)
    nvim.lua("Ide.tools_diagnostics.get_diagnostics.run = run")

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
    return [notice for notice in nvim.notices() if "without asking you" in notice]


def test_a_change_that_the_user_did_not_allow_is_warned_of_once_a_turn(start_nvim, cli, mock_api):
    nvim = start_nvim(files={"a.txt": "one\ntwo\nthree\n", "b.txt": "first\n", "c.txt": "x\n"}, notices=True)
    commit_all(nvim.project)
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim)
    path = str(nvim.project / "a.txt")

    def edits(*pairs):
        calls = [call("Edit", file_path=path, old_string=old, new_string=new) for old, new in pairs]
        claude.prompt(" THEN ".join([call("Read", file_path=path), *calls, f"SAY done {pairs[0][1]}"]))
        return f"● done {pairs[0][1]}"

    words = ["THREE", "three"]

    def edits_by_rule(settings, rules, is_over):
        """Edits a file, until these rules allow it: the CLI reads its settings again in its own time."""
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps({"permissions": {"allow": rules}}))
        for _ in range(12):
            words.reverse()
            if is_over(allow_until(claude, nvim, edits((words[1], words[0]), ("TWO", "TWO!"), ("TWO!", "TWO")))):
                return
        raise AssertionError("the rules do not count")

    def is_warned(_):
        nvim.lua("passed = false vim.defer_fn(function() passed = true end, 1500)")
        nvim.wait("passed", what="the time of a warning")
        return warned(nvim) != []

    # The user allows it here, in the terminal for the session, by a rule of their own.
    said = edits(("one", "ONE"))
    nvim.wait("(Ide.proposal.list()[1] or {}).seen", what="the diff")
    nvim.lua("assert(Ide.proposal.accept())")
    claude.wait_screen(said)
    said = edits(("two", "TWO"), ("three", "THREE"))
    claude.answer("2")  # all edits of the session
    claude.wait_screen(said)
    switch(claude, "manual mode on")
    local = nvim.project / ".claude" / "settings.local.json"
    edits_by_rule(local, ["Edit"], lambda asked: not asked)
    local.unlink()

    # A rule that comes with the project; what was said before would have been first.
    shared = nvim.project / ".claude" / "settings.json"
    edits_by_rule(shared, ["Edit", "Write"], is_warned)
    (words_of_edit,) = warned(nvim)
    assert words_of_edit.startswith("a.txt was changed without asking you: a rule of the project allows it.")

    # The same by a subagent.
    nvim.lua("notices = {}")
    task = call("Write", file_path=str(nvim.project / "made.txt"), content="made\n")
    agent = {"description": "make", "prompt": task, "subagent_type": "general-purpose"}
    mock_api.script(Reply(calls=[("Agent", agent)]))  # all else as the prompts say
    claude.prompt("go on")
    (words_of_agent,) = nvim.wait(lambda: warned(nvim), what="the warning")
    assert words_of_agent.startswith("made.txt was changed without asking you: a rule of the project allows it.")
    claude.wait_ready()

    # A shell command that the CLI takes for harmless, and is not: the repository has git run a program.
    nvim.lua("notices = {}")
    program = nvim.project.parent / "differ"
    program.write_text(f"#!/bin/sh\necho changed >>{nvim.project}/b.txt\n")
    program.chmod(0o755)
    subprocess.run(["git", "config", "diff.external", program], cwd=nvim.project, check=True)
    claude.prompt(f"{call('Bash', command='git diff', description='Show changes')} THEN SAY compared")
    assert not allow_until(claude, nvim, "● compared")
    (words_of_command,) = nvim.wait(lambda: warned(nvim), what="the warning")
    assert words_of_command.startswith("b.txt changed while `git diff` ran without asking you.")

    # A mode that allows it, and a command that the user allows.
    nvim.lua("notices = {}")
    switch(claude, "accept edits on")
    claude.wait_screen(edits(("ONE", "one")))
    switch(claude, "manual mode on")
    claude.prompt(f"{call('Bash', command='sort -o c.txt a.txt', description='Sort')} THEN SAY sorted")
    assert allow_until(claude, nvim, "● sorted")
    changed = "#Ide.journal.changes('turn') == 1"
    nvim.wait(changed, what="what the command did")
    assert not is_warned(None)


@pytest.mark.parametrize("mode", [None, "acceptEdits", "default"])
def test_a_fresh_claude_says_what_it_has_changed_unasked(start_with_claude, mock_api, mode):
    """As a user begins: in the CLI's own mode, and in that of the options."""
    footer = {None: "auto mode on", "acceptEdits": "accept edits on", "default": "manual mode on"}[mode]
    files = {"a.txt": "one\ntwo\nthree\n"}
    terminal = {"command": ["claude"], **({"permission_mode": mode} if mode else {})}
    map_review = "vim.keymap.set('n', '<leader>cv', '<Plug>(claude-review)')"
    nvim = start_with_claude(terminal, {"review": {}}, args=["a.txt"], files=files, init_lua=map_review)
    nvim.terminal.resize(30, 160)
    begin(nvim, mock_api, mode=footer)
    path = str(nvim.project / "a.txt")
    mock_api.script(
        Reply(calls=[("Read", {"file_path": path})]),
        Reply(calls=[("Edit", {"file_path": path, "old_string": "two", "new_string": "2\nand a half"})]),
        Reply(text="It is done."),
    )
    submit(nvim, mock_api, "go on")
    if mode == "default":
        nvim.wait("Ide.proposal.count() == 1", what="the diff")
        return
    nvim.wait_screen("It is done.")
    nvim.wait(lambda: contents(nvim, "a.txt") == "one\n2\nand a half\nthree\n", what="the edit")
    nvim.wait(IDLE, what="the end of the turn")
    nvim.keys("<C-\\><C-\\>")
    nvim.wait_screen("Claude changed a.txt, +2 −1: `\\cv` shows it. To be asked first: `<S-Tab>` in its terminal")
    shown = {"auto": "auto", "acceptEdits": "accept edits"}[mode or "auto"]
    line = "require('claude-ide').statusline.text()"
    nvim.wait(lambda: nvim.lua(f"return {line}") == f"Claude idle · {shown} · 1 to review", what="the statusline")
    nvim.keys("\\cv")
    nvim.wait_screen("1 file")
    nvim.keys("]cdx")
    nvim.wait(lambda: contents(nvim, "a.txt") == files["a.txt"], what="the change to be undone")


def test_a_review_names_the_call_of_each_change(nvim, cli):
    claude = cli(nvim, mode="acceptEdits")
    claude.prompt(steps(nvim, said="done"))
    claude.wait_screen("● done")
    nvim.wait(lambda: len(nvim.lua(WAITING)) == 2, what="both files to wait for a review")
    nvim.cmd("Claude review")
    nvim.wait_screen("Edit · turn 1, step 2 of 4")
    nvim.keys("]c")
    nvim.wait_screen("Edit · turn 1, step 3 of 4")
    nvim.keys("]c")
    nvim.wait_screen("Write · turn 1, step 4 of 4")


def test_what_others_change_while_no_command_runs_is_not_claudes(nvim, cli, tmp_path):
    def turns_end(count):
        ended = "local turns = Ide.journal.turns() return #turns == ... and turns[#turns].ended ~= nil"
        nvim.wait(lambda: nvim.lua(ended, count), what="the end of the turn")
        nvim.lua("known = false Ide.journal.when_known(function() known = true end)")
        nvim.wait("known == true", what="all that the turn changed")

    commit_all(nvim.project)
    claude = cli(nvim, mode="bypassPermissions", args=("--ide",))
    # A turn of milliseconds does not reach the record of its session (2.1.329).
    claude.prompt(f"{call('Bash', command='sleep 1', description='Wait')} THEN SAY first")
    claude.wait_screen("● first")
    turns_end(1)
    (nvim.project / "b.txt").write_text("mine\n")  # between turns
    nvim.lua("""
      local checkpoints = Ide.checkpoints
      local take = checkpoints.take
      checkpoints.take = function(folder, is_first, done, since)
        take(folder, is_first, function(...) done(...) taken = true end, since)
      end
    """)
    command = f"until [ -e {tmp_path}/go ]; do sleep 0.1; done; echo made > made.txt"
    claude.prompt(f"{call('Bash', command=command, description='Make it')} THEN SAY second")
    nvim.wait("taken == true", what="the checkpoint of the next turn")
    (tmp_path / "go").touch()
    claude.wait_screen("● second")
    turns_end(2)
    nvim.wait(lambda: nvim.lua(WAITING) == [["made.txt", 1, 0]], what="what changed while the command ran")


def test_what_an_interrupted_command_has_changed_is_shown(nvim, cli):
    (nvim.project / "src").mkdir()
    (nvim.project / "src" / "c.txt").write_text("c\n")
    commit_all(nvim.project)
    claude = cli(nvim, mode="bypassPermissions", args=("--ide",))
    command = "git mv src lib; rm b.txt; echo made > made.txt; sleep 60"
    claude.prompt(call("Bash", command=command, description="Move it"))
    nvim.wait(lambda: (nvim.project / "made.txt").exists(), what="what the command changes")
    claude.escape()
    changed = [["b.txt", 0, 2], ["c.txt", 0, 1], ["c.txt", 1, 0], ["made.txt", 1, 0]]
    nvim.wait(lambda: sorted(nvim.lua(WAITING)) == changed, what="what the command has changed")


def test_a_file_in_utf_16_is_text_from_end_to_end(nvim, cli):
    """The CLI edits it as text, keeps its bytes otherwise, and tells of it in UTF-8 with line feeds (2.1.329)."""
    path = nvim.project / "u.txt"

    def holds(text):
        return path.read_bytes() == ("\ufeff" + text.replace("\n", "\r\n")).encode("utf-16-le")

    path.write_bytes("\ufeffone\r\ntwo \u4e0a\r\nthree\r\n".encode("utf-16-le"))
    claude = cli(nvim, mode="bypassPermissions")

    def edit(old, new, said):
        edited = call("Edit", file_path=str(path), old_string=old, new_string=new)
        claude.prompt(f"{call('Read', file_path=str(path))} THEN {edited} THEN SAY {said}")

    edit("two", "TWO", "announced")
    claude.wait_screen("● announced")
    nvim.wait(lambda: nvim.lua(WAITING) == [["u.txt", 1, 1]], what="it to wait for a review")
    nvim.cmd("Claude review")
    nvim.wait_screen("Edit · turn 1, step 2 of 2")
    nvim.keys("dx")
    nvim.wait(lambda: holds("one\ntwo \u4e0a\nthree\n"), what="the same bytes")
    nvim.keys("q")

    # Known from the transcript alone.
    nvim.lua("local tool = Ide.tools_diagnostics.get_diagnostics run, tool.run = tool.run, function() end")
    second = nvim.project / "v.txt"
    second.write_bytes(path.read_bytes())
    path = second
    edit("three\n", "three\nfour\n", "unannounced")
    claude.wait_screen("● unannounced")
    nvim.wait(lambda: nvim.lua(WAITING) == [["v.txt", 1, 0]], what="it to wait for a review")
    assert all(result["ok"] for result in nvim.undo_turn())
    assert holds("one\ntwo \u4e0a\nthree\n")
    nvim.lua("Ide.tools_diagnostics.get_diagnostics.run = run")

    # What was accepted in a diff is reviewed.
    switch(claude, "manual mode on")
    edit("two", "TWO", "accepted")
    nvim.wait("(Ide.proposal.list()[1] or {}).seen", what="the diff")
    nvim.wait_screen("v.txt +1 −1")
    nvim.lua("assert(Ide.proposal.accept())")
    claude.wait_screen("● accepted")
    assert holds("one\nTWO \u4e0a\nthree\n")
    nvim.wait("local turns = Ide.journal.turns() return turns[#turns].ended ~= nil", what="its end")
    assert nvim.lua(WAITING) == []
    assert len(nvim.lua("return Ide.journal.changes('turn')")) == 1
