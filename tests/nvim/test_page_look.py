"""The page for hands, eyes and screen readers: keys, names, colours, pictures, code."""

import pytest
from page_steps import decision, page, said, site  # noqa: F401

# ruff: noqa: F811 (fixtures)
pytestmark = pytest.mark.slow

HERE = "Number(document.activeElement.closest('article')?.getAttribute('aria-posinset') ?? 0)"
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_everything_is_reached_by_keys(page, site):
    browser = page(write=True)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    site.append(said(1, [call], "assistant"), *(said(number, "words " * 80) for number in range(2, 30)))
    browser.wait("document.querySelector('article')?.ariaSetSize == '30'", "all of it")
    browser.key("g")
    browser.wait(f"{HERE} == 1", "the first message")
    browser.key("j")
    browser.wait(f"{HERE} == 2", "the next one")
    browser.key("o")
    browser.wait("document.activeElement.closest('article').querySelector('details').open", "the fold to open")
    browser.key("k")
    browser.wait(f"{HERE} == 1", "the one before")
    at_end = "scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 5"
    # The page notices its own scrolling a frame later, and that relative to the frame before.
    browser.js("""
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "G", bubbles: true }));
      scroller.dispatchEvent(new Event("scroll"));
    """)
    browser.wait(at_end, "the newest")
    browser.key("g")
    browser.wait(f"{HERE} == 1", "the first message again")
    browser.key("G")
    browser.wait(at_end, "the newest again")
    browser.key("i")
    browser.wait("document.activeElement.id == 'prompt'")
    browser.type("j")
    browser.key("Escape")
    browser.wait("document.activeElement.id != 'prompt'")
    assert browser.js("document.querySelector('#prompt').value") == "j", "there a letter is a letter"
    site.tell(decision())
    browser.wait("document.querySelector('.card .choice') !== null")
    browser.key("d")
    browser.wait("document.activeElement.closest('.card') !== null", "what waits")
    browser.key("/")
    browser.wait("document.activeElement.id == 'filter'")
    browser.type("no such session")
    browser.wait("document.querySelectorAll('#sessions a').length == 0", "the list to be filtered")
    browser.js("filter.value = ''; filter.dispatchEvent(new Event('input')); filter.blur()")
    browser.key("Escape")
    browser.wait("location.hash == '#/'", "the list")


def test_everything_has_a_name(page, site):
    browser = page(write=True)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    site.append(said(1, "See:\n\n```sh\nls\n```", "assistant"), said(2, [call], "assistant"))
    site.tell(decision(files=[{"path": "a", "diff": "@@ -1 +1 @@\n-a\n+b"}]))
    site.tell({"type": "queued", "id": "other", "position": 1, "content": "later"})
    browser.wait('document.querySelector(".card .choice") !== null && document.querySelector("#queue li") !== null')
    browser.wait("document.querySelectorAll('article').length == 3")
    browser.command("Accessibility.enable")
    nodes = browser.command("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
    ]
    wanted = {
        "button",
        "link",
        "textbox",
        "searchbox",
        "switch",
        "article",
        "feed",
        "navigation",
        "list",
        "img",
        "group",
    }
    roles = {role for role, _ in named}
    assert {"button", "link", "textbox", "searchbox", "switch", "article", "feed", "navigation", "main"} <= roles
    unnamed = [role for role, name in named if role in wanted - {"list", "group"} and not name.strip()]
    assert unnamed == []
    assert ("feed", "Transcript") in named and ("navigation", "Sessions") in named
    assert [name for role, name in named if role == "article"][1].startswith("Claude: See:")
    assert browser.js("document.documentElement.lang") == "en"
    assert browser.js(
        "[...document.querySelectorAll('article')].every((one) => one.ariaPosInSet && one.ariaSetSize == '3')"
    )


def test_light_and_dark_are_both_readable(page, site):
    browser = page(write=True)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    site.append(said(1, "A [link](https://a.example) and `code`.", "assistant"), said(2, [call], "assistant"))
    site.tell(decision(files=[{"path": "a", "diff": "@@ -1 +1 @@\n-a\n+b"}]))
    site.tell_state("waiting", "permission")
    browser.wait('document.querySelector(".card .add") !== null && document.querySelector("article a") !== null')
    # Each text's contrast with its background (WCAG 2.2, 1.4.3), computed from the browser's values.
    contrast = """(() => {
      const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      const rgba = (text) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
      const light = (text) => { const [r, g, b] = [...rgba(text)].map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const behind = (node) => { for (; node; node = node.parentElement) { const back = getComputedStyle(node).backgroundColor; if (rgba(back)[3] == 255) return back; } return "white"; };
      const texts = [...document.querySelectorAll("article *, .card *, #state, #sessions *, .hint")].filter((one) => one.checkVisibility() && [...one.childNodes].some((child) => child.nodeType == 3 && child.data.trim()));
      return texts.map((one) => { const [a, b] = [light(getComputedStyle(one).color), light(behind(one))]; return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.className || one.tagName, one.innerText.slice(0, 20)]; });
    })()"""
    backs = []
    for scheme in ("light", "dark"):
        browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        backs.append(browser.js("getComputedStyle(document.body).backgroundColor"))
        found = browser.js(contrast)
        assert len(found) > 8
        assert [one for one in found if one[0] < 4.5] == [], scheme
    browser.command("Emulation.setEmulatedMedia", features=[])
    assert backs[0] != backs[1]


def test_code_is_copied_and_a_picture_is_shown(page, site):
    browser = page()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DOT}}
    site.append(said(1, [{"type": "text", "text": "This:"}, image]), said(2, "So:\n\n```sh\nls  -l\n```", "assistant"))
    browser.wait("document.querySelector('article img')?.naturalWidth == 1", "the picture")
    assert browser.js("document.querySelector('article img').alt") != ""
    browser.js("navigator.clipboard.writeText = async (text) => { copied = text; }")
    browser.wait("document.querySelector('.code .copy') !== null", "the code, which is another line")
    browser.js("document.querySelector('.code .copy').click()")
    browser.wait("document.querySelector('.code .copy').textContent == 'Copied'")
    assert browser.js("copied") == "ls  -l"


def test_a_prompt_is_shown_as_it_was_typed(page, site):
    browser = page()
    typed = "look at *.py and __init__.py\n    if a:\n        b  # not a heading\n\n1. one"
    site.append(said(1, typed))
    browser.wait("document.querySelectorAll('article.user').length == 2")
    assert browser.js("[...document.querySelectorAll('article.user .said')].at(-1).innerText") == typed
    assert browser.js("document.querySelectorAll('article.user :is(em, strong, li, h1)').length") == 0


def test_what_was_typed_is_shown_without_what_others_put_around_it(page, site):
    browser = page()
    opened = {"type": "text", "text": "<ide_opened_file>The user opened a.py</ide_opened_file>"}
    pasted = '<pasted_content id="7f40">\nlog line\n</pasted_content id="7f40">\nwhy?'
    site.append(said(1, [opened, {"type": "text", "text": "what is it?"}]), said(2, pasted))
    browser.wait("document.querySelectorAll('article.user').length == 3")
    shown = browser.js(
        "[...document.querySelectorAll('article.user .said')].slice(1).map((one) => one.innerText.trim())"
    )
    assert shown == ["what is it?", "log line\nwhy?"]


def test_commands_and_what_they_said_are_shown(page, site):
    browser = page()
    site.append(
        said(1, "<bash-input>ls</bash-input>"),
        said(2, "<bash-stdout>a.txt\nb.txt</bash-stdout><bash-stderr>oh</bash-stderr>"),
        said(3, "<command-name>/model</command-name>\n<command-args>opus</command-args>"),
        said(4, "<local-command-stdout>Set model to \x1b[1mopus\x1b[22m</local-command-stdout>"),
        {"type": "system", "subtype": "local_command", "uuid": "s", "content": "<local-command-stdout>Renamed"},
        said(5, "<bash-stdout></bash-stdout><bash-stderr></bash-stderr>"),
        said(6, "<bash-stdout>" + "line\n" * 40 + "</bash-stdout>"),
        said(7, "<task-notification><status>completed</status></task-notification>"),
    )
    browser.wait("document.querySelectorAll('article.output').length == 4")
    assert browser.js("[...document.querySelectorAll('article.user .said')].slice(1).map((one) => one.innerText)") == [
        "!ls",
        "/model opus",
    ]
    outputs = browser.js("[...document.querySelectorAll('article.output')].map((one) => one.innerText)")
    assert "a.txt\nb.txt\noh" in outputs[0] and "Set model to opus" in outputs[1] and "Renamed" in outputs[2]
    assert "line" not in outputs[3].replace("lines", ""), "a long one is folded"
    browser.js("[...document.querySelectorAll('article.output summary')].at(-1).click()")
    browser.wait("[...document.querySelectorAll('article.output')].at(-1).innerText.split('\\n').length > 40")


def shown(browser, site, number, text):
    """Claude's words as elements."""
    site.append(said(number, text, "assistant"))
    browser.wait(f"document.querySelectorAll('article.claude').length == {number}")
    return "[...document.querySelectorAll('article.claude')].at(-1).querySelector('.md')"


MARKDOWN = [
    ("a ***both*** b", "<p>a <strong><em>both</em></strong> b</p>"),
    ("*a **b** c*", "<p><em>a <strong>b</strong> c</em></p>"),
    ("one  \ntwo\\\nthree\nfour", "<p>one<br>two<br>three\nfour</p>"),
    ("- [x] done\n- [ ] to do", "<ul><li>☑ done</li><li>☐ to do</li></ul>"),
    ("see https://a.example/a_(b), or", "<p>see <a>https://a.example/a_(b)</a>, or</p>"),
    ("(https://a.example/b)", "<p>(<a>https://a.example/b</a>)</p>"),
    ('[it](https://a.example/a_(b) "t")', "<p><a>it</a></p>"),
    (
        "| a | b | c |\n| :- | :-: | -: |\n| 1 | 2 | 3 |",
        '<table><thead><tr><th>a</th><th class="center">b</th><th class="right">c</th></tr></thead>'
        '<tbody><tr><td>1</td><td class="center">2</td><td class="right">3</td></tr></tbody></table>',
    ),
    (
        "a | b\n--|--\n1 | `x\\|y`\n\nend",
        "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td><code>x|y</code></td></tr></tbody></table><p>end</p>",
    ),
    ("a | b, or not", "<p>a | b, or not</p>"),
]


def test_markdown_is_read_as_others_read_it(page, site):
    browser = page()
    clean = "replace(/ (href|rel|target|role|aria-label)=\"[^\"]*\"/g, '').replace(/<span>(☑ |☐ )<\\/span>/g, '$1')"
    for number, (text, html) in enumerate(MARKDOWN, 1):
        node = shown(browser, site, number, text)
        assert browser.js(f"{node}.innerHTML.{clean}") == html
        for link in browser.js(f"[...{node}.querySelectorAll('a')].map((one) => one.href)"):
            assert link in ("https://a.example/a_(b)", "https://a.example/b")


def test_code_has_colours(page, site):
    browser = page()
    code = '```py\n# a comment\ndef it(a):\n    return "x" + 1\n```\n\n```unknown\nif 1\n```\n\n```diff\n-a\n+b\n```'
    node = shown(browser, site, 1, code)
    parts = "[...{}.querySelectorAll('pre')[{}].querySelectorAll('span')].map((one) => one.className + ':' + one.textContent)"
    assert browser.js(parts.format(node, 0)) == [
        "comment:# a comment",
        "keyword:def",
        "call:it",
        "keyword:return",
        'string:"x"',
        "number:1",
    ]
    assert browser.js(parts.format(node, 1)) == []
    assert browser.js(parts.format(node, 2)) == ["del:-a", "add:+b"]
    assert browser.js(f"{node}.querySelector('pre').textContent").startswith("# a comment\ndef it(a):")


def test_a_list_that_is_asked_for_again_leaves_the_keyboard_where_it_is(page, site):
    browser = page()
    browser.js("document.querySelector('#sessions a').focus()")
    site.listed |= {"title": "Another name", "state": "working"}
    browser.js("document.querySelector('#sessions .name').textContent = ''")
    browser.js("dispatchEvent(new HashChangeEvent('hashchange'))")
    browser.wait("document.querySelector('#sessions .name').textContent == 'Another name'")
    assert browser.js("document.activeElement.closest('#sessions a') !== null")


def test_a_long_list_says_that_it_is_cut(page, site):
    browser = page()
    draw = "import('/list.js').then(({ drawList }) => drawList(list, many, %r, undefined))"
    browser.js("many = [...Array(2000)].map((_, at) => ({ id: `s${at}`, title: `T${at}.`, updated: -at }))")
    browser.js("list = document.createElement('ul')")
    browser.js(draw % "")
    assert browser.js("list.lastChild.textContent") == "1500 older ones: the filter finds them."
    browser.js(draw % "T1999.")
    assert browser.js("list.innerText").startswith("T1999.")
    assert browser.js("list.childElementCount") == 1, "nothing is left out now"


def test_the_filter_is_reached_where_no_session_is_open(page, site):
    browser = page()
    browser.js("location.hash = '#/'")
    browser.wait("document.querySelector('#title').textContent == 'Choose a session'")
    browser.js("document.activeElement.blur()")
    browser.key("/")
    browser.wait("document.activeElement.id == 'filter'")
    assert browser.js("filter.value") == ""


def test_when_something_was_said_is_shown(page, site):
    browser = page()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    then = {"timestamp": "2025-03-04T05:06:07.000Z"}
    site.append(said(1) | then, said(2, "yes", "assistant") | then, said(3, [call], "assistant") | then)
    browser.wait("document.querySelectorAll('article').length == 4")
    browser.wait(
        "document.querySelectorAll('article:is(.user, .claude) time[datetime=\"2025-03-04T05:06:07.000Z\"]').length == 2"
    )
    short = browser.js("document.querySelector('article.claude time').textContent")
    at = "new Date('2025-03-04T05:06:07Z').toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })"
    assert browser.js(at) in short and short != browser.js(at), "another day is named"
    assert "2025" in browser.js("document.querySelector('article.tool summary').title")


def test_paths_of_the_project_are_shown_from_its_folder(page, site):
    browser = page(write=True)
    for number, path in enumerate(("/p/src/a.py", "/pq/b.py", "/p/../etc/passwd")):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"file_path": path}}
        site.append(said(number + 1, [call], "assistant"))
    browser.wait("document.querySelectorAll('article.tool').length == 3")
    names = "[...document.querySelectorAll('article.tool .arg')].map((one) => one.textContent)"
    assert browser.js(names) == ["src/a.py", "/pq/b.py", "/p/../etc/passwd"]
    site.tell(
        decision(kind="diff", title="/p/src/a.py", files=[{"path": "/p/src/a.py", "diff": "@@ -1 +1 @@\n-a\n+b"}])
    )
    browser.wait("document.querySelector('.card header strong') !== null")
    assert browser.js("document.querySelector('.card header strong').textContent") == "src/a.py"


def test_a_long_result_is_shown_whole(page, site):
    browser = page()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    text = "line\n" * 60000 + "the end"
    site.append(said(1, [call], "assistant"), said(2, [{"type": "tool_result", "tool_use_id": "t1", "content": text}]))
    browser.wait("document.querySelector('article.tool .mark')?.textContent == '✓'")
    browser.js("document.querySelector('article.tool summary').click()")
    browser.wait("document.querySelectorAll('article.tool pre').length == 2")
    assert browser.js("[...document.querySelectorAll('article.tool pre')].at(-1).textContent.endsWith('the end')")
    site.append(said(3, "word " * 30000 + "the end", "assistant"))
    browser.wait("document.querySelector('article.claude .said')?.textContent.endsWith('the end')")


def test_all_of_a_session_is_looked_through(page, site):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "a Needle\n" * 3}]
    site.append(said(1, "the needle is here"), said(2, [call], "assistant"), said(3, result))
    site.append(*(said(number, "words " * 80) for number in range(10, 400)))
    site.append(said(500, "needle, the last"))
    browser = page()
    browser.js("document.activeElement.blur()")
    key = {"key": "f", "code": "KeyF", "windowsVirtualKeyCode": 70, "modifiers": 2}
    browser.command("Input.dispatchKeyEvent", type="rawKeyDown", **key)
    browser.wait("document.activeElement.id == 'find-words'")
    browser.type("needle")
    count = "document.querySelector('#find-count').textContent"
    browser.wait(f"{count} == '3 of 3'", "all of it to be looked through, from where one reads")
    browser.key("Enter")
    browser.wait(f"{count} == '1 of 3'")
    in_sight = """(() => { const [range] = CSS.highlights.get("found") ?? []; const box = range?.getBoundingClientRect();
      const view = scroller.getBoundingClientRect();
      return !!box && box.top >= view.top && box.bottom <= view.bottom && range.toString().toLowerCase() == "needle"
        && range.startContainer.parentElement.closest("article").className; })()"""
    assert browser.wait(in_sight, "the first one") == "user"
    browser.key("Enter")
    browser.wait(f"{count} == '2 of 3' && {in_sight} == 'tool'", "what is in a fold, which opens")
    assert browser.js("document.activeElement.id") == "find-words"
    browser.key("Escape")
    browser.wait(
        "document.querySelector('#find').hidden && document.activeElement.closest('article.tool') !== null",
        "the keyboard at what was found",
    )
    assert browser.js("location.hash") == "#/s/s"
