"""Agents that speak plain HTTP: a message by POST, answered with JSON or events."""

import asyncio
import contextlib
import http.client
import json
import socket
import subprocess
import threading

import pytest
from fake_lsp import LSP

from harness.nvim import ROOT

pytestmark = pytest.mark.dealt

HELD = """
fake.start("held", { delay = "held", silent = true, capabilities = { definitionProvider = true }, answers = {
  ["textDocument/definition"] = function() return nil end,
} })
"""


@pytest.fixture
def post(start_nvim):
    """A Neovim, and a function that sends one message over a connection that is kept: (status, headers, body)."""
    nvim = start_nvim(files={"a.py": "x = 1\n"}, args=["a.py"], init_lua=LSP + HELD)
    nvim.lua('require("claude-ide").connect()')
    access = nvim.lua('return require("claude-ide.server").agent_access()')
    host, _, path = access["url"].partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)

    def send(message, method="POST", **headers):
        body = message if isinstance(message, (str, bytes)) or message is None else json.dumps(message)
        given = {"Authorization": f"Bearer {access['token']}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, "/" + path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    yield nvim, send, connection
    connection.close()


def message(method, id=1, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_messages_are_answered_one_after_another_on_one_connection(post):
    nvim, send, connection = post
    status, headers, body = send(
        message("initialize", protocolVersion="2025-11-25", capabilities={"roots": {}}, clientInfo={"name": "curl"})
    )
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body)["result"]["capabilities"]["tools"] == {"listChanged": True}
    kept = connection.sock
    assert send({"jsonrpc": "2.0", "method": "notifications/initialized"})[0] == 202
    nvim.wait("#require('claude-ide.server').agents() == 1")
    _, _, body = send(message("tools/call", 2, name="open_buffers", arguments={}))
    assert "1 file open:" in json.loads(body)["result"]["content"][0]["text"]
    assert connection.sock is kept
    assert json.loads(send("no json")[2])["error"]["code"] == -32700


def test_what_is_no_message_is_refused(post):
    _, send, _ = post
    assert send(None, method="GET")[0] == 406
    assert send(None, method="DELETE")[0] == 400
    ping = message("ping")
    status, headers, _ = send(ping, Authorization="Bearer guess")
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
    assert send(ping, Content_Type="text/plain")[0] == 415
    assert send(ping, Content_Length="99999999999")[0] == 413
    assert send(ping, Origin="https://evil.example")[0] == 403
    assert send(ping, Host="evil.example")[0] == 403


def test_a_connection_that_is_cut_cancels_a_call_without_a_session(post):
    nvim, send, connection = post
    assert send(message("ping"))[0] == 200
    body = json.dumps(message("tools/call", name="definition", arguments={"path": "a.py", "symbol": "x"}))
    token = nvim.lua('return require("claude-ide.server").agent_access().token')
    connection.request("POST", "/nvim", body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/definition')", what="the server to be asked")
    connection.sock.shutdown(socket.SHUT_RDWR)
    nvim.wait("fake.withdrawn == 1", what="the request to be withdrawn")
    nvim.wait("#require('claude-ide.server').agents() == 0")


CALL = {"name": "definition", "arguments": {"path": "a.py", "symbol": "x"}, "_meta": {"progressToken": 7}}


def test_a_call_is_cancelled_on_another_connection_of_its_session(post):
    nvim, send, connection = post
    _, headers, _ = send(
        message("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "curl"})
    )
    session = headers["Mcp-Session-Id"]
    token = nvim.lua('return require("claude-ide.server").agent_access().token')
    given = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Mcp-Session-Id": session}
    connection.request("POST", "/nvim", json.dumps(message("tools/call", 5, **CALL)), given)
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/definition')", what="the server to be asked")
    cancel = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
    for other, expected in [({**given, "Mcp-Session-Id": "another"}, 0), (given, 1)]:
        second = http.client.HTTPConnection(connection.host, connection.port, timeout=60)
        second.request("POST", "/nvim", cancel, other)
        assert second.getresponse().status == 202
        second.close()
        nvim.wait(f"fake.withdrawn == {expected}", what="the request to be withdrawn")
    assert (connection.getresponse().status, nvim.lua('return require("claude-ide.tools").pending()')) == (202, 0)


def test_progress_is_told_as_events_where_they_are_taken(start_nvim):
    late = LSP + HELD.replace('delay = "held"', 'slow_start = "held"')
    nvim = start_nvim(files={"a.py": "x = 1\n"}, args=["a.py"], init_lua=late)
    nvim.lua('require("claude-ide").connect()')
    access = nvim.lua('return require("claude-ide.server").agent_access()')
    host, _, path = access["url"].partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    given = {"Authorization": f"Bearer {access['token']}", "Content-Type": "application/json"}
    accepts = {**given, "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/" + path, json.dumps(message("tools/call", 5, **CALL)), accepts)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
    assert answer.readline() == b"event: message\n"
    assert answer.readline().startswith(b"id: ")
    told = json.loads(answer.readline().removeprefix(b"data: "))
    assert (told["method"], told["params"]["progressToken"]) == ("notifications/progress", 7)
    nvim.lua("fake.release()")
    last = [line for line in answer.read().decode().splitlines() if line.startswith("data: ")][-1]
    assert json.loads(last.removeprefix("data: "))["id"] == 5
    connection.request("POST", "/" + path, json.dumps(message("ping", 6)), accepts)
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "application/json", "where there is nothing to tell it stays plain"
    assert json.loads(answer.read()) == {"jsonrpc": "2.0", "id": 6, "result": {}}
    connection.close()


@pytest.mark.slow
def test_the_sdk_hears_of_progress_and_cancels(start_nvim):
    """The official SDK's own client of streamable HTTP."""
    from mcp import ClientSession  # here, for it takes every worker a second to load
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    held = LSP + HELD.replace('"held", {', '"held", { slow_start = "held",', 1)
    nvim = start_nvim(files={"a.py": "x = 1\n"}, args=["a.py"], init_lua=held)
    nvim.lua('require("claude-ide").connect()')
    access = nvim.lua('return require("claude-ide.server").agent_access()')

    async def until(condition):
        for _ in range(2000):
            if nvim.lua(f"return {condition}"):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(condition)

    async def talk():
        headers = {"Authorization": f"Bearer {access['token']}"}
        heard = []

        async def on_progress(_progress, _total, text):
            heard.append(text)
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
        return heard

    heard = asyncio.run(asyncio.wait_for(talk(), 120))
    assert heard[0] == "Waiting for the language server"


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
    """Passes connections on to a port, and cuts them all when it is told to."""

    def __init__(self, port):
        self.port, self.open, self.passed = port, [], b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                there = socket.create_connection(("127.0.0.1", self.port))
                self.open += [here, there]
                for source, target in ((here, there), (there, here)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

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


@pytest.mark.slow
def test_the_sdk_gets_the_answer_of_a_call_whose_connection_broke(start_nvim, tmp_path):
    """The official SDK in Node: what it loses it asks for again, by the ids of the events."""
    nvim = start_nvim(files={"a.py": "x = 1\n"}, args=["a.py"], init_lua=LSP + HELD)
    nvim.lua('require("claude-ide").connect()')
    access = nvim.lua('return require("claude-ide.server").agent_access()')
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
    between.listener.close()
    assert "definition" in said
    assert nvim.lua("return fake.withdrawn") == 0


def test_mcp_shows_how_agents_get_in(start_nvim):
    nvim = start_nvim()
    nvim.cmd("Claude mcp")
    access = nvim.lua('return require("claude-ide.server").agent_access()')
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
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1")
