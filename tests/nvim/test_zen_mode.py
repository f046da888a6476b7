"""Zen modes hold one window over the others and end when a window that is not theirs is entered. A diff comes and goes without
ending them."""

import pytest
from diff_steps import Diffs

pytestmark = pytest.mark.dealt

# As Snacks.zen does it.
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
    nvim.wait(BACK, what="the person to be back in the window of the zen mode")
