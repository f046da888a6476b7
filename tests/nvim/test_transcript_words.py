"""A transcript shows the original words: none loses a character to Markdown."""

from transcript_steps import show, wait_rendered

VERBATIM = """\
see list[0] and __init__ and 2*3*4
cp ~/a~b src/**/*.ts lib/**/*.lua
- [ ] open  - [x] done
&lt;b&gt; and \\*escaped\\*
call handlers[i](event) with (*p) of *.o:*.c
f(*args, **kwargs) ~~gone~~ _G_ __a__"""


def test_words_that_look_like_markdown_are_shown_as_they_were_said(start_nvim, empty):
    empty.prompt("Prompts are **verbatim** with `ticks`:\n" + VERBATIM + "\n```lua\nlocal x = list[0]\n```")
    empty.reply(VERBATIM)
    empty.reply(
        "Only **strong**, *soft*, ***both***, `code`, (*these*) and [a link](https://example.org) hide their marks."
    )
    empty.reply("| a | b |\n|---|---|\n| `x` | **y** |")
    nvim = show(start_nvim, empty)
    wait_rendered(nvim)
    nvim.wait_screen("Only strong, soft, both, code, (these) and a link hide their marks.")
    nvim.wait_screen("─┼─")  # the last message is drawn
    text = "\n".join(row.rstrip() for row in nvim.drawn())
    assert text.count(VERBATIM) == 2
    assert "Prompts are **verbatim** with `ticks`:" in text
    assert "│ `x` │ **y** │" in text, "columns stay below each other"


def test_the_line_of_the_cursor_hides_nothing(start_nvim, empty):
    empty.prompt("Go")
    empty.reply("Only **strong** and `code`.")
    nvim = show(start_nvim, empty)
    nvim.wait_screen("Only strong and code.")
    nvim.keys("k")
    nvim.wait_screen("Only **strong** and `code`.")
