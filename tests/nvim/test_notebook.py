"""executeCode: the model's code in a real Jupyter kernel, of the Python that the tests use."""

import base64
import os
import re
import struct
from pathlib import Path

import pytest
from kernel_steps import ENVIRONMENT, FIND, KERNEL, LOOK, Code, alive, failed, python, running, text

from harness import PATIENCE

pytestmark = [pytest.mark.dealt, pytest.mark.slow]


@pytest.fixture
def start(start_nvim):
    """Starts a Neovim whose user has activated an environment with ipykernel."""

    def start():
        return start_nvim(opts=LOOK, env={"VIRTUAL_ENV": str(ENVIRONMENT)})

    return start


def test_code_runs_and_its_state_stays_whatever_is_cancelled(start, connect):
    nvim = start()
    client, other = connect(nvim), connect(nvim)
    code = Code(client)
    code_runs_and_its_state_stays(code)
    what_is_cancelled_before_it_has_begun_leaves_the_kernel_usable(client, code)
    two_clients_queue_in_order_and_each_is_answered_once(code, Code(other))
    what_is_cancelled_is_interrupted_and_the_state_stays(nvim, client, other)
    each_notebook_has_a_kernel_of_its_own(code)
    a_neovim_that_quits_leaves_nothing_running(nvim, code)


def test_pictures_are_shown_and_long_output_is_cut(start, connect):
    nvim = start()
    code = Code(connect(nvim))
    nvim.lua("require('claude-ide').setup({ notebook = { max_output = 3000 } })")
    long_output_is_cut_in_the_middle_and_said(nvim, code)
    nvim.lua("require('claude-ide').setup({ notebook = {} })")
    a_figure_is_an_image(nvim, code)


def test_a_kernel_that_ends_or_does_not_is_reported(start, connect):
    nvim = start()
    code = Code(connect(nvim))
    a_kernel_that_ends_is_told_and_the_next_call_starts_anew(nvim, code)
    a_time_limit_interrupts_and_code_that_ignores_it_is_told(nvim, code)
    a_neovim_that_is_killed_leaves_nothing_running(nvim, code)


def test_the_user_has_the_kernel_in_hand(start, connect):
    nvim = start()
    client = the_user_starts_restarts_stops_and_reads(nvim, connect)
    nvim.cmd("wincmd t | only")
    nvim.lua("require('claude-ide').setup({ notebook = { confirm = true } })")
    the_user_is_asked_before_code_runs(nvim, client)


def test_the_user_is_asked_before_code_of_another_machine_runs(start, connect):
    nvim = start()
    client = connect(nvim)
    client.notify("ide_connected", {"pid": 1})  # another process than the one that connected: a tunnel
    nvim.keys_count()
    code = Code(client)
    asked = code.begin("print('ran')")
    nvim.wait_screen("perhaps of another machine, wants to run this")
    nvim.wait_screen("print('ran')")
    nvim.keys("ZQ")
    assert failed(code.end(asked))


def code_runs_and_its_state_stays(code):
    assert (
        code.text("import sys; x = 20\nprint('ünï', flush=True); print('bad', file=sys.stderr)\nx + 1")
        == "ünï\n[stderr]\nbad\n21\n"
    )
    assert code.text("x") == "20\n"
    assert code.text("pass") == "(no output)"
    assert "Docstring:" in code.text("len?"), "what IPython shows in its pager"
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


def what_is_cancelled_before_it_has_begun_leaves_the_kernel_usable(client, code):
    assert code.text("x = 5") == "(no output)"
    for _ in range(10):
        client.cancel(code.begin("while True: pass"))
    assert code.text("x") == "5\n"


def two_clients_queue_in_order_and_each_is_answered_once(one, two):
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


def what_is_cancelled_is_interrupted_and_the_state_stays(nvim, client, other):
    code, code2 = Code(client), Code(other)
    assert code.text("x = 5") == "(no output)"
    request = code.begin("while True: pass")
    running(nvim)
    client.cancel(request)
    assert code.text("x") == "5\n"
    assert not client.answered(request)
    # A client that disconnects.
    code2.begin("while True: pass")
    running(nvim)
    waiting = code.begin("x + 1")
    other.drop()
    assert text(code.end(waiting)) == "6\n"
    # The user interrupts.
    request = code.begin("import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.1)")
    running(nvim)
    nvim.wait(lambda: any(line == "begun" for line in nvim.lines(nvim.lua("return vim.fn.bufnr('kernel (output)')"))))
    nvim.cmd("Claude kernel interrupt")
    result = code.end(request)
    assert failed(result)
    assert text(result).startswith("begun\n")
    assert "The user interrupted it" in text(result)
    assert code.text("x") == "5\n"


def each_notebook_has_a_kernel_of_its_own(code):
    code("x = 'workspace'")
    assert code.text("'x' in globals()", notebook="a.ipynb") == "False\n"
    assert code.text("x") == "'workspace'\n"


def a_neovim_that_quits_leaves_nothing_running(nvim, code):
    kernel = int(code.text("import os; os.getpid()"))
    bridge = nvim.lua(f"return {KERNEL}.bridge.process.pid")
    nvim.leave()
    nvim.terminal.wait(lambda: not alive(bridge) and not alive(kernel), 2 * PATIENCE, "the kernel to end")


def a_figure_is_an_image(nvim, code):
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


def long_output_is_cut_in_the_middle_and_said(nvim, code):
    said = code.text("print('first')\nfor i in range(100_000): print('x' * 99)\nprint('last')")
    assert said.startswith("first\nxxx")
    assert said.endswith("xxx\nlast\n")
    left_out = re.search(r"\[… ([\d,]+) characters left out …\]", said)
    assert left_out
    assert len(said) - len(left_out[0]) - 2 + int(left_out[1].replace(",", "")) == 10_000_000 + len("first\nlast\n")
    assert len(said) < 3100
    assert len("\n".join(nvim.lines(nvim.lua("return vim.fn.bufnr('kernel (output)')")))) < 4000


def a_kernel_that_ends_is_told_and_the_next_call_starts_anew(nvim, code):
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


def a_time_limit_interrupts_and_code_that_ignores_it_is_told(nvim, code):
    def limited(endless):
        """Runs with a limit that on a busy machine other code would reach, too."""
        nvim.lua("require('claude-ide').setup({ notebook = { timeout_ms = 1000 } })")
        result = code(endless)
        nvim.lua("require('claude-ide').setup({ notebook = {} })")
        assert failed(result)
        return result

    code("import time; x = 1")
    result = limited("time.sleep(1000)")
    assert re.search(r"Interrupted after \d+ s: the time limit", text(result))
    assert code.text("x") == "1\n"
    stubborn = limited("while True:\n    try:\n        time.sleep(60)\n    except KeyboardInterrupt: pass")
    assert "is still running" in text(stubborn)
    refused = code("x")
    assert failed(refused)
    assert "ignores the interrupt" in text(refused)
    fresh = code("'x' in globals()", restart=True)
    assert text(fresh) == "False\n"


def a_neovim_that_is_killed_leaves_nothing_running(nvim, code):
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
    nvim.terminal.wait(lambda: not folder.exists(), 2 * PATIENCE, "the folder with the key to go")


def the_user_starts_restarts_stops_and_reads(nvim, connect):
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
    nvim.wait_screen("The kernel of project is ready (ipython", 4 * PATIENCE)
    assert "The kernel of project is starting." in nvim.lua("return vim.fn.execute('messages')")
    nvim.cmd("Claude kernel start")
    nvim.wait_screen("Kernel: project is idle (ipython")
    nvim.cmd("Claude kernel interrupt")
    nvim.wait_screen("Nothing runs in the kernel of project.")
    client = connect(nvim)
    code = Code(client)
    assert code.text("x = 3; print('`````'); x") == "`````\n3\n"
    nvim.cmd("Claude kernel restart")
    nvim.wait(f"{KERNEL}.state == 'idle'", 4 * PATIENCE)
    assert (
        code.text("'x' in globals()") == "[A new kernel: the user restarted it. Variables of before are gone.]\nFalse\n"
    )
    nvim.cmd("Claude kernel log")
    lines = nvim.lines()
    assert re.match(r"## project · claude-code · \d\d:\d\d:\d\d$", lines[0])
    fence = "``````"  # longer than the code's own fence
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
    nvim.wait_screen("The kernel of project is not running.")
    return client


def the_user_is_asked_before_code_runs(nvim, client):
    code = Code(client)
    nvim.keys_count()
    request = code.begin("x = 1\nprint('was run')")
    nvim.wait_screen("Claude wants to run this (project)")
    nvim.wait_screen("print('was run')")
    nvim.keys("ZQ")
    refused = code.end(request)
    assert failed(refused)
    assert text(refused) == "The user did not let this run."
    assert nvim.lua(f"return {KERNEL}.state") == "off", "no kernel is started for it"
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the first question to go")
    request = code.begin("print('was run')")
    nvim.wait("#vim.api.nvim_list_wins() == 2", what="the second question")
    nvim.cmd("close")
    assert failed(code.end(request)), "closing it is a no"
    long = "x = 1" + " " * 200 + "; print('hidden')\n" * 30 + "print('last')"
    request = code.begin(long)
    nvim.wait_screen("x = 1⟨200 blanks⟩; print('hidden')")
    assert not any("print('last')" in line for line in nvim.screen())
    nvim.keys("ZZ")
    nvim.wait_screen("print('last')")
    assert nvim.lua(f"return {KERNEL}.state") == "off", "it is read before it runs"
    nvim.keys("ZQ")
    assert failed(code.end(request))
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the question to go")
    request = code.begin("print('again')")
    nvim.wait("#vim.api.nvim_list_wins() == 2", what="the third question")
    client.cancel(request)
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the question to go")
    nvim.keys("i")
    nvim.wait(lambda: nvim.mode() == "i")
    request = code.begin("print('was run')")
    nvim.wait_screen("Claude wants to run code · opens when you leave insert mode")
    nvim.keys("<Esc>")
    nvim.wait_screen("Claude wants to run this (project)")
    nvim.keys("ZZ")
    note = "[A new kernel: the user had stopped the one before. Variables of before are gone.]\n"
    assert text(code.end(request)) == note + "was run\n"


def test_without_ipykernel_one_command_is_named(start_nvim, connect, tmp_path):
    program = python(tmp_path / "empty", has=())
    nvim = start_nvim(opts=LOOK, env={"VIRTUAL_ENV": str(tmp_path / "empty"), "PATH": "/nowhere"})
    remedy = f"{program} -m pip install ipykernel"
    assert nvim.lua(FIND, str(nvim.project))[1] == {
        "what": f"{program} ($VIRTUAL_ENV) has no ipykernel.",
        "remedy": remedy,
    }
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
    assert f"Run `{remedy}`" in health


def names(client):
    return [tool["name"] for tool in client.request("tools/list")["tools"]]


def test_it_is_listed_once_a_python_with_ipykernel_is_found(start_nvim, connect, tmp_path):
    program = python(tmp_path / "mine", has=())
    nvim = start_nvim(opts=LOOK, env={"VIRTUAL_ENV": str(tmp_path / "mine"), "PATH": "/nowhere"})
    one = connect(nvim)
    nvim.wait("Ide.notebook_interpreter.missing() ~= nil", what="the Python to be asked")
    assert "executeCode" not in names(one)
    program.write_text("#!/bin/sh\necho 3.12.1 ipykernel jupyter_client\n")
    connect(nvim)  # a new client: the search is repeated
    one.wait_notification("notifications/tools/list_changed")
    assert "executeCode" in names(one)


LIST_CHANGED = "notifications/tools/list_changed"
ALL_LISTEN = """
return #vim.tbl_filter(function(client)
  return not Ide.server_listening.is_listening(client)
end, Ide.server.clients()) == 0
"""
SEND_MARK = """
vim.defer_fn(function() Ide.server.notify("mark", vim.empty_dict()) end, 20)
"""


def test_a_client_that_came_a_moment_before_hears_of_another_list_twice(start_nvim, connect):
    nvim = start_nvim()
    nvim.lua(
        """
        able = false
        Ide.notebook_interpreter.is_available = function() return able end
        Ide.tools_availability.SETTLED_MS = 0
        function set(is_able)
          able = is_able
          Ide.bus.emit("abilities_changed")
        end
        """
    )

    def none_is_told(*clients):
        nvim.lua(SEND_MARK)
        for client in clients:
            client.wait_notification("mark")
            assert not [one for one in client.notifications if one["method"] == LIST_CHANGED]

    client = connect(nvim)
    nvim.lua("set(true)")
    for _ in range(2):
        client.wait_notification(LIST_CHANGED)
    assert "executeCode" in names(client)
    nvim.wait(ALL_LISTEN, what="the client to listen")
    none_is_told(client)
    nvim.lua("set(false)")
    client.wait_notification(LIST_CHANGED)
    later = connect(nvim)
    nvim.wait(ALL_LISTEN, what="the second one to listen")
    none_is_told(client, later)


def test_one_that_is_chosen_while_another_is_looked_for_is_the_one_that_runs(start_nvim):
    nvim = start_nvim()
    reported = nvim.lua(
        """
        local python, waiting, reported = Ide.notebook_interpreter, {}, {}
        local options = Ide.config.get().notebook
        Ide.notebook_interpreter.find = function(_, done) waiting[#waiting + 1] = done end
        local function ask()
          python.interpreter(function(found) reported[#reported + 1] = found.path end)
        end
        options.kernel = "/one"
        ask()
        ask()
        options.kernel = "/two"
        ask()
        waiting[2]({ path = "/two" })
        waiting[1]({ path = "/one" })
        ask()
        options.kernel = "/one"
        ask()
        return { reported, #waiting, python.is_available() }
        """
    )
    assert reported == [["/two", "/one", "/one", "/two", "/one"], 2, True]


def test_health_names_the_python(start):
    nvim = start()
    nvim.lua("vim.cmd.checkhealth('claude-ide')")
    assert f"executeCode: {ENVIRONMENT}/bin/python ($VIRTUAL_ENV, Python 3" in "\n".join(nvim.lines())
