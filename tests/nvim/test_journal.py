"""The journal of turns: Claude's unasked changes, made by a client that behaves like the CLI."""

import os

import pytest

pytestmark = pytest.mark.dealt

START = "Ide.server.start()"
TEXT = "".join(f"line {i}\n" for i in range(1, 21))


@pytest.fixture
def claude(start_nvim, connect):
    """A client that edits files like the CLI in acceptEdits mode."""
    nvim = start_nvim(args=["a.txt"], files={"a.txt": TEXT, "b.txt": "b\n"}, notices=True)
    nvim.keep_events("ClaudeTurn*", "ClaudeFileChanged")
    return Claude(nvim, connect(nvim))


class Claude:
    def __init__(self, nvim, client):
        self.nvim, self.client = nvim, client
        self.project = nvim.project

    def prompt(self):
        self.client.call("closeAllDiffTabs")

    def edit(self, name, old, new):
        path = self.project / name
        self.write(name, path.read_bytes().replace(old.encode(), new.encode()))

    def write(self, name, content):
        path = self.project / name
        self.client.call("getDiagnostics", uri=f"file://{path}")
        new = path.with_name(path.name + ".tmp")
        new.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.replace(new, path)

    def done(self):
        """Ends the turn, and waits until Neovim has noticed its writes."""
        ended = "#vim.tbl_filter(function(e) return e[1] == 'ClaudeTurnEnded' end, events)"
        known = self.nvim.lua(f"return {ended}")
        self.client.call("getDiagnostics")
        self.nvim.wait(f"return {ended} > {known}")

    def turn(self, *edits):
        self.prompt()
        for edit in edits:
            self.edit(*edit)
        self.done()

    def changes(self, scope="unreviewed"):
        return self.nvim.lua("return Ide.journal.changes(...)", scope)

    def decide(self, action, *args):
        return self.nvim.lua(
            f"local ok, err = Ide.journal_undo.{action}(...) return {{ ok == true, err or '' }}",
            *[str(arg) for arg in args],
        )

    def text(self, name="a.txt"):
        return (self.project / name).read_text()


def states(change):
    return [hunk["state"] for hunk in change["hunks"]]


def test_an_edit_that_nobody_asked_about_is_known(claude):
    claude.turn(("a.txt", "line 3\n", "LINE 3\nand more\n"))
    (change,) = claude.changes()
    assert change["path"] == str(claude.project / "a.txt")
    assert (change["kind"], change["source"], change["turns"]) == ("modified", "announced", [1])
    assert (change["added"], change["removed"], change["conflicts"]) == (2, 1, 0)
    assert change["before"] == change["without"] == TEXT
    assert change["after"] == change["current"] == claude.text()
    assert change["hunks"] == [
        {
            "before_start": 3,
            "before_lines": ["line 3"],
            "after_start": 3,
            "after_lines": ["LINE 3", "and more"],
            "current_start": 3,
            "state": "claude",
            "reviewed": False,
            "calls": [],
        }
    ]


def test_turns_and_events(claude):
    claude.turn(("a.txt", "line 3\n", "x\n"))
    claude.turn(("a.txt", "line 9\n", "y\n"), ("b.txt", "b", "c"))
    first, second = claude.nvim.lua("return Ide.journal.turns()")
    assert first["files"] == [str(claude.project / "a.txt")]
    assert sorted(second["files"]) == [str(claude.project / name) for name in ("a.txt", "b.txt")]
    assert second["started"] <= second["ended"]
    assert [name for name, _ in claude.nvim.events()] == [
        "ClaudeTurnStarted", "ClaudeFileChanged", "ClaudeTurnEnded",
        "ClaudeTurnStarted", "ClaudeFileChanged", "ClaudeFileChanged", "ClaudeTurnEnded",
    ]  # fmt: skip
    scopes = ("unreviewed", "turn", "session", "all", 1, 2)
    assert [len(claude.changes(scope)) for scope in scopes] == [2, 2, 2, 2, 1, 2]
    assert [len(change["hunks"]) for change in claude.changes("turn")] == [1, 1]


@pytest.mark.every_nvim
def test_unsaved_changes_are_neither_undone_nor_saved(claude):
    nvim = claude.nvim
    claude.turn(("a.txt", "line 3\n", "LINE 3\n"))
    nvim.wait("vim.fn.getline(3) == 'LINE 3'")
    nvim.keys("Goown<Esc>")
    nvim.wait("vim.fn.getline('$') == 'own'")
    after = claude.text()
    assert claude.decide("undo", claude.project / "a.txt")[0] is True
    assert nvim.lines() == [*TEXT.splitlines(), "own"]
    assert (nvim.lua("return vim.bo.modified"), claude.text()) == (True, after)


HOLD_READS = """
local files, deferred = Ide.file, {}
local read_later = files.read_later
files.read_later = function(path, max_bytes, done)
  read_later(path, max_bytes, function(...)
    local got, count = { ... }, select("#", ...)
    deferred[#deferred + 1] = function() done(unpack(got, 1, count)) end
  end)
end
function reads_held() return #deferred end
function let_reads_go()
  files.read_later = read_later
  for _, tell in ipairs(deferred) do tell() end
end
"""
"""Background reads are reported late: on a busy machine the file has other content by then."""


@pytest.mark.parametrize("is_watched", [True, False])
def test_what_was_read_before_the_next_edit_of_a_turn_is_not_what_the_file_holds(claude, is_watched):
    """The end of edits is announced after each step of a turn, before the file's watch is heard or after it."""
    if not is_watched:
        claude.nvim.lua("Ide.watch_files.follow = function() return function() end end")
    claude.prompt()
    claude.nvim.lua(HOLD_READS)

    def wait_read(known):
        claude.nvim.wait(f"reads_held() > {known}", what="the edit to be read")

    for old in "line 3\n", "line 9\n":
        known = claude.nvim.lua("return reads_held()")
        claude.edit("a.txt", old, old.upper())
        if is_watched:
            wait_read(known)
            known += 1
        claude.client.call("getDiagnostics")
        wait_read(known)
    claude.nvim.lua("let_reads_go()")
    claude.nvim.wait("Ide.journal.turns()[1].ended ~= nil", what="the end of the turn")
    claude.nvim.wait("#Ide.journal.changes()[1].hunks == 2", what="both edits")
    (change,) = claude.changes()
    assert [hunk["after_lines"] for hunk in change["hunks"]] == [["LINE 3"], ["LINE 9"]]
    results = claude.nvim.undo_turn()
    assert [result["ok"] for result in results] == [True]
    assert claude.text() == TEXT


READ_LATE = """
local files, late = Ide.file, {}
local read_later = files.read_later
files.read_later = function(...) late[#late + 1] = { ... } end
function reads_held() return #late end
function let_reads_go()
  files.read_later = read_later
  for _, given in ipairs(late) do read_later(unpack(given)) end
end
"""
"""Background reads happen late."""


def test_what_is_read_late_of_a_turn_is_not_what_the_next_one_wrote(claude):
    """A queued prompt begins its turn at once."""
    claude.nvim.lua("Ide.watch_files.follow = function() return function() end end")  # still later
    claude.nvim.lua(READ_LATE)
    claude.prompt()
    claude.edit("a.txt", "line 3\n", "LINE 3\n")
    claude.client.call("getDiagnostics")
    claude.nvim.wait("reads_held() > 0", what="the first edit to be read")
    claude.prompt()
    claude.edit("a.txt", "line 9\n", "LINE 9\n")
    claude.nvim.lua("let_reads_go()")
    claude.done()
    hunks = [[hunk["after_lines"] for hunk in change["hunks"]] for turn in (1, 2) for change in claude.changes(turn)]
    assert hunks == [[["LINE 3"]], [["LINE 9"]]]
    assert [result["ok"] for result in claude.nvim.undo_turn()] == [True]
    assert claude.text() == TEXT.replace("line 3\n", "LINE 3\n")


def test_what_others_write_while_the_end_of_a_turn_is_read_is_not_its(claude):
    claude.nvim.lua("Ide.watch_files.follow = function() return function() end end")
    claude.nvim.lua(HOLD_READS)
    claude.prompt()
    claude.edit("a.txt", "line 3\n", "LINE 3\n")
    path = claude.project / "a.txt"
    for read in (
        lambda: claude.nvim.lua("Ide.journal.landed(...)", str(path)),  # as the watch does
        lambda: claude.client.call("getDiagnostics"),
    ):
        known = claude.nvim.lua("return reads_held()")
        read()
        claude.nvim.wait(f"reads_held() > {known}", what="the edit to be read")
    path.write_text(claude.text().replace("line 9\n", "theirs\n"))
    claude.nvim.lua("let_reads_go()")
    claude.nvim.wait("Ide.journal.turns()[1].ended ~= nil", what="the end of the turn")
    (change,) = claude.changes()
    assert [hunk["after_lines"] for hunk in change["hunks"]] == [["LINE 3"]]


def after_lines(claude):
    return [hunk["after_lines"] for change in claude.changes() for hunk in change["hunks"]]


@pytest.mark.every_nvim
@pytest.mark.parametrize("then", ["its end", "another edit", "typing", "an undo"])
def test_what_neovim_writes_without_autocommands_in_a_turn_is_the_users(claude, then):
    nvim = claude.nvim
    claude.prompt()
    claude.edit("a.txt", "line 3\n", "LINE 3\n")
    nvim.wait(lambda: nvim.lines()[2] == "LINE 3", what="the buffer to follow")
    nvim.wait(lambda: after_lines(claude) == [["LINE 3"]], what="the edit to be known")
    nvim.keys("10GAmine<Esc>:silent noautocmd w<CR>" + ("Gomore<Esc>" if then == "typing" else ""))
    nvim.wait(lambda: "line 10mine" in claude.text(), what="the user's line on disk")
    if then == "another edit":
        claude.edit("a.txt", "line 19\n", "LINE 19\n")
    elif then == "an undo":
        assert claude.decide("undo", claude.project / "a.txt") == [True, ""]
        assert claude.text() == TEXT.replace("line 10\n", "line 10mine\n")
    claude.done()
    expected = {"another edit": [["LINE 3"], ["LINE 19"]], "an undo": []}.get(then, [["LINE 3"]])
    nvim.wait(lambda: after_lines(claude) == expected, what="only Claude's lines")


@pytest.mark.every_nvim
def test_a_formatter_that_writes_without_autocommands_is_not_claude(claude):
    claude.nvim.lua("""
      vim.api.nvim_create_autocmd("BufWritePost", { callback = function() vim.schedule(function()
        vim.cmd("silent! keepjumps %s/line 7$/line  7/ | silent noautocmd update")
      end) end })
    """)
    claude.prompt()
    claude.edit("a.txt", "line 3\n", "LINE 3\n")
    claude.nvim.wait(lambda: claude.nvim.lines()[2] == "LINE 3", what="the buffer to follow")
    claude.nvim.keys("10GAmine<Esc>:w<CR>")
    claude.nvim.wait(lambda: "line  7" in claude.text(), what="the formatter")
    claude.done()
    claude.nvim.wait(lambda: after_lines(claude) == [["LINE 3"]], what="only Claude's line")


@pytest.mark.every_nvim
def test_what_neovim_reads_without_autocommands_in_a_turn_is_claudes(claude):
    """The user has written without autocommands before: that is no sign that this text is theirs."""
    claude.nvim.lua("Ide.watch.detach()")
    claude.nvim.keys("10GAmine<Esc>:silent noautocmd w<CR>")
    claude.nvim.wait(lambda: "line 10mine" in claude.text(), what="the user's line on disk")
    claude.prompt()
    claude.edit("a.txt", "line 3\n", "LINE 3\n")
    claude.nvim.cmd("silent noautocmd edit!")
    claude.done()
    claude.nvim.wait(lambda: after_lines(claude) == [["LINE 3"]], what="Claude's line")


@pytest.mark.every_nvim
@pytest.mark.parametrize("answer", ["n", "y", ""])
def test_a_write_that_the_user_declines_leaves_claudes_change_to_be_reviewed(claude, answer):
    """Neovim emits BufWritePost then, too."""
    nvim = claude.nvim
    nvim.keys("15GAmine<Esc>")
    nvim.wait("vim.bo.modified and Ide.watch_conflict.base(vim.fn.bufnr()) ~= nil")
    claude.turn(("a.txt", "line 5\n", "LINE 5\n"))
    nvim.wait("#Ide.watch_conflict.list() == 1")
    nvim.lua("vim.api.nvim_create_autocmd('BufWritePost', { callback = function() posted = true end })")
    nvim.keys(":w<CR>" if answer else ":w!<CR>")
    if answer:
        nvim.wait_screen("really want to write")
        nvim.keys(answer)
        nvim.wait_screen("Press ENTER")
        nvim.keys("<CR>")
    nvim.wait("posted", what="the end of the write")
    is_declined = answer == "n"
    assert nvim.lua("return vim.bo.modified") is is_declined
    assert ("LINE 5" in claude.text(), "line 15mine" in claude.text()) == (is_declined, not is_declined)
    assert [change["added"] for change in claude.changes()] == ([1] if is_declined else [])
    assert nvim.lua("return Ide.buffer_stamp.is_conflict(vim.fn.bufnr())") is is_declined
    if is_declined:
        assert "resolve that first" in claude.decide("undo", claude.project / "a.txt")[1]


@pytest.mark.parametrize("decision", ["undo", "keep"])
def test_what_is_decided_on_is_what_claude_has_written_by_then(claude, decision):
    claude.turn(("a.txt", "line 3\n", "LINE 3\n"))
    claude.prompt()
    claude.nvim.lua("Ide.file.read_later = function() end")  # a slow disk
    claude.edit("a.txt", "line 5\n", "LINE 5\n")
    assert claude.decide(decision, claude.project / "a.txt")[0]
    assert claude.changes() == []
    assert claude.text() == (
        TEXT if decision == "undo" else TEXT.replace("line 3\n", "LINE 3\n").replace("line 5\n", "LINE 5\n")
    )


def test_a_turn_is_undone_after_a_look_at_what_will_happen(claude):
    claude.turn(("a.txt", "line 1\n", "first turn\n"))
    claude.prompt()
    claude.edit("a.txt", "line 3\n", "LINE 3\n")
    claude.edit("b.txt", "b", "c")
    claude.write("new.txt", "new\n")
    claude.done()
    kinds = [(change["kind"], "before" in change) for change in claude.changes(2)]
    assert kinds == [("modified", True), ("modified", True), ("created", False)]
    preview = claude.nvim.lua("return Ide.journal_undo.preview(2)")
    assert [(os.path.basename(each["path"]), each["action"], each["hunks"]) for each in preview] == [
        ("a.txt", "restore", 1), ("b.txt", "restore", 1), ("new.txt", "remove", 1),
    ]  # fmt: skip
    results = claude.nvim.undo_turn()
    assert [result["ok"] for result in results] == [True, True, True]
    assert claude.text() == TEXT.replace("line 1\n", "first turn\n", 1)
    assert claude.text("b.txt") == "b\n"
    assert not (claude.project / "new.txt").exists()
    assert [os.path.basename(change["path"]) for change in claude.changes()] == ["a.txt"]


BYTES = [
    (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    (b"a\nb", b"a\nb\n"),
    (b"a\nb\n", b"a\nb"),
    (b"\xef\xbb\xbfa\nb\n", b"a\nb\n"),
    (b"a\r\nb\n", b"a\nb\n"),
    (b"", b"x"),
    (b"x", b""),
    ("ä\nö\n".encode("latin-1"), "ä\nü\n".encode("latin-1")),
]


@pytest.mark.parametrize("loaded", [True, False])
def test_undo_restores_every_byte(claude, loaded):
    for number, (before, after) in enumerate(BYTES):
        path = claude.project / f"{number}.txt"
        path.write_bytes(before)
        if loaded:
            claude.nvim.cmd(f"edit {path.name}")
        claude.prompt()
        claude.write(path.name, after)
        claude.done()
        assert claude.decide("undo", path)[0] is True
        assert path.read_bytes() == before
        assert claude.changes() == []


def test_an_accepted_diff_needs_no_review(claude):
    path = claude.project / "b.txt"
    claude.prompt()
    call = claude.client.start_call(
        "openDiff", old_file_path=str(path), new_file_path=str(path), new_file_contents="accepted\n", tab_name="t"
    )
    claude.nvim.wait("Ide.proposal.count() == 1")
    claude.nvim.wait("Ide.proposal.list()[1].tab ~= nil")
    claude.nvim.wait("return (Ide.proposal.accept())", what="the diff to be accepted")
    assert claude.client.call_result(call) == ["FILE_SAVED", "accepted\n"]
    claude.write("b.txt", "accepted\n")
    claude.done()
    assert claude.changes() == []
    assert [change["path"] for change in claude.changes("all")] == [str(path)]


@pytest.mark.every_nvim
@pytest.mark.parametrize("name", ["a.txt", "b.txt"])
def test_what_others_write_after_a_turn_stays_however_often_it_is_undone(claude, name):
    path = claude.project / name
    path.write_text(TEXT)
    claude.nvim.cmd("checktime")
    claude.turn((name, "line 3\n", "LINE 3\n"))
    claude.turn((name, "line 5\n", "LINE 5\n"))
    path.write_text(claude.text(name).replace("line 7\n", "somebody else\n"))
    others = TEXT.replace("line 7\n", "somebody else\n")
    for left in (others.replace("line 3\n", "LINE 3\n"), others):
        assert [result["ok"] for result in claude.nvim.undo_turn()] == [True]
        assert claude.text(name) == left
    assert claude.nvim.undo_turn() == []
    assert claude.changes("all") == []
    assert claude.text(name) == others


def test_a_client_that_goes_ends_its_turn(claude):
    claude.prompt()
    claude.edit("b.txt", "b", "c")
    claude.client.close()
    claude.nvim.wait("Ide.journal.turns()[1].ended ~= nil")
    claude.nvim.wait("#Ide.journal.changes() == 1")


def test_who_shows_changes_is_told(claude):
    claude.nvim.lua("reported = 0 unsubscribe = Ide.bus.on('journal_changed', function() reported = reported + 1 end)")
    claude.turn(("b.txt", "b", "c"))
    claude.nvim.wait("reported > 0")
    claude.nvim.lua("unsubscribe() reported = 0")
    claude.decide("keep", claude.project / "b.txt")
    assert claude.nvim.lua("return reported") == 0


def test_the_journal_adds_little_to_an_answer(claude):
    lines = "".join(f"some line of code number {i}\n" for i in range(50000))
    (claude.project / "large.txt").write_text(lines)
    took = claude.nvim.lua(
        """
        local journal, best = Ide.journal, math.huge
        for _ = 1, 5 do
          local began = os.clock() -- of this process: others may be busy, too
          journal.before_edit(1, ...)
          best = math.min(best, (os.clock() - began) * 1e3)
        end
        return best
        """,
        str(claude.project / "large.txt"),
    )
    assert took < 10  # at most 2 ms on an idle machine


def test_what_is_kept_on_disk_goes_with_neovim(start_nvim):
    nvim = start_nvim()
    folder = nvim.home / ".local/state/nvim/claude-ide/journal"
    own = nvim.lua("return Ide.journal_store.folder()")
    assert [str(each) for each in folder.iterdir()] == [own]
    nvim.quit()
    assert list(folder.iterdir()) == []


def test_what_dead_neovims_left_is_removed(start_nvim):
    nvim = start_nvim()
    host = nvim.lua("return (vim.uv.os_gethostname():gsub('[^%w-]', '_'))")
    folder = nvim.home / ".local/state/nvim/claude-ide/journal"
    for name in (f"{host}.4194304", "elsewhere.4194304", f"{host}.1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1").write_text("old")
    nvim.lua("Ide.journal_store.clean()")
    assert sorted(each.name for each in folder.iterdir()) == sorted([f"{host}.1", "elsewhere.4194304"])


def test_how_much_waits_for_a_review_is_counted_and_shown(claude):
    nvim = claude.nvim
    nvim.lua("vim.o.statusline = \"%{v:lua.require'claude-ide.statusline'.text()}\"")
    claude.turn(("a.txt", "line 3\n", "LINE 3\n"), ("a.txt", "line 9\n", "LINE 9\n"), ("b.txt", "b", "c"))
    counts = "return require('claude-ide').status().review"
    nvim.wait(lambda: nvim.lua(counts) == {"files": 2, "hunks": 3, "conflicts": 0}, what="three changes in two files")
    nvim.wait_screen("2 to review")
    assert "2 files to review" in nvim.lua("return Ide.command_status.line()")
    claude.decide("keep", claude.project / "b.txt")
    nvim.wait_screen("1 to review")
    nvim.wait("vim.fn.getline(9) == 'LINE 9'")
    nvim.keys("9GAmine<Esc>:w<CR>")
    nvim.wait(lambda: nvim.lua(counts) == {"files": 1, "hunks": 2, "conflicts": 1}, what="a conflict")
    claude.decide("keep", claude.project / "a.txt")
    nvim.wait(lambda: "to review" not in "".join(nvim.screen()), what="nothing to be unreviewed")


def test_the_health_check_tells_what_is_kept_and_where(claude):
    claude.turn(("a.txt", "line 3\n", "LINE 3\n"))
    claude.nvim.cmd("checkhealth claude-ide")
    text = "\n".join(claude.nvim.lines())
    assert "Buffers are reloaded on change" in text
    assert "Shell commands are reviewed in git repositories" in text
    assert "Not reviewed: 1 change in 1 file" in text
    assert "2 texts of files" in text
