"""The bridge to our mod inside a CLI: prompts that it submits, and what is done where it does not. `tests/e2e/test_bridge_real_cli.py`
has the real CLI."""

import json
import sys
import urllib.request

import pytest
from test_prompt_function import PROMPT, pasted

from harness.mod import Mod

pytestmark = [pytest.mark.dealt, pytest.mark.one_nvim]

BRIDGE = "Ide.bridge.of(Ide.terminal.list()[1])"


@pytest.fixture
def begin(start_nvim, fake, sessions, project):
    """Starts a Neovim and a CLI with the mod, which runs a session."""

    def begin(status="idle", **options):
        (sessions.config / "sessions").mkdir(parents=True, exist_ok=True)
        session = sessions.write(project, ("one", "two"))
        nvim = start_nvim(env=fake.environment(mod=True), notices=True, **options)
        nvim.keys(":Claude<CR>")
        nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
        sessions.record(fake.starts()[0]["pid"], session, status, cwd=project)
        nvim.wait(f"{BRIDGE} ~= nil", what="the mod")
        return nvim, session

    return begin


@pytest.fixture
def bridged(begin, fake, sessions, project):
    """A Neovim whose terminal runs an idle session, with a draft at its prompt, and the mod."""
    nvim, session = begin()

    def turn():
        """The CLI works, and is idle again."""
        for status, word in (("busy", "working"), ("idle", "idle")):
            sessions.record(fake.starts()[0]["pid"], session, status, cwd=project)
            nvim.wait(f"Ide.terminal.session().state.activity == '{word}'", what=word)

    nvim.turn = turn
    fake.show_prompt("a draft")
    nvim.wait("(Ide.terminal.session() or { state = {} }).state.activity == 'idle'", what="the session")
    return nvim


def test_prompts_are_submitted_in_order_beside_a_draft(bridged, fake):
    for text in ("the first\x1b[2J", "the second"):
        assert bridged.lua(PROMPT, text, "") == [True]
    bridged.wait("#(results or {}) == 1", what="the first")
    bridged.wait("Ide.outbox.list()[1].waits_for == 'Claude works'", what="the turn to be awaited")
    assert fake.orders() == [("submit", "the first")], "its record says idle still"
    bridged.turn()
    bridged.wait("#(results or {}) == 2", what="both")
    assert fake.orders() == [("submit", "the first"), ("submit", "the second")]
    assert bridged.lua("return results") == ["sent", "sent"]
    assert fake.typed() == b""


@pytest.mark.parametrize("text", ["/status", "!ls", "# note", "look at @a.txt"])
def test_what_is_more_than_text_at_a_prompt_is_typed(bridged, fake, text):
    assert bridged.lua(PROMPT, text, "") == [True]
    bridged.wait('Ide.outbox.list()[1].waits_for == "text stands at its prompt"')
    fake.show_prompt()
    bridged.wait(lambda: text.encode() in fake.typed(), what="it to be typed")
    assert fake.orders() == []


def test_what_the_cli_refuses_is_typed(bridged, fake):
    fake.answer_orders(submit=[False, "no"])
    fake.show_prompt()
    assert bridged.lua(PROMPT, "hello", "") == [True]
    bridged.wait("#(results or {}) == 1", what="it to be sent")
    bridged.wait(lambda: fake.typed() == pasted("hello"), what="it to be typed")
    assert fake.orders() == [("submit", "hello")]


def test_what_the_cli_does_not_confirm_is_not_sent_twice(bridged, fake):
    fake.answer_orders(submit="silent")
    bridged.lua("local bridge = Ide.bridge bridge.ORDER_MS, bridge.HELD_MS = 50, 50")
    assert bridged.lua(PROMPT, "hello", "") == [True]
    bridged.wait("#(results or {}) == 1", what="its end")
    assert bridged.lua("return results") == ["Claude did not confirm that it has it"]
    assert fake.orders() == [("submit", "hello")]
    assert fake.typed() == b""


def test_what_the_cli_has_taken_counts_as_sent_also_if_its_session_is_another_by_then(bridged, fake, sessions, project):
    fake.answer_orders(submit="silent")
    assert bridged.lua(PROMPT, "hello", "") == [True]
    bridged.wait(lambda: fake.orders() == [("submit", "hello")], what="the order")
    other = sessions.write(project, ("one", "two"))
    sessions.record(fake.starts()[0]["pid"], other, "idle", cwd=project)
    bridged.wait(f"(Ide.terminal.session() or {{}}).id == '{other}'", what="the other session")
    assert not bridged.lua("return results")
    bridged.lua(
        """
        local entry = Ide.outbox.list()[1]
        entry.order.done("done", "")
        """
    )
    bridged.wait("#(results or {}) == 1", what="its end")
    assert bridged.lua("return results") == ["sent"]


def test_a_prompt_that_the_cli_has_is_not_taken_back(bridged, fake):
    fake.answer_orders(submit="silent")
    assert bridged.lua(PROMPT, "hello", "") == [True]
    bridged.wait(lambda: fake.orders() == [("submit", "hello")], what="the order")
    taken = bridged.lua("local box = Ide.outbox return box.take_back(box.list()[1])")
    assert taken is False
    assert bridged.lua("return #Ide.outbox.list()") == 1


# The mod says at this moment that it has carried out the order that waits.
CARRIED_OUT = """
local order = Ide.outbox.list()[1].order
for client = 1, 9 do
  Ide.bridge.report(client, { event = "done", id = tostring(order.id), is_done = true })
end
"""


def test_a_prompt_that_the_cli_has_taken_is_sent_at_once(bridged, fake):
    fake.answer_orders(submit="silent")
    assert bridged.lua(PROMPT, "hello", "") == [True]
    bridged.wait(lambda: fake.orders() == [("submit", "hello")], what="the order")
    entry = "local box = Ide.outbox local entry = box.list()[1]\n"
    assert bridged.lua(f"{entry}{CARRIED_OUT} return {{ #box.list(), box.take_back(entry) }}") == [0, False]
    bridged.wait("#results == 1", what="its end")
    assert bridged.lua("return results") == ["sent"]


def test_a_prompt_that_the_users_hooks_have_for_long_is_sent(bridged, fake):
    fake.answer_orders(submit="silent")
    bridged.lua("Ide.bridge.ORDER_MS = 20")
    assert bridged.lua(PROMPT, "hello", "") == [True]
    bridged.wait(lambda: fake.orders() == [("submit", "hello")], what="the order")
    bridged.lua("vim.defer_fn(function() is_late = true end, 200)")
    bridged.wait("is_late", what="the limit to be over")
    bridged.lua(CARRIED_OUT)
    bridged.wait("#(results or {}) == 1", what="its end")
    assert bridged.lua("return results") == ["sent"]


REASON = """
local box, session = Ide.outbox, Ide.terminal.session().id
box.send({ kind = "reason", key = 1, session = session, text = ..., ran = true })
"""


def test_a_reason_is_not_added_to_one_that_the_cli_has(bridged, fake):
    fake.answer_orders(submit="silent")
    bridged.lua(REASON, "the first")
    bridged.wait(lambda: fake.orders() == [("submit", "the first")], what="the order")
    bridged.lua(REASON, "the second")
    bridged.lua(REASON, "the third")
    bridged.lua(CARRIED_OUT)
    bridged.turn()
    bridged.wait(lambda: fake.orders()[1:] == [("submit", "the second\nthe third")], what="the other reasons")


def test_a_reason_waits_for_a_prompt_that_the_cli_takes(bridged, fake):
    fake.answer_orders(submit="silent")
    assert bridged.lua(PROMPT, "a prompt", "") == [True]
    bridged.wait(lambda: fake.orders() == [("submit", "a prompt")], what="the order")
    bridged.lua(REASON, "a reason")
    assert bridged.lua("return #Ide.outbox.list()") == 2
    bridged.lua(CARRIED_OUT)
    bridged.turn()
    bridged.wait(lambda: fake.orders()[1:] == [("submit", "a reason")], what="the reason")
    assert bridged.lua("return results") == ["sent"]


def test_the_token_is_for_the_mods_endpoint_and_process_alone(bridged, fake):
    (started,) = fake.starts()
    mod = Mod(started)
    status, text = mod.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert (status, "this process is not the agent" in text) == (403, True)
    request = urllib.request.Request(
        mod.neovim["url"].removesuffix("mod") + "nvim", b"{}", {"Authorization": f"Bearer {mod.neovim['token']}"}
    )
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request)
    tools = json.loads(started["tools"])["mcpServers"]["nvim"]
    status, _ = mod.post({}, token=tools["headers"]["Authorization"].removeprefix("Bearer "))
    assert status == 401


IN_ANOTHER_PROGRAM = {
    "terminal": {"provider": "external", "external": [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])"]}
}


def test_a_cli_in_another_terminal_program_gets_prompts_too(begin, fake, sessions, project):
    nvim, session = begin(opts=IN_ANOTHER_PROGRAM)
    assert nvim.lua(PROMPT, "hello", session) == [True]
    nvim.wait("#(results or {}) == 1", what="it to be sent")
    assert nvim.lua(PROMPT, "/status", session) == [True]
    nvim.wait("#(results or {}) == 2", what="its end")
    pid = fake.starts()[0]["pid"]
    assert nvim.lua("return results") == ["sent", f"it runs in another terminal (pid {pid}): write there"]
    assert fake.orders() == [("submit", "hello")]
    sessions.record(pid, session, "busy", cwd=project)
    nvim.wait("Ide.terminal.list()[1]:live().state.activity == 'working'")
    assert nvim.lua("return Ide.outbox.interrupt(...) == nil", session)
    nvim.wait(lambda: fake.orders()[1:] == [("stop", "")], what="the order to stop")
