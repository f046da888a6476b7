"""A chat with a scripted agent: much text, garbage, a sudden end."""

import json

import pytest
from chat_steps import begin, chat, say, start_scripted, wait_idle, wait_text

pytestmark = pytest.mark.dealt

AGENT = """
for prompt in prompts():
    if prompt["type"] == "user":
        wanted = words(prompt).split()
        count = int(wanted[1]) if wanted[0] == "much" else 1
        event(type="message_start", message=dict(id="m", model="mock"))
        event(type="content_block_start", index=0, content_block=dict(type="text", text=""))
        texts = []
        for number in range(count):
            delta = f"word {number} of many " + ("\\n" if number % 7 == 6 else "") + ("\\n" if number % 70 == 69 else "")
            texts.append(delta)
            event(type="content_block_delta", index=0, delta=dict(type="text_delta", text=delta))
        if wanted[0] == "cut":
            write(type="system", subtype="api_retry", attempt=1, max_retries=10, retry_delay_ms=60000,
                  error_status=529, error="overloaded")
            continue
        said(dict(type="text", text="".join(texts)))
        over()
"""


@pytest.fixture
def begin_chat(start_nvim, tmp_path):
    def begin_chat(words="", **more):
        nvim = start_scripted(start_nvim, tmp_path, AGENT, **more)
        begin(nvim, words)
        return nvim

    return begin_chat


@pytest.mark.every_nvim
def test_a_chat_begins_in_turns_of_the_loop(start_nvim, tmp_path):
    nvim = start_scripted(start_nvim, tmp_path, AGENT)
    nvim.lua("""
      turn, turns = 0, {}
      prepare = vim.uv.new_prepare()
      prepare:start(function() turn = turn + 1 end)
      for _, each in ipairs({
        { "native", "load" }, { "chat_windows", "fill" }, { "one_chat", "begin" }, { "chat_prompt", "set_window_options" },
      }) do
        local module = Ide[each[1]]
        local fn = module[each[2]]
        module[each[2]] = function(...)
          local is_nothing = each[2] == "fill" and not (...).waiting
          if not is_nothing then
            table.insert(turns, { each[2], turn })
            module[each[2]] = fn
          end
          return fn(...)
        end
      end
    """)
    assert nvim.lua("vim.cmd('Claude chat') return #turns") == 0, "nothing of it in the command"
    nvim.wait("#turns == 4", what="all of it")
    turns = nvim.lua("return turns")
    assert [name for name, _ in turns] == ["load", "fill", "begin", "set_window_options"]
    assert len({at for _, at in turns}) == 4, turns


def test_a_program_that_is_missing_is_one_sentence(start_nvim):
    nvim = start_nvim(opts={"terminal": {"command": ["no-such-agent"]}})
    begin(nvim, "hello")
    nvim.wait_screen("`no-such-agent` was not found")


@pytest.mark.every_nvim
def test_ctrl_c_that_goes_past_all_maps_interrupts_too(begin_chat):
    nvim = begin_chat("cut")
    nvim.wait_screen("overloaded (529)")
    nvim.wait_kind("prompt")
    chat(nvim, "asked = 0; function chat:interrupt() asked = asked + 1 end")
    nvim.interrupt()
    nvim.wait("asked == 1", what="the interrupt")
    nvim.wait(lambda: "Type  :qa" not in nvim.terminal.text(), what="the hint how to quit to be gone")
    nvim.keys("<C-c>")
    nvim.wait("asked == 2", what="the mapped key")


@pytest.mark.every_nvim
def test_an_interrupt_that_waits_fails_nothing_that_is_reported(begin_chat):
    """A pending interrupt fails the next call into Neovim, whichever it is."""
    nvim = begin_chat("one")
    wait_idle(nvim)
    nvim.lua("""
      local ffi, native = require("ffi"), Ide.native
      ffi.cdef("extern unsigned char got_int;")
      local poll = native.poll
      function native.poll()
        local event = poll()
        if event then
          count, ffi.C.got_int = (count or 0) + 1, 1
        end
        return event
      end
    """)
    say(nvim, "much 20000")
    nvim.wait("count", what="what is told")
    wait_idle(nvim)
    wait_text(nvim, "word 19999 of many")
    assert "ERROR" not in nvim.log()


@pytest.mark.slow
def test_a_hidden_prompt_keeps_its_text_and_quitting_keeps_it_for_the_next(begin_chat, start_nvim, tmp_path):
    nvim = begin_chat("hello")
    wait_idle(nvim)
    nvim.keys("iunfinished words<Esc>q")
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 1", what="the chat to be hidden")
    nvim.cmd("Claude chat")
    nvim.wait("vim.api.nvim_get_current_line() == 'unfinished words'")
    nvim.quit()
    kept = list((tmp_path / "home").rglob("claude-ide/chat/*.json"))
    assert json.loads(kept[0].read_text())["draft"] == "unfinished words"
    again = begin_chat()
    again.wait("vim.api.nvim_get_current_line() == 'unfinished words'")


@pytest.mark.parametrize(
    "end", ["Claude chat close", "bdelete", "edit", "edit!", "let b = bufnr() | bdelete | exe 'buffer' b"]
)
def test_what_is_written_at_a_prompt_outlives_it(begin_chat, end):
    nvim = begin_chat("hello")
    wait_idle(nvim)
    nvim.keys("iunfinished words<Esc>")
    nvim.wait("vim.api.nvim_get_current_line() == 'unfinished words' and vim.fn.mode() == 'n'")
    nvim.cmd(end)
    nvim.cmd("Claude chat")
    nvim.wait("vim.api.nvim_get_current_line() == 'unfinished words'", what="the draft")
    nvim.keys("dd")
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 1", what="the keys of the prompt")


def test_a_closed_chat_is_not_begun_again_by_what_was_still_read(begin_chat):
    nvim = begin_chat("hello")
    wait_idle(nvim)
    nvim.lua("Ide.context.expand = function(_, _, done) go_on = done end")
    nvim.lua("closed = Ide.chat.current() Ide.chat.say(closed, 'late words')")
    nvim.cmd("Claude chat close")
    nvim.wait("closed.state == 'ended'", what="the end")
    nvim.lua("go_on({})")
    assert nvim.lua("return { closed.state, vim.fn.getreg('\"') }") == ["ended", "late words"]
