"""The real CLI with another account: a configuration folder of its own."""

import pytest
from terminal_steps import SESSION, begin

from harness.cli import prepare_home

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

TITLES = """
found = nil
Ide.sessions.list({}, function(sessions) found = sessions or {} end)
"""


def test_a_cli_with_a_configuration_folder_of_its_own_connects_and_its_session_is_read(
    start_with_claude, mock_api, tmp_path
):
    work = tmp_path / "home/.claude-work"
    prepare_home(work, tmp_path / "project")
    env = {"CLAUDE_CONFIG_DIR": str(work)}
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\n"}, terminal={"env": env})
    begin(nvim, mock_api)
    session = nvim.lua(SESSION)
    assert [path.stem for path in work.glob("projects/*/*.jsonl")] == [session]
    assert not (tmp_path / "home/.claude/projects").exists()
    nvim.lua(TITLES)
    nvim.wait("found and #found == 1", what="the session to be listed")
    assert nvim.lua("return { found[1].id, found[1].config_dir }") == [session, str(work)]
    nvim.cmd("Claude transcript")
    nvim.wait_screen("Hello.")
    assert nvim.lua("return Ide.terminal.list()[1]:live().config_dir") == str(work)
