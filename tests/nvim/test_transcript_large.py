"""A transcript whose end is known first, and of which only the end is in the buffer until more is asked for."""

import json
import re

import pytest
from transcript_steps import ENV, NOTICES, RENDERED, press, wait_rendered

pytestmark = pytest.mark.slow

TURNS = 6000
"""Each has a prompt, a reply with a call, its result, and a reply."""


@pytest.fixture
def script(empty):
    """24,000 messages in 24 MB, written in one go: the lines of one turn with other numbers."""
    empty.prompt("Prompt @@@@@@: " + "words " * 20)
    empty.run("Bash", "".join(f"row {row} of @@@@@@\n" for row in range(60)), command="make step@@@@@@")
    edit = empty.call("Edit", file_path=str(empty.cwd / "a@@@@@@.txt"), old_string="one", new_string="two")
    empty.reply("Some **prose** of @@@@@@.", edit)
    empty.result(
        edit,
        "ok",
        outcome={
            "filePath": str(empty.cwd / "a@@@@@@.txt"),
            "oldString": "one",
            "newString": "two",
            "originalFile": "one\n",
            "structuredPatch": [
                {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-one", "+two"]}
            ],
        },
    )
    empty.reply("Done with @@@@@@.")
    lines = empty.path.read_text()
    last = json.loads(lines.splitlines()[-1])["uuid"]
    lines = lines.replace('"parentUuid":null', f'"parentUuid":"{last}"', 1)
    # Ids end in six digits of the line and six of the turn.
    lines = re.sub(r"-(0{6})(\d{6})\"", r'-\2@@@@@@"', lines)
    lines = re.sub(r"(msg_\d+|toolu_\d+)\"", r'\1_@@@@@@"', lines)
    with empty.path.open("w") as file:
        for turn in range(TURNS):
            own = lines.replace("@@@@@@", f"{turn:06d}")
            parent = f"-{len(lines.splitlines()):06d}{turn:06d}"
            before = "null" if turn == 0 else json.dumps(f"00000000-0000-4000-8000{parent[:7]}{turn - 1:06d}")
            file.write(re.sub(r'"parentUuid":"[^"]*"', f'"parentUuid":{before}', own, count=1))
    return empty


def wait_complete(nvim):
    nvim.wait(
        "Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).source:info().complete",
        what="all of the transcript",
    )
    wait_rendered(nvim)


@pytest.fixture
def nvim(start_nvim, script):
    nvim = start_nvim(env=ENV, init_lua=NOTICES)
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait_screen(f"Done with {TURNS - 1:06d}.")
    return nvim


@pytest.mark.dealt
def test_the_end_is_there_first_and_stays_when_the_rest_comes(nvim):
    wait_complete(nvim)
    assert nvim.lua("return vim.fn.line('.') == vim.fn.line('$')")
    nvim.wait_screen(f"{4 * TURNS}/{4 * TURNS}")
    assert f"Done with {TURNS - 1:06d}." in "\n".join(nvim.drawn())
    lines = nvim.lines()
    assert 20000 <= len(lines) < 24000, "the newest ones are loaded, without an end"
    assert lines[0] == f"… {rows_above(nvim)} earlier messages · Enter loads more"
    numbers = [int(line[10:16]) for line in lines if line.startswith("Done with")]
    assert numbers == list(range(numbers[0], TURNS))
    said = nvim.lua("return vim.fn.execute('%s/Done with//gn')")
    assert said.split()[0] == str(len(numbers))
    assert [number for number, line in enumerate(lines) if line == lines[number - 1] == ""] == [], "no holes"


def rows_above(nvim):
    return nvim.lua("return Ide.open_views.of_buffer(vim.fn.bufnr()).canvas.first")


def test_all_of_it_can_be_loaded(nvim):
    wait_complete(nvim)
    count = 0
    while rows_above(nvim) > 0:
        press(nvim, "gg", "vim.fn.line('.') == 1")
        held = len(nvim.lines())
        nvim.keys("<CR>")
        nvim.wait(lambda held=held: nvim.lua("return vim.fn.line('$')") > held, what="some more of it")
        nvim.wait(RENDERED, 120, what="more of it")
        count += 1
    assert count < 6
    assert nvim.lua("return vim.fn.execute('%s/Done with//gn')").split()[0] == str(TURNS)
    assert nvim.lua("return vim.fn.getline(1)") == "You"


@pytest.mark.dealt
def test_a_place_in_the_middle_stays_when_the_rest_comes(start_nvim, script):
    nvim = start_nvim(
        env=ENV,
        init_lua=NOTICES
        + """
      -- The rest comes when the test wants it.
      local follow = Ide.transcript_follow
      local apply = follow.apply
      deferred = {}
      follow.apply = function(view, delta) deferred[#deferred + 1] = function() apply(view, delta) end end
      go_on = function() follow.apply = apply for _, each in ipairs(deferred) do each() end end
    """,
    )
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait_screen(f"Done with {TURNS - 1:06d}.")
    nvim.wait("Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).name ~= nil")
    nvim.keys("3[[zt")
    nvim.wait("vim.api.nvim_get_current_line() == 'You'")
    # No more can be waited for: the library may have read the rest by now, and answers no question about the rows before.
    for turn in (3, 2):
        nvim.wait_screen(f"Some prose of {TURNS - turn:06d}.")  # coloured: without the marks of its Markdown
    screen, winline = nvim.drawn()[1:30], nvim.lua("return vim.fn.winline()")
    nvim.wait("#deferred > 0")
    nvim.lua("go_on()")
    wait_complete(nvim)
    assert nvim.lua("return { vim.api.nvim_get_current_line(), vim.fn.winline() }") == ["You", winline]
    assert nvim.drawn()[1:30] == screen


def test_a_hit_in_the_middle_is_gone_to(start_nvim, script):
    number = 4 * 3000 + 1
    for at, line in enumerate(script.path.read_text().splitlines(), 1):
        if '"content":"Prompt 003000' in line:
            number = at
    nvim = start_nvim(env=ENV)
    nvim.lua("Ide.transcript.open({ file = (...) }, { line = select(2, ...) })", str(script.path), number)
    nvim.wait_screen("Prompt 003000: words")
    nvim.wait("vim.api.nvim_get_current_line() == 'You'")
