"""What is in a transcript's buffer is text: Neovim's own commands act on all of it."""

import pytest
from transcript_steps import ENV, NOTICES, go_to, line_of, press, wait_rendered

pytestmark = pytest.mark.slow

TURNS = 400


@pytest.fixture
def script(empty):
    for number in range(TURNS):
        empty.prompt(f"Prompt {number}")
        empty.run("Bash", "one\ntwo\nthree\nfour\nfive", command=f"make {number}")
        empty.reply(f"Done with {number}.\nMore of {number}.")
    return empty


def turn(number):
    return (
        f"You\nPrompt {number}\n\nClaude\n  Bash make {number} · ok · 0.3 s\n    one\n    two\n    three\n    four\n    five\n\n"
        f"Done with {number}.\nMore of {number}."
    )


def start(start_nvim, script, lines=20000):
    nvim = start_nvim(env=ENV, init_lua=NOTICES + f" Ide.transcript_loader.LINES = {lines}")
    nvim.cmd(f"Claude transcript {script.id}")
    wait_rendered(nvim)
    return nvim


def matches(nvim, pattern):
    """How many lines `:s` finds."""
    said = nvim.lua("return vim.fn.execute((...))", f"%s/{pattern}//gn")
    return int(said.split()[0])


TEXT = "\n\n".join(map(turn, range(TURNS))).split("\n")


@pytest.mark.every_nvim
def test_commands_act_on_all_of_it(start_nvim, script):
    nvim = start(start_nvim, script)
    assert matches(nvim, "Done with") == TURNS
    assert nvim.lines() == [*TEXT, ""]
    assert nvim.cursor()[0] == len(TEXT) + 1
    nvim.cmd("write all.txt")
    written = nvim.project / "all.txt"
    assert written.read_text().split("\n")[:-1] == [*TEXT, ""]
    nvim.keys("ggyG")
    nvim.wait(lambda: nvim.lua("return vim.fn.getreg('\"', 1, true)") == [*TEXT, ""], what="all of the text")


LOAD_MORE = "Ide.transcript_loader.load_more(Ide.open_views.of_buffer(vim.fn.bufnr()))"
MORE = "… {} earlier messages · Enter loads more"


def enter_first_line(nvim):
    press(nvim, "gg", "vim.fn.line('.') == 1")
    held = len(nvim.lines())
    press(nvim, "<CR>", lambda: nvim.lua("return vim.fn.line('$')") > held)
    wait_rendered(nvim)


@pytest.mark.every_nvim
def test_the_first_line_says_how_much_is_above_and_loads_it(start_nvim, script):
    nvim = start(start_nvim, script, 1000)
    lines = nvim.lines()
    held = len(lines)
    assert 1000 <= held < 1400
    above = int(lines[0].split()[1])
    assert lines[0] == MORE.format(above)
    assert lines[1:] == [*TEXT, ""][1 - held :], "no holes"
    assert matches(nvim, "Done with") == "\n".join(lines).count("Done with")
    # Text that comes above moves neither the cursor nor the screen, nor folds.
    lnum = go_to(nvim, "  Bash make 390")
    press(nvim, "zoztjj", "vim.fn.foldclosed('.') == -1 and vim.api.nvim_get_current_line() == '    two'")
    wait_rendered(nvim)
    screen = nvim.drawn()[1:30]
    nvim.lua(LOAD_MORE)
    wait_rendered(nvim)
    grown = len(nvim.lines()) - held
    assert grown > 900
    assert nvim.cursor()[0] == lnum + 2 + grown and nvim.drawn()[1:30] == screen
    here, next_one = lnum + grown, line_of(nvim, "  Bash make 391")
    folds = nvim.lua(
        "local one, other = ... return { vim.fn.foldclosed(one), vim.fn.foldclosed(other) }", here, next_one
    )
    assert folds == [-1, next_one]
    # Enter keeps the place, too.
    enter_first_line(nvim)
    assert nvim.cursor()[0] == len(nvim.lines()) - held - grown + 2
    while nvim.lines()[0] != "You":
        enter_first_line(nvim)
    assert nvim.lines() == [*TEXT, ""]
    assert matches(nvim, "Done with") == TURNS


def test_a_cursor_on_the_first_line_stays_there_while_earlier_messages_come(start_nvim, script):
    nvim = start(start_nvim, script, 1000)
    press(nvim, "gg", "vim.fn.line('.') == 1")
    nvim.lua(LOAD_MORE)
    wait_rendered(nvim)
    assert len(nvim.lines()) > 1900
    assert nvim.lua("return { vim.fn.line('.'), vim.fn.line('w0') }") == [1, 1]


@pytest.mark.every_nvim
def test_a_growing_session_stays_whole(start_nvim, script):
    nvim = start(start_nvim, script, 1000)
    first = nvim.lines()[:50]
    call = script.call("Bash", command="make slow")
    script.reply("I go on.", call)
    nvim.wait(lambda: "I go on." in nvim.lines(), what="the new message")
    for number in range(50):
        script.prompt(f"New prompt {number}")
    script.result(call, "slow\n" * 5)
    nvim.wait(
        lambda: nvim.lines()[-2:] == ["New prompt 49", ""] and "    slow" in nvim.lines(), what="the new messages"
    )
    wait_rendered(nvim)
    assert nvim.lines()[:50] == first
    assert matches(nvim, "New prompt") == 50
    assert nvim.cursor()[0] == nvim.lua("return vim.fn.line('$')")


def test_motions_and_searches_go_on_above_the_first_line(start_nvim, script):
    nvim = start(start_nvim, script, 1000)

    def at(text):
        return f"vim.api.nvim_get_current_line() == {text!r}"

    press(nvim, "gg", "vim.fn.line('.') == 1")
    press(nvim, "100[[j", lambda: nvim.lua("return vim.api.nvim_get_current_line()").startswith("Prompt "))
    number = int(nvim.lua("return vim.api.nvim_get_current_line()").split()[1])
    assert 100 < number < 250
    wait_rendered(nvim)
    assert nvim.lines()[0].startswith("… "), "no more than needed"
    press(nvim, "?Prompt 99$<CR>", at("Prompt 99"))
    wait_rendered(nvim)
    assert nvim.lines()[0].startswith("… ")
    press(nvim, "/make 101 <CR>", "vim.api.nvim_get_current_line():find('make 101 ', 1, true)")
    nvim.keys("/nowhere<CR>")
    nvim.wait("vim.list_contains(notices, 'Pattern not found: nowhere')")
    assert nvim.lines()[: len(TEXT)] == TEXT, "all was looked at"
    assert "make 101 " in nvim.lua("return vim.api.nvim_get_current_line()")


def test_an_operator_takes_a_motion_to_what_is_not_loaded(start_nvim, script):
    nvim = start(start_nvim, script, 1000)
    go_to(nvim, "Prompt 390")
    nvim.keys("y300[[")
    nvim.wait("vim.fn.getreg('\"'):find('^You\\nPrompt 91\\n')")
    assert nvim.lua("return vim.fn.getreg('\"')").endswith("More of 389.\n\nYou\n")


def test_a_message_above_the_first_line_is_gone_to(start_nvim, script):
    line = next(at for at, one in enumerate(script.path.read_text().splitlines(), 1) if '"Prompt 120"' in one)
    nvim = start(start_nvim, script, 1000)
    nvim.lua("Ide.transcript.open({ file = (...) }, { line = select(2, ...) })", str(script.path), line)
    nvim.wait("vim.fn.getline(vim.fn.line('.') + 1) == 'Prompt 120'")
    wait_rendered(nvim)
    assert nvim.lines()[0].startswith("… "), "no more than needed"
