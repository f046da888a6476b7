"""Buffers as files: found by exact path, read as exact bytes, reloaded without a prompt."""

import os
import shutil

import pytest

from harness.files import text_of

pytestmark = pytest.mark.dealt

FIND = "local b = Ide.buffer.find(...) return b and vim.api.nvim_buf_get_name(b) or false"
TEXT = "return Ide.buffer.text(vim.api.nvim_get_current_buf())"
RELOAD = "local did, why = Ide.buffer_disk.reload(... or vim.api.nvim_get_current_buf()) return { did, why }"
ODD_NAMES = ["a b.txt", "100%.txt", "x[1].txt", "*.txt", "{a,b}.txt", "$HOME.txt", "~", "#1", r"a\b.txt", "ü.txt"]
ODD_NAMES += ["u\u0308.txt"]


def edit(nvim, path):
    nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", str(path))


def test_every_name_finds_its_own_buffer_and_none_is_a_pattern(start_nvim):
    nvim = start_nvim(files={name: name for name in ODD_NAMES if name != "*.txt"})
    for name in (*ODD_NAMES, "new/not there yet.tsx"):
        assert nvim.lua(FIND, str(nvim.project / name)) is False
        edit(nvim, nvim.project / name)
    for name in (*ODD_NAMES, "new/not there yet.tsx"):
        assert nvim.lua(FIND, str(nvim.project / name)) == str(nvim.project / name)
    assert nvim.lua(FIND, str(nvim.project / "new/not there yet.ts")) is False


def test_a_file_is_found_by_way_of_links(start_nvim):
    nvim = start_nvim(files={"real/a.txt": "x\n"})
    (nvim.project / "link").symlink_to("real")
    (nvim.project / "b.txt").symlink_to("real/a.txt")
    edit(nvim, nvim.project / "real" / "a.txt")
    for path in ("link/a.txt", "b.txt", "real/../link/./a.txt", "real//a.txt"):
        assert nvim.lua(FIND, str(nvim.project / path)) == str(nvim.project / "real/a.txt"), path


def test_only_ordinary_buffers_are_files(start_nvim):
    nvim = start_nvim(files={"a.txt": "x\n"})
    assert nvim.lua("""
      local is_file = Ide.buffer.is_file
      local function open(cmd) vim.cmd(cmd) return is_file(vim.api.nvim_get_current_buf()) end
      return { open("edit a.txt"), open("enew"), open("help"), open("terminal true"), open("edit ."),
        open("enew | file oil:///tmp/"), open("edit never-written.txt"), is_file(99999) }
    """) == [True, False, False, False, False, False, True, False]


@pytest.mark.shared
def test_paths_are_normal_and_compared_by_whole_names(nvim):
    normal = {
        "/a/./b//c/": "/a/b/c",
        "/a/../../b": "/b",
        "/a/..b/c..": "/a/..b/c..",
        "/~/$HOME/%41": "/~/$HOME/%41",
        "/": "/",
        "/..": "/",
    }
    assert nvim.lua("return vim.tbl_map(Ide.path.normalize, ...)", list(normal)) == list(normal.values())
    assert nvim.lua("""
      local p = Ide.path
      return { p.within("/a/b", "/a"), p.within("/ab", "/a"), p.within("/a", "/a/"), p.within("/x", "/"),
        p.relative("/a/b/c", "/a"), p.relative("/ab", "/a"), p.relative("/a", "/a"), p.relative("/a", "/") }
    """) == [True, False, True, True, "b/c", "/ab", ".", "a"]


def test_a_uri_is_read_raw_and_unescaped_only_where_such_a_file_exists(start_nvim):
    nvim = start_nvim(files={"a b.txt": "", "c%20d.txt": "", "c d.txt": ""})
    read = "return Ide.path.from_uri(...)"
    for scheme, written, name in [
        ("file://", "a b.txt", "a b.txt"),
        ("file://", "a%20b.txt", "a b.txt"),
        ("file://", "c%20d.txt", "c%20d.txt"),
        ("file://localhost", "a b.txt", "a b.txt"),
        ("_claude_fs_right:", "a b.txt", "a b.txt"),
        ("", "a b.txt", "a b.txt"),
    ]:
        assert nvim.lua(read, f"{scheme}{nvim.project}/{written}") == str(nvim.project / name)
    for uri in ("https://example.org/x", "file://host/x"):
        assert nvim.lua(read, uri) is None


FILES = {
    "unix": b"a\nb\n",
    "dos": b"a\r\nb\r\n",
    "mixed": b"a\r\nb\n",
    "no final newline": b"a\nb",
    "dos, no final newline": b"a\r\nb",
    "empty": b"",
    "one empty line": b"\n",
    "byte order mark": b"\xef\xbb\xbfa\n",
    "nul": b"a\0b\n",
    "multibyte": "ünï😀\n".encode(),
    "lone carriage return": b"a\rb\n",
}


def test_text_is_what_a_write_would_give(start_nvim):
    nvim = start_nvim(files=FILES, init_lua="vim.o.fixendofline = false")
    for name, content in FILES.items():
        edit(nvim, nvim.project / name)
        assert nvim.lua(TEXT).encode() == content, name
        nvim.cmd("write")
        assert (nvim.project / name).read_bytes() == content, name
        assert nvim.lua(TEXT).encode() == content, name


def test_text_of_mac_and_binary_buffers_and_with_the_newline_that_a_write_would_add(start_nvim):
    nvim = start_nvim(files={"a.txt": "a", "mac.txt": b"a\rb\nc\r", "bin": b"\xef\xbb\xbfa\r\nb"})
    nvim.cmd("edit a.txt")
    assert nvim.lua(TEXT) == "a\n"
    nvim.cmd("edit ++ff=mac mac.txt")
    assert nvim.lua(TEXT).encode() == b"a\rb\nc\r"
    nvim.cmd("edit ++bin bin")
    assert nvim.lua(TEXT).encode() == b"\xef\xbb\xbfa\r\nb"


def test_text_of_another_encoding_is_the_text(start_nvim):
    nvim = start_nvim(files={"a.txt": "grün\n".encode("latin-1"), "b.txt": "\ufeffgrün\n".encode("utf-16-le")})
    edit(nvim, nvim.project / "a.txt")
    assert nvim.lua("return vim.bo.fileencoding") == "latin1"
    assert nvim.lua(TEXT) == "grün\n"
    edit(nvim, nvim.project / "b.txt")
    assert nvim.lua(TEXT) == "\ufeffgrün\n"


LINES = [f"line {number}" for number in range(1, 101)]


def text(lines):
    return "".join(line + "\n" for line in lines)


@pytest.fixture
def opened(start_nvim):
    """A Neovim with a file of a hundred lines, cursor in line 50."""
    nvim = start_nvim(files={"a.txt": text(LINES)})
    edit(nvim, nvim.project / "a.txt")
    nvim.cmd("normal! 50G3l")
    return nvim


def change(nvim, lines, name="a.txt"):
    content = text(lines) if isinstance(lines, list) else lines
    path = nvim.project / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_reload_takes_the_new_text_once_and_asks_nothing(opened):
    tick = opened.lua("return vim.b.changedtick")
    assert opened.lua(RELOAD) == [False]
    os.utime(opened.project / "a.txt", (1, 1))
    assert opened.lua(RELOAD) == [False]
    assert opened.lua("return vim.b.changedtick") == tick
    change(opened, ["new"] + LINES[:20] + LINES[30:])
    assert opened.lua(RELOAD) == [True]
    assert opened.lines() == ["new"] + LINES[:20] + LINES[30:]
    assert opened.lua("return vim.bo.modified") is False
    opened.cmd("checktime")
    opened.keys("ix<Esc>:write<CR>")
    opened.wait(lambda: "x" in (text_of(opened.project / "a.txt") or ""), what="the write")
    opened.wait("not vim.bo.modified and vim.fn.mode() == 'n'")
    assert not any("WARNING" in line or "W1" in line for line in opened.screen())


def test_a_deleted_file_leaves_the_buffer_and_a_modified_buffer_is_never_touched(opened):
    (opened.project / "a.txt").unlink()
    assert opened.lua(RELOAD) == [False, "no file"]
    assert opened.lines() == LINES
    opened.keys("ochanged<Esc>")
    opened.wait(lambda: "changed" in opened.lines() and opened.mode() == "n")
    change(opened, ["other"])
    assert opened.lua(RELOAD) == [False, "modified"]
    assert "changed" in opened.lines()


def test_a_text_that_was_read_before_its_file_went_is_not_taken_over(opened):
    opened.lua("""
      local path, schedule = ...
      vim.fn.writefile({ "theirs" }, path)
      vim.schedule = function(step) held = held or step end
      Ide.buffer_disk.reload_all({ vim.api.nvim_get_current_buf() }, function() end)
      vim.wait(20000, function() return held ~= nil end)
      vim.schedule = schedule
      vim.fn.delete(path)
      held()
    """, str(opened.project / "a.txt"))  # fmt: skip
    assert opened.lines() != ["theirs"]


def test_a_change_that_keeps_size_and_time_is_seen_the_first_time(opened):
    path = opened.project / "a.txt"
    before = path.stat()
    change(opened, [line.upper() for line in LINES])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert opened.lua(RELOAD) == [True]


@pytest.mark.every_nvim
def test_reload_is_one_undo_step_and_undoing_it_modifies(opened):
    opened.keys("ggIown <Esc>:w<CR>")
    opened.wait("not vim.bo.modified and vim.fn.getline(1) == 'own line 1'")
    change(opened, ["X"] + LINES[10:50] + ["Y"] + LINES[60:])
    assert opened.lua(RELOAD) == [True]
    opened.cmd("undo")
    assert opened.lines() == ["own line 1"] + LINES[1:]
    assert opened.lua("return vim.bo.modified") is True
    opened.cmd("undo")
    assert opened.lines() == LINES
    opened.cmd("redo | redo")
    assert opened.lua("return vim.bo.modified") is False
    assert opened.lines()[0] == "X"


@pytest.mark.every_nvim
def test_reload_keeps_cursor_and_view_in_every_window(opened):
    opened.cmd("split | normal! 80Gzt")
    opened.cmd("wincmd p | normal! 50Gzz2l")
    opened.cmd("tabedit % | normal! 95G")
    views = "return vim.tbl_map(function(w) return vim.api.nvim_win_call(w, function() return { vim.fn.line('.'), vim.fn.line('w0'), vim.fn.col('.') } end) end, vim.fn.win_findbuf(vim.api.nvim_get_current_buf()))"
    before = opened.lua(views)
    change(opened, ["a", "b", "c"] + LINES[:60] + ["d"] + LINES[60:])
    assert opened.lua(RELOAD) == [True]
    moved = [[line + (3 if line <= 60 else 4), top + (3 if top <= 60 else 4), col] for line, top, col in before]
    assert opened.lua(views) == moved


@pytest.mark.every_nvim
def test_reload_keeps_marks_jumps_extmarks_and_folds(opened):
    opened.lua("""
      vim.cmd("10mark a | 20mark b | 30mark c | 40mark Q")
      vim.cmd("normal! 60Gm'70G")
      ns = vim.api.nvim_create_namespace("test")
      extmark = vim.api.nvim_buf_set_extmark(0, ns, 79, 2, {})
      vim.wo.foldmethod = "manual"
      vim.cmd("85,88fold")
    """)
    changed = list(LINES)
    changed[19] = "line twenty"  # with the mark b
    change(opened, ["top"] + changed[:24] + changed[26:])
    assert opened.lua(RELOAD) == [True]
    assert opened.lua("""
      local jump = vim.iter(vim.fn.getjumplist()[1]):map(function(j) return j.lnum end):totable()
      return { vim.fn.line("'a"), vim.fn.line("'b"), vim.fn.line("'c"), vim.fn.line("'Q"), vim.tbl_contains(jump, 59),
        vim.api.nvim_buf_get_extmark_by_id(0, ns, extmark, {}), vim.fn.foldclosed(84), vim.fn.foldclosedend(84) }
    """) == [11, 21, 29, 39, True, [78, 2], 84, 87]


def test_only_the_part_of_a_line_that_differs_changes(opened):
    opened.lua("""
      ns = vim.api.nvim_create_namespace("test")
      start = vim.api.nvim_buf_set_extmark(0, ns, 4, 2, {})
      finish = vim.api.nvim_buf_set_extmark(0, ns, 4, 6, {})
    """)
    changed = list(LINES)
    changed[4] = "line — 5"
    change(opened, changed)
    assert opened.lua(RELOAD) == [True]
    at = "return { vim.api.nvim_buf_get_extmark_by_id(0, ns, start, {}), vim.api.nvim_buf_get_extmark_by_id(0, ns, finish, {}) }"
    assert opened.lua(at) == [[4, 2], [4, 10]]


def test_reload_takes_over_the_format(opened):
    opened.cmd("set nofixendofline")
    for name, content in FILES.items():
        change(opened, content)
        assert opened.lua(RELOAD) == [True], name
        assert opened.lua(TEXT).encode() == content, name
        assert opened.lua("return vim.bo.modified") is False, name
        change(opened, LINES)
        assert opened.lua(RELOAD) == [True], name
        assert opened.lines() == LINES, name


def test_reload_of_another_encoding_is_left_to_neovim(start_nvim):
    nvim = start_nvim(files={"a.txt": "grün\n".encode("latin-1")})
    edit(nvim, nvim.project / "a.txt")
    change(nvim, "grün\nblau\n".encode("latin-1"))
    assert nvim.lua(RELOAD) == [True]
    assert nvim.lines() == ["grün", "blau"]
    assert nvim.lua("return { vim.bo.fileencoding, vim.bo.modified }") == ["latin1", False]
    change(nvim, "grün\nblau\ngrau\n")
    assert nvim.lua(RELOAD) == [True]
    assert nvim.lines() == ["grün", "blau", "grau"]


@pytest.mark.every_nvim
def test_reload_keeps_an_encoding_and_a_format_that_the_user_chose(start_nvim):
    nvim = start_nvim(files={"a.txt": "один\n".encode("cp1251"), "b.txt": "one\n", "c.txt": "grün\n"})
    nvim.lua("Ide.buffer_stamp.attach()")
    state = "return { vim.bo.fileencoding, vim.bo.fileformat, vim.bo.modified }"
    nvim.cmd("edit ++enc=cp1251 a.txt")
    for words in ("один\nдва\n", "три\n"):
        change(nvim, words.encode("cp1251"))
        assert nvim.lua(RELOAD) == [True]
        assert (nvim.lines(), nvim.lua(state)) == (words.split(), ["cp1251", "unix", False])
    nvim.cmd("edit ++ff=dos b.txt")
    for words in ("one\ntwo\n", "three\n"):
        change(nvim, words, "b.txt")
        assert nvim.lua(RELOAD) == [True]
        assert (nvim.lines(), nvim.lua(state)) == (words.split(), ["utf-8", "dos", False])
    nvim.cmd("edit ++enc=latin1 c.txt")
    change(nvim, "grün\nblau\n", "c.txt")
    nvim.cmd("set autoread | checktime")  # Neovim's own reload
    nvim.wait(lambda: nvim.lines() == ["grÃ¼n", "blau"], what="the reload")
    change(nvim, "grün\n", "c.txt")
    assert nvim.lua(RELOAD) == [True]
    assert (nvim.lines(), nvim.lua(state)) == (["grÃ¼n"], ["latin1", "unix", False])
    nvim.cmd("edit c.txt")
    change(nvim, "grün\nblau\n", "c.txt")
    nvim.cmd("checktime")
    nvim.wait(lambda: nvim.lines() == ["grün", "blau"], what="the reload")
    change(nvim, "grün\n".encode("latin-1"), "c.txt")
    assert nvim.lua(RELOAD) == [True]
    assert (nvim.lines(), nvim.lua(state)) == (["grün"], ["latin1", "unix", False])


@pytest.mark.every_nvim
def test_reload_writes_no_file_where_autocommands_do_not_run(opened):
    path = opened.project / "a.txt"
    ways = {
        "eventignore": f"vim.o.eventignore = 'all' vim.g.did = (function(...) {RELOAD} end)() vim.o.eventignore = ''",
        "an autocommand": f"""
            vim.api.nvim_create_autocmd("User", {{ pattern = "Now", once = true, callback = function()
              vim.g.did = (function(...) {RELOAD} end)()
            end }})
            vim.cmd("doautocmd User Now")
        """,
    }
    if opened.lua("return vim.fn.exists('+eventignorewin')") == 1:
        ways["eventignorewin"] = f"vim.wo.eventignorewin = 'all' vim.g.did = (function(...) {RELOAD} end)()"
    for number, (way, code) in enumerate(ways.items()):
        change(opened, LINES[: 50 + number])
        os.utime(path, (1, 1))
        opened.lua(code)
        assert opened.lua("return vim.g.did") == [True], way
        assert (opened.lines(), path.stat().st_mtime) == (LINES[: 50 + number], 1), way
        assert opened.lua("return { vim.bo.modified, vim.bo.buftype }") == [False, ""], way
    opened.lua("vim.o.eventignore = 'all'")
    assert opened.lua("return vim.o.eventignore") == "all"
    opened.keys("x:write<CR>")
    opened.wait(lambda: path.stat().st_mtime != 1, what="the write, without a question")


def test_reload_takes_no_ctrl_z_over_to_a_file_without_one(start_nvim):
    nvim = start_nvim(files={"a.txt": b"one\r\ntwo\r\n\x1a"})
    nvim.cmd("set nofixendofline")
    edit(nvim, nvim.project / "a.txt")
    change(nvim, b"one\r\nthree\r\n")
    assert nvim.lua(RELOAD) == [True]
    assert nvim.lua(TEXT).encode() == b"one\r\nthree\r\n"
    nvim.cmd("write")
    assert (nvim.project / "a.txt").read_bytes() == b"one\r\nthree\r\n"


def test_reload_works_where_people_may_not_write(opened):
    opened.cmd("setlocal nomodifiable readonly")
    change(opened, LINES[:5])
    assert opened.lua(RELOAD) == [True]
    state = opened.lua("return { vim.fn.line('$'), vim.bo.modifiable, vim.bo.readonly, vim.bo.modified }")
    assert state == [5, False, True, False]


def test_reload_leaves_autoread_as_it_is(opened):
    state = "return { vim.o.autoread, vim.api.nvim_get_option_value('autoread', { scope = 'local' }) == nil }"
    before = opened.lua(state)
    opened.lua(
        "vim.api.nvim_create_autocmd('FileChangedShell', { callback = function() vim.v.fcs_choice = 'reload' end })"
    )
    change(opened, LINES[:5])
    assert opened.lua(RELOAD) == [True]
    assert opened.lua(state) == before
    opened.cmd("setlocal noautoread")
    change(opened, LINES[:6])
    assert opened.lua(RELOAD) == [True]
    assert opened.lua("return vim.api.nvim_get_option_value('autoread', { scope = 'local' })") is False


@pytest.mark.parametrize(("choice", "reloaded"), [("reload", True), ("edit", True), ("", False), ("ask", False)])
def test_somebody_elses_file_changed_shell_decides(opened, choice, reloaded):
    opened.lua(
        "vim.api.nvim_create_autocmd('FileChangedShell', { pattern = '*.txt', callback = function() vim.g.asked = vim.v.fcs_reason vim.v.fcs_choice = vim.g.choice end }) vim.g.choice = ...",
        choice,
    )
    change(opened, LINES[:5])
    assert opened.lua(RELOAD)[0] is reloaded
    assert opened.lua("return vim.g.asked") == "changed"
    assert opened.lines() == (LINES[:5] if reloaded else LINES)


@pytest.mark.every_nvim
def test_reload_is_told_to_linters_and_others_moves_no_cursor_and_sets_nothing_up_again(opened):
    opened.lua("""
      linted, set_up = {}, 0
      vim.api.nvim_create_autocmd("BufReadPost", { callback = function(e)
        table.insert(linted, vim.api.nvim_buf_get_lines(e.buf, 0, 1, false)[1])
        vim.cmd("normal! gg")
      end })
      vim.api.nvim_create_autocmd("FileChangedShellPost", { callback = function(e) post = e.buf end })
      vim.api.nvim_create_autocmd("FileType", { callback = function() set_up = set_up + 1 end })
      vim.bo.filetype = "conf"
      set_up = 0
      vim.cmd("normal! 3G")
    """)
    change(opened, ["first", *LINES[1:5]])
    assert opened.lua(RELOAD)[0] is True
    state = opened.lua("return { linted, set_up, vim.fn.line('.'), vim.bo.filetype, vim.o.eventignore }")
    assert state == [["first"], 0, 3, "conf", ""]
    assert opened.lua("return post == vim.api.nvim_get_current_buf()")


def test_an_autocommand_that_writes_files_itself_is_not_asked_to(opened):
    opened.cmd("autocmd BufWriteCmd *.txt let g:wrote = 1")
    change(opened, LINES[:5])
    assert opened.lua(RELOAD) == [True]
    assert opened.lines() == LINES[:5]
    assert opened.lua("return vim.g.wrote") is None


@pytest.mark.every_nvim
def test_reload_runs_while_the_user_types_elsewhere(opened):
    opened.cmd("new")
    opened.keys("ihello")
    opened.wait("vim.fn.getline(1) == 'hello'")
    change(opened, LINES[:5])
    assert opened.lua(RELOAD, opened.lua("return vim.fn.bufadd(...)", str(opened.project / "a.txt"))) == [True]
    opened.keys(" world")
    opened.wait("vim.fn.getline(1) == 'hello world'")
    assert opened.mode() == "i"


@pytest.mark.slow
def test_a_large_file_is_reloaded(start_nvim):
    lines = [f"row {number} " + "x" * 40 for number in range(60_000)]
    nvim = start_nvim(files={"a.txt": text(lines)})
    edit(nvim, nvim.project / "a.txt")
    nvim.cmd("50000mark a")
    changed = ["zero"] + [line + "!" if index % 1000 == 0 else line for index, line in enumerate(lines)]
    change(nvim, changed)
    assert nvim.lua(RELOAD) == [True]
    state = nvim.lua("return { vim.fn.line('$'), vim.fn.getline(1002), vim.fn.line([['a]]) }")
    assert state == [60_001, changed[1001], 50_001]
    change(nvim, [line + "?" for line in changed])
    assert nvim.lua(RELOAD) == [True]
    assert nvim.lua("return vim.fn.getline(2)") == changed[1] + "?"


@pytest.mark.slow
def test_a_file_too_large_to_compare_is_reloaded_by_neovim(start_nvim):
    nvim = start_nvim(files={"a.txt": "x" * 99 + "\n" + "long line\n" * 1_000_000})
    edit(nvim, nvim.project / "a.txt")
    nvim.cmd("normal! 500G")
    assert nvim.lua(RELOAD) == [False]
    change(nvim, "y\n" + "long line\n" * 1_000_000)
    assert nvim.lua(RELOAD) == [True]
    assert nvim.lua("return { vim.fn.getline(1), vim.fn.line('.'), vim.bo.modified }") == ["y", 500, False]


@pytest.mark.slow
def test_many_buffers_are_reloaded_in_the_background(start_nvim):
    files = {f"f{number}.txt": text(LINES) for number in range(200)}
    nvim = start_nvim(files=files)
    nvim.lua("for _, name in ipairs(...) do vim.fn.bufload(vim.fn.bufadd(name)) end", list(files))
    reload_all = (
        "done = nil Ide.buffer_disk.reload_all(vim.api.nvim_list_bufs(), function(changed) done = #changed end)"
    )
    nvim.lua(reload_all)
    nvim.wait("done == 0")
    for name in list(files)[:50]:
        change(nvim, LINES[:50], name)
    nvim.lua(reload_all)
    nvim.wait("done == 50")
    assert nvim.lua("return #vim.api.nvim_buf_get_lines(vim.fn.bufadd('f49.txt'), 0, -1, true)") == 50


def load_hidden(nvim, path):
    return nvim.lua("local b, err = Ide.buffer_hidden.load(...) return { b or false, err }", str(path))


@pytest.mark.every_nvim
def test_a_hidden_file_has_the_name_that_edit_gives(start_nvim):
    nvim = start_nvim(files={"a b%.txt": "one\n", "b.txt": "one\n"})
    (buf,) = load_hidden(nvim, nvim.project / "b.txt")
    nvim.cmd("edit b.txt")
    assert nvim.lua("return { vim.fn.bufnr(), vim.fn.expand('%') }") == [buf, "b.txt"]
    (odd,) = load_hidden(nvim, nvim.project / "a b%.txt")
    (nvim.home / "c.txt").write_text("c\n")
    (outside,) = load_hidden(nvim, nvim.home / "c.txt")
    names = nvim.lua("return vim.tbl_map(vim.fn.bufname, { ... })", odd, outside)
    assert names == ["a b%.txt", str(nvim.home / "c.txt")]


@pytest.mark.every_nvim
def test_a_hidden_file_is_loaded_unseen(start_nvim):
    nvim = start_nvim(files={"a.py": "# vim: set tabstop=3 :\nx = 1\n"}, init_lua="vim.o.modeline = true")
    nvim.lua(
        "vim.api.nvim_create_autocmd('FileType', { pattern = 'python', callback = function(e) vim.g.filetype = e.match end })"
    )
    (buf,) = load_hidden(nvim, nvim.project / "a.py")
    assert nvim.lines(buf) == ["# vim: set tabstop=3 :", "x = 1"]
    state = "local b = ... return { vim.bo[b].buflisted, vim.bo[b].filetype, vim.bo[b].tabstop == 3, vim.g.filetype, #vim.api.nvim_list_wins() }"
    assert nvim.lua(state, buf) == [False, "python", False, "python", 1]


@pytest.mark.every_nvim
def test_a_hidden_file_becomes_ordinary_and_gets_what_it_missed_when_it_is_shown(start_nvim):
    files = {"a.py": "# vim: set tabstop=3 :\nx = 1\n"}
    nvim = start_nvim(files=files, init_lua="vim.o.modeline = true vim.o.wrap = true")
    nvim.lua("vim.api.nvim_create_autocmd('FileType', { callback = function() vim.opt_local.wrap = false end })")
    (buf,) = load_hidden(nvim, nvim.project / "a.py")
    assert nvim.lua("return vim.wo.wrap") is True
    nvim.lua("vim.api.nvim_open_win(..., true, { relative = 'editor', row = 1, col = 1, width = 9, height = 3 })", buf)
    assert nvim.lua("return vim.bo[...].buflisted", buf) is False, "a glimpse of it in a float changes nothing"
    nvim.cmd("close")
    edit(nvim, nvim.project / "a.py")
    state = "return { vim.api.nvim_get_current_buf(), vim.bo.buflisted, vim.bo.swapfile, vim.bo.filetype }"
    assert nvim.lua(state) == [buf, True, True, "python"]
    assert nvim.lua("return { vim.bo.tabstop, vim.wo.wrap }") == [3, False]
    assert nvim.lua("return Ide.buffer_hidden.owns(...)", buf) is False


def test_a_hidden_file_goes_when_nobody_used_it_for_long(start_nvim):
    nvim = start_nvim(files={"a.py": "x = 1\n", "b.py": "y = 2\n"})
    (idle,), (shown,) = load_hidden(nvim, nvim.project / "a.py"), load_hidden(nvim, nvim.project / "b.py")
    nvim.cmd(f"buffer {shown} | enew")
    sweep = "Ide.buffer_hidden.sweep(vim.uv.now() + ...) return vim.tbl_map(vim.api.nvim_buf_is_loaded, { %d, %d })"
    assert nvim.lua(sweep % (idle, shown), 60_000) == [True, True]
    assert nvim.lua(sweep % (idle, shown), 3_600_000) == [False, True]


@pytest.mark.every_nvim
def test_a_swap_file_stops_no_hidden_load(start_nvim):
    nvim = start_nvim(files={"a.txt": "x\n"})
    swap = nvim.lua("vim.cmd('edit a.txt') vim.cmd('preserve') return vim.fn.swapname(0)")
    shutil.copy(swap, swap + ".kept")
    nvim.cmd("bwipeout")
    shutil.move(swap + ".kept", swap)
    (buf,) = load_hidden(nvim, nvim.project / "a.txt")
    assert nvim.lines(buf) == ["x"]
    assert nvim.mode() == "n"


def test_what_cannot_be_loaded_is_named(start_nvim):
    nvim = start_nvim(files={"big.txt": "x" * (3 * 1024 * 1024), "dir/a": ""})
    assert load_hidden(nvim, nvim.project / "none.txt") == [False, "no such file"]
    assert load_hidden(nvim, nvim.project / "dir") == [False, "not a file but a directory"]
    assert load_hidden(nvim, nvim.project / "big.txt") == [False, "too large"]


def test_what_is_kept_of_a_buffer_goes_with_it(nvim):
    kept = """
      local find = Ide.buffer.find
      for number = 1, 20 do
        vim.cmd.edit(("file%d.txt"):format(number))
        find(vim.fn.getcwd() .. "/other.txt")
        vim.cmd.bwipeout()
      end
      vim.cmd.edit("last.txt")
      find(vim.fn.getcwd() .. "/other.txt")
      local function upvalue(func, wanted)
        for index = 1, 60 do
          local name, value = debug.getupvalue(func, index)
          if name == wanted then return value end
        end
      end
      return vim.tbl_count(upvalue(upvalue(find, "real_name"), "real_names"))
    """
    assert nvim.lua(kept) <= 3
