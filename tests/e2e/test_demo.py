"""`make demo`, at a terminal and without one."""

import os
import socket
import struct
import subprocess
import sys
import threading

import pytest

from harness import PATIENCE
from harness.cli import binary as cli_binary
from harness.mock_api import MockApi
from harness.nvim import ROOT
from harness.nvim import binary as nvim_binary
from harness.terminal import Terminal, marked_processes

pytestmark = pytest.mark.cli

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT / "tests"),
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
}


@pytest.fixture
def command():
    """The demo with the installed Neovim and CLI."""
    return [sys.executable, ROOT / "demo" / "run.py", "--nvim", nvim_binary("0.11"), "--claude", cli_binary()]


def test_drives_itself_without_a_terminal(command):
    run = subprocess.run(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "accepted, and Claude wrote greet.py" in run.stdout
    assert "rejected, and README.txt is as it was" in run.stdout


def test_a_connection_that_the_cli_resets_writes_nothing_on_the_screen(capfd):
    api = MockApi()
    before = set(threading.enumerate())
    with socket.create_connection(("127.0.0.1", api.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert connection.recv(1), "the connection is served"
        served = set(threading.enumerate()) - before
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() resets
    for thread in served:
        thread.join(PATIENCE)
    api.close()
    assert capfd.readouterr() == ("", "")


def test_lets_a_user_decide_in_a_terminal(command, tmp_path):
    terminal = Terminal(command, env=ENVIRONMENT | {"TMPDIR": str(tmp_path)}, cwd=tmp_path)
    try:
        terminal.wait_screen("Accept: ZZ   Reject: ZQ")
        terminal.wait_screen("Nice to see you")
        terminal.keys("ZQ")
        terminal.wait_screen("Last change: rejected")
        terminal.wait_screen("manual mode on")  # the CLI is beside the file
        terminal.keys("<C-\\><C-n>:qa<CR>")
        assert terminal.wait_exit() == 0
        assert "greet.py: as it was" in terminal.text()
        terminal.wait(lambda: not marked_processes(terminal.marker), what="all that was begun to be over")
        assert list(tmp_path.iterdir()) == [], "the CLI writes its settings when it ends, and nothing is left of them"
    finally:
        terminal.kill()


def test_shows_a_user_what_another_mode_does_unasked(command, tmp_path):
    terminal = Terminal(command, env=ENVIRONMENT | {"TMPDIR": str(tmp_path)}, cwd=tmp_path, rows=24, columns=140)
    try:
        terminal.wait_screen("Nice to see you")
        terminal.wait_quiet(0.5)
        terminal.keys("ZQ")
        terminal.wait_screen("Last change: rejected")
        terminal.keys("<C-\\><C-n>:wincmd b | startinsert<CR>")
        terminal.wait_screen("manual mode on")
        terminal.wait_quiet()
        terminal.keys("<S-Tab>")
        terminal.wait_screen("accept edits on")
        terminal.keys("again")
        terminal.wait_screen("again")
        terminal.keys("<CR>")
        terminal.wait_screen("Claude changed that without asking")
        terminal.keys("<C-\\><C-n>:Claude review<CR>")
        terminal.wait_screen("1 file")
        terminal.keys("<C-\\><C-n>:qa!<CR>")
        assert terminal.wait_exit() == 0
    finally:
        terminal.kill()
