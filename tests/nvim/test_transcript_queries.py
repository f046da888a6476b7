"""Highlight queries are loaded in parts, none of them long; the parts colour what the whole would."""

import re

import pytest

pytestmark = pytest.mark.dealt

# How many patterns Neovim gets at once, and which.
COUNTED = """
compiled = {}
local compile = vim._ts_parse_query
vim._ts_parse_query = function(language, text)
  local count, depth = 0, 0
  for char in text:gsub(";[^\\n]*", ""):gsub('"[^"]*"', '"'):gmatch('[()%[%]"]') do
    count = count + ((depth == 0 and not char:find("[)%]]")) and 1 or 0)
    depth = depth + ((char == "(" or char == "[") and 1 or char == '"' and 0 or -1)
  end
  compiled[#compiled + 1] = { language = language, patterns = count, text = text }
  return compile(language, text)
end
"""

# All captures of Neovim's own query, and of the parts.
BOTH = """
local language, text = ...
local colour, queries = Ide.transcript_colour, Ide.transcript_queries
local piece = { row = 0, lines = vim.split(text, "\\n"), language = language }
local function said()
  return vim.tbl_map(function(span)
    return ("%d:%d-%d:%d %s %s"):format(
      span.row, span.col, span.end_row, span.end_col, span.group, tostring(span.hidden))
  end, colour.spans(piece))
end
while colour.load(language) do end
local parts = said()
queries.of = function(of)
  return { vim.treesitter.query.get(of, "highlights") }
end
return { said(), parts }
"""

TEXTS = {
    "lua": """local function one(first, ...) -- a note
  local self = { first = first, ["second"] = 2, print("%d"):format(3) }
  for at, each in ipairs(self) do self.first[at] = each.name end
  return vim.api.nvim_get_current_buf() == nil and one:two() or not true
end""",
    "c": """#include <stdio.h>
#define MOST 10
typedef struct { int first; char *second; } pair_t;
static const pair_t *all[MOST] = { NULL };
__attribute__((unused)) int main(int argc, char **argv) {
  label: for (size_t at = 0; at < sizeof(all); at++) { all[at]->first = strlen("a\\n") ? 'a' : 0x1f; }
  switch (argc) { case 1: goto label; default: return EXIT_SUCCESS; } // a note
}""",
    "vim": """function! s:one(first, ...) abort
  let g:two = a:first =~# '^x' ? "b\\n" : v:true
  autocmd BufEnter *.txt ++once setlocal tabstop=4
  nnoremap <silent> <leader>x :<C-u>call s:one(1)<CR>
endfunction""",
    "markdown": """# A *title*

Some **bold words**, `code` and [a link](https://example.org "title") ![image](a.png) <b>x</b>

- [ ] to do
1. one \\* two &amp;

> a quote

| a | b |
|---|---|
| 1 | 2 |
""",
}


@pytest.mark.every_nvim
@pytest.mark.parametrize("language", TEXTS)
def test_the_parts_of_a_query_capture_what_it_captures(nvim, language):
    whole, parts = nvim.lua(BOTH, language, TEXTS[language])
    assert len(whole) > 20
    assert parts == whole


@pytest.mark.parametrize("language", ["c", "lua", "markdown", "vim"])
def test_few_patterns_are_compiled_at_once(nvim, language):
    nvim.lua(COUNTED)
    compiled = nvim.lua(
        """
        local colour = Ide.transcript_colour
        local turns, before = {}, 0
        while colour.load(...) do
          turns[#turns + 1] = #compiled - before
          before = #compiled
        end
        return { turns, compiled }
        """,
        language,
    )
    assert max(compiled[0]) == 1, "each is a turn of its own"
    assert sum(one["patterns"] for one in compiled[1]) > 20
    assert max(one["patterns"] for one in compiled[1]) <= 9
    assert not any(re.search(r"[(]link_label[)]\s*[.]", one["text"]) for one in compiled[1]), "one that is dear"


def test_a_query_in_parts_is_the_query(nvim):
    text = (
        '; a [note (\n(one "(" @a (#eq? @a "\\"[")) ; another )\n[(two) (three)]+ @b\n"x;" @c\n((four) @d)\n'
        + "(e) @e\n" * 9
    )
    parts = nvim.lua("return Ide.transcript_queries.parts(...)", text, "lua")
    assert len(parts) == 2
    assert "".join(parts) == text


def test_a_pattern_that_the_parser_does_not_know_takes_its_part_along(start_nvim):
    query = "((identifier) @variable)\n" * 8 + "(no_such_node) @x\n" + "((number) @number)\n" * 8
    nvim = start_nvim(files={"more/queries/lua/highlights.scm": query})
    groups = nvim.lua("""
      vim.opt.runtimepath:prepend(vim.fs.joinpath(vim.uv.cwd(), "more"))
      return vim.tbl_map(function(span) return span.group end, Ide.transcript_colour.spans({
        row = 0, lines = { "local one = 2" }, language = "lua" }))
    """)
    assert "@variable.lua" in groups
