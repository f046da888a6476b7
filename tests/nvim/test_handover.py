"""The next Neovim in a folder: its port, and the clients of the last one that it admits (`crates/server/src/discovery/handover.rs`).

The client is this process, which outlives each Neovim as a CLI in another terminal does; `tests/e2e/test_real_cli.py`
has the real one.
"""

import json
import os
import socket
import subprocess
import sys

import pytest

from harness.client import Client

pytestmark = [
    pytest.mark.dealt,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells which process connects"),
]

START = "return Ide.server.start().port"
DISCONNECTED = """
import sys
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
with connect(sys.argv[1], subprotocols=["mcp"], additional_headers={"X-Claude-Code-Ide-Authorization": sys.argv[2]}) as socket:
    try:
        socket.recv()
    except ConnectionClosed as closed:
        print(closed.rcvd.code)
"""


def folder(nvim):
    return nvim.home / ".local" / "state" / "nvim" / "claude-ide" / "handover"


def left(nvim):
    return sorted(int(path.stem) for path in folder(nvim).glob("*.json"))


def lock_of(nvim):
    return next(lock for lock in nvim.locks() if lock["pid"] == nvim.server_pid)


@pytest.fixture
def last(start_nvim, connect):
    """A Neovim with a client, which the next one may admit."""
    nvim = start_nvim()
    nvim.client = connect(nvim)
    nvim.lock = lock_of(nvim)
    nvim.wait(lambda: left(nvim) == [nvim.lock["port"]], what="the port to be left")
    return nvim


@pytest.mark.parametrize("how", ["crash", "leave"])
def test_a_client_comes_back_with_the_old_token_to_a_new_one_and_no_other_process_does(start_nvim, last, how):
    port, token = last.lock["port"], last.lock["authToken"]
    getattr(last, how)()
    for path in folder(last).iterdir():
        assert token not in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o600
    nvim = start_nvim()
    assert nvim.lua(START) == port
    assert lock_of(nvim)["authToken"] != token
    url = f"ws://127.0.0.1:{port}/"
    other = subprocess.run([sys.executable, "-c", DISCONNECTED, url, token], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == "1008"
    again = Client(port, token, roots=[nvim.project])
    again.initialize()
    nvim.wait("#Ide.server.clients() == 1", what="the client of the last Neovim")
    again.close()


def test_the_calls_of_one_that_comes_back_are_those_of_its_session(start_nvim, connect_agent, sessions, project):
    nvim = start_nvim()
    session = sessions.write(project, ("fix it", "ok"))
    sessions.record(os.getpid(), session, "busy", project)
    nvim.start_server()
    token = nvim.lua("return Ide.server.agent_access('terminal:1').token")
    connect_agent(nvim, token=token)
    nvim.wait(lambda: left(nvim), what="the port to be left")
    nvim.crash()
    following = start_nvim()
    following.cmd("ClaudeConnect")
    following.wait("#require('claude-ide').sessions.live() == 1", what="the record to be seen")
    connect_agent(following, token=token)
    (agent,) = following.lua("return Ide.server.agents()")
    assert agent["run"] == "terminal:1 of the last Neovim"
    assert following.lua("return Ide.own_terminals.of_caller(...)", agent["id"]) == session


@pytest.mark.every_nvim
def test_the_port_stays_over_a_restart_of_neovim(start_nvim, connect, nvim_version):
    if nvim_version in {"0.10", "0.11"}:
        pytest.skip("it has no :restart")
    nvim = start_nvim(opts={"auto_start": True})
    nvim.wait(nvim.locks, what="the server to start")
    connect(nvim)
    (before,) = nvim.locks()
    nvim.wait(lambda: left(nvim) == [before["port"]], what="the port to be left")
    nvim.keys(":restart<CR>")
    nvim.wait(lambda: [lock["pid"] for lock in nvim.locks()] not in ([], [before["pid"]]), what="the next server")
    (after,) = nvim.locks()
    assert after["port"] == before["port"]
    assert after["authToken"] != before["authToken"]
    again = Client(after["port"], before["authToken"], roots=[nvim.project])
    again.initialize()
    again.close()
    nvim.keys(":qa!<CR>")
    assert nvim.terminal.wait_exit() == 0


def test_a_port_that_a_foreign_process_took_is_replaced(start_nvim, last):
    port, token = last.lock["port"], last.lock["authToken"]
    last.crash()
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        nvim = start_nvim()
        assert nvim.lua(START) not in {port, 0}
    assert lock_of(nvim)["authToken"] != token


def test_nobody_else_gets_the_port_while_a_client_tries_to_come_back(start_nvim, last):
    port = last.lock["port"]
    last.leave()
    for option in (0, socket.SO_REUSEADDR):
        with socket.socket() as thief:
            if option:
                thief.setsockopt(socket.SOL_SOCKET, option, 1)
            with pytest.raises(OSError, match="Address already in use"):
                thief.bind(("127.0.0.1", port))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    assert start_nvim().lua(START) == port


def test_two_in_one_folder_have_their_own(start_nvim, connect, last):
    second = start_nvim()
    port = second.lua(START)
    assert port != last.lock["port"]
    connect(second)
    second.wait(lambda: left(second) == sorted([port, last.lock["port"]]), what="both ports to be left")
    last.crash()
    third = start_nvim()
    assert third.lua(START) == last.lock["port"]
    assert second.lua(START) == port


def test_another_folder_has_another_port(start_nvim, last, tmp_path):
    last.crash()
    other = tmp_path / "other"
    other.mkdir()
    nvim = start_nvim(cwd=other)
    assert nvim.lua(START) != last.lock["port"]
    assert left(nvim) == [last.lock["port"]]


def test_a_disconnected_client_is_not_admitted_again(start_nvim, last):
    last.cmd("Claude disconnect")
    last.wait("not Ide.server.is_running()")
    assert left(last) == []
    last.leave()
    nvim = start_nvim()
    assert nvim.lua(START) != last.lock["port"]


def test_a_folder_that_is_of_no_use_does_no_harm(start_nvim, connect, last):
    port = last.lock["port"]
    last.crash()
    for garbage in ["", "{", json.dumps({"clients": [1]}), "\0" * 99]:
        (folder(last) / f"{port}.json").write_text(garbage)
        nvim = start_nvim()
        assert isinstance(nvim.lua(START), int)
        assert left(nvim) == []
        nvim.kill()
    folder(last).rmdir()
    folder(last).write_text("not a folder")
    nvim = start_nvim(notices=True)
    connect(nvim)
    assert nvim.notices() == []
