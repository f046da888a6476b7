"""What auto mode refuses: the mod that a CLI gets, and what its reports bring about here. `tests/e2e/test_auto_mode_real_cli.py` has the
real CLI."""

import json
import os
import re
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from harness.mod import Mod

pytestmark = pytest.mark.dealt

REASON = "the user did not ask for it"
CALL = {"command": "make it"}


@pytest.fixture
def start(start_nvim, fake):
    """A Neovim in which `:Claude` runs the stand-in, with recorded notices; waits for that."""

    def begin(options="", **more):
        nvim = start_nvim(env=fake.environment(), args=["a.txt"], files={"a.txt": "one\n"}, notices=True, **more)
        nvim.cmd(f"Claude {options}")
        nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
        return nvim

    return begin


@pytest.fixture
def begun(start, fake):
    """The same: the Neovim, and the mod of its CLI."""
    nvim = start()
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    nvim.keys_count()
    return nvim, Mod(fake.starts()[0])


def refused(mod, number=1, tool="Bash", path="", **fields):
    """Whether the user shall be asked about a call that auto mode refuses."""
    fields = {"input": json.dumps(CALL), "reason": REASON, **fields}
    return mod.call("refused", id=f"toolu_{number}", tool=tool, path=path, **fields)


def denied(started, **fields):
    """Runs the hook PermissionDenied as a CLI without mods does."""
    command = json.loads(started["mod"]["hooks/hooks.json"])["hooks"]["PermissionDenied"][0]["hooks"][0]["command"]
    said = {"tool_name": "Bash", "tool_input": CALL, "tool_use_id": "toolu_x", "reason": REASON, **fields}
    ran = subprocess.run(["/bin/sh", "-c", command], input=json.dumps(said), text=True, capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_cli_gets_the_mod_which_goes_with_it(start, fake):
    nvim = start("--verbose")
    (first,) = fake.starts()
    assert first["argv"] == ["--verbose"]
    assert sorted(first["mod"]) == [
        ".claude-plugin/plugin.json",
        "hooks/hooks.json",
        "hooks/neovim.js",
        "hooks/register.js",
    ]
    folder = Path(first["settings_file"]).parent
    archives = lambda: sorted(folder.glob("*.zip"))  # noqa: E731
    (archive,) = archives()
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600

    nvim.cmd("Claude new")
    nvim.wait(lambda: len(fake.starts()) == 2, what="the next CLI")
    assert Mod(fake.starts()[1]).neovim["token"] != Mod(first).neovim["token"]
    assert len(archives()) == 2
    os.kill(first["pid"], signal.SIGKILL)
    nvim.wait(lambda: archive not in archives(), what="its archive to go with it")
    assert len(archives()) == 1


def test_the_mod_holds_no_secret_but_its_own(start, fake):
    nvim = start()
    (started,) = fake.starts()
    tokens = re.findall(r"Bearer ([\w-]+)", started["tools"])
    assert len(tokens) == 1
    tokens += [json.loads(path.read_text())["authToken"] for path in (nvim.home / ".claude/ide").glob("*.lock")]
    assert len(tokens) == 2
    everything = json.dumps(started["mod"])
    assert not any(token in everything for token in tokens)


@pytest.mark.parametrize("opts", [{"mod": False}, {"enabled": False}], ids=str)
def test_a_cli_gets_no_mod_against_the_options(start, fake, opts):
    start(opts={"hooks": opts})
    assert fake.starts()[0]["mod"] is None
    assert not any("plugin-dir" in word for word in fake.starts()[0]["argv"])


def test_a_refusal_is_left_alone_by_option(start, fake):
    start(opts={"auto_mode": {"refusals": "leave"}})
    (started,) = fake.starts()
    assert Mod(started).neovim["asks"] is False
    assert "hooks" not in json.loads(started["mod"]["hooks/hooks.json"])


def test_a_cli_starts_without_the_mod_where_nothing_can_be_written(start_nvim, fake):
    nvim = start_nvim(env=fake.environment(), notices=True)
    nvim.lua("for _, f in ipairs({ 'fs_mkdir', 'fs_open' }) do vim.uv[f] = function() return nil, 'EROFS' end end")
    nvim.cmd("Claude")
    nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
    assert fake.starts()[0]["mod"] is None
    assert nvim.notices() == []


@pytest.mark.every_nvim
def test_the_card_of_a_refused_call_says_why_it_is_asked_about(begun, connect):
    nvim, mod = begun
    client = connect(nvim)
    assert refused(mod) is True
    for command, has_reason in (("ls", False), (CALL["command"], True), (CALL["command"], False)):
        call = client.start_call(
            "hook_permission", tool="Bash", input=json.dumps({"command": command}), suggestions="[]", agent=""
        )
        nvim.wait_kind("question")
        nvim.wait_screen("allow once")
        assert (f"Auto mode refused: {REASON}" in nvim.terminal.text()) == has_reason
        assert (REASON in nvim.lines()) == has_reason
        nvim.keys("n")
        client.call_result(call)
        nvim.wait("#Ide.requests.pending() == 0", what="the card to go")


def test_a_reason_cannot_hide_text_in_the_title(begun, connect):
    nvim, mod = begun
    client = connect(nvim)
    assert refused(mod, reason="bad\n\x1b[2Jnews \u202eevil")
    client.start_call("hook_permission", tool="Bash", input=json.dumps(CALL), suggestions="[]", agent="")
    nvim.wait_kind("question")
    nvim.wait_screen("Auto mode refused: bad news <202e>evil")


def test_what_is_refused_while_the_user_is_elsewhere_stays_refused_and_is_said_once(begun, fake):
    nvim, mod = begun
    nvim.cmd("doautocmd FocusLost")
    assert refused(mod) is False
    said = f"Auto mode refused Bash: {REASON}"
    nvim.wait_notice(said)
    denied(fake.starts()[0], tool_use_id="toolu_1")  # the same call
    denied(fake.starts()[0], tool_use_id="toolu_2", reason="it is another")
    nvim.wait_notice("Auto mode refused Bash: it is another")
    assert nvim.notices().count(said) == 1


def test_a_refusal_of_a_large_call_that_no_mod_reports_is_said(begun, fake):
    nvim, _ = begun
    denied(fake.starts()[0], tool_name="Write", tool_input={"file_path": "/b", "content": "x" * 100_000})
    nvim.wait_notice(f"Auto mode refused Write: {REASON}")


@pytest.mark.parametrize(
    "arguments", [[1], {"tool": "Bash"}, {"tool": 1}, {"reason": "x" * 300_000}], ids=lambda one: str(one)[:20]
)
def test_a_malformed_report_asks_nothing(begun, arguments):
    _, mod = begun
    params = {"name": "refused", "arguments": arguments}
    status, text = mod.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert status == 413 or "error" in json.loads(text) or json.loads(text)["result"]["isError"], text
    assert refused(mod) is True


def test_without_neovim_the_hook_is_silent_and_leaves_nothing(begun, fake):
    nvim, _ = begun
    os.kill(nvim.lua("return vim.fn.getpid()"), signal.SIGKILL)
    nvim.terminal.wait(lambda: nvim.terminal.exit_code() is not None, what="Neovim to end")
    denied(fake.starts()[0])
