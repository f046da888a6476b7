"""A list of choices, with Neovim's own `vim.ui.select`."""

import re

import pytest

LIST = """
local items = {}
for i = 1, ... do items[i] = { "item " .. i .. (" long"):rep(i == 2 and 60 or 1) } end
vim.schedule(function()
  Ide.choose.select(items, {
    prompt = "Which",
    format_item = function(item) return item[1] end,
  }, function(item, index) chosen = { index and item == items[index] or false, index or 0 } end)
end)
"""


@pytest.fixture
def nvim(start_nvim):
    return start_nvim(files={"a.txt": "one\n"}, args=["a.txt"])


@pytest.fixture
def offer(nvim):
    def offer(count):
        nvim.lua("chosen = nil")
        nvim.lua(LIST, count)
        nvim.wait_screen("<CR> choose")

    return offer


CHOICES = {"<CR>": 1, "2<CR>": 2, "jj<CR>": 3, "G<CR>": 40, "17<CR>": 17, "99k<CR>": 8, "3q": 0, "<Esc>": 0}


def test_an_item_is_chosen_by_its_number_or_by_going_there(nvim, offer):
    for keys, chosen in CHOICES.items():
        offer(40)
        nvim.keys(keys)
        nvim.wait("chosen ~= nil")
        assert nvim.lua("return chosen") == [chosen > 0, chosen], keys
        state = nvim.lua("return { #vim.api.nvim_list_wins(), vim.fn.bufname(), vim.fn.mode() }")
        assert state == [1, "a.txt", "n"], keys
        nvim.terminal.wait(lambda: "<CR> choose" not in nvim.terminal.text(), what="the list to go")


def test_a_digit_right_behind_a_move_of_the_window_goes_to_its_item(nvim, offer):
    """Keys belong to the buffer, whichever window shows it; the window that the list opened is gone."""
    offer(3)
    at = nvim.lua("vim.api.nvim_feedkeys(vim.keycode('<C-w>T') .. '2', 'mx', false) return vim.fn.line('.')")
    assert at == 2
    nvim.wait("chosen ~= nil")
    assert nvim.lua("return chosen") == [False, 0]
    assert "Error" not in nvim.lua("return vim.fn.execute('messages')")


def test_a_list_stays_as_it_stands_at_edit(nvim, offer):
    offer(3)
    nvim.keys("j")
    nvim.wait("vim.fn.line('.') == 2")
    marks = "return { vim.fn.line('.'), vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, {}) }"
    before, marked = nvim.lines(), nvim.lua(marks)
    nvim.cmd("edit!")
    assert nvim.lines() == before
    nvim.wait(lambda: [row for _, row, _ in nvim.lua(marks)[1]] == [row for _, row, _ in marked[1]])
    nvim.keys("j<CR>")
    nvim.wait("chosen ~= nil")
    assert nvim.lua("return chosen") == [True, 3]


def test_all_of_an_item_is_shown(nvim, offer):
    offer(3)
    assert "\n".join(nvim.screen()).count(" long") == 62


def test_all_of_a_question_is_shown_and_is_no_item(nvim, offer):
    nvim.lua("LIST_PROMPT = 'Which' .. (' of'):rep(60)")
    nvim.lua(LIST.replace('"Which"', "LIST_PROMPT"), 3)
    nvim.wait_screen("<CR> choose")
    assert "\n".join(nvim.screen()).count(" of") == 60
    nvim.keys("j<CR>")
    nvim.wait("chosen ~= nil")
    assert nvim.lua("return chosen") == [True, 2]


@pytest.mark.parametrize("away", ["wincmd w", "tabnew", "quit"])
def test_a_list_that_is_left_is_answered_with_nothing(nvim, offer, away):
    offer(3)
    nvim.cmd(away)
    nvim.wait("chosen ~= nil")
    assert nvim.lua("return chosen") == [False, 0]
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 1 and vim.api.nvim_win_get_config(0).relative == ''")


def test_who_was_writing_goes_on_writing(nvim, offer):
    nvim.keys("A and")
    nvim.wait("vim.api.nvim_get_current_line() == 'one and'")
    offer(3)
    nvim.keys("2<CR>")
    nvim.wait("chosen ~= nil and vim.fn.mode() == 'i'")
    nvim.keys(" two")
    nvim.wait("vim.api.nvim_get_current_line() == 'one and two'")


def test_what_comes_waits_until_a_choice_is_made(nvim, offer):
    offer(3)
    assert nvim.lua("return Ide.guard.busy().till") == "when you have chosen"
    nvim.lua("Ide.guard.when_idle('x', 'a', function() came = true end)")
    nvim.keys("2<CR>")
    nvim.wait("came")
    assert nvim.lua("return chosen") == [True, 2]


QUESTION = "Remove the worktree of the branch that is done?"


@pytest.fixture
def ask(nvim):
    """Opens a short list with that question, in a screen of this size."""

    def ask(rows, columns):
        nvim.terminal.resize(rows, columns)
        nvim.wait(f"vim.o.lines == {rows} and vim.o.columns == {columns}", what="the screen's size")
        nvim.lua("LIST_PROMPT = ...", QUESTION)
        nvim.lua(LIST.replace('"Which"', "LIST_PROMPT"), 3)
        nvim.wait("(vim.b.claude_ide or {}).kind == 'choices'", what="the list")

    return ask


def has_words(nvim, words):
    """Whether the screen has these words in this order, wherever they are wrapped."""
    return re.search(r"[\s│~]+".join(re.escape(word) for word in words.split()), nvim.terminal.text()) is not None


@pytest.mark.every_nvim
@pytest.mark.parametrize(("rows", "columns"), [(8, 22), (10, 30), (24, 40)])
def test_the_question_is_seen_before_an_item_can_be_chosen(nvim, ask, rows, columns):
    nvim.lua("vim.o.scrolloff = 8")
    ask(rows, columns)
    nvim.terminal.wait(lambda: has_words(nvim, QUESTION), what="all of the question")
    at_first = nvim.lua("return vim.fn.line('.')") > 1  # else it fills the window
    nvim.keys("<CR>")
    if not at_first:
        nvim.wait("vim.api.nvim_get_current_line():find('item 1')", what="the first item")
        assert nvim.lua("return chosen") is None
        nvim.keys("<CR>")
    nvim.wait("chosen ~= nil")
    assert nvim.lua("return chosen") == [True, 1]


@pytest.mark.every_nvim
def test_a_list_fits_the_screen_as_it_is_resized(nvim, ask):
    ask(8, 22)
    nvim.keys("jj")
    nvim.wait("vim.api.nvim_get_current_line():find('item 2')", what="the second item")
    nvim.terminal.resize(30, 100)
    nvim.wait_screen(f" {QUESTION} ")  # as its title
    nvim.wait_screen(re.compile(r"1  item 1 long .*\n.*2  item 2( long)+"))
    assert nvim.lua("return vim.api.nvim_get_current_line():find('item 2') ~= nil")
    nvim.terminal.resize(8, 22)
    nvim.wait("vim.api.nvim_win_get_width(0) <= 18", what="the list to be narrow again")
    nvim.keys("<CR>")
    nvim.wait("chosen ~= nil")
    assert nvim.lua("return chosen") == [True, 2]
