"""What the real CLI tells its model of the diagnostics that real language servers have, in a mode that accepts edits."""

import json
import re

import pytest

from harness.cli import call
from harness.nvim import ROOT

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

BIN = ROOT / ".deps" / "node" / "node_modules" / ".bin"
TELLS_NEW = re.compile(r"new diagnostic", re.IGNORECASE)

START = """
vim.g.loaded_python3_provider = 0
vim.api.nvim_create_autocmd("FileType", {{
  pattern = {patterns},
  callback = function(event)
    vim.lsp.start({{ name = "{name}", cmd = {{ "{command}", "--stdio" }}, root_dir = vim.uv.cwd(), init_options = {{ provideFormatter = false }} }}, {{ bufnr = event.buf }})
  end,
}})
"""


def lsp(name, command, *patterns):
    listed = "{ " + ", ".join(f'"{pattern}"' for pattern in patterns) + " }"
    return START.format(name=name, command=BIN / command, patterns=listed)


PYRIGHT = lsp("pyright", "pyright-langserver", "python")
TYPESCRIPT = lsp("ts_ls", "typescript-language-server", "typescript", "javascript")
JSON = lsp("jsonls", "vscode-json-language-server", "json", "jsonc")


@pytest.fixture
def session(start_nvim, cli, mock_api):
    def start(server, files, opened):
        nvim = start_nvim(args=[opened], files=files, init_lua=server, opts={"diagnostics": {"wait_all_ms": 1900}})
        nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1", what="the server to start")
        nvim.lua('require("claude-ide").connect()')
        claude = cli(nvim, mode="acceptEdits")
        return nvim, claude, mock_api

    return start


def turn(claude, *calls):
    claude.prompt(" THEN ".join(calls))
    claude.wait_screen("● Done.")


def told(api):
    """What the model was told of new diagnostics, file by file, oldest first."""
    texts = re.findall(r"<new-diagnostics>(.*?)</new-diagnostics>", json.dumps(api.conversation()))
    return [re.sub(r"\\u00a0|\\n|\s+", " ", text.partition(r"detected:\n\n")[2]) for text in texts]


def test_pyright_knows_a_module_that_claude_has_just_written(session):
    nvim, claude, api = session(PYRIGHT, {"main.py": "x = 1\n"}, "main.py")
    main, util = str(nvim.project / "main.py"), str(nvim.project / "util.py")
    turn(
        claude,
        call("Write", file_path=util, content="def f() -> int:\n    return 'no'\n"),
        call("Read", file_path=main),
        call("Edit", file_path=main, old_string="x = 1\n", new_string="import util\nx: str = util.f()\n"),
        call("Read", file_path=main),
    )
    # A busy machine's pyright may be too late for the first answer: then both are in the second.
    text = " ".join(told(api))
    assert "util.py:" in text and "reportReturnType" in text
    assert "main.py:" in text and "reportAssignmentType" in text
    assert "reportMissingImports" not in text


def test_typescript_tells_an_error_and_nothing_of_what_was_there_before(session):
    nvim, claude, api = session(
        TYPESCRIPT,
        {"a.ts": "let old: number = 'x';\nlet a = 1;\nexport {};\n", "tsconfig.json": "{}\n"},
        "a.ts",
    )
    nvim.wait("#vim.diagnostic.get(0) > 0", what="the error that was there before")
    a = str(nvim.project / "a.ts")
    turn(
        claude,
        call("Read", file_path=a),
        call("Edit", file_path=a, old_string="let a = 1;", new_string="let a: string = 1;"),
        call("Read", file_path=a),
        call("Edit", file_path=a, old_string="let a: string = 1;", new_string="let a: string = '1';"),
        call("Read", file_path=a),
    )
    (only,) = told(api)
    assert "Line 2" in only
    assert "Line 1" not in only
    assert nvim.lua("return #vim.diagnostic.get(0, { severity = 1 })") == 1


def test_a_server_that_is_asked_tells_an_error_of_a_visible_file(session):
    nvim, claude, api = session(JSON, {"a.json": '{ "a": 1 }\n'}, "a.json")
    a = str(nvim.project / "a.json")
    turn(
        claude,
        call("Read", file_path=a),
        call("Edit", file_path=a, old_string='"a": 1', new_string='"a": 1, "a": '),
        call("Read", file_path=a),
        call("Edit", file_path=a, old_string='"a": 1, "a": ', new_string='"a": 2'),
        call("Read", file_path=a),
    )
    (only,) = told(api)
    assert only.startswith("a.json:")
    assert nvim.lua("return #vim.diagnostic.get(0)") == 0
