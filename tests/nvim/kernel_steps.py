"""Steps of the kernel tests: run code as a client, inspect processes, fake environments."""

from pathlib import Path

from harness import PATIENCE
from harness.nvim import ROOT

ENVIRONMENT = ROOT / ".deps" / "venv"
LOOK = {"notebook": {}}
KERNEL = "Ide.notebook.list()[1]"


class Code:
    """A client that runs code."""

    def __init__(self, client):
        self.client = client

    def begin(self, code, **args):
        return self.client.start_call("executeCode", code=code, **args)

    def end(self, request):
        return self.client.result(request, timeout=4 * PATIENCE)

    def __call__(self, code, **args):
        return self.end(self.begin(code, **args))

    def text(self, code, **args):
        return text(self(code, **args))


def text(result):
    return "".join(item["text"] for item in result["content"] if item["type"] == "text")


def failed(result):
    return result.get("isError", False)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def running(nvim):
    nvim.wait(f"{KERNEL} and {KERNEL}.state == 'busy'", 4 * PATIENCE, what="code to run")


def python(folder: Path, has=("ipykernel", "jupyter_client")):
    """An environment whose Python claims to have these packages."""
    program = folder / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 3.12.1 {' '.join(has)}\n")
    program.chmod(0o755)
    return program


FIND = """
local result
Ide.notebook_interpreter.find(..., function(found, missing) result = { found or false, missing or false } end)
vim.wait(120000, function() return result ~= nil end, 5)
return result
"""
