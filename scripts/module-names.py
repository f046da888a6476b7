"""Checks that tests name the plugin's modules by tests/harness/ide.lua alone, and that its rows are modules that tests use."""

import re
import sys
from pathlib import Path

TABLE = Path("tests/harness/ide.lua")
MAKES_MODULES = {"test_require_graph.py", "test_module_names.py"}
"""Tests of checks, with plugins of their own."""

# What users require, tests require as they do.
PATH = re.compile(r"""(require|lazy|loaded|preload)[\s("',\[\\]*claude-ide(\.(?!(statusline|neotest)\b)|["']\s*\.\.)""")
NAME = re.compile(r"""\bIde(?:\.|\(\\?["'])(\w+)""")


def problems():
    rows = dict(re.findall(r'^  (\w+) = "([\w.]+)",$', TABLE.read_text(), re.MULTILINE))
    used = set()
    for path in sorted(Path("tests").rglob("*")):
        if path.suffix not in {".py", ".lua", ".md"} or path.name in MAKES_MODULES or path == TABLE:
            continue
        for at, line in enumerate(path.read_text().splitlines(), 1):
            if PATH.search(line):
                yield f"{path}:{at} names a module by its path: {line.strip()}"
            names = NAME.findall(line)
            yield from (f"{path}:{at}: {TABLE} has no {name}" for name in names if name not in rows)
            used.update(names, re.findall(r"""["'](\w+)["'.]""", line))  # one in quotes may be for `Ide[name]`
    for name, module in rows.items():
        place = Path("lua/claude-ide", *module.split("."))
        if not place.with_suffix(".lua").exists() and not (place / "init.lua").exists():
            yield f"{TABLE}: {name} is in no file: {module}"
        if name not in used:
            yield f"{TABLE}: no test uses {name}"


sys.exit("\n".join(problems()) or None)
