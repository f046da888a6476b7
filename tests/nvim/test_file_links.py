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


@pytest.mark.parametrize(
    ("line", "col", "found"),
    [
        ("see `src/[id].tsx:9` for it", 10, ["src/[id].tsx", 9]),
        ("src/[id].tsx:9", 5, ["src/[id].tsx", 9]),
        ("in 'src/a b.lua':4 there", 10, ["src/a b.lua", 4]),
        ('open "src/a b.lua"', 12, ["src/a b.lua"]),
        ("a,b.txt, and more", 2, ["a,b.txt"]),
        ("don't see src/plain.lua, isn't it", 13, ["src/plain.lua"]),
        ("neither `src/[no].tsx` nor", 12, ["src/"]),
    ],
)
def test_of_a_name_with_special_characters_the_whole_file_is_meant(nvim, tmp_path, line, col, found):
    (tmp_path / "src").mkdir()
    for name in ("src/[id].tsx", "src/a b.lua", "src/plain.lua", "a,b.txt"):
        (tmp_path / name).touch()
    link = nvim.lua("return Ide.file_link.existing_at(...)", line, col, [str(tmp_path)])
    assert [link[part] for part in ("path", "lnum", "col") if part in link] == found
