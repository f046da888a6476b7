"""Rejecting with a reason: it becomes the next prompt of the CLI in our terminal, or is kept for the user."""

import time

import pytest

from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

SEEN = "(Ide.proposal.list()[1] or {}).seen"
PASTE, END = b"\x1b[200~", b"\x1b[201~"


class Talk:
    """A Neovim with a CLI in its terminal and an edit proposed by that CLI."""

    def __init__(self, nvim, cli, sessions, connect):
        self.nvim, self.cli, self.sessions = nvim, cli, sessions
        self.ours = connect(nvim)
        nvim.keep_notices()
        nvim.cmd("Claude open")
        nvim.wait_screen("fake CLI ready")
        self.pid = cli.starts()[0]["pid"]
        self.ours.notify("ide_connected", {"pid": self.pid})
        nvim.wait(f"Ide.server.clients()[1].pid == {self.pid}")
        self.state("busy")
        nvim.keys("<C-\\><C-\\>")
        nvim.wait(lambda: nvim.mode() == "n")
        self.request = self.propose(self.ours)
        nvim.wait(SEEN, what="the diff to have been seen")
        nvim.keys_count()

    def propose(self, client, name="a.txt"):
        path = str(self.nvim.project / name)
        count = self.nvim.lua("return Ide.proposal.count()")
        args = {"old_file_path": path, "new_file_path": path, "new_file_contents": "A\n", "tab_name": "tab"}
        request = client.start_call("openDiff", **args)
        self.nvim.wait(f"Ide.proposal.count() == {count + 1}")
        self.nvim.wait("(Ide.proposal.list()[1] or {}).tab")
        return request

    def state(self, status, **more):
        """Sets the CLI's record, and waits until Neovim knows it."""
        self.sessions.record(self.pid, "s", status, **more)
        activity = {"busy": "working"}.get(status, status)
        self.nvim.wait(f"(Ide.terminal.session() or {{ state = {{}} }}).state.activity == '{activity}'")

    def at_prompt(self, **more):
        """The CLI shows an empty prompt, and its record says so."""
        self.cli.show_prompt()
        self.state("idle", **more)

    def reject(self, text):
        self.nvim.wait(SEEN)
        self.nvim.lua("return require('claude-ide').reject(...)", text)
        assert self.ours.call_result(self.request) == ["DIFF_REJECTED"]

    def wait_typed(self, expected):
        self.nvim.wait(lambda: self.cli.typed() == expected, what=f"the CLI to read {expected!r}")

    def wait_kept(self, text, notice):
        """Waits until the words are in the register and the user was notified."""
        self.nvim.wait(lambda: any(notice in said for said in self.nvim.notices()), what=f"a notice of {notice!r}")
        assert self.nvim.lua("return vim.fn.getreg('\"')") == text
        assert any('Your text is in register "' in said for said in self.nvim.notices())


@pytest.fixture
def talk(start_nvim, connect, sessions, tmp_path):
    cli = FakeCli(tmp_path)
    nvim = start_nvim(
        env=cli.environment(),
        files={"a.txt": "a\n", "b.txt": "b\n"},
        args=["a.txt"],
        init_lua="vim.g.clipboard = false vim.g.loaded_clipboard_provider = 1",
    )
    return Talk(nvim, cli, sessions, connect)


@pytest.mark.every_nvim
def test_is_typed_as_the_next_prompt_once_the_prompt_is_idle(talk):
    talk.state("waiting", waitingFor="permission prompt")
    talk.reject("use two words")
    talk.state("busy")
    assert talk.cli.typed() == b""
    talk.at_prompt()
    talk.wait_typed(PASTE + b"use two words " + END + b"\r")
    assert talk.nvim.lua("return vim.fn.getreg('\"')") == "" and talk.nvim.notices() == []


def test_of_two_terminals_with_one_session_the_one_that_asked_is_told(talk, connect):
    talk.nvim.cmd("Claude new")
    talk.nvim.wait(lambda: len(talk.cli.starts()) == 2, what="the other CLI")
    pid, other = talk.cli.starts()[1]["pid"], connect(talk.nvim)
    other.notify("ide_connected", {"pid": pid})
    talk.nvim.wait(f"Ide.server.clients()[2].pid == {pid}")
    talk.sessions.record(pid, "s", "busy")
    talk.nvim.wait("#require('claude-ide').sessions.live() == 2")
    request = talk.propose(other, "b.txt")
    talk.nvim.lua("Ide.proposal.reject(...)", request_id(talk, 2), "use two words")
    assert other.call_result(request) == ["DIFF_REJECTED"]
    talk.reject("use three")
    for number, process in enumerate((talk.pid, pid)):
        talk.cli.show_prompt(number=number)
        talk.sessions.record(process, "s", "idle")
    talk.nvim.wait(lambda: talk.cli.typed(1) == PASTE + b"use two words " + END + b"\r", what="the other to be told")
    talk.wait_typed(PASTE + b"use three " + END + b"\r")


def test_a_prompt_that_was_idle_before_is_not_the_one(talk):
    talk.reject("first")
    talk.at_prompt(statusUpdatedAt=int(time.time() * 1000) - 60_000)
    talk.state("busy")
    assert talk.cli.typed() == b""
    talk.at_prompt()
    talk.wait_typed(PASTE + b"first " + END + b"\r")


def test_two_reasons_are_one_prompt(talk):
    second = talk.propose(talk.ours, "b.txt")
    talk.reject("first")
    talk.nvim.wait(SEEN, what="the second to have been seen")
    talk.nvim.lua("return require('claude-ide').reject(...)", "second")
    assert talk.ours.call_result(second) == ["DIFF_REJECTED"]
    talk.at_prompt()
    talk.wait_typed(PASTE + b"first\n" + END + PASTE + b"second " + END + b"\r")


@pytest.mark.parametrize("how", ["keys", "paste"])
def test_what_the_user_has_begun_to_type_is_left_alone(talk, how):
    talk.reject("use two words")
    talk.nvim.keys(":Claude focus<CR>")
    talk.nvim.wait(lambda: talk.nvim.mode() == "t")
    getattr(talk.nvim, how)("half a li")
    typed = b"half a li" if how == "keys" else PASTE + b"half a li" + END
    talk.wait_typed(typed)
    talk.state("idle")
    talk.wait_kept("use two words", "You have begun to type")
    assert talk.cli.typed() == typed


def test_keys_that_the_cli_has_not_drawn_yet_are_left_alone(talk):
    talk.reject("use two words")
    talk.nvim.lua("Ide.guard_typing.quiet_for = function() return 0 end")
    talk.nvim.keys(":Claude focus<CR>")
    talk.nvim.wait(lambda: talk.nvim.mode() == "t")
    talk.nvim.keys("ha")
    talk.wait_typed(b"ha")
    talk.cli.show_prompt()
    talk.nvim.wait_screen("manual mode on")
    talk.state("idle")
    talk.cli.show_prompt("ha")
    talk.wait_kept("use two words", "You have begun to type")
    assert talk.cli.typed() == b"ha"


def test_what_was_sent_is_no_draft(talk):
    talk.nvim.keys(":Claude focus<CR>")
    talk.nvim.wait(lambda: talk.nvim.mode() == "t")
    talk.nvim.keys("sent<CR>")
    talk.wait_typed(b"sent\r")
    talk.reject("use two words")
    talk.at_prompt()
    talk.wait_typed(b"sent\r" + PASTE + b"use two words " + END + b"\r")


@pytest.mark.parametrize("draft, is_draft", [("", False), ("\u00a0[⧉ In a.txt]", False), ("half", True)])
def test_the_screen_of_the_cli_tells_what_is_in_its_prompt(talk, draft, is_draft):
    """Keys that answered a question are no draft; an earlier prompt fetched with the mouse is one."""
    buf = talk.nvim.lua("return Ide.terminal.bufnr()")
    has_draft = "return Ide.terminal_prompt.has_draft(...)"
    talk.nvim.keys(":Claude focus<CR>")
    talk.nvim.wait(lambda: talk.nvim.mode() == "t")
    talk.nvim.keys("1")
    talk.wait_typed(b"1")
    assert talk.nvim.lua(has_draft, buf) is True
    talk.cli.show_prompt(draft)
    talk.nvim.wait_screen("manual mode on")
    assert talk.nvim.lua(has_draft, buf) is is_draft


def test_the_user_may_be_faster(talk):
    talk.reject("use two words")
    talk.ours.call("closeAllDiffTabs")
    talk.wait_kept("use two words", "You have already sent another prompt")
    talk.state("idle")
    assert talk.cli.typed() == b""


def test_the_cli_may_end_first(talk):
    talk.reject("use two words")
    talk.sessions.forget(talk.pid)
    talk.wait_kept("use two words", "Claude has ended")


def test_it_does_not_wait_for_ever(talk):
    talk.nvim.lua("""
      Ide.outbox_reason.tell(1, "use two words")
      local now = vim.uv.now
      vim.uv.now = function() return now() + 60000 end
    """)
    talk.wait_kept("use two words", "Claude was not ready")


def test_for_a_cli_in_another_terminal_it_is_kept(talk, connect):
    other = connect(talk.nvim)
    request = talk.propose(other, "b.txt")
    talk.nvim.lua("Ide.proposal.reject(...)", request_id(talk, 2), "use two words")
    assert other.call_result(request) == ["DIFF_REJECTED"]
    talk.wait_kept("use two words", "Claude runs in another terminal")


def request_id(talk, client):
    (id,) = talk.nvim.lua(
        """
        local client = ...
        local mine = vim.tbl_filter(function(item) return item.client == client end, Ide.proposal.list())
        return vim.tbl_map(function(item) return item.id end, mine)
        """,
        client,
    )
    return id


def test_the_clipboard_takes_what_is_kept_where_there_is_one(talk, connect):
    talk.nvim.lua("""
      vim.g.loaded_clipboard_provider = nil
      local function copy(lines) _G.copied = lines end
      vim.g.clipboard = { name = "test", copy = { ["+"] = copy, ["*"] = copy },
        paste = { ["+"] = function() return { _G.copied or {}, "v" } end, ["*"] = function() return { {}, "v" } end } }
      vim.cmd("runtime autoload/provider/clipboard.vim")
    """)
    other = connect(talk.nvim)
    talk.propose(other, "b.txt")
    talk.nvim.lua("Ide.proposal.reject(...)", request_id(talk, 2), "two\nlines")
    talk.nvim.wait("_G.copied")
    assert talk.nvim.lua("return _G.copied") == ["two", "lines"]
    assert talk.nvim.notices() == ["Claude runs in another terminal. Your text is in the clipboard."]


# ── how the user says it ──


def ask_why(talk):
    talk.nvim.keys("ZW")
    talk.nvim.wait(lambda: talk.nvim.mode() == "c", what="the question")


@pytest.mark.every_nvim
def test_a_key_asks_and_rejects(talk):
    ask_why(talk)
    talk.nvim.wait_screen("Reason:")
    talk.nvim.keys("use two words<CR>")
    assert talk.ours.call_result(talk.request) == ["DIFF_REJECTED"]
    talk.at_prompt()
    talk.wait_typed(PASTE + b"use two words " + END + b"\r")


def test_who_does_not_say_why_after_all_has_not_rejected(talk):
    ask_why(talk)
    talk.nvim.keys("use<Esc>")
    talk.nvim.wait(lambda: talk.nvim.mode() == "n")
    assert talk.nvim.lua("return Ide.proposal.count()") == 1
    ask_why(talk)
    talk.nvim.keys("<CR>")
    assert talk.ours.call_result(talk.request) == ["DIFF_REJECTED"]
    talk.state("idle")
    assert talk.cli.typed() == b"" and talk.nvim.notices() == []


def test_who_is_asked_knows_where_the_words_go(talk, connect):
    other = connect(talk.nvim)
    talk.reject("")
    talk.propose(other, "b.txt")
    talk.nvim.wait(f"vim.api.nvim_buf_get_name(0):match('b%.txt') and {SEEN}")
    talk.nvim.keys("ZW")
    talk.nvim.wait_screen('Reason (Claude runs in another terminal: it will be in register ")')


def test_the_diff_may_be_gone_before_the_words_are_written(talk):
    talk.nvim.lua("vim.ui.input = function(_, done) _G.done = done end")
    talk.nvim.keys("ZW")
    talk.nvim.wait("_G.done ~= nil")
    talk.ours.call("closeAllDiffTabs")
    talk.nvim.lua("_G.done('use two words')")
    talk.wait_kept("use two words", "The proposal was withdrawn")


# ── comments on the proposal ──


def comment(talk, words):
    talk.nvim.keys("gcc")
    talk.nvim.wait_kind("comment")
    talk.nvim.wait("vim.fn.mode() == 'i'", what="Insert mode")
    talk.nvim.keys(words + "<Esc>ZZ")
    talk.nvim.wait_kind("proposal")
    talk.nvim.keys_count()


ROUND = (
    "A comment on the code. Answer each with the tool comment_reply and its number, and say there whether it is done."
    "\n\n[1] a.txt:1 (in the proposal)\n> A\nsmall, please"
)


def typed(text):
    """What the CLI reads: the text line by line, and the key that submits it."""
    lines = text.encode().split(b"\n")
    return b"".join(PASTE + line + b"\n" + END for line in lines[:-1]) + PASTE + lines[-1] + b" " + END + b"\r"


STATES = """
local store = Ide.comments_store
return vim.tbl_map(function(thread) return thread.state end, store.threads(store.root_of()))
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("reason", [None, "use two words"])
def test_comments_go_with_the_rejection(talk, reason):
    comment(talk, "small, please")
    if reason:
        ask_why(talk)
        talk.nvim.keys(f"{reason}<CR>")
    else:
        talk.nvim.keys("ZQ")
    assert talk.ours.call_result(talk.request) == ["DIFF_REJECTED"]
    assert talk.nvim.lua(STATES) == ["draft"]
    talk.at_prompt()
    talk.wait_typed(typed(f"{reason}\n\n{ROUND}" if reason else ROUND))
    talk.nvim.wait_notice("Sent 1 comment to Claude.")
    assert talk.nvim.lua(STATES) == ["sent"]


def test_comments_that_cannot_be_sent_with_the_rejection_wait(talk, connect):
    talk.reject("")
    other = connect(talk.nvim)
    request = talk.propose(other, "b.txt")
    talk.nvim.wait(f"vim.api.nvim_buf_get_name(0):match('b%.txt') and {SEEN}")
    comment(talk, "small, please")
    talk.nvim.keys("ZQ")
    assert other.call_result(request) == ["DIFF_REJECTED"]
    talk.nvim.wait_notice("Your comments on it wait: Claude runs in another terminal.")
    assert talk.nvim.lua(STATES) == ["draft"]


@pytest.mark.every_nvim
def test_a_round_may_reject_the_diff_that_waits(talk):
    comment(talk, "small, please")
    talk.nvim.keys("gS")
    talk.nvim.wait_screen("Claude waits for your answer: A change to a.txt")
    talk.nvim.keys("1<CR>")
    talk.nvim.wait_kind("round")
    talk.nvim.wait_screen("ZZ reject and send")
    talk.nvim.keys("GA!<Esc>ZZ")
    assert talk.ours.call_result(talk.request) == ["DIFF_REJECTED"]
    talk.at_prompt()
    talk.wait_typed(typed(ROUND + "!"))
    talk.nvim.wait_notice("Sent 1 comment to Claude.")
    assert talk.nvim.lua(STATES) == ["sent"]


def test_a_comment_waits_again_when_the_user_sends_another_prompt(talk):
    comment(talk, "small, please")
    talk.nvim.keys("ZQ")
    assert talk.ours.call_result(talk.request) == ["DIFF_REJECTED"]
    talk.ours.call("closeAllDiffTabs")
    talk.nvim.wait_notice("Comments not sent: You have already sent another prompt.")
    talk.nvim.cmd("Claude comments yank")
    assert talk.nvim.lua("return vim.fn.getreg('\"')") == ROUND + "\n"


@pytest.mark.parametrize("typed", ['don\'t "quote" | or  %  \\ it', "all of it is wrong"])
def test_the_command_takes_words_as_they_are(talk, typed):
    talk.propose(talk.ours, "b.txt")
    talk.nvim.keys(f":Claude reject {typed}<CR>")
    assert talk.ours.call_result(talk.request) == ["DIFF_REJECTED"]
    assert talk.nvim.lua("return Ide.proposal.count()") == 1
    talk.at_prompt()
    talk.wait_typed(PASTE + typed.encode() + b" " + END + b"\r")
