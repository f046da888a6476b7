"""The limits of the server are the user's to set: each option of `server` reaches it, and the defaults are as said."""

import base64
import contextlib
import json
import os
import socket
import time

import pytest
from websockets.exceptions import InvalidStatus

from harness.client import RpcError

pytestmark = [pytest.mark.one_nvim, pytest.mark.slow]

PING_FRAME = b"\x89\x00"


def start(nvim):
    info, err = (nvim.lua('return { require("claude-ide.server").start() }') + [None])[:2]
    assert info, err
    return nvim.wait(lambda: next(iter(nvim.locks()), None), what="a lock file")


def dial(lock, host="127.0.0.1"):
    """A bare socket, for what no WebSocket client does."""
    return socket.create_connection((host, lock["port"]), timeout=120)


def upgrade(stream, lock, host="127.0.0.1"):
    """Becomes a WebSocket by hand and returns the answer's status line; what follows the answer is still to be read."""
    key = base64.b64encode(os.urandom(16)).decode()
    stream.sendall(
        f"GET / HTTP/1.1\r\nHost: {host}:{lock['port']}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: mcp\r\n"
        f"X-Claude-Code-Ide-Authorization: {lock['authToken']}\r\n\r\n".encode()
    )
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        byte = stream.recv(1)  # a ping may follow at once
        assert byte, answer
        answer += byte
    return answer.split(b"\r\n")[0].decode()


def say(stream, method, **members):
    """Sends one message in one frame, masked with nothing."""
    text = json.dumps({"jsonrpc": "2.0", "method": method, **members}).encode()
    assert len(text) < 126, "a longer one needs another header"
    stream.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)


def read_to_end(stream):
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := stream.recv(4096):
            received += chunk
    return received


def free_port():
    """One that nobody has, and that the system gives to nobody who does not say which."""
    for port in range(20_000 + os.getpid() % 10_000, 32_768):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no free port")


@pytest.mark.parametrize("opts, most", [({}, 16), ({"max_connections": 2}, 2)], ids=["as it comes", "configured"])
def test_so_many_clients_are_let_in_and_no_more(start_nvim, connect, opts, most):
    nvim = start_nvim(opts={"server": opts})
    clients = [connect(nvim, wait_ready=False) for _ in range(most)]
    with pytest.raises(InvalidStatus) as refusal:
        connect(nvim)
    assert refusal.value.response.status_code == 503
    assert all(client.request("ping") == {} for client in clients)


def test_a_handshake_has_a_deadline(start_nvim):
    nvim = start_nvim(opts={"server": {"handshake_timeout_ms": 200}})
    lock, took = start(nvim), []
    while len(took) < 10 and not (took and took[-1] < 4):  # one that is late may be the machine's fault
        with dial(lock) as stream:
            stream.sendall(b"GET / HTTP/1.1\r\n")
            began = time.monotonic()
            assert read_to_end(stream).startswith(b"HTTP/1.1 408 ")
            took.append(time.monotonic() - began)
    assert min(took) < 4, "that was the default of 5 s"


def test_a_message_has_a_largest_size(start_nvim, connect):
    nvim = start_nvim(opts={"server": {"max_message_bytes": 65536}})
    client = connect(nvim)
    assert client.request("ping", {"padding": "x" * 60_000}) == {}
    client.send("ping", {"padding": "x" * 70_000})
    assert client.wait_closed()[0] == 1009


def test_a_peer_that_is_dead_is_dropped_when_the_user_says(start_nvim):
    nvim = start_nvim(opts={"server": {"keepalive": {"interval_ms": 100, "timeout_ms": 100}}})
    lock = start(nvim)
    with dial(lock) as stream:
        assert upgrade(stream, lock).endswith("101 Switching Protocols")
        assert read_to_end(stream).startswith(PING_FRAME), "a ping of WebSocket comes first"
    # Neovim may have looked neither before it came nor before it went.
    nvim.wait(lambda: "disconnected client=1" in nvim.log(), what="it to be dropped")
    nvim.wait('#require("claude-ide.server").clients() == 0')


@pytest.mark.parametrize("mcp_ping", [True, False])
def test_a_quiet_peer_is_asked_in_both_ways_unless_the_user_says_otherwise(start_nvim, mcp_ping):
    keepalive = {"interval_ms": 100, "timeout_ms": 120_000, "mcp_ping": mcp_ping}
    nvim = start_nvim(opts={"server": {"keepalive": keepalive}})
    lock = start(nvim)
    with dial(lock) as stream:
        upgrade(stream, lock)
        say(stream, "initialize", id=1, params={"protocolVersion": "2025-11-25"})
        say(stream, "notifications/initialized")
        say(stream, "ping", id=2)
        received = b""
        while b'"id":2,' not in received.replace(b" ", b""):  # what comes before is for one who may not be ready yet
            received += stream.recv(1)
        received = b""
        while received.count(PING_FRAME) < 3:
            received += stream.recv(4096)
    assert (b'"ping"' in received) is mcp_ping


@pytest.mark.parametrize("by", ["port", "port_range"])
def test_the_port_can_be_chosen_and_stays_over_a_restart(start_nvim, by):
    port = free_port()
    nvim = start_nvim(opts={"server": {by: port if by == "port" else [port, port]}})
    assert start(nvim)["port"] == port
    assert nvim.lua('return require("claude-ide.server").restart().port') == port


def test_another_host_only_when_it_is_set_by_hand(start_nvim):
    nvim = start_nvim(opts={"server": {"host": "127.0.0.2"}})
    lock = start(nvim)
    with dial(lock, "127.0.0.2") as stream:
        assert upgrade(stream, lock, "127.0.0.2").endswith("101 Switching Protocols")
    with pytest.raises(ConnectionRefusedError):
        dial(lock)


def test_a_large_message_is_read_while_the_main_loop_stands_still(nvim, connect):
    client = connect(nvim)
    fifo = nvim.project / "fifo"
    os.mkfifo(fifo)
    nvim.lua("local fifo = ... vim.schedule(function() assert(io.open(fifo)):read('*a') awake = true end)", str(fifo))
    with fifo.open("w"):  # opens once Neovim waits there, and lets it go at the end
        padding = "ü\n" * (2 << 20)
        with pytest.raises(RpcError) as failure:
            client.result(client.send("tools/call", {"name": "none", "arguments": {"padding": padding}}))
        assert failure.value.code == -32602
        assert json.dumps(client.request("ping")) == "{}"
    nvim.wait("awake")
