"""Reading files of any kind: an unreadable one is reported, and none blocks."""

import os
import struct

import pytest

pytestmark = pytest.mark.dealt

READ = """
local path = ...
local file, result = Ide.file, nil
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
    start = "return Ide.file.read_start(...)"
    assert "processor" in nvim.lua(start, "/proc/cpuinfo", 1000)
    assert nvim.lua(start, "/proc/kmsg", 10_000_000) is not False


def test_private_files_are_the_owners_and_new_ones_take_no_place(nvim):
    write = "return Ide.file.write_private(...)"
    path = nvim.project / "secret"
    assert nvim.lua(write, str(path), "a", True)
    assert not nvim.lua(write, str(path), "b", True), "there is one"
    assert nvim.lua(write, str(path), "c", False)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("c", 0o600)


def test_writing_waits_for_no_reader_of_a_pipe(nvim):
    path = nvim.project / "pipe"
    os.mkfifo(path)
    assert "No such device" in nvim.lua("return select(2, Ide.journal_write.to_disk(..., 'x'))", str(path))


WRITE = "return { Ide.journal_write.to_disk(...) }"


def test_a_file_written_whole_keeps_its_attributes_and_who_may_use_it(nvim):
    path = nvim.project / "it"
    path.write_text("old\n")
    # Another user may write, the group only read: in the mode alone both are the group's.
    entries = ((1, 6, -1), (2, 6, 12345), (4, 4, -1), (0x10, 6, -1), (0x20, 4, -1))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    attributes = {"user.note": b"kept", "user.empty": b"", "system.posix_acl_access": acl}
    try:
        for name, value in attributes.items():
            os.setxattr(path, name, value)
    except OSError as error:
        pytest.skip(f"the file system has no attributes: {error}")
    inode = path.stat().st_ino
    assert nvim.lua(WRITE, str(path), "new\n") == [True]
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new\n", 0o664)
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes
    assert path.stat().st_ino != inode, "it was replaced as a whole"


@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_killed_neovim_left_beside_a_file_keeps_nobody_from_writing(nvim, is_new):
    path = nvim.project / "it"
    if not is_new:
        path.write_text("old\n")
    left = nvim.project / f".it.{nvim.lua('return vim.uv.os_getpid()')}.tmp"
    left.write_text("half")
    assert nvim.lua(WRITE, str(path), "new\n") == [True]
    assert (path.read_text(), left.exists()) == ("new\n", False)


def test_another_name_of_a_file_stays_one(nvim):
    path, other = nvim.project / "it", nvim.project / "other"
    path.write_text("old text\n")
    os.link(path, other)
    link = nvim.project / "link"
    link.symlink_to(path)
    for text in ("a longer text than before\n", "short\n"):
        assert nvim.lua(WRITE, str(link), text) == [True]
        assert (path.read_text(), other.read_text(), link.is_symlink()) == (text, text, True)
