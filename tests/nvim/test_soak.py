"""One Neovim that works all day: CLIs, diffs, turns, chats, sessions and the page in an order that a seed decides.

`--soak MINUTES` goes on for so long (`make soak`). What holds throughout: one answer to each proposal, no typed byte lost, no trace,
windows and buffers return, no file descriptor, thread or process is left, no table of ours grows with what happens, the main loop
computes no 50 ms at a stretch (with `--soak` not once, else not as a rule), and memory does not grow. Random keys over every screen
are `test_random_keys.py`.

Memory is what is allocated in C, Rust and Lua, after the first ten minutes, in bytes a round: at full pace there are 3,500 rounds an
hour, so that 2 MiB an hour are 600 bytes a round. Neovim itself keeps 290 to 450 bytes of each window with `winhighlight` that is closed: a
control without the plugin opens as many. Both are looked at 20 times, and what grew between two looks counts by its median, since
Neovim's tables double, in each of the two at another look. What Neovim keeps for the user, 1,000 steps of undo a buffer, is set to a few.
"""

import os
import random
import statistics
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import acp_steps
import pytest
from chat_steps import wait_idle, wait_text
from review_steps import A_CLAUDE, A, B, Turn, waiting
from test_random_keys import TRACE
from transcript_steps import wait_rendered

from harness.nvim import COLLECT
from harness.site import Site

SETTLED_S, LOOKS, GROWTH_A_ROUND = 600, 20, 600
ENOUGH_ROUNDS = 100
FREEZE_MS = 50
MOST_TYPED = 50

WATCH = """
local ffi = require("ffi")
ffi.cdef("struct soak_time { long s; long ns; }; int clock_gettime(int, struct soak_time *);")
local at, before = ffi.new("struct soak_time"), 0
-- Of this thread alone, in what it computes: another program that has the processor makes no freeze.
local function computed()
  ffi.C.clock_gettime(3, at)
  return tonumber(at.s) * 1000 + tonumber(at.ns) / 1e6
end
frozen = 0
vim.uv.new_timer():start(0, 5, function()
  local now = computed()
  if before > 0 then frozen = math.max(frozen, now - before) end
  before = now
end)
"""
OURS = """
local found = {}
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.b[buf].claude_ide then found[#found + 1] = vim.b[buf].claude_ide.kind .. " " .. vim.api.nvim_buf_get_name(buf) end
end
return { found, #vim.api.nvim_list_wins(), #vim.api.nvim_list_tabpages() }
"""


# Entries of each table that our modules reach, autocommands and groups by name, and references by what they hold: as many after a day.
KEPT = r"""
COLLECT
local seen, kept, queue, head, tail = {}, {}, {}, 1, 0
paths = paths or setmetatable({}, { __mode = "k" }) -- a table that is reached by another way later keeps its name
local function push(value, path)
  if (type(value) == "table" or type(value) == "function") and not seen[value] then
    tail = tail + 1 -- `#` counts at will once the head is gone
    seen[value], queue[tail] = true, { value, path }
  end
end
local function count(name, more) kept[name] = (kept[name] or 0) + more end
seen[_G], seen[package.loaded], seen[vim], seen[paths] = true, true, true, true
for name, module in pairs(package.loaded) do if name:find("^claude%-ide") then push(module, name) end end
while queue[head] do
  local value, path = unpack(queue[head])
  queue[head], head = nil, head + 1
  if type(value) == "table" then
    path = paths[value] or path
    paths[value] = path
    for key, inner in next, value do
      count(path, 1)
      push(key, path .. ".key")
      push(inner, path .. "." .. (type(key) == "string" and key:match("^%a[%w_]*$") or "[]"))
    end
    push(debug.getmetatable(value), path .. ".meta")
  else
    for up = 1, math.huge do
      local name, inner = debug.getupvalue(value, up)
      if not name then break end
      push(inner, path:gsub("%.[%w_]+$", "") .. "^" .. name) -- functions of a module share it
    end
  end
end
for _, group in ipairs(vim.fn.getcompletion("", "augroup")) do
  if group ~= "--Deleted--" then count("group " .. group:gsub("%d+", "#"), 1) end -- those have no memory
end
for _, autocmd in ipairs(vim.api.nvim_get_autocmds({})) do count("autocommands of " .. (autocmd.group_name or "none"):gsub("%d+", "#"), 1) end
for key, value in pairs(debug.getregistry()) do
  local what = type(value) == "function" and debug.getinfo(value, "S").short_src or type(value)
  if type(key) == "number" and what ~= "number" then count("references to " .. what, 1) end -- a number is a free place
end
return kept
""".replace("COLLECT", COLLECT)
# Bytes that are allocated, without compiled code of Lua: that comes and goes.
ALLOCATED = """
local ffi = require("ffi")
pcall(ffi.cdef, "struct soak_heap { size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, used, free, keepcost; };"
  .. "struct soak_heap mallinfo2(void);")
COLLECT
local heap = ffi.C.mallinfo2()
return tonumber(heap.used) + tonumber(heap.hblkhd) + collectgarbage("count") * 1024
""".replace("COLLECT", COLLECT)
WORK = """
work = { edits = 0, windows = {} }
vim.api.nvim_create_autocmd("BufReadPost", { callback = function() work.edits = work.edits + 1 end })
vim.api.nvim_create_autocmd("WinClosed", { callback = function(event)
  local colours = vim.wo[tonumber(event.match)].winhighlight
  work.windows[colours] = (work.windows[colours] or 0) + 1
end })
"""
# The work of the soak until each look, by a Neovim without the plugin: the bytes that it has allocated then.
CONTROL = """
vim.go.undolevels = 5
vim.cmd("edit a.txt")
local function allocated() ALLOCATED end
local before, bytes = { windows = {}, edits = 0 }, {}
for look, done in ipairs(...) do
  for colours, times in pairs(done.windows) do
    for _ = 1, times - (before.windows[colours] or 0) do
      vim.cmd("new")
      vim.wo.winhighlight = colours
      vim.cmd("redraw | bwipeout!")
    end
  end
  for _ = 1, done.edits - before.edits do vim.cmd("silent edit") end
  before, bytes[look] = done, allocated()
end
return bytes
""".replace("ALLOCATED", ALLOCATED)


def growth(bytes_, rounds):
    """Bytes a round, of what was allocated after so many rounds each."""
    return statistics.median(
        (after - before) / (until - since)
        for (before, after), (since, until) in zip(pairwise(bytes_), pairwise(rounds), strict=True)
    )


class Day:
    """What happens to it."""

    def __init__(self, start_nvim, tmp_path, sessions, connect, seed):
        self.random, self.connect, self.typed = random.Random(seed), connect, []
        self.frozen = defaultdict(list)  # by kind of work, the longest stretch of each
        opts = {"agents": {"robot": acp_steps.scripted(tmp_path)}, "web": {"port": 0}}
        self.nvim = start_nvim(
            args=["-n", "a.txt"],
            files={"a.txt": A, "b.txt": B, "mine.txt": ""},
            opts=opts,
            notices=True,
            reads_ahead=True,
        )
        self.session = sessions.write(
            self.nvim.project,
            *[(f"Do {number}", [{"type": "text", "text": "# Yes\n\n```lua\nprint(1)\n```\n"}]) for number in range(20)],
            title="A session",
        )
        self.client = connect(self.nvim)
        self.nvim.cmd("Claude serve")
        self.nvim.wait("Ide.web.info() ~= nil", what="the page")
        self.site = Site(self.nvim)
        self.nvim.keys_count()
        self.nvim.lua(WORK + "vim.go.undolevels = 5")

    def diff(self):
        nvim, contents = self.nvim, f"{self.random.random()}\n"
        path = str(nvim.project / "b.txt")
        asked = self.client.start_call("openDiff", old_file_path=path, new_file_contents=contents, tab_name="t")
        nvim.wait("local list = Ide.proposal.list() return #list == 1 and list[1].seen", what="a diff")
        accepted = self.random.random() < 0.5
        nvim.notify("vim.cmd(...)", "Claude accept" if accepted else "Claude reject no")
        answer = self.client.call_result(asked)
        assert answer[0] == ("FILE_SAVED" if accepted else "DIFF_REJECTED"), answer
        if accepted:
            Path(path).write_text(answer[1])
        nvim.wait("Ide.proposal.count() == 0")

    def turn(self):
        nvim, turn = self.nvim, Turn(self.nvim, self.client)
        turn.edit("a.txt", A_CLAUDE)
        turn.end("a.txt")
        nvim.answer(1)
        nvim.notify("vim.cmd('Claude undo')")
        nvim.wait(lambda: (nvim.project / "a.txt").read_text() == A and not waiting(nvim), what="the undo")

    def cli(self):
        other = self.connect(self.nvim)
        for _ in range(20):
            other.call("getOpenEditors")
        withdrawn = self.random.random() < 0.5
        if withdrawn:
            path = str(self.nvim.project / "c.txt")
            other.start_call("openDiff", old_file_path=path, new_file_contents="x\n", tab_name="u")
            self.nvim.wait("Ide.proposal.count() == 1")
        other.drop()
        self.nvim.wait("Ide.proposal.count() == 0 and #Ide.server.clients() == 1")

    def chat(self):
        words = f"word{self.random.randrange(10**6)}"
        self.nvim.cmd("Claude chat --agent robot")
        self.nvim.wait("Ide.chat.current() ~= nil", what="the chat")
        wait_idle(self.nvim)
        self.nvim.lua("local chats = Ide.chat chats.say(chats.current(), ...)", f"SAY # {words}\n\n- one")
        wait_text(self.nvim, words)
        wait_idle(self.nvim)
        self.nvim.cmd("Claude chat close")
        self.nvim.wait("Ide.chat.current() == nil", what="the chat to be closed")

    def transcript(self):
        self.nvim.cmd(f"Claude transcript {self.session}")
        wait_rendered(self.nvim)
        self.nvim.cmd("bwipeout!")

    def page(self):
        assert self.site.get("/api/claude/sessions")["sessions"]
        with self.site.read(self.session) as reader:
            reader.until({"type": "caught_up"})

    def type(self):
        self.nvim.cmd("edit mine.txt")
        if len(self.typed) == MOST_TYPED:
            self.typed = []
            self.nvim.cmd("silent 2,$delete _ | silent write")
        line = f"typed {len(self.typed)}"
        self.typed.append(line)
        self.nvim.keys(f"Go{line}<Esc>:w<CR>")
        self.nvim.wait(lambda: (self.nvim.project / "mine.txt").read_text().split("\n")[1:-1] == self.typed)
        self.nvim.cmd("edit a.txt")

    def return_(self):
        """To one window with a file; nothing of it is left."""
        self.nvim.lua("vim.cmd('tab drop a.txt') vim.cmd('silent! tabonly!') vim.cmd('silent! only!')")
        self.nvim.wait(lambda: self.nvim.lua(OURS) == [[], 1, 1], what="windows and buffers to return", timeout=20)
        assert not (found := self.nvim.lua(TRACE)), found
        notices = self.nvim.lua("local said = notices notices = {} return said")
        assert not any("stack traceback" in text for text in notices), notices

    def held(self):
        """Descriptors, threads and children of Neovim."""
        proc = Path(f"/proc/{self.nvim.server_pid}")
        children = (proc / f"task/{self.nvim.server_pid}/children").read_text().split()
        return [len(os.listdir(proc / "fd")), len(os.listdir(proc / "task")), len(children)]

    def look(self):
        """Bytes allocated, and what Neovim itself has done so far."""
        return self.nvim.lua(ALLOCATED), self.nvim.lua("return work")

    def goes(self, what):
        what()
        self.return_()
        longest = self.nvim.lua("local longest = frozen frozen = 0 return longest or vim.NIL")
        self.frozen[what.__name__].append(longest)


@pytest.mark.slow
@pytest.mark.timeout(0)  # --soak says how long
def test_a_neovim_that_works_all_day_answers_once_and_keeps_nothing(start_nvim, tmp_path, sessions, connect, request):
    minutes = request.config.getoption("--soak") or 0.25
    seed = request.config.getoption("--seed") or 1
    print("seed", seed)
    day = Day(start_nvim, tmp_path, sessions, connect, seed)
    happens = [day.diff, day.turn, day.cli, day.chat, day.transcript, day.page, day.type]
    for what in happens * 6:  # what is loaded or made once, and kept
        day.goes(what)
    day.nvim.lua(WATCH)
    day.frozen.clear()
    before, kept, began, rounds, looks = day.held(), day.nvim.lua(KEPT), time.monotonic(), 0, []
    settled = min(SETTLED_S, minutes * 30)
    while (passed := time.monotonic() - began) < minutes * 60:
        for what in day.random.sample(happens, len(happens)):
            day.goes(what)
        rounds += 1
        if passed > settled + len(looks) * (minutes * 60 - settled) / LOOKS:
            looks.append((rounds, *day.look()))
    day.nvim.wait(lambda: all(map(int.__le__, day.held(), before)), what=f"no more than {before}, is {day.held()}")
    day.nvim.keys("<Esc>")  # what waits for the next key goes
    grown = lambda: {what: n for what, n in day.nvim.lua(KEPT).items() if n - kept.get(what, 0) > max(4, rounds / 3)}  # noqa: E731
    day.nvim.wait(lambda: not grown(), what=f"nothing to be kept after {rounds} rounds, is {grown()}")
    log = day.nvim.log()
    assert "stack traceback" not in log, log[-3000:]
    assert "panicked" not in log, log[-3000:]
    # On a busy machine, caches that other programs have emptied now and then double what one piece of work computes.
    judge = max if request.config.getoption("--soak") else statistics.median
    frozen = {what: judge(times) for what, times in day.frozen.items()}
    print(f"{rounds} rounds, ms at a stretch:", {what: round(time) for what, time in frozen.items()})
    assert max(frozen.values()) <= FREEZE_MS, frozen
    if looks and looks[-1][0] - looks[0][0] >= ENOUGH_ROUNDS:
        at, allocated, work = zip(*looks, strict=True)
        own = growth(start_nvim(opts=None, files={"a.txt": A}).lua(CONTROL, work, timeout=300), at)
        all_ = growth(allocated, at)
        print(f"{all_:.0f} bytes a round over {at[-1] - at[0]} rounds, of them {own:.0f} Neovim's own")
        assert all_ - own <= GROWTH_A_ROUND
