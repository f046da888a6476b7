"""Snippets in the edits of language servers become plain text."""

import pytest

pytestmark = [pytest.mark.dealt, pytest.mark.shared]

PLAIN = {
    "#[derive($0)]\n": "#[derive()]\n",
    "${0:todo!()}": "todo!()",
    "fn ${1:name}(${2:a: ${3:T}}) -> $4 {}": "fn name(a: T) ->  {}",
    "${1|one\\,1,two|};$TM_FILENAME": "one,1;",
    "cost \\$1 \\} \\\\ {x} $": "cost $1 } \\ {x} $",
    "${TM_FILENAME/a/b/}": None,
    "${1:open": None,
}


def test_a_snippet_is_the_text_that_it_has_before_anything_is_typed(nvim):
    for snippet, plain in PLAIN.items():
        assert nvim.lua("return Ide.changeset_snippet.plain(...)", snippet) == plain, snippet


STEPS = """
local at = { line = 0, character = 0 }
local range = { start = at, ["end"] = at }
local steps, _, notes = Ide.workspace_edit.steps({ documentChanges = { {
  textDocument = { uri = "file:///a.rs" },
  edits = {
    { range = range, newText = "a$0", insertTextFormat = 2 },
    { range = range, newText = "b$0", insertTextFormat = 1 },
    { range = range, newText = "c$0" },
    { range = range, snippet = { kind = "snippet", value = "d${1:e}" } },
    { range = range, snippet = { kind = "snippet", value = "${1:open" } },
  },
} } })
return { vim.tbl_map(function(edit) return edit.newText end, steps[1].edits), notes }
"""


def test_both_forms_of_a_snippet_are_known_and_what_cannot_be_plain_is_left_out(nvim):
    texts, notes = nvim.lua(STEPS)
    assert texts == ["a", "b$0", "c$0", "de"]
    assert notes == ["a snippet was left out: it has places for a user to type in"]
