"""Sessions in words, in columns, as Markdown, and what is new of one: the parts without a screen."""

import pytest

pytestmark = [pytest.mark.one_nvim, pytest.mark.shared]

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@pytest.fixture
def call(nvim):
    """Calls a function of a module with these arguments."""

    def call(module, function, *args):
        return nvim.lua(
            "local module, name = ... return require('claude-ide.sessions.' .. module)[name](select(3, ...))",
            module,
            function,
            *args,
        )

    return call


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(-DAY, "now"), (0, "now"), (MINUTE, "1m"), (HOUR - 1, "59m"), (5 * HOUR, "5h"), (13 * DAY, "13d")]
    + [(14 * DAY, "2w"), (90 * DAY, "3mo"), (800 * DAY, "2y")],
)
def test_an_age_takes_at_most_four_characters(call, milliseconds, said):
    assert call("phrases", "age", milliseconds) == said


def test_a_duration_is_as_precise_as_it_matters(call):
    said = [
        call("phrases", "duration", milliseconds) for milliseconds in (400, 12_400, 61_000, 59.6 * MINUTE, 150 * MINUTE)
    ]
    assert said == ["0 s", "12 s", "1 min", "1 h 0 min", "2 h 30 min"]


def test_a_state_says_what_is_waited_for(call):
    def state(activity, waiting_for=None):
        return call(
            "phrases",
            "activity",
            {"activity": activity, "waiting_for": waiting_for} if waiting_for else {"activity": activity},
        )

    assert state("working") == "working"
    assert state("waiting", "permission") == "waiting: permission"
    assert state("waiting", "input") == "waiting: answer"
    assert state("waiting", "other") == "waiting"
    assert state("waiting") == "waiting"


def test_a_title_is_one_line_without_control_characters(call):
    assert call("phrases", "title", {"id": "x", "title": "a\n\tb\x1b[31m \x9bc"}) == "a b [31m c"
    assert call("phrases", "title", {"id": "12345678-9", "title": " \n"}) == "Session 12345678"


@pytest.mark.parametrize(
    ("text", "cells", "fitted"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("ab", 1, "…"),
    ],
)
def test_what_is_too_wide_is_cut_at_a_whole_character(call, text, cells, fitted):
    assert call("phrases", "fit", text, cells) == fitted


def test_of_a_path_the_end_stays(call):
    assert call("phrases", "fit_end", "/home/me/projekt", 8) == "…projekt"
    assert call("phrases", "fit_end", "/home/日本語", 5) == "…本語"


# ── columns ──


def item(title, age=0, state=None, branch=None, cwd="/srv/project"):
    summary = {"id": title, "title": title, "updated": -age, "cwd": cwd}
    if branch:
        summary["branch"] = branch
    return {"summary": summary} | ({"live": {"state": state}} if state else {})


ITEMS = [
    item("Fix the parser", state={"activity": "waiting", "waiting_for": "permission"}, branch="main"),
    item("漢字のタイトルも揃う", age=3 * DAY, branch="feature/漢字"),
    item("No branch", age=90 * DAY),
]


def test_columns_stand_below_each_other_with_wide_characters_too(nvim, call):
    lines = call("rows", "format", ITEMS, {"now": 0, "width": 76, "folders": False})
    assert lines == [
        "now  waiting: permission  main          Fix the parser",
        " 3d                       feature/漢字  漢字のタイトルも揃う",
        "3mo                                     No branch",
    ]


def test_without_a_running_session_there_is_no_column_for_states(call):
    assert call("rows", "format", ITEMS[1:], {"now": 0, "width": 76, "folders": False}) == [
        " 3d  feature/漢字  漢字のタイトルも揃う",
        "3mo                No branch",
    ]


@pytest.mark.parametrize("width", [76, 50, 30, 12, 3])
def test_no_line_is_wider_than_the_screen(nvim, call, width):
    items = [
        *ITEMS,
        item("a title that goes on and on " * 4, cwd="/a/very/long/folder/name/to/show/in/a/list", branch="b" * 60),
    ]
    lines = call("rows", "format", items, {"now": 0, "width": max(width, 12), "folders": True})
    widths = nvim.lua("return vim.tbl_map(vim.fn.strdisplaywidth, ...)", lines)
    assert max(widths) <= max(width, 12)


def test_a_list_of_all_projects_says_which(call):
    (line,) = call("rows", "format", [item("t", cwd="/srv/other")], {"now": 0, "width": 76, "folders": True})
    assert line == "now  /srv/other  t"


# ── what is new ──


def live(activity, since, id="s", waiting_for=None):
    state = {"activity": activity, "since": since, "source": "record"}
    return {"pid": 7, "id": id, "state": state | ({"waiting_for": waiting_for} if waiting_for else {})}


@pytest.fixture
def steps(nvim):
    """What is new at each of these states of one process."""

    def steps(*sessions):
        return nvim.lua(
            """
            local news, progress = {}, nil
            for _, session in ipairs({ ... }) do
              local item
              progress, item = require("claude-ide.sessions.progress").step(progress, session, 99)
              news[#news + 1] = item or "nothing"
            end
            return news
            """,
            *sessions,
        )

    return steps


def test_a_turn_is_told_once_a_state_and_its_length_counts_the_waits(steps):
    assert steps(
        live("idle", 1), live("working", 10), live("working", 20), live("waiting", 30, waiting_for="permission"),
        live("waiting", 30, waiting_for="permission"), live("working", 40), live("idle", 110), live("idle", 110),
    ) == [  # fmt: skip
        {"kind": "idle"}, {"kind": "working"}, "nothing", {"kind": "waiting"},
        "nothing", {"kind": "working"}, {"kind": "idle", "took": 100}, "nothing",
    ]  # fmt: skip


def test_a_second_question_is_news_if_it_asks_for_something_else(steps):
    waits = [live("waiting", 1, waiting_for=reason) for reason in ("permission", "input")]
    assert [news["kind"] for news in steps(*waits)] == ["waiting", "waiting"]


def test_a_cleared_session_is_another_one_and_no_end_of_a_turn(steps):
    assert steps(live("working", 1, "a"), live("idle", 5, "b")) == [
        {"kind": "working"},
        {"kind": "idle", "previous": "a"},
    ]


def test_a_turn_that_was_under_way_counts_from_when_it_began(steps):
    assert steps(live("working", 50), live("idle", 90))[1] == {"kind": "idle", "took": 40}


# ── Markdown ──


def text(words, kind="reply", **more):
    return {"id": 1, "kind": kind, "blocks": [{"type": "text", "text": words, "bytes": len(words)}], **more}


def tool(name, input, status="done", result=None):
    block = {"type": "tool_use", "id": "t", "name": name, "input": input, "status": status}
    return {"id": 1, "kind": "reply", "blocks": [block | ({"result": result} if result else {})]}


def result(words, **more):
    return {"is_error": False, "content": [{"type": "text", "text": words, "bytes": len(words)}], **more}


def test_speakers_have_headings_and_replies_that_follow_have_one(call):
    assert call("markdown", "message", text("Do it.", "prompt")) == ["## You", "", "Do it.", ""]
    first = text("Yes.")
    assert call("markdown", "message", first) == ["## Claude", "", "Yes.", ""]
    assert call("markdown", "message", text("Done."), first) == ["Done.", ""]


def test_a_fence_is_longer_than_any_within(call):
    lines = call(
        "markdown", "message", tool("Read", {"file_path": "a.md"}, result=result("````md\nx\n````\n")), text("x")
    )
    assert lines == [
        "<details>", "<summary><b>Read</b> <code>a.md</code></summary>", "",
        "- file_path: `a.md`", "",
        "`````", "````md", "x", "````", "`````",
        "", "</details>", "",
    ]  # fmt: skip


def test_an_edit_is_a_diff(call):
    hunks = [{"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": ["-a", "+b"]}]
    outcome = {"type": "file_change", "path": "/p/a.txt", "created": False, "hunks": hunks}
    lines = call(
        "markdown", "message", tool("Edit", {"file_path": "/p/a.txt"}, result=result("ok", outcome=outcome)), text("x")
    )
    assert lines[3:8] == ["```diff", "@@ -1,1 +1,1 @@", "-a", "+b", "```"]


def test_a_call_is_named_as_in_a_transcript(call):
    def summary(name, input, status="done", **more):
        return call("markdown", "message", tool(name, input, status, **more), text("x"), "/p")[1][9:-10]

    assert summary("Bash", {"command": "make", "description": "Build"}) == "<b>Bash</b> <code>make</code>"
    actions = {"path": "/p/a.py", "line": 3}
    assert summary("mcp__nvim__code_actions", actions) == "<b>nvim: code_actions</b> <code>/p/a.py</code>"
    todos = {"todos": [{"status": "completed", "content": "a"}, {"status": "pending", "content": "b"}]}
    assert summary("TodoWrite", todos) == "<b>TodoWrite</b> <code>1 of 2 done</code>"
    change = {"type": "file_change", "path": "/p/a.txt", "added": 1, "removed": 2, "user_modified": True, "hunks": []}
    edit = summary("Edit", {"file_path": "/p/a.txt"}, result=result("ok", outcome=change))
    assert edit == "<b>Edit</b> <code>a.txt</code> · +1 −2, changed by you"
    assert summary("Edit", {"file_path": "/p/a.txt"}, "changed") == "<b>Edit</b> <code>a.txt</code> · changed by you"


def test_what_html_would_take_for_its_own_is_escaped(call):
    lines = call("markdown", "message", tool("Bash", {"command": "a <b> && c"}, "failed"), text("x"))
    assert lines[1] == "<summary><b>Bash</b> <code>a &lt;b&gt; &amp;&amp; c</code> · failed</summary>"
    assert lines[3:6] == ["```sh", "a <b> && c", "```"]


def test_what_was_cut_is_named(call):
    message = text("x" * 10)
    message["blocks"][0]["bytes"] = 2_000_010
    assert "*… and 2.0 MB more*" in call("markdown", "message", message)


def test_odd_messages_do_no_harm(call):
    assert call("markdown", "message", {"id": 1, "kind": "reply", "blocks": []}) == []
    unknown = {"id": 1, "kind": "other", "blocks": [{"type": "unknown", "raw": {"a": 1}}]}
    assert call("markdown", "message", unknown) == []
    assert (
        call("markdown", "message", tool("New", ["odd"], "running"), text("x"))[1]
        == "<summary><b>New</b> <code>odd</code> · no result</summary>"
    )


def test_the_head_says_what_is_known(call):
    lines = call("markdown", "head", {"id": "abc", "title": "Fix it", "branch": "main", "updated": 0, "bytes": 1})
    assert lines == ["# Fix it", "", "- Session: `abc`", "- Branch: `main`", ""]
