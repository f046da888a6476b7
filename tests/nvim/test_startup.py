"""What the plugin does to a Neovim that starts, and to one that nobody looks at."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

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


def test_nothing_is_required_at_startup(start_nvim, tmp_path):
    nvim = start_nvim(
        init_lua=f"vim.api.nvim_create_autocmd('VimEnter', {{ callback = function() _G.loaded = {LOADED} end }})",
        opts=None,
    )
    assert nvim.lua("return vim.g.loaded_claude_ide") is True
    assert nvim.lua("return _G.loaded") == []


def test_setup_loads_nothing_but_the_options_reader(start_nvim):
    nvim = start_nvim(init_lua=f"_G.loaded = {LOADED}")
    assert sorted(nvim.lua("return _G.loaded")) == ["claude-ide", "claude-ide.config"]


def test_commands_and_maps_are_there_without_setup(start_nvim):
    nvim = start_nvim(opts=None, init_lua="vim.g.claude_ide = { auto_start = false }")
    commands = nvim.lua("return vim.tbl_keys(vim.api.nvim_get_commands({}))")
    assert {"Claude", "ClaudeConnect", "ClaudeSend"} <= set(commands)
    for mode, name in [
        ("n", "toggle"),
        ("n", "focus"),
        ("n", "connect"),
        ("n", "send"),
        ("x", "send"),
        ("n", "diff-accept"),
        ("n", "diff-reject"),
        ("n", "diffs"),
        ("n", "selection-toggle"),
    ]:
        assert nvim.lua("return vim.fn.maparg(...)", f"<Plug>(claude-{name})", mode), name


def test_no_key_of_the_person_is_taken(start_nvim):
    nvim = start_nvim(opts=None, init_lua="vim.g.claude_ide = { auto_start = false }")
    taken = nvim.lua(
        """
        local taken = {}
        for _, mode in ipairs({ "n", "x", "s", "o", "i", "c", "t" }) do
          for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
            if (map.desc or ""):find("^Claude") and not vim.startswith(map.lhs, "<Plug>") then
              taken[#taken + 1] = map.lhs
            end
          end
        end
        return taken
        """
    )
    assert taken == []


def test_it_starts_by_itself_once_there_is_a_screen(start_nvim):
    nvim = start_nvim(opts=None)
    nvim.wait("require('claude-ide.server').is_running()", what="the server")
    (lock,) = nvim.locks()
    assert lock["port"] == nvim.lua("return require('claude-ide.server').info().port")


def test_it_starts_by_itself_when_a_plugin_manager_loads_it_late(start_nvim):
    nvim = start_nvim(opts=None, init_lua="vim.g.loaded_claude_ide = true")
    assert nvim.lua(f"return {LOADED}") == []
    nvim.cmd("unlet g:loaded_claude_ide | runtime plugin/claude-ide.lua")
    nvim.wait("require('claude-ide.server').is_running()", what="the server")


def test_it_does_not_start_by_itself_when_told_not_to(start_nvim):
    nvim = start_nvim(opts={"auto_start": False})
    nvim.wait("package.loaded['claude-ide.autostart'] ~= nil", what="the autostart to be considered")
    nvim.lua("vim.wait(0)")
    assert nvim.lua("return package.loaded['claude-ide.server']") is None
    assert nvim.locks() == []


def test_a_neovim_without_a_screen_starts_no_server(start_nvim, tmp_path):
    program = start_nvim().lua("return vim.v.progpath")
    ended = headless(
        program, tmp_path, f"+lua vim.schedule(function() io.write(vim.inspect({LOADED})) vim.cmd.qall() end)"
    )
    assert ended.returncode == 0
    assert ended.stdout.strip() == "{}"
    assert not (tmp_path / ".claude").exists()


def test_a_server_that_cannot_start_is_told_once_in_one_line(start_nvim):
    nvim = start_nvim(
        opts=None,
        init_lua="""
        _G.notices = {}
        vim.notify = function(message) table.insert(_G.notices, message) end
        local native = require("claude-ide.native")
        native.start = function()
          return nil, "The library is not built yet. Build it with `" .. native.build_command() .. "`, wherever that is."
        end
        """,
    )
    nvim.wait("#_G.notices > 0", what="the notice")
    (notice,) = nvim.lua("return _G.notices")
    space = nvim.lua("return vim.v.echospace")
    assert len(notice) <= space
    assert "`make -C" in notice or "`:checkhealth claude-ide` says what to do" in notice
    nvim.lua("_G.notices = {}")
    nvim.cmd("ClaudeConnect")
    (notice,) = nvim.lua("return _G.notices")
    assert "Build it with `make -C" in notice


@pytest.mark.parametrize(
    ("columns", "ends"),
    [
        (300, "claude_ide_native.so."),
        (95, "`make`. `:Claude log` has more."),
        (80, "yet. `:Claude log` has more."),
        (30, "…"),
    ],
)
def test_a_missing_library_is_told_on_one_line_and_in_full_in_the_log(start_nvim, columns, ends):
    missing = "The native library is not built yet. Build it with `make`. There is no /build/claude_ide_native.so."
    nvim = start_nvim(
        init_lua=f"""
      require("claude-ide.native").start = function() return nil, "{missing}" end
      _G.notices = {{}}
      vim.notify = function(message) table.insert(_G.notices, message) end
    """
    )
    nvim.cmd(f"set columns={columns}")
    nvim.cmd("ClaudeConnect")
    (notice,) = nvim.lua("return _G.notices")
    assert notice.startswith("The native li") and notice.endswith(ends)
    assert len(notice) <= nvim.lua("return vim.v.echospace")
    assert notice == missing or missing in nvim.log()


def test_the_command_that_builds_is_that_of_the_plugin_manager(start_nvim):
    nvim = start_nvim()
    command = nvim.lua(
        """
        local native = require("claude-ide.native")
        package.loaded["lazy.core.config"] = {
          plugins = {
            other = { dir = "/elsewhere", build = "make" },
            ["claude-ide.nvim"] = { dir = native.plugin_root(), build = "make build" },
          },
        }
        return native.build_command()
        """
    )
    assert command == ":Lazy build claude-ide.nvim"
