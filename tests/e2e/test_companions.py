"""CLIs that speak the IDE companion specification, in a terminal of the user's: the real Gemini CLI with a scripted model."""

import json

import pytest

from harness.cli import ROOT, answering, submitting
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.dealt]

GEMINI = ROOT / ".deps/gemini/node_modules/.bin/gemini"
SETTINGS = {
    "ide": {"enabled": True, "hasSeenNudge": True},
    "security": {"folderTrust": {"enabled": False}, "auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
}
TEXT = "one\ntwo\nthree\n"
EDIT = """
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if (vim.b[buf].claude_ide or {}).kind == "proposal" then vim.api.nvim_buf_set_lines(buf, 0, 1, false, { ... }) end
end
"""
PRESS = "vim.api.nvim_chan_send(vim.bo[vim.fn.bufnr('gemini')].channel, ...)"
COUNT = "Ide.proposal.count()"


@pytest.fixture
def nvim(start_nvim, mock_api, tmp_path):
    """A Neovim at a.txt with the CLI in a terminal below."""
    (tmp_path / "home/.gemini").mkdir(parents=True)
    (tmp_path / "home/.gemini/settings.json").write_text(json.dumps(SETTINGS))
    (tmp_path / "tmp").mkdir()
    env = {
        "TMPDIR": str(tmp_path / "tmp"),
        "GEMINI_API_KEY": "k" * 39,
        "GOOGLE_GEMINI_BASE_URL": mock_api.url,
        "NO_PROXY": "127.0.0.1",
        "REMOTE_CONTAINERS": "1",  # in a container it would look for an editor outside
    }
    opts = {"agents_ide": True}
    nvim = start_nvim(args=["a.txt"], files={"a.txt": TEXT, "key.pem": "secret\n"}, env=env, opts=opts)
    nvim.cmd("edit key.pem | edit a.txt | ClaudeConnect")
    nvim.cmd(f"botright 15split | terminal {GEMINI} --model gemini-2.5-pro")
    nvim.cmd("file gemini | wincmd p | normal! 2Gv$")
    nvim.wait("#Ide.server.companions() > 0", what="the CLI to connect", timeout=60)
    wait_terminal(nvim, "Type your message")
    return nvim


def terminal(nvim):
    return "\n".join(nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('gemini'), -60, -1, false)"))


def wait_terminal(nvim, words):
    nvim.wait(lambda: words in terminal(nvim), what=f"the terminal to show {words!r}")


def propose(nvim, mock_api, *lines, goes_on=True):
    """Has the model write a.txt; a rejection would end its turn."""
    args = {"file_path": str(nvim.project / "a.txt"), "content": "".join(f"{line}\n" for line in lines)}
    mock_api.script(Reply(calls=[("write_file", args)]), *([Reply(text=f"Over with {lines[0]}.")] if goes_on else []))
    nvim.lua(PRESS, f"write {lines[0]}")
    wait_terminal(nvim, f"write {lines[0]}")
    nvim.wait(submitting(mock_api, lambda: nvim.lua(PRESS, "\r")), what="the model to be asked")
    nvim.wait(f"{COUNT} == 1", what="the diff")
    nvim.wait("Ide.proposal.list()[1].seen", what="the diff to be shown")


def wait_over(nvim, mock_api, word, text):
    wait_terminal(nvim, f"Over with {word}.")
    assert (nvim.project / "a.txt").read_text() == text
    assert nvim.lua(f"return {COUNT}") == 0


def test_gemini_shows_its_edits_here_and_knows_the_selection(nvim, mock_api):
    nvim.keys("<Esc>")
    propose(nvim, mock_api, "ONE", "two")
    asked = json.dumps(mock_api.requests)
    assert str(nvim.project / "a.txt") in asked and str(nvim.project / "key.pem") not in asked
    assert (nvim.project / "a.txt").read_text() == TEXT, "nothing is written before the decision"
    nvim.lua(EDIT, "mine")
    nvim.cmd("Claude accept")
    wait_over(nvim, mock_api, "ONE", "mine\ntwo\n")

    propose(nvim, mock_api, "never", goes_on=False)
    nvim.cmd("Claude reject")
    nvim.wait(lambda: nvim.lua(f"return {COUNT}") == 0)
    wait_terminal(nvim, "Request cancelled.")
    assert (nvim.project / "a.txt").read_text() == "mine\ntwo\n"

    propose(nvim, mock_api, "THERE", "two")
    nvim.lua(EDIT, "edited, then allowed there")
    wait_terminal(nvim, "Apply this change?")
    nvim.wait(answering(lambda: terminal(nvim), lambda: nvim.lua(PRESS, "\r"), "Apply this change?"))
    wait_over(nvim, mock_api, "THERE", "edited, then allowed there\ntwo\n")

    propose(nvim, mock_api, "emptied", goes_on=False)
    nvim.lua(EDIT.replace("0, 1, false, { ... }", "0, -1, false, {}"))
    nvim.cmd("Claude accept")
    nvim.wait(lambda: terminal(nvim).count("Request cancelled.") == 2, what="the edit to be rejected")
    assert (nvim.project / "a.txt").read_text() == "edited, then allowed there\ntwo\n"

    propose(nvim, mock_api, "left", goes_on=False)
    nvim.lua("vim.fn.jobstop(vim.bo[vim.fn.bufnr('gemini')].channel)")
    nvim.wait(f"{COUNT} == 0", what="the diff of a CLI that is gone to go", timeout=60)
    files = list(nvim.home.parent.glob("tmp/gemini/ide/*")) + list(nvim.home.glob(".qwen/ide/*"))
    assert len(files) == 2
    nvim.cmd("Claude disconnect")
    nvim.wait(lambda: not any(file.exists() for file in files), what="the discovery files to go")
