"""One Neovim that works all day: CLIs, diffs, turns, chats, sessions and the page in an order that a seed decides.

`--soak MINUTES` goes on for so long (`make soak`). What holds throughout: one answer to each proposal, no typed byte lost, no trace,
windows and buffers return, no file descriptor, thread or process is left, the main loop computes no 50 ms at a stretch, and after
ten minutes memory grows by no more than 2 MiB an hour. Random keys over every screen are `test_random_keys.py`.
"""

import os
import random
import time
from pathlib import Path

import acp_steps
import pytest
from chat_steps import wait_idle, wait_text
from review_steps import A_CLAUDE, A, B, Turn, waiting
from test_random_keys import TRACE
from transcript_steps import wait_rendered

from harness.site import Site

SETTLED_S, GROWTH_A_HOUR = 600, 2 << 20
FREEZE_MS = 50

WATCH = """
local ffi = require("ffi")
ffi.cdef("struct soak_time { long s; long ns; }; int clock_gettime(int, struct soak_time *);")
local at, before = ffi.new("struct soak_time"), 0
-- Of this thread alone, in what it computes: another program that has the processor makes no freeze.
local function computed()
  ffi.C.clock_gettime(3, at)
  return tonumber(at.s) * 1000 + tonumber(at.ns) / 1e6
end
frozen, doing, during = 0, "", ""
vim.uv.new_timer():start(0, 5, function()
  local now = computed()
  if before > 0 and now - before > frozen then frozen, during = now - before, doing end
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


class Day:
    """What happens to it."""

    def __init__(self, start_nvim, tmp_path, sessions, connect, seed):
        self.random, self.connect, self.typed = random.Random(seed), connect, []
        opts = {"agents": {"robot": acp_steps.scripted(tmp_path)}, "web": {"port": 0}}
        self.nvim = start_nvim(
            args=["-n", "a.txt"], files={"a.txt": A, "b.txt": B, "mine.txt": ""}, opts=opts, notices=True
        )
        self.session = sessions.write(
            self.nvim.project,
            *[(f"Do {number}", [{"type": "text", "text": "# Yes\n\n```lua\nprint(1)\n```\n"}]) for number in range(20)],
            title="A session",
        )
        self.client = connect(self.nvim)
        self.nvim.cmd("Claude serve")
        self.nvim.wait("require('claude-ide.web').info() ~= nil", what="the page")
        self.site = Site(self.nvim)
        self.nvim.keys_count()

    def diff(self):
        nvim, contents = self.nvim, f"{self.random.random()}\n"
        path = str(nvim.project / "b.txt")
        asked = self.client.start_call("openDiff", old_file_path=path, new_file_contents=contents, tab_name="t")
        nvim.wait(
            "local list = require('claude-ide.proposal').list() return #list == 1 and list[1].seen", what="a diff"
        )
        accepted = self.random.random() < 0.5
        nvim.notify("vim.cmd(...)", "Claude accept" if accepted else "Claude reject no")
        answer = self.client.call_result(asked)
        assert answer[0] == ("FILE_SAVED" if accepted else "DIFF_REJECTED"), answer
        if accepted:
            Path(path).write_text(answer[1])
        nvim.wait("require('claude-ide.proposal').count() == 0")

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
            self.nvim.wait("require('claude-ide.proposal').count() == 1")
        other.drop()
        self.nvim.wait("require('claude-ide.proposal').count() == 0 and #require('claude-ide.server').clients() == 1")

    def chat(self):
        words = f"word{self.random.randrange(10**6)}"
        self.nvim.cmd("Claude chat --agent robot")
        self.nvim.wait("require('claude-ide.chat').current() ~= nil", what="the chat")
        wait_idle(self.nvim)
        self.nvim.lua(
            "local chats = require('claude-ide.chat') chats.say(chats.current(), ...)", f"SAY # {words}\n\n- one"
        )
        wait_text(self.nvim, words)
        wait_idle(self.nvim)
        self.nvim.cmd("Claude chat close")
        self.nvim.wait("require('claude-ide.chat').current() == nil", what="the chat to be closed")

    def transcript(self):
        self.nvim.cmd(f"Claude transcript {self.session}")
        wait_rendered(self.nvim)
        self.nvim.cmd("bwipeout!")

    def page(self):
        assert self.site.get("/api/claude/sessions")["sessions"]
        with self.site.read(self.session) as reader:
            reader.until({"type": "caught_up"})

    def type(self):
        line = f"typed {len(self.typed)}"
        self.typed.append(line)
        self.nvim.cmd("edit mine.txt")
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
        """Descriptors, threads and children of Neovim, and its memory."""
        proc = Path(f"/proc/{self.nvim.server_pid}")
        children = (proc / f"task/{self.nvim.server_pid}/children").read_text().split()
        self.nvim.lua("collectgarbage() collectgarbage()")
        rss = int((proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return [len(os.listdir(proc / "fd")), len(os.listdir(proc / "task")), len(children)], rss

    def goes(self, what):
        self.nvim.lua("doing = ...", what.__name__)
        what()
        self.return_()


@pytest.mark.slow
@pytest.mark.timeout(0)  # --soak says how long
def test_a_neovim_that_works_all_day_answers_once_and_keeps_nothing(start_nvim, tmp_path, sessions, connect, request):
    minutes = request.config.getoption("--soak") or 0.25
    seed = request.config.getoption("--seed") or 1
    print("seed", seed)
    day = Day(start_nvim, tmp_path, sessions, connect, seed)
    happens = [day.diff, day.turn, day.cli, day.chat, day.transcript, day.page, day.type]
    for what in happens * 2:  # what is made once, and kept
        day.goes(what)
    day.nvim.lua(WATCH)
    before, began, settled, rounds = day.held()[0], time.monotonic(), None, 0
    while time.monotonic() < began + minutes * 60:
        for what in day.random.sample(happens, len(happens)):
            day.goes(what)
        rounds += 1
        if settled is None and time.monotonic() > began + SETTLED_S:
            settled = time.monotonic(), day.held()[1]
    day.nvim.wait(
        lambda: all(map(int.__le__, day.held()[0], before)), what=f"no more than {before}, is {day.held()[0]}"
    )
    log = day.nvim.log()
    assert "stack traceback" not in log, log[-3000:]
    assert "panicked" not in log, log[-3000:]
    frozen, during = day.nvim.lua("return { frozen, during }")
    print(f"{rounds} rounds, at most {frozen:.0f} ms at a stretch ({during}), {day.held()[1] >> 20} MiB")
    assert frozen <= FREEZE_MS, during
    if settled and (hours := (time.monotonic() - settled[0]) / 3600) > 0.1:
        growth = (day.held()[1] - settled[1]) / hours
        print(f"{growth / (1 << 20):.1f} MiB an hour")
        assert growth <= GROWTH_A_HOUR
