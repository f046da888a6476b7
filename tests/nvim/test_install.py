"""Ways to install: a plugin folder that Neovim finds by itself, and a library replaced while others read it."""

import os
import shutil
import subprocess

import pytest

from harness.nvim import ROOT

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

LIBRARY = ROOT / "build" / "claude_ide_native.so"
CARGO = """#!/bin/sh
if [ "$1" = --version ]; then
  echo "cargo ${FAKE_VERSION:-1.99.0} (a fake 2026-01-01)"
  exit
fi
[ -e "$FAKE_LIBRARY" ] || exit 101
echo "   Compiling something v1.0" >&2
mkdir -p target/release
cp "$FAKE_LIBRARY" target/release/libclaude_ide_native.so
cp "$FAKE_LIBRARY" target/release/libclaude_ide_native.dylib
"""


@pytest.mark.every_nvim
def test_a_package_needs_no_more_than_to_lie_there(bare, installed):
    nvim = bare()
    lock = nvim.wait(lambda: next(iter(nvim.locks()), None), what="the server to start by itself")
    assert lock["workspaceFolders"] == [str(nvim.project)]
    assert nvim.lua("return Ide.native.plugin_root()") == str(installed)
    nvim.cmd("silent helptags ALL | help claude-ide")
    assert nvim.lua("return vim.fn.expand('%:t')") == "claude-ide.txt"


def build(package, library, path, version="1.99.0", command=("scripts/build.sh",)):
    environment = {"PATH": f"{path}:{os.environ['PATH']}", "FAKE_LIBRARY": str(library), "HOME": str(package)}
    environment["FAKE_VERSION"] = version
    return subprocess.run(
        command, cwd=package, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def cargo(tmp_path):
    """A quick stand-in for cargo: puts `$FAKE_LIBRARY` where the real one would build it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "cargo").write_text(CARGO)
    (folder / "cargo").chmod(0o755)
    return folder


@pytest.mark.every_nvim
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
    assert build(installed, tmp_path / "none", cargo).returncode == 101, "a build that fails leaves the library"
    assert library.read_bytes() == fresh.read_bytes()


def test_an_old_cargo_gets_one_sentence(installed, cargo):
    for version in ["1.75.0", "1.9.0", "1.87.5-nightly"]:
        run = build(installed, LIBRARY, cargo, version)
        (line,) = run.stderr.splitlines()
        assert run.returncode == 1
        assert f"needs Rust 1.88 or newer, this is {version.split('-')[0]}" in line, line
    for version in ["1.88.0", "1.100.0", "2.0.0"]:
        assert build(installed, LIBRARY, cargo, version).returncode == 0, version


def test_a_build_leaves_cargos_cache_only_where_the_plugin_is_worked_on_or_tried(installed, cargo):
    target = installed / "target"
    assert build(installed, LIBRARY, cargo).returncode == 0
    assert not target.exists()
    (target / "debug").mkdir(parents=True)
    assert build(installed, LIBRARY, cargo).returncode == 0
    assert (target / "release").exists(), "somebody else's folder"
    shutil.rmtree(target)
    (installed / ".deps").mkdir()
    assert build(installed, LIBRARY, cargo).returncode == 0
    assert (target / "release").exists()
    # As a plugin manager builds it, and by hand.
    shutil.rmtree(target)
    (installed / ".deps").rmdir()
    shutil.copy(ROOT / "Makefile", installed)
    (installed / "scripts" / "demo.sh").write_text("#!/bin/sh\n")
    for goal in ("build", "demo"):
        assert build(installed, LIBRARY, cargo, command=("make", goal)).returncode == 0
        assert (target / "release").exists() is (goal == "demo")


LIKE_LAZY = """
vim.env.PATH, vim.env.FAKE_LIBRARY = ... .. ":" .. vim.env.PATH, select(2, ...)
vim.g.claude_ide_release_url = false
local chunk = assert(loadfile(select(3, ...)))
_G.reported, _G.longest = {}, 0
local co = coroutine.create(function()
  local ok, err = pcall(chunk)
  _G.ended = ok and "built" or err
end)
local function step()
  local before = vim.uv.hrtime()
  local _, message = coroutine.resume(co)
  _G.longest = math.max(_G.longest, (vim.uv.hrtime() - before) / 1e6)
  reported[#reported + 1] = message
  if coroutine.status(co) ~= "dead" then
    vim.defer_fn(step, 5)
  end
end
step()
"""


def test_lazy_builds_in_a_coroutine_that_tells_what_it_does(start_nvim, installed, cargo):
    nvim = start_nvim()
    (installed / "build" / LIBRARY.name).unlink()
    nvim.lua(LIKE_LAZY, str(cargo), str(LIBRARY), str(installed / "build.lua"))
    assert nvim.wait("_G.ended") == "built"
    assert nvim.lua("return reported")[-1] == "claude-ide.nvim: the library is built"
    assert (installed / "build" / LIBRARY.name).exists()
    # In lazy.nvim itself it does not poll: it is woken.
    (installed / "build" / LIBRARY.name).unlink()
    nvim.lua("""
      _G.ended, _G.slept = nil, {}
      package.loaded["lazy.async"] = {
        running = function()
          return { sleep = function(_, ms) slept[#slept + 1] = ms coroutine.yield() end }
        end,
      }
    """)
    nvim.lua(LIKE_LAZY, str(cargo), str(LIBRARY), str(installed / "build.lua"))
    assert nvim.wait("_G.ended") == "built"
    assert set(nvim.lua("return slept")) == {100}
    assert all(nvim.lua("return reported")), "nothing but progress is yielded otherwise"
    nvim.lua("_G.ended = nil; vim.env.FAKE_VERSION = '1.75.0'")
    nvim.lua(LIKE_LAZY, str(cargo), str(LIBRARY), str(installed / "build.lua"))
    assert "needs Rust 1.88 or newer, this is 1.75.0" in nvim.wait("_G.ended")


def test_any_other_manager_runs_the_same_file_and_gets_an_error_where_it_fails(start_nvim, installed, cargo):
    nvim = start_nvim()
    (installed / "build" / LIBRARY.name).unlink()
    nvim.lua(
        "vim.env.PATH, vim.env.FAKE_LIBRARY = ... .. ':' .. vim.env.PATH, select(2, ...); "
        "vim.g.claude_ide_release_url = false; dofile(select(3, ...))",
        str(cargo),
        str(LIBRARY),
        str(installed / "build.lua"),
    )
    assert (installed / "build" / LIBRARY.name).exists()
    assert nvim.mode() == "n"
    nvim.lua("vim.env.FAKE_VERSION = '1.75.0'")
    done, why = nvim.lua("return { pcall(dofile, ...) }", str(installed / "build.lua"))
    assert done is False and "could not be built" in why and "needs Rust 1.88 or newer" in why


@pytest.mark.one_nvim
def test_no_setting_of_git_changes_the_line_ends_of_a_checkout():
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    ask = ["git", "check-attr", "--stdin", "-z", "text"]
    said = subprocess.run(ask, cwd=ROOT, input=files, capture_output=True, check=True).stdout.split(b"\0")
    assert len(said) > 1000 and set(said[2::3]) == {b"unset"}
