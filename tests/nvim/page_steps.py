"""The page in a browser beside a site that plays one session to it (`harness.page_site`): opened, watched for errors,
and the frames that tests play.
"""

import itertools

import pytest

from harness.page_site import PageSite

QUICK = "const later = setTimeout; setTimeout = (work, time, ...more) => later(work, time / 100, ...more);"
"""Makes the page's pauses as short as a test wants."""

STEADY = """
clock = { real: 0, now: 0, stopped: false };
requestAnimationFrame = ((next) => (work) => next((real) => {
  if (!clock.stopped) clock.now += Math.min(real - clock.real, 500);
  clock.real = real;
  work(clock.now);
}))(requestAnimationFrame);
"""
"""The time of the page's frames: no frame lasts so long that its user counts as having seen nothing, and no time
passes while the test says so.
"""

SOCKETS = (
    "sockets = []; WebSocket = class extends WebSocket { constructor(...of) { super(...of); sockets.push(this); } };"
)
"""The sockets of the page, in order."""

DEFERRED = """
deferred = [];
setTimeout = ((later) => (work, time, ...of) => time >= 2000 ? deferred[deferred.push({ work }) - 1] : later(work, time, ...of))(setTimeout);
clearTimeout = ((clear) => (timer) => { deferred = deferred.filter((one) => one !== timer); clear(timer); })(clearTimeout);
end = (timers) => {
  const due = timers.filter((one) => deferred.includes(one));
  deferred = deferred.filter((one) => !due.includes(one));
  due.forEach((one) => one.work());
};
"""
"""Long pauses of the page wait for the test: `end(deferred)`."""


READY = "document.querySelector('.card:not(.over) .choice:not([disabled], [aria-disabled=true])') !== null"
"""A card takes an answer: it is in sight, and has not moved for a moment."""


def ready(browser):
    """Waits until the buttons of the last card are in sight and take an answer."""
    frames = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))"
    browser.js(f"cards.scrollTop = cards.scrollHeight, {frames}")  # the move shows in the next frame
    browser.wait(READY, "a card that takes an answer")


@pytest.fixture
def site():
    site = PageSite()
    yield site
    site.close()


@pytest.fixture
def page(browser, site):
    """Opens the session; an exception in the page, or a browser refusal, fails the test."""

    def page(*, write=False, quick=False, deferred=False):
        for script in [STEADY] + [QUICK] * quick + [DEFERRED] * deferred:
            browser.before_pages(script)
        browser.size(1200, 800)
        browser.open(f"{site.url}#/s/s")
        browser.wait("document.querySelectorAll('article').length > 0", "the conversation")
        if write:
            browser.js("document.querySelector('#write').click()")
            browser.wait("!composer.hidden && !prompt.readOnly", "the prompt")
        return browser

    site.append(said(0))
    yield page
    assert browser.errors == []


def said(number, text=None, role="user", **more):
    content = text if text is not None else f"prompt {number}"
    if role == "assistant":
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"type": role, "uuid": f"{role}-{number}", "message": {"role": role, "content": content, **more}}


def event(kind, **more):
    return {"type": "stream_event", "event": {"type": kind, **more}}


def begins(id, block, index=0):
    return [
        event("message_start", message={"id": id, "role": "assistant", "content": []}),
        event("content_block_start", index=index, content_block=block),
    ]


def delta(text, index=0, kind="text_delta", name="text"):
    return event("content_block_delta", index=index, delta={"type": kind, name: text})


def ends(index=0):
    return [event("content_block_stop", index=index), event("message_stop")]


def decision(id=7, kind="permission", title="Bash", **more):
    choices = [{"id": "allow", "label": "Allow"}, {"id": "deny", "label": "Deny", "message": True}]
    return {"type": "decision", "id": id, "kind": kind, "title": title, "choices": choices, **more}


def answers_as_a_session_does(site, typed, *, at_once=True):
    """Takes messages like the library: each id once, repeating its last state."""
    news, names = {}, itertools.count()

    def land(id):
        line = said(f"typed-{next(names)}", typed[id])
        news[id] = {"type": "ack", "id": id, "uuid": line["uuid"]}
        site.append(line)

    def answer(frame):
        if frame["type"] == "user_message" and frame["id"] not in typed:
            typed[frame["id"]] = frame["content"]
            news[frame["id"]] = {"type": "queued", "id": frame["id"], "position": 1, "content": frame["content"]}
            if at_once:
                land(frame["id"])
        elif frame["type"] == "cancel_message":
            news[frame["id"]] = {"type": "unqueued", "id": frame["id"], "reason": "cancelled"}
        return [news[frame["id"]]] if "id" in frame else []

    site.answers = answer
    site.standing = lambda: [one for one in news.values() if one["type"] == "queued"]
    return land
