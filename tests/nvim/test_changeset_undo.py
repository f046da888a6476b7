"""The undo of changesets: deletions, moves, permissions and encodings of files that are open or not."""

import pytest
from changeset_steps import Changesets
from review_steps import Turn

pytestmark = pytest.mark.dealt

KNOWN = "local s = Ide.journal_store return s.is_last(s.find(...).id, select(2, ...))"
ACCENTS = "\xe9t\xe9\nl\xe0\n"


@pytest.fixture
def sets(start_nvim):
    def start(files, args=()):
        nvim = start_nvim(files=files, args=list(args), init_lua="vim.o.fileencodings = 'ucs-bom,utf-8,latin1'")
        nvim.lua("require('claude-ide').connect()")
        return Changesets(nvim)

    return start


def accept(sets, steps):
    sets.show("{ documentChanges = { " + steps + " } }")
    sets.nvim.keys("ZZ")
    answer = sets.answer()
    assert answer["outcome"] == "accepted", answer
    sets.wait_clean()


def mode(sets, name):
    return (sets.nvim.project / name).stat().st_mode & 0o777


def delete(name):
    return f"{{ kind = 'delete', uri = uri('{name}') }},"


def rename(old, new, overwrite=False):
    options = f"options = {{ overwrite = {str(overwrite).lower()} }}"
    return f"{{ kind = 'rename', oldUri = uri('{old}'), newUri = uri('{new}'), {options} }},"


@pytest.mark.parametrize("encoding", ["utf-8", "latin1", "utf-16"])
def test_an_open_file_that_was_deleted_comes_back_with_its_buffer(sets, encoding):
    text = ACCENTS.encode(encoding)
    sets = sets({"a.txt": text}, args=["a.txt"])
    (sets.nvim.project / "a.txt").chmod(0o600)
    assert sets.nvim.lines() == ACCENTS.splitlines()
    accept(sets, delete("a.txt"))
    assert sets.bytes("a.txt") is None
    assert [result["ok"] for result in sets.nvim.undo_turn()] == [True]
    assert (sets.bytes("a.txt"), mode(sets, "a.txt")) == (text, 0o600)
    assert sets.nvim.lines() == ACCENTS.splitlines()
    assert not sets.nvim.lua("return vim.bo.modified")
    sets.nvim.cmd("write")
    assert sets.bytes("a.txt") == text


@pytest.mark.parametrize("opened", [[], ["a.txt"], ["b.sh"], ["a.txt", "b.sh"]])
def test_a_rename_over_another_file_is_undone_with_the_permissions_of_both(sets, opened):
    sets = sets({"a.txt": "a\n", "b.sh": "b\n"}, args=opened)
    (sets.nvim.project / "a.txt").chmod(0o640)
    (sets.nvim.project / "b.sh").chmod(0o755)
    sets.nvim.cmd("checktime")
    accept(sets, rename("a.txt", "b.sh", overwrite=True))
    assert (sets.bytes("b.sh"), mode(sets, "b.sh")) == (b"a\n", 0o640)
    assert all(result["ok"] for result in sets.nvim.undo_turn())
    assert (sets.bytes("a.txt"), mode(sets, "a.txt")) == (b"a\n", 0o640)
    assert (sets.bytes("b.sh"), mode(sets, "b.sh")) == (b"b\n", 0o755)


@pytest.mark.parametrize("opened", [[], ["a"], ["a", "b"]])
@pytest.mark.parametrize("is_swap", [True, False])
def test_renames_in_a_ring_or_a_chain_keep_every_byte(sets, opened, is_swap):
    files = {"a": b"\x00\xff\xfe\r\nx\n\xe9", "b": ACCENTS.encode("latin1")}
    sets = sets(files, args=opened)
    if is_swap:
        accept(sets, rename("a", "tmp") + rename("b", "a") + rename("tmp", "b"))
        assert {name: sets.bytes(name) for name in ("a", "b")} == {"a": files["b"], "b": files["a"]}
    else:
        accept(sets, rename("b", "c") + rename("a", "b"))
        assert {name: sets.bytes(name) for name in ("a", "b", "c")} == {"a": None, "b": files["a"], "c": files["b"]}
    assert all(result["ok"] for result in sets.nvim.undo_turn())
    assert {name: sets.bytes(name) for name in ("a", "b", "c")} == {**files, "c": None}


@pytest.mark.parametrize("opened", [[], ["made.txt"]])
@pytest.mark.parametrize("later", [["made, and more\n"], [None, "made again\n"], [None, "made\n"]])
def test_a_file_that_was_made_and_moved_goes_when_all_is_undone(start_nvim, connect, opened, later):
    nvim = start_nvim(files={"other.txt": "x\n"})
    client, sets = connect(nvim), Changesets(nvim)
    made = Turn(nvim, client)
    made.edit("made.txt", "made\n")
    made.end("made.txt")
    for name in opened:
        nvim.cmd(f"edit {name}")
    accept(sets, rename("made.txt", "moved.txt"))
    for text in later:
        turn = Turn(nvim, client)
        turn.edit("moved.txt", text)
        nvim.wait(lambda text=text: nvim.lua(KNOWN, str(nvim.project / "moved.txt"), *[text] if text else []))
        client.call("getDiagnostics")
    undos = 0
    while nvim.lua("return Ide.journal_undo.undoable_turn()") is not None and undos < 6:
        assert all(result["ok"] for result in nvim.undo_turn())
        undos += 1
    assert (undos, sets.bytes("made.txt"), sets.bytes("moved.txt")) == (2 + len(later), None, None)


def test_an_open_file_without_bytes_stays_without(sets, connect):
    sets = sets({"empty.txt": "", "a.txt": "a\n"}, args=["empty.txt"])
    accept(sets, delete("empty.txt"))
    sets.nvim.undo_turn()
    assert sets.bytes("empty.txt") == b""
    turn = Turn(sets.nvim, connect(sets.nvim))
    turn.edit("empty.txt", "text\n")
    turn.end("empty.txt")
    sets.nvim.wait("vim.api.nvim_buf_get_lines(vim.fn.bufnr('empty.txt'), 0, -1, true)[1] == 'text'")
    sets.nvim.undo_turn()
    assert sets.bytes("empty.txt") == b""
