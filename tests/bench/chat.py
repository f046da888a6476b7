"""A chat in Neovim with a scripted agent: how long Neovim is blocked, and how soon a word is on the screen.

Blocked time is CPU time of the main thread (`CLOCK_THREAD_CPUTIME_ID`), so that other programs do not count.
"""

import statistics
import sys
from pathlib import Path

from bench import transcript
from harness import scripted_cli
from harness.nvim import ROOT, Nvim

AGENT = """
def delta(text):
    event(type="content_block_delta", index=0, delta=dict(type="text_delta", text=text))

WORDS = "some **words** of `an` answer, one after the other; "

for prompt in prompts():
    if prompt["type"] == "user":
        what, count = words(prompt).split()
        event(type="message_start", message=dict(id="m", model="mock"))
        event(type="content_block_start", index=0, content_block=dict(type="text", text=""))
        texts = []
        for number in range(int(count)):
            if what == "tokens":
                time.sleep(0.1)
                text = f"at {time.monotonic_ns()}\\n"
            elif what == "line":
                text = WORDS
            else:
                ends = "\\n\\n" if number % 40 == 39 else "\\n" if number % 8 == 7 else ""
                text = f"{number} {WORDS[:number % 30]}" + ends
            if what == "code" and number % 400 == 0:
                text = "\\n```lua\\n" if number % 800 == 0 else "\\n```\\n"
            if what == "block":
                text = f"local value_{number} = compute({number}, 'a text') -- what it is\\n"
                text = "```lua\\n" if number == 0 else "```\\n" if number == int(count) - 1 else text
            delta(text)
            texts.append(text)
            if what == "tokens":
                sys.stdout.flush()
        said(dict(type="text", text="".join(texts)))
        over()
"""

CLOCK = """
local ffi = require("ffi")
pcall(ffi.cdef, "typedef struct { long sec; long nsec; } bench_timespec; int clock_gettime(int clock, bench_timespec *at);")
local at = ffi.new("bench_timespec")
function bench_cpu() -- milliseconds that this thread had a processor
  ffi.C.clock_gettime(3, at)
  return tonumber(at.sec) * 1000 + tonumber(at.nsec) / 1e6
end
"""

HEARTBEAT = """
local timer, last = vim.uv.new_timer(), bench_cpu()
bench_longest, bench_began = 0, last
timer:start(0, 1, function()
  local now = bench_cpu()
  bench_longest = math.max(bench_longest, now - last)
  last = now
end)
"""

# Takes the time when a line with a time in it is on the screen, after the redraw.
SCREEN = """
bench_seen = {}
local waits = {}
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace("bench"), {
  on_line = function(_, _, buf, row)
    local at = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]:match("^at (%d+)$")
    if at and not bench_seen[at] then
      bench_seen[at] = 0
      waits[#waits + 1] = at
    end
  end,
  on_end = function()
    for _, at in ipairs(waits) do
      bench_seen[at] = (vim.uv.hrtime() - tonumber(at)) / 1e6
    end
    waits = {}
  end,
})
"""

IDLE = "local chat = Ide.chat.current() return chat ~= nil and chat.state == 'idle' and #chat.queue == 0"


class Chat:
    """A Neovim whose agent is that script."""

    def __init__(self, directory: Path, version: str, path_of=None) -> None:
        agent = scripted_cli.program(directory / "agent", AGENT)
        scripted = {
            "cmd": [sys.executable, str(ROOT / "tests/harness/acp_agent.py")],
            "env": {"ACP_LOG": str(directory / "acp.log")},
        }
        opts = {"terminal": {"command": [str(agent)]}, "agents": {"scripted": scripted}}
        self.nvim = Nvim(directory, version, opts=opts)
        self.path = path_of(self.nvim.home, self.nvim.project) if path_of else None
        self.nvim.lua(CLOCK)

    def __enter__(self) -> "Chat":
        return self

    def __exit__(self, *_: object) -> None:
        self.nvim.kill()

    def open_ms(self) -> float:
        """How long `:Claude chat` blocks Neovim."""
        return self.nvim.lua("local start = bench_cpu() vim.cmd('Claude chat') return bench_cpu() - start")

    def open_acp(self) -> None:
        """Opens a chat with the tests' ACP agent."""
        self.nvim.lua("vim.cmd('Claude chat --agent scripted')")
        self.answer("SAY warm")

    def spawn_ms(self) -> float:
        """How long starting the agent of another chat blocks Neovim."""
        return self.nvim.lua(
            """
            local chat = assert(Ide.one_chat.new({ on_change = function() end }))
            local start = bench_cpu()
            assert(chat:begin())
            local took = bench_cpu() - start
            chat:close()
            return took
            """
        )

    def answer(self, prompt: str) -> tuple[float, float]:
        """Requests an answer; returns the main loop's total time and its longest single block."""
        self.nvim.wait(IDLE, timeout=60, what="the chat")
        self.nvim.lua(HEARTBEAT)
        self.nvim.lua("local chats = Ide.chat assert(chats.say(chats.current(), (...)))", prompt)
        self.nvim.wait(IDLE, timeout=180, what="the answer")
        total, longest = self.nvim.lua("return { bench_cpu() - bench_began, bench_longest }")
        return total, longest

    def token_ms(self, count: int) -> float:
        """From a word that the agent writes to the screen, median."""
        self.nvim.wait(IDLE, timeout=60, what="the chat")
        self.nvim.lua(SCREEN)
        self.nvim.lua("local chats = Ide.chat assert(chats.say(chats.current(), (...)))", f"tokens {count}")
        self.nvim.wait(f"vim.tbl_count(bench_seen) >= {count - 2}", timeout=60, what="the words on the screen")
        return statistics.median(self.nvim.lua("return vim.tbl_values(bench_seen)"))

    def resume_ms(self) -> float:
        """From the command until the end of the earlier conversation is in the buffer."""
        return self.nvim.lua(
            """
            local start, path, session = vim.uv.hrtime(), ...
            assert(Ide.chat.open({ file = path, resume = session }))
            assert(vim.wait(60000, function()
              for _, buf in ipairs(vim.api.nvim_list_bufs()) do
                local view = Ide.open_views.of_buffer(buf)
                local last = view and view.canvas.heights:len() - 1 or -1
                if last >= 0 and view.canvas.rows[last] then
                  return true
                end
              end
            end, 1), "no text after a minute")
            vim.cmd("redraw")
            return (vim.uv.hrtime() - start) / 1e6
            """,
            str(self.path),
            transcript.SESSION,
            timeout=90,
        )
