"""executeCode: code of the model in a real Jupyter kernel, of the Python that the tests have."""

import base64
import json
import os
import re
import struct
from pathlib import Path

import pytest
from kernel_steps import ENVIRONMENT, FIND, KERNEL, LOOK, Code, alive, failed, python, running, text

from harness import PATIENCE
from harness.client import RpcError, ToolError

pytestmark = [pytest.mark.dealt, pytest.mark.slow]


@pytest.fixture
def start(start_nvim):
    """Starts a Neovim whose person has activated an environment with ipykernel."""

    def start(**notebook):
        return start_nvim(opts={"notebook": notebook}, env={"VIRTUAL_ENV": str(ENVIRONMENT)})

    return start


def test_code_runs_and_its_state_stays(start, connect):
    code = Code(connect(start()))
    assert (
        code.text("import sys; x = 20\nprint('ünï', flush=True); print('bad', file=sys.stderr)\nx + 1")
        == "ünï\n[stderr]\nbad\n21\n"
    )
    assert code.text("x") == "20\n"
    assert code.text("pass") == "(no output)"
    assert code.text("for i in range(3): print(f'\\r{i} %', end='')") == "2 %"
    assert code.text("print('\\x1b[31mred\\x1b[0m')") == "red\n"
    assert code.text("from IPython.display import *\ndisplay(Markdown('*m*'), HTML('<b>h</b>'), JSON({'a': 1}))") == (
        '*m*\n<b>h</b>\n{"a": 1}\n'
    )
    error = code("def f():\n    return 1 / 0\nf()")
    assert failed(error)
    assert "ZeroDivisionError: division by zero" in text(error)
    assert "return 1 / 0" in text(error)
    assert "\x1b" not in text(error)
    asked = code("input('name? ')")
    assert failed(asked)
    assert "input" in text(asked)
    assert code.text("x") == "20\n", "after errors too"


def test_a_figure_is_an_image(start, connect):
    nvim = start()
    code = Code(connect(nvim))
    result = code("import matplotlib.pyplot as plt\nplt.figure(figsize=(3, 2), dpi=100); plt.plot([1, 2]); plt.show()")
    [image] = [item for item in result["content"] if item["type"] == "image"]
    assert image["mimeType"] == "image/png"
    raw = base64.b64decode(image["data"])
    assert raw.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", raw[16:24])
    assert 200 < width <= 300, "IPython cuts the margins"
    assert 150 < height <= 200
    assert "Figure" not in text(result), "its name says nothing beside it"
    large = code(
        "import os\nfrom IPython.display import Image, display\n"
        "for i in range(12): display(Image(data=b'\\x89PNG' + os.urandom(100), format='png'))\n"
    )
    assert [item["type"] for item in large["content"]].count("image") == 10
    assert "left out" in text(large)
    result = code("display(Image(data=b'\\x89PNG' + os.urandom(1_600_000), format='png'))")
    saved = re.search(r"1,600,004 bytes: too large to show, saved as (\S+\.png)", text(result))
    assert saved
    assert Path(saved[1]).stat().st_size == 1_600_004
    assert Path(saved[1]).stat().st_mode & 0o077 == 0
    nvim.cmd("Claude kernel log")
    lines = nvim.lines()
    assert any(re.match(r"!\[image/png, \d+ bytes\]\(/.*\.png\)$", line) for line in lines)
    assert "```python" in lines


def test_long_output_is_cut_in_the_middle_and_said(start, connect):
    nvim = start(max_output=3000)
    code = Code(connect(nvim))
    said = code.text("print('first')\nfor i in range(100_000): print('x' * 99)\nprint('last')")
    assert said.startswith("first\nxxx")
    assert said.endswith("xxx\nlast\n")
    left_out = re.search(r"\[… ([\d,]+) characters left out …\]", said)
    assert left_out
    assert len(said) - len(left_out[0]) - 2 + int(left_out[1].replace(",", "")) == 10_000_000 + len("first\nlast\n")
    assert len(said) < 3100
    assert len("\n".join(nvim.lines(nvim.lua("return vim.fn.bufnr('kernel (output)')")))) < 4000


def test_what_is_cancelled_is_interrupted_and_the_state_stays(start, connect):
    nvim = start()
    client, other = connect(nvim), connect(nvim)
    code, code2 = Code(client), Code(other)
    assert code.text("x = 5") == "(no output)"
    request = code.begin("while True: pass")
    running(nvim)
    client.cancel(request)
    assert code.text("x") == "5\n"
    assert not client.answered(request)
    # A client that goes.
    code2.begin("while True: pass")
    running(nvim)
    waiting = code.begin("x + 1")
    other.drop()
    assert text(code.end(waiting)) == "6\n"
    # The person.
    request = code.begin("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.1)")
    running(nvim)
    nvim.wait(lambda: any(line == "begun" for line in nvim.lines(nvim.lua("return vim.fn.bufnr('kernel (output)')"))))
    nvim.cmd("Claude kernel interrupt")
    result = code.end(request)
    assert failed(result)
    assert text(result).startswith("begun\n")
    assert "The user interrupted it" in text(result)
    assert code.text("x") == "5\n"


def test_what_is_cancelled_before_it_has_begun_leaves_the_kernel_usable(start, connect):
    client = connect(start())
    code = Code(client)
    assert code.text("x = 5") == "(no output)"
    for _ in range(10):
        client.cancel(code.begin("while True: pass"))
    assert code.text("x") == "5\n"


def test_a_time_limit_interrupts_and_code_that_ignores_it_is_told(start, connect):
    nvim = start(timeout_ms=1000)
    code = Code(connect(nvim))
    result = code("x = 1\nimport time\ntime.sleep(1000)")
    assert failed(result)
    assert re.search(r"Interrupted after \d+ s: the time limit", text(result))
    assert code.text("x") == "1\n"
    stubborn = code("import signal\nwhile True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt: pass")
    assert failed(stubborn)
    assert "goes on all the same" in text(stubborn)
    refused = code("x")
    assert failed(refused)
    assert "ignores the interrupt" in text(refused)
    fresh = code("'x' in globals()", restart=True)
    assert text(fresh) == "False\n"


def test_a_kernel_that_ends_is_told_and_the_next_call_starts_anew(start, connect):
    nvim = start()
    code = Code(connect(nvim))
    result = code("import os; os.kill(os.getpid(), 9)")
    assert failed(result)
    assert "The kernel ended while this ran. All variables are gone" in text(result)
    pid = int(code.text("import os; x = 1; os.getpid()"))
    os.kill(pid, 9)
    nvim.wait(f"{KERNEL}.state == 'off'", what="the end of the kernel to be seen")
    assert (
        code.text("'x' in globals()")
        == "[A new kernel: the one before had ended. Variables of before are gone.]\nFalse\n"
    )
    # The process between Neovim and the kernel.
    pid = int(code.text("os = __import__('os'); os.getpid()"))
    os.kill(nvim.lua(f"return {KERNEL}.bridge.process.pid"), 9)
    nvim.wait(lambda: not alive(pid), what="the kernel to end with its bridge")
    nvim.wait(f"{KERNEL}.state == 'off'", what="the end of the bridge to be seen")
    assert code.text("'x' in globals()").endswith("False\n")


def test_two_clients_queue_in_order_and_each_is_answered_once(start, connect):
    nvim = start()
    one, two = Code(connect(nvim)), Code(connect(nvim))
    requests = []
    for number in range(6):
        code = (one, two)[number % 2]
        requests.append(
            (code, code.begin(f"import time; time.sleep(0.05)\norder = globals().get('order', []) + [{number}]\norder"))
        )
    seen = [text(code.end(request)) for code, request in requests]
    lists = [[int(digit) for digit in re.findall(r"\d", said)] for said in seen]
    assert sorted(map(len, lists)) == [1, 2, 3, 4, 5, 6]
    longest = max(lists, key=len)
    assert [n for n in longest if n % 2 == 0] == [0, 2, 4]
    assert [n for n in longest if n % 2 == 1] == [1, 3, 5]


def test_a_neovim_that_is_killed_leaves_nothing_running(start, connect):
    nvim = start()
    code = Code(connect(nvim))
    child = int(code.text("import os, subprocess; subprocess.Popen(['sleep', '1000']).pid"))
    kernel = int(code.text("os.getpid()"))
    folder = Path(
        re.search(r"/\S+/claude-ide-kernel-\w+", Path(f"/proc/{kernel}/cmdline").read_text().replace("\0", " "))[0]
    )
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "kernel.json").stat().st_mode & 0o177 == 0
    bridge = nvim.lua(f"return {KERNEL}.bridge.process.pid")
    code.begin("while True: pass")
    running(nvim)
    os.kill(nvim.server_pid, 9)
    nvim.terminal.wait(lambda: not any(map(alive, (bridge, kernel, child))), 2 * PATIENCE, "all processes to end")
    assert not folder.exists()


def test_a_neovim_that_quits_leaves_nothing_running(start, connect):
    nvim = start()
    code = Code(connect(nvim))
    kernel = int(code.text("import os; os.getpid()"))
    bridge = nvim.lua(f"return {KERNEL}.bridge.process.pid")
    nvim.quit()
    nvim.terminal.wait(lambda: not alive(bridge) and not alive(kernel), 2 * PATIENCE, "the kernel to end")


def test_the_person_starts_restarts_stops_and_reads(start, connect):
    nvim = start()
    assert nvim.lua("return vim.fn.getcompletion('Claude kernel ', 'cmdline')") == [
        "start",
        "interrupt",
        "restart",
        "stop",
        "log",
    ]
    nvim.cmd("Claude kernel")
    nvim.wait_screen("No kernel was started yet.")
    nvim.cmd("Claude kernel log")
    nvim.wait_screen("Nothing has run in a kernel yet.")
    nvim.cmd("Claude kernel wrong")
    nvim.wait_screen("expected start, interrupt, restart, stop or log")
    nvim.cmd("Claude kernel start")
    nvim.wait_screen("The kernel of project is starting.")
    nvim.wait_screen("The kernel of project is ready (ipython", 4 * PATIENCE)
    nvim.cmd("Claude kernel start")
    nvim.wait_screen("Kernel: project is idle (ipython")
    nvim.cmd("Claude kernel interrupt")
    nvim.wait_screen("Nothing runs in the kernel of project.")
    code = Code(connect(nvim))
    assert code.text("x = 3; print('`````'); x") == "`````\n3\n"
    nvim.cmd("Claude kernel restart")
    nvim.wait(f"{KERNEL}.state == 'idle'", 4 * PATIENCE)
    assert (
        code.text("'x' in globals()") == "[A new kernel: the user restarted it. Variables of before are gone.]\nFalse\n"
    )
    nvim.cmd("Claude kernel log")
    lines = nvim.lines()
    assert re.match(r"## project · claude-code · \d\d:\d\d:\d\d$", lines[0])
    fence = "``````"  # longer than what the code has
    shown = ["", f"{fence}python", "x = 3; print('`````'); x", fence, "", "~~~~~~~~", "`````", "3", "~~~~~~~~", ""]
    assert lines[1:11] == shown
    assert re.match(r"\*ok, \d+\.\d\d s\*$", lines[11])
    assert nvim.lua("return { vim.bo.filetype, vim.bo.modifiable, vim.bo.buftype }") == [
        "claude-kernel",
        False,
        "nofile",
    ]
    request = code.begin("while True: pass")
    running(nvim)
    waiting = code.begin("1")
    nvim.wait(f"#{KERNEL}.queue == 1")
    nvim.cmd("Claude kernel")
    nvim.wait_screen("project is running code, 1 more waits (ipython")
    nvim.cmd("Claude kernel stop")
    for call in (request, waiting):
        result = code.end(call)
        assert failed(result)
        assert text(result) == "The user stopped the kernel."
    nvim.cmd("Claude kernel stop")
    nvim.wait_screen("The kernel of project does not run.")


def test_the_person_is_asked_before_code_runs(start, connect):
    nvim = start(confirm=True)
    client = connect(nvim)
    code = Code(client)
    request = code.begin("x = 1\nprint('was run')")
    nvim.wait_screen("Claude wants to run this (project)")
    nvim.wait_screen("print('was run')")
    nvim.keys("ZQ")
    refused = code.end(request)
    assert failed(refused)
    assert text(refused) == "The user did not let this run."
    assert nvim.lua(f"return {KERNEL}.state") == "off", "no kernel is started for it"
    request = code.begin("print('was run')")
    nvim.wait_screen("Claude wants to run this (project)")
    nvim.cmd("close")
    assert failed(code.end(request)), "closing it is a no"
    request = code.begin("print('again')")
    nvim.wait_screen("Claude wants to run this (project)")
    client.cancel(request)
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the question to go")
    nvim.keys("i")
    nvim.wait(lambda: nvim.mode() == "i")
    request = code.begin("print('was run')")
    nvim.wait_screen("Claude wants to run code · opens when you leave insert mode")
    nvim.keys("<Esc>")
    nvim.wait_screen("Claude wants to run this (project)")
    nvim.keys("ZZ")
    assert text(code.end(request)) == "was run\n"


def test_each_notebook_has_a_kernel_of_its_own(start, connect):
    code = Code(connect(start()))
    code("x = 'workspace'")
    assert code.text("'x' in globals()", notebook="a.ipynb") == "False\n"
    assert code.text("x") == "'workspace'\n"


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
        {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [], "source": ["x = 4\n", "x * 2"]},
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": "x + 1"},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_cells_of_a_notebook_are_listed_and_run(start_nvim, connect_agent):
    written = json.dumps(NOTEBOOK)
    nvim = start_nvim(
        opts=LOOK,
        env={"VIRTUAL_ENV": str(ENVIRONMENT)},
        files={"a.ipynb": written, "b.ipynb": "{}", "other.py": "", ".env.ipynb": written},
    )
    agent = connect_agent(nvim)
    nvim.wait(lambda: "run_cell" in agent.tools(), what="the tools to be listed")
    path = str(nvim.project / "a.ipynb")
    assert agent.call("notebook_cells", path="a.ipynb") == [
        "3 cells:\n[0] markdown\n# Title\nwords\n[1] code, run 3\nx = 4\nx * 2\n[2] code\nx + 1"
    ]
    assert agent.call("run_cell", path="a.ipynb", index=1, timeout=4 * PATIENCE) == ["8\n"]
    assert agent.call("run_cell", path=path, index=2, timeout=4 * PATIENCE) == ["5\n"], "the state stays"
    assert Path(path).read_text() == written
    for arguments, said in [
        ({"path": "a.ipynb", "index": 0}, "cell 0 is markdown, not code"),
        ({"path": "b.ipynb", "index": 0}, "b.ipynb: it is no notebook of nbformat 4"),
        ({"path": "other.py", "index": 0}, "other.py: it is no JSON"),
        ({"path": "none.ipynb", "index": 0}, "none.ipynb: it cannot be read"),
        ({"path": ".env.ipynb", "index": 0}, "the user keeps .env.ipynb private"),
        ({"path": "/etc/a.ipynb", "index": 0}, "/etc/a.ipynb is outside of the workspace"),
    ]:
        with pytest.raises(ToolError, match=said):
            agent.call("run_cell", **arguments)
    with pytest.raises(RpcError, match="there is no cell 7"):
        agent.call("run_cell", path="a.ipynb", index=7)
    nvim.cmd("edit a.ipynb")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { (vim.fn.getline(1):gsub('x %+ 1', 'x + 10')) })")
    assert agent.call("run_cell", path="a.ipynb", index=2, timeout=4 * PATIENCE)[0] == "14\n", (
        "what is not saved counts"
    )
    assert agent.call("notebook_cells", path="a.ipynb")[0].startswith("3 cells, with unsaved changes of the user's:")
    request = agent.start_call("run_cell", path="a.ipynb", index=1)
    agent.cancel(request)
    assert agent.call("run_cell", path="a.ipynb", index=2, timeout=4 * PATIENCE)[0] == "14\n"


def test_without_ipykernel_one_command_is_named(start_nvim, connect, tmp_path):
    program = python(tmp_path / "empty", has=())
    nvim = start_nvim(opts=LOOK, env={"VIRTUAL_ENV": str(tmp_path / "empty"), "PATH": "/nowhere"})
    mend = f"{program} -m pip install ipykernel"
    assert nvim.lua(FIND, str(nvim.project))[1] == {"what": f"{program} ($VIRTUAL_ENV) has no ipykernel.", "mend": mend}
    client = connect(nvim)
    assert "executeCode" not in names(client)
    result = Code(client)("1")
    assert failed(result)
    assert text(result) == f"The kernel cannot be started: {program} ($VIRTUAL_ENV) has no ipykernel."
    nvim.cmd("Claude kernel start")
    nvim.wait_screen("The kernel cannot be started:")
    nvim.lua("vim.cmd.checkhealth('claude-ide')")
    health = " ".join(" ".join(nvim.lines()).split())
    assert "executeCode is not offered:" in health
    assert f"Run `{mend}`" in health


def names(client):
    return [tool["name"] for tool in client.request("tools/list")["tools"]]


def test_it_is_listed_once_a_python_with_ipykernel_is_found(start_nvim, connect, tmp_path):
    program = python(tmp_path / "mine", has=())
    nvim = start_nvim(opts=LOOK, env={"VIRTUAL_ENV": str(tmp_path / "mine"), "PATH": "/nowhere"})
    one = connect(nvim)
    nvim.wait("require('claude-ide.notebook.workspace_python').missing() ~= nil", what="the Python to be asked")
    assert "executeCode" not in names(one)
    program.write_text("#!/bin/sh\necho 3.12.1 ipykernel jupyter_client\n")
    connect(nvim)  # somebody comes: it is looked for again
    one.wait_notification("notifications/tools/list_changed")
    assert "executeCode" in names(one)


def test_health_names_the_python(start):
    nvim = start()
    nvim.lua("vim.cmd.checkhealth('claude-ide')")
    assert f"executeCode: {ENVIRONMENT}/bin/python ($VIRTUAL_ENV, Python 3" in "\n".join(nvim.lines())
