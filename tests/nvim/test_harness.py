"""The harness itself: what the other tests rely on."""

import time

import pytest

from harness.nvim import NvimError
from harness.terminal import marked_processes

pytestmark = pytest.mark.one_nvim


def test_runs_the_version_it_names(nvim):
    assert nvim.lua("local v = vim.version() return v.major .. '.' .. v.minor") == nvim.version
    assert nvim.lua("return vim.uv.cwd()") == str(nvim.project)


def test_types_keys_and_sees_the_screen(nvim):
    nvim.keys("ihello<Esc>ofünf <lt>b><Esc>:set number<CR>")
    nvim.wait_screen("2 fünf <b>")
    assert nvim.lines() == ["hello", "fünf <b>"]
    assert nvim.mode() == "n"


def test_has_a_home_of_its_own(nvim):
    assert nvim.lua("return vim.fn.expand('~')") == str(nvim.home)
    assert nvim.lua("return vim.env.CLAUDE_CONFIG_DIR") is None


def test_passes_files_environment_and_arguments(start_nvim):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, env={"COLOUR": "red"}, init_lua="vim.g.mark = 7")
    assert nvim.lines() == ["one"]
    assert nvim.lua("return { vim.env.COLOUR, vim.g.mark, ... }", "x") == ["red", 7, "x"]


def test_raises_what_neovim_answers(nvim):
    with pytest.raises(NvimError, match="boom"):
        nvim.lua("error('boom')")


def test_a_wait_that_fails_shows_the_screen(nvim):
    nvim.keys("ivisible text")
    nvim.wait_screen("visible text")
    with pytest.raises(AssertionError, match="visible text"):
        nvim.wait("false", timeout=0.1)


def test_leaves_no_process_behind(start_nvim):
    nvim = start_nvim()
    nvim.cmd("terminal sleep 1000")
    marker = nvim.terminal.marker
    nvim.wait(lambda: len(marked_processes(marker)) >= 3, what="the screen, the server and the child to run")
    nvim.kill()
    nvim.terminal.wait(lambda: not marked_processes(marker), what="every process to end")


def test_starts_fast(start_nvim):
    began = time.monotonic()
    start_nvim()
    assert time.monotonic() - began < 20
