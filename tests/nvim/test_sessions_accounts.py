"""Sessions of several accounts: each has a configuration folder of its own."""

import os
import subprocess
from datetime import timedelta

import pytest
from session_files import Sessions

from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

PICKER = """
lists, answers = {}, {}
vim.ui.select = function(items, opts, on_choice)
  lists[#lists + 1] = vim.tbl_map(opts.format_item or tostring, items)
  preview = opts.preview_item and opts.preview_item(items[1])
  local answer = table.remove(answers, 1)
  if answer then on_choice(items[answer], answer) else on_choice(nil) end
end
"""
LIVE = "vim.tbl_map(function(live) return live.id end, Ide.sessions.live())"


@pytest.fixture
def work(tmp_path):
    """The files of another account."""
    work = Sessions(tmp_path)
    work.config = tmp_path / "home" / ".claude-work"
    yield work
    work.close()


@pytest.fixture
def run_as(work):
    """Starts a process that a connected client says to be, with the environment of a CLI of the other account."""
    processes = []

    def run():
        process = subprocess.Popen(["sleep", "600"], env={**os.environ, "CLAUDE_CONFIG_DIR": str(work.config)})
        processes.append(process)
        return process.pid

    yield run
    for process in processes:
        process.kill()
        process.wait()


def choose(nvim, *answers, command="Claude sessions"):
    before = nvim.lua("answers = { ... } return #lists", *answers)
    nvim.cmd(command)
    nvim.wait(f"#lists > {before} and #answers == 0", what="the list")
    return nvim.lua("return lists[#lists - ...]", len(answers))


def test_lists_those_of_an_option_with_their_folders(start_nvim, sessions, work, project):
    sessions.write(project, ("mine", "ok"))
    alone = start_nvim(init_lua=PICKER)
    assert choose(alone) == ["2h  main  mine"], "one account: no folder"
    work.write(project, ("paid for", "ok"), age=timedelta(hours=1))
    nvim = start_nvim(opts={"sessions": {"config_dirs": ["~/.claude-work"]}}, init_lua=PICKER)
    assert choose(nvim) == ["1h  ~/.claude-work  main  paid for", "2h  ~/.claude       main  mine"]
    preview = nvim.lua(
        "return vim.api.nvim_buf_get_lines(type(preview.buf) == 'number' and preview.buf or 0, 0, -1, false)"
    )
    assert "- Configuration: ~/.claude-work" in preview
    nvim.lua("require('claude-ide').setup({ sessions = { config_dirs = {} } })")
    assert choose(nvim) == ["2h  main  mine"]


def test_a_connected_cli_brings_the_sessions_of_its_account(start_nvim, connect, sessions, work, project, run_as):
    sessions.write(project, ("mine", "ok"))
    paid = work.write(project, ("paid for", "ok"), age=timedelta(hours=1))
    nvim = start_nvim(init_lua=PICKER)
    assert choose(nvim) == ["2h  main  mine"]
    pid = run_as()
    work.record(pid, paid, "busy", project)
    client = connect(nvim)
    client.notify("ide_connected", {"pid": pid})
    nvim.wait(f"return vim.list_contains({LIVE}, '{paid}')", what="the session of the other account")
    assert choose(nvim) == ["1h  working  ~/.claude-work  main  paid for", "2h           ~/.claude       main  mine"]
    client.close()
    nvim.wait("#Ide.server.clients() == 0", what="the client to be gone")
    assert len(choose(nvim)) == 2, "they stay"
    nvim.cmd("Claude board")
    nvim.wait(
        "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('~/.claude-work', 1, true)", what="the board"
    )


@pytest.mark.parametrize("given", ["none", "neovim", "terminal"])
def test_a_session_goes_on_with_its_own_account(start_nvim, sessions, work, project, tmp_path, given):
    """Whichever account a new session would get."""
    mine = sessions.write(project, ("mine", "ok"))
    paid = work.write(project, ("paid for", "ok"))
    other = str(tmp_path / "home" / ".claude-work")
    cli = FakeCli(tmp_path)
    opts = {"sessions": {"config_dirs": [str(sessions.config), other]}, "terminal": {}}
    if given == "terminal":
        opts["terminal"]["env"] = {"CLAUDE_CONFIG_DIR": other}
    env = {"CLAUDE_CONFIG_DIR": other} if given == "neovim" else {}
    nvim = start_nvim(opts=opts, init_lua=PICKER, env={**cli.environment(), **env})
    for number, (session, action) in enumerate([(paid, "resume"), (mine, "resume"), (paid, "fork"), (mine, "fork")]):
        nvim.cmd(f"Claude sessions {action} {session}")
        nvim.wait(lambda n=number: len(cli.starts()) > n, what="the CLI")
        started = cli.starts()[number]
        assert session in started["argv"]
        assert started["env"].get("CLAUDE_CONFIG_DIR") == (other if session == paid else None), (action, session)
        nvim.lua("Ide.terminal.close()")
