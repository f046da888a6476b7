"""Hands faster than the screen: an extra key after a decision does no harm, and decides nothing unseen."""

import random
import time

import pytest
from diff_steps import Diffs
from held_timers import CLOSED_DIFF, hold_timers, let_timers_go

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

OLD = "one\ntwo\n"
FILES = {"a.txt": OLD, "b.txt": OLD, "c.txt": OLD}


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files=FILES, args=["a.txt"]))


def press(nvim, keys, pause):
    """Types keys at the speed of fingers."""
    for key in keys:
        nvim.keys(key)
        time.sleep(pause)


@pytest.mark.every_nvim
def test_a_key_for_a_diff_that_was_just_decided_is_no_error(start_nvim):
    diffs = Diffs(start_nvim(files=FILES, args=["a.txt"], opts={"diff": {"layout": "unified"}}))
    nvim = diffs.nvim
    for id, keys in enumerate(["]c", "[c", "dx", "gl", "ZW", "ZQ", "ZZ"], 1):
        diffs.open(id, "b.txt", f"{keys}\n")
        hold_timers(nvim, *CLOSED_DIFF)  # the keys come in time
        nvim.keys("ZZ")
        assert diffs.answer(id)["outcome"] == "saved"
        nvim.keys(keys + ":let g:done = " + str(id) + "<CR>")
        nvim.wait(f"vim.g.done == {id}")
        let_timers_go(nvim)
        diffs.wait_clean()
        assert nvim.lua("return vim.v.errmsg") == "" and nvim.mode() == "n"
        assert nvim.lines() == ["one", "two"]
        nvim.wait("vim.fn.maparg('ZZ', 'n') == ''", what="the keys to be the user's again")


def test_a_key_after_the_decision_is_for_the_screen_below(diffs):
    diffs.nvim.lua("vim.keymap.set('n', 'gl', function() vim.cmd('normal! Gcclast') end)")
    diffs.open(1, "b.txt", "B\n")
    diffs.nvim.keys("ZZgl")
    diffs.nvim.wait(lambda: diffs.nvim.lines() == ["one", "last"])
    assert diffs.answer(1)["outcome"] == "saved"


TURN = """
_G.order, _G.turns = 0, 0
function _G.turn(count)
  order = order + 1
  local id, this = order, turns
  local path = vim.fn.fnamemodify(("%s.txt"):format(({ "a", "b", "c" })[id]), ":p")
  Ide.claude_client.open_diff.run(
    { old_file_path = path, new_file_path = path, new_file_contents = "edit " .. id .. "\\n", tab_name = "tab " .. id },
    function(result)
      answers[id] = { result }
      if result.outcome == "saved" and id < count then
        vim.defer_fn(function() if this == turns then turn(count) end end, 120) -- as the CLI does
      end
    end,
    { id = id, client = 1, name = "open_diff", at = 0 }
  )
end
"""


@pytest.mark.parametrize(
    ("keys", "pause"), [("ZZZZZZ", 0.12), ("ZZZZZZZZ", 0.1), ("ZQZQ", 0.06), ("ZQZZ", 0.12), ("ZZZQZW", 0)]
)
def test_keys_too_many_neither_close_a_window_of_the_user_nor_write_their_file(diffs, keys, pause):
    nvim = diffs.nvim
    hold_timers(nvim, *CLOSED_DIFF)  # on a busy machine, too, no pause between two keys counts as long
    nvim.lua(TURN)
    nvim.lua("vim.o.timeout = false vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'unsaved' }) turn(3)")
    diffs.wait_current(1)
    if pause:
        press(nvim, keys, pause)
    else:
        nvim.keys(keys)
    nvim.lua("_G.quiet = 0 vim.defer_fn(function() _G.quiet = 1 end, 700)")
    nvim.wait("_G.quiet == 1")
    assert nvim.running() and (nvim.project / "a.txt").read_text() == OLD
    assert nvim.lines(1) == ["unsaved", "two"] and nvim.lua("return vim.v.errmsg") == ""


def test_slow_keys_keep_their_meaning(diffs):
    nvim = diffs.nvim
    nvim.lua("vim.keymap.set('n', 'ZQ', function() vim.g.own = 1 end, { buffer = 1 })")
    diffs.open(1, "b.txt", "B\n")
    nvim.keys("ZQZQ")
    diffs.wait_clean()
    nvim.wait("not vim.fn.maparg('ZQ', 'n', false, true).desc", what="the user's own mapping")
    assert nvim.lua("return vim.g.own") is None
    nvim.keys("ZQ")
    nvim.wait("vim.g.own == 1")
    nvim.keys("ZZ")
    assert nvim.terminal.wait_exit() == 0


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", ["q:<CR>", "q::q<CR>", "q/<C-w>c"])
def test_the_command_line_window_is_no_way_to_another_window(diffs, keys):
    """A key too many does nothing after it either, however slowly it comes."""
    nvim = diffs.nvim
    nvim.lua("vim.keymap.set('n', 'ZQ', function() vim.g.own = 1 end, { buffer = 1 })")
    diffs.open(1, "b.txt", "B\n")
    hold_timers(nvim, *CLOSED_DIFF)
    nvim.keys("ZQ")
    assert diffs.answer(1)["outcome"] == "rejected"
    diffs.wait_current(None)
    nvim.keys(keys[:2])
    nvim.wait("vim.fn.getcmdwintype() ~= ''", what="the command-line window")
    nvim.keys(keys[2:])
    nvim.wait("vim.fn.getcmdwintype() == '' and vim.fn.mode() == 'n'", what="the file's window")
    nvim.keys("ZQ:let g:done = 1<CR>")
    nvim.wait("vim.g.done == 1")
    assert nvim.lua("return vim.g.own") is None
    let_timers_go(nvim)
    nvim.wait("not vim.fn.maparg('ZQ', 'n', false, true).desc", what="the user's own mapping")
    nvim.keys("ZQ")
    nvim.wait("vim.g.own == 1")


@pytest.mark.every_nvim
def test_in_another_window_the_keys_keep_their_meaning_at_once(diffs):
    diffs.nvim.cmd("split c.txt | wincmd p")
    diffs.open(1, "b.txt", "B\n")
    diffs.nvim.keys("ZQ")
    diffs.wait_current(None)
    diffs.nvim.keys("ix<Esc><C-w>kZQ")
    diffs.nvim.wait(lambda: diffs.traces()["wins"] == 1)
    assert diffs.nvim.lines() == ["xone", "two"]


@pytest.mark.every_nvim
def test_in_another_window_of_the_buffer_too(diffs):
    nvim = diffs.nvim
    nvim.lua("vim.keymap.set('n', 'gX', function() vim.g.own = vim.v.count end, { buffer = 1 })")
    diffs.open(1, "b.txt", "B\n")
    hold_timers(nvim, *CLOSED_DIFF)
    nvim.keys("ZQ")
    diffs.wait_current(None)
    nvim.keys(":split<CR>3gXZQ")
    nvim.wait("vim.g.own == 3", what="the user's key")
    nvim.wait(lambda: diffs.traces()["wins"] == 1, what="the new window to be closed")
    assert nvim.lua("return vim.fn.maparg('ZQ', 'n')") == ""
    let_timers_go(nvim)


@pytest.mark.every_nvim
def test_a_terminal_gets_no_key_too_many(diffs):
    nvim = diffs.nvim
    nvim.cmd("vsplit | terminal cat")
    nvim.keys("i")
    nvim.wait(lambda: nvim.mode() == "t")
    diffs.open(1, "b.txt", "B\n")
    hold_timers(nvim, *CLOSED_DIFF)
    nvim.keys("ZQ")
    nvim.wait(lambda: nvim.mode() == "t")
    nvim.keys("ZZZQgo<CR>")
    nvim.wait(lambda: sum(line.startswith("go") for line in nvim.screen()) == 2, what="the line and its echo")


def test_the_next_diff_is_not_decided_by_a_key_for_the_one_before(diffs):
    diffs.open(1, "a.txt", "A\n")
    diffs.propose(2, "b.txt", "B\n")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 3)
    diffs.nvim.keys("ZZZZ")
    diffs.wait_current(2)
    assert diffs.outcomes(2) == []
    diffs.nvim.keys("ZZ")
    assert diffs.answer(2)["outcome"] == "saved"


def test_a_second_pair_of_keys_decides(diffs):
    for id, (keys, outcome) in enumerate([("gA", "saved"), ("gX", "rejected")], 1):
        diffs.open(id, "b.txt", "B\n")
        diffs.nvim.keys(keys)
        assert diffs.answer(id)["outcome"] == outcome
        diffs.wait_current(None)


FIRST_SEEN = """
_G.seen_at, _G.decided_at = {}, {}
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace("first seen"), {
  on_win = function(_, _, buf)
    local mark = vim.b[buf].claude_ide or {}
    local id = mark.kind == "proposal" and mark.id
    if id and not seen_at[id] then seen_at[id] = vim.uv.now() end
    return false
  end,
})
vim.api.nvim_create_autocmd("User", { pattern = "ClaudeDiffClosed", callback = function(event)
  decided_at[event.data.id] = vim.uv.now()
end })
"""
# Where `ZZ` and `ZQ` would hit the user's own window: how long after the last key, or after a decision.
HITS = """
_G.hits = {}
local last_at = 0
for _, lhs in ipairs({ "ZZ", "ZQ" }) do
  vim.keymap.set("n", lhs, function()
    local last = before or 0
    for _, at in pairs(decided_at) do last = math.max(last, at) end
    hits[#hits + 1] = vim.uv.now() - last
  end)
end
vim.on_key(function(_, typed)
  if typed and vim.tbl_contains({ "ZZ", "ZQ", "ZW", "gA", "gX" }, typed) then
    _G.before, last_at = last_at, vim.uv.now()
  end
end)
"""
UNSEEN = """
local found = {}
for id, at in pairs(decided_at) do
  if not seen_at[id] or at < seen_at[id] then found[#found + 1] = id end
end
return found
"""


STAND_STILL_WHEN_DRAWN = """
local still = false
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace("stand still when drawn"), {
  on_win = function(_, _, buf)
    local mark = vim.b[buf].claude_ide or {}
    if mark.kind == "proposal" and mark.id == 2 and not still and vim.api.nvim_get_current_buf() == buf then
      still = true
      io.open("still", "w"):close()
      local since = vim.uv.hrtime()
      repeat vim.uv.sleep(5) until vim.uv.fs_stat("typed") and vim.uv.hrtime() - since > 700e6
    end
    return false
  end,
})
"""


@pytest.mark.every_nvim
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_diff_takes_no_key_of_while_neovim_stood_still(diffs, when):
    """Typed right before it was drawn, or after that."""
    nvim = diffs.nvim
    if when == "before":
        nvim.lua(STAND_STILL_WHEN_DRAWN)
    diffs.open(1, "a.txt", "A\n")
    if when == "after":
        nvim.lua(STAND_STILL_WHEN_DRAWN)
    diffs.propose(2, "b.txt", "B\n")
    nvim.wait(lambda: diffs.traces()["tabs"] == 3)
    nvim.keys("ZQ")
    nvim.terminal.wait(lambda: (nvim.project / "still").exists(), what="Neovim to stand still")
    nvim.keys("ZZ:let g:done = 1<CR>")
    (nvim.project / "typed").touch()
    nvim.wait("vim.g.done == 1", what="the keys to be done with")
    assert diffs.outcomes(1) == ["rejected"] and diffs.outcomes(2) == []
    nvim.wait("Ide.proposal.list()[1].seen")
    nvim.keys("ZZ")
    assert diffs.answer(2)["outcome"] == "saved"


HANDS = ["ZZ", "ZQ", "gA", "gX", "ZW<Esc>", "Z", "]c", "dx", "gl", "j", "ix<Esc>", "v<Esc>", ":<Esc>", "q:<C-c><C-c>"]
PLACES = ["tab", "current", "float"]


@pytest.mark.parametrize("seed", [0, 211, 2])
def test_no_hands_are_too_fast(start_nvim, seed):
    """Random keys, at the speed of fingers or all at once, over turns of two and three edits, in every place."""
    rng = random.Random(seed)
    layout = rng.choice(["vertical", "horizontal", "unified"])
    diffs = Diffs(
        start_nvim(files=FILES, args=["a.txt"], opts={"diff": {"open_in": PLACES[seed % 3], "layout": layout}})
    )
    nvim = diffs.nvim
    nvim.lua(FIRST_SEEN + HITS)
    nvim.lua(TURN)
    # Half of a mapping means something else after a timeout; here it never times out, since the machine may be slow.
    nvim.lua("vim.o.timeout = false vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'unsaved' })")
    for _ in range(6):
        nvim.lua(
            "Ide.requests.close_those() order, turns, answers = 0, turns + 1, {} _G.seen_at, _G.decided_at = {}, {}"
        )
        nvim.wait("Ide.guard_closing.staying() == nil")
        count = rng.choice([2, 3])
        nvim.lua("turn(...)", count)
        nvim.wait("next(seen_at) ~= nil", what="the first diff on the screen")
        typed = []
        for _ in range(rng.randint(4, 9)):
            keys = rng.choice(HANDS[:6]) if rng.random() < 0.7 else rng.choice(HANDS)
            typed.append(keys)
            nvim.keys(keys)
            time.sleep(rng.choice([0, 0, 0.03, 0.06, 0.12, 0.2]))
        nvim.keys("<Esc><Esc>")
        assert nvim.running(), typed
        nvim.wait(lambda: nvim.mode() == "n", what=f"normal mode after {typed}")
        assert nvim.lua("return vim.v.errmsg:find('E5108') or vim.v.errmsg:find('traceback')") is None, typed
        assert all(gap >= 550 for gap in nvim.lua("return hits")), (typed, nvim.lua("return hits"))
        assert nvim.lua(UNSEEN) in ([], {}), typed
        assert (nvim.project / "a.txt").read_text() == OLD, typed
        assert nvim.lua("return vim.api.nvim_buf_is_loaded(1) and vim.bo[1].modified"), typed
