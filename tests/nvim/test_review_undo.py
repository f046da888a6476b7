"""`:Claude undo` and other questions for a user with Neovim's own list, on a small screen."""

import re
import subprocess

import pytest
from review_steps import A_CLAUDE, A, Turn, waiting
from test_journal_shell import Session, commit

pytestmark = pytest.mark.dealt

NAMES = [f"file-{number}-with-a-rather-long-name.txt" for number in range(30)]


@pytest.fixture
def nvim(start_nvim):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A})
    nvim.lua("vim.o.columns, vim.o.lines = 80, 24")
    return nvim


def waits_for_nothing(nvim):
    """Whether Neovim takes the next key as a command: it answers, and moves the cursor."""
    nvim.terminal.wait(lambda: nvim.mode() == "n", what="no question to be open")
    nvim.keys("gg:let g:taken = get(g:, 'taken') + 1<CR>")
    nvim.undo_asked = getattr(nvim, "undo_asked", 0) + 1
    nvim.wait(f"vim.fn.mode() == 'n' and vim.g.taken == {nvim.undo_asked}", what="Neovim to take a command")
    return not any("ENTER" in line or "-- More --" in line for line in nvim.screen())


@pytest.mark.slow
@pytest.mark.every_nvim
def test_undo_ends_without_a_further_key(nvim, connect):
    going = Turn(nvim, connect(nvim))
    for name in ("a.txt", *NAMES):
        going.edit(name, A_CLAUDE)
    going.end("a.txt", *NAMES)
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("<CR> choose")
    nvim.wait_screen("… and 20 more files")
    nvim.keys("2<CR>", counts=True)
    assert waits_for_nothing(nvim)
    nvim.terminal.wait(lambda: "<CR> choose" not in nvim.terminal.text(), what="the list to be gone")
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("<CR> choose")
    nvim.keys("1<CR>", counts=True)
    nvim.wait_screen("Undid Claude's changes in 31 files.")
    assert waits_for_nothing(nvim)
    assert not (nvim.project / NAMES[-1]).exists()


def test_the_title_of_what_would_be_undone_is_not_cut(nvim, connect):
    client = connect(nvim)
    going = Turn(nvim, client)
    going.edit("a.txt", A_CLAUDE)
    going.end("a.txt")
    for _ in range(2):
        Turn(nvim, client).end()
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("<CR> choose")
    nvim.wait_screen(re.compile("╭ Undo .*before the last ╮"))
    nvim.keys("2<CR>", counts=True)


def test_undoing_turn_after_turn_ends(nvim, connect):
    client = connect(nvim)
    for text in ("made\n", None, "made\n"):
        going = Turn(nvim, client)
        going.edit("made.txt", text)
        going.end(*["made.txt"] if text else [])
    for there in (False, True, False):
        assert [result["ok"] for result in nvim.undo_turn()] == [True]
        assert (nvim.project / "made.txt").exists() == there
    assert nvim.lua("return Ide.journal_undo.undoable_turn()") is None


def become_a_link(path, outside):
    path.unlink()
    path.symlink_to(outside / path.name)


def become_a_dangling_link(path, outside):
    path.unlink()
    path.symlink_to(outside / "gone")


def become_a_hard_link(path, outside):
    path.unlink()
    path.hardlink_to(outside / path.name)


def lie_in_a_linked_folder(path, outside):
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to(outside)


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    ("become", "words"),
    [
        (become_a_link, "a symbolic link has taken its place"),
        (become_a_dangling_link, "a symbolic link has taken its place"),
        (become_a_hard_link, "it is a hard link of another file now"),
        (lie_in_a_linked_folder, "a symbolic link has taken its place, or that of its folder"),
    ],
)
def test_undo_writes_through_no_link_that_has_come_since(start_nvim, connect, tmp_path, become, words, opened):
    nvim = start_nvim(files={"sub/a.txt": A, "b.txt": "b\n"})
    client, project = connect(nvim), nvim.project
    if opened:
        nvim.cmd("edit sub/a.txt")
    going = Turn(nvim, client)
    going.edit("sub/a.txt", A_CLAUDE)
    going.edit("sub/made.txt", "made\n")
    going.edit("b.txt", "B\n")
    going.end("a.txt", "made.txt", "b.txt")
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("a.txt", "made.txt"):
        (outside / name).write_bytes((project / "sub" / name).read_bytes())
        if become is not lie_in_a_linked_folder:
            become(project / "sub" / name, outside)
    if become is lie_in_a_linked_folder:
        become(project / "sub" / "a.txt", outside)
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("<CR> choose")
    nvim.wait_screen(f"stays: {words}")
    nvim.keys("1<CR>", counts=True)
    nvim.wait_screen(re.compile(r"(1 file undone|changes in 1 file)\. Stays: sub/a\.txt"))
    log = nvim.log()
    for name, text in (("a.txt", A_CLAUDE), ("made.txt", "made\n")):
        assert (outside / name).read_text() == text
        assert f"sub/{name}: {words}" in log
    assert sorted(path.name for path in outside.iterdir()) == ["a.txt", "made.txt"]
    assert (project / "b.txt").read_text() == "b\n"


def test_a_link_in_a_linked_folder_is_not_undone(start_nvim, connect, tmp_path):
    nvim = start_nvim(files={"sub/a.txt": A})
    (nvim.project / "sub" / "link").symlink_to("a.txt")
    commit(nvim.project)
    session = Session(nvim, connect)
    session.prompt()
    (nvim.project / "sub" / "link").unlink()
    (nvim.project / "sub" / "link").symlink_to("elsewhere")
    session.status("idle")
    nvim.wait("Ide.journal_untracked.count(1) == 1", what="the turn to be known")
    (nvim.project / "sub").rename(tmp_path / "outside")
    (nvim.project / "sub").symlink_to(tmp_path / "outside")
    assert [result["err"] for result in nvim.undo_turn()] == [
        "a symbolic link has taken the place of its folder, so it stays"
    ]
    assert str((tmp_path / "outside" / "link").readlink()) == "elsewhere"


def test_a_file_comes_back_where_a_folder_of_the_same_turn_is(start_nvim, connect):
    nvim = start_nvim(files={"config": "mine\n"})
    going = Turn(nvim, connect(nvim))
    going.edit("config", None)
    nvim.wait(lambda: waiting(nvim) == ["config"], what="the removal to be known")
    (nvim.project / "config").mkdir()
    going.edit("config/main", "mine\n")
    going.end("main")
    nvim.undo_turn()
    assert (nvim.project / "config").read_text() == "mine\n"


def test_an_undo_leaves_the_folder_that_neovim_works_in(start_nvim, connect):
    nvim = start_nvim()
    going = Turn(nvim, connect(nvim))
    (nvim.project / "fresh" / "deep").mkdir(parents=True)
    nvim.cmd("cd fresh")
    going.edit("fresh/deep/new.txt", "x\n")
    going.end("new.txt")
    nvim.undo_turn()
    assert list(nvim.project.rglob("*")) == [nvim.project / "fresh"]


def test_an_undo_with_problems_says_so_on_one_line(nvim, connect):
    going = Turn(nvim, connect(nvim))
    for name in ("a.txt", *NAMES[:3]):
        going.edit(name, A_CLAUDE)
    going.end("a.txt", *NAMES[:3])
    nvim.lua("Ide.journal_write.through_buffer = function() return nil, ('no '):rep(50) end")
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("<CR> choose")
    nvim.keys("1<CR>", counts=True)
    nvim.wait_screen("0 files undone. Stays: a.txt and 3 more: `:Claude log`.")
    assert all(f"{name}: it could not be written: no no no" in nvim.log() for name in ("a.txt", *NAMES[:3]))
    assert waits_for_nothing(nvim)


@pytest.mark.parametrize("is_repository", [False, True])
def test_a_file_that_is_too_large_to_be_kept_is_said(start_nvim, connect, is_repository):
    large = "a line of a large file\n" * 200_000
    nvim = start_nvim(files={"large.txt": large})
    path = nvim.project / "large.txt"
    if is_repository:
        subprocess.run(["git", "init", "-q"], cwd=nvim.project, check=True)
    client = connect(nvim)
    client.call("closeAllDiffTabs")
    client.call("getDiagnostics", uri=f"file://{path}")
    path.write_text("another line\n" + large)
    client.call("getDiagnostics")
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("Nothing to undo: no copy was made of 1 file that Claude's last turn changed")
    nvim.lua("vim.o.columns = 80")
    nvim.keys(":Claude review<CR>")
    nvim.wait_screen("Nothing to review: no copy was made of 1 changed file.")


def test_a_line_that_the_user_touched_keeps_only_itself_from_an_undo(nvim, connect):
    going = Turn(nvim, connect(nvim))
    going.edit("a.txt", A.replace("two\nthree\nfour\n", "TWO\nTHREE\nFOUR\n"))
    going.end("a.txt")
    nvim.wait(lambda: nvim.lines()[2] == "THREE", what="the buffer to follow")
    nvim.keys("3GA mine<Esc>:w<CR>")
    nvim.wait(lambda: "THREE mine" in (nvim.project / "a.txt").read_text(), what="the user's change on disk")
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("Stays: 1 place in a.txt")
    nvim.keys("1<CR>", counts=True)
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == A.replace("three", "THREE mine"), what="the rest undone")


def test_an_undo_that_is_not_saved_is_none_that_stays(nvim, connect):
    going = Turn(nvim, connect(nvim))
    going.edit("a.txt", A_CLAUDE)
    going.edit("b.txt", A_CLAUDE)
    going.end("a.txt", "b.txt")
    nvim.wait(lambda: nvim.lines() == A_CLAUDE.splitlines(), what="the buffer to follow")
    nvim.keys("Gomine<Esc>")
    nvim.wait("vim.bo.modified and vim.fn.mode() == 'n'")
    nvim.keys(":Claude undo<CR>")
    nvim.wait_screen("not saved, since you have unsaved")
    nvim.keys_count()
    nvim.keys("1<CR>")
    nvim.wait_screen("Undid Claude's changes in 2 files, not saved in a.txt.")
    assert nvim.lines() == [*A.splitlines(), "mine"]
