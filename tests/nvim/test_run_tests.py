"""run_test: one test, a file, the last run again; by neotest, and by 'makeprg' without it."""

import contextlib
import sys
from pathlib import Path

import pytest
from fake_lsp import LSP

from harness.client import RpcError, ToolError

pytestmark = pytest.mark.dealt

PYTEST_FILES = {
    "test_a.py": "def test_good():\n    pass\n\n\nclass TestB:\n    def test_bad(self):\n        assert 1 == 2\n",
    "pytest.ini": "[pytest]\n",
}
SYMBOLS = """
local function range(first, last) return { start = { line = first, character = 0 }, ["end"] = { line = last, character = 20 } } end
fake.start("fake", { silent = true, capabilities = { documentSymbolProvider = true }, answers = {
  ["textDocument/documentSymbol"] = function()
    return {
      { name = "test_good", kind = 12, range = range(0, 1), selectionRange = range(0, 0) },
      { name = "TestB", kind = 5, range = range(4, 6), selectionRange = range(4, 4), children = {
        { name = "test_bad", kind = 6, range = range(5, 6), selectionRange = range(5, 5) },
      } },
    }
  end,
} })
"""


def scopes(agent):
    (tool,) = [tool for tool in agent.request("tools/list")["tools"] if tool["name"] == "run_test"]
    return tool["inputSchema"]["properties"]["scope"]["enum"]


@pytest.mark.slow
def test_the_nearest_test_is_run_alone_by_a_runner_that_is_known(start_nvim, connect_agent):
    nvim = start_nvim(args=["test_a.py"], files=PYTEST_FILES, init_lua=LSP + SYMBOLS)
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    nvim.lua(
        "vim.o.makeprg, vim.o.errorformat = ...", f"{sys.executable} -m pytest -q -p no:cacheprovider", "%f:%l: %m"
    )
    agent = connect_agent(nvim)
    nvim.wait(lambda: "run_test" in agent.tools(), what="the tool to be listed")
    assert scopes(agent) == ["nearest", "file", "last"]
    (text,) = agent.call("run_test", scope="nearest", path="test_a.py", line=7)
    assert text.startswith("Test test_bad of test_a.py: failed (exit code 1). Command: ")
    assert "test_a.py::TestB::test_bad" in text
    assert "  test_a.py:7: AssertionError" in text
    assert "1 failed" in text
    (text,) = agent.call("run_test", scope="nearest", path="test_a.py", line=1)
    assert text.startswith("Test test_good of test_a.py: passed.")
    assert "1 passed" in text
    with pytest.raises(ToolError, match=r"line 4 of test_a\.py is in no function"):
        agent.call("run_test", scope="nearest", path="test_a.py", line=4)
    with pytest.raises(RpcError, match='"line"'):
        agent.call("run_test", scope="nearest", path="test_a.py")


def test_the_nearest_test_is_not_offered_where_nobody_can_tell_it(start_nvim, connect_agent):
    nvim = start_nvim(args=["test_a.py"], files=PYTEST_FILES)
    nvim.lua("vim.o.makeprg = 'python3 runner.py'")
    agent = connect_agent(nvim)
    nvim.wait(lambda: "run_test" in agent.tools(), what="the tool to be listed")
    assert scopes(agent) == ["file", "last"]
    with pytest.raises(ToolError, match="how one test is run alone is not known here"):
        agent.call("run_test", scope="nearest", path="test_a.py", line=1)


SHELL_FILES = {
    "a_test.sh": "test_good() {\n  true\n}\ntest_bad() {\n  echo from the test; false\n}\n"
    "test_slow() {\n  touch begun; sleep 1000\n}\n",
    "b_test.sh": "x=1\n",
}


@pytest.fixture
def neotest(start_nvim, connect_agent):
    stand_in = Path(__file__).with_name("neotest_stand_in.lua")
    nvim = start_nvim(args=["a_test.sh"], files=SHELL_FILES, init_lua=f'dofile("{stand_in}")')
    agent = connect_agent(nvim)
    nvim.wait(lambda: "run_test" in agent.tools(), what="the tool to be listed")
    return nvim, agent


def test_neotest_runs_the_nearest_test_and_the_last_again(neotest):
    nvim, agent = neotest
    assert scopes(agent) == ["nearest", "file", "last"]
    with pytest.raises(ToolError, match="no tests were run yet"):
        agent.call("run_test", scope="last")
    (text,) = agent.call("run_test", scope="nearest", path="a_test.sh", line=5)
    assert text.replace("\r", "").splitlines() == [
        "test_bad (neotest): 0 passed, 1 failed, 0 skipped.",
        "Places, in the user's quickfix list too:",
        "  a_test.sh:5: test_bad: it went wrong",
        "Its output:",
        "from the test",
        "FAIL test_bad",
    ]
    assert nvim.lua("return vim.fn.getqflist({ title = 0, items = 0 }).items[1].lnum") == 5
    (again,) = agent.call("run_test", scope="last")
    assert again == text
    (text,) = agent.call("run_test", scope="nearest", path="a_test.sh", line=1)
    assert text.startswith("test_good (neotest): 1 passed, 0 failed, 0 skipped.")
    with pytest.raises(ToolError, match=r"neotest knows no test at line 1 of b_test\.sh"):
        agent.call("run_test", scope="nearest", path="b_test.sh", line=1)


def test_neotest_runs_a_file_and_a_cancelled_run_is_stopped(neotest):
    nvim, agent = neotest
    call = agent.start_call("run_test", scope="file", path="a_test.sh")
    nvim.wait(lambda: (nvim.project / "begun").exists(), what="the slow test to begin")
    assert running(nvim.project / "a_test.sh")
    agent.cancel(call)
    nvim.wait(lambda: not running(nvim.project / "a_test.sh"), what="what was begun to end")
    assert nvim.lua("return Ide.tools.pending()") == 0


def running(script):
    """Processes of shells that were started for a script."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = process.read_bytes().split(b"\0")
            if words[1:2] == [b"-c"] and str(script).encode() in words[2]:
                found.append(process.parent.name)
    return found
