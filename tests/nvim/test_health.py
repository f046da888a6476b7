"""`:checkhealth claude-ide` finds faults and names the remedy."""

import json
import os
import re
import shutil
import stat

import pytest

from harness.nvim import ROOT

pytestmark = [pytest.mark.dealt, pytest.mark.slow]


def health(nvim):
    nvim.cmd("checkhealth claude-ide")
    return nvim.wait("""
      local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n")
      return vim.bo.filetype == "checkhealth" and text:find("Log file:", 1, true) and text or nil
    """)


def cli(tmp_path, script):
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "claude"
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


PATIENT = "Ide.health.version_timeout_ms = 120000"


@pytest.mark.every_nvim
def test_a_good_setup_has_no_warning(start_nvim, connect, tmp_path):
    env = cli(tmp_path, "echo '9.8.7 (Claude Code)'")
    nvim = start_nvim(env=env, init_lua=PATIENT, opts={"notebook": {}})
    connect(nvim)
    nvim.wait("(Ide.server.clients()[1] or {}).state == 'ready'", what="the client")
    text = health(nvim)
    assert "WARNING" not in text and "ERROR" not in text
    assert "claude_ide_native" in text and "version 0.1.0" in text
    assert "9.8.7 (Claude Code)" in text
    assert "permissions 700" in text and "The lock file is" in text
    assert 'In /ide this Neovim is called "Neovim: ' in text
    assert str(nvim.project.resolve()) in text
    assert "getDiagnostics and executeCode" in text
    assert f"Neovim {nvim.version}" in text


def test_it_starts_nothing_and_names_wrong_options_and_where_it_runs(start_nvim, tmp_path):
    proxy = {"HTTPS_PROXY": "http://me:secret@proxy.example:3128"}
    env = {**cli(tmp_path, "echo 1"), **proxy, "WSL_DISTRO_NAME": "Debian", "REMOTE_CONTAINERS": "true"}
    nvim = start_nvim(opts={"sever": 1, "server": {"host": "0.0.0.0"}}, env=env)
    text = health(nvim)
    assert "The server is not running" in text
    assert nvim.locks() == []
    assert "sever: no such option, did you mean server?" in text
    assert "server.host is 0.0.0.0: other machines can try to connect" in text
    assert "Neovim runs in WSL" in text and "Neovim runs in a dev container" in text
    assert "without an exception for loopback" in text and "proxy.example" in text
    assert "secret" not in text, "the password of the proxy"


@pytest.mark.parametrize("script", ["exit 3", "exec sleep 600"])
def test_a_cli_that_does_not_answer_holds_nothing_up(start_nvim, tmp_path, script):
    nvim = start_nvim(env=cli(tmp_path, script), init_lua="Ide.health.version_timeout_ms = 200")
    assert "did not report its version" in health(nvim)


def test_an_old_cli_and_what_builds_the_library_are_named(start_nvim, tmp_path):
    env = cli(tmp_path, "echo '2.0.76 (Claude Code)'")
    (tmp_path / "bin" / "cargo").write_text("#!/bin/sh\necho 'cargo 9.9.9'\n")
    (tmp_path / "bin" / "cargo").chmod(0o755)
    text = health(start_nvim(env=env, init_lua=PATIENT))
    assert "2.0.76 (Claude Code). The oldest that is known to work is 2.0.77" in text
    assert "bin/cargo: cargo 9.9.9" in text


@pytest.mark.parametrize(("version", "is_said"), [("2.1.286", True), ("2.1.287", False)])
def test_a_cli_that_cannot_ask_about_refusals_is_named(start_nvim, tmp_path, version, is_said):
    text = health(start_nvim(env=cli(tmp_path, f"echo '{version} (Claude Code)'"), init_lua=PATIENT))
    assert ("What its auto mode refuses stays refused: to be asked needs 2.1.287" in text) == is_said


def test_a_plugin_that_was_updated_beside_it_is_named(bare, installed):
    nvim = bare()
    nvim.wait("Ide.library_update.is_outdated() == false", what="the plugin's files to be known")
    source = installed / "lua" / "claude-ide" / "base" / "file.lua"
    source.write_text(source.read_text() + "\n")
    assert "The plugin was updated on disk while this Neovim ran" in health(nvim)


def test_a_library_of_other_sources_is_an_error(bare, installed):
    shutil.copy(ROOT / "Cargo.lock", installed)
    (installed / "crates" / "nvim" / "src").mkdir(parents=True)
    (installed / "crates" / "nvim" / "src" / "lib.rs").write_text("// of an update whose build failed\n")
    nvim = bare(lua="vim.g.claude_ide = { auto_start = false }")
    text = health(nvim)
    assert "ERROR The library does not fit the plugin" in text
    assert "their library is " in text and f"{installed}/build/claude_ide_native.so" in text
    assert "`:Claude install` looks for https://github.com/" in text
    assert "was built from other sources" in text and "`:Claude install`, then restart Neovim." in text


def test_permissions_that_are_too_wide_and_a_lock_that_cannot_be_written_again_are_errors(start_nvim, tmp_path):
    nvim = start_nvim(env=cli(tmp_path, "echo 1"))
    nvim.cmd("ClaudeConnect")
    folder = nvim.home / ".claude" / "ide"
    (lock,) = folder.glob("*.lock")
    folder.chmod(0o755)
    lock.chmod(0o644)
    text = health(nvim)
    assert "has the permissions 755" in text and "has the permissions 644" in text
    assert f"chmod 600 '{lock}'" in text
    folder.rename(folder.with_name("old"))
    folder.write_text("no folder")
    nvim.cmd("bwipeout")
    assert "is gone: no CLI can find this Neovim" in health(nvim)


def test_a_cli_without_its_connection_is_named_with_what_brings_it_back(start_nvim, connect, tmp_path):
    nvim = start_nvim(env=cli(tmp_path, "echo 1"))
    client = connect(nvim)
    client.close()
    gone = "#Ide.server.clients() == 0"
    nvim.wait(gone)
    who = f"pid {os.getpid()}: "
    assert f"{who}the connection is lost, and the CLI tries to connect again" in health(nvim)
    nvim.lua("local now = os.time os.time = function(...) return now(...) + (... and 0 or 60) end")
    text = health(nvim)
    assert (
        f"{who}the connection is lost, and the CLI no longer tries to connect again" in text
        and "Type /ide in the CLI." in text
    )
    nvim.lua("Ide.server.stop()")
    assert f"{who}the connection is lost, and the CLI tries to connect again" in health(nvim), "the port still accepts"
    connect(nvim)
    assert who not in health(nvim)
    nvim.cmd("Claude disconnect")
    nvim.wait(gone)
    assert f"{who}disconnected by `:Claude disconnect`. `/ide` in it connects it again" in health(nvim)


def test_other_editors_are_told_apart(start_nvim, tmp_path):
    nvim = start_nvim(env=cli(tmp_path, "echo 1"))
    folder = nvim.home / ".claude" / "ide"
    folder.mkdir(parents=True)
    locks = {
        "1.lock": {"pid": 2**22 + 1, "ideName": "Gone", "workspaceFolders": ["/x"]},
        "2.lock": {"pid": os.getpid(), "ideName": "Rival", "workspaceFolders": [str(nvim.project.resolve())]},
        "3.lock": {"pid": os.getpid(), "ideName": "Neighbour", "workspaceFolders": ["/somewhere"]},
        "7.lock": {"pid": os.getpid(), "ideName": "Within", "workspaceFolders": [f"{nvim.project.resolve()}/tree"]},
    }
    for name, lock in locks.items():
        (folder / name).write_text(json.dumps(lock))
    (folder / "4.lock").write_text("not json")
    (folder / "5.lock").write_text("[1, null]")
    (folder / "6.lock").write_text('{"pid": -1.5, "workspaceFolders": "no list", "ideName": {}}')
    text = health(nvim)
    assert "(Gone, pid 4194305) is of a process that has ended" in text
    assert "WARNING Another editor: Rival" in text and "choose with /ide" in text
    assert "WARNING Another editor: Within" in text, "a worktree of git in the project"
    assert "Another editor: Neighbour" in text and "WARNING Another editor: Neighbour" not in text
    assert "Another editor: unnamed editor, pid unknown" in text
    assert "4.lock is not a lock file that can be read" in text


def test_clients_from_elsewhere_are_told_apart(start_nvim, connect, tmp_path):
    nvim = start_nvim(env=cli(tmp_path, "echo 1"))
    nvim.lua("require('claude-ide').setup({ workspace = { path_map = { [...] = '/there' } } })", str(nvim.project))
    connect(nvim, roots=["/there"])
    connect(nvim, roots=["/elsewhere"])
    placed = "return vim.iter(Ide.server.clients()):all(function(one) return #one.roots > 0 end)"
    nvim.wait(placed, what="the clients' folders")
    text = health(nvim)
    assert f"in {nvim.project} (under another path: workspace.path_map)" in text
    assert "in /elsewhere" in text and text.count("This CLI works outside of the project") == 1


def test_what_is_missing_or_switched_off_is_said_with_the_remedy(start_nvim, tmp_path):
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"disableAllHooks": True}))
    nvim = start_nvim(
        opts={"terminal": {"command": ["claude-is-not-here"]}},
        env={"HTTP_PROXY": "http://proxy:1", "NO_PROXY": "x, 127.0.0.1"},
    )
    nvim.lua("local has = vim.fn.has vim.fn.has = function(name) return name == 'win32' and 1 or has(name) end")
    text = health(nvim)
    assert "`claude-is-not-here` was not found" in text
    assert "npm install -g @anthropic-ai/claude-code" in text
    assert "Neovim runs on Windows: the library needs Unix" in text
    assert "with an exception for loopback" in text
    assert f"disableAllHooks is set in {settings}" in text


@pytest.mark.every_nvim
def test_a_claude_that_hangs_does_not_end_the_check(start_nvim, tmp_path):
    env = cli(tmp_path, "sleep 100")  # which keeps the output open when its shell is ended
    nvim = start_nvim(env=env, init_lua="Ide.health.version_timeout_ms = 300")
    assert "bin/claude did not report its version" in health(nvim)


@pytest.mark.every_nvim
def test_its_help_links_lead_to_tags(start_nvim):
    nvim = start_nvim(
        env={"WSL_DISTRO_NAME": "Debian", "REMOTE_CONTAINERS": "true", "SSH_CONNECTION": "x"}, opts={"sever": 1}
    )
    text = health(nvim)
    links = re.findall(r":help \S+", text)
    assert len(links) >= 4
    tags = set(re.findall(r"\*(\S+)\*", (ROOT / "doc" / "claude-ide.txt").read_text()))
    for link in links:
        assert re.fullmatch(r":help \|(\S+)\|", link) and link[7:-1] in tags, link


def test_folders_that_cannot_be_written_to_and_two_copies_are_named(start_nvim, tmp_path):
    copy = tmp_path / "copy" / "lua" / "claude-ide"
    (copy / "library").mkdir(parents=True)
    (copy / "library" / "native.lua").touch()
    lua = f"vim.opt.runtimepath:append('{tmp_path}/copy') vim.env.XDG_STATE_HOME = '/dev/null/state'"
    text = health(start_nvim(init_lua=lua))
    assert "/dev/null/state/nvim cannot be written to: drafts" in text
    assert "installed more than once: " in text and f"{tmp_path}/copy" in text


def test_a_missing_cargo_is_no_warning_beside_a_library(start_nvim, tmp_path):
    programs = ":".join(path for path in os.environ["PATH"].split(":") if not os.path.exists(f"{path}/cargo"))
    env = cli(tmp_path, "echo '9.8.7 (Claude Code)'")
    text = health(start_nvim(env={"PATH": f"{env['PATH'].split(os.pathsep)[0]}:{programs}"}, init_lua=PATIENT))
    assert "`cargo` was not found" in text
    assert not re.search(r"WARNING[^\n]*cargo", text)
