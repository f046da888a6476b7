"""Questions of an agent of the Agent Client Protocol, answered over the socket: by the first, once, and as sent to the
agent.
"""

import json
import os
import signal

import acp_steps
import pytest
from acp_steps import permission, request, say, text, wait_idle
from chat_steps import chat, wait_asked
from test_acp_asks import ALL, wait_answers

from harness.nvim import PENDING
from harness.site import Site

pytestmark = pytest.mark.dealt

WRITE = {"web": {"port": 0, "write": True}}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "in full", "minLength": 2},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean", "default": True},
        "kind": {
            "type": "string",
            "oneOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second, or so"}],
        },
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}},
    },
    "required": ["name", "kind"],
}


@pytest.fixture
def reader(start_nvim, sessions, tmp_path):
    """A reader with write permission of a chat's session."""
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    session = sessions.write(project, ("one", "two"))
    nvim = acp_steps.begin(start_nvim, tmp_path, setup={"session": session}, opts=WRITE)
    nvim.wait("Ide.chat.current() ~= nil", what="the chat")
    wait_idle(nvim)
    site = Site(nvim)
    nvim.wait(lambda: site.has(session), what="the session to be listed")
    with site.read(session) as reader:
        reader.nvim = nvim
        reader.until({"type": "caught_up"})
        reader.say(type="write", on=True)
        yield reader


def ask(reader, what):
    say(reader.nvim, what)
    return reader.until({"type": "decision"})


def decide(reader, decision, outcome, **answer):
    reader.say(type="decide", id=decision["id"], **answer)
    assert reader.until({"type": "decision_closed", "id": decision["id"]})["outcome"] == outcome
    reader.nvim.wait(f"{PENDING} == 0", what="the question to be over")


def refused(reader, decision, words, **answer):
    reader.say(type="decide", id=decision["id"], **answer)
    assert words in reader.until({"type": "error"})["reason"]


def test_each_answer_of_a_permission_is_a_choice(reader):
    for at, option in enumerate(ALL):
        asked = ask(reader, permission(options=ALL, title="rm -r x", kind="execute", rawInput={"command": "rm -r x"}))
        assert (asked["kind"], asked["text"]) == ("permission", "rm -r x")
        assert asked["title"] == "Robot asks for permission · destructive: rm -r"
        assert [choice["label"] for choice in asked["choices"]] == [one["name"] for one in ALL]
        is_yes = option["kind"].startswith("allow")
        decide(reader, asked, "accepted" if is_yes else "rejected", choice=asked["choices"][at]["id"])
        said = wait_answers(reader.nvim, at + 1)[-1]
        assert said == {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        wait_idle(reader.nvim)
    assert reader.nvim.lua("return #vim.api.nvim_list_wins()") == 3, "the card is gone"


def test_words_that_go_with_a_no_are_the_next_prompt(reader, tmp_path):
    asked = ask(reader, permission(options=ALL, title="rm -r x"))
    assert [bool(choice.get("message")) for choice in asked["choices"]] == [False, False, True, True]
    decide(reader, asked, "rejected", choice="option:3", message="SAY never so")
    reader.nvim.wait(lambda: "\nnever so" in text(reader.nvim), what="what was said then")
    assert acp_steps.read(tmp_path, "session/prompt")[1]["prompt"][0]["text"] == "SAY never so"


def test_who_is_first_decides(reader):
    asked = ask(reader, permission(options=ALL, title="rm -r x"))
    wait_asked(reader.nvim, "rm -r x")
    reader.nvim.keys("n")
    assert reader.until({"type": "decision_closed", "id": asked["id"]})["outcome"] == "rejected"
    refused(reader, asked, "answered", choice="option:1")
    assert wait_answers(reader.nvim)[0]["outcome"]["optionId"] == "no"


def test_a_form_is_filled_in_away_from_its_window(reader):
    asked = ask(reader, request("elicitation/create", mode="form", message="Who?", requestedSchema=SCHEMA))
    assert (asked["kind"], asked["text"]) == ("question", "Who?")
    fields = {one["key"]: one for one in asked["questions"]}
    assert [one["key"] for one in asked["questions"]] == list(SCHEMA["properties"]), "in the order of the agent"
    assert fields["name"]["question"] == "Your name" and fields["name"]["description"] == "in full"
    assert not fields["name"].get("optional") and fields["count"]["optional"] and fields["count"]["value"] == "2"
    assert [one["label"] for one in fields["kind"]["options"]] == ["First", "Second, or so"]
    assert fields["kind"]["own"] is False and fields["tags"]["multiSelect"] is True
    assert fields["sure"]["chosen"] == ["1"] and [one["label"] for one in fields["sure"]["options"]] == ["yes", "no"]
    assert [choice["id"] for choice in asked["choices"]] == ["answer", "reject"]
    good = {"name": "Ada", "kind": "2", "sure": "2", "tags": "1, 3", "ratio": "0.5", "count": "3"}
    for wrong, words in (
        ({"name": "A"}, "Your name: enter at least 2 characters"),
        ({"name": ""}, "Your name is missing"),
        ({"count": "12"}, "count: enter a whole number from 1 to 9"),
        ({"ratio": "half"}, "ratio: enter a number"),
        ({"kind": "3"}, "kind: `3` is not one of the choices"),
        ({"kind": "1, 2"}, "kind: choose one"),
    ):
        refused(reader, asked, words, choice="answer", answers={**good, **wrong})
    decide(reader, asked, "accepted", choice="answer", answers=good)
    content = {"name": "Ada", "kind": "b", "sure": False, "tags": ["x", "z"], "ratio": 0.5, "count": 3}
    assert wait_answers(reader.nvim) == [{"action": "accept", "content": content}]


def test_what_is_left_empty_is_left_out(reader):
    asked = ask(reader, request("elicitation/create", mode="form", message="Who?", requestedSchema=SCHEMA))
    decide(reader, asked, "accepted", choice="answer", answers={"name": "Ada", "kind": "1"})
    assert wait_answers(reader.nvim) == [{"action": "accept", "content": {"name": "Ada", "kind": "a", "sure": False}}]


@pytest.mark.parametrize(
    ("schema", "choices", "content"),
    [
        ({"properties": {"count": {"type": "integer", "default": 2}}}, ["answer", "as_it_is", "reject"], {"count": 2}),
        ({}, ["as_it_is", "reject"], None),
    ],
)
def test_a_form_that_wants_nothing_is_sent_as_it_came(reader, schema, choices, content):
    asked = ask(reader, request("elicitation/create", mode="form", message="Sure?", requestedSchema=schema))
    assert [choice["id"] for choice in asked["choices"]] == choices
    decide(reader, asked, "accepted", choice="as_it_is")
    assert wait_answers(reader.nvim) == [{"action": "accept", **({"content": content} if content else {})}]


def test_a_form_is_declined_and_a_page_is_opened(reader):
    asked = ask(reader, request("elicitation/create", mode="form", message="Who?", requestedSchema=SCHEMA))
    decide(reader, asked, "rejected", choice="reject")
    page = request("elicitation/create", mode="url", message="Look", url="https://example.org", elicitationId="e")
    wait_idle(reader.nvim)
    asked = ask(reader, page)
    assert "https://example.org" in asked["text"]
    decide(reader, asked, "accepted", choice="as_it_is")
    assert [one["action"] for one in wait_answers(reader.nvim, 2)] == ["decline", "accept"]


def test_a_form_with_what_a_page_cannot_ask_is_left_to_the_editor(reader):
    schema = json.loads(json.dumps(SCHEMA))
    schema["properties"]["more"] = {"type": "object"}
    asked = ask(reader, request("elicitation/create", mode="form", message="Who?", requestedSchema=schema))
    assert asked["text"] == "Who?" and not asked["choices"] and "questions" not in asked
    wait_asked(reader.nvim, "Who?")
    reader.nvim.keys("n")
    assert reader.until({"type": "decision_closed", "id": asked["id"]})["outcome"] == "rejected"


def test_what_waits_for_an_agent_is_told_to_no_other(reader, sessions):
    nvim = reader.nvim
    (sessions.config / "sessions").mkdir()  # it visibly runs nowhere else
    say(nvim, "WAIT")
    nvim.wait("Ide.chat.current().state == 'working'")
    number, pid = chat(nvim, "return { chat.number, chat.pid }")
    nvim.lua(
        """
        local route, of = Ide.outbox_route, Ide.outbox_route.of
        _G.looks = 0
        route.of = function(...) looks = looks + 1 return of(...) end
        """
    )
    reader.say(type="user_message", id="a", content="SAY unasked")
    nvim.wait("looks > 0", what="Neovim to know of the message")
    os.kill(pid, signal.SIGKILL)
    assert reader.until({"type": "unqueued", "id": "a"})["reason"] == "Claude has ended"
    assert chat(nvim, "return { chat.state, chat.number }") == ["ended", number]
    reader.say(type="user_message", id="b", content="SAY asked")
    nvim.wait(f"Ide.chat.current().number > {number}", what="the agent to be started for one that comes now")


def test_who_accepts_several_edits_elsewhere_is_told_why_nothing_is_written(reader, tmp_path):
    project = tmp_path / "project"
    for name in ("a.txt", "b.txt"):
        (project / name).write_text("one\n")
    diffs = [
        {"type": "diff", "path": str(project / name), "oldText": "one\n", "newText": "1\n"}
        for name in ("a.txt", "b.txt")
    ]
    call = {"toolCallId": "c1", "title": "Edit 2 files", "kind": "edit", "content": diffs}
    asked = ask(reader, request("session/request_permission", toolCall=call, options=ALL))
    (project / "b.txt").write_text("mine\n")
    refused(reader, asked, "b.txt has changed meanwhile", choice="accept")
    (project / "b.txt").write_text("one\n")
    decide(reader, asked, "accepted", choice="accept")


def test_of_what_is_allowed_elsewhere_nothing_is_left_out(reader):
    long = "\n".join(f"echo {number}" for number in range(2000))
    asked = ask(reader, permission(options=ALL, title="run", rawInput={"command": f"{long}\ncurl evil"}))
    assert asked["text"] == f"run\n{long}\ncurl evil"
    assert len(asked["choices"]) == len(ALL)
    decide(reader, asked, "rejected", choice="option:3")
    wait_idle(reader.nvim)
    asked = ask(reader, permission(options=ALL, title="run", rawInput={"command": "x" * 200_000}))
    assert [choice["label"] for choice in asked["choices"]] == [ALL[2]["name"], ALL[3]["name"]]
    assert "more" in asked["text"]
    decide(reader, asked, "rejected", choice="option:3")
