"""Writing over the subscribe socket with the real CLI: a message reaches the running CLI, and is found in its
transcript.
"""

import os
import signal

import pytest
from terminal_steps import IDLE, SESSION, begin

from harness.cli import QUESTION, answering
from harness.scripted_model import Reply
from harness.site import Site

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

OPTS = {"web": {"port": 0, "write": True}}


def times_sent(mock_api, words):
    """How often the model got these words as a prompt of their own."""
    count = 0
    for message in mock_api.conversation():
        content = message["content"]
        texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        count += message["role"] == "user" and any(text.strip() == words for text in texts)
    return count


def test_the_terminals_cli_is_written_to_through_turns_clear_and_the_end_by_force(start_with_claude, mock_api):
    nvim = start_with_claude(opts=OPTS)
    site = Site(nvim)  # before the CLI, which gets the hooks at its start
    begin(nvim, mock_api)
    nvim.wait(lambda: site.has(nvim.lua(SESSION)), what="the session to be listed")
    with site.read(nvim.lua(SESSION)) as reader:
        reader.until({"type": "caught_up"})
        assert [state["canWrite"] for state in reader.of_type("state")] == [True]
        a_message_is_acknowledged_and_its_answer_told_as_it_is_said(nvim, reader, mock_api)
        what_comes_while_claude_works_waits_and_goes_in_order_each_once(nvim, reader, mock_api)
        what_comes_into_a_turn_is_acknowledged_with_its_words(nvim, reader, mock_api)
        a_diff_is_accepted_and_written_once(nvim, site, reader, mock_api)
        after_clear_the_socket_goes_along_and_writes_to_the_new_session(nvim, reader, mock_api)
    one_that_is_killed_takes_what_waits_along_and_then_goes_on_anew(nvim, site, mock_api)


def a_message_is_acknowledged_and_its_answer_told_as_it_is_said(nvim, reader, mock_api):
    mock_api.script(Reply(text="It is four."))
    reader.say(type="user_message", content="two and two?\x1b[31m", id="four")
    reader.until({"type": "sent", "id": "four"})
    ack = reader.until({"type": "ack", "id": "four"})
    # The CLI's display of the turn before may arrive only now.
    messages = shown_messages(reader)
    while "It is four." not in messages:
        reader.until(lambda frame: frame.get("type") == "stream_event", what="what is shown")
        messages = shown_messages(reader)
    assert set(messages) <= {"Hello.", "It is four."}
    assert line_of(reader, ack)["content"] == "two and two?"
    nvim.wait(lambda: times_sent(mock_api, "two and two?") == 1, what="the model to be told once")


def shown_messages(reader):
    """The texts of the messages streamed live, each from its start to its end."""
    texts, now = [], None
    for event in (frame["event"] for frame in reader.of_type("stream_event")):
        if event["type"] == "message_start":
            now = ""
        elif event["type"] == "message_stop" and now is not None:
            texts.append(now.strip())
            now = None
        elif now is not None:
            now += event.get("delta", {}).get("text", "")
    return texts


def line_of(reader, ack):
    """The text of the line for a message; the line comes before or after the ack."""
    is_line = lambda frame: frame.get("type") == "user" and frame["uuid"] == ack["uuid"]  # noqa: E731
    reader.once(is_line, what="its line")
    (line,) = filter(is_line, reader.frames)
    return line["message"]


def what_comes_while_claude_works_waits_and_goes_in_order_each_once(nvim, reader, mock_api):
    mock_api.script(Reply(calls=[("Bash", {"command": "sleep 1; echo > slow", "description": "wait"})]))
    reader.say(type="user_message", id="m0", content="wait a moment")
    # It asks for permission: Claude waits, and so does everything else.
    reader.until({"type": "state", "state": "waiting"})
    for number in (1, 2, 3):
        reader.say(type="user_message", id=f"m{number}", content=f"message {number}")
        reader.until({"type": "queued", "id": f"m{number}"})
    mock_api.script(*[Reply(text="Yes.") for _ in range(4)])
    allow(nvim)
    reader.until({"type": "ack", "id": "m3"})
    assert [ack["id"] for ack in reader.of_type("ack")][1:] == ["m0", "m1", "m2", "m3"]
    nvim.wait(lambda: times_sent(mock_api, "message 3") > 0, what="the model to be told the last one")
    assert [times_sent(mock_api, f"message {number}") for number in (1, 2, 3)] == [1, 1, 1]


def allow(nvim):
    nvim.wait_screen(QUESTION)
    nvim.wait(answering(nvim.terminal.text, lambda: nvim.keys("1")), what="the CLI to take the answer")


TAKE_IT_FOR_IDLE = """
local route, prompt = Ide.outbox_route, Ide.terminal_prompt
local of, is_ready = route.of, prompt.is_ready
route.of = function(...)
  local found = assert(of(...))
  return vim.tbl_extend("force", found, { live = { state = { activity = "idle", source = "record" } } })
end
prompt.is_ready = function() return true end
function _G.see_how_it_is() route.of, prompt.is_ready = of, is_ready end
"""


def what_comes_into_a_turn_is_acknowledged_with_its_words(nvim, reader, mock_api):
    """As when a background task ends and begins a turn at the moment a message is typed."""
    wait = "touch begun; until test -e go; do sleep 0.1; done"
    mock_api.script(Reply(calls=[("Bash", {"command": wait, "description": "wait"})]), Reply(text="Both."))
    reader.say(type="user_message", id="turn", content="wait for it")
    reader.until({"type": "ack", "id": "turn"})
    allow(nvim)
    nvim.wait(lambda: (nvim.project / "begun").exists(), what="the tool to run")
    nvim.lua(TAKE_IT_FOR_IDLE)
    reader.say(type="user_message", id="into", content="and this meanwhile")
    reader.until({"type": "queue-operation", "operation": "enqueue", "content": "and this meanwhile"})
    nvim.lua("see_how_it_is()")
    (nvim.project / "go").touch()
    ack = reader.until({"type": "ack", "id": "into"})
    assert line_of(reader, ack) == {"role": "user", "content": "and this meanwhile"}
    reader.once(lambda frame: "Both." in str(frame), what="the answer")
    assert mock_api.seen("and this meanwhile")


def a_diff_is_accepted_and_written_once(nvim, site, reader, mock_api):
    file = nvim.project / "a.txt"
    file.write_text("one\ntwo\n")
    change = ("Edit", {"file_path": str(file), "old_string": "two", "new_string": "TWO"})
    with site.read(nvim.lua(SESSION), "?last=0") as other:
        mock_api.script(Reply(calls=[("Read", {"file_path": str(file)})]), Reply(calls=[change]), Reply(text="Done."))
        reader.say(type="user_message", id="change", content="change it")
        decision = reader.until({"type": "decision", "kind": "diff"})
        assert "-two\n+TWO" in decision["files"][0]["diff"]
        assert file.read_text() == "one\ntwo\n"
        nvim.wait("(Ide.proposal.list()[1] or {}).against ~= nil", what="the file to be read")
        other.until({"type": "decision", "id": decision["id"]})
        reader.say(type="decide", id=decision["id"], choice="accept")
        for socket in (reader, other):
            closed = socket.until({"type": "decision_closed", "id": decision["id"]})
            assert closed["outcome"] == "accepted"
        nvim.wait(lambda: file.read_text() == "one\nTWO\n", what="the file")
        reader.once(lambda frame: "Done." in str(frame), what="the end of the turn")
        other.say(type="decide", id=decision["id"], choice="accept")
        assert "answered" in other.until({"type": "error"})["reason"]
    assert file.read_text() == "one\nTWO\n"


def after_clear_the_socket_goes_along_and_writes_to_the_new_session(nvim, reader, mock_api):
    before = nvim.lua(SESSION)
    nvim.wait(IDLE, what="the turn to be over")
    nvim.keys("/clear")
    nvim.wait_screen("/clear")
    nvim.keys("<CR>")
    after = reader.until({"type": "session", "previous": before})["sessionId"]
    mock_api.script(Reply(text="Fresh."))
    reader.say(type="user_message", id="who", content="who are you?")
    reader.until({"type": "ack", "id": "who"})
    reader.once(lambda frame: "Fresh." in str(frame), what="the answer")
    assert nvim.lua(SESSION) == after


def one_that_is_killed_takes_what_waits_along_and_then_goes_on_anew(nvim, site, mock_api):
    session = nvim.lua(SESSION)
    pid = nvim.lua("return Ide.terminal.session().pid")
    with site.read(session) as reader:
        reader.until({"type": "caught_up"})
        mock_api.script(Reply(calls=[("Bash", {"command": "sleep 1; echo > slow", "description": "wait"})]))
        reader.say(type="user_message", id="end0", content="wait once more")
        reader.until({"type": "state", "state": "waiting"})
        reader.say(type="user_message", id="end1", content="lost")
        reader.until({"type": "queued", "id": "end1"})
        os.kill(pid, signal.SIGKILL)
        assert reader.until({"type": "unqueued", "id": "end1"})["reason"] == "Claude has ended"
        reader.once(lambda frame: frame.get("state") == "gone", what="the end of the process")
        # A message now starts it again, where it was.
        nvim.wait("not Ide.terminal.is_running()", what="the terminal to have seen the end")
        mock_api.script(Reply(text="Back."))
        reader.say(type="user_message", id="end2", content="are you there?")
        reader.until({"type": "ack", "id": "end2"})
        reader.once(lambda frame: "Back." in str(frame), what="the answer")
        assert nvim.lua(SESSION) == session
    nvim.wait(lambda: times_sent(mock_api, "are you there?") == 1, what="the model to be told")
    assert times_sent(mock_api, "lost") == 0


def test_a_chat_is_written_to_and_read_as_it_speaks(start_with_claude, mock_api):
    nvim = start_with_claude(opts=OPTS)
    mock_api.script(Reply(text="Hello."))
    nvim.lua("vim.cmd.Claude({ args = { 'chat', 'begin' } })")
    nvim.wait("Ide.chat.current().state == 'idle'", what="the turn to be over")
    site, session = Site(nvim), nvim.lua("return Ide.chat.current().session")
    nvim.wait(lambda: site.has(session), what="the session to be listed")
    file = nvim.project / "new.txt"
    with site.read(session) as reader:
        reader.until({"type": "caught_up"})
        mock_api.script(Reply(text="It is four, I think."))
        reader.say(type="user_message", id="m1", content="two and two?")
        reader.until({"type": "ack", "id": "m1"})
        reader.once(lambda frame: frame.get("type") == "assistant" and "four" in str(frame), what="the answer")
        reader.once(lambda frame: "message_stop" in str(frame.get("event")), what="all of what is told")
        events = [frame["event"] for frame in reader.of_type("stream_event")]
        assert events[0]["type"] == "message_start" and "content_block_delta" in [event["type"] for event in events]
        text = "".join(event.get("delta", {}).get("text", "") for event in events)
        assert text == "It is four, I think."
        write = ("Write", {"file_path": str(file), "content": "new\n"})
        mock_api.script(Reply(calls=[write]), Reply(text="Written."))
        reader.say(type="user_message", id="m2", content="write it")
        decision = reader.until({"type": "decision"})
        assert decision["kind"] == "diff" and "+new" in decision["files"][0]["diff"]
        reader.say(type="user_message", id="m3", content="and then?")
        reader.until({"type": "queued", "id": "m3"})
        nvim.wait("(Ide.proposal.list()[1] or {}).against ~= nil")
        mock_api.script(Reply(text="Written."), Reply(text="Nothing."))
        reader.say(type="decide", id=decision["id"], choice="accept")
        reader.until({"type": "decision_closed", "id": decision["id"], "outcome": "accepted"})
        reader.until({"type": "ack", "id": "m3"})
        assert file.read_text() == "new\n"
