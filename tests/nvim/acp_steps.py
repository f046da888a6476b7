"""A chat with the scripted agent (harness/acp_agent.py)."""

import json
import sys

from chat_steps import say, text, wait_answer, wait_idle, wait_text

from harness import nvim as harness_nvim

AGENT = harness_nvim.ROOT / "tests/harness/acp_agent.py"

__all__ = [
    "OPTIONS",
    "answers",
    "begin",
    "begin_idle",
    "diff",
    "permission",
    "read",
    "request",
    "say",
    "scripted",
    "text",
    "update",
    "wait_answer",
    "wait_idle",
    "wait_text",
]


OPTIONS = [
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def scripted(tmp_path, setup=None):
    """The option `agents.…` of that agent."""
    environment = {"ACP_AGENT": json.dumps(setup or {}), "ACP_LOG": str(tmp_path / "acp.log")}
    return {"cmd": [sys.executable, str(AGENT)], "env": environment, "name": "Robot"}


def begin(start_nvim, tmp_path, *, setup=None, patience=None, args="", files=None, opts=None, chosen=()):
    """A Neovim with a chat with that agent in it; `chosen` answers what is asked as it begins."""
    nvim = start_nvim(files=files or {}, opts={"agents": {"scripted": scripted(tmp_path, setup)}, **(opts or {})})
    if patience:
        nvim.lua("Ide.acp.PATIENCE_MS = ...", patience)
    if chosen:
        nvim.answer(*chosen)
    nvim.lua("vim.cmd('Claude chat --agent scripted ' .. ...)", args)
    nvim.wait("Ide.chat.current() ~= nil", what="the chat")
    return nvim


def begin_idle(start_nvim, tmp_path, **more):
    """As `begin`, with a session."""
    nvim = begin(start_nvim, tmp_path, **more)
    wait_idle(nvim)
    return nvim


def read(tmp_path, method=None):
    """The messages that the agent got: all, or the parameters of one method."""
    whole = (tmp_path / "acp.log").read_text().rpartition("\n")[0]
    messages = [json.loads(line) for line in whole.splitlines()]
    if method is None:
        return messages
    return [message.get("params") for message in messages if message.get("method") == method]


def update(kind_, /, **fields):
    return "UPDATE " + json.dumps({"sessionUpdate": kind_, **fields})


def request(method, **params):
    return f"REQUEST {method} {json.dumps(params)}"


def permission(*, options=OPTIONS, **call):
    """A request to allow a call."""
    return request("session/request_permission", toolCall={"toolCallId": "c1", **call}, options=options)


def diff(path, old, new):
    return {"type": "diff", "path": str(path), "oldText": old, "newText": new}


def answers(nvim):
    """The answers to the agent's requests, so far."""
    return [json.loads(line[7:]) for line in text(nvim).splitlines() if line.startswith("ANSWER ")]
