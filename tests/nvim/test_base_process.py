"""Whether a process runs."""

import os
import subprocess

import pytest

pytestmark = pytest.mark.one_nvim

RUNS = "return Ide.process.runs(...)"


def test_a_process_that_has_ended_does_not_run_although_its_parent_has_not_asked(start_nvim):
    nvim = start_nvim()
    program = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    assert nvim.lua(RUNS, program.pid) is True
    program.stdin.close()
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is left as it is
    assert nvim.lua(RUNS, program.pid) is False
    program.wait()
    assert nvim.lua(RUNS, program.pid) is False
    assert nvim.lua(RUNS, os.getpid()) is True
