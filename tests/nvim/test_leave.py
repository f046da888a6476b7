"""Leaving Neovim: saved sessions contain nothing of ours, and restored windows of ours go."""

import pytest
from diff_steps import Diffs
from kernel_steps import alive
from review_steps import review, turn
from transcript_steps import ENV

from harness.fake_cli import FakeCli

# Like session plugins loaded with the first file.
SAVES = """
vim.api.nvim_create_autocmd("VimEnter", { callback = function()
  vim.api.nvim_create_autocmd("VimLeavePre", { callback = function()
    vim.cmd("mksession! session.vim")
  end })
end })
"""

# Like session plugins loaded before us.
SAVES_FIRST = """
vim.api.nvim_create_autocmd("VimLeavePre", { callback = function() vim.cmd("mksession! session.vim") end })
"""

NAMES = """
return vim.iter(vim.api.nvim_list_bufs())
  :map(vim.api.nvim_buf_get_name)
  :filter(function(name) return name:find("Claude ", 1, true) or name:find("://", 1, true) or name:find("%)$") end)
  :totable()
"""

TRANSCRIPT = """
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.bo[buf].filetype == "claude-transcript" then return vim.api.nvim_buf_get_lines(buf, 0, -1, false) end
end
return {}
"""


def open_terminal(nvim):
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("fake CLI ready")
    nvim.wait("vim.fn.mode() == 't'")
    nvim.keys("<C-\\><C-n>")
    nvim.wait("vim.fn.mode() == 'n'")


def session(nvim):
    nvim.terminal.wait_exit()
    return (nvim.project / "session.vim").read_text()


def test_a_diff_that_waits_is_in_no_session(start_nvim):
    diffs = Diffs(start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, init_lua=SAVES))
    diffs.open(1, "a.txt", "two\n")
    diffs.nvim.keys(":qa<CR>")
    saved = session(diffs.nvim)
    assert "a.txt" in saved
    assert "claude://" not in saved
    assert "tabnew" not in saved
    assert "enew" not in saved


def test_the_terminal_is_in_no_session(start_nvim, tmp_path):
    cli = FakeCli(tmp_path)
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, init_lua=SAVES, env=cli.environment())
    open_terminal(nvim)
    nvim.notify("vim.cmd('qa!')")
    saved = session(nvim)
    assert "a.txt" in saved
    assert "claude" not in saved.replace(str(nvim.project), "")


@pytest.mark.slow
def test_nothing_of_ours_is_in_the_session_of_one_who_came_before_us(start_nvim, connect, tmp_path, script):
    nvim = start_nvim(
        args=["a.txt"],
        files={"a.txt": "one\n", "b.txt": "alpha\n"},
        init_lua=SAVES_FIRST,
        env={**FakeCli(tmp_path).environment(), **ENV},
    )
    open_terminal(nvim)
    nvim.cmd("tab split")
    nvim.cmd("tabnew b.txt")
    turn(nvim, connect(nvim), b_txt="ALPHA\n")
    review(nvim)
    nvim.cmd("tabfirst | 1wincmd w | new")
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait("vim.bo.filetype == 'claude-transcript'")
    Diffs(nvim).open(1, "a.txt", "two\n", client=9)
    assert len(nvim.lua(NAMES)) > 5
    nvim.notify("vim.cmd('qa!')")
    saved = session(nvim)
    assert "a.txt" in saved and "b.txt" in saved
    # Like a session plugin.
    after = start_nvim(args=["-c", "silent source session.vim"], env=ENV)
    assert after.lua("return vim.v.errmsg") == ""
    # A transcript can be read again; its title is known a moment later.
    name = str(nvim.project / "Claude 11111111/Fix the parser")
    after.wait(lambda: after.lua(NAMES) == [name], what="the transcript")
    after.wait(
        lambda: "Fix the off-by-one in the parser, then run the tests." in after.lua(TRANSCRIPT), what="its text"
    )
    shown = "return vim.tbl_map(function(win) return vim.fn.bufname(vim.api.nvim_win_get_buf(win)) end, vim.api.nvim_list_wins())"
    assert "" not in after.lua(shown), "no window is empty"
    assert after.lua("return #vim.api.nvim_list_tabpages()") == 2


@pytest.mark.parametrize("words", ["", "SAY hello there"])
def test_of_a_chat_a_session_has_what_can_be_read_again(begin_chat_with_stand_in, words):
    nvim = begin_chat_with_stand_in(words, args=["a.txt"], files={"a.txt": "one\n"}, init_lua=SAVES_FIRST)
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    if words:
        nvim.wait(lambda: any(name.endswith("/SAY hello there") for name in nvim.lua(NAMES)), what="its title")
    nvim.notify("vim.cmd('qa!')")
    saved = session(nvim)
    assert "a.txt" in saved
    assert "prompt" not in saved
    assert ("Claude" in saved) is (words != "")


def test_leaving_that_is_refused_leaves_everything_as_it_was(start_nvim, tmp_path):
    nvim = start_nvim(
        args=["a.txt"],
        files={"a.txt": "one\n", "b.txt": "alpha\n"},
        init_lua=SAVES_FIRST,
        env=FakeCli(tmp_path).environment(),
    )
    nvim.cmd("split b.txt | call setline(1, 'typed') | wincmd p")
    open_terminal(nvim)
    nvim.keys("<C-w>p")
    nvim.wait("vim.bo.buftype == ''", what="the file")
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", "two\n")
    windows = nvim.lua("return vim.api.nvim_list_wins()")
    nvim.keys(":qa<CR>")
    nvim.wait_screen("E162")
    nvim.keys("<CR>")
    assert set(windows) <= set(nvim.lua("return vim.api.nvim_list_wins()"))
    assert nvim.lua("return require('claude-ide').status().terminal.running")
    nvim.cmd("Claude accept")
    assert diffs.answer(1)["outcome"] == "saved"


def test_what_a_session_brought_of_ours_goes(start_nvim):
    nvim = start_nvim(
        files={"old.vim": "edit claude://claude\nsplit claude://12/now/a.txt\ndoautoall SessionLoadPost\n"}
    )
    nvim.cmd("source old.vim")
    names = nvim.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert not [name for name in names if name.startswith("claude://")]


SHOWN = """
return vim.tbl_map(function(win)
  return vim.fn.fnamemodify(vim.fn.bufname(vim.api.nvim_win_get_buf(win)), ":t")
end, vim.api.nvim_tabpage_list_wins(0))
"""


def restored(nvim):
    assert nvim.lua("return vim.v.errmsg") == ""
    nvim.wait(lambda: "Fix the off-by-one in the parser, then run the tests." in nvim.lua(TRANSCRIPT), what="its text")
    listed = nvim.lua("return vim.tbl_map(function(buf) return buf.name end, vim.fn.getbufinfo({ buflisted = 1 }))")
    assert not [name for name in listed if name.endswith(")")], listed
    return nvim.lua(SHOWN)


def test_a_session_written_beside_windows_of_ours_restores_those_of_the_user(start_nvim, tmp_path, script):
    files = {"a.txt": "one\n", "b.txt": "alpha\n"}
    nvim = start_nvim(args=["a.txt"], files=files, env={**FakeCli(tmp_path).environment(), **ENV})
    nvim.cmd("split b.txt")
    nvim.cmd("Claude board")
    nvim.cmd("split a.txt")
    nvim.cmd("wincmd p")
    nvim.cmd("new")
    nvim.cmd(f"Claude transcript {script.id}")
    name = "Fix the parser"
    nvim.wait(lambda: name in nvim.lua(SHOWN), what="the transcript")
    nvim.cmd("split")
    nvim.cmd("split b.txt | wincmd p | bprevious | buffer #")
    open_terminal(nvim)
    nvim.cmd("mksession Session.vim")
    before = nvim.lua(SHOWN)
    assert before.count(name) == 2 and {"board (Claude)", "Claude (terminal)"} < set(before)
    after = start_nvim(args=["-S", "Session.vim"], env=ENV)
    after.wait(lambda: set(restored(after)) == {"a.txt", "b.txt", name}, what="the user's windows")
    assert sorted(restored(after)) == sorted(shown for shown in before if not shown.endswith(")"))
    nvim.cmd("let v:errmsg = '' | silent source Session.vim")
    assert restored(nvim) == before


@pytest.mark.parametrize("size", [(8, 40), (20, 60)])
@pytest.mark.parametrize("shows", ["board", "diff", "transcript"])
def test_a_terminal_that_dies_ends_neovim_beside_a_file_that_is_not_saved(start_nvim, script, shows, size):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n", "b.txt": "one\n"}, env=ENV)
    nvim.terminal.resize(*size)
    nvim.wait(lambda: nvim.lua("return { vim.o.lines, vim.o.columns }") == list(size), what="the size")
    nvim.keys("ix<Esc>")
    nvim.wait("vim.bo.modified")
    if shows == "board":
        nvim.keys(":Claude board<CR>")
        nvim.wait("vim.bo.filetype == 'claude-board'")
    elif shows == "transcript":
        nvim.cmd(f"Claude transcript {script.id}")
        nvim.wait("vim.bo.filetype == 'claude-transcript'")
    else:
        Diffs(nvim).open(1, "b.txt", "two\n")
    nvim.terminal.hang_up()
    nvim.terminal.wait_exit()
    nvim.terminal.wait(lambda: not alive(nvim.server_pid), what="Neovim to end behind its terminal")
