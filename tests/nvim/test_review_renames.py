"""Reviews of files that the user has renamed or deleted since Claude has changed them."""

import subprocess

import pytest
from review_steps import A, B, review, turn, waiting, windows
from test_journal_shell import commit
from test_review_files import SELECT, listed

pytestmark = pytest.mark.dealt

B_CLAUDE = B.replace("beta", "BETA")


@pytest.fixture
def nvim(start_nvim, connect, project):
    """Claude has changed b.txt, and made c.txt, in a repository."""
    (project / "a.txt").write_text(A)
    (project / "b.txt").write_text(B)
    (project / "sub").mkdir()
    commit(project)
    nvim = start_nvim(args=["a.txt"], init_lua=SELECT, notices=True)
    turn(nvim, connect(nvim), b_txt=B_CLAUDE, c_txt="see\n")
    return ended(nvim)


def ended(nvim):
    """The turn is over, and what it did is known: until then nobody can tell the user's moves from Claude's."""
    nvim.wait("Ide.journal.turns()[1].ended ~= nil", what="the end of the turn")
    nvim.lua("Ide.journal.when_known(function() known = true end)")
    nvim.wait("known", what="the turn to be known")
    return nvim


def git_mv(nvim, name, new):
    subprocess.run(["git", "-C", nvim.project, "add", "-A"], check=True)
    subprocess.run(["git", "-C", nvim.project, "mv", name, new], check=True)


def mv(nvim, name, new):
    (nvim.project / name).rename(nvim.project / new)


def ask_to_undo(nvim):
    nvim.lua("answer = nil")
    nvim.cmd("Claude undo")
    nvim.wait("answer ~= nil", what="the question")
    return nvim.lua("return asked")


@pytest.mark.every_nvim
@pytest.mark.parametrize("move", [mv, git_mv])
def test_a_review_follows_a_file_that_the_user_has_renamed(nvim, move):
    review(nvim)
    move(nvim, "b.txt", "sub/new.txt")
    nvim.cmd("doautocmd FocusGained")
    nvim.wait(lambda: waiting(nvim) == ["c.txt", "new.txt"], what="the new name")
    nvim.wait(lambda: [line.split()[1] for line in listed(nvim)[:2]] == ["c.txt", "new.txt"], what="the list")
    assert not any("b.txt" in line for line in listed(nvim))
    nvim.wait(lambda: windows(nvim)[2]["name"] == "new.txt", what="the shown file under its new name")
    nvim.keys("dx")
    new = nvim.project / "sub" / "new.txt"
    nvim.wait(lambda: new.read_text() == B, what="the undo in the new file")
    assert not (nvim.project / "b.txt").exists()
    nvim.keys("u")
    nvim.wait(lambda: new.read_text() == B_CLAUDE, what="the change to be back")


@pytest.mark.parametrize("event", ["FocusGained", "TermLeave"])
def test_what_is_deleted_elsewhere_is_counted_no_more_when_the_user_is_back(nvim, event):
    counts = lambda: nvim.lua("return Ide.journal.counts()")  # noqa: E731
    nvim.wait(lambda: counts() == {"files": 2, "hunks": 2, "conflicts": 0}, what="two changes")
    (nvim.project / "b.txt").unlink()
    (nvim.project / "c.txt").unlink()
    nvim.lua("told, stop = 0, Ide.bus.on('journal_changed', function() told = told + 1 end)")
    nvim.cmd(f"doautocmd {event}")
    nvim.wait("told > 0", what="the event for statuslines")
    nvim.wait(lambda: counts()["hunks"] == 0, what="no change to be counted")


@pytest.mark.every_nvim
def test_an_undo_of_a_turn_follows_the_files_that_the_user_has_renamed(nvim):
    mv(nvim, "b.txt", "sub/new.txt")
    mv(nvim, "c.txt", "sub/made.txt")
    asked = ask_to_undo(nvim)
    assert "sub/new.txt" in asked[0] and "sub/made.txt (deleted)" in asked[0]
    nvim.lua("answer()")
    nvim.wait(lambda: (nvim.project / "sub/new.txt").read_text() == B, what="the undo")
    assert not any((nvim.project / name).exists() for name in ("b.txt", "c.txt", "sub/made.txt"))


RENAMES = {
    "an explorer": """
      vim.uv.fs_rename("b.txt", "sub/new.txt")
      vim.api.nvim_buf_set_name(vim.fn.bufnr("b.txt"), "sub/new.txt")
    """,
    "saveas": "vim.cmd('silent saveas sub/new.txt') vim.fn.delete('b.txt')",
    "another program": "vim.uv.fs_rename('b.txt', 'sub/new.txt') vim.cmd.edit('sub/new.txt')",
}


@pytest.mark.every_nvim
@pytest.mark.parametrize("how", RENAMES)
def test_a_file_that_is_renamed_in_neovim_is_followed_without_git(start_nvim, connect, how):
    nvim = start_nvim(args=["b.txt"], files={"b.txt": B, "sub/other.txt": ""}, notices=True)
    turn(nvim, connect(nvim), b_txt=B_CLAUDE)
    nvim.wait(lambda: nvim.lines() == B_CLAUDE.splitlines(), what="the buffer to follow")
    ended(nvim)
    nvim.lua(RENAMES[how])
    review(nvim)
    nvim.wait(lambda: waiting(nvim) == ["new.txt"], what="the new name")
    nvim.keys("dX")
    nvim.wait(lambda: (nvim.project / "sub/new.txt").read_text() == B, what="the undo in the new file")
    assert not (nvim.project / "b.txt").exists()


def test_another_text_under_a_new_name_is_another_file_and_the_old_one_is_said_to_be_deleted(nvim):
    mv(nvim, "b.txt", "sub/new.txt")
    (nvim.project / "sub/new.txt").write_text(B_CLAUDE + "mine\n")
    review(nvim)
    nvim.wait(lambda: listed(nvim)[:2] == ["− b.txt deleted by you", "+ c.txt +1"], what="the list")
    nvim.wait_screen("b.txt · deleted by you")
    assert not any("you edited this too" in line for line in nvim.screen())
    counts = {"files": 2, "hunks": 1, "conflicts": 0}
    nvim.wait(lambda: nvim.lua("return Ide.journal.counts()") == counts, what="no line of the user's to count")
    nvim.keys("dX")
    nvim.wait_notice("You have deleted this file since, so it stays deleted.")
    assert "b.txt" not in ask_to_undo(nvim)[0]
    assert nvim.lua("return Ide.journal_undo.preview(1)[1].stays") == "you have deleted this file since"
    nvim.lua("answer()")
    nvim.wait(lambda: not (nvim.project / "c.txt").exists(), what="the undo of the other file")
    assert not (nvim.project / "b.txt").exists()
    nvim.lua("Ide.journal_undo.keep(...)", str(nvim.project / "b.txt"))
    nvim.wait(lambda: waiting(nvim) == [], what="nothing to wait")


def test_what_claude_has_deleted_or_still_writes_is_not_taken_for_the_users(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, notices=True)
    turn(nvim, connect(nvim), b_txt=None)
    (nvim.project / "copy.txt").write_text(B)
    nvim.cmd("edit copy.txt")
    review(nvim)
    assert listed(nvim)[0] == "− b.txt −3"
    nvim.keys("dX")
    nvim.wait(lambda: (nvim.project / "b.txt").exists(), what="the file to be back")


@pytest.mark.slow
def test_a_file_that_is_renamed_is_found_however_many_others_were_committed(nvim):
    (nvim.project / "many").mkdir()
    for number in range(250):
        (nvim.project / f"many/{number}.txt").write_text(f"{number}\n")
    commit(nvim.project)
    mv(nvim, "b.txt", "sub/new.txt")
    nvim.cmd("doautocmd FocusGained")
    nvim.wait(lambda: waiting(nvim) == ["c.txt", "new.txt"], what="the new name")


def test_a_search_for_renamed_files_that_fails_is_over(nvim):
    (nvim.project / "new.txt").write_text("new\n")
    nvim.lua("""
      local function roots() return { vim.fn.getcwd() } end
      local function missing() return { "gone.txt" }, 0 end
      local look = Ide.server_renames.seek(roots, missing, function() error("no") end)
      look(function() over = true end)
    """)
    nvim.wait("over", what="the end of the search")
