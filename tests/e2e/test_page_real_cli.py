"""The page beside the real CLI: a turn is read as it happens, also what a subagent says, over `/clear` and the end by force."""

import os
import signal

import pytest

from harness.browser import PROGRAM, Browser
from harness.cli import QUESTION, call

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
