"""`$NAME` in a path is a name: nothing of the environment is put there."""

import pytest

pytestmark = pytest.mark.one_nvim


def test_what_an_agent_is_given_and_what_a_transcript_names(start_nvim):
    nvim = start_nvim(files={"$HOME.txt": "one\n"})
    path = str(nvim.project / "$HOME.txt")
    assert nvim.lua("return require('claude-ide.terminal.environment').folder(...)", path) == path
    blocks = nvim.lua(
        "return require('claude-ide.chat.acp.links').of({ cwd = vim.fn.getcwd(), can = {} }, 'Look at @$HOME.txt.')"
    )
    assert [block["uri"] for block in blocks] == [f"file://{nvim.project}/$HOME.txt"]
    nvim.lua("require('claude-ide.transcript.files').open({ cwd = vim.fn.getcwd() }, '$HOME.txt', 1, 'split')")
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == path
