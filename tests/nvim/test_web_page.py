"""The page in a browser: a session as the user sees it, and what its text cannot do."""

import json
import subprocess
from pathlib import Path

import pytest
from page_steps import SOCKETS

pytestmark = [pytest.mark.one_nvim, pytest.mark.slow]

OPTS = {"web": {"port": 0}}
ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(start_nvim, browser):
    """Opens the page of a Neovim's sessions; an exception in it, or a browser refusal, fails the test."""

    def page(id=None):
        nvim = start_nvim(opts=OPTS)
        browser.size(1200, 800)
        browser.open(nvim.lua("return (Ide.web.url())"))
        browser.wait("document.querySelectorAll('#sessions a').length > 0", "the list")
        if id:
            browser.js(f"location.hash = '#/s/{id}'")
            browser.wait("document.querySelectorAll('article').length > 0", "the conversation")
        return nvim

    yield page
    assert browser.errors == []


def said(number, role="user", content=None, **more):
    content = content if content is not None else f"message {number}"
    return {"type": role, "uuid": f"u{number}", "message": {"role": role, "content": content}, **more}


def test_shows_the_sessions_and_one_as_a_conversation(page, browser, sessions, project):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls -la"}}
    answer = "**Done**, see `a.txt`:\n\n```sh\nls\n```"
    id = sessions.write(project, ("List it", [call], {"t1": "total 48"}), ("And?", answer), title="The list")
    page()
    assert "The list" in browser.text()
    assert "#code" not in browser.js("location.href"), "the code is out of the address"
    browser.js("document.querySelector('#sessions a').click()")
    browser.wait("document.querySelectorAll('article').length == 4", "four messages")
    assert browser.js("document.querySelector('#title').textContent") == "The list"
    assert browser.js("document.querySelector('article.claude strong').textContent") == "Done"
    assert browser.js("document.querySelector('article.claude pre code').textContent") == "ls"
    assert browser.js("document.querySelector('article.tool .mark').textContent") == "✓"
    assert "total 48" not in browser.text(), "calls are folded"
    browser.js("document.querySelector('article.tool summary').click()")
    browser.wait("document.body.innerText.includes('total 48')")
    assert id in browser.js("location.hash")


FILES = "performance.getEntriesByType('resource').filter((one) => /\\.(js|css)$/.test(one.name))"


def test_the_page_is_two_small_files_that_the_browser_keeps(page, browser, sessions, project):
    sessions.write(project, ("one", "two"), title="The list")
    page()
    sizes = browser.js(f"{FILES}.map((one) => [one.encodedBodySize, one.decodedBodySize])")
    assert len(sizes) == 2, "script and style sheet"
    assert sum(size for size, _ in sizes) * 2 < sum(whole for _, whole in sizes) < 400_000
    browser.reload()
    browser.wait(f"document.querySelectorAll('#sessions a').length > 0 && {FILES}.length == 2", "the list again")
    assert browser.js(f"{FILES}.map((one) => one.transferSize)") == [0, 0], "kept, and not asked for again"


def test_the_page_has_its_landmarks_at_each_width(page, browser, sessions, project):
    id = sessions.write(project, ("one", "two"), title="The list")
    page()
    mains = "[...document.querySelectorAll('main, [role=main]')].filter((one) => one.checkVisibility()).length"
    headings = "[...document.querySelectorAll('h1')].filter((one) => one.checkVisibility()).length"
    feed = "document.querySelectorAll('[role=feed]').length"
    for width in (1200, 400):
        browser.size(width, 800)
        browser.wait(f"matchMedia('(max-width: 48rem)').matches == {str(width < 700).lower()}")
        browser.js("location.hash = '#/'")
        browser.wait(f"{feed} == 0", "no feed without articles")
        browser.wait(f"{mains} == 1 && {headings} > 0", f"a main landmark and a heading beside the list, {width} wide")
        browser.js(f"location.hash = '#/s/{id}'")
        browser.wait(f"{feed} == 1 && {mains} == 1 && {headings} > 0", f"the same in a session, {width} wide")
    assert browser.js("document.querySelectorAll('span[aria-label]:not([role])').length") == 0


def test_a_tab_is_let_in_as_soon_as_another_is(page, browser, sessions, project):
    browser.network_may_fail = True  # the refusal
    sessions.write(project, ("one", "two"), title="The list")
    page()
    browser.js("key = localStorage.getItem('key'), localStorage.removeItem('key'), sessionStorage.clear()")
    browser.wait("login.open", "the page to say that it is not let in")
    # As another tab's exchange of a code does; a tab does not hear of its own.
    browser.js("""
      asked = [], fetch = ((fetch) => (...of) => (asked.push(of[0]), fetch(...of)))(fetch),
      localStorage.setItem("key", key), dispatchEvent(new StorageEvent("storage", { key: "key", newValue: key })), 0
    """)
    assert browser.js("asked.length") == 1, "it asks at once"
    browser.wait("!login.open")


def test_what_is_written_appears_by_itself(page, browser, sessions, project):
    id = sessions.write(project, *((f"prompt {n}", "answer\n" * 3) for n in range(100)))
    page(id)
    at_end = "scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 5"
    browser.wait(f"document.body.innerText.includes('prompt 99') && {at_end}", "the end")
    sessions.append(project, id, said(1))
    browser.wait(f"document.body.innerText.includes('message 1') && {at_end}", "what came")


def test_scrolling_up_brings_what_was_said_before(page, browser, sessions, project):
    id = sessions.write(project, *((f"prompt {n}.", f"answer {n}.") for n in range(300)))
    page(id)
    browser.wait("document.body.innerText.includes('answer 299.')")
    seen = browser.js(
        """new Promise(async (done) => {
          const seen = new Set();
          for (let turn = 0; turn < 400 && !seen.has('prompt 0.'); turn++) {
            scroller.scrollTop -= 600;
            // Two frames: in the first the page hears of it and draws, before the second all of that is in the document.
            await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
            for (const node of document.querySelectorAll('.said')) seen.add(node.innerText.trim());
          }
          done([...seen]);
        })"""
    )
    assert set(seen) >= {f"prompt {n}." for n in range(300)} | {f"answer {n}." for n in range(300)}
    assert browser.js("document.querySelectorAll('article').length") < 120, "only what is near is in the document"


ATTACKS = [
    "<script>window.hit = 1</script>",
    '<img src=x onerror="window.hit = 1">',
    "[press](javascript:window.hit=1) [or](data:text/html,<script>parent.hit=1</script>) [or](JaVaScRiPt:hit=1)",
    "<svg onload=window.hit=1> <iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "![p](https://evil.example/track.png) <javascript:window.hit=1>",
    "\x1b[31mred\x1b[0m \x1b]8;;javascript:window.hit=1\x07link\x1b]8;;\x07 access\u202elevel\u2066",
    "| a |\n| - |\n| <b onclick=window.hit=1>x</b> |\n\n```<script>\n</code></pre><script>window.hit=1</script>\n```",
]


def test_what_a_session_says_does_nothing(page, browser, sessions, project):
    id = sessions.write(project, ("start", "ok"), title="<img src=x onerror='window.hit=1'>")
    for number, attack in enumerate(ATTACKS):
        evil = {"media_type": 'image/png" onerror="window.hit=1', "type": "base64", "data": "AAAA"}
        called = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": attack,
            "input": {"command": attack, "file_path": attack, "old_string": attack},
        }
        sessions.append(
            project,
            id,
            said(number * 3 + 1, content=[{"type": "text", "text": attack}, {"type": "image", "source": evil}]),
            said(number * 3 + 2, "assistant", [{"type": "text", "text": attack}, called]),
            said(number * 3 + 3, content=[{"type": "tool_result", "tool_use_id": f"t{number}", "content": attack}]),
        )
    page(id)
    browser.wait("document.querySelectorAll('article.tool').length > 3")
    browser.js("scroller.scrollTop = 0")
    browser.js("document.querySelectorAll('summary').forEach((fold) => fold.click())")
    browser.js("document.querySelectorAll('article a').forEach((link) => link.click())")
    browser.js("new Promise((done) => setTimeout(done, 300))")
    assert browser.js("window.hit") is None
    made = browser.js("[...document.querySelectorAll('main script, main iframe, main svg, main b, main img')].length")
    assert made == 0, "text is text"
    links = browser.js("[...document.querySelectorAll('article a')].map((link) => link.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    seen = "document.body.innerText.includes('<script>window.hit = 1</script>')"
    browser.wait(f"scroller.scrollTop = 0, {seen}", "it to be seen as it is")  # new lines are inserted before it
    text = browser.text()
    assert not set(text) & set("\x1b\u202e\u2066")


def test_goes_on_by_itself_when_the_connection_drops(page, browser, sessions, project):
    browser.network_may_fail = True  # refused connections, as intended here
    id = sessions.write(project, ("start", "ok"))
    browser.before_pages(SOCKETS)
    nvim = page(id)
    port = nvim.lua("return Ide.web.info().port")
    seen = "[...document.querySelectorAll('article.user')].map((node) => node.innerText.split('\\n').pop())"
    browser.size(1200, 4000)  # all of it is in sight
    browser.wait("window.sockets?.length > 0", "a socket")
    for number in range(1, 21):
        sessions.append(project, id, said(number))
        browser.js("sockets.at(-1).close()")
        if number % 5 == 0:
            browser.wait(f"{seen}.length == {number + 1}", "what was said meanwhile")
    assert browser.js(seen) == ["start", *(f"message {number}" for number in range(1, 21))]
    assert browser.js("sockets.length") > 2
    nvim.cmd("Claude serve stop")
    browser.wait("!document.querySelector('#offline').hidden", "that it is offline")
    browser.wait("!away.hidden", "that the list says so")
    # The same port, and so the same page; its key is from the site that is gone.
    nvim.lua("Ide.config.get().web.port = ...", port)
    nvim.cmd("Claude serve")
    browser.wait("document.querySelector('#login').open", "that it is not let in any more")
    browser.wait("away.hidden", "that somebody answers")
    nvim.lua("url = Ide.web.url()")
    browser.open("about:blank")
    browser.open(nvim.lua("return url"))
    browser.wait("document.querySelectorAll('#sessions a').length > 0 && !document.querySelector('#login').open")
    key = browser.js("localStorage.getItem('key')")
    browser.js("localStorage.clear(), sessionStorage.clear()")
    browser.open("about:blank")
    browser.open(nvim.lua("return url"))
    browser.wait("document.querySelector('#login')?.open", "the address to be refused")
    assert browser.js("failed.textContent") == "This address was used already, or is older than ten minutes."
    browser.js(f"localStorage.setItem('key', '{key}')")  # like another tab that has signed in
    browser.wait("!document.querySelector('#login').open && document.querySelectorAll('#sessions a').length > 0")


def test_ten_thousand_messages_scroll_without_all_of_them_in_the_document(page, browser, sessions, project):
    id = sessions.write(project, ("start", "ok"))
    lines = (said(number, content=f"message {number}\n\n" + "word " * (number % 90)) for number in range(10_000))
    sessions.append(project, id, *lines)
    page(id)
    browser.wait("document.body.innerText.includes('message 9999')")
    took, most = browser.js(
        """new Promise(async (done) => {
          let [took, most] = [[], 0];
          const reach = () => Number(document.querySelector('article')?.getAttribute('aria-setsize'));
          while (reach() < 10001) {
            scroller.scrollTop = 0;
            const began = performance.now();
            await new Promise(requestAnimationFrame);
            took.push(performance.now() - began);
            await new Promise((next) => setTimeout(next, 5));
          }
          for (let at = 0; at < 100; at++) {
            scroller.scrollTop = (scroller.scrollHeight * at) / 100;
            await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
            most = Math.max(most, document.querySelectorAll('article').length);
          }
          done([took, most]);
        })"""
    )
    assert most < 200
    assert sorted(took)[-5] < 1000, "even on a slow machine, which may stand still a few times"
    browser.key("G")
    browser.wait("document.body.innerText.includes('message 9999')")


def test_on_a_phone_one_thing_is_shown_at_a_time(page, browser, sessions, project):
    id = sessions.write(project, ("start", "word " * 300 + "\n\n```\n" + "wide " * 100 + "\n```"))
    page()
    browser.size(390, 780, mobile=True)
    visible = "[side, main].map((node) => getComputedStyle(node).display != 'none')"
    browser.wait(f"{visible}.join() == 'true,false'")
    browser.js(f"location.hash = '#/s/{id}'")
    browser.wait(f"{visible}.join() == 'false,true' && document.querySelectorAll('article').length == 2")
    assert browser.js("document.documentElement.scrollWidth") <= 390
    browser.js("document.querySelector('#back').click()")
    browser.wait(f"{visible}.join() == 'true,false'")


def test_what_a_subagent_says_is_read_in_its_call(page, browser, sessions, project):
    called = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"description": "Look", "prompt": "Look at it"}}
    id = sessions.write(project, ("start", [called]))
    folder = sessions.folder(project) / id / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": "t1"}))
    mine = {"isSidechain": True, "agentId": "a1", "sessionId": id}

    def say(number, role, content):
        with (folder / "agent-a1.jsonl").open("a") as transcript:
            transcript.write(json.dumps(said(number, role, content, **mine)) + "\n")

    say(1, "user", "Look at it")
    inner = {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}
    say(2, "assistant", [{"type": "text", "text": "I **look**."}, inner])
    page(id)
    browser.js("document.querySelector('article.tool summary').click()")
    browser.wait("document.querySelector('.agent article.claude strong')?.textContent == 'look'")
    assert browser.text().count("Look at it") == 1, "what it was asked is shown once"
    assert browser.js("document.querySelectorAll('#items > article').length") == 2, "it is no message of the session"
    say(3, "user", [{"type": "tool_result", "tool_use_id": "t2", "content": "total 48"}])
    browser.wait("document.querySelector('.agent .mark')?.textContent == '✓'", "what comes while it is open")


NOTIFIED = """<task-notification>
<task-id>a1</task-id>
<tool-use-id>t1</tool-use-id>
<status>{}</status>
<result>I have looked. <status>failed</status></result>
</task-notification>"""


def test_a_subagent_in_the_background_is_under_way_until_its_end_is_reported(page, browser, sessions, project):
    called = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"description": "Look", "prompt": "Look at it"}}
    id = sessions.write(project, ("start", [called]))
    page(id)
    browser.js("document.querySelector('article.tool summary').click()")
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "Async agent launched successfully. (internal)"}]
    launched = {"isAsync": True, "status": "async_launched", "agentId": "a1"}
    sessions.append(project, id, said(1, "user", result, toolUseResult=launched))
    sessions.append(project, id, said(2, "assistant", "It is on its way."))
    browser.wait("document.body.innerText.includes('It is on its way.')")
    sign = "document.querySelector('article.tool .mark')"
    assert browser.js(f"{sign}.textContent + {sign}.title") == "…running"
    assert "internal" not in browser.js("document.querySelector('article.tool').textContent")
    ended = {"type": "queue-operation", "operation": "enqueue", "content": NOTIFIED.format("completed")}
    sessions.append(project, id, ended)
    browser.wait(f"{sign}.textContent + {sign}.title == '✓ok'", "its end")
    # It was woken, and ended once more.
    sessions.append(project, id, said(3, "user", NOTIFIED.format("killed")))
    browser.wait(f"{sign}.textContent + {sign}.title == '✗failed'", "its second end")
    browser.reload()
    browser.wait(f"{sign}?.textContent == '✗'", "the same where all of it is read")


TITLES = """
import { readFileSync } from "node:fs";
const [root] = process.argv.slice(-1);
const { aboutOf, nameOf } = await import(`${root}/web/calls.js`);
const { workIn } = await import(`${root}/web/place.js`);
workIn("/p");
const cases = JSON.parse(readFileSync(`${root}/crates/session/src/render/titles.json`));
const wrong = cases.filter(({ tool, name, about }) => nameOf(tool) !== name || aboutOf(tool) !== about);
console.log(JSON.stringify(wrong));
"""


def test_a_call_has_the_title_that_a_transcript_has():
    node = ["node", "--input-type=module", "-", ROOT]
    assert json.loads(subprocess.run(node, input=TITLES, capture_output=True, text=True, check=True).stdout) == []


def test_a_call_is_named_as_in_a_transcript(page, browser, sessions, project):
    inputs = {
        "Bash": {"command": "make", "description": "Build"},
        "Grep": {"pattern": "x", "path": "src"},
        "mcp__nvim__code_actions": {"path": "a.py", "line": 3},
        "Agent": {"description": "Look", "prompt": "Look at it"},
    }
    calls = [{"type": "tool_use", "id": name, "name": name, "input": input} for name, input in inputs.items()]
    id = sessions.write(project, ("start", calls, {"Bash": "ok"}))
    denied = said(9, "user", [{"type": "tool_result", "tool_use_id": "Grep", "content": "no", "is_error": True}])
    sessions.append(project, id, denied | {"toolDenialKind": "user-rejected"})
    page(id)
    heads = "[...document.querySelectorAll('article.tool summary')].map((node) => node.innerText.trim())"
    expected = ["✓ Bash make", "✗ Grep x in src", "… nvim: code_actions a.py", "… Agent Look"]
    browser.wait(f"{heads}.length == 4")
    assert [" ".join(head.split()) for head in browser.js(heads)] == expected
    titles = browser.js("[...document.querySelectorAll('article.tool .mark')].map((node) => node.title)")
    assert titles == ["ok", "rejected", "running", "running"]


def test_of_a_subagents_answer_its_own_words_are_shown(page, browser, sessions, project):
    called = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"description": "Look", "prompt": "Look at it"}}
    id = sessions.write(project, ("start", [called]))
    content = [{"type": "text", "text": words} for words in ("<tools-used>", "I have looked.", "the usage")]
    line = said(1, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "[hand-back] for the model"}])
    counts = {"harnessNoteCount": 1, "harnessTailCount": 1}
    line["toolUseResult"] = {"status": "completed", "agentId": "a1", "content": content, **counts}
    sessions.append(project, id, line)
    page(id)
    browser.js("document.querySelector('article.tool summary').click()")
    browser.wait("document.querySelector('article.tool').textContent.includes('I have looked.')")
    shown = browser.js("document.querySelector('article.tool').textContent")
    assert not any(words in shown for words in ("hand-back", "tools-used", "usage"))


def test_says_in_its_title_that_claude_waits(page, browser, sessions, project):
    id = sessions.write(project, ("start", "ok"), title="The parser")
    page(id)
    sessions.record(sessions.sleeper(), id, status="waiting", cwd=str(project), waitingFor="permission prompt")
    browser.wait("document.title.startsWith('(1) Waits: The parser')")
    assert browser.js("document.querySelector('#state').textContent") == "Waits for you"
