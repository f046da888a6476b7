"""No agent tool reads or changes private files, or files outside the workspace. Every tool is listed, so that a new one
cannot be forgotten.
"""

import re

import pytest
from fake_lsp import LSP

from harness.client import RpcError, ToolError
from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

SECRET = "hunter2"
TEXT = f"def secret():\n    return '{SECRET}'\n\n\nsecret()\n"
FILES = {"a.py": "from b import secret\n", "kept.py": TEXT, "vault/denied.py": TEXT, "book.ipynb": "{}"}

# Arguments per tool. A tool neither here nor in `NAMELESS` fails the test below.
SYMBOL = {"symbol": "secret", "line": 1}
NAMED = {
    "definition": SYMBOL,
    "references": SYMBOL,
    "hover": SYMBOL,
    "implementations": SYMBOL,
    "call_hierarchy": {**SYMBOL, "direction": "incoming"},
    "type_hierarchy": {**SYMBOL, "direction": "supertypes"},
    "outline": {},
    "diagnostics": {},
    "comment_add": {"line": 1, "text": "words"},
    "notebook_cells": {},
    "run_cell": {"index": 0},
    "rename": {**SYMBOL, "new_name": "other"},
    "code_actions": {"line": 1},
    "organize_imports": {},
    "format": {},
    "replace_symbol_body": {**SYMBOL, "body": "x = 1\n"},
    "insert_before_symbol": {**SYMBOL, "text": "x = 1\n"},
    "insert_after_symbol": {**SYMBOL, "text": "x = 1\n"},
    "safe_delete": SYMBOL,
    "run_test": {"scope": "file"},
}
# They take or need no path; their answers about all files leave these out.
NAMELESS = {
    "symbols": {"query": "secret"},
    "open_buffers": {},
    "quickfix": {},
    "comments": {},
    "comment_reply": {"id": 1, "text": "words"},
    "apply_action": {"id": "1"},
}
SERVER = """
local function place(params) return { uri = params.textDocument.uri, range = { start = { line = 1, character = 4 }, ["end"] = { line = 1, character = 10 } } } end
local function everywhere()
  local found = {}
  for _, name in ipairs({ "kept.py", "vault/denied.py" }) do
    found[#found + 1] = { name = "secret", kind = 12, location = place({ textDocument = { uri = vim.uri_from_fname(vim.uv.cwd() .. "/" .. name) } }) }
  end
  return found
end
local answers = { ["workspace/symbol"] = everywhere }
for _, method in ipairs({ "definition", "references", "hover", "implementation", "rename", "formatting", "codeAction", "documentSymbol", "prepareCallHierarchy", "prepareTypeHierarchy" }) do
  answers["textDocument/" .. method] = function(params) return { place(params) } end
end
fake.start("fake", { answers = answers, capabilities = {
  definitionProvider = true, referencesProvider = true, hoverProvider = true, implementationProvider = true, renameProvider = true,
  documentFormattingProvider = true, codeActionProvider = true, documentSymbolProvider = true, callHierarchyProvider = true,
  typeHierarchyProvider = true, workspaceSymbolProvider = true,
} })
"""


def every_tool():
    """The server's registry."""
    source = (ROOT / "crates/server/src/tools/nvim.rs").read_text()
    return re.findall(r'^        name: "(\w+)"', source, re.MULTILINE)


@pytest.fixture
def kept(start_nvim, connect_agent, tmp_path):
    """An agent, and the paths that it must not see."""
    outside = tmp_path / "outside.py"
    outside.write_text(TEXT)
    nvim = start_nvim(args=["a.py"], files=FILES, init_lua=LSP + SERVER, opts={"selection": {"deny": ["**/vault/**"]}})
    nvim.lua("vim.o.makeprg = 'cat'")
    nvim.cmd("edit kept.py")
    nvim.lua("vim.b.claude_private = true")
    nvim.lua(
        "vim.fn.setqflist({}, ' ', { items = { { filename = 'vault/denied.py', lnum = 2, text = ... } } })", SECRET
    )
    nvim.cmd("buffer a.py")
    return nvim, connect_agent(nvim), ["kept.py", "vault/denied.py", str(outside)]


def test_no_tool_tells_anything_of_what_is_withheld_or_touches_it(kept):
    nvim, agent, paths = kept
    assert len(every_tool()) > 20
    for tool in every_tool():
        assert tool in NAMED or tool in NAMELESS, f"say here how {tool} is asked"
        for path in paths if tool in NAMED else [None]:
            try:
                said = agent.call(tool, **(NAMELESS[tool] if path is None else {**NAMED[tool], "path": path}))
                assert tool in NAMELESS, f"{tool} did something with {path}"
            except (ToolError, RpcError) as error:
                said = [str(error)]
                if tool in NAMED and "ipynb" not in str(error):
                    assert re.search("private|outside of the workspace|withheld", str(error)), (tool, error)
            assert SECRET not in "\n".join(said), tool
        assert (nvim.project / "kept.py").read_text() == TEXT
        assert not nvim.lua("return #vim.api.nvim_list_tabpages() > 1"), f"{tool} proposes nothing"
