"""Files that a text names: which one a place of a line means."""

import pytest

pytestmark = [pytest.mark.one_nvim, pytest.mark.shared]


@pytest.mark.parametrize(
    ("line", "col", "found"),
    [
        ("see src/a.lua:12:3 for it", 6, ["src/a.lua", 12, 3]),
        ("see `src/a.lua`.", 6, ["src/a.lua"]),
        ("(src/a.lua#L7)", 3, ["src/a.lua", 7]),
        ("src/a.lua(9): error", 2, ["src/a.lua", 9]),
        ("@src/a.lua, and more", 0, ["src/a.lua"]),
        ("at the end: a.lua.", 14, ["a.lua"]),
        ("before  a.lua", 6, ["a.lua"]),
        ("see [the loader](a.txt:17) for it", 6, ["a.txt", 17]),
        ("see [the loader](a.txt:17) for it", 18, ["a.txt", 17]),
        ("Read(src/a.lua:7)", 7, ["src/a.lua", 7]),
        ("Update(src/a.lua) and more", 2, ["src/a.lua"]),
        ("app/(group)/page.tsx:7", 2, ["app/(group)/page.tsx", 7]),
        ("nothing   ", 9, []),
    ],
)
def test_paths_are_found_in_prose(nvim, line, col, found):
    link = nvim.lua("return Ide.file_link.at(...)", line, col) or {}
    assert [link[part] for part in ("path", "lnum", "col") if part in link] == found
