"""Which text belongs to a symbol alone, from the ranges that language servers give of it."""

import pytest

pytestmark = pytest.mark.dealt

RUN = """
local filetype, text, what, others, body = ...
local buf = vim.api.nvim_create_buf(false, true)
vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\\n"))
vim.bo[buf].filetype = filetype
local function at(byte)
  local before = text:sub(1, byte - 1)
  local _, row = before:gsub("\\n", "")
  return { line = row, character = #before:match("[^\\n]*$") }
end
local first, last = text:find(what, 1, true)
local definition = { name = "it", range = { start = at(first), ["end"] = at(last + 1) }, others = {} }
for i, name in ipairs(others) do definition.others[i] = at((text:find(name, 1, true))) end
local extent = Ide.language_extent
local result, why_not
if body then
  local edit
  edit, why_not = extent.replacement(buf, definition, body)
  if edit then
    local from, to = edit.range.start, edit.range["end"]
    local lines = vim.split(edit.newText, "\\n")
    vim.api.nvim_buf_set_text(buf, from.line, from.character, to.line, to.character, lines)
    result = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n")
  end
else
  local lines
  lines, why_not = extent.lines(buf, definition)
  if lines then
    result = table.concat(vim.api.nvim_buf_get_lines(buf, lines.first, lines.last + 1, false), "\\n")
    result = result .. (lines.fills and "\\nfills " .. lines.fills or "")
  end
end
vim.api.nvim_buf_delete(buf, { force = true })
return result or "no: " .. why_not
"""

LINES = {
    # What typescript-language-server, pyright and clangd give as a symbol's range.
    ("typescript", "const used = 2, h = 3;", "used = 2"): "no: other code is in its line: `const used = 2, h = 3;`",
    ("typescript", "const used = 2, h = 3;", "h = 3"): "no: other code is in its line: `const used = 2, h = 3;`",
    ("typescript", "if (1) { let q = 1 } else { w() }", "q = 1"): "no: other code is in its line",
    ("typescript", "const a = 1,\n  b = 2;\nf()", "a = 1"): "no: it is a part of a longer statement",
    ("typescript", "const a = 1,\n  b = 2;\nf()", "b = 2"): "no: it is a part of a longer statement",
    ("typescript", "const a = 1,\n  b = 2,\n  c = 3;", "b = 2"): "  b = 2,",
    ("typescript", "const o = { k: 1,\n  l: 2 };", "l: 2"): "no: other code is in its line",
    ("typescript", "const o = {\n  k: 1,\n  l: 2\n};", "l: 2"): "  l: 2",
    ("typescript", "enum E {\n  X, Y\n}", "X"): "no: other code is in its line: `X, Y`",
    ("typescript", "enum E {\n  X,\n  Y,\n}", "X"): "  X,",
    ("typescript", "w()\nexport const f = () => 1; // one\nw()", "f = () => 1"): "export const f = () => 1; // one",
    ("typescript", "const f = 1; /* a */ g()", "f = 1"): "no: other code is in its line",
    ("typescript", "if (x)\n  var q = 1;\nw();", "q = 1"): "no: it is all that `if (x)` governs",
    ("typescript", "if (x) {\n  w()\n} else\n  var q = 1;", "q = 1"): "no: it is all that `} else` governs",
    ("typescript", "if (x) {\n  var q = 1;\n}", "q = 1"): "  var q = 1;",
    ("typescript", "class A {}\n@dec({\n  a: 1,\n})\nclass B {}", "class B {}"): "@dec({\n  a: 1,\n})\nclass B {}",
    ("typescript", "w({\n  a: 1,\n})\nclass B {}", "class B {}"): "class B {}",
    ("typescript", "const v =\n  function w() {};", "function w() {}"): "no: it is a part of a longer statement",
    ("python", "used, spare = 1, 2", "used"): "no: other code is in its line",
    ("python", "used, spare = 1, 2", "spare"): "no: other code is in its line",
    ("python", "if x: y = g()", "y"): "no: other code is in its line",
    ("python", "for i in range(3):\n    pass", "i"): "no: where `for i in range(3):` ends is not known",
    ("python", "X = 1  # one\nY = 2", "X"): "X = 1  # one",
    ("python", "X: int = f(\n    '(',  # a ) b\n)\nY = 2", "X"): "X: int = f(\n    '(',  # a ) b\n)",
    ("python", "X = '''a\n'b\n'''\nY = 2", "X"): "X = '''a\n'b\n'''",
    ("python", "X = 1 + \\\n    2\nY = 2", "X"): "X = 1 + \\\n    2",
    ("python", "X = 1; Y = 2", "X"): "no: where `X = 1; Y = 2` ends is not known",
    ("python", "class A:\n    a = 1\n\nb = 2", "a = 1"): "    a = 1\nfills class A:",
    ("python", "class A:\n    a = 1\n    c = 2", "a = 1"): "    a = 1",
    ("python", "@one\n@two(1)\ndef f():\n    pass", "def f():\n    pass"): "@one\n@two(1)\ndef f():\n    pass",
    ("lua", "local x = 1", "x"): "no: where `local x = 1` ends is not known",
    ("c", "#if A\nint x;\n#endif\nint f(void) {}", "int f(void) {}"): "int f(void) {}",
    ("c", "#else\nint f(void) {}\n#endif", "int f(void) {}"): "int f(void) {}",
    ("c", "struct P { int a, b; };", "int a"): "no: other code is in its line",
    ("c", "typedef struct S { int a; } S_t;", "struct S { int a; }"): "no: other code is in its line",
    ("cpp", "w;\ntemplate <typename T>\n[[nodiscard]]\nT f(T t) {}", "T f(T t) {}"): (
        "template <typename T>\n[[nodiscard]]\nT f(T t) {}"
    ),
    ("rust", "#[derive(Debug)]\nstruct A;", "struct A;"): "#[derive(Debug)]\nstruct A;",
    ("cs", "#region a\nvoid f() {}\n#endregion", "void f() {}"): "void f() {}",
    ("elixir", "@doc 1\ndef f do\nend", "def f do\nend"): "no: line 1 above it (`@doc 1`) may belong to it",
}


def test_whole_lines_are_a_symbols_only_where_nothing_else_is_in_them(nvim):
    for (filetype, text, what), expected in LINES.items():
        lines = nvim.lua(RUN, filetype, text, what, [])
        fits = lines.startswith(expected) if expected.startswith("no: ") else lines == expected
        assert fits, f"{text!r}, {what!r}: {lines!r}"


def test_a_range_with_the_name_of_another_symbol_is_not_a_symbols_own(nvim):
    # clangd
    text = "int one = 1, two = 2;"
    assert nvim.lua(RUN, "c", text, "int one = 1, two = 2", ["one"]) == f"no: `{text}` declares another name, too"
    assert nvim.lua(RUN, "c", text, "int one = 1, two = 2", ["one"], "int two = 3").startswith("no: ")


REPLACED = {
    ("typescript", "export const f = () => 1;\n", "f = () => 1", "export const f = () => 2;"): (
        "export const f = () => 2;\n"
    ),
    ("typescript", "export const f = () => 1;\n", "f = () => 1", "const f = () => 2;\n"): "export const f = () => 2;\n",
    ("typescript", "export const f = () => 1;\n", "f = () => 1", "f = () => 2"): "export const f = () => 2;\n",
    ("typescript", "export const f = 1\n", "f = 1", "export function f() {}"): "export function f() {}\n",
    ("typescript", "export const f = 1\n", "f = 1", "function f() {}"): "export function f() {}\n",
    ("typescript", "export const f = 1\n", "f = 1", "/** a */\nexport const f = 2"): "/** a */\nexport const f = 2\n",
    ("typescript", "if (1) { let q = 1 }", "q = 1", "q = 2"): "if (1) { let q = 2 }",
    ("typescript", "if (1) { let q = 1 }", "q = 1", "let q = 2;"): "no: other code is in its line",
    ("typescript", "const a = 1, b = 2;", "a = 1", "a = 3"): "const a = 3, b = 2;",
    ("typescript", "const a = 1, b = 2;", "a = 1", "const a = 3;"): "no: other code is in its line",
    ("typescript", "  m() {\n  }\n", "m() {\n  }", "  m() {\n    w();\n  }\n"): "  m() {\n    w();\n  }\n",
    ("python", "X = 1  # one\n", "X", "X = 2\n"): "X = 2  # one\n",
    ("python", "def f(x=1): pass\n", "x", "x=2"): "no: where `def f(x=1): pass` ends is not known",
    ("c", "struct P { int a; };\n", "struct P { int a; }", "struct P { int b; };\n"): "struct P { int b; };\n",
    ("rust", "pub(crate) fn f() {}\n", "fn f() {}", "pub fn f() { g() }"): "pub fn f() { g() }\n",
}


def test_a_definition_is_replaced_with_the_keywords_that_the_new_one_has(nvim):
    for (filetype, text, what, body), expected in REPLACED.items():
        after = nvim.lua(RUN, filetype, text, what, [], body)
        fits = after.startswith(expected) if expected.startswith("no: ") else after == expected
        assert fits, f"{text!r}, {body!r}: {after!r}"


CODE = """
local filetype, text, name = ...
local buf = vim.api.nvim_create_buf(false, true)
vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, "\\n"))
vim.bo[buf].filetype = filetype
local is_code, found = Ide.language_code.judge(buf), {}
for row, line in ipairs(vim.split(text, "\\n")) do
  local from = 1
  while true do
    local at, last = line:find(name, from, true)
    if not at then break end
    if is_code(row - 1, at - 1) then found[#found + 1] = row .. ":" .. at end
    from = last + 1
  end
end
vim.api.nvim_buf_delete(buf, { force = true })
return found
"""


def test_comments_and_strings_are_no_code(nvim):
    for filetype, text, places in (
        ("typescript", '// add\n/* add\nadd */ add("add", `add\nadd`, add) // add', ["3:8", "4:7"]),
        ("python", "# add\n'''add\nadd''' + add\nx = 'a\\'add' + add", ["3:10", "4:16"]),
        ("rust", "fn f<'a>(add: &'a str) {} // 'add", ["1:10"]),
        ("sh", "# add\necho 'add' \"add\"; add", ["2:19"]),
        ("lua", "-- add\nadd('add', [[add]])", ["2:1"]),
        ("c", '/* add */ int add(void) { return "add"; }', ["1:15"]),
    ):
        assert nvim.lua(CODE, filetype, text, "add") == places, f"{filetype}: {text}"
