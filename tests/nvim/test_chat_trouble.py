"""A chat in trouble: an API that fails, a CLI that is killed, a Neovim that quits in the middle; with the real CLI.

One session is one test, since starting a CLI takes longer. Each step is a function, named after what it asserts.
"""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from chat_steps import at_work_in, call, chat, say, text, wait_answer, wait_idle, wait_text

pytestmark = pytest.mark.dealt

BYPASS = {"terminal": {"command": ["claude", "--permission-mode", "bypassPermissions"]}}


def the_api_that_is_busy_is_told_with_the_time_of_the_next_try(nvim, mock_api, status, kind, words):
    mock_api.fail(status, kind, times=3)
    say(nvim, f"SAY at last {status}")
    nvim.wait_screen(words)
    nvim.wait_screen("retry ")
    wait_answer(nvim, f"\nat last {status}")
    assert chat(nvim, "return chat.retry") is None


def an_error_of_the_api_is_one_sentence_and_the_next_turn_goes_on(nvim, mock_api, status, kind, words):
    assert words not in text(nvim)
    mock_api.fail(status, kind, times=30)
    say(nvim, f"SAY nothing {kind[:5]}")
    wait_answer(nvim, words)
    shown = text(nvim)
    assert "Traceback" not in shown and shown.count(words) == 1, shown
    mock_api.recover()
    say(nvim, "SAY again")
    wait_text(nvim, f"\nnothing {kind[:5]}\n")  # the first question is still open
    wait_idle(nvim)


def a_compaction_is_above_the_chat_while_it_goes_on_and_a_line_in_it(nvim, mock_api):
    mock_api.paused = True
    say(nvim, "/compact")
    nvim.wait_screen("compacting")
    mock_api.paused = False
    wait_answer(nvim, "compacted")
    nvim.wait(lambda: "compacting" not in "\n".join(nvim.screen()), what="nothing of it above the chat")
    say(nvim, "SAY after it")
    wait_answer(nvim, "\nafter it")


def prompts_are_kept_and_called_back(nvim):
    for words in ("SAY one", "SAY two"):
        nvim.keys(f"i{words}<Esc><CR>")
        wait_answer(nvim, "\n" + words.split()[1])
    nvim.keys("ihalf<Esc>[p")
    nvim.wait("vim.api.nvim_get_current_line() == 'SAY two'")
    nvim.keys("[p")
    nvim.wait("vim.api.nvim_get_current_line() == 'SAY one'")
    nvim.keys("]p]p")
    nvim.wait("vim.api.nvim_get_current_line() == 'half'", what="what was being written")


def the_context_and_the_cost_are_in_the_line_above(nvim, mock_api):
    nvim.wait_screen("in context")
    before = chat(nvim, "return chat.cost")
    assert 0 < before < 0.1
    mock_api.usage["output_tokens"] = 40_000
    say(nvim, "SAY dear")
    wait_text(nvim, "\ndear")
    mock_api.usage["output_tokens"] = 10
    wait_idle(nvim)
    cost = chat(nvim, "return chat.cost")
    assert cost > before + 0.1
    nvim.wait_screen(f"${cost:.2f}")
    assert chat(nvim, "return chat.window_size") > 1000


def test_an_api_that_fails_is_reported_and_the_chat_goes_on(begin_chat, mock_api):
    nvim = begin_chat(env={"CLAUDE_CODE_MAX_RETRIES": "3"})
    for status, kind, words in (
        (429, "rate_limit_error", "rate limited (429)"),
        (529, "overloaded_error", "overloaded (529)"),
    ):
        the_api_that_is_busy_is_told_with_the_time_of_the_next_try(nvim, mock_api, status, kind, words)
    for status, kind, words in (
        (400, "invalid_request_error", "mock invalid_request_error"),
        (401, "authentication_error", "401"),
    ):
        an_error_of_the_api_is_one_sentence_and_the_next_turn_goes_on(nvim, mock_api, status, kind, words)
    prompts_are_kept_and_called_back(nvim)
    the_context_and_the_cost_are_in_the_line_above(nvim, mock_api)
    a_compaction_is_above_the_chat_while_it_goes_on_and_a_line_in_it(nvim, mock_api)


def test_the_limit_of_the_account_is_above_the_chat_while_it_is_near(begin_chat, mock_api):
    # The CLI looks at these when it is logged in to an account.
    account = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": f"sk-ant-oat01-{'x' * 40}"}
    nvim = begin_chat(env=account)
    name = "anthropic-ratelimit-unified"
    for turn, status, words in (
        ("one", "allowed_warning", "93% of the 5 hours' limit until "),
        ("two", "rejected", "5 hours' limit reached"),
    ):
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
        say(nvim, f"SAY {turn}")
        wait_text(nvim, f"\n{turn}")
        nvim.wait_screen(words)
        assert words in nvim.lua("return require('claude-ide').statusline.limit()")
        wait_idle(nvim)
        far = {f"{name}-status": "allowed", f"{name}-5h-status": "allowed", f"{name}-5h-utilization": "0.1"}
        mock_api.headers = {key: value for key, value in near.items() if "surpassed" not in key} | far
        say(nvim, f"SAY far {turn}")
        wait_answer(nvim, f"\nfar {turn}")
        nvim.wait(lambda: chat(nvim, "return chat.limit") is None, timeout=20, what="the limit to be far again")
        nvim.wait(lambda: "hours' limit" not in "\n".join(nvim.screen()), what="nothing of it on the screen")
        nvim.wait("require('claude-ide').statusline.limit() == ''")


def an_api_that_is_down_is_told(nvim):
    say(nvim, "Are you there?")
    nvim.wait(lambda: "onnect" in text(nvim).split("Claude", 1)[-1], what="that it cannot be reached")
    wait_idle(nvim)


def a_cli_that_is_killed_says_so_and_the_session_goes_on_with_the_next_prompt(nvim, mock_api):
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    os.kill(pid, signal.SIGKILL)
    wait_text(nvim, "Claude was ended by signal 9")
    say(nvim, "SAY onwards")
    wait_text(nvim, "\nonwards")
    assert mock_api.seen("Are you there?") and chat(nvim, "return chat.session") == session
    wait_idle(nvim)


def two_chats_at_once_do_not_mix(nvim):
    nvim.cmd("Claude chat --new SAY second")
    nvim.wait("#Ide.chat.list() == 2", what="two chats")
    nvim.wait("Ide.chat.current().store:info().len == 2", what="the answer")
    wait_idle(nvim)
    texts = nvim.lua(
        """
        return vim.tbl_map(function(chat)
          local said = {}
          for at, row in ipairs(chat.store:rows(0, 1000)) do
            said[at] = chat.store:messages({ row.id }, true)[1].blocks[1].text or ""
          end
          return said
        end, Ide.chat.list())
        """
    )
    assert texts[0][-2:] == ["SAY onwards", "onwards"] and not any("second" in text for text in texts[0])
    assert texts[1] == ["SAY second", "second"]
    first, second = nvim.lua("return vim.tbl_map(function(c) return c.session end, Ide.chat.list())")
    assert first != second and chat(nvim, "return chat.session") == second


def close_first(nvim):
    session, pid = nvim.lua(
        """
        local chats = Ide.chat
        local chat = chats.list()[1]
        local about = { chat.session, chat.pid }
        chats.close(chat)
        return about
        """
    )
    # The CLI may write to its file as it ends.
    nvim.wait(lambda: not os.path.exists(f"/proc/{pid}"), what="its process to be gone")
    nvim.wait(f"not Ide.sessions_catalogue.running('{session}')", what="its process to be gone")
    return session


def it_continues_the_newest_session_and_forks_one(nvim):
    close_first(nvim)
    session = close_first(nvim)
    nvim.cmd("Claude chat --continue SAY more")
    nvim.wait("Ide.chat.current() ~= nil", what="the chat")
    wait_answer(nvim, "\nmore")
    assert chat(nvim, "return chat.session") == session
    nvim.cmd(f"Claude chat --fork {session} SAY aside")
    nvim.wait("#Ide.chat.list() == 2", what="the copy")
    wait_idle(nvim)
    nvim.wait("Ide.chat.current().store:info().len == 2", what="the answer")
    assert chat(nvim, "return chat.session") != session


def neovim_quits_in_the_middle_and_what_was_said_is_kept(nvim):
    say(nvim, call("Bash", command="touch begun; exec sleep 600"))
    nvim.wait(lambda: (nvim.project / "begun").exists(), what="the tool to run")
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    nvim.wait(lambda: any("sleep 600" in command for command in at_work_in(nvim.project)), what="its process")
    nvim.leave()
    nvim.terminal.wait(lambda: not os.path.exists(f"/proc/{pid}"), 30, "the CLI to end")
    nvim.terminal.wait(lambda: not at_work_in(nvim.project), 30, "its tool to end")
    transcript = next(Path(nvim.home).rglob(f"projects/*/{session}.jsonl"))
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    assert any("touch begun" in json.dumps(line) for line in lines if line.get("type") == "assistant")


def test_sessions_outlive_what_ends_their_cli(begin_chat, mock_api):
    nvim = begin_chat(opts=BYPASS, env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "1"})
    an_api_that_is_down_is_told(nvim)
    nvim.lua("vim.env.ANTHROPIC_BASE_URL = ...", mock_api.url)
    a_cli_that_is_killed_says_so_and_the_session_goes_on_with_the_next_prompt(nvim, mock_api)
    two_chats_at_once_do_not_mix(nvim)
    it_continues_the_newest_session_and_forks_one(nvim)
    neovim_quits_in_the_middle_and_what_was_said_is_kept(nvim)


def kill(nvim):
    ends = text(nvim).count("Claude was ended by signal 9")
    os.kill(chat(nvim, "return chat.pid"), signal.SIGKILL)
    nvim.wait(lambda: text(nvim).count("Claude was ended by signal 9") == ends + 1, what="that it is told")


def test_one_that_is_killed_before_it_answers_or_after_it_forgot_goes_on(begin_chat, mock_api):
    nvim = begin_chat()
    wait_idle(nvim)
    mock_api.delay = 600.0
    say(nvim, "SAY unheard")
    nvim.wait("#Ide.chat.current().unanswered == 1", what="the turn to begin")
    kill(nvim)
    mock_api.delay = 0.0
    say(nvim, "SAY heard")
    wait_answer(nvim, "\nheard")
    session = chat(nvim, "return chat.session")
    say(nvim, "/clear")
    nvim.wait(lambda: chat(nvim, "return chat.session") != session, what="another session")
    kill(nvim)
    say(nvim, "SAY fresh")
    wait_text(nvim, "\nfresh")
    assert not mock_api.seen("SAY heard") and "No conversation" not in text(nvim)
