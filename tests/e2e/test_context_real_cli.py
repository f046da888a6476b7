"""What Claude is told about the editor while it works, as it reaches the model."""

import os
import signal

import pytest
from terminal_steps import IDLE, begin

from harness.scripted_model import Reply

pytestmark = pytest.mark.cli

FILES = {"a.txt": "one\ntwo\n", "b.txt": "other\n", 'it\'s "b".txt': "quoted\n"}
SUBMIT = "return require('claude-ide.terminal.prompt').submit(require('claude-ide.terminal').bufnr(), ..., false)"
HOOKS = "return select(2, require('claude-ide.terminal.hooks').of({ 'claude' }, {}, vim.fn.getcwd()))[1]"
NOTES = "#require('claude-ide.terminal.hook_folder').notes()"


def notes_of(api):
    """The contexts of hooks in the latest conversation."""
    found = []
    for message in api.conversation():
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        found += [block["text"] for block in blocks if "hook additional context" in block.get("text", "")]
    return found


class Turns:
    """Turns of the CLI in the terminal of `:Claude`, beside a file."""

    def __init__(self, nvim, api):
        self.nvim, self.api = nvim, api
        nvim.keys_count()
        begin(nvim, api)
        nvim.keys("<C-\\><C-n>")
        nvim.cmd("wincmd p")

    def read(self, name):
        """Has Claude read a file; returns what hooks have said since the turn began."""
        before = len(notes_of(self.api))
        path = self.nvim.project / name
        self.nvim.wait(IDLE, what="the turn before to be over")
        self.api.script(Reply(calls=[("Read", {"file_path": str(path)})]), Reply(text="Done."))
        self.nvim.wait(lambda: self.nvim.lua(SUBMIT, "go on"), what="the prompt to be taken")
        self.nvim.wait(lambda: not self.api._scripted, what="both replies")
        self.nvim.wait(IDLE, what="the turn to be over")
        return notes_of(self.api)[before:]


def test_unsaved_text_goes_along_with_a_read(start_with_claude, mock_api):
    turns = Turns(start_with_claude(args=["a.txt"], files=FILES), mock_api)
    for step in (
        nothing_is_told_of_a_saved_file,
        the_unsaved_lines_are_told,
        an_unfocused_buffer_with_an_odd_name_is_told,
        a_private_buffer_is_not,
        it_is_over_once_it_is_written,
    ):
        step(turns)


def nothing_is_told_of_a_saved_file(turns):
    assert turns.read("a.txt") == []


def the_unsaved_lines_are_told(turns):
    turns.nvim.keys("GoUNSAVED<Esc>")
    turns.nvim.wait(f"{NOTES} == 1", what="the note")
    assert turns.read("b.txt") == [], "only with its own file"
    (note,) = turns.read("a.txt")
    assert "+UNSAVED" in note and str(turns.nvim.project / "a.txt") in note
    turns.nvim.cmd("Claude context")
    turns.nvim.wait_screen("+UNSAVED")
    turns.nvim.keys("q")


def an_unfocused_buffer_with_an_odd_name_is_told(turns):
    name = 'it\'s "b".txt'
    turns.nvim.lua(
        "local b = vim.fn.bufadd(...); vim.fn.bufload(b); vim.api.nvim_buf_set_lines(b, 0, 0, true, { 'HIDDEN' })",
        str(turns.nvim.project / name),
    )
    turns.nvim.wait(f"{NOTES} == 2", what="the note")
    (note,) = turns.read(name)
    assert "+HIDDEN" in note
    turns.nvim.lua("vim.cmd('bwipeout! ' .. vim.fn.bufnr(...))", name)
    turns.nvim.wait(f"{NOTES} == 1", what="the note to go")


def a_private_buffer_is_not(turns):
    turns.nvim.lua("vim.b.claude_private = true")
    turns.nvim.wait(f"{NOTES} == 0", what="the note to go")
    assert turns.read("a.txt") == []
    turns.nvim.lua("vim.b.claude_private = nil")
    turns.nvim.wait(f"{NOTES} == 1", what="the note")


def it_is_over_once_it_is_written(turns):
    turns.nvim.cmd("write")
    turns.nvim.wait(f"{NOTES} == 0", what="the note to go")
    assert turns.read("a.txt") == []


@pytest.mark.one_nvim
def test_unsaved_text_is_saved_first_if_the_user_wants_it(start_with_claude, mock_api):
    files, opts = {"a.txt": "one\n"}, {"context": {"unsaved": "save"}}
    turns = Turns(start_with_claude(args=["a.txt"], files=files, opts=opts), mock_api)
    turns.nvim.keys("oUNSAVED<Esc>")
    turns.nvim.wait(f"{NOTES} == 1", what="the note")
    assert turns.read("a.txt") == []
    assert (turns.nvim.project / "a.txt").read_text() == "one\nUNSAVED\n"
    assert mock_api.seen("UNSAVED"), "in the result of the tool"


@pytest.mark.one_nvim
@pytest.mark.parametrize("way", ["stop", "kill", "quit"])
def test_a_neovim_that_is_gone_or_stopped_leaves_the_terminal_as_it_is(start_nvim, cli, mock_api, way):
    nvim = start_nvim(args=["a.txt"], files=FILES)
    nvim.start_server()
    claude = cli(nvim, args=("--ide", nvim.lua(HOOKS)))
    nvim.keys("oUNSAVED<Esc>")
    nvim.wait(f"{NOTES} == 1", what="the note")
    if way == "quit":
        nvim.keys(":qall!<CR>")
        claude.terminal.wait(lambda: not nvim.running(), what="Neovim to end")
    else:
        os.kill(nvim.server_pid, signal.SIGSTOP if way == "stop" else signal.SIGKILL)
    try:
        mock_api.script(
            Reply(calls=[("Read", {"file_path": str(nvim.project / "a.txt")})]),
            Reply(text="Read it."),
        )
        claude.type("go on")
        claude.enter()
        claude.wait_screen("Read it.", 60)
    finally:
        if way == "stop":
            os.kill(nvim.server_pid, signal.SIGCONT)
    assert "hook" not in claude.screen()
    assert bool(notes_of(mock_api)) == (way == "stop"), "its last text is told, unless it is gone"
