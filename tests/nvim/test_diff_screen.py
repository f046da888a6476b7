"""The user's screen and typing are theirs: diffs wait, and restore everything."""

import unicodedata

import pytest
from diff_steps import Diffs

from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

FILES = {"a.txt": "".join(f"line {i}\n" for i in range(1, 201)), "b.txt": "b\n", "c.txt": "c\n"}


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files=FILES, args=["a.txt"]))


@pytest.mark.every_nvim
def test_a_floating_window_stays_and_is_the_current_one_again(diffs):
    nvim = diffs.nvim
    nvim.lua("""
      vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true,
        { relative = "editor", row = 3, col = 3, width = 20, height = 5, border = "rounded" })
    """)
    before = diffs.screen_state()
    diffs.open(1, "b.txt", "B\n")
    nvim.keys("ZZ")
    diffs.accepted(1, "b.txt")
    diffs.wait_current(None)
    nvim.wait(lambda: diffs.screen_state() == before, what="the windows as they were")


def test_floating_windows_over_the_diff_do_not_keep_it(diffs):
    diffs.open(1, "b.txt", "B\n")
    diffs.nvim.lua("""
      vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false,
        { relative = "editor", row = 3, col = 3, width = 20, height = 5 })
    """)
    diffs.nvim.keys("ZQ")
    diffs.answer(1)
    diffs.wait_clean()


def test_windows_that_others_opened_in_the_tab_stay(diffs):
    diffs.open(1, "b.txt", "B\n")
    diffs.nvim.keys(":botright split c.txt<CR>")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == ["c"])
    diffs.nvim.keys(":Claude reject<CR>")
    diffs.answer(1)
    diffs.nvim.wait(lambda: diffs.traces()["buffers"] == [])
    assert diffs.nvim.lines() == ["c"]
    assert diffs.traces()["tabs"] == 2 and diffs.traces()["wins"] == 2


def test_the_tab_that_was_left_may_be_gone(diffs):
    diffs.open(1, "b.txt", "B\n")
    diffs.nvim.keys(":1tabclose<CR>")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 1)
    diffs.nvim.keys("ZZ")
    diffs.accepted(1, "b.txt")
    diffs.wait_clean()
    assert diffs.nvim.lua("return vim.fn.expand('%:t')") == "a.txt"
    assert diffs.nvim.lua("return { vim.wo.diff, vim.wo.winfixbuf, vim.wo.winbar, vim.wo.foldmethod }") == [
        False,
        False,
        "",
        "manual",
    ]


@pytest.mark.every_nvim
def test_other_diff_views_are_left_alone(diffs):
    nvim = diffs.nvim
    nvim.cmd("tabnew b.txt | diffthis | vsplit c.txt | diffthis | 1tabnext")
    diffs.open(1, "a.txt", "A\n")
    assert nvim.lua("return vim.fn.tabpagenr('$')") == 3
    nvim.lua("Ide.claude_client.prompt_submitted(1)")
    diffs.answer(1)
    diffs.wait_current(None)
    nvim.wait(lambda: diffs.traces()["buffers"] == [])
    assert nvim.lua("""
      return vim.tbl_map(function(win) return vim.wo[win].diff end, vim.api.nvim_tabpage_list_wins(vim.api.nvim_list_tabpages()[2]))
    """) == [True, True]


@pytest.mark.parametrize("state", ["an expression", "the command-line window"])
def test_one_that_ends_where_nothing_may_change_goes_when_it_may(diffs, state):
    nvim = diffs.nvim
    nvim.lua("vim.keymap.set('n', 'gz', function() vim.g.waits = 1 vim.fn.getcharstr() return '' end, { expr = true })")
    diffs.open(1, "b.txt", "B\n")
    if state == "an expression":
        nvim.input("gz")  # at once: behind an expression whose keys came apart Neovim runs nothing until the next key
        nvim.wait("vim.g.waits == 1")
        nvim.lua("Ide.claude_client.prompt_submitted(1)")
        nvim.keys("x")
    else:
        nvim.keys("q:")
        nvim.wait("vim.fn.getcmdwintype() == ':'")
        nvim.lua("Ide.claude_client.prompt_submitted(1)")
        nvim.keys(":q<CR>")
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_clean()
    assert diffs.current() is None and nvim.lua("return vim.fn.expand('%:t')") == "a.txt"


@pytest.mark.every_nvim
def test_going_to_one_from_the_command_line_window_says_what_is_in_the_way(diffs):
    nvim = diffs.nvim
    nvim.keys("q:")
    nvim.wait("vim.fn.getcmdwintype() == ':'")
    diffs.propose(1, "b.txt", "B\n")
    nvim.wait("(Ide.proposal.list()[1] or {}).against")
    ok, err = nvim.lua("local ok, err = Ide.proposal.focus(1) return { ok or false, err }")
    assert not ok and err.startswith("Close the command-line window first") and diffs.outcomes(1) == []
    nvim.keys(":q<CR>")
    diffs.wait_current(1)
    nvim.keys("q:")
    nvim.wait("vim.fn.getcmdwintype() == ':'")
    assert nvim.lua("return Ide.proposal.focus(1)") is None
    nvim.keys(":q<CR>ZZ")
    assert diffs.answer(1)["outcome"] == "saved"


@pytest.mark.every_nvim
def test_the_key_that_ends_a_message_is_not_for_the_diff(diffs):
    nvim = diffs.nvim
    nvim.keys(':echo "one\\ntwo\\nthree"<CR>')
    nvim.wait_screen("Press ENTER")
    changed = FILES["a.txt"].replace("line 1\n", "line one\n")
    nvim.notify("propose(...)", 1, 1, str(nvim.project / "a.txt"), changed, "tab 1")
    nvim.keys("<CR>")
    diffs.wait_current(1)
    assert nvim.mode() == "n" and nvim.cursor() == (1, 0)


def test_can_be_decided_by_its_id_while_it_waits(diffs):
    diffs.nvim.keys("ihello")
    diffs.nvim.wait(lambda: diffs.nvim.mode() == "i")
    diffs.propose(1, "b.txt", "B\n")
    diffs.nvim.wait(lambda: diffs.nvim.lua("return (Ide.proposal.list()[1] or {}).against"))
    assert diffs.nvim.lua("return Ide.proposal.accept(1)") is True
    assert diffs.answer(1) == {"outcome": "saved", "contents": "B\n"}
    diffs.nvim.keys("<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.mode() == "n")
    assert diffs.current() is None and diffs.traces()["tabs"] == 1


@pytest.mark.parametrize("prepared", [True, False], ids=["ready to be shown", "not read yet"])
def test_one_that_waits_does_not_keep_neovim_from_quitting(diffs, prepared):
    nvim = diffs.nvim
    nvim.keys(":")
    nvim.wait(lambda: nvim.mode() == "c")
    if prepared:
        diffs.propose(1, "b.txt", "B\n")
        nvim.wait("(Ide.proposal.list()[1] or {}).against")
        nvim.keys("qa<CR>")
    else:  # in one call, so that no file can have been read
        nvim.lua("propose(...) vim.api.nvim_input('qa<CR>')", 1, 1, str(nvim.project / "b.txt"), "B\n", "tab 1")
    assert nvim.terminal.wait_exit() == 0


@pytest.mark.every_nvim
def test_without_focus_it_opens_behind(start_nvim):
    diffs = Diffs(start_nvim(opts={"diff": {"focus": False}}, files=FILES, args=["a.txt"]))
    before = diffs.screen_state()
    diffs.propose(1, "b.txt", "B\n")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 2)
    now = diffs.screen_state()
    for key in ("mode", "win", "tab", "last_win"):
        assert now[key] == before[key]
    diffs.nvim.keys("gt")
    diffs.wait_current(1)
    diffs.nvim.keys("ZZ")
    diffs.accepted(1, "b.txt")
    diffs.wait_clean()
    diffs.nvim.wait(lambda: diffs.screen_state() == before, what="the windows as they were")


TERMINAL = "vsplit | terminal cat"


@pytest.mark.every_nvim
def test_a_terminal_that_waits_gives_way_and_is_typed_in_again(diffs):
    nvim = diffs.nvim
    nvim.cmd(TERMINAL)
    nvim.keys("isent<CR>")
    nvim.wait(lambda: sum(line.startswith("sent") for line in nvim.screen()) == 2, what="the line and its echo")
    assert nvim.mode() == "t"
    before = diffs.screen_state()
    diffs.open(1, "b.txt", "B\n")
    nvim.wait(lambda: nvim.mode() == "n")
    nvim.keys("ZZ")
    diffs.accepted(1, "b.txt")
    nvim.wait(lambda: nvim.mode() == "t")
    nvim.wait(lambda: diffs.screen_state() == before, what="the windows as they were")
    nvim.keys("again<CR>")
    nvim.wait_screen("again")


HEIGHTS_ON_THE_WAY_BACK = """
local restore, win = Ide.ui_restore, vim.api.nvim_get_current_win()
_G.heights = { vim.api.nvim_win_get_height(win) }
for _, name in ipairs({ "go", "settle" }) do
  local original = restore[name]
  restore[name] = function(...)
    local result = original(...)
    table.insert(_G.heights, vim.api.nvim_win_get_height(win))
    return result
  end
end
"""


@pytest.mark.parametrize("keys", ["ZZ", "ZQ", ":q<CR>"])
def test_a_terminal_never_changes_its_size_so_that_what_its_program_draws_is_not_torn(diffs, keys):
    nvim = diffs.nvim
    nvim.cmd(TERMINAL)
    nvim.keys("isent<CR>")
    nvim.wait(lambda: sum(line.startswith("sent") for line in nvim.screen()) == 2, what="the line and its echo")
    nvim.lua(HEIGHTS_ON_THE_WAY_BACK)
    diffs.open(1, "b.txt", "B\n")
    nvim.wait(lambda: nvim.mode() == "n")
    nvim.keys(keys)
    nvim.wait(lambda: nvim.mode() == "t")
    nvim.wait("#_G.heights == 3")
    before, *on_the_way = nvim.lua("return _G.heights")
    assert on_the_way == [before, before]
    assert nvim.lua("return vim.o.showtabline") == 1


SIZES = """
local lines = vim.api.nvim_buf_get_lines(Ide.terminal.bufnr(), 0, -1, false)
return vim.tbl_filter(function(line) return line:find("^size") ~= nil end, lines)
"""


@pytest.mark.parametrize("keys", ["ZZ", ":q<CR>", ":tabclose<CR>", ":Claude reject<CR>", "<C-w>c"])
def test_the_cli_is_told_of_no_other_size_than_it_has(start_nvim, tmp_path, keys):
    program = FakeCli(tmp_path)
    diffs = Diffs(start_nvim(env=program.environment(), files=FILES, args=["a.txt"]))
    nvim = diffs.nvim
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("fake CLI ready")
    nvim.wait(lambda: nvim.mode() == "t")
    nvim.keys("S")  # it sends its size on request, and on each change
    nvim.wait(lambda: nvim.lua(SIZES))
    nvim.keys("<CR>")  # does not interrupt a line being typed
    diffs.open(1, "b.txt", "B\n")
    nvim.wait(lambda: nvim.mode() == "n")
    nvim.keys(keys)
    diffs.answer(1)
    nvim.wait(lambda: diffs.traces()["tabs"] == 1 and nvim.mode() == "t")
    nvim.keys("S")
    nvim.wait(lambda: program.typed() == b"S\rS")
    nvim.wait(lambda: len(nvim.lua(SIZES)) > 1)
    assert len(nvim.lua(SIZES)) == 2 and len(set(nvim.lua(SIZES))) == 1
    assert nvim.lua("return vim.o.showtabline") == 1


HIDDEN = "ok" + " " * 300 + "; evil()\nx\u2800= 1\u202e\nplain    text\u00e4\n" + "y" * 300 + "\n"


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
def test_nothing_hides_in_what_is_proposed(start_nvim, layout):
    files = {"a.txt": "one\n"}
    diffs = Diffs(start_nvim(files=files, args=["a.txt"], opts={"diff": {"layout": layout}}))
    nvim = diffs.nvim
    nvim.cmd("set nowrap")
    diffs.open(1, "a.txt", HIDDEN)
    nvim.wait_screen("ok⟨300 blanks⟩")
    nvim.wait_screen("<2800>= 1<202e>")
    nvim.wait_screen("plain    text\u00e4")
    nvim.wait_screen("y›")
    nvim.lua("vim.fn.search('evil') vim.cmd('normal! $')")
    nvim.wait_screen("; evil()")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'mine' })")
    nvim.wait(lambda: "300 blanks" not in "\n".join(nvim.screen()), what="the mark to go")
    nvim.keys("ZQ")
    diffs.answer(1)


def test_what_hides_far_down_in_a_long_change_is_marked_too(start_nvim):
    diffs = Diffs(start_nvim(files={"a.txt": "one\n"}, args=["a.txt"]))
    nvim = diffs.nvim
    diffs.open(1, "a.txt", "plain\n" * 20000 + "far\u2800away\n")
    nvim.keys("G")
    nvim.wait_screen("<2800>away")
    diffs.reject(1)


TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "evil")
UNSEEN = {
    "tags": ("a" + TAGS + "b", "a<e0065><e0076><e0069><e006c>b"),
    "tags after a joiner": ("a\u200d" + TAGS, "<e006c>"),
    "selectors": ("x\ufe01\ufe0fy", "x<fe01><fe0f>y"),
    "selectors behind an emoji": ("\u2764\ufe0f\ufe01\U000e0101z", "<fe01><e0101>z"),
    "a joiner behind a letter": ("po\u200drt", "po<200d>rt"),
    "a joiner behind a letter that is not ASCII": ("\u00e4\u200cb", "\u00e4<200c>b"),
    "grapheme joiner": ("c\u034fd", "c<34f>d"),
    "Mongolian selectors": ("e\u180bf\u180dg", "e<180b>f<180d>g"),
    "shorthand controls": ("h\U0001bca0i", "h<1bca0>i"),
    "hieroglyph controls": ("j\U00013430k\U0001343fl", "j<13430>k<1343f>l"),
    "a null note head": ("m\U0001d159n", "<1d159>n"),
    "a blank under an accent": ("o\u3164\u0301p", "<3164>p"),
    "what is Neovim's own": ("q\u202er", "q<202e>r"),
}
SEEN = [
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u2764\ufe0f",
    "\U0001f469\u200d\U0001f4bb",
    "\u0915\u094d\u200d\u0937",
]


def visible(diffs):
    """What Neovim draws, without the characters that show nothing."""
    return "".join(char for char in "\n".join(diffs.drawn()) if unicodedata.category(char) not in ("Cf", "Cn", "Mn"))


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "unified"])
def test_no_character_of_a_proposal_is_invisible(start_nvim, layout):
    diffs = Diffs(start_nvim(files={"a.txt": "one\n"}, args=["a.txt"], opts={"diff": {"layout": layout}}))
    nvim = diffs.nvim
    diffs.open(1, "a.txt", "\n".join(text for text, _ in UNSEEN.values()) + "\n" + "\n".join(SEEN) + "\n")
    for name, (_, shown) in UNSEEN.items():
        nvim.wait(lambda shown=shown: shown in visible(diffs), what=f"{name}: {shown}")
    drawn = visible(diffs).split("q<202e>r")[1]
    if nvim.lua("return vim.fn.has('nvim-0.11') == 0"):
        drawn = drawn.replace("<200c>", "").replace("<200d>", "")  # 0.10 draws joiners itself
    assert "<" not in drawn, "what joins letters and emoji is no secret"
    nvim.wait_screen("hidden text in 24 places")
    diffs.reject(1)


def test_what_both_sides_of_a_diff_hide_is_marked_on_both(start_nvim):
    nvim = start_nvim(files={"a.txt": "x\u2800= 1\n"}, args=["a.txt"], opts={"diff": {"layout": "vertical"}})
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", "x\u2800= 2\n")
    nvim.wait(lambda: "\n".join(nvim.screen()).count("<2800>=") == 2, what="both marks")
    diffs.reject(1)
    assert diffs.traces()["pending"] == 0


def test_removed_text_shows_what_it_hides(start_nvim):
    nvim = start_nvim(files={"a.txt": "x\u2800= 1" + TAGS + "\n"}, args=["a.txt"], opts={"diff": {"layout": "unified"}})
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", "x = 2\n")
    nvim.wait(lambda: "<2800>= 1<e0065><e0076>" in visible(diffs))
    diffs.reject(1)


def test_a_nul_beside_hidden_text_is_no_error(start_nvim):
    diffs = Diffs(start_nvim(files={"a.txt": "one\n"}, args=["a.txt"]))
    diffs.open(1, "a.txt", "\u00fc\u2028\x00\x7f\u200b\x00\n")
    diffs.nvim.wait_screen("hidden text in 2 places")
    diffs.reject(1)
