"""Accepted edits that were then not written: the CLI's tool refused, mostly since the file had changed after it was
read.
"""

import contextlib

import pytest
from chat_steps import begin, edit_proposal, start_scripted, wait_diff, wait_idle
from held_timers import hold_timers
from journal_steps import Claude

pytestmark = pytest.mark.dealt

OLD, NEW = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
CHANGED = (
    "File content has changed since it was last read. This commonly happens when a linter or formatter run via Bash "
    "rewrites the file. Call Read on this file to refresh, then retry the edit."
)
SEEN = "(Ide.proposal.list()[1] or {}).seen"
SETTLED = "Ide.expected_write.count() == 0"
KEPT = """
local kept = {}
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if (vim.b[buf].claude_ide or {}).kind == "kept" then
    kept[#kept + 1] = { buf, vim.api.nvim_buf_get_lines(buf, 0, -1, false), vim.bo[buf].filetype, vim.bo[buf].buflisted }
  end
end
return kept
"""


class Asking(Claude):
    """A CLI that asks for its edits."""

    def ask(self, name="a.txt", contents=NEW):
        """Calls a tool, and proposes its new text of the file."""
        call = self.called(name)
        path = str(self.project / name)
        request = self.client.start_call(
            "openDiff", old_file_path=path, new_file_path=path, new_file_contents=contents, tab_name=name
        )
        self.nvim.wait(SEEN, what="the diff to have been seen")
        return call, request

    def accept(self, name="a.txt", contents=NEW, typed=None):
        """Has an edit accepted with the user's typing in it; returns the call and the text to be written."""
        call, request = self.ask(name, contents)
        if typed:
            edit_proposal(self.nvim, -1, -1, [typed])
        self.nvim.lua("assert(Ide.proposal.accept())")
        outcome, text = self.client.call_result(request)
        assert outcome == "FILE_SAVED"
        return call, text

    def writes(self, call, name, text):
        (self.project / name).write_text(text)
        self.succeeded(call, name, "two", "TWO", OLD)

    @contextlib.contextmanager
    def subagent(self):
        """Within it, lines go to a subagent's transcript."""
        folder = self.path.with_suffix("") / "subagents"
        folder.mkdir(parents=True, exist_ok=True)
        main, parent = self.path, self.parent
        self.path, self.parent = folder / "agent-1.jsonl", None
        self.line("user", message={"role": "user", "content": "as told"})
        yield
        self.path, self.parent = main, parent
        self.line("user", message={"role": "user", "content": "go on"})

    def wait_read(self):
        """Waits until the transcript was read to its end, and the fate of accepted edits is known."""
        self.edit("b.txt", self.text("b.txt"), self.text("b.txt") + "b\n")
        self.nvim.wait(
            lambda: self.changes().get("b.txt", {}).get("after") == self.text("b.txt"), what="the transcript"
        )
        self.nvim.wait(SETTLED, what="nothing to be waited for")


@pytest.fixture
def claude(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": OLD, "b.txt": "b\n", "c.txt": "c\n", "d.txt": "d\n"}, args=["a.txt"])
    nvim.keep_notices()
    claude = Asking(nvim, connect)
    claude.prompt()
    return claude


@pytest.mark.every_nvim
def test_it_is_said_and_what_was_typed_is_kept(claude):
    call, _ = claude.accept(typed="four, say I")
    claude.failed(call, CHANGED)
    claude.nvim.wait("#notices == 1", what="a notice")
    ((buf, lines, filetype, listed),) = claude.nvim.lua(KEPT)
    assert (lines, filetype, listed) == (["one", "TWO", "three", "four, say I"], "text", True)
    assert claude.nvim.notices() == [
        "Claude did not write a.txt: it had changed since Claude read it. "
        f"Your edits to the proposal are saved: `:buffer {buf}`."
    ]
    assert claude.text("a.txt") == OLD
    # The model reads it again and proposes anew.
    call, text = claude.accept()
    claude.writes(call, "a.txt", text)
    claude.wait_read()
    assert len(claude.nvim.notices()) == 1


def test_on_a_narrow_screen_the_buffer_is_named(claude):
    claude.nvim.lua("vim.o.columns = 80")
    call, _ = claude.accept(typed="four")
    claude.failed(call, CHANGED)
    claude.nvim.wait("#notices == 1", what="a notice")
    ((buf, *_),) = claude.nvim.lua(KEPT)
    assert claude.nvim.notices() == [f"Claude did not write a.txt: it had changed. Your edits: `:buffer {buf}`."]


def test_what_nobody_typed_into_needs_no_buffer(claude):
    call, _ = claude.accept()
    claude.failed(call, CHANGED)
    claude.nvim.wait("#notices == 1", what="a notice")
    assert claude.nvim.notices() == [
        "Claude did not write a.txt, which you accepted: it had changed since Claude read it."
    ]
    assert claude.nvim.lua(KEPT) == []
    claude.wait_read()
    assert len(claude.nvim.notices()) == 1


WHY = {
    "String not found in file. Failed to apply edit.": "it had changed since Claude read it.",
    "<tool_use_error>File has been unexpectedly modified. Read it again.</tool_use_error>": "it had changed since Claude read it.",
    "EACCES: permission denied, open '/a.txt'": "EACCES: permission denied, open '/a.txt'.",
    "": "its terminal says why.",
}


def test_why_is_said(claude):
    for words, why in WHY.items():
        claude.nvim.lua("notices = {}")
        call, _ = claude.accept()
        claude.failed(call, words)
        claude.nvim.wait("#notices == 1", what=f"a notice after {words}")
        assert claude.nvim.notices()[0].endswith(f"a.txt, which you accepted: {why}")


def test_of_a_file_that_is_gone(claude):
    (claude.project / "a.txt").unlink()
    call, _ = claude.accept()
    claude.failed(call, "String not found in file. Failed to apply edit.")
    claude.nvim.wait("#notices == 1", what="a notice")
    assert claude.nvim.notices()[0] == "Claude did not write a.txt, which you accepted: it is no longer there."


def test_nothing_is_said_where_the_tool_wrote_something_else(claude):
    """A formatter after it, a merge with the user's own lines, or a later write of the turn."""
    call, text = claude.accept(typed="four")
    claude.writes(call, "a.txt", text.upper())
    claude.wait_read()
    call, text = claude.accept(contents="one\n2\nthree\n")
    claude.writes(call, "a.txt", text)
    claude.edit("a.txt", "2", "two")
    claude.wait_read()
    call, text = claude.accept()
    claude.writes(call, "a.txt", text)
    (claude.project / "a.txt").unlink()
    claude.wait_read()
    assert (claude.nvim.notices(), claude.nvim.lua(KEPT)) == ([], [])


def test_nothing_is_said_where_the_file_holds_it_all_the_same(claude):
    # The transcript comes first: the file's own changes go unnoticed.
    claude.nvim.lua("Ide.watch_files.follow = function() return function() end end")
    hold_timers(claude.nvim, "look for an accepted edit")
    call, text = claude.accept(typed="four")
    (claude.project / "a.txt").write_bytes(text.replace("\n", "\r\n").encode())
    claude.failed(call, CHANGED)
    claude.wait_read()
    assert (claude.nvim.notices(), claude.nvim.lua(KEPT)) == ([], [])


def test_nothing_is_said_of_calls_that_nobody_accepted(claude):
    # Not accepted: one that failed before and is reported later; during the wait, ones of another file and of a tool
    # that writes nothing.
    early = claude.called("a.txt")
    with claude.at_once():
        claude.failed(early, CHANGED)
        call, text = claude.accept()
    with claude.subagent():
        claude.failed(claude.called("b.txt"), CHANGED)
        claude.failed(claude.called("a.txt", tool="Read"), CHANGED)
    claude.edit("b.txt", "b", "B")
    claude.nvim.wait("#Ide.journal.changes() == 1", what="the transcript to be read")
    assert claude.nvim.lua(f"return {SETTLED}") is False
    claude.writes(call, "a.txt", text + "formatted\n")
    claude.wait_read()
    # One that fails where Claude does not ask.
    claude.failed(claude.called("a.txt"), CHANGED)
    claude.wait_read()
    # One of a later turn, when the accepted one's result never came; and one that the user stopped.
    claude.accept()
    claude.prompt()
    claude.failed(claude.called("a.txt"), CHANGED)
    call, _ = claude.accept(contents="one\n2\nthree\n")
    claude.failed(call, "The user doesn't want to proceed with this tool use.", denied=True)
    # A reading looks for failures before it looks for changes; so a second reading.
    for name in ("c.txt", "d.txt"):
        claude.edit(name, name[0], "x")
        claude.nvim.wait(lambda name=name: name in claude.changes(), what="the transcript to be read")
    claude.client.close()
    claude.nvim.wait(SETTLED, what="nothing to be waited for")
    assert claude.nvim.notices() == []


def test_what_is_written_late_is_not_missed_too_soon(claude):
    call, text = claude.accept()
    claude.client.call("getDiagnostics")
    claude.line("assistant", message={"id": "m", "role": "assistant", "content": [{"type": "text", "text": "wait"}]})
    claude.edit("b.txt", "b", "B")
    claude.nvim.wait("#Ide.journal.changes() == 1", what="the transcript to be read")
    claude.writes(call, "a.txt", text)
    claude.wait_read()
    assert claude.nvim.notices() == []


def test_several_of_one_turn_are_told_apart(claude):
    first, _ = claude.accept()
    claude.failed(first, CHANGED)
    second, text = claude.accept(contents="one\nII\nthree\n")
    claude.writes(second, "a.txt", text)
    third, _ = claude.accept(contents="one\nII\nIII\n", typed="IV")
    claude.failed(third, CHANGED)
    claude.wait_read()
    assert len(claude.nvim.notices()) == 2
    ((_, lines, *_),) = claude.nvim.lua(KEPT)
    assert lines == ["one", "II", "III", "IV"]


def test_the_refusal_of_one_leaves_the_same_text_that_was_accepted_since_expected(claude):
    claude.nvim.keys("ggOunsaved<Esc>")
    claude.nvim.wait(lambda: claude.nvim.lines()[0] == "unsaved" and claude.nvim.mode() == "n")
    with claude.at_once():  # the refusal is read after both were accepted
        call, _ = claude.accept()
        claude.failed(call, CHANGED)
        call, text = claude.accept()
    claude.nvim.wait("#notices == 1", what="the refusal to be known")
    claude.writes(call, "a.txt", text)
    claude.nvim.wait(lambda: claude.nvim.lines(1) == ["unsaved", *NEW.splitlines()], what="both texts")
    assert len(claude.nvim.notices()) == 1


def test_one_that_is_reported_as_written_says_nothing_of_what_was_accepted_since(claude):
    with claude.at_once():  # the transcript is read after both were accepted
        call, text = claude.accept(contents="one\nII\nthree\n")
        claude.writes(call, "a.txt", text)
        call, _ = claude.accept(contents="one\nII\nIII\n", typed="IV")
    claude.nvim.wait("#Ide.journal.changes() == 1", what="the transcript to be read")
    claude.failed(call, CHANGED)
    claude.wait_read()
    assert len(claude.nvim.notices()) == 1
    ((_, lines, *_),) = claude.nvim.lua(KEPT)
    assert lines == ["one", "II", "III", "IV"]


def test_an_edit_of_a_subagent(claude):
    with claude.subagent():
        call, _ = claude.accept(typed="four")
        claude.failed(call, CHANGED)
    claude.nvim.wait("#notices == 1", what="a notice")
    assert len(claude.nvim.lua(KEPT)) == 1


@pytest.mark.every_nvim
def test_it_comes_when_it_can_be_read_and_disturbs_nothing(start_nvim, connect):
    """With Neovim's own messages, on its screen."""
    nvim = start_nvim(files={"a.txt": OLD, "b.txt": "b\n"}, args=["b.txt"])
    claude = Asking(nvim, connect)
    claude.prompt()
    call, _ = claude.accept()
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="the diff to be gone")
    nvim.keys("ihel")
    nvim.wait(lambda: nvim.lines()[0] == "helb", what="what is being typed")
    claude.failed(call, CHANGED)
    nvim.wait(SETTLED, what="the refusal to be known")
    nvim.keys("lo")
    nvim.wait(lambda: nvim.lines()[0] == "hellob", what="what was typed")
    assert nvim.mode() == "i"
    nvim.wait_screen("-- INSERT --")
    nvim.keys("<Esc>")
    nvim.wait_screen("Claude did not write a.txt, which you accepted: it had changed since Claude read it.")
    assert nvim.mode() == "n"
    # While a command is typed.
    call, _ = claude.accept(typed="four")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="the diff to be gone")
    nvim.keys(":let g:typed =")
    nvim.wait("vim.api.nvim_get_mode().mode == 'c'", what="the command line")
    claude.failed(call, CHANGED)
    nvim.wait(SETTLED, what="the refusal to be known")
    nvim.keys(" 1")
    nvim.wait_screen(":let g:typed = 1")
    assert "did not write" not in "\n".join(nvim.screen())
    nvim.keys("<CR>")
    nvim.wait("vim.g.typed == 1", what="the command")
    nvim.wait_screen("Your edits to the proposal are saved")
    nvim.keys("l")
    nvim.wait(lambda: nvim.cursor() == (1, 5), what="no key to be asked for")


AGENT = """
EDIT = dict(file_path=os.path.abspath("a.txt"), old_string="two", new_string="TWO", replace_all=False)

def message(kind, block, **more):
    write(type=kind, message=dict(id="m", role=kind, model="m", content=[block]), parent_tool_use_id=PARENT,
        session_id="s", uuid=block["type"], **more)

for one in prompts("default"):
    if one["type"] == "user":
        message("assistant", dict(type="tool_use", id="t", name="Edit", input=EDIT))
        ask("Edit", EDIT, "t")
    elif ERROR is None:
        sys.exit(3)
    else:
        message("user", dict(type="tool_result", tool_use_id="t", content=ERROR, is_error=True), toolUseResult="Error: " + ERROR)
        if LEAVES:
            sys.exit(0)
        over()
"""


@pytest.fixture
def chat_with_an_edit(start_nvim, tmp_path):
    """A chat whose edit awaits the user, who has typed into it."""

    def begin_one(error=CHANGED, parent=None, leaves=False):
        values = {"ERROR": error, "PARENT": parent, "LEAVES": leaves}
        nvim = start_scripted(start_nvim, tmp_path, AGENT, values, files={"a.txt": OLD})
        nvim.keep_notices()
        begin(nvim, "go")
        wait_diff(nvim)
        edit_proposal(nvim, -1, -1, ["four"])
        return nvim

    return begin_one


def test_a_chat_whose_claude_ends_before_it_writes(chat_with_an_edit):
    nvim = chat_with_an_edit(error=None)
    nvim.lua("assert(Ide.proposal.accept())")
    nvim.wait("#notices == 1", what="a notice")
    ((buf, lines, *_),) = nvim.lua(KEPT)
    assert lines == ["one", "TWO", "three", "four"]
    assert nvim.notices() == [
        f"Claude did not write a.txt: it ended before it did. Your edits to the proposal are saved: `:buffer {buf}`."
    ]
    assert nvim.lua("return " + SETTLED)


def test_a_chat_whose_claude_ends_as_soon_as_its_tool_has_refused(chat_with_an_edit):
    nvim = chat_with_an_edit(leaves=True)
    # The file is read when both are known.
    nvim.lua(
        """
        local file = Ide.file
        local read = file.read_later
        file.read_later = function(...)
          local args = { ... }
          reads = vim.list_extend(reads or {}, { function() read(unpack(args)) end })
        end
        """
    )
    nvim.lua("assert(Ide.proposal.accept())")
    nvim.wait("Ide.chat.current().state == 'ended'", what="the end")
    nvim.lua("for _, read in ipairs(reads) do read() end")
    nvim.wait("Ide.expected_write.count() == 0 and #notices > 0", what="a notice")
    nvim.lua("later = false Ide.file.read_later('/dev/null', 1, function() later = true end)")
    nvim.lua("reads[#reads]()")
    nvim.wait("later")
    assert len(nvim.notices()) == 1
    assert len(nvim.lua(KEPT)) == 1


@pytest.mark.parametrize("parent", [None, "toolu_agent"], ids=["its own", "a subagent's"])
def test_in_a_chat(chat_with_an_edit, parent):
    nvim = chat_with_an_edit(parent=parent)
    nvim.lua("assert(Ide.proposal.accept())")
    wait_idle(nvim)
    nvim.wait("#notices == 1", what="a notice")
    ((buf, lines, *_),) = nvim.lua(KEPT)
    assert lines == ["one", "TWO", "three", "four"]
    assert nvim.notices() == [
        "Claude did not write a.txt: it had changed since Claude read it. "
        f"Your edits to the proposal are saved: `:buffer {buf}`."
    ]
    assert (nvim.project / "a.txt").read_text() == OLD


def test_a_cli_that_goes_after_its_edit_was_written_ends_its_turn(claude):
    call, text = claude.accept()
    claude.writes(call, "a.txt", text)
    claude.nvim.wait(SETTLED, what="it to be known")
    assert not claude.nvim.lua(ENDED)
    claude.client.close()
    claude.nvim.wait(ENDED, what="the turn to end")
    assert "attempt to index" not in claude.nvim.log()


def test_a_cli_that_goes_before_it_writes(claude):
    claude.accept(typed="four")
    claude.client.close()
    claude.nvim.wait("#notices == 1", what="a notice")
    ((buf, lines, *_),) = claude.nvim.lua(KEPT)
    assert lines == ["one", "TWO", "three", "four"]
    assert claude.nvim.notices() == [
        f"Claude did not write a.txt: it ended before it did. Your edits to the proposal are saved: `:buffer {buf}`."
    ]


@pytest.mark.parametrize("text", [NEW + "four\n", "something else\n"], ids=["with it", "with something else"])
def test_a_cli_that_goes_and_leaves_the_file(claude, text):
    claude.accept(typed="four")
    (claude.project / "a.txt").write_text(text)
    claude.client.close()
    claude.nvim.wait(SETTLED, what="it to be known")
    assert claude.nvim.notices() == [] and claude.nvim.lua(KEPT) == []


ENDED = "return Ide.journal.turns()[1].ended ~= nil"
