"""A chat in Neovim against the scripted model: with the real CLI, headless, or a stand-in for it."""

import contextlib
import json
import os
from pathlib import Path

from harness import cli, headless_cli, scripted_cli


def start(start_nvim, api, tmp_path, *, files=None, args=(), opts=None, env=None, executable=None, **more):
    """A Neovim whose CLI is the real one, offline; or another `executable`."""
    home, project = tmp_path / "home", tmp_path / "project"
    cli.prepare_home(home, project)
    environment = {**cli.environment(home, api, executable), **(env or {})}
    environment.pop("TERM")
    return start_nvim(args=args, files=files, opts=opts or {}, env=environment, **more)


def start_with_stand_in(start_nvim, model, tmp_path, **more):
    """A Neovim whose CLI is a stand-in (harness/headless_cli.py)."""
    return start(start_nvim, model, tmp_path, executable=headless_cli.install(tmp_path), **more)


def start_scripted(start_nvim, tmp_path, script, values=None, **more):
    """A Neovim whose CLI is a script (harness/scripted_cli.py)."""
    agent = scripted_cli.program(tmp_path / "agent", script, **(values or {}))
    return start_nvim(opts={"terminal": {"command": [str(agent)]}}, **more)


def text(nvim):
    """All lines of the chat shown last."""
    return nvim.lua(
        """
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          local mark = vim.b[buf].claude_ide
          if mark and mark.kind == "transcript" then
            return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n")
          end
        end
        return ""
        """
    )


def to_transcript(nvim):
    """Goes to the window of a chat's transcript."""
    nvim.lua(
        """
        vim.api.nvim_set_current_win(vim.iter(vim.api.nvim_list_wins()):find(function(win)
          return (vim.b[vim.api.nvim_win_get_buf(win)].claude_ide or {}).kind == "transcript"
        end))
        """
    )


def chat(nvim, code):
    """Runs Lua with `chat`, the one shown last."""
    return nvim.lua(f"local chat = Ide.chat.current() {code}")


# Rows are drawn in turns of the loop, the last one first: neither the last words nor the end of a turn mean that all is drawn.
_DRAWN = """
local function is_drawn(view)
  local loader = Ide.transcript_loader
  return not (view.busy or view.again or view.queued_changes)
    and view.canvas.heights:len() == view.source:info().len
    and #loader.urgent(view) == 0 and #loader.others(view) == 0
end
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  local view = Ide.open_views.of_buffer(buf)
  if view and view.source.is_chat and #vim.fn.win_findbuf(buf) > 0 and not is_drawn(view) then return false end
end
"""


def wait_text(nvim, words):
    """Waits until these words are in the chat, and what came before them."""
    nvim.wait(lambda: words in text(nvim), what=f"{words!r} in the chat")
    nvim.wait(_DRAWN + "return true", what="all of the chat to be drawn")


def wait_idle(nvim):
    """Waits until the turn is over and the chat shows all of it."""
    idle = "return Ide.chat.current().state == 'idle'"
    nvim.wait(_DRAWN + idle, what="the turn to be over")


def wait_answer(nvim, words):
    """Waits until these words are in the chat and the turn is over."""
    wait_text(nvim, words)
    wait_idle(nvim)


def wait_asked(nvim, words):
    """Waits until a question of the agent is shown and takes a key."""
    nvim.wait_screen(words)
    nvim.wait_kind("question")
    nvim.keys_count()


def wait_diff(nvim, count=1):
    """Waits until a diff is shown and counts as seen."""
    nvim.wait(
        f"Ide.proposal.count() == {count} and Ide.proposal.list()[1].seen",
        what="a diff",
    )


def accept(nvim):
    """Accepts the proposal, or the changeset, that is shown."""
    nvim.lua("assert(Ide.proposal.accept())")


def reject(nvim, reason=None):
    """Rejects it."""
    nvim.lua("assert(Ide.proposal.reject(nil, ...))", *([reason] if reason else []))


def edit_proposal(nvim, first, last, lines):
    """Edits lines of the proposal as the user would; lines from 0."""
    nvim.lua(
        """
        local first, last, lines = ...
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if (vim.b[buf].claude_ide or {}).kind == "proposal" then
            vim.api.nvim_buf_set_lines(buf, first, last, false, lines)
          end
        end
        """,
        first,
        last,
        lines,
    )


def at_work_in(folder):
    """The processes that run in a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(entry / "cwd")) == folder and " Z " not in (entry / "stat").read_text():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def say(nvim, words):
    """Says something to the agent, like `:Claude chat`."""
    nvim.lua(
        "local chats = Ide.chat local ok, err = chats.say(chats.current(), ...) assert(ok, err)",
        words,
    )


def begin(nvim, words=""):
    nvim.lua("vim.cmd.Claude({ args = vim.list_extend({ 'chat' }, { ... }) })", *([words] if words else []))


def call(tool, **arguments):
    return f"CALL {tool} {json.dumps(arguments, ensure_ascii=False)}"
