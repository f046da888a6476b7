"""A chat: what is said, streamed and asked, with the real CLI against the scripted model."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
from chat_steps import call, chat, say, text, wait_idle, wait_text

pytestmark = pytest.mark.dealt


@pytest.mark.every_nvim
def test_a_prompt_is_answered_in_a_buffer(begin_chat):
    nvim = begin_chat("SAY **hello** from there")
    wait_text(nvim, "**hello** from there")
    wait_idle(nvim)
    assert text(nvim).split("\n") == ["You", "SAY **hello** from there", "", "Claude", "**hello** from there", ""]
    nvim.wait_screen("hello from there")
    nvim.keys("iSAY again<Esc><CR>")
    wait_text(nvim, "\nagain")
    assert nvim.lua("return vim.bo.filetype .. vim.api.nvim_get_current_line()") == "markdown", (
        "the prompt is empty again"
    )


def test_an_edit_is_our_diff_and_what_the_person_made_of_it_is_written(begin_chat, tmp_path):
    path = tmp_path / "project/a.txt"
    nvim = begin_chat(files={"a.txt": "one\ntwo\nthree\n"})
    say(
        nvim,
        f"{call('Read', file_path=str(path))} THEN "
        f"{call('Edit', file_path=str(path), old_string='two', new_string='TWO')} THEN SAY done",
    )
    nvim.wait("require('claude-ide.diff').count() == 1 and require('claude-ide.diff').list()[1].seen", what="a diff")
    assert path.read_text() == "one\ntwo\nthree\n"
    nvim.lua("""
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        if (vim.b[buf].claude_ide or {}).kind == "proposal" then
          vim.api.nvim_buf_set_lines(buf, 1, 2, false, { "mine  ", "\\tand more" })
        end
      end
      assert(require("claude-ide.diff").accept())
    """)
    wait_text(nvim, "\ndone")
    assert path.read_text() == "one\nmine  \n\tand more\nthree\n"


def test_quitting_leaves_no_process_behind(begin_chat):
    nvim = begin_chat("SAY hello")
    wait_idle(nvim)
    pid = chat(nvim, "return chat.pid")
    assert os.path.exists(f"/proc/{pid}")
    nvim.quit()
    nvim.terminal.wait(lambda: not os.path.exists(f"/proc/{pid}"), 20, "the CLI to end")


def test_a_neovim_that_is_killed_takes_claude_and_its_tools_along(begin_chat):
    nvim = begin_chat(opts={"terminal": {"command": ["claude", "--permission-mode", "bypassPermissions"]}})
    say(nvim, call("Bash", command="echo $PPID > pid; exec sleep 600"))
    pid = chat(nvim, "return chat.pid")
    sleeping = nvim.project / "pid"
    nvim.wait(lambda: sleeping.exists() and sleeping.read_text().strip(), what="the tool to run")
    os.kill(nvim.server_pid, signal.SIGKILL)
    nvim.terminal.wait(lambda: not _runs(pid) and not _sleeps(nvim.project), 30, "all of it to end")


def _runs(pid):
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def _sleeps(project):
    """Whether any process still runs in that folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(entry / "cwd")) == project and " Z " not in (entry / "stat").read_text():
                found.append(entry.name)
    return found
