"""What people complain of in other editors' chats with agents, and what is so here instead."""

import pytest
from acp_steps import begin as begin_acp
from acp_steps import read
from chat_steps import chat, say, start, text, wait_idle, wait_text

pytestmark = pytest.mark.dealt


@pytest.fixture
def acp(start_nvim, tmp_path):
    """A chat with the scripted agent (harness/acp_agent.py)."""

    def begin(**more):
        nvim = begin_acp(start_nvim, tmp_path, **more)
        wait_idle(nvim)
        return nvim

    return begin


def test_a_turn_that_ends_without_a_word_is_told(acp):
    """carlos-algms/agentic.nvim has a spinner that stops; olimorris/codecompanion.nvim#2374, #2376: an empty answer and no reason."""
    nvim = acp()
    say(nvim, "nothing that the script knows")
    wait_text(nvim, "Robot ended its turn without a word.")
    say(nvim, "SAY a word")
    wait_text(nvim, "\na word")
    wait_idle(nvim)
    say(nvim, "WAIT")
    nvim.wait("require('claude-ide.chat').current().state == 'working'")
    nvim.lua("require('claude-ide.chat').current():interrupt()")
    wait_idle(nvim)
    assert text(nvim).count("without a word") == 1


@pytest.mark.every_nvim
def test_nothing_that_is_on_the_screen_is_drawn_again_while_an_answer_grows(acp):
    """carlos-algms/agentic.nvim#147: it flickers."""
    nvim = acp()
    for number in range(2):
        say(nvim, f"SAY line {number} stays where it is")
        wait_text(nvim, f"\nline {number} stays")
        wait_idle(nvim)
    nvim.wait(lambda: nvim.terminal.text().count("line 1 stays") == 2, what="the prompt and the answer")
    nvim.lua("hear = require('claude-ide.chat.hear').take_in told = { type = 'text', block = 'x', kind = 'text' }")
    words = [f"word{number}" for number in range(60)]
    nvim.lua(GROW, words[0])
    nvim.wait_screen(words[0])
    nvim.terminal.wait_quiet()
    before = len(nvim.terminal.raw)
    for word in words[1:]:
        nvim.lua(GROW, word)
        nvim.wait_screen(word)
    drawn = bytes(nvim.terminal.raw[before:])
    assert b"stays where it is" not in drawn, "what was there is not sent again"
    assert b"\x1b[2J" not in drawn and b"\x1b[J" not in drawn, "nothing is wiped"
    assert len(drawn) / len(words) < 200, "a word costs no more than its line"


GROW = """
local chat = require("claude-ide.chat").current()
hear(chat, vim.tbl_extend("force", told, { text = ... .. " " }))
chat.on_change()
"""


def test_what_needs_a_chat_says_that_there_is_none(start_nvim):
    """avante-corp/avante.nvim#3023: the menus of models and modes fail before the window was opened."""
    nvim = start_nvim()
    for word in ("close", "restart"):
        nvim.keys(f":Claude chat {word}<CR>")
        nvim.wait_screen("There is no chat.")
        nvim.keys(":echo<CR>")
        nvim.wait(lambda: "There is no chat." not in nvim.terminal.text())


def test_modes_and_models_are_known_of_a_session_that_is_loaded(acp, tmp_path):
    """carlos-algms/agentic.nvim#310: agents tell them with a new session and not with one that is loaded."""
    modes = {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    }
    models = {
        "currentModelId": "small",
        "availableModels": [{"modelId": "small", "name": "Small"}, {"modelId": "large", "name": "Large"}],
    }
    setup = {"modes": modes, "models": models, "setsMode": "plan", "capabilities": {"loadSession": True}}
    nvim = acp(setup=setup)
    nvim.cmd("Claude chat close")
    nvim.cmd("Claude chat --agent scripted --resume old")
    nvim.wait("(require('claude-ide.chat').current() or {}).session == 'old'")
    wait_idle(nvim)
    assert chat(nvim, "return { chat.mode, chat.model }") == ["ask", "small"]
    nvim.keys("<S-Tab>")
    nvim.wait("require('claude-ide.chat').current().mode ~= 'ask'", what="a mode")
    nvim.wait_screen("Mode: plan.")
    assert read(tmp_path, "session/set_mode") == [{"sessionId": "old", "modeId": "code"}]
    assert chat(nvim, "return chat.mode") == "plan", "what it tells counts, not what it was asked for"
    nvim.keys("gm")
    nvim.wait_screen("Type number and <Enter>")
    assert {"* Small", "  Large"} <= {line[3:] for line in nvim.screen()}
    nvim.keys("2<CR>")
    nvim.wait("require('claude-ide.chat').current().model == 'large'", what="the model")
    assert read(tmp_path, "session/set_model") == [{"sessionId": "old", "modelId": "large"}]


def test_the_commands_are_those_of_the_cli(start_nvim, mock_api, tmp_path):
    """xenodium/agent-shell#71, agentclientprotocol/claude-agent-acp#23: fewer commands than in the terminal."""
    files = {".claude/commands/greet.md": "---\ndescription: Greet them\n---\nSAY hello $ARGUMENTS\n"}
    nvim = start(start_nvim, mock_api, tmp_path, files=files)
    nvim.cmd("Claude chat")
    wait_idle(nvim)
    nvim.keys("i/")
    nvim.wait("vim.fn.pumvisible() == 1", what="the commands")
    offered = nvim.lua("return vim.tbl_map(function(item) return item.word end, vim.fn.complete_info().items)")
    told = chat(nvim, "return vim.tbl_map(function(command) return command.name end, chat.commands)")
    assert set(offered) >= {name for name in told if not name.startswith("__") and not name.endswith("(MCP)")}
    assert {"greet", "compact", "context", "init", "clear"} <= set(offered)
    nvim.keys("gre")
    nvim.wait(lambda: "Greet them" in (shown := nvim.terminal.text()) and "compact" not in shown, what="that one alone")
    nvim.keys("<C-n> you<Esc><CR>")
    wait_text(nvim, "\nhello you")


def test_a_late_question_about_going_back_takes_nothing_that_is_typed(start_nvim):
    nvim = start_nvim(files={"a.txt": "old\n"})
    nvim.lua("""
      later, restored = nil, 0
      local chat = { cwd = vim.fn.getcwd(), store = { put = function() end } }
      function chat.ask(_, _, fields, done)
        if fields.dry_run then later = done else restored = restored + 1 end
      end
      require("claude-ide.chat.rewind").to(chat, { uuid = "x" })
    """)
    nvim.keys("i")
    nvim.wait("vim.api.nvim_get_mode().mode == 'i'")
    nvim.notify("later({ canRewind = true, filesChanged = { 'a.txt' }, insertions = 1, deletions = 1 })")
    nvim.wait_screen("question about going back")
    nvim.keys("1<CR>2")
    nvim.wait(lambda: nvim.lines() == ["1", "2"], what="what is typed")
    nvim.keys("<Esc>")
    nvim.wait_screen("Restore a.txt")
    assert nvim.lua("return restored") == 0
    nvim.keys("1<CR>")
    nvim.wait("restored == 1")
