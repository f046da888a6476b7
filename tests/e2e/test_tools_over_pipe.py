"""Why chats get the editor's tools by `--mcp-config` and not over the pipe (`sdkMcpServers`): the CLI asks a server
behind the pipe for less. If this fails with a newer CLI, revise doc/dev/chat.md.
"""

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection, serve

from harness import cli
from harness.mock_api import MockApi

pytestmark = pytest.mark.one_nvim

FLAGS = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "nvim", "version": "1"},
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
    },
    "tools/list": {"tools": []},
    "prompts/list": {"prompts": [{"name": "explain", "description": "Explain."}]},
    "resources/list": {"resources": [{"uri": "buffer://a", "name": "a"}]},
}


class Served:
    """An MCP server that records the requests it gets."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, message: dict) -> dict | None:
        self.asked.append(message["method"])
        if "id" not in message:
            return None
        return {"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]}


def commands(home: Path, api: MockApi, args: list[str], fields: dict[str, object], served: Served) -> list[str]:
    """The commands of a headless CLI after its first turn."""
    folder = home / "project"
    folder.mkdir()
    environment = {**os.environ, **cli.environment(home, api)}
    command = [str(cli.binary()), *FLAGS, *args]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=-1, stdout=-1, stderr=-3, text=True) as process:
        late = threading.Timer(60, process.kill)
        late.start()

        def write(message: dict) -> None:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()

        request = {"subtype": "initialize", "hooks": None, **fields}
        write({"type": "control_request", "request_id": "first", "request": request})
        found: list[str] = []
        for line in map(json.loads, process.stdout):
            if line["type"] == "control_response":
                write({"type": "user", "message": {"role": "user", "content": "SAY hello"}, "parent_tool_use_id": None})
            elif line["type"] == "control_request":
                answer = served.answer(line["request"]["message"]) or {"jsonrpc": "2.0", "id": 0, "result": {}}
                response = {
                    "subtype": "success",
                    "request_id": line["request_id"],
                    "response": {"mcp_response": answer},
                }
                write({"type": "control_response", "response": response})
            elif line.get("subtype") == "init":
                found = line["slash_commands"]
            elif line["type"] == "result":
                process.stdin.close()
        late.cancel()
    return found


def test_a_server_over_the_pipe_is_not_asked_for_prompts_and_resources_and_one_that_is_configured_is(
    tmp_path, mock_api
):
    piped, served = Served(), Served()

    def serve_one(socket: ServerConnection) -> None:
        for message in socket:
            answer = served.answer(json.loads(message))
            if answer:
                socket.send(json.dumps(answer))

    with serve(serve_one, "127.0.0.1", 0, subprotocols=["mcp"]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        config = json.dumps({"mcpServers": {"configured": {"type": "ws", "url": url}}})
        found = commands(tmp_path, mock_api, [f"--mcp-config={config}"], {"sdkMcpServers": ["piped"]}, piped)
        server.shutdown()
    assert piped.asked == ["initialize", "notifications/initialized", "tools/list"]
    assert "mcp__piped__explain" not in found
    assert {"prompts/list", "resources/list"} <= set(served.asked)
    assert "mcp__configured__explain" in found
