"""executeCode with the real CLI: the one tool of an editor, besides getDiagnostics, that the model itself is given."""

import pytest

from harness import PATIENCE
from harness.cli import call
from harness.nvim import ROOT

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]


def test_the_model_runs_code_once_the_person_allows_it(start_nvim, cli, mock_api):
    nvim = start_nvim(opts={"notebook": {}}, env={"VIRTUAL_ENV": str(ROOT / ".deps" / "venv")})
    nvim.lua('require("claude-ide").connect()')
    nvim.wait("require('claude-ide.notebook.workspace_python').is_able()", what="the Python to be found")
    claude = cli(nvim)
    tool = "mcp__ide__executeCode"
    plot = "import matplotlib.pyplot as plt; plt.plot([x]); plt.show()"
    compute = "x = 6; print('it is', x * 7)"
    claude.prompt(f"{call(tool, code=compute)} THEN {call(tool, code=plot)}")
    claude.wait_screen("Do you want to")
    assert nvim.lua("return #require('claude-ide.notebook').list()") == 0, "nothing runs before the answer"
    claude.answer("2")  # and the second without being asked
    claude.wait_screen("● Done.", 4 * PATIENCE)
    assert mock_api.seen("it is 42")
    assert mock_api.seen("iVBORw0KGgo"), "a PNG"
    assert mock_api.seen("image/png")
    [kernel] = nvim.lua("return vim.tbl_map(function(k) return k.state end, require('claude-ide.notebook').list())")
    assert kernel == "idle"
