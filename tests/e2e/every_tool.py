"""One project in which every tool of the agents' endpoint has work, with its arguments and the expected answer.

The servers are pyright, pyrefly (implementations, type hierarchies) and ruff (formats, sorts imports); the kernel is
ipykernel.
"""

import json

from e2e_servers import ENVIRONMENT, PYREFLY, PYRIGHT, RUFF

NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "words", "metadata": {}, "source": ["# Figures"]},
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "sum",
            "metadata": {},
            "outputs": [],
            "source": ["print(6 * 7)"],
        },
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
SQUARE = """from shapes import Shape


class Square(Shape):
    def area(self) -> float:
        return 4.0
"""
EDITED = """import sys
import re
import os


def plus( a: int,b: int )->int:
    return a+b


def unused() -> None:
    pass


print(os.name, re.escape("."), plus(1, 2))
"""
FILES = {
    "shapes.py": "class Shape:\n    def area(self) -> float:\n        return 0.0\n",
    "main.py": "from shapes import Shape\n\n\ndef total(shapes: list[Shape]) -> float:\n    return sum(s.area() for s in shapes)\n",
    "square.py": SQUARE,
    "edited.py": EDITED,
    "a.ipynb": json.dumps(NOTEBOOK, indent=1) + "\n",
}
INIT = PYRIGHT + PYREFLY + RUFF + "vim.o.makeprg = 'true'\n"
ENV = {"VIRTUAL_ENV": str(ENVIRONMENT)}
SERVERS = 3

AREA = {"path": "main.py", "symbol": "area", "line": 5}
PLUS = {"path": "edited.py", "symbol": "plus"}
ADDED = {"path": "edited.py", "symbol": "added"}
READS = [
    ("definition", AREA, "shapes.py\n  2:9  def area(self) -> float:"),
    ("references", AREA, "main.py\n  5:18  return sum(s.area() for s in shapes)"),
    (
        "implementations",
        {"path": "shapes.py", "symbol": "area", "line": 2},
        "square.py\n  5:9  def area(self) -> float:",
    ),
    ("hover", AREA, "(method) def area() -> float"),
    ("call_hierarchy", AREA, "  in total:  return sum(s.area() for s in shapes)"),
    (
        "type_hierarchy",
        {"path": "shapes.py", "symbol": "Shape", "line": 1},
        "square.py\n  4:7  Square:  class Square(Shape):",
    ),
    ("symbols", {"query": "Shape"}, "class Shape  class Shape:"),
    ("outline", {"path": "shapes.py"}, "  method area  2-3"),
    ("diagnostics", {"path": "main.py"}, "Nothing is wrong in main.py."),
    ("open_buffers", {}, "main.py  (the user is here"),
    ("comment_add", {"path": "main.py", "line": 1, "text": "A remark."}, "Shown to the user as comment "),
    ("comment_reply", {"id": 1, "text": "More."}, "The user sees it."),
    ("comments", {}, "A remark."),
    ("quickfix", {}, "The quickfix list is empty."),
    ("code_actions", {"path": "edited.py", "line": 1, "kind": "quickfix"}, ": Remove unused import"),
    ("notebook_cells", {"path": "a.ipynb"}, "[1] code\nprint(6 * 7)"),
    ("run_test", {"scope": "file", "path": "main.py"}, "Tests of main.py: passed."),
    ("run_cell", {"path": "a.ipynb", "index": 1}, "42"),
]
"""Tools that change no file, with their arguments and words of their answers."""

WRITES = [
    ("apply_action", {"id": "1"}, "import"),
    ("organize_imports", {"path": "edited.py"}, "Organize the imports of edited.py: "),
    ("format", {"path": "edited.py"}, "Format edited.py: "),
    ("rename", {**PLUS, "new_name": "added"}, "Rename plus to added: "),
    (
        "replace_symbol_body",
        {**ADDED, "body": "def added(a: int, b: int) -> int:\n    return b + a\n"},
        "1 change in 1 file",
    ),
    ("insert_before_symbol", {**ADDED, "text": "ONE = 1\n"}, "1 change in 1 file"),
    ("insert_after_symbol", {**ADDED, "text": "\nTWO = 2\n"}, "1 change in 1 file"),
    ("safe_delete", {"path": "edited.py", "symbol": "unused"}, "1 change in 1 file"),
]
"""Tools that change edited.py, in this order."""

ACCEPTING = """
local timer = assert(vim.uv.new_timer())
timer:start(50, 50, vim.schedule_wrap(function()
  for _, one in ipairs(Ide.proposal.list()) do
    if one.seen then require("claude-ide").accept() end
  end
end))
"""
"""A user who accepts each change once it is shown."""


def start(start_nvim):
    """A Neovim with all of these running, and our server."""
    nvim = start_nvim(args=["main.py"], files=FILES, init_lua=INIT, opts={"notebook": {}}, env=ENV)
    nvim.lua('require("claude-ide").connect()')
    nvim.wait(f"#vim.lsp.get_clients({{ bufnr = 0 }}) >= {SERVERS}", what="the language servers to start")
    nvim.wait("Ide.notebook_interpreter.is_available()", what="the Python to be found")
    return nvim
