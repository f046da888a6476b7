"""A selection in a transcript, or a pending operator's range, stays in place while lines come above it."""

import pytest
from transcript_steps import go_to, line_of, press, show, wait_rendered


@pytest.fixture
def script(empty):
    """Calls that go on above the selection: their results will insert lines there."""
    empty.prompt("Do a thing")
    empty.slow = [empty.call("Bash", command=f"make slow{number}") for number in range(4)]
    empty.reply(*empty.slow)
    empty.reply("First of what was said.\nSecond of it.\nThird of it.\nFourth of it.")
    return empty


def test_a_selection_stays_on_its_lines(start_nvim, script):
    """With the cursor at either end, and in each kind of Visual mode."""
    nvim = show(start_nvim, script)
    for number, (keys, mode, yanked) in enumerate(
        [
            ("Vj", "V", "Second of it.\nThird of it.\n"),
            ("wvjb", "v", "of it.\nThird o"),
            ("jVk", "V", "Second of it.\nThird of it.\n"),
            ("l<C-v>jl", "\\22", "ec\nhi"),
        ]
    ):
        go_to(nvim, "Second of it.")
        press(nvim, keys, f"vim.fn.mode() == '{mode}' and vim.fn.getpos('v')[2] ~= vim.fn.line('.')")
        lnum = line_of(nvim, "Second of it.")
        script.result(script.slow[number], "slow\n" * 5, 9)
        nvim.wait(lambda lnum=lnum: line_of(nvim, "Second of it.") > lnum, what="the lines of the result")
        press(nvim, "y", "vim.fn.mode(1) == 'n'")
        assert nvim.lua("return vim.fn.getreg('\"')") == yanked, keys


def test_an_operator_acts_on_the_lines_it_was_begun_on(start_nvim, script):
    nvim = show(start_nvim, script)
    go_to(nvim, "Second of it.")
    nvim.keys("y")
    nvim.wait("vim.api.nvim_get_mode().mode == 'no'")
    script.result(script.slow[0], "slow\n" * 5, 9)
    nvim.wait("Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).queued_changes ~= nil")
    assert nvim.mode() == "no"
    press(nvim, "y", "vim.fn.mode(1) == 'n'")
    assert nvim.lua("return vim.fn.getreg('\"')") == "Second of it.\n"
    nvim.wait(lambda: "    slow" in nvim.lines(), what="the result, once the operator has acted")


def test_a_search_that_an_operator_or_a_selection_waits_for(start_nvim, script):
    """Lines that come above during the typing do not move its start."""
    nvim = show(start_nvim, script)
    known = "Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).queued_changes ~= nil"

    def slow():
        return nvim.lines().count("    slow")

    yanked = {
        "y/Fourth": "Third of it.\n",
        "V/Fourth": "Third of it.\nFourth of it.\n",
        "y?First": "First of what was said.\nSecond of it.\n",
        "v?First": "First of what was said.\nSecond of it.\nT",
    }
    for number, (begun, text) in enumerate(yanked.items()):
        go_to(nvim, "Third of it.")
        before = slow()
        nvim.lua("vim.fn.setreg('\"', '')")
        nvim.keys(begun)
        nvim.wait(f"vim.fn.getcmdline() == '{begun[2:]}'")
        script.result(script.slow[number], "slow\n" * 5, 9)
        nvim.wait(lambda before=before: nvim.lua(f"return {known}") or slow() > before, what="the result to be known")
        nvim.keys("<CR>" + ("y" if begun[0] in "vV" else ""))
        nvim.wait("vim.fn.mode(1) == 'n' and vim.fn.getreg('\"') ~= ''")
        assert nvim.lua("return vim.fn.getreg('\"')") == text, begun
        nvim.wait(lambda before=before: slow() > before, what="the result, in the end")


@pytest.mark.slow
def test_an_operator_takes_a_motion_over_what_is_not_text_yet(start_nvim, empty):
    """Lines that a motion renders above the cursor do not move its start."""
    for number in range(60):
        empty.prompt(f"Prompt {number}")
        empty.reply(f"Answer {number}.\nMore of {number}.")
    nvim = show(start_nvim, empty)
    press(nvim, "3[[", "vim.api.nvim_get_current_line() == 'You'")
    wait_rendered(nvim)
    press(nvim, "j", "vim.api.nvim_get_current_line() == 'Prompt 57'")
    nvim.keys("y50[[")
    nvim.wait("vim.fn.getreg('\"'):find('^You\\nPrompt 8\\n')")
    assert nvim.lua("return vim.fn.getreg('\"')").endswith("More of 56.\n\nYou\n")
    press(nvim, "y]]", "vim.fn.getreg('\"') == 'You\\nPrompt 8\\n\\nClaude\\nAnswer 8.\\nMore of 8.\\n\\n'")
