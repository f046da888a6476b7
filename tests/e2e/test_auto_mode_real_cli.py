"""What auto mode refuses becomes a question, by our mod inside the real CLI.

Behind a mock no classifier runs, so a second mod gives its verdict; ours takes that for the classifier's only in these tests.
"""

import json
import subprocess

import pytest
from test_decide_real_cli import FILES, Lab

from harness.cli import QUESTION, ROOT, binary

pytestmark = pytest.mark.cli

REASON = "it pipes a download into a shell"
VERDICT = """
export const register = (on) => {
  on("tool.judge", async () => ({ decision: "deny", reason: %s }))
}
"""
TAKE_IT_FOR_THE_CLASSIFIERS = """
local more = ...
local file = Ide.file
local read_now = file.read_now
file.read_now = function(path, ...)
  local text, err = read_now(path, ...)
  if text and path:find("/mod/hooks/register%.js$") then
    text = text:gsub("verdict%.plugin === undefined", 'verdict.plugin === "verdict"') .. more
  end
  return text, err
end
"""
LEAVE = {"auto_mode": {"refusals": "leave"}}
BEFORE, AFTER = 'exec "$CLAUDE" --plugin-dir="$VERDICT" "$@"', 'exec "$CLAUDE" "$@" --plugin-dir="$VERDICT"'
"""The mod that is named last is asked first by `next`, in place of the classifier."""


@pytest.fixture
def start_lab(start_with_claude, mock_api, tmp_path):
    """A factory: the CLI in auto mode, in which each call that the classifier would judge is refused.

    `more`: JavaScript added to our mod. `as_classifier`: ours takes the refusal for the classifier's.
    """
    mod = tmp_path / "its verdict"
    for path, text in {
        ".claude-plugin/plugin.json": json.dumps({"name": "verdict", "version": "1.0.0"}),
        "hooks/hooks.json": json.dumps({"modules": ["./register.js"]}),
        "hooks/register.js": VERDICT % json.dumps(REASON),
    }.items():
        (mod / path).parent.mkdir(parents=True, exist_ok=True)
        (mod / path).write_text(text)
    program = tmp_path / "claude-with-verdict"

    def start(opts=None, more="", *, order=AFTER, as_classifier=True):
        program.write_text(f"#!/bin/sh\n{order}\n")
        program.chmod(0o755)
        command = [str(program), "--permission-mode", "auto"]
        nvim = start_with_claude(
            args=["a.txt"],
            files=FILES,
            env={"CLAUDE": str(binary()), "VERDICT": str(mod)},
            opts={"terminal": {"command": command}, **(opts or {})},
        )
        nvim.keep_notices()
        if as_classifier:
            nvim.lua(TAKE_IT_FOR_THE_CLASSIFIERS, more)
        return Lab(nvim, mock_api, "auto mode on")

    return start


def refused(lab):
    """A call that the classifier judges, and what it makes."""
    made = lab.nvim.project / "made.txt"
    return lab.bash(f"touch {made} | sh"), made


def test_a_refusal_of_auto_mode_is_asked_about(start_lab):
    lab = start_lab()
    call, made = refused(lab)

    lab.ask(call)
    lab.nvim.wait_screen(f"Auto mode refused: {REASON}")
    assert not made.exists()
    lab.nvim.keys("y")
    lab.nvim.wait(made.exists, what="what was allowed once")
    lab.wait_over()
    made.unlink()

    lab.ask(call)
    lab.nvim.answer("not in this project")
    lab.nvim.keys("r")
    lab.wait_sent("not in this project")
    assert not made.exists()

    lab.ask(call, answer=None)
    lab.nvim.keys("n")
    lab.wait_over()
    assert not made.exists()

    lab.ask(call, answer=None)  # the terminal asks once the user is there
    assert lab.nvim.lua("return Ide.requests.pending()[1].handle.holds_dialog")
    assert QUESTION not in lab.nvim.terminal.text()
    lab.nvim.cmd("Claude focus")
    lab.press_in_terminal("\x1b")
    lab.wait_over()
    assert not made.exists()


@pytest.mark.parametrize(
    ("opts", "more"),
    [(LEAVE, ""), ({}, "\nthrow new Error('broken')"), ({}, "\nexport const = ")],
    ids=["leave", "throws", "is no JavaScript"],
)
def test_a_refusal_stays_one_with_the_option_and_without_our_mod(start_lab, opts, more):
    lab = start_lab(opts, more)
    call, made = refused(lab)
    lab.say(call)
    lab.wait_sent(REASON)
    assert not made.exists()


def test_a_refusal_stays_one_while_the_user_is_elsewhere(start_lab):
    lab = start_lab()
    call, made = refused(lab)
    lab.nvim.cmd("doautocmd FocusLost")
    lab.say(call)
    lab.wait_sent(REASON)
    lab.nvim.wait_notice(f"Auto mode refused Bash: {REASON}")
    assert not made.exists()


@pytest.mark.parametrize("order", [BEFORE, AFTER], ids=["above ours", "below ours"])
def test_a_refusal_by_another_mod_stays_one(start_lab, order):
    lab = start_lab(order=order, as_classifier=False)
    call, made = refused(lab)
    lab.say(call)
    lab.wait_sent(REASON)
    assert not made.exists()


def test_the_diff_of_a_refused_edit_has_the_reason(start_lab):
    lab = start_lab()
    far = lab.nvim.home / "far.txt"
    lab.say(("Write", {"file_path": str(far), "content": "new\n"}))
    lab.nvim.wait_screen(f"Auto mode refused: {REASON}")
    lab.nvim.wait_kind("proposal")
    lab.nvim.keys("ZZ", counts=True)
    lab.nvim.wait(far.exists, what="what was accepted")


def test_that_auto_mode_cannot_check_actions_is_known_with_the_way_there(start_with_claude, mock_api):
    """Behind a gateway there is no classifier: the CLI asks once how to go on, in a dialog that no hook is told of."""
    nvim = start_with_claude(
        args=["a.txt"], files=FILES, opts={"terminal": {"command": ["claude", "--permission-mode", "auto"]}}
    )
    lab = Lab(nvim, mock_api, "auto mode on")
    nvim.keep_notices()
    nvim.cmd("Claude hide")
    lab.say(refused(lab)[0])
    nvim.wait_notice("Claude waits for your choice in a dialog. `:Claude decide` goes there.")
    assert nvim.lua("return require('claude-ide').statusline.waiting()").endswith("1 waiting")
    nvim.cmd("Claude decide")
    nvim.wait_screen("Auto mode can't check actions in this session")
    nvim.wait("vim.fn.mode() == 't'")


def test_the_cli_finds_no_fault_with_our_mod(tmp_path):
    env = {"HOME": str(tmp_path), "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    shown = subprocess.run([binary(), "plugin", "validate", ROOT / "mod"], capture_output=True, text=True, env=env)
    assert shown.returncode == 0, shown.stdout
    assert "tool.judge" in shown.stdout
