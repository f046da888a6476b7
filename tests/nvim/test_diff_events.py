"""The `User` events of clients and diffs with all their data: other people's configurations rely on them."""

import pytest
from diff_steps import Diffs

pytestmark = pytest.mark.dealt


@pytest.fixture
def diffs(start_nvim):
    diffs = Diffs(start_nvim(files={"a.txt": "a\n", "b.txt": "b\n"}, args=["a.txt"]))
    diffs.nvim.keep_events("ClaudeDiff*", "Claude*onnected")
    return diffs


def seen(diffs, count):
    diffs.nvim.wait(lambda: len(diffs.nvim.events()) == count, what=f"{count} events")
    return diffs.nvim.events()


ENDS = {
    "accepted": "require('claude-ide').accept()",
    "rejected": "require('claude-ide').reject()",
    "closed": "Ide.claude_client.close_by_name(7, 'the tab')",
}


@pytest.mark.parametrize("outcome, end", ENDS.items(), ids=ENDS)
def test_a_diff_tells_when_it_is_there_and_how_it_ended(diffs, outcome, end):
    diffs.open(1, "b.txt", "B\n", client=7, name="the tab")
    about = {"id": 1, "client": 7, "path": str(diffs.nvim.project / "b.txt"), "tab_name": "the tab"}
    assert seen(diffs, 1) == [["ClaudeDiffOpened", about]]
    diffs.nvim.lua(end)
    assert seen(diffs, 2)[1] == ["ClaudeDiffClosed", {**about, "outcome": outcome}]


@pytest.mark.every_nvim
def test_at_the_event_the_diff_is_what_it_says(diffs):
    diffs.nvim.lua("""
      vim.api.nvim_create_autocmd("User", { pattern = "ClaudeDiffOpened", callback = function()
        _G.opened = { vim.fn.bufname(), Ide.proposal.count() }
      end })
      vim.api.nvim_create_autocmd("User", { pattern = "ClaudeDiffClosed", callback = function()
        _G.closed = Ide.proposal.count()
      end })
    """)
    diffs.open(1, "b.txt", "B\n")
    assert diffs.nvim.lua("return _G.opened") == ["b.txt (Claude)", 1]
    diffs.nvim.keys("ZQ")
    diffs.nvim.wait("_G.closed ~= nil")
    assert diffs.nvim.lua("return _G.closed") == 0


def test_one_that_was_never_on_the_screen_tells_its_end_only(diffs):
    diffs.nvim.keys("ihello")
    diffs.nvim.wait(lambda: diffs.nvim.mode() == "i")
    diffs.propose(1, "b.txt", "B\n", client=3)
    diffs.nvim.wait("Ide.proposal.count() == 1")
    diffs.nvim.lua("Ide.claude_client.prompt_submitted(3)")
    ((name, data),) = seen(diffs, 1)
    assert (name, data["id"], data["client"], data["outcome"]) == ("ClaudeDiffClosed", 1, 3, "closed")


@pytest.mark.every_nvim
def test_a_client_tells_when_it_comes_and_why_it_went(diffs, connect):
    nvim = diffs.nvim
    client = connect(nvim)
    ((name, data),) = seen(diffs, 1)
    assert name == "ClaudeConnected" and list(data) == ["client"]
    about = data["client"]
    assert (about["id"], about["name"], about["state"]) == (1, "claude-code", "ready")
    assert about["roots"] in ([str(nvim.project)], [])  # a slow client's roots are not awaited
    assert about["version"]
    client.notify("ide_connected", {"pid": 4711})
    nvim.wait("Ide.server.client(1).pid == 4711")
    client.close()
    name, data = seen(diffs, 2)[1]
    assert name == "ClaudeDisconnected" and sorted(data) == ["client", "reason"]
    assert (data["client"]["id"], data["client"]["pid"]) == (1, 4711)
    assert isinstance(data["reason"], str) and data["reason"]


def test_a_client_that_never_got_ready_tells_nothing(diffs, connect):
    early = connect(diffs.nvim, initialize=False)
    early.close()
    connect(diffs.nvim)
    assert [name for name, _ in seen(diffs, 1)] == ["ClaudeConnected"]
