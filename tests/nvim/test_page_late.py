"""The page when something comes late: an answer after what it was asked for is left, a timer after what it was set for is over."""

import pytest
from page_steps import SOCKETS, begins, decision, delta, page, said, site  # noqa: F401

# ruff: noqa: F811 (fixtures)
pytestmark = pytest.mark.slow

FRAMES = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))"


@pytest.fixture
def watched(page, browser):
    """Opens the session in a page whose sockets and long pauses are in the hands of the test."""

    def open_page(**more):
        undo = browser.before_pages(SOCKETS)
        page(held=True, **more)
        undo()
        return browser

    return open_page


def test_what_is_typed_into_a_card_stays_though_the_connection_drops_again_soon(watched, site):
    browser = watched(write=True)
    site.standing = lambda: [decision()]
    site.tell(decision())
    browser.wait("document.querySelector('.card .words') !== null")
    browser.js("document.querySelector('.words').focus()")
    browser.type("not like that")
    browser.js("before = [...held], sockets.at(-1).close()")
    is_back = "sockets.length == {} && !document.querySelector('.choice').disabled"
    browser.wait(f"{is_back.format(2)} && held.some((one) => !before.includes(one))", "the page to come back")
    closed = "new Promise((next) => sockets.at(-1).addEventListener('close', next))"
    browser.js(f"sockets.at(-1).close(), {closed}.then(() => end(held))")
    browser.wait(is_back.format(3), "the page to come back again")
    assert browser.js("document.querySelector('.words').value") == "not like that"
    browser.errors.clear()


NOT_THERE = """
looks = 0, late = [];
fetch = ((fetch) => async (...of) => {
  if (!String(of[0]).endsWith("/sessions/s")) return fetch(...of);
  looks++;
  return answer(fetch, ...of);
})(fetch);
none = () => new Response("{}", { status: 404 });
"""
