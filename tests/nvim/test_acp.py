"""A chat with an agent of the Agent Client Protocol: its messages, its beginning and its end."""

import base64
import functools
import hashlib
import json
import re
import sys

import acp_steps
import main_thread
import pytest
from acp_steps import read, say, text, update, wait_answer, wait_idle, wait_text
from chat_steps import chat
from test_chat_context import PNG

from harness.acp_agent import big as acp_agent_big

pytestmark = pytest.mark.dealt

KNOWN = ["claude", "codex", "gemini", "opencode"]


@pytest.fixture
def begin(start_nvim, tmp_path):
    return functools.partial(acp_steps.begin, start_nvim, tmp_path)


@pytest.mark.every_nvim
def test_what_an_agent_says_is_in_the_buffer(begin, tmp_path):
    nvim = begin(setup={"capabilities": {"promptCapabilities": {"image": True}}}, files={"dot.png": PNG})
    wait_idle(nvim)
    account = "Robot 7, by the Agent Client Protocol. It draws on the account that it is signed in with."
    assert [line.strip() for line in text(nvim).splitlines()].count(account) == 1
    call = {"toolCallId": "c1", "title": "Look at the weather", "kind": "fetch", "status": "pending"}
    lines = [
        "THINK let me see",
        "SAY It is **fine**.",
        update("tool_call", **call),
        update("something_new", x=1),
        update(
            "tool_call_update",
            toolCallId="c1",
            status="completed",
            content=[{"type": "content", "content": {"type": "text", "text": "sunny"}}],
        ),
        update("plan", entries=[{"content": "go out", "priority": "high", "status": "in_progress"}]),
        update("usage_update", used=1000, size=200000, cost={"amount": 0.25, "currency": "USD"}),
        "SAY done",
    ]
    say(nvim, "\n".join(lines))
    wait_answer(nvim, "\ndone")
    shown = text(nvim)
    for words in ("Robot\n", "It is **fine**.", "Look at the weather", "sunny", "[-] go out"):
        assert words in shown, (words, shown)
    assert "\nClaude\n" not in shown
    assert chat(nvim, "return { chat.cost, chat.window_size }") == [0.25, 200000]
    greeting = read(tmp_path, "initialize")[0]
    assert greeting["protocolVersion"] == 1 and greeting["clientCapabilities"]["terminal"] is True
    assert greeting["clientInfo"]["name"] == "claude-ide.nvim"
    say(nvim, "SAY seen #image:dot.png")
    wait_text(nvim, "\nseen")
    said, pictured = (one["prompt"] for one in read(tmp_path, "session/prompt"))
    assert [block["type"] for block in said] == ["text"]
    image = next(block for block in pictured if block["type"] == "image")
    assert (image["mimeType"], base64.b64decode(image["data"])) == ("image/png", PNG)


# Neovim has not yet noticed that the turn is over and the next one has begun.
TAKE_BACK_LATE = """
chat:send("interrupt")
repeat vim.uv.sleep(5) until vim.uv.fs_stat(%s)
return chat:take_back(chat:waiting()[1])
"""


def test_a_prompt_that_is_taken_back_too_late_is_shown(begin, tmp_path):
    nvim = begin()
    say(nvim, "SAY one\nWAIT")
    wait_text(nvim, "\none")
    begun = json.dumps(str(tmp_path / "begun"))
    say(nvim, f'WRITE {tmp_path / "begun"} ""\nSAY two')
    chat(nvim, TAKE_BACK_LATE % begun)
    wait_answer(nvim, "\ntwo")
    assert "\nSAY two\n\n  Robot had started on this before it was unqueued.\n" in text(nvim)


def test_an_agent_that_dies_says_why_and_goes_on_where_it_was(begin, tmp_path):
    nvim = begin(setup={"capabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}}})
    begun = update("tool_call", toolCallId="c1", title="Long work", kind="execute", status="in_progress")
    say(nvim, f"SAY before\n{begun}\nEXIT 3")
    wait_text(nvim, "Robot ended with code 3: the last words")
    nvim.wait(lambda: "an agent says on stderr: the last words\n" in nvim.log(), what="the same in the log")
    assert "\nbefore" in text(nvim)
    wait_text(nvim, "Execute Long work · no result")
    nvim.lua("vim.o.columns = 80")
    nvim.wait_screen(re.compile(" ended; what you send starts [a-z ]*…$", re.MULTILINE))
    say(nvim, "SAY after")
    wait_text(nvim, "\nafter")
    assert read(tmp_path, "session/resume")[0]["sessionId"] == "one"
    assert text(nvim).count("It draws on the account") == 1, "that is said once"
    assert "Execute Long work · no result" in text(nvim), "it does not run again"


@pytest.mark.slow
def test_an_agent_that_hangs_is_reported_and_restarted(begin):
    nvim = begin(setup={"deaf": True}, patience=300)
    say(nvim, "SAY busy\nHANG")
    wait_text(nvim, "Robot has said nothing for 0 s")
    chat(nvim, "chat:interrupt()")
    wait_text(nvim, "Robot was asked to stop and goes on")
    nvim.lua("vim.cmd('Claude chat restart')")
    wait_answer(nvim, "Robot was restarted.")
    assert "\nbusy" in text(nvim)
    say(nvim, "SAY again")
    wait_text(nvim, "\nagain")


def test_what_is_wrong_is_a_line_in_the_buffer(begin):
    nvim = begin(setup={"version": 2})
    wait_text(nvim, "Robot speaks version 2 of the protocol, and this speaks version 1.")
    wait_text(nvim, "Your next prompt restarts it.")
    assert "signal" not in text(nvim), "who ended it, and why, is said"


def test_a_program_that_is_not_there_is_a_clear_sentence(start_nvim):
    nvim = start_nvim(opts={"agents": {"mine": {"cmd": ["/nowhere/agent"]}}})
    for name, words in (("mine", "`/nowhere/agent` was not found"), ("other", "There is no agent `other`")):
        said = nvim.lua(
            "local ok, err = Ide.command_chat.run({ '--agent', ... }, { rest = '--agent ' .. ... }) return err",
            name,
        )
        assert words in said, said


# Counts the texts that are taken one by one.
WATCH = """
looks = 0
local native = Ide.native
local next_event = native.agent_next
native.agent_next = function(...)
  local event = next_event(...)
  looks = looks + (event and event.type == "text" and 1 or 0)
  return event
end
"""
HAS_ENDED = """
local store = Ide.chat.current().store
local rows = store:rows(store:info().len - 1, 1)
local last = store:messages({ rows[1].id }, false)[1]
return last.kind == "reply" and last.blocks[1].text:find("and the end", 1, true) ~= nil
"""


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["lines", "one line", "words", "thoughts"])
def test_a_message_of_10_mb_holds_nobody_up(begin, shape):
    nvim = begin()
    wait_idle(nvim)
    nvim.lua(WATCH)
    main_thread.watch(nvim)
    asked = f"BIG 10000000 {shape}"
    say(nvim, f"{asked}\nSAY and the end")
    nvim.wait(HAS_ENDED, timeout=60, what="the end")
    wait_idle(nvim)
    looks, longest, turns, took = nvim.lua("return { looks, longest, turns, main_thread_ms() - began }")
    # The timer and RPC requests run between the pieces.
    assert looks > 150, looks
    assert turns > 10 and longest < 100 and took < 5000, (turns, longest, took)
    kept = nvim.lua(
        """
        local texts, store = {}, Ide.chat.current().store
        for _, row in ipairs(store:rows(0, 1e6)) do
          texts[#texts + 1] = row.kind == "reply" and store:messages({ row.id }, false)[1].blocks[1].text or nil
        end
        return vim.fn.sha256((table.concat(texts):gsub("\\n", "")))
        """
    )
    whole = acp_agent_big(10_000_000, shape) + "and the end"
    assert kept == hashlib.sha256(whole.replace("\n", "").encode()).hexdigest(), "all of it, in its order"
    nvim.wait(lambda: len(text(nvim)) > 100_000, what="what is near the end as text")


def test_modes_models_and_options(begin, tmp_path):
    values = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
    option = {"type": "select", "currentValue": "a", "options": values}
    setup = {
        "modes": {
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
        },
        "configOptions": [
            {"id": "model", "name": "Model", "category": "model", **option},
            {"id": "effort", "name": "Effort", "category": "thought_level", **option},
        ],
        "capabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}},
    }
    nvim = begin(setup=setup)
    wait_idle(nvim)
    assert chat(nvim, "return { chat.mode, chat.model }") == ["ask", "a"]
    reported = read(tmp_path, "initialize")[0]["clientCapabilities"]["session"]
    assert reported == {"configOptions": {"boolean": {}}}
    nvim.keys("<S-Tab>")
    nvim.wait("Ide.chat.current().mode == 'code'", what="the mode")
    assert read(tmp_path, "session/set_mode") == [{"sessionId": "one", "modeId": "code"}]
    nvim.wait(lambda: "code" in nvim.screen()[0], what="the mode to be shown")
    nvim.answer(1, 2, 2)
    nvim.keys("gm")
    nvim.wait("Ide.chat.current().model == 'b'", what="the model")
    nvim.keys("gE")
    nvim.wait("Ide.chat.current().effort == 'b'", what="the effort")
    assert [question["prompt"] for question in nvim.asked()] == ["Set", "Model", "Effort"]
    set_ = [{"sessionId": "one", "configId": id, "value": "b"} for id in ("model", "effort")]
    assert read(tmp_path, "session/set_config_option") == set_
    say(nvim, update("current_mode_update", currentModeId="ask"))
    nvim.wait("Ide.chat.current().mode == 'ask'", what="the mode that it told")
    nvim.wait(lambda: "ask" in nvim.screen()[0] and "code" not in nvim.screen()[0], what="that one")


MODES = [
    {"id": "ask", "name": "Ask"},
    {"id": "full", "name": "Bypass permissions", "description": "Accepts all permissions"},
    {"id": "untrusted", "name": "Auto edit"},
    {"id": "plan", "name": "Plan"},
]


def test_a_mode_that_never_asks_is_only_reached_by_its_name_and_confirmed(begin, tmp_path):
    nvim = begin(setup={"modes": {"currentModeId": "ask", "availableModes": MODES}, "refuses": ["untrusted"]})
    wait_idle(nvim)
    nvim.keep_notices()
    nvim.keys("<S-Tab>")
    nvim.wait_notice("Mode was not changed")
    assert chat(nvim, "return chat.mode") == "ask"
    nvim.keys("<S-Tab>")
    nvim.wait("Ide.chat.current().mode == 'plan'", what="the one behind the refused one")
    nvim.keys("<S-Tab>")
    nvim.wait("Ide.chat.current().mode == 'ask'", what="the first one")
    asked = [params["modeId"] for params in read(tmp_path, "session/set_mode")]
    assert asked == ["untrusted", "plan", "ask"], "the one that never asks is passed over"
    nvim.answer(2, 1)
    nvim.keys("gm")
    nvim.wait(lambda: len(nvim.asked()) == 2)
    assert "without asking you" in nvim.asked()[1]["prompt"]
    nvim.answer(2, 2)
    nvim.keys("gm")
    nvim.wait("Ide.chat.current().mode == 'full'", what="the mode that was confirmed")
    asked = [params["modeId"] for params in read(tmp_path, "session/set_mode")]
    assert asked == ["untrusted", "plan", "ask", "full"], "it was not set before"
    nvim.lua("vim.cmd('botright vnew'); vim.api.nvim_win_set_width(0, vim.o.columns - 20); vim.cmd('wincmd p')")
    nvim.wait(lambda: " full " in nvim.screen()[0], what="the mode in a narrow window")
    nvim.keys("<S-Tab>")
    nvim.wait_notice("untrusted: no")
    nvim.keys("<S-Tab>")
    nvim.wait("Ide.chat.current().mode == 'plan'", what="one that asks")


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("FAIL -32603 a wrong key", "Robot failed: a wrong key"),
        ("STOP refusal", "Robot refused to go on."),
        ("STOP max_tokens", "Robot stopped: the answer reached the most tokens it may have."),
        ("STOP cancelled", "Robot broke its turn off. You did not interrupt it."),
        ("STOP end_turn", "Robot ended its turn without a word."),
    ],
)
def test_a_first_turn_without_text_ends_with_a_word_on_why(begin, prompt, words):
    nvim = begin(args=prompt)
    wait_idle(nvim)
    wait_text(nvim, words)
    assert "Interrupted by you" not in text(nvim)


def test_a_row_shows_the_command_that_ran_and_its_output(begin, tmp_path):
    nvim = begin()
    wait_idle(nvim)
    call = {"toolCallId": "c", "kind": "execute", "title": "rm -rf a.txt"}
    where = {"locations": [{"path": str(tmp_path / "project/a.txt")}]}
    output = {"terminal_output_delta": {"data": "gone\n", "terminal_id": "c"}}
    say(
        nvim,
        "\n".join(
            [
                update("tool_call", status="pending", content=[{"type": "terminal", "terminalId": "c"}], **call),
                update("tool_call_update", rawInput={"command": ["rm", "-rf", "a.txt"]}, toolCallId="c", **where),
                update("tool_call_update", toolCallId="c", _meta=output),
                update("tool_call_update", toolCallId="c", status="completed"),
                "SAY done",
            ]
        ),
    )
    wait_answer(nvim, "\ndone")
    assert "Execute rm -rf a.txt · ok" in text(nvim)
    assert "\n    gone\n" in text(nvim)


def test_a_session_is_chosen_from_the_list_and_shown(begin, tmp_path):
    said = [
        {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "what was asked"}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "what was answered"}},
    ]
    setup = {
        "capabilities": {"loadSession": True, "sessionCapabilities": {"list": {}}},
        "sessions": [{"sessionId": "old", "cwd": "/", "title": "An old one"}],
        "history": said,
    }
    nvim = begin(setup=setup, args="--resume", chosen=[-1])
    wait_text(nvim, "what was answered")
    assert "what was asked" in text(nvim) and nvim.asked()[0]["lines"][-1] == "An old one"
    assert read(tmp_path, "session/load")[0]["sessionId"] == "old"


@pytest.mark.parametrize("can_list", [True, False])
def test_a_saved_session_of_neovim_says_how_a_conversation_goes_on(start_nvim, tmp_path, can_list):
    id = "0a1b2c3d-e5f6" if can_list else "0a1b2c3d"
    setup = {
        "session": id,
        "capabilities": {"loadSession": True, "sessionCapabilities": {"list": {}} if can_list else {}},
        "sessions": [{"sessionId": "another", "cwd": "/"}, {"sessionId": id, "cwd": "/", "title": "It"}],
        "history": [{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "what was answered"}}],
    }
    nvim = acp_steps.begin_idle(start_nvim, tmp_path, setup=setup, files={"a.txt": "one\n"})
    say(nvim, "SAY hello there")
    wait_text(nvim, "\nhello there")
    name = "Robot 0a1b2c3d/SAY hello there"
    nvim.wait(lambda: nvim.lua("return vim.fn.bufexists(...)", name) == 1, what="its name")
    nvim.cmd("mksession Session.vim")
    nvim.lua("Ide.chat.close_all()")
    agents = nvim.lua("return Ide.config.get().agents")
    again = start_nvim(args=["-c", "silent source Session.vim"], opts={"agents": agents})
    again.wait("vim.fn.bufnr('Robot 0a1b2c3d/SAY hello there') > 0", what="the conversation")
    again.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr(...))[1])", name)
    again.wait(lambda: "A session with Robot: SAY hello there" in again.lines(), what="what it was")
    assert again.lines()[-1] == "`:Claude chat --agent scripted --resume 0a1b2c3d`"
    again.keys("<CR>")
    wait_text(again, "what was answered")
    assert read(tmp_path, "session/load")[0]["sessionId"] == id
    again.wait(lambda: len(again.lua("return vim.api.nvim_tabpage_list_wins(0)")) == 3, what="its window")


SHOWN = """
return vim.tbl_map(function(chat)
  return { chat.session, chat.pid }
end, Ide.chat.list())
"""


@pytest.mark.parametrize("can", ["list", "nothing", "fork"])
def test_a_session_that_is_open_in_a_chat_is_shown_there_and_not_begun_twice(start_nvim, tmp_path, can):
    """Both when its identity is known at once and when the agent must list its sessions first."""
    id, hold = "0a1b2c3d-e5f6", tmp_path / "hold"
    setup = {
        "session": id,
        "hold": str(hold),
        "capabilities": {"loadSession": True, "sessionCapabilities": {} if can == "nothing" else {"list": {}, can: {}}},
        "sessions": [{"sessionId": "another", "cwd": "/"}, {"sessionId": id, "cwd": "/", "title": "It"}],
    }
    nvim = acp_steps.begin_idle(start_nvim, tmp_path, setup=setup)
    say(nvim, "SAY hello there")
    wait_answer(nvim, "\nhello there")
    one = nvim.lua(SHOWN)
    nvim.lua(
        "vim.ui.select = function(items, options, done) asked = options.prompt done(items[#items > 2 and 3 or 1]) end"
    )
    for which in (id, *([] if can == "nothing" else ["0a1b", ""])):
        if which == "":
            hold.touch()
        nvim.lua("asked = nil vim.cmd('Claude chat --agent scripted --resume ' .. ...)", which)
        if which == "":
            nvim.wait("#Ide.chat.list() == 2", what="a chat that lists them")
            say(nvim, "SAY meanwhile")
            hold.unlink()
            nvim.wait("asked ~= nil", what="the list")
        nvim.wait(lambda: nvim.lua(SHOWN) == one, what="one chat")
        nvim.wait_kind("prompt")
    assert read(tmp_path, "session/load") == []
    if can != "nothing":
        nvim.wait(lambda: "SAY meanwhile" in nvim.lines(), what="what was said while they were listed")
    say(nvim, "SAY still here")
    wait_text(nvim, "\nstill here")


@pytest.mark.parametrize(("choice", "method"), [(2, "session/fork"), (1, "session/load")])
def test_a_session_is_gone_on_with_in_a_copy_where_the_agent_makes_copies(begin, tmp_path, choice, method):
    setup = {
        "capabilities": {"loadSession": True, "sessionCapabilities": {"list": {}, "fork": {}}},
        "sessions": [{"sessionId": "old", "cwd": "/", "title": "An old one"}],
    }
    nvim = begin(setup=setup, args="--resume", chosen=[-1, choice])
    wait_idle(nvim)
    assert nvim.asked()[1]["lines"] == ["Continue it", "Continue in a copy"]
    assert read(tmp_path, method)[0]["sessionId"] == "old"
    say(nvim, "SAY here")
    wait_text(nvim, "\nhere")
    assert read(tmp_path, "session/prompt")[0]["sessionId"] == ("copy" if method == "session/fork" else "old")
    assert ("This is a copy of that session" in text(nvim)) is (method == "session/fork")


def test_signing_in_says_what_to_do_and_does_it(begin, tmp_path):
    methods = [
        {"id": "key", "name": "With a key", "description": "asks for it"},
        {"id": "tui", "name": "In a terminal", "type": "terminal", "args": ["--login"], "env": {"LOGIN": "here"}},
    ]
    nvim = begin(setup={"auth": True, "authMethods": methods})
    nvim.wait_screen("<CR> choose")
    nvim.keys_count()
    runs = f"In a terminal (runs `{sys.executable} {acp_steps.AGENT} --login`)"
    wait_text(nvim, "Robot requires a sign-in: Authentication required.")
    shown = text(nvim)
    assert "- With a key: asks for it" in shown and f"- {runs}" in shown and "`:Claude chat restart`" in shown
    nvim.keys("2<CR>")
    nvim.wait_screen("Your name:")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="the terminal to take keys")
    nvim.keys("me<CR>")
    wait_idle(nvim)
    assert json.loads((tmp_path / "acp.log.signed-in").read_text()) == ["me", "--login", "here"]
    assert read(tmp_path, "authenticate") == []
    say(nvim, "SAY in")
    wait_text(nvim, "\nin")


def test_what_is_completed(begin):
    nvim = begin()
    wait_idle(nvim)
    assert nvim.lua("return vim.fn.getcompletion('Claude chat --agent ', 'cmdline')") == [*KNOWN, "scripted"]
    say(nvim, update("available_commands_update", availableCommands=[{"name": "web", "description": "Search"}]))
    nvim.wait("#Ide.chat.current().commands == 1", what="the commands")
    assert chat(nvim, "return chat.commands[1].name") == "web"


def test_the_chat_closes_its_session_and_leaves_no_process(begin, tmp_path):
    nvim = begin(setup={"capabilities": {"sessionCapabilities": {"close": {}}}})
    wait_idle(nvim)
    pid = chat(nvim, "return chat.pid")
    nvim.lua("Ide.acp.CLOSE_MS = 1e6")
    nvim.lua("Ide.chat.close(Ide.chat.current())")
    nvim.wait(lambda: not (tmp_path / f"/proc/{pid}").exists(), what="the agent to end")
    assert read(tmp_path, "session/close") == [{"sessionId": "one"}]


def test_the_tools_of_the_editor_are_handed_over(start_nvim, tmp_path):
    nvim = acp_steps.begin_idle(start_nvim, tmp_path, setup={"capabilities": {"mcpCapabilities": {"http": True}}})
    nvim.lua("vim.cmd('Claude chat close') Ide.server.start() vim.cmd('Claude chat --agent scripted')")
    nvim.wait(lambda: len(read(tmp_path, "session/new")) == 2, what="the session")
    server = read(tmp_path, "session/new")[1]["mcpServers"][0]
    assert server["name"] == "nvim" and server["url"].endswith("/nvim")
    assert server["headers"][0]["value"].startswith("Bearer ")


def test_the_health_check_says_which_agents_are_there(start_nvim):
    nvim = start_nvim(opts={"agents": {"mine": {"cmd": ["/bin/sh"]}, "gone": {"cmd": ["/nowhere/agent"]}}})
    nvim.lua("vim.cmd('checkhealth claude-ide')")
    nvim.wait("vim.bo.filetype == 'checkhealth'", what="the report")
    report = nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')")
    assert "mine: /bin/sh" in report and "gone: `/nowhere/agent` was not found" in report
    for name in KNOWN:
        assert re.search(rf"^\W*(OK )?{name}: ", report, re.MULTILINE), report


def test_one_that_wants_a_sign_in_for_a_prompt_gets_it_and_the_prompt_is_kept(begin, tmp_path):
    """Claude's adapter begins a session without a sign-in, and reports it missing at the first prompt (0.100.0)."""
    nvim = begin(setup={"authMethods": [{"id": "web", "name": "In the browser"}]})
    wait_idle(nvim)
    say(nvim, "FAIL -32000 Authentication required")
    nvim.wait_screen("<CR> choose")
    nvim.keys("1<CR>", counts=True)
    wait_text(nvim, "Robot is signed in.")
    shown = text(nvim)
    assert "Robot requires a sign-in: Authentication required." in shown and "- In the browser" in shown
    assert "failed" not in shown
    assert read(tmp_path, "authenticate") == [{"methodId": "web"}]
    nvim.wait(lambda: nvim.lines() == ["FAIL -32000 Authentication required"], what="the words at the prompt again")


@pytest.mark.every_nvim
def test_the_window_that_follows_goes_where_the_agent_is(begin_acp, tmp_path):
    long = "".join(f"line {number}\n" for number in range(1, 301))
    nvim = begin_acp(files={"a.txt": long, "b.txt": long})
    nvim.cmd("Claude follow")
    win = nvim.lua("return Ide.follow.window()")
    at = "local win = ... return { vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))), vim.fn.line('.', win) }"

    def goes(name, line, *places, **more):  # a call ends with its turn
        where = [{"path": str(tmp_path / "project" / path), "line": number} for path, number in places]
        say(nvim, update("tool_call", toolCallId=f"c{line}", locations=where, **more) + "\nSAY over")
        nvim.wait(lambda: nvim.lua(at, win) == [name, line], what=f"{name}:{line} in the window that follows")

    goes("a.txt", 100, ("a.txt", 100), kind="read", title="Looks")
    nvim.wait_screen("Robot reads this")
    wait_idle(nvim)
    goes("b.txt", 7, ("a.txt", 100), ("b.txt", 7), kind="search", title="Looks")
    wait_idle(nvim)
    goes("a.txt", 200, ("a.txt", 200), kind="edit", title="Edits")
    nvim.wait_screen("Robot edited this")
    assert [step["first"] for step in nvim.lua("return Ide.follow.steps()")][-1] == 200
