"""Late events on the page: an answer after its question was left, a timer after its cause is over."""

import pytest
from page_steps import SOCKETS, begins, decision, delta, page, said, site  # noqa: F401

# ruff: noqa: F811 (fixtures)
pytestmark = pytest.mark.slow

FRAMES = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))"


@pytest.fixture
def watched(page, browser):
    """Opens the session in a page whose sockets and long pauses the test controls."""

    def open_page(**more):
        browser.before_pages(SOCKETS)
        page(deferred=True, **more)
        return browser

    return open_page


def test_what_was_before_the_clearing_is_not_put_before_what_is_after_it(page, site):
    site.append(*(said(number) for number in range(1, 150)))
    browser = page()
    browser.js("""
      late = [];
      fetch = ((fetch) => async (...of) => {
        const answer = await fetch(...of), text = await answer.text();
        if (String(of[0]).includes("/messages")) await new Promise((go) => late.push(go));
        return { ok: answer.ok, status: answer.status, json: async () => JSON.parse(text) };
      })(fetch);
      scroller.scrollTop = 0;
    """)
    browser.wait("late.length", "the page to ask for what was before")
    cleared = {"type": "session", "sessionId": "t", "previous": "s"}
    site.tell(cleared, {"type": "caught_up", "messages": 0}, said("first", "after it"))
    browser.wait("location.hash == '#/s/t' && document.body.innerText.includes('after it')", "the other session")
    browser.js(f"late.forEach((go) => go()), new Promise((next) => setTimeout(next)).then(() => {FRAMES})")
    assert browser.js("document.querySelectorAll('article').length") == 1


def test_what_is_being_said_stays_though_its_session_was_idle_a_while_ago(watched, site):
    browser = watched()
    browser.js("before = [...deferred]")
    site.tell(*begins("msg_1", {"type": "text", "text": ""}), delta("half a "))  # before the session counts as working
    browser.wait("document.body.innerText.includes('half a')")
    browser.js(f"end(before), {FRAMES}")
    site.tell(delta("sentence"))
    browser.wait("document.body.innerText.includes('half a sentence')", "it to go on")
    browser.js("before = [...deferred]")
    site.tell_state("working")
    site.tell_state("idle")
    browser.wait("deferred.some((one) => !before.includes(one))", "its end to be told")
    browser.js(f"end(before), {FRAMES}")
    assert "half a sentence" in browser.text(), "its line may still come"
    browser.js("end(deferred)")
    browser.wait("!document.body.innerText.includes('half a sentence')", "that it is gone")


def test_what_is_typed_into_a_card_stays_though_the_connection_drops_again_soon(watched, site):
    browser = watched(write=True)
    browser.network_may_fail = True
    site.standing = lambda: [decision()]
    site.tell(decision())
    browser.wait("document.querySelector('.card .words') !== null")
    browser.js("document.querySelector('.words').focus()")
    browser.type("not like that")
    browser.js("before = [...deferred], sockets.at(-1).close()")
    is_back = "sockets.length == {} && !document.querySelector('.choice').disabled"
    browser.wait(f"{is_back.format(2)} && deferred.some((one) => !before.includes(one))", "the page to come back")
    closed = "new Promise((next) => sockets.at(-1).addEventListener('close', next))"
    browser.js(f"sockets.at(-1).close(), {closed}.then(() => end(deferred))")
    browser.wait(is_back.format(3), "the page to come back again")
    assert browser.js("document.querySelector('.words').value") == "not like that"


NOT_THERE = """
looks = 0, late = [];
fetch = ((fetch) => async (...of) => {
  if (!String(of[0]).endsWith("/sessions/s")) return fetch(...of);
  looks++;
  return answer(fetch, ...of);
})(fetch);
none = () => new Response("{}", { status: 404 });
"""


def test_a_session_that_comes_while_the_page_asks_for_it_again_is_read(page, site, browser):
    browser.network_may_fail = True
    browser.before_pages(SOCKETS)
    page(quick=True)
    browser.js(NOT_THERE + "answer = (fetch, ...of) => looks == 1 ? none() : fetch(...of); sockets.at(-1).close();")
    browser.wait("looks > 1 && offline.hidden", "the page to be back")
    site.append(said(1, "and on"))
    browser.wait("document.body.innerText.includes('and on')")


BEATS = (
    "setInterval = ((often) => (work, time) => time == 10000 ? ((beat = work), 0) : often(work, time))(setInterval);"
)
"""The page asks whether its connection lives when the test says so: `beat()`."""


def test_a_connection_that_dies_in_silence_is_noticed(page, site, browser):
    browser.network_may_fail = True
    browser.before_pages(SOCKETS + BEATS)
    page(quick=True)
    browser.js("pongs = 0, sockets.at(-1).addEventListener('message', (event) => pongs += event.data.includes('pong'))")
    for count in range(1, 4):
        browser.js("beat()")
        browser.wait(f"pongs == {count}", "the answer")
    assert browser.js("sockets.length") == 1, "one that lives is kept"
    site.is_silent = True
    browser.js("beat()")
    browser.js("beat()")
    browser.wait("sockets.length > 1", "another connection")
    site.is_silent = False
    browser.wait("offline.hidden", "the page to be back")
    site.append(said(1, "and on"))
    browser.wait("document.body.innerText.includes('and on')")


def test_a_session_that_is_not_there_any_more_is_reported_to_nobody_who_left_it(page, browser):
    browser.network_may_fail = True
    browser.before_pages(SOCKETS)
    page(quick=True)
    wait = "new Promise((go) => late.push(() => go(none())))"
    browser.js(NOT_THERE + f"answer = () => looks == 1 ? none() : {wait}; sockets.at(-1).close();")
    browser.wait("late.length", "the page to look for it")
    browser.js("location.hash = '#/'")
    title = "document.querySelector('#title').textContent"
    browser.wait(f"{title} == 'Choose a session'")
    browser.js("late.forEach((go) => go()), new Promise((next) => setTimeout(next))")
    assert browser.js(title) == "Choose a session"


def test_a_session_that_is_not_there_is_not_called_offline(page, browser):
    browser.network_may_fail = True
    browser.before_pages(SOCKETS)
    page(quick=True)
    browser.js(NOT_THERE + "answer = none; sockets.at(-1).close();")
    browser.wait("document.querySelector('#title').textContent == 'Session not found'")
    assert browser.js("document.querySelector('#offline').hidden"), "nothing is tried again"


def test_who_goes_on_while_the_list_is_asked_for_comes_there_once(watched):
    browser = watched()
    browser.js("""
      late = [];
      fetch = ((fetch) => async (...of) => {
        if (String(of[0]).endsWith("/sessions")) await new Promise((go) => late.push(go));
        return fetch(...of);
      })(fetch);
      for (const name of ["#/", "#/s/s"]) location.hash = name;
    """)
    browser.wait("late.length > 1", "the list to be asked for on both ways")
    browser.js("late.forEach((go) => go())")
    browser.wait("sockets.length > 1", "the session to be read again")
    browser.js("fetch('/api/claude/sessions/s').then(() => new Promise((next) => setTimeout(next)))")
    assert browser.js("sockets.length") == 2


def test_what_is_drawn_anew_keeps_the_keyboard(page, site):
    browser = page(write=True)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    site.append(said(1, [call], "assistant"))
    browser.wait("document.querySelector('article.tool') !== null")
    for place in ("article.tool", "article.tool summary"):
        browser.js(f"(old = document.querySelector('{place}')).focus()")
        site.append(said(place, [{"type": "tool_result", "tool_use_id": "t1", "content": place}]))
        browser.wait("!old.isConnected", "it to be drawn anew")
        assert browser.js(f"document.querySelector('{place}') === document.activeElement"), "the keyboard is there"
    site.tell({"type": "queued", "id": "a", "position": 1, "content": "one"})
    browser.wait("document.querySelector('#queue button') !== null")
    browser.js("document.querySelector('#queue button').focus()")
    site.tell({"type": "queued", "id": "b", "position": 2, "content": "two"})
    browser.wait("document.querySelectorAll('#queue button').length == 2")
    assert browser.js("document.activeElement === document.querySelector('#queue button')")


def test_what_waits_and_has_no_card_is_said_to_wait_elsewhere(watched, site):
    browser = watched()
    said_of = "document.querySelector('main #state').textContent"
    site.tell_state("waiting", "permission prompt")
    browser.wait("document.querySelector('#sessions .state.waiting') !== null", "the list to say so at once")
    assert browser.js(said_of) == "Waits for you", "a card may yet come"
    browser.js("end(deferred)")
    browser.wait(f"{said_of} == 'Waits in its terminal'")
    site.tell(decision())
    browser.wait(f"{said_of} == 'Waits for you'", "the card to count")
    site.tell_state("working")
    site.tell({"type": "decision_closed", "id": 7, "outcome": "accepted"})
    browser.wait(f"{said_of} == 'Working'")
    site.tell_state("waiting", "permission prompt")
    browser.wait(f"{said_of} == 'Waits for you'", "a card of the next one is waited for again")


def test_an_address_that_means_nothing_ends_nothing(page, site, browser):
    browser.network_may_fail = True  # the session of that name is missing
    page()
    browser.js("location.hash = '#/s/%'")
    browser.wait("document.querySelector('#title').textContent == '%'", "it to be looked for")
    browser.js("location.hash = '#/s/s'")
    browser.wait("document.querySelector('#title').textContent == 'The session'")


def test_another_program_that_answers_at_the_port_breaks_nothing(watched, site):
    browser = watched()
    browser.js("""
      real = fetch;
      fetch = (url, ...of) => String(url).endsWith("/sessions") ? Promise.resolve(new Response("{}")) : real(url, ...of);
      location.hash = "#/";
    """)
    browser.wait("!document.querySelector('#away').hidden", "that it is said")
    assert browser.js("document.querySelectorAll('#sessions a').length") == 1, "what was listed stays"
    browser.js("fetch = real, location.hash = '#/s/s'")
    browser.wait("document.querySelector('#away').hidden")
