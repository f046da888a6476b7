"""The real CLI offers what the editor has: `@ide:…` and `/ide:…` in its own menus, and the texts in the model's next request."""

import subprocess

import pytest

from harness import PATIENCE

pytestmark = [pytest.mark.cli, pytest.mark.dealt]

DIAGNOSTICS = """
  vim.diagnostic.set(vim.api.nvim_create_namespace("test"), vim.fn.bufnr("a.txt"), {
    { lnum = 1, col = 0, message = "two is odd", severity = vim.diagnostic.severity.ERROR, source = "lint" },
  })
"""


def empty(claude):
    claude.keys("<C-u>")
    claude.terminal.wait(lambda: "@ide" not in at_the_prompt(claude) and "/ide" not in at_the_prompt(claude))


def at_the_prompt(claude):
    return claude.screen().rpartition("❯")[2]


def offered(claude, typed, wanted, absent="no such line"):
    """Types the beginning of a name until the menu is right: an open menu does not follow changes. Empties the prompt."""
    for attempt in range(6):
        claude.type(typed)
        try:
            menu = claude.terminal.wait(
                lambda: (menu := claude.screen()) and wanted in menu and absent not in menu and menu,
                PATIENCE if attempt == 5 else PATIENCE / 6,
                f"{typed} to offer {wanted}",
            )
            break
        except AssertionError:
            if attempt == 5:
                raise
        finally:
            empty(claude)
    return menu


@pytest.fixture
def session(start_nvim, cli):
    files = {"a.txt": "one\ntwo\nthree\n", "b.txt": "first\n", ".env": "SECRET=1\n"}
    nvim = start_nvim(args=["a.txt", ".env"], files=files, opts={"prompts": {"mine": "SAY mine #quickfix"}})
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *args], cwd=nvim.project, check=True, capture_output=True)
    nvim.lua('require("claude-ide").connect()')
    nvim.cmd("cexpr ['a.txt:2:1: broken here']")
    nvim.lua(DIAGNOSTICS)
    claude = cli(nvim)
    nvim.wait("Ide.server.clients()[1].state == 'ready'")
    return nvim, claude


def test_what_the_editor_has_is_offered_and_reaches_the_model(session, mock_api):
    nvim, claude = session
    files = offered(claude, "@ide:buffer", "ide:buffer://a.txt")
    assert "ide:buffer://.env" not in files and "ide:buffer://b.txt" not in files
    nvim.cmd("edit b.txt")
    offered(claude, "@ide:buffer", "ide:buffer://b.txt")
    nvim.cmd("buffer a.txt")
    nvim.keys("ggcwONE<Esc>Vj")
    nvim.wait(
        "((Ide.selection.latest() or {}).text or ''):find('^ONE\\ntwo')",
        what="the selection to be sent",
    )

    named = " ".join(f"@ide:nvim://{name}" for name in ("quickfix", "selection", "diagnostics", "buffers", "diff"))
    claude.prompt(f"SAY read {named} @ide:buffer://a.txt")
    claude.wait_screen("● read")
    for text in (
        "a.txt\\n  2:1  broken here",
        "a.txt, lines 1-2 (with unsaved changes):\\n1\\tONE\\n2\\ttwo\\nDo",
        "2:1  error: two is odd [lint]",
        "2 files open:\\na.txt  (the user is here",
        "-one\\n+ONE",
        "ONE\\ntwo\\nthree\\n",
    ):
        assert mock_api.seen(text), text
    assert not mock_api.seen("SECRET")

    # Prompts: ours, one of the user's options, and one that the user writes now.
    menu = offered(claude, "/ide:", "/ide:review_changes")
    assert all(f"/ide:{name}" in menu for name in ("explain_selection", "fix_diagnostics", "mine"))
    claude.prompt("/ide:mine")
    claude.wait_screen("● mine")
    assert mock_api.seen('<ide_selection name=\\"quickfix\\">\\n1 entry in the quickfix list')
    nvim.keys("<Esc>")
    nvim.lua("vim.fn.mkdir('.claude/prompts', 'p')")
    nvim.cmd("edit .claude/prompts/fresh.md")
    nvim.keys("iSAY fresh #selection<Esc>:w<CR>")
    offered(claude, "/ide:fres", "/ide:fresh")
    turns = mock_api.turns()
    claude.prompt("/ide:review_changes")
    nvim.wait(lambda: mock_api.turns() > turns, what="the review to run")
    assert mock_api.seen("Review the changes of this project since the last commit") and mock_api.seen("+ONE")
    claude.type("/ide:fix")
    claude.wait_screen("/ide:fix_diagnostics")
    claude.keys("<Tab>")
    claude.wait_screen("/mcp__ide__fix_diagnostics  [path]")
    claude.type("a.txt")
    claude.enter()
    nvim.wait(lambda: mock_api.seen('name=\\"diagnostics\\" of=\\"a.txt\\"'), what="the fix to run")

    # Selections that are not sent are not offered either.
    nvim.cmd("Claude selection off")
    offered(claude, "@ide:nvim://se", "ide:nvim://review", absent="◇ ide:nvim://selection")
