"""Errors that are new at the end of Claude's turn: which of them make it go on. `tests/e2e/test_context_real_cli.py` has the real CLI."""

import os
from unittest import mock

import pytest
from journal_steps import Claude
from review_steps import Turn

pytestmark = pytest.mark.dealt

STAND_IN = """
local folder, handlers = Ide.hook_folder, {}
folder.on = function(kind, fn) handlers[kind] = fn end
folder.put = function(_, _, text) told = text end
package.loaded[Ide("new_errors")] = nil
Ide.new_errors.attach()
function begin(pid) handlers.turn(pid) end
function stop(pid)
  told, ended = nil, false
  handlers.stop(pid, function() ended = true return true end)
end
namespace = vim.api.nvim_create_namespace("stand-in")
function wrong(name, message)
  local buf = vim.fn.bufadd(name)
  vim.fn.bufload(buf)
  vim.diagnostic.set(namespace, buf, { { lnum = 0, col = 0, message = message, severity = 1 } })
end
"""


@pytest.fixture
def claude(start_nvim, connect):
    nvim = start_nvim(args=["mine.txt"], files={"mine.txt": "one\n", "its.txt": "one\n", "used.txt": "one\n"})
    claude = Claude(nvim, connect)
    nvim.lua(STAND_IN)
    return claude


def told(nvim):
    nvim.lua("stop(...)", os.getpid())
    nvim.wait("ended", what="the end of the turn")
    return [
        line.split(":")[0].rpartition("/")[2].split()[0] for line in (nvim.lua("return told") or "").splitlines()[1:]
    ]


def test_errors_of_files_that_the_user_saved_and_claude_did_not_touch_are_not_told(claude):
    nvim = claude.nvim
    claude.prompt()
    nvim.lua("begin(...)", os.getpid())
    nvim.keys("Ahalf<Esc>:write<CR>")
    nvim.wait(lambda: (nvim.project / "mine.txt").read_text() == "onehalf\n")
    nvim.lua("wrong('mine.txt', 'half a word') wrong('used.txt', 'of the half word')")
    assert told(nvim) == [], "Claude has changed nothing"
    claude.edit("its.txt", "one\n", "two\n")
    nvim.wait("#Ide.journal.changes('turn') == 1", what="the edit to be known")
    nvim.lua("wrong('its.txt', 'two')")
    assert sorted(told(nvim)) == ["its.txt", "used.txt"]


def test_a_copy_and_a_write_that_the_user_declines_are_no_saves(claude):
    """Neovim emits BufWritePost for both. Claude may have written the file by a command that the journal does not know of."""
    nvim = claude.nvim
    claude.prompt()
    nvim.lua("begin(...)", os.getpid())
    nvim.keys(":write copy.txt<CR>")
    nvim.wait(lambda: (nvim.project / "copy.txt").exists())
    nvim.lua("Ide.watch.detach() wrong('used.txt', 'of a command')")
    assert told(nvim) == ["used.txt"], "after a copy"
    nvim.keys("Ahalf<Esc>")
    nvim.wait("vim.bo.modified")
    (nvim.project / "mine.txt").write_text("another\n")
    nvim.keys(":write<CR>")
    nvim.wait_screen("really want to write")
    nvim.keys("n")
    nvim.wait_screen("Press ENTER")
    nvim.keys("<CR>")
    assert told(nvim) == ["used.txt"], "after a write that was declined"


def test_errors_are_told_to_the_session_that_made_them_whatever_another_one_does(claude, connect):
    nvim = claude.nvim
    claude.prompt()
    nvim.lua("begin(...)", os.getpid())
    nvim.keys("Ahalf<Esc>:write<CR>")
    nvim.wait(lambda: (nvim.project / "mine.txt").read_text() == "onehalf\n")
    claude.edit("its.txt", "one\n", "two\n")
    nvim.wait("#Ide.journal.changes('turn') == 1", what="the edit to be known")
    with mock.patch("os.getpid", return_value=os.getppid()):
        Turn(nvim, connect(nvim))
    nvim.wait("#Ide.journal.turns() == 2", what="a turn of the other session")
    nvim.lua("wrong('its.txt', 'two')")
    assert told(nvim) == ["its.txt"]
