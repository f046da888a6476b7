"""A session outlives the cleanup of the real Claude Code CLI."""

import os
import subprocess
import time

import pytest
from terminal_steps import IDLE, SESSION, begin, submit

from harness import left
from harness.cli import binary, call, environment, prepare_home
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

MONTH = 31 * 24 * 3600


def age(home, session):
    """Makes all that the CLI has of a session a month old, and has the next CLI look."""
    config = home / ".claude"
    (config / ".last-cleanup").unlink(missing_ok=True)
    for path in [*config.glob("projects/*/*"), *config.glob(f"projects/*/{session}/**/*")]:
        os.utime(path, (time.time() - MONTH, time.time() - MONTH))


def clean_up(home, api, folder, *deleted):
    """Runs a CLI in another project until it has deleted the files."""
    folder.mkdir()
    prepare_home(home, folder)
    there = " || ".join(f"[ -e '{file}' ]" for file in deleted)
    prompt = call("Bash", command=f"while {there}; do sleep 0.1; done")
    subprocess.run(
        [binary(), "-p", prompt, "--permission-mode", "bypassPermissions"],
        cwd=folder,
        env=environment(home, api),
        check=True,
        capture_output=True,
        timeout=left(time.monotonic(), 60),
    )


def test_a_kept_session_is_resumed_after_the_cli_has_deleted_it(start_with_claude, mock_api, tmp_path):
    home = tmp_path / "home"
    nvim = start_with_claude(notices=True)
    begin(nvim, mock_api)
    session = nvim.lua(SESSION)
    (file,) = (home / ".claude" / "projects").glob(f"*/{session}.jsonl")
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “begin”")
    nvim.lua("Ide.terminal.close()")
    nvim.wait(lambda: "cost-state" in file.read_text(), what="the last lines of the CLI")
    nvim.answer()
    nvim.cmd("Claude sessions")
    nvim.wait("#asked == 1", what="the list")
    assert "  kept  " in nvim.asked()[0]["lines"][0]
    (copy,) = (home / ".local").glob(f"state/nvim/claude-ide/kept/projects/*/{session}.jsonl")
    nvim.wait(lambda: copy.read_text() == file.read_text(), what="the whole session to be kept")
    written = file.read_text()
    age(home, session)
    clean_up(home, mock_api, tmp_path / "other", file)
    assert not file.exists()

    nvim.cmd(f"Claude sessions resume {session}")
    nvim.wait_screen("Hello.")
    nvim.wait(IDLE, what="the CLI to listen")
    assert file.read_text().startswith(written)
    nvim.wait("vim.fn.mode() == 't'")
    mock_api.script(Reply(text="I remember."))
    submit(nvim, mock_api, "go on")
    nvim.wait_screen("I remember.")
    texts = str(mock_api.requests[-1]["messages"])
    assert "begin" in texts and "Hello." in texts and "go on" in texts
    nvim.wait(lambda: "I remember." in copy.read_text(), what="the copy to grow")
