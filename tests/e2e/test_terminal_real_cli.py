"""The real CLI in Neovim's own terminal: opened by a command, prompted, told a reason; its sessions resumed and forked
there.
"""

import json
import re
import subprocess

import pytest
from terminal_steps import begin, submit

from harness.cli import QUESTION, binary, call, environment, submitting
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.dealt]
"""Starting a CLI costs more than ten of its turns: each test is a session, and each comment in it a case of its own."""

ONE_DIFF = "Ide.proposal.count() == 1"
SEEN = "(Ide.proposal.list()[1] or {}).seen"
ACTIVITY = "((Ide.terminal.session() or {}).state or {}).activity"
FILES = {"a.txt": "one\ntwo\nthree\n"}


def open_claude(nvim):
    nvim.keys(":Claude<CR>")
    ready = "local client = Ide.server.clients()[1] or {} return client.state == 'ready' and client.pid"
    nvim.wait(ready, what="the CLI to connect")
    nvim.wait_screen("manual mode on")


def edit(nvim):
    path = str(nvim.project / "a.txt")
    return Reply(calls=[("Edit", {"file_path": path, "old_string": "two", "new_string": "TWO"})])


def read(nvim):
    return Reply(calls=[("Read", {"file_path": str(nvim.project / "a.txt")})])


def accept(nvim, said):
    nvim.wait(SEEN)
    nvim.cmd("Claude accept")
    nvim.wait_screen(f"● {said}")
    assert (nvim.project / "a.txt").read_text() == "one\nTWO\nthree\n"


def leave_for_the_file(nvim):
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.fn.bufname() == 'a.txt'")


@pytest.mark.smoke
def test_the_command_opens_a_connected_cli_beside_the_file_which_is_prompted_from_there(start_with_claude, mock_api):
    keep = "notices = {} local notify = vim.notify vim.notify = function(...) notices[#notices + 1] = (...) notify(...) end"
    # The end of a long turn is announced while the terminal is hidden, too.
    nvim = start_with_claude(args=["a.txt"], files=FILES, init_lua=keep, opts={"notify": {"finished": False}})
    open_claude(nvim)
    mock_api.script(read(nvim), edit(nvim), Reply("It is written."))
    submit(nvim, mock_api, "change it")
    accept(nvim, "It is written.")

    # Words and lines stand at its prompt until they are sent,
    nvim.wait(f"{ACTIVITY} == 'idle'")
    leave_for_the_file(nvim)
    turns = mock_api.turns()
    nvim.keys(":2Claude prompt look at this<CR>")
    nvim.wait_screen("Pasted text")
    assert mock_api.turns() == turns
    mock_api.script(Reply("I looked."))
    nvim.wait("vim.fn.mode() == 't'")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    said = str(mock_api.conversation())
    assert "look at this #lines:a.txt:2-2" in said and "TWO\\n</ide_selection>" in said
    nvim.wait_screen("● I looked.")
    nvim.wait(f"{ACTIVITY} == 'idle'")

    # A question in a hidden terminal is asked here, and waits there.
    nvim.cmd("Claude hide")
    shown = """
    local buf = Ide.terminal.bufnr()
    return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n"):find('touch asked', 1, true) ~= nil
    """
    send = "vim.fn.chansend(vim.bo[Ide.terminal.bufnr()].channel, ...)"
    nvim.lua("notices = {}")
    nvim.lua(send, call("Bash", command="touch asked"))
    nvim.wait(shown, what="the CLI to show the prompt")
    nvim.wait(submitting(mock_api, lambda: nvim.lua(send, "\r")), what="the model to be asked")
    nvim.keys_count()
    nvim.wait_kind("question")
    nvim.keys("q")
    nvim.wait(lambda: nvim.lines() == ["one", "TWO", "three"], what="the file")

    # and are never typed at a question.
    nvim.keys(":Claude<CR>")
    nvim.wait_screen(QUESTION)
    nvim.wait(f"{ACTIVITY} == 'waiting'")
    leave_for_the_file(nvim)
    nvim.keys(":2Claude prompt 1<CR>")
    nvim.wait_screen("Claude is not at its prompt")
    assert not (nvim.project / "asked").exists()


REASONS = {
    "use two words": "use two words",
    "first line\nsecond\n\n  indented\nfive\nhid\u200bden, bro\u202eken, 👨‍👩‍👧": (
        "first line\nsecond\n\n  indented\nfive\nhidden, broken, 👨‍👩‍👧"
    ),
    "word " * 400: ("word " * 400).strip(),
    "/clear is not a path: C:\\": "Reason: /clear is not a path: C:\\",
    "!touch {project}/pwned": "Reason: !touch {project}/pwned",
    "# not a memory, see @a": "Reason: # not a memory, see @a",
    "exit": "exit",
    "the end \x1b[201~\r/exit\x03\x04": "the end \n/exit",
}
"""The user's words, and the model's expected input."""


def prompts(mock_api):
    """The model's last input other than the CLI's reminders."""
    said = ""
    for message in mock_api.conversation():
        content = message["content"]
        texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        if message["role"] == "user":
            said = next((text for text in reversed(texts) if not re.match(r"<system-reminder>|\[Request", text)), said)
    return said


def test_the_reason_for_a_rejection_is_the_next_prompt_word_for_word(start_with_claude, mock_api):
    nvim = start_with_claude(args=["a.txt"], files=FILES)
    open_claude(nvim)
    mock_api.script(read(nvim), edit(nvim))
    submit(nvim, mock_api, "change it")
    nvim.wait(ONE_DIFF)
    for reason, expected in REASONS.items():
        mock_api.script(edit(nvim))
        nvim.lua("Ide.proposal.focus()")
        nvim.wait(SEEN, what="the proposal to have been seen")
        nvim.lua("require('claude-ide').reject(...)", reason.format(project=nvim.project))
        expected = expected.format(project=nvim.project)
        nvim.wait(lambda expected=expected: prompts(mock_api) == expected, what=f"the model to hear {expected!r}")
        nvim.wait(ONE_DIFF, what="the next proposal")
    assert not (nvim.project / "pwned").exists()
    assert (nvim.project / "a.txt").read_text() == "one\ntwo\nthree\n"

    # `ZW` asks for the reason, and Claude continues with it.
    nvim.keys("<C-\\><C-n>")
    nvim.wait("vim.api.nvim_get_mode().mode ~= 't'")
    nvim.wait("require('claude-ide').status().diffs == 1")
    nvim.lua("Ide.proposal.focus()")
    nvim.wait(SEEN)
    nvim.keys("ZW")
    nvim.wait_screen("Reason:")
    nvim.keys("SAY understood<CR>")
    nvim.wait_screen("● understood")
    assert nvim.lua("return #vim.api.nvim_list_tabpages()") == 1

    # The next proposal is accepted.
    mock_api.script(edit(nvim), Reply("At last."))
    nvim.wait(f"{ACTIVITY} == 'idle'")
    nvim.cmd("Claude open")
    nvim.wait("vim.fn.mode() == 't'")
    submit(nvim, mock_api, "once more")
    accept(nvim, "At last.")


def terminal_session(nvim, id=None):
    """The terminal's session once its CLI waits for a prompt; with `id`, that session."""

    def idle():
        session = nvim.lua("return Ide.terminal.session()")
        fits = session and session["state"]["activity"] == "idle" and id in (None, session["id"])
        return session["id"] if fits else None

    return nvim.wait(idle, what="the CLI in the terminal to be idle")


def ask_without_a_screen(nvim, mock_api, prompt):
    """Runs a CLI without a terminal for one prompt; returns its session's transcript."""
    folder = nvim.home / ".claude" / "projects"
    before = set(folder.glob("*/*.jsonl"))
    subprocess.run(
        [binary(), "-p", prompt],
        env=environment(nvim.home, mock_api),
        cwd=nvim.project,
        check=True,
        capture_output=True,
        timeout=600,
    )
    (new,) = set(folder.glob("*/*.jsonl")) - before
    return new


def test_a_headless_session_is_listed_resumed_and_forked(start_with_claude, mock_api):
    nvim = start_with_claude({"size": 100}, args=["a.txt"], files=FILES)
    nvim.lua('require("claude-ide").connect()')
    file = ask_without_a_screen(nvim, mock_api, "SAY the answer is 42")
    session = file.stem

    # The session continues in the terminal.
    nvim.keys(":Claude sessions<CR>")
    nvim.wait_screen("SAY the answer is 42")
    nvim.wait_screen("<CR> choose")
    nvim.keys("1<CR>")
    nvim.wait_screen("Resume it in the terminal")
    nvim.keys("2<CR>")
    assert terminal_session(nvim, session) == session
    nvim.wait_screen("● the answer is 42")
    nvim.wait("require('claude-ide.statusline').text() == 'Claude idle'", what="the statusline")
    pid = nvim.lua("return Ide.terminal.session().pid")
    nvim.keys("<C-\\><C-n>:Claude close<CR>")
    nvim.wait(f"vim.uv.kill({pid}, 0) ~= 0", what="the CLI, which writes to the last, to end")

    # A fork continues with a copy.
    before = file.read_bytes()
    nvim.cmd(f"Claude sessions fork {session[:8]}")
    nvim.wait_screen("● the answer is 42")
    nvim.wait_screen("manual mode on")
    mock_api.script(read(nvim), edit(nvim), Reply("This is a copy."))
    submit(nvim, mock_api, "change it")
    accept(nvim, "This is a copy.")
    fork = terminal_session(nvim)
    assert fork != session
    assert file.read_bytes() == before
    listed = """
    local done, found
    require("claude-ide").sessions.list({}, function(items) done, found = true, items end)
    vim.wait(10000, function() return done end, 5)
    return vim.tbl_map(function(item) return item.summary.id end, found or {})
    """
    # The CLI writes a moment after it shows.
    nvim.wait(lambda: set(nvim.lua(listed)) == {session, fork}, what="both to be listed")


@pytest.mark.parametrize("mod", [True, False], ids=["over the bridge", "typed"])
def test_a_script_prompts_claude_beside_or_behind_what_the_user_has_typed(start_with_claude, mock_api, mod):
    nvim = start_with_claude(files=FILES, opts={"hooks": {"mod": mod}})
    begin(nvim, mock_api)
    bridge = "Ide.bridge.of(Ide.terminal.list()[1])"
    nvim.wait(f"({bridge} ~= nil) == {str(mod).lower()}", what="the mod, if there is one")
    nvim.keys("half a sen")
    nvim.wait_screen("half a sen")
    if mod:
        mock_api.script(Reply(text="Heard the script."))
    nvim.lua(
        "assert(require('claude-ide').prompt('of a script', { on_done = function(err) told = err or 'sent' end }))"
    )
    if mod:
        nvim.wait_screen("● Heard the script.")
        nvim.wait("told == 'sent'", what="the script to be told")
    mock_api.script(Reply(text="Heard the user."))
    nvim.keys("tence")
    nvim.wait_screen("half a sentence")
    assert mod or nvim.lua("return told") is None
    if not mod:
        mock_api.script(Reply(text="Heard the script."))
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    nvim.wait_screen("● Heard the user.")
    nvim.wait_screen("● Heard the script.")
    assert nvim.lua("return told") == "sent"
    prompts = [body["messages"][-1]["content"] for body in mock_api.requests if body.get("tools")]
    asked = [json.dumps(prompt) for prompt in prompts]
    heard = [("half a sentence" in one, "of a script" in one) for one in asked[-2:]]
    assert heard == ([(False, True), (True, False)] if mod else [(True, False), (False, True)])
