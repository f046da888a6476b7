"""The layouts of a review: a proposal's, changed by the same key, and remembered for both."""

import pytest
from review_steps import A_CLAUDE, LAYOUT, A, B, turn, windows

pytestmark = pytest.mark.dealt

LAYOUTS = ["vertical", "horizontal", "unified"]


def start(start_nvim, connect, layout, **files):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, notices=True, opts={"diff": {"layout": layout}})
    turn(nvim, connect(nvim), **(files or {"a_txt": A_CLAUDE, "b_txt": B.replace("beta\n", "")}))
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="a.txt to be reloaded")
    return nvim


def shape(nvim):
    """The arrangement of the sides: row, col, or leaf for a single window."""
    return nvim.lua("""
      local layout = vim.fn.winlayout()
      local sides = layout[2][2]
      return #layout[2] == 3 and "row" or sides[1]
    """)


# The number of marks in the current buffer, without signs from outside a review.
DRAWN = """
local count = 0
for name, id in pairs(vim.api.nvim_get_namespaces()) do
  if vim.list_contains({ "claude-ide.ui.diffview.unified", "claude-ide.edits.review.view" }, name) then
    count = count + #vim.api.nvim_buf_get_extmarks(0, id, 0, -1, {})
  end
end
return count
"""


def open_review(nvim, layout, args=""):
    nvim.cmd(f"Claude review {args}")
    nvim.wait(lambda: len(windows(nvim)) == (2 if layout == "unified" else 3), what="the review")


def rows(nvim):
    """The window of the file, as drawn."""
    return nvim.lua("""
      vim.cmd.redraw()
      local win, found = vim.api.nvim_get_current_win(), {}
      local at = vim.fn.win_screenpos(win)
      for row = at[1], at[1] + vim.api.nvim_win_get_height(win) - 1 do
        local cells = {}
        local first = at[2] + vim.fn.getwininfo(win)[1].textoff
        for column = first, at[2] + vim.api.nvim_win_get_width(win) - 1 do
          cells[#cells + 1] = vim.fn.screenstring(row, column)
        end
        found[#found + 1] = (table.concat(cells):gsub("%s+$", ""))
      end
      return found
    """)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_changes_are_kept_and_undone_in_every_layout(start_nvim, connect, layout):
    nvim = start(start_nvim, connect, layout)
    open_review(nvim, layout)
    assert nvim.cursor()[0] == 2
    nvim.keys("dx")
    path = nvim.project / "a.txt"
    nvim.wait(lambda: path.read_text() == A_CLAUDE.replace("TWO", "two"), what="the undo on disk")
    nvim.wait(lambda: nvim.cursor()[0] == 9, what="the cursor on the next change")
    nvim.keys("ga")
    nvim.wait_screen("kept")
    nvim.keys("]f")
    nvim.wait(lambda: windows(nvim)[-1]["name"] == "b.txt", what="the next file")
    nvim.keys("dx")
    nvim.wait(lambda: (nvim.project / "b.txt").read_text() == B, what="the undo on disk")


@pytest.mark.every_nvim
def test_unified_draws_what_was_before_in_the_file(start_nvim, connect):
    nvim = start(start_nvim, connect, "unified")
    open_review(nvim, "unified")
    expected = ["one", "two", "TWO", "three", "four", "five", "six", "seven", "eight", "and a half", "nine"]
    nvim.wait(lambda: rows(nvim)[1 : 1 + len(expected)] == expected, what="the removed line")
    nvim.keys("ga")
    nvim.wait(lambda: rows(nvim)[1:3] == ["one", "TWO"], what="the change to be no difference any more")
    nvim.keys("]f")
    nvim.wait(lambda: rows(nvim)[1:4] == ["alpha", "beta", "gamma"], what="the line that is gone")


@pytest.mark.every_nvim
def test_the_key_goes_through_the_layouts_from_every_window(start_nvim, connect):
    nvim = start(start_nvim, connect, "vertical")
    before = nvim.lua(LAYOUT)
    open_review(nvim, "vertical")
    nvim.keys("5G")
    for window, expected in (("", "col"), ("", "leaf"), ("<C-w>t", "row"), ("<C-w>t<C-w>l", "col"), ("", "leaf")):
        nvim.keys(f"{window}gl")
        nvim.wait(lambda expected=expected: shape(nvim) == expected, what=expected)
    nvim.keys("<C-w>l")
    nvim.wait(lambda: nvim.cursor()[0] == 5, what="the cursor where it was")
    assert nvim.lua("return Ide.diff_layout.preferred()") == "unified"
    nvim.keys(":q<CR>")
    nvim.wait(lambda: nvim.lua(LAYOUT)[0] == before[0], what="the screen as it was")
    assert nvim.lua(LAYOUT)[4] == before[4]
    assert nvim.lua(DRAWN) == 0
    open_review(nvim, "unified")
    assert shape(nvim) == "leaf"


@pytest.mark.every_nvim
def test_what_is_typed_is_drawn(start_nvim, connect):
    nvim = start(start_nvim, connect, "unified")
    open_review(nvim, "unified")
    nvim.keys("Gomine<Esc>")
    nvim.wait(lambda: windows(nvim)[-1]["lines"][-1] == "mine")
    nvim.keys("gg0iX<Esc>")
    nvim.wait(lambda: rows(nvim)[1:4] == ["Xone", "two", "TWO"], what="the drawing to follow")


@pytest.mark.slow
@pytest.mark.every_nvim
def test_do_takes_a_change_back_in_every_layout(start_nvim, connect):
    for layout in LAYOUTS:
        nvim = start(start_nvim, connect, layout)
        open_review(nvim, layout)
        nvim.keys("do")
        nvim.wait(
            lambda nvim=nvim: nvim.lines() == A_CLAUDE.replace("TWO", "two").splitlines(), what="the line of before"
        )
        nvim.keys("u")
        nvim.wait(lambda nvim=nvim: nvim.lines() == A_CLAUDE.splitlines(), what="Claude's line again")
        nvim.quit()


def test_keys_of_the_users_own_are_back_after_the_unified_layout(start_nvim, connect):
    nvim = start(start_nvim, connect, "unified")
    nvim.lua(
        "for _, lhs in ipairs({ ']c', 'do' }) do vim.keymap.set('n', lhs, 'yy', { buffer = true, desc = 'mine' }) end"
    )
    open_review(nvim, "unified")
    nvim.keys("glgl")
    nvim.wait(lambda: shape(nvim) == "col", what="the third layout")
    nvim.keys(":q<CR>")
    nvim.wait(lambda: len(windows(nvim)) == 1, what="the review to go")
    assert nvim.lua(
        "return { vim.fn.maparg(']c', 'n', false, true).desc, vim.fn.maparg('do', 'n', false, true).desc }"
    ) == [
        "mine",
        "mine",
    ]


@pytest.mark.slow
def test_a_long_file_is_shown_as_one_text_and_leaves_as_it_came(start_nvim, connect):
    old = "".join(f"line {i}\n" for i in range(50_000))
    new = "".join(f"LINE {i}\n" if i % 100 == 50 else f"line {i}\n" for i in range(50_000))
    nvim = start_nvim(args=["a.txt"], files={"a.txt": old, "b.txt": B}, notices=True)
    before = nvim.lua(LAYOUT)
    turn(nvim, connect(nvim), a_txt=new, b_txt=B.replace("beta\n", ""))
    nvim.wait(lambda: nvim.lua("return vim.fn.getline(51)") == "LINE 50", what="a.txt to be reloaded")
    open_review(nvim, "unified")
    nvim.wait_screen("+500")
    assert nvim.cursor()[0] == 51
    nvim.keys("gl")
    nvim.wait(lambda: "Only the unified layout can show this." in str(nvim.lua("return notices")), what="the reason")
    nvim.keys("]f")
    nvim.wait(lambda: len(windows(nvim)) == 3, what="the second file, which has room for two sides")
    nvim.keys("]f")
    nvim.wait(lambda: len(windows(nvim)) == 2, what="the first file")
    nvim.keys("]c")
    nvim.wait(lambda: nvim.cursor()[0] == 151, what="the next change")
    nvim.keys(":q<CR>")
    nvim.wait(lambda: nvim.lua(LAYOUT)[0] == before[0], what="the screen as it was")
    assert nvim.lua("return vim.fn.foldclosed(1)") == -1 and nvim.lua(DRAWN) == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_after_the_screen_was_small_the_sides_are_even_again(start_nvim, connect, layout):
    nvim = start(start_nvim, connect, layout)
    open_review(nvim, layout)

    def sizes():
        return nvim.lua("""
          return vim.tbl_map(function(win)
            return { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
          end, vim.api.nvim_tabpage_list_wins(0))
        """)

    before = sizes()
    for size in ("columns=80 lines=20", "columns=50 lines=12", "columns=140 lines=40"):
        nvim.cmd(f"set {size}")
        _, *sides = sizes()
        assert all(abs(a - b) <= 1 for a, b in zip(sides[0], sides[-1], strict=True)), (size, sides)
    assert sizes() == before


@pytest.mark.every_nvim
def test_a_long_removed_line_is_whole_beside_signs(start_nvim, connect):
    long = "".join(f"word{i}" for i in range(120))
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A + long + "\n"}, opts={"diff": {"layout": "unified"}})
    turn(nvim, connect(nvim), a_txt=A.replace("two\n", "TWO\n"))
    nvim.wait(lambda: len(nvim.lines()) == len(A.splitlines()), what="a.txt to be reloaded")
    open_review(nvim, "unified")
    textoff = "return vim.fn.getwininfo(vim.api.nvim_get_current_win())[1].textoff"
    nvim.wait(lambda: nvim.lua(textoff) > 0, what="the signs")
    for columns in ["auto", "yes:3", "no"]:
        nvim.cmd(f"set signcolumn={columns}")

        def shown():
            edge = nvim.lua(textoff) + nvim.lua("return vim.fn.win_screenpos(0)[2] - 1")
            return "".join(line[edge:] for line in nvim.drawn())

        nvim.wait(lambda shown=shown: long in shown(), what=f"each letter of the removed line, with {columns}")
