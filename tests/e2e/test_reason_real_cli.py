"""Rejecting and saying why, with the real CLI: what the model gets as the next prompt."""

import re

import pytest

from harness.cli import call, submitting
from harness.mock_api import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

ONE_DIFF = "require('claude-ide.diff').count() == 1"
SEEN = "(require('claude-ide.diff').list()[1] or {}).seen"
REASONS = {
    "use two words": "use two words",
    "first line\nsecond\n\n  indented\nfive\nsix": "first line\nsecond\n\n  indented\nfive\nsix",
    "word " * 400: ("word " * 400).strip(),
    "/clear is not it": "Reason: /clear is not it",
    "!touch {project}/pwned": "Reason: !touch {project}/pwned",
    "# not a memory": "Reason: # not a memory",
    "exit": "Reason: exit",
    "the end \x1b[201~\r/exit\x03\x04": "the end [201~\n/exit",
    "hid\u200bden, bro\u202eken, 👨‍👩‍👧": "hidden, broken, 👨‍👩‍👧",
    "a path: C:\\": "a path: C:\\",
    "see @a": "see @a",
}
"""What a person says, and what the model is to hear."""


def edit(nvim, name="a.txt"):
    return "Edit", {"file_path": str(nvim.project / name), "old_string": "two", "new_string": "TWO"}


def heard(mock_api):
    """The last thing the model was told that is not a reminder of the CLI's."""
    said = ""
    for message in mock_api.conversation():
        content = message["content"]
        texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        if message["role"] == "user":
            said = next((text for text in reversed(texts) if not re.match(r"<system-reminder>|\[Request", text)), said)
    return said


@pytest.fixture
def nvim(start_with_claude, mock_api):
    """A Neovim with the CLI in its terminal, which proposes a change."""
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n"})
    nvim.keys(":Claude<CR>")
    nvim.wait("(require('claude-ide.server').clients()[1] or {}).pid", what="the CLI to connect")
    nvim.wait_screen("manual mode on")
    mock_api.script(Reply(calls=[("Read", {"file_path": str(nvim.project / "a.txt")})]), Reply(calls=[edit(nvim)]))
    nvim.keys("change it")
    nvim.wait_screen("change it")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    nvim.wait(ONE_DIFF)
    return nvim


def test_the_reason_is_the_next_prompt_word_for_word(nvim, mock_api):
    for reason, expected in REASONS.items():
        mock_api.script(Reply(calls=[edit(nvim)]))
        nvim.lua("require('claude-ide.diff').focus()")
        nvim.wait(SEEN, what="the proposal to have been seen")
        nvim.lua("require('claude-ide').reject(...)", reason.format(project=nvim.project))
        expected = expected.format(project=nvim.project)
        nvim.wait(lambda expected=expected: heard(mock_api) == expected, what=f"the model to hear {expected!r}")
        nvim.wait(ONE_DIFF, what="the next proposal")
    assert not (nvim.project / "pwned").exists()
    assert (nvim.project / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_a_key_asks_and_claude_goes_on_with_what_was_said(nvim, mock_api):
    nvim.keys("<C-\\><C-n>")
    nvim.wait("vim.api.nvim_get_mode().mode ~= 't'")
    nvim.wait("require('claude-ide').status().diffs == 1")
    nvim.lua("require('claude-ide.diff').focus()")
    nvim.wait(SEEN)
    nvim.keys("ZW")
    nvim.wait_screen("Why not?")
    nvim.keys("SAY understood<CR>")
    nvim.wait_screen("● understood")
    assert nvim.lua("return #vim.api.nvim_list_tabpages()") == 1


def test_in_another_terminal_the_prompt_stays_empty_and_the_words_are_kept(start_nvim, cli):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\ntwo\nthree\n"})
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim)
    path = str(nvim.project / "a.txt")
    claude.prompt(f"{call('Read', file_path=path)} THEN {call(edit(nvim)[0], **edit(nvim)[1])}")
    nvim.wait(ONE_DIFF)
    nvim.wait_screen("TWO")
    nvim.keys(":Claude reject use two words<CR>")
    claude.wait_screen("Rejected update to")
    said = "That Claude runs in another terminal. Your words are in"
    nvim.wait(lambda: said in nvim.lua("return vim.fn.execute('messages')"), what="where the words are")
    assert nvim.lua("return vim.fn.getreg('\"')") == "use two words"
    assert "use two words" not in claude.screen()
