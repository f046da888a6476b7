"""A long text of a chat is split into several rows, also within code (`crates/agent/src/transcript`): none takes long to
show, and the cuts are invisible.
"""

import random

import pytest

from harness import live_source

pytestmark = pytest.mark.dealt

# What is shown of a reply, without its heading.
SAID = """
function said()
  return vim.list_slice(vim.api.nvim_buf_get_lines(0, 0, -1, false), 2)
end
"""

CODE = "".join(f"local value_{number} = compute({number}) -- a note\n" for number in range(400))
TEXTS = {
    "code": f"Look:\n\n```lua\n{CODE}```\n\nThat is *all*.\n\n" + "And more.\n" * 300,
    "both": ("```lua\nreturn 1\n```\n\n" + "some *prose* that\ngoes on\n\n") * 150,
}


@pytest.fixture
def begin(start_nvim):
    def begin(split_at=2000, most=4000):
        nvim = live_source.start(start_nvim)
        nvim.lua(SAID)
        nvim.lua("live.limits(...)", split_at, most)
        return nvim

    return begin


def tell(nvim, text, chance):
    at = 0
    while at < len(text):
        piece = text[at : at + chance.choice([1, 3, 20, 200])]
        nvim.lua("live.append(...)", piece)
        at += len(piece)
    live_source.settle(nvim)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_rows_has_the_colours_of_the_text_in_one(begin, name):
    text = TEXTS[name]
    whole = begin(10**9, 10**9)
    whole.lua("live.append(...)", text)
    live_source.settle(whole)
    expected = whole.lua("return live.shown()")
    nvim = begin()
    tell(nvim, text, random.Random(name))
    lines, colours = nvim.lua("return live.shown()")
    assert lines == expected[0]
    if name == "code":  # each line has the same colours, however it is parsed
        assert sorted(colours) == sorted(expected[1])
    assert nvim.lua("return live.store:info().len") > 2


@pytest.mark.every_nvim
def test_code_in_several_rows_is_yanked_in_whole(begin):
    nvim = begin()
    tell(nvim, TEXTS["code"], random.Random(1))
    assert nvim.lua("return live.store:info().len") > 3
    for where in ("local value_3 ", "local value_200 ", "local value_399 "):
        nvim.lua("vim.fn.setreg('\"', '') vim.fn.cursor(1, 1) vim.fn.search((...))", where)
        nvim.lua("Ide.transcript_code.yank(live.view())")
        nvim.wait("vim.fn.getreg('\"') ~= ''")
        assert nvim.lua("return vim.fn.getreg('\"')") == CODE
    nvim.lua("vim.fn.search('That is')")
    nvim.lua("Ide.transcript_code.yank(live.view())")
    nvim.wait("vim.fn.execute('messages'):find('There is no code here') ~= nil")


@pytest.mark.slow
@pytest.mark.one_nvim
def test_a_block_of_40000_lines_is_shown_a_little_at_a_time(begin):
    """Counts the work of one turn of the loop, not its time."""
    nvim = begin(48 * 1024, 96 * 1024)
    nvim.lua("""
      Ide.transcript_painter.want = function() end
      Ide.slice.MS = 0 -- one thing a turn
      local canvas = Ide.transcript_canvas
      local while_open = Ide.while_open
      local made = 0
      most = 0
      local put, prepend = canvas.put, canvas.prepend
      turns = vim.uv.new_prepare()
      turns:start(function() made = 0 end)
      local function count(drawn)
        for _, item in ipairs(drawn.items) do made = made + #item.lines end
        most = math.max(most, made)
      end
      canvas.put = function(self, row, drawn)
        count(drawn)
        put(self, row, drawn)
      end
      canvas.prepend = function(self, drawn)
        vim.iter(drawn):each(count)
        prepend(self, drawn)
      end
      live.append("```lua\\n")
      for _ = 1, 40000 / 50 do
        live.append(("local value = compute(value) -- a note\\n"):rep(50))
      end
      live.append("```\\n")
    """)
    live_source.settle(nvim)
    for line in (1, 5000, 20000, 1_000_000, 1):
        nvim.lua("vim.api.nvim_win_set_cursor(0, { math.min((...), vim.api.nvim_buf_line_count(0)), 0 })", line)
        nvim.lua("live.view().canvas:mark_all_stale() Ide.transcript_loader.update(live.view())")
        live_source.settle(nvim)
    assert 1000 < nvim.lua("return most") < 6000, "rows of 1,300 lines"
