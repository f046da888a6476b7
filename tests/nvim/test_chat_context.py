"""Editor context in a prompt: `#…`, a range, pictures, the prompt library.

The model's input is tested with the real CLI, Neovim's own part with a stand-in.
"""

import base64
import os

import pytest
from chat_steps import (
    begin,
    chat,
    say,
    start,
    start_with_stand_in,
    text,
    to_transcript,
    wait_answer,
    wait_idle,
    wait_text,
)

from harness.worktrees import git

pytestmark = pytest.mark.dealt

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def expand(nvim, words):
    """The context that the words name, as sent to the agent."""
    nvim.lua(
        """
        local context = Ide.context
        _G.parts = nil
        context.expand(..., Ide.context_place.here(vim.fn.getcwd()), function(parts)
          _G.parts = vim.tbl_map(context.written, parts)
        end)
        """,
        words,
    )
    nvim.wait("_G.parts ~= nil", what="what is named to be read")
    return nvim.lua("return _G.parts")


RANGE = {"a b.txt": "one\ntwo\nthree\nfour\n"}


def a_range_goes_along_and_is_seen_in_the_prompt(nvim, api):
    nvim.keys("ggjAmine<Esc>Vj:Claude chat SAY look<CR>")
    wait_text(nvim, "\nlook")
    assert "SAY look #lines:a\\ b.txt:2-3" in text(nvim)
    assert api.seen("2\\ttwomine\\n3\\tthree\\n") and not api.seen("four")
    wait_idle(nvim)
    nvim.keys("<C-w>t:1Claude chat<CR>")
    nvim.wait("vim.api.nvim_get_current_line() == '#lines:a\\\\ b.txt:1-1'", what="the range at the prompt")


@pytest.mark.every_nvim
def test_a_range_goes_along_and_is_seen_in_the_prompt(start_nvim, model, tmp_path):
    nvim = start_with_stand_in(start_nvim, model, tmp_path, files=RANGE, args=["a b.txt"])
    a_range_goes_along_and_is_seen_in_the_prompt(nvim, model)


def test_a_range_of_what_is_withheld_stays_here(start_nvim, model, tmp_path):
    nvim = start_with_stand_in(start_nvim, model, tmp_path, files={".env": "SECRET=1\n"}, args=[".env"])
    nvim.cmd("%Claude chat hello")
    nvim.wait_screen(".env is private")
    assert nvim.lua("return Ide.chat.current() == nil") and not model.requests


def test_what_the_editor_shows_can_be_named(start_nvim):
    lines = "\n".join(f"line {i}" for i in range(1, 200))
    nvim = start_nvim(files={"a.txt": lines + "\n", "b.txt": "see https://example.com/x?y=1#z.\n"}, args=["a.txt"])
    nvim.keys("50Gzt")
    nvim.wait("vim.fn.line('w0') == 50")
    last = nvim.lua("return vim.fn.line('w$')")
    (visible,) = expand(nvim, "what is #visible?")
    assert f"lines 50-{last}:" in visible and "50\tline 50\n" in visible and f"line {last + 1}" not in visible
    nvim.keys("3GVj<Esc>")
    nvim.wait("vim.fn.line('.') == 4 and vim.fn.mode() == 'n'")
    nvim.cmd("cexpr ['a.txt:7:1: broken']")
    selection, quickfix, buffers = expand(
        nvim, "#selection, #quickfix #buffers #selection no#buffer ##buffer #bufferish"
    )
    assert "3\tline 3\n4\tline 4\n<" in selection
    assert "\na.txt\n  7:1  broken\n" in quickfix and "\na.txt  (the user is here, in line 7;" in buffers
    nvim.cmd("edit b.txt | normal! $")
    (url,) = expand(nvim, "read #url")
    assert "https://example.com/x?y=1#z\n" in url and "not fetched" in url
    assert "name or a password" in expand(nvim, "#url:https://me:secret@example.com/")[0]
    assert "not a web address" in expand(nvim, "#url:file:///etc/passwd")[0]
    assert "3\tline 3\n<" in expand(nvim, "(#lines:a.txt:3)")[0]


def test_lines_of_a_file_that_is_not_open_are_read_from_the_disk(start_nvim):
    nvim = start_nvim(files={"a.txt": "one\ntwo\n", ".env": "SECRET=1\n"})
    assert "a.txt, lines 2-2:\n2\ttwo\n<" in expand(nvim, "#lines:a.txt:2-2")[0]
    assert "a.txt, lines 1-2:\n1\t" in expand(nvim, "#lines:a.txt:2-1")[0], "in either order"
    assert "it has only" in expand(nvim, "#lines:a.txt:900-950")[0]
    assert "is private" in expand(nvim, "#lines:.env:1-1")[0]
    assert "does not exist" in expand(nvim, "#lines:gone.txt:1-1")[0]


def test_a_file_stays_withheld_while_its_private_buffer_is_not_loaded(start_nvim):
    nvim = start_nvim(files={"a.txt": "a\n", "kept.txt": "SECRET\n", "kept.png": PNG}, args=["a.txt"])
    for name in ("kept.txt", "kept.png"):
        nvim.cmd(f"edit {name}")
        nvim.lua("vim.b.claude_private = true")
        nvim.cmd("buffer a.txt")
        nvim.cmd(f"bunload {name}")
    assert "is private" in expand(nvim, "#lines:kept.txt:1-1")[0]
    assert "is private" in expand(nvim, "#image:kept.png")[0]


def test_the_symbol_around_the_cursor_is_known_by_the_syntax_tree(start_nvim):
    source = "local a = 1\n\nlocal function outer()\n  if a then\n    return a\n  end\nend\n"
    nvim = start_nvim(files={"a.lua": source}, args=["a.lua"])
    nvim.keys("5G")
    nvim.wait("vim.fn.line('.') == 5")
    (symbol,) = expand(nvim, "explain #symbol")
    assert "function outer" in symbol and "3\tlocal function outer()" in symbol and "7\tend" in symbol
    nvim.keys("1G")
    nvim.wait("vim.fn.line('.') == 1")
    assert "no symbol" in expand(nvim, "#symbol")[0]


LUA = "local function secret()\n  return 1\nend\n"


def test_problems_are_named_but_nothing_of_what_is_withheld(start_nvim):
    nvim = start_nvim(files={name: LUA for name in ("a.lua", "kept.lua", ".env")}, args=["a.lua"])
    nvim.lua("""
      vim.fn.setqflist({}, "r", { items = vim.iter({ "a.lua", "kept.lua", ".env" }):map(function(name)
        vim.cmd.edit(name)
        vim.b.claude_private = name == "kept.lua"
        vim.cmd("setfiletype lua | normal! 2GVjV")
        vim.diagnostic.set(vim.api.nvim_create_namespace("test"), 0, {
          { lnum = 1, col = 2, message = "secret of\\n" .. name, severity = vim.diagnostic.severity.ERROR, source = "lint" },
          { lnum = 2, col = 0, message = "odd", severity = vim.diagnostic.severity.WARN },
          { lnum = 2, col = 0, message = "a word", severity = vim.diagnostic.severity.HINT },
        })
        return { bufnr = vim.api.nvim_get_current_buf(), lnum = 3, col = 1, text = "found in " .. name }
      end):totable() })
    """)
    everything = "#diagnostics #quickfix #buffers #visible #selection #symbol"
    for name in ("kept.lua", ".env"):
        nvim.cmd(f"edit {name}")
        diagnostics, quickfix, buffers, *beside = expand(nvim, everything)
        assert "\na.lua\n  2:3  error: secret of a.lua [lint]\n  3:1  warning: odd\n<" in diagnostics
        assert ":\na.lua\n  3:1  found in a.lua\n<" in quickfix
        assert ":\na.lua  (" in buffers and "kept" not in buffers and ".env" not in buffers
        assert len(beside) == 3
        for part in beside:
            assert f"{name} is private" in part and "return 1" not in part
    (nvim.project / ".env").write_text('KEY="top-secret"\n')
    nvim.lua("Ide.server_privacy.reset() vim.cmd('edit a.lua')")
    nvim.lua("vim.diagnostic.set(1, 0, { { lnum = 0, col = 0, message = 'unlike \"top-secret\"' } })")
    assert 'unlike "(withheld)"' in expand(nvim, "#diagnostics")[0]
    for part in expand(nvim, everything)[3:]:
        assert "2\t  return 1" in part, "they would tell of a file that is not withheld"


def test_the_difference_from_the_last_commit_is_without_what_is_withheld(start_nvim):
    nvim = start_nvim(files={"a.txt": "one\n", ".env": "A=1\n", "it's b.txt": "b\n"})
    assert "git finds no commit" in expand(nvim, "#diff")[0]
    git(nvim.project, "init", "-q")
    git(nvim.project, "add", "-A")
    git(nvim.project, "commit", "-q", "-m", "first")
    assert "nothing differs" in expand(nvim, "#diff")[0]
    (nvim.project / "a.txt").write_text("ONE\n")
    (nvim.project / "it's b.txt").write_text("B\n")
    (nvim.project / ".env").write_text("SECRET=2\n")
    (diff,) = expand(nvim, "#diff")
    assert "-one\n+ONE\n" in diff and "-b\n+B\n" in diff
    assert "SECRET" not in diff and "1 file is private" in diff
    (nvim.project / "a.txt").write_text("x" * 100 + "\n" + "y" * 200_000)
    (diff,) = expand(nvim, "#diff")
    assert 64_000 < len(diff) < 70_000 and "(cut here: it has 131092 bytes)" in diff


def test_what_goes_along_is_bounded(start_nvim):
    many = {f"{number}.txt": f"number {number}\n" for number in range(26)}
    large = {f"large{number}.txt": f"{'x' * 99}\n" * 1000 for number in range(4)}
    nvim = start_nvim(files={**many, **large, "last.txt": "last\n"})
    parts = expand(nvim, " ".join(f"#lines:{name}:1" for name in many))
    assert all(f"number {number}\n" in part for number, part in enumerate(parts[:24])), "so many"
    assert len(parts) == 26 and all("omitted, since a prompt takes at most 24 contexts" in part for part in parts[24:])
    named = [f"#lines:large{number}.txt:1-1000" for number in range(4)]
    first, second, third, fourth, last = expand(nvim, " ".join([*named, "#lines:last.txt:1"]))
    for part in (first, second):
        whole, _, note = part.partition("(cut: ")
        assert 60_000 < len(whole) <= 64 * 1024 and " lines of 1000)" in note, "so much of one"
    assert (first + second + third + fourth).count("omitted, since the total limit is reached") == 1, (
        third[:200],
        fourth[:200],
    )
    assert len((first + second + third + fourth + last).encode()) <= 192 * 1024, "so much in all"
    assert "1\tlast\n" in last, "what is left out takes no room"


def test_the_last_lines_of_a_terminal_can_be_named_but_not_of_a_private_one(start_nvim):
    nvim = start_nvim(files={"a.txt": "a\n"}, args=["a.txt"])
    assert "no terminal" in expand(nvim, "#terminal")[0]
    nvim.cmd("split | terminal echo fir''st; echo la''st; sleep 600")
    nvim.wait(lambda: expand(nvim, "#terminal")[0].endswith("\nfirst\nlast\n</ide_selection>"), what="its lines")
    nvim.lua("vim.b.claude_private = true")
    assert "no terminal" in expand(nvim, "#terminal")[0]


def test_a_range_and_pictures_by_path_and_from_the_clipboard_reach_the_model(start_nvim, mock_api, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "pngpaste").write_text('#!/bin/sh\ncat "$PICTURE"\n')
    (programs / "pngpaste").chmod(0o755)
    picture = tmp_path / "picture.png"
    files = {"shot one.png": PNG, "notes.txt": "no picture", "large.png": PNG + bytes(4_000_000)}
    nvim = start(start_nvim, mock_api, tmp_path, files=files | RANGE, args=["a b.txt"])
    a_range_goes_along_and_is_seen_in_the_prompt(nvim, mock_api)
    nvim.keys("dd")
    nvim.wait("vim.api.nvim_get_current_line() == ''", what="an empty prompt")
    nvim.lua("vim.env.PATH = ... .. ':' .. vim.env.PATH", str(programs))
    nvim.lua("vim.env.PICTURE, vim.env.WAYLAND_DISPLAY, vim.env.DISPLAY = ..., nil, nil", str(picture))
    say(nvim, "SAY seen #image:shot\\ one.png")
    wait_text(nvim, "\nseen")
    assert _images(mock_api) == [base64.b64encode(PNG).decode()]
    wait_idle(nvim)
    picture.write_bytes(PNG)
    say(nvim, "SAY pasted #image")
    wait_text(nvim, "\npasted")
    assert len(_images(mock_api)) == 2
    wait_idle(nvim)
    for words, why in [
        ("#image:notes.txt", "not a PNG, JPEG, GIF or WebP"),
        ("#image:gone.png", "there is no file gone.png"),
        ("#image:large.png", "too large"),
    ]:
        nvim.keys(f"<Esc>ggVGcSAY never {words}<Esc><CR>")
        nvim.wait_screen(why)
        nvim.wait(lambda words=words: f"never {words}" in "".join(nvim.lines()), what="the prompt to be back")
    assert not mock_api.seen("SAY never")


def test_a_prompt_of_the_library_stands_for_its_text(start_nvim, model, tmp_path):
    files = {
        "a.txt": "alpha\n",
        ".claude/prompts/look.md": "---\ndescription: looks\n---\nSAY looked at #buffer\n",
    }
    opts = {"prompts": {"short": "SAY short {}"}}
    nvim = start_with_stand_in(start_nvim, model, tmp_path, files=files, args=["a.txt"], opts=opts)
    begin(nvim, "#prompt:look")
    wait_text(nvim, "\nlooked at #buffer")
    assert model.seen("1\\talpha") and "You\nSAY looked at #buffer" in text(nvim)
    wait_idle(nvim)
    say(nvim, "#prompt:short")
    wait_answer(nvim, "\nshort {}")
    nvim.keys("<Esc>ggVGc#prompt:none<Esc><CR>")
    nvim.wait_screen('no prompt "none"')
    nvim.wait(lambda: nvim.lines() == ["#prompt:none"], what="the prompt to be back")
    nvim.keys("ggVGc#pro")
    nvim.wait("vim.fn.pumvisible() == 1")
    nvim.keys("<C-n>s")
    nvim.wait("vim.fn.complete_info({'items'}).items[1].word == 'prompt:short'", what="its prompts to be offered")


def test_a_prompt_of_the_library_is_no_link_to_what_is_withheld_and_no_pipe(start_nvim):
    nvim = start_nvim(files={".env": "SECRET=1\n", "good": "words\n", ".claude/prompts/plain.md": "plain\n"})
    os.mkfifo(nvim.project / "pipe")
    for name, to in [("secret", ".env"), ("pipe", "pipe"), ("link", "good")]:
        (nvim.project / f".claude/prompts/{name}.md").symlink_to(nvim.project / to)
    put_in = """
    local text, problem = Ide.context_prompts.expand(..., vim.fn.getcwd())
    return text or problem
    """
    assert nvim.lua(put_in, "#prompt:link #prompt:plain") == "words plain"
    assert 'no prompt "secret"' in nvim.lua(put_in, "#prompt:secret")
    assert 'no prompt "pipe"' in nvim.lua(put_in, "#prompt:pipe")


def test_what_a_prompt_takes_along_is_seen_before_it_goes(begin_chat_with_stand_in, model):
    nvim = begin_chat_with_stand_in(files={"a.txt": "alpha\nbeta\n"}, args=["a.txt"])
    wait_idle(nvim)
    nvim.keys("i#buffer #lines:a.txt:2<Esc>")
    nvim.wait_screen("#buffer ")
    nvim.wait_screen("· #lines ")
    nvim.keys("K")
    nvim.wait("vim.api.nvim_win_get_config(0).relative == 'editor'", what="a float")
    nvim.wait(lambda: nvim.lines()[-1] == "2\tbeta", what="what goes along")
    nvim.keys("q")
    nvim.wait("vim.api.nvim_win_get_config(0).relative == ''")
    assert not model.turns()


DRESSED_LATE = """
local prompt = Ide.chat_prompt
local set_window_options = prompt.set_window_options
prompt.set_window_options = function(buf) go_on = function() set_window_options(buf) end end
"""


@pytest.mark.every_nvim
def test_what_was_written_before_the_prompt_was_all_there_is_sized_too(start_nvim, model, tmp_path):
    nvim = start_with_stand_in(start_nvim, model, tmp_path, files={"a.txt": "alpha\nbeta\n"})
    nvim.lua(DRESSED_LATE)
    begin(nvim)
    nvim.wait("go_on ~= nil", what="the prompt")
    nvim.keys("i#lines:a.txt:2<Esc>")
    nvim.wait(lambda: nvim.lines() == ["#lines:a.txt:2"] and nvim.mode() == "n", what="what is written")
    nvim.lua("go_on()")
    nvim.wait_screen("#lines ")


def test_what_is_said_first_arrives_first_though_it_takes_longer_to_read(begin_chat_with_stand_in, model):
    nvim = begin_chat_with_stand_in(files={"a.txt": "a\n"}, args=["a.txt"])
    wait_idle(nvim)
    git(nvim.project, "init", "-q")
    say(nvim, "SAY one #diff")
    say(nvim, "SAY two")
    wait_answer(nvim, "SAY two")
    assert text(nvim).index("SAY one") < text(nvim).index("SAY two")
    assert chat(nvim, "return #chat.queue") == 0


def _images(mock_api):
    blocks = [block for message in mock_api.conversation() for block in message["content"] if isinstance(block, dict)]
    return [block["source"]["data"] for block in blocks if block.get("type") == "image"]


@pytest.mark.every_nvim
def test_what_a_prompt_named_is_a_folded_line_where_a_chat_goes_on(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in("SAY see #lines:a.txt:1-2", files={"a.txt": "alpha\nbeta\n"})
    wait_answer(nvim, "Claude\nsee #lines")
    nvim.cmd("Claude chat close")
    nvim.cmd("Claude chat --continue")
    wait_text(nvim, "Claude\nsee #lines")
    said = text(nvim).split("\n")
    assert "ide_selection" not in text(nvim) and "  #lines:a.txt:1-2" in said, said
    to_transcript(nvim)
    assert nvim.lua("return vim.fn.foldclosed(vim.fn.search('alpha', 'nw'))") > 0, said


@pytest.mark.parametrize(
    ("typed", "line"), [("#lines:a", "#lines:a\\ b.txt:"), ("see #image:a", "see #image:a\\ b.txt")]
)
def test_the_file_of_a_context_is_completed(start_nvim, model, tmp_path, typed, line):
    nvim = start_with_stand_in(start_nvim, model, tmp_path, files=RANGE, args=["a b.txt"])
    begin(nvim)
    wait_idle(nvim)
    nvim.wait("vim.bo.filetype == 'markdown'", what="the prompt")
    chat(
        nvim,
        "chat.ask = function(_, _, fields, done) done({ files = { fields.query .. ' b.txt' } }) end",
    )
    nvim.keys("i" + typed)
    nvim.wait("vim.fn.pumvisible() == 1", what="the files")
    nvim.keys("<C-n><C-y>")
    nvim.wait(lambda: nvim.lines() == [line], what="the file")
