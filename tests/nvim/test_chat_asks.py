"""What an agent asks in a chat: edits, tools, questions, plans; with the real CLI against the scripted model."""

import pytest
from chat_steps import call, chat, say, text, wait_idle, wait_text

pytestmark = pytest.mark.dealt


def wait_asked(nvim, words):
    """A question is on the screen, and its keys count."""
    nvim.wait_screen(words)
    nvim.wait("(vim.b.claude_ide or {}).kind == 'question'", what="the question to have the focus")
    nvim.lua("require('claude-ide.chat.panel').GRACE_MS = 0")  # the window has come: keys count


def test_a_key_that_was_on_its_way_decides_nothing(begin_chat):
    nvim = begin_chat()
    nvim.lua("require('claude-ide.chat.panel').GRACE_MS = 1e9")
    say(nvim, call("Bash", command="echo made > made.txt", description="Makes a file"))
    nvim.wait_screen("echo made > made.txt")
    nvim.wait("(vim.b.claude_ide or {}).kind == 'question'", what="the question to have the focus")
    nvim.keys("y")
    nvim.keys(":let g:typed = 1<CR>")
    nvim.wait("vim.g.typed == 1", what="the keys to be read")
    assert nvim.lua("return require('claude-ide.decisions').count('permission')") == 1
    wait_asked(nvim, "echo made > made.txt")
    nvim.keys("y")
    wait_idle(nvim)
    assert nvim.lua("return vim.fn.filereadable('made.txt')") == 1


def test_a_command_is_allowed_once(begin_chat):
    nvim = begin_chat(call("Bash", command="echo made > made.txt", description="Makes a file"))
    wait_asked(nvim, "echo made > made.txt")
    nvim.wait_screen("Makes a file")
    nvim.keys("y")
    wait_idle(nvim)
    assert (nvim.project / "made.txt").read_text() == "made\n"
    assert nvim.lua("return #require('claude-ide.decisions').pending()") == 0


def test_a_command_is_denied_with_a_word_that_the_model_hears(begin_chat, mock_api):
    nvim = begin_chat(f"{call('Bash', command='touch made.txt')} THEN SAY understood")
    wait_asked(nvim, "touch made.txt")
    nvim.keys("rnot in this folder<CR>")
    wait_text(nvim, "\nunderstood")
    assert mock_api.seen("not in this folder")
    assert not (nvim.project / "made.txt").exists()


def test_a_plain_no_ends_the_turn(begin_chat, mock_api):
    nvim = begin_chat(f"{call('Bash', command='touch made.txt')} THEN SAY more")
    wait_asked(nvim, "touch made.txt")
    turns = mock_api.turns()
    nvim.keys("n")
    wait_idle(nvim)
    assert mock_api.turns() == turns
    assert not (nvim.project / "made.txt").exists()
    assert "rejected" in text(nvim)


def test_always_keeps_the_rule_where_it_says(begin_chat):
    nvim = begin_chat(call("Bash", command="curl -s http://127.0.0.1:9/one"))
    wait_asked(nvim, "curl -s")
    nvim.lua("""
      vim.ui.select = function(items, options, done)
        asked = vim.tbl_map(options.format_item, items)
        done(items[1], 1)
      end
    """)
    nvim.keys("a")
    wait_idle(nvim)
    asked = nvim.lua("return asked")
    assert "Bash(" in asked[0] and ".claude/settings.local.json" in asked[0], asked
    assert "curl" in (nvim.project / ".claude/settings.local.json").read_text()


def test_a_question_with_choices_several_and_own_words(begin_chat, mock_api):
    questions = [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        },
        {
            "question": "Which sizes?",
            "header": "Size",
            "multiSelect": True,
            "options": [{"label": "Small", "description": "s"}, {"label": "Large", "description": "l"}],
        },
    ]
    nvim = begin_chat(f"{call('AskUserQuestion', questions=questions)} THEN SAY thanks")
    wait_asked(nvim, "Which colour?")
    nvim.keys("2")
    nvim.wait_screen("Which sizes?")
    nvim.keys("12oHuge<CR>")
    nvim.wait_screen("Huge")
    nvim.keys("<CR>")
    wait_text(nvim, "\nthanks")
    assert mock_api.seen("Blue") and mock_api.seen("Small, Large, Huge")


def test_a_plan_that_was_changed_is_the_one_that_is_carried_out(begin_chat, mock_api):
    nvim = begin_chat(opts={"terminal": {"command": ["claude", "--permission-mode", "plan"]}})
    wait_idle(nvim)
    plan = nvim.home / ".claude/plans"
    say(nvim, "SAY where")
    wait_text(nvim, "\nwhere")
    wait_idle(nvim)
    told = str(mock_api.conversation()) + str(mock_api.requests[-1].get("system", ""))
    path = next(part for part in told.replace("\\n", " ").split() if part.startswith(str(plan)) and ".md" in part)
    path = path[: path.index(".md") + 3]
    say(
        nvim,
        f"{call('Write', file_path=path, content='# Plan' + chr(10) + 'do it')} THEN {call('ExitPlanMode')} THEN SAY going",
    )
    nvim.wait("vim.fn.bufname() == 'Claude (plan)'", what="the plan")
    assert nvim.lines() == ["# Plan", "do it"]
    nvim.keys("Godo it well<Esc><CR>")
    wait_text(nvim, "\ngoing")
    assert mock_api.seen("do it well")
    assert chat(nvim, "return chat.mode") == "default"


def test_a_question_that_is_taken_back_leaves_the_screen(begin_chat):
    nvim = begin_chat(call("Bash", command="touch made.txt"))
    wait_asked(nvim, "touch made.txt")
    chat(nvim, "chat:interrupt()")
    wait_idle(nvim)
    nvim.wait("#require('claude-ide.decisions').pending() == 0")
    nvim.wait(lambda: "wants to use" not in "\n".join(nvim.screen()), what="the question to go")
