"""Reading files of any kind: an unreadable one is reported, and none blocks."""

import os

import pytest

pytestmark = pytest.mark.dealt

READ = """
local path = ...
local file, result = require("claude-ide.base.file"), nil
file.read_later(path, 1000, function(bytes, why_not, stat) result = { bytes or false, why_not or false, stat ~= nil } end)
vim.wait(120000, function() return result ~= nil end, 5)
local bytes, why_not = file.read_now(path, 1000)
return { result, { bytes or false, why_not or false }, file.read_start(path, 1) or false }
"""


@pytest.mark.parametrize("kind", ["text", "pipe", "folder", "large", "gone"])
def test_what_is_no_file_holds_nothing_up(nvim, kind):
    path = nvim.project / "it"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "gone":
        path.write_bytes(b"x\0y" if kind == "text" else b"x" * 1001)
    later, now, start = nvim.lua(READ, str(path))
    said = {"text": False, "gone": "missing", "large": "large"}.get(kind, "unreadable")
    assert later == ["x\0y" if kind == "text" else False, said, kind != "gone"]
    assert now == later[:2]
    assert start == ("x" if kind in ("text", "large") else False)


def test_what_the_system_makes_up_is_read_and_waits_for_nothing(nvim):
    start = "return require('claude-ide.base.file').read_start(...)"
    assert "processor" in nvim.lua(start, "/proc/cpuinfo", 1000)
    assert nvim.lua(start, "/proc/kmsg", 10_000_000) is not False


def test_private_files_are_the_owners_and_new_ones_take_no_place(nvim):
    write = "return require('claude-ide.base.file').write_private(...)"
    path = nvim.project / "secret"
    assert nvim.lua(write, str(path), "a", True)
    assert not nvim.lua(write, str(path), "b", True), "there is one"
    assert nvim.lua(write, str(path), "c", False)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("c", 0o600)


def test_writing_waits_for_no_reader_of_a_pipe(nvim):
    path = nvim.project / "pipe"
    os.mkfifo(path)
    assert "ENXIO" in nvim.lua(
        "return select(2, require('claude-ide.edits.journal.write').to_disk(..., 'x'))", str(path)
    )
