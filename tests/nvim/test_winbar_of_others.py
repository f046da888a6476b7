"""Plugins that rewrite every window's winbar do not win in our windows, and get theirs back afterwards."""

import pytest
from diff_steps import Diffs
from review_steps import A_CLAUDE, A, turn, windows

# Like lualine, barbecue and dropbar: on events, a moment later, and on a timer.
OTHERS = """
local function draw()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative == "" then
      vim.api.nvim_set_option_value("winbar", "THEIRS " .. vim.fn.win_id2win(win), { win = win })
    end
  end
end
vim.api.nvim_create_autocmd({ "WinEnter", "BufWinEnter", "CursorMoved" }, { callback = function()
  draw()
  vim.schedule(draw)
end })
_G.drawn = 0
vim.uv.new_timer():start(20, 20, vim.schedule_wrap(function()
  draw()
  drawn = drawn + 1
end))
"""

BARS = """
return vim.tbl_map(function(win)
  return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true }).str
end, vim.api.nvim_tabpage_list_wins(0))
"""


def wait_ours(nvim, *words):
    """Waits until our winbars stand above all windows, and still do after the others had several turns."""
    for _ in range(3):
        nvim.wait(lambda: all(word in bar for word, bar in zip(words, nvim.lua(BARS), strict=True)), what=f"{words}")
        turns = nvim.lua("return drawn")
        nvim.wait(lambda turns=turns: nvim.lua("return drawn") > turns + 3, what="turns of the others")
    assert "THEIRS" not in "".join(nvim.lua(BARS))
    nvim.terminal.wait(lambda: "THEIRS" not in nvim.terminal.text(), what="nothing of theirs on the screen")


@pytest.mark.slow
def test_a_diff_has_its_own_line_in_every_layout(start_nvim):
    nvim = start_nvim(["a.txt"], opts={"diff": {"layout": "vertical"}}, files={"a.txt": A}, init_lua=OTHERS)
    nvim.wait_screen("THEIRS")
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", A_CLAUDE)
    wait_ours(nvim, "a.txt", "ZZ")
    nvim.keys("<C-w>hjj<C-w>l")
    wait_ours(nvim, "a.txt", "ZZ")
    nvim.keys("gl")
    nvim.wait("vim.fn.winlayout()[1] == 'col'")
    wait_ours(nvim, "a.txt", "ZZ")
    nvim.keys("gl")
    nvim.wait("vim.fn.winnr('$') == 1")
    wait_ours(nvim, "ZZ")
    nvim.keys("ZQ")
    diffs.answer(1)
    diffs.wait_clean()
    nvim.wait(lambda: nvim.lua(BARS) == ["THEIRS 1"])
    nvim.keys(":split<CR>")
    nvim.wait(lambda: nvim.lua(BARS) == ["THEIRS 1", "THEIRS 2"])


def test_a_diff_among_the_users_windows_leaves_theirs_alone(start_nvim):
    opts = {"diff": {"layout": "unified", "open_in": "current"}}
    nvim = start_nvim(["a.txt"], opts=opts, files={"a.txt": A}, init_lua=OTHERS)
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", A_CLAUDE)
    nvim.wait(lambda: "ZZ" in nvim.lua(BARS)[0] and nvim.lua(BARS)[1] == "THEIRS 2")
    nvim.keys(":only<CR>ZQ")
    diffs.answer(1)
    diffs.wait_clean()
    nvim.wait(lambda: nvim.lua(BARS) == ["THEIRS 1"])


@pytest.mark.slow
def test_a_review_has_its_own_lines_and_the_file_has_theirs_afterwards(start_nvim, connect):
    nvim = start_nvim(
        ["a.txt"], opts={"diff": {"layout": "vertical"}}, files={"a.txt": A}, init_lua=OTHERS, notices=True
    )
    turn(nvim, connect(nvim), a_txt=A_CLAUDE)
    nvim.cmd("Claude review")
    nvim.wait(lambda: len(windows(nvim)) == 3, what="the review")
    wait_ours(nvim, "keep", "before Claude", "undo")
    nvim.keys("<C-w>h<C-w>l")
    wait_ours(nvim, "keep", "before Claude", "undo")
    nvim.keys("<C-w>h<C-w>hq")
    nvim.wait(lambda: nvim.lua(BARS) == ["THEIRS 1"])
    nvim.keys(":split<CR>")
    nvim.wait(lambda: nvim.lua(BARS) == ["THEIRS 1", "THEIRS 2"])
