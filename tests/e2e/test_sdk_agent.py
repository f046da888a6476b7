"""The official MCP SDKs, TypeScript's and Python's, list and call every tool of the agents' endpoint and check our
schemas.
"""

import asyncio
import json
import subprocess
from pathlib import Path

import every_tool
import pytest
from jsonschema import Draft202012Validator

from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

NODE_MODULES = ROOT / ".deps" / "node" / "node_modules"
STEPS = every_tool.READS + every_tool.WRITES


@pytest.fixture
def nvim(start_nvim):
    """A Neovim with language servers running and a user who accepts."""
    nvim = every_tool.start(start_nvim)
    nvim.lua(every_tool.ACCEPTING)
    return nvim


def access_to(nvim):
    """The agents' endpoint and its token."""
    return nvim.lua("return Ide.server.agent_access()")


def judge(tools, texts):
    """Every tool is well described, and called tools give correct answers."""
    by_name = {tool["name"]: tool for tool in tools}
    for tool in tools:
        Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["title"] and tool["annotations"]["readOnlyHint"] in (True, False), tool["name"]
    assert set(by_name) == {name for name, _, _ in STEPS}, "what is listed is what is called"
    for name, arguments, _ in STEPS:
        Draft202012Validator(by_name[name]["inputSchema"]).validate(arguments)
    wrong = {name: texts[name] for name, _, says in STEPS if says not in texts[name]}
    assert not wrong


def test_the_typescript_sdk(nvim):
    for kind in ("ws", "http"):
        over(kind, access_to(nvim))
        nvim.lua(ANEW, every_tool.EDITED)


ANEW = """
local buf = vim.fn.bufnr("edited.py")
vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(vim.trim(...), "\\n"))
vim.api.nvim_buf_call(buf, function() vim.cmd("noautocmd silent write") end)
"""
"""Restores the files that the tools changed."""


def over(kind, access):
    script = Path(__file__).with_name("sdk_agent.mjs")
    run = subprocess.run(
        ["node", script, NODE_MODULES, kind, access["url"], access["token"], json.dumps(STEPS)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    judge(seen["tools"], {name: answer["content"][0]["text"] for name, answer in seen["answers"].items()})
    assert [prompt["name"] for prompt in seen["prompts"]] == [
        "explain_selection",
        "fix_diagnostics",
        "review_changes",
        "tour",
    ]
    assert "main.py:1" in seen["prompt"]["messages"][0]["content"]["text"]
    assert seen["resource"]["contents"][0]["text"] == every_tool.FILES["main.py"]
    assert [template["name"] for template in seen["templates"]] == ["buffer", "diagnostics"]


def test_the_python_sdk(nvim):
    access = access_to(nvim)
    from mcp import ClientSession  # imported here: it takes every worker a second to load
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

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
            for name, arguments, _ in STEPS:
                texts[name] = (await session.call_tool(name, arguments)).content[0].text
            resources = (await session.list_resources()).resources
            return [tool.model_dump(by_alias=True) for tool in tools], texts, [str(one.uri) for one in resources]

    tools, texts, uris = asyncio.run(asyncio.wait_for(talk(), 300))
    judge(tools, texts)
    assert "buffer://main.py" in uris
