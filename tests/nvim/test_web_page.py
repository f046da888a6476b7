"""The page in a browser: what a person sees of a session, and what a session's text cannot do."""

import json

import pytest

from harness.browser import PROGRAM, Browser

pytestmark = [pytest.mark.one_nvim, pytest.mark.slow]

OPTS = {"web": {"port": 0}}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    assert PROGRAM.exists(), "scripts/setup.sh chromium"
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def page(start_nvim, browser):
    """Opens the page of a Neovim's sessions; what it threw, or the browser refused, fails the test."""

    def page(id=None):
        nvim = start_nvim(opts=OPTS)
        browser.size(1200, 800)
        browser.errors.clear()
        browser.open(nvim.lua("return (require('claude-ide.web').url())"))
        browser.wait("document.querySelectorAll('#sessions a').length > 0", "the list")
        if id:
            browser.js(f"location.hash = '#/s/{id}'")
            browser.wait("document.querySelectorAll('article').length > 0", "the conversation")
        return nvim

    yield page
    assert browser.errors == []


def append(sessions, project, id, *lines):
    with (sessions.folder(project) / f"{id}.jsonl").open("a") as transcript:
        transcript.writelines(json.dumps(line) + "\n" for line in lines)


def said(number, role="user", content=None, **more):
    content = content if content is not None else f"message {number}"
    return {"type": role, "uuid": f"u{number}", "message": {"role": role, "content": content}, **more}


def test_shows_the_sessions_and_one_as_a_conversation(page, browser, sessions, project):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -la"}}
    answer = "Done, see `a.txt`:\n\n```sh\nls\n```"
    id = sessions.write(project, ("List **it**", [call], {"t1": "total 48"}), ("And?", answer), title="The list")
    page()
    assert "The list" in browser.text()
    assert "#code" not in browser.js("location.href"), "the code is out of the address"
    browser.js("document.querySelector('#sessions a').click()")
    browser.wait("document.querySelectorAll('article').length == 4", "four messages")
    assert browser.js("document.querySelector('#title').textContent") == "The list"
    assert browser.js("document.querySelector('article.user strong').textContent") == "it"
    assert browser.js("document.querySelector('article.claude pre code').textContent") == "ls"
    assert browser.js("document.querySelector('article.tool .mark').textContent") == "✓"
    assert "total 48" not in browser.text(), "calls are folded"
    browser.js("document.querySelector('article.tool summary').click()")
    browser.wait("document.body.innerText.includes('total 48')")
    assert id in browser.js("location.hash")


def test_what_is_written_appears_by_itself_and_what_is_read_stays_in_place(page, browser, sessions, project):
    id = sessions.write(project, *((f"prompt {n}", "answer\n" * 3) for n in range(100)))
    page(id)
    at_end = "scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 5"
    browser.wait(f"document.body.innerText.includes('prompt 99') && {at_end}", "the end")
    append(sessions, project, id, said(1))
    browser.wait(f"document.body.innerText.includes('message 1') && {at_end}", "what came")
    browser.js("scroller.scrollTop -= 2000")
    browser.wait("!newest.hidden")
    first = "[...document.querySelectorAll('article')].find(a => a.getBoundingClientRect().bottom > 60)"
    where = f"{first}.innerText + Math.round({first}.getBoundingClientRect().top)"
    place = browser.js(where)
    append(sessions, project, id, said(2))
    browser.js("new Promise(done => setTimeout(done, 300))")
    assert browser.js(where) == place
    browser.js("newest.click()")
    browser.wait("document.body.innerText.includes('message 2')")


def test_scrolling_up_brings_what_was_said_before(page, browser, sessions, project):
    id = sessions.write(project, *((f"prompt {n}.", f"answer {n}.") for n in range(300)))
    page(id)
    browser.wait("document.body.innerText.includes('answer 299.')")
    seen = browser.js(
        """new Promise(async (done) => {
          const seen = new Set();
          for (let turn = 0; turn < 400 && !seen.has('prompt 0.'); turn++) {
            scroller.scrollTop -= 600;
            await new Promise((next) => setTimeout(next, 15));
            for (const node of document.querySelectorAll('.said')) seen.add(node.innerText.trim());
          }
          done([...seen]);
        })"""
    )
    assert set(seen) >= {f"prompt {n}." for n in range(300)} | {f"answer {n}." for n in range(300)}
    assert browser.js("document.querySelectorAll('article').length") < 120, "only what is near is in the document"
