"""Claude's state in Neovim: statusline, `:Claude status`, events, the one notice."""

import os
import re

import pytest
from held_timers import hold_timers, let_timers_go
from journal_steps import Claude

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

TEXT = "require('claude-ide.statusline').text()"
SLEEPING = {"terminal": {"command": ["sh", "-c", "exec sleep 600"]}}
FOCUS_LOST, FOCUS_GAINED = b"\x1b[O", b"\x1b[I"


@pytest.fixture
def start(start_nvim, connect):
    """Starts a Neovim that records notices and events, with this very process as the CLI."""

    def start(opts=None, connected=True, **more):
        nvim = start_nvim(opts=opts or {}, notices=True, **more)
        nvim.keep_events("ClaudeWorking", "ClaudeWaiting", "ClaudeIdle")
        nvim.client = connect(nvim) if connected else None
        return nvim

    return start


@pytest.fixture
def in_terminal(start, sessions):
    """Starts a Neovim whose own terminal runs the session "s"; `nvim.does` sets its state."""

    def in_terminal(notify=None):
        nvim = start(opts={**SLEEPING, "notify": notify or {"min_turn_ms": 0}}, connected=False)
        nvim.keys(":Claude<CR>")
        nvim.wait("Ide.terminal.is_visible()", what="the terminal")
        pid = nvim.lua("return vim.b[Ide.terminal.bufnr()].terminal_job_pid")

        def does(status, **more):
            sessions.record(pid, "s", status, nvim.project, **more)
            state = "((Ide.terminal.session() or {}).state or {})"
            nvim.wait(f"{state}.activity == '{KNOWN[status]}'", what=status)

        nvim.does = does
        does("idle")
        return nvim

    return in_terminal


KNOWN = {"busy": "working", "waiting": "waiting", "idle": "idle"}


def shows(nvim, text):
    nvim.wait(lambda: nvim.lua(f"return {TEXT}") == text, what=f"the statusline to say {text!r}")


def hide(nvim):
    nvim.cmd("Claude hide")
    nvim.wait("not Ide.terminal.is_visible()")


def notices(nvim):
    """All notices, once every state so far has lasted long enough for one: timers fire in the order of their ends."""
    nvim.lua("""
      passed = false
      vim.defer_fn(function() passed = true end, Ide.requests_notify.settle_ms + 100)
    """)
    nvim.wait("passed")
    return nvim.notices()


# The check whether a state has lasted.
LASTS = "notify of a state that lasts"


def look(nvim, here):
    """The user comes back to Neovim, or goes to another program."""
    nvim.lua(
        "seen = false vim.api.nvim_create_autocmd(..., { once = true, callback = function() seen = true end })",
        "FocusGained" if here else "FocusLost",
    )
    nvim.terminal.write(FOCUS_GAINED if here else FOCUS_LOST)
    nvim.wait("seen", what="Neovim to know")


# ── what is shown ──


def test_the_statusline_says_what_the_connected_session_does(start, sessions):
    nvim = start()
    shows(nvim, "Claude")  # no record: known only as connected
    sessions.record(os.getpid(), "s")
    shows(nvim, "Claude idle")
    sessions.record(os.getpid(), "s", "busy")
    shows(nvim, "Claude working")
    sessions.record(os.getpid(), "s", "waiting", waitingFor="permission prompt")
    shows(nvim, "Claude waiting: permission")
    sessions.record(os.getpid(), "s", "waiting", waitingFor="something new")
    shows(nvim, "Claude waiting")
    sessions.forget(os.getpid())
    shows(nvim, "Claude")


def test_the_statusline_says_the_permission_mode_of_the_last_prompt(start_nvim, connect):
    nvim = start_nvim()
    claude = Claude(nvim, connect)
    shows(nvim, "Claude idle")
    for mode, shown in (("auto", "auto"), ("default", "manual"), ("acceptEdits", "accept edits")):
        claude.record("busy")
        claude.line("user", permissionMode=mode, message={"role": "user", "content": "go on"})
        shows(nvim, f"Claude working · {shown}")
        claude.record("idle")
        shows(nvim, f"Claude idle · {shown}")
        assert nvim.lua("return require('claude-ide').statusline.mode()") == shown
    # No disk is read where no state has changed.
    nvim.lua("Ide.sessions.stored = function() error('read') end")
    assert nvim.lua(f"return {TEXT}") == "Claude idle · accept edits"


def test_of_several_sessions_it_says_how_many_do_what(start, sessions, connect):
    nvim = start()
    sessions.record(os.getpid(), "a", "waiting", waitingFor="input needed")
    other = sessions.sleeper()
    sessions.record(other, "b", "busy")
    connect(nvim).notify("ide_connected", {"pid": other})
    shows(nvim, "Claude 1 waiting, 1 working")


def test_sessions_elsewhere_are_not_this_neovims(start, sessions):
    nvim = start()
    sessions.record(sessions.sleeper(), "x", "busy")
    nvim.wait("#Ide.sessions.live() == 1", what="the other session")
    shows(nvim, "Claude")
    assert nvim.lua("return require('claude-ide').status().sessions") == []
    assert nvim.events() == []


def test_a_process_that_ended_runs_no_session_though_nobody_told_of_its_end_yet(start, sessions):
    nvim = start(connected=False)
    sessions.record(sessions.sleeper(), "s", cwd=nvim.project)
    nvim.lua("Ide.sessions.attach()")
    running = "Ide.sessions_catalogue.running('s')"
    nvim.wait(f"{running} ~= nil", what="it to be known")
    nvim.lua(
        "local sessions = Ide.sessions local reported = sessions.live() sessions.live = function() return reported end"
    )
    assert nvim.lua(f"return {running} ~= nil")
    sessions.close()
    assert nvim.lua(f"return {running} == nil")


def test_the_command_and_the_function_list_states(start_nvim, connect, sessions):
    nvim = start_nvim()  # with Neovim's own vim.notify: notices are on the screen
    connect(nvim)
    sessions.record(os.getpid(), "abc", "waiting", waitingFor="permission prompt")
    shows(nvim, "Claude waiting: permission")
    (session,) = nvim.lua("return require('claude-ide').status().sessions")
    assert (session["id"], session["pid"], session["state"]["activity"]) == ("abc", os.getpid(), "waiting")
    nvim.keys(":Claude status<CR>")
    nvim.wait_screen(f"(pid {os.getpid()}, waiting: permission)")
    states = f"(pid {os.getpid()}, waiting: permission)"
    for columns, said, gone in [
        (80, states, ["port"]),
        (74, states, ["port", "selection"]),
        (50, "waiting: permission", []),
    ]:
        nvim.cmd(f"set columns={columns}")
        nvim.keys(":Claude status<CR>")
        nvim.wait(
            lambda said=said, gone=gone: (
                said in "\n".join(nvim.screen()) and not any(word in nvim.screen()[-1] for word in gone)
            ),
            what=f"the states without {gone} in {columns} columns",
        )
        assert nvim.mode() == "n"


@pytest.mark.every_nvim
def test_the_screen_is_drawn_anew_only_when_the_text_is_another(start, sessions):
    nvim = start()
    sessions.record(os.getpid(), "s", "busy")
    shows(nvim, "Claude working")
    turns = "seen = false vim.schedule(function() vim.schedule(function() seen = true end) end)"
    nvim.lua(turns)
    nvim.wait("seen", what="the screen to be drawn for that")
    nvim.lua(
        """
        redraws = 0
        local cmd = vim.cmd
        vim.cmd = setmetatable({}, {
          __index = cmd,
          __call = function(_, command)
            if command == "redrawstatus!" then redraws = redraws + 1 end
            return cmd(command)
          end,
        })
        """
    )
    nvim.lua("for _ = 1, 3 do vim.api.nvim_exec_autocmds('User', { pattern = 'ClaudeMentionSent' }) end")
    nvim.lua(turns)
    nvim.wait("seen")
    assert nvim.lua("return redraws") == 0
    sessions.record(os.getpid(), "s", "idle")
    nvim.wait("redraws == 1", what="one redraw")
    assert nvim.lua(f"return {TEXT}") == "Claude idle"


# ── events ──


def test_each_state_is_an_event_once(start, sessions):
    nvim = start()
    pid = os.getpid()
    for status, count in (("idle", 1), ("busy", 2), ("waiting", 3), ("busy", 4), ("idle", 5)):
        more = {"waitingFor": "permission prompt"} if status == "waiting" else {}
        sessions.record(pid, "s", status, name="The parser", **more)
        nvim.wait(f"#events == {count}", what=f"event {count}")
    events = nvim.events()
    names = ["ClaudeIdle", "ClaudeWorking", "ClaudeWaiting", "ClaudeWorking", "ClaudeIdle"]
    assert [name for name, _ in events] == names
    common = {"session": "s", "pid": pid, "client": 1, "title": "The parser"}
    assert events[1][1] == common
    assert events[2][1] == common | {"waiting_for": "permission"}


def test_a_session_that_was_there_before_is_reported_when_it_connects_and_over_clear_and_not_when_it_reconnects(
    start, sessions, connect
):
    sessions.record(os.getpid(), "old", "busy")
    nvim = start()
    nvim.wait("#events == 1")
    assert nvim.lua("return events[1][1]") == "ClaudeWorking"
    nvim.client.close()
    nvim.wait("#Ide.server.clients() == 0")
    connect(nvim)
    nvim.wait("#require('claude-ide').status().sessions == 1", what="the session, connected again")
    sessions.record(os.getpid(), "new")
    nvim.wait("#events > 1")
    _, data = nvim.lua("return events[2]")
    assert (data["session"], data["previous"]) == ("new", "old")


# ── the notice ──


def test_what_is_out_of_sight_is_reported_once_a_wait_and_the_end_of_a_long_turn(in_terminal):
    nvim = in_terminal({"min_turn_ms": 10000})
    now = nvim.lua("return (vim.uv.gettimeofday()) * 1000")
    nvim.does("busy", statusUpdatedAt=now - 330_000)
    nvim.does("waiting", waitingFor="permission prompt", statusUpdatedAt=now - 329_000)
    assert notices(nvim) == [], "it is in sight"
    nvim.does("idle", statusUpdatedAt=now - 328_000)
    hide(nvim)
    nvim.does("busy", statusUpdatedAt=now - 300_000)
    nvim.does("waiting", waitingFor="permission prompt", statusUpdatedAt=now - 200_000)
    nvim.wait("#notices == 1", what="the notice")
    nvim.does("idle", statusUpdatedAt=now - 180_000)
    nvim.wait("#notices == 2", what="the notice of its end")
    nvim.does("busy", statusUpdatedAt=now - 9_000)
    nvim.does("idle", statusUpdatedAt=now)
    assert notices(nvim) == [
        "Claude waits for your permission. `:Claude decide` goes there.",
        "Claude has finished after 2 min",
    ]


@pytest.mark.parametrize(
    ("waits", "words"), [("input needed", "answer"), ("dialog open", "choice in a dialog")], ids=["answer", "dialog"]
)
def test_in_sight_but_without_the_focus_is_reported(in_terminal, waits, words):
    nvim = in_terminal()
    look(nvim, here=False)
    nvim.does("busy")
    nvim.does("waiting", waitingFor=waits)
    nvim.wait("#notices == 1", what="the notice")
    assert nvim.notices() == [f"Claude waits for your {words}. `:Claude decide` goes there."]
    look(nvim, here=True)
    nvim.does("busy")
    nvim.does("waiting", waitingFor="input needed")
    assert len(notices(nvim)) == 1


def test_an_end_that_begins_the_next_prompt_is_not(in_terminal):
    nvim = in_terminal()
    hold_timers(nvim, LASTS)
    hide(nvim)
    nvim.does("busy")
    nvim.does("idle")
    nvim.does("busy")
    assert let_timers_go(nvim) == 1
    assert nvim.notices() == []


@pytest.mark.parametrize("notify", [{"waiting": False}, {"channels": []}])
def test_it_can_be_switched_off(in_terminal, notify):
    nvim = in_terminal({"min_turn_ms": 0, **notify})
    hide(nvim)
    nvim.does("busy")
    nvim.does("waiting", waitingFor="permission prompt")
    assert notices(nvim) == []


def test_a_cli_in_another_program_is_reported_only_to_who_looks_at_neovim(start, sessions):
    nvim = start(opts={"notify": {"min_turn_ms": 0}})
    pid = os.getpid()
    sessions.record(pid, "s", "busy")
    nvim.wait("#events == 1")
    sessions.record(pid, "s", "waiting", waitingFor="permission prompt")
    nvim.wait("#notices == 1", what="the notice")
    look(nvim, here=False)
    sessions.record(pid, "s", "waiting", waitingFor="input needed")
    nvim.wait("#events == 3")
    assert len(notices(nvim)) == 1
    look(nvim, here=True)
    sessions.record(pid, "s", "busy")
    nvim.wait("#events == 4")
    sessions.record(pid, "s", "waiting", waitingFor="dialog open")
    nvim.wait("#notices == 2", what="the second notice")
    assert nvim.notices() == [
        "Claude waits for your permission",
        "Claude waits for your choice in a dialog",
    ]


def propose(nvim):
    """An edit of a.txt that awaits the user."""
    path = str(nvim.project / "a.txt")
    diff = {"old_file_path": path, "new_file_path": path, "new_file_contents": "two\n", "tab_name": "a.txt"}
    call = nvim.client.start_call("openDiff", **diff)
    nvim.wait_screen("ZZ accept")
    return call


def test_a_diff_that_asks_the_same_is_enough(start, sessions):
    nvim = start(files={"a.txt": "one\n"})
    sessions.record(os.getpid(), "s", "busy")
    nvim.wait("#events == 1")
    propose(nvim)
    sessions.record(os.getpid(), "s", "waiting", waitingFor="permission prompt")
    shows(nvim, "Claude waiting · 1 diff")  # the diff itself says what for
    assert notices(nvim) == []


def test_a_wait_that_a_diff_has_answered_is_not_reported_however_late_the_record_is(start, sessions):
    nvim = start(files={"a.txt": "one\n"})
    hold_timers(nvim, LASTS)
    sessions.record(os.getpid(), "s", "waiting", waitingFor="permission prompt")
    nvim.wait("#events == 1")
    request = propose(nvim)
    nvim.lua("vim.api.nvim_create_autocmd('User', { pattern = 'ClaudeDiffClosed', command = 'let g:closed = 1' })")
    nvim.cmd("Claude reject")
    nvim.client.call_result(request)
    nvim.wait("vim.g.closed == 1")
    assert let_timers_go(nvim) == 1
    assert nvim.notices() == []


def test_a_wait_that_a_card_has_answered_is_not_reported_either(start, sessions):
    nvim = start()
    hold_timers(nvim, LASTS)
    nvim.keys_count()
    sessions.record(os.getpid(), "s", "waiting", waitingFor="permission prompt")
    nvim.wait("#events == 1")
    call = nvim.client.start_call("hook_permission", tool="Bash", input='{"command":"ls"}')
    nvim.wait_kind("question")
    nvim.keys("y")
    nvim.client.call_result(call)
    assert let_timers_go(nvim) == 1
    assert nvim.notices() == []


def test_a_wait_that_is_recorded_just_after_a_decision_may_still_be_that_of_the_diff(start, sessions):
    nvim = start(files={"a.txt": "one\n"})
    nvim.lua("Ide.requests_notify.grace_ms = 60000")
    sessions.record(os.getpid(), "s", "busy")
    nvim.wait("#events == 1")
    request = propose(nvim)
    nvim.cmd("Claude reject")
    nvim.client.call_result(request)
    sessions.record(os.getpid(), "s", "waiting", waitingFor="permission prompt")
    nvim.wait("#events == 2")
    assert notices(nvim) == []


def test_what_only_the_terminal_asks_is_gone_to(in_terminal):
    nvim = in_terminal()
    hide(nvim)
    nvim.does("busy")
    nvim.cmd("Claude decide")
    assert nvim.lua("return vim.bo.buftype") != "terminal", "it does not wait"
    nvim.does("waiting", waitingFor="permission prompt")
    nvim.cmd("Claude decide")
    nvim.wait("vim.bo.buftype == 'terminal'", what="the terminal to have the focus")


@pytest.mark.every_nvim
def test_a_command_line_is_not_written_over(in_terminal):
    nvim = in_terminal()
    hide(nvim)
    nvim.wait("vim.fn.mode() == 'n'")
    nvim.keys(":echo 1")
    nvim.wait("vim.fn.mode() == 'c'")
    nvim.does("busy")
    nvim.does("waiting", waitingFor="permission prompt")
    assert notices(nvim) == []
    nvim.keys("<Esc>")
    nvim.wait("#notices == 1", what="the notice")


# ── the terminal's own ways ──


def outside_sequences(raw):
    """The bytes that a terminal got, without control strings, in which a BEL is only a terminator."""
    return re.sub(rb"\x1b[\]P][^\x07\x1b]*(?:\x07|\x1b\\)", b"", bytes(raw))


@pytest.mark.every_nvim
def test_the_bell_rings_and_the_terminal_is_asked_for_a_notification(in_terminal):
    nvim = in_terminal({"channels": ["bell", "osc9"]})
    hide(nvim)
    nvim.does("busy")
    before = len(nvim.terminal.raw)
    nvim.does("waiting", waitingFor="permission prompt")
    nvim.terminal.wait(
        lambda: b"\x1b]9;Claude waits for your permission\x1b\\" in nvim.terminal.raw[before:], what="OSC 9"
    )
    nvim.terminal.wait(lambda: b"\x07" in outside_sequences(nvim.terminal.raw[before:]), what="the bell")
    assert nvim.notices() == []
    nvim.cmd("redraw!")
    nvim.terminal.wait_quiet()
    assert "]9" not in nvim.terminal.text() and "waits" not in nvim.terminal.text()


def test_in_tmux_it_is_wrapped_and_nothing_of_the_text_ends_it(start):
    nvim = start(connected=False, env={"TMUX": "/tmp/tmux,1,0"})
    assert nvim.lua("return Ide.tty.notify(...)", "4;1;a\x1b\\b\x07c\x9cd") is True
    wrapped = b"\x1bPtmux;\x1b\x1b]9; 4;1;a \\b c d\x1b\x1b\\\x1b\\"
    nvim.terminal.wait(lambda: wrapped in nvim.terminal.raw, what="the wrapped sequence")


# ── what cannot be seen ──


def test_a_record_of_another_shape_leaves_the_rest_as_it_is(start, sessions):
    folder = sessions.config / "sessions"
    folder.mkdir(parents=True)
    pid = os.getpid()
    (folder / f"{pid}.json").write_text('{"pid": "x"}')
    nvim = start()
    shows(nvim, "Claude")
    nvim.wait("Ide.server.clients()[1].pid", what="the client's pid")
    assert nvim.notices() == []
    nvim.cmd("Claude status")
    (line,) = nvim.notices()
    assert f"(pid {pid})" in line
    sessions.record(pid, "s", "busy")
    shows(nvim, "Claude working")


def test_a_cli_that_dies_out_of_sight_is_reported_once(in_terminal):
    nvim = in_terminal()
    hide(nvim)
    nvim.lua("vim.uv.kill(vim.b[Ide.terminal.bufnr()].terminal_job_pid, 'sigkill')")
    nvim.wait("#notices > 0", what="the notice")
    nvim.wait("not Ide.terminal.is_running()", what="the end")
    assert notices(nvim) == ["Claude exited (code 137). `:Claude --continue` resumes the session."]


def test_of_several_sessions_without_names_a_notice_says_the_title(start, sessions, connect):
    nvim = start(opts={"notify": {"min_turn_ms": 0}})
    session = sessions.write(nvim.project, ("Explain the build", "ok"))
    other = sessions.sleeper()
    sessions.record(other, "b", "idle")
    connect(nvim).notify("ide_connected", {"pid": other})
    sessions.record(os.getpid(), session, "busy")
    shows(nvim, "Claude 1 working, 1 idle")
    sessions.record(os.getpid(), session, "waiting", waitingFor="permission prompt")
    nvim.wait("#notices > 0", what="the notice")
    assert nvim.notices() == ["Claude waits for your permission: Explain the build"]
