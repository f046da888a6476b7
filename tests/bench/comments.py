"""Comments: how long it takes to place and draw many in a file, and what they cost a key."""

import statistics
from pathlib import Path

from .editor import Editor

LINES, THREADS, KEYS = 10_000, 500, 60

_ADD = """
local store, count, lines = Ide.comments_store, ...
local root, text = store.root_of(), table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n") .. "\\n"
for number = 1, count do
  local line = math.floor(number * lines / (count + 1))
  local add = { by = "user", words = "comment " .. number, path = "a.lua", lines = { first = line, count = 2 } }
  assert(store.change(root, { add = add }, text))
end
Ide.comments.attach()
"""

_DRAW = """
local marks, times = Ide.comments_marks, {}
for number = 1, 20 do
  vim.api.nvim_buf_set_lines(0, 5000, 5000, false, { "-- " .. number })
  local began = vim.uv.hrtime()
  marks.draw(vim.api.nvim_get_current_buf())
  vim.cmd.redraw()
  times[number] = (vim.uv.hrtime() - began) / 1e6
end
return times
"""


_KEYS = """
local times = {}
for number = 1, ... do
  local began = vim.uv.hrtime()
  vim.cmd("normal! 20j")
  vim.cmd.redraw()
  times[number] = (vim.uv.hrtime() - began) / 1e6
end
return times
"""


def milliseconds(directory: Path, version: str) -> tuple[float, float]:
    """Placing and drawing after a change, and what they add to a key that goes to another line; medians."""
    text = "".join(f"local line_{number} = {number}\n" for number in range(1, LINES + 1))
    with Editor(directory, version, files={"a.lua": text}) as nvim:
        nvim.edit("a.lua")
        nvim.settle()
        before = nvim.lua(_KEYS, KEYS)
        nvim.lua(_ADD, THREADS, LINES)
        nvim.settle()
        drawn = nvim.lua(_DRAW)
        nvim.lua("vim.cmd('1')")
        with_them = nvim.lua(_KEYS, KEYS)
        return statistics.median(drawn), statistics.median(with_them) - statistics.median(before)
