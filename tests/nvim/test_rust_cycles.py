"""What `make lint` reports of modules of a crate that depend on each other."""

import subprocess
import sys

import pytest

from harness.nvim import ROOT

pytestmark = pytest.mark.one_nvim


@pytest.fixture
def check(tmp_path):
    """Checks a crate of these files; returns what is reported."""

    def check(files):
        for name, text in files.items():
            path = tmp_path / "crates/one/src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, ROOT / "scripts/rust-cycles.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode == 0) == (done.stdout + done.stderr == "")
        return done.stderr.splitlines()

    return check


def test_a_cycle_is_drawn(check):
    files = {
        "lib.rs": "mod a;\nmod b;\nmod c;\n",
        "a.rs": "//! First.\n\nuse crate::{\n    b::{B, D as E},\n    c,\n};\n",
        "b.rs": "use super::c::*;\n",
        "c.rs": "fn c() {\n    crate::a::f();\n}\n",
    }
    assert check(files) == [
        "crates/one: a cycle of 3 modules:",
        "  crate::a → crate::b: B, D (crates/one/src/a.rs:3)",
        "  crate::b → crate::c: * (crates/one/src/b.rs:1)",
        "  crate::c → crate::a: f (crates/one/src/c.rs:2)",
    ]


# `a` and its child `a::b` depend on each other if the one has the first text, the other the second.
@pytest.mark.parametrize(
    ("parent", "child", "is_cycle"),
    [
        ("pub use b::B;", "use super::A;", False),
        ("pub use b::B;\nstruct A(B);", "use super::A;", True),
        ("use b::B;", "impl super::A {}", True),
        ("fn f() { b::g(); }", "use crate::a::A;", True),
        ("fn f() { self::b::g() }", "fn g() {}", False),
        ("#[cfg(test)]\nmod tests { use super::b::B; }", "use super::A;", False),
        ("use b::B;", "#[cfg(all(test, unix))]\nfn g() -> [u8; 1] { super::f(); }", False),
        ("use b::B;", "// super::f()\nconst C: &str = \"super::f()\";", False),
        ("use b::B;", "use std::fmt;\nfn g<'a>(c: char) -> bool { c == '\"' && fmt::f() }", False),
        ("use b::B;", "fn g<'a>(c: char) -> bool { c == '\"' && super::f() }", True),
    ],
)  # fmt: skip
def test_a_parent_and_its_child(check, parent, child, is_cycle):
    found = check({"lib.rs": "mod a;\npub use a::A;\n", "a.rs": f"mod b;\n{parent}\n", "a/b.rs": child})
    assert bool(found) == is_cycle, found


def test_a_name_is_of_the_module_that_defines_it(check):
    files = {
        "lib.rs": "mod a;\nmod b;\npub use b::B;\n",
        "a/mod.rs": "pub mod c;\npub use c::C;\nuse crate::B;\n",
        "a/c.rs": "pub struct C;\n",
        "b.rs": "use crate::a::C;\n",
    }
    assert check(files) == []
    files["a/c.rs"] = "use crate::B as Other;\n"
    assert check(files) == [
        "crates/one: a cycle of 2 modules:",
        "  crate::a::c → crate::b: B (crates/one/src/a/c.rs:1)",
        "  crate::b → crate::a::c: C (crates/one/src/b.rs:1)",
    ]
