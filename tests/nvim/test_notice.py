"""A notice never makes Neovim wait for a key, whatever its text and the user's activity."""

import os
import re

import pytest

from harness.nvim import ROOT

LONG = "lua/" + "a_folder_with_a_name/" * 4 + "a_file_with_a_long_name.lua"


@pytest.mark.parametrize("columns", [80, 130])
def test_a_conflict_is_reported_in_one_line_that_takes_no_key(start_nvim, columns):
    nvim = start_nvim(args=[LONG], files={LONG: "one\n"})
    nvim.lua("vim.o.columns = ... Ide.server.start()", columns)
    nvim.keys("imine ")
    nvim.wait("vim.bo.modified and Ide.watch_conflict.base(vim.fn.bufnr()) ~= nil")
    path = nvim.project / LONG
    path.with_name("new").write_text("theirs\n")
    os.replace(path.with_name("new"), path)
    nvim.wait("#Ide.watch_conflict.list() == 1")
    assert nvim.mode() == "i"
    nvim.keys("x y")
    nvim.wait(lambda: nvim.lines() == ["mine x yone"], what="the keys to be text")
    nvim.keys("<Esc>")  # only now: the mode line took the message's place
    nvim.wait_screen(re.compile(r":Claude resolve.*changed on disk|changed on disk.*:Claude resolve"))
    nvim.keys("rz")
    nvim.wait(lambda: nvim.lines() == ["mine x zone"], what="the keys to be a command")


SAID = [
    "notice.warn(('word '):rep(60))",
    "notice.error('first') notice.error('second')",
    "notice.warn('first') notice.error('second')",
    "vim.api.nvim_echo({ { 'of another plugin' } }, true, {}) notice.error(('long '):rep(60))",
    "notice.error('a trace:\\n\\tin line one\\n\\tin line two')",
    "notice.info(('漢'):rep(100))",
    "notice.info(('e\\204\\129'):rep(200))",
    "notice.info(('\\1\\200'):rep(60))",
    "notice.info({ ('long '):rep(60), ('shorter '):rep(30) })",
    "notice.info({ '' })",
]


def test_nothing_that_is_said_takes_a_key_of_the_user(start_nvim):
    nvim = start_nvim(init_lua="vim.o.columns = 80")
    nvim.lua("vim.o.columns = 80")
    typed = ""
    nvim.keys("i")
    nvim.wait("vim.fn.mode() == 'i'")
    for options in (
        "noshowmode",
        "noruler noshowcmd",
        "laststatus=0 ruler showcmd",
        "cmdheight=0",
        "cmdheight=1 showmode",
    ):
        nvim.cmd(f"set {options}")
        for said in SAID:
            nvim.lua(f"local notice = Ide.notice vim.schedule(function() {said} end)")
            nvim.keys("x")
            typed += "x"
            nvim.wait(lambda: nvim.lines() == [typed], what=f"the key after {said} with {options}")  # noqa: B023
    nvim.keys("<Esc>")
    nvim.wait("vim.fn.execute('messages'):find('word word') ~= nil")
    nvim.keys("rz")
    nvim.wait(lambda: nvim.lines() == [typed[1:] + "z"], what="the keys to be a command")


def test_what_is_said_in_the_middle_of_a_command_is_read_after_it(start_nvim):
    nvim = start_nvim(files={"a.txt": "one\n"}, args=["a.txt"])
    for command, shown in (("let g:typed = 1", ""), ("echomsg 'typed'", "typed")):
        nvim.keys(f":{command[:5]}")
        nvim.wait("vim.api.nvim_get_mode().mode == 'c'", what="the command line")
        nvim.lua("Ide.notice.warn('something came of it')")
        nvim.keys(command[5:])
        nvim.wait_screen(f":{command}")
        assert "something" not in "\n".join(nvim.screen())
        nvim.keys("<CR>")
        nvim.wait_screen("something came of it")
        assert shown in nvim.lua("return vim.fn.execute('messages')")
        nvim.keys("rz")
        nvim.wait(lambda: nvim.lines() == ["zne"], what="the keys to be a command")
        nvim.keys(":silent undo | echo<CR>")
        nvim.wait(lambda: nvim.lines() == ["one"], what="the text as it was")


def test_an_error_does_not_make_neovim_stand_still(start_nvim):
    nvim = start_nvim(init_lua="vim.o.cmdheight = 2")
    nvim.keys("i")
    nvim.wait("vim.fn.mode() == 'i'")
    nvim.lua("vim.api.nvim_buf_attach(0, false, { on_lines = function() typed = vim.uv.hrtime() end })")
    took = []
    for typed in ("x" * count for count in range(1, 31)):  # a single slow one may be the machine's fault
        nvim.lua(
            """
            local said = ...
            vim.schedule(function()
              before = vim.uv.hrtime()
              Ide.notice.error(said)
              vim.defer_fn(function() vim.api.nvim_input("x") end, 20) -- when Neovim has drawn it, and waits
            end)
            """,
            f"it failed at {typed}.",
        )
        nvim.wait(f"vim.fn.getline(1) == '{typed}'")
        assert f"it failed at {typed}." in nvim.lua("return vim.fn.execute('messages')")
        took.append(nvim.lua("return (typed - before) / 1e9"))
        if took[-1] < 1:
            break
    assert min(took) < 1  # Neovim's own error message takes one second


@pytest.mark.parametrize(
    "said", ["notice.info('words')", "notice.warn('words')", "notice.error('words')", "notice.progress('id')('words')"]
)
def test_without_a_command_line_what_is_said_is_drawn_last(start_nvim, said):
    nvim = start_nvim(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.cmd("set cmdheight=0")
    for number, before in enumerate(("vim.cmd('redrawstatus!')", "vim.fn.setline(1, 'two')", "vim.cmd.split()")):
        words = f"words {number}"
        said_now = said.replace("words", words)
        nvim.lua(f"local notice = Ide.notice vim.defer_fn(function() {before} {said_now} end, 1)")
        nvim.wait_screen(words)
        assert words in nvim.screen()[-1]
        assert nvim.mode() == "n"


@pytest.mark.one_nvim
def test_a_text_that_does_not_fit_ends_with_the_command_that_helps(start_nvim):
    nvim = start_nvim()
    texts = "Ide.one_line.of_file('/tmp/' .. ('folder/'):rep(30) .. 'a.txt', { 'See %s for more', '%s!' })"
    nvim.lua("vim.o.columns = 60")
    assert nvim.lua(f"return Ide.one_line.fitting({texts})") == "See a.txt for more"
    assert nvim.lua("return Ide.one_line.fitting({ 'a\\nb\\tc ' })") == "a b c"


@pytest.mark.one_nvim
def test_a_text_is_cut_neither_within_a_command_nor_within_a_sentence_if_one_fits(start_nvim):
    nvim = start_nvim(init_lua="vim.o.columns = 60")
    reason = "a.txt: no such thing there, whatever is"
    for text, shown in {
        f"{reason}. `:Claude log` has more of that.": f"{reason}.",
        "What this is about takes many cells: `:checkhealth claude-ide`": "What this is about takes many cells…",
        "`:Claude log` has what this is about, and many more cells": "`:Claude log` has what this is about, and many…",
    }.items():
        assert nvim.lua("return Ide.one_line.fitting({ ... })", text) == shown


@pytest.mark.one_nvim
def test_notices_keep_the_command_that_they_are_for_on_a_narrow_screen(start_nvim):
    nvim = start_nvim(notices=True, init_lua="vim.o.columns = 60", opts={"server": {"handshake_timeout_ms": "x"}})
    assert nvim.wait_notice() == "Invalid option: `:checkhealth claude-ide`"
    nvim.cmd("Claude boad")
    assert nvim.notices()[-1] == "Did you mean `:Claude board`?"
    nvim.cmd("set columns=75 | Claude boad")
    assert nvim.notices()[-1] == "No such subcommand. Did you mean `:Claude board`?"


@pytest.mark.one_nvim
@pytest.mark.parametrize("level", ["info", "warn", "error"])
def test_what_does_not_fit_is_in_the_log_as_what_it_is(start_nvim, level):
    nvim = start_nvim()
    text = "It is done. " + "word " * 60
    nvim.lua("Ide.notice[...](select(2, ...))", level, text)
    assert nvim.lua("return vim.fn.execute('messages')").strip() == "It is done. `:Claude log` has more."
    (line,) = [line for line in nvim.log().splitlines() if "It is done." in line]
    assert line.split()[1] == level.upper()


@pytest.mark.one_nvim
def test_no_log_is_named_that_has_nothing(start_nvim):
    nvim = start_nvim(opts={"log": {"level": "warn"}})
    nvim.lua("Ide.notice.info(...)", "It is done. " + "word " * 60)
    assert nvim.lua("return vim.fn.execute('messages')").strip() == "It is done. …"
    assert "It is done." not in nvim.log()


@pytest.mark.one_nvim
def test_there_is_one_door_for_messages():
    says = re.compile(r"vim\.notify(_once)?\((?!\))|nvim_echo\((?!\{\})|nvim_err_write|nvim_out_write|^\s*print\(")
    found = set()
    for path in [*(ROOT / "lua").rglob("*.lua"), *(ROOT / "plugin").rglob("*.lua")]:
        lines = [line for line in path.read_text().splitlines() if "doc = " not in line and not line.startswith("---")]
        if any(says.search(line) for line in lines):
            found.add(str(path.relative_to(ROOT)))
    assert found == {"lua/claude-ide/base/notice.lua"}
