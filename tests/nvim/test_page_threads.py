"""Threads of comments on the page: what was said, as plain text, and replies."""

import pytest
from page_steps import page, said, site  # noqa: F401

# ruff: noqa: F811 (fixtures)
pytestmark = pytest.mark.slow

THREAD = "document.querySelector('.thread')"
FIELD = f"{THREAD}.querySelector('.words')"


def thread(id=1, *words, **more):
    """A thread on which the user and Claude spoke in turn."""
    entries = [{"by": ("user", "claude")[at % 2], "words": one} for at, one in enumerate(words)]
    state = "answered" if len(entries) % 2 == 0 else "sent"
    named = {"id": id, "name": f"/p\n{id}", "place": f"a.py:{id}", "lines": ["one = 1"], "earlier": 0, "waits": False}
    return {**named, "state": state, "entries": entries, "draft": None, **more}


def tell(site, *threads):
    frame = {"type": "threads", "sessionId": "s", "threads": list(threads)}
    site.standing = lambda: [frame]
    site.tell(frame)


def click(browser, label):
    browser.js(f"[...{THREAD}.querySelectorAll('button')].find((one) => one.textContent == '{label}').click()")


BUTTONS = (
    f"[...{THREAD}.querySelectorAll('button')].filter((one) => one.checkVisibility() && !one.disabled)"
    ".map((one) => one.textContent).join()"
)
"""Those that can be pressed."""


def test_threads_are_shown_as_plain_text_and_an_answer_appears_by_itself(page, site):
    browser = page()
    tell(site, thread(1, "Why?\u202e **not** <b>this</b> https://a.example"), thread(2, "Again", "Done", state="done"))
    browser.wait("!threads.hidden")
    assert browser.js("threads.innerText.trim()") == "Comments 1 no answer yet · 1 done (Claude)"
    tell(site, thread(9, place="other", state="draft", draft="Not yet"))
    site.tell({"type": "threads", "sessionId": "another", "threads": []})
    site.append(said(1))
    browser.wait("document.querySelectorAll('article').length == 2", "what was sent later")
    assert browser.js(f"{THREAD}.ariaLabel") == "other: Not sent", "the threads of this session alone"
    tell(site, thread(3, state="answered", entries=[{"by": "claude", "words": "Look here"}]))
    browser.wait(f"{THREAD}.ariaLabel == 'a.py:3: Remark'", "what Claude alone said")
    browser.js("document.activeElement.blur()")
    browser.key("c")
    browser.wait("document.activeElement.closest('#threads summary') !== null && threads.querySelector('details').open")
    tell(site, thread(1, "Why?\u202e **not** <b>this</b> https://a.example"))
    browser.wait(f"{THREAD}.ariaLabel == 'a.py:1: No answer yet'")
    shown = browser.js(f"{THREAD}.innerText")
    assert "Why?U+202E **not** <b>this</b> https://a.example" in shown and "one = 1" in shown
    assert browser.js(f"{THREAD}.querySelectorAll('a, b, strong').length") == 0
    assert browser.js(BUTTONS) == "" and not browser.js(f"{FIELD}.checkVisibility()"), (
        "nothing is written without the switch"
    )
    tell(site, thread(1, "Why?", "Because of <i>it</i>."))
    browser.wait(f"{THREAD}.innerText.includes('Because of <i>it</i>.')", "the answer")
    assert browser.js("said.textContent") == "Claude answered on a.py:1: Because of <i>it</i>."


def test_a_reply_stays_until_neovim_has_it(page, site):
    browser = page(write=True)
    tell(site, thread(1, "Why?", "Because."))
    browser.wait("!threads.hidden")
    browser.js("threads.querySelector('summary').click()")
    browser.wait(f"{FIELD}.checkVisibility()")
    assert browser.js(BUTTONS) == "Resolve"
    browser.js(f"{FIELD}.focus()")
    browser.type("Then say so")
    tell(site, thread(0, "Above"), thread(1, "Why?", "Because of that."))
    browser.wait("document.querySelectorAll('.thread').length == 2", "another thread")
    assert browser.js("document.activeElement.value") == "Then say so", "the user goes on typing"
    tell(site, thread(1, "Why?", "Because of that."))
    browser.wait("document.querySelectorAll('.thread').length == 1")
    error = {"type": "error", "error": "Failed to change the thread", "reason": "it runs in another terminal"}
    site.answers = lambda frame: [{**error, "id": frame["id"]}]
    click(browser, "Reply")
    browser.wait(f"{THREAD}.innerText.includes('it runs in another terminal')", "why it is not sent")
    assert browser.js(f"{FIELD}.value") == "Then say so"
    site.answers = lambda frame: [{"type": "commented", "id": frame["id"]}]
    click(browser, "Reply")
    browser.wait(f"{FIELD}.value == ''", "Neovim to have it")
    replies = [{**frame, "id": ""} for frame in site.received]
    reply = {"type": "comment", "id": "", "thread": "/p\n1", "act": "reply", "words": "Then say so"}
    assert replies == [reply, reply]
    tell(site, thread(1, "Why?", "Because.", state="draft", draft="Then say so", waits=True))
    browser.wait(f"{THREAD}.ariaLabel == 'a.py:1: Waits for Claude'")
    assert browser.js(BUTTONS) == ""
    tell(site, thread(1, "Why?", "Because.", state="draft", draft="Then say so", problem="Claude has ended"))
    browser.wait(f"{THREAD}.innerText.includes('Not sent: Claude has ended')")
    assert browser.js(BUTTONS) == "Send"
    click(browser, "Send")
    tell(site, thread(1, "Why?", "Because."))
    browser.wait(f"{BUTTONS} == 'Resolve'", "it to be sent, and Neovim to have said so")
    click(browser, "Resolve")
    site.wait(lambda: len(site.received) == 4, "both")
    assert [frame["act"] for frame in site.received[2:]] == ["send", "resolve"]
    browser.wait(f"!{FIELD}.readOnly", "Neovim to have done it")
    browser.js(f"{FIELD}.focus()")
    browser.type("half a thought")
    tell(site)
    browser.wait(
        "threads.hidden && document.querySelector('#prompt').value == 'half a thought'", "the words to be kept"
    )
