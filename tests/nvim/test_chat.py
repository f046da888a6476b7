"""A chat: words, streams and questions, with the real CLI against the scripted model; what each version of Neovim
shows, with a stand-in for the CLI.
"""

import json
import os

import pytest
from chat_steps import accept, call, chat, edit_proposal, say, text, wait_answer, wait_diff, wait_idle, wait_text

from harness.scripted_model import Reply

pytestmark = pytest.mark.dealt


FLAGS = [
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--include-partial-messages", "--permission-prompt-tool", "stdio"),
]


def a_prompt_is_answered_in_a_buffer(nvim):
    wait_answer(nvim, "**hello** from there")
    assert text(nvim).split("\n") == ["You", "SAY **hello** from there", "", "Claude", "**hello** from there", ""]
    nvim.wait_screen("hello from there")
    nvim.keys("iSAY again<Esc><CR>")
    wait_text(nvim, "\nagain")
    assert nvim.lua("return vim.bo.filetype .. vim.api.nvim_get_current_line()") == "markdown", (
        "the prompt is empty again"
    )
    wait_idle(nvim)


@pytest.mark.every_nvim
def test_a_prompt_is_answered_in_a_buffer(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in("SAY **hello** from there")
    a_prompt_is_answered_in_a_buffer(nvim)
    (argv,) = map(json.loads, (nvim.home / "starts").read_text().splitlines())
    assert argv[: len(FLAGS)] == FLAGS


def test_it_has_the_permission_mode_of_the_options(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in("SAY hello", opts={"terminal": {"permission_mode": "plan"}})
    wait_answer(nvim, "hello")
    (argv,) = map(json.loads, (nvim.home / "starts").read_text().splitlines())
    assert argv[argv.index("--permission-mode") + 1] == "plan"


def an_edit_is_our_diff_and_what_the_user_made_of_it_is_written(nvim):
    path = nvim.project / "a.txt"
    say(
        nvim,
        f"{call('Read', file_path=str(path))} THEN "
        f"{call('Edit', file_path=str(path), old_string='two', new_string='TWO')} THEN SAY done",
    )
    wait_diff(nvim)
    assert path.read_text() == "one\ntwo\nthree\n"
    edit_proposal(nvim, 1, 2, ["mine  ", "\tand more"])
    accept(nvim)
    wait_text(nvim, "\ndone")
    assert path.read_text() == "one\nmine  \n\tand more\nthree\n"
    wait_idle(nvim)


def what_it_thinks_says_and_does_is_there_in_that_order(nvim, mock_api):
    path = str(nvim.project / "a.txt")
    read = ("Read", {"file_path": path})
    mock_api.script(Reply("I look first.", [read], thinking="Which file\nmay it be?"), Reply("seen"))
    say(nvim, "look")
    wait_answer(nvim, "\nseen")
    thought = "  Thinking\n    Which file\n    may it be?\n\n"
    said, _, done = text(nvim).rpartition("\nYou\nlook\n\nClaude\n")[2].partition("  Read a.txt · ok · ")
    assert said == thought + "I look first.\n\n"
    assert "\n    1\tone\n    2\tmine" in done and done.endswith("\n\nseen\n")


def quitting_leaves_no_process_behind(nvim):
    pid = chat(nvim, "return chat.pid")
    assert os.path.exists(f"/proc/{pid}")
    nvim.leave()
    nvim.terminal.wait(lambda: not os.path.exists(f"/proc/{pid}"), 20, "the CLI to end")


@pytest.mark.smoke
def test_a_chat_from_its_first_word_to_the_end_of_neovim(begin_chat, mock_api):
    nvim = begin_chat("SAY **hello** from there", files={"a.txt": "one\ntwo\nthree\n"})
    a_prompt_is_answered_in_a_buffer(nvim)
    an_edit_is_our_diff_and_what_the_user_made_of_it_is_written(nvim)
    what_it_thinks_says_and_does_is_there_in_that_order(nvim, mock_api)
    quitting_leaves_no_process_behind(nvim)
