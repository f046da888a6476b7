"""Selections in diffs, reviews and transcripts: told as the file's, with the text that is seen."""

import pytest
from review_steps import A_CLAUDE, A, review, turn
from transcript_files import conversation
from transcript_steps import go_to, show, wait_named

pytestmark = pytest.mark.dealt

OLD = "".join(f"line {n}\n" for n in range(1, 10))
SEEN = """
return vim.iter(Ide.proposal.list()):any(function(diff) return diff.current and diff.seen end)
"""
NEW = "new 1\nnew 2\n" + OLD.replace("line 8", "LINE 8")


@pytest.fixture
def nvim(start_nvim):
    return start_nvim(files={"a.txt": OLD, "b.txt": "bee\n", ".env": "KEY=1\n"}, args=["b.txt"])


def open_diff(nvim, client, name="a.txt", contents=NEW):
    path = str(nvim.project / name)
    request = client.start_call(
        "openDiff", old_file_path=path, new_file_path=path, new_file_contents=contents, tab_name=name
    )
    nvim.wait(f"vim.fn.bufname() == '{name} (Claude)'", what="the diff")
    nvim.wait(SEEN, what="the diff to have been seen")
    return request


def told(client, text):
    return client.wait_notification("selection_changed", match=lambda sent: sent["text"] == text)


def lines(sent):
    return sent["selection"]["start"]["line"], sent["selection"]["end"]["line"]


def is_cursor_of(path):
    return lambda sent: sent.get("filePath") == str(path) and sent["text"] == ""


@pytest.mark.every_nvim
def test_a_selection_in_a_proposal_is_the_files_with_the_proposed_text(nvim, connect):
    client = connect(nvim)
    open_diff(nvim, client)
    nvim.keys("10GV")
    sent = told(client, "LINE 8")
    assert sent["filePath"] == str(nvim.project / "a.txt")
    assert lines(sent) == (7, 7)
    nvim.keys("<Esc>ggVj")
    assert lines(told(client, "new 1\nnew 2")) == (0, 1)
    nvim.keys("<Esc>j")
    client.wait_notification("selection_changed", match=is_cursor_of(nvim.project / "b.txt"))


@pytest.mark.every_nvim
def test_the_text_before_a_proposal_has_the_files_lines(nvim, connect):
    client = connect(nvim)
    open_diff(nvim, client)
    nvim.keys("<C-w>h8GV")
    assert lines(told(client, "line 8")) == (7, 7)
    nvim.keys("<Esc>:split +terminal<CR>i")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    assert nvim.lua("return Ide.selection.latest().text") == "line 8"


def test_a_diff_that_opens_and_closes_leaves_what_was_selected(nvim, connect):
    client = connect(nvim)
    nvim.keys("Vy")
    told(client, "bee")
    request = open_diff(nvim, client)
    nvim.keys("G")
    nvim.wait("vim.fn.line('.') == 11")
    assert nvim.lua("return Ide.selection.latest().text") == "bee"
    nvim.keys("GV")
    told(client, "line 9")
    nvim.keys("<Esc>")
    nvim.wait("vim.fn.mode() == 'n'")
    client.call("closeAllDiffTabs")
    assert client.call_result(request)[0] == "DIFF_REJECTED"
    client.wait_notification("selection_changed", match=is_cursor_of(nvim.project / "b.txt"))


def test_nothing_of_a_private_file_is_told(nvim, connect):
    client = connect(nvim)
    open_diff(nvim, client, ".env", "KEY=2\n")
    nvim.keys("V")
    nvim.wait("vim.fn.mode() == 'V'")
    nvim.keys("<Esc>:tabnew b.txt<CR>V")
    told(client, "bee")
    assert "KEY" not in str(client.notifications)


@pytest.mark.every_nvim
def test_a_selection_before_claude_is_told_with_the_lines_of_today(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": A}, args=["a.txt"])
    client = connect(nvim)
    turn(nvim, client, a_txt="zero\n" + A_CLAUDE)
    review(nvim)
    nvim.keys("<C-w>h")
    nvim.wait("(vim.b.claude_ide or {}).kind == 'review'", what="the side before")
    nvim.keys("2GV")
    sent = told(client, "two")
    assert sent["filePath"] == str(nvim.project / "a.txt")
    assert lines(sent) == (2, 2)


@pytest.fixture
def transcript(start_nvim, connect, tmp_path):
    nvim = show(start_nvim, conversation(tmp_path / "home", tmp_path / "project"))
    wait_named(nvim)
    return nvim, connect(nvim)


def test_an_edit_in_a_transcript_is_its_files_and_prose_is_none(transcript):
    nvim, client = transcript
    go_to(nvim, "What else is there?")
    nvim.keys("V")
    nvim.wait("vim.fn.mode() == 'V'")
    nvim.keys("<Esc>")
    go_to(nvim, "    +for i = 0, n - 1 do")
    nvim.keys("V")
    sent = told(client, "    +for i = 0, n - 1 do")
    assert sent["filePath"] == str(nvim.project / "src/parser.lua")
    assert lines(sent) == (9, 9)
    assert "What else" not in str(client.notifications)


def test_an_edit_that_a_transcript_shows_is_its_files(transcript):
    nvim, client = transcript
    go_to(nvim, "    +for i = 0, n - 1 do")
    nvim.keys("<CR>")
    nvim.wait_screen("after this edit")
    nvim.keys("10GV")
    sent = told(client, "for i = 0, n - 1 do")
    assert sent["filePath"] == str(nvim.project / "src/parser.lua")


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    ("keys", "first", "last"),
    [(":10ClaudeSend<CR>", 7, 7), ("<C-w>h:8,9ClaudeSend<CR>", 7, 8), (":ClaudeSend<CR>", None, None)],
)
def test_a_mention_from_a_diff_is_the_files(nvim, connect, keys, first, last):
    client = connect(nvim)
    open_diff(nvim, client)
    nvim.keys(keys)
    sent = client.wait_notification("at_mentioned")
    assert sent["filePath"] == str(nvim.project / "a.txt")
    assert (sent.get("lineStart"), sent.get("lineEnd")) == (first, last)
