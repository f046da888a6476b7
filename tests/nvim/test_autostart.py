"""A Neovim starts a server by itself only if a user works in it."""

import pytest

from harness.nvim import binary

pytestmark = pytest.mark.dealt

STARTS = {"auto_start": True}


def settled(nvim):
    """Waits until everything that starts by itself has started."""
    nvim.wait("type(package.loaded[Ide('autostart')]) == 'table'")
    return nvim.lua("return Ide.server.is_running()")


@pytest.mark.every_nvim
def test_a_system_without_programs_is_no_reason_against_it(start_nvim):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, opts=STARTS, env={"PATH": "/nowhere"})  # not even ps
    nvim.wait("type(package.loaded[Ide('autostart')]) == 'table'")
    nvim.cmd("silent checkhealth claude-ide")
    assert "stack traceback" not in "\n".join(nvim.lines())
    assert nvim.lua("return vim.fn.execute('messages')") == ""
    assert nvim.lua("return Ide.server.is_running()")


@pytest.mark.one_nvim
@pytest.mark.parametrize(
    ("args", "env", "reason"),
    [
        ([".git/COMMIT_EDITMSG"], {}, "git started it"),
        (["a.txt"], {"GIT_EXEC_PATH": "/usr/lib/git-core"}, "git started it"),
        (["+Man!", "a.txt"], {}, "pager"),
        (["-c", "file man://ls(1)"], {}, "pager"),
    ],
)
def test_git_s_editor_and_a_pager_start_none_and_health_says_why(start_nvim, args, env, reason):
    nvim = start_nvim(args=args, files={"a.txt": "one\n"}, opts=STARTS, env=env)
    assert not settled(nvim)
    assert nvim.locks() == []
    nvim.cmd("silent checkhealth claude-ide")
    assert reason in "\n".join(nvim.lines())
    nvim.cmd("ClaudeConnect")  # on request it starts
    assert nvim.lua("return Ide.server.is_running()")


@pytest.fixture
def started_by(monkeypatch, tmp_path, nvim_version):
    """`started_by(name, line)` puts a program before Neovim, whose command line is `$nvim` in that line."""

    def start(name, line):
        wrapper = tmp_path / name
        wrapper.write_text("#!/bin/sh\n" + line.replace("$nvim", f'"{binary(nvim_version)}" "$@"') + "\n")
        wrapper.chmod(0o755)
        monkeypatch.setenv("CLAUDE_IDE_NVIM_" + nvim_version.replace(".", ""), str(wrapper))

    return start


@pytest.mark.parametrize("args", [["-"], []])
def test_what_is_piped_into_neovim_starts_none(start_nvim, started_by, args):
    started_by("pipe", "printf 'piped\\n' | $nvim")
    nvim = start_nvim(
        args=args, opts=STARTS, init_lua="vim.api.nvim_create_autocmd('StdinReadPost', { command = 'set nomodified' })"
    )
    assert nvim.lines() == ["piped"]
    assert not settled(nvim)
    assert nvim.lua("return Ide.autostart.why_not()") == "it is a pager"


def test_the_editor_of_claude_s_own_prompt_starts_none(start_nvim, started_by):
    started_by("claude", "$nvim")
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, opts=STARTS)
    assert not settled(nvim)
    assert nvim.lua("return Ide.autostart.why_not()") == "Claude Code started it"
