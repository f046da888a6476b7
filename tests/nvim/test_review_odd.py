"""Reviews of odd things: missing files, binary ones, many at once, unloaded buffers, conflicts."""

import re
import subprocess

import pytest
from review_steps import A_CLAUDE, A, B, review, turn, waiting, windows

pytestmark = [pytest.mark.dealt, pytest.mark.slow]


@pytest.fixture
def nvim(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, notices=True)
    nvim.client = connect(nvim)
    return nvim


@pytest.mark.every_nvim
def test_a_file_that_is_deleted_during_the_review_is_shown_as_such(nvim):
    turn(nvim, nvim.client, a_txt=A_CLAUDE, b_txt=B.upper())
    review(nvim)
    (nvim.project / "b.txt").unlink()
    nvim.keys("]f")
    nvim.wait_screen("deleted")
    nvim.keys("gA")
    nvim.wait(lambda: waiting(nvim) == ["a.txt"], what="the file to be reviewed")
    assert not (nvim.project / "b.txt").exists()


def test_a_file_that_the_user_deleted_is_no_change_of_claudes_to_undo(nvim):
    turn(nvim, nvim.client, b_txt=B.replace("beta", "BETA"))
    (nvim.project / "b.txt").unlink()
    nvim.lua("vim.ui.select = function(items, _, done) offered = items done(nil) end")
    nvim.cmd("Claude undo")
    nvim.wait("offered or notices[#notices] and notices[#notices]:find('Nothing to undo', 1, true)", what="an answer")
    assert "Undo in 1 file" not in (nvim.lua("return offered") or [])
    assert not (nvim.project / "b.txt").exists()


def test_a_file_whose_folder_is_gone_comes_back_with_it(nvim):
    (nvim.project / "deep" / "er").mkdir(parents=True)
    path = nvim.project / "deep" / "er" / "c.txt"
    path.write_text("see\n")
    nvim.client.call("closeAllDiffTabs")
    nvim.client.call("getDiagnostics", uri=f"file://{path}")
    path.unlink()
    path.parent.rmdir()
    nvim.client.call("getDiagnostics")
    nvim.wait(lambda: waiting(nvim) == ["c.txt"], what="the journal to know")
    nvim.lua("Ide.review.undo_file(...)", str(path))
    assert path.read_text() == "see\n"


def test_files_that_no_buffer_holds_and_buffers_that_are_hidden_are_undone_alike(nvim):
    nvim.lua("vim.o.hidden = true")
    nvim.cmd("edit b.txt")
    nvim.cmd("edit a.txt")
    nvim.cmd("bunload b.txt")
    turn(nvim, nvim.client, a_txt=A_CLAUDE, b_txt=B.upper(), c_txt="new\n")
    nvim.cmd("enew")
    for name in ("a.txt", "b.txt", "c.txt"):
        assert nvim.lua("return Ide.review.undo_file(...)", str(nvim.project / name)) is True
    assert (nvim.project / "a.txt").read_text() == A
    assert (nvim.project / "b.txt").read_text() == B
    assert not (nvim.project / "c.txt").exists()
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == ""


def test_a_conflict_is_shown_and_stays(nvim):
    turn(nvim, nvim.client, a_txt=A_CLAUDE)
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="a.txt to be reloaded")
    nvim.keys("2GAmine<Esc>:w<CR>")
    nvim.wait(lambda: "TWOmine" in (nvim.project / "a.txt").read_text(), what="the user's change")
    nvim.cmd("Claude review")
    nvim.wait_screen("you edited this too")
    nvim.keys("2Gdx")
    nvim.wait_notice("they stay")
    nvim.keys("dX")
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == A.replace("two", "TWOmine"), what="the rest undone")
    nvim.keys("gA")
    nvim.wait(lambda: waiting(nvim) == [], what="the conflict to be taken as it is")


def test_very_many_files_open_without_a_long_wait(nvim):
    names = [f"f{number:03}.txt" for number in range(100)]
    for name in names:
        (nvim.project / name).write_text(A)
    nvim.client.call("closeAllDiffTabs")
    for name in names:
        nvim.client.call("getDiagnostics", uri=f"file://{nvim.project / name}")
        (nvim.project / name).write_text(A_CLAUDE)
    nvim.client.call("getDiagnostics")
    nvim.wait(lambda: len(waiting(nvim)) == 100, what="100 files to wait")
    took = nvim.lua("""
      local began = os.clock() -- of this process: others may be busy, too
      Ide.review.open()
      return (os.clock() - began) * 1e3
    """)
    assert took < 3000  # 80 ms on an idle machine
    nvim.wait(lambda: len(windows(nvim)) == 3, what="the review")
    nvim.keys("gA")
    nvim.wait(lambda: len(waiting(nvim)) == 99, what="one file less")
    assert len(windows(nvim)[0]["lines"]) == 100


LOADED_AGAIN = "bdelete! | call bufload('a.txt')"
"""Like one of Claude's tools, at the same moment."""


@pytest.mark.parametrize("command", ["bdelete!", LOADED_AGAIN, "bwipeout!", "saveas other.txt", "file other.txt"])
def test_the_file_is_shown_whatever_becomes_of_its_buffer(start_nvim, connect, command):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B})
    client = connect(nvim)
    turn(nvim, client, a_txt=A_CLAUDE)
    review(nvim)
    nvim.lua(
        "vim.api.nvim_create_autocmd('CmdlineLeave', { callback = function() vim.schedule(function() done = true end) end })"
    )
    nvim.keys(f":{command}<CR>")
    nvim.wait("done")
    nvim.wait(lambda: windows(nvim)[-1]["name"] == "a.txt", what="the file to be there again")
    nvim.wait(lambda: windows(nvim)[-1]["lines"] == A_CLAUDE.splitlines(), what="its text")
    turn(nvim, client, a_txt=A_CLAUDE.replace("five\n", "FIVE\n"))
    nvim.wait(lambda: "FIVE" in windows(nvim)[-1]["lines"], what="what Claude does meanwhile")
    nvim.wait_screen("1 file  +3 −2")
    nvim.keys("dX")
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == A, what="the file to be taken back")
    assert "ERROR" not in nvim.log()


def test_a_buffer_that_the_user_puts_into_the_review_is_left_alone(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B})
    client = connect(nvim)
    turn(nvim, client, a_txt=A_CLAUDE)
    review(nvim)
    nvim.keys(":enew!<CR>imine")
    nvim.wait(lambda: nvim.lines() == ["mine"], what="what is typed")
    turn(nvim, client, a_txt=A_CLAUDE.replace("five\n", "FIVE\n"))
    nvim.keys(" too")
    nvim.wait(lambda: nvim.lines() == ["mine too"], what="what is typed on")
    assert "ERROR" not in nvim.log()


def test_a_change_that_git_took_away_is_gone_and_not_reviewed(nvim):
    for args in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "1"]):
        subprocess.run(["git", *args], cwd=nvim.project, check=True)
    turn(nvim, nvim.client, a_txt=A_CLAUDE, b_txt=B.upper())
    review(nvim)
    subprocess.run(["git", "checkout", "-q", "."], cwd=nvim.project, check=True)
    nvim.cmd("checktime")
    nvim.wait(lambda: waiting(nvim) == [], what="no change of Claude's")
    nvim.wait_screen("a.txt · gone")
    nvim.wait_screen(re.compile(r"b\.txt +gone"))
    nvim.wait_screen("nothing is left")
    assert "reviewed" not in nvim.terminal.text()


@pytest.mark.every_nvim
def test_u_in_a_review_takes_back_what_was_done_there_and_not_the_reload(nvim):
    turn(nvim, nvim.client, a_txt=A_CLAUDE)
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="the buffer to follow")
    review(nvim)
    nvim.keys("u")
    nvim.wait_notice("No changes here since the review opened the file")
    assert nvim.lines() == A_CLAUDE.splitlines() and waiting(nvim) == ["a.txt"]
    nvim.keys("2Gdx")
    nvim.wait(lambda: nvim.lines()[1] == "two", what="the hunk to be undone")
    nvim.keys("5u")
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="the hunk to be back")
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == A_CLAUDE, what="the file to be written")
    assert waiting(nvim) == ["a.txt"]


FORMATS = {
    "a line and the final newline": ("one\ntwo", "one\nTWO\nthree\n"),
    "the final newline": ("one\ntwo", "one\ntwo\n"),
    "line ends": ("one\r\ntwo\r\n", "one\ntwo\n"),
    "the byte order mark": ("\ufeffone\ntwo\n", "one\ntwo\n"),
}


@pytest.mark.every_nvim
@pytest.mark.parametrize("what", FORMATS)
def test_u_brings_a_change_of_the_format_back_too(start_nvim, connect, what):
    before, after = FORMATS[what]
    nvim = start_nvim(files={"a.txt": ""}, notices=True)
    path = nvim.project / "a.txt"
    path.write_bytes(before.encode())
    nvim.cmd("edit a.txt")
    turn(nvim, connect(nvim), a_txt=after)
    review(nvim)
    for _ in range(2):
        nvim.keys("dx")
        nvim.wait(lambda: path.read_bytes() == before.encode(), what="the undo on disk")
        nvim.wait_screen("a.txt · undone")
        nvim.keys("u")
        nvim.wait(lambda: path.read_bytes() == after.encode(), what="the change to be back in the file")
        nvim.wait(lambda: waiting(nvim) == ["a.txt"], what="it to wait again")
        nvim.wait_screen("a.txt · now")
        assert not nvim.lua("return vim.bo.modified")
    nvim.keys("u")
    nvim.wait_notice("No changes here since the review opened the file")
    assert path.read_bytes() == after.encode()


@pytest.mark.every_nvim
@pytest.mark.parametrize("target", ["b.txt", "same.txt"])
def test_an_open_file_that_becomes_a_link_is_still_followed(nvim, target):
    (nvim.project / "same.txt").write_text(A)
    path = nvim.project / "a.txt"
    path.unlink()
    path.symlink_to(target)
    nvim.cmd("checktime")
    nvim.wait(lambda: nvim.lines() == path.read_text().splitlines(), what="the link's text")
    (nvim.project / target).write_text("changed\n")
    nvim.wait(lambda: nvim.lines() == ["changed"], what="the buffer to follow the link")
