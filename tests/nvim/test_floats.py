"""Floating windows (the list of keys, a plugin's notice) over our windows when those close. Neovim 0.10 and 0.11 crash
when the last window of a tab page is closed beside a float, so each test ends by quitting, which must not crash either.
"""

import pytest
from chat_steps import begin, start_with_stand_in, wait_idle
from diff_steps import Diffs
from review_steps import A, B, review, turn
from test_terminal import FAKE_SNACKS

from harness import pairs
from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

KEYS = "keys"
FLOAT = """
local buf = vim.api.nvim_create_buf(false, true)
vim.api.nvim_open_win(buf, ..., { relative = "editor", row = 2, col = 2, width = 10, height = 2 })
"""
OVER = [KEYS, True, False]
IDS = ["its keys", "a window with the focus", "a notice"]


def put_over(nvim, what):
    if what == KEYS:
        nvim.keys("g?")
        nvim.wait_screen("Keys of")
    else:
        nvim.lua(FLOAT, what)


@pytest.mark.parametrize("over", OVER, ids=IDS)
@pytest.mark.parametrize("how", ["review.close()", "review.open('all')", ""], ids=["closed", "anew", "quit"])
def test_over_a_review(start_nvim, connect, over, how):
    nvim = start_nvim(files={"a.txt": A, "b.txt": B}, args=["b.txt"])
    turn(nvim, connect(nvim), a_txt=None, b_txt=B.upper())
    review(nvim)
    put_over(nvim, over)
    if how:
        nvim.lua(f"Ide.{how}")
        nvim.wait(lambda: nvim.lua("return vim.api.nvim_win_get_config(0).relative") == "", what="the focus below")
        assert nvim.lua("return #vim.api.nvim_list_tabpages()") == (1 if "close" in how else 2)
    assert nvim.quit() == 0


WAYS = ["bus.emit('client_disconnected', { id = 1 })", "proposal.reject(1)", ""]


@pytest.mark.parametrize(("over", "place", "how"), pairs(OVER, ["tab", "current", "float"], WAYS))
def test_over_a_diff(start_nvim, over, place, how):
    diffs = Diffs(start_nvim(files={"a.txt": A, "b.txt": B}, args=["b.txt"], opts={"diff": {"open_in": place}}))
    nvim = diffs.nvim
    diffs.open(1, "a.txt", "new\n")
    put_over(nvim, over)
    if how:
        nvim.lua(f"Ide.{how}")
        nvim.wait(lambda: diffs.traces()["buffers"] == [], what="the diff to go")
        nvim.wait("Ide.proposal.count() == 0")
    assert nvim.quit() == 0


@pytest.mark.every_nvim
def test_over_the_terminal(start_nvim, tmp_path):
    nvim = start_nvim(files={"a.txt": A}, args=["a.txt"], env=FakeCli(tmp_path).environment())
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("fake CLI ready")
    nvim.stop_insert()
    nvim.cmd("wincmd T | tabnext 1")
    nvim.cmd("tabnext 2")
    nvim.lua(FLOAT, False)
    assert nvim.quit() == 0


# ── the last window of another tab page, a float over it ──

AWAY = """
local here = vim.api.nvim_get_current_tabpage()
vim.o.eventignore = "all"
for _, win in ipairs(vim.api.nvim_list_wins()) do
  local kind = (vim.b[vim.api.nvim_win_get_buf(win)].claude_ide or {}).kind
  if vim.list_contains({ ... }, kind) then
    vim.cmd("tabnew")
    local empty = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_config(win, { split = "left", win = empty })
    vim.api.nvim_win_close(empty, true)
    local float = { relative = "editor", row = 2, col = 2, width = 10, height = 2 }
    vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, float)
    vim.api.nvim_set_current_tabpage(here)
  end
end
vim.o.eventignore = ""
return #vim.api.nvim_list_tabpages()
"""


def send_away(nvim, *kinds, tabs=2):
    """Makes each window of these kinds the last one of a tab page of its own, with a float over it."""
    assert nvim.lua(AWAY, *kinds) == tabs


def wait_gone(nvim, wins=1):
    """Waits until these windows are gone, and quits."""
    nvim.wait(lambda: nvim.lua("return #vim.api.nvim_list_wins()") == wins, what="the windows to go")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.quit() == 0


ALONE = {
    "the list of keys": (
        "Ide.key_list.open({}, {}, { of = 'x' })",
        "Ide.key_list.close()",
    ),
    "a text": (
        "text = Ide.text_float.show('one', 'x')",
        "Ide.window.close_all({ text })",
    ),
    "a question about code": (
        """Ide.notebook_confirm.ask({ name = 'P', language = 'python' }, { code = 'one' }, print)""",
        "Ide.requests.close_those(function() return true end)",
    ),
    "the buffer": (
        """
        text = Ide.own_buffer.create({ kind = 'text' })
        vim.api.nvim_open_win(text, false, { split = 'right', win = -1 })
        """,
        "Ide.own_buffer.delete(text)",
    ),
    "an address": (
        "Ide.web_address.show('http://localhost/')",
        "vim.api.nvim_exec_autocmds('WinEnter', { group = 'claude-ide.web.address' })",
    ),
}


@pytest.mark.every_nvim
@pytest.mark.parametrize("what", ALONE)
def test_a_window_of_ours_closes(start_nvim, what):
    nvim = start_nvim()
    opens, closes = ALONE[what]
    nvim.lua(opens)
    nvim.wait("#vim.api.nvim_list_wins() == 2")
    send_away(nvim, "keys", "answer", "code", "text")
    nvim.lua(closes)
    wait_gone(nvim)


@pytest.mark.every_nvim
@pytest.mark.parametrize("provider", ["native", "snacks"])
@pytest.mark.parametrize("end", ["the CLI's", "the user's"])
def test_a_terminal_closes(start_nvim, tmp_path, provider, end):
    nvim = start_nvim(
        env=FakeCli(tmp_path).environment(), opts={"terminal": {"provider": provider}}, init_lua=FAKE_SNACKS
    )
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("fake CLI ready")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    nvim.keys("<C-\\><C-n><C-w>T" if provider == "native" else "<C-\\><C-n>")
    nvim.wait("vim.api.nvim_get_mode().mode == 'nt'")
    if provider == "native":
        nvim.wait("#vim.api.nvim_list_tabpages() == 2")
        nvim.lua(FLOAT, False)
        nvim.keys("1gt")
    else:
        nvim.cmd("wincmd p")
        send_away(nvim, "terminal")
    job = "vim.iter(vim.api.nvim_list_chans()):find(function(chan) return chan.mode == 'terminal' end).id"
    nvim.lua(f"vim.api.nvim_chan_send({job}, 'Q')" if end == "the CLI's" else "vim.cmd('Claude close')")
    wait_gone(nvim)


@pytest.mark.every_nvim
def test_a_chat_closes(start_nvim, model, tmp_path):
    nvim = start_with_stand_in(start_nvim, model, tmp_path)
    begin(nvim, "SAY one")
    wait_idle(nvim)
    nvim.stop_insert()
    nvim.cmd("topleft new")
    send_away(nvim, "prompt", "transcript", tabs=3)
    nvim.lua("Ide.chat.close_all()")
    wait_gone(nvim, wins=2)


@pytest.mark.every_nvim
def test_an_answer_over_the_screen_closes(start_nvim, model, tmp_path):
    nvim = start_with_stand_in(start_nvim, model, tmp_path)
    nvim.keys(":Claude ask SAY one<CR>")
    nvim.wait_screen("· idle")
    send_away(nvim, "transcript")
    nvim.lua("""
    local shown = vim.iter(vim.api.nvim_list_bufs()):find(function(buf) return (vim.b[buf].claude_ide or {}).kind == 'transcript' end)
    for _, map in ipairs(vim.api.nvim_buf_get_keymap(shown, "n")) do
      if map.lhs == "<Plug>(claude-q)" then map.callback() end
    end
    """)
    wait_gone(nvim)


@pytest.mark.every_nvim
@pytest.mark.parametrize("place", ["tab", "current", "float"])
@pytest.mark.parametrize("how", ["decided", "in another layout", "quit"])
def test_windows_of_a_diff_close(start_nvim, place, how):
    diffs = Diffs(
        start_nvim(files={"a.txt": A}, args=["a.txt"], opts={"diff": {"open_in": place, "layout": "vertical"}})
    )
    nvim = diffs.nvim
    diffs.open(1, "a.txt", "new\n")
    if how == "in another layout":
        send_away(nvim, "now", tabs=3 if place == "tab" else 2)
        nvim.keys("gl")
        tabs = 2 if place == "tab" else 1
        nvim.wait(f"#vim.api.nvim_list_tabpages() == {tabs}")
    elif how == "decided":
        nvim.cmd("topleft new | tabfirst")
        send_away(nvim, "now", "proposal", tabs=4 if place == "tab" else 3)
        nvim.lua("Ide.proposal.reject(1)")
        nvim.wait(lambda: diffs.traces()["buffers"] == [], what="the diff to go")
    assert nvim.quit() == 0


@pytest.mark.every_nvim
@pytest.mark.parametrize("how", ["closed", "in another layout", "quit"])
def test_windows_of_a_review_close(start_nvim, connect, how):
    nvim = start_nvim(files={"a.txt": A}, args=["a.txt"], opts={"diff": {"layout": "vertical"}})
    turn(nvim, connect(nvim), a_txt="new\n")
    review(nvim)
    if how == "in another layout":
        send_away(nvim, "review", tabs=3)
        nvim.lua("Ide.review.next_layout()")
    else:
        send_away(nvim, "review", "changes", tabs=4)
        nvim.cmd("tabfirst")
        if how == "closed":
            nvim.lua("Ide.review.close()")
            nvim.wait("#vim.api.nvim_list_wins() == 1")
    assert nvim.quit() == 0


WITH_BORDERS = """
return vim.tbl_map(function(win) return vim.api.nvim_win_get_config(win).border[1] end, vim.tbl_filter(function(win)
  return vim.api.nvim_win_get_config(win).relative ~= ""
end, vim.api.nvim_list_wins()))
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    ("wanted", "corner"),
    [("", "╭"), ("single", "┌"), ("none", " "), ("double", "╔"), ("+,-,+,|,+,-,+,|", "+"), ("shadow", "")],
)
def test_floats_have_the_border_of_the_user(start_nvim, wanted, corner):
    nvim = start_nvim(files={"a.txt": "one\n"}, args=["a.txt"], opts={"diff": {"open_in": "float"}})
    if nvim.lua("return vim.fn.exists('+winborder') == 0"):
        corner = "╭"
    elif nvim.lua("return not pcall(vim.api.nvim_set_option_value, 'winborder', ..., {})", wanted):
        pytest.skip("this Neovim knows no borders of eight characters")
    show = "return vim.api.nvim_win_get_config(Ide.text_float.show('text', 'title')).border[1]"
    assert nvim.lua(show) == corner
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the float to go")
    nvim.lua("Ide.choose.select({ 'a', 'b' }, { prompt = 'Which?' }, function() end)")
    assert nvim.lua(WITH_BORDERS) == [corner]
    nvim.keys("<Esc>")
    nvim.wait("#vim.api.nvim_list_wins() == 1")
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", "two\n")
    assert nvim.lua(WITH_BORDERS)[0] == ("╭" if wanted == "shadow" else corner)
    diffs.reject(1)
