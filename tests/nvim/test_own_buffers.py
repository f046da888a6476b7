"""Buffers of ours: they can be filled where nothing else can be changed (`nvim -M`)."""

import pytest
from test_chat_context import expand
from transcript_files import Transcript
from transcript_steps import go_to, press, show

pytestmark = pytest.mark.dealt


@pytest.mark.every_nvim
def test_a_cut_text_is_shown_where_nothing_can_be_changed(start_nvim, tmp_path):
    script = Transcript(tmp_path / "home", tmp_path / "project")
    script.prompt("one")
    script.run("Bash", "".join(f"line {number}\n" for number in range(3000)), command="seq 3000")
    nvim = show(start_nvim, script, args=["-M"])
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
    require("claude-ide.notebook.confirm").ask({ name = "Python", language = "python" }, run, function() end)
    """)
    nvim.wait("(vim.b.claude_ide or {}).kind == 'code'", what="the question")
    assert nvim.lines() == ["one", "two"]


@pytest.mark.every_nvim
def test_lines_of_a_file_are_read_where_nothing_can_be_changed(start_nvim):
    nvim = start_nvim(files={"a.txt": "one\ntwo\n"}, args=["-M"])
    assert "a.txt, lines 2-2:\n2\ttwo\n<" in expand(nvim, "#lines:a.txt:2-2")[0]


def test_undo_does_not_empty_one(start_nvim):
    nvim = start_nvim()
    nvim.lua("""
    local buf = require("claude-ide.ui.own_buffer").create({ lines = { "one", "two" } })
    vim.api.nvim_win_set_buf(0, buf)
    """)
    nvim.keys("uodrei<Esc>u")
    nvim.wait(lambda: nvim.lines() == ["one", "two"], what="the text that it was made with")
    assert nvim.lua("return vim.fn.undotree().seq_last") == 1, "what came later can be undone"
