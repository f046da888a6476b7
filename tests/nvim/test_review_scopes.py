"""Reviews of a turn, a session and all: the meaning of keep and undo there, and undo of turn after turn."""

import pytest
from review_steps import A, B, Turn, review, reviewed, turn, waiting, windows

from harness.files import text_of

pytestmark = pytest.mark.dealt

SECOND = A.replace("two\n", "TWO\n")
THIRD = SECOND.replace("five\n", "FIVE\n").replace("TWO\n", "Two!\n")


@pytest.fixture
def claude(start_nvim, connect):
    """Two turns: the first changes line 2, the second line 2 again and line 5; b.txt in the first, c.txt made in the
    second.
    """
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, notices=True)
    nvim.keep_events("ClaudeReviewed")
    client = connect(nvim)
    turn(nvim, client, a_txt=SECOND, b_txt=B.upper())
    nvim.wait(lambda: nvim.lines() == SECOND.splitlines(), what="the first turn in the buffer")
    turn(nvim, client, a_txt=THIRD, c_txt="new\n")
    nvim.wait(lambda: nvim.lines() == THIRD.splitlines(), what="the second turn in the buffer")
    nvim.client = client
    return nvim


def text(nvim, name="a.txt"):
    return text_of(nvim.project / name)


def hunks(nvim, scope):
    """The hunks of a.txt in a scope: the current lines, their state, whether they are reviewed."""
    return nvim.lua(
        """
        for _, change in ipairs(Ide.journal.changes(...)) do
          if vim.fs.basename(change.path) == "a.txt" then
            return vim.tbl_map(function(hunk)
              return { hunk.after_lines[1] or "", hunk.state, hunk.reviewed }
            end, change.hunks)
          end
        end
        return {}
        """,
        scope,
    )


def undo(nvim):
    """`:Claude undo`, and yes; returns the question."""
    nvim.lua(
        """
        question, came_of_it = nil, nil
        vim.ui.select = function(items, opts, done) question = opts.prompt done(items[1], 1) end
        local notify = vim.notify
        vim.notify = function(message, ...)
          came_of_it = came_of_it or not vim.startswith(message, "Looking ") and message or nil -- for it, for a while
          return notify(message, ...)
        end
        """
    )
    nvim.cmd("Claude undo")
    nvim.wait("came_of_it ~= nil", what="the undo to be over, or that there is none")
    return nvim.lua("return question")


def test_undoing_in_the_last_turn_leaves_the_turns_before(claude):
    review(claude, "turn")
    assert windows(claude)[1]["lines"] == SECOND.splitlines()
    claude.keys("dx")
    claude.wait(lambda: text(claude) == THIRD.replace("Two!", "TWO"), what="the second turn's change of line 2 undone")
    assert hunks(claude, "turn") == [["FIVE", "claude", False]]
    # The first turn's change lost nothing: it waits, and can be undone as if nothing had followed.
    assert hunks(claude, "unreviewed") == [["TWO", "claude", False], ["FIVE", "claude", False]]
    assert hunks(claude, 1) == [["TWO", "claude", False]]
    claude.keys("dX")
    claude.wait(lambda: text(claude) == SECOND, what="the rest of the second turn undone")


def test_what_is_reviewed_can_still_be_undone_in_a_wider_scope(claude):
    claude.lua("Ide.review.keep_file(...)", str(claude.project / "a.txt"))
    assert hunks(claude, "unreviewed") == []
    assert hunks(claude, "all") == [["Two!", "claude", True], ["FIVE", "claude", True]]
    review(claude, "all")
    claude.wait_screen("✓ reviewed")
    claude.keys("dx")
    claude.wait(lambda: text(claude) == THIRD.replace("Two!", "two"), what="line 2 undone")
    assert reviewed(claude) == ["keep a.txt", "undo a.txt"]


@pytest.mark.parametrize("scope", ["turn", "session", "all"])
def test_keeping_in_a_scope_takes_what_is_shown_as_reviewed(claude, scope):
    review(claude, scope)
    claude.keys("]cga")
    claude.wait(lambda: ["FIVE", "claude", True] in hunks(claude, scope), what="line 5 to be reviewed")
    assert [hunk[0] for hunk in hunks(claude, "unreviewed")] == ["Two!"]
    claude.keys("5Gga")
    assert claude.wait_notice() == "This change is reviewed already."
    claude.keys("gA")
    claude.wait(lambda: hunks(claude, "unreviewed") == [], what="all of it to be reviewed")
    assert "a.txt" not in waiting(claude)
    assert text(claude) == THIRD


def test_each_undo_goes_one_turn_further_back(claude):
    assert "last turn" in undo(claude)
    assert (text(claude), text(claude, "b.txt"), text(claude, "c.txt")) == (SECOND, B.upper(), None)
    assert "the one before the last" in undo(claude)
    assert (text(claude), text(claude, "b.txt")) == (A, B)
    assert undo(claude) is None
    assert "Nothing to undo" in claude.notices()[-1]
    assert waiting(claude) == []


def test_u_takes_an_undo_back_and_the_changes_wait_again(claude):
    before = {scope: hunks(claude, scope) for scope in ("unreviewed", "turn", 1, "all")}
    undo(claude)
    undo(claude)
    assert text(claude) == A
    claude.keys("u")
    claude.wait(lambda: claude.lines() == SECOND.splitlines(), what="one undo taken back")
    assert hunks(claude, "unreviewed") == [["TWO", "claude", False]]
    claude.keys("u:w<CR>")
    claude.wait(lambda: text(claude) == THIRD, what="both undos taken back")
    assert {scope: hunks(claude, scope) for scope in before} == before


def test_files_that_were_deleted_and_made_come_and_go_with_their_turn(claude):
    (claude.project / "run.sh").write_text("#!/bin/sh\n")
    (claude.project / "run.sh").chmod(0o755)
    going = Turn(claude, claude.client)
    going.edit("run.sh", None)
    going.edit("moved.sh", "#!/bin/sh\n")
    going.end("run.sh", "moved.sh")
    undo(claude)
    assert (text(claude, "run.sh"), text(claude, "moved.sh")) == ("#!/bin/sh\n", None)
    assert (claude.project / "run.sh").stat().st_mode & 0o777 == 0o755
    assert text(claude) == THIRD


def test_a_turn_between_two_others_is_undone_alone(claude):
    turn(claude, claude.client, a_txt=THIRD.replace("nine", "NINE"))
    claude.wait(lambda: claude.lines()[-1] == "NINE", what="the third turn in the buffer")
    results = claude.undo_turn(2)
    assert all(result["ok"] for result in results)
    assert text(claude) == SECOND.replace("nine", "NINE")
    assert hunks(claude, "unreviewed") == [["TWO", "claude", False], ["NINE", "claude", False]]
