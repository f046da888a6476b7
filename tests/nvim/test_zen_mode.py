"""Zen modes hold one window over the others and end when a foreign window is entered. A diff comes and goes without
ending them.
"""

import pytest
from chat_steps import start_with_stand_in
from diff_steps import Diffs
from review_steps import turn

from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

# Like Snacks.zen.
ZEN = """
_G.zen = vim.api.nvim_open_win(0, true, { relative = "editor", row = 0, col = 0, width = 60, height = 18 })
vim.api.nvim_create_autocmd("WinEnter", { callback = function()
  local win = vim.api.nvim_get_current_win()
  if win ~= zen and vim.api.nvim_win_get_config(win).relative == "" then
    vim.schedule(function() pcall(vim.api.nvim_win_close, zen, true) end)
  end
end })
"""
BACK = "vim.api.nvim_get_current_win() == zen and vim.o.eventignore == ''"


@pytest.mark.parametrize("how", [":q<CR>", "ZQ", "<C-w>c"])
@pytest.mark.parametrize("place", ["tab", "current", "float"])
def test_a_diff_goes_and_the_zen_mode_stays(start_nvim, place, how):
    nvim = start_nvim(
        ["a.txt"],
        files={"a.txt": "one\n", "b.txt": "old\n"},
        opts={"diff": {"layout": "vertical", "open_in": place}},
    )
    nvim.lua(ZEN)
    diffs = Diffs(nvim)
    diffs.open(1, "b.txt", "new\n")
    nvim.keys(how)
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_current(None)
    nvim.wait(BACK, what="the user to be back in the window of the zen mode")


# Like zen-mode.nvim 1.4.1: 10 ms after a window below was entered it ends, and goes to the window under it.
ZEN_MODE_NVIM = """
local parent = vim.api.nvim_get_current_win()
_G.zen = vim.api.nvim_open_win(0, true, { relative = "editor", row = 0, col = 0, width = 60, height = 18 })
local group = vim.api.nvim_create_augroup("Zen", {})
local function close()
  pcall(vim.api.nvim_del_augroup_by_id, group)
  pcall(vim.api.nvim_win_close, zen, true)
  vim.api.nvim_set_current_win(parent)
  ended = true
end
vim.api.nvim_create_autocmd("WinClosed", { group = group, pattern = tostring(zen), nested = true, once = true, callback = close })
vim.api.nvim_create_autocmd("WinEnter", { group = group, callback = function()
  local win = vim.api.nvim_get_current_win()
  if win ~= zen and vim.api.nvim_win_get_config(win).relative == "" then
    vim.defer_fn(function()
      if vim.api.nvim_get_current_win() ~= zen then close() end
    end, 10)
  end
end })
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("zen", [ZEN, ZEN_MODE_NVIM], ids=["Snacks", "zen-mode.nvim"])
def test_what_is_typed_after_the_terminal_opened_goes_to_it(start_nvim, tmp_path, zen):
    cli = FakeCli(tmp_path)
    nvim = start_nvim(["a.txt"], files={"a.txt": "one\n"}, env=cli.environment())
    nvim.lua(zen)
    nvim.keys(":Claude<CR>")
    nvim.wait("not vim.api.nvim_win_is_valid(zen)", what="the zen mode to end")
    nvim.wait("vim.bo.buftype == 'terminal' and vim.api.nvim_get_mode().mode == 't'", what="the terminal")
    nvim.wait_screen("fake CLI ready")
    nvim.keys("dd")
    nvim.wait(lambda: cli.typed() == b"dd", what="the keys in the CLI")
    assert nvim.lua("return vim.fn.getbufline('a.txt', 1, '$')") == ["one"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("zen", [ZEN, ZEN_MODE_NVIM], ids=["Snacks", "zen-mode.nvim"])
def test_what_is_typed_after_a_chat_opened_goes_to_its_prompt(start_nvim, model, tmp_path, zen):
    nvim = start_with_stand_in(start_nvim, model, tmp_path, files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.lua(zen)
    nvim.keys(":Claude chat<CR>")
    nvim.wait("not vim.api.nvim_win_is_valid(zen)", what="the zen mode to end")
    nvim.wait_kind("prompt")
    nvim.keys("iwords")
    nvim.wait("vim.api.nvim_get_current_line() == 'words'")


@pytest.mark.parametrize("zen", [ZEN, ZEN_MODE_NVIM], ids=["Snacks", "zen-mode.nvim"])
@pytest.mark.parametrize("what", ["review", "transcript"])
def test_what_was_asked_for_keeps_the_focus(start_nvim, connect, empty, zen, what):
    empty.prompt("one")
    nvim = start_nvim(["b.txt"], files={"a.txt": "one\n", "b.txt": "two\n"})
    turn(nvim, connect(nvim), a_txt="ONE\n")
    nvim.lua(zen)
    nvim.keys(":Claude review<CR>" if what == "review" else f":Claude transcript {empty.id}<CR>")
    there = "vim.fn.tabpagenr() == 2" if what == "review" else "vim.bo.filetype == 'claude-transcript'"
    nvim.wait(there, what=f"the {what}")
    nvim.lua("vim.defer_fn(function() later = true end, 50)")
    nvim.wait("later")
    assert nvim.lua(f"return {there}")


# The focus is taken after the time in which it is kept, and before Neovim has noticed the end of that time.
LATE = """
local below, asked_for = vim.api.nvim_get_current_win()
local zen = vim.api.nvim_open_win(0, true, { relative = "editor", row = 0, col = 0, width = 60, height = 18 })
Ide.zen_mode.keep("test", {
  is_there = function() return vim.api.nvim_get_current_win() == asked_for end,
  enter = function() vim.api.nvim_set_current_win(asked_for) end,
})
vim.cmd("split")
asked_for = vim.api.nvim_get_current_win()
local function take_focus()
  vim.api.nvim_win_close(zen, true)
  vim.wait(200, function() return false end, 10, true)
  vim.api.nvim_set_current_win(below)
  vim.schedule(function() is_back = vim.api.nvim_get_current_win() == asked_for end)
end
vim.schedule(function() vim.schedule(function() vim.schedule(take_focus) end) end)
"""


def test_the_focus_is_entered_again_where_neovim_hears_late_that_it_was_taken(nvim):
    nvim.lua(LATE)
    nvim.wait("is_back ~= nil", what="the turn after the one that took the focus")
    assert nvim.lua("return { is_back, vim.v.errmsg }") == [True, ""]
