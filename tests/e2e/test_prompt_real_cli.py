"""`:Claude prompt` with the real CLI: words and lines at its prompt, for the person to send."""

import pytest

from harness.cli import QUESTION, submitting
from harness.mock_api import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]


def test_words_and_lines_stand_at_the_prompt_until_they_are_sent_and_never_at_a_question(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n"})
    nvim.keys(":Claude<CR>")
    nvim.wait("(require('claude-ide.server').clients()[1] or {}).pid", what="the CLI to connect")
    nvim.wait_screen("manual mode on")
    nvim.wait("((require('claude-ide.terminal').session() or {}).state or {}).activity == 'idle'")
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.fn.bufname() == 'a.txt'")
    nvim.keys(":2Claude prompt look at this<CR>")
    nvim.wait_screen("Pasted text")
    assert mock_api.turns() == 0
    mock_api.script(Reply(calls=[("Bash", {"command": "touch asked"})]))
    nvim.wait("vim.fn.mode() == 't'")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    said = str(mock_api.conversation())
    assert "look at this #lines:a.txt:2-2" in said and "two\\n</ide_selection>" in said
    nvim.wait_screen(QUESTION)
    nvim.wait("((require('claude-ide.terminal').session() or {}).state or {}).activity == 'waiting'")
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.fn.bufname() == 'a.txt'")
    nvim.keys(":2Claude prompt 1<CR>")
    nvim.wait_screen("Claude is not at its prompt")
    assert not (nvim.project / "asked").exists()
