"""Fixtures: sessions of Claude on the disk, the plugin in a folder of its own."""

import shutil

import chat_steps
import pytest
from session_files import Sessions

from harness.nvim import ROOT


@pytest.fixture
def sessions(tmp_path):
    """What Claude keeps in the home of the Neovims of this test."""
    sessions = Sessions(tmp_path / "home")
    yield sessions
    sessions.close()


@pytest.fixture
def installed(tmp_path):
    """The plugin as a package of that person, as `git clone` and `make build` leave it."""
    package = tmp_path / "home/.local/share/nvim/site/pack/claude/start/claude-ide.nvim"
    for name in ("doc", "lua", "plugin", "scripts"):
        shutil.copytree(ROOT / name, package / name)
    for name in ("Cargo.toml", "build.lua"):
        shutil.copy(ROOT / name, package)
    (package / "build").mkdir()
    shutil.copy(ROOT / "build" / "claude_ide_native.so", package / "build")
    return package


@pytest.fixture
def bare(start_nvim, tmp_path):
    """Starts a Neovim that knows of the plugin only what it finds itself: no setup(), perhaps some `lua` before."""

    def start(lua="", args=(), **options):
        init = tmp_path / "init.lua"
        init.write_text(f"vim.opt.shortmess:append('I')\n{lua}\n")
        return start_nvim(args=["-u", str(init), *args], opts=None, **options)

    return start


@pytest.fixture
def begin_chat(start_nvim, mock_api, tmp_path):
    """A Neovim with a chat in it, which may have something said to it at once."""

    def begin_chat(words="", **more):
        nvim = chat_steps.start(start_nvim, mock_api, tmp_path, **more)
        chat_steps.begin(nvim, words)
        return nvim

    return begin_chat
