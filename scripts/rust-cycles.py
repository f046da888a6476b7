"""Checks the dependencies between the modules of each crate: `python3 scripts/rust-cycles.py`. Fails on a cycle.

A module depends on those that define what its code names. So a re-export is no dependency, nor is the declaration of a
child; a parent and its child are a cycle if each names items of the other. Code for tests does not count.

`--print` lists each module with its dependencies.
"""

import pathlib
import re
import sys

# Comments and literals. A lifetime is no character.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\''|\\[^\n']+'|[^\\'\n]')""", re.DOTALL
)
ATTRIBUTE = re.compile(r"#!?\[(?:[^\[\]]|\[[^\]]*\])*\]")
FOR_TESTS = re.compile(r"#\[cfg\((?:test|(?:any|all)\(test)\b")
CHILD = re.compile(r"\bmod\s+(\w+)\s*;")
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:.$])[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+")


def blank(found):
    """Keeps the lines, which messages name."""
    return "\n" * found[0].count("\n")


def item_end(code, start):
    """Where the item at `start` ends: behind its `;`, its `,` or its closing brace."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] in "{([") - (code[at] in "})]")
        if depth == 0 and code[at] in ";,}":
            return at + 1
    return len(code)


def code_of(text):
    """A file without comments, literals, attributes, and what is compiled for tests only."""
    code = NO_CODE.sub(blank, text)
    while found := FOR_TESTS.search(code):
        end = item_end(code, ATTRIBUTE.match(code, found.start()).end())
        code = code[: found.start()] + "\n" * code.count("\n", found.start(), end) + code[end:]
    return ATTRIBUTE.sub(blank, code)


def imports(tree):
    """The paths that a `use` imports, each with its name here: `a::{b, c as d}` has `a::b` as `b`, `a::c` as `d`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, name = tree.partition(" as ")
        parts = [part.strip() for part in path.split("::")]
        parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
        yield parts, name.strip() or parts[-1]
        return
    depth, begin = 0, 0
    inside = rest[: rest.rindex("}")] + ","
    for at, char in enumerate(inside):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if part := inside[begin:at].strip():
                yield from imports(head + part)
            begin = at + 1


class Module:
    def __init__(self, path, file):
        code = code_of(file.read_text())
        self.file = file
        self.children = sorted(CHILD.findall(code))
        # What each name stands for, and the paths that the code names, each with its line.
        self.names = {child: ["self", child] for child in self.children}
        self.named = []
        rest = CHILD.sub(blank, USE.sub(blank, code))
        for found in USE.finditer(code):
            for parts, name in imports(" ".join(found[2].split())):
                self.names.setdefault(name, parts)
                if not found[1] or re.search(rf"\b{re.escape(name)}\b", rest):
                    self.named.append((parts, code.count("\n", 0, found.start(2)) + 1))
        for found in PATH.finditer(rest):
            self.named.append((re.split(r"\s*::\s*", found[0]), rest.count("\n", 0, found.start()) + 1))


def read_crate(folder):
    """The modules of a crate by path; that of its root is empty."""
    modules = {}

    def read(path, file, below):
        modules[path] = Module(path, file)
        for child in modules[path].children:
            flat, nested = below / f"{child}.rs", below / child / "mod.rs"
            read((*path, child), flat if flat.exists() else nested, below / child)

    read((), folder / "lib.rs", folder)
    return modules


def definition(modules, path, parts):
    """The module that defines what `parts` name in the module `path`, and the item. `None` for a module, and for what
    is not of this crate."""
    rest = list(parts)
    if rest[0] == "crate":
        path, rest = (), rest[1:]
    elif rest[0] not in ("self", "super") and rest[0] not in modules[path].names:
        return None
    while rest and rest[0] in ("self", "super"):
        path = path[:-1] if rest.pop(0) == "super" else path
    while rest:
        if rest[0] in modules[path].children:
            path = (*path, rest.pop(0))
            continue
        meant = modules[path].names.get(rest[0])
        if meant and meant != rest[: len(meant)]:
            return definition(modules, path, meant + rest[1:])
        return path, rest[0]
    return None


def dependencies(modules):
    """For each module those that it depends on: the items that it names of each, with the first line."""
    graph = {path: {} for path in modules}
    for path, module in modules.items():
        for parts, line in module.named:
            found = definition(modules, path, parts)
            if found and found[0] != path:
                graph[path].setdefault(found[0], {}).setdefault(found[1], line)
    return graph


def cycles(graph):
    """The sets of modules that depend on each other (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(path):
        index[path] = low[path] = len(index)
        stack.append(path)
        for other in graph[path]:
            if other not in index:
                visit(other)
                low[path] = min(low[path], low[other])
            elif other in stack:
                low[path] = min(low[path], index[other])
        if low[path] == index[path]:
            at = stack.index(path)
            if len(stack) > at + 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for path in graph:
        if path not in index:
            visit(path)
    return found


def name_of(path):
    return "::".join(("crate", *path))


def main():
    problems = []
    for folder in sorted(pathlib.Path("crates").glob("*/src")):
        modules = read_crate(folder)
        graph = dependencies(modules)
        if "--print" in sys.argv:
            for path, others in sorted(graph.items()):
                print(f"{folder.parent.name} {name_of(path)}: {', '.join(map(name_of, sorted(others)))}")
        for members in cycles(graph):
            lines = [f"{folder.parent}: a cycle of {len(members)} modules:"]
            for path in members:
                for other, items in graph[path].items():
                    if other in members:
                        place = f"{modules[path].file}:{min(items.values())}"
                        lines.append(f"  {name_of(path)} → {name_of(other)}: {', '.join(sorted(items))} ({place})")
            problems.append("\n".join(lines))
    sys.exit("\n".join(problems) or None)


main()
