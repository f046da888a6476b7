"""The key that undoes all changes of comments only, told apart by tree-sitter."""

import pytest
from review_steps import A_CLAUDE, A, review, reviewed, turn, windows

pytestmark = pytest.mark.dealt

# The gaps keep the changes apart.
GAP = "".join(f"print({number})\n" for number in range(5))
PARTS = {
    "local first = 1\n": "-- a note\nlocal first = 1\n",
    "local second = 2 -- two\n": "local second = 2 -- the second one\n",
    "local third = 3\n": "local third = 33 -- the third one\n",
    "-- old\n-- words\nlocal fourth = 4\n": "local fourth = 4\n",
    "local fifth = 5\n": "-- local fifth = 5\n",
    'local sixth = "-- no comment"\n': 'local sixth = "-- no comment at all"\n',
    "if first then\n  return second\nend\n": "if first then\nreturn second\nend\n",
    "local last = 7\n": "--[[ a comment\nof two lines ]]\n\nlocal last = 7\n",
}
BEFORE = GAP.join(PARTS)
AFTER = GAP.join(PARTS.values())
WITHOUT = GAP.join(part if "first = 1" in part or "second = 2" in part or "fourth" in part or "last" in part else changed
                   for part, changed in PARTS.items())  # fmt: skip
OPENED = BEFORE.replace("local third", "--[[\nlocal third").replace("local fifth = 5\n", "local fifth = 5\n]]\n")


def start(start_nvim, connect, name, before, after):
    nvim = start_nvim(args=[name], files={name: before}, notices=True)
    nvim.keep_events("ClaudeReviewed")
    turn(nvim, connect(nvim), **{name.replace(".", "_"): after})
    nvim.wait(lambda: nvim.lines() == after.splitlines(), what="the file to be reloaded")
    review(nvim)
    return nvim, nvim.project / name


@pytest.mark.every_nvim
def test_changes_of_comments_only_are_undone_in_one_step(start_nvim, connect):
    nvim, path = start(start_nvim, connect, "a.lua", BEFORE, AFTER)
    nvim.keys("dc")
    nvim.wait(lambda: path.read_text() == WITHOUT, what="the comments as before")
    nvim.wait_notice("4 changes of comments undone")
    assert reviewed(nvim) == ["undo a.lua"] * 4
    assert not nvim.lua("return vim.bo.modified")
    nvim.keys("u")
    nvim.wait(lambda: path.read_text() == AFTER, what="all of them again")
    nvim.wait("not vim.bo.modified")
    nvim.wait_screen("+9 −7")
    nvim.keys("<C-r>")
    nvim.wait(lambda: path.read_text() == WITHOUT, what="the undo once more")
    nvim.wait_screen("+4 −4")
    nvim.keys("dc")
    nvim.wait_notice("No changes of comments only in this file")


@pytest.mark.every_nvim
def test_comment_marks_that_take_code_away_are_no_change_of_comments(start_nvim, connect):
    nvim, path = start(start_nvim, connect, "a.lua", BEFORE, OPENED)
    nvim.keys("dc")
    nvim.wait_notice("No changes of comments only in this file")
    assert path.read_text() == OPENED


@pytest.mark.every_nvim
def test_without_a_parser_it_says_so(start_nvim, connect):
    nvim, path = start(start_nvim, connect, "a.txt", A, A_CLAUDE)
    nvim.keys("dc")
    nvim.wait_notice("Comments are not recognized: no tree-sitter parser")
    assert path.read_text() == A_CLAUDE


def test_lines_that_the_user_has_changed_too_stay(start_nvim, connect):
    nvim, path = start(start_nvim, connect, "a.lua", BEFORE, AFTER)
    nvim.keys("ggAmine<Esc>:w<CR>")
    nvim.wait(lambda: path.read_text().startswith("-- a notemine\n"), what="the user's words")
    nvim.wait_screen("you edited this too")
    nvim.keys("dc")
    nvim.wait_notice("3 changes of comments undone")
    assert path.read_text() == WITHOUT.replace("local first", "-- a notemine\nlocal first")


def test_in_the_list_it_is_for_the_file_under_the_cursor(start_nvim, connect):
    nvim, path = start(start_nvim, connect, "a.lua", BEFORE, AFTER)
    nvim.keys("<C-w>tdc")
    nvim.wait(lambda: path.read_text() == WITHOUT, what="the comments as before")
    assert windows(nvim)[2]["lines"] == WITHOUT.splitlines()
