"""The bridge: our mod inside the real CLI, and what Neovim has it do."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from terminal_steps import IDLE, begin, stored

from harness.cli import ROOT, binary, call
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

PROMPT = """
local text = ...
sent = nil
assert(require("claude-ide").prompt(text, { on_done = function(err) sent = err or "sent" end }))
"""
BRIDGE = "Ide.bridge.of(Ide.terminal.list()[1])"
SCREEN = "return table.concat(vim.api.nvim_buf_get_lines(Ide.terminal.bufnr(), 0, -1, false), '\\n')"


@pytest.fixture
def bridged(start_with_claude, mock_api):
    """A Neovim with the real CLI in its terminal, whose mod waits for orders."""
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\n"})
    begin(nvim, mock_api)
    nvim.wait(f"{BRIDGE} ~= nil", what="the mod")
    return nvim


def send(nvim, text):
    nvim.wait(IDLE, what="the turn before to be over")
    nvim.lua(PROMPT, text)
    nvim.wait("sent ~= nil", what="the prompt to be handed over")
    assert nvim.lua("return sent") == "sent"


def prompts(mock_api):
    return [
        text
        for message in mock_api.conversation()
        if message["role"] == "user"
        for block in ([{"text": message["content"]}] if isinstance(message["content"], str) else message["content"])
        if (text := block.get("text", "")) and not text.startswith("<")
    ]


def test_prompts_go_beside_what_the_user_types(bridged, mock_api):
    nvim = bridged
    nvim.keys("my draft")
    nvim.wait_screen("my draft")
    mock_api.script(Reply(text="Yes."))
    send(nvim, "from a script\x1b[31m\nin two lines")
    nvim.wait_screen("Yes.")
    assert prompts(mock_api)[-1] == "from a script\nin two lines"
    nvim.wait_screen("my draft")
    nvim.keys(" goes on")
    nvim.wait_screen("my draft goes on")


def test_the_mod_comes_back_with_neovims_server(bridged, mock_api):
    nvim = bridged
    nvim.cmd("Claude restart")
    nvim.wait(f"{BRIDGE} ~= nil", what="the mod to be back")
    mock_api.script(Reply(text="Again."))
    send(nvim, "after a restart")
    nvim.wait_screen("Again.")


ATTACK = """
import io, json, os, pathlib, sys, urllib.error, urllib.request, zipfile

pid, archive = os.getpid(), None
while not archive:
    pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\\0")
    archive = next((word.partition("=")[2] for word in words if word.startswith("--plugin-dir=")), None)
neovim = json.loads(zipfile.ZipFile(archive).read("hooks/neovim.js").decode().partition("=")[2])
for tool in ("next", "refused"):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    headers = {"Authorization": "Bearer " + neovim["token"], "Content-Type": "application/json"}
    try:
        urllib.request.urlopen(urllib.request.Request(neovim["url"], json.dumps(call).encode(), headers), timeout=20)
        print("ADMITTED")
    except urllib.error.HTTPError as error:
        print("REFUSED", error.code)
"""


def test_a_command_of_the_model_cannot_speak_as_the_mod(bridged, mock_api):
    nvim = bridged
    attack = nvim.project / "attack.py"
    attack.write_text(ATTACK)
    command = {"command": f"{sys.executable} {attack}", "description": "Look"}
    mock_api.script(Reply(calls=[("Bash", command)]), Reply(text="Tried."))
    send(nvim, "attack")
    nvim.keys("<C-\\><C-n>", counts=True)
    nvim.cmd("wincmd p")
    nvim.wait_kind("question")
    nvim.wait_screen("allow once")
    nvim.keys("y")
    nvim.wait_screen("Tried.")
    assert mock_api.seen("REFUSED 403\\nREFUSED 403")
    assert not mock_api.seen("ADMITTED\\n")


def test_the_cli_goes_on_in_silence_when_neovim_is_gone(start_nvim, cli, mock_api):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"})
    nvim.lua('require("claude-ide").connect()')
    archive = nvim.lua("return Ide.terminal_mod.archive('terminal:9')")
    kept = nvim.home / "mod.zip"
    kept.write_bytes(Path(archive).read_bytes())  # Neovim's goes with it
    claude = cli(nvim, args=("--ide", f"--plugin-dir={kept}"))
    nvim.wait("#Ide.native.status().clients == 2", what="the mod")
    os.kill(nvim.lua("return vim.fn.getpid()"), signal.SIGKILL)
    claude.prompt(f"{call('Read', file_path=str(nvim.project / 'a.txt'))} THEN SAY still here")
    screen = claude.wait_screen("● still here")
    assert "nvim" not in screen and "mod:" not in screen and "hook" not in screen, screen


PATHS = """
shown = {}
local preview = Ide.follow_preview
local show = preview.show
function preview:show(buf, ...)
  local values = { show(self, buf, ...) }
  table.insert(shown, { vim.fs.basename(vim.api.nvim_buf_get_name(buf)), Ide.clock.now() })
  return unpack(values)
end
"""


def test_a_place_is_shown_as_soon_as_its_call_has_ended(bridged, mock_api):
    nvim = bridged
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    names = [f"{number}.txt" for number in range(5)]
    for name in names:
        (nvim.project / name).write_text("one\ntwo\n")
    nvim.lua(PATHS)
    nvim.cmd("Claude follow")
    reads = [Reply(calls=[("Read", {"file_path": str(nvim.project / name)})]) for name in names]
    pauses = [Reply(calls=[("Read", {"file_path": str(nvim.project / "gone")})]) for _ in names]
    mock_api.script(*[reply for pair in zip(reads, pauses, strict=True) for reply in pair], Reply(text="Read."))
    send(nvim, "read them")
    nvim.wait(lambda: [name for name, _ in nvim.lua("return shown")][-1:] == ["4.txt"], what="the last place")
    nvim.wait(lambda: '"Read."' in stored(nvim), what="the turn to be stored")
    nvim.wait(IDLE, what="the turn to be over")
    (transcript,) = (nvim.home / ".claude/projects").glob("*/*.jsonl")
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    ended = {
        line["toolUseResult"]["file"]["filePath"].rsplit("/", 1)[-1]: datetime.fromisoformat(line["timestamp"])
        for line in lines
        if isinstance(line.get("toolUseResult"), dict) and "file" in line["toolUseResult"]
    }
    first = {}
    for name, at in nvim.lua("return shown"):
        first.setdefault(name, at)
    late = sorted(round(at - ended[name].timestamp() * 1000) for name, at in first.items())
    print("milliseconds from the end of a call to its place:", late)
    assert late[0] < 1000, late


def test_how_near_the_accounts_limit_is_and_the_cost_are_known_after_a_turn(start_with_claude, mock_api):
    # The CLI looks at the limits when it is logged in to an account.
    account = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": f"sk-ant-oat01-{'x' * 40}"}
    name = "anthropic-ratelimit-unified"
    mock_api.headers = {
        f"{name}-status": "allowed",
        f"{name}-representative-claim": "five_hour",
        f"{name}-5h-status": "allowed",
        f"{name}-5h-utilization": "0.93",
        f"{name}-5h-reset": str(int(time.time()) + 3600),
        f"{name}-reset": str(int(time.time()) + 3600),
    }
    nvim = start_with_claude(args=["a.txt"], files={"a.txt": "one\n"}, env=account)
    begin(nvim, mock_api)
    nvim.wait("require('claude-ide').statusline.limit():find('93%% of the 5 hours')", what="the limit to be told")
    usage = "Ide.bridge.usage(Ide.terminal.session().pid)"
    assert nvim.lua(f"return {usage}.cost") > 0
    assert nvim.lua(f"return {usage}.context") is not None
    nvim.cmd("Claude board")
    nvim.wait_screen("93% of the 5 hours' limit until ")
    mock_api.headers = {**mock_api.headers, f"{name}-5h-utilization": "0.1"}
    mock_api.script(Reply(text="Far."))
    send(nvim, "again")
    nvim.wait("require('claude-ide').statusline.limit() == ''", what="the limit to be far again")


def test_the_running_turn_is_stopped_by_an_order(start_with_claude, mock_api):
    command = ["claude", "--permission-mode", "default", "--allowedTools", "Bash(tail:*)"]
    nvim = start_with_claude(terminal={"command": command}, args=["a.txt"], files={"a.txt": "one\n"})
    begin(nvim, mock_api)
    nvim.wait(f"{BRIDGE} ~= nil", what="the mod")
    mock_api.script(
        Reply(calls=[("Bash", {"command": "tail -f /dev/null", "description": "Wait"})]), Reply(text="Waited.")
    )
    send(nvim, "wait")
    nvim.wait("Ide.terminal.session().state.activity == 'working'", what="the turn")
    nvim.wait_screen("tail -f")
    nvim.lua(f"Ide.bridge.order({BRIDGE}, 'stop', '', function(result) stopped = result end)")
    nvim.wait("stopped == 'done'", what="the order to be carried out")
    nvim.wait(IDLE, what="the turn to be over")
    assert not mock_api.seen("Waited.")


def test_the_mods_own_tests_pass_in_the_real_cli(tmp_path):
    mod = tmp_path / "mod"
    shutil.copytree(ROOT / "mod", mod)
    neovim = {"url": "http://127.0.0.1:1/mod", "token": "secret", "asks": True}
    (mod / "hooks/neovim.js").write_text(f"export const neovim = {json.dumps(neovim)}\n")
    env = {"HOME": str(tmp_path), "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    ran = subprocess.run([binary(), "plugin", "test", mod], capture_output=True, text=True, env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "(pass)" in ran.stdout + ran.stderr
