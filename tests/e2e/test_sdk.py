"""The official MCP SDK (npm) talks to the server over WebSocket: an answer that its schemas refuse is our fault."""

import json
import subprocess
from pathlib import Path

import pytest

from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

NODE_MODULES = ROOT / ".deps" / "node" / "node_modules"


@pytest.fixture
def talk(start_nvim):
    """Runs the SDK's client against a Neovim with one file; returns (nvim, the client's record)."""
    nvim = start_nvim(files={"a.txt": "one\ntwo\n"})
    nvim.lua('require("claude-ide").connect()')
    lock = nvim.wait(lambda: nvim.locks(), what="a lock file")[0]
    script = Path(__file__).with_name("sdk_client.mjs")
    run = subprocess.run(
        ["node", script, NODE_MODULES, str(lock["port"]), lock["authToken"], nvim.project / "a.txt"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return nvim, json.loads(run.stdout)


def test_the_official_sdk_initializes_lists_and_calls(talk):
    nvim, seen = talk
    assert seen["server"]["name"] and seen["server"]["version"]
    assert seen["capabilities"]["tools"] is not None
    assert seen["instructions"]
    assert seen["pong"] == {}
    assert {"openFile", "openDiff", "close_tab", "getDiagnostics"} <= {tool["name"] for tool in seen["tools"]}
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in seen["tools"])
    assert "nvim://quickfix" in [resource["uri"] for resource in seen["resources"]]
    assert seen["templates"] == [] and "review_changes" in [prompt["name"] for prompt in seen["prompts"]]
    assert seen["rootsAsked"] == 1
    assert seen["opened"]["content"][0]["type"] == "text"
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == str(nvim.project / "a.txt")


def test_the_official_sdk_reads_our_errors(talk):
    _, seen = talk
    assert seen["refused"]["code"] == -32602
    assert "filePath" in seen["refused"]["message"]
    assert seen["unknown"]["code"] == -32602
