"""What a CLI asks in its terminal, as a request of Neovim's: the card, the answers on the wire, and who may give none. The client is
the test; `tests/e2e/test_decide_real_cli.py` has the real one."""

import json
import time

import pytest

from harness.fake_cli import FakeCli

SUGGESTIONS = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
PENDING = "#require('claude-ide.decisions').pending()"
BUSY = "vim.uv.sleep(...)"


def ask(client, tool="Bash", suggestions=SUGGESTIONS, agent="", **arguments):
    """Calls the hook as the CLI does; the call waits."""
    return client.start_call(
        "hook_permission",
        tool=tool,
        input=json.dumps(arguments),
        suggestions=json.dumps(suggestions),
        agent=agent,
    )


def output(client, call):
    """What the hook puts out: the decision, or nothing."""
    (text,) = client.call_result(call)
    told = json.loads(text)
    if told:
        assert told["hookSpecificOutput"]["hookEventName"] == "PermissionRequest"
        return told["hookSpecificOutput"]["decision"]
    return None


@pytest.fixture
def lab(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"})
    client = connect(nvim)
    nvim.keys_count()
    return nvim, client


def test_a_call_is_asked_about_and_answered_by_keys(lab):
    nvim, client = lab
    for keys, answers, decision in (
        ("y", [], {"behavior": "allow"}),
        ("a", [1], {"behavior": "allow", "updatedPermissions": SUGGESTIONS}),
        ("r", ["not there"], {"behavior": "deny", "message": "not there"}),
    ):
        call = ask(client, command="make it")
        nvim.wait_kind("question")
        assert nvim.lines()[0] == "make it"
        nvim.answer(*answers)
        nvim.keys(keys)
        assert output(client, call) == decision
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    call = ask(client, command="make it\nand try it", timeout=7)
    nvim.wait_kind("question")
    nvim.keys("e")
    nvim.wait("vim.bo.buftype == 'acwrite'", what="the command in a buffer")
    nvim.keys("Aself<Esc>:w<CR>")
    changed = {"command": "make itself\nand try it", "timeout": 7}
    assert output(client, call) == {"behavior": "allow", "updatedInput": changed}
    call = ask(client, command="make it")
    nvim.wait_kind("question")
    nvim.keys("n")
    no = output(client, call)
    assert (no["behavior"], no["interrupt"]) == ("deny", True)
    assert nvim.lua(f"return {PENDING}") == 0


def test_a_question_and_a_plan_are_answered_with_their_arguments(lab):
    nvim, client = lab
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    questions = [{"question": "Which?", "header": "Colour", "multiSelect": False, "options": options}]
    call = ask(client, tool="AskUserQuestion", suggestions=[], questions=questions)
    nvim.wait_kind("question")
    nvim.keys("2")
    answered = output(client, call)["updatedInput"]
    assert answered == {"questions": questions, "answers": {"Which?": "Blue"}}
    call = ask(client, tool="ExitPlanMode", suggestions=[], plan="# It", planFilePath="/p.md")
    nvim.wait_kind("plan")
    nvim.keys("<CR>")
    assert output(client, call) == {"behavior": "allow", "updatedInput": {"plan": "# It", "planFilePath": "/p.md"}}


def test_what_needs_no_user_is_answered_at_once_though_neovim_is_busy(lab):
    nvim, client = lab
    assert not [name for name in client.tools() if name.startswith("hook")], "no model is told of them"
    nvim.notify(BUSY, 3000)
    began = time.monotonic()
    assert output(client, ask(client, agent="a1", command="make it")) is None, "a subagent's dialog waits for the hook"
    deep = json.dumps({"a": 1}).replace("1", "[" * 99 + "]" * 99)
    call = client.start_call("hook_permission", tool="Bash", input=deep, suggestions="", agent="")
    assert output(client, call) is None, "it cannot be shown in full"
    assert client.call("hook_display", session="s", message="m", index="0", final="true", delta="hello") == ["{}"]
    assert time.monotonic() - began < 2, "nothing of it waited for Neovim"
    assert nvim.lua(f"return {PENDING}") == 0


def test_nothing_is_allowed_by_who_leaves(lab):
    nvim, client = lab
    call = ask(client, command="make it")
    nvim.wait_kind("question")
    client.cancel(call)
    nvim.wait(f"{PENDING} == 0", what="the question to go with its call")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    call = ask(client, command="make it")
    nvim.wait_kind("question")
    client.call("closeAllDiffTabs")  # the next prompt
    assert output(client, call) is None
    calls = [ask(client, command=f"make {number}") for number in range(3)]
    nvim.wait(f"{PENDING} == 3", what="the questions")
    nvim.notify("vim.cmd('qa!')")
    for call in calls:
        assert output(client, call) is None


@pytest.fixture
def started(start_nvim, tmp_path):
    """The settings that a CLI gets, where the command is this."""

    def started(*more, opts=None, args=""):
        fake = FakeCli(tmp_path)
        options = {"terminal": {"command": ["claude", *more]}, **(opts or {})}
        nvim = start_nvim(opts=options, env=fake.environment())
        nvim.cmd(f"Claude {args}")
        nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
        (start,) = fake.starts()
        return start["argv"], start["settings"] and json.loads(start["settings"])

    return started


OURS = "hook_permission"


def tools_of(settings, event="PermissionRequest"):
    return [hook.get("tool") for one in settings["hooks"][event] for hook in one["hooks"]]


def test_the_users_settings_stay_and_ours_go_along(started, tmp_path):
    mine = {"type": "command", "command": "true"}
    theirs = {
        "model": "haiku",
        "empty": {},
        "none": [],
        "hooks": {"PermissionRequest": [{"hooks": [mine]}], "Stop": [{"hooks": [mine]}]},
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(theirs))
    argv, settings = started("--verbose", "--settings", "{}", f"--settings={path}", args="--model opus")
    assert argv == ["--verbose", "--model", "opus"]
    assert tools_of(settings) == [None, OURS]
    settings["hooks"]["PermissionRequest"].pop()
    assert settings["hooks"].pop("PreToolUse")[0]["matcher"] == "Read|Edit|MultiEdit|Write|NotebookEdit"
    assert settings == theirs


def test_settings_that_cannot_be_read_stay_as_they_are(started):
    argv, settings = started("--settings", "{nonsense", "--verbose")
    assert (argv, settings) == (["--settings", "{nonsense", "--verbose"], None)


def test_hooks_are_given_as_the_options_say(started):
    assert started(opts={"hooks": {"enabled": False}}) == ([], None)


def test_nothing_is_told_of_unsaved_text_if_the_user_wants_it_so(started):
    assert list(started(opts={"context": {"unsaved": "off"}})[1]["hooks"]) == ["PermissionRequest"]


def test_what_waits_is_listed_and_gone_to(lab):
    nvim, client = lab
    nvim.keep_notices()
    nvim.cmd("Claude decide")
    nvim.wait_notice("Nothing waits for you.")
    call = ask(client, command="make it")
    nvim.wait_kind("question")
    nvim.keys("q")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the question to be put aside")
    diff = client.start_call("openDiff", old_file_path=str(nvim.project / "a.txt"), new_file_contents="two\n")
    nvim.wait("require('claude-ide.proposal').count() == 1", what="the diff")
    nvim.wait_kind("proposal")
    nvim.answer(1)
    nvim.cmd("Claude decide")
    nvim.wait_kind("question")
    assert nvim.asked()[0]["lines"] == ["Claude wants to use Bash: make it", "A change to a.txt"]
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}
    nvim.wait_kind("proposal")
    client.cancel(diff)
