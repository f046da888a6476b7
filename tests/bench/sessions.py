"""Sessions through the facade: a folder of 2,000, a transcript of 100 MB, and a line appended to one."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from bench.editor import HEARTBEAT, Editor

SESSIONS, SESSION_BYTES = 2000, 1_000_000
ENDS = 64 * 1024
LARGE, HUGE = 100_000_000, 300_000_000

# Callbacks take the times: the wait polls rarely, to cost little.
LIST = """
local start = vim.uv.hrtime()
local took, count
Ide.sessions.list({}, function(summaries, err)
  took, count = (vim.uv.hrtime() - start) / 1e6, #assert(summaries, err)
end)
assert(vim.wait(60000, function() return took end, 20), "no list came")
return { took, count }
"""

# Shown: Neovim has the last rows and their messages. Whole: the whole file is indexed. Beside them, CPU time.
OPEN = """
local file = ...
local function worked()
  local usage = vim.uv.getrusage()
  return (usage.utime.sec + usage.stime.sec) * 1e3 + (usage.utime.usec + usage.stime.usec) / 1e3
end
local start, before = vim.uv.hrtime(), worked()
local shown, whole, transcript
local function ms() return (vim.uv.hrtime() - start) / 1e6 end
Ide.sessions.open(file, function(opened, err)
  transcript = assert(opened, err)
  local from = math.max(0, transcript:info().len - 50)
  transcript:rows(from, 50, function(rows)
    local ids = vim.tbl_map(function(row) return row.id end, rows)
    transcript:messages(ids, 4096, function() shown = shown or ms() end)
  end)
  whole = transcript:info().complete and ms() or nil
end, function()
  whole = transcript:info().complete and (whole or ms()) or nil
end)
assert(vim.wait(60000, function() return shown and whole end, 20), "it did not open")
transcript:close()
return { shown, whole, worked() - before }
"""

# Windows of 50 messages all over a transcript, like scrolling, while another one is indexed.
SCROLL = """
local file, other = ...
local sessions = Ide.sessions
local transcript, busy, worst, windows = nil, true, 0, 0
sessions.open(file, function(opened, err) transcript = assert(opened, err) end, function() end)
assert(vim.wait(60000, function() return transcript and transcript:info().complete end, 1), "it did not open")
local second
sessions.open(other, function(opened, err) second = assert(opened, err) end, function()
  busy = not second:info().complete
end)
while busy or windows < 5 do
  local from, start, got = (windows * 997) % (transcript:info().len - 50), vim.uv.hrtime(), nil
  transcript:rows(from, 50, function(rows)
    local ids = vim.tbl_map(function(row) return row.id end, rows)
    transcript:messages(ids, 4096, function() got = vim.uv.hrtime() end)
  end)
  assert(vim.wait(10000, function() return got end, 1), "no messages came")
  worst, windows = math.max(worst, (got - start) / 1e6), windows + 1
end
transcript:close()
second:close()
return worst
"""

FOLLOW = """
local file, lines = ...
local length, seen, transcript = 0, 0, nil
Ide.sessions.open(file, function(opened, err)
  transcript = assert(opened, err)
end, function() seen = vim.uv.hrtime() end)
assert(vim.wait(60000, function() return transcript end, 1), "it did not open")
local out, times = assert(io.open(file, "a")), {}
for _, line in ipairs(lines) do
  length = transcript:info().len
  local start = vim.uv.hrtime()
  out:write(line)
  out:flush()
  assert(vim.wait(10000, function() return transcript:info().len > length end, 1), "the line was not seen")
  times[#times + 1] = (seen - start) / 1e6
end
out:close()
transcript:close()
table.sort(times)
return { times[math.ceil(#times / 2)], times[#times] }
"""

# CPU time of all threads for lines appended one by one, each noticed before the next.
ADDED = """
local file, lines, agents = ...
local function worked()
  local usage = vim.uv.getrusage()
  return (usage.utime.sec + usage.stime.sec) * 1e3 + (usage.utime.usec + usage.stime.usec) / 1e3
end
local length, transcript, on_change = 0, nil, nil
Ide.sessions.open(file, function(opened, err)
  transcript = assert(opened, err)
end, function() if on_change then on_change() end end)
assert(vim.wait(60000, function()
  return transcript and transcript:info().complete and #transcript:info().agents == agents
end, 20), "it did not open")
local out, done = assert(io.open(file, "a")), nil
local before, next_one = worked(), 0
function on_change()
  if transcript:info().len <= length then return end
  length, next_one = transcript:info().len, next_one + 1
  if not lines[next_one] then
    done = worked() - before
    return
  end
  out:write(lines[next_one])
  out:flush()
end
on_change()
assert(vim.wait(60000, function() return done end, 100), "a line was not seen")
out:close()
transcript:close()
return done / #lines
"""
AGENTS = 2000

CODE = 'fn main() {\\n    let answer = \\"forty-two\\";\\n    println!(\\"{answer}\\");\\n}\\n\\n'
PROSE = "The handler reads the frame, checks its length against the limit, and only then decodes it. "
LINE = (
    '{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","uuid":"00000000-0000-4000-8000-{number:012d}",'
    '"timestamp":"2026-11-21T10:00:00.000Z","cwd":"{cwd}","sessionId":"{session}","gitBranch":"main",{rest}}}\n'
)


def lines(cwd: Path, session: str) -> Iterator[str]:
    """Turns of an endless conversation: a prompt, then tool calls with their results."""
    number = 0

    def line(kind: str, rest: str) -> str:
        nonlocal number
        parent = f'"00000000-0000-4000-8000-{number:012d}"' if number else "null"
        number += 1
        return LINE.format(parent=parent, kind=kind, number=number, cwd=cwd, session=session, rest=rest)

    turn = 0
    while True:
        turn += 1
        yield line("user", f'"message":{{"role":"user","content":"Please do step {turn}. {PROSE}"}}')
        for step in range(6):
            head = f'"id":"msg_{turn}_{step}","role":"assistant","model":"claude-test-1","usage":{{"output_tokens":20}}'
            thinking = f'{{"type":"thinking","thinking":"{PROSE * 4}"}}'
            yield line("assistant", f'"message":{{{head},"content":[{thinking}]}}')
            edit = f'{{"file_path":"{cwd}/a.rs","old_string":"{CODE}","new_string":"{CODE}"}}'
            call = f'{{"type":"tool_use","id":"toolu_{turn}_{step}","name":"Edit","input":{edit}}}'
            yield line("assistant", f'"message":{{{head},"content":[{call}]}}')
            result = f'{{"tool_use_id":"toolu_{turn}_{step}","type":"tool_result","content":"{CODE * 2}"}}'
            outcome = f'{{"filePath":"{cwd}/a.rs","originalFile":"{CODE * 20}","structuredPatch":[]}}'
            yield line("user", f'"message":{{"role":"user","content":[{result}]}},"toolUseResult":{outcome}')


def prompt(cwd: Path, session: str, number: int) -> str:
    """A prompt whose parent is the prompt before it; without one, the last line."""
    parent, rest = f'"00000000-0000-4000-8000-{number - 1:012d}"', f'"message":{{"role":"user","content":"{PROSE}"}}'
    return LINE.format(parent=parent, kind="user", number=number, cwd=cwd, session=session, rest=rest)


def write(file: Path, cwd: Path, size: int) -> Path:
    with file.open("w") as out:
        written = 0
        for line in lines(cwd, file.stem):
            written += out.write(line)
            if written >= size:
                return file
    return file


def write_many(folder: Path, cwd: Path) -> None:
    """Sessions whose middle is a hole: a list reads only their ends, so the disk need not hold the rest."""
    sample = write(folder / "sample", cwd, 2 * ENDS).read_text()
    (folder / "sample").unlink()
    head, tail = sample[:ENDS].rsplit("\n", 1)[0] + "\n", sample[-ENDS:].split("\n", 1)[1]
    for number in range(SESSIONS):
        name = f"session-{number}"
        with (folder / f"{name}.jsonl").open("w") as out:
            out.write(head.replace('"sessionId":"sample"', f'"sessionId":"{name}"'))
            out.seek(SESSION_BYTES - len(tail))
            out.write("\n" + tail)


def with_agents(folder: Path, cwd: Path, name: str, count: int) -> Path:
    """A session with `count` subagents, which ended long ago."""
    agents = folder / name / "subagents"
    agents.mkdir(parents=True)
    for number in range(count):
        file = agents / f"agent-{number:04d}.jsonl"
        file.write_text(LINE.format(parent="null", kind="user", number=1, cwd=cwd, session=name, rest='"isMeta":false'))
        (agents / f"agent-{number:04d}.meta.json").write_text('{"agentType":"Explore","description":"Look"}')
        os.utime(file, (1.7e9, 1.7e9))
    return write(folder / f"{name}.jsonl", cwd, 100_000)


def measure(directory: Path, version: str, runs: int) -> Iterator[tuple[str, float, float, str]]:
    """Rows: name, figure, limit, unit; a negative limit is a minimum."""
    with Editor(directory, version, start=False) as nvim:
        project = Path(nvim.path("."))
        claude = directory / "home" / ".claude" / "projects"
        folder = claude / re.sub(r"[^a-zA-Z0-9]", "-", str(project.resolve()))
        folder.mkdir(parents=True)
        write_many(folder, project)
        first, count = nvim.lua(LIST)
        assert count == SESSIONS, count
        yield f"list of {SESSIONS:,} sessions, 2 GB, first time", first, 2000, "ms"
        yield "the same again", min(nvim.lua(LIST)[0] for _ in range(runs)), 200, "ms"

        elsewhere = claude / "elsewhere"
        elsewhere.mkdir()
        large, huge = write(elsewhere / "large.jsonl", project, LARGE), write(elsewhere / "huge.jsonl", project, HUGE)
        nvim.lua(HEARTBEAT)
        opened = [nvim.lua(OPEN, str(large)) for _ in range(runs)]
        freeze = nvim.lua("return bench_longest / 1e6")
        yield "open a transcript of 100 MB: its end is there", min(shown for shown, _, _ in opened), 300, "ms"
        yield "open a transcript of 100 MB: all of it is known", min(whole for _, whole, _ in opened), 500, "ms"
        yield "open a transcript of 100 MB: longest freeze", freeze, 30, "ms"
        worked = min(nvim.lua(OPEN, str(huge))[2] for _ in range(runs))
        yield "index of a transcript of 300 MB, on one processor", HUGE / 1e3 / worked, -300, "MB/s"
        scroll = min(nvim.lua(SCROLL, str(large), str(huge)) for _ in range(runs))
        yield "50 messages anywhere, while another is indexed, worst", scroll, 30, "ms"

        short = write(elsewhere / "short.jsonl", project, 100_000)
        added = [prompt(project, "short", 1_000_000 + number) for number in range(100)]
        median, worst = nvim.lua(FOLLOW, str(short), added)
        yield "a new line of a transcript is seen, median of 100", median, 20, "ms"
        yield "a new line of a transcript is seen, the last of 100", worst, 100, "ms"

        alone, beside = (
            with_agents(elsewhere, project, name, count) for name, count in (("alone", 0), ("beside", AGENTS))
        )
        worked, without = [], []
        for run in range(1, runs + 1):
            added = [prompt(project, "beside", 1_000_000 * run + number) for number in range(50)]
            worked.append(nvim.lua(ADDED, str(beside), added, AGENTS))
            without.append(nvim.lua(ADDED, str(alone), added, 0))
        yield f"work for a new line beside {AGENTS:,} agent files", min(worked), 1, "ms"
        yield "the same, more than beside none", max(0.0, min(worked) - min(without)), 0.5, "ms"
