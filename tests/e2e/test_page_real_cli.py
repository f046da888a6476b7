"""The page beside the real CLI: a turn is read as it happens, also what a subagent says, over `/clear` and the end by force."""

import os
import signal

import pytest
from terminal_steps import begin

from harness.browser import PROGRAM, Browser
from harness.cli import QUESTION, call
from harness.mock_api import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim, pytest.mark.slow]

OPTS = {"web": {"port": 0}}


@pytest.fixture
def browser(tmp_path):
    assert PROGRAM.exists(), "scripts/setup.sh chromium"
    folder = tmp_path / "browser"
    folder.mkdir()
    browser = Browser(folder)
    yield browser
    browser.close()


def test_a_turn_is_read_as_it_happens_over_clear_and_the_end_by_force(start_nvim, cli, browser):
    nvim = start_nvim(opts=OPTS)
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim)
    claude.prompt("SAY Hello **there**")
    claude.wait_screen("Hello")
    browser.size(1200, 2000)
    browser.open(nvim.lua("return (require('claude-ide.web').url())"))
    browser.wait("document.querySelector('#sessions a') !== null", "the session in the list")
    browser.js("document.querySelector('#sessions a').click()")
    browser.wait("document.querySelector('article.claude strong')?.textContent == 'there'")
    first = browser.js("location.hash")
    browser.wait("document.querySelector('#state').textContent == 'Idle'")

    claude.prompt(call("Bash", command="touch made-by-claude") + " THEN SAY All is done")
    claude.wait_screen(QUESTION)
    browser.wait("document.title.startsWith('(1) Waits: ')", "that it waits")
    browser.wait("document.querySelector('article.tool .mark')?.textContent == '…'")
    claude.answer()
    browser.wait("document.querySelector('article.tool .mark')?.textContent == '✓'")
    browser.wait("document.body.innerText.includes('All is done')")

    agent = call("Agent", description="Look", prompt="SAY I have looked.", subagent_type="general-purpose")
    claude.prompt(agent)
    browser.wait("document.querySelectorAll('article.tool').length == 2", "the call of the subagent")
    browser.js("[...document.querySelectorAll('article.tool summary')].at(-1).click()")
    browser.wait("document.querySelector('.agent article.claude')?.innerText.includes('I have looked.')")

    claude.wait_ready()
    browser.wait("document.querySelector('#state').textContent == 'Idle'")
    claude.prompt("/clear")
    browser.wait(f"location.hash != '{first}' && location.hash.startsWith('#/s/')", "that the page goes along")
    claude.prompt("SAY After it")
    browser.wait("document.querySelector('article.claude')?.innerText.includes('After it')")
    assert "there" not in browser.js("document.querySelector('#items').innerText")

    os.kill(claude.pid, signal.SIGKILL)
    browser.wait("document.querySelector('#state').textContent == ''", "that it is gone")
    assert "After it" in browser.text(), "what was said stays"
    assert browser.errors == []


def test_a_message_from_the_page_reaches_the_cli_and_its_diff_is_accepted_there(start_with_claude, mock_api, browser):
    nvim = start_with_claude(opts={"web": {"port": 0, "write": True}})
    url = nvim.lua(
        "return (require('claude-ide.web').url())"
    )  # before the CLI: it tells what it shows to who serves it
    begin(nvim, mock_api)
    browser.size(1200, 1600)
    browser.open(url)
    browser.wait("document.querySelector('#sessions a') !== null", "the session in the list")
    browser.js("document.querySelector('#sessions a').click()")
    browser.wait("document.querySelector('article.claude')?.innerText.includes('Hello.')")
    browser.wait("document.querySelector('#state').textContent == 'Idle'")
    browser.js("document.querySelector('#write').click()")
    browser.wait("!composer.hidden && !prompt.readOnly", "that it may write")

    file = nvim.project / "a.txt"
    file.write_text("one\ntwo\n")
    change = ("Edit", {"file_path": str(file), "old_string": "two", "new_string": "TWO"})
    mock_api.script(Reply(calls=[("Read", {"file_path": str(file)})]), Reply(calls=[change]), Reply(text="It is done."))
    browser.key("i")
    browser.type("change it")
    browser.key("Enter")
    browser.wait("document.querySelector('.card .add')?.textContent == '+TWO'", "the diff")
    assert file.read_text() == "one\ntwo\n"
    # While it waits, another message is queued and taken back, and one stays in the queue.
    browser.type("never mind")
    browser.key("Enter")
    browser.wait("document.querySelector('#queue li.queued button') !== null")
    browser.js("document.querySelector('#queue button').click()")
    browser.wait("document.querySelector('#prompt').value == 'never mind' && queue.hidden")
    browser.js("document.querySelector('#prompt').value = ''")
    mock_api.script(Reply(text="And this."))
    browser.type("and then")
    browser.key("Enter")
    browser.wait("document.querySelector('#queue li.queued') !== null")
    browser.wait("!document.querySelector('.choice').disabled")
    nvim.wait("(require('claude-ide.diff').list()[1] or {}).seen ~= nil", what="the diff to be read")
    browser.js("document.querySelector('.choice').click()")
    nvim.wait(lambda: file.read_text() == "one\nTWO\n", what="the file")
    browser.wait("!document.querySelector('.card')", "that the card goes")
    browser.wait("document.body.innerText.includes('And this.')", "the answer to what was queued")
    browser.wait("queue.hidden && !document.querySelector('article.live')", "that nothing is on its way")
    said = "[...document.querySelectorAll('article.user .said')].map((one) => one.innerText.trim())"
    browser.wait(f"{said}.length >= 3", "what was queued to stand in the session")
    assert browser.js(said) == ["begin", "change it", "and then"], "each once"
    assert browser.errors == []
