"""The ways in: a plugin folder that Neovim finds by itself, and a library that is put in place beside its readers."""

import os
import shutil
import subprocess

import pytest

from harness.nvim import ROOT

pytestmark = pytest.mark.slow

LIBRARY = ROOT / "build" / "claude_ide_native.so"
CARGO = """#!/bin/sh
mkdir -p target/release
cp "$FAKE_LIBRARY" target/release/libclaude_ide_native.so
cp "$FAKE_LIBRARY" target/release/libclaude_ide_native.dylib
"""


@pytest.fixture
def installed(tmp_path):
    """The plugin as a package of that person, as `git clone` and `make build` leave it."""
    package = tmp_path / "home/.local/share/nvim/site/pack/claude/start/claude-ide.nvim"
    for name in ("doc", "lua", "plugin", "scripts"):
        shutil.copytree(ROOT / name, package / name)
    (package / "build").mkdir()
    shutil.copy(LIBRARY, package / "build")
    return package


@pytest.fixture
def bare(start_nvim, tmp_path):
    """Starts a Neovim that knows of the plugin only what it finds itself."""
    init = tmp_path / "init.lua"
    init.write_text("vim.opt.shortmess:append('I')\n")
    return lambda **options: start_nvim(args=["-u", str(init)], opts=None, **options)


def test_a_package_needs_no_more_than_to_lie_there(bare, installed):
    nvim = bare()
    lock = nvim.wait(lambda: next(iter(nvim.locks()), None), what="the server to start by itself")
    assert lock["workspaceFolders"] == [str(nvim.project)]
    assert nvim.lua('return require("claude-ide.native").plugin_root()') == str(installed)
    nvim.cmd("silent helptags ALL | help claude-ide")
    assert nvim.lua("return vim.fn.expand('%:t')") == "claude-ide.txt"


def build(package, library, path):
    environment = {"PATH": f"{path}:{os.environ['PATH']}", "FAKE_LIBRARY": str(library), "HOME": str(package)}
    script = package / "scripts" / "build.sh"
    return subprocess.run([script], env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def cargo(tmp_path):
    """A cargo that takes no minute: it puts `$FAKE_LIBRARY` where the real one would build it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cargo").write_text(CARGO)
    (folder / "cargo").chmod(0o755)
    return folder


def test_a_build_beside_a_running_neovim_leaves_it_unharmed(bare, installed, cargo, connect, tmp_path):
    nvim = bare()
    client = connect(nvim)
    library = installed / "build" / LIBRARY.name
    before = library.stat().st_ino
    assert build(installed, LIBRARY, cargo).returncode == 0
    assert library.stat().st_ino == before, "the same library is left where it is"

    fresh = tmp_path / "fresh.so"
    fresh.write_bytes(LIBRARY.read_bytes() + b"newer")
    run = build(installed, fresh, cargo)
    assert run.returncode == 0, run.stderr
    assert library.read_bytes() == fresh.read_bytes()
    assert library.stat().st_ino != before, "a library that is loaded must not be written to"
    assert [path.name for path in (installed / "build").iterdir()] == [LIBRARY.name]
    assert client.request("ping") == {}
    assert client.call("getWorkspaceFolders")


def test_a_build_that_fails_leaves_the_library_that_was_there(installed, tmp_path):
    before = (installed / "build" / LIBRARY.name).read_bytes()
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "cargo").write_text("#!/bin/sh\nexit 101\n")
    (broken / "cargo").chmod(0o755)
    assert build(installed, LIBRARY, broken).returncode == 101
    assert (installed / "build" / LIBRARY.name).read_bytes() == before
