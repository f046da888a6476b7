"""A chat over several turns: interrupted, queued, with editor context, resumed, killed; with the real CLI.

One session tests as much as it can, since starting a CLI takes longer than any of it.
"""

import os
import signal
from pathlib import Path

import pytest
from chat_steps import (
    accept,
    at_work_in,
    call,
    chat,
    edit_proposal,
    reject,
    say,
    text,
    wait_answer,
    wait_diff,
    wait_idle,
    wait_text,
)

pytestmark = pytest.mark.dealt

UNASKED = {"terminal": {"command": ["claude", "--permission-mode", "bypassPermissions"]}}


def a_turn_is_interrupted_and_the_next_one_goes_on(nvim):
    say(nvim, call("Bash", command="touch begun; python3 -c 'import time; time.sleep(600)'"))
    nvim.wait(lambda: (nvim.project / "begun").exists(), what="the tool to run")
    nvim.keys("<C-c>")
    wait_answer(nvim, "Interrupted by you")
    say(nvim, "SAY onwards")
    wait_answer(nvim, "\nonwards")


def what_is_said_meanwhile_waits_and_is_taken_back(nvim):
    say(nvim, call("Bash", command="until test -e go; do sleep 0.1; done"))
    nvim.wait("Ide.chat.current().state == 'working'")
    nvim.wait_screen("until test -e go")
    say(nvim, "SAY this first")
    say(nvim, "SAY not this")
    nvim.wait_screen("2 wait, next: SAY this first")
    nvim.keys("gu")
    nvim.wait("vim.api.nvim_get_current_line() == 'SAY not this'", what="the prompt to be back")
    (nvim.project / "go").touch()
    wait_answer(nvim, "\nSAY this first")
    assert "not this" not in text(nvim)


def a_stop_starts_nothing_that_waits(nvim):
    say(nvim, call("Bash", command="touch begun; exec sleep 600"))
    nvim.wait(lambda: (nvim.project / "begun").exists(), what="the tool to run")
    say(nvim, "SAY this first")
    say(nvim, "SAY that second")
    nvim.wait_screen("2 wait, next: SAY this first")
    nvim.keys("<C-c>")
    wait_answer(nvim, "Interrupted by you")
    nvim.wait(
        "vim.deep_equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), { 'SAY this first', '', 'SAY that second' })",
        what="what waited at the prompt",
    )
    wait_idle(nvim)
    assert "\nthis first" not in text(nvim) and "\nthat second" not in text(nvim)


def a_neovim_that_is_killed_takes_claude_and_its_tools_along(nvim):
    say(nvim, call("Bash", command="echo $PPID > pid; exec sleep 600"))
    pid = chat(nvim, "return chat.pid")
    sleeping = nvim.project / "pid"
    nvim.wait(lambda: sleeping.exists() and sleeping.read_text().strip(), what="the tool to run")
    os.kill(nvim.server_pid, signal.SIGKILL)
    nvim.terminal.wait(lambda: not _runs(pid) and not at_work_in(nvim.project), 30, "all of it to end")


def test_to_stop_a_turn_starts_nothing_that_waits(begin_chat):
    nvim = begin_chat(opts=UNASKED)
    wait_idle(nvim)
    a_stop_starts_nothing_that_waits(nvim)


def test_a_turn_is_interrupted_waited_for_and_ended_with_its_neovim(begin_chat):
    nvim = begin_chat(opts=UNASKED)
    wait_idle(nvim)
    a_turn_is_interrupted_and_the_next_one_goes_on(nvim)
    what_is_said_meanwhile_waits_and_is_taken_back(nvim)
    a_neovim_that_is_killed_takes_claude_and_its_tools_along(nvim)


def what_the_editor_has_goes_along_but_not_what_is_withheld(nvim, mock_api):
    nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 1, -1, false, { 'unsaved' })")
    say(nvim, "SAY look at #buffer and #diagnostics")
    wait_text(nvim, "\nlook at #buffer")
    assert mock_api.seen("2\\tunsaved") and mock_api.seen("nothing is wrong in the files")
    wait_idle(nvim)
    nvim.keys("<C-w>t:edit .env<CR><C-w>b")
    nvim.wait("vim.fn.bufname(vim.fn.winbufnr(1)) == '.env'")
    say(nvim, "SAY now #buffer")
    wait_text(nvim, "\nnow #buffer")
    assert mock_api.seen(".env is private") and not mock_api.seen("SECRET")
    wait_idle(nvim)


HUNKS = "".join(f"{number}\n" for number in range(1, 10))
EDIT = {"old_string": "two", "new_string": "TWO"}
WRITE = {"content": "one\nTWO\n"}

# A file's content, the request, the line that the user changes in the diff, and the resulting content.
BYTES = {
    "edit_crlf": (b"one\r\ntwo\r\n", EDIT, None, b"one\r\nTWO\r\n"),
    "edit_bom": (b"\xef\xbb\xbfone\ntwo", EDIT, None, b"\xef\xbb\xbfone\nTWO"),
    "edit_no_final_newline": (b"two", EDIT, None, b"TWO"),
    "write_crlf": (b"one\r\ntwo\r\n", WRITE, None, b"one\r\nTWO\r\n"),
    "write_crlf_changed": (b"one\r\ntwo\r\n", WRITE, "mine", b"mine\r\nTWO\r\n"),
    "write_crlf_bom": (b"\xef\xbb\xbfone\r\ntwo\r\n", WRITE, None, b"\xef\xbb\xbfone\r\nTWO\r\n"),
    "write_crlf_anew": (None, {"content": "one\r\nTWO\r\n"}, None, b"one\r\nTWO\r\n"),
    "write_lf_changed": (b"one\ntwo\n", WRITE, "mine", b"mine\nTWO\n"),
}


def bytes_that_nobody_changed_stay(nvim, name, before, arguments, line, after):
    path = nvim.project / name
    steps = [call("Read", file_path=str(path))] if before else []
    steps.append(call("Write" if "content" in arguments else "Edit", file_path=str(path), **arguments))
    say(nvim, " THEN ".join([*steps, f"SAY done with {name}"]))
    wait_diff(nvim)
    if line:
        edit_proposal(nvim, 0, 1, [line])
    accept(nvim)
    wait_text(nvim, f"\ndone with {name}")
    assert path.read_bytes() == after
    wait_idle(nvim)


def what_is_not_saved_stays_so_beside_an_edit_of_its_file(nvim):
    path = nvim.project / "unsaved.txt"
    nvim.lua("""
      buf = vim.fn.bufadd("unsaved.txt")
      vim.fn.bufload(buf)
      vim.api.nvim_buf_set_lines(buf, 0, 1, false, { "mine" })
    """)
    read, edit = (
        call("Read", file_path=str(path)),
        call("Edit", file_path=str(path), old_string="five", new_string="FIVE"),
    )
    say(nvim, f"{read} THEN {edit} THEN SAY done beside it")
    wait_diff(nvim)
    accept(nvim)
    wait_answer(nvim, "\ndone beside it")
    assert path.read_text() == "one\ntwo\nthree\nfour\nFIVE\n", "the edit alone"
    nvim.wait(
        "vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), { 'mine', 'two', 'three', 'four', 'FIVE' })",
        what="both in the buffer",
    )
    assert nvim.lua("return vim.bo[buf].modified"), "what is not saved is not saved"
    nvim.cmd("bwipeout! unsaved.txt")


def a_hunk_that_is_dropped_is_not_written(nvim):
    path = nvim.project / "hunks.txt"
    write = call("Write", file_path=str(path), content=HUNKS.replace("1\n", "ONE\n").replace("9\n", "NINE\n"))
    say(nvim, f"{call('Read', file_path=str(path))} THEN {write} THEN SAY one of two")
    wait_diff(nvim)
    nvim.wait("vim.b.claude_ide.kind == 'proposal' and vim.api.nvim_get_current_line() == 'ONE'", what="the first hunk")
    nvim.keys("dx")
    nvim.wait_screen("1 of 2")
    accept(nvim)
    wait_text(nvim, "\none of two")
    assert path.read_text() == HUNKS.replace("9\n", "NINE\n")
    wait_idle(nvim)


def an_empty_new_file_can_be_accepted_and_a_reason_reaches_the_model(nvim, mock_api):
    path = nvim.project / "empty.txt"
    say(nvim, f"{call('Write', file_path=str(path), content='')} THEN SAY made")
    wait_diff(nvim)
    reject(nvim, "not yet")
    wait_text(nvim, "\nmade")
    assert mock_api.seen("not yet") and not path.exists()
    wait_idle(nvim)
    say(nvim, f"{call('Write', file_path=str(path), content='')} THEN SAY again")
    wait_diff(nvim)
    accept(nvim)
    wait_text(nvim, "\nagain")
    assert path.read_bytes() == b""
    wait_idle(nvim)


def a_change_that_nobody_was_asked_for_is_told_loudly(nvim):
    path = nvim.project / "unasked.txt"
    assert "without asking you" not in text(nvim)
    say(nvim, call("Write", file_path=str(path), content="x"))
    nvim.wait_screen(
        "unasked.txt was changed without asking you: one of your rules allows it. `:Claude review` shows it."
    )
    wait_answer(nvim, f"{path} was changed without asking you: one of your rules allows it.")


def a_session_goes_on_in_a_chat_and_is_another_one_after_clear(nvim):
    say(nvim, "SAY remember")
    wait_answer(nvim, "\nremember")
    session = chat(nvim, "return chat.session")
    nvim.cmd("Claude chat close")
    nvim.cmd(f"Claude chat --resume {session} SAY and on")
    nvim.wait("Ide.chat.current() ~= nil", what="the chat")
    wait_text(nvim, "\nand on")
    assert "\nremember" in text(nvim) and chat(nvim, "return chat.session") == session
    wait_idle(nvim)
    say(nvim, "/clear")
    nvim.wait(lambda: chat(nvim, "return chat.session") != session, what="another session")
    say(nvim, "SAY fresh")
    wait_answer(nvim, "\nfresh")
    session = chat(nvim, "return chat.session")
    nvim.wait(
        f"""return vim.iter(Ide.sessions.live()):any(function(one)
          return one.id == "{session}" and one.state.activity == "idle"
        end)""",
        what="the session to be known",
    )
    nvim.wait_screen("· idle")
    assert "continued in" not in "\n".join(nvim.screen())


def test_edits_are_asked_for_and_the_session_goes_on_in_another_chat(begin_chat, mock_api):
    files = {
        "a.txt": "alpha\n",
        "unsaved.txt": "one\ntwo\nthree\nfour\nfive\n",
        ".env": "SECRET=1\n",
        ".claude/settings.local.json": '{"permissions": {"allow": ["Edit(/unasked.txt)"]}}',
        **{name: before for name, (before, *_) in BYTES.items() if before},
        "hunks.txt": HUNKS,
    }
    nvim = begin_chat(files=files, args=["a.txt"])
    what_the_editor_has_goes_along_but_not_what_is_withheld(nvim, mock_api)
    for name, case in BYTES.items():
        bytes_that_nobody_changed_stay(nvim, name, *case)
    what_is_not_saved_stays_so_beside_an_edit_of_its_file(nvim)
    a_hunk_that_is_dropped_is_not_written(nvim)
    an_empty_new_file_can_be_accepted_and_a_reason_reaches_the_model(nvim, mock_api)
    a_change_that_nobody_was_asked_for_is_told_loudly(nvim)
    a_session_goes_on_in_a_chat_and_is_another_one_after_clear(nvim)


def _runs(pid):
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
