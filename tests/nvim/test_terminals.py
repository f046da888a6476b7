"""Several terminals: each with a CLI of its own, and which of them a command, a mention or a key is for.

The CLI is a stand-in: `harness/fake_cli.py`; `tests/e2e/test_terminals_real_cli.py` has the real one.
"""

import json
import re
from unittest import mock

import pytest
from review_steps import Turn

pytestmark = pytest.mark.dealt

NAMES = "return vim.tbl_map(function(one) return one:name() end, Ide.terminal.list())"


@pytest.fixture
def start(start_nvim, fake):
    """Neovim with a file and terminals started by commands."""

    def begin(*commands, **more):
        nvim = start_nvim(**{"env": fake.environment(), "files": {"a.txt": "one\n"}, "args": ["a.txt"], **more})
        for command in commands:
            open_one(nvim, fake, command)
        return nvim

    return begin


def open_one(nvim, fake, command):
    count = len(fake.starts())
    nvim.keys(f":{command}<CR>")
    nvim.wait(lambda: len(fake.starts()) == count + 1, what="the CLI to start")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="terminal mode")
    leave(nvim)


def leave(nvim):
    """Back to the file."""
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.fn.bufname() == 'a.txt' and vim.api.nvim_get_mode().mode == 'n'", what="the file")


def shown(nvim):
    """Titles of the terminals of this tab page."""
    return nvim.lua(
        """
        return vim.iter(Ide.terminal.list()):filter(function(one) return one:is_visible() end)
          :map(function(one) return one.spec.title end):totable()
        """
    )


def test_each_has_a_cli_of_its_own_and_takes_the_window_of_the_one_before(start, fake):
    nvim = start("Claude", "Claude new parser --model opus", "Claude new")
    assert [one["argv"] for one in fake.starts()] == [[], ["--name=parser", "--model", "opus"], []]
    assert nvim.lua(NAMES) == ["Claude", "parser", "Claude 2"]
    assert shown(nvim) == ["Claude 2"]
    assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 2
    runs = [one["tools"].split('"Bearer ')[1] for one in fake.starts()]
    assert len(set(runs)) == 3, "each has a token of its own"


PLAN = ["--permission-mode", "plan"]


@pytest.mark.parametrize(
    ("command", "args", "argv"),
    [
        (["claude"], "", PLAN),
        (
            ["claude", "--verbose"],
            "--model opus -- --resume",
            ["--verbose", *PLAN, "--model", "opus", "--", "--resume"],
        ),
        (["sh", "-c", 'claude "$@"', "sh"], "", PLAN),
        (["claude"], "--permission-mode auto", ["--permission-mode", "auto"]),
        (["claude"], "--permission-mode=auto", ["--permission-mode=auto"]),
        (["claude", "--permission-mode", "auto"], "", ["--permission-mode", "auto"]),
        (["claude"], "--dangerously-skip-permissions", ["--dangerously-skip-permissions"]),
        (["claude"], "--resume", ["--resume"]),
        (["claude"], "-c", ["-c"]),
    ],
)
def test_a_new_session_gets_the_permission_mode_of_the_options(start, fake, command, args, argv):
    start(f"Claude {args}", opts={"terminal": {"permission_mode": "plan", "command": command}})
    assert [one["argv"] for one in fake.starts()] == [argv]


@pytest.mark.every_nvim
def test_toggle_is_for_the_one_used_last(start):
    nvim = start("Claude", "Claude new parser")
    nvim.cmd("Claude")
    assert shown(nvim) == []
    nvim.cmd("Claude")
    assert shown(nvim) == ["parser"]
    nvim.lua("local all = Ide.terminal all.show(all.list()[1])")
    assert shown(nvim) == ["Claude"]
    leave(nvim)
    nvim.cmd("Claude hide")
    nvim.cmd("Claude focus")
    assert (shown(nvim), nvim.lua("return vim.bo.buftype")) == (["Claude"], "terminal")


def test_the_visible_one_comes_before_the_one_used_last_in_another_tab_page(start):
    nvim = start("Claude")
    nvim.cmd("tabnew")
    nvim.cmd("Claude new other")
    nvim.cmd("tabprevious")
    assert shown(nvim) == ["Claude"]
    assert nvim.lua("return Ide.terminal.current():name()") == "Claude"
    nvim.cmd("Claude")
    nvim.cmd("Claude")
    assert shown(nvim) == ["Claude"]


def test_the_end_of_one_leaves_the_others_alone(start, fake):
    nvim = start("Claude", "Claude new parser")
    nvim.cmd("Claude close")
    assert nvim.lua(NAMES) == ["Claude"]
    nvim.cmd("Claude")
    assert shown(nvim) == ["Claude"]
    nvim.keys("hello")
    nvim.wait(lambda: fake.typed(0) == b"hello", what="the first CLI to read what is typed")
    assert len(fake.starts()) == 2


def test_one_is_ended_by_its_name(start, fake):
    nvim = start("Claude", "Claude new parser", 'Claude new "two words" "a prompt"', notices=True)
    assert fake.starts()[2]["argv"] == ["--name=two words", "a prompt"]
    nvim.cmd("Claude close parser")
    assert nvim.lua(NAMES) == ["Claude", "two words"]
    assert nvim.lua("return vim.fn.getcompletion('Claude close t', 'cmdline')") == ["two\\ words"]
    nvim.cmd("Claude close two words")
    assert nvim.lua(NAMES) == ["Claude"]
    nvim.cmd("Claude close parser")
    assert nvim.notices() == ["`:Claude close parser`: no terminal has that name."]


def test_what_a_cli_says_as_it_fails_stays_until_the_next_one_is_shown(start):
    nvim = start("Claude", "Claude new parser")
    nvim.cmd("Claude focus")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    nvim.keys("<C-e>")
    nvim.wait_screen("something is wrong")
    nvim.wait("#Ide.terminal.list() == 1", what="the end")
    nvim.cmd("Claude")
    assert shown(nvim) == ["Claude"]
    assert "something is wrong" not in nvim.screen()


@pytest.mark.every_nvim
def test_without_room_nothing_is_left_of_one(start, fake):
    nvim = start(notices=True)
    nvim.cmd("set columns=20 winwidth=8 winminwidth=8 | vsplit")
    buffers = nvim.lua("return vim.api.nvim_list_bufs()")
    for command in ("Claude", "Claude new", "Claude toggle"):
        nvim.keys(f":{command}<CR>")
        nvim.wait_notice("The scr")
        nvim.lua("notices = {}")
    assert nvim.lua("return vim.api.nvim_list_bufs()") == buffers
    assert nvim.lua(NAMES) == [] and fake.starts() == []


def test_arguments_for_a_cli_that_runs_may_start_another(start, fake):
    nvim = start("Claude")
    nvim.answer(-1)
    nvim.lua("Ide.terminal.open({ '--resume' })")
    nvim.wait(lambda: len(fake.starts()) == 2, what="the second CLI")
    assert fake.starts()[1]["argv"] == ["--resume"]
    assert nvim.lua(NAMES) == ["Claude", "Claude 2"]


# ── one a tab page ──


def per_tab(start, *commands, **more):
    return start(*commands, opts={"terminal": {"per_tab": True}}, **more)


@pytest.mark.every_nvim
def test_each_tab_page_has_one_in_its_own_project(start, fake, tmp_path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    nvim = per_tab(start, "Claude")
    nvim.cmd(f"tabnew | tcd {other}")
    assert shown(nvim) == []
    nvim.keys(":Claude<CR>")
    nvim.wait(lambda: len(fake.starts()) == 2, what="the second CLI")
    assert [one["cwd"] for one in fake.starts()] == [str(nvim.project), str(other)]

    # Each tab page toggles its own.
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
    nvim.cmd("Claude")
    nvim.cmd("tabprevious")
    assert shown(nvim) == ["Claude"]
    nvim.cmd("Claude")
    assert shown(nvim) == []
    nvim.cmd("Claude")
    assert shown(nvim) == ["Claude"]
    nvim.cmd("tabnext")
    assert shown(nvim) == []
    nvim.cmd("Claude")
    assert shown(nvim) == ["Claude 2"]
    assert len(fake.starts()) == 2

    # A chosen one is gone to.
    listed(nvim, 1)
    nvim.wait("vim.fn.tabpagenr() == 1", what="the tab page of the first")
    assert shown(nvim) == ["Claude"]


@pytest.mark.every_nvim
def test_a_tab_page_opened_in_the_terminal_does_not_take_it_along(start, fake):
    nvim = per_tab(start, "Claude")
    first = nvim.lua("return vim.api.nvim_get_current_tabpage()")
    nvim.cmd("Claude focus")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="terminal mode")
    nvim.keys("<C-\\><C-n>:tabnew<CR>")
    nvim.wait("vim.fn.tabpagenr() == 2 and vim.fn.bufname() == ''", what="the tab page")
    assert nvim.lua("return Ide.terminal.list()[1].tab") == first
    nvim.keys(":Claude<CR>")
    nvim.wait(lambda: len(fake.starts()) == 2, what="one of its own")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    assert shown(nvim) == ["Claude 2"]
    nvim.cmd("tabprevious")
    assert shown(nvim) == ["Claude"]


def test_a_tab_page_without_one_ends_none_of_another(start):
    nvim = per_tab(start, "Claude")
    nvim.keep_notices()
    nvim.cmd("tabnew")
    nvim.cmd("Claude close")
    nvim.wait_notice("Claude is not running in")
    assert nvim.lua(NAMES) == ["Claude"]


def two_that_worked(start, fake, connect, sessions):
    """Two tab pages with a session each: the first has changed a.txt, then the second b.txt."""
    nvim = per_tab(start, "Claude", files={"a.txt": "one\n", "b.txt": "b\n"})
    nvim.cmd("tab split")
    open_one(nvim, fake, "Claude")
    for number, name in enumerate(("api", "web")):
        report(nvim, fake, sessions, number, name, "idle", name=name)
        with mock.patch("os.getpid", return_value=fake.starts()[number]["pid"]):
            going = Turn(nvim, connect(nvim))
        nvim.wait(f"(Ide.server.clients()[{number + 1}] or {{}}).pid ~= nil", what="the process of the client")
        going.edit(("a.txt", "b.txt")[number], "by Claude\n")
        going.end(("a.txt", "b.txt")[number])
    return nvim


@pytest.mark.every_nvim
def test_a_review_of_a_turn_or_session_is_of_the_one_in_the_tab_page(start, fake, connect, sessions):
    nvim = two_that_worked(start, fake, connect, sessions)
    for tab, name in ((1, "a.txt"), (2, "b.txt")):
        for scope in ("turn", "session"):
            nvim.cmd(f"tabnext {tab}")
            changes = nvim.lua("return Ide.review.changes(...)", scope)
            assert [change["path"].rpartition("/")[2] for change in changes] == [name]
            nvim.cmd(f"Claude review {scope}")
            nvim.wait("Ide.review_current.here() ~= nil", what="the review")
            entries = nvim.lua("return Ide.review_current.get().entries")
            assert [entry["path"].rpartition("/")[2] for entry in entries] == [name]
            nvim.cmd("lua Ide.review.close()")


@pytest.mark.every_nvim
def test_undo_is_for_the_session_of_the_tab_page_and_names_it(start, fake, connect, sessions):
    nvim = two_that_worked(start, fake, connect, sessions)

    def asked_in(tab, answer):
        nvim.cmd(f"tabnext {tab}")
        nvim.answer(answer)
        nvim.cmd("Claude undo")
        nvim.wait("#asked == 1", what="the question")
        return nvim.asked()[0]["prompt"]

    assert asked_in(1, 2) == "Undo what Claude's last turn in api changed?"
    assert asked_in(2, 1) == "Undo what Claude's last turn in web changed?"
    nvim.wait(lambda: (nvim.project / "b.txt").read_text() == "b\n", what="the undo")
    assert asked_in(2, 1) == "Undo what Claude's last turn in api changed?", "it has none, so it is the other's"
    nvim.wait(lambda: (nvim.project / "a.txt").read_text() == "one\n", what="the undo")


# ── the list ──


def listed(nvim, answer=None):
    """The lines of `:Claude list`, of which one may be chosen."""
    nvim.answer(*([answer] if answer else []))
    nvim.cmd("Claude list")
    nvim.wait("#asked == 1", what="the list")
    return nvim.asked()[0]["lines"]


def report(nvim, fake, sessions, number, session, status, **more):
    """Sets the record of a CLI, and waits until Neovim has read it."""
    pid = fake.starts()[number]["pid"]
    sessions.record(pid, session, status, nvim.project, **more)
    nvim.wait(f"Ide.terminal.list()[{number + 1}]:live() ~= nil", what="the record to be read")


def test_the_list_says_what_each_does_and_shows_the_chosen_one(start, fake, sessions):
    nvim = start("Claude", "Claude new parser", "Claude new")
    first = sessions.write(nvim.project, ("fix it", "ok"), title="The fix", branch="feature/x", tokens=340_000)
    report(nvim, fake, sessions, 0, first, "busy", name="The fix")
    report(nvim, fake, sessions, 1, "b", "waiting", name="parser", waitingFor="permission prompt")
    nvim.cmd("set columns=160")
    folder = str(nvim.project)[-27:]
    assert listed(nvim, 1) == [
        f" 2h  working                             34%  …{folder}  feature/x  The fix   fix it",
        f"now  waiting: permission                      …{folder}             parser",
        f"now                       on the screen       …{folder}             Claude 2",
    ]
    nvim.wait(lambda: shown(nvim) == ["Claude"], what="the first one")
    assert nvim.lua(NAMES) == ["The fix", "parser", "Claude 2"]


def test_two_terminals_of_one_session_are_told_apart(start, fake, sessions):
    nvim = start("Claude", "Claude new")
    session = sessions.write(nvim.project, ("fix it", "ok"), title="The fix")
    report(nvim, fake, sessions, 0, session, "busy")
    report(nvim, fake, sessions, 1, session, "idle")
    nvim.cmd("set columns=160")
    first, second = (re.split(r"\s{2,}", line.strip()) for line in listed(nvim))
    assert (first[1], first[-2:]) == ("working", ["Claude", "fix it"]), first
    assert (second[1], second[-2:]) == ("idle", ["Claude 2", "fix it"]), second
    assert ("on the screen" in first, "on the screen" in second) == (False, True)


def test_the_list_begins_at_the_terminal_on_the_screen(start):
    nvim = start("Claude", "Claude new parser")
    nvim.cmd("Claude list")
    nvim.wait("Ide.choose.is_open()", what="Neovim's own list")
    line = nvim.lua("return vim.api.nvim_get_current_line()")
    assert "on the screen" in line and "parser" in line


def test_without_a_terminal_the_list_says_so(start):
    nvim = start(notices=True)
    nvim.cmd("Claude list")
    nvim.wait_notice("Claude is not running in Neovim's terminal.")


LUALINE = """
package.preload["lualine.component"] = function()
  return { extend = function() return { options = { part = "context" } } end }
end
"""


def test_parts_of_the_statusline_say_who_waits_who_works_and_how_full_the_context_is(start, fake, sessions):
    nvim = start("Claude", "Claude new parser", "Claude new", init_lua=LUALINE)
    parts = """
    local line = require("claude-ide").statusline
    return { line.waiting(), line.working(), line.context() }
    """
    assert nvim.lua(parts) == ["", "", ""]
    session = sessions.write(nvim.project, ("fix it", "ok"), tokens=340_000)
    report(nvim, fake, sessions, 0, "a", "waiting", waitingFor="permission prompt")
    report(nvim, fake, sessions, 1, "b", "busy")
    report(nvim, fake, sessions, 2, session, "busy")
    nvim.wait(lambda: nvim.lua(parts) == ["1 waiting", "2 working", "34%"], what="the parts")

    # It is that of the terminal that is shown, as the transcript is, and read again after a turn.
    nvim.lua("local all = Ide.terminal all.show(all.list()[2])")
    nvim.wait(lambda: nvim.lua(parts)[2] == "", what="no context")
    nvim.lua("local all = Ide.terminal all.show(all.list()[3])")
    leave(nvim)
    nvim.cmd("Claude transcript")
    nvim.wait_screen("fix it")
    nvim.cmd("bdelete")
    sessions.write(nvim.project, ("fix it", "ok"), id=session, tokens=510_000)
    report(nvim, fake, sessions, 2, session, "idle")
    nvim.wait(lambda: nvim.lua(parts) == ["1 waiting", "1 working", "51%"], what="the new ones")
    assert nvim.lua("return require('lualine.components.claude'):update_status()") == "51%%"


@pytest.mark.parametrize("end", ["quit", "kill", "mksession"])
def test_the_next_neovim_of_the_project_offers_those_of_the_last(start, fake, sessions, end):
    nvim = start("Claude", "Claude new parser", "Claude new")
    reported = [sessions.write(nvim.project, (f"prompt {number}", "ok")) for number in range(2)]
    report(nvim, fake, sessions, 0, reported[0], "idle")
    report(nvim, fake, sessions, 1, reported[1], "busy", name="parser")
    report(nvim, fake, sessions, 2, "without-a-prompt", "idle")
    records = nvim.home / ".local" / "state" / "nvim" / "claude-ide" / "terminals"
    nvim.wait(
        lambda: "without-a-prompt" in "".join(path.read_text() for path in records.glob("*.json")), what="the record"
    )
    if end == "kill":
        nvim.kill()
    else:
        nvim.cmd("mksession Session.vim")
        nvim.leave()
    for started in fake.starts():
        sessions.forget(started["pid"])

    after = start(notices=True, args=["-S", "Session.vim"] if end == "mksession" else ["a.txt"])
    assert len(fake.starts()) == 3
    after.start_server()
    after.wait_notice("2 terminals of Claude ended with Neovim. `:Claude list` has them.")
    lines = listed(after, 2)
    assert [line.split("ended with Neovim")[1].split("main")[1].strip() for line in lines] == ["prompt 0", "prompt 1"]
    after.wait(lambda: len(fake.starts()) == 4, what="the CLI to start")
    assert fake.starts()[3]["argv"] == ["--name=parser", "--resume", reported[1]]
    left = {one["session"] for path in records.glob("*.json") for one in json.loads(path.read_text())["terminals"]}
    assert reported[0] in left


def test_what_ended_with_neovim_is_offered_until_it_is_resumed(start, fake, sessions):
    nvim = start("Claude", "Claude new parser")
    reported = [sessions.write(nvim.project, (f"prompt {number}", "ok")) for number in range(2)]
    report(nvim, fake, sessions, 0, reported[0], "idle")
    report(nvim, fake, sessions, 1, reported[1], "idle", name="parser")
    records = nvim.home / ".local" / "state" / "nvim" / "claude-ide" / "terminals"
    nvim.wait(lambda: reported[1] in "".join(path.read_text() for path in records.glob("*.json")), what="the record")
    nvim.leave()
    for started in fake.starts():
        sessions.forget(started["pid"])
    told = "2 terminals of Claude ended with Neovim. `:Claude list` has them."
    for _ in range(2):  # short ones, in which nothing is done
        short = start(notices=True)
        short.start_server()
        short.wait_notice(told)
        short.leave()
    after = start(notices=True)
    assert len(listed(after, 2)) == 2
    after.wait(lambda: len(fake.starts()) == 3, what="the CLI to start")
    resumed = fake.starts()[2]["argv"][-1]
    sessions.record(fake.starts()[2]["pid"], resumed, "idle", after.project)
    after.wait(lambda: resumed not in [one["session"] for one in offered(after)], what="the rest")
    after.leave()
    last = start(notices=True)
    assert {one["session"] for one in offered(last)} == set(reported)
    assert [one["session"] for one in offered(last) if one.get("seen")], "it is in the list, and not spoken of again"


def offered(nvim):
    return nvim.lua("return Ide.terminal_remembered.list()")


# ── mentions ──


def connect_all(nvim, fake, connect):
    """A client for each CLI, in order."""
    clients = []
    for number, started in enumerate(fake.starts(), 1):
        client = connect(nvim)
        client.notify("ide_connected", {"pid": started["pid"]})
        nvim.wait(f"(Ide.server.clients()[{number}] or {{}}).pid == {started['pid']}")
        clients.append(client)
    nvim.wait(
        f"""
        local listening = Ide.server_listening
        listening.attach()
        return #vim.tbl_filter(listening.is_listening, Ide.server.clients()) == {len(clients)}
        """,
        what="the clients to listen",
    )
    return clients


def mentioned(client):
    return client.wait_notification("at_mentioned")["filePath"].rsplit("/", 1)[-1]


def test_a_mention_is_for_the_tab_pages_else_the_last_used_and_says_so(start, fake, connect):
    nvim = start("Claude", "Claude new parser", notices=True)
    first, second = connect_all(nvim, fake, connect)
    nvim.cmd("ClaudeSend")
    assert nvim.wait_notice("Sent to") == "Sent to parser: a.txt"
    assert mentioned(second) == "a.txt"

    # Both are hidden: the last used one.
    nvim.cmd("Claude hide")
    nvim.cmd("ClaudeSend")
    assert mentioned(second) == "a.txt"

    # Another tab page shows the first.
    nvim.cmd("tab split")
    nvim.lua("local all = Ide.terminal all.show(all.list()[1])")
    leave(nvim)
    nvim.cmd("ClaudeSend")
    assert mentioned(first) == "a.txt"
    nvim.wait_notice("Sent to Claude: a.txt")


def test_a_mention_waits_for_the_new_one_to_connect(start, fake, connect):
    nvim = start("Claude", notices=True)
    connect_all(nvim, fake, connect)
    open_one(nvim, fake, "Claude new parser")
    nvim.cmd("ClaudeSend")
    nvim.wait_notice("Queued for parser: 1 mention")
    second = connect(nvim)
    second.notify("ide_connected", {"pid": fake.starts()[1]["pid"]})
    assert mentioned(second) == "a.txt"


def test_reasons_for_two_rejections_wait_each_for_its_own_cli(start, fake, connect, sessions):
    nvim = start("Claude", "Claude new parser", notices=True)
    clients = connect_all(nvim, fake, connect)
    requests = []
    for number, client in enumerate(clients):
        report(nvim, fake, sessions, number, f"session {number}", "busy")
        path = str(nvim.project / f"{number}.txt")
        args = {"old_file_path": path, "new_file_path": path, "new_file_contents": "A\n", "tab_name": f"tab {number}"}
        requests.append(client.start_call("openDiff", **args))
        nvim.wait(f"Ide.proposal.count() == {number + 1}")
    assert nvim.lua("return vim.tbl_map(function(one) return one.source end, Ide.proposal.list())") == [
        "Claude",
        "parser",
    ]
    for number, client in enumerate(clients):
        nvim.lua(
            """
            local proposal = Ide.proposal
            proposal.focus(proposal.list()[1].id)
            """
        )
        nvim.wait("(Ide.proposal.list()[1] or {}).seen")
        nvim.lua("require('claude-ide').reject(...)", f"reason {number}")
        assert client.call_result(requests[number]) == ["DIFF_REJECTED"]
    for number in (1, 0):
        assert fake.typed(number) == b""
        fake.show_prompt(number=number)
        report(nvim, fake, sessions, number, f"session {number}", "idle")
        nvim.wait(lambda number=number: f"reason {number}".encode() in fake.typed(number), what="the reason")
    assert b"reason 1" not in fake.typed(0) and b"reason 0" not in fake.typed(1)
