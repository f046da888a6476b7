"""The terminal of `:Claude`: the CLI's arguments, its window, and that a user is never trapped.

The CLI is a stand-in: `harness/fake_cli.py`.
"""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.dealt


@pytest.fixture
def start(start_nvim, fake):
    """start_nvim with the fake CLI first on the PATH."""

    def begin(env=None, **more):
        return start_nvim(env={**fake.environment(), **(env or {})}, **more)

    return begin


def ready(nvim):
    nvim.wait_screen("fake CLI ready")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="terminal mode")


def reopen(nvim):
    nvim.keys(":Claude<CR>")
    ready(nvim)


@pytest.fixture
def opened(start):
    """The same, with the terminal open and typed into."""

    def begin(**more):
        nvim = start(**more)
        reopen(nvim)
        return nvim

    return begin


def out_of_it(nvim):
    """Waits until the terminal's window is gone, and its mode, which ends a moment later."""
    nvim.wait("vim.bo.buftype ~= 'terminal' and vim.api.nvim_get_mode().mode == 'n'", what="Normal mode in a file")


# ── the CLI's arguments ──


def test_claude_starts_the_cli_in_the_project_with_the_port_of_a_running_server(opened, fake):
    nvim = opened(files={"a.txt": "one\n"}, args=["a.txt"])
    (started,) = fake.starts()
    port = nvim.lua("return Ide.server.info().port")
    assert started["argv"] == []
    assert Path(started["cwd"]).resolve() == nvim.project.resolve()
    assert started["env"]["CLAUDE_CODE_SSE_PORT"] == str(port)
    assert started["env"]["ENABLE_IDE_INTEGRATION"] == "true"
    assert started["env"]["NO_PROXY"] == "localhost,127.0.0.1"
    assert started["env"]["no_proxy"] == "localhost,127.0.0.1"


def test_the_exceptions_from_a_proxy_that_are_there_stay(opened, fake):
    opened(env={"NO_PROXY": ".corp.example, localhost", "no_proxy": "10.0.0.1"})
    (started,) = fake.starts()
    assert started["env"]["NO_PROXY"] == ".corp.example,localhost,127.0.0.1"
    assert started["env"]["no_proxy"] == "10.0.0.1,localhost,127.0.0.1"


@pytest.mark.parametrize(
    ("typed", "argv"),
    [
        (
            ':Claude --append-system-prompt "two words; $HOME" --resume<CR>',
            ["--append-system-prompt", "two words; $HOME", "--resume"],
        ),
        # After two dashes all words are the CLI's.
        (":Claude -- fix the tests<CR>", ["fix", "the", "tests"]),
        (":Claude open -- mcp list<CR>", ["mcp", "list"]),
        (":Claude toggle -- -- mcp list<CR>", ["--", "mcp", "list"]),
        (":Claude new -- mcp list<CR>", ["mcp", "list"]),
        (":Claude new x -- mcp list<CR>", ["--name=x", "mcp", "list"]),
    ],
)
def test_arguments_reach_the_cli_word_by_word_and_no_shell_sees_them(start, fake, typed, argv):
    nvim = start()
    nvim.keys(typed)
    ready(nvim)
    assert fake.starts()[0]["argv"] == argv


def test_the_options_give_command_folder_and_environment(start, fake, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    nvim = start(
        opts={"terminal": {"command": ["claude", "--verbose"], "cwd": str(elsewhere), "env": {"MY_MODE": "a b"}}}
    )
    nvim.keys(":Claude --resume<CR>")
    ready(nvim)
    (started,) = fake.starts()
    assert started["argv"] == ["--verbose", "--resume"]
    assert Path(started["cwd"]).resolve() == elsewhere.resolve()
    assert started["env"]["MY_MODE"] == "a b"


def test_a_missing_cli_is_one_notice_that_says_what_to_do(start_nvim):
    nvim = start_nvim(opts={"terminal": {"command": ["claude-is-not-here"]}})
    nvim.cmd("set columns=80")
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("`claude-is-not-here` was not found: see `:checkhealth claude-ide`")
    assert "Press ENTER" not in nvim.wait_screen("was not found")
    assert not nvim.lua("return vim.api.nvim_get_mode().blocking")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1
    assert nvim.lua("return #vim.api.nvim_list_bufs()") == 1


def test_arguments_for_a_cli_that_runs_are_asked_about(opened, fake):
    nvim = opened()
    nvim.answer(1, 2)
    nvim.lua("Ide.terminal.open({ '--resume' })")
    both = "Keep it and start with --resume in another terminal"
    assert nvim.asked()[0]["lines"] == ["Keep it", "End it and restart with --resume", both]
    assert len(fake.starts()) == 1
    nvim.lua("Ide.terminal.open({ '--resume' })")
    nvim.wait(lambda: len(fake.starts()) == 2, what="the second start")
    assert fake.starts()[1]["argv"] == ["--resume"]
    ready(nvim)
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2


def test_a_cli_that_ends_while_its_user_is_asked_about_it_is_not_kept(opened, fake):
    nvim = opened()
    nvim.keep_notices()
    nvim.lua("vim.ui.select = function(items, _, done) choose = function() done(items[1], 1) end end")
    nvim.lua("Ide.terminal.open({ '--resume' })")
    nvim.cmd("Claude close")
    nvim.wait("#Ide.terminal.list() == 0", what="the end")
    nvim.lua("choose()")
    assert nvim.notices()[-1] == "That CLI has ended." and "ERROR" not in nvim.log()


# ── its window ──


@pytest.mark.every_nvim
def test_toggle_hides_the_window_keeps_the_cli_and_comes_back(opened, fake):
    nvim = opened(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.cmd("Claude toggle")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the window to go")
    assert nvim.lua("return vim.fn.expand('%:t')") == "a.txt"
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
    reopen(nvim)
    nvim.keys("hello")
    nvim.wait(lambda: fake.typed() == b"hello", what="the CLI to read what is typed")
    assert len(fake.starts()) == 1


@pytest.mark.every_nvim
def test_no_output_is_lost_though_plugins_are_slow_when_a_buffer_gets_a_name(start_nvim, tmp_path):
    written = tmp_path / "written"
    script = f"echo the first words; echo > {written}; exec cat"
    nvim = start_nvim(
        opts={"terminal": {"command": ["sh", "-c", script]}},
        init_lua=f"""
        vim.api.nvim_create_autocmd({{ "BufFilePre", "BufFilePost" }}, {{
          callback = function()
            vim.wait(5000, function() return vim.uv.fs_stat({str(written)!r}) ~= nil end)
            vim.fn.system("true") -- as if to look for a repository
          end,
        }})
        """,
    )
    nvim.keys(":Claude<CR>")
    nvim.wait(written.exists, what="the output")
    nvim.wait_screen("the first words")


@pytest.mark.every_nvim
def test_the_window_is_bare_and_its_buffer_unlisted(opened):
    nvim = opened(init_lua="vim.o.number, vim.o.signcolumn, vim.o.list = true, 'yes', true")
    found = nvim.lua(
        """
        local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
        local wo, bo = vim.wo[win], vim.bo[buf]
        return { number = wo.number, signs = wo.signcolumn, list = wo.list, listed = bo.buflisted, type = bo.buftype,
          filetype = bo.filetype, name = vim.api.nvim_buf_get_name(buf), marked = vim.b[buf].claude_terminal ~= nil,
          buffers = #vim.api.nvim_list_bufs(), others = vim.wo[vim.fn.win_getid(1)].number }
        """
    )
    assert found["number"] is False and found["signs"] == "no" and found["list"] is False
    assert found["listed"] is False and found["type"] == "terminal" and found["filetype"] == "claude-terminal"
    assert found["name"].endswith("/Claude (terminal)")
    assert found["marked"] is True and found["others"] is True
    assert found["buffers"] == 2


def test_it_takes_the_side_and_the_size_that_are_asked_for(start):
    nvim = start()
    for side, size, cells in [("right", 0.4, 56), ("left", 50, 50), ("bottom", 0.25, 10), ("top", 12, 12)]:
        nvim.lua("require('claude-ide').setup({ terminal = { side = ..., size = select(2, ...) } })", side, size)
        reopen(nvim)
        width, height, (row, column) = nvim.lua(
            "return { vim.api.nvim_win_get_width(0), vim.api.nvim_win_get_height(0), vim.api.nvim_win_get_position(0) }"
        )
        assert (width if side in ("right", "left") else height) == cells, side
        assert (column > 0, row > 0) == (side == "right", side == "bottom"), side
        nvim.cmd("Claude close")
        out_of_it(nvim)


@pytest.mark.every_nvim
def test_the_program_sees_the_size_of_its_window_from_the_start_and_after_a_resize(opened):
    nvim = opened(opts={"terminal": {"size": 60}})
    nvim.keys("S")
    nvim.wait_screen("size 60x")
    nvim.cmd("vertical resize 44")
    nvim.wait_screen("size 44x")


@pytest.mark.every_nvim
def test_a_share_of_the_screen_follows_the_screen_and_a_width_given_by_hand_comes_back(opened):
    nvim = opened(opts={"terminal": {"size": 0.5}})
    assert nvim.lua("return vim.api.nvim_win_get_width(0)") == 70
    nvim.cmd("set columns=100")
    nvim.wait("vim.api.nvim_win_get_width(0) == 50", what="half of the new width")
    nvim.cmd("vertical resize 33")
    nvim.cmd("Claude")
    nvim.cmd("Claude")
    assert nvim.lua("return vim.api.nvim_win_get_width(0)") == 33


def test_the_other_windows_give_way_alike(start):
    nvim = start(files={"a.txt": "one\n", "b.txt": "two\n"}, args=["a.txt", "-O", "b.txt"])
    widths = "return vim.tbl_map(vim.api.nvim_win_get_width, vim.api.nvim_list_wins())"
    nvim.cmd("set columns=120")
    nvim.cmd("wincmd =")
    before = nvim.lua(widths)
    reopen(nvim)
    left, right, terminal = nvim.lua(widths)
    assert abs(left - right) <= 1 and terminal == 48
    nvim.keys("<C-\\><C-\\>:Claude<CR>")
    nvim.wait("#vim.api.nvim_list_wins() == 2")
    assert nvim.lua(widths) == before


def test_the_other_windows_get_their_sizes_back(start):
    nvim = start(init_lua="vim.o.equalalways = true")
    nvim.cmd("vsplit | split | wincmd h | vertical resize 30")
    before = nvim.lua("return vim.fn.winlayout()"), nvim.lua("return vim.fn.winrestcmd()")
    reopen(nvim)
    nvim.cmd("Claude")
    nvim.wait("#vim.api.nvim_list_wins() == 3")
    assert (nvim.lua("return vim.fn.winlayout()"), nvim.lua("return vim.fn.winrestcmd()")) == before


@pytest.mark.every_nvim
@pytest.mark.parametrize("side", ["right", "bottom"])
def test_a_float_that_is_gone_when_the_terminal_is_hidden_changes_no_size(start, side):
    nvim = start(opts={"terminal": {"side": side}}, files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.cmd("split | vsplit")
    nvim.cmd("resize 9 | vertical resize 30")
    sizes = """
    return { vim.o.cmdheight, vim.tbl_map(function(win)
      return { win, vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
    end, vim.api.nvim_tabpage_list_wins(0)) }
    """
    before = nvim.lua(sizes)
    nvim.lua(
        """
        local place = { relative = "editor", row = 0, col = 0, width = 20, height = 1 }
        notice = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, place)
        """
    )
    reopen(nvim)
    nvim.lua("vim.api.nvim_win_close(notice, true)")
    nvim.cmd("Claude")
    out_of_it(nvim)
    assert nvim.lua(sizes) == before


@pytest.mark.every_nvim
def test_hiding_the_last_window_leaves_a_file_in_it(opened):
    nvim = opened(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.cmd("only")
    nvim.cmd("Claude")
    assert nvim.lua("return vim.fn.expand('%:t')") == "a.txt"
    assert nvim.lua("return vim.wo.number") is False
    out_of_it(nvim)
    reopen(nvim)
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2


def test_in_another_tab_page_it_comes_to_where_the_user_is_and_one_of_its_own_is_gone_to(opened):
    nvim = opened()
    nvim.cmd("tabnew")
    assert nvim.lua("return Ide.terminal.is_visible()") is False
    nvim.cmd("Claude")
    assert nvim.lua("return { vim.fn.tabpagenr(), vim.bo.filetype }") == [2, "claude-terminal"]
    assert nvim.lua("return #vim.fn.win_findbuf(vim.api.nvim_get_current_buf())") == 1
    nvim.cmd("wincmd T | tabprevious")
    nvim.cmd("Claude")
    assert nvim.lua("return { vim.fn.tabpagenr('$'), vim.bo.filetype }") == [3, "claude-terminal"]


def test_the_status_says_whether_it_is_open_here_elsewhere_or_hidden(start):
    nvim = start()
    line = "return Ide.command_status.line()"
    nvim.cmd("set columns=200")
    reopen(nvim)
    assert "· terminal open ·" in nvim.lua(line)
    nvim.cmd("tabnew")
    assert "· terminal in another tab page ·" in nvim.lua(line)
    nvim.cmd("tabclose")
    nvim.cmd("Claude hide")
    assert "· terminal hidden ·" in nvim.lua(line)


# ── focus, keys, scrolling ──


@pytest.mark.every_nvim
def test_focus_goes_there_and_back_to_the_exact_window(start):
    nvim = start(files={"a.txt": "one\ntwo\nthree\n"}, args=["a.txt"])
    nvim.cmd("split | vsplit | wincmd w | normal! 2G")
    origin = nvim.lua("return vim.api.nvim_get_current_win()")
    reopen(nvim)
    nvim.keys("<C-bslash><C-bslash>".replace("<C-bslash>", "<C-\\>"))
    nvim.wait(f"vim.api.nvim_get_current_win() == {origin}", what="the window it was left from")
    assert nvim.cursor() == (2, 0)
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
    nvim.cmd("wincmd w")
    other = nvim.lua("return vim.api.nvim_get_current_win()")
    nvim.keys(":Claude focus<CR>")
    ready(nvim)
    nvim.keys("<C-\\><C-n>")
    nvim.wait("vim.api.nvim_get_mode().mode == 'nt'")
    nvim.keys(":Claude focus<CR>")
    nvim.wait(f"vim.api.nvim_get_current_win() == {other}", what="the window it was left from")


def test_back_after_a_walk_by_window_keys_goes_to_where_the_walk_began(start):
    nvim = start()
    nvim.cmd("split")
    reopen(nvim)
    nvim.keys("<C-\\><C-n><C-w>h<C-w>j")
    nvim.wait("vim.api.nvim_get_mode().mode == 'n' and vim.fn.winnr() == 2", what="the lower window")
    lower = nvim.lua("return vim.api.nvim_get_current_win()")
    nvim.keys("<C-w>li")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    nvim.keys("<C-\\><C-\\>")
    nvim.wait(f"vim.api.nvim_get_current_win() == {lower}", what="the lower window")


@pytest.mark.every_nvim
@pytest.mark.parametrize("back", ["<C-\\><C-\\>", "<C-\\><C-n>:Claude focus<CR>"])
def test_back_from_a_terminal_whose_window_before_is_gone_goes_to_the_file_used_last(start, back):
    nvim = start(files={"a.txt": "a\n", "b.txt": "b\n"}, args=["a.txt"])
    nvim.cmd("split b.txt | copen | 1wincmd w | Claude serve url")
    nvim.wait("vim.api.nvim_win_get_config(0).relative ~= ''", what="the address")
    reopen(nvim)
    nvim.wait("vim.fn.winnr('#') == 0", what="the address to go")
    nvim.lua("""
      local info = vim.fn.getbufinfo
      vim.fn.getbufinfo = function(buf)
        local one = info(buf)[1]
        one.lastused = vim.endswith(one.name, "a.txt") and 2 or 1
        return { one }
      end
    """)
    nvim.keys(back)
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file that was used last")
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")


KEYS = {
    "<Esc><Esc>": b"\x1b\x1b",
    "<C-c>": b"\x03",
    "<C-]>": b"\x1d",
    "<C-w>": b"\x17",
    "<C-o>": b"\x0f",
    "<C-r>": b"\x12",
    "j": b"j",
}


def test_the_keys_of_the_cli_reach_it(opened, fake):
    nvim = opened()
    # One by one, as a user types: a Ctrl-C that comes while Neovim is busy discards all pending input.
    typed = b""
    for key, byte in KEYS.items():
        nvim.keys(key)
        typed += byte
        nvim.wait(lambda typed=typed: len(fake.typed()) >= len(typed), what=f"{key} to be read")
    assert fake.typed() == typed


@pytest.mark.every_nvim
def test_one_key_toggles_from_normal_insert_and_terminal_mode(start, fake):
    nvim = start(
        files={"a.txt": "one\n"},
        args=["a.txt"],
        init_lua="vim.keymap.set({ 'n', 'i', 't' }, '<F5>', '<Cmd>Claude<CR>')",
    )
    nvim.keys("i")
    nvim.wait("vim.api.nvim_get_mode().mode == 'i'")
    nvim.terminal.write("\x1b[15~")
    ready(nvim)
    for _ in range(2):
        nvim.terminal.write("\x1b[15~")
        nvim.wait("#vim.api.nvim_list_wins() == 1 and vim.api.nvim_get_mode().mode == 'n'", what="the window to go")
        nvim.terminal.write("\x1b[15~")
        ready(nvim)
    nvim.keys("hello")
    nvim.wait(lambda: fake.typed() == b"hello", what="the CLI to read what is typed")
    assert nvim.lua("return vim.api.nvim_buf_get_lines(1, 0, -1, false)") == ["one"]
    assert len(fake.starts()) == 1


@pytest.mark.every_nvim
def test_a_selection_does_not_keep_the_user_from_typing_in_it(start):
    nvim = start(files={"a.txt": "one\ntwo\n"}, args=["a.txt"])
    nvim.cmd("xmap <F5> <Cmd>Claude<CR>| xmap <F6> <Cmd>Claude focus<CR>| xmap <F7> <Cmd>Claude new x<CR>")
    for at, keys in enumerate(["v\x1b[15~", "Vj\x1b[17~", "<C-v>\x1b[18~"]):
        nvim.keys(keys)
        nvim.wait("vim.bo.buftype == 'terminal' and vim.api.nvim_get_mode().mode == 't'", what="Terminal mode")
        nvim.keys("<C-\\><C-\\>")
        out_of_it(nvim)
        assert nvim.lua("return vim.fn.visualmode()") == "vV\x16"[at]
    assert nvim.lua("return #Ide.terminal.list()") == 2
    nvim.keys("v\x1b[17~")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    nvim.keys("<C-\\><C-n>v\x1b[17~")
    out_of_it(nvim)


@pytest.mark.parametrize("is_dead", [False, True])
def test_back_and_hide_work_in_normal_mode_too(opened, fake, is_dead):
    nvim = opened(opts={"terminal": {"keymaps": {"hide": "<C-q>"}}})
    if is_dead:
        os.kill(fake.starts()[0]["pid"], signal.SIGKILL)
    else:
        nvim.keys("<C-\\><C-n>")
    nvim.wait("vim.api.nvim_get_mode().mode == 'nt'", what="Normal mode in the terminal")
    assert nvim.lua("return #Ide.terminal.list()") == (0 if is_dead else 1)
    nvim.keys("<C-\\><C-\\>")
    out_of_it(nvim)
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2
    nvim.keys("<C-w>w<C-q>")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the window to go")
    assert nvim.lua("return vim.bo.buftype") == ""


@pytest.mark.every_nvim
def test_window_keys_work_where_they_are_asked_for(opened):
    nvim = opened(opts={"terminal": {"keymaps": {"left": ["<C-h>", "<M-h>"], "hide": "<C-q>", "back": False}}})
    nvim.keys("<M-h>")
    out_of_it(nvim)
    nvim.keys(":Claude focus<CR>")
    ready(nvim)
    nvim.keys("<C-q>")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the window to go")
    assert nvim.lua("return Ide.terminal.is_running()") is True


FILES = {"a.txt": "one\n", "sub/b.txt": "".join(f"line {n}\n" for n in range(1, 40))}


def is_at(path, lnum, col=0):
    return f"vim.fn.expand('%:.') == '{path}' and vim.deep_equal(vim.api.nvim_win_get_cursor(0), {{ {lnum}, {col} }})"


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    ("printed", "keys", "place"),
    [
        ("see sub/b.txt:12:3 there", "gF", (12, 2)),
        ("(sub/b.txt#L7)", "gf", (7, 0)),
        ("Update(sub/b.txt)", "gf", (1, 0)),
    ],
)
def test_gf_in_the_terminal_opens_a_file_where_files_are(opened, fake, printed, keys, place):
    nvim = opened(files=FILES, args=["a.txt"])
    file, terminal = nvim.lua("return { vim.fn.win_getid(vim.fn.winnr('#')), vim.api.nvim_get_current_win() }")
    fake.show(printed)
    nvim.wait_screen(printed)
    nvim.keys("<C-\\><C-n>?b.txt<CR>" + keys)
    nvim.wait(is_at("sub/b.txt", *place), what="the file")
    assert nvim.lua("return vim.api.nvim_get_current_win()") == file
    assert nvim.lua("return vim.bo[vim.api.nvim_win_get_buf(...)].buftype", terminal) == "terminal"
    assert nvim.lua("return vim.bo.buflisted") is True


@pytest.mark.every_nvim
def test_gf_in_a_terminal_that_fills_the_screen_opens_a_window(opened, fake):
    nvim = opened(files=FILES, args=["a.txt"])
    nvim.keys("<C-\\><C-n>:only<CR>")
    fake.show("see sub/b.txt:12")
    nvim.wait_screen("sub/b.txt:12")
    nvim.keys("?b.txt<CR>gf")
    nvim.wait(is_at("sub/b.txt", 12), what="the file")
    assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 2


def test_gf_finds_a_file_in_the_folder_of_the_cli(opened, fake, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.txt").write_text("one\ntwo\n")
    nvim = opened(files=FILES, args=["a.txt"], opts={"terminal": {"cwd": str(elsewhere)}})
    fake.show("see c.txt:2 and d.txt")
    nvim.wait_screen("c.txt:2")
    nvim.keys("<C-\\><C-n>?d.txt<CR>gf")
    nvim.wait_screen("There is no d.txt")
    nvim.keys("?c.txt<CR>gf")
    nvim.wait(f"vim.fn.expand('%:p') == '{elsewhere.resolve()}/c.txt' and vim.fn.line('.') == 2", what="the file")


@pytest.mark.parametrize("at", ["sub", "txt"])
def test_gf_joins_a_path_that_the_edge_of_the_window_breaks(opened, fake, at):
    folder = "sub" + "x" * 60
    path = f"{folder}/b.txt"
    nvim = opened(files={"a.txt": "one\n", path: "one\ntwo\n"}, args=["a.txt"])
    width = nvim.lua("return vim.api.nvim_win_get_width(0)")
    named = f"{path}:2"
    first = named[: width - 4]
    fake.show(f"  {first}\r\n  {named[len(first) :]} there")
    nvim.wait_screen(" there")
    nvim.keys(f"<C-\\><C-n>?{at}<CR>gf")
    nvim.wait(is_at(path, 2), what="the file")


def click(nvim, text):
    """Ctrl and the left button on a text of the screen."""
    rows = nvim.wait_screen(text).splitlines()
    row = next(at for at, line in enumerate(rows) if text in line)
    column = rows[row].index(text)
    for end in "Mm":
        nvim.terminal.write(f"\x1b[<16;{column + 1};{row + 1}{end}")


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", ["", "<C-\\><C-n>"])
def test_a_click_with_ctrl_opens_a_file_from_both_modes(opened, fake, keys):
    nvim = opened(files=FILES, args=["a.txt"])
    fake.show("see sub/b.txt:12 there")
    nvim.wait_screen("sub/b.txt:12")
    nvim.keys(keys)
    click(nvim, "b.txt:12")
    nvim.wait(is_at("sub/b.txt", 12), what="the file")
    nvim.keys("itext<Esc>")
    nvim.wait("vim.api.nvim_get_current_line() == 'textline 12'", what="the file to be typed into")
    assert fake.typed() == b""


@pytest.mark.every_nvim
def test_a_click_that_hits_no_file_is_for_the_cli(opened, fake):
    nvim = opened(files=FILES, args=["a.txt"])
    fake.show("\x1b[?1002h\x1b[?1006hsee nothing there")
    click(nvim, "nothing there")
    nvim.wait(lambda: fake.typed().startswith(b"\x1b[<16;"), what="the click")
    assert nvim.mode() == "t"


def test_a_mapping_of_the_users_in_the_terminal_stays(opened, fake):
    mine = "vim.keymap.set('n', 'gf', '<Cmd>let g:mine = 1<CR>', { buffer = true })"
    nvim = opened(
        files=FILES,
        init_lua=f"vim.api.nvim_create_autocmd('TermOpen', {{ callback = function() {mine} end }})",
    )
    fake.show("see sub/b.txt:12 there")
    nvim.wait_screen("sub/b.txt:12")
    nvim.keys("<C-\\><C-n>?b.txt<CR>gf")
    nvim.wait("vim.g.mine == 1", what="the user's key")
    nvim.keys("gF")
    nvim.wait(is_at("sub/b.txt", 12), what="the file")


@pytest.mark.every_nvim
def test_what_is_printed_while_the_user_is_elsewhere_stays_in_sight(opened):
    nvim = opened()
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.bo.filetype == ''")
    nvim.lua("vim.api.nvim_chan_send(vim.b[Ide.terminal.bufnr()].claude_terminal, 'L')")
    nvim.wait_screen("line 199")


@pytest.mark.every_nvim
def test_a_place_scrolled_back_to_survives_hiding(opened):
    nvim = opened()
    nvim.keys("L")
    nvim.wait_screen("line 199")
    nvim.keys("<C-\\><C-n>gg")
    nvim.wait_screen("line 5")
    nvim.keys(":Claude<CR>")
    nvim.wait("#vim.api.nvim_list_wins() == 1")
    nvim.keys(":Claude<CR>")
    nvim.wait("vim.bo.filetype == 'claude-terminal'")
    assert nvim.lua("return vim.fn.line('w0')") == 1
    assert nvim.mode() == "nt"
    nvim.keys("i")
    nvim.wait_screen("line 199")


# ── pastes ──


def test_a_long_paste_reaches_the_cli_in_one_piece(opened, fake):
    nvim = opened()
    text = "".join(f"line {i} of a paste that is far longer than one read of a terminal\n" for i in range(2000))
    nvim.paste(text)
    nvim.wait(lambda: fake.typed().endswith(b"\x1b[201~"), what="the end of the paste")
    typed = fake.typed()
    assert typed.count(b"\x1b[200~") == 1 and typed.count(b"\x1b[201~") == 1
    assert typed.replace(b"\r", b"\n") == b"\x1b[200~" + text.encode() + b"\x1b[201~"


def test_a_paste_elsewhere_is_neovims_own_business(opened):
    nvim = opened()
    nvim.keys("<C-\\><C-\\>i")
    nvim.wait("vim.api.nvim_get_mode().mode == 'i'")
    nvim.paste("two\nlines")
    nvim.wait("vim.api.nvim_buf_line_count(0) == 2")
    assert nvim.lines() == ["two", "lines"]


# ── its end ──


@pytest.mark.every_nvim
def test_a_clean_end_takes_the_window_away(opened, fake):
    nvim = opened(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.keys("<C-d>")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the window to go")
    assert nvim.lua("return vim.fn.expand('%:t')") == "a.txt"
    assert nvim.lua("return #vim.api.nvim_list_bufs()") == 1
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
    nvim.keys(":Claude<CR>")
    nvim.wait(lambda: len(fake.starts()) == 2, what="a new start")


@pytest.fixture
def typed_as_it_ends(opened):
    """Types a key that ends the CLI, `then` in the given mode others, and waits until no key is muted any more."""

    def begin(end, mode, then):
        nvim = opened(files={"a.txt": "one\ntwo\n"}, args=["a.txt"])
        nvim.lua("Ide.guard_times.closed = 1e6 vim.g.typed = 0")
        nvim.cmd("nnoremap <F5> <Cmd>let g:typed += 1<CR>")
        nvim.keys(end)
        nvim.wait(f"vim.api.nvim_get_mode().mode == '{mode}'", what="the end")
        nvim.keys(then + "\x1b[15~")
        nvim.wait("vim.g.typed == 1", what="the keys to be handled")
        nvim.lua("Ide.guard_times.closed = 1")
        nvim.keys("d")
        nvim.wait("vim.fn.maparg('d', 'n') == ''", what="the keys to act again")
        return nvim

    return begin


@pytest.mark.every_nvim
def test_what_is_typed_as_it_ends_does_not_edit_a_file(typed_as_it_ends):
    nvim = typed_as_it_ends("Q", "n", "please add <lt>|\\ dd<CR><Esc>i<C-w>j<C-r>x")
    assert (nvim.mode(), nvim.cursor(), nvim.lines()) == ("n", (1, 0), ["one", "two"])
    assert nvim.lua("return vim.api.nvim_buf_get_keymap(0, 'n')") == []
    nvim.keys("x")
    nvim.wait("vim.api.nvim_get_current_line() == 'ne'", what="the user's own key")


@pytest.mark.every_nvim
def test_a_terminal_that_has_failed_keeps_its_text_and_q_closes_it(typed_as_it_ends):
    nvim = typed_as_it_ends("E", "nt", "quit:")
    for at, key in enumerate("iaA", 2):
        nvim.keys(f"{key}dd\x1b[15~")
        nvim.wait(f"vim.g.typed == {at}", what="the keys to be handled")
        assert "something is wrong" in nvim.lines()
    nvim.keys("q")
    out_of_it(nvim)
    assert nvim.lines() == ["one", "two"]


@pytest.mark.slow
def test_after_an_error_the_last_words_stay_until_the_next_start(opened, fake):
    nvim = opened()
    nvim.keys("<C-e>")
    nvim.wait_screen("something is wrong")
    nvim.wait_screen("Process exited 3")
    nvim.wait("vim.api.nvim_get_mode().mode ~= 't'", what="Normal mode, to read and copy")
    nvim.keys(":Claude<CR>")
    nvim.wait(lambda: len(fake.starts()) == 2, what="a new start")
    ready(nvim)
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2


def test_close_ends_the_cli(opened, fake):
    nvim = opened()
    pid = fake.starts()[0]["pid"]
    nvim.cmd("Claude close")
    nvim.wait("#vim.api.nvim_list_wins() == 1")
    nvim.wait(lambda: not Path(f"/proc/{pid}").exists(), what="the process to end")
    nvim.keys(":Claude close<CR>")
    nvim.wait_screen("Claude is not running in")


def test_closing_the_window_by_hand_only_hides_it_and_wiping_the_buffer_ends_it(opened, fake):
    nvim = opened()
    nvim.cmd("quit")
    assert nvim.lua("return Ide.terminal.is_running()") is True
    out_of_it(nvim)
    reopen(nvim)
    nvim.cmd("bwipeout!")
    nvim.wait("not Ide.terminal.is_running()")
    out_of_it(nvim)
    nvim.keys(":Claude<CR>")
    nvim.wait(lambda: len(fake.starts()) == 2, what="a new start")


@pytest.mark.every_nvim
def test_a_saved_session_starts_no_cli_of_its_own(opened, start, fake):
    nvim = opened(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.cmd("mksession! session.vim")
    again = start(args=["-S", "session.vim"])
    again.wait("vim.v.this_session ~= ''")
    again.lua("vim.wait(0)")
    assert (
        again.lua(
            "return vim.iter(vim.api.nvim_list_bufs()):any(function(b) return vim.bo[b].buftype == 'terminal' end)"
        )
        is False
    )
    assert len(fake.starts()) == 1


@pytest.mark.every_nvim
def test_quitting_neovim_is_not_held_up_by_the_cli(opened, fake):
    nvim = opened()
    pid = fake.starts()[0]["pid"]
    nvim.keys("<C-\\><C-n>:qall<CR>")
    nvim.wait(lambda: not nvim.running(), what="Neovim to end")
    nvim.wait(lambda: not Path(f"/proc/{pid}").exists(), what="the CLI to end")


# ── other providers ──

FAKE_SNACKS = """
_G.windows = {}
package.preload["snacks"] = function()
  return {
    win = function(opts)
      local made = { opts = opts }
      function made:hide() self.hidden = true vim.api.nvim_win_close(self.win, true) end
      made.win = vim.api.nvim_open_win(opts.buf, opts.enter, { split = "right", win = -1 })
      table.insert(_G.windows, made)
      return made
    end,
  }
end
"""


def test_snacks_gives_the_window_and_nothing_else(opened, fake):
    opts = {"terminal": {"provider": "snacks", "side": "bottom", "size": 0.3, "snacks": {"backdrop": False}}}
    nvim = opened(opts=opts, init_lua=FAKE_SNACKS)
    given = nvim.lua(
        "local opts = _G.windows[1].opts return { opts.position, opts.height, opts.backdrop, opts.buf == vim.fn.bufnr() }"
    )
    assert given == ["bottom", 0.3, False, True]
    nvim.cmd("Claude")
    assert nvim.lua("return _G.windows[1].hidden") is True
    out_of_it(nvim)
    reopen(nvim)
    nvim.keys("<Esc><Esc>x<CR>")
    nvim.wait(lambda: fake.typed() == b"\x1b\x1bx\r", what="a double Esc to reach the CLI")
    nvim.keys("<C-d>")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the window to go")
    out_of_it(nvim)
    assert len(fake.starts()) == 1
    # A float keeps its own size.
    nvim.lua("require('claude-ide').setup({ terminal = { provider = 'snacks', snacks = { position = 'float' } } })")
    reopen(nvim)
    float = "local opts = _G.windows[#_G.windows].opts return { opts.position, opts.width or 0, opts.height or 0 }"
    assert nvim.lua(float) == ["float", 0, 0]


def test_a_provider_that_cannot_work_says_why(start):
    nvim = start(opts={"terminal": {"provider": "snacks"}})
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("snacks.nvim is not installed")
    nvim.lua("require('claude-ide').setup({ terminal = { provider = 'external' } })")
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("say which program in terminal.external")
    nvim.lua("require('claude-ide').setup({ terminal = { provider = 'none' } })")
    nvim.keys(":Claude --resume<CR>")
    port = nvim.lua("return Ide.server.info().port")
    nvim.wait_screen(f"CLAUDE_CODE_SSE_PORT={port} claude --resume")


LAUNCHER = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >"$0.args.tmp"
mv "$0.args.tmp" "$0.args"
while [ -e "$0.hold" ]; do sleep 0.02; done
exit ${EXIT:-0}
"""


def launcher(tmp_path):
    """A program that stands in for a terminal, and the arguments of its run."""
    program = tmp_path / "bin" / "launcher"
    program.write_text(LAUNCHER)
    program.chmod(0o755)
    given = program.with_suffix(".args")
    return program, lambda: given.read_text().splitlines() if given.exists() else None


PATIENT = """
  local retry = Ide.retry
  local until_found = retry.until_found
  function retry.until_found(look, _, done) return until_found(look, 6e5, done) end
"""
"""However slow the machine is, the CLI of a window that was opened is soon there."""


@pytest.mark.parametrize("tail", [["-e"], ["-d", "{cwd}", "{command}", "--hold"]])
def test_another_terminal_gets_a_command_that_finds_this_neovim(start, tmp_path, tail):
    program, arguments = launcher(tmp_path)
    nvim = start(opts={"terminal": {"provider": "external", "external": ["launcher", *tail], "env": {"SECRET": "x"}}})
    nvim.keys(":Claude --resume<CR>")
    nvim.wait(arguments, what="the other terminal to be started")
    port = nvim.lua("return Ide.server.info().port")
    (tools,) = [argument for argument in arguments() if argument.startswith("--mcp-config=")]
    (settings,) = [argument for argument in arguments() if argument.startswith("--settings=")]
    (mod,) = [argument for argument in arguments() if argument.startswith("--plugin-dir=")]
    config = Path(tools.removeprefix("--mcp-config="))
    assert config.stat().st_mode & 0o777 == 0o600, (
        "the environment does not get there, and a command can be read by all"
    )
    server = json.loads(config.read_text())["mcpServers"]["nvim"]
    assert list(server["headers"]) == ["Authorization"]
    command = ["env", f"CLAUDE_CODE_SSE_PORT={port}", "ENABLE_IDE_INTEGRATION=true"]
    command += ["NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1"]
    (script,) = [argument for argument in arguments() if argument.endswith(".sh")]
    command += ["sh", script, "claude", tools, settings, mod, "--resume"]
    expected = [*tail, *command]
    if "{command}" in tail:
        expected = ["-d", nvim.lua("return vim.fn.getcwd()"), *command, "--hold"]
    assert arguments() == expected
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1


@pytest.mark.parametrize("held", [None, "before", "after"])
def test_another_terminal_is_opened_once_as_long_as_its_cli_runs(start, tmp_path, connect, held):
    """As with tmux, whose command exits at once: mostly before the CLI in its window has begun."""
    program, arguments = launcher(tmp_path)
    hold = program.with_suffix(".hold")
    if held:
        hold.touch()
    command = ["sh", "-c", "exec sleep 600"]
    begin = '"$@" <&- >&- 2>&- &'
    text = program.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{begin}\n" if held == "after" else "#!/bin/sh\n")
    program.write_text(text if held == "after" else text.replace("exit ", f"{begin}\nexit "))
    nvim = start(opts={"terminal": {"provider": "external", "external": ["launcher"], "command": command}})
    nvim.lua(PATIENT)
    nvim.keys(":Claude<CR>")
    nvim.wait(arguments, what="the other terminal to be started")
    foreign = connect(nvim)  # as one that comes back from the last Neovim
    nvim.wait("(Ide.server.clients()[1] or {}).pid ~= nil")
    assert not nvim.lua("return Ide.terminal.of_process(...) ~= nil", os.getpid())
    hold.unlink(missing_ok=True)
    pid_file = Path(next(argument for argument in arguments() if argument.endswith(".sh")) + ".pid")
    pid = nvim.wait(lambda: pid_file.exists() and pid_file.read_text().strip(), what="the CLI to begin")
    foreign.close()
    nvim.wait("#Ide.server.clients() == 0")
    (tmp_path / "bin" / "launcher.args").unlink()
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("Claude runs in its own window.")
    assert arguments() is None
    if held == "after":  # Neovim ends it, as no program closes its window
        nvim.wait(f"Ide.terminal.of_process({pid}) ~= nil", what="its process to be known")
        nvim.cmd("Claude close")
    else:
        os.kill(int(pid), signal.SIGTERM)
    nvim.wait("not Ide.terminal.is_running()", what="the end of the CLI to be known")
    nvim.keys(":Claude<CR>")
    nvim.wait(arguments, what="another one")


def test_another_terminal_that_fails_is_reported(start, tmp_path):
    launcher(tmp_path)
    nvim = start(env={"EXIT": "4"}, opts={"terminal": {"provider": "external", "external": ["launcher"]}})
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("launcher ended with code 4")


@pytest.fixture
def tmux(fake, tmp_path):
    """A tmux server of its own; calls its program."""
    if not shutil.which("tmux"):
        pytest.skip("no tmux here")
    socket = tmp_path / "tmux"

    def tmux(*words):
        command = ["tmux", "-S", socket, "-f", "/dev/null", *words]
        env = {"HOME": str(tmp_path), "TERM": "xterm-256color", **fake.environment()}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False).stdout.split()

    tmux("new-session", "-d", "-x", "160", "-y", "40")
    yield tmux
    tmux("kill-server")


def test_tmux_gets_a_pane_that_is_gone_to_and_closed(start, tmux, tmp_path):
    (pane,) = tmux("list-panes", "-a", "-F", "#{pane_id}")
    env = {"TMUX": f"{tmp_path}/tmux,1,0", "TMUX_PANE": pane}
    nvim = start(env=env, opts={"terminal": {"provider": "tmux"}})
    nvim.lua(PATIENT)
    nvim.keys(":Claude<CR>")
    other = nvim.wait(
        lambda: next((p for p in tmux("list-panes", "-F", "#{pane_id}") if p != pane), None), what="a pane"
    )
    nvim.wait(lambda: "ready" in tmux("capture-pane", "-p", "-t", other), what="the CLI in it")
    nvim.wait(f"Ide.terminal.list()[1].handle.id == '{other}'", what="tmux to have said which it is")

    def active():
        return tmux("display-message", "-p", "#{pane_id}") == [other]

    assert active()
    tmux("select-pane", "-t", pane)
    assert not active()
    nvim.keys(":Claude<CR>")
    nvim.wait(active, what="the pane to be gone to")
    nvim.keys(":Claude close<CR>")
    nvim.wait(lambda: tmux("list-panes", "-F", "#{pane_id}") == [pane], what="the pane to be closed")


def test_what_is_closed_before_tmux_has_said_which_pane_it_is_ends(start, tmux, fake, tmp_path):
    (pane,) = tmux("list-panes", "-a", "-F", "#{pane_id}")
    nvim = start(
        env={"TMUX": f"{tmp_path}/tmux,1,0", "TMUX_PANE": pane}, opts={"terminal": {"provider": "tmux"}}, notices=True
    )
    nvim.lua(PATIENT)
    nvim.lua("vim.cmd('Claude'); vim.cmd('Claude close')")
    nvim.wait("not Ide.terminal.is_running()", what="its end")
    nvim.wait(lambda: tmux("list-panes", "-F", "#{pane_id}") == [pane], what="the pane to be closed")
    assert nvim.notices() == []


def test_tmux_finds_the_programs_that_neovim_finds_and_an_early_end_is_told(start, fake, tmp_path):
    if not shutil.which("tmux"):
        pytest.skip("no tmux here")
    tmux = ["tmux", "-S", tmp_path / "tmux", "-f", "/dev/null"]
    env = {"HOME": str(tmp_path), "TERM": "xterm-256color", "PATH": "/usr/bin:/bin"}  # without `claude`

    def run(*words):
        return subprocess.run([*tmux, *words], env=env, capture_output=True, text=True, timeout=60, check=False).stdout

    run("new-session", "-d", "-x", "160", "-y", "40")
    try:
        pane = run("list-panes", "-a", "-F", "#{pane_id}").strip()
        env_of_nvim = {"TMUX": f"{tmp_path}/tmux,1,0", "TMUX_PANE": pane}
        nvim = start(env=env_of_nvim, opts={"terminal": {"provider": "tmux"}}, notices=True)
        nvim.lua(PATIENT)
        nvim.keys(":Claude<CR>")
        nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI in a pane")
        nvim.keys(":Claude close<CR>")
        nvim.wait("not Ide.terminal.is_running()", what="its end")
        nvim.lua("Ide.config.get().terminal.command = { 'false' }")
        nvim.keys(":Claude<CR>")
        nvim.wait_notice("Claude exited at once in the other terminal. Try `false` there.")
        assert not nvim.lua("return Ide.terminal.is_running()")
    finally:
        run("kill-server")


def test_each_of_two_panes_has_the_cli_that_was_started_in_it(start, tmux, fake, connect, tmp_path):
    (pane,) = tmux("list-panes", "-a", "-F", "#{pane_id}")
    nvim = start(
        env={"TMUX": f"{tmp_path}/tmux,1,0", "TMUX_PANE": pane},
        opts={"terminal": {"provider": "tmux"}},
        files={"a.txt": "one\n"},
        args=["a.txt"],
        notices=True,
    )
    clients = []
    for number, command in enumerate(("Claude", "Claude new parser")):
        nvim.keys(f":{command}<CR>")
        nvim.wait(lambda number=number: len(fake.starts()) == number + 1, what="the CLI in its pane")
        clients.append(connect(nvim))
        pid = fake.starts()[number]["pid"]
        clients[number].notify("ide_connected", {"pid": pid})
        nvim.wait(f"Ide.server.clients()[{number + 1}].pid == {pid}", what="its process to be told")
        title = f"(Ide.terminal.of_process({pid}) or {{ spec = {{}} }}).spec.title"
        nvim.wait(f"{title} == '{['Claude', 'parser'][number]}'", what="its pane to be known")
    nvim.cmd("ClaudeSend")
    assert nvim.wait_notice("Sent to") == "Sent to parser: a.txt"
    assert clients[1].wait_notification("at_mentioned")["filePath"].endswith("/a.txt")
    assert len(tmux("list-panes", "-a", "-F", "#{pane_id}")) == 3


def test_a_program_that_neovim_does_not_run_in_is_not_asked(start):
    nvim = start(env={"TMUX": ""}, opts={"terminal": {"provider": "tmux"}})
    nvim.keys(":Claude<CR>")
    nvim.wait_screen('terminal.provider is "tmux", and Neovim does not run in it.')


@pytest.mark.parametrize("program", ["kitty", "wezterm", "zellij"])
def test_other_programs_with_windows_are_asked_in_their_words(start, tmp_path, program):
    name, variable, opened, focus, close = {
        "kitty": (
            "kitten",
            "KITTY_WINDOW_ID",
            "@ launch --cwd=",
            "@ focus-window --match=id:7",
            "@ close-window --match=id:7",
        ),
        "wezterm": (
            "wezterm",
            "WEZTERM_PANE",
            "cli split-pane --right --cwd ",
            "cli activate-pane --pane-id 7",
            "cli kill-pane --pane-id 7",
        ),
        "zellij": ("zellij", "ZELLIJ", "run --close-on-exit --direction right --cwd ", None, None),
    }[program]
    asked = tmp_path / "asked"
    (tmp_path / "bin" / name).write_text(f'#!/bin/sh\necho "$*" >>{asked}\n' + ("echo 7\n" if focus else ""))
    (tmp_path / "bin" / name).chmod(0o755)
    nvim = start(env={variable: "1"}, opts={"terminal": {"provider": program}})
    nvim.lua(PATIENT)
    nvim.lua("""
      ended = 0
      local jobstart = vim.fn.jobstart
      vim.fn.jobstart = function(command, options)
        local on_exit, on_stdout = options.on_exit, options.on_stdout
        options.on_exit = function(...) on_exit(...) ended = ended + 1 end
        options.on_stdout = function(...) on_stdout(...) ended = ended + 1 end
        return jobstart(command, options)
      end
    """)

    def last():
        return (asked.read_text() if asked.exists() else "").strip().rpartition("\n")[2]

    nvim.keys(":Claude<CR>")
    nvim.wait(last, what="the program to be asked")
    assert last().startswith(opened + nvim.lua("return vim.fn.getcwd()"))
    assert " env CLAUDE_CODE_SSE_PORT=" in last()
    nvim.wait("ended == 2", what="the number of the window, and the end of what opened it")
    if not focus:
        nvim.keys(":Claude<CR>")
        nvim.wait_screen("Claude runs in its own window.")
        return
    nvim.keys(":Claude<CR>")
    nvim.wait(lambda: last() == focus, what="the window to be focused")
    nvim.keys(":Claude close<CR>")
    nvim.wait(lambda: last() == close, what="the window to be closed")


@pytest.mark.parametrize(
    ("body", "said"), [("error('no display')", "no display"), ("return {}", "terminal.external returned no program")]
)
def test_a_function_for_another_terminal_that_fails_is_reported(start, body, said):
    nvim = start(
        opts=None,
        init_lua=f"""
        require("claude-ide").setup({{
          auto_start = false,
          terminal = {{ provider = "external", external = function() {body} end }},
        }})
        """,
    )
    nvim.keys(":Claude<CR>")
    nvim.wait_screen(said)
    assert "stack traceback" not in "\n".join(nvim.screen())


def test_a_provider_of_ones_own_is_a_table_of_functions(start):
    nvim = start(
        opts=None,
        init_lua="""
        _G.calls = {}
        local provider = {}
        for _, name in ipairs({ "show", "hide", "focus", "close" }) do
          provider[name] = function(handle) table.insert(_G.calls, name .. " " .. handle) end
        end
        function provider.open(spec, on_exit) _G.exit = on_exit table.insert(_G.calls, "open " .. spec.argv[1]) return "h" end
        function provider.is_visible() return _G.visible end
        require("claude-ide").setup({ auto_start = false, terminal = { provider = provider } })
        """,
    )
    nvim.cmd("Claude")
    nvim.lua("_G.visible = true")
    nvim.cmd("Claude")
    nvim.lua("_G.visible = false")
    nvim.cmd("Claude")
    nvim.lua("_G.exit(0, true)")
    nvim.cmd("Claude")
    nvim.cmd("Claude close")
    assert nvim.lua("return _G.calls") == ["open claude", "hide h", "show h", "focus h", "open claude", "close h"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("event", ["WinNew", "WinEnter"])
def test_a_plugin_that_takes_the_focus_back_once_does_not_get_what_is_typed(start, event):
    nvim = start(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.lua(
        """
        local former = vim.api.nvim_get_current_win()
        vim.api.nvim_create_autocmd(..., { once = true, callback = function()
          vim.schedule(function() vim.api.nvim_set_current_win(former) taken = true end)
        end })
        """,
        event,
    )
    nvim.keys(":Claude<CR>")
    nvim.wait("taken")
    ready(nvim)


# The terminal's scheduled functions run when the test says: they may be late, and keys come first.
DEFERRED = """
deferred = {}
local schedule = vim.schedule
vim.schedule = function(fn)
  if debug.getinfo(2, "S").source:find(Ide("zen_mode"):gsub("%.", "/"), 1, true) then
    deferred[#deferred + 1] = fn
  else
    schedule(fn)
  end
end
"""


@pytest.mark.parametrize("keys", ["<C-\\><C-\\>", "<C-\\><C-n><C-w>p", "<C-\\><C-n>:wincmd p<CR>"])
@pytest.mark.parametrize("looks", [0, 1])
def test_a_user_who_leaves_at_once_is_not_taken_back(start, keys, looks):
    """However late the check of the focus runs."""
    nvim = start(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.cmd("set notimeout")  # a slow machine: the two keys of a mapping would go to the CLI
    nvim.lua(DEFERRED)
    reopen(nvim)
    for _ in range(looks):
        nvim.lua("table.remove(deferred, 1)()")
    nvim.keys(keys)
    nvim.wait("vim.fn.expand('%:t') == 'a.txt' and vim.api.nvim_get_mode().mode == 'n'", what="the file")
    nvim.lua("while deferred[1] do table.remove(deferred, 1)() end")
    nvim.keys("x")
    nvim.wait("vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, 1, false)[1] == 'ne'", what="the key in the file")


@pytest.mark.every_nvim
def test_a_user_who_opens_a_file_at_once_is_not_taken_back(start, fake):
    """The key runs `:normal`, whose keys are not the user's."""
    nvim = start(files=FILES, args=["a.txt"])
    nvim.lua(DEFERRED)
    reopen(nvim)
    nvim.lua("table.remove(deferred, 1)()")
    nvim.keys("<C-\\><C-n>:only<CR>")
    fake.show("see sub/b.txt:12")
    nvim.wait_screen("sub/b.txt:12")
    nvim.keys("?b.txt<CR>gf")
    nvim.wait(is_at("sub/b.txt", 12), what="the file")
    nvim.lua("while deferred[1] do table.remove(deferred, 1)() end")
    assert nvim.lua(f"return {is_at('sub/b.txt', 12)}")


def test_whoever_opens_the_terminal_and_goes_elsewhere_stays_there(start):
    nvim = start(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.lua(
        """
        vim.keymap.set("n", "gz", function()
          vim.cmd("Claude")
          vim.cmd("stopinsert | wincmd p")
        end)
        """
    )
    nvim.keys("gz")
    nvim.wait_screen("fake CLI ready")
    nvim.keys("x")
    nvim.wait("vim.fn.getline(1) == 'ne'")
    assert nvim.lua("return vim.fn.expand('%:t')") == "a.txt"
