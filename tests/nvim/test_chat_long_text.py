"""A long text of a chat is split into several rows, also within code: none takes long to show, and the cuts are
invisible.
"""

import random

import pytest

from harness import live_source

pytestmark = pytest.mark.dealt

# A chat's own messages as a transcript, without an agent.
CHAT = """
store = require("claude-ide.chat.store").new()
local growing = require("claude-ide.chat.growing_text")
growing.SPLIT_AT, growing.MOST = ...
live.source = require("claude-ide.chat.source").new({
  number = 1, session = "live", title = "A chat", speaker = "Claude", cwd = vim.uv.cwd(), store = store,
  facts = function() return {} end, runs = function() return true end,
})
live.messages_of = store.messages
require("claude-ide.transcript").open({ source = live.source })
-- What is shown of a reply, without its heading.
function said()
  return vim.list_slice(vim.api.nvim_buf_get_lines(0, 0, -1, false), 2)
end
function longest()
  local most = 0
  for _, message in ipairs(store.messages) do most = math.max(most, message.block.bytes) end
  return most
end
"""

CODE = "".join(f"local value_{number} = compute({number}) -- a note\n" for number in range(400))
TEXTS = {
    "code": f"Look:\n\n```lua\n{CODE}```\n\nThat is *all*.\n\n" + "And more.\n" * 300,
    "gaps": "~~~~ lua\n" + "local one\n\n\n  return\n   \n\t\n```\n" * 200 + "~~~~\nDone.",
    "prose": "- a **point** of a list\n" * 600,
    "returns": "```\r\n" + "one\r\ntwo\r\n\r\n" * 500 + "```\r\nend\r\n",
    "blank": "```\n" + "\n" * 3000 + "x\n" + "\n" * 3000 + "```\n",
    "colours": "```\n" + "one\n\x1b[0m\n\n" * 600 + "```\n",
    "both": ("```lua\nreturn 1\n```\n\n" + "some *prose* that\ngoes on\n\n") * 150,
}


@pytest.fixture
def begin(start_nvim):
    def begin(split_at=2000, most=4000):
        nvim = start_nvim()
        nvim.lua(live_source.LIVE.replace('require("claude-ide.transcript").open({ source = live.source })', ""))
        nvim.lua(CHAT, split_at, most)
        return nvim

    return begin


def tell(nvim, text, chance):
    at = 0
    while at < len(text):
        piece = text[at : at + chance.choice([1, 3, 20, 200])]
        nvim.lua('store:append("1", "text", (...))', piece)
        at += len(piece)
    live_source.settle(nvim)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_rows_is_the_text_in_one(begin, name):
    text = TEXTS[name]
    whole = begin(10**9, 10**9)
    whole.lua('store:append("1", "text", (...))', text)
    live_source.settle(whole)
    expected = whole.lua("return live.shown()")
    nvim = begin()
    tell(nvim, text, random.Random(name))
    lines, colours = nvim.lua("return live.shown()")
    assert lines == expected[0]
    if name == "code":  # each line has the same colours, however it is parsed
        assert sorted(colours) == sorted(expected[1])
    if name != "blank":
        assert nvim.lua("return longest()") < 6000, "rows stay short"
        assert nvim.lua("return #store.messages") > 2
    same = nvim.lua(
        """
        local before = #store.messages
        store:said({ kind = "reply", blocks = { { type = "text", text = (...) } } })
        return #store.messages == before and not store.messages[before].partial
        """,
        text,
    )
    assert same


def test_a_text_that_was_not_streamed_is_in_rows_too(begin):
    nvim = begin()
    nvim.lua('store:append("1", "text", "something else")')
    nvim.lua(
        'store:said({ kind = "reply", blocks = { { type = "text", text = (...) } }, usage = { output = 1 } })',
        TEXTS["code"],
    )
    live_source.settle(nvim)
    assert nvim.lua("return longest()") <= 8192, "4 kB are looked at together"
    assert nvim.lua("return table.concat(said(), '\\n')").startswith(TEXTS["code"].rstrip())
    assert nvim.lua("return vim.iter(store.messages):any(function(one) return one.partial end)") is False


@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_long_thought_is_in_rows_as_a_text_is(begin, is_streamed):
    nvim = begin()
    thought = "".join(f"Let me see whether {number} holds.\n" + "```\n" * (number % 9 == 0) for number in range(400))
    if is_streamed:
        nvim.lua(
            'for at = 1, #..., 300 do store:append("1", "thinking", (...):sub(at, at + 299)) end',
            thought,
        )
    nvim.lua('store:said({ kind = "reply", blocks = { { type = "thinking", text = (...) } } })', thought)
    live_source.settle(nvim)
    assert nvim.lua("return { #store.messages > 2, longest() < 8193 }") == [True, True]
    assert nvim.lua("return vim.iter(store.messages):any(function(one) return one.partial or one.fence end)") is False
    shown = [line[4:] for line in nvim.lua("return said()") if line.startswith("    ")]
    assert shown == thought.splitlines(), "all of it, in its order"
    assert nvim.lua("return table.concat(said(), '\\n')").count("\n\n") == 0, "and nothing between"


def test_a_line_without_an_end_costs_each_piece_once(begin):
    nvim = begin()
    kept = nvim.lua("""
      local growing = require("claude-ide.chat.growing_text")
      local message, most = { block = {} }, 0
      for _ = 1, 3000 do
        growing.follow(message, ("x"):rep(100))
        most = math.max(most, #message.rest)
      end
      growing.follow(message, "\\n```lua\\nlocal one = 1")
      return { most, message.fence ~= nil, message.rest }
    """)
    assert kept[0] <= 1024 and kept[1:] == [True, "local one = 1"]


@pytest.mark.parametrize("pieces", [("```", "lua\nlocal a\n\nlocal b\n"), ("``", "`\nlocal a\n\nlocal b\n")])
def test_a_row_that_ends_in_code_is_gone_on_with_in_code_however_the_fence_came(begin, pieces):
    nvim = begin(10, 20)
    for piece in ("Some words of prose\n", *pieces, "local c\n", "```\n\nThe end."):
        nvim.lua('store:append("1", "text", (...))', piece)
    rows = nvim.lua("""
      local open, wrong = nil, {}
      for _, message in ipairs(store.messages) do
        if open and not (message.continues and message.continues.fence) then
          table.insert(wrong, table.concat(message.parts))
        end
        open = message.fence
      end
      return { #store.messages, wrong }
    """)
    assert rows[0] > 1 and not rows[1]


def test_many_empty_lines_cost_each_of_them_once(begin):
    nvim = begin()
    took = nvim.lua("""
      local message, began = { block = {} }, vim.uv.hrtime()
      require("claude-ide.chat.growing_text").follow(message, (" \\n"):rep(32 * 1024) .. "```\\nx")
      return { (vim.uv.hrtime() - began) / 1e6, message.fence ~= nil }
    """)
    assert took[1] and took[0] < 1000, "it was seconds"


@pytest.mark.every_nvim
def test_code_in_several_rows_is_yanked_in_whole(begin):
    nvim = begin()
    tell(nvim, TEXTS["code"], random.Random(1))
    assert nvim.lua("return #store.messages") > 3
    for where in ("local value_3 ", "local value_200 ", "local value_399 "):
        nvim.lua("vim.fn.setreg('\"', '') vim.fn.cursor(1, 1) vim.fn.search((...))", where)
        nvim.lua("require('claude-ide.transcript.code').yank(live.view())")
        nvim.wait("vim.fn.getreg('\"') ~= ''")
        assert nvim.lua("return vim.fn.getreg('\"')") == CODE
    nvim.lua("""
      vim.fn.setreg('"', '')
      vim.fn.cursor(1, 1)
      vim.fn.search("local value_3 ")
      local view = live.view()
      view.known[view.canvas:spot(vim.fn.line(".")).row + 1] = nil -- it changed a moment ago
      require("claude-ide.transcript.code").yank(view)
    """)
    nvim.wait("vim.fn.getreg('\"') ~= ''")
    assert nvim.lua("return vim.fn.getreg('\"')") == CODE
    nvim.lua("vim.fn.search('That is')")
    nvim.lua("require('claude-ide.transcript.code').yank(live.view())")
    nvim.wait("vim.fn.execute('messages'):find('There is no code here') ~= nil")
    read = """
      local source, go_on = live.view().source, nil
      local rows = source.rows
      source.rows = function(self, from, count, done)
        go_on = function() rows(self, from, count, done) end
      end
      vim.fn.cursor(1, 1)
      vim.fn.search("local value_3 ")
      require("claude-ide.transcript.code").yank(live.view())
      source.rows = rows
      vim.cmd([[normal! %s]])
      go_on()
      return vim.fn.getreg('"')
    """
    assert nvim.lua(read % "yiw") == "local", "what is yanked before the code is read stays"
    assert nvim.lua(read % '"_yy') == CODE, "that is in no register"


@pytest.mark.slow
@pytest.mark.one_nvim
def test_a_block_of_40000_lines_is_shown_and_forgotten_a_little_at_a_time(begin):
    """Counts the work of one turn of the loop, not its time."""
    nvim = begin(48 * 1024, 96 * 1024)
    nvim.lua("""
      require("claude-ide.transcript.painter").want = function() end
      require("claude-ide.transcript.slices").deadline = function() return 0 end -- one thing a turn
      local canvas = require("claude-ide.transcript.canvas")
      local slices = require("claude-ide.transcript.slices")
      local made, dropped = 0, 0
      most = { made = 0, dropped = 0 }
      local put, drop = canvas.put, canvas.drop
      turns = vim.uv.new_prepare()
      turns:start(function() made, dropped = 0, 0 end)
      canvas.put = function(self, row, items)
        for _, item in ipairs(items) do made = made + #item.lines end
        most.made = math.max(most.made, made)
        put(self, row, items)
      end
      canvas.drop = function(self, row)
        dropped = dropped + self.heights:get(row)
        most.dropped = math.max(most.dropped, dropped)
        drop(self, row)
      end
      store:append("1", "text", "```lua\\n")
      for _ = 1, 40000 / 50 do
        store:append("1", "text", ("local value = compute(value) -- a note\\n"):rep(50))
      end
      store:append("1", "text", "```\\n")
    """)
    live_source.settle(nvim)
    for line in (1, 5000, 20000, 1_000_000, 1):
        nvim.lua("vim.api.nvim_win_set_cursor(0, { math.min((...), vim.api.nvim_buf_line_count(0)), 0 })", line)
        nvim.lua("live.view().canvas:mark_all_stale() require('claude-ide.transcript.loader').update(live.view())")
        live_source.settle(nvim)
    most = nvim.lua("return most")
    assert 1000 < most["made"] < 6000 and 1000 < most["dropped"] < 6000, "rows of 1,300 lines"
