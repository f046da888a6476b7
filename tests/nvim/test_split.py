"""Windows of ours take room among the user's, and give it back: only splits have sizes, and the command line keeps its own."""

import pytest
from changeset_steps import Changesets
from chat_steps import begin, start_with_stand_in, wait_idle
from diff_steps import Diffs

from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

FILES = {"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n"}

# By file name: width and height. The command line is one of them.
SIZES = """
local found = { cmdheight = vim.o.cmdheight }
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), ":t")
  if name:find("%.txt$") then
    found[name] = { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
  end
end
return found
"""


def sizes(nvim):
    return nvim.lua(SIZES)


@pytest.fixture
def terminal(start_nvim, tmp_path):
    """The terminal beside the user's windows, and the function that shows and hides it."""

    def begin(arranged, **more):
        nvim = start_nvim(env=FakeCli(tmp_path).environment(), files=FILES, args=["a.txt"], **more)
        nvim.cmd(arranged)
        before = sizes(nvim)
        nvim.keys(":Claude<CR>")
        nvim.wait_screen("fake CLI ready")
        nvim.wait("vim.api.nvim_get_mode().mode == 't'")
        nvim.stop_insert()
        return nvim, before

    return begin


def hide(nvim, count):
    nvim.cmd("Claude hide")
    nvim.wait(f"#vim.api.nvim_tabpage_list_wins(0) == {count}", what="the terminal to be hidden")


@pytest.mark.every_nvim
@pytest.mark.parametrize("side", ["right", "bottom"])
def test_windows_that_the_user_has_moved_meanwhile_are_not_crushed(terminal, side):
    along, across = ("vsplit", "wincmd K") if side == "right" else ("split", "wincmd H")
    nvim, _ = terminal(f"{along} b.txt", opts={"terminal": {"side": side}})
    nvim.cmd(f"1wincmd w | {across}")
    hide(nvim, 2)
    left = sizes(nvim)
    assert left.pop("cmdheight") == 1
    assert all(width > 30 and height > 10 for width, height in left.values()), left


@pytest.mark.every_nvim
@pytest.mark.parametrize("equal", ["equalalways", "noequalalways"])
@pytest.mark.parametrize(
    "arranged", ["vsplit b.txt | vertical resize 90", "vsplit b.txt | split c.txt | resize 9 | wincmd K"]
)
def test_all_give_room_to_a_terminal_in_proportion_and_get_it_back(terminal, equal, arranged):
    nvim, before = terminal(f"set {equal} | {arranged}")
    now = sizes(nvim)
    for name in ("a.txt", "b.txt"):
        assert abs(now[name][0] / before[name][0] - 0.6) < 0.03, (before, now)
        assert now[name][1] == before[name][1]
    nvim.cmd("vertical resize 40")
    hide(nvim, len(before) - 1)
    assert sizes(nvim) == before


@pytest.mark.every_nvim
def test_windows_that_the_user_has_sized_beside_a_terminal_keep_their_proportions(terminal):
    nvim, _ = terminal("vsplit b.txt")
    nvim.cmd("1wincmd w | vertical resize 60")
    hide(nvim, 2)
    widths = {name: size[0] for name, size in sizes(nvim).items() if name != "cmdheight"}
    assert abs(widths["b.txt"] / widths["a.txt"] - 60 / 22) < 0.2, widths


@pytest.mark.every_nvim
def test_on_a_smaller_screen_all_give_room_in_proportion(terminal):
    nvim, before = terminal("vsplit b.txt | vertical resize 90")
    nvim.cmd("set columns=100")
    nvim.wait(lambda: abs(sizes(nvim)["a.txt"][0] - before["a.txt"][0] * 59 / 139) <= 1, what="their proportions")
    nvim.cmd("set columns=140")
    hide(nvim, 2)
    now = sizes(nvim)
    assert all(abs(now[name][0] - before[name][0]) <= 1 for name in ("a.txt", "b.txt")), now


@pytest.mark.every_nvim
@pytest.mark.parametrize("columns", [100, 180])
def test_a_terminal_keeps_the_width_that_the_user_gives_it_on_another_screen(terminal, columns):
    nvim, _ = terminal("")
    nvim.keys(":vertical resize 70<CR>")
    nvim.wait("vim.api.nvim_win_get_width(0) == 70")
    nvim.cmd(f"set columns={columns}")
    nvim.wait(f"vim.api.nvim_win_get_width(0) == {columns // 2}", what="half of it")


@pytest.mark.every_nvim
def test_a_terminal_beside_a_window_that_is_zoomed_has_its_width_the_next_time(terminal):
    nvim, _ = terminal("vsplit b.txt")
    nvim.cmd("1wincmd w | wincmd |")
    nvim.wait("vim.api.nvim_win_get_width(0) > 130", what="all columns for one window")
    hide(nvim, 2)
    nvim.cmd("Claude")
    nvim.wait("vim.bo.buftype == 'terminal' and vim.api.nvim_win_get_width(0) == 56", what="its share")


@pytest.mark.every_nvim
@pytest.mark.parametrize("steps", ["wincmd K", "1wincmd w | quit | new a.txt"])
def test_a_terminal_that_was_as_wide_as_the_screen_has_its_width_the_next_time(terminal, steps):
    nvim, _ = terminal("")
    nvim.cmd(steps)
    nvim.wait("vim.fn.winlayout()[1] == 'col'", what="the terminal above or below the file")
    hide(nvim, 1)
    nvim.cmd("Claude")
    nvim.wait("vim.bo.buftype == 'terminal' and vim.api.nvim_win_get_width(0) == 56", what="its share")


@pytest.mark.every_nvim
def test_a_terminal_that_the_user_has_zoomed_leaves_the_others_room_the_next_time(terminal):
    nvim, _ = terminal("set winwidth=1")
    nvim.keys("<C-w>|")
    nvim.wait("vim.api.nvim_win_get_width(0) > 130", what="all columns for the terminal")
    hide(nvim, 1)
    nvim.cmd("Claude")
    nvim.wait("vim.bo.buftype == 'terminal' and vim.api.nvim_win_get_width(0) < 130", what="room for the file")
    assert sizes(nvim)["a.txt"][0] >= 19


@pytest.mark.every_nvim
def test_a_file_in_the_window_of_the_terminal_has_no_fixed_width(terminal):
    nvim, _ = terminal("")
    nvim.keys(":edit b.txt<CR>")
    nvim.wait("vim.fn.expand('%:t') == 'b.txt'")
    nvim.wait("not vim.wo.winfixwidth")


@pytest.mark.every_nvim
def test_all_give_room_to_the_log_in_proportion(start_nvim):
    nvim = start_nvim(files=FILES, args=["a.txt"])
    nvim.cmd("split b.txt | resize 8")
    before = sizes(nvim)
    nvim.lua("Ide.log.error('a line')")
    nvim.cmd("Claude log")
    now = sizes(nvim)
    for name in ("a.txt", "b.txt"):
        assert abs(now[name][1] - before[name][1] / 2) <= 2, (before, now)


@pytest.mark.every_nvim
def test_the_page_of_other_agents_gives_its_room_back(start_nvim):
    nvim = start_nvim(files=FILES, args=["a.txt"])
    nvim.cmd("vsplit b.txt | split c.txt | resize 9")
    before = sizes(nvim)
    nvim.cmd("Claude mcp")
    nvim.wait_kind("mcp")
    nvim.keys("q")
    nvim.wait(lambda: sizes(nvim) == before, what="the sizes of before")


# Names, widths.
WIDTHS = """
return vim.tbl_map(function(win)
  local kind = (vim.b[vim.api.nvim_win_get_buf(win)].claude_ide or {}).kind or "file"
  return { kind, vim.api.nvim_win_get_width(win) }
end, vim.api.nvim_tabpage_list_wins(0))
"""


LAST_COLUMNS = """
return vim.tbl_map(function(win)
  return vim.fn.win_screenpos(win)[2] + vim.api.nvim_win_get_width(win) - 1
end, vim.api.nvim_tabpage_list_wins(0))
"""


def list_width(nvim):
    return dict(nvim.lua(WIDTHS)).get("changes")


@pytest.fixture
def changeset(start_nvim):
    """A changeset of two files beside the user's two windows."""

    def begin(**diff):
        nvim = start_nvim(opts={"diff": diff}, files=FILES, args=["a.txt"])
        nvim.cmd("vsplit b.txt | vertical resize 30")
        nvim.lua("require('claude-ide').connect()")
        edits = ", ".join(f'[uri("{name}")] = {{ edit(0, 0, 0, 0, "new ") }}' for name in ("a.txt", "b.txt"))
        Changesets(nvim).show(f"{{ changes = {{ {edits} }} }}")
        return nvim

    return begin


@pytest.mark.every_nvim
def test_a_list_of_files_keeps_the_width_that_the_user_gives_it(changeset):
    nvim = changeset(layout="vertical")
    assert list_width(nvim) == 28
    for columns, width in ((60, 23), (200, 28), (140, 28)):
        nvim.cmd(f"set columns={columns}")
        nvim.wait(lambda width=width: list_width(nvim) == width, what=f"the width for {columns} columns")
    nvim.cmd("1wincmd w | vertical resize 50 | wincmd p")
    nvim.keys("gl")
    nvim.wait(lambda: len({width for _, width in nvim.lua(WIDTHS)}) == 2, what="the other layout")
    assert list_width(nvim) == 50
    nvim.cmd("set columns=200")
    nvim.wait(lambda: list_width(nvim) == 71, what="its share")
    nvim.cmd("set columns=140 | wincmd |")
    nvim.wait(lambda: list_width(nvim) == 1, what="all columns for one text")
    nvim.keys("gl")
    nvim.wait(lambda: list_width(nvim) == 50, what="the list again")


@pytest.mark.every_nvim
def test_a_list_of_files_is_the_previous_window(changeset):
    nvim = changeset()
    nvim.keys("<C-w>p")
    nvim.wait_kind("changes")


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
def test_a_list_of_files_among_the_users_windows_leaves_the_texts_room_on_a_small_screen(changeset, layout):
    nvim = changeset(open_in="current", layout=layout)
    for columns in (60, 200, 140):
        nvim.cmd(f"set columns={columns}")
        room = columns - 31  # beside the user's window
        nvim.wait(lambda room=room: list_width(nvim) == min(28, (room + 1) // 3), what=f"its width on {columns}")
        assert max(nvim.lua(LAST_COLUMNS)) == columns
        texts = [width for kind, width in nvim.lua(WIDTHS) if kind in ("now", "proposal")]
        assert min(texts) >= (room - list_width(nvim)) // len(texts if layout == "vertical" else [1]) - 2


@pytest.mark.every_nvim
@pytest.mark.parametrize("side", ["right", "bottom", "left", "top"])
def test_a_chat_takes_and_gives_room_at_its_side_only(start_nvim, model, tmp_path, side):
    nvim = start_with_stand_in(
        start_nvim, model, tmp_path, opts={"terminal": {"side": side}}, files=FILES, args=["a.txt"]
    )
    nvim.cmd("split b.txt | resize 9 | vsplit c.txt | vertical resize 30")
    before = sizes(nvim)
    begin(nvim, "SAY one")
    wait_idle(nvim)
    now = sizes(nvim)
    across = 1 if side in ("right", "left") else 0
    assert [now[name][across] for name in FILES] == [before[name][across] for name in FILES]
    nvim.keys("<Esc>o2<Esc>o3<Esc>o4<Esc>")
    nvim.wait("vim.api.nvim_win_get_height(0) == 6", what="a higher prompt")
    assert sizes(nvim) == now, "the transcript gives it room"
    nvim.keys("dgg")
    nvim.wait("vim.api.nvim_win_get_height(0) < 6", what="a lower prompt")
    assert sizes(nvim) == now
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 3", what="the chat to be hidden")
    assert sizes(nvim) == before


@pytest.mark.every_nvim
def test_a_chat_that_is_alone_leaves_the_command_line_as_it_is_on_another_screen(start_nvim, model, tmp_path):
    nvim = start_with_stand_in(start_nvim, model, tmp_path, opts={"terminal": {"side": "bottom"}})
    begin(nvim, "SAY one")
    wait_idle(nvim)
    nvim.stop_insert()
    nvim.cmd("wincmd k | only")
    nvim.wait("#vim.api.nvim_list_wins() == 1")
    for lines in (30, 44):
        nvim.cmd(f"set lines={lines}")
        nvim.wait(f"vim.api.nvim_win_get_height(0) >= {lines - 3}", what="all lines for the window")
        assert nvim.lua("return vim.o.cmdheight") == 1


@pytest.mark.every_nvim
def test_the_users_windows_keep_their_sizes_beside_a_diff_among_them(start_nvim):
    opts = {"diff": {"open_in": "current", "layout": "horizontal"}}
    diffs = Diffs(start_nvim(opts=opts, files=FILES, args=["a.txt"]))
    nvim = diffs.nvim
    nvim.cmd("vsplit b.txt | vertical resize 30 | split c.txt | resize 9")
    before = sizes(nvim)
    diffs.open(1, "a.txt", "new\n")
    now = sizes(nvim)
    assert now.pop("a.txt")[1] == 1
    assert now == {name: size for name, size in before.items() if name != "a.txt"}
    diffs.reject(1)
    nvim.wait(lambda: sizes(nvim) == before, what="the sizes of before")


@pytest.mark.every_nvim
def test_a_window_that_gave_way_to_a_diff_is_not_crushed_when_the_diff_is_moved(start_nvim):
    diffs = Diffs(start_nvim(opts={"diff": {"open_in": "current", "layout": "unified"}}, files=FILES, args=["a.txt"]))
    nvim = diffs.nvim
    diffs.open(1, "b.txt", "new\n")
    nvim.keys("<C-w>L")
    nvim.wait(lambda: sizes(nvim)["a.txt"][1] > 30, what="both beside each other")
    nvim.cmd("set columns=120")
    nvim.wait_screen("ZZ accept")
    assert sizes(nvim)["a.txt"][1] > 30 and nvim.lua("return vim.o.cmdheight") == 1
    diffs.reject(1)
