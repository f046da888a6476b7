"""A round of comments with the real CLI: written on lines, sent in one message, answered beside the code."""

import pytest
from terminal_steps import IDLE, SESSION, begin, submit

from harness.cli import submitting
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.every_nvim]

TEXT = "one\ntwo\nthree\n"


def comment(nvim, lnum, words):
    nvim.keys(f"{lnum}G:Claude comment<CR>")
    nvim.wait("vim.fn.mode() == 'i'", what="Insert mode")
    nvim.keys(words + "<Esc>ZZ")
    nvim.wait("(vim.b.claude_ide or {}).kind ~= 'comment'", what="the comment to be closed")


def test_a_round_is_sent_and_answered_beside_the_lines(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": TEXT}, notices=True)
    begin(nvim, mock_api)
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    comment(nvim, 1, "Why one?")
    comment(nvim, 3, "Make it THREE, not #lines:a.txt:2-2.")
    nvim.wait_screen("▎you: Make it THREE, not #lines:a.txt:2-2. (not sent)")
    nvim.keys(":Claude comments send<CR>")
    nvim.wait_kind("round")
    nvim.wait_screen("[2] a.txt:3")
    edit = {"file_path": str(nvim.project / "a.txt"), "old_string": "three", "new_string": "THREE"}
    said = "mcp__nvim__comment_reply"
    mock_api.script(
        Reply(calls=[("Read", {"file_path": str(nvim.project / "a.txt")})]),
        Reply(calls=[(said, {"id": 1, "text": "It is the first."})]),
        Reply(calls=[("Edit", edit)]),
        Reply(calls=[(said, {"id": 2, "text": "Changed.", "done": True})]),
        Reply(text="Both are answered."),
    )
    nvim.keys("ZZ")
    nvim.wait_notice("Sent 2 comments to Claude.")
    nvim.wait(lambda: mock_api.seen("[1] (question) a.txt:1\\n> one\\nWhy one?"), what="the model to be asked")
    assert mock_api.seen("[2] a.txt:3\\n> three\\nMake it THREE, not #lines:a.txt:2-2.")
    assert mock_api.seen(r"of=\"a.txt:2-2\"")
    nvim.wait_kind("proposal")
    nvim.wait_screen("Claude: It is the first.")  # beside the diff, too
    nvim.keys("ZZ", counts=True)
    nvim.wait_screen("Claude: Changed.")
    nvim.wait_screen("says it is done")
    nvim.wait(IDLE, what="the turn to be over")
    assert (nvim.project / "a.txt").read_text() == TEXT.replace("three", "THREE")
    nvim.cmd("Claude comments since")
    nvim.wait_kind("edit")
    sides = nvim.lua("return vim.tbl_map(vim.api.nvim_win_get_buf, vim.api.nvim_tabpage_list_wins(0))")
    assert [nvim.lines(buf)[2] for buf in sides] == ["three", "THREE"]


def test_a_round_on_what_an_ended_session_changed_resumes_it_if_the_user_says_so(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": TEXT}, notices=True)
    begin(nvim, mock_api)
    session = nvim.lua(SESSION)
    edit = {"file_path": str(nvim.project / "a.txt"), "old_string": "two", "new_string": "TWO"}
    mock_api.script(
        Reply(calls=[("Read", {"file_path": str(nvim.project / "a.txt")})]),
        Reply(calls=[("Edit", edit)]),
        Reply(text="Changed."),
    )
    nvim.keys("change it")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    nvim.wait_kind("proposal")
    nvim.keys("ZZ", counts=True)
    known = f"Ide.journal_callers.session_of('{nvim.project}/a.txt') == '{session}'"
    nvim.wait(known, what="the session of the change to be known")
    nvim.wait(IDLE, what="the turn to be over")
    nvim.cmd("Claude close")
    nvim.wait("#Ide.terminal.list() == 0", what="the CLI to end")
    comment(nvim, 2, "Why TWO?")
    nvim.keys(":Claude comments send<CR>")
    nvim.wait_kind("round")
    nvim.keys("ZZ")
    nvim.wait_screen("(resume, where the comments belong)")
    nvim.wait_kind("choices")
    mock_api.script(Reply(text="Because."))
    nvim.keys("<CR>")
    nvim.wait_notice("Sent 1 comment to Claude.")
    nvim.wait(lambda: mock_api.seen("[1] (question) a.txt:2\\n> TWO\\nWhy TWO?"), what="the model to be asked")
    nvim.wait(f"(Ide.terminal.session() or {{}}).id == '{session}'", what="the session to be back")


def test_a_rejection_carries_the_comments_and_is_answered(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": TEXT}, notices=True)
    begin(nvim, mock_api)
    path = str(nvim.project / "a.txt")
    edit = {"file_path": path, "old_string": "three", "new_string": "THREE"}
    mock_api.script(Reply(calls=[("Read", {"file_path": path})]), Reply(calls=[("Edit", edit)]))
    submit(nvim, mock_api, "go on")
    nvim.wait_kind("proposal")
    nvim.keys("3Ggcc", counts=True)
    nvim.wait_kind("comment")
    nvim.wait("vim.fn.mode() == 'i'", what="Insert mode")
    nvim.keys("not so loud<Esc>ZZ")
    nvim.wait_kind("proposal")
    nvim.keys_count()
    sorry = {"id": 1, "text": "It stays as it is.", "done": True}
    mock_api.script(Reply(calls=[("mcp__nvim__comment_reply", sorry)]), Reply(text="I am sorry."))
    nvim.keys("ZQ")
    nvim.wait_notice("Sent 1 comment to Claude.")
    nvim.wait_notice("Claude answered comment 1.")
    assert mock_api.seen(r"[1] a.txt:3 (in the proposal)\n> THREE\nnot so loud")
    nvim.wait_screen("▎you: not so loud · Claude: It stays")
    nvim.wait(IDLE, what="the turn to be over")
    assert (nvim.project / "a.txt").read_text() == TEXT
