"""Sessions in words, and the news of one: the parts without a screen."""

import pytest

pytestmark = [pytest.mark.one_nvim, pytest.mark.shared]

MINUTE = 60_000


@pytest.fixture
def call(nvim):
    """Calls a function of a module with these arguments."""

    def call(module, function, *args):
        return nvim.lua(
            "local module, name = ... return Ide[module][name](select(3, ...))",
            module,
            function,
            *args,
        )

    return call


def test_a_duration_is_as_short_as_it_can_be(call):
    said = {400: "0 s", 61_000: "1 min", 59.6 * MINUTE: "1 h 0 min", 150 * MINUTE: "2 h 30 min"}
    assert {milliseconds: call("sessions_phrases", "duration", milliseconds) for milliseconds in said} == said


def test_a_state_says_what_is_waited_for(call):
    for state, said in [
        ({"activity": "working"}, "working"),
        ({"activity": "waiting", "waiting_for": "input"}, "waiting: answer"),
        ({"activity": "waiting", "waiting_for": "other"}, "waiting"),
    ]:
        assert call("sessions_phrases", "activity", state) == said


def test_a_title_is_one_line_without_control_characters(call):
    assert call("sessions_phrases", "title", {"id": "x", "title": "a\n\tb\x1b[31m \x9bc"}) == "a b [31m c"
    assert call("sessions_phrases", "title", {"id": "12345678-9", "title": " \n"}) == "Session 12345678"


def test_what_is_too_wide_is_cut_at_a_whole_character_and_of_a_path_the_end_stays(call):
    for function, text, cells, fitted in [
        ("fit", "日本語", 6, "日本語"),
        ("fit", "日本語", 5, "日本…"),
        ("fit", "日本語", 4, "日…"),
        ("fit_end", "/home/me/projekt", 8, "…projekt"),
        ("fit_end", "/home/日本語", 5, "…本語"),
    ]:
        assert call("sessions_phrases", function, text, cells) == fitted


# ── what is new ──


def live(activity, since, id="s", waiting_for=None):
    state = {"activity": activity, "since": since, "source": "record"}
    return {"pid": 7, "id": id, "state": state | ({"waiting_for": waiting_for} if waiting_for else {})}


@pytest.fixture
def steps(nvim):
    """The news at each of these states of one process."""

    def steps(*sessions):
        return nvim.lua(
            """
            local news, progress = {}, nil
            for _, session in ipairs({ ... }) do
              local item
              progress, item = Ide.requests_announce.step(progress, session, 99)
              news[#news + 1] = item or "nothing"
            end
            return news
            """,
            *sessions,
        )

    return steps


def test_a_turn_is_reported_once_a_state_and_its_length_counts_the_waits(steps):
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
