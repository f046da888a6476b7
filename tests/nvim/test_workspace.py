"""The folders in the lock file: the project, wherever the user is in it."""

import json
import shutil

import pytest

pytestmark = pytest.mark.dealt


def folders(nvim):
    return nvim.lua("return Ide.workspace.folders()")


def root(nvim, path):
    return nvim.lua("return Ide.workspace.root(...)", str(path))


def lock(nvim):
    return next((lock for lock in nvim.locks() if lock["pid"] == nvim.server_pid), None)


def announced(nvim):
    found = lock(nvim)
    return found and found["workspaceFolders"]


def test_a_project_is_found_by_its_markers(start_nvim):
    """The first marker in the list wins over a nearer one: a CLI at the top of a monorepo must find a Neovim that works
    in a package. A git worktree has a file as its marker. Without a marker the folder itself is the project.
    """
    files = ["top/.git/HEAD", "top/sub/deep/a.txt", "top/package/package.json", "top/package/src/a.js", "plain/a.txt"]
    nvim = start_nvim(files={**dict.fromkeys(files, ""), "tree/.git": "gitdir: /elsewhere\n", "tree/src/a.txt": ""})
    for project, paths in {
        "top": [".", "sub/deep", "sub/deep/a.txt", "sub/not/there.txt", "package/src"],
        "tree": ["src"],
        "plain": [".", "a.txt"],
    }.items():
        for path in paths:
            assert root(nvim, nvim.project / project / path) == str(nvim.project / project), path
    # Dotfiles under version control make `~/.git`, and everything lies below it.
    notes = nvim.home / "notes"
    notes.mkdir()
    for above in (nvim.home, nvim.home.parent):
        (above / ".git").mkdir()
        assert root(nvim, notes) == str(notes)


def test_markers_are_configurable(start_nvim):
    nvim = start_nvim(
        opts={"workspace": {"root_markers": ["here"]}}, files={"a/here": "", "a/b/.git/HEAD": "", "a/b/c.txt": ""}
    )
    assert root(nvim, nvim.project / "a" / "b" / "c.txt") == str(nvim.project / "a")


def test_folders_can_be_given(start_nvim):
    nvim = start_nvim(opts={"workspace": {"folders": ["~/one", "/two/", "/two", "relative"]}})
    assert folders(nvim) == [str(nvim.home / "one"), "/two", str(nvim.project / "relative")]


def test_folders_can_come_from_a_function_and_its_failure_does_no_harm(start_nvim):
    nvim = start_nvim(
        opts=None,
        init_lua="""
        vim.g.claude_ide = { auto_start = false, workspace = { folders = function() return give() end } }
        function give() return { "/from/function" } end
        """,
    )
    assert folders(nvim) == ["/from/function"]
    nvim.lua('function give() error("no folders today") end')
    assert folders(nvim) == [str(nvim.project)]
    nvim.lua("function give() return 7 end")
    assert folders(nvim) == [str(nvim.project)]


def test_the_lock_file_follows_cd_whatever_the_names(start_nvim):
    odd = "a \"b\" 'c' \\d ünï 漢\t%$"
    nvim = start_nvim(files={"one/.git/HEAD": "", "two/.git/HEAD": "", "two/src/a": "", f"{odd}/.git/HEAD": ""})
    nvim.cmd("cd one")
    nvim.start_server()
    assert announced(nvim) == [str(nvim.project / "one")]
    before = lock(nvim)
    nvim.cmd("cd ../two/src")
    nvim.wait(lambda: announced(nvim) == [str(nvim.project / "two")], what="the lock file to follow")
    after = lock(nvim)
    assert after["ideName"] == "Neovim: two"
    unchanged = ("port", "pid", "authToken", "transport", "runningInWindows")
    assert {key: after[key] for key in unchanged} == {key: before[key] for key in unchanged}
    nvim.cmd("cd /")
    assert nvim.lua("return Ide.workspace.announcement().ideName") == "Neovim: two"
    nvim.lua("vim.api.nvim_set_current_dir(...)", str(nvim.project / odd))
    nvim.wait(lambda: announced(nvim) == [str(nvim.project / odd)], what="the odd name")


@pytest.mark.parametrize("when", ["before the server starts", "while it runs"])
def test_a_folder_that_is_removed_while_neovim_is_in_it_stays_the_project(start_nvim, connect, when):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "a\n", "here/b.txt": ""})
    here = nvim.project / "here"
    nvim.cmd(f"cd {here}")
    if when == "while it runs":
        connect(nvim)
    shutil.rmtree(here)
    client = connect(nvim)
    nvim.wait(lambda: announced(nvim) is not None, what="the lock file")
    if when == "while it runs":
        assert announced(nvim) == [str(here)]
    path = str(nvim.project / "a.txt")
    client.start_call("openDiff", old_file_path=path, new_file_path=path, new_file_contents="b\n", tab_name="one")
    nvim.wait_kind("proposal")
    nvim.wait("Ide.proposal.list()[1].seen")
    nvim.cmd("ClaudeSend")
    nvim.cmd("Claude status")
    nvim.cmd("checkhealth claude-ide")
    assert "Failed to run" not in "\n".join(nvim.lines())
    assert nvim.lua("return vim.v.errmsg") == ""


@pytest.mark.every_nvim
def test_the_folders_of_tab_pages_and_windows_belong_to_it(start_nvim):
    nvim = start_nvim(files={f"{name}/.git/HEAD": "" for name in ("one", "two", "three")})
    one, two, three = (str(nvim.project / name) for name in ("one", "two", "three"))
    nvim.start_server()
    nvim.cmd("cd one | tabnew | tcd ../two")
    nvim.wait(lambda: announced(nvim) == [two, one], what="both tab pages' folders")
    nvim.cmd("split | lcd ../three")
    nvim.wait(lambda: announced(nvim) == [three, one, two], what="the window's folder")
    nvim.cmd("close")
    nvim.wait(lambda: announced(nvim) == [two, one], what="the closed window's folder to go")
    nvim.cmd("tabclose")
    nvim.wait(lambda: announced(nvim) == [one], what="the closed tab page's folder to go")


@pytest.mark.every_nvim
def test_autochdir_does_not_move_the_project(start_nvim):
    nvim = start_nvim(
        init_lua="vim.o.autochdir = true",
        files={"top/.git/HEAD": "", "top/a/x.txt": "", "plain/b/y.txt": ""},
    )
    nvim.start_server()
    before = announced(nvim)
    nvim.cmd("edit top/a/x.txt")
    assert nvim.lua("return vim.fn.getcwd()") == str(nvim.project / "top" / "a")
    nvim.cmd("edit " + str(nvim.project / "plain" / "b" / "y.txt"))
    assert nvim.lua("return vim.fn.getcwd()") == str(nvim.project / "plain" / "b")
    assert folders(nvim) == before
    nvim.cmd("cd " + str(nvim.project / "top"))
    nvim.wait(lambda: announced(nvim) == [str(nvim.project / "top")], what="the lock file to follow :cd")
    nvim.cmd("set noautochdir | cd " + str(nvim.project / "top"))
    nvim.cmd("set autochdir | edit " + str(nvim.project / "plain" / "b" / "y.txt"))
    assert folders(nvim) == [str(nvim.project / "top")], "where it is switched on later"


def test_autochdir_with_a_file_on_the_command_line(start_nvim, tmp_path):
    """Neovim is in the file's folder before any plugin runs; the shell knows where it was started."""
    nvim = start_nvim(
        args=["plain/b/y.txt"],
        init_lua="vim.o.autochdir = true",
        files={"plain/b/y.txt": ""},
        env={"PWD": str(tmp_path)},
    )
    assert nvim.lua("return vim.fn.getcwd()") == str(nvim.project / "plain" / "b")
    assert folders(nvim) == [str(tmp_path)]


def test_nothing_is_rewritten_when_nothing_changed(start_nvim):
    nvim = start_nvim(files={"top/.git/HEAD": "", "top/a/x": "", "top/b/x": ""})
    nvim.cmd("cd top")
    nvim.start_server()
    nvim.lua("calls = 0 Ide.native.set_workspace = function() calls = calls + 1 return true end")
    nvim.cmd("cd a")
    nvim.cmd("cd ../b | tabnew | tabclose")
    nvim.lua("done = false vim.schedule(function() vim.schedule(function() done = true end) end)")
    nvim.wait("done", what="all that was put off")
    assert nvim.lua("return calls") == 0


# ── files that are open elsewhere ──


def test_the_project_of_an_open_file_belongs_to_it(start_nvim):
    nvim = start_nvim(files={"here/a.txt": "", "there/.git/HEAD": "", "there/src/a.txt": "", "plain/a.txt": ""})
    here, there = str(nvim.project / "here"), str(nvim.project / "there")
    nvim.cmd("cd here")
    nvim.start_server()
    assert announced(nvim) == [here]
    nvim.cmd("edit ../plain/a.txt")
    nvim.cmd("edit ../there/src/a.txt")
    nvim.wait(lambda: announced(nvim) == [there, here], what="the file's project, for the current folder is none")
    nvim.cmd("edit a.txt")
    assert folders(nvim) == [there, here]
    nvim.cmd("bwipeout " + there + "/src/a.txt")
    nvim.wait(lambda: announced(nvim) == [here], what="the project of a closed file to go")


def test_the_project_that_the_user_is_in_comes_before_those_of_files(start_nvim):
    """As with a worktree beside it, or the target of `gd`."""
    files = {f"{name}/{file}": "" for name in ("one", "two", "three") for file in (".git", "a.txt")}
    nvim = start_nvim(files=files)
    one, two, three = (str(nvim.project / name) for name in ("one", "two", "three"))
    nvim.cmd("cd one")
    nvim.start_server()
    nvim.cmd("edit ../two/a.txt")
    nvim.wait(lambda: announced(nvim) == [one, two])
    nvim.cmd("edit ../three/a.txt")
    nvim.wait(lambda: announced(nvim) == [one, three, two], what="the current file's first")
    nvim.cmd("buffer " + two + "/a.txt | new")
    nvim.wait(lambda: announced(nvim) == [one, two, three], what="the current file's first")
    nvim.cmd("cd ../two")
    nvim.wait(lambda: announced(nvim) == [two, three], what="what is in the current folder to be no further one")


def test_the_whole_disk_is_no_folder(start_nvim):
    nvim = start_nvim(files={"one/.git/HEAD": "", "one/a.txt": "", "plain/a.txt": ""})
    project = str(nvim.project)
    nvim.start_server()
    nvim.cmd("cd /")
    nvim.wait(lambda: folders(nvim) == [project], what="what was there before")
    assert announced(nvim) == [project]
    nvim.cmd(f"edit {project}/plain/a.txt")
    nvim.wait(lambda: announced(nvim) == [f"{project}/plain"], what="the folder of the file")
    nvim.cmd(f"edit {project}/one/a.txt")
    nvim.wait(lambda: announced(nvim) == [f"{project}/one"], what="the file's project")


def test_neovim_that_starts_at_the_top_of_the_disk_has_the_home_folder(start_nvim):
    nvim = start_nvim(cwd="/", env={"PWD": "/"})
    nvim.start_server()
    assert announced(nvim) == [str(nvim.home)]


def test_a_file_that_claude_opens_makes_no_workspace(start_nvim, connect):
    nvim = start_nvim(files={"here/a.txt": "", "there/.git/HEAD": "", "there/a.txt": ""})
    nvim.cmd("cd here")
    client = connect(nvim)
    client.call("openFile", filePath=str(nvim.project / "there/a.txt"))
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'")
    assert folders(nvim) == [str(nvim.project / "here")]
    nvim.keys("ihello<Esc>")
    nvim.wait("vim.bo.modified")
    nvim.cmd("new | wincmd p")
    assert folders(nvim) == [str(nvim.project / "there"), str(nvim.project / "here")]


def test_a_client_elsewhere_gets_and_gives_its_own_paths(start_nvim, connect):
    """What the editor does for it: a selection, a mention, diagnostics, an open file, a diff. Another client beside it
    sees the paths of this side.
    """
    nvim = start_nvim(args=["a b.txt"], files={"a b.txt": "one\n"})
    there = "/workspaces/ünï"
    nvim.lua(
        "local here, there = ... require('claude-ide').setup({ workspace = { path_map = { [here] = there } } })",
        str(nvim.project),
        there,
    )
    elsewhere, beside = connect(nvim, roots=[there]), connect(nvim)
    roots = "return vim.tbl_map(function(client) return client.roots end, Ide.server.clients())"
    nvim.wait(lambda: nvim.lua(roots) == [[str(nvim.project)]] * 2, what="the folders of both, as they are here")
    nvim.lua("""
      local problem = { lnum = 0, col = 0, message = "odd", severity = vim.diagnostic.severity.ERROR }
      vim.diagnostic.set(vim.api.nvim_create_namespace("test"), 0, { problem })
    """)
    nvim.keys("Vy")
    for client, root in [(elsewhere, there), (beside, str(nvim.project))]:
        path = f"{root}/a b.txt"
        client.wait_notification("selection_changed", match=lambda sent, path=path: sent.get("filePath") == path)
        (text,) = client.call("getDiagnostics", uri=f"file://{path}")
        (file,) = json.loads(text)
        assert file["uri"] == f"file://{path}" and file["diagnostics"][0]["message"] == "odd"
        (text,) = client.call("getOpenEditors")
        (tab,) = json.loads(text)["tabs"]
        assert (tab["fileName"], tab["isActive"]) == (path, True)
        assert client.call("openFile", filePath=path) == [f"Opened file: {path}"]
    proposal = {"old_file_path": f"{there}/a b.txt", "new_file_contents": "two\n"}
    waiting = elsewhere.start_call("openDiff", **proposal)
    nvim.wait_kind("proposal")
    assert nvim.lua("return Ide.proposal.list()[1].path") == str(nvim.project / "a b.txt")
    nvim.keys(":Claude accept<CR>")
    assert elsewhere.call_result(waiting) == ["FILE_SAVED", "two\n"]


WIPE_FIRST = """
vim.api.nvim_create_autocmd(EVENT, {
  pattern = "*b.txt",
  callback = function(args)
    wiped = pcall(vim.cmd, "noautocmd bwipeout! " .. args.buf) and not vim.api.nvim_buf_is_valid(args.buf)
  end,
})
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("event", ["BufEnter", "BufWinEnter"])
def test_a_buffer_that_another_autocommand_wipes_out_shows_no_error(start_nvim, connect, event):
    nvim = start_nvim(
        files={"a.txt": "a\n", "b.txt": "b\n"},
        args=["a.txt"],
        init_lua=WIPE_FIRST.replace("EVENT", repr(event)),
    )
    connect(nvim)
    nvim.cmd("split")
    nvim.keys(":edit b.txt<CR>")
    nvim.wait("wiped ~= nil", what="the buffer to be entered")
    assert not nvim.lua(
        "return vim.v.errmsg:find('Invalid buffer') or vim.fn.execute('messages'):find('stack traceback')"
    )
    assert nvim.lua("return wiped"), "the test shows something"
