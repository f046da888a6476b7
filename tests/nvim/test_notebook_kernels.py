"""A notebook's kernel: which one, who may speak to it, and that none is left behind."""

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path

import pytest
from jupyter_client.blocking import BlockingKernelClient
from kernel_steps import ENVIRONMENT, FIND, KERNEL, LOOK, Code, alive, failed, python, running, text

from harness import PATIENCE

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

PYTHON = ENVIRONMENT / "bin" / "python"


def notebook(name, language="python"):
    kernelspec = {"name": name, "display_name": name, "language": language}
    return json.dumps({"cells": [], "metadata": {"kernelspec": kernelspec}, "nbformat": 4, "nbformat_minor": 5})


def install_kernel(home, name):
    """Like `ipykernel install --user --name`, with a variable to identify it."""
    folder = home / ".local" / "share" / "jupyter" / "kernels" / name
    folder.mkdir(parents=True)
    argv = [str(PYTHON), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": name, "language": "python", "env": {"THE_KERNEL": name}}
    (folder / "kernel.json").write_text(json.dumps(spec))


@pytest.fixture
def temporary():
    """A folder of this test's own: each kernel that begins removes what others have left in it."""
    with tempfile.TemporaryDirectory(
        prefix="k-", ignore_cleanup_errors=True
    ) as folder:  # short: a socket's path has a limit
        yield folder


@pytest.fixture
def start(temporary, start_nvim):
    def start(files):
        nvim = start_nvim(opts=LOOK, env={"VIRTUAL_ENV": str(ENVIRONMENT), "TMPDIR": temporary}, files=files)
        install_kernel(nvim.home, "mine")
        return nvim

    return start


WHICH = "import os; os.environ.get('THE_KERNEL')"


def test_a_notebook_gets_the_kernel_that_it_names(start, connect):
    files = {
        "mine.ipynb": notebook("mine"),
        "usual.ipynb": notebook("python3"),
        "another.ipynb": notebook("python3"),
        "gone.ipynb": notebook("gone"),
    }
    nvim = start(files)
    # The command in a notebook starts a kernel for it.
    nvim.lua("Ide.notebook.kernel()")
    nvim.cmd("edit mine.ipynb")
    nvim.cmd("Claude kernel start")
    nvim.wait(f"{KERNEL}.state == 'idle'", 4 * PATIENCE)
    assert "The kernel of mine.ipynb is starting." in nvim.lua("return vim.fn.execute('messages')")
    code = Code(connect(nvim))
    assert code.text(WHICH, notebook="mine.ipynb") == "'mine'\n"
    assert code.text(WHICH, notebook="usual.ipynb") == "(no output)", "the project's Python"
    said = code.text(WHICH, notebook="gone.ipynb")
    assert re.match(
        r"\[The notebook names the kernel gone, which is not installed. This is ipython \S+, python 3\S+\.\]\n", said
    )
    assert "names the kernel" not in code.text("1", notebook="gone.ipynb"), "it is said once"
    # A kernel named by the user serves all.
    nvim.lua("require('claude-ide').setup({ notebook = { kernel = 'mine' } })")
    assert code.text(WHICH, notebook="another.ipynb") == "'mine'\n"
    nvim.lua("require('claude-ide').setup({ notebook = { kernel = 'nowhere' } })")
    refused = code("1")
    assert text(refused).startswith("The kernel cannot be started: there is no kernel named nowhere:")


def test_the_kernel_of_the_workspace_hears_what_is_signed_and_leaves_nothing_behind(start, connect):
    nvim = start({"other.ipynb": notebook("ir", "R")})
    code = Code(connect(nvim))
    a_notebook_of_a_language_that_is_not_there_gets_none(code)
    assert code.text("secret = 1\nIn[1]") == "'secret = 1\\nIn[1]'\n"
    what_is_not_signed_is_not_heard(code)
    images_are_drawn_by_snacks_where_it_is(nvim, code)
    nvim.cmd("Claude kernel stop")
    for file in (nvim.home / ".ipython").rglob("*.sqlite"):
        assert b"secret" not in file.read_bytes(), "the history of the user is not written"
    what_a_kernel_left_whose_keeper_was_killed_goes_when_the_next_begins(nvim, code)
    neovim_and_the_bridge_killed_together_leave_nothing_running(nvim, code)


def a_notebook_of_a_language_that_is_not_there_gets_none(code):
    refused = code("1", notebook="other.ipynb")
    assert failed(refused)
    assert text(refused) == (
        "The kernel cannot be started: the notebook is for the kernel ir (r), which is not installed: "
        "`jupyter kernelspec list` names those there are."
    )


def what_is_not_signed_is_not_heard(code):
    kernel = int(code.text("import os; os.getpid()"))
    file = Path(re.search(r"/\S+/kernel\.json", Path(f"/proc/{kernel}/cmdline").read_text().replace("\0", " "))[0])
    # To the kernel, from a process that can reach its sockets but lacks the key.
    client = BlockingKernelClient()
    client.load_connection_info({**json.loads(file.read_text()), "key": "guessed"})
    client.start_channels(iopub=False, stdin=False, hb=False, control=False)
    client.execute("forged = 1")
    client.stop_channels()
    # To us, forged as the kernel's.
    said = code.text(
        "kernel = get_ipython().kernel\n"
        "parts = kernel.session.serialize(kernel.session.msg('stream', {'name': 'stdout', 'text': 'forged'},"
        " parent=kernel.get_parent()), ident=b'stream')\n"
        "good = list(parts); parts[parts.index(b'<IDS|MSG>') + 1] = b'0' * 64\n"
        "socket = kernel.iopub_thread.socket\n"
        "kernel.iopub_thread.schedule(lambda: socket.send_multipart(parts))\n"
        "kernel.iopub_thread.schedule(lambda: socket.send_multipart(good))\n"
        "'forged' in globals()"
    )
    assert said.count("forged") == 1, "the same message with the right signature is heard"
    assert "False" in said


def images_are_drawn_by_snacks_where_it_is(nvim, code):
    # Like snacks.nvim: Snacks.image.doc.attach(buf), which looks at the buffer's treesitter language.
    nvim.lua("""
      package.loaded["snacks"] = {
        config = { image = { enabled = true } },
        image = { doc = { attach = function(buf) _G.attached = { buf, vim.treesitter.language.get_lang(vim.bo[buf].filetype) } end } },
      }
    """)
    code("from IPython.display import *; display(Image(data=b'\\x89PNG', format='png'))")
    nvim.cmd("Claude kernel log")
    assert nvim.lua("return attached") == [nvim.lua("return vim.api.nvim_get_current_buf()"), "markdown"]


def folder_of(kernel):
    """The folder of a kernel's key and sockets."""
    command = Path(f"/proc/{kernel}/cmdline").read_text().replace("\0", " ")
    return Path(re.search(r"/\S+/claude-ide-kernel-\w+", command)[0])


def keeper_of(folder):
    """The shell that removes the folder."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_text().split("\0")
            if command[0] == "/bin/sh" and str(folder) in command:
                return int(entry.name)
    raise AssertionError(f"nobody keeps {folder}")


def what_a_kernel_left_whose_keeper_was_killed_goes_when_the_next_begins(nvim, code):
    lives = folder_of(int(code.text("import os; os.getpid()", notebook="lives.ipynb")))
    code("'the kernel is new, which is said once'")
    kernel = int(code.text("import os; os.getpid()"))
    left, old = folder_of(kernel), lives.parent / "claude-ide-kernel-of-an-older-version"
    old.mkdir()
    (old / "kernel.json").touch()
    os.utime(old, (0, 0))
    for pid in (keeper_of(left), nvim.lua("return Ide.notebook.kernel().bridge.process.pid")):
        os.kill(pid, 9)
    nvim.terminal.wait(lambda: not alive(kernel), 2 * PATIENCE, "the kernel to end")
    nvim.wait("Ide.notebook.kernel().state == 'off'", what="Neovim to notice")
    assert (left / "kernel.json").exists()
    code("'another kernel'")
    assert not left.exists() and not old.exists()
    assert (lives / "kernel.json").exists() and code.text("1", notebook="lives.ipynb") == "1\n"


def neovim_and_the_bridge_killed_together_leave_nothing_running(nvim, code):
    code("'the kernel is new, which is said once'")
    child = int(code.text("import os, subprocess; subprocess.Popen(['sleep', '1000']).pid"))
    kernel = int(code.text("os.getpid()"))
    folder = folder_of(kernel)
    bridge = nvim.lua("return Ide.notebook.kernel().bridge.process.pid")
    code.begin("while True: pass")
    running(nvim)
    for pid in (nvim.server_pid, bridge):
        os.kill(pid, 9)
    nvim.terminal.wait(lambda: not any(map(alive, (bridge, kernel, child))), 2 * PATIENCE, "all processes to end")
    nvim.terminal.wait(lambda: not folder.exists(), 2 * PATIENCE, "the folder with the key to go")


def test_the_environment_that_is_active_comes_first_then_that_of_the_project(start_nvim, tmp_path):
    active, conda = python(tmp_path / "active"), python(tmp_path / "conda")
    nvim = start_nvim(opts=LOOK, env={"CONDA_PREFIX": str(tmp_path / "conda"), "CONDA_DEFAULT_ENV": "base"})
    project = str(nvim.project)

    def found():
        interpreter = nvim.lua(FIND, project)[0]
        return interpreter and [interpreter["path"], interpreter["from"]]

    assert found() == [str(conda), "$CONDA_PREFIX"]
    local = python(nvim.project / ".venv")
    assert found() == [str(local), ".venv"], "conda's base is active everywhere"
    nvim.lua("vim.env.CONDA_DEFAULT_ENV = 'mine'")
    assert found() == [str(conda), "$CONDA_PREFIX"]
    nvim.lua("vim.env.VIRTUAL_ENV = ...", str(tmp_path / "active"))
    assert found() == [str(active), "$VIRTUAL_ENV"]
    nvim.lua("require('claude-ide').setup({ notebook = { kernel = ... } })", str(local))
    assert found() == [str(local), "notebook.kernel"]
    nvim.lua("require('claude-ide').setup({ notebook = { kernel = 'julia-1.11' } })")
    assert nvim.lua(FIND, project)[0]["kernel"] == "julia-1.11"


def test_each_kind_of_environment_is_found_and_the_first_of_all_counts(start_nvim, tmp_path):
    """From the last to the first: each is found although those after it are there."""
    on_path = python(tmp_path / "path")
    on_path = on_path.rename(on_path.with_name("python3"))
    nvim = start_nvim(opts=LOOK, env={"PATH": f"{on_path.parent}:{os.environ['PATH']}"}, files={"pyproject.toml": ""})

    def assert_found(program, from_where):
        found = nvim.lua(FIND, str(nvim.project))[0]
        assert [found["path"], found["from"]] == [str(program), from_where]

    assert_found(on_path, "python3 on the PATH")
    for name in (".pixi/envs/default", "env", "venv", ".venv"):
        assert_found(python(nvim.project / name), name)
    for name in ("UV_PROJECT_ENVIRONMENT", "CONDA_PREFIX", "VIRTUAL_ENV"):
        program = python(tmp_path / name)
        nvim.lua("vim.fn.setenv(...)", name, str(tmp_path / name))
        nvim.lua("vim.env.CONDA_DEFAULT_ENV = 'mine'")
        assert_found(program, f"${name}")
