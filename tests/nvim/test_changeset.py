"""Edits of several files that are decided as one: what is written, dropped and refused."""

import pytest
from changeset_steps import Changesets

pytestmark = pytest.mark.dealt

A = "def add(a, b):\n    return a + b\n"
B = "from a import add\n\nx = add(1, 2)\n\n\n\n\n\n\n\ny = add(3, 4)\n"
RENAME = """{ changes = {
  [uri("a.py")] = { edit(0, 4, 0, 7, "plus") },
  [uri("b.py")] = { edit(0, 14, 0, 17, "plus"), edit(2, 4, 2, 7, "plus"), edit(10, 4, 10, 7, "plus") },
} }"""


SEEN = "is_seen()"


@pytest.fixture
def sets(start_nvim):
    def start(files=None, args=("a.py",), **opts):
        nvim = start_nvim(files=files or {"a.py": A, "b.py": B}, args=list(args), **opts)
        nvim.lua("require('claude-ide').connect()")
        return Changesets(nvim)

    return start


@pytest.mark.every_nvim
def test_what_is_accepted_is_written_and_undone_byte_for_byte(sets):
    sets = sets()
    sets.show(RENAME)
    assert sets.bytes("b.py") == B.encode(), "nothing is written before it is accepted"
    sets.nvim.keys("ZZ")
    answer = sets.answer()
    assert answer["outcome"] == "accepted"
    assert (
        answer["text"]
        == "Rename a to b: accepted, 4 changes in 2 files.\nWritten:\n  a.py (1 change)\n  b.py (3 changes)"
    )
    assert sets.bytes("a.py") == A.replace("add", "plus").encode()
    assert sets.bytes("b.py") == B.replace("add", "plus").encode()
    assert sets.nvim.lines() == A.replace("add", "plus").splitlines()
    assert sets.nvim.lua("return #Ide.review.changes()") == 0, "it needs no review"
    sets.wait_clean()
    assert all(result["ok"] for result in sets.nvim.undo_turn())
    assert (sets.bytes("a.py"), sets.bytes("b.py")) == (A.encode(), B.encode())


@pytest.mark.every_nvim
def test_a_dropped_change_is_not_written_and_told_with_the_words_of_the_user(sets):
    sets = sets()
    sets.show(RENAME)
    sets.nvim.keys("]f")
    sets.nvim.wait(lambda: sets.nvim.lines()[:1] == ["from a import plus"])
    sets.nvim.keys("G")
    sets.nvim.keys("dx")
    sets.nvim.wait(lambda: sets.nvim.lines()[10:] == ["y = add(3, 4)"])
    sets.nvim.wait_screen("2 of 3")
    sets.nvim.keys("ZZ")
    sets.nvim.wait_screen("Reason for dropping the change")
    sets.nvim.keys("that one is another add<CR>")
    answer = sets.answer()
    assert answer["text"].splitlines() == [
        "Rename a to b: accepted in part, 3 changes in 2 files.",
        "The user dropped this, and it was not written:",
        "  b.py: line 11 `y = plus(3, 4)`",
        "The user says: that one is another add",
        "Written:",
        "  a.py (1 change)",
        "  b.py (2 changes)",
    ]
    assert sets.bytes("b.py").decode() == B.replace("add", "plus").replace("plus(3", "add(3")
    sets.wait_clean()


@pytest.mark.every_nvim
def test_a_file_is_dropped_in_the_list(sets):
    sets = sets()
    sets.show(RENAME)
    sets.nvim.keys("<C-w>t")
    sets.nvim.wait(lambda: sets.nvim.lua("return vim.bo.filetype") == "claude-review")
    sets.nvim.keys("dx")
    sets.nvim.wait_screen("◌ a.py")
    sets.nvim.keys("ZZ")
    sets.nvim.wait_screen("Reason for dropping the change")
    sets.nvim.keys("<CR>")
    answer = sets.answer()
    assert "  a.py: all of it\nThey did not say why." in answer["text"]
    assert (sets.bytes("a.py"), sets.bytes("b.py")) == (A.encode(), B.replace("add", "plus").encode())


def test_one_file_has_no_list(sets):
    sets = sets()
    sets.show('{ changes = { [uri("a.py")] = { edit(0, 4, 0, 7, "plus") } } }')
    sets.nvim.wait_screen("a.py · Rename a to b")
    assert len(sets.nvim.lua("return vim.api.nvim_tabpage_list_wins(0)")) == 2, "the two texts"
    assert sets.nvim.lua("return vim.fn.maparg(']f', 'n', false, true).desc") is None
    sets.nvim.keys("dx")
    sets.nvim.wait_screen("· dropped")
    sets.nvim.keys("dx")
    sets.nvim.wait_screen("a.py · Rename a to b")
    sets.nvim.keys("ZZ")
    assert sets.answer()["text"].endswith("Written:\n  a.py (1 change)")
    sets.wait_clean()


def test_a_present_text_that_was_closed_comes_back_under_its_own_name(sets):
    sets = sets()
    sets.show(RENAME)
    sets.nvim.keys("]f")
    sets.nvim.wait(lambda: sets.nvim.lines()[:1] == ["from a import plus"])
    sets.nvim.keys("<C-w>h:bdelete<CR>")
    sets.nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 2", what="the list and the proposal")
    sets.nvim.keys("gl")
    sets.nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 3", what="both texts")
    names = "return vim.tbl_map(function(win) return vim.fn.bufname(vim.fn.winbufnr(win)) end, { 2, 3 })"
    assert sets.nvim.lua(names) == ["b.py (now)", "b.py (Claude)"]


def test_hand_edits_of_a_proposal_are_what_is_written(sets):
    sets = sets()
    sets.show(RENAME)
    sets.nvim.keys("ggwiis_<Esc>")
    sets.nvim.wait(lambda: sets.nvim.lines()[0] == "def is_plus(a, b):")
    sets.nvim.keys("ZZ")
    assert "  a.py (1 change), edited by the user: read it again" in sets.answer()["text"]
    assert sets.bytes("a.py") == A.replace("add", "is_plus").encode()


@pytest.mark.every_nvim
def test_files_are_made_moved_and_removed_and_all_of_it_is_undone(sets):
    files = {"a.py": A, "b.py": B, "c.py": "gone = 1\r\n", "d/e.py": "\ufeffe = 1"}
    sets = sets(files, args=("d/e.py",))
    before = {name: sets.bytes(name) for name in files}
    sets.nvim.lua("_G.buf = vim.api.nvim_get_current_buf()")
    sets.show(
        """{ documentChanges = {
      { kind = "rename", oldUri = uri("d/e.py"), newUri = uri("new/f.py") },
      { textDocument = { uri = uri("new/f.py"), version = vim.NIL }, edits = { edit(0, 0, 0, 1, "f") } },
      { kind = "create", uri = uri("x/y/z.py") },
      { textDocument = { uri = uri("x/y/z.py") }, edits = { edit(0, 0, 0, 0, "z = 1\\n") } },
      { kind = "delete", uri = uri("c.py") },
      { kind = "rename", oldUri = uri("b.py"), newUri = uri("moved.py") },
    } }""",
        title='"Move things"',
    )
    sets.nvim.keys("ZZ")
    assert sets.answer()["text"].splitlines()[2:] == [
        "  c.py (deleted)",
        "  moved.py (moved from b.py)",
        "  new/f.py (moved from d/e.py, 1 change)",
        "  x/y/z.py (created)",
    ]
    assert [sets.bytes(name) for name in ("b.py", "c.py", "d/e.py")] == [None, None, None]
    assert sets.bytes("moved.py") == B.encode()
    assert sets.bytes("new/f.py") == "\ufefff = 1".encode()
    assert sets.bytes("x/y/z.py") == b"z = 1\n"
    assert sets.nvim.lua("return vim.api.nvim_buf_get_name(buf)").endswith("/new/f.py"), "its buffer follows"
    assert not sets.nvim.lua("return vim.bo[buf].modified")
    sets.wait_clean()
    assert all(result["ok"] for result in sets.nvim.undo_turn())
    assert {name: sets.bytes(name) for name in files} == before
    assert [sets.bytes(name) for name in ("moved.py", "new/f.py", "x/y/z.py")] == [None, None, None]
    assert sets.nvim.lua("return vim.api.nvim_buf_get_name(buf)").endswith("/d/e.py"), "it goes back, too"
    assert sets.nvim.lines() == ["e = 1"]
    assert not sets.nvim.lua("return vim.bo[buf].modified")
    sets.nvim.wait(lambda: not (sets.nvim.project / "new").exists(), what="the empty folder to go")


def test_a_moved_file_that_was_changed_since_is_not_moved_back(sets):
    sets = sets({"a.py": A}, args=("a.py",))
    sets.show('{ documentChanges = { { kind = "rename", oldUri = uri("a.py"), newUri = uri("m.py") } } }')
    sets.nvim.keys("ZZ")
    sets.answer()
    sets.wait_clean()
    sets.nvim.keys("Omine = 1<Esc>:write<CR>")
    sets.nvim.wait(lambda: b"mine = 1" in (sets.bytes("m.py") or b""))
    sets.nvim.undo_turn()
    assert b"mine = 1" in sets.bytes("m.py")


def test_what_the_turn_does_later_elsewhere_changes_nothing_about_it(sets):
    sets = sets({"a.py": A, "b.py": A}, args=("a.py",))
    sets.nvim.lua("""
      local landing, path = Ide.journal_transaction, vim.uv.cwd() .. "/"
      local first = landing.begin(nil, true)
      assert(landing.move(first, path .. "a.py", path .. "m.py"))
      landing.finish(first)
      turn = first.turn
    """)
    sets.nvim.keys("Omine = 1<Esc>:write<CR>")
    sets.nvim.wait(lambda: b"mine = 1" in (sets.bytes("m.py") or b""))
    sets.nvim.lua("""
      local landing = Ide.journal_transaction
      landing.finish({ actor = "claude", turn = turn, files = {}, done = {} })
      landing.move_back(turn)
    """)
    assert b"mine = 1" in (sets.bytes("m.py") or b""), "it is not moved back"


REFUSED = {
    "overlap": (
        "{ changes = { [uri('a.py')] = { edit(0, 4, 0, 7, 'x'), edit(0, 5, 0, 9, 'y') } } }",
        "overlap at line 1",
    ),
    "past the end": (
        "{ changes = { [uri('a.py')] = { edit(7, 0, 7, 1, 'x') } } }",
        "at line 8, where the file has no such",
    ),
    "backwards": ("{ changes = { [uri('a.py')] = { edit(1, 0, 0, 1, 'x') } } }", "no such place"),
    "no such file": ("{ changes = { [uri('none.py')] = { edit(0, 0, 0, 0, 'x') } } }", "none.py does not exist"),
    "outside": (
        "{ changes = { ['file:///etc/hosts'] = { edit(0, 0, 0, 0, 'x') } } }",
        "/etc/hosts is outside of the workspace",
    ),
    "link that leads out": (
        "{ changes = { [uri('out/x.py')] = { edit(0, 0, 0, 0, 'x') } } }",
        "outside of the workspace",
    ),
    "withheld": ("{ changes = { [uri('.env')] = { edit(0, 0, 0, 0, 'x') } } }", ".env is private"),
    "there already": ("{ documentChanges = { { kind = 'create', uri = uri('a.py') } } }", "a.py exists already"),
    "moved onto another": (
        "{ documentChanges = { { kind = 'rename', oldUri = uri('a.py'), newUri = uri('b.py') } } }",
        "b.py exists already",
    ),
    "another scheme": ("{ changes = { ['untitled:x'] = { edit(0, 0, 0, 0, 'x') } } }", "untitled:x is not a file"),
    "stale": (
        "{ documentChanges = { { textDocument = { uri = uri('a.py'), version = 7 }, edits = { edit(0, 0, 0, 0, 'x') } } } }",
        "a.py has changed since the server looked",
    ),
    "read-only": ("{ changes = { [uri('ro.py')] = { edit(0, 0, 0, 0, 'x') } } }", "ro.py is read-only"),
    "unknown kind": ("{ documentChanges = { { kind = 'chmod', uri = uri('a.py') } } }", 'unknown kind "chmod"'),
    "a folder": (
        "{ documentChanges = { { kind = 'delete', uri = uri('sub') } } }",
        "sub is a folder that is not empty",
    ),
}


def test_what_cannot_be_done_is_refused_as_a_whole(sets):
    files = {"a.py": A, "b.py": B, ".env": "K=1\n", "ro.py": "x\n", "sub/x.py": "x\n"}
    sets = sets(files)
    (sets.nvim.project / "ro.py").chmod(0o444)
    (sets.nvim.project / "out").symlink_to("/tmp")
    sets.nvim.lua("vim.lsp.util.buf_versions[vim.fn.bufnr('a.py')] = 3")
    for name, (edit, why) in REFUSED.items():
        sets.propose(edit)
        assert why in (sets.answer()["err"] or ""), name
    sets.nvim.lua("vim.b.claude_private = true")
    sets.propose(RENAME)
    assert "a.py is private" in sets.answer()["err"]
    assert {name: sets.bytes(name).decode() for name in files} == files


TEXTS = {
    "crlf": (b"one\r\ntwo\r\n", "edit(1, 0, 1, 3, 'zwei\\ndrei')", b"one\r\nzwei\r\ndrei\r\n"),
    "bom": (b"\xef\xbb\xbfone\n", "edit(0, 0, 0, 3, 'eins')", b"\xef\xbb\xbfeins\n"),
    "no final newline": (b"one\ntwo", "edit(1, 3, 1, 3, '!')", b"one\ntwo!"),
    "a final newline that comes": (b"one", "edit(0, 3, 0, 3, '\\n')", b"one\n"),
    "mixed": (b"one\r\ntwo\nthree\r\n", "edit(1, 0, 1, 3, 'zwei')", b"one\r\nzwei\nthree\r\n"),
    "empty": (b"", "edit(0, 0, 0, 0, 'x\\n')", b"x\n"),
    "emptied": (b"one\n", "edit(0, 0, 1, 0, '')", b""),
    "all of it": (b"one\ntwo\n", "edit(0, 0, 9999, 0, 'ONE\\n')", b"ONE\n"),
    "utf-16": ("a😀b\n".encode(), "edit(0, 3, 0, 4, 'c')", "a😀c\n".encode()),
    "latin1": ("\xe9t\xe9 x\n".encode("latin1"), "edit(0, 4, 0, 5, '\xfc')", "\xe9t\xe9 \xfc\n".encode("latin1")),
}


@pytest.mark.slow
def test_what_no_edit_touches_stays_byte_for_byte(sets):
    sets = sets()
    for opened in (False, True):
        for name, (before, edit, after) in TEXTS.items():
            path = sets.nvim.project / f"{'open' if opened else 'shut'}.{name.replace(' ', '_')}.txt"
            path.write_bytes(before)
            if opened:
                sets.nvim.cmd(f"edit {path.name}")
            sets.propose(f"{{ changes = {{ [uri('{path.name}')] = {{ {edit} }} }} }}", unasked="true")
            answer = sets.answer()
            assert answer.get("outcome") == "accepted", (name, opened, answer)
            assert path.read_bytes() == after, (name, opened)
            assert all(result["ok"] for result in sets.nvim.undo_turn())
            assert path.read_bytes() == before, (name, opened)


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8", 3), ("utf-16", 1), ("utf-32", 1)])
def test_a_rename_in_a_closed_file_whose_mark_the_server_counts_or_does_not(sets, encoding, mark):
    sets = sets({"a.py": "\ufeffadd() + add()\nadd()\n"})
    for counted in (0, mark):
        edits = ", ".join(
            f"edit({line}, {first + counted * (line == 0)}, {line}, {first + counted * (line == 0) + 3}, 'plus')"
            for line, first in ((0, 0), (0, 8), (1, 0))
        )
        sets.propose(
            f"{{ changes = {{ [uri('a.py')] = {{ {edits} }} }} }}",
            unasked="true",
            encoding=f"'{encoding}'",
            old_name="'add'",
        )
        assert sets.answer()["outcome"] == "accepted"
        assert sets.bytes("a.py").decode() == "\ufeffplus() + plus()\nplus()\n", counted
        sets.nvim.undo_turn()


def test_utf_8_and_utf_32_columns(sets):
    sets = sets({"a.txt": "a😀b\n"}, args=("a.txt",))
    for encoding, column in (("utf-8", 5), ("utf-32", 2)):
        edit = f"{{ changes = {{ [uri('a.txt')] = {{ edit(0, {column}, 0, {column + 1}, 'c') }} }} }}"
        sets.propose(edit, unasked="true", encoding=f"'{encoding}'")
        assert sets.answer()["outcome"] == "accepted"
        assert sets.bytes("a.txt") == "a😀c\n".encode()
        sets.nvim.undo_turn()


@pytest.mark.every_nvim
def test_unsaved_text_is_the_base_and_stays_unsaved(sets):
    sets = sets()
    sets.nvim.keys("Onew = 1<Esc>")
    sets.nvim.wait(lambda: sets.nvim.lines()[0] == "new = 1")
    sets.show('{ changes = { [uri("a.py")] = { edit(1, 4, 1, 7, "plus") } } }')
    sets.nvim.wait_screen("unsaved changes")
    sets.nvim.keys("ZZ")
    assert "in the editor's buffer only: the user has unsaved changes there" in sets.answer()["text"]
    sets.wait_clean()
    assert sets.bytes("a.py") == A.encode(), "nobody has saved it"
    assert sets.nvim.lines()[:2] == ["new = 1", "def plus(a, b):"]
    sets.nvim.undo_turn()
    assert sets.nvim.lines()[:2] == ["new = 1", "def add(a, b):"]
    assert sets.bytes("a.py") == A.encode()


@pytest.mark.every_nvim
def test_what_changed_elsewhere_in_its_files_meanwhile_is_planned_anew_and_shown(sets):
    sets = sets()
    sets.show(RENAME)
    sets.nvim.keys("]f")
    sets.nvim.wait(lambda: sets.nvim.lines()[:1] == ["from a import plus"])
    sets.nvim.keys("G")
    sets.nvim.keys("dx")
    sets.nvim.wait(lambda: sets.nvim.lines()[10:] == ["y = add(3, 4)"])
    changed = B.replace("\n\n\n\n\n", "\n\n# of somebody else\n\n\n")
    (sets.nvim.project / "b.py").write_text(changed)
    sets.nvim.keys("ZZ")
    sets.nvim.wait("#notices > 0")
    assert sets.nvim.notices()[0] == "b.py has changed meanwhile: look at it again, then accept."
    assert (sets.bytes("a.py"), sets.bytes("b.py")) == (A.encode(), changed.encode())
    sets.nvim.wait("not proposed.applying and is_seen() and #vim.api.nvim_list_tabpages() == 2")
    sets.nvim.wait(lambda: sets.nvim.lines()[:1] == ["def plus(a, b):"], what="it to be shown anew")
    sets.nvim.keys("ZZ")
    answer = sets.answer()
    assert answer["outcome"] == "accepted"
    assert "Note: the user dropped 1 change before others changed the files." in answer["text"]
    after = changed.replace("add", "plus").replace("plus(3", "add(3")
    assert (sets.bytes("a.py").decode(), sets.bytes("b.py").decode()) == (A.replace("add", "plus"), after)
    sets.wait_clean()


@pytest.mark.every_nvim
def test_what_changed_on_disk_meanwhile_stops_all_of_it_and_can_be_dropped(sets):
    sets = sets()
    sets.show(RENAME)
    (sets.nvim.project / "b.py").write_text("other\n")
    sets.nvim.keys("ZZ")
    sets.nvim.wait("#notices > 0")
    why = "Nothing was written: b.py has changed in the same places: drop it, or reject."
    assert sets.nvim.notices()[0] == why
    assert (sets.bytes("a.py"), sets.bytes("b.py")) == (A.encode(), b"other\n")
    sets.nvim.keys("]f")
    sets.nvim.wait(lambda: sets.nvim.lines()[:1] == ["from a import plus"])
    sets.nvim.keys("dX")
    sets.nvim.wait_screen("◌ b.py")
    sets.nvim.keys("ZZ")
    sets.nvim.wait_screen("Reason for dropping the 3 changes")
    sets.nvim.keys("<CR>")
    assert sets.answer()["outcome"] == "accepted"
    assert (sets.bytes("a.py"), sets.bytes("b.py")) == (A.replace("add", "plus").encode(), b"other\n")


def test_all_that_changed_in_the_same_places_is_told_at_once_before_the_reason_is_asked(sets):
    sets = sets({name: "add = 1\n" for name in ("a.py", "b.py", "c.py", "d.py")})
    nvim = sets.nvim
    edits = ", ".join(f'[uri("{name}.py")] = {{ edit(0, 0, 0, 3, "plus") }}' for name in "abcd")
    sets.show(f"{{ changes = {{ {edits} }} }}")
    nvim.keys("dX")
    nvim.wait_screen("◌ a.py")
    for name in ("b.py", "c.py"):
        (nvim.project / name).write_text("other\n")
    nvim.keys("ZZ")
    nvim.wait("#notices > 0")
    why = "Nothing was written: b.py, c.py have changed in the same places: drop them, or reject."
    assert nvim.notices() == [why]
    for name in ("b.py", "c.py"):
        nvim.wait(lambda name=name: nvim.lua("return vim.fn.bufname()").startswith(name))
        nvim.keys("dX")
        nvim.wait_screen(f"◌ {name}")
    nvim.keys("ZZ")
    nvim.wait_screen("Reason for dropping the 3 changes")
    # It changes while the user types, and the words are there again.
    (nvim.project / "d.py").write_text("other\n")
    nvim.keys("one is enough<CR>")
    nvim.wait("#notices > 1")
    assert "d.py has changed in the same places" in nvim.notices()[1]
    (nvim.project / "d.py").write_text("add = 1\n")
    nvim.wait("not proposed.applying")
    nvim.keys("ZZ")
    nvim.wait_screen("one is enough")
    nvim.keys("<CR>")
    assert "The user says: one is enough" in sets.answer()["text"]
    assert sets.bytes("d.py") == b"plus = 1\n" and sets.bytes("b.py") == b"other\n"


def test_one_that_cannot_be_written_leaves_all_as_it_was(sets):
    sets = sets()
    sets.show(RENAME)
    # Something else stops the second write: a plugin that throws.
    sets.nvim.lua("""
      local write = Ide.journal_write
      local to_disk = write.to_disk
      write.to_disk = function(path, ...)
        if vim.fs.basename(path) == "b.py" and not _G.failed then
          _G.failed = true
          return nil, "ENOSPC: no space left on device"
        end
        return to_disk(path, ...)
      end
    """)
    sets.nvim.keys("ZZ")
    sets.nvim.wait("#notices > 0")
    assert "b.py could not be written: ENOSPC" in sets.nvim.notices()[0]
    assert (sets.bytes("a.py"), sets.bytes("b.py")) == (A.encode(), B.encode())
    assert sets.nvim.lua("return #Ide.requests.pending()") == 1, "it can be tried again"


@pytest.mark.every_nvim
def test_what_is_rejected_taken_back_or_closed_writes_nothing_and_leaves_nothing(sets):
    sets = sets()

    def untouched():
        sets.wait_clean()
        assert (sets.bytes("a.py"), sets.bytes("b.py")) == (A.encode(), B.encode())

    sets.show(RENAME)
    sets.nvim.keys("ZQ")
    assert sets.answer()["outcome"] == "rejected"
    untouched()
    sets.show(RENAME)
    sets.nvim.keys("ZW")
    sets.nvim.wait_screen("Reason:")
    sets.nvim.keys("use sum() instead<CR>")
    assert sets.answer()["words"] == "use sum() instead"
    untouched()
    sets.show(RENAME)
    sets.nvim.cmd("quit")
    assert sets.answer()["outcome"] == "rejected"
    untouched()
    sets.show(RENAME)
    sets.nvim.lua("Ide.requests.cancel(proposed, 'Claude withdrew it')")
    untouched()
    assert sets.nvim.lua("return #answers") == 0
    sets.show(RENAME)
    sets.nvim.keys("gl")
    sets.nvim.keys("gl")
    sets.nvim.keys("gl")
    sets.nvim.lua("Ide.requests.gone(requester, 'that Claude is gone')")
    untouched()


@pytest.mark.parametrize("gone", ["Ide.requests.cancel(proposed, 'It is gone')", "vim.cmd.tabclose()"])
def test_text_that_was_typed_is_kept_where_it_goes_while_it_is_written_and_that_fails(sets, gone):
    sets = sets()
    sets.nvim.lua(
        """
        local apply = Ide.changeset_apply
        local run = apply.run
        apply.run = function(jobs, opts, done) _G.go_on = function() run(jobs, opts, done) end end
        """
    )
    sets.show(RENAME)
    sets.nvim.keys("ggOmine = 1<Esc>")
    sets.nvim.wait(lambda: sets.nvim.lines()[0] == "mine = 1")
    sets.nvim.lua("Ide.proposal_presenter.accept(proposed)")
    (sets.nvim.project / "b.py").write_text("of somebody else\n")
    sets.nvim.lua(gone)
    sets.nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="it to go")
    sets.nvim.lua("go_on()")
    sets.nvim.wait("#notices == 2", what="what became of it")
    [why, kept] = sets.nvim.notices()
    assert why == "Nothing was written: b.py has changed meanwhile."
    assert "Your edits to the proposal are saved" in kept
    assert sets.nvim.lua("return proposed.state") != "pending"
    assert sets.nvim.lua("""
      return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
        return vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == "mine = 1"
      end)
    """)


def test_a_mode_that_accepts_edits_is_not_asked_and_the_review_has_it(sets):
    sets = sets()
    sets.propose(RENAME, unasked="true")
    assert sets.answer()["text"].startswith("Rename a to b: applied, 4 changes in 2 files.")
    assert sets.bytes("b.py") == B.replace("add", "plus").encode()
    assert sets.nvim.lua("return #Ide.review.changes()") == 2
    sets.nvim.cmd("Claude review")
    sets.nvim.wait_screen("before Claude")


ODD = "a = 'x\ry'\nadd = 'z\u2028z'\nb = add\n"


@pytest.mark.parametrize(("lines", "kind"), [((1, 2), "lf"), ((2, 3), "cr"), ((2, 4), "unicode")])
def test_lines_of_a_rename_are_counted_as_the_server_counts_them(sets, lines, kind):
    """U+2028 and U+2029 end a line for TypeScript's server, a lone CR for most."""
    sets = sets({"a.py": A, "odd.py": ODD})
    first, second = lines
    sets.show(
        f'{{ changes = {{ [uri("odd.py")] = {{ edit({first}, 0, {first}, 3, "plus"), edit({second}, 4, {second}, 7, "plus") }} }} }}',
        old_name='"add"',
    )
    sets.nvim.keys("ZZ")
    assert sets.answer()["outcome"] == "accepted", kind
    assert sets.bytes("odd.py").decode() == ODD.replace("add", "plus")


def test_a_rename_that_would_replace_something_else_is_refused(sets):
    sets = sets({"a.py": A})
    for place in ("0, 0, 0, 3", "1, 4, 1, 5", "1, 11, 1, 11"):
        edits = f'edit(0, 4, 0, 7, "plus"), edit({place}, "plus")'
        sets.propose(f'{{ changes = {{ [uri("a.py")] = {{ {edits} }} }} }}', old_name='"add"')
        assert "other text than `add`" in sets.answer()["err"], place
    assert sets.bytes("a.py") == A.encode()


def test_a_rename_may_say_the_whole_text_or_a_part_of_the_word(sets):
    sets = sets({"a.py": A, "b.py": B})
    sets.show(
        """{ changes = {
          [uri("a.py")] = { edit(0, 0, 9, 0, "def adding(a, b):\\n    return a + b\\n") },
          [uri("b.py")] = { edit(2, 7, 2, 7, "ing") },
        } }""",
        old_name='"add"',
    )
    sets.nvim.keys("ZZ")
    assert sets.answer()["outcome"] == "accepted"
    assert sets.bytes("a.py").startswith(b"def adding(a")
    assert b"x = adding(1" in sets.bytes("b.py")


def test_an_edit_behind_an_odd_end_of_line_is_refused_unless_it_is_known_how_the_server_counts(sets):
    sets = sets({"a.py": A, "odd.py": ODD})
    edits = '{ changes = { [uri("odd.py")] = { edit(2, 0, 2, 1, "c") } } }'
    sets.propose(edits)
    assert "do not count its lines alike" in sets.answer()["err"]
    sets.show(edits, breaks='"lf"')
    sets.nvim.keys("ZZ")
    assert sets.answer()["outcome"] == "accepted"
    assert sets.bytes("odd.py").decode() == ODD.replace("b = add", "c = add")
    sets.show('{ changes = { [uri("a.py")] = { edit(0, 0, 0, 3, "def") , edit(1, 0, 1, 0, "  ") } } }')
    sets.nvim.keys("ZZ")
    assert sets.answer()["outcome"] == "accepted", "where all count alike nothing is refused"


def test_an_edit_of_a_text_that_has_changed_since_it_was_asked_for_is_refused(sets):
    sets = sets({"a.py": A})
    sets.nvim.lua("vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()] = vim.b.changedtick")
    sets.propose(
        '{ changes = { [uri("a.py")] = { edit(0, 4, 0, 7, "plus") } } }',
        versions="{ [vim.uv.cwd() .. '/a.py'] = vim.b.changedtick - 1 }",
    )
    assert "a.py has changed since the server looked at it" in sets.answer()["err"]


PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff\xfe\x80\r\n\x00end"
MOVE = '{ documentChanges = { { kind = "rename", oldUri = uri("d"), newUri = uri("e") } } }'


@pytest.mark.every_nvim
def test_a_folder_with_a_picture_is_moved_and_moved_back(sets):
    sets = sets({"a.py": A, "d/b.py": B})
    (sets.nvim.project / "d" / "p.png").write_bytes(PICTURE)
    sets.show(MOVE)
    sets.nvim.keys("ZZ")
    answer = sets.answer()
    assert answer["outcome"] == "accepted", answer
    assert (sets.bytes("d/p.png"), sets.bytes("e/p.png"), sets.bytes("e/b.py")) == (None, PICTURE, B.encode())
    sets.wait_clean()
    assert all(result["ok"] for result in sets.nvim.undo_turn())
    assert (sets.bytes("d/p.png"), sets.bytes("e/p.png"), sets.bytes("d/b.py")) == (PICTURE, None, B.encode())


@pytest.mark.parametrize(
    ("module", "name", "outcome"),
    [
        ("journal_transaction", "begin", None),
        ("journal_transaction", "write", None),
        ("journal_transaction", "finish", "accepted"),
        ("lsp", "files_changed", "accepted"),
        ("changeset_world", "is_unchanged", None),
    ],
)
def test_whatever_fails_on_the_way_the_agent_is_answered_and_the_changeset_ends(sets, module, name, outcome):
    sets = sets()
    sets.nvim.lua(
        """
        local module, name = ...
        local changeset = Ide.proposal
        local propose = changeset.propose
        changeset.propose = function(...) -- what plans it looks, too
          Ide[module][name] = function() error("broken") end
          return propose(...)
        end
        """,
        module,
        name,
    )
    sets.propose(RENAME, unasked="true")
    answer = sets.answer()
    assert answer.get("outcome") == outcome
    assert outcome or "nothing was written" in answer["err"]
    assert sets.bytes("a.py") == (A.replace("add", "plus") if outcome else A).encode()
    sets.wait_clean()


def test_one_file_by_two_names_is_changed_where_both_would_hold_the_same(sets):
    """As in a project with a link: servers know the file by both names."""
    sets = sets({"a.py": A, "b.py": B})
    (sets.nvim.project / "c.py").symlink_to("b.py")
    both = RENAME.replace(
        '[uri("b.py")]',
        '[uri("c.py")] = { edit(0, 14, 0, 17, "plus"), edit(2, 4, 2, 7, "plus"), edit(10, 4, 10, 7, "plus") }, [uri("b.py")]',
    )
    sets.show(both)
    sets.nvim.keys("ZZ")
    assert sets.answer()["text"].splitlines()[0] == "Rename a to b: accepted, 4 changes in 2 files."
    assert sets.bytes("b.py") == B.replace("add", "plus").encode()
    assert (sets.nvim.project / "c.py").is_symlink()
    sets.propose(
        RENAME.replace('[uri("b.py")]', '[uri("c.py")] = { edit(0, 14, 0, 18, "minus") }, [uri("b.py")]').replace(
            "14, 0, 17", "14, 0, 18"
        )
    )
    assert "are the same file" in sets.answer()["err"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("method", ["manual", "indent"])
def test_folds_that_a_changeset_writes_into_stay_closed(sets, method):
    sets = sets({"a.py": "".join(f"def f{number}():\n    a = {number}\n    return a\n" for number in range(30))})
    nvim = sets.nvim
    nvim.cmd(f"setlocal foldmethod={method}")
    for first in range(2, 91, 3) if method == "manual" else ():
        nvim.cmd(f"{first},{first + 1}fold")
    nvim.keys("zMggzjzo")
    nvim.wait("vim.fn.foldclosed(2) == -1")
    closed = "return vim.tbl_filter(function(i) return vim.fn.foldclosed(i) == i end, vim.fn.range(1, 91))"
    assert nvim.lua(closed) == list(range(5, 91, 3))
    edits = ", ".join(f'edit({row}, 4, {row}, 5, "zz")' for row in range(1, 90, 3))
    sets.show(f'{{ changes = {{ [uri("a.py")] = {{ {edits}, edit(4, 0, 4, 0, "    x = 1\\n") }} }} }}')
    nvim.keys("ZZ")
    assert sets.answer()["outcome"] == "accepted"
    sets.wait_clean()
    assert nvim.lua(closed) == [5, *range(9, 91, 3)]


def test_a_change_of_many_files_is_reported_in_few_words(sets):
    names = [f"f{number:02}.py" for number in range(40)]
    sets = sets({name: "add = 1\n" for name in names}, args=names[:1])
    edits = ", ".join(f'[uri("{name}")] = {{ edit(0, 0, 0, 3, "plus") }}' for name in names)
    sets.propose(f"{{ changes = {{ {edits} }} }}", unasked="true")
    text = sets.answer()["text"]
    assert text.splitlines() == [
        "Rename a to b: applied, 40 changes in 40 files.",
        "Written:",
        *(f"  {name} (1 change)" for name in names[:4]),
        "  … and 36 more files, as proposed",
    ]
    assert len(text) < 200


# ── commands that mean any proposed edit ──

ONE = "{ changes = { [uri('a.py')] = { edit(0, 0, 0, 0, '# ') }, [uri('b.py')] = { edit(1, 0, 1, 0, '# ') } } }"


@pytest.fixture
def both(start_nvim):
    """A changeset of two files, and a diff that came after it."""
    nvim = start_nvim(files={"a.py": "one\ntwo\n", "b.py": "one\ntwo\n", "c.txt": "old\n"}, args=["c.txt"])
    sets = Changesets(nvim)
    sets.show(ONE)
    nvim.lua("""
    local path = vim.uv.cwd() .. "/c.txt"
    diff = Ide.proposal.propose(requester, "d", { path = path, contents = "new\\n" })
    """)
    nvim.wait("Ide.proposal.list()[2].added == 1", what="the diff to be made")
    return sets


@pytest.mark.every_nvim
def test_it_is_counted_listed_and_gone_to_among_the_diffs(both):
    nvim = both.nvim
    assert nvim.lua("return require('claude-ide').status().diffs") == 2
    listed = nvim.lua("return Ide.proposal.list()")
    assert [(item["tab_name"], item["added"], item["removed"]) for item in listed][0] == ("Rename a to b", 2, 2)
    assert [file["first"] for file in listed[0]["files"]] == [1, 2]
    nvim.lua("assert(Ide.proposal.focus(proposed.id))")
    kind = "return (vim.b.claude_ide or {}).id == ({ proposed.id, diff.id })[...]"
    for command, at in (("next", 2), ("next", 1), ("previous", 2), ("previous", 1)):
        nvim.cmd(f"Claude diffs {command}")
        nvim.wait(lambda at=at: nvim.lua(kind, at), what=f"{command} to go to {at}")
    nvim.cmd("Claude diffs quickfix")
    items = nvim.lua(
        "return vim.tbl_map(function(i) return { vim.fs.basename(vim.fn.bufname(i.bufnr)), i.lnum } end, vim.fn.getqflist())"
    )
    assert items == [["a.py", 1], ["b.py", 2], ["c.txt", 1]]
    nvim.keys("j<CR>")
    nvim.wait("vim.fn.bufname() == 'b.py (Claude)'", what="the file of the changeset")
    nvim.cmd("Claude diffs quickfix")
    nvim.keys("G<CR>")
    nvim.wait("vim.fn.bufname() == 'c.txt (Claude)'", what="the diff")


def test_it_is_accepted_and_rejected_by_whatever_decides_on_diffs(both):
    nvim = both.nvim
    nvim.cmd("tabfirst")
    assert nvim.lua("return require('claude-ide').accept()") is True
    nvim.wait("#answers == 1")
    assert nvim.lua("return answers[1].handle") == "r", "it has waited longest"
    assert both.bytes("a.py") == b"# one\ntwo\n"
    both.show(ONE, handle="'again'")
    nvim.cmd("Claude accept all")
    nvim.wait("#answers == 2")
    nvim.wait("Ide.proposal.list()[1].seen", what="the one that was not seen to be shown")
    nvim.cmd("Claude accept all")
    nvim.wait("#answers == 3")
    assert nvim.lua("return { answers[2].outcome, answers[3].outcome }") == ["accepted", "accepted"]


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    "keys", [":w<CR>", "<C-w>t:w<CR>", "<C-w>t:edit<CR>:wq<CR>", "<C-w>h:w<CR>", "<C-w>h:edit<CR>:w<CR>"]
)
def test_writing_accepts_it(start_nvim, keys):
    """In the proposal, in the list, and where the present text is."""
    sets = Changesets(
        start_nvim(files={"a.py": "one\ntwo\n", "b.py": "one\ntwo\n"}, opts={"diff": {"layout": "vertical"}})
    )
    sets.show(ONE)
    sets.nvim.keys(keys)
    sets.nvim.wait("#answers == 1")
    assert sets.nvim.lua("return answers[1].outcome") == "accepted"
    assert sets.bytes("b.py") == b"one\n# two\n"


def test_the_list_leads_to_no_window_that_is_gone(sets):
    sets = sets()
    nvim = sets.nvim
    sets.show('{ changes = { [uri("a.py")] = { edit(0, 0, 0, 1, "x") }, [uri("b.py")] = { edit(0, 0, 0, 1, "x") } } }')
    nvim.lua("vim.v.errmsg = ''")
    nvim.lua("""
      for _, win in ipairs(vim.api.nvim_list_wins()) do
        local mark = vim.b[vim.api.nvim_win_get_buf(win)].claude_ide
        if mark and mark.kind == "proposal" then vim.cmd("noautocmd call nvim_win_close(" .. win .. ", v:true)") end
      end
    """)
    nvim.keys("<C-w>t<CR>")
    nvim.keys(":let g:typed = 1<CR>")
    nvim.wait("vim.g.typed == 1")
    assert nvim.lua("return vim.v.errmsg") == ""


LAYOUT = "return { vim.fn.winlayout(), vim.fn.winrestcmd() }"
LEFT = "return { #vim.api.nvim_list_wins(), Ide.proposal.count() }"
WINDOWS = """
return vim.tbl_map(function(win)
  return vim.fn.bufname(vim.api.nvim_win_get_buf(win))
end, vim.api.nvim_tabpage_list_wins(0))
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("layout", ["vertical", "horizontal", "unified"])
@pytest.mark.parametrize("place", ["current", "float"])
def test_it_opens_where_diffs_open(sets, place, layout):
    sets = sets(opts={"diff": {"open_in": place, "layout": layout}})
    nvim = sets.nvim
    nvim.cmd("vsplit b.py")
    before = nvim.lua(LAYOUT)
    for keys, outcome in (("]fZZ", "accepted"), ("[fZQ", "rejected"), (":q<CR>", "rejected")):
        sets.show(RENAME)
        shown = nvim.lua(WINDOWS)
        sides = {"a.py (Claude)"} if layout == "unified" else {"a.py (Claude)", "a.py (now)"}
        assert nvim.lua("return #vim.api.nvim_list_tabpages()") == 1
        assert {"changes (Claude)", "a.py", "b.py"} | sides == set(shown)
        nvim.wait_screen("b.py")
        nvim.keys(keys)
        assert sets.answer()["outcome"] == outcome
        nvim.wait(lambda: nvim.lua(LEFT) == [2, 0], what="nothing of it to be left")
        nvim.wait(lambda: nvim.lua(LAYOUT) == before, what="the windows as they were")
        if outcome == "accepted":
            assert all(result["ok"] for result in sets.nvim.undo_turn())


def test_its_events_are_those_of_diffs(sets):
    sets = sets()
    sets.nvim.keep_events("ClaudeDiff*")
    sets.show(RENAME)
    sets.nvim.keys("ZZ")
    sets.answer()
    sets.wait_clean()
    sets.nvim.wait("#events == 2", what="its end to be told")
    told = [(name, data["tab_name"], data.get("outcome")) for name, data in sets.nvim.events()]
    assert told == [
        ("ClaudeDiffOpened", "Rename a to b", None),
        ("ClaudeDiffClosed", "Rename a to b", "accepted"),
    ]


def test_a_change_that_the_server_wants_confirmed_says_so(sets):
    sets = sets()
    for needs in ("true", "false"):
        sets.nvim.lua(
            """
          local needs = ...
          answered = nil
          local change = { textDocument = { uri = uri("a.py") }, edits = { edit(0, 4, 0, 7, "plus") } }
          local annotations = { x = { label = "Odd", needsConfirmation = needs == "true" } }
          local asked = { edit = { documentChanges = { change }, changeAnnotations = annotations }, encoding = "utf-16" }
          Ide.changeset.plan({ asked }, function(_, _, _, is_needed) answered = tostring(is_needed) end)
        """,
            needs,
        )
        sets.nvim.wait("answered ~= nil", what="the plan")
        assert sets.nvim.lua("return answered") == needs
