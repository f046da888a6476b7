"""Several terminals with the real CLI in one Neovim: what is sent, asked and answered reaches the right one."""

import re

import pytest

from harness.cli import submitting
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli]

ONE_DIFF = "Ide.proposal.count() == 1"
SEEN = "(Ide.proposal.list()[1] or {}).seen"


def open_another(nvim, command, number, mode="manual mode on"):
    """Starts the CLI of another terminal, and waits until its prompt listens."""
    nvim.keys(f":{command}<CR>")
    nvim.wait(
        f"""
        local ready = vim.tbl_filter(function(client) return client.state == 'ready' and client.pid end,
          Ide.server.clients())
        return #ready == {number}
        """,
        what=f"CLI {number} to connect",
    )
    nvim.wait_screen(mode)
    nvim.wait("vim.fn.mode() == 't'")


def text_of(nvim, title):
    """What a terminal shows, visible or not."""
    return nvim.lua(
        """
        for _, terminal in ipairs(Ide.terminal.list()) do
          if terminal.spec.title == ... then
            return table.concat(vim.api.nvim_buf_get_lines(terminal:bufnr(), 0, -1, false), "\\n")
          end
        end
        """,
        title,
    )


def listed(nvim):
    """The lines of `:Claude list`."""
    nvim.answer()
    nvim.cmd("Claude list")
    nvim.wait("#asked == 1", what="the list")
    return "\n".join(nvim.asked()[0]["lines"])


def leave_for_the_file(nvim):
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.fn.bufname() == 'a.txt' and vim.fn.mode() == 'n'")


def wait_idle(nvim):
    nvim.wait("((Ide.terminal.session() or {}).state or {}).activity == 'idle'", what="an idle CLI")


def test_what_is_sent_asked_and_answered_reaches_the_right_one_of_three(start_with_claude, mock_api):
    files = {"a.txt": "one\ntwo\nthree\n", "b.txt": "first\n"}
    nvim = start_with_claude(args=["a.txt"], files=files, notices=True)
    open_another(nvim, "Claude", 1)
    leave_for_the_file(nvim)
    open_another(nvim, "Claude new parser --permission-mode acceptEdits", 2, mode="accept edits on")
    assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 2

    # A mention goes to the visible one, and the hint names it.
    leave_for_the_file(nvim)
    nvim.keys(":1,2ClaudeSend<CR>")
    assert nvim.wait_notice("Sent to") == "Sent to parser: a.txt:1-2"
    nvim.wait(lambda: "@a.txt#L1-2" in text_of(nvim, "parser"), what="the mention in the new one")
    assert "@a.txt" not in text_of(nvim, "Claude")

    # The name is the session's title.
    wait_idle(nvim)
    assert nvim.lua("return Ide.terminal.session().name") == "parser"

    # Hidden, it is the one used last: the next mention is for it, too, and `:Claude` shows it.
    nvim.keys(":Claude<CR>")
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) == 1")
    nvim.keys(":3ClaudeSend<CR>")
    nvim.wait(lambda: "@a.txt#L3" in text_of(nvim, "parser"), what="the mention in the hidden one")
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("@a.txt#L3")
    nvim.wait("vim.fn.mode() == 't'")

    # The list tells them apart.
    mock_api.usage = {"input_tokens": 120_000, "output_tokens": 10}
    other = {"file_path": str(nvim.project / "b.txt")}
    change = other | {"old_string": "first", "new_string": "FIRST"}
    mock_api.script(Reply(calls=[("Read", other)]), Reply(calls=[("Edit", change)]), Reply("Hello."))
    nvim.keys("<C-u>begin")
    nvim.wait_screen("begin")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    nvim.wait_screen("● Hello.")
    wait_idle(nvim)
    leave_for_the_file(nvim)
    nvim.wait(
        lambda: re.search("idle +(on the screen +)?12% +1 to review", listed(nvim)),
        what="the list with all that happened",
    )
    first, second = listed(nvim).splitlines()
    assert "idle" in first and "to review" not in first and "1 to review" in second and "parser" in second

    # A third one: each edit is answered to the one that proposed it, and a reason becomes its prompt.
    leave_for_the_file(nvim)
    open_another(nvim, "Claude new writer", 3)
    path = str(nvim.project / "a.txt")
    read = Reply(calls=[("Read", {"file_path": path})])
    mock_api.script(read, Reply(calls=[("Edit", {"file_path": path, "old_string": "two", "new_string": "TWO"})]))
    nvim.keys("change it")
    nvim.wait_screen("change it")
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")
    nvim.wait(f"{ONE_DIFF} and {SEEN}", what="the proposal")
    nvim.wait_screen("writer's proposal")
    mock_api.script(Reply("I heard that."))
    nvim.cmd("Claude reject SAY use two words")
    nvim.wait(lambda: "I heard that." in text_of(nvim, "writer"), what="the reason to be heard")
    assert "use two words" not in text_of(nvim, "parser") + text_of(nvim, "Claude")

    # Ended, it leaves the others alone.
    pids = nvim.lua("return vim.tbl_map(function(one) return one:live().pid end, Ide.terminal.list())")
    nvim.cmd("Claude close")
    nvim.wait(f"vim.uv.kill({pids[2]}, 0) ~= 0", what="the third to end")
    assert nvim.lua("return vim.tbl_map(function(pid) return vim.uv.kill(pid, 0) end, ...)", pids[:2]) == [0, 0]
    nvim.cmd("Claude")
    nvim.wait("Ide.terminal.current():name() == 'parser'")

    # Killed with Neovim, they are offered by the next one, with their names.
    records = nvim.home / ".local" / "state" / "nvim" / "claude-ide" / "terminals"
    nvim.wait(
        lambda: "".join(path.read_text() for path in records.glob("*.json")).count('"session"') == 2,
        what="the record of the two",
    )
    nvim.kill()
    again = start_with_claude(args=["a.txt"], notices=True)
    again.lua('require("claude-ide").connect()')
    remembered = "#Ide.terminal_remembered.list() > 0"
    again.wait(remembered, what="the end of the killed Neovim")
    again.answer(1)
    again.cmd("Claude list")
    again.wait("#asked == 1", what="the list")
    assert [line.split()[-2:] for line in again.asked()[0]["lines"]] == [["parser", "begin"]]
    again.wait_screen("● Hello.")
    again.wait("((Ide.terminal.session() or {}).state or {}).activity == 'idle'")
    assert again.lua("return Ide.terminal.session().name") == "parser"
