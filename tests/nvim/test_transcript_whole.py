"""Neovim's text commands see all of a transcript, even messages that are not yet text in the buffer."""

import pytest
from transcript_files import Transcript
from transcript_steps import ENV, NOTICES, press, wait_rendered

pytestmark = pytest.mark.slow

TURNS = 120


@pytest.fixture
def script(tmp_path):
    script = Transcript(tmp_path / "home", tmp_path / "project")
    for number in range(TURNS):
        script.prompt(f"Prompt {number}")
        script.reply(f"Answer {number}.\nMore of {number}.")
    return script


TEXT = "\n\n".join(f"You\nPrompt {n}\n\nClaude\nAnswer {n}.\nMore of {n}." for n in range(TURNS)).split("\n")


def start(start_nvim, script, most):
    nvim = start_nvim(env=ENV, init_lua=NOTICES + f' require("claude-ide.transcript.loader").FILLED_LINES = {most}')
    nvim.cmd(f"Claude transcript {script.id}")
    wait_rendered(nvim)
    return nvim


def test_all_of_it_becomes_text(start_nvim, script):
    nvim = start(start_nvim, script, 20000)
    nvim.wait(lambda: nvim.lines() == [*TEXT, ""], what="all of the text")
    assert nvim.cursor()[0] == len(TEXT) + 1
    nvim.wait_screen(f"More of {TURNS - 1}.")


def test_beyond_the_bound_nothing_is_yanked_or_written_as_empty_lines(start_nvim, script):
    nvim = start(start_nvim, script, 0)
    assert nvim.lines()[:50] == [""] * 50, "what is far is no text"
    nvim.keys("ggyG")
    nvim.wait(lambda: nvim.lua("return vim.fn.getreg('\"', 1, true)") == [*TEXT, ""], what="all of the text")
    assert nvim.lua("return vim.fn.getregtype('\"')") == "V"
    nvim.cmd("write all.txt")
    written = nvim.project / "all.txt"
    nvim.wait(lambda: written.exists() and written.read_text().split("\n")[:-1] == [*TEXT, ""], what="the file")
    part = nvim.project / "part.txt"
    part.write_text("mine\n")
    nvim.cmd("1,2write! part.txt")
    nvim.wait(lambda: part.read_text().startswith("You\nPrompt 0\n"), what="a part of it")
    assert len(part.read_text().splitlines()) < 10
    with pytest.raises(Exception, match="E13"):
        nvim.cmd("write all.txt")


def test_what_is_yanked_before_the_words_are_read_stays(start_nvim, script):
    nvim = start(start_nvim, script, 0)
    nvim.lua(
        """
        local offscreen = require("claude-ide.transcript.offscreen")
        local fill = offscreen.fill
        offscreen.fill = function(view, first, lines, done)
          fill(view, first, lines, function(...)
            local reported = { ... }
            deferred = deferred or function() done(unpack(reported)) end
          end)
        end
        """
    )
    nvim.keys("ggyG")
    nvim.wait("deferred ~= nil", what="the words to be read")
    nvim.keys("yy")
    nvim.wait("vim.fn.getreg('\"') == 'You\\n'", what="the line")
    nvim.lua("deferred()")
    assert nvim.lua("return vim.fn.getreg('\"')") == "You\n"


def test_searches_go_through_what_is_no_text(start_nvim, script):
    nvim = start(start_nvim, script, 0)
    bottom = nvim.cursor()[0]

    def at(text):
        return f"vim.api.nvim_get_current_line() == {text!r}"

    press(nvim, "?Prompt 2\\d$<CR>", at("Prompt 29"))
    press(nvim, "n", at("Prompt 28"))
    press(nvim, "3n", at("Prompt 25"))
    press(nvim, "N", at("Prompt 26"))
    press(nvim, "/of 8[0-9]\\.<CR>", at("More of 80."))
    press(nvim, "gg", "vim.fn.line('.') == 1")
    press(nvim, "/Answer 90<CR>", at("Answer 90."))
    press(nvim, "G", lambda: nvim.cursor()[0] >= bottom)
    press(nvim, "/Prompt 50<CR>", at("Prompt 50"))
    nvim.keys("/nowhere<CR>")
    nvim.wait_screen("Pattern not found: nowhere")
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "Prompt 50"
