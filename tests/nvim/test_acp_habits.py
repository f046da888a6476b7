"""Habits of single agents, as observed with the real ones (test_acp_others.py), played by the scripted one."""

import functools
import json
import os
import signal

import acp_steps
import pytest
from acp_steps import diff, permission, request, say, text, update, wait_answer, wait_idle, wait_text
from chat_steps import chat, reject, wait_diff

pytestmark = pytest.mark.dealt

BEFORE, AFTER = "one\ntwo\nthree\n", "one\nTWO\nthree\n"


def edit(path):
    """A call with its diff, and a question about it without one."""
    call = {"toolCallId": "c1", "title": "Editing files", "kind": "edit", "status": "pending"}
    return "\n".join(
        [
            update("tool_call", **call, content=[diff(path, BEFORE, AFTER)]),
            permission(title="Edit files", kind="edit", locations=[{"path": str(path)}]),
        ]
    )


@pytest.mark.parametrize("is_written", [False, True])
def test_a_refused_edit_that_is_never_mentioned_again_is_no_change(begin_acp, tmp_path, is_written):
    nvim = begin_acp(files={"a.txt": BEFORE})
    path = tmp_path / "project/a.txt"
    script = edit(path)
    if is_written:
        script += f"\nWRITE {path} {json.dumps(AFTER)}"
    say(nvim, script)
    wait_diff(nvim)
    reject(nvim)
    wait_answer(nvim, "· rejected")
    assert ("was changed without asking you" in text(nvim)) is is_written


def test_gemini_reads_a_file_before_it_makes_it(begin_acp, tmp_path):
    missing = request("fs/read_text_file", path=str(tmp_path / "project/new.txt"))
    for name, answer in (("gemini-cli", {"content": ""}), ("another", -32002)):
        nvim = begin_acp(setup={"name": name})
        say(nvim, missing)
        wait_text(nvim, "ANSWER ")
        line = next(line for line in text(nvim).splitlines() if line.startswith("ANSWER "))
        reported = json.loads(line.removeprefix("ANSWER "))
        assert reported.get("code", reported) == answer
        nvim.quit()


def test_the_prompt_is_called_after_the_agent_and_lists_what_it_can(begin_acp):
    nvim = begin_acp()
    nvim.wait_screen("Robot (prompt)")
    nvim.keys("g?")
    nvim.wait_screen("interrupt Robot")
    shown = "\n".join(nvim.screen())
    assert "in the terminal" not in shown and "restore files" not in shown


def test_a_key_that_a_method_takes_is_asked_for_once_and_shown_nowhere(start_nvim, tmp_path):
    method = {"id": "key", "name": "API key", "description": "Use a key", "_meta": {"api-key": {"provider": "robots"}}}
    nvim = acp_steps.begin(
        start_nvim, tmp_path, setup={"auth": True, "authMethods": [{"id": "web", "name": "Web"}, method]}
    )
    nvim.wait_screen("<CR> choose")
    nvim.keys("2<CR>", counts=True)
    nvim.wait_screen("API key, for Robot alone:")
    nvim.keys(" sesame<CR>")
    wait_idle(nvim)
    os.kill(chat(nvim, "return chat.pid"), signal.SIGKILL)
    wait_text(nvim, "Robot was ended by signal 9.")
    say(nvim, "SAY again")
    wait_answer(nvim, "\nagain")
    sent = {"methodId": "key", "_meta": {"api-key": "sesame"}}
    assert acp_steps.read(tmp_path, "authenticate") == [sent, sent]
    assert text(nvim).count("requires a sign-in") == 1
    assert "sesame" not in text(nvim) + nvim.log() + "".join(nvim.screen())


# As while the user types elsewhere.
ASKED_LATER = """
Ide.guard.when_idle = function(_, _, show) go_on = show end
vim.ui.select = function() asked = true end
"""


def test_who_has_closed_the_chat_is_not_asked_to_sign_in(start_nvim, tmp_path):
    start = functools.partial(start_nvim, init_lua=ASKED_LATER)
    nvim = acp_steps.begin(start, tmp_path, setup={"auth": True, "authMethods": [{"id": "web", "name": "Web"}]})
    nvim.wait("go_on ~= nil", what="the question to wait")
    nvim.cmd("Claude chat close")
    nvim.lua("go_on()")
    assert nvim.lua("return asked == nil")


@pytest.mark.parametrize("keys", ["<CR>", "<C-c>"])
def test_no_key_is_no_answer(start_nvim, tmp_path, keys):
    method = {"id": "key", "name": "API key", "_meta": {"api-key": {}}}
    nvim = acp_steps.begin(start_nvim, tmp_path, setup={"auth": True, "authMethods": [method]})
    nvim.wait_screen("<CR> choose")
    nvim.keys("1<CR>", counts=True)
    nvim.wait_screen("API key, for Robot alone:")
    nvim.keys(keys)
    nvim.wait_screen("Not signed in to Robot.")
    assert acp_steps.read(tmp_path, "authenticate") == []
    assert nvim.lua("return vim.v.errmsg") == ""
