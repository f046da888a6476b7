"""`:Claude ask`: an answer over the screen; and the operators.

The CLI's part is tested with the real one against the scripted model, Neovim's with a stand-in.
"""

import pytest
from chat_steps import chat, reject, start, start_with_stand_in, text, wait_answer, wait_diff, wait_text

from harness.scripted_model import Reply

pytestmark = pytest.mark.dealt


FILES = {"a.txt": "one\ntwo\nthree\nfour\n"}


@pytest.fixture
def nvim(start_nvim, model, tmp_path):
    return start_with_stand_in(start_nvim, model, tmp_path, files=FILES, args=["a.txt"])


@pytest.fixture
def nvim_with_cli(start_nvim, mock_api, tmp_path):
    return start(start_nvim, mock_api, tmp_path, files=FILES, args=["a.txt"])


def is_answered_over_the_screen_and_goes_on_as_a_chat(nvim, api):
    nvim.keys("jVj:Claude ask SAY what **is** that?<CR>")
    wait_text(nvim, "\nwhat **is** that?")
    nvim.wait_screen("what is that?")
    nvim.wait_screen("continue as a chat")

    def questions():
        screen = "\n".join(line for line in nvim.screen() if not line.startswith(":"))
        assert "dontAsk" not in screen
        return screen.count("SAY what **is** that?") + screen.count("SAY what is that?")

    nvim.wait(lambda: questions() == 1, what="the question to stand there, once")
    assert api.seen("2\\ttwo\\n3\\tthree") and "#lines:a.txt:2-3" in text(nvim)
    asked = api.requests[-1]
    nvim.wait("vim.api.nvim_win_get_config(0).relative == 'editor'", what="the answer to have the focus")
    nvim.wait_screen("continue as a chat")
    nvim.wait_screen("· idle")
    nvim.keys("c")
    nvim.wait("Ide.chat.current() ~= nil", what="the chat")
    wait_text(nvim, "\nwhat **is** that?")
    nvim.wait_kind("prompt")
    nvim.keys("iSAY and more<Esc><CR>")
    wait_answer(nvim, "\nand more")
    assert nvim.lua(
        "return vim.iter(vim.api.nvim_list_wins()):all(function(win) "
        "return vim.api.nvim_win_get_config(win).relative == '' end)"
    )
    assert chat(nvim, "return chat.cwd") == str(nvim.project)
    assert api.seen("SAY what **is** that?"), "it goes on with what was asked"
    return asked


@pytest.mark.every_nvim
def test_a_question_is_answered_over_the_screen_and_goes_on_as_a_chat(nvim, model):
    is_answered_over_the_screen_and_goes_on_as_a_chat(nvim, model)


def test_nothing_but_reading_is_done_for_a_question_and_all_in_the_chat_after_it(nvim_with_cli, mock_api):
    nvim = nvim_with_cli
    mock_api.script(
        Reply("", [("Write", {"file_path": str(nvim.project / "never"), "content": "x"})]),
        Reply("", [("Read", {"file_path": str(nvim.project / "a.txt")})]),
        Reply("It says one."),
    )
    nvim.cmd("Claude ask what does a.txt say?")
    wait_text(nvim, "It says one.")
    assert mock_api.seen("No such tool available: Write") and mock_api.seen("1\\tone")
    assert not (nvim.project / "never").exists()
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1 and vim.fn.bufname() == 'a.txt'")
    assert nvim.lua("return Ide.chat.current() == nil")
    nvim.wait(lambda: text(nvim) == "", what="its buffer to go")
    asked = is_answered_over_the_screen_and_goes_on_as_a_chat(nvim, mock_api)
    assert {tool["name"] for tool in asked["tools"]} - {"DeferredToolPlaceholder"} == {"Read", "Glob", "Grep"}
    assert "Write" in {tool["name"] for tool in mock_api.requests[-1]["tools"]}


def test_the_answer_goes_with_its_window(nvim):
    nvim.cmd("Claude ask SAY hello")
    wait_text(nvim, "\nhello")
    nvim.cmd("quit")
    nvim.wait(lambda: text(nvim) == "", what="its buffer to go")
    nvim.cmd("Claude ask SAY first")
    wait_text(nvim, "\nfirst")
    nvim.cmd("Claude ask SAY second")
    wait_text(nvim, "\nsecond")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2, "one answer at a time"


def test_a_question_is_asked_for_where_none_is_given(nvim):
    nvim.lua("vim.keymap.set('x', '<C-t>', '<Cmd>Claude ask<CR>')")
    nvim.keys("V<C-t>")
    nvim.wait_screen("Ask Claude:")
    nvim.keys("SAY this line<CR>")
    wait_text(nvim, "\nthis line")
    assert "#lines:a.txt:1-1" in text(nvim) and nvim.lua("return vim.fn.mode()") == "n"


def test_the_words_at_the_command_line_are_completed(nvim):
    names = nvim.lua("return vim.fn.getcompletion('Claude ask what is #diag', 'cmdline')")
    assert names == ["#diagnostics"]
    assert "cancel" in nvim.lua("return vim.fn.getcompletion('Claude edit c', 'cmdline')")


@pytest.mark.every_nvim
def test_an_operator_edits_the_lines_of_a_motion_and_a_dot_does_it_again(nvim, model):
    model.script(Reply("<replacement>\nONE\nTWO\n</replacement>"), Reply("<replacement>\nTHREE\n</replacement>"))
    nvim.lua("vim.keymap.set({ 'n', 'x' }, 'gy', '<Plug>(claude-edit-operator)')")
    nvim.keys("gyj")
    nvim.wait_screen("Edit:")
    nvim.keys("louder<CR>")
    wait_diff(nvim)
    nvim.keys("ZZ")
    nvim.wait("Ide.inline_edit.count() == 0 and vim.fn.bufname() == 'a.txt'")
    nvim.wait(lambda: nvim.lines() == ["ONE", "TWO", "three", "four"])
    nvim.keys("3G.")
    nvim.wait(lambda: model.turns() == 2, what="the second edit, which asks for no words")
    said = str(model.conversation())
    assert "<wanted>\\nlouder\\n" in said and "<region>\\nthree\\nfour\\n</region>" in said
    wait_diff(nvim)
    nvim.keys_count()  # the dot was not long ago
    nvim.keys("ZZ")
    nvim.wait(lambda: nvim.lines() == ["ONE", "TWO", "THREE"])


@pytest.mark.every_nvim
@pytest.mark.slow
def test_an_edit_is_begun_from_every_mode(nvim, model):
    nvim.lua("vim.keymap.set({ 'n', 'x' }, 'gy', '<Plug>(claude-edit-operator)')")
    nvim.lua("vim.keymap.set('x', '<C-t>', '<Cmd>Claude edit X<CR>')")
    nvim.lua("vim.keymap.set('i', '<C-g>', '<Cmd>3Claude edit X<CR>')")
    for turn, (keys, region) in enumerate(
        [
            ("2GlvjgyX", "two\\nthree"),
            ("2GVkgyX", "one\\ntwo"),
            ("ggl<C-v>2jgyX", "one\\ntwo\\nthree"),
            ("gg2:Claude edit X<CR>", "one\\ntwo"),
            ("3GVk<C-t>", "two\\nthree"),
            ("gg2gy_X", "one\\ntwo"),
            ("gggyGX", "one\\ntwo\\nthree\\nfour"),
            ("GA!<C-g><Esc>", "three"),
        ]
    ):
        model.script(Reply("<replacement>\nX\n</replacement>"))
        if "gy" in keys:
            nvim.keys(keys[:-1])
            nvim.wait_screen("Edit:")
            nvim.keys("X<CR>")
        else:
            nvim.keys(keys)
        nvim.wait(lambda asked=turn + 1: model.turns() == asked, what=f"Claude to be asked after {keys}")
        assert f"<region>\\n{region}\\n</region>" in str(model.conversation()), keys
        wait_diff(nvim)
        reject(nvim)
        nvim.wait("Ide.inline_edit.count() == 0")
        nvim.wait("vim.fn.bufname() == 'a.txt' and vim.fn.mode() == 'n'", what="the file to be back")


def test_an_operator_mentions_the_lines_of_a_motion(nvim, connect):
    nvim.lua("vim.keymap.set({ 'n', 'x' }, 'gs', '<Plug>(claude-send-operator)')")
    client = connect(nvim)
    nvim.keys("2Ggsj")
    assert client.wait_notification("at_mentioned")["lineStart"] == 1
    nvim.keys("1G.")
    assert client.wait_notification("at_mentioned")["lineStart"] == 0


def test_what_is_typed_at_an_operators_question_can_be_given_up(nvim, model):
    nvim.lua("vim.keymap.set('n', 'gy', '<Plug>(claude-edit-operator)')")
    nvim.keys("gyj")
    nvim.wait_screen("Edit:")
    nvim.keys("<Esc>")
    nvim.wait("vim.fn.mode() == 'n'")
    assert nvim.lua("return Ide.inline_edit.count()") == 0 and not model.requests
