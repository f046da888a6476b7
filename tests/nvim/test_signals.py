"""Signals: a write without a reader ends no Neovim, and Neovim's SIGPIPE disposition stays as it is, also for its
children.
"""

import signal
from pathlib import Path

from chat_steps import text, wait_text

# Reads nothing, sends a request that needs an answer, and ends.
DEAF = 'exec 0<&-; echo \'{"jsonrpc":"2.0","id":1,"method":"nothing"}\'; exec 1>&-; exit 7'


def has_sigpipe(pid, mask):
    """Whether SIGPIPE is in that mask of the process, or of its first thread."""
    lines = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    return bool(int(lines[mask], 16) >> (signal.SIGPIPE - 1) & 1)


def begin(start_nvim, script):
    nvim = start_nvim(opts={"agents": {"shell": {"cmd": ["/bin/sh", "-c", script], "name": "Shell"}}})
    nvim.lua("Ide.server.start()")
    return nvim


def test_an_agent_that_reads_nothing_ends_no_neovim(start_nvim):
    nvim = begin(start_nvim, DEAF)
    # The state once Neovim begins to exit, which is too short to observe.
    nvim.lua("local c = require('ffi') c.cdef('void *signal(int, void *)') c.C.signal(13, nil)")
    assert not has_sigpipe(nvim.server_pid, "SigCgt") and not has_sigpipe(nvim.server_pid, "SigIgn")
    nvim.cmd("Claude chat --agent shell")
    wait_text(nvim, "Shell ended with code 7")
    for ends in range(2, 20):
        nvim.cmd("Claude chat restart")
        nvim.wait(lambda ends=ends: text(nvim).count("Shell ended with code 7") == ends, what="the next one's end")


def test_what_neovim_and_its_agents_do_about_sigpipe_is_theirs(start_nvim):
    nvim = begin(start_nvim, "exec sleep 600")
    assert has_sigpipe(nvim.server_pid, "SigCgt"), "Neovim catches it"
    nvim.cmd("Claude chat --agent shell")
    nvim.wait("(Ide.chat.current() or {}).pid ~= nil", what="the agent")
    agent = nvim.lua("return Ide.chat.current().pid")
    child = nvim.lua("return vim.fn.jobpid(vim.fn.jobstart({ 'sleep', '600' }))")
    assert has_sigpipe(nvim.server_pid, "SigCgt") and not has_sigpipe(nvim.server_pid, "SigBlk")
    for pid in (agent, child):
        assert not has_sigpipe(pid, "SigBlk") and not has_sigpipe(pid, "SigIgn")
