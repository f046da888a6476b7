"""A transcript on screen, as snapshots in `screens/`. See tests/README.md."""

import pytest
from test_screens import OPTIONS, screen  # noqa: F401 (a fixture)
from transcript_steps import ENV, PARSER, wait_rendered

from harness import snapshot


@pytest.fixture
def nvim(start_nvim, script):
    nvim = start_nvim(env=ENV, files={"src/parser.lua": PARSER}, init_lua=OPTIONS + snapshot.colour_scheme())
    nvim.cmd(f"Claude transcript {script.id}")
    wait_rendered(nvim)
    nvim.wait_screen("31.3k tokens in context")
    return nvim


def test_a_conversation(nvim, screen):  # noqa: F811
    nvim.keys("gg")
    wait_rendered(nvim)
    screen("transcript").check(nvim, "A transcript: thinking and calls are folded, the edit is not.")


@pytest.mark.slow
def test_a_subagent_within_it(nvim, screen):  # noqa: F811
    nvim.keys("[mzoj<CR>zt")
    nvim.wait_screen("Subagent Explore · 3 messages")
    wait_rendered(nvim)
    screen("transcript_agent").check(nvim, "A subagent, shown within the transcript of its session.")


def test_the_end_of_it(nvim, screen):  # noqa: F811
    screen("transcript_end").check(nvim, "The end of a transcript, where it opens.")
