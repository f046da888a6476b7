"""Texts too large for Neovim's diff mode, and everyday ones that are not."""

import re
from pathlib import Path

import pytest
from diff_steps import Diffs
from held_timers import hold_timers, let_timers_go

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

LINES = 200_000


@pytest.fixture
def diffs(start_nvim):
    diffs = Diffs(start_nvim(files={"b.txt": "b\n"}, args=["b.txt"]))
    hold_timers(diffs.nvim, "show a diff without its hunks")  # after 1.5 s it would settle for one change
    return diffs


def propose(diffs, old, new, name="big.txt"):
    """Proposes without passing the text over RPC."""
    project = diffs.nvim.project
    if old:
        (project / name).write_text(old)
    (project / "proposal").write_text(new)
    diffs.nvim.lua(
        """
      local path, from = ...
      local file = assert(io.open(from, "rb"))
      propose(1, 1, path, file:read("*a"), "big")
      file:close()
    """,
        str(project / name),
        str(project / "proposal"),
    )
    diffs.nvim.wait(lambda: diffs.current() == 1, what="the cursor in the proposal")


def text(lines):
    return "".join(line + "\n" for line in lines)


def test_ten_megabytes_are_shown_and_answered_exactly(diffs):
    before = diffs.screen_state()
    old = [f"line {i} {'x' * 38}" for i in range(LINES)]
    new = [*old[:1000], "CHANGED", *old[1001:150_000], "ADDED", *old[150_000:-1], "LAST"]
    propose(diffs, text(old), text(new))
    diffs.nvim.wait_screen(re.compile(r"\+3 −2.*CHANGED", re.DOTALL))
    assert diffs.nvim.cursor() == (1001, 0)
    assert diffs.nvim.lua("return vim.wo.diff") is False
    diffs.nvim.keys("]c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (150_001, 0))
    diffs.nvim.keys("]c]c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (LINES + 1, 0))
    diffs.nvim.keys("[c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (150_001, 0))
    diffs.nvim.keys("ZZ")
    diffs.nvim.wait(lambda: diffs.nvim.lua("return #(answers[1] or {})") == 1)
    assert diffs.nvim.lua("return #answers[1][1].contents") == len(text(new))
    diffs.nvim.keys("<Esc>")
    diffs.wait_current(None)
    (diffs.nvim.project / "big.txt").write_text(text(new))
    diffs.wait_clean()
    assert diffs.screen_state() == before


def test_another_foldmethod_in_its_window_stands_in_no_layouts_way(diffs):
    propose(diffs, text(f"old {i}" for i in range(20_000)), text(f"new {i}" for i in range(20_000)))
    assert diffs.nvim.lua("return vim.wo.diff") is False
    diffs.nvim.cmd("set foldmethod=indent")
    diffs.nvim.lua("vim.v.errmsg = ''")
    diffs.nvim.keys("ZQ")
    assert diffs.answer(1)["outcome"] == "rejected"
    assert diffs.nvim.lua("return vim.v.errmsg") == ""


def test_a_large_new_file(diffs):
    propose(diffs, None, text([f"line {i}" for i in range(LINES)]))
    diffs.nvim.wait_screen(f"+{LINES} −0")
    diffs.reject(1)
    diffs.wait_clean()


def test_a_diff_that_ends_while_it_is_being_made_leaves_nothing(diffs):
    project = diffs.nvim.project
    (project / "big.txt").write_text(text([f"line {i}" for i in range(LINES)]))
    diffs.nvim.lua(
        """
      propose(1, 1, ..., string.rep("other\\n", 200000), "big")
      vim.defer_fn(function() Ide.claude_client.prompt_submitted(1) end, 20)
    """.replace("...", "(...)"),
        str(project / "big.txt"),
    )
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_clean()


@pytest.mark.every_nvim
def test_much_text_is_shown_as_one_whatever_the_layout(diffs):
    old = [f"line {i} " + "x" * 200 for i in range(1, 50_001)]
    propose(diffs, text(old), text([*old[:50], "LINE 51", *old[51:1000], "a", "b", "c", *old[1000:2000], *old[2020:]]))
    nvim = diffs.nvim
    nvim.wait_screen("+4 −21")
    assert nvim.cursor() == (51, 0)
    assert nvim.lua("return { #vim.api.nvim_tabpage_list_wins(0), vim.fn.foldclosedend(1) }") == [1, 44]
    nvim.keys("gl")
    nvim.wait_screen("Only the unified layout can show this.")
    nvim.keys("do")
    nvim.wait_screen("2 of 3 selected")
    assert nvim.lua("return vim.fn.getline(51)").startswith("line 51 ")
    nvim.keys("u")
    nvim.wait_screen("+4 −21")
    diffs.reject(1)
    diffs.nvim.cmd("wincmd t")
    diffs.open(2, "b.txt", "B\n")
    assert diffs.nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 2, "no layout was chosen for what comes next"


def test_changes_everywhere_do_without_diff_mode(diffs):
    old = [f"line {i}" for i in range(20_000)]
    new = [f"LINE {i}" if i % 10 == 5 else line for i, line in enumerate(old)]
    propose(diffs, text(old), text(new))
    diffs.nvim.wait_screen("+2000 −2000")
    assert diffs.nvim.lua("return vim.wo.diff") is False
    diffs.nvim.keys("ZZ")
    diffs.nvim.wait(lambda: diffs.outcomes(1) == ["saved"])


def test_the_diffopt_of_the_user_counts(start_nvim):
    diffs = Diffs(
        start_nvim(
            init_lua='vim.o.diffopt = "internal,filler,iwhiteall,context:1"', files={"a.txt": "a b\nc\nd\ne\nf\n"}
        )
    )
    diffs.open(1, "a.txt", "a    b\nc\nd\ne\nF\n")
    assert diffs.nvim.lua("return vim.o.diffopt") == "internal,filler,iwhiteall,context:1"
    assert diffs.nvim.lua("return { vim.fn.diff_hlID(1, 1), vim.fn.foldclosed(1) }") == [0, 1]
    assert diffs.nvim.cursor() == (5, 0)


HUNKS = """
local diff = Ide.proposal_state.entry(1)
return vim.tbl_map(function(hunk) return { hunk.new, hunk.new_count } end, diff.file.hunks.list)
"""


def everywhere(count, apart=2):
    """Two texts of that many changed lines, which lie that far apart."""
    old = [f"line {i} {'x' * 60}" for i in range(count * apart)]
    return old, [f"CHANGED {i}" if i % apart == 0 else line for i, line in enumerate(old)]


def test_thousands_of_changes_are_marked_one_by_one(diffs):
    old, new = everywhere(5000, 10)
    propose(diffs, text(old), text(new))
    diffs.nvim.wait_screen("+5000 −5000")
    assert len(diffs.nvim.lua(HUNKS)) == 5000
    diffs.nvim.keys("4999]c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor() == (49_991, 0))
    diffs.nvim.keys("dx")
    diffs.nvim.wait_screen("4999 of 5000 selected")
    diffs.reject(1)


def test_of_too_many_changes_the_nearest_are_marked_as_one(diffs):
    old, new = everywhere(25_000)
    new[-2] = old[-2]
    propose(diffs, text(old), text([*new, "far"]))
    diffs.nvim.wait_screen("+25000 −24999")
    hunks = diffs.nvim.lua(HUNKS)
    assert len(hunks) == 20_000
    assert hunks[0] == [1, 3] and hunks[-2] == [49_997, 1] and hunks[-1] == [50_001, 1]
    assert max(count for _, count in hunks) == 3
    diffs.nvim.keys("ZZ")
    diffs.nvim.wait(lambda: diffs.outcomes(1) == ["saved"])


HELD_WORK = """
local new_work, held = vim.uv.new_work, {}
vim.uv.new_work = function(work, after)
  return new_work(work, function(...)
    local results = { ... }
    if held then held[#held + 1] = function() after(unpack(results)) end else after(unpack(results)) end
  end)
end
function _G.work_done() return #held end
function _G.let_work_go()
  local waiting = held
  held = nil
  for _, fn in ipairs(waiting) do fn() end
end
"""


def test_a_slow_comparison_is_said_and_shown_when_it_is_done(diffs):
    nvim = diffs.nvim
    nvim.lua(HELD_WORK)
    old, new = everywhere(3000, 10)
    (nvim.project / "big.txt").write_text(text(old))
    nvim.lua("propose(1, 1, ...)", str(nvim.project / "big.txt"), text(new), "big")
    nvim.wait("work_done() == 1")
    let_timers_go(nvim)
    nvim.wait(lambda: diffs.current() == 1, what="the diff")
    nvim.wait_screen("all marked as one change")
    assert len(nvim.lua(HUNKS)) == 1
    nvim.keys("j")
    nvim.wait(lambda: nvim.cursor() == (2, 0))
    nvim.lua("let_work_go()")
    nvim.wait(lambda: "all marked as one" not in "\n".join(nvim.screen()), what="the warning to go")
    assert len(nvim.lua(HUNKS)) == 3000 and nvim.cursor() == (2, 0)
    nvim.keys("]c")
    nvim.wait(lambda: nvim.cursor() == (11, 0))
    nvim.keys("ZZ")
    nvim.wait(lambda: diffs.outcomes(1) == ["saved"])


@pytest.mark.one_nvim
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is measured on Linux")
def test_memory_of_large_diffs_is_given_back(start_nvim, connect):
    old = "let answer = 41;\n" * 600_000
    nvim = start_nvim(files={"a.txt": old}, args=["a.txt"])
    client, path, most = connect(nvim), str(nvim.project / "a.txt"), 0
    for number in range(1, 4):
        new = old.replace("41", "42", number)
        client.start_call("openDiff", old_file_path=path, new_file_path=path, new_file_contents=new, tab_name="big")
        nvim.wait("#Ide.proposal.list() == 1", what="the diff")
        nvim.wait_screen(f"+{number} −{number}")
        most = max(most, nvim.private_kib())
        client.call("closeAllDiffTabs")
        nvim.wait("#Ide.proposal.list() == 0", what="its end")
    nvim.wait(lambda: nvim.private_kib() < 0.75 * most, what="memory to be given back")
