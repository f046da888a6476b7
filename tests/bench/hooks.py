"""What the commands of our hooks cost, as the CLI runs them: by a shell, with the call as JSON. The CLI's own time is not in it."""

import json
import subprocess
import time

from . import editor

SETTINGS = """
local hooks = select(2, Ide.hooks.of({ "claude" }, {}, vim.fn.getcwd()))
return table.concat(vim.fn.readfile(hooks[1]:match("=(.*)")), "\\n")
"""
NOTES = "#Ide.hook_folder.texts() >= 1"
CALLS = 200


def call_ms(directory, version) -> dict[str, tuple[float, float]]:
    """p50 and p95 of what both hooks of a call add to two shells that only read it, while Neovim is busy.

    For any file, and for one with unsaved changes. Starting a shell is most of the time, and the machine's own.
    """
    opts = {"context": {"saved": True}}
    with editor.Editor(directory, version, files={"a.txt": "one\n", "b.txt": "one\n"}, opts=opts) as nvim:
        hooks = json.loads(nvim.lua(SETTINGS))["hooks"]
        nvim.edit("a.txt")
        nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'unsaved' })")
        nvim.wait(NOTES, 10)
        times = {}
        for name, file in (("any file", "b.txt"), ("a file with unsaved changes", "a.txt")):
            arguments = {"file_path": nvim.path(file), "old_string": "one", "new_string": "x" * 4000}
            call = json.dumps({"tool_name": "Edit", "tool_input": arguments}, separators=(",", ":")) + "\n"
            nvim.busy_for(2000)
            commands = [hooks[event][0]["hooks"][0]["command"] for event in ("PreToolUse", "PostToolBatch")]
            took = []
            for _ in range(CALLS):
                (plain, _), (ours, said) = both(["read -r call"] * 2, call), both(commands, call)
                took.append(ours - plain)
                assert ("+unsaved" in said) == (file == "a.txt")
            took.sort()
            times[name] = took[CALLS // 2], took[CALLS * 95 // 100]
        return times


def both(commands, call) -> tuple[float, str]:
    """The milliseconds that the commands take with the call as input, and what they print."""
    began, said = time.perf_counter(), ""
    for command in commands:
        said += subprocess.run(["/bin/sh", "-c", command], input=call, capture_output=True, text=True).stdout
    return 1000 * (time.perf_counter() - began), said
