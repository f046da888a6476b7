"""Agents over HTTP, with the official SDKs; `crates/server/tests/wire/http.rs` tests the wire."""

import asyncio
import contextlib
import json
import re
import socket
import subprocess
import threading
import time

import pytest
from fake_lsp import LSP
from test_floats import FLOAT

from harness import left
from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

SILENT = """
fake.start("deferred", { delay = "deferred", silent = true, capabilities = { definitionProvider = true }, answers = {
  ["textDocument/definition"] = function() return nil end,
} })
"""


@pytest.mark.slow
def test_the_sdk_hears_of_progress_and_cancels(start_nvim):
    """The official SDK's own client of streamable HTTP."""
    from mcp import ClientSession  # imported here: it takes every worker a second to load
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    deferred = LSP + SILENT.replace('"deferred", {', '"deferred", { slow_start = "deferred",', 1)
    nvim = start_nvim(files={"a.py": "x = 1\n"}, args=["a.py"], init_lua=deferred)
    nvim.lua('require("claude-ide").connect()')
    access = nvim.lua("return Ide.server.agent_access()")

    async def until(condition):
        began = time.monotonic()
        while not nvim.lua(f"return {condition}"):
            assert left(began) > 0, condition
            await asyncio.sleep(0.01)

    async def talk():
        headers = {"Authorization": f"Bearer {access['token']}"}
        messages = []

        async def on_progress(_progress, _total, text):
            messages.append(text)
            nvim.lua("fake.release()")  # the server may be there now

        async with (
            create_mcp_http_client(headers=headers) as client,
            streamable_http_client(f"http://{access['url']}", http_client=client) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            call = asyncio.create_task(
                session.call_tool("definition", {"path": "a.py", "symbol": "x"}, progress_callback=on_progress)
            )
            await until("vim.tbl_contains(fake.seen, 'textDocument/definition')")
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await until("fake.withdrawn == 1")
            assert "1 file open" in (await session.call_tool("open_buffers", {})).content[0].text
        return messages

    messages = asyncio.run(asyncio.wait_for(talk(), 120))
    assert messages[0] == "Waiting for the language server"


CALLER = """
import { createRequire } from "node:module";
import { join } from "node:path";
const [modules, url, token] = process.argv.slice(2);
const require = createRequire(join(modules, "anchor.js"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const client = new Client({ name: "caller", version: "1.0.0" }, { capabilities: {} });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
const answer = await client.callTool({ name: "definition", arguments: { path: "a.py", symbol: "x" } });
console.log(answer.content[0].text);
process.exit(0);
"""


class Cutting:
    """Passes connections on to a port, and cuts them all on request."""

    def __init__(self, port):
        self.port, self.open, self.passed = port, [], b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.threads = []
        self._start(self._accept)

    def _start(self, target, *args):
        self.threads.append(threading.Thread(target=target, args=args, daemon=True))
        self.threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                there = socket.create_connection(("127.0.0.1", self.port))
                self.open += [here, there]
                for source, target in ((here, there), (there, here)):
                    self._start(self._pass, source, target)

    def _pass(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.passed += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def cut(self):
        for one in self.open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.threads[0].join()  # nothing is accepted any more
        self.cut()
        for thread in self.threads:
            thread.join()
        for one in [self.listener, *self.open]:
            one.close()


@pytest.mark.slow
def test_the_sdk_gets_the_answer_of_a_call_whose_connection_broke(start_nvim, tmp_path):
    """The official SDK in Node: it requests lost messages again, by the ids of the events."""
    nvim = start_nvim(files={"a.py": "x = 1\n"}, args=["a.py"], init_lua=LSP + SILENT)
    nvim.lua('require("claude-ide").connect()')
    access = nvim.lua("return Ide.server.agent_access()")
    host, _, path = access["url"].partition("/")
    between = Cutting(int(host.rpartition(":")[2]))
    script = tmp_path / "caller.mjs"
    script.write_text(CALLER)
    url = f"http://127.0.0.1:{between.listener.getsockname()[1]}/{path}"
    command = ["node", script, ROOT / ".deps" / "node" / "node_modules", url, access["token"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as caller:
        nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/definition')", what="the server to be asked")
        nvim.wait(
            lambda: b"\nid: " in between.passed, what="the events to begin: without an id nothing can be asked for"
        )
        between.cut()
        assert nvim.lua("return fake.withdrawn") == 0
        nvim.lua("fake.release()")
        said, _ = caller.communicate(timeout=60)
    between.close()
    assert "definition" in said
    assert nvim.lua("return fake.withdrawn") == 0


@pytest.mark.every_nvim
def test_mcp_shows_how_agents_get_in(start_nvim):
    nvim = start_nvim()
    nvim.lua(FLOAT, True)  # Neovim 0.10 splits none
    nvim.cmd("Claude mcp")
    access = nvim.lua("return Ide.server.agent_access()")
    text = "\n".join(nvim.lines())
    header = f"'Authorization: Bearer {access['token']}'"
    assert f"claude mcp add --transport http nvim http://{access['url']} --header {header}" in text
    block = text[text.index("{\n") : text.rindex("\n}") + 2]
    server = json.loads(block)["mcpServers"]["nvim"]
    assert server == {
        "type": "http",
        "url": f"http://{access['url']}",
        "headers": {"Authorization": f"Bearer {access['token']}"},
    }
    assert nvim.lua("return vim.api.nvim_get_current_line():match('^claude mcp add') ~= nil")
    nvim.keys("g?")
    nvim.wait_screen(re.compile("Keys of the tools for other agents.*q +close this", re.DOTALL))
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 3", what="the list to be closed")
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 2")
