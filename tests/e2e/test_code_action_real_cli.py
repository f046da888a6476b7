"""A code action, from `vim.lsp.buf.code_action()` to the model."""

import pytest
from terminal_steps import IDLE, begin

from harness.scripted_model import Reply

pytestmark = pytest.mark.cli

SERVER = """
vim.keymap.set({ "n", "x" }, "ga", vim.lsp.buf.code_action)
vim.lsp.start({ name = "server", cmd = function(dispatchers)
  return {
    request = function(method, _, callback)
      vim.schedule(function() callback(nil, method == "initialize" and { capabilities = {} } or nil) end)
      return true, 1
    end,
    notify = function() return true end,
    is_closing = function() return false end,
    terminate = function() dispatchers.on_exit(0, 0) end,
  }
end })
vim.diagnostic.set(vim.api.nvim_create_namespace("lint"), 0, {
  { lnum = 1, col = 0, severity = 1, message = "undefined name 'two'", source = "lint" },
})
"""
FILES = {"dir/with space.py": "one = 1\ntwo\nthree = 3\n"}
OURS = "#vim.lsp.get_clients({ bufnr = 0, name = 'claude-ide' }) == 1"


def last_prompt(api):
    """The texts of the user's last message, with what the CLI adds to it."""
    content = [message for message in api.conversation() if message["role"] == "user"][-1]["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return "\n".join(block.get("text", "") for block in blocks)


def test_what_is_chosen_reaches_the_model_with_the_lines(start_with_claude, mock_api):
    nvim = start_with_claude(args=["dir/with space.py"], files=FILES)
    begin(nvim, mock_api)
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    nvim.lua(SERVER)
    nvim.wait(OURS, what="our client")

    nvim.answer(1)
    mock_api.script(Reply(text="Fixed."))
    nvim.keys("2Gga")
    nvim.wait(lambda: not mock_api._scripted, what="the first prompt")
    said = last_prompt(mock_api)
    assert "@\"dir/with space.py#L2\" Fix this:\n- line 2, error: undefined name 'two' (lint)" in said
    nvim.wait(IDLE, what="the turn to be over")
    everything = str(mock_api.conversation())
    assert "three = 3" not in everything, "only the lines of the mention"
    assert everything.count("with space.py") > 1, "the CLI has read the mention"

    nvim.answer(-1)
    mock_api.script(Reply(text="Explained."))
    nvim.keys("2GVjga")
    nvim.wait(lambda: not mock_api._scripted, what="the second prompt")
    assert '@"dir/with space.py#L2-3" Explain this.' in last_prompt(mock_api)
    assert "three = 3" in str(mock_api.conversation())


def test_a_resolved_conflict_is_a_proposal(start_with_claude, mock_api):
    text = "one\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\ntwo\n"
    nvim = start_with_claude(args=["a.py"], files={"a.py": text})
    begin(nvim, mock_api)
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    nvim.lua(SERVER)
    nvim.wait(OURS, what="our client")

    nvim.answer(-1)
    edit = {"file_path": str(nvim.project / "a.py"), "old_string": text[4:-4], "new_string": "ab\n"}
    mock_api.script(Reply(calls=[("Edit", edit)]), Reply(text="Resolved."))
    nvim.keys("4Gga")
    nvim.wait("Ide.proposal.count() == 1", what="the proposal")
    assert "@a.py#L2-6 Resolve this merge conflict" in last_prompt(mock_api)
    assert (nvim.project / "a.py").read_text() == text
    nvim.wait_kind("proposal")
    nvim.keys("ZZ", counts=True)
    nvim.wait(lambda: (nvim.project / "a.py").read_text() == "one\nab\ntwo\n", what="the edit")
