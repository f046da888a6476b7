"""Forms of an agent of the Agent Client Protocol: the answer has the requested form."""

import pytest
from acp_steps import answers, request, say, wait_idle

pytestmark = pytest.mark.dealt


def ask(nvim, properties=None, **more):
    if properties is not None:
        more = {"mode": "form", "requestedSchema": {"type": "object", "properties": properties}, **more}
    say(nvim, request("elicitation/create", message="Please fill in", **more))
    nvim.wait_kind("question")
    nvim.keys_count()


def sent(nvim):
    """The answer, after `y`."""
    before = len(answers(nvim))
    nvim.keys("y")
    nvim.wait(lambda: len(answers(nvim)) > before, what="the answer")
    wait_idle(nvim)
    return answers(nvim)[-1]["content"]


def shown(nvim):
    return nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")


def test_fields_are_in_the_order_of_the_agent_and_have_a_line_each(begin_acp):
    nvim = begin_acp()
    ask(nvim, {"zeta": {"type": "string", "title": "The\nfirst"}, "alpha": {"type": "string"}, "m": {"type": "number"}})
    assert shown(nvim)[2:5] == ["1 The first: ", "2 alpha: ", "3 m: "]
    nvim.keys("2second<CR>")
    nvim.wait(lambda: shown(nvim)[3] == "2 alpha: second", what="what was filled in")
    assert sent(nvim) == {"alpha": "second"}


@pytest.mark.parametrize("number", ["nan", "-inf", "1e999"])
def test_what_no_message_can_hold_is_no_number(begin_acp, number):
    nvim = begin_acp()
    ask(nvim, {"n": {"type": "number"}})
    nvim.keys(f"1{number}<CR>")
    nvim.wait_screen("n: a number is wanted.")
    nvim.keys("112<CR>")
    nvim.wait(lambda: shown(nvim)[2] == "1 n: 12", what="a number")
    assert sent(nvim) == {"n": 12}


def test_a_list_has_as_many_as_are_wanted(begin_acp):
    nvim = begin_acp()
    items = {"type": "string", "enum": ["x", "y"]}
    ask(nvim, {"m": {"type": "array", "items": items, "default": ["x"], "minItems": 2}})
    nvim.keys("y")
    nvim.wait_screen("m: at least 2 of them are wanted.")
    nvim.answer(2)
    nvim.keys("1")
    nvim.wait(lambda: shown(nvim)[2] == "1 m: x, y", what="both")
    assert sent(nvim) == {"m": ["x", "y"]}


FORMATS = {
    "email": ("nobody", "an address of mail", "a@b.example"),
    "date": ("today", "a date like 2026-01-31", "2026-11-23"),
    "date-time": ("2026-11-23", "a time like 2026-01-31T12:00:00Z", "2026-11-23T10:00:00+01:00"),
    "uri": ("no place", "a URI", "https://a.example/b"),
}


def test_a_text_has_its_format(begin_acp):
    nvim = begin_acp()
    ask(nvim, {name: {"type": "string", "format": name} for name in FORMATS})
    for at, (name, (wrong, words, right)) in enumerate(FORMATS.items(), 1):
        nvim.keys(f"{at}{wrong}<CR>")
        nvim.wait_screen(f"{name}: {words} is wanted.")
        nvim.keys(f"{at}{right}<CR>")
        nvim.wait(lambda line=f"{at} {name}: {right}": line in shown(nvim), what="a text")
    assert sent(nvim) == {name: right for name, (_, _, right) in FORMATS.items()}


@pytest.mark.every_nvim
def test_the_keys_are_in_sight_below_a_long_address(begin_acp):
    nvim = begin_acp()
    ask(nvim, mode="url", elicitationId="e1", url="https://example.com/" + "p" * 200)
    nvim.wait_screen("decline")
    nvim.keys("n")
    nvim.wait(lambda: answers(nvim) == [{"action": "decline"}], what="the answer")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://\u0435xample.com/x", "letters that may only look like those that you know"),
        ("https://xn--xample-2of.com", "letters that may only look like those that you know"),
        ("https://github.com@evil.example/login", "It leads to evil.example: what is before the @"),
    ],
)
def test_an_address_that_may_be_another_than_it_looks_like_says_so(begin_acp, url, words):
    nvim = begin_acp()
    ask(nvim, mode="url", elicitationId="e1", url=url)
    assert words in " ".join(shown(nvim)), shown(nvim)
    nvim.keys("n")
    nvim.wait(lambda: answers(nvim) == [{"action": "decline"}], what="the answer")
