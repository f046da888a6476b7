"""Random keys over every screen: Neovim lives, answers, and shows no stack trace. `--soak MINUTES` sets how long, per
Neovim.
"""

import json
import random
import re
import time

import acp_steps
import pytest
from changeset_steps import Changesets
from diff_steps import Diffs
from review_steps import Turn

from harness import left
from harness.nvim import NvimError
from harness.rpc import RpcTimeout

FILES = {
    "a.txt": "".join(f"line {n}\n" for n in range(1, 60)),
    "b.txt": "alpha\nbeta\ngamma\n",
    "src/c.py": "def one():\n    return 1\n\n\ndef two():\n    return one() + 1\n",
    "deep/er/d.md": "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
}

words = str.split
# Without ZR, which restarts Neovim 0.12.
KEYS = [
    *"jkhlwbGguUpPxDJyaoOIAvV:/?n*q~.123y",
    *words("gg zz zo zc za zR zM dd yy gv gf gF g? K ZZ ZQ ZW ix @a #b /co gt gT"),
    *words("]c [c ]f [f dx dX gl ga gr gR gi gX gA gu <Tab> <S-Tab> <CR> <Space> <Esc> <Esc> <Esc>"),
    *words("<C-c> <C-s> <C-d> <C-u> <C-r> <C-v> <C-o> <C-n> <C-\\><C-n>"),
    *(f"<C-w>{key}" for key in "wpcoT=_Hsvx"),
    "hello ",
]
COMMANDS = words(
    "q q! w w! 1,2w! wa wq x e e! bd bd! bw! bunload! close only tabclose sp vs tabnew new enew hide undo redo"
)
COMMANDS += words("tabonly diffoff! diffthis noh") + ["set wrap!", "set nu!", "set hidden!", "tab split", "norm ZZ"]
COMMANDS += ["windo close", "f other", "silent! earlier 3", "saveas! z.txt", "mksession! s.vim"]
KEYS += [f":{command}<CR>" for command in COMMANDS]
CLAUDE = ["", *words("review undo sessions transcript chat accept reject status close log mcp prompt decide")]
CLAUDE += ["grep line", "chat close", "reject no", "diffs next", "diffs quickfix", "kernel log"]
CLAUDE += ["selection off", "selection on", "add a.txt"]
TRACE = r"""
local found = vim.api.nvim_exec2("messages", { output = true }).output
vim.cmd("silent! messages clear")
local interrupt, again = "Keyboard interrupt", 1 -- by <C-c>, on purpose; one trace more for each protected call that passed it on
found = found:gsub("\n%s+[^\n]*", "")
while again > 0 do found, again = found:gsub(interrupt .. "\nstack traceback:", interrupt) end
found = found:gsub("[^\n]*" .. interrupt, ""):gsub("Error in [^\n]*\nline +%d+:\nInterrupted", "")
for _, trace in ipairs({ "stack traceback", "Error executing", "Error in ", "E5108", "claude%-ide[^\n]-%.lua:%d+:" }) do
  if found:find(trace) then return found end
end
"""
MAPPED = """
local keys = {}
if vim.b.claude_ide then
  for _, map in ipairs(vim.api.nvim_buf_get_keymap(0, vim.api.nvim_get_mode().mode:sub(1, 1))) do keys[#keys + 1] = map.lhs end
end
return keys
"""


class Story:
    """The events of one Neovim, from one seed."""

    def __init__(self, start_nvim, tmp_path, sessions, connect, seed):
        self.random = random.Random(seed)
        self.typed: list[str] = []
        opts = {
            "agents": {"robot": acp_steps.scripted(tmp_path)},
            "terminal": {"command": ["cat"]},
            "diff": {
                "open_in": self.random.choice(["tab", "current", "float"]),
                "layout": self.random.choice(["vertical", "horizontal", "unified"]),
            },
        }
        self.nvim = start_nvim(args=["a.txt"], files=FILES, opts=opts, reads_ahead=True)
        self.id = self.random.randint(1, 10**6)
        sessions.write(
            self.nvim.project,
            ("Do it", [{"type": "text", "text": "# Yes\n\n```lua\nprint(1)\n```\n"}]),
            ("And that", "Done."),
            title="A session",
        )
        self.client = connect(self.nvim)
        Diffs(self.nvim)
        self.nvim.lua("_G.propose_diff = propose")  # the changeset steps define that name, too
        self.changesets = Changesets(self.nvim)
        self.nvim.lua("vim.o.timeout = false")  # a slow machine would time out half a mapping

    def diff(self):
        self.id += 1
        name = self.random.choice(["a.txt", "b.txt", "src/c.py", f"new{self.id}.txt"])
        lines = FILES.get(name, "").splitlines(keepends=True) or ["x\n"]
        for _ in range(self.random.randint(1, 4)):
            lines[self.random.randrange(len(lines))] = f"proposed {self.random.random()}\n"
        path = str(self.nvim.project / name)
        self.nvim.lua("propose_diff(...)", self.id, self.random.choice([1, 2]), path, "".join(lines), f"tab {self.id}")

    def changeset(self):
        edits = '{ changes = { [uri("a.txt")] = { edit(0, 0, 0, 4, "LINE") }, [uri("src/c.py")] = { edit(0, 4, 0, 7, "uno") } } }'
        self.changesets.propose(edits)

    def turn(self):
        turn = Turn(self.nvim, self.client)
        turn.edit("b.txt", f"alpha\n{self.random.random()}\ngamma\n")
        self.client.call("getDiagnostics")

    def chat(self):
        command = {"command": "make it" + " " * 99 + "; rm x"}
        say = {"toolCallId": "t", "title": "Run", "kind": "execute", "rawInput": command}
        options = [
            {"optionId": "y", "name": "Yes", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"},
        ]
        lines = [
            "SAY # Hello\n\n- one\n- two\n",
            acp_steps.request("session/request_permission", sessionId="s", toolCall=say, options=options),
            acp_steps.request(
                "fs/write_text_file", sessionId="s", path=str(self.nvim.project / "b.txt"), content="robot\n"
            ),
        ]
        self.nvim.notify(
            "pcall(vim.cmd, 'Claude chat --agent robot') vim.defer_fn(function() pcall(function() "
            "local chats = Ide.chat chats.say(chats.current(), ...) end) end, 300)",
            "\n".join(self.random.sample(lines, 2)),
        )

    def command(self):
        command = self.random.choice(CLAUDE)
        self.typed.append(command)
        self.nvim.notify("pcall(vim.cmd, 'Claude ' .. ...)", command)

    def resize(self):
        self.nvim.terminal.resize(self.random.choice([8, 24, 40]), self.random.choice([20, 80, 140]))

    def keys(self):
        for _ in range(self.random.randint(1, 6)):
            mapped = self.mapped() if self.random.random() < 0.4 else []
            keys = self.random.choice(mapped or KEYS)
            self.typed.append(keys)
            self.nvim.keys(keys)
        time.sleep(self.random.choice([0, 0, 0.05, 0.3]))

    def mapped(self):
        try:
            found = self.nvim.lua(MAPPED, timeout=5)
        except (RpcTimeout, NvimError):
            return []
        return [keys for keys in found if keys.isprintable() and "<Plug>" not in keys]

    def go_on(self, until):
        """Random keys and events; false once a key has ended Neovim."""
        happens = [self.diff, self.diff, self.changeset, self.turn, self.chat, self.command, self.command, self.resize]
        while time.monotonic() < until:
            event = self.random.choice(happens)
            self.typed.append(f"[{event.__name__}]")
            try:
                event()
                for _ in range(self.random.randint(2, 8)):
                    self.keys()
                self.look()
            except (RpcTimeout, NvimError, AssertionError):
                if self.ended():
                    return False
                raise
        return True

    def look(self):
        """Back to normal mode from anything that waits; asserts that no stack trace was shown."""
        self.typed.append("[look]")
        for _ in range(20):
            self.nvim.keys("<C-\\><C-n><Esc><C-c>")
            mode = self.nvim.lua("return vim.api.nvim_get_mode()", timeout=20) if not self.blocked() else None
            if mode and mode["mode"] in ("n", "nt"):
                break
            self.nvim.keys("<CR>")
            time.sleep(0.02)
        assert not (found := self.nvim.lua(TRACE)), found

    def blocked(self):
        return self.nvim._request("nvim_get_mode")["blocking"]

    def ended(self):
        began = time.monotonic()
        while self.nvim.running() and left(began, 2) > 0:
            time.sleep(0.01)
        return not self.nvim.running()


@pytest.mark.slow
@pytest.mark.timeout(0)  # --soak says how long
@pytest.mark.parametrize("seed", [1])
def test_random_keys_end_nothing_and_show_no_trace(start_nvim, tmp_path, sessions, connect, seed, request):
    minutes = request.config.getoption("--soak")
    seed = request.config.getoption("--seed") or (random.randrange(10**6) if minutes else seed)
    until = time.monotonic() + (minutes * 60 if minutes else 15)
    while time.monotonic() < until:
        began = time.monotonic()
        story = Story(start_nvim, tmp_path, sessions, connect, seed)
        try:
            alive = story.go_on(until)
        except BaseException:
            print(f"seed {seed}:", json.dumps(story.typed[-120:]))
            raise
        if not alive:
            assert story.nvim.terminal.exit_code() == 0, (seed, story.typed[-120:])
        log = story.nvim.log()
        log = re.sub(r"Keyboard interrupt(\nstack traceback:(\n\t.*)*)+", "", log)  # see TRACE
        assert "stack traceback" not in log and "panicked" not in log, (seed, log[-3000:])
        story.nvim.kill()
        print(f"seed {seed}: {len(story.typed)} keys and events in {time.monotonic() - began:.0f} s")
        seed += 1
