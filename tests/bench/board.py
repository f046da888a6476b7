"""The board: redraws with 200 sessions, a start with 20 running ones, and what a session costs."""

import json
from collections.abc import Iterator
from pathlib import Path

from nvim.session_files import Sessions

from bench.editor import HEARTBEAT, Editor

SESSIONS, RUNNING, REDRAWS = 200, 20, 10

OPEN = """
local rows = ...
local start = vim.uv.hrtime()
local canvas = Ide.board_canvas
local show, took = canvas.show, nil
canvas.show = function(self, shown, ...)
  show(self, shown, ...)
  took = took or #shown == rows and (vim.uv.hrtime() - start) / 1e6 or nil
end
vim.cmd("Claude board")
assert(vim.wait(20000, function() return took end, 2), "there is no board")
canvas.show = show
return took
"""

# The longest time in which Neovim handled no key, while each answer changes every line, or one.
REDRAW = """
local all, file, line, redraws = ...
local transport, board = Ide.sessions_transport, Ide.board
local request, count = transport.request, 0
transport.request = function(what, listener)
  if all then
    what.board.options.screen.width = count % 2 == 0 and 100 or 120
  end
  local reply = listener.reply
  listener.reply = function(...)
    reply(...)
    count = count + 1
  end
  return request(what, listener)
end
bench_longest = 0
for turn = 1, redraws do
  if not all then
    vim.fn.writefile({ (line:gsub("NUMBER", turn)) }, file, "a")
  end
  board.refresh()
  assert(vim.wait(20000, function() return count >= turn end, 1), "the board was not drawn")
end
transport.request = request
return bench_longest / 1e6
"""

SAID = {"type": "assistant", "message": {"id": "mNUMBER", "content": [{"type": "text", "text": "and NUMBER more"}]}}


def write(sessions: Sessions, project: Path) -> Path:
    """Sessions of some turns each; returns the file of a running one."""
    for number in range(SESSIONS):
        turns = [(f"prompt {turn}", f"what was said in turn {turn} " * 20) for turn in range(30)]
        session = sessions.write(project, *turns, title=f"Session {number} of many", tokens=40_000)
        if number < RUNNING:
            sessions.record(sessions.sleeper(), session, "busy", project, startedAt=1_000 + number)
            running = sessions.path(project, session)
    return running


def measure(directory: Path, version: str, runs: int) -> Iterator[tuple[str, float, float, str]]:
    """Rows: name, figure, limit, unit."""
    sessions = Sessions(directory / "home")
    running, started, all_lines, one_line, memory = None, [], [], [], []
    try:
        for _ in range(runs):
            with Editor(directory, version, start=False) as nvim:
                project = Path(nvim.path("."))
                running = running or write(sessions, project)
                before = nvim.private_kib()
                started.append(nvim.lua(OPEN, SESSIONS))
                memory.append((nvim.private_kib() - before) / SESSIONS)
                nvim.lua(HEARTBEAT)
                all_lines.append(nvim.lua(REDRAW, True, "", "", REDRAWS))
                one_line.append(nvim.lua(REDRAW, False, str(running), json.dumps(SAID), REDRAWS))
    finally:
        sessions.close()
    yield f"board of {SESSIONS} sessions, {RUNNING} at work, from the command on", min(started), 1000, "ms"
    yield f"board of {SESSIONS} sessions: a redraw of all lines, freeze", min(all_lines), 16, "ms"
    yield f"board of {SESSIONS} sessions: a redraw of one line, freeze", min(one_line), 16, "ms"
    yield "memory of Neovim for a session on the board", min(memory), 40, "KiB"
