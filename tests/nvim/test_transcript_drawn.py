"""Markdown of a transcript as drawn: headings, code, tables. The buffer keeps the original text."""

import pytest
from transcript_steps import go_to, show, wait_rendered

pytestmark = pytest.mark.every_nvim

TABLE = """\
| Name | What it does | Lines |
|---|:---:|--:|
| `a.py` | reads | 7 |
| 漢字 | writes a \\| b | 1200 |"""

DRAWN = """\
│ Name   │ What it does  │ Lines │
├────────┼───────────────┼───────┤
│ `a.py` │     reads     │     7 │
│ 漢字   │ writes a \\| b │  1200 │"""


@pytest.fixture
def script(empty):
    empty.prompt("Go")
    return empty


def screen(nvim):
    return "\n".join(row.rstrip() for row in nvim.screen())


def test_a_table_stands_in_columns_and_is_yanked_as_markdown(start_nvim, script):
    script.reply(f"Here:\n\n{TABLE}\n\nThat is all.")
    nvim = show(start_nvim, script)
    nvim.wait_screen(DRAWN)
    go_to(nvim, "| Name")
    nvim.keys("y3j")
    nvim.wait(lambda: nvim.lua("return vim.fn.getreg('\"')") == TABLE + "\n")


def test_a_table_that_is_wider_than_the_window_is_as_it_was_written(start_nvim, script):
    wide = TABLE.replace("reads", "reads " + "much " * 30)
    script.reply(f"{wide}\n\n{TABLE}")
    nvim = show(start_nvim, script)
    nvim.wait_screen(DRAWN)
    assert "| Name | What it does | Lines |" in screen(nvim)
    nvim.cmd("vsplit | vertical resize 20")
    nvim.wait(lambda: "├" not in screen(nvim), what="no window has room for it")
    nvim.cmd("only")
    nvim.wait_screen(DRAWN)


def test_a_wide_table_stands_in_columns_where_lines_are_not_wrapped(start_nvim, script):
    script.reply(TABLE.replace("reads", "reads " + "much " * 30))
    nvim = show(start_nvim, script)
    nvim.wait_screen("| Name | What it does | Lines |")
    nvim.cmd("setlocal nowrap")
    nvim.wait(lambda: "├────────┼" in screen(nvim), what="its columns")
    go_to(nvim, "| `a.py`")
    nvim.keys("$")
    nvim.wait(lambda: "│ Lines │" in screen(nvim), what="the other end")
    nvim.cmd("setlocal wrap")
    nvim.wait(lambda: "├" not in screen(nvim), what="the plain text")


def test_a_long_head_is_a_head(start_nvim, script):
    names = ["one", "two", "three"]
    head = " | ".join(f"[{name}](https://example.org/{name * 9})" for name in names)
    script.reply(f"| {head} |\n|---|---|---|\n| 1 | 2 | 3 |")
    nvim = show(start_nvim, script, init_lua="vim.o.columns = 300")
    nvim.wait(lambda: "┼" in screen(nvim) and "---" not in screen(nvim))


def test_what_only_begins_like_a_table_is_none(start_nvim, script):
    script.reply("| a\nor\n\n| x | y |\n| 1 | 2 |\n\n```\n| a | b |\n|---|---|\n```\nend")
    nvim = show(start_nvim, script)
    nvim.wait_screen("end")
    wait_rendered(nvim)
    assert not any(sign in screen(nvim) for sign in "│├")


def test_headings_have_no_marks_and_code_is_set_apart(start_nvim, script):
    script.reply("# One\n\n### Three\n#no heading\n\n```lua\nlocal x = 1\n\n# no heading\n```\n\nend")
    nvim = show(start_nvim, script)
    nvim.wait_screen("One\n\nThree\n#no heading\n\nlua\nlocal x = 1\n\n# no heading\n\n\nend")
    wait_rendered(nvim)
    assert "### Three" in nvim.lines()
    first = nvim.lines().index("```lua")
    groups = nvim.lua(
        """
        local ns = vim.api.nvim_get_namespaces()["claude-ide.transcript.colours"]
        local rows = {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
          if mark[4].line_hl_group == "ClaudeTranscriptCodeBlock" then rows[#rows + 1] = mark[2] end
        end
        return rows
        """
    )
    assert groups == list(range(first, first + 5))
    go_to(nvim, "### Three")
    nvim.wait_screen("### Three")


def test_the_columns_of_a_long_table_are_as_wide_everywhere(start_nvim, script):
    rows = "\n".join(f"| {number} | {'x' * (number % 9)} |" for number in range(200))
    script.reply(f"| n | x |\n|---|---|\n{rows}\n| 200 | {'y' * 30} |\n\nend")
    nvim = show(start_nvim, script)
    nvim.wait_screen(f"│ 200 │ {'y' * 30} │")
    nvim.wait_screen(f"│ 198 │ {' ' * 30} │")


@pytest.mark.one_nvim
def test_nothing_is_drawn_where_another_plugin_does_it(start_nvim, script):
    script.reply(f"# One\n\n{TABLE}\n\n```lua\nlocal x = 1\n```\n\nend")
    nvim = show(start_nvim, script, opts={"transcript": {"draw_markdown": False}})
    nvim.wait_screen("```lua")
    wait_rendered(nvim)
    assert "# One" in screen(nvim) and "│" not in screen(nvim)
