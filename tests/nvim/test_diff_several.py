"""Several diffs at once, from one client or more, and a turn of several edits in sequence."""

import pytest
from diff_steps import Diffs
from held_timers import CLOSED_DIFF, hold_timers, let_timers_go

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

OLD = "one\ntwo\n"


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files={"a.txt": OLD, "b.txt": OLD, "c.txt": OLD}, args=["a.txt"]))


@pytest.mark.every_nvim
def test_each_has_a_tab_and_the_user_goes_through_them(diffs):
    before = diffs.screen_state()
    diffs.open(1, "a.txt", "A\n")
    diffs.propose(2, "b.txt", "B\n")
    diffs.propose(3, "c.txt", "C\n", client=2)
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 4, what="three tabs of diffs")
    assert diffs.traces()["wins"] == 7
    assert diffs.current() == 1, "a diff never takes the place of one that is looked at"
    assert diffs.accept(1, "a.txt") == "A\n"
    diffs.wait_current(2)
    diffs.nvim.keys("ZQ")
    diffs.wait_current(3)
    assert diffs.answer(2) == {"outcome": "rejected"}
    assert diffs.accept(3, "c.txt") == "C\n"
    diffs.wait_clean()
    diffs.nvim.wait(lambda: diffs.screen_state() == before, what="the windows as they were")


def test_lists_them_the_longest_waiting_first(diffs):
    diffs.open(1, "a.txt", "A\ntwo\n", name="first")
    diffs.propose(2, "b.txt", "one\ntwo\nthree\n", client=2, name="second")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 3)
    listed = diffs.nvim.lua("return Ide.proposal.list()")
    project = str(diffs.nvim.project)
    assert [{key: item[key] for key in item if key != "tab"} for item in listed] == [
        {"id": 1, "source": "Claude", "client": 1, "path": f"{project}/a.txt", "tab_name": "first",
         "added": 1, "removed": 1, "first": 1, "against": "disk", "current": True, "seen": True},
        {"id": 2, "source": "Claude", "client": 2, "path": f"{project}/b.txt", "tab_name": "second",
         "added": 1, "removed": 0, "first": 3, "against": "disk", "current": False, "seen": False},
    ]  # fmt: skip


def test_a_command_acts_on_the_diff_in_this_tab_and_elsewhere_on_the_longest_waiting(diffs):
    assert diffs.nvim.lua("return { Ide.proposal.accept() }")[1] == "No open diffs."
    for id, name in enumerate(("a.txt", "b.txt", "c.txt"), 1):
        diffs.propose(id, name, "new\n")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 4)
    diffs.nvim.lua("Ide.proposal.focus(2)")
    diffs.wait_current(2)
    assert diffs.accept(2, "b.txt", ":Claude accept<CR>") == "new\n"
    assert diffs.outcomes(1) == diffs.outcomes(3) == []
    diffs.wait_current(1)
    diffs.nvim.keys("1gt")
    diffs.wait_current(None)
    diffs.reject(1, ":Claude reject<CR>")
    assert diffs.outcomes(3) == [] and diffs.current() is None


def test_a_second_diff_of_the_same_file_is_one_of_its_own(diffs):
    diffs.open(1, "a.txt", "A\n", name="same")
    diffs.propose(2, "a.txt", "AA\n", name="same")
    diffs.propose(3, "a.txt", "AAA\n", client=2, name="same")
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 4)
    diffs.nvim.keys("ZQ")
    diffs.wait_current(2)
    assert diffs.accept(2, "a.txt") == "AA\n"
    diffs.wait_current(3)
    assert diffs.nvim.lines() == ["AAA"]
    assert diffs.accept(3, "a.txt") == "AAA\n"
    diffs.wait_clean()


def test_a_new_file_can_be_proposed_again(diffs):
    for id in (1, 2):
        diffs.open(id, "new.txt", "new\n", name="new")
        diffs.reject(id)
        diffs.wait_clean()


def test_a_diff_can_be_closed_by_the_path_of_its_file(diffs):
    diffs.open(1, "a.txt", "A\n")
    path = str(diffs.nvim.project / "a.txt")
    assert diffs.nvim.lua("return Ide.claude_client.close_by_name(1, ...)", path) is True
    diffs.wait_clean()


def test_a_caller_that_is_gone_gets_no_answer(diffs):
    before = diffs.screen_state()
    diffs.open(1, "a.txt", "A\n")
    diffs.nvim.lua("Ide.claude_client.open_diff.cancel({ id = 1, client = 1, name = 'open_diff' })")
    diffs.wait_clean()
    assert diffs.outcomes(1) == []
    assert diffs.screen_state() == before
    assert diffs.events()[-1] == ("ClaudeDiffClosed", 1, "closed")


def test_a_diff_that_ends_before_it_is_shown_leaves_nothing(diffs):
    diffs.nvim.lua(
        "propose(1, 1, ...) Ide.claude_client.prompt_submitted(1)",
        str(diffs.nvim.project / "a.txt"),
        "A\n",
        "t",
    )
    assert diffs.answer(1) == {"outcome": "rejected"}
    diffs.wait_clean()


def test_what_the_user_typed_goes_when_they_reject_it(diffs):
    diffs.open(1, "a.txt", "A\n")
    diffs.nvim.keys("omine<Esc>ZQ")
    diffs.answer(1)
    diffs.wait_clean()


WATCH_THE_SCREEN = """
_G.tabs_seen = {}
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace("watch"), {
  on_start = function()
    local name = vim.fn.bufname()
    if tabs_seen[#tabs_seen] ~= name then tabs_seen[#tabs_seen + 1] = name end
  end,
})
"""


@pytest.mark.every_nvim
def test_a_turn_of_five_edits_changes_one_screen(diffs):
    before = diffs.screen_state()
    text = OLD
    hold_timers(diffs.nvim, *CLOSED_DIFF)  # as if the next diff always came in time
    diffs.nvim.lua(WATCH_THE_SCREEN)
    for id in range(1, 6):
        proposal = text + f"edit {id}\n"
        diffs.propose(id, "a.txt", proposal, name=f"edit {id}")
        diffs.wait_current(id)
        diffs.nvim.keys("ZZ")
        text = diffs.accepted(id, "a.txt")
        assert text == proposal
        assert diffs.nvim.lua("return Ide.claude_client.close_by_name(1, ...)", f"edit {id}") is True
    let_timers_go(diffs.nvim)
    diffs.wait_clean()
    shown = diffs.nvim.lua("return tabs_seen")
    ours = [i for i, name in enumerate(shown) if name != "a.txt"]
    # The file may be drawn before the first and after the last, but never between two; none is called "Claude 2".
    assert "a.txt" not in shown[ours[0] : ours[-1]]
    assert {shown[i] for i in ours} <= {"a.txt (Claude)", "a.txt (accepted)"}
    assert [shown[i] for i in ours].count("a.txt (Claude)") == 5
    diffs.nvim.wait(lambda: diffs.nvim.lines() == text.split("\n")[:-1], what="the last edit to be reloaded")
    assert diffs.screen_state()["wins"][0][:4] == before["wins"][0][:4]
    assert diffs.nvim.lua("return vim.bo.modified") is False


@pytest.mark.every_nvim
def test_keys_typed_after_the_decision_go_to_the_file_and_none_is_lost(diffs):
    for id, keys in enumerate(["ZZ", ":w<CR>", ":wq<CR>", "ZQ", ":q<CR>", "<C-w>c", ":tabclose<CR>"], 1):
        diffs.open(id, "b.txt", "B\n")
        diffs.nvim.keys(f"{keys}ihello <Esc>")
        diffs.nvim.wait(lambda: diffs.nvim.lines() == ["hello one", "two"], what=keys)
        diffs.answer(id)
        diffs.wait_clean()
        diffs.nvim.keys("u")
        diffs.nvim.wait(lambda: diffs.nvim.lines() == ["one", "two"])


@pytest.mark.parametrize(("command", "outcome"), [("accept", "saved"), ("reject", "rejected")])
def test_a_command_decides_on_no_diff_that_nobody_has_seen(diffs, command, outcome):
    """As a mapped key would that is pressed twice."""
    nvim = diffs.nvim
    diffs.open(1, "a.txt", "A\n")
    nvim.lua("vim.keymap.set('n', 'gs', '<Cmd>Claude ' .. ... .. '<CR>')", command)
    diffs.propose(2, "b.txt", "B\n")
    nvim.wait("(Ide.proposal.list()[2] or {}).against")
    nvim.keys("gsgs")
    nvim.wait_screen("Look at b.txt first, then accept or reject.")
    assert diffs.answer(1)["outcome"] == outcome
    diffs.wait_current(2)
    assert diffs.outcomes(2) == []
    nvim.keys(f":Claude {command}<CR>")
    assert diffs.answer(2)["outcome"] == outcome


def test_requests_with_the_same_id_are_diffs_of_their_own(diffs):
    diffs.open(1, "a.txt", "A\n")
    diffs.propose(1, "b.txt", "B\n", client=2)
    diffs.nvim.wait(lambda: diffs.traces()["tabs"] == 3)
    diffs.nvim.keys("ZZ")
    diffs.nvim.wait(lambda: diffs.outcomes(1) == ["saved"])
    (diffs.nvim.project / "a.txt").write_text("A\n")
    diffs.wait_current(2)
    diffs.nvim.keys("ZQ")
    diffs.nvim.wait(lambda: diffs.outcomes(1) == ["saved", "rejected"])
    diffs.wait_clean()
