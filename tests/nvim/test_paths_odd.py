"""Paths as they are: `$NAME` in one is a name, and a folder may be made by others at the same time."""

import pytest

pytestmark = pytest.mark.one_nvim


def test_what_an_agent_is_given_and_what_a_transcript_names(start_nvim):
    nvim = start_nvim(files={"$HOME.txt": "one\n"})
    path = str(nvim.project / "$HOME.txt")
    assert nvim.lua("return Ide.terminal_environment.folder(...)", path) == path
    blocks = nvim.lua("return Ide.acp_links.of({ cwd = vim.fn.getcwd(), can = {} }, 'Look at @$HOME.txt.')")
    assert [block["uri"] for block in blocks] == [f"file://{nvim.project}/$HOME.txt"]
    nvim.lua("Ide.file_link.open({ path = '$HOME.txt' }, { vim.fn.getcwd() }, 'split')")
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == path


def test_a_folder_that_another_makes_at_the_same_time_is_there(start_nvim):
    nvim = start_nvim()
    nvim.lua("""
      local mkdir = vim.fn.mkdir
      vim.fn.mkdir = function(path, ...)
        vim.fn.mkdir = mkdir
        mkdir(vim.fs.dirname(path))
        error("Vim:E739: Cannot create directory: file already exists")
      end
    """)
    path = str(nvim.home / "one" / "two")
    assert nvim.lua("return Ide.file.make_folder(...)", path) is True
    assert nvim.lua("return vim.fn.isdirectory(...)", path) == 1
