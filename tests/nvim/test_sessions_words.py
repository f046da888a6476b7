"""Sessions in words, in columns, and what is new of one: the parts without a screen."""

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
