"""Threads of comments for clients of the page's socket, and what they do with them. The CLI is a stand-in."""

import pytest
from test_web_write import begin, inside, pasted, typed  # noqa: F401

# ruff: noqa: F811 (fixtures)
pytestmark = pytest.mark.dealt

ADD = """
local store = Ide.comments_store
local root = store.root_of()
local id = assert(store.add({ root = root, path = "a.txt", first = 0, count = 1, text = "one\\n" }, "user", "Why?"))
assert(store.change(root, { sent = { { id = id, words = "Why?", session = ... } } }))
"""
CHANGE = "local store = Ide.comments_store assert(store.change(store.root_of(), ...))"
STATE = "(Ide.comments_store.threads(Ide.comments_store.root_of())[1] or {}).state"


def threads(reader, state):
    """The thread, once it has a state."""
    is_it = lambda frame: frame["type"] == "threads" and [one["state"] for one in frame["threads"]] == [state]  # noqa: E731
    return reader.until(is_it, f"a thread that is {state}")["threads"][0]


def said(thread):
    return [(entry["by"], entry["words"]) for entry in thread["entries"]]


def test_an_answer_is_shown_by_itself_and_a_reply_is_sent_as_a_round(inside, fake):
    nvim, site, session, state = inside()
    nvim.lua(ADD, session)
    with site.read(session) as reader:
        thread = threads(reader, "sent")
        assert (thread["place"], thread["lines"], said(thread)) == ("a.txt:1", ["one"], [("user", "Why?")])
        nvim.lua(CHANGE, {"reply": {"id": thread["id"], "words": "Because."}})
        assert said(threads(reader, "answered")) == [("user", "Why?"), ("claude", "Because.")]
        state("busy")
        reader.say(type="comment", id="c", thread=thread["name"], act="reply", words="Then \x1b[1msay so\u202e")
        reader.until({"type": "commented", "id": "c"})
        draft = threads(reader, "draft")
        assert (draft["draft"], draft["waits"]) == ("Then say so", True)
        reader.say(type="comment", id="d", thread=thread["name"], act="reply", words="Another")
        assert "not sent yet" in reader.until({"type": "error", "id": "d"})["reason"]
        state("idle")
        assert said(threads(reader, "sent"))[2:] == [("user", "Then say so")]
        nvim.wait(lambda: typed(fake).endswith(b"Then say so \x1b[201~\r"), what="the round to be typed")
        assert b"[1] a.txt:1" in typed(fake)
        for act, then in [("resolve", "resolved"), ("reopen", "sent")]:
            reader.say(type="comment", id=act, thread=thread["name"], act=act)
            threads(reader, then)


def test_a_round_that_was_not_sent_says_why_and_can_be_sent_again(inside, fake):
    nvim, site, session, state = inside()
    nvim.lua(ADD, session)
    with site.read(session) as reader:
        thread = threads(reader, "sent")
        state("busy")
        reader.say(type="comment", id="c", thread=thread["name"], act="reply", words="Then say so")
        threads(reader, "draft")
        reader.say(type="interrupt")
        is_back = lambda frame: frame["type"] == "threads" and not frame["threads"][0]["waits"]  # noqa: E731
        (back,) = reader.until(is_back, "the words that wait again")["threads"]
        assert (back["draft"], back["problem"]) == ("Then say so", "you stopped Claude")
        state("idle")
        reader.say(type="comment", id="d", thread=thread["name"], act="send")
        assert said(threads(reader, "sent"))[1:] == [("user", "Then say so")]


@pytest.mark.parametrize("is_written", [True, False])
def test_nothing_is_written_to_where_writing_is_not_allowed_or_claude_runs_elsewhere(
    begin, sessions, project, is_written
):
    nvim, site, session = begin({"web": {"port": 0, "write": is_written}})
    other = sessions.write(project, ("three", "four"))
    nvim.wait(lambda: site.has(other), what="the other session")
    pid = sessions.sleeper()
    sessions.record(pid, session, "idle", cwd=project)
    nvim.lua(ADD, session)
    with site.read(session) as reader, site.read(other) as elsewhere:
        thread = threads(reader, "sent")
        reader.once(lambda frame: frame.get("state") == "idle", "the session to be known")
        wanted = [
            (reader, f"it runs in another terminal (pid {pid}): write there"),
            (elsewhere, "this comment is not there any more"),
        ]
        for socket, why in wanted:
            socket.say(type="comment", id="c", thread=thread["name"], act="reply", words="Then say so")
            reason = socket.until({"type": "error", "id": "c"})["reason"]
            assert reason == (why if is_written else "only reading is allowed: web.write is false")
        assert nvim.lua(f"return {STATE}") == "sent", "nothing is kept"
