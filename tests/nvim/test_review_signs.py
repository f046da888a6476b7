"""Signs at Claude's unreviewed changes, the jumps between them, and `:Claude undo`."""

import pytest
from review_steps import A_CLAUDE, A, B, signs, turn, waiting, windows

pytestmark = pytest.mark.dealt

MARKS = [[2, "▌", "ClaudeSignChanged"], [9, "▌", "ClaudeSignAdded"]]
SELECT = """
vim.ui.select = function(items, opts, done)
  asked = { items = items, prompt = opts.prompt, done = function(index) done(items[index], index) end }
end
"""


@pytest.fixture
def changed(start_nvim, connect):
    """a.txt open, then changed in two places; b.txt changed, not open."""
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, init_lua=SELECT, notices=True)
    turn(nvim, connect(nvim), a_txt=A_CLAUDE, b_txt=B.replace("beta\n", ""))
    nvim.wait(lambda: signs(nvim, "a.txt") == MARKS, what="the signs")
    return nvim


def where(nvim):
    return nvim.lua('return { vim.fn.expand("%:t"), vim.fn.line(".") }')


@pytest.mark.every_nvim
def test_a_sign_stays_until_its_line_is_kept(changed):
    changed.lua("vim.api.nvim_win_set_cursor(0, { 2, 0 })")
    changed.lua("assert(Ide.review.keep_hunk())")
    changed.wait(lambda: signs(changed, "a.txt") == MARKS[1:], what="one sign less")
    changed.lua("assert(Ide.review.keep_file())")
    changed.wait(lambda: signs(changed, "a.txt") == [], what="no sign")


def test_a_file_that_is_opened_later_has_its_signs(changed):
    changed.cmd("edit b.txt")
    changed.wait(lambda: signs(changed, "b.txt") == [[1, "▁▁", "ClaudeSignRemoved"]], what="the sign")


@pytest.mark.every_nvim
def test_a_file_that_somebody_puts_back_has_no_sign_any_more(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A}, notices=True)
    client = connect(nvim)
    turn(nvim, client, a_txt=A_CLAUDE)
    nvim.wait(lambda: signs(nvim, "a.txt") == MARKS, what="the signs")
    client.close()
    nvim.wait("#require('claude-ide').status().clients == 0", what="the client to be gone")
    count = "return require('claude-ide').status().review.hunks"
    assert nvim.lua(count) == 2
    (nvim.project / "a.txt").write_text(A)
    nvim.wait(lambda: nvim.lines() == A.splitlines(), what="a.txt to be reloaded")
    nvim.wait(lambda: signs(nvim, "a.txt") == [], what="no sign")
    assert nvim.lua(count) == 0
    (nvim.project / "a.txt").write_text(A_CLAUDE)
    nvim.wait(lambda: signs(nvim, "a.txt") == MARKS, what="the signs again")


def test_without_the_option_there_is_none(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], opts={"review": {"signs": False}}, files={"a.txt": A}, notices=True)
    turn(nvim, connect(nvim), a_txt=A_CLAUDE)
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="a.txt to be reloaded")
    nvim.lua("Ide.review_signs.refresh()")
    assert signs(nvim, "a.txt") == []


# A sign of another plugin, like gitsigns: after ours, on a line of ours and on another one.
GITSIGNS = """
local namespace = vim.api.nvim_create_namespace("gitsigns_signs_")
for _, row in ipairs({ 0, 1 }) do
  vim.api.nvim_buf_set_extmark(0, namespace, row, 0, {
    id = row + 1, sign_text = "┃", sign_hl_group = "Changed", number_hl_group = "Changed", priority = 6,
  })
end
"""
UNDERLINED = """(function()
  local namespace = vim.api.nvim_get_namespaces()["claude-ide.review.covered"]
  return vim.tbl_map(function(mark) return mark[2] + 1 end, vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}))
end)()"""


@pytest.mark.every_nvim
def test_where_one_sign_has_room_that_of_git_is_underlined(changed):
    def said(lines, text):
        changed.wait(lambda: changed.lua(f"return {UNDERLINED}") == lines, what=f"the signs of {lines}")
        changed.wait(lambda: text in changed.screen()[1], what=f"{text!r} in the second line")

        def is_drawn():
            cells = changed.terminal.cells()
            return [at + 1 for at in range(9) if any(cell.underscore for cell in cells[at][:2])] == lines

        changed.wait(is_drawn, what=f"{lines} underlined")

    changed.cmd("set number signcolumn=yes:1")
    said([], "▌   2 TWO")
    changed.lua(GITSIGNS)
    said([2], "┃   2 TWO")
    fg = "return vim.api.nvim_get_hl(0, { name = ..., link = false }).fg"
    assert changed.lua(fg, "ClaudeSignCovered.Changed") == changed.lua(fg, "Changed")
    changed.cmd("set signcolumn=number")
    said([2], "┃  TWO")
    changed.cmd("set signcolumn=auto:2")
    said([], "▌")
    said([], "┃")
    changed.cmd("set signcolumn=yes")
    said([2], "┃   2 TWO")
    changed.lua("assert(Ide.review.keep_file())")
    said([], "┃   2 TWO")


@pytest.mark.every_nvim
def test_of_two_windows_the_narrower_column_counts(changed):
    changed.lua(GITSIGNS)
    changed.cmd("set signcolumn=yes | split | setlocal signcolumn=yes:2")
    changed.wait(lambda: changed.lua(f"return {UNDERLINED}") == [2], what="the sign")
    changed.lua(
        """
        changes = 0
        local del = vim.api.nvim_buf_del_extmark
        vim.api.nvim_buf_del_extmark = function(...) changes = changes + 1 return del(...) end
        vim.cmd("redraw!")
        drawn = false
        vim.schedule(function() vim.cmd("redraw!") vim.schedule(function() drawn = true end) end)
        """
    )
    changed.wait("drawn", what="two drawings")
    assert changed.lua("return changes") == 0


def test_an_underlined_sign_is_one_after_lines_were_joined(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A}, notices=True)
    turn(nvim, connect(nvim), a_txt=A.replace("one\ntwo\n", "ONE\nTWO\n"))
    nvim.wait(lambda: len(signs(nvim, "a.txt")) == 2, what="the signs")
    nvim.cmd("set signcolumn=yes")
    nvim.lua(GITSIGNS)
    nvim.wait(lambda: nvim.lua(f"return {UNDERLINED}") == [1, 2], what="both")
    nvim.keys("2Gdd")
    nvim.wait(lambda: nvim.lua(f"return {UNDERLINED}") in ([1], [1, 2]) and len(nvim.lines()) == 8, what="the rest")
    nvim.keys("1Gdd")
    nvim.wait(lambda: len(nvim.lua(f"return {UNDERLINED}")) <= 1, what="one at most in a place")


def test_jumps_go_through_all_files(changed):
    changed.lua("""
      vim.keymap.set("n", "gn", "<Plug>(claude-change-next)")
      vim.keymap.set("n", "gp", "<Plug>(claude-change-prev)")
    """)
    changed.lua("vim.api.nvim_win_set_cursor(0, { 1, 0 })")
    for place in (["a.txt", 2], ["a.txt", 9], ["b.txt", 1], ["a.txt", 2]):
        changed.keys("gn")
        changed.wait(lambda place=place: where(changed) == place, what=f"the cursor at {place}")
    changed.keys("gp")
    changed.wait(lambda: where(changed) == ["b.txt", 1], what="the jump back")


@pytest.mark.every_nvim
def test_undo_shows_what_will_happen_and_asks(changed):
    changed.cmd("Claude undo")
    changed.wait("asked ~= nil", what="the question")
    assert changed.lua("return asked.items") == ["Undo in 2 files: a.txt, b.txt", "Cancel", "Review it first"]
    assert len(windows(changed)) == 1, "a preview, which the user's own list may cover"
    changed.lua("asked.done(1)")
    changed.wait('notices[#notices] == "Undid Claude\'s changes in 2 files."')
    assert (changed.project / "a.txt").read_text() == A
    assert (changed.project / "b.txt").read_text() == B
    changed.wait(lambda: len(windows(changed)) == 1, what="the preview to go")
    changed.wait(lambda: changed.lines() == A.splitlines() and signs(changed, "a.txt") == [], what="no sign")


def test_undo_that_is_cancelled_changes_nothing_and_it_can_go_on_to_the_review(changed):
    for answer in (2, 3):
        changed.lua("asked = nil")
        changed.cmd("Claude undo")
        changed.wait("asked ~= nil", what="the question")
        changed.lua("asked.done(...)", answer)
        assert waiting(changed) == ["a.txt", "b.txt"]
        changed.wait(lambda answer=answer: len(windows(changed)) == (1 if answer == 2 else 3), what="what was chosen")


def test_undo_leaves_what_the_user_changed_too(changed):
    changed.keys("2GAmine<Esc>:w<CR>")
    changed.wait(lambda: "mine" in (changed.project / "a.txt").read_text(), what="the user's change on disk")
    changed.cmd("Claude undo")
    changed.wait("asked ~= nil", what="the question")
    assert changed.lua("return asked.prompt") == "Undo what Claude's last turn changed? Stays: 1 place in a.txt"
    changed.lua("asked.done(1)")
    assert (changed.project / "a.txt").read_text() == A.replace("two", "TWOmine")
