"""The review of Claude's changes: list, sides, keys, conflicts, undo. Driven like the CLI."""

import pytest
from held_timers import CLOSED_DIFF, hold_timers, let_timers_go
from review_steps import A_CLAUDE, LAYOUT, A, B, review, reviewed, turn, waiting, windows

pytestmark = pytest.mark.dealt


@pytest.fixture
def changed(start_nvim, connect):
    """a.txt open, then changed in two places; b.txt changed; c.txt made."""
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, notices=True)
    nvim.keep_events("ClaudeReviewed")
    turn(nvim, connect(nvim), a_txt=A_CLAUDE, b_txt=B.replace("beta\n", ""), c_txt="new\n")
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="a.txt to be reloaded")
    return nvim


@pytest.mark.every_nvim
def test_it_shows_the_files_beside_the_diff_of_the_first(changed):
    review(changed)
    listed, before, file = windows(changed)
    assert [line.split() for line in listed["lines"]] == [["~", "a.txt"], ["~", "b.txt"], ["+", "c.txt"]]
    assert before["lines"] == A.splitlines() and before["ours"] and before["diff"]
    assert (file["name"], file["ours"], file["diff"], file["current"]) == ("a.txt", False, True, True)
    assert changed.cursor()[0] == 2
    changed.wait_screen("3 files")


def test_the_list_stays_as_it_stands_at_edit(changed):
    review(changed)
    changed.keys("<C-w>t")
    changed.wait_kind("changes")
    before, screen = changed.lines(), changed.drawn()
    changed.cmd("edit!")
    assert (changed.lines(), changed.drawn()) == (before, screen)


@pytest.mark.every_nvim
def test_a_kept_change_is_gone_from_both_sides_and_the_cursor_goes_on(changed):
    review(changed)
    changed.keys("ga")
    changed.wait(lambda: windows(changed)[1]["lines"][1] == "TWO", what="the change on both sides")
    assert changed.cursor()[0] == 9
    assert reviewed(changed) == ["keep a.txt"]
    changed.wait(lambda: changed.lua("return { vim.fn.diff_hlID(2, 1), vim.fn.diff_hlID(9, 1) > 0 }") == [0, True])
    changed.keys("ga")
    changed.wait_screen("kept")
    assert waiting(changed) == ["b.txt", "c.txt"]
    assert (changed.project / "a.txt").read_text() == A_CLAUDE


@pytest.mark.every_nvim
def test_an_undone_change_is_written_and_u_brings_it_back(changed):
    review(changed)
    changed.keys("dx")
    path = changed.project / "a.txt"
    changed.wait(lambda: path.read_text() == A_CLAUDE.replace("TWO", "two"), what="the undo on disk")
    assert not changed.lua("return vim.bo.modified")
    changed.keys("u")
    changed.wait(lambda: path.read_text() == A_CLAUDE, what="the change to be back in the file")
    assert changed.lines() == A_CLAUDE.splitlines() and not changed.lua("return vim.bo.modified")
    changed.wait(lambda: "a.txt" in waiting(changed), what="it to wait again")
    changed.keys("<C-r>")
    changed.wait(lambda: path.read_text() == A_CLAUDE.replace("TWO", "two"), what="the undo once more")
    changed.keys("ux")
    changed.wait(lambda: path.read_text() == A_CLAUDE and changed.lua("return vim.bo.modified"))
    changed.keys("u")
    changed.wait("not vim.bo.modified")
    assert path.read_text() == A_CLAUDE


@pytest.mark.every_nvim
def test_a_change_that_u_has_just_brought_back_can_be_undone_at_once(changed):
    review(changed)
    changed.keep_notices()
    path = changed.project / "a.txt"
    for keys in ("dx", "udx"):
        changed.keys(keys)
        changed.wait(lambda keys=keys: len(reviewed(changed)) == len(keys) - 1, what=f"what {keys} does")
    assert changed.notices() == []
    assert path.read_text() == A_CLAUDE.replace("TWO", "two")
    assert changed.lua("return vim.bo.modified") is False


@pytest.mark.every_nvim
def test_a_change_that_has_no_line_left_can_be_undone_where_it_was(changed):
    review(changed)
    changed.keys("]f")
    changed.wait(lambda: windows(changed)[2]["name"] == "b.txt", what="the next file")
    changed.keys("dx")
    changed.wait(lambda: (changed.project / "b.txt").read_text() == B, what="the undo on disk")


def test_all_of_a_file_is_undone_at_once(changed):
    review(changed)
    changed.keys("dX")
    changed.wait(lambda: (changed.project / "a.txt").read_text() == A, what="the undo on disk")
    changed.wait_screen("undone")
    assert waiting(changed) == ["b.txt", "c.txt"]


def test_a_file_of_which_a_part_is_undone_is_reviewed(changed):
    review(changed)
    changed.keys("gadx")
    changed.wait(lambda: (changed.project / "a.txt").read_text() == A.replace("two", "TWO"), what="the undo on disk")
    changed.wait(lambda: waiting(changed) == ["b.txt", "c.txt"], what="the file to be reviewed")
    changed.keys("<C-w>t")
    changed.wait_screen("reviewed")
    assert "undone" not in "\n".join(changed.screen())


def test_a_change_that_the_user_has_changed_too_is_shown_and_stays(changed):
    changed.keys("2GAmine<Esc>")
    changed.wait(lambda: changed.lua("return vim.bo.modified"), what="the user's change")
    review(changed)
    changed.wait_screen("you edited this too")
    changed.keys("dx")
    changed.wait_notice("they stay")
    changed.keys("dX")
    expected = A.replace("two", "TWOmine").splitlines()
    changed.wait(lambda: windows(changed)[2]["lines"] == expected, what="the other change taken back")


@pytest.mark.every_nvim
def test_what_is_typed_in_the_review_is_the_users(changed):
    review(changed)
    changed.keys("Gomine<Esc>")
    changed.wait(lambda: windows(changed)[1]["lines"][-1] == "mine", what="the line on both sides")


@pytest.mark.slow
def test_in_the_list_the_keys_are_for_the_file_and_go_on(changed):
    review(changed)
    changed.keys("<C-w>t")
    changed.keys("dx")
    changed.wait(lambda: (changed.project / "a.txt").read_text() == A, what="the undo on disk")
    changed.wait(lambda: windows(changed)[2]["name"] == "b.txt", what="the next file")
    changed.keys("j")
    changed.wait(lambda: windows(changed)[2]["name"] == "c.txt", what="the file under the cursor")
    changed.keys("dx")
    changed.wait(lambda: not (changed.project / "c.txt").exists(), what="the new file to go")
    changed.wait(lambda: windows(changed)[2]["name"] == "b.txt", what="the one that is left")
    changed.keys("ga")
    changed.wait_screen("all reviewed")
    assert waiting(changed) == []


@pytest.mark.parametrize("keys", ["q", "<C-w>tq", "<C-w>t<C-w>lq", ":q<CR>", "<C-w>t:q<CR>", ":tabclose<CR>"])
def test_closing_puts_everything_back(changed, keys):
    changed.keys(":setlocal nowrap number<CR>:vsplit b.txt<CR><C-w>p4G")
    changed.wait(lambda: changed.cursor()[0] == 4, what="the cursor in line 4")
    before = changed.lua(LAYOUT)
    review(changed)
    changed.keys("]f")
    changed.wait(lambda: windows(changed)[2]["name"] == "b.txt", what="the next file")
    if "q<CR>" in keys or "tab" in keys:
        changed.keys("[f")
        changed.wait(lambda: windows(changed)[2]["name"] == "a.txt", what="the file before")
    changed.keys(keys)
    changed.wait(lambda: changed.lua(LAYOUT) == before, what="the screen as it was")
    assert not changed.lua("""
      return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
        return vim.b[buf].claude_ide ~= nil
      end)
    """)
    changed.keys(":tabnew a.txt<CR>")
    changed.wait(lambda: changed.lua("return #vim.api.nvim_list_tabpages()") == 2, what="another tab")
    options = changed.lua("return { vim.wo.diff, vim.wo.winfixbuf, vim.wo.winbar, vim.wo.wrap }")
    assert options == [False, False, "", False]


def test_a_write_in_the_list_says_that_it_is_no_file(changed):
    review(changed)
    changed.keep_notices()
    changed.keys("<C-w>t:w<CR>")
    changed.wait_notice("The list is not a file. `<CR>` goes to the file.")
    changed.keys(":wall<CR>:let g:done = 1<CR>")
    changed.wait("vim.g.done == 1")
    assert len(changed.notices()) == 1 and changed.lua("return vim.v.errmsg") == ""


@pytest.mark.every_nvim
def test_one_key_too_many_to_close_does_nothing_in_the_file(changed):
    hold_timers(changed, *CLOSED_DIFF)  # the key comes in time
    review(changed)
    changed.keys("qq:let g:done = 1<CR>")
    changed.wait("vim.g.done == 1", what="Neovim to have taken the keys")
    assert changed.lua("return { vim.fn.reg_recording(), #vim.api.nvim_list_tabpages() }") == ["", 1]
    let_timers_go(changed)
    changed.wait("vim.fn.maparg('q', 'n') == ''", what="the key to be the user's again")


def test_a_deleted_file_comes_back(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": A}, notices=True)
    turn(nvim, connect(nvim), a_txt=None)
    review(nvim)
    nvim.wait_screen("deleted")
    nvim.wait_screen(A.splitlines()[0])
    nvim.keys("dX")
    path = nvim.project / "a.txt"
    nvim.wait(lambda: path.exists() and path.read_text() == A, what="the file to be back")
    nvim.wait(lambda: windows(nvim)[-1]["lines"] == A.splitlines(), what="the file on the screen")


def test_bytes_stay_as_they_are(start_nvim, connect):
    text = b"one\r\ntwo\r\nthree"
    nvim = start_nvim(args=["a.txt"], files={"a.txt": ""}, notices=True)
    (nvim.project / "a.txt").write_bytes(text)
    nvim.cmd("edit!")
    turn(nvim, connect(nvim), a_txt="one\r\nTWO\r\nthree")
    review(nvim)
    assert windows(nvim)[1]["lines"] == ["one", "two", "three"]
    nvim.keys("dx")
    nvim.wait(lambda: (nvim.project / "a.txt").read_bytes() == text, what="the same bytes")


def test_nothing_to_review_is_said(start_nvim, connect):
    nvim = start_nvim(notices=True)
    connect(nvim)
    nvim.cmd("Claude review")
    assert nvim.notices()[-1].startswith("Nothing to review: ") and "in this Neovim" in nvim.notices()[-1]
    nvim.cmd("Claude undo")
    nvim.wait("notices[#notices]:find('Nothing to undo', 1, true)")


@pytest.mark.slow
def test_reviewed_changes_are_there_when_all_of_the_turn_is_asked_for(changed):
    changed.lua("for _, change in ipairs(Ide.review.changes()) do Ide.review.keep_file(change.path) end")
    assert waiting(changed) == []
    for scope in ("turn", "session", "all"):
        review(changed, scope)
        assert len(windows(changed)[0]["lines"]) == 3
        assert windows(changed)[1]["lines"] == A.splitlines()
        changed.wait_screen("all reviewed")
        changed.keys("<C-w>tq")
        changed.wait(lambda: len(windows(changed)) == 1, what="the review to go")


def test_what_reviews_is_reached_from_the_front_door(changed):
    assert changed.lua("""
      local api = require("claude-ide").review
      return { #api.changes(), api.keep_file("b.txt"), api.undo_file("c.txt"), #api.changes() }
    """) == [3, True, True, 1]
    assert reviewed(changed) == ["keep b.txt", "undo c.txt"]


def test_what_was_opened_only_for_the_review_is_not_listed(changed):
    review(changed)
    changed.keys("]f")
    changed.wait(lambda: windows(changed)[2]["name"] == "b.txt", what="the next file")
    assert changed.lua("return vim.fn.getcompletion('', 'buffer')") == ["a.txt"]


@pytest.mark.slow
def test_a_map_of_the_user_is_there_again_afterwards_and_one_of_others_stays(changed):
    changed.lua("vim.keymap.set('n', 'ga', 'yy', { buffer = true, desc = 'mine' })")
    review(changed)
    changed.lua("vim.keymap.set('n', ']c', 'yy', { buffer = true, desc = 'of a plugin' })")
    changed.keys("<C-w>tq")
    changed.wait(lambda: len(windows(changed)) == 1, what="the review to go")
    assert changed.lua("return vim.fn.maparg('ga', 'n', false, true).desc") == "mine"
    assert changed.lua("return vim.fn.maparg(']c', 'n', false, true).desc") == "of a plugin"
    assert changed.lua("return vim.fn.maparg('dx', 'n')") == ""


@pytest.mark.slow
@pytest.mark.every_nvim
def test_in_other_windows_of_the_file_keys_do_what_they_did(changed):
    changed.lua("""
      did = {}
      local function note(what) return function() did[#did + 1] = what .. vim.v.count end end
      vim.keymap.set("n", "]c", note("mine"), { buffer = true })
      vim.keymap.set("n", "dX", note("everywhere"))
      vim.keymap.set("n", "[c", function() return "G" end, { buffer = true, expr = true })
    """)
    review(changed)
    changed.keys("<C-w>T")  # the same buffer in a tab page of its own, and the review is over
    changed.wait(lambda: len(windows(changed)) == 1, what="the review to go")
    changed.keys("]c")
    changed.wait("#did == 1")
    review(changed)
    changed.keys(":tabnew a.txt<CR>3]cdX[c")
    changed.wait(lambda: changed.lua("return did") == ["mine0", "mine3", "everywhere0"], what="the user's own")
    changed.wait(lambda: changed.cursor()[0] == len(A_CLAUDE.splitlines()), what="the last line")
    changed.keys("ggyiwqaq@a")
    changed.wait("vim.fn.getreg('0') == 'one'")


@pytest.mark.slow
@pytest.mark.every_nvim
def test_with_nohidden_unsaved_edits_go_along_from_file_to_file(changed):
    changed.lua("vim.o.hidden = false")
    review(changed)
    changed.keys("Gomine<Esc>]f")
    changed.wait(lambda: windows(changed)[2]["name"] == "b.txt", what="the next file")
    changed.keys("gA[f")
    changed.wait(lambda: "b.txt" not in waiting(changed), what="the key of the review")
    changed.wait(lambda: windows(changed)[2]["lines"][-1] == "mine", what="the edit, still there")
    changed.keys(":q<CR>")
    changed.wait(lambda: len(windows(changed)) == 1, what="the review to go")
    assert changed.lua("return { vim.bo.modified, vim.o.hidden }") == [True, False]


def test_a_file_that_was_not_open_is_read_like_any_other(start_nvim, connect):
    text = "if x:\n    pass\n"
    config = "vim.cmd('filetype plugin indent on | syntax on') "
    nvim = start_nvim(files={"a.txt": A, "c.py": text}, init_lua=config, notices=True)
    turn(nvim, connect(nvim), c_py=text.replace("pass", "return"))
    review(nvim)
    assert nvim.lua("return { vim.bo.filetype, vim.bo.syntax, vim.bo.shiftwidth, vim.bo.expandtab }") == [
        "python", "python", 4, True,
    ]  # fmt: skip
    nvim.keys("G>>")
    nvim.wait(lambda: nvim.lines()[-1] == "        return", what="four columns more")


def test_a_file_that_the_user_changes_in_the_review_becomes_theirs(changed):
    review(changed)
    changed.keys("]f")
    changed.wait(lambda: windows(changed)[2]["name"] == "b.txt", what="the next file")
    changed.keys("Gomine<Esc>")
    changed.wait(lambda: changed.lua("return vim.bo.buflisted and vim.bo.swapfile"), what="an ordinary buffer")
    changed.keys(":q<CR>")
    changed.wait(lambda: len(windows(changed)) == 1, what="the review to go")
    assert changed.lua("return vim.bo[vim.fn.bufnr('b.txt')].modified")


@pytest.mark.slow
def test_closing_the_only_tab_leaves_the_file(changed):
    review(changed)
    changed.keys(":tabonly<CR>")
    changed.keys("<C-w>tq")
    changed.wait(lambda: len(windows(changed)) == 1, what="the review to go")
    assert windows(changed)[0]["name"] == "a.txt"
    assert changed.lua("return { vim.wo.diff, vim.wo.winfixbuf, vim.wo.winbar }") == [False, False, ""]


@pytest.mark.slow
def test_a_turn_that_comes_during_the_review_joins_the_list(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, notices=True)
    client = connect(nvim)
    turn(nvim, client, b_txt=B.upper())
    review(nvim)
    turn(nvim, client, a_txt=A_CLAUDE)
    nvim.wait(lambda: len(windows(nvim)[0]["lines"]) == 2, what="the other file in the list")
    assert windows(nvim)[2]["name"] == "b.txt"
    assert nvim.lua("return vim.api.nvim_win_get_cursor(vim.fn.win_getid(1))[1]") == 2


@pytest.mark.every_nvim
def test_on_a_narrow_screen_names_and_numbers_do_not_run_into_each_other(start_nvim, connect):
    name = "a_folder_of_some_length/and_another/a_file_with_a_long_name.txt"
    nvim = start_nvim(files={name: A})
    nvim.lua("vim.o.columns = 80")
    client = connect(nvim)
    client.call("closeAllDiffTabs")
    client.call("getDiagnostics", uri=f"file://{nvim.project / name}")
    (nvim.project / name).write_text(A_CLAUDE)
    client.call("getDiagnostics")
    nvim.wait(lambda: waiting(nvim), what="the journal to know")
    review(nvim)
    nvim.wait_screen("… +2 −1")


def test_the_keys_of_a_review_are_listed(changed):
    review(changed)
    for go in ("", "<C-w>h", "<C-w>t"):
        changed.keys(go + "g?")
        changed.wait_screen("undo all changes of the file")
        changed.keys("g?")
        changed.wait(lambda: len(windows(changed)) == 3, what="the list to go")
    assert waiting(changed) == ["a.txt", "b.txt", "c.txt"]


@pytest.mark.every_nvim
def test_nothing_hides_in_what_is_reviewed(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A})
    text = A.replace("two\n", "two\ufe01\ufe02" + " " * 120 + "; evil()\n")
    turn(nvim, connect(nvim), a_txt=text)
    nvim.wait(lambda: nvim.lines() == text.splitlines(), what="a.txt to be reloaded")
    review(nvim)
    nvim.wait_screen("two<fe01><fe02>⟨120 blanks⟩")
    nvim.wait_screen("hidden text in 3 places")
    nvim.keys("gq" if nvim.lua("return vim.fn.maparg('gq', 'n') ~= ''") else ":tabclose<CR>")
    nvim.wait(lambda: len(windows(nvim)) == 1, what="the review to close")
    nvim.wait(lambda: "<fe01>" not in "\n".join(nvim.screen()), what="the marks to go with the review")
