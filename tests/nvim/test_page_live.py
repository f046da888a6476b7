"""The page during a live session: text, questions and answers, played by a site of the test."""

import json

import pytest
from page_steps import (
    SOCKETS,
    answers_as_a_session_does,
    begins,
    decision,
    delta,
    ends,
    event,
    page,  # noqa: F401
    ready,
    said,
    site,  # noqa: F401
)

# ruff: noqa: F811 (fixtures)
pytestmark = pytest.mark.slow

ATTACKS = [
    "<script>window.hit = 1</script>",
    '<img src=x onerror="window.hit = 1">',
    "[press](javascript:window.hit=1) <svg onload=window.hit=1></svg>",
    "\x1b[31mred\x1b[0m \x1b]8;;javascript:window.hit=1\x07link\x1b]8;;\x07 access\u202elevel\u2066",
    "```\n</code></pre><iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
]


def test_words_are_drawn_as_they_come_and_their_line_takes_their_place(page, site):
    browser = page()
    site.tell(*begins("msg_1", {"type": "text", "text": ""}), delta("First **paragraph**.\n\nThe second "))
    browser.wait("document.querySelector('article.live')?.innerText.includes('The second')")
    # An element present once must stay in every frame, as the same element.
    browser.js("""
      missing = 0;
      first = document.querySelector('article.live p');
      (function look() {
        if (!document.querySelector('#items').innerText.includes('First paragraph.')) missing++;
        requestAnimationFrame(look);
      })()
    """)
    for word in ("one", "grows", "word", "by", "word"):
        site.tell(delta(f"{word} "))
    browser.wait("document.querySelector('article.live').innerText.includes('word by word')")
    assert browser.js("first.isConnected && first.querySelector('strong') !== null"), "it was not drawn anew"
    text = "First **paragraph**.\n\nThe second one grows word by word "
    site.tell(*ends())
    site.append(said(1, text, "assistant", id="msg_1"))
    browser.wait("!document.querySelector('article.live') && document.querySelectorAll('article.claude').length == 1")
    browser.js("new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))")
    assert browser.js("missing") == 0
    assert browser.js("document.querySelectorAll('article').length") == 2


def test_what_its_line_told_before_is_not_said_again(page, site):
    browser = page()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    site.append(said(1, "Said.\n\nAnd more", "assistant", id="msg_1"), said(2, [call], "assistant", id="msg_1"))
    # From a CLI's hook, whose ids differ, and from a chat.
    site.tell(*begins("2d0af1e2", {"type": "text", "text": ""}), delta("Said.\n\n"), delta("And more"), *ends())
    site.tell(*begins("msg_1", {**call, "input": {}}), *ends())
    site.tell(*begins("2d0af1e3", {"type": "text", "text": ""}), delta("Said. Or"))
    browser.wait("document.body.innerText.includes('Said. Or')", "what is another message")
    received = "[...document.querySelectorAll('article:not(.user)')].map((one) => one.className.split(' ')[0])"
    assert browser.js(received) == ["claude", "tool", "claude"], "each once"
    site.append(said(3, "Said. Or not", "assistant", id="msg_2"))
    browser.wait("document.body.innerText.includes('Said. Or not')", "its line")
    assert browser.js(received) == ["claude", "tool", "claude"]


def test_thinking_a_call_and_words_are_each_replaced_once(page, site):
    browser = page()
    site.tell(*begins("msg_1", {"type": "thinking", "thinking": ""}), delta("hm", 0, "thinking_delta", "thinking"))
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    site.tell(event("content_block_start", index=1, content_block=call))
    site.tell(delta('{"command": "ls -l', 1, "input_json_delta", "partial_json"))
    browser.wait("document.querySelector('article.tool.live')?.innerText.includes('ls -l')")
    # The line with the thinking alone; then the call, without repetition.
    site.append(said(1, [{"type": "thinking", "thinking": "hm, yes"}], "assistant", id="msg_1"))
    site.append(said(2, [{**call, "input": {"command": "ls -la"}}], "assistant", id="msg_1"))
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "total 48"}]
    site.append(said(3, result))
    browser.wait("document.querySelector('article.tool .mark')?.textContent == '✓'")
    kinds = "[...document.querySelectorAll('article')].map((one) => one.className).join()"
    assert browser.js(kinds) == "user,thinking,tool"
    assert "ls -la" in browser.text()


def test_the_calls_of_a_script_stand_below_it(page, site):
    browser = page()

    def call(number, name, parent, **arguments):
        block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
        more = {"parentUuid": parent, "isVirtual": True} if parent else {}
        return said(f"call-{number}", [block], "assistant", id=f"msg_{number}") | more

    def result(number, words):
        block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": words}
        return said(f"result-{number}", [block]) | {"isVirtual": number > 1}

    repl = call(1, "REPL", None, code="await edit('a.txt', 'two', 'TWO')")
    site.append(repl, result(1, "done"))
    edit = call(2, "Edit", result(1, "")["uuid"], file_path="/p/a.txt", old_string="two", new_string="TWO")
    site.append(edit, result(2, "ok"), call(3, "Bash", result(2, "")["uuid"], command="make"))
    shown = (
        "[...document.querySelectorAll('article.tool')].map((one) => one.querySelector('strong').textContent).join()"
    )
    browser.wait(f"{shown} == 'REPL,Edit,Bash'", "the three calls")
    marks = (
        "[...document.querySelectorAll('article.tool > .nested article .mark')].map((one) => one.textContent).join()"
    )
    assert browser.js(marks) == "✓,…"
    browser.js("document.querySelectorAll('article article details')[0].open = true")
    site.append(result(3, "made it"), said("after", "Done.", "assistant", id="msg_4"))
    browser.wait("document.querySelector('article.claude') !== null", "the answer")
    assert browser.js(marks) == "✓,✓"
    assert browser.js("document.querySelectorAll('article article details')[0].open"), "a fold stays as it was"
    top = "[...document.querySelectorAll('#items > article, #items > * > article')].map((one) => one.className).join()"
    assert browser.js(top) == "user,tool,claude"
    assert browser.js("document.querySelectorAll('article article')[1].checkVisibility()")


def test_who_reads_above_stays_there_while_words_come(page, site):
    site.append(*(said(number, "long\n\n" * 20) for number in range(1, 20)))
    browser = page()
    browser.wait("scroller.scrollHeight > 3000")
    browser.js("scroller.scrollTop -= 1500")
    browser.wait("!newest.hidden")
    first = "[...document.querySelectorAll('article')].find(a => a.getBoundingClientRect().bottom > 60)"
    where = f"{first}.dataset.key + Math.round({first}.getBoundingClientRect().top)"
    place = browser.js(where)
    site.tell(*begins("msg_1", {"type": "text", "text": ""}), *(delta(f"word {n}\n\n") for n in range(200)))
    site.append(said("x", "word", "assistant", id="msg_1"))
    site.append(said("y", "after it"))
    browser.js("newest.hidden || new Promise((done) => setTimeout(done, 200))")
    assert browser.js(where) == place
    browser.js("newest.click()")
    browser.wait("document.body.innerText.includes('after it')")


def test_what_never_became_a_line_is_taken_back(page, site):
    browser = page(quick=True)
    browser.network_may_fail = True
    site.tell_state("working")
    site.tell(*begins("msg_1", {"type": "text", "text": ""}), delta("half a sen"))
    browser.wait("document.body.innerText.includes('half a sen')")
    site.tell_state("idle")
    browser.wait("!document.body.innerText.includes('half a sen')", "that it is gone")
    site.tell(*begins("msg_2", {"type": "text", "text": ""}), delta("another"))
    browser.wait("document.body.innerText.includes('another')")
    site.drop()
    browser.wait("!document.body.innerText.includes('another')", "that it is gone with the connection")


def test_a_decision_is_answered_once(page, site):
    browser = page(write=True, deferred=True)
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1 @@\n-one\n--- a comment\n+two\n"
    files = [{"path": "a.py", "diff": diff}]
    site.standing = lambda: [decision(kind="diff", title="Edit a.py", files=files)]
    site.tell(*site.standing())
    browser.wait("document.querySelector('.card') !== null")
    assert browser.js("document.querySelector('.card .add').textContent") == "+two"
    removed = browser.js("[...document.querySelectorAll('.card .del')].map((one) => one.textContent)")
    assert removed == ["-one", "--- a comment"], "all of it is shown"
    assert browser.js("document.querySelector('.card').getAttribute('aria-label')") == "Claude waits: Edit a.py"
    browser.js("document.activeElement.blur()")
    browser.key("d")
    assert browser.js("document.activeElement.className") == "card", "the keyboard is there"
    ready(browser)
    browser.key("1")
    browser.key("1")
    browser.js("document.querySelector('.choice').click()")
    site.wait(lambda: site.received, "the answer")
    site.tell({"type": "decision_closed", "id": 7, "outcome": "accepted"})
    browser.wait("document.querySelector('.card.over')?.innerText.includes('Accepted')")
    browser.js("end(deferred)")
    browser.wait("!document.querySelector('.card')", "that it goes")
    assert site.received == [{"type": "decide", "id": 7, "choice": "allow"}]
    assert browser.js("cards.hidden")


def test_the_end_of_a_request_has_the_verb_of_its_kind(page, site):
    browser = page(write=True)
    said = {
        "permission": ("Allowed", "Denied"),
        "code": ("Allowed", "Denied"),
        "question": ("Answered", "Declined"),
        "plan": ("Approved", "Rejected"),
        "diff": ("Accepted", "Rejected"),
    }
    for at, (kind, words) in enumerate(said.items()):
        for id_, outcome, verb in zip((2 * at, 2 * at + 1), ("accepted", "rejected"), words, strict=True):
            site.tell(decision(id=id_, kind=kind), {"type": "decision_closed", "id": id_, "outcome": outcome})
            last = "[...document.querySelectorAll('.card.over .hint')].at(-1)?.textContent"
            browser.wait(f"{last} == '{verb}'", f"{kind} {outcome}")


def test_a_decision_that_was_made_elsewhere_goes(page, site):
    browser = page(write=True, deferred=True)
    site.tell(decision(), decision(id=8, title="Another"))
    browser.wait("document.querySelectorAll('.card').length == 2")
    site.tell({"type": "decision_closed", "id": 7, "outcome": "rejected"})
    browser.wait("document.querySelector('.card.over')?.innerText.includes('Denied')")
    assert browser.js("[...document.querySelectorAll('.card:not(.over)')].map((one) => one.innerText).join()").count(
        "Another"
    )
    assert site.received == []


def test_a_no_takes_words_along_and_a_refused_answer_can_be_given_again(page, site):
    browser = page(write=True)
    site.tell(decision(text="rm -rf build"))
    browser.wait("document.querySelector('.card .words') !== null")
    assert "rm -rf build" in browser.text()
    browser.js("document.querySelector('.words').focus()")
    browser.type("1 is not a choice here")
    ready(browser)
    browser.js("document.querySelectorAll('.choice')[1].click()")
    site.wait(lambda: site.received, "the answer")
    decided = {"type": "decide", "id": 7, "choice": "deny", "message": "1 is not a choice here"}
    assert site.received == [decided]
    site.tell({"type": "error", "id": 7, "error": "Failed", "reason": "It is being decided in Neovim"})
    browser.wait("document.querySelector('.card .hint').textContent.includes('being decided in Neovim')")
    assert browser.js("document.querySelector('.words').value") == decided["message"], "what was typed stays"
    ready(browser)
    browser.js("document.querySelectorAll('.choice')[1].click()")
    site.wait(lambda: len(site.received) == 2, "the answer again")


def test_a_question_wants_an_answer_to_each(page, site):
    browser = page(write=True)
    options = [{"label": "JSON", "description": "one file"}, {"label": "SQLite", "description": "quick"}]
    questions = [
        {"question": "Which store?", "header": "Store", "multiSelect": False, "options": options},
        {"question": "Which tests?", "header": "Tests", "multiSelect": True, "options": options},
    ]
    choices = [{"id": "answer", "label": "Answer", "answers": True}]
    site.tell({**decision(kind="question", questions=questions), "choices": choices})
    browser.wait("document.querySelectorAll('.card fieldset').length == 2")
    browser.js("document.querySelectorAll('.card .option')[1].click()")
    ready(browser)
    browser.js("document.querySelector('.choice').click()")
    browser.wait("document.querySelector('.card .hint').textContent.includes('is required')")
    browser.js("document.querySelectorAll('.card .option')[2].click()")
    browser.js("document.querySelectorAll('.card .other')[1].focus()")
    browser.type("by hand")
    ready(browser)
    browser.js("document.querySelector('.choice').click()")
    site.wait(lambda: site.received, "the answers")
    assert site.received[0]["answers"] == {"Which store?": "SQLite", "Which tests?": "JSON, by hand"}


def test_a_form_has_what_it_came_with_and_its_optional_fields_may_stay_empty(page, site):
    browser = page(write=True)
    kinds = [{"id": "1", "label": "First, or so"}, {"id": "2", "label": "Second"}]
    questions = [
        {"key": "name", "question": "Your name", "description": "in full"},
        {"key": "count", "question": "count", "optional": True, "value": "2"},
        {"key": "ratio", "question": "ratio", "optional": True},
        {"key": "kind", "question": "kind", "options": kinds, "chosen": ["1"], "own": False},
        {"key": "tags", "question": "tags", "options": kinds, "multiSelect": True, "own": False, "optional": True},
    ]
    choices = [{"id": "answer", "label": "Send", "answers": True}]
    site.tell({**decision(kind="question", questions=questions), "choices": choices})
    browser.wait("document.querySelectorAll('.card fieldset').length == 5")
    assert "in full" in browser.js("document.querySelector('.card fieldset').textContent")
    assert browser.js("document.querySelectorAll('.card .other').length") == 3, "no words where there are only choices"
    ready(browser)
    browser.js("document.querySelector('.choice').click()")
    browser.wait("document.querySelector('.card .hint').textContent.includes('is required')")
    browser.wait("document.activeElement == document.querySelector('.card .other')", "the field that is missing")
    browser.type("Ada")
    browser.js("document.querySelectorAll('.card [type=checkbox]').forEach((one) => one.click())")
    ready(browser)
    browser.js("document.querySelector('.choice').click()")
    site.wait(lambda: site.received, "the answers")
    assert site.received[0]["answers"] == {"name": "Ada", "count": "2", "kind": "1", "tags": "1, 2"}


def test_who_only_reads_sees_what_waits_and_decides_nothing(page, site):
    site.may_write = False
    browser = page()
    site.tell(decision())
    browser.wait("document.querySelector('.choice') !== null")
    assert browser.js("composer.hidden && [...document.querySelectorAll('.choice')].every((one) => one.disabled)")
    browser.js("document.querySelector('#write').click()")
    browser.wait("document.querySelector('#trouble').textContent.includes('writing is off')")
    assert browser.js("document.querySelector('#write').getAttribute('aria-checked')") == "false"
    assert browser.js("composer.hidden")


def test_a_message_is_sent_by_enter_shown_until_its_line_is_there_and_shown_once(page, site):
    typed = {}
    land = answers_as_a_session_does(site, typed, at_once=False)
    browser = page(write=True)
    browser.key("i")
    browser.type("one")
    browser.key("Enter", shift=True)
    browser.type("two")
    assert site.received == []
    browser.key("Enter")
    (id,) = site.wait(lambda: list(typed), "the message")
    assert typed[id] == "one\ntwo"
    assert browser.js("document.querySelector('#prompt').value") == ""
    browser.wait("document.querySelector('#queue li.queued')?.innerText.includes('one')")
    site.tell({"type": "sent", "id": id}, {"type": "ack", "id": id, "uuid": "user-typed-0"})
    browser.wait("document.querySelector('#queue li.sent') && !document.querySelector('#queue button')")
    land(id)
    browser.wait("!document.querySelector('#queue li') && document.querySelectorAll('article.user').length == 2")
    assert len(site.received) == 1


def test_a_queued_message_is_taken_back_to_be_changed(page, site):
    typed = {}
    answers_as_a_session_does(site, typed, at_once=False)
    browser = page(write=True)
    browser.key("i")
    browser.type("wrong")
    browser.key("Enter")
    browser.wait("document.querySelector('#queue li.queued button') !== null")
    browser.type("typed since")
    browser.js("document.querySelector('#queue button').click()")
    browser.wait("document.querySelector('#prompt').value == 'wrong\\n\\ntyped since' && queue.hidden")
    assert [frame["type"] for frame in site.received] == ["user_message", "cancel_message"]


def test_a_message_that_is_wanted_back_while_the_connection_drops_is_asked_for_again(page, site, browser):
    browser.network_may_fail = True
    browser.before_pages(SOCKETS)
    answers_as_a_session_does(site, {}, at_once=False)
    page(write=True, quick=True)
    browser.key("i")
    browser.type("wrong")
    browser.key("Enter")
    browser.wait("document.querySelector('#queue li.queued button') !== null")
    browser.js("sockets.at(-1).close(), document.querySelector('#queue button').click()")
    browser.wait("document.querySelector('#prompt').value == 'wrong' && queue.hidden", "it to be taken back")
    assert [frame["type"] for frame in site.received] == ["user_message", "user_message", "cancel_message"]


def test_who_is_woken_again_and_again_while_it_comes_back_has_one_connection(page, site, browser):
    browser.network_may_fail = True
    browser.before_pages(SOCKETS)
    page()
    browser.js("""
      deferred = [];
      fetch = ((fetch) => (...of) => new Promise((go) => deferred.push(() => go(fetch(...of)))))(fetch);
      sockets.at(-1).close();
      new Promise((next) => sockets.at(-1).addEventListener("close", next));
    """)
    for _ in range(3):
        # Timers of equal length fire in order.
        browser.js("dispatchEvent(new Event('online')), new Promise((next) => setTimeout(next))")
    browser.wait("deferred.length")
    browser.js("deferred.forEach((go) => go())")
    site.wait(lambda: site.opened > 1, "the page to come back")
    browser.wait("offline.hidden")
    assert browser.js("sockets.length") == 2


def test_a_message_that_is_refused_is_not_lost(page, site):
    reason = "Another Claude runs this session"
    site.answers = lambda frame: [{"type": "error", "id": frame["id"], "error": "Failed", "reason": reason}]
    browser = page(write=True)
    browser.key("i")
    browser.type("precious words")
    browser.key("Enter")
    browser.wait(f"document.querySelector('#queue .failed')?.innerText.includes('{reason}')")
    browser.open(f"{site.url}?again#/s/s")
    browser.wait("document.querySelector('#queue .failed')?.innerText.includes('precious words')", "it after a reload")
    browser.js("document.querySelector('#queue button').click()")
    browser.wait("document.querySelector('#prompt').value == 'precious words'")
    assert len(site.received) == 1


def test_over_clear_the_page_goes_along_with_what_is_on_its_way(page, site):
    typed = {}
    answers_as_a_session_does(site, typed, at_once=False)
    browser = page(write=True)
    browser.key("i")
    browser.type("after the clearing")
    browser.key("Enter")
    browser.wait("document.querySelector('#queue li.queued') !== null")
    browser.type("half")
    opened = site.opened
    site.tell({"type": "session", "sessionId": "t", "previous": "s"}, {"type": "caught_up", "messages": 0})
    browser.wait("location.hash == '#/s/t' && document.querySelectorAll('article').length == 0", "the other session")
    assert browser.js("document.querySelector('#prompt').value") == "half"
    (id,) = typed
    site.tell({"type": "ack", "id": id, "uuid": "user-first"}, said("first", typed[id]))
    browser.wait("document.querySelector('article.user')?.innerText.includes('after the clearing') && queue.hidden")
    assert site.opened == opened, "on the same connection"


def test_what_others_queued_is_seen(page, site):
    queued = {"type": "queued", "id": "other", "position": 1, "content": "from a phone"}
    site.standing = lambda: [queued]
    browser = page(write=True)
    browser.wait("document.querySelector('#queue li')?.innerText.includes('from a phone')")
    site.tell({"type": "ack", "id": "other", "uuid": None})
    browser.wait("!document.querySelector('#queue li')")


def test_what_was_typed_stays_over_a_reload(page, site):
    browser = page(write=True)
    browser.key("i")
    browser.type("half a thought")
    browser.open(f"{site.url}?again#/s/s")
    browser.wait("document.querySelector('#prompt')?.value == 'half a thought'")
    browser.wait("document.querySelector('#write').getAttribute('aria-checked') == 'true'", "that it may write again")


def test_what_is_said_asked_or_queued_does_nothing(page, site):
    browser = page(write=True)
    for number, attack in enumerate(ATTACKS):
        call = {"type": "tool_use", "id": f"t{number}", "name": attack, "input": {"command": attack}}
        site.tell(
            *begins(f"msg_{number}", {"type": "text", "text": ""}),
            delta(attack),
            event("content_block_start", index=1, content_block=call),
            delta(json.dumps({"command": attack}), 1, "input_json_delta", "partial_json"),
        )
        options = [{"label": attack, "description": attack}]
        site.tell(
            decision(
                id=number,
                kind=attack if number % 2 else "plan",
                title=attack,
                text=attack,
                files=[{"path": attack, "diff": "+" + attack}],
                questions=[{"question": attack, "header": attack, "options": options}],
            )
            | {"choices": [{"id": attack, "label": attack}]},
            {"type": "queued", "id": f"q{number}", "position": number + 1, "content": attack},
            {"type": "unqueued", "id": f"q{number - 1}", "reason": attack},
            {"type": "error", "error": attack, "reason": attack, "id": number},
            {"type": "decision_closed", "id": number - 3, "outcome": attack},
        )
    site.tell_state(ATTACKS[1], ATTACKS[1])
    browser.size(1200, 6000)  # all of it is in sight
    browser.wait(f"document.querySelectorAll('article').length == {1 + 2 * len(ATTACKS)}")
    browser.js("document.querySelectorAll('summary, article a, .card a').forEach((one) => one.click())")
    browser.js("new Promise((done) => setTimeout(done, 200))")
    assert browser.js("window.hit") is None
    assert browser.js("document.querySelectorAll('main script, main iframe, main svg, main img').length") == 0
    assert "<script>window.hit = 1</script>" in browser.text(), "it is seen as it is"
    assert not set(browser.text()) & set("\x1b\u202e\u2066")


def test_over_a_hundred_drops_nothing_is_lost_and_a_queued_message_is_sent_once(page, site):
    typed = {}
    land = answers_as_a_session_does(site, typed, at_once=False)
    browser = page(write=True, quick=True)
    browser.network_may_fail = True
    sends = "document.querySelector('#prompt').value = '{}'; document.querySelector('#send').click()"
    for number in range(100):
        if number % 10 == 0:
            browser.wait("!document.querySelector('#send').disabled", "that it may write")
            browser.js(sends.format(f"message {number}"))
        if number % 10 == 5:
            site.wait(lambda number=number: len(typed) > number // 10, "the message, in spite of all")
            land(list(typed)[-1])
        opened = site.opened
        site.append(said(1000 + number))
        site.drop()
        site.append(said(2000 + number))
        site.wait(lambda opened=opened: site.opened > opened, "the page to come back")
    browser.wait("!document.querySelector('#queue li')", "that all is sent")
    browser.size(1200, 15000)  # all of it is in sight
    browser.wait("document.querySelectorAll('article').length >= 211", "all of it")
    expected = [line["message"]["content"] for line in site.lines]
    shown = browser.js("[...document.querySelectorAll('article .said')].map((one) => one.innerText)")
    assert shown == expected
    assert list(typed.values()) == [f"message {number}" for number in range(0, 100, 10)]


def test_a_notification_comes_only_where_it_was_asked_for(page, site, browser):
    # A headless browser says "denied", whatever it answers to a request.
    watch = """
      shown = [];
      let permission = "default";
      Notification = class extends Notification {
        constructor(...all) { super(...all); shown.push(all); }
        static get permission() { return permission; }
        static async requestPermission() { return (permission = await super.requestPermission()); }
      };
      document.hasFocus = () => false;
    """
    origin = site.url.rstrip("/")
    browser.command(
        "Browser.setPermission",
        permission={"name": "notifications"},
        setting="granted",
        origin=origin,
        browserContextId=browser.context,
    )
    browser.before_pages(watch)
    page()
    site.tell_state("waiting", "permission")
    browser.wait("document.title.startsWith('(1) Waits: ')")
    assert browser.js("shown") == [], "nobody asked for it"
    site.tell_state("working")
    browser.js("notify.click()")
    browser.wait("notify.getAttribute('aria-checked') == 'true'")
    site.tell_state("waiting", "permission")
    ((title, more),) = browser.wait("shown.length && shown")
    assert (title, more["body"]) == ("Claude waits for you", "The session")
    assert browser.js("document.querySelector('#said').textContent") == "Claude waits for you"


def test_on_a_phone_there_is_room_to_write_and_to_decide(page, site):
    browser = page(write=True)
    browser.size(390, 780, mobile=True)
    site.tell(decision(text="wide " * 60, files=[{"path": "a/" * 60, "diff": "+" + "x" * 300}]))
    site.tell({"type": "queued", "id": "other", "position": 1, "content": "long " * 60})
    browser.wait("document.querySelector('.card') !== null")
    assert browser.js("document.documentElement.scrollWidth") <= 390
    assert browser.js("document.querySelector('#prompt').getBoundingClientRect().bottom") <= 780
    assert browser.js("scroller.clientHeight") > 80, "something of the conversation is in sight"
    unlabelled = """[...document.querySelectorAll('button, input, textarea')].filter((one) => one.checkVisibility()
      && !one.innerText.trim() && !one.ariaLabel && !one.labels?.length).length"""
    assert browser.js(unlabelled) == 0, "each control says what it is"


def test_claude_is_stopped_by_who_may_write_while_it_works(page, site):
    browser = page()
    site.tell_state("working")
    browser.wait("document.querySelector('#state').textContent == 'Working'")
    assert browser.js("stop_button = document.querySelector('#stop'), stop_button.hidden")
    browser.js("document.querySelector('#write').click()")
    browser.wait("!stop_button.hidden")
    browser.js("stop_button.click()")
    site.wait(lambda: site.received, "the wish to stop")
    assert [frame["type"] for frame in site.received] == ["interrupt"]
    assert browser.js("stop_button.disabled"), "once is enough"
    site.tell({"type": "error", "id": site.received[0]["id"], "error": "Failed to interrupt", "reason": "It works not"})
    browser.wait("document.querySelector('#trouble').textContent == 'It works not' && !stop_button.disabled")
    site.tell_state("idle")
    browser.wait("stop_button.hidden")
