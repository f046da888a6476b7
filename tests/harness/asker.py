"""A process that posts over HTTP, and its child processes that do the same."""

import subprocess
import sys

import pytest

only_where_known = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells which process connects"
)

SCRIPT = """
import ctypes, http.client, subprocess, sys
url, body, tokens, *deeper = sys.argv[1:]
host, _, path = url.partition("/")
for token in tokens.split():
    if token == "hide":
        ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: other processes of the user cannot see its sockets
        continue
    connection = http.client.HTTPConnection(host, timeout=60)
    named = host.replace("[::ffff:127.0.0.1]", "127.0.0.1")
    headers = {"Host": named, "Authorization": "Bearer " + token, "Content-Type": "application/json"}
    connection.request("POST", "/" + path, body, headers)
    print(connection.getresponse().status, flush=True)
if deeper:
    subprocess.run([sys.executable, "-c", f"script = {script!r}\\nexec(script)", url, body, *deeper], check=True)
"""


def command(url, body, *tokens):
    """A command that posts to an address with each of the first tokens; its child posts with the second, and so on.

    From the word `hide` on, no other process of the user sees its sockets.
    """
    return [sys.executable, "-c", f"script = {SCRIPT!r}\nexec(script)", url, body, *tokens]


def ask(url, body, *tokens):
    """Runs the command; returns each status."""
    done = subprocess.run(command(url, body, *tokens), capture_output=True, text=True, check=True)
    return done.stdout.split()


def ask_below(nvim, url, body, *tokens):
    """Runs the command as a child of Neovim."""
    run = "out = nil; vim.system(..., { text = true }, function(done) out = done.stdout end)"
    nvim.lua(run, command(url, body, *tokens))
    nvim.wait("out ~= nil")
    return nvim.lua("return out").split()
