"""The bridge: our mod inside the real CLI, and what Neovim has it do."""

import pytest
from terminal_steps import IDLE, begin

from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

PROMPT = """
local text = ...
sent = nil
assert(require("claude-ide").prompt(text, { on_done = function(err) sent = err or "sent" end }))
"""
BRIDGE = "require('claude-ide.terminal.bridge').of(require('claude-ide.terminal').list()[1])"
SCREEN = "return table.concat(vim.api.nvim_buf_get_lines(require('claude-ide.terminal').bufnr(), 0, -1, false), '\\n')"


@pytest.fixture
def bridged(start_with_claude, mock_api):
    """A Neovim with the real CLI in its terminal, whose mod waits for orders."""
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\n"})
    begin(nvim, mock_api)
    nvim.wait(f"{BRIDGE} ~= nil", what="the mod")
    return nvim


def send(nvim, text):
    nvim.wait(IDLE, what="the turn before to be over")
    nvim.lua(PROMPT, text)
    nvim.wait("sent ~= nil", what="the prompt to be handed over")
    assert nvim.lua("return sent") == "sent"


def prompts(mock_api):
    return [
        text
        for message in mock_api.conversation()
        if message["role"] == "user"
        for block in ([{"text": message["content"]}] if isinstance(message["content"], str) else message["content"])
        if (text := block.get("text", "")) and not text.startswith("<")
    ]


def test_prompts_go_beside_what_the_user_types(bridged, mock_api):
    nvim = bridged
    nvim.keys("my draft")
    nvim.wait_screen("❯\N{NO-BREAK SPACE}my draft")
    mock_api.script(Reply(text="Yes."))
    send(nvim, "from a script\x1b[31m\nin two lines")
    nvim.wait_screen("Yes.")
    assert prompts(mock_api)[-1] == "from a script\nin two lines"
    nvim.wait_screen("❯\N{NO-BREAK SPACE}my draft")
    nvim.keys(" goes on")
    nvim.wait_screen("my draft goes on")


def test_the_cli_goes_on_when_neovims_server_comes_back_and_when_neovim_is_gone(bridged, mock_api):
    nvim = bridged
    nvim.cmd("Claude restart")
    nvim.wait(f"{BRIDGE} ~= nil", what="the mod to be back")
    mock_api.script(Reply(text="Again."))
    send(nvim, "after a restart")
    nvim.wait_screen("Again.")
    screen = nvim.lua(SCREEN)
    assert "mod" not in screen.replace("mode", "").replace("model", ""), screen
