"""The layouts of diffs and reviews on screen, as snapshots in `screens/`. See tests/README.md."""

import difflib
from pathlib import Path

import pytest
from diff_steps import Diffs
from review_steps import Turn, windows

from harness import snapshot
from harness.nvim import VERSIONS

SCREENS = Path(__file__).parent / "screens"
ROWS, COLUMNS = 22, 90

OPTIONS = f"""
vim.o.columns, vim.o.lines = {COLUMNS}, {ROWS}
vim.o.diffopt = "internal,filler,closeoff"
vim.o.statusline = "%t %m"
vim.o.ruler, vim.o.showcmd = false, false
vim.opt.shortmess:append("FWI")
vim.opt.fillchars = {{ diff = "-", eob = "~", fold = "·", vert = "│", foldopen = "-", foldclose = "+", foldsep = "|" }}
vim.g._ts_force_sync_parsing = true
"""

CODE = """local M = {}

-- Adds two numbers.
function M.add(a, b)
  return a + b
end

function M.name()
  return "calculator", 1
end

-- One.
-- Two.
-- Three.
-- Four.
-- Five.
-- Six.
-- Seven.
-- Eight.
-- Nine.
function M.old()
end

return M
"""
CODE_OF_CLAUDE = (
    CODE.replace("return a + b", "return tonumber(a) + tonumber(b)")
    .replace("function M.name", "-- What it is called.\nfunction M.name")
    .replace("function M.old()\nend\n\n", "")
)


class Screen:
    """One snapshot: the recorded screen, and the current one."""

    def __init__(self, name: str, version: str, update: bool) -> None:
        self.name, self.version, self.update = name, version, update
        own = SCREENS / f"{name}.{version}.txt"
        self.common = SCREENS / f"{name}.txt"
        self.path = own if own.exists() or (update and version != VERSIONS[0]) else self.common

    def check(self, nvim, title):
        """Waits until the screen matches the record; records it on request."""

        def now():
            return snapshot.take(nvim, title, ROWS, COLUMNS)

        if self.update:
            nvim.terminal.wait_quiet(1)
            return self.record(now())
        recorded = self.path.read_text()
        try:
            nvim.wait(lambda: now() == recorded, what=self.name)
        except AssertionError:
            shown = difflib.unified_diff(recorded.splitlines(), now().splitlines(), self.path.name, "now", lineterm="")
            pytest.fail("\n".join(shown) + "\n`make snapshots` records it anew.", pytrace=False)

    def record(self, screen):
        if self.path != self.common and self.common.read_text() == screen:
            self.path.unlink(missing_ok=True)
        else:
            self.path.write_text(screen)


@pytest.fixture
def screen(request, nvim_version):
    def named(name):
        return Screen(name, nvim_version, request.config.getoption("--update-screens"))

    return named


def start(start_nvim, layout, place="tab", files=None, args=("calc.lua",), init=""):
    return start_nvim(
        args=args,
        files=files or {"calc.lua": CODE},
        opts={"diff": {"layout": layout, "open_in": place}},
        init_lua=OPTIONS + init + snapshot.colour_scheme(),
        notices=True,
    )


def propose(start_nvim, layout, place="tab", old=CODE, new=CODE_OF_CLAUDE, name="calc.lua", init=""):
    nvim = start(start_nvim, layout, place, {name: old, "notes.md": "notes\n"}, [name], init)
    diffs = Diffs(nvim)
    diffs.open(1, name, new)
    return nvim


@pytest.mark.parametrize("place", ["tab", "float", "current"])
@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
def test_each_layout_in_each_place(start_nvim, screen, layout, place):
    nvim = propose(start_nvim, layout, place, init="vim.cmd('set showtabline=1')\n")
    screen(f"{layout}_{place}").check(
        nvim, f"The {layout} layout, diff.open_in = {place!r}. The cursor is at the first change."
    )


@pytest.mark.parametrize("layout", ["vertical", "unified"])
def test_a_dropped_change(start_nvim, screen, layout):
    nvim = propose(start_nvim, layout)
    nvim.keys("]cdx")
    nvim.wait_screen("2 of 3")
    screen(f"{layout}_dropped").check(nvim, "The second of three changes was dropped.")


@pytest.mark.parametrize("layout", ["vertical", "unified"])
def test_wide_characters_tabs_and_long_lines(start_nvim, screen, layout):
    old = "\tint a;\t// 整数\n日本語の長い行" + "、とても長い" * 12 + "\nend\n"
    new = old.replace("int a", "long a").replace("長い行", "短い行", 1)
    nvim = propose(start_nvim, layout, old=old, new=new, name="wide.txt")
    screen(f"{layout}_wide").check(nvim, "Wide characters, tabs, and a line that is longer than the window.")


@pytest.mark.parametrize("layout", ["vertical", "unified"])
def test_ends_of_lines_and_of_the_file(start_nvim, screen, layout):
    nvim = propose(start_nvim, layout, old="one\r\ntwo\r\nthree\r\n", new="one\ntwo words\nthree", name="ends.txt")
    screen(f"{layout}_ends").check(
        nvim, "CR LF becomes LF, and the final newline goes: lines do not show that, the line above does."
    )


@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
def test_a_review(start_nvim, connect, screen, layout):
    files = {"calc.lua": CODE, "docs/notes.md": "notes\nof mine\n", "gone.txt": "one\ntwo\n"}
    nvim = start(start_nvim, layout, files=files)
    turn = Turn(nvim, connect(nvim))
    turn.edit("calc.lua", CODE_OF_CLAUDE)
    turn.edit("docs/notes.md", "notes\nof mine\nand of Claude's\n")
    turn.edit("new.txt", "new\n")
    turn.edit("gone.txt", None)
    turn.end("calc.lua", "notes.md", "new.txt", "gone.txt")
    nvim.wait(lambda: nvim.lines() == CODE_OF_CLAUDE.splitlines(), what="the buffer to follow the disk")
    nvim.cmd("Claude review")
    nvim.wait(lambda: len(windows(nvim)) >= 2, what="the review")
    screen(f"review_{layout}").check(nvim, f"A review of four files in the {layout} layout.")
