"""A review that is open while Claude works: it takes in what lands, and the user's view stays."""

import re

import pytest
from review_steps import LAYOUT, Turn, waiting, windows

pytestmark = pytest.mark.dealt

LONG = "".join(f"line {i}\n" for i in range(1, 201))
LONG_CLAUDE = LONG.replace("line 50\n", "LINE 50\n").replace("line 150\n", "LINE 150\n")

# The view of the current window: its own id, the text of the cursor's line, its row, and the closed folds.
VIEW = """
vim.cmd.redraw()
local folds, lnum = {}, 1
while lnum <= vim.fn.line("$") do
  local last = vim.fn.foldclosedend(lnum)
  if last > 0 then
    folds[#folds + 1] = vim.fn.getline(lnum) .. " to " .. vim.fn.getline(last)
    lnum = last
  end
  lnum = lnum + 1
end
return { tostring(vim.api.nvim_get_current_win()), vim.fn.getline("."), tostring(vim.fn.winline()), folds }
"""

WINDOWS_MADE = """
made = {}
vim.api.nvim_create_autocmd({ "WinNew", "WinClosed", "TabNew" }, {
  callback = function(event) made[#made + 1] = event.event end,
})
"""


class Live:
    """A review that is open during a turn."""

    def __init__(self, nvim, client):
        self.nvim, self.turn = nvim, Turn(nvim, client)

    def open(self, **edits):
        self.land(**edits)
        self.nvim.cmd("Claude review")
        self.nvim.wait(lambda: len(windows(self.nvim)) >= 2, what="the review")
        self.nvim.lua(WINDOWS_MADE)

    def land(self, **edits):
        names = {name.replace("_", "."): text for name, text in edits.items()}
        for name, text in names.items():
            self.turn.edit(name, text)
        self.turn.end(*names)

    def view(self):
        window, line, row, folds = self.nvim.lua(VIEW)
        return {"window": window, "line": line, "row": int(row)}, folds

    def listed(self, tally):
        self.nvim.wait_screen(re.compile(tally))


@pytest.fixture
def live(start_nvim, connect):
    def start(layout="vertical"):
        files = {"b.txt": LONG, "a.txt": "alpha\n", "c.txt": "see\n"}
        nvim = start_nvim(args=["b.txt"], files=files, notices=True, opts={"diff": {"layout": layout}})
        live = Live(nvim, connect(nvim))
        live.open(b_txt=LONG_CLAUDE)
        return live

    return start


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
def test_an_edit_that_lands_in_the_shown_file_moves_neither_cursor_nor_row(live, layout):
    live = live(layout)
    nvim = live.nvim
    nvim.keys("100Gzo152G")
    nvim.wait(lambda: live.view()[0]["line"] == "line 152", what="the cursor in line 152")
    before, folds = live.view()
    assert folds == ["line 1 to line 43", "line 157 to line 200"]
    text = LONG_CLAUDE.replace("line 20\n", "line 20\nnew\nnewer\n").replace("line 147\n", "LINE 147\n")
    live.land(b_txt=text)
    live.listed(r"b\.txt +\+5 −3")
    folds = ["line 1 to line 14", "line 27 to line 43", "line 157 to line 200"]
    nvim.wait(lambda: live.view()[1] == folds, what="the folds of what was added")
    assert live.view()[0] == before
    live.land(b_txt=text.replace("line 120\n", "LINE 120\n").replace("line 180\n", "line 180\nmore\n"))
    live.listed(r"b\.txt +\+7 −4")
    folds = ["line 1 to line 14", "line 27 to line 43", "line 157 to line 174", "line 187 to line 200"]
    nvim.wait(lambda: live.view()[1] == folds, what="the folds of what was added")
    assert live.view()[0] == before
    assert nvim.lua("return made") == []


@pytest.mark.every_nvim
def test_the_cursor_stays_on_its_line_in_the_text_before(live):
    live = live()
    live.nvim.keys("<C-w>h152G")
    live.nvim.wait(lambda: live.view()[0]["line"] == "line 152", what="the cursor in line 152")
    before, _ = live.view()
    live.land(b_txt=LONG_CLAUDE.replace("line 20\n", "line 20\nnew\nnewer\n").replace("line 151\n", ""))
    live.listed(r"b\.txt +\+4 −3")
    assert live.view()[0]["line"] == "line 152"
    live.nvim.lua("Ide.review.keep_hunk(nil, 21)")
    live.nvim.wait(lambda: "newer" in windows(live.nvim)[1]["lines"], what="what was kept on both sides")
    after, _ = live.view()
    assert (after["window"], after["line"]) == (before["window"], "line 152")


@pytest.mark.every_nvim
def test_a_further_file_joins_the_list_above_and_the_shown_one_stays(live):
    live = live()
    live.nvim.keys("]c2j")
    live.nvim.wait(lambda: live.view()[0]["line"] == "line 152", what="the cursor in line 152")
    before = live.view()
    live.land(a_txt="ALPHA\n", c_txt="SEE\n")
    live.listed(r"c\.txt +\+1 −1")
    assert live.view() == before
    live.nvim.wait_screen("•~ a.txt")
    assert windows(live.nvim)[0]["lines"] == ["•~ a.txt", " ~ b.txt", "•~ c.txt"]
    assert live.nvim.lua("return { vim.fn.line('.', vim.fn.win_getid(1)), made }") == [2, []]


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "unified"])
def test_a_change_that_claude_takes_back_is_gone_and_the_cursor_stays(live, layout):
    live = live(layout)
    live.nvim.keys("]c2j")
    live.nvim.wait(lambda: live.view()[0]["line"] == "line 152", what="the cursor in line 152")
    live.turn.edit("b.txt", LONG.replace("line 150\n", "LINE 150\n"))
    live.turn.client.call("getDiagnostics")
    live.listed(r"b\.txt +\+1 −1")
    assert live.view()[0]["line"] == "line 152"
    live.turn.edit("b.txt", LONG)
    live.turn.client.call("getDiagnostics")
    live.listed(r"b\.txt +gone")
    assert live.view()[0]["line"] == "line 152"
    assert live.nvim.lua("return made") == []


@pytest.mark.every_nvim
def test_a_shown_file_that_claude_deletes_is_shown_as_deleted_and_comes_back_with_its_changes(live):
    live = live()
    live.land(b_txt=None)
    live.nvim.wait_screen("· deleted")
    assert windows(live.nvim)[-1]["ours"]
    live.land(b_txt=LONG_CLAUDE)
    live.listed(r"b\.txt +\+2 −2")
    listed, before, file = windows(live.nvim)
    assert listed["lines"] == [" ~ b.txt"]
    assert (before["lines"], file["lines"]) == (LONG.splitlines(), LONG_CLAUDE.splitlines())
    assert file["name"] == "b.txt" and not file["ours"] and file["current"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("mode", ["n", "i"])
def test_what_the_user_types_in_a_review_stays_when_an_edit_lands_in_the_file(live, mode):
    shown = live()
    nvim = shown.nvim
    nvim.keys("ggOmine" + ("<Esc>" if mode == "n" else ""))
    nvim.wait(f"vim.fn.getline(1) == 'mine' and vim.fn.mode() == '{mode}'")
    shown.land(b_txt=LONG_CLAUDE.replace("line 9\n", "nine\n"))
    nvim.wait("#Ide.journal.changes() == 1 and Ide.journal.changes()[1].behind", what="the conflict to be known")
    if mode == "i":
        nvim.lua("Ide.review_current.refresh()")
        nvim.keys(" again")
        nvim.wait("vim.fn.bufname() == 'b.txt' and vim.fn.getline(1) == 'mine again'", what="typing to go on")
        nvim.keys("<Esc>")
    nvim.wait_screen("on disk, unsaved in your buffer")
    nvim.wait(lambda: "nine" in windows(nvim)[2]["lines"], what="the file on disk")
    kept = "mine again" if mode == "i" else "mine"
    assert nvim.lua("local b = vim.fn.bufnr('b.txt') return { vim.fn.getbufoneline(b, 1), vim.bo[b].modified }") == [
        kept,
        True,
    ]
    assert nvim.lua("return vim.bo[vim.fn.bufnr('b.txt')].modifiable")


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("Claude resolve mine", ["mine", "line 1"]),
        ("Claude resolve merge", ["mine", "line 1"]),
        ("Claude resolve theirs", ["line 1"]),
        ("tabprevious | edit! | tabnext", ["line 1"]),
    ],
)
def test_a_conflict_that_is_over_is_over_in_the_review(live, command, lines):
    shown = live()
    nvim = shown.nvim
    nvim.keys("ggOmine<Esc>")
    nvim.wait("Ide.watch_conflict.base(vim.api.nvim_get_current_buf()) ~= nil", what="the text before both to be known")
    shown.land(b_txt=LONG_CLAUDE.replace("line 9\n", "nine\n"))
    nvim.wait_screen("on disk, unsaved in your buffer")
    nvim.keys(f":{command}<CR>")
    nvim.wait(lambda: [one["name"] for one in windows(nvim)][2:] == ["b.txt"], what="the file itself")
    assert windows(nvim)[2]["lines"][: len(lines)] == lines
    nvim.wait(lambda: "unsaved in your buffer" not in "\n".join(nvim.screen()), what="the line above to say so")


@pytest.mark.every_nvim
def test_what_is_kept_of_a_conflict_asks_nothing_else(live):
    shown = live()
    nvim = shown.nvim
    nvim.keys("ggOmine<Esc>")
    nvim.wait("vim.bo.modified")
    shown.land(b_txt=LONG_CLAUDE.replace("line 9\n", "nine\n"))
    nvim.wait_screen("on disk, unsaved in your buffer")
    nvim.keys("gA")
    nvim.wait(lambda: waiting(nvim) == [], what="the file to be reviewed")
    nvim.wait_screen("reviewed")
    assert nvim.mode() == "n" and nvim.lua("return vim.fn.getbufvar('b.txt', '&modified')") == 1


def test_a_list_that_is_scrolled_stays_where_a_further_file_lands(live):
    live = live()
    nvim = live.nvim
    live.land(**{f"f{number:02}_txt": "new\n" for number in range(60)})
    nvim.keys("<C-w>t30Gzt")
    nvim.wait(lambda: live.view()[0]["row"] == 1 and live.view()[0]["line"] == " + f28.txt", what="the list at f28")
    before = live.view()
    live.land(f99_txt="new\n")
    nvim.wait(lambda: nvim.lua("return vim.fn.line('$')") == 62, what="the further file")
    assert live.view() == before
    live.land(a_txt="ALPHA\n")
    nvim.wait(lambda: nvim.lua("return vim.fn.line('$')") == 63, what="the file above")
    assert live.view() == before


@pytest.mark.every_nvim
def test_what_landed_during_a_review_leaves_no_trace_on_the_screen_after_it(start_nvim, connect):
    nvim = start_nvim(args=["b.txt"], files={"b.txt": LONG})
    client = connect(nvim)
    live = Live(nvim, client)
    before = nvim.lua(LAYOUT)
    live.open(b_txt=LONG_CLAUDE)
    live.land(b_txt=LONG_CLAUDE.replace("line 20\n", "line 20\nnew\n"))
    live.listed(r"b\.txt +\+3 −2")
    nvim.keys("q")
    nvim.wait(lambda: nvim.lua(LAYOUT)[0] == before[0], what="the screen as it was")
    assert waiting(nvim) == ["b.txt"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "unified"])
@pytest.mark.parametrize(
    ("keys", "then", "mode"), [("152GA", "x<Esc>", "i"), ("152GVj", "y", "V"), ("152Gy", "y", "no")]
)
def test_a_mode_of_the_user_stays_when_an_edit_lands(live, layout, keys, then, mode):
    live = live(layout)
    nvim = live.nvim
    nvim.keys(keys)
    nvim.wait(lambda: nvim.mode() == mode)
    live.land(b_txt=LONG_CLAUDE.replace("line 20\n", "line 20\nnew\nnewer\n").replace("line 180\n", "line 180\nmore\n"))
    live.listed(r"b\.txt +\+5 −2")
    assert nvim.mode() == mode
    nvim.keys(then)
    nvim.wait(lambda: nvim.mode() == "n")
    typed = nvim.lines()[153] if mode == "i" else nvim.lua("return vim.fn.getreg('0')")
    assert typed == {"i": "line 152x", "V": "line 152\nline 153\n", "no": "line 152\n"}[mode]


def listed_lines(live):
    return windows(live.nvim)[0]["lines"]


@pytest.mark.every_nvim
def test_the_list_marks_what_is_new_until_the_user_looks_at_it(live):
    live = live()
    nvim = live.nvim
    live.land(a_txt="ALPHA\n", c_txt="SEE\n")
    nvim.wait_screen("•2 new since you looked")
    assert listed_lines(live) == ["•~ a.txt", " ~ b.txt", "•~ c.txt"]
    nvim.keys("]f")
    nvim.wait(lambda: listed_lines(live) == ["•~ a.txt", " ~ b.txt", " ~ c.txt"], what="c.txt as looked at")
    live.land(b_txt=LONG_CLAUDE.replace("line 20\n", "LINE 20\n"), c_txt="SEE\nsaw\n")
    nvim.wait(lambda: listed_lines(live) == ["•~ a.txt", "•~ b.txt", " ~ c.txt"], what="b.txt as new")
    nvim.keys("<C-w>tgg")
    nvim.wait(lambda: listed_lines(live) == [" ~ a.txt", "•~ b.txt", " ~ c.txt"], what="a.txt as looked at")
    nvim.keys("<C-w>ldX")
    nvim.wait(lambda: listed_lines(live)[0] == " ↶ a.txt", what="a.txt to be undone")
    nvim.keys("]fga")
    nvim.wait(lambda: live.nvim.lua("return vim.fn.line('.', vim.fn.win_getid(1))") == 2, what="b.txt")
    nvim.wait(lambda: "•" not in "".join(nvim.screen()), what="no file to be new")


def test_a_file_that_changes_between_two_reviews_is_new_in_the_second(live):
    live = live()
    nvim = live.nvim
    live.land(a_txt="ALPHA\n", c_txt="SEE\n")
    nvim.wait_screen("•2 new since you looked")
    nvim.keys("]f")
    nvim.wait(lambda: listed_lines(live) == ["•~ a.txt", " ~ b.txt", " ~ c.txt"], what="c.txt as looked at")
    nvim.keys("gAq")
    nvim.wait(lambda: len(windows(nvim)) == 1, what="the review to go")
    live.land(a_txt="ALPHA\nbeta\n", b_txt=LONG_CLAUDE.replace("line 20\n", "LINE 20\n"), c_txt="SEE\nsaw\n")
    nvim.cmd("Claude review")
    nvim.wait(lambda: len(windows(nvim)) == 3, what="the review")
    assert listed_lines(live) == [" ~ a.txt", "•~ b.txt", " ~ c.txt"]
