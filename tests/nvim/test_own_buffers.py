"""Our buffers: writable where nothing else is (`nvim -M`), and named recognizably."""

import re

import pytest
from chat_steps import begin, say, wait_idle, wait_text
from review_steps import A, B, review, turn
from test_chat_context import expand
from test_decide import ask
from transcript_files import conversation
from transcript_steps import go_to, press, show, wait_named

from harness.cli import ROOT

pytestmark = pytest.mark.dealt

NAMES = """
local names = {}
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if (vim.b[buf].claude_ide or {}).kind then names[#names + 1] = vim.fn.bufname(buf) end
end
return names
"""


def test_one_function_makes_them_all():
    """A listed buffer that is no scratch buffer is the user's: an empty one for a window that must show something."""
    made = {
        path.relative_to(ROOT / "lua/claude-ide").as_posix()
        for path in (ROOT / "lua").rglob("*.lua")
        if re.search(r"nvim_create_buf\((?!true, false\))", path.read_text())
    }
    assert made == {"ui/own_buffer.lua"}


@pytest.mark.every_nvim
def test_a_cut_text_is_shown_where_nothing_can_be_changed(start_nvim, empty):
    empty.prompt("one")
    empty.run("Bash", "".join(f"line {number}\n" for number in range(3000)), command="seq 3000")
    nvim = show(start_nvim, empty, args=["-M"])
    go_to(nvim, "Bash seq 3000")
    nvim.keys("zo")
    go_to(nvim, "Enter shows it all")
    press(nvim, "<CR>", "vim.fn.bufname() == 'Claude (text)'")
    assert nvim.lines()[2999] == "line 2999"
    assert nvim.lua("return { vim.bo.modifiable, vim.bo.modified }") == [False, False]


@pytest.mark.every_nvim
def test_code_is_asked_about_where_nothing_can_be_changed(start_nvim):
    nvim = start_nvim(args=["-M"])
    nvim.lua("""
    local run = { code = "one\\ntwo" }
    Ide.notebook_confirm.ask({ name = "Python", language = "python" }, run, function() end)
    """)
    nvim.wait_kind("code")
    assert nvim.lines() == ["one", "two"]
    nvim.cmd("edit!")
    assert nvim.lua("return { vim.fn.getline(1, '$'), vim.bo.modifiable }") == [["one", "two"], False]


@pytest.mark.every_nvim
def test_lines_of_a_file_are_read_where_nothing_can_be_changed(start_nvim):
    nvim = start_nvim(files={"a.txt": "one\ntwo\n"}, args=["-M"])
    assert "a.txt, lines 2-2:\n2\ttwo\n<" in expand(nvim, "#lines:a.txt:2-2")[0]


def test_undo_does_not_empty_one(start_nvim):
    nvim = start_nvim()
    nvim.lua("""
    local buf = Ide.own_buffer.create({ lines = { "one", "two" } })
    vim.api.nvim_win_set_buf(0, buf)
    """)
    nvim.keys("uodrei<Esc>u")
    nvim.wait("vim.fn.undotree().seq_last == 1 and vim.fn.undotree().seq_cur == 0", what="what came later to be undone")
    assert nvim.lines() == ["one", "two"], "the text that it was made with"


EDITED = """
local own_buffer, made = Ide.own_buffer, {}
local function make(create, opts)
  opts.kind, opts.name = "text", { "Claude", "test" }
  opts.lines, opts.bo = { "one", "two" }, vim.tbl_extend("error", { modifiable = false }, opts.bo or {})
  made[#made + 1] = create(opts, function() end)
  return made[#made]
end
make(own_buffer.create, { bo = { bufhidden = "wipe", filetype = "lua", fileformat = "dos" } })
local later = make(own_buffer.create_side, { listed = true })
own_buffer.change(later, function()
  vim.api.nvim_buf_set_lines(later, 0, 1, false, { "1", "one" })
end)
vim.bo[later].filetype = "lua"
own_buffer.highlight(later)
local function look(buf)
  local bo, options = vim.bo[buf], {}
  for _, option in ipairs({ "buftype", "bufhidden", "buflisted", "filetype", "modifiable", "modified", "swapfile", "syntax" }) do
    options[option] = bo[option]
  end
  return { vim.api.nvim_buf_get_lines(buf, 0, -1, false), options, vim.treesitter.highlighter.active[buf] ~= nil }
end
return vim.tbl_map(function(buf)
  vim.api.nvim_win_set_buf(0, buf)
  local found = { look(buf) }
  for _, command in ipairs({ "edit", "edit!" }) do
    vim.cmd(command)
    found[#found + 1] = look(buf)
  end
  return found
end, made)
"""


@pytest.mark.every_nvim
def test_each_keeps_its_text_at_edit(start_nvim):
    """Whoever makes one: `create` sees to it."""
    for lines, (before, *after) in zip((["one", "two"], ["1", "one", "two"]), start_nvim().lua(EDITED), strict=True):
        assert before[0] == lines
        assert after == [before, before]


@pytest.mark.every_nvim
def test_keys_that_are_listed_keep_their_colours_at_edit(start_nvim, tmp_path):
    nvim = show(start_nvim, conversation(tmp_path / "home", tmp_path / "project"))
    nvim.keys("g?")
    nvim.wait_kind("keys")
    found = """
    local marks = vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true, type = "highlight" })
    return { vim.fn.getline(1, "$"), vim.tbl_map(function(mark) return { mark[2], mark[3], mark[4].end_col } end, marks) }
    """
    before = nvim.lua(found)
    assert before[1]
    nvim.cmd("edit")
    assert nvim.lua(found) == before


def seen(nvim):
    """The name of the buffer in `%f`, in `%t`, and in a tab line with another tab."""
    shown = nvim.lua("return vim.api.nvim_eval_statusline('%f|%t', {}).str").split("|")
    nvim.cmd("tabnew")
    line = nvim.wait_screen(re.compile(r"\A.* X$", re.MULTILINE)).splitlines()[0]
    nvim.cmd("tabclose")
    return [*shown, re.match(r"[ \d+]*(.*?)  ", line).group(1)]


@pytest.mark.every_nvim
def test_a_chat_is_called_after_its_session_and_what_was_said_first(begin_chat_with_stand_in, start_nvim):
    nvim = begin_chat_with_stand_in()
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    session = nvim.lua("return Ide.chat.current().session")[:8]
    assert nvim.lua(NAMES) == ["Claude (prompt)", "Claude"]
    nvim.cmd("mksession empty.vim")
    again = start_nvim(args=["-c", "silent source empty.vim"])
    again.wait(lambda: again.lua(NAMES) == [], what="nothing of it in a saved session")
    say(nvim, "SAY hello there")
    wait_text(nvim, "\nhello there")
    nvim.wait(lambda: f"Claude {session}/SAY hello there" in nvim.lua(NAMES), what="its title")
    nvim.cmd("wincmd k")
    assert seen(nvim) == [f"Claude {session}/SAY hello there", "SAY hello there", "C/SAY hello there"]
    wait_idle(nvim)
    say(nvim, "/clear")
    nvim.wait(lambda: not [name for name in nvim.lua(NAMES) if session in name], what="the name of another session")
    wait_idle(nvim)
    say(nvim, "SAY good bye")
    nvim.wait(lambda: any(name.endswith("/SAY good bye") for name in nvim.lua(NAMES)), what="its title")


@pytest.mark.every_nvim
def test_a_chat_that_goes_on_and_the_transcript_of_its_session(begin_chat_with_stand_in, script):
    nvim = begin_chat_with_stand_in("--resume " + script.id)
    nvim.wait(lambda: "Claude 11111111/Fix the parser" in nvim.lua(NAMES), what="the chat")
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait("vim.fn.bufname() == 'Claude 11111111/Fix the parser (2)'", what="the transcript")
    nvim.keys("g?")
    nvim.wait("vim.fn.bufname() == 'Claude 11111111/Fix the parser (keys)'", what="its keys")
    press(nvim, "q", "vim.fn.bufname() == 'Claude 11111111/Fix the parser (2)'")
    begin(nvim, "SAY another")
    assert "Claude (prompt 2)" in nvim.lua(NAMES)


TITLES = {
    "a/b\tc": "a b c",
    "..": "…",
    "Fix (now)": "Fix (now)",
    "x" * 80: "x" * 59 + "…",
    "日本語" * 20: "日本語" * 9 + "日本…",
    "$HOME ~ %:p # [a-z]*": "$HOME ~ %:p # [a-z]*",
}


@pytest.mark.parametrize("title", TITLES)
def test_whatever_the_title_it_can_be_read_again(start_nvim, script, title):
    script.title(title)
    nvim = show(start_nvim, script)
    name = f"Claude 11111111/{TITLES[title]}"
    nvim.wait(lambda: nvim.lua(NAMES) == [name], what="the name")
    wait_named(nvim)
    before = nvim.lines()
    nvim.cmd("mksession Session.vim")
    again = start_nvim(env={"TZ": "UTC"}, args=["-S", "Session.vim"])
    again.wait(lambda: again.lines() == before, what="the transcript")
    again.wait(lambda: again.lua(NAMES) == [name], what="its name")
    nvim.keys(":w<CR>")
    nvim.wait_screen("E382")
    assert not list(nvim.project.glob("Claude*"))


def test_a_file_of_such_a_name_is_a_file(start_nvim, script):
    name = "Claude 11111111/Fix the parser"
    nvim = show(start_nvim, script, files={name: "mine\n"})
    nvim.wait(lambda: nvim.lua(NAMES) == [name + " (2)"], what="another name")
    nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", name)
    assert nvim.lines() == ["mine"]
    nvim.cmd("only | mksession Session.vim")
    again = start_nvim(env={"TZ": "UTC"}, args=["-S", "Session.vim"])
    again.wait(lambda: again.lines() == ["mine"], what="the file")


@pytest.mark.every_nvim
def test_the_file_before_stays_the_one_before(start_nvim, script):
    nvim = show(start_nvim, script, files={"a\nb|'\"\\.txt": "one\n"}, args=["a\nb|'\"\\.txt"])
    nvim.wait(lambda: nvim.lua(NAMES) == ["Claude 11111111/Fix the parser"], what="its title")
    nvim.keys("<C-^>")
    nvim.wait(lambda: nvim.lines() == ["one"], what="the file")
    nvim.lua("""
    local ours, buf = Ide.buffer_marks, Ide.own_buffer.create({ kind = "review" })
    ours.name(buf, vim.api.nvim_buf_get_name(0), "one")
    ours.rename(buf, "two")
    """)
    assert nvim.lua(NAMES)[1] == "a\nb|'\"\\.txt (two)"


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    "kind", ["board", "transcript", "answer", "review", "choices", "mcp", "prompt", "question", "keys"]
)
def test_q_ends_a_macro_before_it_closes_a_window(start_nvim, connect, sessions, project, kind):
    sessions.write(project, ("one", "two"), title="A title")
    opts = {"terminal": {"command": ["sh", "-c", "cat", "x"]}}
    nvim = start_nvim(files={"a.txt": A, "b.txt": B}, args=["b.txt"], opts=opts)
    if kind == "review":
        turn(nvim, connect(nvim), a_txt=A.upper(), b_txt=B.upper())
        review(nvim)
    elif kind == "question":
        ask(connect(nvim))
        nvim.wait_kind(kind)
    else:
        command = {"answer": "context", "choices": "sessions", "prompt": "chat", "keys": "board"}.get(kind, kind)
        nvim.cmd(f"Claude {command}")
        if kind == "keys":
            nvim.keys("g?")
        nvim.wait_kind(kind)
    nvim.keys_count()
    here = "return { vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win() }"
    before = nvim.lua(here)
    nvim.lua("vim.api.nvim_feedkeys('qa', 'n', false)")  # elsewhere a user types it
    nvim.wait("vim.fn.reg_recording() == 'a'")
    nvim.keys("lhq")
    nvim.wait("vim.fn.reg_recording() == ''", what="the macro to end")
    assert nvim.lua("return vim.fn.getreg('a')") == "lh"
    assert nvim.lua(here) == before
    nvim.keys("q")
    nvim.wait(lambda: nvim.lua(here)[0] != before[0], what="the window to close")
