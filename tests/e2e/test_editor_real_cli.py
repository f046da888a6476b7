"""`$EDITOR` of the terminal is this Neovim: for the CLI's own <C-g>, and for commands of the model's."""

import re

import pytest
from terminal_steps import begin

from harness.cli import QUESTION, answering, submitting
from harness.nvim import PENDING
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.dealt]

IS_OPEN = "vim.fs.basename(vim.api.nvim_buf_get_name(0)):find({!r}) ~= nil"
IN_TERMINAL = "vim.bo.buftype == 'terminal' and vim.api.nvim_get_mode().mode == 't'"


def edit(nvim, name, keys):
    """Types keys into the file that was opened, of which the last ones close it."""
    nvim.wait(IS_OPEN.format(name), what=f"{name} to be opened")
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
    nvim.keys(keys)


def test_the_prompt_and_files_of_commands_open_in_this_neovim(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\n"})
    begin(nvim, mock_api)
    nvim.keys("half a prompt")
    nvim.wait_screen("half a prompt")
    nvim.keys("<C-g>")
    edit(nvim, "claude%-prompt", "ccin two lines<CR>of text<Esc>:q<CR>")
    nvim.wait_screen("E37")  # it is not written, and not hidden
    nvim.keys("ZZ")
    nvim.wait(IN_TERMINAL, what="the terminal to have the focus again")
    nvim.wait_screen(re.compile(r"in two lines.*of text", re.DOTALL))
    nvim.keys("<C-g>")
    edit(nvim, "claude%-prompt", "ggdGZQ")
    nvim.wait(IN_TERMINAL, what="the terminal to have the focus again")
    nvim.wait_screen(re.compile(r"in two lines.*of text", re.DOTALL))
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2

    command = '"$EDITOR" +2 note.txt && cat note.txt'
    mock_api.script(Reply(calls=[("Bash", {"command": command, "description": "note"})]), Reply(text="Done."))
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    nvim.wait_screen(QUESTION)
    nvim.wait(f"{PENDING} == 1", what="the question to be known here, too")
    nvim.wait(answering(lambda: "\n".join(nvim.screen()), lambda: nvim.keys("1")), what="the command to be allowed")
    nvim.wait(f"{PENDING} == 0", what="it to be known as answered, so that no card of it comes")
    edit(nvim, "^note.txt$", "ait is noted<Esc>ZZ")
    nvim.wait(lambda: mock_api.seen("it is noted"), what="the command to end")
