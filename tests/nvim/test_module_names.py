"""What `make lint` reports of tests that name modules of the plugin."""

import subprocess
import sys

import pytest

from harness.nvim import ROOT

pytestmark = pytest.mark.one_nvim


@pytest.fixture
def check(tmp_path):
    """Checks tests with this line, and with this row in the table of names; returns what is reported."""

    def check(line="", row=""):
        files = {
            "tests/harness/ide.lua": f'local MODULES = {{\n  bus = "base.bus",\n  chat = "chat",\n{row}}}\n',
            "tests/a.py": f"Ide.bus Ide.chat\n{line}\n",
            "lua/claude-ide/base/bus.lua": "",
            "lua/claude-ide/chat/init.lua": "",
        }
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        command = [sys.executable, ROOT / "scripts/module-names.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode == 0) == (done.stdout + done.stderr == "")
        return done.stderr.splitlines()

    return check


@pytest.mark.parametrize(
    "line",
    [
        'require("claude-ide.base.bus").on()',
        "require('claude-ide.' .. name)",
        'pcall(require, "claude-ide.chat")',
        'package.loaded["claude-ide.chat"] = nil',
    ],
)
def test_a_path_is_reported(check, line):
    assert check(line) == [f"tests/a.py:2 names a module by its path: {line}"]


def test_names_and_what_users_require_are_not(check):
    assert check('package.loaded[Ide("chat")]') == []
    assert check("""nvim.lua("require('claude-ide').connect() return require('claude-ide.statusline').text()")""") == []


def test_the_table_has_the_names_that_tests_use(check):
    assert check("Ide.log.warn()") == ["tests/a.py:2: tests/harness/ide.lua has no log"]
    assert check(row='  log = "base.log",\n') == [
        "tests/harness/ide.lua: log is in no file: base.log",
        "tests/harness/ide.lua: no test uses log",
    ]
