"""The file's own buffer around a diff: unsaved text, the CLI's write, and the result of `u`."""

import os

import pytest
from diff_steps import Diffs
from held_timers import hold_timers

from harness.files import text_of

pytestmark = pytest.mark.dealt

OLD = "".join(f"line {i}\n" for i in range(1, 101))
NEW = OLD.replace("line 50\n", "LINE FIFTY\n")


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files={"a.txt": OLD, "b.txt": "b\n"}, args=["a.txt"]))


def open_over_unsaved(diffs):
    """A file with an unsaved line, and an open diff of it."""
    diffs.nvim.keys("ggOunsaved<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.lines()[0] == "unsaved" and diffs.nvim.mode() == "n")
    diffs.open(1, "a.txt", NEW)


def accept_and_write(diffs, contents=NEW, then=""):
    """Accepts and writes like the CLI; both and `then` come before any timer."""
    diffs.nvim.keys("ZZ")
    diffs.answer(1)
    write = "local path, bytes, more = ... local file = assert(io.open(path, 'wb')) file:write(bytes) file:close() "
    diffs.nvim.lua(write + then, str(diffs.nvim.project / "a.txt"), contents, NEW + "more\n")


def text(diffs, buf=1):
    return "".join(line + "\n" for line in diffs.nvim.lines(buf))


@pytest.mark.every_nvim
def test_the_buffer_shows_what_the_cli_wrote_with_the_cursor_where_it_was(diffs):
    diffs.nvim.keys("80Gzt3l")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (80, 3))
    before = diffs.screen_state()
    proposal = "new first line\n" + NEW
    diffs.open(1, "a.txt", proposal)
    diffs.nvim.keys("ZZ")
    diffs.accepted(1, "a.txt")
    diffs.nvim.wait(lambda: text(diffs) == proposal, what="the buffer to be reloaded")
    diffs.wait_clean()
    assert diffs.nvim.cursor() == (81, 3)
    assert diffs.screen_state()["wins"][0][4][0] == before["wins"][0][4][0] + 1
    assert diffs.nvim.lua("return vim.bo.modified") is False
    diffs.nvim.keys("u")
    diffs.nvim.wait(lambda: text(diffs) == OLD)


@pytest.mark.every_nvim
def test_the_buffer_is_reloaded_after_the_write_by_itself(diffs):
    diffs.open(1, "a.txt", NEW)
    accept_and_write(diffs, then="vim.api.nvim_buf_attach(1, false, { on_lines = function() _G.reloaded = true end })")
    diffs.nvim.wait("_G.reloaded")


LOOKS = """
looks = 0
local file = Ide.file
local read_later = file.read_later
file.read_later = function(path, max, done)
  read_later(path, max, function(bytes, ...)
    done(bytes, ...)
    looks = looks + (bytes == half and 1 or 0)
  end)
end
half = ...
"""


def test_a_file_that_is_written_late_is_waited_for(diffs):
    diffs.open(1, "a.txt", NEW)
    hold_timers(diffs.nvim, "look for an accepted edit")  # this state would not last long
    half = NEW[: len(NEW) // 2]
    diffs.nvim.lua(LOOKS, half)
    diffs.nvim.keys("ZZ")
    diffs.answer(1)
    diffs.wait_current(None)
    (diffs.nvim.project / "a.txt").write_text(half)
    diffs.nvim.wait("looks > 0", what="the half to be read")
    assert text(diffs) == OLD
    diffs.accepted(1, "a.txt")
    diffs.nvim.wait(lambda: text(diffs) == NEW)
    diffs.wait_clean()


def test_a_file_that_is_replaced_by_rename_is_noticed(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("ZZ")
    diffs.answer(1)
    (diffs.nvim.project / "t").write_text(NEW)
    os.replace(diffs.nvim.project / "t", diffs.nvim.project / "a.txt")
    diffs.nvim.wait(lambda: text(diffs) == NEW)
    diffs.wait_clean()


def test_a_hook_that_formats_what_was_accepted_is_no_trouble(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("ZZ")
    diffs.answer(1)
    (diffs.nvim.project / "a.txt").write_text(NEW + "formatted\n")
    diffs.nvim.wait(lambda: text(diffs) == NEW + "formatted\n")
    diffs.wait_clean()


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "unified"])
def test_a_proposal_whose_file_has_changed_since_says_so(start_nvim, layout):
    nvim = start_nvim(files={"a.txt": OLD}, args=["a.txt"], opts={"diff": {"layout": layout}})
    diffs = Diffs(nvim)
    said = "before the file changed" if layout == "vertical" else "the file has changed since"
    path = nvim.project / "a.txt"
    diffs.propose(1, "a.txt", NEW)
    diffs.wait_current(1)
    diffs.propose(2, "a.txt", OLD + "of another session\n", client=2)
    accept_and_write(diffs)
    diffs.wait_current(2)
    nvim.wait_screen(said)
    path.write_text(OLD)
    nvim.wait(lambda: not any(said in line for line in nvim.screen()), what="the text that it was made for")
    path.write_text("line 0\n" + OLD)
    nvim.wait_screen(said)
    assert diffs.accept(2, "a.txt") == OLD + "of another session\n"
    diffs.wait_clean()
    nvim.wait("Ide.watch_files.counts().folders == 0", what="the end of the watch")


def test_an_unsaved_buffer_is_what_the_diff_is_against(diffs):
    open_over_unsaved(diffs)
    diffs.nvim.wait_screen("a.txt · now, with your unsaved changes")
    left = diffs.nvim.lua("return vim.api.nvim_win_get_buf(vim.api.nvim_tabpage_list_wins(0)[1])")
    assert diffs.nvim.lines(left) == diffs.nvim.lines(1)
    assert diffs.nvim.lua("return Ide.proposal.list()")[0]["against"] == "buffer"
    assert diffs.nvim.cursor()[0] == 51  # at Claude's change
    diffs.reject(1)
    diffs.wait_current(None)
    assert diffs.nvim.lines()[0] == "unsaved"
    assert diffs.nvim.lua("return vim.bo.modified") is True


def test_unsaved_text_that_claude_did_not_touch_stays_unsaved(diffs):
    open_over_unsaved(diffs)
    diffs.nvim.wait_screen("+1 −1")  # only Claude's change
    assert diffs.accept(1, "a.txt") == NEW
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + NEW)
    diffs.wait_clean()
    assert diffs.nvim.lua("return vim.bo.modified") is True
    diffs.nvim.cmd("checktime")
    diffs.nvim.keys("u")
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + OLD)
    diffs.nvim.keys("<C-r>")
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + NEW)
    # Saving it is an everyday write: no "file has changed since reading it".
    diffs.nvim.keys(":w<CR>")
    diffs.nvim.wait(lambda: text_of(diffs.nvim.project / "a.txt") == "unsaved\n" + NEW)
    assert diffs.nvim.lua("return vim.fn.execute('messages')").count("changed") == 0


def test_what_is_typed_into_the_diff_is_written_and_unsaved_text_is_not(diffs):
    open_over_unsaved(diffs)
    diffs.nvim.keys("Gotyped<Esc>")
    diffs.nvim.wait_screen("+2 −1")
    assert diffs.accept(1, "a.txt") == NEW + "typed\n"
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + NEW + "typed\n")
    assert diffs.nvim.lua("return vim.bo[1].modified") is True


def test_an_unsaved_line_that_claude_changes_too_is_replaced_and_can_be_had_back(diffs):
    diffs.nvim.keys("ggOunsaved<Esc>50G0iMY <Esc>")
    diffs.nvim.wait(lambda: "MY line 49" in diffs.nvim.lines() and diffs.nvim.mode() == "n")
    mine = text(diffs)
    diffs.open(1, "a.txt", NEW.replace("line 49\n", "LINE\n"))
    diffs.nvim.keys("ZZ")
    diffs.accepted(1, "a.txt")
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + NEW.replace("line 49\n", "LINE\n"))
    diffs.wait_clean()
    diffs.nvim.keys("u")
    diffs.nvim.wait(lambda: text(diffs) == mine)


def test_unsaved_lines_beside_what_claude_changes_stay(diffs):
    diffs.nvim.keys("50GOmine<Esc>joalso mine<Esc>")
    diffs.nvim.wait(lambda: "also mine" in diffs.nvim.lines() and diffs.nvim.mode() == "n")
    diffs.open(1, "a.txt", NEW)
    assert diffs.accept(1, "a.txt") == NEW
    diffs.nvim.wait(lambda: text(diffs) == NEW.replace("LINE FIFTY\n", "mine\nLINE FIFTY\nalso mine\n"))
    assert diffs.nvim.lua("return vim.bo[1].modified") is True
    diffs.wait_clean()


def test_a_hook_that_formats_leaves_unsaved_text_alone(diffs):
    open_over_unsaved(diffs)
    diffs.nvim.keys("ZZ")
    diffs.answer(1)
    (diffs.nvim.project / "a.txt").write_text(NEW + "formatted\n")
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + NEW + "formatted\n")


def test_text_that_is_typed_into_the_file_while_its_diff_waits_stays(diffs):
    open_over_unsaved(diffs)
    diffs.nvim.lua("vim.api.nvim_buf_set_lines(1, -1, -1, true, { 'later' })")
    assert diffs.accept(1, "a.txt") == NEW
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + NEW + "later\n")


def type_while_the_diff_waits(diffs, line, words):
    """Opens a diff of the unmodified file, types into the file, and accepts."""
    nvim = diffs.nvim
    diffs.open(1, "a.txt", NEW)
    nvim.lua("vim.api.nvim_buf_set_lines(1, ...)", line, line + 1, True, words)
    nvim.wait("vim.bo[1].modified")
    assert diffs.accept(1, "a.txt") == NEW


def test_text_that_is_first_typed_while_the_diff_waits_stays_beside_what_is_accepted(diffs):
    last = len(OLD.splitlines()) - 1
    kept = OLD.splitlines()[last]
    assert NEW.splitlines()[-1] == kept
    type_while_the_diff_waits(diffs, last, [kept, "later"])
    diffs.nvim.wait(lambda: text(diffs) == NEW + "later\n", what="both texts")
    assert diffs.nvim.lua("return { vim.bo[1].modified, #Ide.watch_conflict.list() }") == [
        True,
        0,
    ]
    diffs.nvim.keys(":w<CR>")
    diffs.nvim.wait(lambda: text_of(diffs.nvim.project / "a.txt") == NEW + "later\n", what="both on disk")


def test_a_line_that_is_typed_over_while_the_diff_waits_is_reported_at_once(diffs):
    old, new = OLD.splitlines(), NEW.splitlines()
    line = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    type_while_the_diff_waits(diffs, line, ["mine"])
    diffs.nvim.wait_screen("a.txt changed on disk, and you have unsaved changes")
    assert diffs.nvim.lua("return Ide.watch_conflict.list()") == [1]
    assert "mine" in text(diffs)


@pytest.mark.every_nvim
def test_no_question_comes_up_while_the_file_is_being_written(diffs):
    open_over_unsaved(diffs)
    accept_and_write(diffs, then="vim.cmd.checktime()")
    diffs.nvim.wait(lambda: text(diffs) == "unsaved\n" + NEW)
    assert "WARNING" not in diffs.nvim.lua("return vim.fn.execute('messages')")


def test_an_unsaved_buffer_of_another_file_is_not_in_the_way(start_nvim):
    diffs = Diffs(start_nvim(files={"foo.ts": "old\n", "foo.tsx": "other\n"}, args=["foo.tsx"]))
    diffs.nvim.keys("Aunsaved<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == ["otherunsaved"] and diffs.nvim.mode() == "n")
    diffs.open(1, "foo.ts", "new\n")
    diffs.nvim.wait_screen("foo.ts · now ")
    assert diffs.accept(1, "foo.ts") == "new\n"
    assert diffs.nvim.lines(1) == ["otherunsaved"]


def test_a_second_edit_of_an_unsaved_file_is_against_the_first(diffs):
    open_over_unsaved(diffs)
    accept_and_write(diffs, then="propose(2, 1, path, more, 'second')")
    diffs.wait_current(2)
    diffs.nvim.wait_screen("+1 −0")
    assert text(diffs) == "unsaved\n" + NEW


def test_a_buffer_in_another_encoding_is_compared_as_text(start_nvim):
    diffs = Diffs(start_nvim(files={"a.txt": "\ufefföl\n".encode("utf-16-le")}))
    diffs.open(1, "a.txt", "\ufefföl\nmore\n")  # in the CLI's form
    diffs.nvim.wait_screen("+1 −0")
    assert "BOM" not in "\n".join(diffs.nvim.screen())


def test_a_folder_is_said_and_a_named_pipe_does_not_hang_anything(diffs):
    (diffs.nvim.project / "folder").mkdir()
    os.mkfifo(diffs.nvim.project / "pipe")
    for id, (name, what) in enumerate({"folder": "directory", "pipe": "fifo"}.items(), 1):
        diffs.open(id, name, "x\n")
        diffs.nvim.wait_screen(f"{name} · not a file but a {what}")
        diffs.reject(id)
        diffs.wait_clean()


def test_a_name_of_odd_characters_is_fine(diffs):
    for id, name in enumerate(["100% [a] $HOME *.txt", "ümlaut ✻.txt", "a'b\"c.txt", "#%<cword>"], 1):
        diffs.open(id, name, "x\n")
        diffs.nvim.wait_screen(name)
        assert diffs.accept(id, name) == "x\n"
        diffs.wait_clean()


QUIT = [":qa<CR>", ":wqa<CR>", ":xa<CR>", ":1tabnext<CR>:qa<CR>", ":confirm qa<CR>", ":wa<CR>:qa<CR>", "ZZ:qa<CR>"]
QUIT += [":cq<CR>", ":qa!<CR>", ":wqa!<CR>", "<C-w>h:quitall<CR>", "i<C-o>:qa<CR>", "qa:qa<CR>", "v:<C-u>qa<CR>"]


@pytest.mark.parametrize("keys", QUIT)
def test_quitting_just_quits(diffs, keys):
    diffs.open(1, "a.txt", NEW)
    diffs.propose(2, "b.txt", "B\n")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 3)
    diffs.nvim.keys(keys)
    diffs.nvim.terminal.wait_exit()
    assert (diffs.nvim.project / "a.txt").read_text() == OLD


@pytest.mark.every_nvim
def test_quitting_still_stops_for_unsaved_files_and_the_diff_stays_one(diffs):
    diffs.nvim.keys("Amine<Esc>")
    diffs.nvim.wait(lambda: diffs.nvim.lines()[0] == "line 1mine" and diffs.nvim.mode() == "n")
    diffs.open(1, "b.txt", "B\n")
    diffs.nvim.keys(":qa<CR>")
    diffs.nvim.wait_screen("E162")
    diffs.nvim.keys("<CR>")
    diffs.nvim.wait(lambda: not diffs.nvim.lua("return vim.api.nvim_get_mode()")["blocking"])
    assert diffs.nvim.running() and diffs.outcomes(1) == []
    diffs.nvim.lua("Ide.proposal.focus(1)")
    diffs.nvim.wait("vim.bo.modified")
    assert diffs.accept(1, "b.txt", ":x<CR>") == "B\n"


def test_a_neovim_in_which_nothing_may_be_changed_shows_diffs_all_the_same(start_nvim):
    diffs = Diffs(start_nvim(files={"a.txt": OLD}, args=["-M", "a.txt"]))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("otyped<Esc>")
    diffs.nvim.wait_screen("+2 −1")
    diffs.nvim.keys("ZZ")
    accepted = diffs.accepted(1, "a.txt")
    assert accepted == NEW.replace("FIFTY\n", "FIFTY\ntyped\n")
    diffs.nvim.wait(lambda: text(diffs) == accepted)


@pytest.mark.every_nvim
def test_a_new_file_that_somebody_else_makes_meanwhile_is_not_overwritten_unasked(start_nvim):
    diffs = Diffs(start_nvim(files={"a.txt": "a\n"}, args=["a.txt"]))
    nvim, path = diffs.nvim, diffs.nvim.project / "new.txt"
    diffs.open(1, "new.txt", "Claude's\n")
    path.write_text("somebody else's\n")
    nvim.keys("ZZ")
    nvim.wait_screen("Accept again to overwrite new.txt: another program has created it.")
    assert nvim.lua("return Ide.proposal.count()") == 1
    nvim.keys("ZZ")
    assert diffs.answer(1)["outcome"] == "saved"
    # The same text is no other file.
    path.unlink()
    diffs.wait_clean()
    diffs.open(2, "new.txt", "Claude's\n")
    path.write_text("Claude's\n")
    nvim.keys("ZZ")
    assert diffs.answer(2)["outcome"] == "saved"
