"""A transcript whose end is known first, and of which only the part near a window is text."""

import json
import re

import pytest
from transcript_files import Transcript
from transcript_steps import ENV, press, wait_rendered
from transcript_steps import NOTICES as SHOWN

pytestmark = pytest.mark.slow

NOTICES = SHOWN + ' require("claude-ide.transcript.loader").FILLED_LINES = 0 '
"""Only the part near a window becomes text."""

TURNS = 6000
"""Each has a prompt, a reply with a call, its result, and a reply."""


@pytest.fixture
def script(tmp_path):
    """24,000 messages in 24 MB, written in one go: the lines of one turn with other numbers."""
    script = Transcript(tmp_path / "home", tmp_path / "project")
    script.prompt("Prompt @@@@@@: " + "words " * 20)
    script.run("Bash", "".join(f"row {row} of @@@@@@\n" for row in range(60)), command="make step@@@@@@")
    edit = script.call("Edit", file_path=str(script.cwd / "a@@@@@@.txt"), old_string="one", new_string="two")
    script.reply("Some **prose** of @@@@@@.", edit)
    script.result(
        edit,
        "ok",
        outcome={
            "filePath": str(script.cwd / "a@@@@@@.txt"),
            "oldString": "one",
            "newString": "two",
            "originalFile": "one\n",
            "structuredPatch": [
                {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-one", "+two"]}
            ],
        },
    )
    script.reply("Done with @@@@@@.")
    lines = script.path.read_text()
    last = json.loads(lines.splitlines()[-1])["uuid"]
    lines = lines.replace('"parentUuid":null', f'"parentUuid":"{last}"', 1)
    # Ids end in six digits of the line and six of the turn.
    lines = re.sub(r"-(0{6})(\d{6})\"", r'-\2@@@@@@"', lines)
    lines = re.sub(r"(msg_\d+|toolu_\d+)\"", r'\1_@@@@@@"', lines)
    with script.path.open("w") as file:
        for turn in range(TURNS):
            own = lines.replace("@@@@@@", f"{turn:06d}")
            parent = f"-{len(lines.splitlines()):06d}{turn:06d}"
            before = "null" if turn == 0 else json.dumps(f"00000000-0000-4000-8000{parent[:7]}{turn - 1:06d}")
            file.write(re.sub(r'"parentUuid":"[^"]*"', f'"parentUuid":{before}', own, count=1))
    return script


def text_lines(nvim):
    return nvim.lua(
        "return #vim.tbl_filter(function(line) return line ~= '' end, vim.api.nvim_buf_get_lines(0, 0, -1, false))"
    )


def wait_complete(nvim):
    nvim.wait(
        "require('claude-ide.transcript.open_views').of_buffer(vim.api.nvim_get_current_buf()).source:info().complete",
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
    assert nvim.lua("return vim.fn.line('$')") > 4 * TURNS
    nvim.wait_screen(f"{4 * TURNS}/{4 * TURNS}")
    assert f"Done with {TURNS - 1:06d}." in "\n".join(nvim.drawn())
    assert text_lines(nvim) < 3000, "only what is near is text"


@pytest.mark.dealt
def test_a_place_in_the_middle_stays_when_the_rest_comes(start_nvim, script):
    nvim = start_nvim(
        env=ENV,
        init_lua=NOTICES
        + """
      -- The rest comes when the test wants it.
      local follow = require("claude-ide.transcript.follow")
      local apply = follow.apply
      deferred = {}
      follow.apply = function(view, delta) deferred[#deferred + 1] = function() apply(view, delta) end end
      go_on = function() follow.apply = apply for _, each in ipairs(deferred) do each() end end
    """,
    )
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait_screen(f"Done with {TURNS - 1:06d}.")
    nvim.wait("require('claude-ide.transcript.open_views').of_buffer(vim.api.nvim_get_current_buf()).name ~= nil")
    nvim.keys("3[[zt")
    nvim.wait("vim.api.nvim_get_current_line() == 'You'")
    wait_lines(nvim)
    for turn in (3, 2):
        nvim.wait_screen(f"Some prose of {TURNS - turn:06d}.")  # coloured: without the marks of its Markdown
    screen, winline = nvim.drawn()[1:30], nvim.lua("return vim.fn.winline()")
    nvim.wait("#deferred > 0")
    nvim.lua("go_on()")
    wait_complete(nvim)
    assert nvim.lua("return { vim.api.nvim_get_current_line(), vim.fn.winline() }") == ["You", winline]
    assert nvim.drawn()[1:30] == screen


def go_to_the_top(nvim):
    nvim.keys("gg")
    nvim.wait("vim.fn.line('.') == 1 and vim.fn.line('w0') == 1")


def wait_lines(nvim):
    """Waits until everything near the window is text and coloured, whatever else is known."""
    nvim.wait("""
      local view = require("claude-ide.transcript.open_views").of_buffer(vim.api.nvim_get_current_buf())
      local near = require("claude-ide.transcript.render_order")
      return not view.busy and not view.colouring and #near.wanted(view.canvas, near.ranges(view.buf), 1) == 0
    """)


PLACES = {
    "gg": re.compile("^Prompt 000000: words", re.MULTILINE),
    "gg200]]": "Prompt 000200: words",
    "50%": re.compile(r"(Prompt|Done with) 00(2[5-9]|3[0-4])\d\d"),
    "G200[[": f"Prompt {TURNS - 200:06d}: words",
    "G": f"Done with {TURNS - 1:06d}.",
}


@pytest.mark.dealt
def test_every_place_becomes_text_when_one_goes_there(nvim):
    wait_complete(nvim)
    for keys, shown in PLACES.items():
        go_to_the_top(nvim)
        wait_rendered(nvim)
        nvim.keys(keys)
        nvim.wait_screen(shown)
        wait_rendered(nvim)
        nvim.terminal.wait(lambda: sum(row.strip() != "" for row in nvim.screen()[1:38]) > 20, 30, "a screen of text")


def test_paging_shows_every_message_once(nvim):
    wait_complete(nvim)
    go_to_the_top(nvim)
    seen = []
    for _ in range(30):
        wait_rendered(nvim)
        seen += re.findall(
            r"^Done with (\d+)\.", "\n".join(nvim.lua("return vim.fn.getline('w0', 'w$')")), re.MULTILINE
        )
        top = nvim.lua("return vim.fn.line('w0')")
        press(nvim, "<C-f>", lambda top=top: nvim.lua("return vim.fn.line('w0')") > top)
    shown = sorted(set(map(int, seen)))
    assert shown == list(range(shown[-1] + 1)) and shown[-1] > 30


def test_what_is_far_is_forgotten(nvim):
    wait_complete(nvim)
    nvim.lua("require('claude-ide.transcript.loader').KEPT_LINES = 1000")
    for percent in (20, 40, 60, 80):
        nvim.cmd(f"normal! {percent}%")
        wait_rendered(nvim)
    nvim.wait(lambda: text_lines(nvim) < 2000, what="the far rows to be empty lines")
    canvas = nvim.lua("""
      local canvas = require("claude-ide.transcript.open_views").of_buffer(vim.api.nvim_get_current_buf()).canvas
      return { canvas.heights:before(canvas.heights:len()) + 1, vim.fn.line("$"), canvas.lines }
    """)
    assert canvas[0] == canvas[1], "every line belongs to a row"
    go_to_the_top(nvim)
    nvim.wait_screen(re.compile("^Prompt 000000: words", re.MULTILINE))


def test_what_is_near_is_never_forgotten(nvim):
    wait_complete(nvim)
    nvim.cmd("normal! 50%")
    wait_rendered(nvim)
    wanted = nvim.lua("""
      local near = require("claude-ide.transcript.render_order")
      local view = require("claude-ide.transcript").of_buffer(vim.api.nvim_get_current_buf())
      local ranges = near.ranges(view.buf)
      for _, row in ipairs(near.far(view.canvas, ranges, 1)) do
        view.canvas.rows[row] = nil
      end
      return near.wanted(view.canvas, ranges, 10)
    """)
    assert wanted == []


def test_a_hit_in_the_middle_is_gone_to(start_nvim, script):
    number = 4 * 3000 + 1
    for at, line in enumerate(script.path.read_text().splitlines(), 1):
        if '"content":"Prompt 003000' in line:
            number = at
    nvim = start_nvim(env=ENV)
    nvim.lua(
        'require("claude-ide.transcript").open({ file = (...) }, { line = select(2, ...) })', str(script.path), number
    )
    nvim.wait_screen("Prompt 003000: words")
    nvim.wait("vim.api.nvim_get_current_line() == 'You'")
