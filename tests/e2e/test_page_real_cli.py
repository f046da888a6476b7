"""The page beside the real CLI: a turn is shown live, including a subagent, `/clear` and a killed CLI."""

import os
import signal

import pytest
from terminal_steps import IDLE, begin

from harness.browser import PROGRAM, Browser
from harness.cli import QUESTION, answering, submitting
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim, pytest.mark.slow]


@pytest.fixture
def browser(tmp_path):
    assert PROGRAM.exists(), "scripts/setup.sh chromium"
    folder = tmp_path / "browser"
    folder.mkdir()
    browser = Browser(folder)
    yield browser
    browser.close()


def ask(nvim, mock_api, text, *replies):
    """Types a prompt into Neovim's terminal; the model answers with `replies`."""
    mock_api.script(*replies)
    nvim.keys(text)
    nvim.wait_screen(text)
    nvim.wait(submitting(mock_api, lambda: nvim.keys("<CR>")), what="the model to be asked")


def press(browser, choices, words=""):
    """Presses the first choice with these words once it takes an answer, at the same moment: a page that is not drawn for a
    while takes none.
    """
    taking = f"[...document.querySelectorAll('{choices}:not([disabled], [aria-disabled=true])')]"
    one = f"{taking}.find((one) => one.innerText.includes('{words}'))"
    browser.wait(f"((one) => one && (one.click(), true))({one})", "a card that takes an answer")


def test_turns_are_read_as_they_happen_and_written_from_the_page_over_clear_to_the_end_by_force(
    start_with_claude, mock_api, browser
):
    # Without background tasks: a background subagent begins a turn when it ends, beside the prompt typed next.
    nvim = start_with_claude(
        opts={"web": {"port": 0, "write": True}}, env={"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    )
    # Before the CLI starts, so that its hooks report to the server.
    url = nvim.lua("return (Ide.web.url())")
    begin(nvim, mock_api)
    pid = nvim.lua("return Ide.terminal.session().pid")
    browser.size(1200, 2000)
    browser.open(url)
    browser.wait("document.querySelector('#sessions a') !== null", "the session in the list")
    browser.js("document.querySelector('#sessions a').click()")
    browser.wait("document.querySelector('article.claude')?.innerText.includes('Hello.')")
    first = browser.js("location.hash")
    browser.wait("document.querySelector('#state').textContent == 'Idle'")
    ask(nvim, mock_api, "and now", Reply("Hello **there**"))
    browser.wait("[...document.querySelectorAll('article.claude strong')].at(-1)?.textContent == 'there'")
    browser.wait("document.querySelector('#state').textContent == 'Idle'")

    # A permission question of the terminal.
    touch = Reply(calls=[("Bash", {"command": "touch made-by-claude"})])
    ask(nvim, mock_api, "make it", touch, Reply("All is done"))
    nvim.wait_screen(QUESTION)
    browser.wait("document.title.startsWith('(1) Waits: ')", "that it waits")
    browser.wait("document.querySelector('article.tool .mark')?.textContent == '…'")
    nvim.wait(answering(lambda: "\n".join(nvim.screen()), lambda: nvim.keys("1")), what="the CLI to take the answer")
    browser.wait("document.querySelector('article.tool .mark')?.textContent == '✓'")
    browser.wait("document.body.innerText.includes('All is done')")

    # A subagent's message.
    agent = {"description": "Look", "prompt": "SAY I have looked.", "subagent_type": "general-purpose"}
    nvim.wait(IDLE)
    ask(nvim, mock_api, "look at it", Reply(calls=[("Agent", agent)]))
    browser.wait("document.querySelectorAll('article.tool').length == 2", "the call of the subagent")
    browser.js("[...document.querySelectorAll('article.tool summary')].at(-1).click()")
    browser.wait("document.querySelector('.agent article.claude')?.innerText.includes('I have looked.')")
    nvim.wait(IDLE)
    browser.wait("document.querySelector('#state').textContent == 'Idle'")

    # A message from the page reaches the CLI, and the page accepts its diff.
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
    # While the CLI waits, another message is queued and taken back, and one stays queued.
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
    nvim.wait("(Ide.proposal.list()[1] or {}).against ~= nil", what="the diff to be read")
    press(browser, ".choice")
    nvim.wait(lambda: file.read_text() == "one\nTWO\n", what="the file")
    browser.wait("!document.querySelector('.card')", "that the card goes")
    browser.wait("document.body.innerText.includes('And this.')", "the answer to what was queued")
    browser.wait("queue.hidden && !document.querySelector('article.live')", "that nothing is on its way")
    users = "[...document.querySelectorAll('article.user .said')].filter((one) => !one.closest('.agent'))"
    said = f"{users}.map((one) => one.innerText.trim())"
    browser.wait(f"{said}.length >= 6", "what was queued to stand in the session")
    assert browser.js(said) == ["begin", "and now", "make it", "look at it", "change it", "and then"], "each once"

    # The page follows `/clear`, and keeps the conversation when the CLI is killed.
    nvim.wait(IDLE)
    nvim.keys("/clear")
    nvim.wait_screen("/clear")
    nvim.keys("<CR>")
    browser.wait(f"location.hash != '{first}' && location.hash.startsWith('#/s/')", "that the page goes along")
    ask(nvim, mock_api, "go on", Reply("After it"))
    browser.wait("document.querySelector('article.claude')?.innerText.includes('After it')")
    assert "there" not in browser.js("document.querySelector('#items').innerText")
    # The page shows text before the file has it, and removes it if it is never written.
    transcripts = nvim.home / ".claude" / "projects"  # other files of the home come and go
    written = lambda: any("After it" in path.read_text() for path in transcripts.rglob("*.jsonl"))  # noqa: E731
    nvim.wait(written, what="the line")
    os.kill(pid, signal.SIGKILL)
    browser.wait("document.querySelector('#state').textContent == ''", "that it is gone")
    browser.wait("document.querySelector('article.claude')?.innerText.includes('After it')", "that what was said stays")
    assert browser.errors == []


def test_a_rule_is_allowed_and_claude_is_stopped_from_the_page(start_with_claude, mock_api, browser):
    nvim = start_with_claude(opts={"web": {"port": 0, "write": True}})
    url = nvim.lua("return (Ide.web.url())")
    begin(nvim, mock_api)
    browser.size(1200, 2000)
    browser.open(url)
    browser.wait("document.querySelector('#sessions a') !== null", "the session in the list")
    browser.js("document.querySelector('#sessions a').click()")
    browser.wait("document.querySelector('article.claude')?.innerText.includes('Hello.')")
    browser.js("document.querySelector('#write').click()")
    browser.wait("!composer.hidden && !prompt.readOnly", "that it may write")
    browser.wait("document.querySelector('#state').textContent == 'Idle'")
    mkdir = [("Bash", {"command": "mkdir one"})]
    ask(nvim, mock_api, "make it", Reply(calls=mkdir), Reply("It is made"))
    press(browser, ".card:not(.over) .choice", "mode acceptEdits")
    nvim.wait(lambda: (nvim.project / "one").is_dir(), what="what was allowed")
    browser.wait("document.body.innerText.includes('It is made')")
    nvim.wait(IDLE)
    browser.wait("document.querySelector('#state').textContent == 'Idle'")

    mkdir = [("Bash", {"command": "mkdir two"})]
    ask(nvim, mock_api, "and another", Reply(calls=mkdir), Reply("That too"))
    browser.wait("document.body.innerText.includes('That too')", "what is asked no more")
    assert (nvim.project / "two").is_dir()
    nvim.wait(IDLE)
    browser.wait("document.querySelector('#state').textContent == 'Idle'")

    wait = [("Bash", {"command": "tail -f /dev/null", "description": "Wait"})]
    ask(nvim, mock_api, "now wait", Reply(calls=wait))
    press(browser, ".card:not(.over) .choice")
    browser.wait("!document.querySelector('#stop').hidden", "that Claude works")
    browser.wait("!document.querySelector('.card')", "that it is answered")
    browser.js("document.querySelector('#stop').click()")
    browser.wait("document.querySelector('#state').textContent == 'Idle'", "that Claude is stopped")
    browser.wait("document.querySelector('#items').innerText.includes('Interrupted')")
    assert browser.errors == []
