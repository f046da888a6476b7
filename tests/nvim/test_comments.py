"""Comments on lines of files: written, kept, shown beside their lines, followed, answered by agents."""

import os
import re
import signal

import pytest
from review_steps import review, turn

from harness.client import RpcError, ToolError

TEXT = "one\ntwo\nthree\nfour\nfive\n"
FILES = {"a.txt": TEXT, ".git/HEAD": "ref: refs/heads/main\n"}
THREADS = "Ide.comments_store.threads(Ide.comments_store.root_of())"
PLACED = """
local buf = vim.fn.bufnr("a.txt")
local namespace = vim.api.nvim_get_namespaces()["claude-ide.comments"]
local found = {}
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
  if mark[4].virt_lines then
    local words = {}
    for _, line in ipairs(mark[4].virt_lines) do
      words[#words + 1] = table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line))
    end
    found[#found + 1] = { mark[2] + 1, words }
  end
end
return found
"""


# Counts the pauses after which a comment is kept.
PAUSES = """
pauses = 0
local timer = Ide.timer
local new = timer.new
timer.new = function(doing)
  local one = new(doing)
  if doing == "keep what is typed in a comment" then
    local start = one.start
    function one:start(ms, fn)
      start(self, ms, function()
        fn()
        pauses = pauses + 1
      end)
    end
  end
  return one
end
"""


def threads(nvim):
    return nvim.lua(f"return {THREADS}")


def start(start_nvim, **more):
    return start_nvim(args=["a.txt"], files=FILES, notices=True, **more)


def begin(nvim, command, words):
    """Types a command that begins a comment, and words into it."""
    nvim.keys(command)
    nvim.wait_kind("comment")
    nvim.wait("vim.fn.mode() == 'i'", what="Insert mode")
    nvim.keys(words)


def write(nvim, lnum, words):
    """Writes a comment on a line of the current window."""
    begin(nvim, f"{lnum}G:Claude comment<CR>", words + "<Esc>ZZ")
    nvim.wait("(vim.b.claude_ide or {}).kind ~= 'comment'", what="the comment to be closed")


def mark_sent(nvim, id, words):
    """Claude has got these words of a comment."""
    sent = [{"id": id, "words": words}]
    nvim.lua("local s = Ide.comments_store assert(s.change(s.root_of(), { sent = ... }))", sent)


def shown(nvim):
    """The lines with comments, and what stands below them."""
    return [(lnum, "\n".join(lines)) for lnum, lines in nvim.lua(PLACED)]


def wait_shown(nvim, *wanted):
    nvim.wait(lambda: [(lnum, words) for lnum, words in shown(nvim)] == list(wanted), what=f"{wanted}")


@pytest.mark.every_nvim
def test_a_comment_stands_below_its_line_and_is_there_in_the_next_neovim(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "why not 2?")
    nvim.wait_screen(re.compile(r"▎ two *\n +▎you: why not 2\? \(not sent\)"))
    assert nvim.lua("return vim.fn.getline(1, '$')") == TEXT.splitlines()
    assert nvim.lua("return vim.api.nvim_get_mode().mode") == "n"
    nvim.quit()
    again = start(start_nvim)
    again.lua("Ide.comments.attach()")
    again.wait_screen("▎you: why not 2? (not sent)")
    write(again, 2, "<C-o>0And ")
    again.wait_screen("▎you: And why not 2? (not sent)")
    write(again, 2, "<C-u>")
    again.wait(lambda: threads(again) == [] and shown(again) == [], what="the empty comment to be gone")


@pytest.mark.every_nvim
def test_what_is_typed_is_there_after_a_crash(start_nvim):
    nvim = start(start_nvim)
    begin(nvim, "2G:Claude comment<CR>", "half a com")
    nvim.wait(f"({THREADS}[1] or {{ entries = {{ {{ words = '' }} }} }}).entries[1].words == 'half a com'")
    os.kill(nvim.server_pid, signal.SIGKILL)
    nvim.wait(lambda: not nvim.running(), what="it to be dead")
    again = start(start_nvim)
    assert [thread["entries"][0]["words"] for thread in threads(again)] == ["half a com"]


@pytest.mark.parametrize("quits", [":qa!<CR>", ":wqa<CR>", ":only<CR>:qa!<CR>", "ZQ:qa!<CR>"])
def test_no_way_to_quit_loses_what_was_typed(start_nvim, quits):
    nvim = start(start_nvim)
    begin(nvim, "2G:Claude comment<CR>", "all of it<Esc>" + quits)
    nvim.wait(lambda: not nvim.running(), what="Neovim to end")
    assert nvim.terminal.exit_code() == 0
    again = start(start_nvim)
    assert [thread["entries"][0]["words"] for thread in threads(again)] == ["all of it"]


@pytest.mark.every_nvim
def test_a_comment_follows_its_lines_and_says_when_they_change_or_go(start_nvim):
    nvim = start(start_nvim)
    begin(nvim, "2GVj:Claude comment<CR>", "both<Esc>ZZ")
    wait_shown(nvim, (3, "▎you: both (not sent)"))
    nvim.keys("ggOzero<Esc>")
    wait_shown(nvim, (4, "▎you: both (not sent)"))
    nvim.keys("3GA!<Esc>")
    wait_shown(nvim, (4, "▎you: both (not sent, changed since)"))
    nvim.keys("u")
    wait_shown(nvim, (4, "▎you: both (not sent)"))
    nvim.keys("3Gdj")
    wait_shown(nvim, (3, "▎you: both (not sent, its lines are gone)"))
    nvim.keys("u:w<CR>")
    wait_shown(nvim, (4, "▎you: both (not sent)"))
    nvim.keys("3G>j")
    wait_shown(nvim, (4, "▎you: both (not sent, changed since)"))


def test_a_file_that_an_agent_writes_takes_its_comments_along(start_nvim):
    nvim = start(start_nvim)
    nvim.start_server()
    write(nvim, 4, "about four")
    nvim.project.joinpath("a.txt").write_text("new\n" + TEXT.replace("two\n", ""))
    nvim.wait(lambda: nvim.lines()[0] == "new", what="the file to be reloaded")
    wait_shown(nvim, (4, "▎you: about four (not sent)"))
    nvim.project.joinpath("a.txt").write_text("new\none\n")
    wait_shown(nvim, (2, "▎you: about four (not sent, its lines are gone)"))
    nvim.keys("gC")  # no key of ours in a user's file
    nvim.cmd("2")
    nvim.lua("assert(Ide.comments.toggle())")
    nvim.wait_screen("▎> four")


def test_of_equal_lines_the_one_is_followed_that_the_cursor_was_on(start_nvim):
    nvim = start_nvim(args=["a.txt"], files=FILES | {"a.txt": "x\nx\nx\n"}, notices=True)
    write(nvim, 2, "this")
    nvim.keys("ggyyP:w<CR>")
    wait_shown(nvim, (3, "▎you: this (not sent)"))
    nvim.keys("Gyyp:w<CR>")
    wait_shown(nvim, (3, "▎you: this (not sent)"))


@pytest.mark.every_nvim
def test_a_deleted_line_is_not_taken_for_one_that_looks_alike(start_nvim):
    twins = "f(\nx\n)\nmid\nf(\nx\n)\nend\n"
    nvim = start_nvim(args=["a.txt"], files=FILES | {"a.txt": twins}, notices=True)
    write(nvim, 1, "one")
    write(nvim, 5, "two")
    both = "▎you: one (not sent, its lines are gone)\n▎you: two (not sent)"
    nvim.keys("gg4dd")
    wait_shown(nvim, (1, both))
    nvim.keys("Onew<Esc>:w<CR>")
    wait_shown(nvim, (2, both))
    nvim.keys(":e<CR>:1d<CR>")
    wait_shown(nvim, (1, both))
    nvim.keys(":%d<CR>:0r !printf 'f(\\nx\\n)\\nmid\\nf(\\nx\\n)\\nend\\n'<CR>Gdd")
    wait_shown(nvim, (1, "▎you: one (not sent)"), (5, "▎you: two (not sent)"))
    nvim.keys("gg4dd")
    wait_shown(nvim, (1, both))
    nvim.keys("u")
    wait_shown(nvim, (1, "▎you: one (not sent)"), (5, "▎you: two (not sent)"))


@pytest.mark.every_nvim
def test_the_first_comment_of_a_file_is_cut_beside_its_sign(start_nvim):
    nvim = start(start_nvim)
    nvim.terminal.resize(20, 60)
    nvim.wait("vim.o.columns == 60")
    write(nvim, 2, "why not two? " * 6)
    nvim.wait_screen(re.compile(r"▎you: why not two\?.*… \(not sent\)"))
    nvim.cmd("set number")
    nvim.wait_screen(re.compile(r"▎you: why not two\?.*… \(not sent\)"))


def test_what_stands_below_the_last_line_in_the_window_comes_into_sight(start_nvim):
    many = "".join(f"line {lnum}\n" for lnum in range(1, 101))
    nvim = start_nvim(args=["many.txt"], files={"many.txt": many, ".git/HEAD": "ref: refs/heads/main\n"})
    nvim.cmd("setlocal winbar=many")
    last = nvim.lua("vim.cmd('normal! 50GztL') return vim.fn.line('.')")
    write(nvim, last, "first<CR>second<CR>third")
    nvim.wait_screen("▎you: first second third (not sent)")
    nvim.lua("Ide.comments.toggle()")
    nvim.wait_screen("▎     third")
    assert nvim.lua("return { vim.fn.line('.'), vim.fn.line('w0') }") == [last, 54]
    nvim.cmd("normal! 100G")  # nothing is below, and nothing moves
    top = nvim.lua("return vim.fn.line('w0')")
    nvim.lua("Ide.comments.toggle()")
    assert nvim.lua("return vim.fn.line('w0')") == top


MANY = "".join(f"line {lnum}\n" for lnum in range(1, 101))
# Rows of the window of the comment on the screen, and those of the lines that it is about.
ROWS = """
local first, last = ...
local win = vim.api.nvim_get_current_win()
local file = vim.fn.win_findbuf(vim.fn.bufnr("many.txt"))[1]
vim.cmd("redraw")
local top, height = vim.api.nvim_win_get_position(win)[1], vim.api.nvim_win_get_height(win)
return { top + 1, top + 2 + height, vim.fn.screenpos(file, first, 1).row, vim.fn.screenpos(file, last, 999).row }
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("size", [(24, 80), (12, 40)])
@pytest.mark.parametrize(
    ("keys", "first", "last"),
    [
        ("G:", 100, 100),
        ("L:", None, None),
        (":30,33", 30, 33),
        ("70Gzb:61,70", 61, 70),
        (":setlocal winbar=many<CR>GVkk:", 98, 100),
        ("50GLi" + "long " * 20 + "<Esc>:", None, None),
    ],
)
def test_the_window_of_a_comment_covers_none_of_its_lines(start_nvim, keys, first, last, size):
    nvim = start_nvim(args=["many.txt"], files={"many.txt": MANY, ".git/HEAD": "ref: refs/heads/main\n"})
    nvim.terminal.resize(*size)
    nvim.wait(lambda: nvim.lua("return { vim.o.lines, vim.o.columns }") == list(size), what="the size")
    nvim.lua(PAUSES)
    for words in ("one", "<CR>more" * 14):
        begin(nvim, f"{keys}Claude comment<CR>" if words == "one" else "", words)
        nvim.wait(f"pauses > 0 and #vim.fn.getline('.') == {3 if words == 'one' else 4}", what="the comment to be kept")
        if last is None:
            first = last = nvim.lua("return vim.fn.line('.', vim.fn.win_findbuf(vim.fn.bufnr('many.txt'))[1])")
        top, bottom, begins, ends = nvim.lua(ROWS, first, last)
        if last - first > size[0] - 8:
            begins = ends  # there is no room for all of the lines and the window
        assert 0 < begins <= ends < top or 0 < top <= bottom < begins, (words, top, bottom, begins, ends)
        assert bottom < size[0]
        nvim.lua("pauses = 0")


def test_a_short_text_leaves_its_room_to_the_answer(start_nvim, connect_agent):
    nvim = start(start_nvim)
    agent = connect_agent(nvim)
    write(nvim, 2, "why?")
    mark_sent(nvim, 1, "why?")
    answer = "Because " + "it is so " * 9
    agent.call("comment_reply", id=1, text=answer)
    nvim.wait_screen(f"▎you: why? · Claude: {answer}".rstrip())


@pytest.mark.every_nvim
def test_a_repeat_comments_on_as_many_lines_and_a_count_says_how_many(start_nvim):
    nvim = start(start_nvim)
    nvim.lua("vim.keymap.set('n', 'gz', '<Plug>(claude-comment)')")
    nvim.lua("vim.keymap.set('n', 'gl', '<Plug>(claude-comment-line)')")
    for count, keys in enumerate(("gggzj", "jj.", "3gl", "Gk9gl"), 1):
        begin(nvim, keys, "w<Esc>ZZ")
        nvim.wait(f"#{THREADS} == {count} and (vim.b.claude_ide or {{}}).kind ~= 'comment'", what="the comment")
    lines = [thread["anchor"]["lines"] for thread in threads(nvim)]
    assert lines == [["one", "two"], ["three", "four"], ["three", "four", "five"], ["four", "five"]]
    assert nvim.lines() == TEXT.splitlines()


def test_a_comment_of_a_range_is_on_that_line_wherever_the_cursor_is(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "why?")
    wait_shown(nvim, (2, "▎you: why? (not sent)"))
    begin(nvim, "2G:4Claude comment<CR>", "rename<Esc>ZZ")
    wait_shown(nvim, (2, "▎you: why? (not sent)"), (4, "▎you: rename (not sent)"))
    begin(nvim, "5G:2Claude comment<CR>", " And how?<Esc>ZZ")
    wait_shown(nvim, (2, "▎you: why? And how? (not sent)"), (4, "▎you: rename (not sent)"))


@pytest.mark.every_nvim
def test_files_are_completed_in_a_comment(start_nvim):
    nvim = start_nvim(args=["a.txt"], files=FILES | {"helper.txt": ""}, notices=True)
    begin(nvim, "2G:Claude comment<CR>", "use @help")
    nvim.wait("vim.fn.pumvisible() == 1", what="the file to be offered")
    nvim.keys("<C-n><C-y> here<Esc>ZZ")
    wait_shown(nvim, (2, "▎you: use @helper.txt here (not sent)"))


@pytest.mark.every_nvim
def test_a_comment_on_the_whole_file_stands_below_its_first_line(start_nvim, connect_agent):
    nvim = start(start_nvim)
    agent = connect_agent(nvim)
    begin(nvim, "4G:Claude comment file<CR>", "too long?<Esc>ZZ")
    wait_shown(nvim, (1, "▎you: too long? (on the file, not sent)"))
    write(nvim, 1, "about one")
    wait_shown(nvim, (1, "▎you: too long? (on the file, not sent)\n▎you: about one (not sent)"))
    mark_sent(nvim, 1, "too long?")
    agent.call("comment_reply", id=1, text="No.\nIt is not.", resolved=True)
    nvim.cmd("Claude comments resolved")
    nvim.wait_notice("There are no")
    nvim.lua("local s = Ide.comments_store assert(s.change(s.root_of(), ...))", RESOLVED)
    wait_shown(nvim, (1, "▎you: about one (not sent)"))
    nvim.answer(1)
    nvim.cmd("4 | Claude comments resolved")
    unfolded = "▎on the file, resolved\n▎you: too long?\n▎Claude: No.\n▎        It is not.\n▎you: about one (not sent)"
    wait_shown(nvim, (1, unfolded))
    assert nvim.lua("return { vim.fn.line('.'), #vim.api.nvim_list_wins() }") == [1, 1]


@pytest.mark.every_nvim
def test_a_closed_fold_says_how_many_comments_are_in_it(start_nvim):
    nvim = start(start_nvim)
    for words, lnum in enumerate((3, 3, 5)):
        here = {"path": str(nvim.project / "a.txt"), "first": lnum, "last": lnum, "words": f"w{words}"}
        nvim.lua("assert(Ide.comments.add_all({ ... }) == 1)", here)
    nvim.cmd("2,4fold | vsplit | wincmd =")
    nvim.wait_screen(re.compile(r"3 lines: two.*▎2 comments .*3 lines: two.*▎2 comments"))
    nvim.keys("2Gzo")
    nvim.wait_screen(re.compile(r"two .*3 lines: two.*▎2 comments"))
    nvim.keys("<C-w>wzR")
    nvim.wait(lambda: "2 comments" not in "\n".join(nvim.screen()), what="no fold to be closed")
    nvim.cmd("normal! zE")
    nvim.cmd("4,5fold")
    nvim.wait_screen("▎1 comment")


@pytest.mark.every_nvim
def test_a_comment_on_everything_opens_with_its_answer(start_nvim, connect_agent):
    nvim = start(start_nvim)
    agent = connect_agent(nvim)
    begin(nvim, ":Claude comment all<CR>", "why?<Esc>ZZ")
    nvim.wait(f"#{THREADS} == 1 and (vim.b.claude_ide or {{}}).kind ~= 'comment'", what="the comment")
    mark_sent(nvim, 1, "why?")
    agent.call("comment_reply", id=1, text="Because [of](http://it).\nReally.")
    nvim.answer(1)
    nvim.keys(":Claude comments<CR>")
    nvim.wait_kind("answer")
    assert nvim.lines() == ["you: why?", "", "Claude: Because [of](http://it).", "Really."]
    begin(nvim, "q:Claude comment all<CR>", "I see.<Esc>ZZ")
    nvim.wait("(vim.b.claude_ide or {}).kind ~= 'comment'", what="the reply to be closed")
    nvim.answer(1)
    nvim.keys(":Claude comments<CR>")
    nvim.wait_kind("comment")
    assert nvim.lines() == ["I see."]


RESOLVED = {"resolve": {"id": 1, "resolved": True}}


@pytest.mark.every_nvim
def test_of_several_comments_on_a_line_the_user_chooses(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "first")
    nvim.lua(
        "assert(Ide.comments.add_all({ ... }) == 1)",
        {"path": str(nvim.project / "a.txt"), "first": 2, "last": 2, "words": "second"},
    )
    wait_shown(nvim, (2, "▎you: first (not sent)\n▎you: second (not sent)"))
    nvim.answer(1)
    write(nvim, 2, "!")
    wait_shown(nvim, (2, "▎you: first! (not sent)\n▎you: second (not sent)"))
    nvim.lua("assert(Ide.comments.toggle())")
    assert shown(nvim) == [(2, "▎not sent\n▎you: first!\n▎not sent\n▎you: second")]
    nvim.answer(1, 2)
    nvim.lua("Ide.comments.run('resolve')")
    nvim.wait_notice("This comment is not sent. Without words, it is removed.")
    mark_sent(nvim, 2, "second")
    nvim.lua("Ide.comments.run('resolve')")
    wait_shown(nvim, (2, "▎not sent\n▎you: first!"))


@pytest.mark.every_nvim
def test_two_neovims_of_a_project_agree(start_nvim):
    one = start(start_nvim)
    other = start(start_nvim)
    other.lua("Ide.comments.attach()")
    write(one, 2, "from the first")
    write(one, 3, "<Esc>")
    other.lua(f"return {THREADS}")
    write(other, 4, "from the second")
    wait_shown(other, (2, "▎you: from the first (not sent)"), (4, "▎you: from the second (not sent)"))
    wait_shown(one, (2, "▎you: from the first (not sent)"), (4, "▎you: from the second (not sent)"))


def test_two_neovims_do_not_write_over_each_others_words(start_nvim):
    one, other = start(start_nvim), start(start_nvim)
    write(one, 2, "first")
    for nvim in (one, other):
        nvim.keep_notices()
        nvim.lua(f"return {THREADS}")
        nvim.keys("2G:Claude comment<CR>")
        nvim.wait("vim.fn.mode() == 'i' and vim.api.nvim_get_current_line() == 'first'", what="the comment")
    one.keys(" of one<Esc>ZZ")
    one.wait(f"{THREADS}[1].draft == 'first of one'")
    other.keys(" of the other<Esc>ZZ")
    other.wait_notice("another Neovim has changed this comment")
    other.wait_notice("its words are in buffer")
    kept = "return vim.tbl_map(function(b) return b.bufnr end, vim.fn.getbufinfo({ bufmodified = 1 }))"
    (buf,) = other.lua(kept)
    assert other.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, false)", buf) == ["first of the other"]
    assert one.lua(f"return {THREADS}[1].draft") == other.lua(f"return {THREADS}[1].draft") == "first of one"


def test_a_neovim_that_was_there_before_the_first_comment_shows_it(start_nvim):
    other = start(start_nvim)
    other.lua("Ide.comments.attach()")
    one = start(start_nvim)
    write(one, 2, "from the first")
    other.cmd("edit b.txt | edit a.txt")
    wait_shown(other, (2, "▎you: from the first (not sent)"))
    write(one, 4, "more")
    wait_shown(other, (2, "▎you: from the first (not sent)"), (4, "▎you: more (not sent)"))


def test_bytes_that_are_no_text_are_no_reason_to_lose_a_comment(start_nvim):
    nvim = start(start_nvim)
    nvim.keys("2G:Claude comment<CR>")
    nvim.wait("vim.fn.mode() == 'i'", what="Insert mode")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'before \\xff after' })")
    nvim.keys("<Esc>ZZ")
    wait_shown(nvim, (2, "▎you: before \ufffd after (not sent)"))


def test_comments_are_sent_once_and_shown_in_one_preview(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "hello")
    nvim.lua("""
      local terminals = Ide.terminal
      terminals.session = function() return { id = "s" } end
      sent = {}
      Ide.outbox_route.of = function() return { kind = "prompt" } end
      Ide.outbox.send = function(message) sent[#sent + 1] = message.text end
    """)
    nvim.keys(":Claude comments send<CR>")
    nvim.wait_kind("round")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'mine' })")
    nvim.cmd("Claude comments send")
    assert nvim.lines()[0] == "mine" and nvim.lua("return #vim.api.nvim_list_wins()") == 2
    mark_sent(nvim, 1, "hello")
    nvim.keys("ZZ", counts=True)
    nvim.wait_notice("Comment 1 does not wait any more")
    assert nvim.lua("return #sent") == 0


@pytest.mark.every_nvim
@pytest.mark.parametrize("obstacle", ["nobody", "answered elsewhere"])
def test_an_edited_preview_that_is_not_sent_opens_again(start_nvim, obstacle):
    nvim = start(start_nvim)
    if obstacle != "nobody":
        nvim.lua(OUTBOX)
    write(nvim, 2, "hello")
    to_send(nvim)
    if obstacle != "nobody":
        mark_sent(nvim, 1, "hello")
    nvim.keys("Gomine<Esc>:wq<CR>", counts=True)
    nvim.wait_notice("Not sent: " if obstacle == "nobody" else "Comment 1 does not wait any more")
    nvim.wait_kind("round")
    assert nvim.lines()[-2:] == ["hello", "mine"]
    nvim.cmd("Claude comments send")
    assert nvim.lines()[-1] == "mine" and nvim.lua("return #vim.api.nvim_list_wins()") == 2
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the preview to be closed")


@pytest.mark.every_nvim
@pytest.mark.parametrize("end", ["q", ":q!<CR>", ":bdelete!<CR>", "<C-w>c"])
def test_an_edited_message_that_is_put_off_is_kept(start_nvim, end):
    nvim = start(start_nvim)
    write(nvim, 2, "hello")
    to_send(nvim)
    nvim.keys(f"Gomine<Esc>{end}")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the preview to be closed")
    to_send(nvim)
    assert nvim.lines()[-2:] == ["hello", "mine"]
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the preview to be closed")
    write(nvim, 4, "more")
    nvim.keep_notices()
    to_send(nvim)
    nvim.wait_notice("The comments have changed since you edited this message")
    assert nvim.lines()[-1] == "more" and nvim.lua("return vim.fn.getreg('\"')").endswith("hello\nmine")


OUTBOX = """
Ide.terminal.session = function() return { id = "s" } end
Ide.outbox_route.of = function() return { kind = "prompt" } end
sent = {}
Ide.outbox.send = function(message)
  sent[#sent + 1] = message.text
  message.done()
end
"""
BEGINNING = (
    " on the code. Answer each with the tool comment_reply and its number, and say there whether it is done.\n\n"
)


@pytest.mark.every_nvim
def test_what_a_comment_names_with_a_hash_is_completed_and_sent_along(start_nvim):
    text = "one\n#lines:b.txt:1-2\nthree\n"
    nvim = start_nvim(args=["a.txt"], files=FILES | {"a.txt": text, "b.txt": "alpha\nbeta\ngamma\n"}, notices=True)
    nvim.lua("""
      Ide.terminal.session = function() return { id = "s" } end
      Ide.outbox_route.of = function() return { kind = "here" } end
      Ide.outbox_transport.here = { offer = function(entry) sent = entry.text return "sent" end }
    """)
    begin(nvim, "2G:Claude comment<CR>", "as in #li")
    nvim.wait("vim.fn.pumvisible() == 1", what="the kinds to be offered")
    nvim.keys("<C-n><C-y>b.")
    nvim.wait("vim.fn.pumvisible() == 1 and vim.fn.complete_info().items[1].word == 'b.txt:'", what="the file")
    nvim.keys("<C-n><C-y>2-3<Esc>ZZ")
    wait_shown(nvim, (2, "▎you: as in #lines:b.txt:2-3 (not sent)"))
    to_send(nvim)
    nvim.keys("ZZ", counts=True)
    nvim.wait_notice("Sent 1 comment to Claude.")
    message, read = nvim.lua("return sent").split("\n\n<ide_selection", 1)
    assert message == "A comment" + BEGINNING + "[1] a.txt:2\n> #lines:b.txt:1-2\nas in #lines:b.txt:2-3"
    assert "beta" in read and "gamma" in read and "alpha" not in read and read.count("ide_selection") == 1


def to_send(nvim):
    nvim.keys(":Claude comments send<CR>")
    nvim.wait_kind("round")


@pytest.mark.every_nvim
def test_the_message_to_send_is_seen_whole_where_its_lines_are_broken(start_nvim):
    nvim = start(start_nvim)
    nvim.terminal.resize(24, 80)
    nvim.wait("vim.o.columns == 80")
    write(nvim, 2, "the end of the comment")
    to_send(nvim)
    nvim.wait_screen("the end of the comment")
    hidden = "return vim.api.nvim_win_text_height(0, {}).all - vim.api.nvim_win_get_height(0)"
    assert nvim.lua(hidden) == -1, "there is room for another line"


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", ["ZZ", ":w<CR>", ":wq<CR>", "Gox<Esc>:x<CR>"])
def test_each_way_to_write_the_preview_sends_it(start_nvim, keys):
    nvim = start(start_nvim)
    nvim.lua(OUTBOX)
    write(nvim, 2, "first")
    to_send(nvim)
    nvim.keys(keys, counts=True)
    nvim.wait_notice("Sent 1 comment to Claude.")
    more = "\nx" if "x<Esc>" in keys else ""
    assert nvim.lua("return sent") == ["A comment" + BEGINNING + "[1] a.txt:2\n> two\nfirst" + more]
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the preview to be closed")
    wait_shown(nvim, (2, "▎you: first (no answer yet)"))


def test_a_comment_that_is_removed_from_the_preview_waits_whatever_another_says(start_nvim):
    nvim = start(start_nvim)
    nvim.lua(OUTBOX)
    write(nvim, 2, "see<CR>[2] in the list")
    write(nvim, 4, "other")
    to_send(nvim)
    nvim.keys("/^.2. a.txt<CR>dGZZ", counts=True)
    nvim.wait_notice("Sent 1 comment to Claude.")
    assert nvim.lua("return sent") == ["A comment" + BEGINNING + "[1] a.txt:2\n> two\nsee\n [2] in the list"]
    assert [thread["state"] for thread in threads(nvim)] == ["sent", "draft"]


def test_a_preview_sends_no_words_that_the_user_has_changed_since(start_nvim):
    nvim = start(start_nvim)
    nvim.lua(OUTBOX)
    write(nvim, 2, "first")
    to_send(nvim)
    nvim.keys("<C-w>w")
    write(nvim, 2, " again")
    write(nvim, 4, "third")
    to_send(nvim)
    shown = "\n".join(nvim.lines())
    assert "first again" in shown and "third" in shown, "nothing was edited in it, so it is made anew"
    nvim.keys("Gox<Esc><C-w>w")
    write(nvim, 4, "!")
    to_send(nvim)
    nvim.keys("ZZ", counts=True)
    nvim.wait_notice("Comment 2 has other words now: close this with `q`, and send again.")
    assert nvim.lua("return sent") == []


def test_a_round_on_what_another_session_changed_goes_where_the_user_says(start_nvim):
    nvim = start(start_nvim)
    nvim.lua("""
      Ide.comments_store.session_of = function() return "other" end
      Ide.terminal.session = function() return { id = "current" } end
      Ide.outbox_route.of = function(id) return { kind = "terminal", live = { id = id, name = "The " .. id } } end
      sent = {}
      Ide.outbox.send = function(message) sent[#sent + 1] = message.session end
    """)
    write(nvim, 2, "hello")
    nvim.keys(":Claude comments send<CR>")
    nvim.wait_kind("round")
    nvim.keys("ZZ", counts=True)
    nvim.wait_screen("“The other” (other, where the comments belong)")
    nvim.wait_screen("“The current” (current)")
    nvim.keys("q")
    nvim.wait_kind("round")
    assert nvim.lua("return #sent") == 0, "asked, and none chosen"
    nvim.keys("ZZ")
    nvim.wait_kind("choices")
    nvim.keys("<CR>")
    nvim.wait("#sent == 1", what="the round to be sent")
    assert nvim.lua("return sent") == ["other"]


@pytest.mark.parametrize("sessions", [["current", "elsewhere"], ["elsewhere", "current"]])
def test_the_comments_of_a_session_that_cannot_be_reached_go_to_no_other_unasked(start_nvim, sessions):
    nvim = start(start_nvim)
    nvim.lua(
        """
        Ide.terminal.session = function() return { id = "current" } end
        Ide.outbox_route.of = function(id)
          if id == "current" then return { kind = "terminal", live = { id = id, name = "The current" } } end
          return nil, "it runs in another terminal"
        end
        Ide.outbox_receiver.find(..., function(receiver) given = receiver.session end)
        """,
        sessions,
    )
    nvim.wait_kind("choices")
    assert nvim.lua("return given or vim.NIL") is None
    nvim.keys("<CR>")
    nvim.wait("given == 'current'", what="the chosen session")


@pytest.mark.every_nvim
def test_an_agent_sees_what_was_sent_answers_it_and_points_at_lines(start_nvim, connect_agent):
    nvim = start(start_nvim)
    agent = connect_agent(nvim)
    write(nvim, 2, "why?")
    assert agent.call("comments") == ["There are no comments."]
    mark_sent(nvim, 1, "why?")
    assert agent.call("comments") == ["[1] open · a.txt:2\n> two\nuser: why?"]
    assert agent.call("comment_reply", id=1, text="Because\u200b.\nIt is so.") == ["The user sees it."]
    nvim.wait_notice("Claude answered comment 1.")
    nvim.wait_screen("▎you: why? · Claude: Because<200b>. It is so.")
    assert agent.call("comment_add", path="a.txt", line=4, end_line=5, text="Look.") == [
        "Shown to the user as comment 2."
    ]
    wait_shown(nvim, (2, "▎you: why? · Claude: Because<200b>. It is so."), (5, "▎Claude: Look."))
    with pytest.raises(ToolError, match="there is no comment 9"):
        agent.call("comment_reply", id=9, text="?")
    with pytest.raises(RpcError, match="it has no words"):
        agent.call("comment_reply", id=1, text=" \n")
    with pytest.raises(RpcError, match="the file has 5 lines"):
        agent.call("comment_add", path="a.txt", line=9, text="?")


def test_a_resolved_comment_is_shown_when_it_is_chosen_and_opened_by_an_answer(start_nvim, connect_agent):
    nvim = start(start_nvim)
    agent = connect_agent(nvim)
    write(nvim, 4, "why?")
    mark_sent(nvim, 1, "why?")
    resolve = "return Ide.comments.resolve()"
    assert nvim.lua(resolve)
    wait_shown(nvim)
    nvim.answer(1)
    nvim.keys("gg:Claude comments resolved<CR>")
    wait_shown(nvim, (4, "▎resolved\n▎you: why?"))
    assert nvim.lua("return vim.fn.line('.')") == 4
    assert nvim.lua(resolve)
    wait_shown(nvim, (4, "▎no answer yet\n▎you: why?"))
    assert nvim.lua(resolve)
    wait_shown(nvim)
    agent.call("comment_reply", id=1, text="Since.", done=True)
    wait_shown(nvim, (4, "▎says it is done\n▎you: why?\n▎Claude: Since."))


def test_the_keys_go_from_comment_to_comment_over_files(start_nvim):
    nvim = start_nvim(args=["a.txt", "b.txt"], files=FILES | {"b.txt": "alpha\nbeta\n"}, notices=True)
    write(nvim, 2, "first")
    write(nvim, 4, "second")
    nvim.cmd("edit b.txt")
    write(nvim, 2, "third")
    nvim.cmd("buffer a.txt | 1")
    jump = "return Ide.comments.jump(...) and { vim.fn.expand('%:t'), vim.fn.line('.') }"
    assert [nvim.lua(jump, 1) for _ in range(3)] == [["a.txt", 2], ["a.txt", 4], ["b.txt", 2]]
    assert nvim.lua("return (select(2, Ide.comments.jump(1)))") == "No more comments."
    assert nvim.lua(jump, -1)[0] == "a.txt"
    nvim.cmd("Claude comments quickfix")
    nvim.wait("vim.bo.buftype == 'quickfix'")
    assert [line.split("|")[0] for line in nvim.lines()] == ["a.txt", "a.txt", "b.txt"]
    assert [line.rsplit("| ", 1)[1] for line in nvim.lines()] == [
        "to send: first",
        "to send: second",
        "to send: third",
    ]


def test_a_file_that_is_gone_does_not_stop_the_way_from_comment_to_comment(start_nvim, connect_agent):
    nvim = start_nvim(args=["a.txt"], files=FILES | {"b.txt": TEXT, "c.txt": TEXT}, notices=True)
    for name in ("a.txt", "b.txt", "c.txt"):
        nvim.cmd(f"edit {name}")
        for lnum in (1, 3, 5) if name == "a.txt" else (2,):
            write(nvim, lnum, f"{name} {lnum}")
    nvim.cmd("edit a.txt | bwipeout b.txt c.txt")
    (nvim.project / "b.txt").unlink()
    jump = "Ide.comments.jump(...) return { vim.fn.bufname(), vim.fn.line('.') }"
    nvim.keys("1G:nnoremap ,t <Plug>(claude-comment-next)<CR>2,t")
    nvim.wait("vim.fn.line('.') == 5", what="the count to count")
    assert nvim.lua(jump, 1) == ["c.txt", 2]
    nvim.wait_notice("There is no b.txt any more.")
    assert nvim.lua(jump, -1) == ["a.txt", 5]
    agent = connect_agent(nvim)
    for step, name in enumerate(("a.txt", "c.txt"), 1):
        agent.call("comment_add", path=name, line=4, text=f"step {step}", step=step)
    (nvim.project / "c.txt").unlink()
    nvim.cmd("bwipeout! c.txt")
    assert nvim.lua("Ide.comments.begin_tour() return vim.fn.line('.')") == 4
    assert nvim.lua("return { Ide.comments.jump(1) }") == [None, "There is no c.txt any more."]


def test_a_link_has_the_comments_of_its_file(start_nvim):
    nvim = start(start_nvim)
    (nvim.project / "link.txt").symlink_to("a.txt")
    nvim.cmd("bwipeout | edit link.txt")
    write(nvim, 2, "why?")
    assert [thread["path"] for thread in threads(nvim)] == ["a.txt"]
    nvim.wait_screen("▎you: why? (not sent)")
    nvim.cmd("bwipeout | edit a.txt")
    wait_shown(nvim, (2, "▎you: why? (not sent)"))


def test_in_what_changed_since_nothing_is_commented_on(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "why?")
    mark_sent(nvim, 1, "why?")
    nvim.cmd("Claude comments since")
    nvim.wait_notice("Nothing has changed in this file since Claude got the comment.")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'TWO' })")
    nvim.cmd("Claude comments since")
    nvim.wait_kind("edit")
    nvim.keys("gcc")
    nvim.wait_notice("Comment in the file itself: `q` leads there.")
    nvim.keys("q")
    nvim.wait("vim.fn.bufname() == 'a.txt'")


@pytest.mark.parametrize(("what", "place"), [("file", "a.txt"), ("all", "everything")])
def test_a_comment_on_a_file_or_on_everything_has_no_lines(start_nvim, what, place):
    nvim = start(start_nvim)
    for words in ("too long", " and too old"):
        begin(nvim, f":Claude comment {what}<CR>", words + "<Esc>ZZ")
        nvim.wait("(vim.b.claude_ide or {}).kind ~= 'comment'", what="the comment to be closed")
    wait_shown(nvim, *([(1, "▎you: too long and too old (on the file, not sent)")] if what == "file" else []))
    nvim.cmd("Claude comments yank")
    assert nvim.lua("return vim.fn.getreg('\"')").endswith(f"\n\n[1] {place}\ntoo long and too old\n")
    nvim.answer(1)
    nvim.keys(":Claude comments<CR>")
    nvim.wait_kind("comment")
    assert nvim.lines() == ["too long and too old"]


def test_an_import_loads_no_files_but_those_in_other_encodings(start_nvim):
    files = {"b.txt": "\ufeffalpha\r\nbeta\r\n", "c.txt": "no end", "d.txt": "x\n"}
    nvim = start_nvim(args=["a.txt"], files=FILES | files, notices=True)
    nvim.project.joinpath("d.txt").write_bytes("th\u00e9\n".encode("latin-1"))
    lines = ["b.txt:2: beta?", "c.txt:1: end?", "c.txt:2: beyond", "d.txt:1: tea?"]
    nvim.lua("vim.fn.setqflist({}, ' ', { lines = ..., efm = '%f:%l: %m' })", lines)
    nvim.cmd("Claude comments import")
    nvim.wait_notice("3 comments added. 1 could not be added.")
    loaded = "return vim.tbl_map(function(name) return vim.fn.bufloaded(name) end, { 'b.txt', 'c.txt', 'd.txt' })"
    assert nvim.lua(loaded) == [0, 0, 1]
    for name, lnum, words in (("b.txt", 2, "beta?"), ("c.txt", 1, "end?"), ("d.txt", 1, "tea?")):
        nvim.cmd(f"edit {name}")
        nvim.wait_screen(f"▎you: {words} (not sent)")
        assert nvim.lua("return Ide.comments_marks.lines(vim.api.nvim_get_current_buf())") == [lnum]
    quoted = [thread["anchor"]["lines"] for thread in threads(nvim)]
    assert quoted == [["beta"], ["no end"], ["th\u00e9"]]


def test_what_is_exported_can_be_imported_elsewhere(start_nvim):
    nvim = start_nvim(args=["a.txt"], files=FILES | {"b.txt": "alpha\nbeta\n"}, notices=True)
    nvim.cmd("Claude comments export")
    nvim.wait_notice("No comment is on a file.")
    write(nvim, 4, "4 lines?<CR>Really")
    nvim.cmd("edit b.txt")
    write(nvim, 2, "why beta")
    nvim.cmd("Claude comments export")
    assert nvim.lines() == ["a.txt:4: 4 lines? Really", "b.txt:2: why beta"]
    assert nvim.lua("return { vim.bo.modified, vim.fn.bufname() }") == [True, ""]
    nvim.cmd("write review.txt")
    nvim.lua("""
      local store = Ide.comments_store
      for id = 1, 2 do assert(store.change(store.root_of(), { write = { id = id, words = "" } })) end
      vim.cmd("cgetfile review.txt")
    """)
    nvim.cmd("Claude comments import")
    nvim.wait_notice("2 comments added.")
    found = [(one["path"], one["anchor"]["first"], one["entries"][0]["words"]) for one in threads(nvim)]
    assert found == [("a.txt", 3, "4 lines? Really"), ("b.txt", 1, "why beta")]


def test_a_review_in_the_quickfix_list_becomes_a_round(start_nvim):
    nvim = start_nvim(args=["a.txt"], files=FILES | {"b.txt": "alpha\nbeta\n"}, notices=True)
    nvim.lua(
        "vim.fn.setqflist({}, ' ', { lines = ..., efm = '%f:%l: %m' })",
        ["a.txt:2: why two?", "b.txt:1: no alpha", "b.txt:9: beyond", "no place", "a.txt:2: why two?"],
    )
    nvim.lua("changes = 0 Ide.bus.on('comments_changed', function() changes = changes + 1 end)")
    nvim.cmd("Claude comments import")
    nvim.wait_notice("2 comments added. 1 could not be added.")
    assert nvim.lua("return changes") == 1
    wait_shown(nvim, (2, "▎you: why two? (not sent)"))
    nvim.cmd("Claude comments import")
    nvim.wait_notice("no entries that could be added")
    nvim.cmd("Claude comments yank")
    yanked = nvim.lua("return vim.fn.getreg('\"')")
    assert yanked.endswith("[1] (question) a.txt:2\n> two\nwhy two?\n\n[2] b.txt:1\n> alpha\nno alpha\n")
    assert [thread["state"] for thread in threads(nvim)] == ["draft", "draft"]


def test_the_statusline_counts_what_is_to_be_sent(start_nvim):
    nvim = start(start_nvim)
    nvim.start_server()
    nvim.cmd("set laststatus=2 statusline=%{v:lua.require'claude-ide.statusline'.text()}")
    write(nvim, 2, "first")
    nvim.wait_screen("1 comment to send")
    write(nvim, 3, "second")
    nvim.wait_screen("2 comments to send")
    sent = [{"id": 1, "words": "first"}, {"id": 2, "words": "second"}]
    nvim.lua("local s = Ide.comments_store assert(s.change(s.root_of(), { sent = ... }))", sent)
    nvim.wait(lambda: "to send" not in "".join(nvim.screen()), what="nothing to be sent")


@pytest.mark.parametrize("key", [":e!<CR>", ":e<CR>"])
def test_reloading_the_window_of_a_comment_loses_no_words(start_nvim, key):
    nvim = start(start_nvim)
    begin(nvim, "2G:Claude comment<CR>", "all of it<Esc>" + key)
    nvim.wait(lambda: nvim.lines() == ["all of it"], what="the words to be there again")
    nvim.keys("A, and more<Esc>ZZ")
    wait_shown(nvim, (2, "▎you: all of it, and more (not sent)"))


def test_a_comment_that_was_emptied_takes_new_words(start_nvim):
    nvim = start(start_nvim)
    write(nvim, 2, "first")
    nvim.lua(PAUSES)
    begin(nvim, "2G:Claude comment<CR>", "<C-u>")
    nvim.wait("pauses == 1", what="the pause after which words are kept")
    nvim.keys("second<Esc>ZZ")
    wait_shown(nvim, (2, "▎you: second (not sent)"))
    assert not nvim.notices()


@pytest.mark.parametrize("leave", ["ZZ", "ZQ", "<C-w>w", ":bw!<CR>"])
def test_words_that_cannot_be_saved_stay_in_a_buffer(start_nvim, leave):
    nvim = start(start_nvim)
    write(nvim, 2, "kept")
    (file,) = (nvim.home / ".local/state").rglob("threads.json")
    file.write_text('{"version": 9}')
    begin(nvim, "3G:Claude comment<CR>", "not lost<Esc>" + leave)
    said = nvim.wait_notice("its words are in buffer")
    buf = int(re.search(r"buffer (\d+)", said)[1])
    assert nvim.lines(buf) == ["not lost"]
    assert nvim.lua("return { vim.bo[...].modified, vim.bo[...].buflisted }", buf) == [True, True]


def test_a_file_of_another_version_is_left_alone_and_the_user_is_told(start_nvim, tmp_path):
    nvim = start(start_nvim)
    write(nvim, 2, "kept")
    (file,) = (nvim.home / ".local/state").rglob("threads.json")
    file.write_text('{"version": 9}')
    begin(nvim, "3G:Claude comment<CR>", "lost?<Esc>ZZ")
    nvim.wait_notice("The comment is not saved")
    assert file.read_text() == '{"version": 9}'
    again = start(start_nvim)
    for index, command in enumerate(["", "send", "quickfix", "yank"]):
        again.keys(f":Claude comments {command}<CR>")
        again.wait(lambda least=index + 1: "".join(again.notices()).count("comments cannot be read") > least)
    again.cmd("checkhealth claude-ide")
    again.wait(lambda: "threads.json is not as this version writes it" in "\n".join(again.lines()))


@pytest.mark.every_nvim
def test_a_comment_on_a_proposal_stays_with_the_file(start_nvim, connect):
    nvim = start(start_nvim)
    client = connect(nvim)
    path = nvim.project / "a.txt"
    proposed = TEXT.replace("two", "TWO")
    names = {"old_file_path": str(path), "new_file_path": str(path), "tab_name": "t"}
    opened = client.start_call("openDiff", new_file_contents=proposed, **names)
    nvim.wait_kind("proposal")
    nvim.keys_count()
    begin(nvim, "2Ggcc", "why capitals?<Esc>ZZ")
    nvim.wait_kind("proposal")
    nvim.cmd("Claude comments yank")
    assert "[1] (question) a.txt:2 (in the proposal)\n> TWO\n" in nvim.lua("return vim.fn.getreg('\"')")
    nvim.wait_screen(re.compile(r"TWO +▎you: why capitals\? \(not sent\)"))  # at the line's end: the windows stay level
    nvim.keys("ZZ", counts=True)
    client.result(opened)
    path.write_text(proposed)
    nvim.wait(lambda: nvim.lines() == proposed.splitlines(), what="the file to be reloaded")
    wait_shown(nvim, (2, "▎you: why capitals? (not sent)"))


@pytest.mark.every_nvim
def test_a_comment_being_typed_outlives_its_diff(start_nvim, connect):
    nvim = start(start_nvim)
    client = connect(nvim)
    path = str(nvim.project / "a.txt")
    names = {"old_file_path": path, "new_file_path": path, "tab_name": "t"}
    client.start_call("openDiff", new_file_contents=TEXT.replace("two", "TWO"), **names)
    nvim.wait_kind("proposal")
    nvim.keys_count()
    begin(nvim, "2Ggcc", "half a")
    nvim.wait(f"#{THREADS} == 1", what="the comment to be kept")
    client.start_call("close_tab", tab_name="t")
    for key in " thought":  # before, while and after the diff goes
        nvim.keys(key)
        nvim.lua("return 1")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="the diff to be closed")
    nvim.keys(", all of it<Esc>ZZ")
    nvim.wait(lambda: threads(nvim)[0]["entries"][0]["words"] == "half a thought, all of it", what="all words")
    assert nvim.lines() == TEXT.splitlines()


@pytest.mark.every_nvim
def test_the_keys_of_a_review_comment_on_both_sides_and_go_with_it(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files=FILES, notices=True)
    nvim.lua("vim.keymap.set('n', 'gcc', function() mine = true end, { buffer = true })")
    turn(nvim, connect(nvim), a_txt=TEXT.replace("two", "TWO"))
    nvim.wait(lambda: nvim.lines()[1] == "TWO", what="the file to be reloaded")
    review(nvim)
    nvim.keys("2GgcjI see<Esc>ZZ")
    nvim.wait(f"#{THREADS} == 1", what="the comment")
    assert (threads(nvim)[0]["side"], threads(nvim)[0]["anchor"]["lines"]) == ("new", ["TWO", "three"])
    nvim.keys("<C-w>h2Ggcc")
    nvim.wait_kind("comment")
    nvim.keys("it was fine<Esc>ZZ")
    nvim.wait(f"#{THREADS} == 2", what="the comment on the text before")
    assert (threads(nvim)[1]["side"], threads(nvim)[1]["anchor"]["lines"]) == ("old", ["two"])
    nvim.wait("(vim.b.claude_ide or {}).kind == 'review'", what="the text before")
    nvim.cmd("edit")
    assert nvim.lines() == TEXT.splitlines()
    nvim.wait_screen(re.compile(r"two +▎you: it was fine \(not sent\)"))
    assert "its lines are gone" not in "\n".join(nvim.drawn())
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    nvim.keys("gcc")
    nvim.wait("mine == true", what="the user's own key")
    wait_shown(nvim, (3, "▎you: I see (not sent)"))
