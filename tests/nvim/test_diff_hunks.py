"""The changes of a proposal one by one: dropped, taken back in, counted; the answer has exactly those that are kept."""

import random

import pytest
from diff_steps import Diffs
from test_random_keys import TRACE

pytestmark = pytest.mark.dealt

OLD = "".join(f"line {i}\n" for i in range(1, 31))
NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 10\n", "").replace("line 20\n", "line 20\nmore\nand more\n")

LAYOUTS = ["vertical", "horizontal", "unified"]

HUNKS = """
local hunks = {}
local entry = Ide.proposal_state.entry(vim.b.claude_ide.id)
for _, hunk in ipairs(entry.file.hunks.original) do
  hunks[#hunks + 1] = { hunk.old, hunk.old_count, hunk.new, hunk.new_count }
end
return hunks
"""

DROP = """
local live, entry = Ide.diff_hunks, Ide.proposal_state.entry(vim.b.claude_ide.id)
for _, old in ipairs(...) do
  for _, hunk in ipairs(entry.file.hunks.list) do
    if hunk.old == old then
      live.drop(entry.file.hunks, hunk)
      break
    end
  end
end
return #live.dropped(entry.file.hunks)
"""


@pytest.fixture(params=LAYOUTS)
def diffs(start_nvim, request):
    return Diffs(start_nvim(opts={"diff": {"layout": request.param}}, files={"a.txt": OLD}))


def wait_kept(diffs, kept):
    diffs.nvim.wait(lambda: any(f"{kept} selected" in line for line in diffs.drawn()), what=f"{kept} selected")


def wait_dropped(diffs):
    diffs.nvim.wait(lambda: any("a.txt · dropped" in line for line in diffs.drawn()), what="all of it to be dropped")


@pytest.mark.every_nvim
def test_a_dropped_change_is_not_in_the_answer(diffs):
    diffs.open(1, "a.txt", NEW)
    assert diffs.nvim.cursor() == (3, 0)
    diffs.nvim.keys("dx")
    wait_kept(diffs, "2 of 3")
    assert diffs.accept(1, "a.txt") == NEW.replace("LINE 3", "line 3")


@pytest.mark.every_nvim
def test_undo_brings_a_dropped_change_back(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("20Gdx")
    wait_kept(diffs, "2 of 3")
    assert diffs.nvim.lines() == NEW.replace("more\nand more\n", "").splitlines()
    diffs.nvim.keys("u")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == NEW.splitlines())
    diffs.nvim.wait(lambda: not any(" selected" in line for line in diffs.drawn()))
    assert diffs.accept(1, "a.txt") == NEW


def test_the_same_key_takes_a_dropped_change_after_all(diffs):
    diffs.open(1, "a.txt", NEW)
    for lnum in (3, 10, 20):
        diffs.nvim.keys(f"{lnum}Gdx")
        wait_kept(diffs, "2 of 3")
        diffs.nvim.wait(lambda: any("dropped · dx restores it" in line for line in diffs.drawn()))
        diffs.nvim.keys("dx")
        diffs.nvim.wait(lambda: diffs.nvim.lines() == NEW.splitlines())
        diffs.nvim.wait(lambda: not any(" selected" in line for line in diffs.drawn()))


def test_with_every_change_dropped_accepting_rejects_and_asks_nothing(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("20Gdx")
    wait_kept(diffs, "2 of 3")
    diffs.nvim.keys("10Gdx")
    wait_kept(diffs, "1 of 3")
    diffs.nvim.keys("3Gdx")
    wait_dropped(diffs)
    diffs.reject(1, ":w<CR>")
    diffs.wait_clean()


def test_keys_right_after_the_proposals_window_was_closed(diffs):
    """Before the windows are arranged again, in another one with the proposal."""
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.lua("vim.cmd('split | 3 | wincmd p | close | normal dx')")
    wait_kept(diffs, "2 of 3")
    diffs.nvim.lua("vim.cmd('split | wincmd p | close | normal ]c')")
    assert not diffs.nvim.lua(TRACE)
    assert diffs.accept(1, "a.txt") == OLD.replace("line 10\n", "").replace("line 20\n", "line 20\nmore\nand more\n")


def test_what_the_user_types_besides_is_answered_too(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("dx")
    wait_kept(diffs, "2 of 3")
    assert diffs.accept(1, "a.txt", "GoMINE<Esc>ZZ") == NEW.replace("LINE 3", "line 3") + "MINE\n"


@pytest.mark.every_nvim
def test_neovims_own_diffget_counts(start_nvim):
    diffs = Diffs(start_nvim(files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("do")
    wait_kept(diffs, "2 of 3")
    assert diffs.accept(1, "a.txt") == NEW.replace("LINE 3", "line 3")


def test_where_nothing_changes_the_key_does_nothing(diffs):
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("30Gdx")
    diffs.nvim.wait_screen("There is no change in this line")
    assert diffs.nvim.lines() == NEW.splitlines()


STYLES = ["lf", "crlf", "cr", "old mixed", "new mixed", "both mixed"]


def ends(rng, style, count, side):
    if style == "lf":
        return ["\n"] * count
    if style == "cr":
        return ["\r"] * count
    if style == "crlf" or (style != "both mixed" and not style.startswith(side)):
        return ["\r\n"] * count
    return [rng.choice(["\n", "\r\n"]) for _ in range(count)]


def make(rng, style):
    """A random file and its new version, as lines with their ends."""
    words = [rng.choice(["a", "b", "", "日本", f"{i}"]) for i in range(rng.randint(0, 25))]
    old = [word + end for word, end in zip(words, ends(rng, style, len(words), "old"), strict=True)]
    new = []
    for word, end in zip(words, ends(rng, style, len(words), "new"), strict=True):
        what = rng.random()
        if what < 0.15:
            continue
        new.append(("changed" if what < 0.3 else word) + end)
        if what > 0.85:
            new.append("added" + end)
    old, new = "".join(old), "".join(new)
    if rng.random() < 0.3:
        new = new.rstrip("\r\n") if rng.random() < 0.5 else new
        old = old.rstrip("\r\n")
    return old, new


def apply(old, new, hunks, dropped):
    """The independent oracle: the new lines, with the old ones where a change was dropped."""
    out, at = [], 0
    for old_first, old_count, new_first, new_count in hunks:
        out += new[at : new_first - 1]
        out += (
            old[old_first - 1 : old_first - 1 + old_count]
            if old_first in dropped
            else new[new_first - 1 : new_first - 1 + new_count]
        )
        at = new_first - 1 + new_count
    return out + new[at:]


def split(text, eol):
    """Lines without their ends, and whether the last one had one."""
    if not text:
        return [], False
    lines = text.split(eol)
    final = lines[-1] == ""
    return lines[:-1] if final else lines, final


def eol_of(old, new):
    """The line end that separates lines in both."""
    for text in (new, old):
        if "\n" in text and "\n" in text.replace("\r\n", ""):
            return "\n"
    return "\r\n" if "\r\n" in new else "\n" if "\n" in new else "\r" if "\r" in new else "\n"


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_the_answer_is_exactly_what_is_kept(start_nvim, style):
    rng = random.Random(f"kept {style}")
    diffs = Diffs(start_nvim(opts={"diff": {"layout": "unified"}}))
    tried = 0
    while tried < 25:
        old, new = make(rng, style)
        if old == new or not old or not new or (set("\r\n") & set(old)) != (set("\r\n") & set(new)):
            continue
        (diffs.nvim.project / "r.txt").write_bytes(old.encode())
        number = tried + 1
        diffs.open(number, "r.txt", new)
        hunks = diffs.nvim.lua(HUNKS)
        dropped = [hunk[0] for hunk in hunks if rng.random() < 0.5]
        rng.shuffle(dropped)
        assert diffs.nvim.lua(DROP, dropped) == len(dropped), (old, new, hunks, dropped)
        eol = eol_of(old, new)
        new_lines, final = split(new, eol)
        old_lines, old_final = split(old, eol)
        kept = apply(old_lines, new_lines, hunks, dropped)
        end = hunks and hunks[-1]
        at_end = end and end[0] + end[1] > len(old_lines) and end[2] + end[3] > len(new_lines)
        if dropped and (len(dropped) == len(hunks) or at_end and end[0] in dropped):
            final = old_final
        expected = eol.join(kept) + (eol if final and kept else "")
        diffs.nvim.lua("Ide.proposal.accept(...)", number)
        answer = diffs.answer(number)
        if dropped and expected == old:
            assert answer == {"outcome": "rejected"}, (old, new, hunks, dropped)
        else:
            assert answer == {"outcome": "saved", "contents": expected}, (old, new, hunks, dropped)
        diffs.nvim.lua("Ide.guard_closing.finish()")
        diffs.wait_clean()
        tried += 1


@pytest.mark.every_nvim
def test_dropping_the_end_of_a_text_restores_its_final_newline(start_nvim):
    texts = {"a.txt": "one\ntwo\nthree\n", "b.txt": "one\ntwo\nthree"}
    diffs = Diffs(start_nvim(opts={"diff": {"layout": "unified"}}, files=texts))
    for id, name in [(1, "a.txt"), (2, "b.txt")]:
        old, end = texts[name], "" if name == "a.txt" else "\n"
        new = "ONE\ntwo\nTHREE" + end
        diffs.open(id, name, new)
        diffs.nvim.wait_screen("the final newline")
        diffs.nvim.keys("Gdx")
        wait_kept(diffs, "1 of 2")
        diffs.nvim.wait(lambda: not any("the final newline" in row for row in diffs.drawn()))
        diffs.nvim.keys("dx")
        diffs.nvim.wait_screen("the final newline")
        assert diffs.accept(id, name, "dxZZ") == old.replace("one", "ONE")
        diffs.wait_clean()
    (diffs.nvim.project / "b.txt").write_bytes(b"one\r\ntwo")
    diffs.open(3, "b.txt", "")
    diffs.reject(3, "dxZZ")


def test_dropping_all_changes_restores_the_final_newline(start_nvim):
    diffs = Diffs(start_nvim(opts={"diff": {"layout": "unified"}}, files={"a.txt": "one\ntwo\nthree\n"}))
    diffs.open(1, "a.txt", "ONE\ntwo\nthree")
    diffs.nvim.wait_screen("the final newline")
    diffs.nvim.keys("dx")
    wait_dropped(diffs)
    diffs.reject(1, "ZZ")


def test_dropping_and_taking_an_insertion_comes_back_to_it(start_nvim):
    diffs = Diffs(start_nvim(opts={"diff": {"layout": "vertical"}}, files={"a.txt": OLD}))
    diffs.open(1, "a.txt", NEW)
    diffs.nvim.keys("]c]c")
    diffs.nvim.wait(lambda: diffs.nvim.cursor()[0] == 20)
    for kept in ["2 of 3", None, "2 of 3"]:
        diffs.nvim.keys("dx")
        diffs.nvim.wait(lambda kept=kept: any(f"{kept} selected" in row for row in diffs.drawn()) is (kept is not None))
        assert diffs.nvim.cursor() == (20, 0)
