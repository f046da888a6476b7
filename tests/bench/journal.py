"""The cost of the journal of turns: keeping a file's bytes before an edit, and checkpoints of a large repository."""

import subprocess
from pathlib import Path

from bench.editor import Editor

LINES = "".join(f"    some line of code, number {number}\n" for number in range(50_000))

# As getDiagnostics calls it.
BEFORE_EDIT = """
local journal = Ide.journal
local client = Ide.server.clients()[1].id
local times = {}
for i, path in ipairs(...) do
  collectgarbage()
  local began = vim.uv.hrtime()
  journal.before_edit(client, path)
  times[i] = (vim.uv.hrtime() - began) / 1e6
end
journal.edits_over(client)
return times
"""

# One turn of the CLI in acceptEdits: each edit is announced, written, noticed, and counted for the statusline.
MANY_EDITS = """
local paths = ...
local journal = Ide.journal
local client = Ide.server.clients()[1].id
local sums, quarter = {}, #paths / 4
journal.turn_started(client, {})
for i, path in ipairs(paths) do
  local began, at = vim.uv.hrtime(), math.ceil(i / quarter)
  journal.before_edit(client, path)
  local spent = vim.uv.hrtime() - began
  local file = assert(io.open(path, "w"))
  file:write(("line of edit %d\\n"):format(i):rep(20))
  file:close()
  began = vim.uv.hrtime()
  Ide.journal_observe.look_now(Ide.journal_store.find(path))
  journal.counts()
  sums[at] = (sums[at] or 0) + spent + vim.uv.hrtime() - began
end
journal.edits_over(client)
return { sums[1] / 1e6, sums[4] / 1e6 }
"""
EDITS = 400

COUNT_CHECKPOINTS = """
bench_taken = 0
local checkpoints = Ide.checkpoints
local take = checkpoints.take
checkpoints.take = function(folder, is_first, done, since)
  take(folder, is_first, function(found)
    assert(found, "no checkpoint")
    done(found)
    bench_taken = bench_taken + 1
  end, since)
end
"""


def before_edit_ms(directory: Path, version: str) -> tuple[float, float]:
    """How long the first announced edit of a session, and later ones, wait for the journal: 5,000 and 50,000 lines."""
    files = {"first.txt": LINES[: len(LINES) // 10]} | {f"{number}.txt": LINES for number in range(10)}
    with Editor(directory, version, files=files) as nvim, nvim.connected():
        nvim.settle()
        times = nvim.lua(BEFORE_EDIT, [nvim.path(name) for name in files])
        return times[0], sorted(times[1:])[len(times) // 2]


def many_edits_ms(directory: Path, version: str, files: int) -> tuple[float, float]:
    """The time of the first and the last hundred of a turn's 400 edits, spread over `files` files."""
    names = [f"{number}.txt" for number in range(files)]
    with Editor(directory, version, files=dict.fromkeys(names, LINES[:1000])) as nvim, nvim.connected():
        nvim.settle()
        first, last = nvim.lua(MANY_EDITS, [nvim.path(names[edit % files]) for edit in range(EDITS)])
        return first, last


def large_repository(folder: Path, files: int = 50_000) -> None:
    """Small files, a hundred in a folder, committed."""
    for outer in range(files // 100):
        place = folder / f"src{outer}"
        place.mkdir(parents=True)
        for inner in range(100):
            (place / f"file{inner}.txt").write_text(f"{outer} {inner}\nsome text\n")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], cwd=folder, check=True)


def checkpoint_freezes_ms(directory: Path, version: str) -> tuple[float, float, float]:
    """The longest freeze while idle, during the checkpoint of a first turn, and during a turn that changes files by a
    shell command.
    """
    large_repository(directory / "project")
    with Editor(directory, version) as nvim, nvim.connected() as client:
        nvim.lua(COUNT_CHECKPOINTS)
        nvim.start_heartbeat()
        nvim.lua("vim.wait(1000)")
        idle = nvim.longest_freeze_ms()

        def freeze_of(tool: str, checkpoints: int) -> float:
            nvim.lua("bench_longest = 0")
            client.call(tool)
            nvim.wait(f"bench_taken == {checkpoints}", 120)
            return nvim.longest_freeze_ms()

        first = freeze_of("closeAllDiffTabs", 1)
        nvim.lua("bench_longest = 0")
        subprocess.run("sed -i s/some/SOME/ src7/*.txt", shell=True, cwd=directory / "project", check=True)
        client.call("getDiagnostics")
        nvim.wait("#Ide.journal.changes() == 100", 120)
        return idle, first, nvim.longest_freeze_ms()
