"""Byte columns and UTF-16 columns."""

import pytest

pytestmark = [pytest.mark.dealt, pytest.mark.shared]

CHECK = """
local position = Ide.position
-- a, a character outside the basic plane, b, two bytes that are no UTF-8, e with a combining mark
local line = "a\\240\\159\\152\\128b\\255\\195e\\204\\129"
"""


def test_counts_utf16_units_up_to_a_byte(nvim):
    units = nvim.lua(CHECK + "return vim.tbl_map(function(col) return position.utf16(line, col) end, vim.fn.range(14))")
    assert units == [0, 1, 1, 1, 1, 3, 4, 5, 6, 7, 7, 8, 8, 8]


def test_finds_the_byte_of_a_utf16_unit(nvim):
    cols = nvim.lua(CHECK + "return vim.tbl_map(function(unit) return position.byte(line, unit) end, vim.fn.range(10))")
    assert cols == [0, 1, 1, 5, 6, 7, 8, 9, 11, 11]


def test_a_negative_column_is_the_start(nvim):
    assert nvim.lua(CHECK + "return { position.utf16(line, -1), position.byte(line, -5) }") == [0, 0]


def test_a_character_ends_after_its_combining_marks(nvim):
    ends = nvim.lua(
        CHECK + "return vim.tbl_map(function(col) return position.after(line, col) end, { 0, 1, 6, 8, 11, 50 })"
    )
    assert ends == [1, 5, 7, 11, 11, 11]


def test_cuts_only_between_characters(nvim):
    lengths = nvim.lua(
        CHECK + "return vim.tbl_map(function(n) return #position.truncate('a😀é€z', n) end, vim.fn.range(13))"
    )
    assert lengths == [0, 1, 1, 1, 1, 5, 5, 7, 7, 7, 10, 11, 11]


def test_replaces_each_byte_that_is_no_utf8(nvim):
    bad = {
        "overlong": ("\\192\\175", 2),
        "surrogate": ("\\237\\160\\128", 3),
        "past the last": ("\\244\\144\\128\\128", 4),
        "cut short": ("\\226\\130", 2),
        "alone": ("\\128", 1),
    }
    for name, (escaped, count) in bad.items():
        text, units = nvim.lua(f'local p = Ide.position local s = "x{escaped}y" return {{ p.valid(s), p.length(s) }}')
        assert (text, units) == ("x" + "\ufffd" * count + "y", count + 2), name
    assert nvim.lua('return Ide.position.valid("é😀\\n\\0z")') == "é😀\n\0z"
