"""The server's limits are options: each option of `server` reaches it.

Their effects are tested beside the server: `crates/server/tests/wire/{handshake,lifecycle,abuse}.rs`.
"""

import contextlib
import json
import os
import socket

import pytest

pytestmark = pytest.mark.one_nvim

KEEP_OPTIONS = """
local native = Ide.native
local start = native.start
native.start = function(options, ...) passed = options return start(options, ...) end
"""


def start(nvim):
    nvim.start_server()
    return nvim.wait(lambda: next(iter(nvim.locks()), None), what="a lock file")


def free_port():
    """A free port that the system assigns only on explicit request."""
    for port in range(20_000 + os.getpid() % 10_000, 32_768):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no free port")


def test_each_option_reaches_the_server(start_nvim):
    port = free_port()
    keepalive = {"interval_ms": 100, "timeout_ms": 120_000, "mcp_ping": False}
    limits = {"handshake_timeout_ms": 200, "max_connections": 2, "max_message_bytes": 65_536}
    nvim = start_nvim(opts={"server": {"host": "127.0.0.2", "port": port, "keepalive": keepalive, **limits}})
    nvim.lua(KEEP_OPTIONS)
    assert start(nvim)["port"] == port
    passed = json.loads(nvim.lua("return passed"))
    assert passed["keepalive"] == {"intervalMs": 100, "timeoutMs": 120_000, "mcpPing": False}
    assert (passed["handshakeTimeoutMs"], passed["maxConnections"], passed["maxMessageBytes"]) == (200, 2, 65_536)
    socket.create_connection(("127.0.0.2", port)).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_range_of_ports_reaches_the_server(start_nvim):
    port = free_port()
    nvim = start_nvim(opts={"server": {"port_range": [port, port]}})
    assert start(nvim)["port"] == port
