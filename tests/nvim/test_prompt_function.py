"""`require("claude-ide").prompt()`: what a script says to a session, and what it is told of it."""

import pytest

pytestmark = [pytest.mark.dealt, pytest.mark.one_nvim]

PROMPT = """
local text, session = ...
results = results or {}
return { require("claude-ide").prompt(text, {
  session = session ~= "" and session or nil,
  on_done = function(err) results[#results + 1] = err or "sent" end,
}) }
"""


@pytest.fixture
def begin(start_nvim, fake, sessions, project, in_terminal):
    """A Neovim whose terminal runs a session, at an empty prompt; and a function that sets the session's state."""

    def begin():
        (sessions.config / "sessions").mkdir(parents=True, exist_ok=True)
        session = sessions.write(project, ("one", "two"))
        nvim = start_nvim(env=fake.environment())
        return nvim, session, in_terminal(nvim, session)

    return begin


def pasted(text):
    return f"\x1b[200~{text} \x1b[201~\r".encode()


def test_it_is_sent_to_the_current_terminal_once_claude_is_idle(begin, fake):
    nvim, session, state = begin()
    state("busy")
    assert nvim.lua(PROMPT, "the first", "") == [True]
    assert nvim.lua(PROMPT, "the second", session) == [True]
    assert nvim.lua("return Ide.outbox.counts()") == {session: 2}
    state("idle")
    nvim.wait(lambda: fake.typed() == pasted("the first"), what="what is typed")
    nvim.wait("#results == 1")
    state("busy")
    fake.show_prompt()
    state("idle")
    nvim.wait("#results == 2")
    assert nvim.lua("return results") == ["sent", "sent"]
    nvim.wait(lambda: fake.typed() == pasted("the first") + pasted("the second"), what="both, in order")


def test_a_script_is_told_why_a_prompt_is_not_sent(begin, fake, sessions, project):
    nvim, session, state = begin()
    for text in (" \n", "\x1b[2J", "\u200b"):
        assert nvim.lua(PROMPT, text, "") == [None, "The prompt is empty."]
    elsewhere = sessions.write(project, ("one", "two"))
    pid = sessions.sleeper()
    sessions.record(pid, elsewhere, "idle", cwd=project)
    nvim.wait("#Ide.sessions.live() == 2", what="the other session")
    assert nvim.lua(PROMPT, "hello", elsewhere) == [
        None,
        f"This session cannot get a prompt: it runs in another terminal (pid {pid}): write there.",
    ]
    state("busy")
    assert nvim.lua(PROMPT, "hello", "") == [True]
    nvim.lua("Ide.outbox.interrupt(...)", session)
    nvim.wait("#results == 1")
    assert nvim.lua("return results") == ["you stopped Claude"]
    assert b"hello" not in fake.typed()


def test_without_a_session_there_is_nobody_to_hear_it(start_nvim):
    nvim = start_nvim()
    assert nvim.lua(PROMPT, "hello", "") == [None, "No terminal has a session: pass `session`."]
