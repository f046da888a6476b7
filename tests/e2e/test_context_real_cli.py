"""What Claude is told about the editor while it works, as it reaches the model."""

import contextlib
import itertools
import os
import queue
import random
import re
import signal
import subprocess
import threading

import pytest
from terminal_steps import IDLE, begin

from harness.cli import prepare_home
from harness.mock_api import MockApi
from harness.scripted_model import Reply

pytestmark = pytest.mark.cli

FILES = {"a.txt": "one\ntwo\n", "b.txt": "other\n", 'it\'s "b".txt': "quoted\n"}
SUBMIT = "return Ide.terminal_prompt.submit(Ide.terminal.bufnr(), ..., false)"
HOOKS = "return select(2, Ide.hooks.of({ 'claude' }, {}, vim.fn.getcwd()))[1]"
NOTES = "#Ide.hook_folder.texts()"


def notes_of(api):
    """The contexts of hooks in the latest conversation."""
    found = []
    for message in api.conversation():
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        found += [block["text"] for block in blocks if "hook additional context" in block.get("text", "")]
    return found


class Thoughtful(Reply):
    """A reply that the model gives when the test says so."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def content(self):
        self.asked.set()
        assert self.may_answer.wait(120)
        return super().content()


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
    assert not re.search("hook.*(error|fail|timed)", claude.screen(), re.IGNORECASE)
    assert bool(notes_of(mock_api)) == (way == "stop"), "its last text is told, unless it is gone"


FORMATTER = """
vim.api.nvim_create_autocmd("BufWritePre", { callback = function()
  vim.cmd([[silent! %s/\\s*;*$/;/]])
end })
"""


@pytest.mark.one_nvim
def test_a_file_that_is_saved_during_a_turn_is_reported_before_the_next_request(start_with_claude, mock_api):
    opts = {"context": {"saved": True}}
    nvim = start_with_claude(args=["a.txt"], files=FILES, opts=opts, init_lua=FORMATTER)
    turns = Turns(nvim, mock_api)
    path, other = (str(nvim.project / name) for name in ("a.txt", "b.txt"))
    assert turns.read("a.txt") == []
    first = Thoughtful(calls=[("Read", {"file_path": path})])
    mock_api.script(first, Reply(calls=[("Read", {"file_path": other})]), Reply(text="Done."))
    nvim.wait(lambda: nvim.lua(SUBMIT, "go on"), what="the prompt to be taken")
    nvim.wait(first.asked.is_set, what="the model to be asked")
    nvim.keys("oSAVED<Esc>:w<CR>")
    nvim.wait("#Ide.hook_folder.texts() >= 1", what="a text")
    first.may_answer.set()
    nvim.wait(lambda: not mock_api._scripted, what="the replies")
    nvim.wait(IDLE)
    (note,) = notes_of(mock_api)
    assert "+SAVED;" in note and "-one" in note and "+one;" in note and "PostToolBatch" in note
    assert turns.read("b.txt") == [], "once"


@pytest.mark.one_nvim
def test_contexts_go_along_with_a_prompt(start_with_claude, mock_api):
    opts = {"context": {"prompt": ["buffers", "selection"]}}
    nvim = start_with_claude(args=["a.txt"], files=FILES, opts=opts)
    turns = Turns(nvim, mock_api)
    nvim.cmd("edit b.txt")
    nvim.wait("Ide.hook_folder.texts()[1]:find('b.txt', 1, true)", what="the text")
    (note,) = turns.read("a.txt")
    assert "a.txt" in note and "b.txt" in note and "UserPromptSubmit" in note and "selection" in note


LINTER = """
local namespace = vim.api.nvim_create_namespace("linter")
local function lint(buf)
  local found = {}
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
    if line:find("ERROR") then
      table.insert(found, { lnum = row - 1, col = 0, message = line, severity = vim.diagnostic.severity.ERROR })
    end
  end
  vim.diagnostic.set(namespace, buf, found)
end
vim.api.nvim_create_autocmd("BufReadPost", { callback = function(event)
  lint(event.buf)
  vim.api.nvim_buf_attach(event.buf, false, { on_lines = vim.schedule_wrap(function() lint(event.buf) end) })
end })
"""


def edit(path, old, new):
    return ("Edit", {"file_path": str(path), "old_string": old, "new_string": new})


@pytest.mark.one_nvim
def test_new_errors_at_the_end_of_a_turn_make_claude_go_on_twice(start_with_claude, mock_api):
    files, opts = {"a.py": "one\nERROR old\n"}, {"context": {"errors": True}}
    command = ["claude", "--permission-mode", "acceptEdits"]
    nvim = start_with_claude(args=["a.py"], files=files, opts=opts, terminal={"command": command}, init_lua=LINTER)
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("accept edits on")
    nvim.wait("(Ide.server.clients()[1] or {}).pid", what="the CLI to connect")
    path = nvim.project / "a.py"
    mock_api.script(
        Reply(calls=[("Read", {"file_path": str(path)})]),
        Reply(calls=[edit(path, "one", "ERROR new")]),
        *[Reply(text=f"Done {number}.") for number in range(3)],
    )
    nvim.wait(lambda: nvim.lua(SUBMIT, "go on"), what="the prompt to be taken")
    nvim.wait(lambda: not mock_api._scripted, what="it to go on twice")
    nvim.wait_screen("Done 2.")
    said = str(mock_api.conversation())
    assert said.count("These errors are new") == 2 and "a.py  1:1  error: ERROR new" in said
    assert "ERROR old" not in said.rpartition("These errors are new")[2], "the old one is not reported"


class Colleague:
    """A model that changes lines of a file while the user saves it, by what it has read and been told; it reads again after an error."""

    def __init__(self, path, other, seed, save):
        self.path, self.other, self.save = str(path), str(other), save
        self.random = random.Random(seed)
        self.failures, self.left = 0, 0
        self.lines, self.taken = [], 0

    def __call__(self, messages):
        for message in messages[self.taken :]:
            for block in message["content"] if isinstance(message["content"], list) else []:
                self.take(block)
        self.taken = len(messages)
        if not self.lines:
            return Reply(calls=[("Read", {"file_path": self.path})])
        if self.left == 0:
            return Reply(text="All done.")
        self.left -= 1
        if self.left % 2:
            row = self.save()
            self.next = row if self.random.random() < 0.7 else self.random.randrange(len(self.lines))
            return Reply(calls=[("Read", {"file_path": self.other})])
        self.old, self.new = self.lines[self.next], f"{self.next} by Claude {self.left};"
        return Reply(calls=[edit(self.path, self.old, self.new)])

    def take(self, block):
        text = block.get("text") or block.get("content")
        if not isinstance(text, str):
            return
        if block["type"] == "tool_result" and text.startswith("1\t0"):
            self.lines = [line.partition("\t")[2] for line in text.rstrip("\n").split("\n") if "\t" in line]
            self.lines = [line for line in self.lines if line]
        elif block["type"] == "tool_result" and "has been updated" in text:
            self.lines[self.lines.index(self.old)] = self.new
        elif block["type"] == "tool_result" and block.get("is_error"):
            self.failures += 1
            self.lines = []
        elif "PostToolBatch hook additional context" in text:
            for hunk in re.finditer(r"^@@ -(\d+)\S* \+\S+ @@\n((?:[ +-].*\n)+)", text + "\n", re.M):
                old = [line[1:] for line in hunk[2].splitlines() if line[0] != "+"]
                new = [line[1:] for line in hunk[2].splitlines() if line[0] != "-"]
                first = int(hunk[1]) - 1
                assert self.lines[first : first + len(old)] == old
                self.lines[first : first + len(old)] = new


@pytest.mark.one_nvim
@pytest.mark.parametrize("is_told", [True, False])
def test_edits_of_lines_that_a_formatter_changed_on_save_succeed(start_with_claude, request, is_told, tmp_path):
    """Half of the model's steps are edits, before each the user has changed a line and saved the file."""
    edits = request.config.getoption("--edits")
    start = [f"{row} start;" for row in range(12)]
    saves = itertools.count()
    todo, done = queue.Queue(), queue.Queue()

    def save():
        todo.put(colleague.random.randrange(len(start)))
        return done.get(timeout=60)

    project = tmp_path / "project"
    colleague = Colleague(project / "a.txt", project / "b.txt", request.config.getoption("--seed") or 1, save)
    colleague.left = 2 * edits
    mock_api = MockApi(colleague)
    request.addfinalizer(mock_api.close)
    prepare_home(tmp_path / "home", project)
    nvim = start_with_claude(
        args=["a.txt"],
        files={"a.txt": "\n".join(start) + "\n", "b.txt": "other\n"},
        opts={"context": {"saved": is_told}},
        terminal={"command": ["claude", "--permission-mode", "acceptEdits"]},
        init_lua=FORMATTER,
        env={"ANTHROPIC_BASE_URL": mock_api.url},
    )
    path = nvim.project / "a.txt"
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("accept edits on")
    nvim.wait("(Ide.server.clients()[1] or {}).pid", what="the CLI to connect")
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    nvim.wait(lambda: nvim.lua(SUBMIT, "go on"), what="the prompt to be taken")

    def is_over():
        with contextlib.suppress(queue.Empty):
            row = todo.get(timeout=0.05)
            on_disk = path.read_text().splitlines()
            nvim.wait(lambda: nvim.lines() == on_disk, what="the buffer to follow the disk")
            nvim.keys(f":call setline({row + 1}, '{row} by user {next(saves)}   ')<Bar>w<CR>")
            nvim.wait(lambda: f"{row} by user" in path.read_text(), what="the file to be saved")
            if is_told:
                nvim.wait("Ide.hook_folder.texts()[1] ~= nil", what="the text")
            done.put(row)
        return colleague.left == 0 and "All done" in "".join(nvim.screen())

    nvim.wait(is_over, timeout=60 + 4 * edits, what="all edits")
    print(f"{edits} edits, {colleague.failures} failed")
    assert (colleague.failures == 0) == is_told, colleague.failures
    assert path.read_text().splitlines() == colleague.lines


@pytest.mark.one_nvim
def test_a_session_without_a_record_has_states(start_with_claude, mock_api, tmp_path):
    """A file where the folder of the records would be: this CLI is then like one below 2.1, which writes none."""
    (tmp_path / "home" / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "sessions").write_text("")
    (tmp_path / "project").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "project", check=True)
    nvim = start_with_claude(args=["a.txt"], files=FILES)
    nvim.keep_events("ClaudeWorking", "ClaudeWaiting", "ClaudeIdle")
    nvim.keys_count()
    begin(nvim, mock_api)
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("wincmd p")
    thought = Thoughtful(calls=[("Bash", {"command": "touch made; until [ -e go ]; do sleep 0.05; done"})])
    mock_api.script(thought, Reply(text="Done."))
    nvim.wait(lambda: nvim.lua(SUBMIT, "go on"), what="the prompt to be taken")
    state = "Ide.terminal.session().state.activity"
    nvim.wait(f"{state} == 'working'")
    thought.may_answer.set()
    nvim.wait(f"{state} == 'waiting'")
    nvim.wait_kind("question")
    nvim.keys("y", counts=True)
    nvim.wait((nvim.project / "made").exists, what="the command to run")
    (nvim.project / "go").touch()
    nvim.wait(IDLE)
    names = [name for name, _ in nvim.events()]
    assert set(names) == {"ClaudeWorking", "ClaudeWaiting", "ClaudeIdle"} and names[-1] == "ClaudeIdle"
    nvim.wait("Ide.journal.turns()[1].ended ~= nil", what="the end of the turn")
    made = str(nvim.project / "made")
    nvim.wait(lambda: nvim.lua("return Ide.journal.change(...) ~= nil", made), what="what it did")
    nvim.cmd("Claude close")
    nvim.wait("#Ide.sessions.live() == 0", what="the session to be gone")
