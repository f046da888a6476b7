"""The editor's side of the tools: their answers, and their effect on the user's screen."""

import json
import os
import shutil

import pytest
from diff_steps import Diffs
from fake_lsp import LSP

from harness.client import RpcError, ToolError

pytestmark = pytest.mark.dealt

RUN = """
local name, args = ...
result, failure, answers = nil, nil, 0
Ide.tools.find(name).run(args, function(value, err)
  result, failure, answers = value, err, answers + 1
end, { id = 1, client = 1, name = name })
"""


def run(nvim, name, **args):
    """Runs a tool and waits for its answer; a failure comes back as its message."""
    nvim.lua(RUN, name, args)
    nvim.wait("answers > 0", what=f"{name} to answer")
    assert nvim.lua("return answers") == 1
    return nvim.lua("return failure and failure.message or result")


def current_name(nvim):
    return nvim.lua("return vim.api.nvim_buf_get_name(0)")


@pytest.fixture
def start_project(start_nvim):
    def start(**more):
        files = {
            "a.py": "def one():\n    return 1\n\n\ndef two():\n    return 'zwölf'\n",
            "b.txt": "first\nsecond\n",
            "dir/c.md": "# c\n",
        }
        nvim = start_nvim(files=files, **more)
        nvim.at = lambda name: str(nvim.project / name)
        return nvim

    return start


@pytest.fixture
def project(start_project):
    return start_project()


# openFile


@pytest.mark.every_nvim
def test_open_file_shows_the_file_in_the_current_window(project):
    assert run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True) == {
        "filePath": project.at("a.py"),
        "languageId": "python",
        "lineCount": 6,
    }
    assert current_name(project) == project.at("a.py")
    assert project.lua("return { vim.bo.buflisted, #vim.api.nvim_list_wins() }") == [True, 1]


def test_open_file_selects_text_which_is_no_pattern_and_may_span_lines(start_nvim):
    nvim = start_nvim(files={"a.txt": "a.c abc\nx*y\n%d [1]\nü😀 end\n"})
    path = str(nvim.project / "a.txt")

    def selected(**args):
        run(nvim, "open_file", filePath=path, makeFrontmost=True, **args)
        nvim.keys("y")
        nvim.wait("vim.fn.mode() == 'n'")
        return nvim.lua("return vim.fn.getreg('0')")

    assert selected(startText="a.c") == "a.c"
    assert selected(startText="x*y\r\n%d [") == "x*y\n%d ["
    assert selected(startText="abc\n") == "abc"
    assert selected(startText="ü", endText="😀") == "ü😀"
    assert selected(startText="x", selectToEndOfLine=True) == "x*y"
    assert selected(startText="ü", endText="not there") == "ü"
    nvim.cmd("set selection=exclusive")
    assert selected(startText="a.c", endText="ab") == "a.c ab"
    assert selected(startText="ü", endText="😀") == "ü😀"
    run(nvim, "open_file", filePath=path, makeFrontmost=True, startText="nowhere", endText="x")
    assert (nvim.mode(), current_name(nvim)) == ("n", path)


def test_open_file_goes_to_lines(project):
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True, line=5)
    assert (project.mode(), project.cursor()) == ("n", (5, 0))
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True, line=2, endLine=99)
    assert (project.mode(), project.lua("return { vim.fn.line('v'), vim.fn.line('.') }")) == ("V", [2, 6])


def test_open_file_in_the_background_changes_nothing_on_the_screen(project):
    project.keys(":edit b.txt<CR>")
    project.wait_screen("second")
    project.wait("vim.fn.mode() == 'n'")
    before = Diffs(project).drawn()
    result = run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=False, startText="def two")
    assert result["lineCount"] == 6
    assert Diffs(project).drawn() == before
    assert project.lua("local b = vim.fn.bufnr('a.py') return { vim.fn.bufloaded(b), vim.fn.buflisted(b) }") == [1, 1]
    project.keys(":buffer a.py<CR>")
    project.wait(lambda: project.cursor() == (5, 0), what="the cursor to be where Claude pointed")
    project.keys("gvy")
    project.wait("vim.fn.getreg('0') == 'def two'")
    project.keys("G")
    project.wait(lambda: project.cursor()[0] == 6)
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=False, startText="def one")
    assert project.cursor()[0] == 6, "a file that is in sight is left as it is"


def test_open_file_waits_for_the_pause_after_a_key(project):
    project.cmd("edit b.txt")
    project.lua(
        """
        local keys, run = Ide.guard_typing, Ide.open_file.open_file.run
        keys.listen() -- as from the first client on
        vim.api.nvim_create_autocmd("BufAdd", { once = true, callback = function() pause = keys.quiet_for() end })
        vim.api.nvim_create_autocmd("TextChanged", { once = true, callback = function()
          vim.defer_fn(function() -- the key is done with, the next one may be on its way
            run({ filePath = ... }, function(result) answer = { result.lineCount, pause } end, { id = 1 })
          end, 20)
        end })
        """.replace("...", f"'{project.at('a.py')}'")
    )
    project.keys("dd")
    project.wait("answer")
    lines, pause = project.lua("return answer")
    assert (lines, current_name(project)) == (6, project.at("a.py"))
    assert pause >= 150


def test_files_that_are_opened_in_the_middle_of_a_command_come_after_it(project, connect):
    client = connect(project)
    project.cmd("edit b.txt")
    project.keys("d")
    project.wait("vim.api.nvim_get_mode().mode == 'no'")
    calls = [client.start_call("openFile", filePath=project.at(name)) for name in ("dir/c.md", "a.py")]
    missing = client.start_call("openFile", filePath=project.at("none"))
    project.wait("Ide.tools.pending() == 3")
    assert current_name(project) == project.at("b.txt")
    project.keys("d")
    for call, name in zip(calls, ("dir/c.md", "a.py"), strict=True):
        assert client.call_result(call) == ["Opened file: " + project.at(name)]
    with pytest.raises(ToolError, match="File not found"):
        client.call_result(missing)
    assert current_name(project) == project.at("a.py")
    assert project.lua("return { vim.fn.getbufline('b.txt', 1, '$'), vim.fn.getbufline('a.py', 1)[1] }") == [
        ["second"],
        "def one():",
    ]


def test_open_file_says_why_it_cannot(project):
    assert run(project, "open_file", filePath=project.at("none.py")) == "File not found: " + project.at("none.py")
    os.mkfifo(project.at("pipe"))
    os.symlink("pipe", project.at("link.py"))
    for path, why in (
        (project.at("dir"), "not a file but a directory"),
        (project.at("pipe"), "not a file but a fifo"),
        (project.at("link.py"), "not a file but a fifo"),
        ("/dev/zero", "not a file but a char"),
        ("/proc/kmsg", "not a file on a disk"),
    ):
        said = f"Cannot open {path}: {why}"
        assert run(project, "open_file", filePath=path) == said
        assert run(project, "open_file", filePath=path, makeFrontmost=False) == said
        assert run(project, "open_files", file_paths=[path]) == said
    assert project.lua("return #vim.api.nvim_list_bufs()") == 1


def test_no_tool_waits_for_a_pipe(project, connect):
    client = connect(project)
    pipe = project.at("pipe")
    os.mkfifo(pipe)
    run(project, "read_file", path=pipe)
    run(project, "save_document", filePath=pipe)
    run(project, "check_document_dirty", filePath=pipe)
    run(project, "get_diagnostics", uri="file://" + pipe)
    run(project, "reformat_file", file_path=pipe)
    assert client.call("getWorkspaceFolders")


def test_open_file_leaves_special_windows_alone(project):
    project.lua("""
      vim.cmd("edit b.txt")
      vim.cmd("topleft vsplit | terminal")
      terminal = vim.api.nvim_get_current_win()
      vim.cmd("botright copen")
      quickfix = vim.api.nvim_get_current_win()
      vim.cmd("botright 5split | setlocal winfixbuf")
      fixed = vim.api.nvim_get_current_win()
      float = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, { relative = "editor", row = 1, col = 1, width = 9, height = 3 })
      special = { terminal, quickfix, fixed, float }
      before = vim.tbl_map(vim.api.nvim_win_get_buf, special)
    """)
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True)
    assert current_name(project) == project.at("a.py")
    assert project.lua("return vim.deep_equal(before, vim.tbl_map(vim.api.nvim_win_get_buf, special))") is True
    assert project.lua("return #vim.api.nvim_list_wins()") == 5


@pytest.mark.every_nvim
def test_open_file_makes_a_window_where_none_is_fit(project):
    project.lua("vim.cmd('terminal') vim.cmd('stopinsert')")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True)
    assert current_name(project) == project.at("a.py")
    assert project.lua(
        "return vim.tbl_map(function(w) return vim.bo[vim.api.nvim_win_get_buf(w)].buftype end, vim.api.nvim_list_wins())"
    ) == ["", "terminal"]


def test_open_file_takes_the_place_of_an_explorer_that_stands_alone(project):
    """oil.nvim shows a folder in place of a file; beside a file it stays."""
    project.lua("vim.bo.buftype, vim.bo.filetype = 'acwrite', 'oil' vim.api.nvim_buf_set_name(0, 'oil:///x/')")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True)
    assert current_name(project) == project.at("a.py")
    assert project.lua("return #vim.api.nvim_list_wins()") == 1
    project.lua("vim.cmd('leftabove vsplit') vim.cmd('buffer oil:///x/')")
    run(project, "open_file", filePath=project.at("b.txt"), makeFrontmost=True)
    assert current_name(project) == project.at("b.txt")
    assert project.lua("return vim.fn.bufwinnr('oil:///x/') > 0 and #vim.api.nvim_list_wins() == 2") is True


def test_open_file_keeps_out_of_the_tab_page_of_a_diff(project):
    project.lua("vim.cmd('edit b.txt') vim.cmd('tabnew | diffthis | vnew | diffthis')")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True)
    assert project.lua("return { vim.api.nvim_get_current_tabpage(), #vim.api.nvim_tabpage_list_wins(2) }") == [1, 2]
    assert current_name(project) == project.at("a.py")


def test_an_unsaved_buffer_that_may_not_hide_stays_in_its_window(project):
    project.lua("vim.o.hidden = false vim.cmd('edit b.txt') vim.fn.setline(1, 'mine')")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True)
    assert current_name(project) == project.at("a.py")
    assert project.lua("return #vim.fn.win_findbuf(vim.fn.bufnr('b.txt'))") == 1


def test_typing_goes_where_it_went(project):
    project.keys(":edit b.txt<CR>:vsplit<CR>ihello")
    project.wait("vim.fn.getline(1) == 'hellofirst'")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True, startText="def two")
    project.keys(" there")
    project.wait("vim.fn.getline(1) == 'hello therefirst'")
    assert project.mode() == "i"
    project.wait_screen("def two")


def test_typing_in_the_only_window_is_not_interrupted(project):
    project.keys(":edit b.txt<CR>ihello")
    project.wait("vim.fn.getline(1) == 'hellofirst'")
    project.lua("vim.notify = function(message) vim.g.said = message end")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True)
    project.keys(" there")
    project.wait("vim.fn.getline(1) == 'hello therefirst'")
    assert "a.py" in project.lua("return vim.g.said")


def test_a_user_in_a_terminal_stays_there_and_sees_the_file(project):
    project.keys(":edit b.txt<CR>:vsplit<CR>:terminal cat<CR>i")
    project.wait(lambda: project.mode() == "t")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True)
    project.wait_screen("def two")
    assert project.mode() == "t"
    project.keys("dd<CR>")
    project.wait_screen("dd")
    assert project.lua("return vim.bo[vim.fn.bufnr('a.py')].modified") is False


@pytest.mark.every_nvim
@pytest.mark.parametrize("crashed", [True, False])
@pytest.mark.parametrize("directory", ["", "set directory=."])
def test_a_swap_file_stops_nothing(project, start_nvim, crashed, directory):
    other = start_nvim(args=["b.txt"], init_lua=f"vim.cmd('{directory}')")
    other.cmd("call setline(1, 'not saved') | preserve")
    if crashed:
        other.kill()
    project.cmd(directory)
    project.lua("vim.notify = function(message) vim.g.said = message end")
    run(project, "open_file", filePath=project.at("b.txt"), makeFrontmost=True)
    assert project.lines() == ["first", "second"]
    assert project.lua("return vim.bo.readonly") is True
    assert "swap file" in project.lua("return vim.g.said")
    assert project.mode() == "n"


def test_open_file_shows_what_is_on_disk_now(project):
    run(project, "open_file", filePath=project.at("b.txt"), makeFrontmost=True)
    (project.project / "b.txt").write_text("third\n")
    run(project, "open_file", filePath=project.at("b.txt"), makeFrontmost=True)
    assert project.lines() == ["third"]


def test_odd_names_open(start_nvim):
    names = ["a b.txt", "100%.txt", "x[1].txt", "*.txt", "#.txt", "$HOME.txt", "~", "+5", "|quit.txt"]
    nvim = start_nvim(files={name: name for name in names})
    for name in names:
        run(nvim, "open_file", filePath=str(nvim.project / name), makeFrontmost=True)
        assert current_name(nvim) == str(nvim.project / name)
        assert nvim.lines() == [name]


def test_previews_do_not_pile_up_in_the_buffer_list_and_one_that_is_edited_stays(project):
    listed = "return vim.tbl_map(function(i) return vim.fs.basename(i.name) end, vim.fn.getbufinfo({ buflisted = 1 }))"
    for name in ("a.py", "dir/c.md", "b.txt"):
        run(project, "open_file", filePath=project.at(name), makeFrontmost=True, preview=True)
    assert project.lua(listed) == ["b.txt"]
    project.keys("ix<Esc>")
    project.wait("vim.bo.modified and vim.fn.mode() == 'n'")
    run(project, "open_file", filePath=project.at("a.py"), makeFrontmost=True, preview=True)
    assert "b.txt" in project.lua(listed)


def test_open_files_opens_what_exists(project):
    paths = [project.at("none"), project.at("a.py"), project.at("b.txt")]
    assert run(project, "open_files", file_paths=paths) == {"opened_files": paths[1:]}
    assert current_name(project) == project.at("a.py")
    assert project.lua("return vim.fn.bufloaded('b.txt')") == 1
    assert run(project, "open_files", file_paths=[project.at("none")]) == "File not found: " + project.at("none")


# What is open


def test_open_editors_describe_each_listed_file(project):
    project.lua(
        "vim.cmd('edit a.py | vsplit b.txt | badd dir/c.md | new | help') vim.cmd('only') vim.cmd('edit a.py | vsplit b.txt')"
    )
    project.cmd("call setline(1, 'changed')")
    tabs = {tab["label"]: tab for tab in run(project, "get_open_editors")["tabs"]}
    assert set(tabs) == {"a.py", "b.txt", "c.md"}
    assert tabs["b.txt"] | {"selection": None} == {
        "uri": "file://" + project.at("b.txt"),
        "fileName": project.at("b.txt"),
        "label": "b.txt",
        "isActive": True,
        "isDirty": True,
        "isPinned": False,
        "isPreview": False,
        "isUntitled": False,
        "languageId": "plaintext",
        "lineCount": 2,
        "groupIndex": 0,
        "viewColumn": 1,
        "isGroupActive": True,
        "selection": None,
    }
    assert (tabs["a.py"]["isActive"], tabs["a.py"]["isDirty"], tabs["a.py"]["viewColumn"]) == (False, False, 2)
    assert tabs["c.md"]["languageId"] == "markdown"
    assert "lineCount" not in tabs["c.md"]


def test_the_active_file_is_that_before_the_terminal(project):
    project.cmd("edit a.py")
    project.cmd("split | terminal cat")
    assert [tab["label"] for tab in run(project, "get_open_editors")["tabs"] if tab["isActive"]] == ["a.py"]
    assert run(project, "get_current_file")["path"] == project.at("a.py")


def test_nothing_open_is_an_empty_list(nvim):
    encoded = "return vim.json.encode(result)"
    run(nvim, "get_open_editors")
    assert nvim.lua(encoded) == '{"tabs":[]}'
    run(nvim, "get_open_files")
    assert nvim.lua(encoded) == "[]"
    run(nvim, "get_all_opened_file_paths")
    assert nvim.lua(encoded) == '{"paths":[]}'
    run(nvim, "get_current_file")
    assert nvim.lua(encoded) == "null"


def test_private_files_are_not_listed(project):
    (project.project / ".env").write_text("KEY=1\n")
    project.lua("vim.cmd('edit .env | edit a.py | edit b.txt') vim.b.claude_private = true")
    assert run(project, "get_all_opened_file_paths") == {"paths": [project.at("a.py")]}
    assert [file["name"] for file in run(project, "get_open_files")] == ["a.py"]


def test_workspace_folders(project):
    assert run(project, "get_workspace_folders") == {
        "success": True,
        "folders": [str(project.project)],
        "rootPath": str(project.project),
    }


# checkDocumentDirty and saveDocument


def test_exactly_the_named_file_is_dirty_and_saved(project):
    short, long = project.project / "foo.ts", project.project / "foo.tsx"
    for path in (short, long):
        path.write_text("old\n")
    project.lua("vim.cmd('edit foo.tsx') vim.fn.setline(1, 'x')")
    assert run(project, "check_document_dirty", filePath=str(short))["success"] is False
    dirty = {"success": True, "filePath": str(long), "isDirty": True, "isUntitled": False}
    assert run(project, "check_document_dirty", filePath=str(long)) == dirty
    assert run(project, "save_document", filePath=str(short))["success"] is False
    assert long.read_text() == "old\n"
    saved = run(project, "save_document", filePath=str(long))
    assert (saved["success"], saved["saved"]) == (True, True)
    assert (long.read_text(), short.read_text()) == ("x\n", "old\n")


@pytest.mark.every_nvim
def test_save_runs_the_users_autocommands_also_in_a_hidden_buffer(project):
    project.lua("vim.cmd('edit b.txt') vim.fn.setline(1, 'mine') vim.cmd('edit a.py')")
    project.lua(
        "vim.api.nvim_create_autocmd('BufWritePre', { callback = function() vim.fn.setline(2, 'formatted') end })"
    )
    assert run(project, "save_document", filePath=project.at("b.txt"))["saved"] is True
    assert (project.project / "b.txt").read_text() == "mine\nformatted\n"
    assert current_name(project) == project.at("a.py")


@pytest.mark.parametrize("watched", [True, False])
def test_save_over_a_change_on_disk_is_refused_every_time(project, watched):
    if watched:
        project.lua("Ide.buffer_stamp.attach()")
    project.lua("vim.cmd('edit b.txt') vim.fn.setline(1, 'mine')")
    (project.project / "b.txt").write_text("theirs\n")
    for _ in range(2):
        answer = run(project, "save_document", filePath=project.at("b.txt"))
        assert answer["success"] is False
        assert "changed on disk" in answer["message"]
    assert (project.project / "b.txt").read_text() == "theirs\n"
    assert project.mode() == "n"


def test_a_write_that_fails_says_why(project):
    project.lua("vim.cmd('edit b.txt') vim.bo.readonly = true vim.fn.setline(1, 'mine')")
    answer = run(project, "save_document", filePath=project.at("b.txt"))
    assert answer["success"] is False
    assert answer["message"].startswith("Failed to save document: E45:")


# readFile and writeFile


def test_read_file_gives_the_unsaved_text_and_the_disk_where_the_buffer_is_behind(project):
    path = project.at("b.txt")
    assert run(project, "read_file", path=path) == {"loaded": False}
    project.cmd("edit b.txt")
    (project.project / "b.txt").write_text("newer\n")
    assert run(project, "read_file", path=path) == {"loaded": True, "contents": "newer\n"}
    project.cmd("call setline(1, 'unsaved')")
    assert run(project, "read_file", path=path) == {"loaded": True, "contents": "unsaved\n"}


def test_read_file_refuses_private_files_whatever_they_are_called(project, connect):
    folder = project.project
    (folder / ".env").write_text("SECRET=1\n")
    (folder / "link").symlink_to(".env")
    (folder / "hard").hardlink_to(folder / ".env")
    project.lua("vim.cmd('edit b.txt') vim.b.claude_private = true")
    client = connect(project)
    for path in (".env", "link", "hard", "b.txt"):
        with pytest.raises(RpcError, match="keeps it private"):
            client.request("readFile", {"path": path})
    project.cmd("call setline(1, 'unsaved')")
    with pytest.raises(RpcError, match="keeps it private"):
        client.request("readFile", {"path": "b.txt"})


def test_open_file_leaves_a_huge_file_to_the_user(project):
    path = project.project / "huge.txt"
    with path.open("wb") as file:
        file.truncate(300 << 20)
    assert "300 MB, too much to be opened unasked" in run(project, "open_file", filePath=str(path))
    assert project.lua("return vim.fn.bufexists(...)", str(path)) == 0


def test_write_file_goes_through_the_buffer_byte_for_byte(project):
    project.cmd("edit b.txt")
    project.lua("""
      vim.api.nvim_create_autocmd("BufWritePre", { callback = function() vim.fn.append(0, "formatter") end })
      vim.api.nvim_create_autocmd("BufWritePost", { callback = function() vim.g.post = true end })
    """)
    for content in ("x\ny\n", "no newline", "dos\r\nlines\r\n", "", "\n", "\ufeffmark\n", "nul\0\n"):
        before = project.lines()
        project.cmd("let g:post = v:false")
        assert run(project, "write_file", path=project.at("b.txt"), content=content) == {"written": True}
        assert (project.project / "b.txt").read_bytes() == content.encode()
        assert project.lua("return { vim.bo.modified, vim.bo.fixendofline, vim.g.post }") == [False, True, True]
        project.cmd("silent undo")
        assert project.lines() == before
        project.cmd("set fileformat=unix nobomb | noautocmd silent write")


def test_write_file_to_an_unsaved_buffer_is_refused(project):
    assert run(project, "write_file", path=project.at("b.txt"), content="x") == {"loaded": False}
    project.lua("vim.cmd('edit b.txt') vim.fn.setline(1, 'mine')")
    assert "unsaved changes" in run(project, "write_file", path=project.at("b.txt"), content="x")
    assert project.lines() == ["mine", "second"]
    assert (project.project / "b.txt").read_text() == "first\nsecond\n"


def test_write_file_over_a_newer_file_asks_nothing(project):
    project.cmd("edit b.txt")
    (project.project / "b.txt").write_text("newer\n")
    assert run(project, "write_file", path=project.at("b.txt"), content="newest\n") == {"written": True}
    assert (project.project / "b.txt").read_text() == "newest\n"
    project.cmd("silent undo")
    assert project.lines() == ["newer"]


def test_write_file_that_fails_leaves_the_buffer_as_it_was(project):
    project.cmd("edit b.txt")
    shutil.rmtree(project.project)
    assert "failed to write file" in run(project, "write_file", path=project.at("b.txt"), content="\ufeffx\r\ny\r\n")
    assert project.lines() == ["first", "second"]
    assert project.lua("return { vim.bo.modified, vim.bo.bomb, vim.bo.fileformat }") == [False, False, "unix"]


# reformat_file


@pytest.fixture
def formatting(start_nvim):
    def start(lua, text="def one(): pass\n"):
        nvim = start_nvim(files={"a.py": text}, init_lua=LSP + lua)
        nvim.path = nvim.project / "a.py"
        return nvim

    return start


@pytest.mark.every_nvim
def test_a_language_server_formats_and_the_file_is_written(formatting):
    nvim = formatting("fake.start('fake', { format = 'upper' })")
    nvim.cmd("edit a.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) > 0")
    assert run(nvim, "reformat_file", file_path=str(nvim.path)) == {"outcome": "ok"}
    assert nvim.path.read_text() == "DEF ONE(): PASS\n"
    assert nvim.lua("return vim.bo.modified") is False
    nvim.cmd("silent undo")
    assert nvim.lines() == ["def one(): pass"]


def test_unsaved_changes_are_formatted_but_left_to_the_user_to_save(formatting):
    nvim = formatting("fake.start('fake', { format = 'upper' })")
    nvim.cmd("edit a.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) > 0")
    nvim.cmd("call setline(1, 'mine')")
    assert run(nvim, "reformat_file", file_path=str(nvim.path)) == {"outcome": "ok"}
    assert nvim.lines() == ["MINE"]
    assert nvim.path.read_text() == "def one(): pass\n"


def test_a_file_that_is_not_open_is_formatted_unseen(formatting):
    nvim = formatting("fake.start('fake', { format = 'upper', slow_start = 100 })")
    assert run(nvim, "reformat_file", file_path=str(nvim.path)) == {"outcome": "ok"}
    assert nvim.path.read_text() == "DEF ONE(): PASS\n"
    assert nvim.lua("return vim.fn.buflisted('a.py')") == 0


def test_conform_comes_before_the_language_server(formatting):
    nvim = formatting("""
      fake.start('fake', { format = 'upper' })
      package.loaded.conform = {
        list_formatters_to_run = function() return { { name = "x" } }, false end,
        format = function(opts, callback)
          vim.schedule(function()
            vim.api.nvim_buf_set_lines(opts.bufnr, 0, -1, true, { "conform" })
            callback(nil, true)
          end)
          return true
        end,
      }
    """)
    assert run(nvim, "reformat_file", file_path=str(nvim.path)) == {"outcome": "ok"}
    assert nvim.path.read_text() == "conform\n"


def test_formatprg_and_formatexpr_format_too_and_one_that_fails_leaves_the_text(formatting):
    nvim = formatting("")
    nvim.cmd("edit a.py | setlocal formatprg=tr\\ a-z\\ A-Z")
    assert run(nvim, "reformat_file", file_path=str(nvim.path)) == {"outcome": "ok"}
    assert nvim.path.read_text() == "DEF ONE(): PASS\n"
    nvim.cmd("setlocal formatexpr=setline(v:lnum,'by\\ expression')")
    assert run(nvim, "reformat_file", file_path=str(nvim.path)) == {"outcome": "ok"}
    assert nvim.path.read_text() == "by expression\n"
    nvim.cmd("setlocal formatexpr= formatprg=sh\\ -c\\ 'echo\\ oops;exit\\ 3'")
    assert "exit code 3" in run(nvim, "reformat_file", file_path=str(nvim.path))
    assert nvim.lines() == ["by expression"]
    assert nvim.lua("return vim.bo.modified") is False


def test_nobody_to_format_is_said(formatting):
    nvim = formatting("fake.start('fake', {})")
    assert run(nvim, "reformat_file", file_path=str(nvim.path))["outcome"] == "no_formatter"
    assert run(nvim, "reformat_file", file_path=str(nvim.project / "none")) == {"outcome": "not_found"}
    assert nvim.path.read_text() == "def one(): pass\n"


@pytest.mark.slow
def test_a_formatter_that_never_answers_is_given_up(formatting):
    nvim = formatting("fake.start('fake', { format = 'never' })")
    assert "took too long" in run(nvim, "reformat_file", file_path=str(nvim.path))


# Over the wire


@pytest.mark.every_nvim
def test_every_tool_answers_a_real_client(project, connect):
    project.cmd("edit a.py")
    client = connect(project)
    assert client.call("openFile", filePath=project.at("b.txt")) == ["Opened file: " + project.at("b.txt")]
    quiet = client.call("openFile", filePath=project.at("dir/c.md"), makeFrontmost=False)
    assert json.loads(quiet[0]) == {
        "success": True,
        "filePath": project.at("dir/c.md"),
        "languageId": "markdown",
        "lineCount": 1,
    }
    with pytest.raises(ToolError, match="File not found"):
        client.call("openFile", filePath=project.at("none"))
    assert json.loads(client.call("open_files", file_paths=[project.at("a.py")])[0]) == {
        "opened_files": [project.at("a.py")]
    }
    tabs = json.loads(client.call("getOpenEditors")[0])["tabs"]
    assert [tab["label"] for tab in tabs if tab["isActive"]] == ["a.py"]
    assert client.call("get_all_opened_file_paths")[0].splitlines() == [
        project.at(n) for n in ("a.py", "b.txt", "dir/c.md")
    ]
    folders = json.loads(client.call("getWorkspaceFolders")[0])
    assert (folders["folders"], folders["rootPath"]) == ([str(project.project)], str(project.project))
    project.cmd("call setline(1, '# changed')")
    assert json.loads(client.call("checkDocumentDirty", filePath=project.at("a.py"))[0])["isDirty"] is True
    saved = json.loads(client.call("saveDocument", filePath=project.at("a.py"))[0])
    assert (saved["success"], saved["message"]) == (True, "Document saved")
    assert json.loads(client.call("checkDocumentDirty", filePath=project.at("a.py"))[0])["isDirty"] is False
    with pytest.raises(ToolError, match="[Nn]o formatter"):
        client.call("reformat_file", file_path=project.at("b.txt"))
    assert client.call("reformat_file", file_path=project.at("none")) == ["File not found"]


def wait_seen(nvim, name):
    nvim.wait(f"vim.fn.bufname() == '{name} (Claude)'", what="the cursor in the proposal")
    seen = "return vim.iter(Ide.proposal.list()):any(function(diff) return diff.current and diff.seen end)"
    nvim.wait(seen, what="the diff to have been seen")


def test_a_plain_write_is_reviewed_like_any_edit(project, connect):
    client = connect(project, initialize=False)
    asked = client.send("writeFile", {"path": "new.txt", "content": ""})
    wait_seen(project, "new.txt")
    assert not (project.project / "new.txt").exists()
    project.keys("ZZ")
    assert client.result(asked) == {"success": True}
    assert (project.project / "new.txt").read_bytes() == b""
    project.wait("#vim.api.nvim_list_tabpages() == 1")
    asked = client.send("writeFile", {"path": "b.txt", "content": "ONE\r\nTWO"})
    wait_seen(project, "b.txt")
    project.keys("ZQ")
    with pytest.raises(RpcError, match="the user rejected the change"):
        client.result(asked)
    project.wait("#vim.api.nvim_list_tabpages() == 1")
    project.cmd("edit b.txt")
    asked = client.send("writeFile", {"path": "b.txt", "content": "ONE\r\nTWO"})
    wait_seen(project, "b.txt")
    project.keys("ZZ")
    assert client.result(asked) == {"success": True}
    assert (project.project / "b.txt").read_bytes() == b"ONE\r\nTWO"
    project.wait("vim.fn.expand('%:t') == 'b.txt' and vim.fn.getline(1) == 'ONE'")


def test_the_plain_methods_see_and_change_buffers(start_project, connect):
    project = start_project(opts={"server": {"write_file": "allow"}})
    project.lua("vim.cmd('edit b.txt') vim.fn.setline(1, 'unsaved')")
    client = connect(project, initialize=False)
    assert client.request("readFile", {"path": "b.txt"}) == "unsaved\nsecond\n"
    with pytest.raises(RpcError, match="unsaved changes") as failure:
        client.request("writeFile", {"path": "b.txt", "content": "x\n"})
    assert failure.value.code == -32603
    project.cmd("silent write")
    client.request("writeFile", {"path": "b.txt", "content": "x\n"})
    assert (project.lines(), (project.project / "b.txt").read_text()) == (["x"], "x\n")
    assert [file["path"] for file in client.request("getOpenFiles", {})] == [project.at("b.txt")]
    assert client.request("getCurrentFile", {})["path"] == project.at("b.txt")
    assert client.request("readFile", {"path": "dir/c.md"}) == "# c\n"


# What is told after a change


def labels(client):
    [text] = client.call("getOpenEditors")
    return {tab["label"] for tab in json.loads(text)["tabs"]}


HAPPENS = {
    "vim.cmd('edit b.txt')": {"a.py", "b.txt"},
    "vim.cmd('noautocmd edit b.txt')": {"a.py", "b.txt"},
    "vim.cmd('badd b.txt')": {"a.py", "b.txt"},
    "vim.b.claude_private = true": set(),
    "vim.bo.buflisted = false": set(),
    "vim.cmd('keepalt file c.py')": {"c.py"},
    "vim.schedule(function() vim.cmd('noautocmd bwipeout') end)": set(),
}


def test_open_editors_are_reported_as_they_are(project, connect):
    client = connect(project)
    for happens, shown in HAPPENS.items():
        project.cmd("enew | %bwipeout! | edit a.py")
        assert labels(client) == {"a.py"}, happens
        project.lua(happens)
        # What is scheduled may come after a call that is there already.
        project.lua("local over vim.schedule(function() over = true end) vim.wait(9000, function() return over end, 1)")
        assert labels(client) == shown, happens


@pytest.mark.one_nvim
def test_the_workspace_is_reported_as_it_is_after_a_change_of_folder(project, connect):
    client = connect(project)
    (project.project / "dir" / ".git").mkdir()
    project.cmd("cd dir")
    [text] = client.call("getWorkspaceFolders")
    assert json.loads(text)["rootPath"] == project.at("dir")
