"""Reviews of files that appear, disappear, move, are empty or binary, or differ between disk and buffer."""

import pytest
from review_steps import A_CLAUDE, A, B, Turn, review, turn, waiting, windows

from harness.files import text_of

pytestmark = pytest.mark.dealt

SELECT = "vim.ui.select = function(items, _, done) asked = items answer = function() done(items[1], 1) end end"


@pytest.fixture
def nvim(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": A, "b.txt": B}, init_lua=SELECT, notices=True)
    nvim.client = connect(nvim)
    return nvim


def undo(nvim):
    nvim.lua("answer = nil")
    nvim.cmd("Claude undo")
    nvim.wait("answer ~= nil", what="the question")
    nvim.lua("answer()")


def listed(nvim):
    """The lines of the list, with the text at their right."""
    return nvim.lua("""
      local buf = vim.api.nvim_win_get_buf(vim.api.nvim_tabpage_list_wins(0)[1])
      local namespace, lines = vim.api.nvim_get_namespaces()["claude-ide.diffview.list"], vim.api.nvim_buf_get_lines(buf, 0, -1, true)
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
        for _, chunk in ipairs(mark[4].virt_text or {}) do
          lines[mark[2] + 1] = vim.trim(lines[mark[2] + 1] .. " " .. vim.trim(chunk[1]))
        end
      end
      return lines
    """)


def test_a_created_file_that_nobody_looked_at_goes_with_its_buffer_and_its_folder(nvim):
    path = nvim.project / "deep" / "er" / "new.py"
    going = Turn(nvim, nvim.client)
    nvim.client.call("getDiagnostics", uri=f"file://{path}")
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n")
    nvim.lua("Ide.buffer_hidden.load(...)", str(path))
    going.end("new.py")
    undo(nvim)
    assert not (nvim.project / "deep").exists()
    assert nvim.lua("return #vim.fn.getbufinfo({ bufmodified = 1 }), vim.fn.bufexists(...)", str(path)) == 0
    assert nvim.lua("return vim.fn.bufexists(...)", str(path)) == 0


@pytest.mark.every_nvim
def test_a_created_file_that_is_shown_is_brought_back_by_u(nvim):
    turn(nvim, nvim.client, new_txt="one\ntwo\n")
    path = nvim.project / "new.txt"
    nvim.cmd("edit new.txt")
    undo(nvim)
    assert not path.exists()
    assert (nvim.lines(), nvim.lua("return vim.bo.modified")) == ([""], False)
    nvim.cmd("checktime")
    nvim.keys("u")
    nvim.wait(lambda: nvim.lines() == ["one", "two"])
    assert nvim.lua("return vim.bo.modified") is True
    nvim.keys(":w<CR>")
    nvim.wait(lambda: path.exists() and path.read_text() == "one\ntwo\n")
    nvim.wait(lambda: waiting(nvim) == ["new.txt"], what="it to wait again")
    nvim.wait("#notices > 0", what="the undo to be told")
    assert nvim.lua("return #notices") == 1, nvim.notices()


@pytest.mark.every_nvim
@pytest.mark.parametrize("key", ["dx", "dX"])
def test_u_in_the_review_brings_a_created_file_back(nvim, key):
    path = nvim.project / "deep" / "new.txt"
    going = Turn(nvim, nvim.client)
    path.parent.mkdir()
    going.edit("deep/new.txt", "one\ntwo\n")
    path.chmod(0o750)
    going.end("new.txt")
    review(nvim)
    for again in (key, key, "<C-r>"):
        nvim.keys(again)
        nvim.wait(lambda: not path.parent.exists() and windows(nvim)[2]["lines"] == [""], what="the file to be gone")
        nvim.keys("u")
        nvim.wait(lambda: windows(nvim)[2]["lines"] == ["one", "two"], what="its text")
        assert windows(nvim)[2]["name"] == "new.txt" and not nvim.lua("return vim.bo.modified")
        assert path.read_text() == "one\ntwo\n" and path.stat().st_mode & 0o777 == 0o750
        assert again == "<C-r>" or waiting(nvim) == ["new.txt"]


CLAUDES = {"a.txt": A_CLAUDE, "b.txt": None, "new.txt": "one\ntwo\n"}
UNDONE = {"a.txt": A, "b.txt": B, "new.txt": None}


@pytest.mark.every_nvim
@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("name", CLAUDES)
def test_u_and_ctrl_r_in_any_order_end_in_claudes_change_or_its_undo(nvim, name, hidden):
    nvim.lua("vim.o.hidden = ...", hidden)
    path, claudes, undone = nvim.project / name, CLAUDES[name], UNDONE[name]
    turn(nvim, nvim.client, **{name.replace(".", "_"): claudes})
    review(nvim)
    text = lambda: text_of(path)  # noqa: E731
    for key in ("dX", "u", "<C-r>", "u", "<C-r>", "u", "dX", "u", "<C-r>"):
        nvim.keys(key)
        if key == "u":
            nvim.wait(lambda: text() == claudes and waiting(nvim) == [name], what="Claude's change to review")
            assert nvim.lua("return Ide.journal.counts().files") == 1
            nvim.wait(lambda: "undone" not in listed(nvim)[0], what="the list to have it")
            assert nvim.lua("return Ide.journal_undo.undoable_turn()") == 1
        else:
            nvim.wait(lambda: text() == undone and waiting(nvim) == [], what="it to be undone")
            nvim.wait(lambda: listed(nvim)[0].endswith("undone"), what="the list to say so")
            assert nvim.lua("return Ide.journal.counts().files") == 0
            assert nvim.lua("return Ide.journal_undo.undoable_turn()") is None
        nvim.wait("not vim.bo.modified")


def restored(nvim, key="dX", name="b.txt"):
    """A review in which an undo has just made a file again that Claude had deleted."""
    path = nvim.project / name
    turn(nvim, nvim.client, **{name.replace(".", "_"): None})
    review(nvim)
    nvim.wait_screen("deleted")
    nvim.keys(key)
    nvim.wait(lambda: path.exists() and windows(nvim)[2]["lines"] == B.splitlines(), what="the file to be back")
    return path


@pytest.mark.every_nvim
@pytest.mark.parametrize("key", ["dx", "dX"])
@pytest.mark.parametrize("opened", [False, True])
def test_u_in_the_review_deletes_a_file_again_that_an_undo_has_made_again(nvim, key, opened):
    (nvim.project / "b.txt").chmod(0o640)
    if opened:
        nvim.keys(":edit b.txt<CR>Go<Esc>u")
        nvim.wait(lambda: nvim.lines() == B.splitlines(), what="an undo history")
    path = restored(nvim, key)
    for _ in range(2):
        nvim.keys("u")
        nvim.wait(lambda: not path.exists(), what="the file to be gone again")
        nvim.wait_screen("deleted")
        nvim.wait(lambda: waiting(nvim) == ["b.txt"], what="it to wait again")
        nvim.keys("u")
        nvim.wait_notice("There is nothing to undo here.")
        assert not path.exists()
        nvim.keys("<C-r>")
        nvim.wait(lambda: path.exists() and windows(nvim)[2]["lines"] == B.splitlines(), what="the file once more")
        assert path.read_text() == B and path.stat().st_mode & 0o777 == 0o640
        assert not nvim.lua("return vim.bo.modified")
        nvim.lua("notices = {}")
    assert waiting(nvim) == []


@pytest.mark.parametrize("whose", ["the user's", "another program's"])
def test_u_leaves_a_restored_file_that_has_changed_since(nvim, whose):
    path = restored(nvim)
    if whose == "the user's":
        nvim.keys("Gomine<Esc>:w<CR>")
        nvim.wait(lambda: path.read_text() == B + "mine\n", what="the user's line on disk")
        nvim.keys("u")
        nvim.wait(lambda: nvim.lines() == B.splitlines(), what="the line to be undone")
        assert path.exists()
    else:
        nvim.lua("Ide.watch.detach()")
        path.write_text(B + "theirs\n")
        nvim.keys("u")
        nvim.wait_notice("has changed since")
        assert path.read_text() == B + "theirs\n"


@pytest.mark.slow
def test_empty_files_are_reviewed_and_undone(nvim):
    (nvim.project / "was.txt").write_text("")
    going = Turn(nvim, nvim.client)
    going.edit("__init__.py", "")
    going.edit("was.txt", None)
    going.edit("a.txt", "")
    going.end("__init__.py", "was.txt", "a.txt")
    review(nvim)
    assert listed(nvim) == ["+ __init__.py empty", "~ a.txt −9", "− was.txt empty"]
    assert windows(nvim)[2]["lines"] == [""]
    nvim.keys("gA]f]f")
    nvim.wait_screen("deleted")
    nvim.keys("dX")
    nvim.wait(lambda: (nvim.project / "was.txt").exists(), what="the empty file again")
    assert (nvim.project / "was.txt").read_bytes() == b""
    nvim.wait(lambda: waiting(nvim) == ["a.txt"], what="one file left")
    nvim.cmd("Claude review all")
    nvim.lua("Ide.review.undo_file()")
    assert not (nvim.project / "__init__.py").exists()


@pytest.mark.slow
def test_a_moved_file_is_one_matter(nvim):
    going = Turn(nvim, nvim.client)
    going.edit("b.txt", None)
    going.edit("moved.txt", B)
    going.end("b.txt", "moved.txt")
    review(nvim)
    assert listed(nvim) == ["− b.txt moved away", "+ moved.txt moved here"]
    nvim.wait_screen("moved to moved.txt")
    nvim.keys("]f")
    nvim.wait_screen("moved from b.txt")
    assert windows(nvim)[1]["lines"] == windows(nvim)[2]["lines"] == B.splitlines()
    nvim.keys("dX")
    nvim.wait(lambda: not (nvim.project / "moved.txt").exists(), what="the move to be undone")
    assert (nvim.project / "b.txt").read_text() == B
    nvim.wait(lambda: waiting(nvim) == [], what="nothing to wait")


@pytest.mark.every_nvim
@pytest.mark.parametrize("undone_in", ["b.txt", "moved.txt"])
@pytest.mark.parametrize("back_in", ["b.txt", "moved.txt"])
@pytest.mark.parametrize("key", ["dx", "dX"])
def test_u_takes_the_undo_of_a_move_back_at_both_ends(nvim, undone_in, back_in, key):
    going = Turn(nvim, nvim.client)
    going.edit("b.txt", None)
    going.edit("moved.txt", B)
    going.end("b.txt", "moved.txt")
    (nvim.project / "moved.txt").chmod(0o750)
    review(nvim)
    shown = ["b.txt", "moved.txt"]

    def go_to(name):
        nvim.lua("Ide.review.show(...)", 1 + shown.index(name))

    def has(name):
        return text_of(nvim.project / name) == B

    def is_moved():
        return (has("b.txt"), has("moved.txt"), waiting(nvim)) == (False, True, shown)

    def is_undone():
        return (has("b.txt"), has("moved.txt"), waiting(nvim)) == (True, False, [])

    go_to(undone_in)
    nvim.keys(key)
    nvim.wait(is_undone, what="the move to be undone")
    go_to(back_in)
    nvim.keys("u")
    nvim.wait(is_moved, what="the move to review")
    assert (nvim.project / "moved.txt").stat().st_mode & 0o777 == 0o750
    nvim.wait(lambda: listed(nvim) == ["− b.txt moved away", "+ moved.txt moved here"], what="the list")
    if (undone_in, back_in) == ("b.txt", "moved.txt"):
        return  # the buffer is new: its undo tree knows nothing of it
    for _ in range(2):
        nvim.keys("<C-r>")
        nvim.wait(is_undone, what="the undo once more")
        nvim.keys("u")
        nvim.wait(is_moved, what="the move once more")
    assert nvim.notices() == []


@pytest.mark.parametrize("back_in", ["b.txt", "moved.txt"])
def test_u_says_which_end_of_an_undone_move_stays(nvim, back_in):
    going = Turn(nvim, nvim.client)
    going.edit("b.txt", None)
    going.edit("moved.txt", B)
    going.end("b.txt", "moved.txt")
    review(nvim)
    nvim.keys("]fdX")
    nvim.wait(lambda: waiting(nvim) == [], what="the move to be undone")
    stays = "moved.txt" if back_in == "b.txt" else "b.txt"
    (nvim.project / stays).write_text("the user's\n")
    nvim.lua("Ide.journal_observe.user_wrote(...)", str(nvim.project / stays))
    nvim.lua("Ide.review.show(...)", 1 if back_in == "b.txt" else 2)
    nvim.keys("u")
    nvim.wait_notice(f"{stays} has changed since the undo, so it stays.")
    assert (nvim.project / stays).read_text() == "the user's\n"


def test_u_at_one_end_of_an_undone_move_leaves_what_is_not_saved_at_the_other(nvim):
    going = Turn(nvim, nvim.client)
    going.edit("b.txt", None)
    going.edit("moved.txt", B)
    going.end("b.txt", "moved.txt")
    review(nvim)
    nvim.keys("dX")
    nvim.wait(lambda: waiting(nvim) == [], what="the move to be undone")
    nvim.wait(lambda: windows(nvim)[2]["name"] == "b.txt", what="the file to be shown")
    nvim.keys("Gomine<Esc>")
    nvim.wait("vim.bo.modified and vim.fn.mode() == 'n'", what="the user's line")
    nvim.lua("Ide.review.show(2)")
    nvim.keys("u")
    nvim.wait_notice("b.txt has unsaved changes, so it stays.")
    assert nvim.lua("return vim.fn.getbufline('b.txt', '$')") == ["mine"]
    assert (nvim.project / "b.txt").read_text() == B


@pytest.mark.every_nvim
@pytest.mark.parametrize("move", [False, True])
def test_the_text_of_a_deleted_file_stays_at_the_top_when_it_is_drawn_again(nvim, move):
    """It is drawn again in its colours, and where the window gets other sizes."""
    text = "local one = 1\nlocal two = 2\nlocal three = 3\n"
    for name in ("b.txt", "b.lua"):
        (nvim.project / name).write_text(text)
    name = "b.lua" if move else "b.txt"
    if move:
        turn(nvim, nvim.client, b_lua=text.upper())
        review(nvim)
        going = Turn(nvim, nvim.client)
        going.edit(name, None)
        going.edit("n.lua", text.upper())
        going.end(name, "n.lua")
    else:
        turn(nvim, nvim.client, b_txt=None)
        review(nvim)
    nvim.wait_screen("deleted")
    nvim.keys(":tabonly<CR>")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="one tab page")
    for _ in range(3):
        nvim.lua("vim.cmd.redraw()")  # what a redraw asks for comes before the next request
    assert nvim.lua("return vim.fn.winsaveview().topfill") == 0
    nvim.terminal.wait(lambda: "local one" in nvim.screen()[2], what="the removed text at the top")


@pytest.mark.every_nvim
def test_a_binary_file_is_called_one_and_taken_back_by_the_byte(nvim):
    path, image = nvim.project / "image.bin", bytes(range(256)) * 3
    path.write_bytes(image)
    going = Turn(nvim, nvim.client)
    nvim.client.call("getDiagnostics", uri=f"file://{path}")
    path.write_bytes(bytes(reversed(image)))
    going.end("image.bin")
    review(nvim)
    assert listed(nvim) == ["~ image.bin binary"]
    nvim.wait_screen("· binary")
    nvim.keys("dX")
    nvim.wait(lambda: path.read_bytes() == image, what="the same bytes")


def test_a_file_that_is_another_in_its_unsaved_buffer_is_shown_as_on_disk(nvim):
    nvim.keys("Gomine<Esc>")
    nvim.wait("vim.bo.modified")
    turn(nvim, nvim.client, a_txt=A_CLAUDE)
    nvim.wait("#notices == 1")  # changed on disk, and unsaved here
    undo(nvim)
    assert (nvim.project / "a.txt").read_text() == A_CLAUDE
    review(nvim)
    assert windows(nvim)[2]["lines"] == A_CLAUDE.splitlines()
    assert listed(nvim) == ["! a.txt +2 −1"]
    nvim.wait_screen("unsaved in your buffer")
    nvim.keys("dX")
    nvim.wait_notice("`:Claude resolve`")
    nvim.keys("gA")
    nvim.wait(lambda: waiting(nvim) == [], what="the file to be reviewed")
    nvim.lua("Ide.review.close()")
    assert nvim.lines()[-1] == "mine"
    assert (nvim.project / "a.txt").read_text() == A_CLAUDE


def test_a_file_that_others_make_where_an_undo_has_deleted_one_stays(nvim):
    path = nvim.project / "new.txt"
    turn(nvim, nvim.client, new_txt="one\n")
    review(nvim)
    nvim.keys("dx")
    nvim.wait(lambda: not path.exists() and windows(nvim)[2]["lines"] == [""], what="the file to be gone")
    nvim.lua("Ide.watch.detach()")  # the emptied buffer has not heard of the next file
    path.write_text("mine\n")
    nvim.lua("Ide.journal_observe.user_wrote(...)", str(path))  # as where this Neovim writes it with `:w new.txt`
    nvim.lua("""
      local buf = vim.fn.bufnr(vim.fn.getcwd() .. "/new.txt")
      assert(buf > 0 and vim.api.nvim_buf_get_lines(buf, 0, -1, true)[1] == "", "the buffer is emptied")
      vim.api.nvim_buf_call(buf, function() vim.cmd("doautocmd TextChanged") end)
    """)
    assert path.read_text() == "mine\n"
