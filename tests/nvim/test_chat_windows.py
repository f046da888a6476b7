"""The two windows of a chat and the text in its prompt, whatever people do to windows, buffers and the plugin."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from chat_steps import begin, chat, say, text, to_transcript, wait_answer, wait_idle, wait_text

from harness.nvim import COLLECT

pytestmark = pytest.mark.dealt

LAYOUT = """
local rows = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local kind = (vim.b[vim.api.nvim_win_get_buf(win)].claude_ide or {}).kind or "file"
  local at = vim.api.nvim_win_get_position(win)
  rows[#rows + 1] = { kind, at[1], at[2], vim.api.nvim_win_get_height(win) }
end
return rows
"""


def drafts(tmp_path):
    """What was left at prompts, on disk."""
    (kept,) = (tmp_path / "home").rglob("claude-ide/chat/*.json")
    return json.loads(kept.read_text()).get("draft")


def open_prompts(tmp_path):
    """What stands at the prompts of Neovims, on disk."""
    files = (tmp_path / "home").rglob("claude-ide/chat/*.open")
    return [text for file in files for texts in json.loads(file.read_text()).values() for text in texts]


def layout(nvim):
    return {kind: (row, column, height) for kind, row, column, height in nvim.lua(LAYOUT)}


@pytest.fixture
def talk(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in("SAY hello there")
    wait_answer(nvim, "\nhello there")
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    return nvim


@pytest.mark.every_nvim
@pytest.mark.parametrize("alone", ["only", "wincmd k | quit", "wincmd T", "wincmd k | edit a.txt"])
def test_a_transcript_comes_back_above_its_prompt(talk, alone):
    nvim = talk
    height = layout(nvim)["prompt"][2]
    nvim.cmd(alone)
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) < 3 or vim.fn.bufname() == 'a.txt'")
    nvim.cmd("Claude chat")
    nvim.wait(lambda: "transcript" in layout(nvim), what="the transcript")
    shown = layout(nvim)
    assert shown["transcript"][0] < shown["prompt"][0]
    assert shown["transcript"][1] == shown["prompt"][1]
    nvim.wait(lambda: layout(nvim)["prompt"][2] == height, what="the height of before")


@pytest.mark.every_nvim
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_chat_keeps_its_share_of_the_screen(talk, by_hand):
    nvim = talk
    if by_hand:
        nvim.keys(":vertical resize 30<CR>")
        nvim.wait("vim.api.nvim_win_get_width(0) == 30", what="the width that the user gives it")
    width = nvim.lua("return vim.api.nvim_win_get_width(0)")
    for columns, page in ((84, "here"), (140, "here"), (210, "here"), (84, "away"), (210, "away"), (140, "here")):
        if page == "away":
            nvim.cmd("tabnew")
        nvim.lua("vim.o.columns = ...", columns)
        if page == "away":
            nvim.cmd("tabclose")
        nvim.wait(
            lambda columns=columns: abs(nvim.lua("return vim.api.nvim_win_get_width(0)") - width * columns / 140) < 2,
            what=f"its share of {columns} columns",
        )


HAS_FILE = "(Ide.chat.current().source.file or { info = function() end }):info() ~= nil"


@pytest.mark.every_nvim
def test_what_was_said_is_shown_once_in_a_buffer_that_is_made_anew(talk):
    nvim = talk
    nvim.wait(HAS_FILE, what="the session's file to be found")
    for words in ("hello there", "good day"):
        nvim.cmd("wincmd k")
        nvim.cmd("bwipeout")
        nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 2")
        nvim.cmd("Claude chat")
        wait_text(nvim, f"\n{words}")
        assert text(nvim).count("\nSAY hello there") == 1
        say(nvim, "SAY good day")
        wait_answer(nvim, "\ngood day")


@pytest.mark.every_nvim
def test_what_was_said_before_and_since_is_shown_once_in_a_buffer_that_is_made_anew(talk):
    nvim = talk
    nvim.cmd("Claude chat close")
    nvim.cmd("Claude chat --continue")
    wait_text(nvim, "\nhello there")
    say(nvim, "SAY good day")
    wait_answer(nvim, "\ngood day")
    before = text(nvim)
    nvim.cmd("wincmd k")
    nvim.cmd("bwipeout")
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 2")
    nvim.cmd("Claude chat")
    wait_text(nvim, "\ngood day")
    nvim.wait(lambda: text(nvim) == before, what="the same as before")


@pytest.mark.every_nvim
def test_nothing_is_left_of_a_chat_that_is_closed(talk):
    nvim = talk
    nvim.wait(HAS_FILE, what="the session's file to be found")
    nvim.lua(
        """
        _G.weak = setmetatable({ chat = Ide.chat.current() }, { __mode = "v" })
        weak.file, weak.store = weak.chat.source.file, weak.chat.store
        """
    )
    listens = "return vim.fn.execute('autocmd TextChangedI') .. vim.fn.execute('autocmd WinScrolled')"
    assert "claude-ide.chat" in nvim.lua(listens) and "claude-ide.transcript" in nvim.lua(listens)
    nvim.cmd("Claude chat close")
    assert "claude-ide.chat" not in nvim.lua(listens) and "claude-ide.transcript" not in nvim.lua(listens)
    nvim.wait(COLLECT + " return next(weak) == nil", what="what was said to be forgotten")


def test_the_key_that_closes_a_transcript_closes_one_of_its_windows_or_hides_its_chat(talk):
    nvim = talk
    nvim.keys("<C-w>k:split<CR>")
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 4")
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 3")
    assert set(layout(nvim)) == {"file", "transcript", "prompt"}
    nvim.cmd("wincmd b")
    nvim.keys("<C-w>kq")
    nvim.wait(lambda: list(layout(nvim)) == ["file"], what="the chat to be hidden")
    nvim.cmd("Claude chat")
    nvim.wait(lambda: len(layout(nvim)) == 3, what="the chat")


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", [":edit +2 a.txt<CR>", "<C-o>", "ia.txt<Esc>gf"])
def test_a_file_does_not_stay_in_the_window_of_a_prompt(begin_chat_with_stand_in, keys):
    nvim = begin_chat_with_stand_in(files={"a.txt": "one\ntwo\nthree\n"}, args=["+2", "a.txt"])
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    before = layout(nvim)
    nvim.keys(keys)
    nvim.wait("vim.fn.bufname() == 'a.txt' and vim.api.nvim_win_get_height(0) > 10", what="the file in its own window")
    nvim.wait(lambda: layout(nvim) == before, what="the windows as they were")
    if "edit" in keys:
        assert nvim.lua("return vim.fn.line('.')") == 2


@pytest.mark.every_nvim
def test_a_prompt_that_is_closed_from_elsewhere_leaves_files_where_they_are(begin_chat_with_stand_in):
    files = {"a.txt": "one\n", "b.txt": "two\n"}
    nvim = begin_chat_with_stand_in(files=files, args=["-O", "a.txt", "b.txt"])
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.cmd("1wincmd w")
    nvim.lua("vim.cmd.close({ count = vim.fn.winnr('$') })")
    nvim.lua("later = false vim.schedule(function() later = true end)")
    nvim.wait("later")
    names = nvim.lua("return vim.tbl_map(function(at) return vim.fn.bufname(vim.fn.winbufnr(at)) end, { 1, 2 })")
    assert names == ["a.txt", "b.txt"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", ["iSAY one<CR>two<C-s><Esc>", "iSAY one<CR>two<Esc><CR>"])
def test_what_was_sent_can_be_brought_back_by_undo(talk, keys):
    nvim = talk
    nvim.keys(keys)
    nvim.wait("vim.api.nvim_buf_line_count(0) == 1", what="the prompt to be sent")
    nvim.keys("u")
    nvim.wait(lambda: nvim.lines() == ["SAY one", "two"], what="what was sent")


def test_what_is_kept_is_what_was_being_written_not_what_is_looked_at(talk):
    nvim = talk
    nvim.keys("imy own words<Esc>[p")
    nvim.wait(lambda: nvim.lines() == ["SAY hello there"], what="the history")
    nvim.cmd("Claude chat close")
    begin(nvim)
    nvim.wait(lambda: nvim.lines() == ["my own words"], what="the draft")


def test_what_is_typed_at_recalled_prompts_is_kept_beside_the_draft(talk):
    nvim = talk
    for keys, then in (
        ("imine<Esc>[p", "SAY hello there"),
        ("A, again<Esc>]p", "mine"),
        ("[p", "SAY hello there, again"),
    ):
        nvim.keys(keys)
        nvim.wait(lambda then=then: nvim.lines() == [then], what=then)
    nvim.cmd("Claude chat close")
    begin(nvim)
    nvim.wait(lambda: nvim.lines() == ["mine", "", "SAY hello there, again"], what="both texts")


def test_the_draft_comes_back_once_a_recalled_prompt_is_sent(talk):
    nvim = talk
    nvim.keys("imine<Esc>[p")
    nvim.wait(lambda: nvim.lines() == ["SAY hello there"], what="the history")
    nvim.keys("A, again<Esc><CR>")
    nvim.wait(lambda: nvim.lines() == ["mine"], what="the draft")
    wait_answer(nvim, "\nhello there, again")
    nvim.cmd("Claude chat close")
    begin(nvim)
    nvim.wait(lambda: nvim.lines() == ["mine"], what="the draft alone")


def test_a_prompt_can_be_written_in_where_nothing_else_can(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in(args=["-M"])
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.keys("iSAY fine<Esc><CR>")
    wait_text(nvim, "\nfine")


def open_menu(nvim):
    """Types the beginning of two commands, and waits for the menu."""
    nvim.lua("""
      local commands = { { name = "compact", description = "" }, { name = "context", description = "" } }
      Ide.chat.current().commands = commands
    """)
    nvim.keys("i/co")
    nvim.wait("vim.api.nvim_get_current_line() == '/co' and vim.fn.pumvisible() == 1", what="the commands")


@pytest.mark.every_nvim
@pytest.mark.parametrize("local", [True, False])
def test_the_menu_of_a_prompt_leaves_completeopt_as_it_is(talk, local):
    nvim = talk
    if local:
        nvim.cmd("setlocal completeopt=menu,longest")
    read = "return { vim.go.completeopt, vim.o.completeopt }"
    before = nvim.lua(read)
    open_menu(nvim)
    assert nvim.lua(read) == before
    nvim.cmd("setglobal completeopt=menuone")
    assert nvim.lua("return vim.go.completeopt") == "menuone"
    if not local:
        assert nvim.lua("return vim.o.completeopt") == "menuone"


def test_what_was_just_chosen_is_not_offered_again(talk):
    nvim = talk
    open_menu(nvim)
    nvim.keys("<C-n><C-y>")
    nvim.wait("vim.api.nvim_get_current_line() == '/compact'")
    nvim.lua("vim.api.nvim_exec_autocmds('TextChangedI', { buffer = 0 })")
    nvim.wait("vim.fn.pumvisible() == 0", what="no menu")


RELOAD = """
require("claude-ide").deactivate()
for name in pairs(package.loaded) do
  if vim.startswith(name, "claude-ide") then package.loaded[name] = nil end
end
"""


def test_a_plugin_that_is_loaded_anew_leaves_no_chat_that_nobody_hears(talk):
    nvim = talk
    pid = chat(nvim, "return chat.pid")
    nvim.keys("iunfinished words<Esc>")
    nvim.wait("vim.api.nvim_get_current_line() == 'unfinished words' and vim.fn.mode() == 'n'")
    nvim.lua(RELOAD)
    nvim.wait(f"not vim.uv.kill({pid}, 0)", what="the process to end")
    assert list(layout(nvim)) == ["file"]
    begin(nvim)
    nvim.wait(lambda: nvim.lines() == ["unfinished words"], what="the draft")
    say(nvim, "SAY again")
    wait_text(nvim, "\nagain")


@pytest.mark.every_nvim
def test_a_prompt_leaves_its_transcript_lines_where_there_are_few(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in(init_lua="vim.o.columns, vim.o.lines = 40, 12")
    nvim.wait(lambda: layout(nvim).get("transcript", (0, 0, 0))[2] >= 6, what="the transcript, and six lines of it")
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.keys("i1<CR>2<CR>3<CR>4<Esc>")
    nvim.wait("vim.fn.line('.') == 4")
    for lines, height in ((30, 6), (7, None), (24, 6), (12, 3)):
        nvim.lua("vim.o.lines = ...", lines)
        if height:
            nvim.wait(lambda height=height: layout(nvim)["prompt"][2] == height, what=f"{height} lines on {lines}")


@pytest.mark.every_nvim
@pytest.mark.parametrize("side", ["right", "bottom"])
def test_a_prompt_has_its_height_again_after_a_screen_that_was_small_or_that_of_the_user(
    begin_chat_with_stand_in, side
):
    nvim = begin_chat_with_stand_in(opts={"terminal": {"side": side}})
    nvim.wait(lambda: "transcript" in layout(nvim), what="the transcript")
    height = layout(nvim)["prompt"][2]
    nvim.lua("vim.o.lines = 10 vim.o.lines = 40")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == height, what="the height of before")
    if side == "bottom":
        return  # there Neovim itself distributes lines among windows
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.keys("<Esc>:resize 9<CR>")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 9)
    nvim.lua("vim.o.lines = vim.o.lines + 5")
    nvim.lua("vim.o.lines = vim.o.lines - 3")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 9, what="what the user gives it, to stay")


@pytest.mark.every_nvim
def test_a_prompt_grows_with_what_is_written_and_shrinks_again(talk):
    nvim = talk
    assert layout(nvim)["prompt"][2] == 3
    nvim.keys("iSAY 1<CR>2")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 4, what="a line more")
    nvim.keys("<CR>" * 8 + "x")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 6, what="as many as the option has")
    nvim.keys("<C-s>")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 3, what="few lines again")
    nvim.keys("y" * 200)
    nvim.wait(lambda: layout(nvim)["prompt"][2] > 4, what="a long line to be seen")
    nvim.keys("<Esc>ggdG")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 3, what="few lines again")
    nvim.lua("Ide.chat_prompt.add(vim.api.nvim_get_current_buf(), 'one\\ntwo\\nthree\\nfour')")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 6, what="what is put in")
    nvim.wait("vim.fn.line('w0') == 1", what="all of it to be seen")


@pytest.mark.every_nvim
@pytest.mark.parametrize("side", ["right", "bottom"])
def test_a_prompt_that_the_user_has_enlarged_stays_so_while_it_is_written_in(begin_chat_with_stand_in, side):
    nvim = begin_chat_with_stand_in(opts={"terminal": {"side": side}})
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.wait(lambda: "transcript" in layout(nvim), what="the transcript")
    nvim.keys("<Esc><C-w>_")
    nvim.wait(lambda: layout(nvim)["transcript"][2] == 2, what="all lines for the prompt")
    large = layout(nvim)["prompt"][2]
    nvim.keys("iwords<CR>more<Esc>")
    nvim.wait("vim.fn.mode() == 'n' and vim.fn.getline(2) == 'more'")
    assert layout(nvim)["prompt"][2] == large > 20
    nvim.keys("<C-w>k<C-w>_")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 2, what="all lines for the transcript")
    nvim.keys("<C-w>jox<Esc>")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 5, what="all that is written to be seen again")


@pytest.mark.every_nvim
def test_what_changes_the_lines_of_all_windows_is_no_wish_of_the_user(talk):
    nvim = talk
    nvim.stop_insert()
    for change in ("laststatus=0", "laststatus=3", "cmdheight=3", "cmdheight=0", "laststatus=2", "cmdheight=1"):
        nvim.cmd(f"set {change}")
        nvim.wait(lambda: layout(nvim)["prompt"][2] == 3, what=f"the same height with {change}")
        nvim.keys("o2<CR>3<Esc>")
        nvim.wait(lambda: layout(nvim)["prompt"][2] == 5, what=f"more lines with {change}")
        nvim.keys("uu")
        nvim.wait("vim.fn.line('$') == 1")


@pytest.mark.every_nvim
def test_a_prompt_has_its_height_again_after_another_tab_page_or_a_screen_of_eight_lines(talk):
    nvim = talk
    nvim.stop_insert()
    nvim.cmd("tabnew")
    for lines in (9, 30, 9):
        nvim.cmd(f"set lines={lines}")
    nvim.cmd("tabprevious | set lines=40")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 3, what="its height")
    nvim.cmd("tabonly")
    nvim.wait(lambda: layout(nvim)["transcript"][2] == 34, what="the line of the tab pages")
    nvim.keys(":resize 12<CR>")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 12)
    nvim.cmd("set lines=8")
    nvim.wait(lambda: layout(nvim)["transcript"][2] == 3, what="both to be seen")
    nvim.cmd("set lines=40")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 12, what="what the user gave it")


@pytest.mark.every_nvim
@pytest.mark.parametrize("side", ["right", "bottom"])
def test_a_transcript_that_is_opened_above_its_prompt_keeps_their_share(begin_chat_with_stand_in, side):
    nvim = begin_chat_with_stand_in(opts={"terminal": {"side": side}})
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.wait(lambda: "transcript" in layout(nvim), what="the transcript")
    begun = sorted(columns_of(nvim)), layout(nvim)
    nvim.cmd("stopinsert | wincmd k | quit")
    nvim.cmd("Claude chat")
    nvim.wait(lambda: layout(nvim) == begun[1], what="both as they were")
    nvim.cmd("set columns=100 lines=30")
    nvim.wait(lambda: layout(nvim)["prompt"][2] == 3, what="the prompt's height")
    if side == "right":
        assert nvim.lua("return vim.api.nvim_win_get_width(0)") == 40
    else:
        assert layout(nvim)["transcript"][2] == 8  # with the prompt and the line between: 0.4 * 30
    nvim.cmd("set columns=140 lines=40")
    nvim.wait(lambda: (sorted(columns_of(nvim)), layout(nvim)) == begun, what="all as it was")


def columns_of(nvim):
    return nvim.lua(
        """
        return vim.tbl_map(function(win)
          return { vim.fn.bufname(vim.api.nvim_win_get_buf(win)), vim.api.nvim_win_get_width(win) }
        end, vim.api.nvim_tabpage_list_wins(0))
        """
    )


@pytest.mark.every_nvim
def test_of_two_chats_one_is_shown_where_there_is_no_room_for_both(talk):
    nvim = talk
    nvim.lua("vim.o.columns = 100")
    begin(nvim, "SAY good day")
    wait_idle(nvim)
    nvim.wait(lambda: any("SAY good day" in name for name, _ in columns_of(nvim)), what="its title")
    assert not any("hello" in name for name, _ in columns_of(nvim))
    nvim.cmd("Claude chat close")
    nvim.cmd("Claude chat")
    nvim.wait(lambda: any("hello" in name for name, _ in columns_of(nvim)), what="the first one again")
    nvim.cmd("Claude chat close")


@pytest.mark.every_nvim
@pytest.mark.parametrize("over", ["", "Claude ask SAY hello"])
def test_two_chats_share_a_wide_screen(talk, over):
    nvim = talk
    nvim.lua("vim.o.columns = 180")
    if over:
        nvim.cmd(over)
        nvim.wait("vim.api.nvim_win_get_config(0).relative ~= ''", what="the answer over the screen")
    begin(nvim, "SAY good day")
    nvim.wait(lambda: len(columns_of(nvim)) == (6 if over else 5), what="both chats")
    nvim.wait(lambda: all(width > 20 for _, width in columns_of(nvim)), what="room for all")


@pytest.mark.every_nvim
def test_what_is_sent_is_in_sight_wherever_the_conversation_was(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in("SAY " + " ".join(f"one{at}\n" for at in range(100)))
    wait_answer(nvim, "one99")
    nvim.keys("<Esc><C-w>kgg")
    nvim.wait("vim.fn.line('.') == 1", what="the beginning of the conversation")
    nvim.keys("<C-w>jiSAY good day<C-s>")
    nvim.wait_screen(re.compile(r"SAY good day.*\n.*good day", re.DOTALL))


@pytest.mark.every_nvim
@pytest.mark.parametrize("past_maps", [False, True])
def test_the_key_that_interrupts_does_so_in_the_conversation(begin_chat_with_stand_in, tmp_path, past_maps):
    (tmp_path / "home").mkdir(exist_ok=True)
    nvim = begin_chat_with_stand_in()
    wait_idle(nvim)
    nvim.lua(
        """
        local chat = Ide.chat.current()
        chat.is_busy = function() return true end
        chat.interrupt = function() interrupted = true end
        """
    )
    nvim.keys("<C-w>k")
    nvim.wait_kind("transcript")
    if past_maps:
        nvim.interrupt()
    else:
        nvim.keys("<C-c>")
    nvim.wait("interrupted")
    assert not any("Type" in line and ":qa" in line for line in nvim.screen())


@pytest.mark.every_nvim
@pytest.mark.parametrize("there_is_a_place", [True, False])
def test_a_file_of_a_conversation_opens_where_files_are(begin_chat_with_stand_in, there_is_a_place):
    files = {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"}
    nvim = begin_chat_with_stand_in("SAY see a.txt:2", files=files, args=["b.txt"])
    wait_text(nvim, "\nsee a.txt:2")
    if not there_is_a_place:
        nvim.lua("vim.cmd.wincmd('t') vim.cmd.quit()")
    nvim.keys("<Esc>")
    to_transcript(nvim)
    nvim.keys("G?see a<CR>wgf")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt' and vim.fn.line('.') == 2", what="the file")
    assert {"transcript", "prompt", "file"} == set(layout(nvim))


@pytest.mark.every_nvim
def test_a_prompt_that_is_written_is_kept_and_not_sent(talk, tmp_path):
    nvim = talk
    nvim.keys("imy own words<Esc>")
    nvim.wait("vim.api.nvim_get_current_line() == 'my own words' and vim.fn.mode() == 'n'")
    completes = "return #vim.api.nvim_get_autocmds({ event = 'TextChangedI', buffer = 0 })"
    before = nvim.lua(completes)
    nvim.cmd("edit")
    nvim.wait(lambda: nvim.lines() == ["my own words"], what="the draft, once")
    assert nvim.lua(completes) == before, "each word is completed once"
    nvim.keys(":w<CR>")
    nvim.wait_screen("Saved as a draft. `<CR>` sends it.")
    assert open_prompts(tmp_path) == ["my own words"]
    assert nvim.lines() == ["my own words"] and "my own words" not in text(nvim)
    nvim.keys("A, more<Esc>:wa<CR>:qa<CR>")
    assert nvim.terminal.wait_exit() == 0, "nothing there asks to be saved"
    assert drafts(tmp_path) == "my own words, more"
    assert open_prompts(tmp_path) == []


@pytest.mark.every_nvim
@pytest.mark.parametrize("command", ["w copy.md", "saveas copy.md", "1,2w copy.md", "w >> copy.md"])
def test_a_prompt_can_be_written_to_a_file(talk, tmp_path, command):
    nvim, copy = talk, talk.project / "copy.md"
    before = ""
    if ">>" in command:
        copy.write_text(before := "before\n")
    nvim.keys("imy own<CR>words<Esc>")
    nvim.wait(lambda: nvim.lines() == ["my own", "words"])
    name = nvim.lua("return vim.api.nvim_buf_get_name(0)")
    nvim.keys(f":{command}<CR>")
    nvim.wait(lambda: copy.exists() and copy.read_text() == f"{before}my own\nwords\n", what="the file")
    nvim.wait_screen("not sent")
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == name
    assert nvim.lines() == ["my own", "words"]


@pytest.mark.every_nvim
def test_a_prompt_that_is_written_is_in_no_other_prompt(talk, tmp_path):
    nvim = talk
    nvim.keys("imine<Esc>:w<CR>")
    nvim.wait_screen("Saved as a draft.")
    # As if it was written before the rest of the prompt was set up:
    nvim.lua("Ide.chat_prompt.set_window_options(vim.api.nvim_get_current_buf())")
    assert nvim.lines() == ["mine"]
    nvim.cmd("edit")
    nvim.wait(lambda: nvim.lines() == ["mine"], what="the draft once more")
    nvim.keys(":w<CR>:Claude chat SAY another<CR>:Claude chat<CR>")
    nvim.wait("vim.bo.filetype == 'markdown' and vim.fn.bufname():find('prompt 2', 1, true) ~= nil", what="its prompt")
    assert nvim.lines() == [""]
    nvim.keys("ihis<Esc>:w<CR>")
    nvim.wait(lambda: open_prompts(tmp_path) == ["mine", "his"], what="both")
    nvim.keys("<CR>")
    nvim.wait(lambda: open_prompts(tmp_path) == ["mine"], what="the one that was not sent")


@pytest.mark.every_nvim
@pytest.mark.parametrize("end", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL, "terminal"])
def test_a_prompt_outlives_a_neovim_that_ends_without_notice(talk, begin_chat_with_stand_in, tmp_path, end):
    nvim = talk
    nvim.keys("isaved<Esc>:w<CR>")
    nvim.wait_screen("Saved as a draft.")
    nvim.keys("A, and more")
    nvim.wait(lambda: open_prompts(tmp_path) == ["saved, and more"], what="the text on disk, in insert mode")
    other = begin_chat_with_stand_in()
    other.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    assert other.lines() == [""], "it is still in the prompt of a Neovim that runs"
    other.quit()
    if end == "terminal":
        nvim.terminal.hang_up()
    else:
        os.kill(nvim.server_pid, end)
    nvim.terminal.wait_exit()
    nvim.terminal.wait(lambda: not Path(f"/proc/{nvim.server_pid}").exists(), what="the process to be gone")
    again = begin_chat_with_stand_in()
    again.wait(lambda: again.lines() == ["saved, and more"], what="the text, once")
    again.keys("<CR>")
    again.wait(lambda: open_prompts(tmp_path) == [] and drafts(tmp_path) is None, what="it to be kept no longer")


def test_the_transcript_of_a_chat_is_its_own_window(talk):
    nvim = talk
    before = layout(nvim)
    nvim.cmd("Claude transcript")
    nvim.wait("(vim.b.claude_ide or {}).kind == 'transcript'", what="the conversation")
    nvim.cmd("Claude transcript")
    assert layout(nvim) == before and nvim.lua("return vim.b.claude_ide.kind") == "transcript"


@pytest.mark.every_nvim
def test_what_is_given_back_leaves_the_cursor_to_who_types(talk):
    nvim = talk
    nvim.keys("ifirst line<CR>second line<Esc>gg0eaX")
    nvim.wait("vim.fn.getline(1) == 'firstX line' and vim.fn.mode() == 'i'")
    nvim.lua("Ide.chat.current().give_back('queued one')")
    nvim.keys("Y")
    nvim.wait(lambda: nvim.lines() == ["queued one", "", "firstXY line", "second line"], what="all of it")
    nvim.keys("<Esc>u")
    nvim.wait(lambda: nvim.lines() == ["queued one", "", "firstX line", "second line"], what="the last key's end")


@pytest.mark.parametrize("end", [None, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_queued_prompts_outlive_neovim(talk, model, begin_chat_with_stand_in, tmp_path, end):
    nvim = talk
    model.paused = True
    nvim.keys("iSAY long<Esc><CR>")
    nvim.wait("Ide.chat.current().state == 'working'")
    nvim.keys("iqueued one<Esc><CR>")
    nvim.wait_screen("next: queued one")
    nvim.keys("imine<Esc>")
    nvim.wait(lambda: open_prompts(tmp_path) == ["queued one", "mine"], what="both on disk")
    if end:
        os.kill(nvim.server_pid, end)
        nvim.terminal.wait_exit()
        nvim.terminal.wait(lambda: not Path(f"/proc/{nvim.server_pid}").exists(), what="the process to be gone")
    else:
        nvim.leave()
    model.paused = False
    again = begin_chat_with_stand_in()
    again.wait(lambda: again.lines() == ["queued one", "", "mine"], what="both texts")


@pytest.mark.every_nvim
def test_one_menu_completes_in_a_prompt(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in(
        init_lua="package.loaded.cmp = { setup = { buffer = function(o) vim.b.cmp_is = o.enabled end } }"
    )
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    assert nvim.lua("return { vim.b.completion, vim.b.cmp_is, vim.b.minicompletion_disable }") == [False, False, True]


@pytest.mark.every_nvim
@pytest.mark.parametrize("past_maps", [False, True])
def test_an_interrupt_before_the_agent_is_there_says_how_words_come_back(begin_chat_with_stand_in, tmp_path, past_maps):
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "hold").write_text("begin")
    nvim = begin_chat_with_stand_in("SAY hello there")
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.wait(lambda: (tmp_path / "home" / "deferred").exists(), what="one that does not begin")
    if past_maps:
        nvim.interrupt()
    else:
        nvim.keys("<C-c>")
    nvim.wait_screen("Claude is starting. `:Claude chat restart` returns your prompts.")
    nvim.cmd("Claude chat restart")
    nvim.wait(lambda: nvim.lines() == ["SAY hello there"], what="the words")


@pytest.mark.every_nvim
@pytest.mark.parametrize("chosen", ["", "<C-n><C-n>"])
def test_what_is_sent_while_a_menu_is_open_is_sent_once(talk, chosen):
    nvim = talk
    open_menu(nvim)
    nvim.keys(f"{chosen}<C-s>SAY next")
    nvim.wait("vim.api.nvim_get_current_line() == 'SAY next'", what="the next prompt")
    assert nvim.lua("return vim.fn.mode()") == "i"
    sent = "/context" if chosen else "/co"
    wait_text(nvim, f"\n{sent}\n")


@pytest.mark.every_nvim
@pytest.mark.parametrize("equal", [True, False])
def test_the_width_of_a_chat_is_given_by_all_that_stand_beside_it(begin_chat_with_stand_in, equal):
    files = {"a.txt": "one\n", "b.txt": "two\n"}
    init = f"vim.o.equalalways = {'true' if equal else 'false'}"
    nvim = begin_chat_with_stand_in(files=files, args=["-O", "a.txt", "b.txt"], init_lua=init)
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.cmd("Claude chat close")

    def widths():
        return {name: width for name, width in columns_of(nvim) if name.endswith(".txt")}

    nvim.lua("vim.cmd('only | vsplit b.txt | vertical resize 90')")
    before = widths()
    assert before == {"b.txt": 90, "a.txt": 49}
    begin(nvim)
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.wait(lambda: abs((now := widths())["b.txt"] / now["a.txt"] - 90 / 49) < 0.2, what="the same share of each")
    nvim.keys("<Esc>q")
    nvim.wait("#vim.api.nvim_list_wins() == 2", what="the chat to be hidden")
    nvim.wait(lambda: all(abs(widths()[name] - before[name]) < 3 for name in before), what=f"the widths {before}")


@pytest.mark.every_nvim
@pytest.mark.parametrize("columns", [95, 200])
def test_a_chat_and_a_terminal_share_a_wide_screen_and_take_turns_on_another(begin_chat_with_stand_in, columns):
    nvim = begin_chat_with_stand_in(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.cmd("Claude chat close")
    nvim.lua("vim.o.columns = ...", columns)
    nvim.lua("Ide.config.get().terminal.command = { 'sh', '-c', 'exec cat' }")
    nvim.cmd("Claude")
    nvim.wait("vim.fn.mode() == 't'", what="the terminal")
    nvim.stop_insert()
    nvim.cmd("wincmd p")
    beside = columns_of(nvim)
    begin(nvim)
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    shown = columns_of(nvim)
    assert len(shown) == (3 if columns == 95 else 4)
    assert shown[0] == ["a.txt", beside[0][1]] if columns == 95 else shown[0][1] >= 30
    nvim.keys("<Esc>q")
    nvim.wait("vim.bo.filetype ~= 'markdown'", what="the chat to be hidden")
    assert columns_of(nvim) == ([["a.txt", 95]] if columns == 95 else beside)
    nvim.cmd("Claude chat")
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    if columns == 95:
        nvim.cmd("Claude")
        nvim.wait("vim.bo.buftype == 'terminal'", what="the terminal")
        assert columns_of(nvim) == beside
