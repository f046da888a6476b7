"""An agent's questions in a chat: edits, tools, questions, plans; with the real CLI against the scripted model.

One session asks them all, since starting a CLI takes longer than any: each step is a function, named after what it
asserts.
"""

import pytest
from chat_steps import call, chat, say, text, wait_answer, wait_asked, wait_idle, wait_text

from harness.files import text_of

pytestmark = pytest.mark.dealt


def all_is_over(nvim):
    wait_idle(nvim)
    assert nvim.lua("return #Ide.requests.pending()") == 0


def a_plan_that_was_changed_is_the_one_that_is_carried_out(nvim, mock_api):
    plan = nvim.home / ".claude/plans"
    say(nvim, "SAY where")
    wait_answer(nvim, "\nwhere")
    reported = str(mock_api.conversation()) + str(mock_api.requests[-1].get("system", ""))
    path = next(part for part in reported.replace("\\n", " ").split() if part.startswith(str(plan)) and ".md" in part)
    path = path[: path.index(".md") + 3]
    say(
        nvim,
        f"{call('Write', file_path=path, content='# Plan' + chr(10) + 'do it')} THEN {call('ExitPlanMode')} THEN SAY going",
    )
    nvim.wait("vim.fn.bufname() == 'Claude (plan)'", what="the plan")
    assert nvim.lines() == ["# Plan", "do it"]
    nvim.keys("Godo it well<Esc><CR>", counts=True)
    wait_text(nvim, "\ngoing")
    assert mock_api.seen("do it well")
    nvim.wait("Ide.chat.current().mode == 'default'", what="the mode")


def a_command_is_allowed_once(nvim):
    say(nvim, call("Bash", command="echo made > once.txt", description="Makes a file once"))
    wait_asked(nvim, "echo made > once.txt")
    nvim.wait_screen("Makes a file once")
    nvim.keys("y")
    all_is_over(nvim)
    assert (nvim.project / "once.txt").read_text() == "made\n"


def a_command_is_denied_with_a_word_that_the_model_hears(nvim, mock_api):
    say(nvim, f"{call('Bash', command='touch word.txt')} THEN SAY understood")
    wait_asked(nvim, "touch word.txt")
    nvim.keys("rnot in this folder<CR>")
    wait_text(nvim, "\nunderstood")
    assert mock_api.seen("not in this folder")
    assert not (nvim.project / "word.txt").exists()
    all_is_over(nvim)


def a_plain_no_ends_the_turn(nvim, mock_api):
    say(nvim, f"{call('Bash', command='touch no.txt')} THEN SAY more")
    wait_asked(nvim, "touch no.txt")
    turns, rejected = mock_api.turns(), text(nvim).count("rejected")
    nvim.keys("n")
    all_is_over(nvim)
    assert mock_api.turns() == turns
    assert not (nvim.project / "no.txt").exists()
    assert text(nvim).count("rejected") > rejected


def always_keeps_the_rule_where_it_says(nvim):
    say(nvim, call("Bash", command="curl -s http://127.0.0.1:9/one"))
    wait_asked(nvim, "curl -s")
    nvim.answer(1)
    nvim.keys("a")
    all_is_over(nvim)
    first = nvim.asked()[0]["lines"][0]
    assert "Bash(" in first and ".claude/settings.local.json" in first, first
    kept = nvim.project / ".claude/settings.local.json"
    nvim.wait(lambda: "curl" in (text_of(kept) or ""), what="the CLI to write it")


def questions():
    return [
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


def wait_shown(nvim, words):
    """The question shows it; its transcript does all the time."""
    nvim.wait(
        f"(vim.b.claude_ide or {{}}).kind == 'question' and vim.fn.search([[\\V{words}]], 'nw') > 0", what=f"“{words}”"
    )


def a_question_with_choices_several_and_own_words(nvim, mock_api):
    say(nvim, f"{call('AskUserQuestion', questions=questions())} THEN SAY thanks")
    wait_asked(nvim, "Which colour?")
    nvim.keys("2")
    wait_shown(nvim, "Which sizes?")
    nvim.keys("12oHuge<CR>")
    wait_shown(nvim, "Huge")
    nvim.keys("<CR>")
    wait_text(nvim, "\nthanks")
    assert mock_api.seen("Blue") and mock_api.seen("Small, Large, Huge")
    all_is_over(nvim)


def own_words_for_a_question_that_is_taken_back_are_kept(nvim):
    say(nvim, call("AskUserQuestion", questions=questions()))
    wait_asked(nvim, "Which colour?")
    nvim.keys("oGreen<CR>")
    wait_shown(nvim, "Which sizes?")
    nvim.keys("oHuge")
    # The screen may still show the input of the question before.
    nvim.wait("vim.fn.getcmdline() == 'Huge'", what="the words to be typed")
    chat(nvim, "vim.schedule(function() chat:interrupt() end)")
    nvim.wait("vim.fn.getreg('\"') == 'Green'", what="the words that were given")
    nvim.keys("<CR>")
    nvim.wait("vim.fn.getreg('\"') == 'Green\\nHuge'", what="those that were typed with them")
    all_is_over(nvim)


def a_question_that_is_taken_back_leaves_the_screen_and_the_next_turn_works(nvim):
    say(nvim, call("Bash", command="touch back.txt"))
    wait_asked(nvim, "touch back.txt")
    chat(nvim, "chat:interrupt()")
    wait_idle(nvim)
    nvim.wait("#Ide.requests.pending() == 0")
    nvim.wait(lambda: "wants to use" not in "\n".join(nvim.screen()), what="the question to go")
    say(nvim, "SAY onwards")
    wait_answer(nvim, "\nonwards")
    assert not (nvim.project / "back.txt").exists()


def test_what_an_agent_asks_is_answered_in_every_way(begin_chat, mock_api):
    nvim = begin_chat(opts={"terminal": {"command": ["claude", "--permission-mode", "plan"]}})
    wait_idle(nvim)
    a_plan_that_was_changed_is_the_one_that_is_carried_out(nvim, mock_api)
    wait_idle(nvim)
    a_command_is_allowed_once(nvim)
    a_command_is_denied_with_a_word_that_the_model_hears(nvim, mock_api)
    a_plain_no_ends_the_turn(nvim, mock_api)
    a_question_that_is_taken_back_leaves_the_screen_and_the_next_turn_works(nvim)
    a_question_with_choices_several_and_own_words(nvim, mock_api)
    own_words_for_a_question_that_is_taken_back_are_kept(nvim)
    always_keeps_the_rule_where_it_says(nvim)
