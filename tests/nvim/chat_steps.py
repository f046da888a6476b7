"""A chat in Neovim with the real CLI, headless, against the scripted model."""

import json

from harness import cli


def start(start_nvim, mock_api, tmp_path, *, files=None, args=(), opts=None, env=None, **more):
    """A Neovim whose CLI is the real one, offline."""
    home, project = tmp_path / "home", tmp_path / "project"
    cli.prepare_home(home, project)
    environment = {**cli.environment(home, mock_api), **(env or {})}
    environment.pop("TERM")
    return start_nvim(args=args, files=files, opts=opts or {}, env=environment, **more)


def text(nvim):
    """All lines of the chat that was shown last."""
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


def chat(nvim, code):
    """Runs Lua with `chat`, the one that was shown last."""
    return nvim.lua(f"local chat = require('claude-ide.chat').current() {code}")


def wait_text(nvim, words):
    nvim.wait(lambda: words in text(nvim), what=f"{words!r} in the chat")


def wait_idle(nvim):
    nvim.wait("require('claude-ide.chat').current().state == 'idle'", what="the turn to be over")


def say(nvim, words):
    """Says something to the agent, as `:Claude chat` does."""
    nvim.lua(
        "local chats = require('claude-ide.chat') local ok, err = chats.say(chats.current(), ...) assert(ok, err)",
        words,
    )


def begin(nvim, words=""):
    nvim.lua("vim.cmd.Claude({ args = vim.list_extend({ 'chat' }, { ... }) })", *([words] if words else []))


def call(tool, **arguments):
    return f"CALL {tool} {json.dumps(arguments, ensure_ascii=False)}"
