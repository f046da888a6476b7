"""Two changes of one text as one text."""

import pytest

pytestmark = [pytest.mark.one_nvim, pytest.mark.shared]

BASE = list("abcdefgh")


@pytest.mark.parametrize(
    ("mine", "theirs", "merged", "overlaps"),
    [
        ("abcdefgh", "abXdefgh", "abXdefgh", 0),
        ("abXdefgh", "abcdefgh", "abXdefgh", 0),
        ("Mabcdefgh", "abcdefghT", "MabcdefghT", 0),
        ("aMcdefgh", "abTdefgh", "aMTdefgh", 0),  # side by side
        ("abTdefgh", "aMcdefgh", "aMTdefgh", 0),
        ("aMcdefgh", "aTcdefgh", "aTcdefgh", 1),  # theirs
        ("aScdefgh", "aScdefgh", "aScdefgh", 0),  # the same
        ("abMcdefgh", "abTcdefgh", "abMTcdefgh", 1),  # two insertions in one place
        ("abMcdefgh", "abTdefgh", "abMTdefgh", 1),  # an insertion beside a change: before or after it?
        ("abcMdefgh", "abTdefgh", "abTMdefgh", 1),
        ("abMdefgh", "abTcdefgh", "abTMdefgh", 1),
        ("abMdefgh", "abcTdefgh", "abMTdefgh", 1),
        ("abMcNdefgh", "abTdefgh", "abMTNdefgh", 1),
        ("abcdefghM", "abcdefghT", "abcdefghMT", 1),
        ("abcdefghM", "abcdefgT", "abcdefgTM", 1),
        ("abMcdefgh", "abMTdefgh", "abMTdefgh", 1),  # the same line, and more
        ("abcMdefgh", "abTMdefgh", "abTMdefgh", 1),
        ("abMcdefgh", "abTUfgh", "abMTUfgh", 1),
        ("abcMdefgh", "abTUfgh", None, 1),  # among lines that they changed
        ("aMcdNefgh", "aTcdefgh", "aTcdNefgh", 1),  # a clash, and something else
        ("adefgh", "abcdTefgh", "adTefgh", 0),
        ("afgh", "abXdefgh", None, 1),
        ("cdefghMN", "abcdXefgh", "cdXefghMN", 0),
        ("", "abcdefghT", None, 1),
    ],
)
def test_what_does_not_meet_is_kept_whole(nvim, mine, theirs, merged, overlaps):
    got = nvim.lua("return { require('claude-ide.merge').three_way(...) }", BASE, list(mine), list(theirs))
    assert got[1] == overlaps
    if merged:
        assert "".join(got[0]) == merged


def test_order_of_the_two_does_not_matter_where_nothing_overlaps(nvim):
    wrong = nvim.lua("""
      local three_way = require("claude-ide.merge").three_way
      math.randomseed(7)
      local function change(text)
        local out = {}
        for i, line in ipairs(text) do
          local what = math.random(8)
          if what == 1 then out[#out + 1] = line .. math.random(99) elseif what ~= 2 then out[#out + 1] = line end
          if what == 3 then out[#out + 1] = "new " .. math.random(99) end
        end
        return out
      end
      local checked, wrong = 0, {}
      for _ = 1, 500 do
        local base = {}
        for i = 1, math.random(0, 12) do base[i] = "line " .. math.random(6) end
        local mine, theirs = change(base), change(base)
        local one, overlaps = three_way(base, mine, theirs)
        local other, again = three_way(base, theirs, mine)
        if overlaps ~= again or (overlaps == 0 and not vim.deep_equal(one, other)) then wrong[#wrong + 1] = base end
        if not vim.deep_equal(three_way(base, base, theirs), theirs) then wrong[#wrong + 1] = base end
        if not vim.deep_equal(three_way(base, mine, base), mine) then wrong[#wrong + 1] = base end
        checked = checked + (overlaps == 0 and 1 or 0)
      end
      return { wrong, checked }
    """)
    assert wrong[0] == []
    assert wrong[1] > 50
