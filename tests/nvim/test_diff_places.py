"""Where a diff is shown: in a tab page of its own, among the user's windows, over them; and that everything is
restored.
"""

import pytest
from diff_steps import Diffs

from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

FILES = {
    "a.txt": "".join(f"line {i}\n" for i in range(1, 201)),
    "b.txt": "one\ntwo\nthree\nfour\nfive\n",
    "c.txt": "c\n",
    "d.txt": "d\n",
}
NEW = "one\nTWO\nthree\nfive\nsix\n"

PLACES = ["tab", "current", "float"]
LAYOUTS = ["vertical", "horizontal", "unified"]

# The user's windows beyond what `screen_state` covers.
MORE = """
local found = {}
for _, win in ipairs(vim.api.nvim_list_wins()) do
  vim.api.nvim_win_call(win, function()
    local jumps, at = unpack(vim.fn.getjumplist())
    local folds = {}
    for lnum = 1, vim.fn.line("$") do
      if vim.fn.foldclosed(lnum) == lnum then folds[#folds + 1] = { lnum, vim.fn.foldclosedend(lnum) } end
    end
    found[#found + 1] = { jumps, at, vim.fn.bufnr("#"), folds, vim.fn.getpos("''") }
  end)
end
return { found, vim.fn.winlayout(), vim.fn.winrestcmd() }
"""

ARRANGEMENTS = {
    "one window": "normal! 120Gzt5l",
    "splits of odd sizes": "split b.txt | resize 12 | vsplit c.txt | vertical resize 20 | wincmd p",
    "in a closed fold": "50,60fold | normal! 55G",
    "folds, jumps and an alternate file": "edit c.txt | edit a.txt | 50,60fold | normal! 20G150Gzz",
    "splitkeep": "set splitkeep=screen | normal! 100Gzz | split | normal! 150Gzz",
    "without equal sizes": "set noequalalways | split b.txt | resize 25 | wincmd j | resize 5 | normal! 100Gzt",
    "one status line": "set laststatus=3 showtabline=2 splitbelow splitright | vsplit b.txt",
    "no status and no tab line": "set laststatus=0 showtabline=0 | split",
    "low windows": "set winheight=3 winminheight=3 | split b.txt | split c.txt | split d.txt",
    "the terminal beside it": "vsplit | terminal cat",
    "nothing but a terminal": "terminal cat",
    "the user's own diff": "diffthis | vsplit b.txt | diffthis",
    "a window that keeps its buffer": "setlocal winfixbuf winfixheight",
    "a window without numbers and with a tree's options": "setlocal nonumber nowrap winfixwidth statuscolumn=X",
    "the help": "help vim.api | wincmd K",
    "the quickfix list": "call setqflist([{'text': 'x'}]) | copen 5",
    "tab pages": "tabnew c.txt | tabnew d.txt | 1tabnext | 3tabnext",
}


def make(start_nvim, place, layout="vertical", **diff):
    return Diffs(start_nvim(opts={"diff": {"open_in": place, "layout": layout, **diff}}, files=FILES, args=["a.txt"]))


def state(diffs):
    screen = diffs.screen_state()
    if screen["last_win"] == screen["win"]:
        screen["last_win"] = 0  # the only one
    return [screen, diffs.nvim.lua(MORE)]


def layout(diffs):
    return diffs.nvim.lua("return Ide.diff_layout.preferred()")


@pytest.mark.parametrize("arrangement", ARRANGEMENTS.values(), ids=ARRANGEMENTS)
def test_all_is_as_it_was_around_a_tab_page(start_nvim, arrangement):
    diffs = make(start_nvim, "tab")
    nvim = diffs.nvim
    nvim.cmd("let g:_ts_force_sync_parsing = v:true")
    nvim.cmd(arrangement)
    drawn, before = diffs.drawn(), state(diffs)
    for id, keys in enumerate(["ZZ", ":q<CR>", ":tabclose<CR>"], 1):
        diffs.open(id, "b.txt", NEW)
        assert len(nvim.lua("return vim.api.nvim_tabpage_list_wins(0)")) == 2
        options = nvim.lua("return { vim.wo.number, vim.wo.statuscolumn, vim.wo.winfixwidth, vim.wo.diff }")
        assert options == [False, "", False, True]
        nvim.keys(keys)
        diffs.answer(id)
        wait_as_it_was(diffs, before)
        nvim.wait(lambda: diffs.drawn() == drawn, what=f"the screen as it was before {keys}")


def wait_as_it_was(diffs, before):
    diffs.wait_current(None)
    diffs.nvim.wait(lambda: diffs.traces()["buffers"] == [], what="the diff to be gone")
    diffs.nvim.wait(lambda: state(diffs) == before, what="the windows as they were")


@pytest.mark.parametrize("place", ["current", "float"])
@pytest.mark.parametrize("arrangement", ARRANGEMENTS.values(), ids=ARRANGEMENTS)
def test_all_is_as_it_was(start_nvim, place, arrangement):
    diffs = make(start_nvim, place)
    nvim = diffs.nvim
    nvim.cmd("let g:_ts_force_sync_parsing = v:true")
    nvim.cmd(arrangement)
    drawn, before = diffs.drawn(), state(diffs)
    for id, keys in enumerate(["ZZ", ":q<CR>", ":q<CR>", ":Claude reject<CR>"], 1):
        diffs.open(id, "b.txt", NEW)
        assert nvim.lua("return #vim.api.nvim_list_tabpages()") == len(before[0]["tabs"])
        if arrangement == ARRANGEMENTS["the user's own diff"]:  # diff mode would include another window
            assert nvim.lua("return vim.fn.bufwinid('b.txt (now)')") == -1
        elif id != 3:
            nvim.keys("gl")
            nvim.wait(lambda: layout(diffs) == "horizontal")
            while (name := layout(diffs)) != "vertical":
                nvim.keys("gl")
                nvim.wait(lambda name=name: layout(diffs) != name, what="the next layout")
        else:  # from the present text's window
            nvim.lua("Ide.diff_layout.prefer('vertical')")
            if nvim.lua("return vim.fn.win_gotoid(vim.fn.win_findbuf(vim.fn.bufnr('b.txt (now)'))[1] or 0)") == 1:
                nvim.keys(":q<CR>")
                diffs.wait_current(id)
        nvim.keys(keys)
        diffs.answer(id)
        wait_as_it_was(diffs, before)
    nvim.wait(lambda: diffs.drawn() == drawn, what="the screen as it was")


def our_windows(diffs):
    """Our windows by their content: whether each floats."""
    return diffs.nvim.lua("""
      local found = {}
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        local mark = vim.b[vim.api.nvim_win_get_buf(win)].claude_ide
        if mark then found[mark.kind] = vim.api.nvim_win_get_config(win).relative ~= "" end
      end
      return found
    """)


@pytest.mark.every_nvim
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_in_every_place(start_nvim, place, layout):
    diffs = make(start_nvim, place, layout)
    before = state(diffs)
    diffs.open(1, "b.txt", NEW)
    sides = {"proposal"} if layout == "unified" else {"now", "proposal"}
    assert our_windows(diffs) == dict.fromkeys(sides, place == "float")
    assert len(diffs.nvim.lua("return vim.api.nvim_list_tabpages()")) == (2 if place == "tab" else 1)
    assert diffs.nvim.cursor()[0] == 2
    diffs.nvim.wait_screen("ZZ")
    diffs.nvim.keys("dx")
    diffs.nvim.wait_screen("2 of 3")
    assert diffs.accept(1, "b.txt", "]cZZ") == "one\ntwo\nthree\nfive\nsix\n"
    diffs.wait_clean()
    diffs.nvim.wait(lambda: state(diffs) == before, what="the screen as it was")


@pytest.mark.parametrize("place", ["current", "float"])
def test_one_after_the_other_in_the_same_place(start_nvim, place):
    diffs = make(start_nvim, place)
    nvim = diffs.nvim
    before = state(diffs)
    diffs.open(1, "b.txt", NEW)
    diffs.propose(2, "c.txt", "C\n")
    diffs.propose(3, "d.txt", "D\n")
    ready = "return vim.iter(Ide.proposal.list()):all(function(diff) return diff.against end)"
    nvim.wait(ready, what="the others to be ready")
    assert diffs.current() == 1 and len(our_windows(diffs)) == 2
    nvim.keys("4Gccmine<Esc>")
    nvim.wait(lambda: nvim.lines()[3] == "mine" and nvim.mode() == "n")
    nvim.lua("assert(Ide.proposal.focus(3))")
    diffs.wait_current(3)
    assert len(our_windows(diffs)) == 2
    nvim.lua("assert(Ide.proposal.step(-1))")
    diffs.wait_current(2)
    nvim.keys("ZQ")
    diffs.wait_current(1)
    assert nvim.lines()[3] == "mine"
    assert diffs.accept(1, "b.txt") == NEW.replace("five", "mine")
    diffs.wait_current(3)
    nvim.keys(":q<CR>")
    assert [diffs.answer(id)["outcome"] for id in (1, 2, 3)] == ["saved", "rejected", "rejected"]
    diffs.wait_clean()
    nvim.wait(lambda: state(diffs) == before, what="the screen as it was")
    assert [event[0] for event in diffs.events()].count("ClaudeDiffOpened") == 3


@pytest.mark.every_nvim
@pytest.mark.parametrize("place", ["current", "float"])
def test_one_that_was_put_aside_can_be_answered_elsewhere(start_nvim, place):
    diffs = make(start_nvim, place)
    nvim = diffs.nvim
    diffs.open(1, "b.txt", NEW, client=1)
    diffs.propose(2, "c.txt", "C\n", client=2, name="second")
    nvim.wait("(Ide.proposal.list()[2] or {}).against")
    nvim.lua("assert(Ide.proposal.focus(2))")
    diffs.wait_current(2)
    assert nvim.lua("return Ide.claude_client.prompt_submitted(1)") == 1
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.reject(2)
    diffs.wait_clean()
    assert nvim.lua("return vim.v.errmsg") == ""
    nvim.keys(":qa<CR>")
    assert nvim.terminal.wait_exit() == 0


def type_into_one_and_show_the_next(diffs):
    nvim = diffs.nvim
    diffs.open(1, "b.txt", NEW)
    nvim.keys("gg0imine<Esc>")
    nvim.wait(lambda: nvim.lines()[0] == "mineone" and nvim.mode() == "n")
    diffs.propose(2, "c.txt", "C\n")
    nvim.wait("(Ide.proposal.list()[2] or {}).against")
    nvim.lua("assert(Ide.proposal.focus(2))")
    diffs.wait_current(2)


@pytest.mark.parametrize("place", ["current", "float"])
def test_quitting_shows_the_one_behind_that_was_typed_into(start_nvim, place):
    diffs = make(start_nvim, place)
    nvim = diffs.nvim
    before = state(diffs)
    type_into_one_and_show_the_next(diffs)
    nvim.keys(":qa<CR>")
    nvim.wait_screen("E37")
    nvim.keys("<CR>")
    # Neovim itself put it into a window: no key counts before it is in its own.
    nvim.wait("Ide.proposal_state.entry(1).waits == nil", what="it to be in its own windows")
    diffs.wait_current(1)
    assert len(our_windows(diffs)) == 2 and nvim.lines()[0] == "mineone"
    assert diffs.accept(1, "b.txt") == "mine" + NEW
    diffs.wait_current(2)
    assert nvim.lines() == ["C"]
    diffs.reject(2)
    diffs.wait_clean()
    nvim.wait(lambda: state(diffs) == before, what="the screen as it was")


@pytest.mark.parametrize("place", ["current", "float"])
def test_a_key_that_was_typed_ahead_of_the_one_behind_leaves_the_others_their_windows(start_nvim, place):
    diffs = make(start_nvim, place)
    nvim = diffs.nvim
    type_into_one_and_show_the_next(diffs)
    nvim.input(":qa<CR><CR>ZZ:let g:typed = 1<CR>")  # all at once, as while Neovim is busy
    nvim.wait("vim.g.typed == 1")
    diffs.wait_current(1)
    assert len(our_windows(diffs)) == 2 and diffs.outcomes(1) == []
    assert diffs.accept(1, "b.txt") == "mine" + NEW
    diffs.wait_current(2)
    assert len(our_windows(diffs)) == 2 and nvim.lines() == ["C"]
    diffs.reject(2)
    diffs.wait_clean()


@pytest.mark.parametrize("place", PLACES)
def test_a_client_that_goes_takes_its_diffs_along_wherever_the_user_is(start_nvim, place):
    diffs = make(start_nvim, place)
    nvim = diffs.nvim
    nvim.cmd("vsplit b.txt | normal! G")
    before = state(diffs)[1]
    diffs.open(1, "b.txt", NEW, client=1)
    diffs.propose(2, "c.txt", "C\n", client=1)
    # Else it is read later, and is shown in the other tab.
    nvim.wait("(Ide.proposal.list()[2] or {}).against")
    nvim.keys(":tabnew d.txt<CR>")
    nvim.wait(lambda: nvim.lines() == ["d"])
    nvim.keys("ix<Esc>")
    nvim.wait(lambda: nvim.lines() == ["xd"] and nvim.mode() == "n")
    nvim.lua("Ide.claude_client.prompt_submitted(1)")
    nvim.wait(lambda: diffs.traces()["buffers"] == [], what="the diffs to be gone")
    assert nvim.lines() == ["xd"] and nvim.lua("return vim.fn.tabpagenr()") > 1
    nvim.keys("u:tabclose<CR>")
    nvim.wait(lambda: diffs.traces()["tabs"] == 1)
    nvim.cmd("1tabnext")
    nvim.wait(lambda: state(diffs)[1] == before, what="the windows as they were")


@pytest.mark.every_nvim
def test_only_and_tabclose_among_the_users_windows(start_nvim):
    diffs = make(start_nvim, "current")
    nvim = diffs.nvim
    diffs.open(1, "b.txt", NEW)
    diffs.reject(1, "<C-w>h:only<CR>")
    diffs.wait_clean()
    assert nvim.lua("return { vim.fn.expand('%'), vim.wo.winbar, vim.wo.winfixbuf, vim.wo.diff }") == [
        "a.txt",
        "",
        False,
        False,
    ]
    nvim.cmd("tabnew c.txt")
    diffs.open(2, "b.txt", NEW)
    diffs.reject(2, ":tabclose<CR>")
    diffs.wait_clean()
    assert nvim.lua("return vim.fn.expand('%')") == "a.txt"


@pytest.mark.every_nvim
def test_only_and_tabclose_over_the_users_windows(start_nvim):
    diffs = make(start_nvim, "float")
    nvim = diffs.nvim
    nvim.cmd("tabnew c.txt | vsplit")
    diffs.open(1, "b.txt", NEW)
    nvim.keys(":only<CR>")
    nvim.wait_screen("E5601")
    assert diffs.current() == 1 and diffs.outcomes(1) == [] and diffs.traces()["wins"] == 5
    diffs.reject(1, "<CR><CR>:tabclose<CR>")
    diffs.wait_clean()
    diffs.open(2, "b.txt", NEW)
    nvim.lua("vim.api.nvim_win_close(vim.fn.win_findbuf(vim.fn.bufnr('b.txt (Claude)'))[1], true)")
    assert diffs.answer(2) == {"outcome": "rejected"}
    diffs.wait_clean()


def test_in_the_users_tab_the_focus_stays_where_they_went(start_nvim):
    for place in ("current", "float"):
        diffs = make(start_nvim, place)
        nvim = diffs.nvim
        nvim.cmd("split c.txt")
        diffs.open(1, "b.txt", NEW)
        nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('a.txt'))[1])")
        nvim.keys("30G")
        nvim.wait(lambda nvim=nvim: nvim.cursor() == (30, 0))
        nvim.lua("Ide.claude_client.prompt_submitted(1)")
        nvim.wait(lambda diffs=diffs: diffs.traces()["buffers"] == [], what="the diff to be gone")
        assert nvim.lua("return { vim.fn.expand('%'), vim.fn.line('.'), #vim.api.nvim_list_wins() }") == [
            "a.txt",
            30,
            2,
        ]
        nvim.quit()


@pytest.mark.parametrize("place", ["current", "float"])
def test_without_focus_nothing_is_covered(start_nvim, place):
    diffs = make(start_nvim, place, focus=False)
    before = state(diffs)
    diffs.propose(1, "b.txt", NEW)
    diffs.nvim.wait_screen("shows the change that Claude proposes to b.txt")
    assert state(diffs)[1] == before[1]
    diffs.nvim.lua("assert(Ide.proposal.focus(1))")
    diffs.wait_current(1)
    diffs.nvim.keys("ZQ")
    diffs.answer(1)
    diffs.wait_clean()


def test_without_room_it_has_a_tab_page_of_its_own(start_nvim):
    diffs = make(start_nvim, "current")
    diffs.nvim.cmd("set winheight=9 winminheight=9 | split c.txt | split d.txt")
    before = state(diffs)
    diffs.open(1, "b.txt", NEW)
    assert diffs.traces()["tabs"] == 2
    diffs.nvim.keys("ZQ")
    diffs.answer(1)
    diffs.nvim.wait(lambda: state(diffs) == before, what="the screen as it was")


@pytest.mark.parametrize("place", PLACES)
def test_from_another_tab_page_a_decision_leaves_the_sizes_of_its_windows(start_nvim, place):
    diffs = make(start_nvim, place, "vertical")
    nvim = diffs.nvim
    nvim.cmd("tabnew c.txt | split b.txt | resize 5 | vsplit | vertical resize 20 | tabprevious")
    diffs.open(1, "b.txt", NEW)
    nvim.cmd("tablast")
    before = nvim.lua("return { vim.fn.winlayout(), vim.fn.winrestcmd() }")
    nvim.cmd("Claude reject no")
    diffs.answer(1)
    diffs.nvim.wait("Ide.proposal.count() == 0", what="the proposal to be gone")
    assert nvim.lua("return { vim.fn.winlayout(), vim.fn.winrestcmd() }") == before


@pytest.mark.every_nvim
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("layout", ["vertical", "horizontal"])
def test_after_the_screen_was_small_the_sides_are_even_again(start_nvim, place, layout):
    diffs = make(start_nvim, place, layout)
    nvim = diffs.nvim
    nvim.cmd("set columns=80 lines=24")
    diffs.open(1, "b.txt", NEW)

    def sizes():
        return nvim.lua("""
          return vim.tbl_map(function(win)
            return { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
          end, vim.tbl_filter(function(win)
            return vim.b[vim.api.nvim_win_get_buf(win)].claude_ide ~= nil
          end, vim.api.nvim_tabpage_list_wins(0)))
        """)

    before = sizes()
    assert len(before) == 2, "both sides"
    for size in ("columns=40 lines=12", "columns=140 lines=40", "columns=80 lines=24"):
        nvim.cmd(f"set {size}")
        columns = nvim.lua("return vim.o.columns")

        def even(columns=columns):
            now = sizes()
            return now[0][0] <= columns and all(abs(a - b) <= 1 for a, b in zip(now[0], now[-1], strict=True))

        nvim.wait(even, what=f"even sides at {size}")
    nvim.wait(lambda: sizes() == before, what="the sizes of before")
    assert diffs.accept(1, "b.txt") == NEW
    diffs.wait_clean()


@pytest.mark.parametrize("place", ["current", "float"])
def test_the_next_one_waits_for_a_user_who_types_elsewhere(start_nvim, place):
    diffs = make(start_nvim, place)
    nvim = diffs.nvim
    diffs.open(1, "b.txt", NEW)
    diffs.propose(2, "c.txt", "C\n")
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('a.txt'))[1])")
    nvim.keys("Omi")
    nvim.wait(lambda: nvim.lines()[0] == "mi")
    nvim.lua("Ide.claude_client.open_diff.cancel({ id = 1, client = 1 })")
    nvim.wait(lambda: len(diffs.traces()["buffers"]) > 0 and "b.txt (Claude)" not in diffs.traces()["buffers"])
    nvim.keys("ne")
    nvim.wait(lambda: nvim.lines()[0] == "mine")
    nvim.wait_screen("when you leave insert mode")
    nvim.keys("<Esc>")
    diffs.wait_current(2)
    diffs.reject(2)
    diffs.wait_current(None)
    assert nvim.lines()[0] == "mine"


TERMINAL = """
local buf = Ide.terminal.bufnr()
local win = buf and vim.fn.win_findbuf(buf)[1]
return win and { win, vim.api.nvim_win_get_position(win), vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) }
"""


@pytest.mark.slow
@pytest.mark.parametrize("from_terminal", [False, True], ids=["from the file", "from the terminal"])
def test_the_terminal_of_claude_stays_in_sight_beside_a_diff(start_nvim, tmp_path, from_terminal):
    cli = FakeCli(tmp_path)
    opts = {"diff": {"open_in": "current"}}
    diffs = Diffs(start_nvim(opts=opts, files=FILES, args=["b.txt"], env=cli.environment()))
    nvim = diffs.nvim
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("fake CLI ready")
    nvim.keys("<C-\\\\><C-n>" if from_terminal else "<C-\\\\><C-n><C-w>p")
    nvim.wait(f"vim.api.nvim_get_mode().mode == '{'nt' if from_terminal else 'n'}'")
    before = nvim.lua(TERMINAL)
    for id in (1, 2):
        diffs.open(id, "b.txt", NEW)
        for name in ("horizontal", "unified", "vertical"):
            assert nvim.lua(TERMINAL) == before
            assert any("fake CLI ready" in row for row in diffs.drawn())
            nvim.keys("gl")
            nvim.wait(lambda name=name: layout(diffs) == name)
        nvim.keys("ZZ")
        diffs.answer(id)
    diffs.nvim.wait(lambda: diffs.traces()["pending"] == 0 and diffs.current() is None)
    nvim.wait(lambda: nvim.lua(TERMINAL) == before, what="the terminal as it was")


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_frame_on_a_tiny_screen_is_no_error(start_nvim, layout):
    diffs = make(start_nvim, "float", layout)
    nvim = diffs.nvim
    nvim.cmd("set columns=30 lines=8")
    diffs.open(1, "b.txt", NEW)
    for size in ("columns=30 lines=7", "columns=12 lines=5", "columns=80 lines=24", "columns=30 lines=8"):
        nvim.cmd(f"set {size}")
        nvim.keys("gl")
    nvim.cmd("set columns=80 lines=24")
    assert diffs.accept(1, "b.txt") == NEW
    diffs.wait_clean()
    assert nvim.lua("return vim.fn.execute('messages')") == ""


LOOK = """
return { vim.api.nvim_buf_get_name(0), vim.wo.winbar, vim.wo.winfixbuf, vim.wo.list, vim.wo.diff, vim.wo.scrollbind,
  vim.wo.foldmethod, vim.wo.wrap, #vim.api.nvim_list_wins(), #vim.api.nvim_list_tabpages(), vim.fn.line(".") }
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("quits", [":q<CR>", ":quit<CR>", "<C-w>q", "ZQ"])
@pytest.mark.parametrize("place", ["tab", "current"])
def test_quitting_the_last_window_of_a_diff_rejects_it_and_neovim_stays(start_nvim, place, quits):
    nvim = start_nvim(files=FILES, args=["a.txt"], opts={"diff": {"open_in": place}})
    diffs = Diffs(nvim)
    nvim.keys("120G")
    nvim.wait(lambda: nvim.cursor()[0] == 120)
    before = nvim.lua(LOOK)
    diffs.open(1, "b.txt", NEW)
    nvim.cmd("silent! tabonly | silent only")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the proposal alone")
    nvim.wait("vim.wo.diff == false", what="the unified layout")
    nvim.keys(quits)
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_clean()
    assert nvim.lua(LOOK)[:-1] == before[:-1]
    nvim.keys(":q<CR>")
    assert nvim.terminal.wait_exit() == 0


def test_an_accepted_diff_alone_on_the_screen_leaves_the_file(start_nvim):
    nvim = start_nvim(files=FILES, args=["a.txt"])
    diffs = Diffs(nvim)
    diffs.open(1, "b.txt", NEW)
    nvim.cmd("silent tabonly | silent only")
    nvim.wait("vim.wo.diff == false", what="the unified layout")
    assert diffs.accept(1, "b.txt", ":wq<CR>") == NEW
    diffs.wait_clean()


def test_quitting_all_from_the_last_window_of_a_diff_leaves_no_window_if_it_is_refused(start_nvim):
    nvim = start_nvim(files=FILES, args=["a.txt"])
    diffs = Diffs(nvim)
    nvim.keys("ix<Esc>")
    nvim.wait("vim.bo.modified")
    diffs.open(1, "b.txt", NEW)
    nvim.cmd("silent tabonly | silent only")
    nvim.keys(":qa<CR>")
    nvim.wait_screen("E37")
    nvim.keys("<CR>")
    nvim.wait("#vim.api.nvim_list_wins() == 1")
    nvim.cmd("Claude reject")


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "horizontal"])
def test_windo_leaves_no_further_window(start_nvim, layout):
    nvim = start_nvim(files=FILES, args=["a.txt"], opts={"diff": {"layout": layout}})
    diffs = Diffs(nvim)
    diffs.open(1, "b.txt", NEW)
    for command in ["windo set wrap", "silent tabdo echo", "windo set nowrap"]:
        nvim.keys(f":{command}<CR>")
        nvim.wait(f"vim.fn.histget(':') == '{command}'")
        assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 2, command
        nvim.wait("vim.wo.winfixbuf")
    diffs.reject(1)
