"""Claude's own remarks: a tour of places in order, and counts of comments by file."""

import os
import subprocess

import pytest
from review_steps import review, turn
from test_comments import FILES, TEXT, start, threads, wait_shown, write
from test_journal_shell import Session

HERE = "return { vim.fn.expand('%:t'), vim.fn.line('.') }"


@pytest.mark.every_nvim
def test_a_tour_leads_from_step_to_step_over_files_and_says_where_it_ends(start_nvim, connect_agent):
    nvim = start_nvim(args=["a.txt"], files=FILES | {"b.txt": "alpha\nbeta\n"}, notices=True)
    agent = connect_agent(nvim)
    write(nvim, 1, "mine")
    nvim.cmd("Claude comments tour")
    nvim.wait_notice("There is no tour")
    for step, (path, line) in enumerate([("b.txt", 2), ("a.txt", 3), ("a.txt", 3), ("b.txt", 1)], 1):
        agent.call("comment_add", path=path, line=line, text=f"place {step}", step=step)
    nvim.wait_notice("Claude begins a tour")
    steps = "▎Claude: place 2 (step 2 of 4)\n▎Claude: place 3 (step 3 of 4)"
    wait_shown(nvim, (1, "▎you: mine (not sent)"), (3, steps))
    nvim.cmd("Claude comments tour")
    assert nvim.lua(HERE) == ["b.txt", 2]
    jump = "local ok, err = Ide.comments.jump(...) return ok or err"
    seen = []
    for _ in range(3):
        assert nvim.lua(jump, 1) is True
        seen.append(nvim.lua(HERE))
    assert seen == [["a.txt", 3], ["a.txt", 3], ["b.txt", 1]]
    assert nvim.lua(jump, 1) == "The tour ends here."
    nvim.wait_screen("▎Claude: place 4")
    assert [nvim.lua(jump, -1) for _ in range(4)] == [True, True, True, "The tour begins here."]
    nvim.cmd("Claude comments remarks")
    nvim.wait("vim.bo.buftype == 'quickfix'")
    assert sorted(line.rsplit("| ", 1)[1] for line in nvim.lines()) == [
        f"step {n}: Claude: place {n}" for n in range(1, 5)
    ]


def test_the_list_of_a_review_counts_open_comments(start_nvim, connect):
    nvim = start(start_nvim)
    turn(nvim, connect(nvim), a_txt=TEXT.replace("two", "TWO"))
    nvim.wait(lambda: nvim.lines()[1] == "TWO", what="the file to be reloaded")
    write(nvim, 2, "why?")
    review(nvim)
    nvim.wait_screen("▎1 +1 −1")
    for request in ({"sent": [{"id": 1, "words": "why?"}]}, {"resolve": {"id": 1, "resolved": True}}):
        nvim.lua("local s = Ide.comments_store assert(s.change(s.root_of(), ...))", request)
    nvim.wait(lambda: "▎1" not in "".join(nvim.screen()), what="nothing to be counted")


def wait_for_a_later_change(nvim):
    """File systems round times: a file that is renamed now is changed after the comment."""
    probe = nvim.home / "probe"
    probe.write_text("")
    while probe.stat().st_ctime_ns // 10**6 <= threads(nvim)[0]["entries"][0]["at"]:
        os.utime(probe)


@pytest.fixture
def commented(start_nvim, project):
    """A Neovim in a repository, in which a file has a comment."""
    git(project, "init", "-q")
    project.joinpath("a.txt").write_text(TEXT)
    project.joinpath("sub").mkdir()
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    nvim = start_nvim(args=["a.txt"], notices=True)
    write(nvim, 2, "about two")
    wait_for_a_later_change(nvim)
    return nvim


def git(project, *words):
    who = ["-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run(["git", "-C", project, *who, *words], check=True, capture_output=True)


def test_a_renamed_file_takes_its_comments_along(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "about two")
    new = nvim.project / "sub" / "b.txt"
    new.parent.mkdir()
    wait_for_a_later_change(nvim)
    nvim.project.joinpath("a.txt").rename(new)
    nvim.cmd("edit sub/b.txt")
    nvim.wait_screen("▎you: about two (not sent)")
    assert [thread["path"] for thread in threads(nvim)] == ["sub/b.txt"]


@pytest.mark.parametrize("how", ["mv", "git mv", "committed"])
def test_a_file_that_the_user_renamed_is_found_when_they_come_back(commented, project, how):
    if how == "mv":
        project.joinpath("a.txt").rename(project / "sub" / "b.txt")
        project.joinpath("sub/copy.txt").write_text("another\n")
    else:
        git(project, "mv", "a.txt", "sub/b.txt")
    if how == "committed":
        git(project, "commit", "-qm", "second")
    commented.cmd("doautocmd FocusGained")
    commented.wait(lambda: [one["path"] for one in threads(commented)] == ["sub/b.txt"], what="the file to be found")


def test_a_file_that_claude_renamed_is_found_at_once(commented, project, connect):
    session = Session(commented, connect)
    session.prompt()
    git(project, "mv", "a.txt", "sub/b.txt")
    session.over(changes=2)
    commented.wait(lambda: [one["path"] for one in threads(commented)] == ["sub/b.txt"], what="the file to be found")
