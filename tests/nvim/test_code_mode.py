"""Code Mode: the model's one tool, `REPL`, runs scripts that call the others. The CLI writes these calls after the script's own, marked
`isVirtual` (read in CLI 2.1.329: it offers the mode to few accounts)."""

import pytest
from journal_steps import Claude
from transcript_files import Transcript
from transcript_steps import go_to, press, show

pytestmark = pytest.mark.dealt

A = "one\ntwo\nthree\n"


class Script(Transcript):
    """A transcript whose scripts call tools."""

    def inner(self, write):
        """Lines that `write` adds are of a script's calls."""
        self.extra = {"isVirtual": True}
        write()
        self.extra = {}


@pytest.fixture
def script(tmp_path):
    script = Script(tmp_path / "home", tmp_path / "project")
    script.raw('{"type":"repl-mode","replMode":true}\n')
    script.prompt("change the parser")
    script.reply("I shall.")
    path = tmp_path / "project" / "a.txt"
    call = script.call("REPL", code="await edit('a.txt', 'two', 'TWO')\nawait $`make`")
    script.reply(call)
    script.result(call, "done", seconds=3)
    script.inner(lambda: script.edit(path, "two", "TWO", A, (2, 2, ["-two", "+TWO"])))
    script.inner(lambda: script.run("Bash", "made it", command="make"))
    script.reply("Done.")
    return script


@pytest.mark.every_nvim
def test_the_calls_of_a_script_stand_below_it(start_nvim, script):
    nvim = show(start_nvim, script)
    shown = [line.rstrip() for line in nvim.drawn()]
    at = next(number for number, line in enumerate(shown) if line.startswith("  REPL "))
    assert shown[at].startswith("  REPL await edit('a.txt', 'two', 'TWO')")
    assert shown[at + 1].startswith("    Edit a.txt +1 −1")
    calls = [line for line in shown if line.strip().startswith(("REPL", "Edit", "Bash"))]
    assert [line.split(" ok")[0].rstrip()[:13] for line in calls[1:]] == ["    Edit a.tx", "    Bash make"]
    assert sum(line.startswith("Claude  2026") for line in shown) == 1, "one answer"
    assert shown[shown.index("Done.") - 1] == ""
    go_to(nvim, "    Edit a.txt")
    press(nvim, "<CR>", "vim.wo.diff")
    assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") >= 2


def test_the_edits_of_a_script_are_reviewed_and_undone(start_nvim, connect):
    claude = Claude(start_nvim(files={"a.txt": A}), connect)
    claude.prompt()
    call = claude.called("a.txt", tool="REPL")
    claude.edit("a.txt", "two", "TWO", tell=False)
    claude.line(
        "user", message={"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": ""}]}
    )
    line = claude.line
    claude.line = lambda kind, **more: line(kind, isVirtual=True, **more)
    claude.edited("a.txt", "two", "TWO", A)
    claude.line = line
    claude.wait(a_txt=(1, 1))
    assert claude.changes()["a.txt"]["source"] == "transcript"
    (result,) = claude.nvim.undo_turn()
    assert result["ok"]
    assert claude.text("a.txt") == A
