"""A chat over several turns: interrupted, queued, with what the editor has, resumed; with the real CLI."""

import pytest
from chat_steps import call, chat, say, text, wait_idle, wait_text

pytestmark = pytest.mark.dealt

UNASKED = {"terminal": {"command": ["claude", "--permission-mode", "bypassPermissions"]}}


def wait_diff(nvim):
    nvim.wait("require('claude-ide.diff').count() == 1 and require('claude-ide.diff').list()[1].seen", what="a diff")


def test_a_turn_is_interrupted_and_the_next_one_goes_on(begin_chat):
    nvim = begin_chat(call("Bash", command="touch begun; python3 -c 'import time; time.sleep(600)'"), opts=UNASKED)
    nvim.wait(lambda: (nvim.project / "begun").exists(), what="the tool to run")
    nvim.keys("<C-c>")
    wait_text(nvim, "Interrupted by you")
    wait_idle(nvim)
    say(nvim, "SAY onwards")
    wait_text(nvim, "\nonwards")


def test_what_is_said_meanwhile_waits_and_is_taken_back(begin_chat):
    nvim = begin_chat(call("Bash", command="until test -e go; do sleep 0.1; done"), opts=UNASKED)
    nvim.wait("require('claude-ide.chat').current().state == 'working'")
    nvim.wait_screen("Bash")
    say(nvim, "SAY this first")
    say(nvim, "SAY not this")
    nvim.wait_screen("2 wait, next: SAY this first")
    nvim.keys("gu")
    nvim.wait("vim.api.nvim_get_current_line() == 'SAY not this'", what="the prompt to be back")
    (nvim.project / "go").touch()
    wait_text(nvim, "\nSAY this first")
    wait_idle(nvim)
    assert "not this" not in text(nvim)


def test_what_the_editor_has_goes_along_but_not_what_is_withheld(begin_chat, mock_api):
    nvim = begin_chat(files={"a.txt": "alpha\n", ".env": "SECRET=1\n"}, args=["a.txt"])
    nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('a.txt'), 1, -1, false, { 'unsaved' })")
    say(nvim, "SAY look at #buffer and #diagnostics")
    wait_text(nvim, "\nlook at #buffer")
    assert mock_api.seen("2\\tunsaved") and mock_api.seen("no errors and no warnings")
    wait_idle(nvim)
    nvim.keys("<C-w>t:edit .env<CR><C-w>b")
    nvim.wait("vim.fn.bufname(vim.fn.winbufnr(1)) == '.env'")
    say(nvim, "SAY now #buffer")
    wait_text(nvim, "\nnow #buffer")
    assert mock_api.seen(".env is withheld") and not mock_api.seen("SECRET")


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"one\r\ntwo\r\n", b"one\r\nTWO\r\n"), (b"\xef\xbb\xbfone\ntwo", b"\xef\xbb\xbfone\nTWO"), (b"two", b"TWO")],
    ids=["crlf", "bom", "no_final_newline"],
)
def test_bytes_that_nobody_changed_stay(begin_chat, before, after):
    nvim = begin_chat(files={"a.txt": before})
    path = nvim.project / "a.txt"
    read, edit = (
        call("Read", file_path=str(path)),
        call("Edit", file_path=str(path), old_string="two", new_string="TWO"),
    )
    say(nvim, f"{read} THEN {edit} THEN SAY done")
    wait_diff(nvim)
    assert nvim.lua("return require('claude-ide.diff').accept()")
    wait_text(nvim, "\ndone")
    assert path.read_bytes() == after


def test_an_empty_new_file_can_be_accepted_and_a_reason_reaches_the_model(begin_chat, mock_api):
    nvim = begin_chat()
    path = nvim.project / "empty.txt"
    say(nvim, f"{call('Write', file_path=str(path), content='')} THEN SAY made")
    wait_diff(nvim)
    nvim.lua("require('claude-ide.diff').reject(nil, 'not yet')")
    wait_text(nvim, "\nmade")
    assert mock_api.seen("not yet") and not path.exists()
    wait_idle(nvim)
    say(nvim, f"{call('Write', file_path=str(path), content='')} THEN SAY again")
    wait_diff(nvim)
    assert nvim.lua("return require('claude-ide.diff').accept()")
    wait_text(nvim, "\nagain")
    assert path.read_bytes() == b""


def test_a_session_goes_on_in_a_chat_and_is_another_one_after_clear(begin_chat):
    nvim = begin_chat("SAY remember")
    wait_text(nvim, "\nremember")
    wait_idle(nvim)
    session = chat(nvim, "return chat.session")
    nvim.cmd("Claude chat close")
    nvim.cmd(f"Claude chat --resume {session} SAY again")
    nvim.wait("require('claude-ide.chat').current() ~= nil", what="the chat")
    wait_text(nvim, "\nagain")
    assert "\nremember" in text(nvim) and chat(nvim, "return chat.session") == session
    wait_idle(nvim)
    say(nvim, "/clear")
    nvim.wait(lambda: chat(nvim, "return chat.session") != session, what="another session")
    say(nvim, "SAY fresh")
    wait_text(nvim, "\nfresh")


def test_a_change_that_nobody_was_asked_for_is_told_loudly(begin_chat):
    nvim = begin_chat(files={".claude/settings.local.json": '{"permissions": {"allow": ["Write"]}}'})
    say(nvim, call("Write", file_path=str(nvim.project / "a.txt"), content="x"))
    wait_text(nvim, "a.txt was changed without asking you")
