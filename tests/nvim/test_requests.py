"""Waiting requests: two kinds at once, from requesters that come and go."""

import pytest
from diff_steps import Diffs

pytestmark = pytest.mark.one_nvim

KIND = """
local requests = Ide.requests
_G.reported, _G.shown, _G.gone = {}, {}, {}
requests.register("question", {
  one = "question",
  many = "questions",
  present = function(question)
    if question.text == "broken" then error("cannot be shown") end
    shown[#shown + 1] = question.text
  end,
  withdraw = function(question, why)
    gone[#gone + 1] = { question.text, type(why) == "function" and why() or why or "" }
  end,
})
local function requester(name)
  return requests.requester({
    name = name,
    writes = "agent",
    answer = function(handle, answer, err)
      reported[#reported + 1] = { name, handle, answer and answer.outcome or "", err or "" }
      if handle == "raises" then error("the pipe is closed") end
    end,
    tell = function(words) reported[#reported + 1] = { name, "words", words } end,
    cannot_hear = function() end,
  })
end
_G.requesters, _G.asked = { chat = requester("Chat"), agent = requester("Agent") }, {}
function _G.ask(from, handle, text)
  local question = requests.ask("question", requesters[from], handle, { text = text or handle })
  asked[handle] = question
  return question.id
end
function _G.settle(handle, outcome) return requests.settle(asked[handle], { outcome = outcome }) end
function _G.texts()
  return vim.tbl_map(function(question) return question.text end, requests.pending())
end
"""


@pytest.fixture
def nvim(start_nvim):
    nvim = start_nvim(files={"a.txt": "a\n"}, args=["a.txt"])
    nvim.lua(KIND)
    return nvim


def test_a_presenter_shows_it_and_its_requester_gets_the_answer_once(nvim):
    assert nvim.lua("return { ask('chat', 'q7'), ask('agent', 'q7b') }") == [1, 2]
    assert nvim.lua("return shown") == ["q7", "q7b"]
    assert nvim.lua("return { settle('q7', 'blue'), settle('q7', 'red') }") == [True, False]
    assert nvim.lua("return reported") == [["Chat", "q7", "blue", ""]]
    assert nvim.lua("return { texts(), asked.q7.state, asked.q7.handle == nil }") == [["q7b"], "blue", True]
    assert nvim.lua("return gone") == [], "who settles it takes it away"


def test_ids_of_requests_and_requesters_are_not_used_again(nvim):
    ids = nvim.lua("local id = ask('chat', 'a') settle('a', 'x') return { id, ask('chat', 'b') }")
    assert ids == [1, 2]
    assert nvim.lua("return { requesters.chat.id, requesters.agent.id }") == [1, 2]


def test_one_that_waits_longer_comes_first(nvim):
    nvim.lua("ask('chat', 'a') ask('agent', 'b') ask('chat', 'c') settle('a', 'x') ask('agent', 'd')")
    assert nvim.lua("return texts()") == ["b", "c", "d"]


def test_what_its_requester_takes_back_gets_no_answer(nvim):
    nvim.lua("ask('chat', 'a')")
    nvim.lua("Ide.requests.cancel(asked.a, function() return 'taken back' end)")
    assert nvim.lua("return { reported, gone, texts() }") == [[], [["a", "taken back"]], []]
    assert nvim.lua("return { asked.a.state, settle('a', 'late') }") == ["closed", False]
    assert nvim.lua("return reported") == []


def test_what_is_closed_is_answered_that_nobody_decided(nvim):
    nvim.lua("ask('chat', 'a') ask('agent', 'b')")
    count = nvim.lua("return Ide.requests.close_those(function(d) return d.requester == requesters.chat end, 'over')")
    assert count == 1
    assert nvim.lua("return { reported, gone, texts() }") == [[["Chat", "a", "closed", ""]], [["a", "over"]], ["b"]]


def test_a_requester_that_is_gone_leaves_nothing_behind(nvim):
    nvim.lua("ask('chat', 'a') ask('agent', 'b') ask('chat', 'c')")
    nvim.lua("Ide.requests.gone(requesters.chat, 'it has ended')")
    assert nvim.lua("return { reported, gone, texts() }") == [[], [["a", "it has ended"], ["c", "it has ended"]], ["b"]]


def test_what_cannot_be_shown_is_an_error_to_its_requester(nvim):
    nvim.lua("ask('chat', 'a', 'broken')")
    assert nvim.lua("return { reported, texts(), asked.a.state }") == [
        [["Chat", "a", "", "the editor could not ask"]],
        [],
        "closed",
    ]
    assert "question 1 cannot be put before the user" in nvim.log()


def test_a_requester_that_fails_takes_no_other_along(nvim):
    nvim.lua("ask('chat', 'raises') ask('agent', 'b')")
    assert nvim.lua("return Ide.requests.close_those()") == 2
    assert nvim.lua("return { #reported, #gone, texts() }") == [2, 2, []]
    assert "the pipe is closed" in nvim.log()


def test_the_statusline_counts_each_kind(nvim):
    nvim.lua("require('claude-ide').connect()")
    diffs = Diffs(nvim)
    diffs.open(1, "a.txt", "A\n")
    nvim.lua("ask('chat', 'a')")
    assert nvim.lua("return require('claude-ide.statusline').text()") == "Claude not connected · 1 question · 1 diff"
    nvim.lua("ask('agent', 'b')")
    assert nvim.lua("return require('claude-ide.statusline').text()") == "Claude not connected · 2 questions · 1 diff"
    nvim.lua("settle('a', 'x') settle('b', 'y')")
    assert nvim.lua("return require('claude-ide.statusline').text()") == "Claude not connected · 1 diff"
    assert nvim.lua("return require('claude-ide').status().diffs") == 1
    diffs.propose(2, "b.txt", "B\n")
    nvim.wait("require('claude-ide.statusline').text() == 'Claude not connected · 2 diffs'")


EDIT = """
local path = ...
Ide.proposal.propose(requesters.chat, "toolu_1", { path = path, contents = "A\\n" })
"""


def test_an_edit_can_come_from_any_requester(nvim):
    diffs = Diffs(nvim)
    nvim.lua(EDIT, str(nvim.project / "a.txt"))
    diffs.wait_current(1)
    assert nvim.lua("local item = Ide.proposal.list()[1] return { item.source, item.client == nil }") == [
        "Chat",
        True,
    ]
    nvim.keys("gl")  # windows above each other have room for words
    nvim.wait(lambda: "a.txt · Chat's proposal" in "\n".join(diffs.drawn()))
    nvim.lua("vim.ui.select = function(items, opts) _G.label = opts.format_item(items[1]) end")
    nvim.cmd("Claude diffs")
    assert nvim.lua("return label") == "a.txt  +1 −1 · Chat"
    nvim.lua("Ide.proposal.reject(1, 'too loud')")
    nvim.wait("#reported == 2")
    assert nvim.lua("return reported") == [["Chat", "words", "too loud"], ["Chat", "toolu_1", "rejected", ""]]
    diffs.wait_clean()


def test_an_edit_of_a_requester_that_is_gone_goes_too(nvim):
    diffs = Diffs(nvim)
    nvim.lua(EDIT, str(nvim.project / "a.txt"))
    diffs.wait_current(1)
    nvim.lua("ask('agent', 'b') Ide.requests.gone(requesters.chat, 'Chat has ended')")
    diffs.wait_clean()
    assert nvim.lua("return { reported, texts() }") == [[], ["b"]]


def test_a_diff_against_unsaved_text_is_not_accepted_from_afar_in_any_encoding(start_nvim):
    nvim = start_nvim(files={"a.txt": b"na\xefve\ntwo\n"})
    diffs = Diffs(nvim)
    nvim.cmd("edit ++enc=latin1 a.txt")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 1, 1, false, { 'unsaved' })")
    diffs.open(1, "a.txt", "cafe\ntwo\n")
    answer = """
    local diff = Ide.requests.pending()[1]
    local remote = Ide.requests.remote(diff)
    remote.describe(diff)
    return remote.answer(diff, { choice = "accept" })
    """
    assert "unsaved changes" in nvim.lua(answer)
    assert diffs.outcomes(1) == []
