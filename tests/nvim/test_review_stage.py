"""The key that stages in git what was kept in a review, and nothing else."""

import subprocess

import pytest
from review_steps import A_CLAUDE, A, Turn, review, turn, windows

pytestmark = pytest.mark.dealt

KEPT = A.replace("two\n", "TWO\n")


def git(project, *args, input=None, check=True):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "gc.auto=0", *args]
    return subprocess.run(command, cwd=project, input=input, capture_output=True, check=check).stdout.decode()


def commit_all(project):
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        git(project, *args)


def indexed(project, name="a.txt"):
    return git(project, "cat-file", "blob", f":{name}")


@pytest.fixture
def begin(start_nvim, connect):
    """A review of a.txt, whose first of two changes is kept, unless `keys` say otherwise."""

    def begin(before=A, after=A_CLAUDE, keys="ga", prepare=commit_all, shown=None):
        nvim = start_nvim(args=["a.txt"], files={"a.txt": before}, notices=True)
        prepare(nvim.project)
        nvim.client = connect(nvim)
        turn(nvim, nvim.client, a_txt=after)
        nvim.wait(lambda: nvim.lines() == (shown or after).splitlines(), what="the file to be reloaded")
        review(nvim)
        nvim.keep_events("ClaudeReviewed")
        nvim.keys(keys)
        nvim.wait(lambda: len(nvim.events()) == keys.count("g"), what="the decisions")
        return nvim, nvim.project

    return begin


@pytest.mark.every_nvim
def test_kept_changes_are_staged_and_others_are_not(begin):
    nvim, project = begin()
    nvim.keys("gs")
    nvim.wait_notice("a.txt: 1 kept change staged, 1 left to review.")
    assert indexed(project) == KEPT
    assert (project / "a.txt").read_text() == A_CLAUDE
    nvim.keys("ga")
    nvim.wait(lambda: len(nvim.events()) == 2)
    nvim.keys("gs")
    nvim.wait_notice("a.txt: 1 kept change staged.")
    assert indexed(project) == A_CLAUDE
    nvim.keys("gs")
    nvim.wait_notice("a.txt: what you kept is staged already.")
    assert git(project, "status", "--porcelain") == "M  a.txt\n"


def test_without_a_kept_change_nothing_is_staged(begin):
    nvim, project = begin(keys="")
    nvim.keys("gs")
    nvim.wait_notice("Nothing is kept yet of Claude's changes to a.txt.")
    assert indexed(project) == A


def test_the_users_own_changes_stay_out_of_the_index(begin):
    before = A.replace("six", "six of mine")

    def prepare(project):
        (project / "a.txt").write_text(A)
        commit_all(project)
        (project / "a.txt").write_text(before)

    nvim, project = begin(before, before.replace("two", "TWO"), prepare=prepare)
    nvim.keys(":9<CR>onow this<Esc>gs")
    nvim.wait_notice("a.txt: 1 kept change staged.")
    assert indexed(project) == KEPT
    assert git(project, "diff", "--stat").count("a.txt") == 1


@pytest.mark.every_nvim
def test_an_emptied_file_is_staged_empty(begin):
    nvim, project = begin(after="", shown="\n")
    nvim.keys("gs")
    nvim.wait_notice("a.txt: 1 kept change staged.")
    assert indexed(project) == ""


def test_what_the_index_has_at_other_lines_stays_there(begin):
    nvim, project = begin()
    blob = git(project, "hash-object", "-w", "--stdin", input=A.replace("nine", "NINE").encode()).strip()
    git(project, "update-index", "--cacheinfo", f"100644,{blob},a.txt")
    nvim.keys("gs")
    nvim.wait_notice("a.txt: 1 kept change staged, 1 left to review.")
    assert indexed(project) == KEPT.replace("nine", "NINE")


def test_another_text_at_these_lines_of_the_index_is_not_overwritten(begin):
    nvim, project = begin()
    other = A.replace("two", "something else")
    blob = git(project, "hash-object", "-w", "--stdin", input=other.encode()).strip()
    git(project, "update-index", "--cacheinfo", f"100644,{blob},a.txt")
    nvim.keys("gs")
    nvim.wait_notice("a.txt is not staged: git's index differs at the lines that you kept.")
    assert indexed(project) == other


def outside(project):
    """No repository."""


def untracked(project):
    git(project, "init", "-q")


def in_conflict(project):
    commit_all(project)
    ids = [git(project, "hash-object", "-w", "--stdin", input=text.encode()).strip() for text in ("a", "b", "c")]
    entries = "0 " + "0" * 40 + "\ta.txt\n" + "".join(f"100644 {id} {n}\ta.txt\n" for n, id in enumerate(ids, 1))
    git(project, "update-index", "--index-info", input=entries.encode())


def locked(project):
    commit_all(project)
    (project / ".git/index.lock").touch()


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (outside, "a.txt is in no git repository."),
        (untracked, "a.txt is not tracked by git. Use `git add` first."),
        (in_conflict, "a.txt has a conflict in git's index. Resolve it first."),
        (locked, "index.lock"),
    ],
)
def test_what_cannot_be_staged_is_said(begin, prepare, says):
    nvim, _ = begin(prepare=prepare)
    nvim.keys("gs")
    nvim.wait_notice(says)


@pytest.mark.parametrize("who", ["user", "claude"])
def test_a_file_that_was_moved_in_git_is_not_said_to_need_an_add(begin, who):
    nvim, project = begin()

    def move():
        git(project, "mv", "a.txt", "n.txt")
        (project / "n.txt").write_text(A_CLAUDE + "more\n")

    if who == "user":
        move()
    else:
        going = Turn(nvim, nvim.client)
        for name in ("a.txt", "n.txt"):
            nvim.client.call("getDiagnostics", uri=f"file://{project / name}")
        move()
        going.end("n.txt")
    nvim.wait(
        "not vim.uv.fs_stat('a.txt') and Ide.journal.change(vim.fn.getcwd() .. '/a.txt', 'all').kind == 'deleted'"
    )
    nvim.lua("Ide.review.keep_file(vim.fn.getcwd() .. '/a.txt')")
    nvim.lua("Ide.review.stage_file(vim.fn.getcwd() .. '/a.txt')")
    nvim.wait_notice("a.txt is neither on disk nor in git's index: nothing is left to stage.")


@pytest.mark.parametrize("attributes", ["", "* text eol=crlf\n"])
def test_a_file_that_claude_has_moved_in_git_and_edited_is_staged_under_its_new_name(start_nvim, connect, attributes):
    nvim = start_nvim(files={"a.txt": A, ".gitattributes": attributes}, notices=True)
    project, client = nvim.project, connect(nvim)
    commit_all(project)
    going = Turn(nvim, client)
    for name in ("a.txt", "n.txt"):
        client.call("getDiagnostics", uri=f"file://{project / name}")
    git(project, "mv", "a.txt", "n.txt")
    (project / "n.txt").write_text(A_CLAUDE)
    going.end("a.txt", "n.txt")
    for name in ("a.txt", "n.txt"):
        nvim.lua("Ide.review.keep_file(...)", str(project / name))
    nvim.lua("Ide.review.stage_file(...)", str(project / "n.txt"))
    nvim.wait_notice("n.txt: 2 kept changes staged.")
    assert indexed(project, "n.txt") == A_CLAUDE
    assert git(project, "ls-files").split() == [".gitattributes", "n.txt"]


@pytest.mark.parametrize("attributes", ["* text eol=crlf\n", "*.txt filter=nine\n", "*.txt filter=pointer\n"])
def test_filters_of_the_file_are_applied(begin, attributes):
    ends = lambda text: text.replace("\n", "\r\n") if "crlf" in attributes else text  # noqa: E731

    def prepare(project):
        git(project, "init", "-q")
        git(project, "config", "filter.nine.clean", "sed s/nine/9/")
        git(project, "config", "filter.pointer.clean", "cksum")  # as Git LFS does, one line for all of it
        (project / ".gitattributes").write_text(attributes)
        (project / "a.txt").write_bytes(ends(A).encode())
        commit_all(project)

    nvim, project = begin(ends(A), ends(A_CLAUDE), prepare=prepare, shown=A_CLAUDE)
    nvim.keys("gs")
    nvim.wait_notice("a.txt: 1 kept change staged, 1 left to review.")
    cleaned = git(project, "hash-object", "--stdin", "--path=a.txt", input=ends(KEPT).encode()).strip()
    assert git(project, "rev-parse", ":a.txt").strip() == cleaned


def test_a_worktree_has_its_own_index(begin, tmp_path):
    def prepare(project):
        origin = tmp_path / "origin"
        origin.mkdir()
        (origin / "a.txt").write_text(A)
        commit_all(origin)
        (project / "a.txt").unlink()
        git(origin, "worktree", "add", "-q", "--force", str(project), "-b", "work")

    nvim, project = begin(prepare=prepare)
    nvim.keys("gs")
    nvim.wait_notice("a.txt: 1 kept change staged, 1 left to review.")
    assert indexed(project) == KEPT
    assert indexed(tmp_path / "origin") == A


def test_a_file_of_a_submodule_is_staged_there(start_nvim, connect):
    nvim = start_nvim(files={"sub/a.txt": A, "b.txt": "b\n"}, notices=True)
    project = nvim.project
    commit_all(project / "sub")
    git(project, "init", "-q")
    git(project, "-c", "advice.addEmbeddedRepo=false", "add", "-A")
    turn_of = Turn(nvim, connect(nvim))
    turn_of.edit("sub/a.txt", A_CLAUDE)
    turn_of.end("a.txt")
    review(nvim)
    nvim.keys("gA")
    nvim.keys("gs")
    nvim.wait_notice("sub/a.txt: 2 kept changes staged.")
    assert indexed(project / "sub") == A_CLAUDE
    assert git(project, "diff", "--cached", "--name-only").split() == ["b.txt", "sub"]


def test_created_and_deleted_files_are_staged_once_they_are_kept(start_nvim, connect):
    nvim = start_nvim(files={"sub/b.txt": "b\n", ".gitignore": "*.log\n"}, notices=True)
    project = nvim.project
    commit_all(project)
    going = Turn(nvim, connect(nvim))
    for name, text in (("sub/b.txt", None), ("sub/new, file.txt", "new\n"), ("x.log", "log\n")):
        going.edit(name, text)
    going.end("b.txt", "new, file.txt", "x.log")
    (project / "sub/new, file.txt").chmod(0o755)
    review(nvim)
    nvim.keys("gs")
    nvim.wait_notice("Nothing is kept yet of Claude's changes to sub/b.txt.")
    nvim.keys("gA")
    nvim.keys("gs")
    nvim.wait_notice("sub/b.txt: its deletion staged.")
    nvim.keys("]fgA")
    nvim.keys("gs")
    nvim.wait_notice("sub/new, file.txt: 1 kept change staged.")
    nvim.keys("]fgA")
    nvim.keys("gs")
    nvim.wait_notice("x.log is ignored by git.")
    assert git(project, "status", "--porcelain", "-z").split("\0")[:2] == ["D  sub/b.txt", "A  sub/new, file.txt"]
    assert git(project, "ls-files", "--stage", "sub").startswith("100755")


def test_neovim_goes_on_while_git_is_slow(begin, tmp_path):
    def prepare(project):
        git(project, "init", "-q")
        git(project, "config", "filter.slow.clean", f"cat; until [ -e {tmp_path}/go ]; do sleep 0.05; done")
        (tmp_path / "go").touch()
        (project / ".gitattributes").write_text("*.txt filter=slow\n")
        commit_all(project)

    nvim, project = begin(prepare=prepare)
    (tmp_path / "go").unlink()
    nvim.keys("gsgs")
    nvim.wait_notice("git is still at work on a.txt.")
    assert indexed(project) == A
    (tmp_path / "go").touch()
    nvim.wait_notice("a.txt: 1 kept change staged, 1 left to review.")
    assert indexed(project) == KEPT
    assert len(windows(nvim)) >= 2
