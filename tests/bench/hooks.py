"""What the commands of our hooks cost, as the CLI runs them: by a shell, with the call as JSON. The CLI's own time is not in it."""

import json
import subprocess
import time

from . import editor

SETTINGS = """
local hooks = select(2, require("claude-ide.terminal.hooks").of({ "claude" }, {}, vim.fn.getcwd()))
return table.concat(vim.fn.readfile(hooks[1]:match("=(.*)")), "\\n")
"""
NOTES = "#require('claude-ide.terminal.hook_folder').texts() >= 1"
CALLS = 200


def call_ms(directory, version) -> dict[str, list[float]]:
    """The times of both hooks of a call, in order: of any file, and of one with unsaved changes; while Neovim is busy."""
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
            took = []
            for _ in range(CALLS):
                began, said = time.perf_counter(), ""
                for event in ("PreToolUse", "PostToolBatch"):
                    command = hooks[event][0]["hooks"][0]["command"]
                    said += subprocess.run(
                        ["/bin/sh", "-c", command], input=call, capture_output=True, text=True
                    ).stdout
                took.append(1000 * (time.perf_counter() - began))
                assert ("+unsaved" in said) == (file == "a.txt")
            times[name] = sorted(took)
        return times
