"""What waits for a review is said: at the end of a turn, and once in a project how to be asked. The real CLI: `tests/e2e`."""

import re

import pytest
from journal_steps import Claude
from review_steps import Turn, review, turn

pytestmark = pytest.mark.dealt

A = "one\ntwo\nthree\n"
B = "alpha\nbeta\n"
HOW = "To be asked first: `<S-Tab>` in its terminal"
WAITS = "to review: `:Claude review`"

COUNT_MODES = """
modes = 0
local of_sessions = Ide.sessions_modes
local of_client = of_sessions.of_client
function of_sessions.of_client(client, done)
  of_client(client, function(mode)
    done(mode)
    modes = modes + 1
  end)
end
"""

PLACES = {
    "split": ":split b.txt<CR>:vsplit<CR>G",
    "terminal": ":split | terminal<CR>",
    "scratch": ":new | setlocal buftype=nofile winfixbuf<CR>",
    "tab": ":tabnew b.txt<CR>:split<CR>",
}
WHERE = """
return { vim.api.nvim_get_current_tabpage(), vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf(),
  vim.api.nvim_win_get_cursor(0), #vim.api.nvim_list_tabpages(), vim.api.nvim_get_mode().mode }
"""


@pytest.fixture
def start(start_nvim):
    def begin(columns=200, **more):
        opts = {"review": {}, **more.pop("opts", {})}
        nvim = start_nvim(
            **{"args": ["a.txt"], "files": {"a.txt": A, "b.txt": B}, "notices": True, "opts": opts, **more}
        )
        widen(nvim, columns)
        return nvim

    return begin


@pytest.fixture
def knows(start):
    """A Neovim whose user knows already how to be asked."""

    def begin(**more):
        nvim = start(**more)
        nvim.lua("""
          local folder = vim.fn.stdpath("state") .. "/claude-ide/unasked"
          vim.fn.mkdir(folder, "p")
          vim.fn.writefile({}, folder .. "/" .. Ide.native.digest(Ide.workspace.folders()[1]))
        """)
        return nvim

    return begin


def widen(nvim, columns):
    nvim.terminal.resize(24, columns)
    nvim.wait(f"vim.o.columns == {columns}", what="the size")


def reminders(nvim):
    return [words for words in nvim.notices() if "review" in words]


def said(nvim, words):
    nvim.wait(lambda: reminders(nvim)[-1:] == [words], what=words)


def test_the_first_edit_that_nobody_was_asked_about_says_how_to_be_asked_once_in_a_project(start, connect):
    nvim = start()
    client = connect(nvim)
    going = Turn(nvim, client)
    going.edit("a.txt", A.replace("two", "2"))
    first = f"Claude changed a.txt, +1 −1: `:Claude review` shows it. {HOW}, or terminal.permission_mode."
    said(nvim, first)
    going.edit("b.txt", "beta\n")
    going.end("a.txt", "b.txt")
    said(nvim, first.replace("a.txt, +1 −1", "2 files, +1 −2"))
    turn(nvim, client, a_txt=A.replace("two", "2").replace("one", "1"))
    said(nvim, f"2 files, +2 −3 {WAITS}")
    assert len(reminders(nvim)) == 3

    nvim.leave()
    nvim = start(files={})
    turn(nvim, connect(nvim), a_txt=A)
    said(nvim, f"a.txt, +2 −2 {WAITS}")
    assert len(reminders(nvim)) == 1


def over(nvim, turns=1):
    """Waits until so many turns are over, and what they leave is known."""
    ended = "#vim.tbl_filter(function(event) return event[1] == 'ClaudeTurnEnded' end, events)"
    nvim.wait(f"return {ended} >= {turns}", what="the end of the turn")
    nvim.wait("not Ide.journal_pending.is_open()", what="its changes")


def test_a_turn_of_one_edit_says_it_once(start, connect):
    nvim = start()
    nvim.keep_events("ClaudeTurnEnded")
    client = connect(nvim)
    turn(nvim, client, a_txt=A.replace("two", "2"))
    over(nvim)
    turn(nvim, client, b_txt="beta\n")
    said(nvim, f"2 files, +1 −2 {WAITS}")
    assert len(reminders(nvim)) == 2, reminders(nvim)
    first = reminders(nvim)[0]
    assert first.startswith("Claude changed a.txt, +1 −1: ")


@pytest.mark.parametrize("columns", [80, 200])
def test_a_conflict_with_unsaved_changes_is_said_with_it(knows, connect, columns):
    """On the message line a notice takes the place of the one before."""
    nvim = knows(columns=columns)
    client = connect(nvim)
    nvim.keys("GAmine<Esc>")
    nvim.wait("vim.bo.modified and Ide.watch_conflict.base(vim.fn.bufnr()) ~= nil")
    going = Turn(nvim, client)
    going.edit("a.txt", A.replace("one", "1"))
    nvim.wait("#Ide.watch_conflict.list() == 1")
    going.end("a.txt")
    if columns == 200:
        said(nvim, f"a.txt, +1 −1 {WAITS}. 1 file in conflict with your unsaved changes: `:Claude resolve`")
    else:
        said(nvim, "To review: `:Claude review`. Conflicts: `:Claude resolve`")


def test_another_project_of_the_same_neovim_has_its_own(knows, connect):
    nvim = knows(files={"a.txt": A, "other/.git/HEAD": "", "other/c.txt": "c\n"})
    client = connect(nvim)
    turn(nvim, client, a_txt=A.replace("two", "2"))
    said(nvim, f"a.txt, +1 −1 {WAITS}")
    nvim.cmd("cd other | edit c.txt")
    nvim.wait("Ide.workspace.folders()[1]:find('other$')", what="the other project")
    going = Turn(nvim, client)
    going.edit("other/c.txt", "C\n")
    nvim.wait(lambda: HOW in reminders(nvim)[-1], what="how to be asked")


@pytest.mark.parametrize(
    ("columns", "first", "later"),
    [
        (80, "1 file: `:Claude review`. To be asked: `<S-Tab>` in its terminal.", f"a.txt, +1 −1 {WAITS}"),
        (120, f"Claude changed a.txt, +1 −1: `:Claude review` shows it. {HOW}.", f"a.txt, +1 −1 {WAITS}"),
    ],
)
@pytest.mark.every_nvim
def test_it_is_one_line_that_takes_no_key(start, connect, columns, first, later):
    nvim = start(columns, notices=False)
    client = connect(nvim)
    turn(nvim, client, a_txt=A.replace("two", "2"))
    nvim.wait_screen(first)
    turn(nvim, client, a_txt=A.replace("two", "II"))
    nvim.wait_screen(later)
    nvim.keys("rx")
    nvim.wait("vim.fn.getline(1) == 'xne'", what="the keys to be a command")


def test_the_users_own_key_is_named(knows, connect):
    nvim = knows(init_lua="vim.keymap.set('n', '<leader>cv', '<Plug>(claude-review)')")
    turn(nvim, connect(nvim), a_txt=A.replace("two", "2"))
    said(nvim, "a.txt, +1 −1 to review: `\\cv`")


def test_what_the_mode_of_a_terminal_hides_is_one_line_when_it_can_be_read(start, connect):
    nvim = start(notices=False)
    nvim.keep_events("ClaudeTurnEnded")
    client = connect(nvim)
    nvim.keys(":split | terminal<CR>i")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="terminal mode")
    turn(nvim, client, a_txt=A.replace("two", "2"))
    over(nvim)
    turn(nvim, client, b_txt="beta\n")
    over(nvim, 2)
    nvim.keys("<C-\\><C-n>")
    nvim.wait_screen("Claude changed 2 files, +1 −2: `:Claude review` shows it.")
    assert nvim.lua("return vim.fn.execute('messages')").count(":Claude review") == 1


def test_what_was_accepted_in_a_diff_is_not_said(knows, connect):
    nvim = knows()
    nvim.keep_events("ClaudeTurnEnded")
    client = connect(nvim)
    client.call("closeAllDiffTabs")
    path, text = nvim.project / "a.txt", A.replace("two", "2")
    client.call("getDiagnostics", uri=f"file://{path}")
    nvim.lua("Ide.journal.accepted(...)", str(path), text)
    path.write_text(text)
    client.call("getDiagnostics")
    over(nvim)
    turn(nvim, client, b_txt="beta\n")
    over(nvim, 2)
    said(nvim, f"b.txt, +0 −1 {WAITS}")
    assert len(reminders(nvim)) == 1


def test_a_turn_that_leaves_nothing_new_says_nothing(knows, connect):
    nvim = knows()
    nvim.keep_events("ClaudeTurnEnded")
    client = connect(nvim)
    turn(nvim, client, a_txt=A.replace("two", "2"))
    over(nvim)
    client.call("closeAllDiffTabs")
    client.call("getDiagnostics")
    over(nvim, 2)
    turn(nvim, client, b_txt="beta\n")
    over(nvim, 3)
    assert reminders(nvim) == [f"a.txt, +1 −1 {WAITS}", f"2 files, +1 −2 {WAITS}"]


def test_nothing_is_said_while_the_review_is_open_nor_if_it_is_switched_off(knows, connect):
    nvim = knows()
    nvim.keep_events("ClaudeTurnEnded")
    client = connect(nvim)
    turn(nvim, client, a_txt=A.replace("two", "2"))
    over(nvim)
    review(nvim)
    turn(nvim, client, b_txt="beta\n")
    over(nvim, 2)
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="the review to close")
    nvim.lua("require('claude-ide').setup({ auto_start = false, review = { remind = false } })")
    turn(nvim, client, b_txt="beta\ngamma\n")
    over(nvim, 3)
    assert reminders(nvim) == [f"a.txt, +1 −1 {WAITS}"]


@pytest.mark.parametrize(("mode", "hint"), [("acceptEdits", True), ("auto", True), ("default", False)])
def test_how_to_be_asked_is_said_where_the_mode_does_not_ask(start, connect, mode, hint):
    nvim = start()
    nvim.keep_events("ClaudeTurnEnded")
    nvim.lua(COUNT_MODES)
    claude = Claude(nvim, connect)
    claude.prompt()
    claude.line("user", permissionMode=mode, message={"role": "user", "content": "go on"})
    claude.record("busy")
    nvim.wait("Ide.journal_store.is_busy(1)", what="the turn")
    claude.edit("a.txt", "two", "2", announce=True)
    claude.wait(a_txt=(1, 1))
    nvim.wait("modes == 1", what="the mode")
    claude.record("idle")
    over(nvim)
    nvim.wait(lambda: reminders(nvim) != [], what="a reminder")
    assert ("To be asked" in reminders(nvim)[-1]) is hint


def test_the_notice_of_a_finished_turn_says_it_too(knows, connect):
    nvim = knows(opts={"notify": {"min_turn_ms": 0}})
    claude = Claude(nvim, connect)
    claude.prompt()
    claude.record("busy")
    nvim.wait("Ide.journal_store.is_busy(1)", what="the turn")
    claude.edit("a.txt", "two", "2", announce=True)
    claude.wait(a_txt=(1, 1))
    claude.record("idle")
    nvim.wait(lambda: any("has finished" in words for words in nvim.notices()), what="the notice")
    (finished,) = nvim.notices()
    assert re.fullmatch(rf"Claude has finished after .+\. a\.txt, \+1 −1 {WAITS}", finished), finished


@pytest.mark.every_nvim
@pytest.mark.parametrize("place", PLACES)
def test_the_review_is_reached_from_anywhere_and_leads_back(knows, connect, place):
    nvim = knows(init_lua="vim.keymap.set('n', ',v', '<Plug>(claude-review)')")
    turn(nvim, connect(nvim), a_txt=A.replace("two", "2"), b_txt="beta\n")
    nvim.keys(PLACES[place])
    nvim.wait("#vim.api.nvim_tabpage_list_wins(0) >= 2", what=place)
    before = nvim.lua(WHERE)
    nvim.keys(",v")
    nvim.wait("Ide.review_current.here() ~= nil", what="the review")
    nvim.wait_screen("2 files")
    nvim.keys("q")
    nvim.wait("Ide.review_current.get() == nil", what="the review to close")
    assert nvim.lua(WHERE) == before
