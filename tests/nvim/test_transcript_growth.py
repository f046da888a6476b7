"""A message that comes word by word: a word costs its line, and the display equals that of the whole message."""

import random

import pytest

from harness import live_source

pytestmark = pytest.mark.dealt

PARAGRAPH = "The handler reads the **frame**, checks its length against `MAX_FRAME`, and only then decodes it."


@pytest.fixture
def nvim(start_nvim):
    return live_source.start(start_nvim)


def say(nvim, kind, text):
    nvim.lua("live.say(...)", kind, text)
    live_source.settle(nvim)


def test_a_word_at_the_end_of_2000_lines_sets_one_line(nvim):
    say(nvim, "prompt", "Tell me all")
    say(nvim, "reply", "\n".join(f"{number}: {PARAGRAPH}" for number in range(2000)))
    assert nvim.lua("return #vim.api.nvim_buf_get_lines(0, 0, -1, false)") > 2000
    asked = nvim.lua("return live.asked")
    assert nvim.lua('return live.lines_set(function() live.append(" And") end)') == 1
    assert nvim.lua('return live.lines_set(function() live.append(" more.\\nOne") end)') == 2
    assert nvim.lua('return live.lines_set(function() live.append(" line") end)') == 1
    live_source.settle(nvim)
    assert nvim.lines()[-3:-1] == [f"1999: {PARAGRAPH} And more.", "One line"]
    assert nvim.lua("return live.asked") == asked, "the message is not read again"


@pytest.mark.slow
def test_a_word_is_coloured_with_its_paragraph_alone(nvim):
    say(nvim, "reply", "\n\n".join([PARAGRAPH * 20] * 25))
    nvim.lua("""
      local colour = Ide.transcript_colour
      local spans = colour.spans
      parsed = 0
      colour.spans = function(piece)
        for _, line in ipairs(piece.lines) do parsed = parsed + #line end
        return spans(piece)
      end
      live.append(" A **bold** word.")
    """)
    live_source.settle(nvim)
    assert 0 < nvim.lua("return parsed") <= len(PARAGRAPH) * 20 * 2
    last = nvim.lua("return vim.api.nvim_buf_line_count(0) - 2")
    groups = nvim.lua(
        """
        return vim.tbl_map(function(mark) return mark[4].hl_group end, vim.api.nvim_buf_get_extmarks(
          0, Ide.transcript_canvas.colours, { (...), 1900 }, { (...), -1 }, { details = true }))
        """,
        last,
    )
    assert any("strong" in group or "Bold" in group for group in groups if group), groups


def test_a_mark_of_markdown_costs_its_line_not_the_text_before_it(nvim):
    took = nvim.lua(
        """
        local source = ("word "):rep(20000) .. "**bold**\\n"
        local parser = vim.treesitter.get_string_parser(source, "markdown_inline")
        local node = parser:parse()[1]:root():named_child(0):child(0)
        local start = os.clock() -- of this process: others may be busy, too
        for _ = 1, 20 do
          assert(Ide.transcript_markup.may_hide(node, source))
        end
        return (os.clock() - start) * 1e3
        """
    )
    assert took < 1000, f"{took} ms; the square of 100 kB would be minutes"


def test_what_is_coloured_at_once_is_small(nvim):
    sizes = nvim.lua(
        """
        local lines = {}
        for number = 1, 500 do lines[number] = ("some **words** of an answer "):rep(3) .. number end
        return vim.tbl_map(function(piece)
          return #table.concat(piece.lines, "\\n")
        end, Ide.transcript_pieces.of(lines, "markdown"))
        """
    )
    assert max(sizes) < 1500, sizes


TEXTS = {
    "prose": "# A title\n\nSome *words* and a `word`.\n\n- one **thing**\n- another\n\n" * 8 + "The end",
    "code": "Look:\n\n```lua\nlocal one = 1 -- a note\n\nreturn one\n```\n\nand\n\n~~~\nplain\n```\n~~~\n" * 6 + "so.",
    "blank": "\n\n  \nfirst\n\n\n   \n\tsecond  \n \n\n```\n\n\ncode\n",
    "returns": "one\r\ntwo\r\n\r\nthree\rfour\r\nfive\r",
    "odd": "a\x07b\n\u0085\n·\n…\n\x1b[31mred\x1b[0m\n" + "long " * 900 + "\nend",
    "table": "Look:\n| a | b |\n|:-:|--:|\n"
    + "".join(f"| {'x' * (number % 7)} | 漢{number} |\n" for number in range(40))
    + "| the **widest** of all | `1` |\nand\n\n| no\ntable |\n| a |\n| - |\n\n| c | d\n|---|---\n| 1 | 2",
    "wide": "日本語の**文**です。\n\n" * 20 + "```\n日本\n```",
}


@pytest.mark.slow
@pytest.mark.every_nvim
@pytest.mark.parametrize("name", TEXTS)
def test_word_by_word_is_the_same_as_at_once(nvim, name):
    text = TEXTS[name]
    chance = random.Random(name)
    say(nvim, "prompt", "Go on")
    say(nvim, "reply", text)
    whole = nvim.lua("return live.shown()")
    say(nvim, "prompt", "And once more")
    nvim.cmd("bwipeout!")
    nvim.lua(live_source.LIVE)
    say(nvim, "prompt", "Go on")
    say(nvim, "reply", "")
    at = 0
    while at < len(text):
        word = text[at : at + chance.choice([1, 2, 3, 7, 20])]
        nvim.lua("live.append(...)", word)
        if chance.random() < 0.1:
            live_source.settle(nvim)
        at += len(word)
    live_source.settle(nvim)
    assert nvim.lua("return live.shown()") == whole


@pytest.mark.every_nvim
def test_the_cursor_and_the_view_stay_unless_they_are_at_the_end(nvim):
    say(nvim, "prompt", "Tell me all")
    say(nvim, "reply", "\n".join(f"line {number}" for number in range(200)))
    nvim.keys("gg20j")
    nvim.wait("vim.fn.line('.') == 21")
    live_source.settle(nvim)
    before = nvim.lua("return vim.fn.winsaveview()")
    nvim.lua('for number = 1, 50 do live.append("\\nmore " .. number) end')
    live_source.settle(nvim)
    assert nvim.lua("return vim.fn.winsaveview()") == before
    nvim.keys("G")
    nvim.wait("vim.fn.line('.') == vim.fn.line('$')")
    nvim.lua('for number = 1, 50 do live.append("\\nstill more " .. number) end')
    nvim.wait_screen("still more 50")
    assert nvim.lua("return vim.fn.line('.') == vim.fn.line('$')")


@pytest.mark.every_nvim
def test_words_wait_while_a_selection_or_an_operator_does(nvim):
    say(nvim, "reply", "one\ntwo")
    nvim.keys("ggd")
    nvim.wait("vim.api.nvim_get_mode().mode == 'no'")
    nvim.lua('live.append("\\nthree") live.append(" and") live.say("prompt", "Then")')
    assert nvim.lines() == ["Claude", "one", "two", ""]
    nvim.keys("<Esc>")
    nvim.wait(lambda: nvim.lines() == ["Claude", "one", "two", "three and", "", "You", "Then", ""])


def test_much_that_waited_comes_a_little_at_a_time(nvim):
    say(nvim, "reply", "one")
    nvim.keys("ggd")
    nvim.wait("vim.api.nvim_get_mode().mode == 'no'")
    nvim.lua("""
      local while_open, canvas = Ide.while_open, Ide.transcript_canvas
      local later, extend, now = while_open.later, canvas.extend, 0
      most = 0
      Ide.slice.MS = 0
      while_open.later = function(view, fn)
        later(view, function()
          now = 0
          fn()
        end)
      end
      canvas.extend = function(...)
        now = now + 1
        most = math.max(most, now)
        extend(...)
      end
      for number = 1, 300 do live.append("\\nmore " .. number) end
    """)
    nvim.keys("<Esc>")
    nvim.wait("#vim.api.nvim_buf_get_lines(0, 0, -1, false) > 100", what="some of it")
    nvim.lua('live.append("\\nthe last")')  # it comes after those still pending
    nvim.wait("vim.api.nvim_buf_get_lines(0, -3, -2, false)[1] == 'the last'", what="all of it")
    assert nvim.lines()[1:-1] == ["one"] + [f"more {number}" for number in range(1, 301)] + ["the last"]
    assert nvim.lua("return most") == 1


def test_a_word_that_was_missed_is_there_with_the_next(nvim):
    say(nvim, "reply", "one")
    nvim.lua("""
      live.store:hold()
      live.append(" two")
      live.store:ask("change") -- nothing hears of it
      live.append(" three")
      live.store:release()
    """)
    nvim.wait(lambda: nvim.lines() == ["Claude", "one two three", ""])


@pytest.mark.slow
@pytest.mark.one_nvim
def test_5000_messages_cost_as_much_each_as_the_first_ones(nvim):
    """Counts Lua's work, not its time."""
    spent = nvim.lua(
        """
        Ide.transcript_winbar.refresh = function() end -- the screen is not counted
        local count = 0
        local function is_quiet() -- asked more often on a busy machine, and so not counted either
          local before = count
          local quiet = live.is_quiet()
          count = before
          return quiet
        end
        local function say(first, last)
          for number = first, last do
            live.say(number % 2 == 0 and "reply" or "prompt", "message " .. number)
            if number % 10 == 0 then
              assert(vim.wait(60000, is_quiet, 1))
            end
          end
        end
        local function work(first, last)
          count = 0
          jit.off()
          jit.flush()
          debug.sethook(function() count = count + 1 end, "", 100)
          say(first, last)
          debug.sethook()
          jit.on()
          return count
        end
        local early = work(1, 200)
        say(201, 4800)
        return { early, work(4801, 5000) }
        """,
        timeout=180,
    )
    assert nvim.lua("return live.view().canvas.stop - live.view().canvas.first") == 5000
    assert spent[1] < 1.5 * spent[0], spent


def test_what_is_made_while_the_collector_waits_is_freed(nvim):
    most = nvim.lua("""
      local colour = Ide.transcript_colour
      local most, before = 0, collectgarbage("count")
      for number = 1, 200 do
        local ok, err = colour.paced(function()
          local made = {}
          for at = 1, 2000 do
            made[at] = { number, at }
          end
          assert(number ~= 100, "odd")
        end)
        assert(ok == (number ~= 100) and (ok or err:find("odd")))
        most = math.max(most, collectgarbage("count") - before)
      end
      local made = 0
      while collectgarbage("count") - before < most + 20000 and made < 2000000 do -- it runs by itself again
        made = #{ made } + made
      end
      return { most, made }
    """)
    assert most[0] < 30_000, "kilobytes of the 40 MB that were made"
    assert most[1] == 2_000_000
