"""Reviews of files in other encodings than UTF-8: shown as text, kept and undone by the byte."""

import subprocess

import pytest
from review_steps import Turn, review, signs, waiting, windows
from test_review_files import listed
from test_review_stage import commit_all

pytestmark = pytest.mark.dealt

TEXT = "one\ntwo \u4e0a\nthree\nfour \u010a\U0001f600\nfive\nsix\n"
"""Its characters have the byte of a line feed."""
AFTER = TEXT.replace("two", "TWO").replace("five\n", "five\nand a half\n")

FILES = {
    # The bytes of a text, and the encoding as Neovim names it.
    "little": (lambda text: ("\ufeff" + text).encode("utf-16-le"), "utf-16le"),
    "big": (lambda text: ("\ufeff" + text).encode("utf-16-be"), "utf-16"),
    "little, CRLF": (lambda text: ("\ufeff" + text).replace("\n", "\r\n").encode("utf-16-le"), "utf-16le"),
    "big, CRLF, no end of line": (
        lambda text: ("\ufeff" + text[:-1]).replace("\n", "\r\n").encode("utf-16-be"),
        "utf-16",
    ),
    "latin1": (
        lambda text: text.replace("\u4e0a", "\xe9").replace("\u010a\U0001f600", "\xfc").encode("latin1"),
        "latin1",
    ),
}


class Story:
    """A turn of Claude's that changed a file in an encoding."""

    def __init__(self, nvim, client, kind):
        self.nvim, self.client = nvim, client
        self.bytes, self.encoding = FILES[kind]
        self.path = nvim.project / "a.txt"
        self.path.write_bytes(self.bytes(TEXT))

    def text(self, text):
        return text if self.encoding != "latin1" else self.bytes(text).decode("latin1")

    def lines(self, text):
        return self.text(text).splitlines()

    def change(self, after=AFTER):
        going = Turn(self.nvim, self.client)
        self.client.call("getDiagnostics", uri=f"file://{self.path}")
        self.path.write_bytes(self.bytes(after))
        going.end("a.txt")

    def has(self, text):
        return lambda: self.path.read_bytes() == self.bytes(text)


@pytest.fixture
def story(start_nvim, connect):
    def begin(kind, *, is_open=True):
        nvim = start_nvim(files={"b.txt": "b\n"}, notices=True)
        nvim.keep_events("ClaudeReviewed")
        told = Story(nvim, connect(nvim), kind)
        if is_open:
            nvim.cmd("edit a.txt")
            assert nvim.lua("return vim.bo.fileencoding") == told.encoding
        return told

    return begin


@pytest.mark.every_nvim
@pytest.mark.parametrize("kind", FILES)
def test_one_change_and_all_of_a_file_are_undone_by_the_byte(story, kind):
    story = story(kind)
    nvim = story.nvim
    story.change()
    nvim.wait(lambda: nvim.lines() == story.lines(AFTER), what="the buffer to follow")
    assert signs(nvim, "a.txt") == [[2, "▌", "ClaudeSignChanged"], [6, "▌", "ClaudeSignAdded"]]
    assert nvim.lua("return Ide.journal.counts()") == {"files": 1, "hunks": 2, "conflicts": 0}
    review(nvim)
    assert listed(nvim)[0] == "~ a.txt +2 −1"
    assert [window["lines"] for window in windows(nvim)[1:]] == [story.lines(TEXT), story.lines(AFTER)]
    nvim.keys("dx")
    nvim.wait(story.has(AFTER.replace("TWO", "two")), what="one change to be undone")
    nvim.keys("u")
    nvim.wait(story.has(AFTER), what="it to be back")
    nvim.wait(lambda: nvim.lua("return Ide.journal.counts().hunks") == 2, what="it to wait again")
    nvim.keys("dX")
    nvim.wait(story.has(TEXT), what="all to be undone")
    assert windows(nvim)[-1]["lines"] == story.lines(TEXT) and not nvim.lua("return vim.bo.modified")
    assert nvim.lua("return { vim.bo.fileencoding, vim.bo.bomb }") == [story.encoding, story.encoding != "latin1"]
    nvim.keys("u")
    nvim.wait(story.has(AFTER), what="all to be back")
    nvim.wait(lambda: waiting(nvim) == ["a.txt"], what="it to wait again")


@pytest.mark.parametrize("kind", FILES)
def test_what_is_kept_stays_and_the_rest_is_undone_with_the_turn(story, kind):
    story = story(kind, is_open=False)
    nvim = story.nvim
    story.change()
    review(nvim)
    nvim.keys("ga")
    nvim.wait(lambda: nvim.lua("return Ide.journal.counts().hunks") == 1, what="one to be kept")
    assert story.has(AFTER)()
    (_, data), *_ = nvim.events()
    if story.encoding != "latin1":
        assert data["hunk"]["before_lines"] == ["two \u4e0a"] and data["hunk"]["after_lines"] == ["TWO \u4e0a"]
    nvim.keys("dX")
    nvim.wait(story.has(TEXT.replace("two", "TWO")), what="the rest to be undone")
    nvim.keys("gq")
    story.change(AFTER)
    nvim.undo_turn()
    nvim.wait(story.has(TEXT.replace("two", "TWO")), what="the turn to be undone")


@pytest.mark.parametrize("kind", FILES)
def test_unsaved_lines_of_the_users_are_no_change_of_claudes_and_stay(story, kind):
    story = story(kind)
    nvim = story.nvim
    story.change()
    nvim.wait(lambda: nvim.lines() == story.lines(AFTER), what="the buffer to follow")
    nvim.keys("3Gomine<Esc>")
    nvim.lua("vim.bo.fixendofline = false")
    mine = AFTER.replace("three\n", "three\nmine\n")
    nvim.wait(lambda: nvim.lines() == story.lines(mine), what="the line")
    assert nvim.lua("return Ide.journal.counts()") == {"files": 1, "hunks": 2, "conflicts": 0}
    review(nvim)
    nvim.keys("2Gdx")
    mine = mine.replace("TWO", "two")
    nvim.wait(lambda: windows(nvim)[-1]["lines"] == story.lines(mine), what="the undo in the buffer")
    assert story.has(AFTER)() and nvim.lua("return vim.bo.modified")
    nvim.cmd("silent write")
    assert story.has(mine)()
    assert nvim.lua("return Ide.journal.counts().hunks") == 1


@pytest.mark.parametrize("kind", ["big", "latin1"])
def test_a_file_that_is_another_in_its_unsaved_buffer_is_shown_as_text_and_merged(story, kind):
    story = story(kind)
    nvim = story.nvim
    nvim.keys("Gomine<Esc>")
    nvim.wait("vim.bo.modified and Ide.watch_conflict.base(vim.fn.bufnr()) ~= nil")
    story.change()
    nvim.wait("#Ide.watch_conflict.list() == 1")
    review(nvim)
    nvim.wait(lambda: [window["lines"] for window in windows(nvim)[1:]] == [story.lines(TEXT), story.lines(AFTER)])
    nvim.lua("Ide.review.close()")
    nvim.cmd("Claude resolve compare")
    nvim.wait(lambda: len(windows(nvim)) == 3, what="the three texts")
    others = [window["lines"] for window in windows(nvim) if window["ours"]]
    assert sorted(others) == sorted([story.lines(TEXT), story.lines(AFTER)])
    nvim.cmd("tabclose")
    nvim.cmd("Claude resolve merge")
    nvim.wait(lambda: nvim.lines() == [*story.lines(AFTER), "mine"], what="both")
    nvim.cmd("silent write")
    assert story.has(AFTER + "mine\n")()


def test_what_a_model_gets_of_a_review_is_text(story):
    story = story("little")
    story.change()
    said = story.nvim.lua("""
      local said
      Ide.context_diff.review({ cwd = vim.uv.cwd() }, nil, function(found) said = found end)
      return said.text
    """)
    assert "-two \u4e0a\n+TWO \u4e0a\n" in said


def test_what_is_kept_is_staged_by_the_byte(story):
    story = story("little")
    nvim = story.nvim
    commit_all(nvim.project)
    story.change()
    review(nvim)
    nvim.keys("ga")
    nvim.wait(lambda: len(nvim.events()) == 1, what="one to be kept")
    nvim.keys("gs")
    nvim.wait_notice("a.txt: 1 kept change staged, 1 left to review.")
    staged = subprocess.run(
        ["git", "cat-file", "blob", ":a.txt"], cwd=nvim.project, capture_output=True, check=True
    ).stdout
    assert staged == story.bytes(TEXT.replace("two", "TWO"))


BROKEN = {
    "half a unit": lambda text: ("\ufeff" + text).encode("utf-16-le") + b"x",
    "half a pair": lambda text: ("\ufeff" + text).encode("utf-16-be") + b"\xd8\x3d",
    "no mark": lambda text: text.encode("utf-16-le"),
    "UTF-32": lambda text: ("\ufeff" + text).encode("utf-32-le"),
}


@pytest.mark.parametrize("layout", ["auto", "unified"])
@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_text_for_sure_is_called_binary_and_taken_back_by_the_byte(story, kind, layout):
    FILES[kind] = (BROKEN[kind], None)
    story = story(kind, is_open=False)
    nvim = story.nvim
    nvim.lua("require('claude-ide').setup({ auto_start = false, diff = { layout = ... } })", layout)
    story.change()
    review(nvim)
    assert listed(nvim)[0] == "~ a.txt binary"
    nvim.wait_screen("· binary")
    nvim.keys("dX")
    nvim.wait(story.has(TEXT), what="the same bytes")


@pytest.mark.parametrize("conversion", [("little", "latin1"), ("latin1", "big"), ("little", "big")])
def test_a_change_of_the_encoding_is_taken_back_by_the_byte(story, conversion):
    before, after = conversion
    story = story(before)
    nvim, was = story.nvim, story.path.read_bytes()
    story.bytes = FILES[after][0]
    story.change(TEXT)
    review(nvim)
    nvim.keys("dX")
    nvim.wait(lambda: story.path.read_bytes() == was, what="the same bytes")
    nvim.wait(lambda: nvim.lua("return vim.bo.fileencoding") == story.encoding, what="the buffer to follow")
