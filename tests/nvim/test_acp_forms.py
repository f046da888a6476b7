"""Forms of an agent of the Agent Client Protocol: the answer has the requested form."""

import main_thread
import pytest
from acp_steps import answers, request, say, wait_idle

pytestmark = pytest.mark.dealt


def ask(nvim, properties=None, *, required=(), **more):
    if properties is not None:
        schema = {"type": "object", "properties": properties, "required": list(required)}
        more = {"mode": "form", "requestedSchema": schema, **more}
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


@pytest.mark.shared
@pytest.mark.one_nvim
def test_what_is_typed_has_the_type_and_the_format_of_its_field(nvim):
    number, text = {"takes": "number"}, {"takes": "text"}
    for field, typed, expected in [
        *((number, typed, "enter a number") for typed in ("nan", "-inf", "1e999", "one")),
        (number, "12", 12),
        ({"takes": "integer", "least": 1, "most": 9}, "1.5", "enter a whole number"),
        ({"takes": "integer", "least": 1, "most": 9}, "12", "enter a whole number from 1 to 9"),
        ({**text, "least": 2}, "é", "enter at least 2 characters"),
        ({**text, "format": "email"}, "nobody", "enter an email address"),
        ({**text, "format": "email"}, "a@b.example", "a@b.example"),
        ({**text, "format": "date"}, "today", "enter a date like 2026-01-31"),
        ({**text, "format": "date"}, "2026-11-23", "2026-11-23"),
        ({**text, "format": "date-time"}, "2026-11-23", "enter a time like 2026-01-31T12:00:00Z"),
        ({**text, "format": "date-time"}, "2026-11-23T10:00:00+01:00", "2026-11-23T10:00:00+01:00"),
        ({**text, "format": "uri"}, "no place", "enter a URI"),
        ({**text, "format": "uri"}, "https://a.example/b", "https://a.example/b"),
    ]:
        read = "local value, problem = Ide.form_field.read(...) return problem or value"
        assert nvim.lua(read, field, typed) == expected, (field, typed)


@pytest.mark.shared
@pytest.mark.one_nvim
def test_an_address_that_may_be_another_than_it_looks_like_says_so(nvim):
    alike = "letters that may only look like those that you know"
    for url, words in [
        ("https://\u0435xample.com/x", alike),
        ("https://xn--xample-2of.com", alike),
        ("https://github.com@evil.example/login", "This address leads to evil.example: the part before the @"),
    ]:
        assert words in nvim.lua("return Ide.form_field.doubt_of_url(...)", url), url


def test_a_list_has_as_many_as_are_wanted(begin_acp):
    nvim = begin_acp()
    items = {"type": "string", "enum": ["x", "y"]}
    ask(nvim, {"m": {"type": "array", "items": items, "default": ["x"], "minItems": 2}})
    nvim.keys("y")
    nvim.wait_screen("m: choose at least 2 of them.")
    nvim.answer(2)
    nvim.keys("1")
    nvim.wait(lambda: shown(nvim)[2] == "1 m: x, y", what="both")
    assert sent(nvim) == {"m": ["x", "y"]}


@pytest.mark.every_nvim
def test_the_keys_are_in_sight_below_a_long_address(begin_acp):
    nvim = begin_acp()
    ask(nvim, mode="url", elicitationId="e1", url="https://me@example.com/" + "p" * 200)
    nvim.wait_screen("decline")
    assert "This address leads to example.com: the part before the @" in " ".join(shown(nvim))
    nvim.keys("n")
    nvim.wait(lambda: answers(nvim) == [{"action": "decline"}], what="the answer")


def test_a_form_keeps_the_order_of_its_schema_and_what_was_typed(begin_acp):
    nvim = begin_acp()
    nvim.keep_notices()
    ask(
        nvim,
        {
            "z": {"type": "integer", "minimum": 1, "maximum": 9, "description": "Nights"},
            "a": {"type": "string", "minLength": 3},
            "m": {"type": "string"},
        },
        required=["m"],
    )
    assert shown(nvim)[2:7] == [
        "1 z: ",
        "  Nights · a whole number from 1 to 9",
        "2 a: ",
        "  at least 3 characters",
        "3 m: (required)",
    ]
    nvim.lua(
        """
        defaults, typed = {}, { "12", "7" }
        vim.ui.input = function(opts, done)
          defaults[#defaults + 1] = opts.default or ""
          done(table.remove(typed, 1))
        end
        """
    )
    nvim.keys("1")
    nvim.wait(lambda: shown(nvim)[2] == "1 z: 12 (enter a whole number from 1 to 9)", what="what was typed")
    nvim.keys("y")
    nvim.wait_notice("z: enter a whole number from 1 to 9.")
    nvim.keys("1")
    nvim.wait(lambda: shown(nvim)[2] == "1 z: 7", what="the number")
    assert nvim.lua("return defaults") == ["", "12"]


def test_a_form_of_3000_fields_holds_nobody_up(begin_acp):
    nvim = begin_acp()
    main_thread.watch(nvim)
    ask(nvim, {f"f{number}": {"type": "string", "description": "words"} for number in range(3000)})
    nvim.lua("vim.ui.input = function(_, done) done('x') end")
    nvim.keys("1")
    nvim.wait(lambda: shown(nvim)[2] == "1 f0: x", what="the value")
    assert main_thread.longest(nvim) < 300, "it was 4,400"
