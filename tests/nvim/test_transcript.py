"""A transcript on the screen: the display of each message, and the keys."""

import os
import re

import pytest
from transcript_files import Transcript
from transcript_steps import ENV, NOTICES, go_to, press, show, wait_named, wait_rendered

pytestmark = pytest.mark.dealt


@pytest.mark.slow
def test_what_they_asked_for_opens_at_once_unless_they_have_gone_on(start_nvim, script):
    nvim = start_nvim(env=ENV, init_lua=NOTICES, args=["a.txt"], files={"a.txt": "first\nsecond\n"})
    nvim.lua(
        """
        local file, transcript = ..., Ide.transcript
        local function here() return Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()) ~= nil end
        vim.keymap.set("n", "gz", function()
          transcript.open({ file = file })
          at_once = here()
        end)
        -- Now it takes long to find.
        vim.keymap.set("n", "gy", function()
          local source = Ide.source_find
          source.find = function(_, found) deliver = function() found(Ide.source_file.new(file)) end end
          transcript.open()
        end)
        """,
        str(script.path),
    )
    nvim.keys("gz")
    nvim.wait("at_once ~= nil")
    assert nvim.lua("return at_once") is True
    nvim.cmd("buffer a.txt")
    nvim.keys("gyd")
    nvim.wait("deliver and vim.api.nvim_get_mode().mode == 'no'")
    nvim.lua("deliver()")
    nvim.keys("d")
    wait_rendered(nvim)
    assert nvim.lua("return vim.fn.getbufline('a.txt', 1, '$')") == ["second"]


@pytest.mark.every_nvim
def test_a_conversation_reads_well(start_nvim, script):
    """All of it is in `screens/transcript*.txt`, and each kind of message in `crates/session/src/render/tests.rs`."""
    nvim = show(start_nvim, script)
    wait_named(nvim)
    calls = [line for line in nvim.lines() if " · " in line]
    assert calls == [
        "  Read src/parser.lua  lines 10-40 · ok · 0.1 s",
        "  Edit src/parser.lua +1 −1 · ok · 0.3 s",
        "  Bash make test · failed · 12 s",
        "  Bash for i in 1 2; do make test done · ok · 2 min",
        "  Agent look around · ok · 41 s",
        "    Subagent Explore · Enter shows what it did",
    ]
    nvim.wait_screen("31.3k tokens in context")
    screen = "\n".join(nvim.drawn())
    assert "Fix the parser" in screen
    assert "→line" not in screen, "a result is folded"
    assert "+for i = 0, n - 1 do" in screen, "an edit is not"
    options = nvim.lua("return { vim.bo.modifiable, vim.bo.modified, vim.bo.filetype, vim.bo.buftype }")
    assert options == [False, False, "claude-transcript", "nofile"]


def test_the_cursor_is_at_the_end_and_q_goes_back(start_nvim, script):
    nvim = start_nvim(env=ENV, files={"a.txt": "here\n"}, args=["a.txt"])
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait_screen("see src/parser.lua:3")
    wait_rendered(nvim)
    assert nvim.lua("return vim.fn.line('.') == vim.fn.line('$')")
    press(nvim, "q", "vim.fn.expand('%:t') == 'a.txt'")
    assert nvim.lua("return { vim.wo.winbar, vim.wo.foldmethod, vim.wo.conceallevel }") == ["", "manual", 0]


@pytest.mark.every_nvim
def test_folds_open_and_close_as_in_vim_also_for_a_search(start_nvim, script):
    nvim = show(start_nvim, script)
    lnum = go_to(nvim, "  Bash make test")
    assert nvim.lua("return { vim.fn.foldclosed('.'), vim.fn.foldclosedend('.') }") == [lnum, lnum + 3]
    press(nvim, "za", "vim.fn.foldclosed('.') == -1")
    nvim.wait_screen("not ok 2 printer")
    press(nvim, "zM", "vim.fn.foldclosed('.') > 0")
    nvim.terminal.wait(lambda: "+for i" not in "\n".join(nvim.screen()), 30, "the edit to be folded")
    nvim.keys("zRgg")
    nvim.wait_screen("I should look at it first.")
    go_to(nvim, "  Thinking")
    press(nvim, "<CR>", "vim.fn.foldclosed('.') > 0")
    nvim.keys("zMgg/not ok 2<CR>")
    nvim.wait("vim.api.nvim_get_current_line():find('not ok 2', 1, true) and vim.fn.foldclosed('.') == -1")


MOTIONS = {
    "]]": ["You"],
    "]m": ["  Read", "  Edit", "  Bash make", "  Bash for", "  Agent"],
    "]c": ["  Edit"],
}


@pytest.mark.every_nvim
def test_motions_go_from_one_to_the_next_and_back(start_nvim, script):
    nvim = show(start_nvim, script)
    for keys, expected in MOTIONS.items():
        press(nvim, "gg", "vim.fn.line('.') == 1")
        wait_rendered(nvim)
        stops = []
        for beginning in expected:
            before = nvim.cursor()[0]
            press(nvim, keys, lambda before=before: nvim.cursor()[0] > before)
            assert nvim.lua("return vim.api.nvim_get_current_line()").startswith(beginning)
            stops.append(nvim.cursor()[0])
        press(nvim, "G", "vim.fn.line('.') == vim.fn.line('$')")
        for stop in reversed(stops):
            press(nvim, keys.replace("]", "["), lambda stop=stop: nvim.cursor()[0] == stop)
        nvim.keys(f"gg{len(stops)}{keys}")
        nvim.wait(lambda last=stops[-1]: nvim.cursor()[0] == last)
        press(nvim, "<C-o>", "vim.fn.line('.') == 1")
    press(nvim, "G]]", "notices[1] == 'No prompt below.'")
    press(nvim, "gg[c", "notices[2] == 'No edit above.'")


@pytest.mark.every_nvim
def test_enter_on_an_edit_shows_the_file_before_and_after(start_nvim, script):
    nvim = show(start_nvim, script)
    lnum = go_to(nvim, "    +for i = 0, n - 1 do")
    press(nvim, "<CR>", "#vim.api.nvim_list_tabpages() == 2 and #vim.api.nvim_tabpage_list_wins(0) == 2")
    nvim.wait_screen("after this edit")
    nvim.wait_screen("before this edit")
    sides = nvim.lua("""
      return vim.tbl_map(function(win)
        local buf = vim.api.nvim_win_get_buf(win)
        return { vim.api.nvim_buf_get_lines(buf, 9, 10, false)[1], vim.wo[win].diff, vim.bo[buf].modifiable }
      end, vim.api.nvim_tabpage_list_wins(0))
    """)
    assert sides == [["for i = 0, n do", True, False], ["for i = 0, n - 1 do", True, False]]
    nvim.keys("gK")
    nvim.wait_screen("1 removed line")
    press(nvim, "q", "#vim.api.nvim_tabpage_list_wins(0) == 2")
    press(nvim, "q", "#vim.api.nvim_list_tabpages() == 1")
    assert nvim.cursor()[0] == lnum
    press(nvim, "<CR>", "#vim.api.nvim_list_tabpages() == 2")
    press(nvim, ":q<CR>", "#vim.api.nvim_list_tabpages() == 1")
    nvim.wait(
        "return not vim.iter(vim.api.nvim_list_bufs()):any(function(buf) "
        "return (vim.b[buf].claude_ide or {}).kind == 'edit' end)"
    )


PLACES = {
    "  Read src": ("", 10),
    "  Edit src": ("", 9),
    "    +for i": ("", 10),
    "see src/parser.lua:3.": ("f/", 3),
}


def test_gf_goes_to_the_file_and_the_line_or_says_why_not(start_nvim, script):
    script.prompt("see pipe")
    nvim = show(start_nvim, script)
    wait_named(nvim)
    transcript = nvim.lua("return vim.api.nvim_get_current_buf()")
    for at, (move, lnum) in PLACES.items():
        go_to(nvim, at)
        nvim.keys(move + "gf")
        nvim.wait(lambda: nvim.lua("return vim.api.nvim_buf_get_name(0)") == str(nvim.project / "src/parser.lua"))
        assert nvim.cursor()[0] == lnum
        press(nvim, "<C-o>", lambda: nvim.lua("return vim.api.nvim_get_current_buf()") == transcript)
        nvim.wait_screen("31.3k tokens in context")
    go_to(nvim, "What else is there?")
    press(nvim, "gf", "notices[1] == 'There is no What.'")
    os.mkfifo(nvim.project / "pipe")
    go_to(nvim, "see pipe")
    press(nvim, "fpgf", "(notices[2] or ''):find('pipe cannot be opened: not a file but a fifo', 1, true)")


CRASH = """
local crash = "+call setline(1, 'x') | preserve | lua vim.uv.kill(vim.uv.os_getpid(), 9)"
vim.system({ vim.v.progpath, "--clean", "--headless", "--cmd", "set directory=. swapfile", (...), crash }):wait()
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize(("answer", "lnum"), [("e", 9), ("q", None)])
def test_gf_to_a_file_with_a_swap_file_goes_to_the_line_when_it_is_opened_anyway(start_nvim, script, answer, lnum):
    nvim = show(start_nvim, script)
    wait_named(nvim)
    path = nvim.project / "src/parser.lua"
    nvim.lua(CRASH, str(path))
    assert path.with_name(".parser.lua.swp").exists()
    nvim.cmd("set directory=. updatecount=200 | setglobal swapfile")
    go_to(nvim, "  Edit src")
    nvim.keys("gf")
    nvim.wait_screen("dit anyway")
    nvim.keys(answer)
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
    if lnum:
        nvim.wait(lambda: nvim.lua("return vim.api.nvim_buf_get_name(0)") == str(path), what="the file")
        assert nvim.cursor()[0] == lnum
    assert "E325" not in repr(nvim.lua("return notices"))
    assert "E325" not in nvim.log()


@pytest.mark.every_nvim
def test_a_subagent_is_shown_within_and_in_a_buffer_of_its_own(start_nvim, script):
    nvim = show(start_nvim, script)
    go_to(nvim, "  Agent look around")
    nvim.keys("zo")
    nvim.wait_screen("Subagent Explore · Enter shows what it did")
    nvim.keys("j<CR>")
    nvim.wait_screen("Subagent Explore · 3 messages")
    wait_rendered(nvim)
    lines = nvim.lines()
    at = lines.index("    Subagent Explore · 3 messages")
    assert lines[at : at + 10] == [
        "    Subagent Explore · 3 messages",
        "    Claude asks",
        "    Look around in the project.",
        "",
        "    Subagent",
        "      Grep TODO in src · ok · 0.2 s",
        "        src/a.lua",
        "        src/b.lua",
        "",
        "    Two files have a **TODO**.",
    ]
    nvim.keys("zt")
    screen = nvim.wait_screen(re.compile(r"^      Grep TODO in src +ok +0.2 s$", re.MULTILINE))
    assert "src/b.lua" not in screen
    press(nvim, "<CR>", lambda: "    Subagent Explore · Enter shows what it did" in nvim.lines())
    assert "        src/b.lua" not in nvim.lines()
    nvim.keys("gf")
    nvim.wait("vim.fn.bufname() == 'Claude 11111111/agent-a1'", what="its own buffer")
    wait_rendered(nvim)
    assert "  Grep TODO in src · ok · 0.2 s" in nvim.lines()


def test_branches_are_named_and_switched(start_nvim, empty):
    empty.prompt("one")
    root = empty.reply("answer one")
    empty.prompt("the first way")
    empty.reply("answer of the first")
    empty.parent = root
    empty.prompt("the second way")
    empty.reply("answer of the second")
    nvim = show(start_nvim, empty)
    assert "answer of the second" in nvim.lines()
    assert "answer of the first" not in nvim.lines()
    assert nvim.lines()[6] == "You  branch 2 of 2"
    nvim.keys("[v")
    nvim.wait(lambda: "answer of the first" in nvim.lines())
    wait_rendered(nvim)
    assert nvim.lines()[6] == "You  branch 1 of 2"
    nvim.wait(lambda: nvim.cursor()[0] == 7, what="the cursor on the branch")
    press(nvim, "[v", "notices[1] == 'This is the first of 2 branches.'")
    nvim.lua("""
      vim.ui.select = function(items, options, choose)
        shown = vim.tbl_map(options.format_item, items)
        choose(items[2])
      end
    """)
    nvim.keys("gb")
    nvim.wait(lambda: "answer of the second" in nvim.lines())
    first, second = nvim.lua("return shown")
    assert first.endswith("the first way (shown)") and second.endswith("the second way")


def test_branches_that_take_long_to_read_do_not_come_into_what_is_typed(start_nvim, empty):
    empty.prompt("one")
    root = empty.reply("answer one")
    empty.prompt("the first way")
    empty.parent = root
    empty.prompt("the second way")
    nvim = show(start_nvim, empty)
    wait_named(nvim)  # all is read by now
    nvim.lua(
        """
        local source = Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).source
        local messages = source.messages
        source.messages = function(self, ids, most, done)
          messages(self, ids, most, function(...)
            local reported = { ... }
            deliver = function() done(unpack(reported)) end
          end)
        end
        vim.ui.select = function() asked = true end
        """
    )
    nvim.keys("gb")
    nvim.wait("deliver ~= nil", what="the branches")
    nvim.keys(":let g:typed =")
    nvim.wait("vim.fn.getcmdline() == 'let g:typed ='", what="what is typed")
    nvim.lua("deliver()")
    assert nvim.lua("return asked") is None
    nvim.keys(" 1<CR>")
    nvim.wait("asked and vim.g.typed == 1", what="the question")


def test_a_rule_goes_across_the_window(start_nvim, empty):
    empty.prompt("one")
    empty.line("system", subtype="compact_boundary", content="Conversation compacted")
    nvim = show(start_nvim, empty)
    nvim.wait_screen(re.compile(r"── Conversation compacted · 2026-01-05 09:01 ─{80}"))


def test_what_is_too_long_is_cut_and_can_be_had(start_nvim, empty):
    empty.prompt("run")
    empty.run("Bash", "".join(f"row {number}\n" for number in range(20_000)), command="seq")
    empty.reply("x" * 5000)
    nvim = show(start_nvim, empty)
    assert nvim.lines()[-2] == "x" * 2000 + " … (3.0 kB more on this line)"
    note = "Enter shows it all"
    assert nvim.lua("return vim.api.nvim_buf_line_count(0)") < 2500
    go_to(nvim, note)
    nvim.keys("zo")
    nvim.wait("vim.fn.foldclosed('.') == -1")
    go_to(nvim, note)
    nvim.keys("<CR>")
    nvim.wait("#vim.api.nvim_list_wins() == 2 and vim.api.nvim_buf_line_count(0) == 20000")
    press(nvim, "q", "#vim.api.nvim_list_wins() == 1")


@pytest.mark.parametrize(("asks", "line"), [("edit_texts", "    +b"), ("messages", "Enter shows it all")])
def test_what_enter_shows_does_not_come_into_what_is_typed(start_nvim, empty, asks, line):
    empty.prompt("run")
    empty.edit(empty.cwd / "a.txt", "a", "b", "a\n", (1, 1, ["-a", "+b"]))
    empty.run("Bash", "".join(f"row {number}\n" for number in range(20_000)), command="seq")
    nvim = show(start_nvim, empty)
    wait_named(nvim)  # all is read by now
    nvim.keys("zR")
    nvim.wait("vim.fn.foldclosed(vim.fn.search('^  Bash', 'nw')) == -1", what="the folds to open")
    wait_rendered(nvim)
    nvim.lua(
        """
        local name, source = ..., Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).source
        local ask = source[name]
        source[name] = function(...)
          local args = { ... }
          local done = args[#args]
          args[#args] = function(...)
            local reported = { ... }
            deliver = function() done(unpack(reported)) end
          end
          ask(unpack(args))
        end
        wins = function()
          local all = vim.iter(vim.api.nvim_list_wins()) -- one that floats says what waits
          return #all:filter(function(win) return vim.api.nvim_win_get_config(win).relative == "" end):totable()
        end
        """,
        asks,
    )
    go_to(nvim, line)
    nvim.keys("<CR>")
    nvim.wait("deliver ~= nil", what="what is to be shown")
    nvim.keys(":let g:typed =")
    nvim.wait("vim.fn.getcmdline() == 'let g:typed ='", what="what is typed")
    nvim.lua("deliver()")
    assert nvim.lua("return wins()") == 1
    nvim.keys(" 1<CR>")
    nvim.wait("vim.g.typed == 1 and wins() > 1", what="what was asked for")


@pytest.mark.every_nvim
def test_a_narrow_window_keeps_how_calls_went(start_nvim, script):
    nvim = show(start_nvim, script, init_lua=" vim.o.columns = 140")
    nvim.cmd("vsplit | vertical resize 40")
    wait_rendered(nvim)
    nvim.wait_screen(re.compile(r"^  Read src/par…  lines 10-40  ok   0.1 s│", re.MULTILINE))
    nvim.wait_screen(re.compile(r"^  Bash for i in 1 2; do .*…  ok   2 min│", re.MULTILINE))


@pytest.mark.slow
def test_the_same_transcript_has_one_buffer_and_several_can_be_open(start_nvim, script, tmp_path):
    other = Transcript(tmp_path / "home", tmp_path / "project", "99999999-2222-4333-8444-555555555555")
    other.prompt("Another one")
    nvim = show(start_nvim, script)
    first = nvim.lua("return vim.api.nvim_get_current_buf()")
    nvim.cmd(f"Claude transcript {other.id}")
    nvim.wait_screen("Another one")
    nvim.cmd(f"Claude transcript {script.id[:8]}")
    nvim.wait(lambda: nvim.lua("return vim.api.nvim_get_current_buf()") == first)
    nvim.wait_screen("see src/parser.lua:3")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1, "each takes the window of the one before"
    nvim.cmd("new")
    nvim.cmd(f"Claude transcript {other.id}")
    nvim.wait_screen("Another one")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2
    press(nvim, "q", "vim.bo.filetype ~= 'claude-transcript'")


def test_edit_reads_it_again_and_a_wiped_buffer_is_closed_and_opens_again(start_nvim, script):
    nvim = show(start_nvim, script)
    wait_named(nvim)
    before = nvim.lines()
    nvim.cmd("edit")
    nvim.wait(lambda: nvim.lines() == before)
    wait_rendered(nvim)
    go_to(nvim, "  Bash make test")
    assert nvim.lua("return vim.fn.foldclosed('.')") > 0
    nvim.lua("""
      closed = 0
      local view = Ide.open_views.of_buffer(vim.api.nvim_get_current_buf())
      local close = view.source.close
      view.source.close = function(self) closed = closed + 1 close(self) end
    """)
    nvim.cmd("bwipeout")
    assert nvim.lua("return closed") == 1
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait_screen("see src/parser.lua:3")


@pytest.mark.every_nvim
def test_a_deleted_buffer_comes_back_with_its_keys(start_nvim, script):
    nvim = show(start_nvim, script)
    wait_named(nvim)
    before = nvim.lines()
    nvim.cmd("bdelete")
    script.prompt("While it was away")
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait(lambda: nvim.lines() == [*before, "You", "While it was away", ""])
    press(nvim, "q", "vim.bo.filetype == ''")


@pytest.mark.slow
@pytest.mark.every_nvim
def test_the_buffer_has_the_title_for_a_name_and_comes_back_with_a_saved_session(start_nvim, script):
    nvim = show(start_nvim, script)
    wait_named(nvim)
    assert nvim.lua("return vim.fn.bufname()") == "Claude 11111111/Fix the parser"
    assert nvim.lua("return #vim.fn.getbufinfo()") == 1, "the name of before is no buffer"
    before = nvim.lines()
    other = start_nvim(env=ENV)
    other.cmd(f"edit claude://transcript/{script.id}")
    other.wait(lambda: other.lines() == before)
    other.wait_screen("31.3k tokens in context")
    assert other.lua("return { vim.bo.filetype, vim.wo.foldmethod }") == ["claude-transcript", "manual"]
    saved = str(other.project / "Session.vim")
    other.cmd(f"mksession {saved}")
    third = start_nvim(env=ENV, args=["-S", saved])
    third.wait(lambda: third.lines() == before)
    third.wait_screen("31.3k tokens in context")
    names = "return vim.tbl_map(vim.fn.bufname, vim.api.nvim_list_bufs())"
    third.wait(lambda: third.lua(names) == ["Claude 11111111/Fix the parser"], what="that name and no other")


def test_keys_are_those_of_the_option_and_each_is_a_plug_and_listed(start_nvim, script):
    nvim = show(
        start_nvim, script, opts={"transcript": {"keymaps": {"next_prompt": ["}", "<Tab>"], "previous_prompt": False}}}
    )
    maps = nvim.lua("""
      local maps = {}
      for _, map in ipairs(vim.api.nvim_buf_get_keymap(0, "n")) do maps[map.lhs] = map.desc end
      return { maps["}"], maps["<Tab>"], maps["]]"] or "none", maps["[["] or "none", maps["<Plug>(claude-transcript-previous-prompt)"] }
    """)
    assert maps == ["Claude Code: go to the next prompt"] * 2 + [
        "none",
        "none",
        "Claude Code: go to the previous prompt",
    ]
    nvim.keys("gg")
    press(nvim, "}", "vim.fn.line('.') > 1")
    nvim.keys("g?")
    nvim.wait_screen("} <Tab>")
    nvim.wait_screen("open the file of the call, or under the cursor")
    press(nvim, "q", "#vim.api.nvim_list_wins() == 1 and vim.bo.filetype == 'claude-transcript'")


def test_code_is_yanked_without_what_is_around_it(start_nvim, script):
    nvim = show(start_nvim, script)
    for at, code in (
        ("  return n + 1", "local function parse(n)\n  return n + 1 -- one too many\nend\n"),
        ("  Bash make test", "make test\n"),
        ("    +for i", "line 9\nfor i = 0, n - 1 do\nend\n"),
    ):
        go_to(nvim, at)
        press(nvim, "gy", lambda code=code: nvim.lua("return vim.fn.getreg('\"')") == code)
    go_to(nvim, "Done: the loop")
    press(nvim, "gy", "notices[#notices] == 'There is no code here.'")


def test_what_is_yanked_before_a_long_command_is_read_stays(start_nvim, empty):
    command = "".join(f"echo {number}\n" for number in range(40_000))
    empty.prompt("Go on")
    empty.run("Bash", "ok", command=command)
    nvim = show(start_nvim, empty)
    nvim.cmd("setlocal foldlevel=99")  # an operator takes all lines of a closed fold
    go_to(nvim, "  Bash echo 0")
    nvim.wait("vim.fn.foldclosed('.') == -1", what="the fold to open")
    read = """
      local source = Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()).source
      local messages, go_on = source.messages, nil
      source.messages = function(self, ids, most, done)
        messages(self, ids, most, function(...)
          local found = { ... }
          go_on = function() done(unpack(found)) end
        end)
      end
      vim.fn.setreg('"', "before")
      vim.api.nvim_feedkeys("gy", "xt", false)
      assert(vim.wait(60000, function() return go_on ~= nil end, 1))
      source.messages = messages
      vim.cmd([[normal! %s]])
      go_on()
      return vim.fn.getreg('"')
    """
    assert nvim.lua(read % "0yl", timeout=90) == " ", "what is yanked before the command is read stays"
    go_to(nvim, "  Bash echo 0")
    assert nvim.lua(read % '"_yl', timeout=90) == command, "that is in no register"


def test_keys_act_on_the_session(start_nvim, script):
    nvim = show(start_nvim, script)
    nvim.lua("""
      acted = {}
      Ide.session_actions.run = function(name, item) acted[#acted + 1] = { name, item.summary.id } end
    """)
    for number, (key, action) in enumerate([("R", "resume"), ("gC", "fork"), ("X", "export")], 1):
        press(nvim, key, f"#acted == {number}")
        assert nvim.lua("return acted[#acted]") == [action, script.id]


@pytest.mark.slow
def test_without_an_id_that_of_the_terminal_comes_before_another_clients(start_nvim, connect, script, sessions):
    """Even if the other one was connected first and written to last."""
    other = Transcript(script.path.parents[3], script.cwd, "99999999-2222-4333-8444-555555555555")
    other.prompt("Of another client")
    nvim = start_nvim(env=ENV, init_lua=NOTICES, opts={"terminal": {"command": ["sh", "-c", "exec sleep 600"]}})
    sessions.record(os.getpid(), other.id, "idle", script.cwd)
    connect(nvim)
    nvim.wait("(Ide.sessions.of_client(1) or {}).id ~= nil", what="the client's session")
    nvim.cmd("Claude transcript")
    nvim.wait_screen("Of another client")
    nvim.cmd("Claude")
    pid = nvim.wait("return vim.b[Ide.terminal.bufnr()].terminal_job_pid")
    sessions.record(pid, script.id, "idle", script.cwd)
    nvim.wait("(Ide.terminal.session() or {}).id ~= nil", what="the terminal's session")
    nvim.wait(lambda: nvim.mode() == "t")
    nvim.cmd("Claude transcript")
    nvim.wait_screen("I'll look at the parser first")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2, "it takes the window of the other transcript"
    nvim.wait("vim.bo.filetype == 'claude-transcript' and vim.fn.mode() == 'n'", what="the focus, as in each mode")


def test_what_cannot_be_shown_is_said(start_nvim, tmp_path):
    nvim = start_nvim(env=ENV, init_lua=NOTICES)
    nvim.cmd("Claude transcript 12345678")
    nvim.wait("notices[1] == 'No session matches 12345678.'")
    nvim.cmd("Claude transcript")
    nvim.wait("notices[2] and notices[2]:find('no sessions yet')")
    nvim.cmd("Claude transcript a b")
    nvim.wait("notices[3] and notices[3]:find('one session')")


def test_the_ids_are_completed_newest_first_and_without_one_that_is_shown(start_nvim, script, tmp_path):
    other = Transcript(tmp_path / "home", tmp_path / "project", "99999999-2222-4333-8444-555555555555")
    other.prompt("Another one")
    os.utime(script.path, (1_700_000_000, 1_700_000_000))
    nvim = start_nvim(env=ENV)
    completed = "vim.fn.getcompletion('Claude transcript ', 'cmdline')"
    # Completion does not wait long for the list: once it came in time, it may be late the next time.
    nvim.wait(lambda: nvim.lua(f"return {completed}") == [other.id, script.id], what="both, the newest first")
    nvim.cmd("Claude transcript")
    nvim.wait_screen("Another one")


@pytest.mark.every_nvim
def test_edits_have_the_two_colours_of_the_unified_layout(start_nvim, script):
    nvim = show(start_nvim, script)
    groups = """
      local row = vim.fn.search(..., "cnw") - 1
      return vim.iter(vim.inspect_pos(0, row, 4, { treesitter = false, syntax = false, semantic_tokens = false }).extmarks)
        :map(function(mark) return vim.api.nvim_get_hl(0, { name = mark.opts.hl_group }).link end):totable()
    """
    nvim.wait(lambda: "ClaudeDiffRemovedLine" in nvim.lua(groups, "^    -for i"), what="the colour of the old line")
    nvim.wait(lambda: "ClaudeDiffAddedLine" in nvim.lua(groups, "^    +for i"), what="the colour of the new line")


@pytest.mark.every_nvim
def test_markdown_is_coloured_and_one_message_does_not_spill_into_the_next(start_nvim, empty):
    empty.prompt("an open fence:\n```lua\nlocal x = 1")
    empty.reply("# A heading\n\nsome **bold** and `code`")
    nvim = show(start_nvim, empty)
    groups = """
      local row = vim.fn.search(..., "cnw") - 1
      local found = {}
      for _, mark in ipairs(vim.inspect_pos(0, row, 0, { treesitter = false, syntax = false, semantic_tokens = false }).extmarks) do
        found[#found + 1] = mark.opts.hl_group
      end
      return found
    """
    nvim.wait(lambda: any("keyword" in group for group in nvim.lua(groups, "^local x")), what="the code to be coloured")
    nvim.wait(lambda: any("heading" in group for group in nvim.lua(groups, "^# A heading")), what="the heading")
    nvim.wait_screen("some bold and code")
