"""What happened to files since Claude got the comments on them."""

import pytest
from test_comments import TEXT, start, write

SENT = "local s = Ide.comments_store assert(s.change(s.root_of(), { sent = ... }))"


def entries(nvim):
    """The quickfix list of comments: their lines and words."""
    nvim.cmd("Claude comments quickfix")
    nvim.wait("vim.bo.buftype == 'quickfix'")
    return [(item["lnum"], item["text"]) for item in nvim.lua("return vim.fn.getqflist()")]


@pytest.mark.every_nvim
def test_the_list_and_a_diff_show_what_changed_since_the_round(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "about two")
    write(nvim, 4, "about four")
    nvim.cmd("Claude comments since")
    nvim.wait_notice("Claude has no comment on this file")
    nvim.lua(SENT, [{"id": 1, "words": "about two"}, {"id": 2, "words": "about four"}])
    nvim.wait_screen("▎you: about four (no answer yet)")
    assert entries(nvim) == [(2, "no answer: about two"), (4, "no answer: about four")]
    nvim.cmd("cclose")
    nvim.project.joinpath("a.txt").write_text(TEXT.replace("two", "TWO"))
    nvim.cmd("checktime")
    nvim.wait(lambda: nvim.lines()[1] == "TWO", what="the file to be reloaded")
    assert entries(nvim) == [(2, "no answer, changed since: about two"), (4, "no answer, file changed: about four")]
    nvim.cmd("cclose")
    nvim.cmd("Claude comments sent")
    nvim.wait_kind("choices")
    nvim.wait_screen("a.txt:4  no answer  file changed   about four")
    nvim.keys("q")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the list to be closed")
    nvim.keys("2GA!<Esc>")
    nvim.keys(":Claude comments since<CR>")
    nvim.wait_kind("edit")
    nvim.wait_screen("when Claude got your comment")
    sides = nvim.lua("return vim.tbl_map(vim.api.nvim_win_get_buf, vim.api.nvim_tabpage_list_wins(0))")
    assert [nvim.lines(buf)[1] for buf in sides] == ["two", "TWO!"]
    nvim.keys("q")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt' and vim.fn.tabpagenr('$') == 1", what="the file to be shown again")


PLAN = """
local store, target = Ide.comments_store, Ide.comments_target
local buf = vim.api.nvim_get_current_buf()
target.set_plan(buf, "session")
local shown = target.of(buf, 1, 1)
local id = assert(store.add(shown, "user", "why?"))
assert(store.change(shown.root, { sent = { { id = id, words = "why?" } } }))
Ide.comments_marks.draw(buf)
local ok, err = Ide.comments.show_since()
return { ok or false, err }
"""


def test_a_comment_on_a_plan_has_no_file_that_could_have_changed(start_nvim):
    nvim = start(start_nvim)
    nvim.cmd("enew")
    assert nvim.lua(PLAN) == [False, "There is no file here."]
