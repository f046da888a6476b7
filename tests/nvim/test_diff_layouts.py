"""The layouts of a diff: their windows, their contents, and switching between them."""

import pytest
from diff_steps import Diffs
from held_timers import hold_timers

pytestmark = pytest.mark.dealt

OLD = "one\ntwo\nthree\nfour\nfive\n"
NEW = "one\nTWO words\nthree\nfive\nsix\n"


def make(start_nvim, layout, old=OLD, **kwargs):
    return Diffs(start_nvim(opts={"diff": {"layout": layout}}, files={"a.txt": old}, **kwargs))


def shape(diffs):
    """The arrangement of the windows: row, col or leaf."""
    return diffs.nvim.lua("return vim.fn.winlayout()[1]")


def rows(diffs):
    """The window as drawn, without blanks at the ends."""
    return [line.rstrip() for line in diffs.drawn()]


def wait_rows(diffs, *expected):
    """Waits until these rows are drawn one below the other."""

    def stand():
        drawn = rows(diffs)
        return any(drawn[i : i + len(expected)] == list(expected) for i in range(len(drawn)))

    diffs.nvim.wait(stand, what=f"the rows {expected}")


@pytest.mark.every_nvim
def test_unified_draws_the_removed_lines_in_the_proposal(start_nvim):
    diffs = make(start_nvim, "unified")
    diffs.open(1, "a.txt", NEW)
    assert shape(diffs) == "leaf"
    wait_rows(diffs, "one", "two", "TWO words", "three", "four", "five", "six")
    assert diffs.nvim.lines() == NEW.splitlines()
    assert diffs.accept(1, "a.txt") == NEW
    diffs.wait_clean()


@pytest.mark.every_nvim
def test_horizontal_shows_one_above_the_other(start_nvim):
    diffs = make(start_nvim, "horizontal")
    diffs.open(1, "a.txt", NEW)
    assert shape(diffs) == "col"
    assert diffs.nvim.lua("return { vim.fn.winnr(), vim.wo.diff }") == [2, True]
    diffs.reject(1)
    diffs.wait_clean()


@pytest.mark.every_nvim
def test_unified_follows_what_is_typed(start_nvim):
    diffs = make(start_nvim, "unified")
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("1Gcc1<Esc>")
    wait_rows(diffs, "one", "two", "1", "TWO words", "three", "four", "five", "six")
    diffs.nvim.keys("u")
    wait_rows(diffs, "one", "two", "TWO words", "three", "four", "five", "six")


LONG = "".join(f"line {number}\n" for number in range(1, 61))
LONG_NEW = LONG.replace("line 30\n", "").replace("line 50\n", "LINE 50\nmore\n")


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
def test_after_edit_the_diff_is_as_at_first(start_nvim, layout):
    diffs = make(start_nvim, layout, old=LONG)
    nvim = diffs.nvim
    diffs.open(1, "a.txt", LONG_NEW)
    before = rows(diffs)
    sides = [] if layout == "unified" else [("1wincmd w", "edit"), ("2wincmd w", "edit!")]
    for go_to, edit in [*sides, ("normal! iX", "edit!")]:
        nvim.cmd(go_to)
        nvim.cmd(f"{edit} | $wincmd w")
        nvim.wait(lambda: rows(diffs) == before, what=f"the diff as it was before :{edit}")
    nvim.keys("u")
    nvim.wait(lambda: any("X" in line for line in nvim.lines()), what="what the user typed")
    nvim.keys("<C-r>")
    nvim.wait(lambda: nvim.lines() == LONG_NEW.splitlines(), what="the proposal again")
    nvim.keys("ggOnew<Esc>")
    nvim.wait_screen("+3 −2")
    nvim.keys("/LINE 50<CR>dx")
    nvim.wait(lambda: nvim.lines() == ["new", *LONG.replace("line 30\n", "").splitlines()], what="the change dropped")
    assert diffs.accept(1, "a.txt") == "new\n" + LONG.replace("line 30\n", "")
    assert "ERROR" not in nvim.log()


@pytest.mark.every_nvim
def test_lines_removed_at_both_ends_are_in_sight(start_nvim):
    diffs = make(start_nvim, "unified", old="a\nb\nc\nd\ne\n")
    diffs.open(1, "a.txt", "c\n")
    wait_rows(diffs, "a", "b", "c", "d", "e")


@pytest.mark.every_nvim
@pytest.mark.parametrize(("new", "scrolloff"), [("a\nz\n", 0), ("a\nz\n", 99), ("", 0)])
def test_removed_lines_without_room_are_counted_and_a_key_shows_them(start_nvim, new, scrolloff):
    """Neovim cannot scroll to virtual lines beyond a window's height."""
    lines = [f"removed {number}" for number in range(1, 301)]
    diffs = make(start_nvim, "unified", old="a\n" + "".join(f"{line}\n" for line in lines) + "z\n")
    diffs.nvim.cmd(f"set scrolloff={scrolloff}")
    diffs.open(1, "a.txt", new)
    diffs.nvim.wait_screen("more removed lines: gK shows all")
    drawn = rows(diffs)
    note = next(at for at, row in enumerate(drawn) if "more removed lines" in row)
    total = 302 if new == "" else 300
    left = int(drawn[note].split()[1])
    above = drawn[note - (total - left) : note]
    assert above[-2:] == [f"removed {number}" for number in range(total - left - 1, total - left + 1)][-2:] or new == ""
    assert all(row in ("a", *lines) for row in above), "all others are in sight at once"
    diffs.nvim.keys("gK")
    diffs.nvim.wait_screen("300 removed lines" if new else "302 removed lines")
    assert set(lines) <= set(diffs.nvim.lines())
    diffs.nvim.keys("q")
    assert diffs.accept(1, "a.txt") == new


def test_an_emptied_file_shows_what_it_had(start_nvim):
    diffs = make(start_nvim, "unified", old="a\nb\n")
    diffs.open(1, "a.txt", "")
    wait_rows(diffs, "a", "b")
    assert diffs.accept(1, "a.txt") == ""


def test_a_new_file_and_crlf_and_no_final_newline(start_nvim):
    diffs = make(start_nvim, "unified", old="a\r\nb")
    diffs.open(1, "a.txt", "a\r\nB")
    wait_rows(diffs, "a", "b", "B")
    assert diffs.accept(1, "a.txt") == "a\r\nB"
    diffs.wait_clean()
    diffs.open(2, "new.txt", "x\n")
    assert diffs.accept(2, "new.txt") == "x\n"


@pytest.mark.every_nvim
def test_removed_lines_are_wrapped_and_wide_as_text_is(start_nvim):
    diffs = make(start_nvim, "unified", old="x\n" + "日本" * 60 + "\ty\n")
    diffs.open(1, "a.txt", "x\n")
    columns = diffs.nvim.lua("return vim.o.columns")
    fit = columns // 4
    assert fit < 60
    rest = "日本" * (60 - fit)
    gap = 8 - len(rest) * 2 % 8
    wait_rows(diffs, "x", "日本" * fit, rest + " " * gap + "y")


@pytest.mark.every_nvim
def test_a_removed_zero_byte_is_drawn_as_neovim_draws_it(start_nvim):
    diffs = make(start_nvim, "unified", old="a\nx\0y\nz\n")
    diffs.open(1, "a.txt", "a\nz\n")
    wait_rows(diffs, "a", "x^@y", "z")
    diffs.nvim.keys("gK")
    diffs.nvim.wait_screen("1 removed line")
    diffs.nvim.keys("q")
    diffs.reject(1)


def test_unified_goes_from_change_to_change(start_nvim):
    old = "".join(f"{i}\n" for i in range(1, 201))
    diffs = make(start_nvim, "unified", old=old)
    diffs.open(1, "a.txt", old.replace("50\n", "fifty\n", 1).replace("100\n", "").replace("200\n", "end\n"))
    assert diffs.nvim.cursor()[0] == 50
    for keys, lnum in [("]c", 100), ("]c", 199), ("]c", 199), ("[c", 100), ("[c", 50), ("[c", 50)]:
        diffs.nvim.keys(keys)
        diffs.nvim.wait(lambda lnum=lnum: diffs.nvim.cursor()[0] == lnum, what=f"line {lnum} after {keys}")


MARKED = """
local found = {}
local namespace = vim.api.nvim_get_namespaces()["claude-ide.diffview.unified"]
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  if mark[4].hl_group == "ClaudeDiffAddedWord" then
    local line = vim.api.nvim_buf_get_lines(0, mark[2], mark[2] + 1, true)[1]
    found[#found + 1] = line:sub(mark[3] + 1, mark[4].end_col)
  end
end
return found
"""


@pytest.mark.every_nvim
def test_changed_words_are_marked(start_nvim):
    diffs = make(start_nvim, "unified", old="the quick brown fox jumps\nab\n")
    diffs.open(1, "a.txt", "the quick red fox läuft\nxyz\n")
    diffs.nvim.wait(lambda: diffs.nvim.lua(MARKED) == ["red", "läuft"])


@pytest.mark.every_nvim
def test_a_key_changes_the_layout_and_it_is_remembered(start_nvim):
    diffs = make(start_nvim, "vertical")
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("4Gccedited<Esc>")
    before = (4, 5)
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == before)
    for expected in ("col", "leaf", "row", "col", "leaf"):
        diffs.nvim.keys("gl")
        diffs.nvim.wait(lambda expected=expected: shape(diffs) == expected, what=expected)
        assert diffs.nvim.cursor() == before
        assert diffs.current() == 1 and diffs.outcomes(1) == []
        assert diffs.nvim.lua("return vim.wo.diff") is (expected != "leaf")
    diffs.nvim.keys("u")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == NEW.splitlines())
    assert diffs.accept(1, "a.txt") == NEW
    diffs.wait_clean()
    diffs.open(2, "a.txt", OLD)
    assert shape(diffs) == "leaf"


def test_the_layout_changes_from_the_present_texts_window_too(start_nvim):
    diffs = make(start_nvim, "horizontal")
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("<C-w>k5G")
    diffs.nvim.keys("gl")
    diffs.nvim.wait(lambda: shape(diffs) == "leaf")
    assert diffs.current() == 1 and diffs.nvim.cursor()[0] == 4
    diffs.reject(1, ":q<CR>")
    diffs.wait_clean()


OPENING = """
local old, new = {}, {}
for i = 1, 50000 do
  old[i] = "line " .. i
  new[i] = i % 100 == 50 and "LINE " .. i or old[i]
end
local path = ...
vim.fn.writefile(old, path)
local took, prepared = nil, nil
local stage = Ide.proposal_on_screen
local show = stage.show
stage.show = function(...)
  local began = os.clock() -- of this process: others may be busy, too
  show(...)
  vim.cmd.redraw()
  took = (os.clock() - began) * 1e3
end
propose(1, 1, path, table.concat(new, "\\n") .. "\\n", "big")
vim.wait(100000, function() return took end, 1)
return took
"""


def test_unified_opens_fifty_thousand_lines_with_five_hundred_changes_at_once(start_nvim):
    diffs = make(start_nvim, "unified")
    hold_timers(diffs.nvim, "show a diff without its hunks")
    took = diffs.nvim.lua(OPENING, str(diffs.nvim.project / "big.txt"))
    print(f"opened in {took:.0f} ms")
    # 100 ms is the aim, which `make bench` checks; a busy machine may take longer.
    assert took < 1000
    diffs.wait_current(1)
    diffs.nvim.keys("]c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (150, 0))


WINBARS = """
local texts = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local shown = vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true })
  assert(shown.width <= vim.api.nvim_win_get_width(win))
  texts[#texts + 1] = vim.trim((shown.str:gsub("  +", "  ")))
end
return texts
"""


def winbars(diffs, columns, lines=24):
    """The winbars once Neovim has this size."""
    diffs.nvim.cmd(f"set columns={columns} lines={lines}")
    return diffs.nvim.lua(WINBARS)


def test_a_narrow_winbar_drops_what_is_least_needed_and_never_the_keys(start_nvim):
    diffs = make(start_nvim, "unified")
    diffs.open(1, "a.txt", NEW)
    keys = "ZZ accept  ZQ reject"
    full = "a.txt · Claude's proposal  +2 −2"
    for columns, expected in [
        (120, f"{full}  {keys}  ]c next  dx drop  gl layout  ZW say why  g? keys"),
        (100, f"{full}  {keys}  ]c next  dx drop  gl layout  ZW g? keys"),
        (80, f"a.txt +2 −2  {keys}  ]c next  dx gl ZW g? keys"),
        (60, f"a.txt +2 −2  {keys}  ]c dx gl ZW g? keys"),
        (46, f"a.txt +2 −2  {keys}  ]c dx g?"),
        (40, f"a.txt +2 −2  {keys}  g?"),
        (34, f"a.txt  {keys}"),
        (30, f"a.txt  {keys}"),
        (24, keys),
        (20, "ZZ accept ZQ reject"),
        (12, "ZZ ZQ"),
        (80, f"a.txt +2 −2  {keys}  ]c next  dx gl ZW g? keys"),
    ]:
        diffs.nvim.wait(
            lambda columns=columns, expected=expected: winbars(diffs, columns) == [expected],
            what=f"{expected} at {columns} columns",
        )


@pytest.mark.parametrize(
    ("columns", "lines", "proposal"),
    [(80, 24, "a.txt +2 −2  ZZ accept  ZQ reject  g?"), (40, 10, "ZZ accept ZQ reject")],
)
def test_winbars_side_by_side_fit_a_small_terminal(start_nvim, columns, lines, proposal):
    diffs = make(start_nvim, "vertical")
    diffs.nvim.cmd(f"set columns={columns} lines={lines}")
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.wait(lambda: winbars(diffs, columns, lines) == ["a.txt · now", proposal])


@pytest.mark.every_nvim
def test_a_narrow_winbar_follows_a_window_that_the_user_resizes(start_nvim):
    diffs = make(start_nvim, "vertical")
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys(":vertical resize 30<CR>")
    diffs.nvim.wait(lambda: diffs.nvim.lua(WINBARS)[1] == "a.txt  ZZ accept  ZQ reject")


def test_a_long_name_gives_way_to_the_keys_and_a_warning_is_cut_between_words(start_nvim):
    name = "a_component_with_a_very_long_name.test.tsx"
    diffs = Diffs(start_nvim(opts={"diff": {"layout": "unified"}}, files={name: OLD}, args=[name]))
    diffs.nvim.keys("1Gccmine<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.lines()[0] == "mine" and diffs.nvim.mode() == "n")
    diffs.open(1, name, NEW)
    diffs.nvim.wait(lambda: winbars(diffs, 78) == [f"{name} with your…  ZZ accept  ZQ reject"])
    diffs.nvim.wait(lambda: winbars(diffs, 40) == ["a_component_with… ZZ accept  ZQ reject"])


# Texts that the algorithms align differently.
SHUFFLED = ("caaaccedacea", "addadababdab")


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    "algorithm", ["", ",algorithm:patience", ",algorithm:histogram,indent-heuristic", ",linematch:60"]
)
def test_changes_are_the_lines_that_diff_mode_shows(start_nvim, algorithm):
    old, new = ("".join(f"{letter}\n" for letter in text) for text in SHUFFLED)
    diffs = make(start_nvim, "vertical", old=old, init_lua=f"vim.o.diffopt = 'internal,filler,closeoff{algorithm}'")
    diffs.open(1, "a.txt", new)
    shown, changed = diffs.nvim.lua("""
      local shown, changed = {}, {}
      local state = Ide.proposal_state
      for lnum = 1, vim.fn.line("$") do shown[lnum] = vim.fn.diff_hlID(lnum, 1) > 0 end
      for lnum = 1, vim.fn.line("$") do changed[lnum] = false end
      for _, hunk in ipairs(state.entry(1).file.hunks.list) do
        for lnum = hunk.new, hunk.new + hunk.new_count - 1 do changed[lnum] = true end
      end
      return { shown, changed }
    """)
    assert shown == changed and any(shown)


@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
def test_what_the_user_does_not_want_to_see_is_written_all_the_same(start_nvim, layout):
    new = "one\n  two\nthree\n\nfour\nfive \n"
    diffs = make(start_nvim, layout)
    default = diffs.nvim.lua("return vim.o.diffopt")
    for id, diffopt in enumerate(["iwhite", "iwhiteall", "iblank,iwhiteeol", "followwrap,context:2"], 1):
        (diffs.nvim.project / f"{id}.txt").write_text((diffs.nvim.project / "a.txt").read_text())
        diffs.nvim.lua("vim.o.diffopt = ...", f"{default},{diffopt}")
        diffs.open(id, f"{id}.txt", new)
        assert diffs.accept(id, f"{id}.txt") == new, diffopt
        diffs.wait_clean()


GROUPS = """
local found = {}
for name in pairs(vim.api.nvim_get_hl(0, {})) do
  if name:find("^ClaudeDiff") then
    local shown = vim.api.nvim_get_hl(0, { name = name, link = false })
    found[name] = vim.inspect({ shown.fg, shown.bg, shown.ctermfg, shown.ctermbg, shown.reverse })
  end
end
return found
"""


def test_colours_are_made_again_with_the_colour_scheme(start_nvim):
    diffs = make(start_nvim, "unified")
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("dx")
    diffs.nvim.wait_screen("dropped")
    before = diffs.nvim.lua(GROUPS)
    assert "ClaudeDiffKey" in before and "ClaudeDiffNote" in before
    diffs.nvim.cmd("colorscheme blue")
    after = diffs.nvim.lua(GROUPS)
    assert set(before) <= set(after)
    assert all(shown != "{}" for shown in after.values()), after
    for group in ("ClaudeDiffKey", "ClaudeDiffAddedLine"):
        assert before[group] != after[group]
    diffs.nvim.cmd("highlight ClaudeDiffAddedLine guibg=#123456")
    diffs.nvim.cmd("doautocmd ColorScheme")
    assert diffs.nvim.lua("return vim.api.nvim_get_hl(0, { name = 'ClaudeDiffAddedLine' })")["bg"] == 0x123456


@pytest.mark.every_nvim
def test_auto_is_one_text_where_two_have_no_room(start_nvim):
    diffs = make(start_nvim, "auto")
    for id, columns, expected in [(1, 99, "leaf"), (2, 100, "row")]:
        diffs.nvim.cmd(f"set columns={columns}")
        diffs.open(id, "a.txt", NEW)
        assert shape(diffs) == expected
        diffs.nvim.keys("ZQ")
        diffs.answer(id)
        diffs.wait_clean()


@pytest.mark.parametrize("place", ["tab", "current", "float"])
def test_the_keys_are_listed_and_decide_nothing(start_nvim, place):
    opts = {"diff": {"open_in": place, "keymaps": {"hunk": ["dy", "dx"], "help": "gh", "reject_with_reason": False}}}
    diffs = Diffs(start_nvim(["a.txt"], opts=opts, files={"a.txt": "one\n"}))
    diffs.open(1, "a.txt", "ONE\n")
    for close in ("gh", "g?", "q", "<Esc>", "ZZ", "ZQ", ":q<CR>"):
        diffs.nvim.keys("gh")
        diffs.nvim.wait(lambda: diffs.current() != 1, what="the list")
        diffs.nvim.wait_screen("Keys of a diff")
        shown = "\n".join(diffs.nvim.lines())
        assert " dy dx " in shown and " ZQ gX " in shown and "with a reason" not in shown
        diffs.nvim.keys(close)
        diffs.nvim.wait(lambda: diffs.current() == 1, what=f"{close} to close the list")
    assert diffs.outcomes(1) == []
    assert diffs.accept(1, "a.txt") == "ONE\n"
    diffs.wait_clean()


PREFERRED = "return Ide.diff_layout.preferred()"


def test_a_new_files_layout_is_no_choice_for_others(start_nvim):
    diffs = make(start_nvim, "horizontal")
    diffs.open(1, "new.txt", NEW)
    assert shape(diffs) == "leaf"
    diffs.nvim.keys("gl")
    diffs.nvim.wait(lambda: shape(diffs) == "row", what="the empty side beside it")
    assert diffs.nvim.lua(PREFERRED) == "horizontal"
    diffs.nvim.keys("ZQ")
    diffs.wait_clean()
    diffs.open(2, "a.txt", NEW)
    assert shape(diffs) == "col"
    diffs.nvim.keys("gl")
    diffs.nvim.wait(lambda: shape(diffs) == "leaf", what="one text")
    assert diffs.nvim.lua(PREFERRED) == "unified", "that was a choice"


@pytest.mark.every_nvim
@pytest.mark.parametrize("given", ["ver,jump,hor", "ver,jump"])
def test_the_scrollopt_of_the_user_stays(start_nvim, given):
    diffs = Diffs(start_nvim(files={"a.txt": OLD}, opts={"diff": {"layout": "vertical"}}))
    diffs.nvim.cmd(f"set scrollopt={given}")
    for id, keys in [(1, "ZQ"), (2, "glglglZQ"), (3, ":tabclose<CR>")]:
        diffs.open(id, "a.txt", NEW)
        diffs.reject(id, keys)
        diffs.wait_clean()
        assert diffs.nvim.lua("return vim.o.scrollopt") == given, keys


@pytest.mark.every_nvim
@pytest.mark.parametrize("place", ["tab", "current", "float"])
def test_the_float_of_removed_lines_goes_with_its_diff_and_is_one(start_nvim, place):
    diffs = Diffs(start_nvim(files={"a.txt": "one\ntwo\n"}, opts={"diff": {"open_in": place, "layout": "unified"}}))
    nvim = diffs.nvim
    floats = """return #vim.tbl_filter(function(win)
      local mark = vim.b[vim.api.nvim_win_get_buf(win)].claude_ide
      return mark and mark.kind == "answer"
    end, vim.api.nvim_list_wins())"""
    diffs.open(1, "a.txt", "two\n")
    for _ in range(2):
        nvim.keys("gK")
        nvim.wait(lambda: nvim.lua(floats) == 1, what="the removed lines")
        nvim.keys("<C-w>p")
        nvim.wait(lambda: diffs.current() == 1, what="the proposal")
    diffs.reject(1)
    nvim.wait(lambda: nvim.lua(floats) == 0, what="the float to go")
    diffs.wait_clean()


CLICK = """
local text = ...
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(row, column) end
  local at = table.concat(cells):find(text, 1, true)
  if at then
    at = vim.fn.strchars(table.concat(cells):sub(1, at - 1))
    vim.api.nvim_input_mouse("left", "press", "", 0, row - 1, at + 1)
    vim.api.nvim_input_mouse("left", "release", "", 0, row - 1, at + 1)
    return true
  end
end
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("keymaps", [{}, {"accept": False, "reject": False}])
def test_a_click_on_a_hint_types_its_key(start_nvim, keymaps):
    nvim = start_nvim(files={"a.txt": OLD}, opts={"diff": {"layout": "vertical", "keymaps": keymaps}})
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", NEW)
    nvim.keys("<C-w>h")
    nvim.wait(lambda: diffs.current() is None, what="the other side")
    assert nvim.lua(CLICK, "gl")
    nvim.wait("not vim.wo.diff or vim.fn.winlayout()[1] == 'col'", what="the next layout")
    assert nvim.lua(CLICK, "]c")
    nvim.wait(lambda: nvim.cursor()[0] > 2, what="the next change")
    assert nvim.lua(CLICK, " reject")
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_clean()
