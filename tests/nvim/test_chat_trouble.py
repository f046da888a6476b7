"""A chat in trouble: an API that fails, a CLI that is killed, a Neovim that quits in the middle; with the real CLI."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from chat_steps import call, chat, say, text, wait_idle, wait_text

pytestmark = pytest.mark.dealt

BYPASS = {"terminal": {"command": ["claude", "--permission-mode", "bypassPermissions"]}}


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [(429, "rate_limit_error", "rate limited (429)"), (529, "overloaded_error", "overloaded (529)")],
)
def test_the_api_that_is_busy_is_told_with_the_time_of_the_next_try(begin_chat, mock_api, status, kind, words):
    mock_api.fail(status, kind, times=3)
    nvim = begin_chat("SAY at last")
    nvim.wait_screen(words)
    nvim.wait_screen("retry ")
    wait_text(nvim, "\nat last")
    wait_idle(nvim)
    assert chat(nvim, "return chat.retry") is None


@pytest.mark.parametrize(
    ("status", "words"),
    [("allowed_warning", "93% of the 5 hours' limit until "), ("rejected", "5 hours' limit reached")],
)
def test_the_limit_of_the_account_is_above_the_chat_while_it_is_near(begin_chat, mock_api, status, words):
    name = "anthropic-ratelimit-unified"
    near = {
        f"{name}-status": status,
        f"{name}-representative-claim": "five_hour",
        f"{name}-reset": str(int(time.time()) + 3600),
        f"{name}-5h-status": status,
        f"{name}-5h-utilization": "0.93",
        f"{name}-5h-surpassed-threshold": "0.9",
        f"{name}-5h-reset": str(int(time.time()) + 3600),
    }
    mock_api.headers = near
    # The CLI looks at these where it is logged in to an account.
    account = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": f"sk-ant-oat01-{'x' * 40}"}
    nvim = begin_chat("SAY one", env=account)
    wait_text(nvim, "\none")
    nvim.wait_screen(words)
    wait_idle(nvim)
    far = {f"{name}-status": "allowed", f"{name}-5h-status": "allowed", f"{name}-5h-utilization": "0.1"}
    mock_api.headers = {key: value for key, value in near.items() if "surpassed" not in key} | far
    say(nvim, "SAY two")
    wait_text(nvim, "\ntwo")
    wait_idle(nvim)
    nvim.wait(lambda: chat(nvim, "return chat.limit") is None, timeout=20, what="the limit to be far again")
    nvim.wait(lambda: "hours' limit" not in "\n".join(nvim.screen()), what="nothing of it on the screen")


def test_a_compaction_is_above_the_chat_while_it_goes_on_and_a_line_in_it(begin_chat, mock_api):
    nvim = begin_chat("SAY one")
    wait_text(nvim, "\none")
    wait_idle(nvim)
    mock_api.delay = 2.0
    say(nvim, "/compact")
    nvim.wait_screen("compacting")
    mock_api.delay = 0.0
    wait_text(nvim, "compacted")
    wait_idle(nvim)
    nvim.wait(lambda: "compacting" not in "\n".join(nvim.screen()), what="nothing of it above the chat")
    say(nvim, "SAY two")
    wait_text(nvim, "\ntwo")


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [(401, "authentication_error", "401"), (400, "invalid_request_error", "mock invalid_request_error")],
)
def test_an_error_of_the_api_is_one_sentence_and_the_next_turn_goes_on(begin_chat, mock_api, status, kind, words):
    mock_api.fail(status, kind, times=30)
    nvim = begin_chat("SAY nothing", env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    wait_text(nvim, words)
    wait_idle(nvim)
    shown = text(nvim)
    assert "Traceback" not in shown and shown.count(words) == 1, shown
    mock_api.recover()
    say(nvim, "SAY again")
    wait_text(nvim, "\nnothing\n")  # what was asked first is asked still


def test_an_api_that_is_down_is_told(begin_chat):
    nvim = begin_chat("SAY nothing", env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "1"})
    wait_idle(nvim)
    nvim.wait(lambda: "onnect" in text(nvim).split("Claude", 1)[-1], what="that it cannot be reached")


def test_a_cli_that_is_killed_says_so_and_the_session_goes_on_with_the_next_prompt(begin_chat):
    nvim = begin_chat("SAY remember")
    wait_text(nvim, "\nremember")
    wait_idle(nvim)
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    os.kill(pid, signal.SIGKILL)
    wait_text(nvim, "Claude was ended by signal 9")
    say(nvim, "SAY onwards")
    wait_text(nvim, "\nonwards")
    assert chat(nvim, "return chat.session") == session


def test_a_question_that_an_interrupt_closes_is_gone_and_the_next_turn_works(begin_chat):
    nvim = begin_chat(call("Bash", command="touch made.txt"))
    nvim.wait("require('claude-ide.decisions').count('permission') == 1", what="the question")
    chat(nvim, "chat:interrupt()")
    nvim.wait("require('claude-ide.decisions').count('permission') == 0", what="the question to go")
    wait_idle(nvim)
    say(nvim, "SAY onwards")
    wait_text(nvim, "\nonwards")
    assert not (nvim.project / "made.txt").exists()


def test_neovim_quits_in_the_middle_and_what_was_said_is_kept(begin_chat):
    nvim = begin_chat(opts=BYPASS)
    say(nvim, call("Bash", command="touch begun; exec sleep 600"))
    nvim.wait(lambda: (nvim.project / "begun").exists(), what="the tool to run")
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    nvim.quit()
    nvim.terminal.wait(lambda: not os.path.exists(f"/proc/{pid}"), 30, "the CLI to end")
    transcript = next(Path(nvim.home).rglob(f"projects/*/{session}.jsonl"))
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert any("touch begun" in json.dumps(line) for line in lines if line.get("type") == "assistant")


def test_two_chats_at_once_do_not_mix(begin_chat):
    nvim = begin_chat("SAY first")
    wait_text(nvim, "\nfirst")
    wait_idle(nvim)
    nvim.cmd("Claude chat --new SAY second")
    nvim.wait("#require('claude-ide.chat').list() == 2", what="two chats")
    wait_idle(nvim)
    texts = nvim.lua(
        """
        return vim.tbl_map(function(chat)
          local said = {}
          for at = 1, #chat.store.messages do
            said[at] = chat.store:message(at, true).blocks[1].text
          end
          return said
        end, require("claude-ide.chat").list())
        """
    )
    nvim.wait("#require('claude-ide.chat').current().store.messages == 2", what="the answer")
    assert texts[0] == ["SAY first", "first"] and "first" not in texts[1]
    assert nvim.lua("return vim.tbl_map(function(c) return c.session end, require('claude-ide.chat').list())")[
        0
    ] != chat(nvim, "return chat.session")


def test_it_continues_the_newest_session_and_forks_one(begin_chat):
    nvim = begin_chat("SAY remember")
    wait_text(nvim, "\nremember")
    wait_idle(nvim)
    session = chat(nvim, "return chat.session")
    nvim.cmd("Claude chat close")
    nvim.wait(f"not require('claude-ide.sessions.catalogue').running('{session}')", what="its process to be gone")
    nvim.cmd("Claude chat --continue SAY more")
    nvim.wait("require('claude-ide.chat').current() ~= nil", what="the chat")
    wait_text(nvim, "\nmore")
    wait_idle(nvim)
    assert chat(nvim, "return chat.session") == session
    nvim.cmd(f"Claude chat --fork {session} SAY aside")
    nvim.wait("#require('claude-ide.chat').list() == 2", what="the copy")
    wait_idle(nvim)
    nvim.wait("#require('claude-ide.chat').current().store.messages == 2", what="the answer")
    assert chat(nvim, "return chat.session") != session


def test_prompts_are_kept_and_called_back(begin_chat):
    nvim = begin_chat()
    wait_idle(nvim)
    for words in ("SAY one", "SAY two"):
        nvim.keys(f"i{words}<Esc><CR>")
        wait_text(nvim, "\n" + words.split()[1])
        wait_idle(nvim)
    nvim.keys("ihalf<Esc>[p")
    nvim.wait("vim.api.nvim_get_current_line() == 'SAY two'")
    nvim.keys("[p")
    nvim.wait("vim.api.nvim_get_current_line() == 'SAY one'")
    nvim.keys("]p]p")
    nvim.wait("vim.api.nvim_get_current_line() == 'half'", what="what was being written")


def test_the_context_and_the_cost_are_in_the_line_above(begin_chat):
    nvim = begin_chat("SAY hello")
    wait_idle(nvim)
    nvim.wait_screen("in context")
    nvim.lua("local chat = require('claude-ide.chat').current() chat.cost = 1.234 chat:redraw()")
    nvim.wait_screen("$1.23")
    assert chat(nvim, "return chat.window_size") > 1000
