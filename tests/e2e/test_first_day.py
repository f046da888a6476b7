"""A newcomer's first day with the real CLI, on each Neovim, with another plugin's float on the screen at each step: the windows of the
user keep their sizes, and nothing on the screen is an error.
"""

import re

import pytest
from terminal_steps import IDLE
from test_decide_real_cli import Lab

pytestmark = [pytest.mark.cli, pytest.mark.every_nvim]

FILES = {"a.txt": "one\ntwo\nthree\n", "b.txt": "first\nsecond\n"}
LAYOUT = """
local wins = {}
for _, win in ipairs(vim.api.nvim_list_wins()) do
  if vim.api.nvim_win_get_config(win).relative == "" then
    local size = { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
    wins[#wins + 1] = { vim.api.nvim_win_get_buf(win), size, vim.wo[win].wrap, vim.wo[win].winbar, vim.wo[win].diff }
  end
end
return { wins, vim.api.nvim_get_current_buf(), #vim.api.nvim_list_tabpages(), vim.o.cmdheight }
"""
FLOAT = """
if float then vim.api.nvim_win_close(float, true) end
local buf = vim.api.nvim_create_buf(false, true)
local at = { relative = "editor", row = 1, col = 5, width = 30, height = 3, style = "minimal", focusable = false, zindex = 250 }
float = vim.api.nvim_open_win(buf, false, at)
vim.cmd.redraw()
"""
NO_FLOAT = "vim.api.nvim_win_close(float, true) float = nil vim.cmd.redraw()"
KIND = "(vim.b.claude_ide or {}).kind"


class Day:
    """Steps, each of which begins and ends with the user's layout."""

    def __init__(self, lab):
        self.lab, self.nvim = lab, lab.nvim
        self.layout = self.nvim.lua(LAYOUT)

    def step(self, do):
        """The float appears before the step, and goes in its middle or after it."""
        for goes_within in (False, True):
            self.nvim.lua(FLOAT)
            do(self, (lambda: self.nvim.lua(NO_FLOAT)) if goes_within else (lambda: None))
            if not goes_within:
                self.nvim.lua(NO_FLOAT)
            what = f"the windows as before {do.__name__}"
            self.nvim.wait(lambda: self.nvim.lua(LAYOUT) == self.layout, what=what)
            assert self.nvim.mode() == "n"

    def text(self, name="a.txt"):
        return (self.nvim.project / name).read_text()

    def edit(self, old, new):
        path = str(self.nvim.project / "a.txt")
        return ("Read", {"file_path": path}), ("Edit", {"file_path": path, "old_string": old, "new_string": new})


def the_terminal_hides_and_comes_back(day, between):
    day.nvim.cmd("Claude toggle")
    between()
    day.nvim.cmd("Claude toggle")
    day.nvim.keys("<C-\\><C-n><C-w>p")


def an_edit_is_accepted(day, between):
    old, new = ("two", "TWO") if "two" in day.text() else ("TWO", "two")
    day.lab.ask(*day.edit(old, new), kind="proposal")
    day.nvim.wait_screen("ZZ accept")
    between()
    day.nvim.keys("ZZ", counts=True)
    day.nvim.wait(lambda: new in day.text() and new in day.nvim.lines(), what="the edit in the file and its buffer")
    day.nvim.wait(IDLE, what="the turn to be over")


def an_edit_is_rejected(day, between):
    before = day.text()
    day.lab.ask(*day.edit("three", "THREE"), answer=None, kind="proposal")
    day.nvim.wait_screen("ZZ accept")
    between()
    day.nvim.keys(":q<CR>")
    day.nvim.wait(IDLE, what="the turn to be over")
    assert day.text() == before


def a_command_is_allowed(day, between):
    made = day.nvim.project / "made"
    day.lab.ask(day.lab.bash(f"touch {made}"))
    day.nvim.wait_screen("Claude wants to use Bash")
    between()
    day.nvim.keys("y")
    day.nvim.wait(made.exists, what="what was allowed")
    day.lab.wait_over()
    day.nvim.wait(IDLE, what="the turn to be over")
    made.unlink()


def what_landed_unasked_is_reviewed_and_undone(day, between):
    before = day.text("b.txt")
    path = str(day.nvim.project / "b.txt")
    edit = ("Edit", {"file_path": path, "old_string": "second", "new_string": "SECOND"})
    day.lab.say(("Read", {"file_path": path}), edit)
    day.nvim.wait(lambda: "SECOND" in day.text("b.txt"), what="the edit to land")
    day.nvim.wait(IDLE, what="the turn to be over")
    day.nvim.keys(":Claude review<CR>")
    day.nvim.wait_screen("SECOND")
    between()
    day.nvim.keys("q")
    day.nvim.wait(lambda: day.nvim.lua(LAYOUT) == day.layout, what="the windows as before the review")
    day.nvim.answer(1)
    day.nvim.keys(":Claude undo<CR>")
    day.nvim.wait(lambda: day.text("b.txt") == before, what="the turn to be undone")


def the_board_opens_and_closes(day, between):
    day.nvim.cmd("Claude board")
    day.nvim.wait(f"{KIND} == 'board'", what="the board")
    between()
    day.nvim.keys("q")


def its_keys_are_listed(day, between):
    day.nvim.cmd("Claude board")
    day.nvim.wait(f"{KIND} == 'board'", what="the board")
    day.nvim.keys("g?")
    day.nvim.wait_screen("Keys of")
    between()
    day.nvim.keys("q")
    day.nvim.keys("q")


def test_a_newcomers_day_with_a_float_at_each_step(start_with_claude, mock_api):
    lab = Lab(start_with_claude(args=["a.txt"], files=FILES), mock_api)
    day = Day(lab)
    for step in (the_terminal_hides_and_comes_back, an_edit_is_accepted, an_edit_is_rejected, a_command_is_allowed):
        day.step(step)
    day.nvim.lua("vim.api.nvim_chan_send(vim.bo[Ide.terminal.bufnr()].channel, '\\27[Z')")
    day.nvim.wait_screen("accept edits on")
    for step in (what_landed_unasked_is_reviewed_and_undone, the_board_opens_and_closes, its_keys_are_listed):
        day.step(step)
    assert " ERROR " not in day.nvim.log()
    assert re.findall(r"^E\d+:.*", day.nvim.lua("return vim.fn.execute('messages')"), re.MULTILINE) == []
