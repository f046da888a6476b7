"""`$EDITOR` of the terminals: what opens in this Neovim, and that the program which waits for it always ends.

`tests/e2e/test_editor_real_cli.py` has the real CLI.
"""

import os
import subprocess

import pytest

from harness import LONGEST

pytestmark = pytest.mark.dealt

ENVIRONMENT = "return Ide.terminal_editor.environment()"


@pytest.fixture
def edit(request):
    """Starts what `$EDITOR` names, as a program in a terminal does."""

    def edit(nvim, *args, **env):
        own = nvim.lua(ENVIRONMENT)
        program = subprocess.Popen([own["EDITOR"], *args], cwd=nvim.project, env={**os.environ, **own, **env})
        request.addfinalizer(program.wait)
        request.addfinalizer(program.kill)
        return program

    return edit


def wait_open(nvim, name):
    nvim.wait(lambda: nvim.lua("return vim.fs.basename(vim.api.nvim_buf_get_name(0))") == name, what=f"{name!r}")


def ends(nvim, program):
    nvim.wait(lambda: program.poll() is not None, what="the program's end")
    return program.returncode


NAMES = [
    "two words.txt",
    'it\'s "quoted".txt',
    "a\nb.txt",
    "x" * 200,
    "ünï-文字.txt",
    "50% #1.txt",
    "+2",
    "-c",
    "[a]*?`date`$HOME.txt",
    "back\\slash|bar<CR>.txt",
]


def test_files_of_odd_names_in_odd_folders(start_nvim, edit, tmp_path):
    temporary = tmp_path / 'it\'s "odd" $HOME % #'
    temporary.mkdir()
    nvim = start_nvim(files={name: "old\n" for name in NAMES})
    for name in NAMES:
        program = edit(nvim, "+3", name, TMPDIR=str(temporary))
        wait_open(nvim, name)
        assert nvim.lines() == ["old"]
        nvim.keys("Onew<Esc>:silent wq<CR>")
        assert ends(nvim, program) == 0
        assert (nvim.project / name).read_text() == "new\nold\n"
        nvim.wait(lambda name=name: nvim.lua("return vim.fn.winnr('$')") == 1)
    # Neovim 0.10 leaves the folder of its own temporary files.
    assert [path.name for path in temporary.iterdir() if not path.name.startswith("nvim.")] == []


CLOSES = [
    ":bwipeout!<CR>",
    ":bdelete!<CR>",
    ":q!<CR>",
    ":edit! b.txt<CR>:q<CR>",
    "<C-w>j:only!<CR>",
    "ZQ",
    ":tab split<CR>:tabclose<CR>:close!<CR>",
]


@pytest.mark.every_nvim
def test_however_it_is_closed_the_program_ends(start_nvim, edit):
    nvim = start_nvim(files={"a.txt": "one\n", "b.txt": "two\n"}, args=["b.txt"])
    for keys in CLOSES:
        program = edit(nvim, "a.txt")
        wait_open(nvim, "a.txt")
        nvim.keys("x" + keys)
        assert ends(nvim, program) == 0, keys
        nvim.wait("vim.fn.bufname() == 'b.txt'", what="the other file")
    program = edit(nvim, "a.txt")
    wait_open(nvim, "a.txt")
    asks = ["pgrep", "-P", str(program.pid), "-f", "remote-expr"]
    nvim.wait(lambda: subprocess.run(asks, stdout=subprocess.DEVNULL, check=False).returncode == 1, what="its answer")
    nvim.quit()
    assert program.wait(LONGEST) == 0


@pytest.mark.every_nvim
def test_two_programs_that_wait_for_one_file_both_end(start_nvim, edit):
    nvim = start_nvim(files={"a.txt": "one\n"})
    first = edit(nvim, "a.txt")
    wait_open(nvim, "a.txt")
    second = edit(nvim, "a.txt")
    nvim.wait("vim.fn.winnr('$') == 3", what="the second window")
    nvim.keys(":q<CR>:q<CR>")
    assert [ends(nvim, first), ends(nvim, second)] == [0, 0]


@pytest.mark.every_nvim
def test_a_file_that_the_user_has_open_stays_theirs(start_nvim, edit):
    nvim = start_nvim(files={"a.txt": "one\n", "b.txt": "two\n"}, args=["a.txt"])
    nvim.keys(":call append(1, 'not saved')<CR>")
    nvim.wait(lambda: nvim.lines() == ["one", "not saved"])
    program = edit(nvim, "a.txt")
    nvim.wait("vim.fn.winnr('$') == 2", what="the window")
    nvim.keys(":q<CR>")
    assert ends(nvim, program) == 0
    nvim.keys(":set hidden<CR>:edit b.txt<CR>:buffer a.txt<CR>")
    nvim.wait(lambda: nvim.lines() == ["one", "not saved"], what="the file as it was left")
    assert nvim.lua("return { vim.bo.bufhidden, vim.b.claude_private == nil }") == ["", True]


@pytest.mark.every_nvim
def test_without_room_it_has_a_tab_page_and_what_fails_ends_the_program(start_nvim, edit):
    nvim = start_nvim(files={"a.txt": "one\n", "b.txt": "two\n"}, args=["b.txt"], notices=True)
    for size in ("columns=20 lines=7 winheight=3 winminheight=3", "lines=5 winminheight=2 winheight=2"):
        nvim.cmd(f"set {size}")
        program = edit(nvim, "a.txt")
        wait_open(nvim, "a.txt")
        assert nvim.lua("return vim.fn.tabpagenr('$')") == 2
        nvim.keys(":q<CR>")
        assert ends(nvim, program) == 0
    nvim.cmd("set columns=80 lines=24")
    nvim.lua("vim.api.nvim_win_set_buf = function() error('not now') end")
    assert ends(nvim, edit(nvim, "a.txt")) == 0
    nvim.wait_notice("a.txt cannot be opened here.")
    assert nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.winnr('$') }") == [1, 1]


@pytest.mark.every_nvim
def test_in_the_command_line_window_it_waits(start_nvim, edit):
    nvim = start_nvim(files={"a.txt": "one\n", "b.txt": "two\n"}, args=["b.txt"])
    nvim.keys("q:")
    nvim.wait("vim.fn.getcmdwintype() ~= ''", what="the command-line window")
    program = edit(nvim, "a.txt")
    nvim.wait(lambda: nvim.lua("return #vim.fn.getbufinfo('a.txt')") == 1, what="the program to ask")
    nvim.keys("<C-w>c")
    wait_open(nvim, "a.txt")
    nvim.keys(":q<CR>")
    assert ends(nvim, program) == 0


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_program_that_was_killed_does_not_block_neovim(start_nvim, edit, tmp_path, end):
    nvim = start_nvim(files={"a.txt": "one\n", "b.txt": "two\n"}, args=["b.txt"])
    program = edit(nvim, "a.txt", TMPDIR=str(tmp_path))
    wait_open(nvim, "a.txt")
    getattr(program, end)()
    program.wait()
    nvim.keys("x:wq<CR>")
    nvim.wait("vim.fn.bufname() == 'b.txt'", what="the other file")
    assert (nvim.project / "a.txt").read_text() == "ne\n"
