"""The official MCP SDKs, TypeScript's and Python's, list and call every tool of the agents' endpoint; their schemas judge us."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp import ClientSession
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

NODE_MODULES = ROOT / ".deps" / "node" / "node_modules"
PYRIGHT = f"""
vim.api.nvim_create_autocmd("FileType", {{
  pattern = "python",
  callback = function(event)
    local cmd = {{ "{NODE_MODULES / ".bin" / "pyright-langserver"}", "--stdio" }}
    vim.lsp.start({{ name = "pyright", cmd = cmd, root_dir = vim.uv.cwd() }}, {{ bufnr = event.buf }})
  end,
}})
"""
FILES = {
    "shapes.py": "class Shape:\n    def area(self) -> float:\n        return 0.0\n",
    "main.py": "from shapes import Shape\n\n\ndef total(shapes: list[Shape]) -> float:\n    return sum(s.area() for s in shapes)\n",
}
AREA = {"path": "main.py", "symbol": "area", "line": 5}
CALLS = {
    "definition": AREA,
    "references": AREA,
    "hover": AREA,
    "call_hierarchy": AREA,
    "symbols": {"query": "Shape"},
    "outline": {"path": "shapes.py"},
    "diagnostics": {"path": "main.py"},
    "open_buffers": {},
    "quickfix": {},
}
SAYS = {
    "definition": "shapes.py\n  2:9  def area(self) -> float:",
    "references": "2 references of `area` in 2 files:",
    "hover": "(method) def area() -> float",
    "call_hierarchy": "1 incoming call of `area`:\nmain.py\n  5:18  in total:",
    "symbols": "class Shape  class Shape:",
    "outline": "  method area  2-3",
    "diagnostics": "Nothing is wrong in main.py.",
    "open_buffers": "main.py  (the user is here",
    "quickfix": "The quickfix list is empty.",
}


@pytest.fixture
def access(start_nvim):
    """A Neovim with pyright at work, and how an agent gets in."""
    nvim = start_nvim(args=["main.py"], files=FILES, init_lua=PYRIGHT)
    nvim.lua('require("claude-ide").connect()')
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1", what="pyright to start")
    return nvim.lua('return require("claude-ide.server").agent_access()')


def judge(tools, texts):
    """Every tool is well described; those that are called say what is true."""
    by_name = {tool["name"]: tool for tool in tools}
    for tool in tools:
        Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["title"] and tool["annotations"]["readOnlyHint"] in (True, False), tool["name"]
    for name, arguments in CALLS.items():
        Draft202012Validator(by_name[name]["inputSchema"]).validate(arguments)
    wrong = {name: text for name, text in texts.items() if SAYS[name] not in text}
    assert not wrong


@pytest.mark.parametrize("kind", ["ws", "http"])
def test_the_typescript_sdk(access, kind):
    script = Path(__file__).with_name("sdk_agent.mjs")
    run = subprocess.run(
        ["node", script, NODE_MODULES, kind, access["url"], access["token"], json.dumps(CALLS)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    judge(seen["tools"], {name: answer["content"][0]["text"] for name, answer in seen["answers"].items()})
    assert [prompt["name"] for prompt in seen["prompts"]] == ["fix_diagnostics", "review_changes", "explain_selection"]
    assert "main.py:1" in seen["prompt"]["messages"][0]["content"]["text"]
    assert seen["resource"]["contents"][0]["text"] == FILES["main.py"]
    assert [template["name"] for template in seen["templates"]] == ["buffer", "diagnostics"]


def test_the_python_sdk(access):
    async def talk():
        headers = {"Authorization": f"Bearer {access['token']}"}
        async with (
            create_mcp_http_client(headers=headers) as http,
            streamable_http_client(f"http://{access['url']}", http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            texts = {}
            for name, arguments in CALLS.items():
                texts[name] = (await session.call_tool(name, arguments)).content[0].text
            resources = (await session.list_resources()).resources
            return [tool.model_dump(by_alias=True) for tool in tools], texts, [str(one.uri) for one in resources]

    tools, texts, uris = asyncio.run(asyncio.wait_for(talk(), 300))
    judge(tools, texts)
    assert "buffer://main.py" in uris
