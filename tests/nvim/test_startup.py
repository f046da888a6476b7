"""The plugin's effect on a Neovim that starts, and on an idle one."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
LOADED = 'vim.tbl_filter(function(n) return vim.startswith(n, "claude-ide") end, vim.tbl_keys(package.loaded))'


def headless(nvim_program, tmp_path, *args):
    return subprocess.run(
        [nvim_program, "--clean", "--headless", "-u", str(ROOT / "tests" / "minimal_init.lua"), *args],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.every_nvim
def test_nothing_is_required_at_startup(start_nvim, tmp_path):
    nvim = start_nvim(
        init_lua=f"vim.api.nvim_create_autocmd('VimEnter', {{ callback = function() _G.loaded = {LOADED} end }})",
        opts=None,
    )
    assert nvim.lua("return vim.g.loaded_claude_ide") is True
    assert nvim.lua("return _G.loaded") == []


@pytest.mark.every_nvim
def test_setup_loads_nothing_but_the_options_reader(start_nvim):
    nvim = start_nvim(init_lua=f"_G.loaded = {LOADED}", reads_ahead=True)
    lazy, config = nvim.lua("return { Ide('lazy'), Ide('config') }")
    assert set(nvim.lua("return _G.loaded")) - {lazy} == {"claude-ide", config}


@pytest.mark.every_nvim
def test_without_setup_commands_and_maps_are_there_and_no_key_and_no_server_where_it_is_not_to_start(start_nvim):
    nvim = start_nvim(opts=None, init_lua="vim.g.claude_ide = { auto_start = false }")
    commands = nvim.lua("return vim.tbl_keys(vim.api.nvim_get_commands({}))")
    assert {"Claude", "ClaudeConnect", "ClaudeSend"} <= set(commands)
    for name in ["toggle", "focus", "connect", "send", "diff-accept", "diff-reject", "diffs", "selection-toggle"]:
        assert nvim.lua("return vim.fn.maparg(...)", f"<Plug>(claude-{name})", "n"), name
    assert nvim.lua("return vim.fn.maparg('<Plug>(claude-send)', 'x')")
    taken = nvim.lua(
        """
        return vim.iter({ "n", "x", "s", "o", "i", "c", "t" }):map(vim.api.nvim_get_keymap):flatten():filter(function(map)
          return (map.desc or ""):find("^Claude") and not vim.startswith(map.lhs, "<Plug>")
        end):totable()
        """
    )
    assert taken == [], "keys of the user"
    nvim.wait("package.loaded[Ide('autostart')] ~= nil", what="the autostart to be considered")
    nvim.lua("vim.wait(0)")
    assert nvim.lua("return package.loaded[Ide('server')]") is None
    assert nvim.locks() == []


@pytest.mark.every_nvim
def test_it_starts_by_itself_once_there_is_a_screen(start_nvim):
    nvim = start_nvim(opts=None)
    nvim.wait("Ide.server.is_running()", what="the server")
    (lock,) = nvim.locks()
    assert lock["port"] == nvim.lua("return Ide.server.info().port")


def test_it_starts_by_itself_when_a_plugin_manager_loads_it_late(start_nvim):
    nvim = start_nvim(opts=None, init_lua="vim.g.loaded_claude_ide = true")
    assert nvim.lua(f"return {LOADED}") == []
    nvim.cmd("unlet g:loaded_claude_ide | runtime plugin/claude-ide.lua")
    nvim.wait("Ide.server.is_running()", what="the server")


@pytest.mark.every_nvim
def test_a_neovim_without_a_screen_starts_no_server(start_nvim, tmp_path):
    program = start_nvim().lua("return vim.v.progpath")
    ended = headless(
        program, tmp_path, f"+lua vim.schedule(function() io.write(vim.inspect({LOADED})) vim.cmd.qall() end)"
    )
    assert ended.returncode == 0
    assert ended.stdout.strip() == "{}"
    assert not (tmp_path / ".claude").exists()


@pytest.mark.parametrize(
    ("columns", "notice"),
    [
        (80, "The library is not installed yet: `:Claude install`."),
        (50, "No library: `:checkhealth claude-ide`."),
    ],
)
@pytest.mark.one_nvim
def test_a_missing_library_is_reported_on_one_line_that_says_what_mends_it(bare, installed, columns, notice):
    for library in (installed / "build").iterdir():
        library.unlink()
    nvim = bare(
        lua=f"vim.o.columns, notices = {columns}, {{}} vim.notify = function(text) table.insert(notices, text) end"
    )
    nvim.wait_notice()
    nvim.cmd(f"set columns={columns}")  # the terminal reported another size
    nvim.cmd("ClaudeConnect")
    assert nvim.notices()[1] == notice
    assert "There is no " in nvim.log()


def test_no_command_waits_for_a_key_without_the_library(bare, installed):
    for library in (installed / "build").iterdir():
        library.unlink()
    nvim = bare(args=["a.txt"], files={"a.txt": "one\n"})
    nvim.wait_screen("The library is not installed yet")
    whole = "The library is not installed yet: `:Claude install`."
    for command, said in [
        ("ClaudeConnect", whole),
        ("ClaudeSend", whole),
        ("Claude restart", whole),
        ("Claude status", "Claude: off, the library is not installed yet"),
        ("Claude sessions", "The sessions cannot be listed: The library is not installed yet"),
    ]:
        # Each time: the terminal may report another size, and the same text may be there already.
        nvim.cmd(f"set columns=80 | redraw! | echo 'Next: {command}'")
        nvim.wait_screen(f"Next: {command}")
        nvim.keys(f":{command}<CR>")
        nvim.wait_screen(said)
        nvim.terminal.wait(lambda: nvim.mode() == "n", what=f"Normal mode after :{command}")
    assert nvim.lua("return require('claude-ide.statusline').text()") == "Claude off"


def test_a_server_that_was_started_by_its_own_module_has_all_features(start_nvim, connect):
    """A configuration may call a module of ours before anything documented."""
    nvim = start_nvim(init_lua="Ide.server.start()", opts={"auto_start": True})
    nvim.wait("package.loaded[Ide('app')]")
    assert '"folders"' in connect(nvim).call("getWorkspaceFolders")[0]
