"""`:Claude board`: all sessions in one buffer that follows them; what a session asks is answered by its own presenter."""

import os
import re
from datetime import timedelta

import pytest
from chat_steps import wait_idle, wait_text

from harness.fake_cli import FakeCli

MINUTE = timedelta(minutes=1)

TODOS = {
    "newTodos": [
        {"content": "Read it", "status": "completed", "activeForm": "Reading it"},
        {"content": "Run the tests", "status": "in_progress", "activeForm": "Running the tests"},
    ]
}
EDIT = {
    "filePath": "/p/a.rs",
    "oldString": "a",
    "newString": "b",
    "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": ["-a", "+b", "+c"]}],
}


def called(*names):
    return [{"type": "tool_use", "id": f"t{at}", "name": name, "input": {}} for at, name in enumerate(names)]


def board(nvim):
    """The lines of the board, as they are in its buffer."""
    return nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr('board (Claude)'), 0, -1, false)")


def open_board(nvim, part, command="Claude board"):
    nvim.cmd(command)
    return nvim.wait(lambda: (lines := board(nvim)) and any(part in line for line in lines) and lines, what=part)


def line_here(nvim):
    return nvim.lua("return vim.api.nvim_get_current_line()")


def said(text):
    return {
        "type": "assistant",
        "message": {"id": text, "role": "assistant", "content": [{"type": "text", "text": text}]},
    }


def test_a_session_is_a_row_with_what_it_does_and_has_done(start_nvim, sessions, project):
    busy = sessions.write(
        project,
        ("fix the parser", called("TodoWrite", "Edit"), {"t0": ("ok", TODOS), "t1": ("ok", EDIT)}),
        ("go on", "I found the place"),
        title="The parser",
        tokens=12_400,
    )
    sessions.append(project, busy, {"type": "cost-state", "totalCostUSD": 0.42})
    sessions.write(project, ("explain the build", "ok"), age=timedelta(days=3), branch="docs")
    sessions.record(sessions.sleeper(), busy, "busy", project)
    nvim = start_nvim()
    first, second, ended = open_board(nvim, "ended")
    assert re.split(r"\s{2,}", first) == [
        "◐ working",
        "The parser",
        "+2 −1, 1 file",
        "main",
        "1%",
        "37k",
        "$0.42",
        "now",
    ]
    assert second == "  1/2: Running the tests · I found the place"
    assert re.split(r"\s{2,}", ended) == ["· ended", "explain the build", "docs", "1", "3d"]
    nvim.wait_screen("1 working  1 ended")
    sessions.append(project, busy, said("Now the tests"))
    nvim.wait(lambda: board(nvim)[1] == "  1/2: Running the tests · Now the tests", what="its last words")
    pid = sessions.sleeper()
    new = sessions.write(project, ("begin", "ok"), title="A new one")
    sessions.record(pid, new, "waiting", project, waitingFor="permission prompt")
    nvim.wait(lambda: board(nvim)[0].startswith("● permission  A new one"), what="the one that waits, first")
    assert board(nvim)[1].startswith("  waits for your permission · ok")
    sessions.forget(pid)
    nvim.wait(lambda: board(nvim)[0].startswith("◐ working"), what="its end")
    assert [line[:7] for line in board(nvim)] == ["◐ worki", "  1/2: ", "· ended", "· ended"]


def test_a_row_counts_the_comments_that_its_session_has_answered(start_nvim, sessions, project):
    session = sessions.write(project, ("look", "ok"), title="One that answers")
    sessions.record(sessions.sleeper(), session, "idle", project)
    nvim = start_nvim()
    open_board(nvim, "One that answers")
    for request in (
        {"add": {"by": "user", "words": "Why?"}},
        {"sent": [{"id": 1, "words": "Why?", "session": session}]},
        {"reply": {"id": 1, "words": "Because."}},
    ):
        assert "comment" not in board(nvim)[1]
        nvim.lua("local s = Ide.comments_store assert(s.change(s.root_of(), ...))", request)
    nvim.wait(lambda: "1 comment answered" in board(nvim)[1], what="the answer to be counted")


def test_the_cursor_stays_on_its_session_while_rows_move(start_nvim, sessions, project):
    pids = {}
    for number in range(30):
        name = f"session {number:02}"
        session = sessions.write(project, (name, "ok"), id=f"0000{number:04}-0000-4000-8000-000000000000")
        pids[name] = (sessions.sleeper(), session)
        sessions.record(*pids[name], "idle", project, startedAt=1_000_000 - number)
    nvim = start_nvim()
    nvim.terminal.resize(20, 100)
    lines = open_board(nvim, "session 29")
    assert [line for line in lines if "session" in line and "○" in line][0].startswith("○ idle        session 00")

    def wait_first(name):
        nvim.wait(lambda: name in board(nvim)[0], what=f"{name} to come first")

    # At the top of the list, the cursor moves with its session.
    nvim.keys("]]j")
    nvim.wait(lambda: nvim.lua("return vim.fn.line('.')") == 4)
    sessions.record(*pids["session 09"], "waiting", project, startedAt=0)
    wait_first("session 09")
    assert nvim.lua("return { vim.fn.line('.'), vim.fn.line('w0') }") == [6, 1]
    # Further down, it also keeps its place on the screen.
    nvim.keys("gg15]]zt5<C-y>lll")
    nvim.wait(lambda: nvim.lua("return { vim.fn.winline(), vim.fn.col('.') > 3 }") == [6, True], what="the cursor")
    here = line_here(nvim)

    def around():
        return [line[:30] for line in nvim.drawn()[6:10]]  # without the ages

    before = around()
    for name in ("session 20", "session 03", "session 25"):
        sessions.record(*pids[name], "waiting", project, startedAt=1)
        nvim.wait(lambda name=name: any("●" in line and name in line for line in board(nvim)), what=name)
        assert (line_here(nvim)[:24], nvim.lua("return vim.fn.winline()")) == (here[:24], 6)
        assert nvim.lua("return vim.fn.col('.')") > 1
    nvim.wait(lambda: around() == before, what="the lines around it to rest, too")
    # Its own row moves: it stays on it.
    name = re.search(r"session \d\d", here)[0]
    sessions.record(*pids[name], "waiting", project, startedAt=9_999_999)
    wait_first(name)
    assert name in line_here(nvim)


def test_a_key_acts_on_no_session_that_took_the_place_of_another(start_nvim, sessions, project):
    first, second = sessions.sleeper(), sessions.sleeper()
    sessions.record(first, "first-session", "busy", project, name="The first", startedAt=2_000)
    sessions.record(second, "second-session", "busy", project, name="The second", startedAt=1_000)
    nvim = start_nvim(notices=True)
    open_board(nvim, "The second")
    assert "The first" in line_here(nvim)
    sessions.forget(first)
    nvim.wait(lambda: "The second" in line_here(nvim), what="the other session to be under the cursor")
    nvim.keys("x")
    nvim.wait_notice("The session under the cursor has gone from the board: nothing was done.")
    nvim.keys("x")  # after the notice, it is meant for the session that is there
    nvim.wait(lambda: any(f"(pid {second})" in notice for notice in nvim.notices()), what="the session to be named")
    nvim.keys("d")
    nvim.wait(lambda: board(nvim) == ["No sessions here."], what="the hidden session to go")


def test_only_lines_that_the_board_shows_stand_for_sessions(start_nvim, sessions, project):
    for number in range(3):
        sessions.write(project, (f"session {number}", "ok"), age=number * MINUTE)
    nvim = start_nvim()
    lines = open_board(nvim, "session 2")
    # Its second line is the first one now: `d` may hide neither session.
    nvim.lua("vim.cmd('setlocal modifiable | 1delete') vim.api.nvim_feedkeys('d', 'xt', false)")
    nvim.lua("Ide.board.refresh()")
    nvim.wait(lambda: board(nvim) == lines, what="all lines to be set again")


def test_a_second_call_focuses_the_board(start_nvim, sessions, project):
    sessions.write(project, ("session", "ok"))
    nvim = start_nvim(args=["a.txt"])
    open_board(nvim, "session")
    nvim.cmd("Claude board")
    assert nvim.lua("return { #vim.api.nvim_list_wins(), vim.bo.filetype }") == [1, "claude-board"]
    nvim.cmd("split a.txt | Claude board all")
    assert nvim.lua("return { #vim.api.nvim_list_wins(), vim.bo.filetype }") == [2, "claude-board"]


def test_the_board_goes_on_after_neovim_locked_its_text(start_nvim, sessions, project):
    session = sessions.write(project, ("session", "ok"))
    sessions.record(sessions.sleeper(), session, "busy", project)
    nvim = start_nvim()
    open_board(nvim, "session")
    nvim.lua(
        """
        answers, is_over = 0, false
        local transport = Ide.sessions_transport
        local request = transport.request
        transport.request = function(what, listener)
          local reply = listener.reply
          listener.reply = function(...) answers = answers + 1 return reply(...) end
          return request(what, listener)
        end
        vim.keymap.set("n", "zz", function()
          answers = 0
          Ide.board.refresh()
          vim.wait(10000, function() return answers > 0 end)
          vim.schedule(function() is_over = true end)
          return ""
        end, { expr = true })
        """
    )
    sessions.append(project, session, said("other words"))
    nvim.keys("zz")
    nvim.wait(lambda: board(nvim)[1] == "  other words", what="the words")
    nvim.wait("is_over", what="the end of the lock: Neovim would not quit before")
    assert "E565" not in nvim.log()


def test_nothing_is_set_where_nothing_changed_and_no_selection_moves(start_nvim, sessions, project):
    for number in range(5):
        session = sessions.write(project, (f"session {number}", "ok"), age=number * MINUTE)
        sessions.record(sessions.sleeper(), session, "busy", project, startedAt=1_000 - number)
    nvim = start_nvim()
    open_board(nvim, "session 4")
    nvim.lua(
        """
        changed, answers = {}, 0
        vim.api.nvim_buf_attach(vim.fn.bufnr("board (Claude)"), false, {
          on_lines = function(_, _, _, first, _, last) changed[#changed + 1] = { first, last } end,
        })
        local canvas = Ide.board_canvas
        local show = canvas.show
        canvas.show = function(...) answers = answers + 1 return show(...) end
        """
    )
    nvim.wait("answers > 1", what="the board to be drawn again")
    assert nvim.lua("return #changed") == 0
    sessions.append(project, session, said("other words"))
    nvim.wait("#changed > 0", what="the change")
    assert nvim.lua("return changed") == [[9, 10]]
    nvim.keys("ggVj")
    nvim.wait("vim.fn.mode() == 'V' and vim.fn.line('.') == 2", what="the selection")
    sessions.append(project, session, said("later words"))
    before = nvim.lua("return answers")
    nvim.wait(f"answers > {before} + 1", what="the board to be asked for")
    assert "later words" not in board(nvim)[9]
    nvim.keys("<Esc>")
    nvim.wait(lambda: "later words" in board(nvim)[9], what="what waited")


def test_a_window_of_20_columns_and_5_lines_has_state_and_title(start_nvim, sessions, project):
    session = sessions.write(project, ("fix it", "done"), title="The parser of all", tokens=90_000)
    sessions.record(sessions.sleeper(), session, "waiting", project, waitingFor="input needed")
    nvim = start_nvim()
    nvim.terminal.resize(5, 20)
    open_board(nvim, "The parser")
    nvim.wait(lambda: board(nvim) == ["● The parser of all", "  waits for your an…"], what="what fits")
    nvim.wait_screen("1 waiting")
    nvim.terminal.resize(24, 80)
    nvim.wait(lambda: board(nvim)[0].startswith("● answer      The parser of all "), what="the columns")


@pytest.mark.every_nvim
def test_on_a_narrow_screen_the_board_makes_no_third_column(start_nvim, sessions, project):
    sessions.write(project, ("fix it", "ok"))
    nvim = start_nvim(opts={"terminal": {"command": ["sh", "-c", "exec cat"]}})
    nvim.cmd("set columns=40")
    nvim.cmd("Claude transcript")
    nvim.wait_screen("fix it")
    nvim.cmd("Claude")
    nvim.wait("vim.fn.mode() == 't'", what="the terminal's mode")
    nvim.keys("<C-\\\\><C-n>:Claude board<CR>")
    nvim.wait("vim.bo.filetype == 'claude-board'", what="the board")
    nvim.wait_screen("fix it")
    assert nvim.lua("return vim.api.nvim_win_get_width(0)") == 40
    assert nvim.lua("return #vim.api.nvim_tabpage_list_wins(0)") == 3


def test_a_request_is_answered_by_its_own_window(start_nvim, connect, sessions, project):
    (project / "a.txt").write_text("one\ntwo\n")
    nvim = start_nvim(args=["a.txt"])
    client = connect(nvim)
    session = sessions.write(project, ("change it", "ok"), title="The change")
    sessions.record(os.getpid(), session, "busy", project)
    nvim.wait("#require('claude-ide').sessions.live() == 1")
    call = client.start_call(
        "openDiff",
        old_file_path=str(project / "a.txt"),
        new_file_path=str(project / "a.txt"),
        new_file_contents="one\nTWO\n",
        tab_name="tab",
    )
    nvim.wait_screen("ZZ accept")
    nvim.cmd("tabnew")
    lines = open_board(nvim, "A change to")
    assert lines[0].startswith("● asks        The change")
    assert lines[1] == "  A change to a.txt · ok"
    nvim.wait_screen("1 waiting")
    nvim.keys("a")
    nvim.wait(lambda: nvim.lua("return vim.fn.bufname()") != "board (Claude)", what="the diff to have the focus")
    nvim.cmd("Claude accept")
    assert client.call_result(call)[0] == "FILE_SAVED"
    nvim.wait(lambda: board(nvim)[0].startswith("◐ working     The change"), what="the board without a request")


def test_keys_act_on_the_session_under_the_cursor(start_nvim, sessions, project, tmp_path):
    (tmp_path / "other").mkdir()
    (project / ".git").mkdir()
    mine = sessions.write(project, ("mine", "ok"), age=3 * MINUTE)
    sessions.write(project, ("second", "ok"), age=9 * MINUTE)
    sessions.write(tmp_path / "other", ("elsewhere", "ok"), age=6 * MINUTE)
    elsewhere = sessions.sleeper()
    sessions.record(elsewhere, mine, "idle", project)
    nvim = start_nvim(notices=True)
    nvim.cmd("edit before.txt")
    assert len(open_board(nvim, "second")) == 3
    nvim.keys("i")
    nvim.wait_notice(f"This session cannot get a prompt: it runs in another terminal (pid {elsewhere}): write there.")
    nvim.keys("x")
    nvim.wait_notice(f"This session runs in another terminal (pid {elsewhere}). End it there.")
    nvim.keys("a")
    nvim.wait_notice("This session is not waiting for an answer.")
    nvim.keys("r")
    nvim.wait_notice("This session has no changes to review in this Neovim.")
    nvim.keys("d")
    nvim.wait(lambda: len(board(nvim)) == 1, what="the hidden session to go")
    nvim.wait_screen("1 hidden")
    nvim.keys("d")
    nvim.wait_screen("2 hidden")
    nvim.keys("du")
    nvim.wait(lambda: len(board(nvim)) == 3, what="it to come back")
    nvim.keys("p")
    nvim.wait(lambda: any("elsewhere" in line for line in board(nvim)), what="the other project")
    nvim.wait_screen("all projects")
    nvim.keys("ggw")
    nvim.wait(
        lambda: len(board(nvim)) == 3 and not any("elsewhere" in line for line in board(nvim)), what="one worktree"
    )
    nvim.keys("w")
    nvim.wait(lambda: len(board(nvim)) == 4, what="all of them")
    nvim.answer("Another title")
    nvim.keys("ggR")
    nvim.wait(lambda: "Another title" in board(nvim)[0], what="its title")
    nvim.keys("t")
    nvim.wait("vim.bo.filetype == 'claude-transcript'")
    nvim.keys("q")
    nvim.wait("vim.bo.filetype == 'claude-board'")
    nvim.keys("q")
    nvim.wait("vim.fn.expand('%:t') == 'before.txt'")


def test_a_prompt_waits_until_claude_is_free_and_a_turn_is_interrupted(start_nvim, sessions, project, tmp_path):
    fake = FakeCli(tmp_path)
    (sessions.config / "sessions").mkdir(parents=True)
    session = sessions.write(project, ("one", "two"), title="In the terminal")
    nvim = start_nvim(env=fake.environment())
    nvim.keys(":Claude<CR>")
    nvim.wait_screen("fake CLI ready")
    pid = fake.starts()[0]["pid"]
    sessions.record(pid, session, "busy", cwd=project)
    fake.show_prompt()
    nvim.keys("<C-\\><C-n>")
    nvim.wait("vim.api.nvim_get_mode().mode == 'nt'", what="normal mode")
    nvim.cmd("Claude hide")
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'", what="the file's window")
    open_board(nvim, "working     In the terminal")
    nvim.answer("and the tests")
    nvim.keys("i")
    nvim.wait(lambda: "1 queued" in board(nvim)[1], what="the prompt to be queued")
    assert nvim.asked()[0]["prompt"] == "To “In the terminal”: " and fake.typed() == b""
    nvim.keys("x")
    nvim.wait(lambda: fake.typed() == b"\x1b", what="Esc")
    nvim.wait(lambda: "queued" not in board(nvim)[1], what="the board without it: to stop starts no next turn")
    assert nvim.lua("return vim.fn.getreg('\"')") == "and the tests"
    sessions.record(pid, session, "idle", cwd=project)
    nvim.wait(lambda: any("idle        In the terminal" in line for line in board(nvim)), what="it to be idle")
    assert fake.typed() == b"\x1b"

    # A draft at the prompt is in the way: that is said, and what waits can be taken back.
    nvim.keep_notices()
    fake.show_prompt("a draft")
    nvim.wait("Ide.terminal_prompt.has_draft(Ide.terminal.bufnr())", what="the draft")
    nvim.answer("one", 2, "two")
    nvim.keys("i")
    nvim.wait(lambda: "1 queued" in board(nvim)[1], what="the prompt to be queued")
    nvim.wait_notice("The board’s prompt waits: there is unsent text at Claude's prompt.")
    nvim.keys("i")
    nvim.wait("#asked == 3", what="the text to be asked for again")
    assert nvim.asked()[1]["lines"] == ["Write another prompt", "Unqueue “one”"]
    assert nvim.asked()[1]["prompt"] == "1 prompt waits for “In the terminal”: text stands at its prompt"
    fake.show_prompt()
    nvim.wait(lambda: b"two" in fake.typed(), what="the prompt to be typed")
    assert b"one" not in fake.typed()
    nvim.keys("<CR>")
    nvim.wait("vim.bo.buftype == 'terminal'", what="its terminal")
    nvim.keys("<C-\\><C-n>:Claude board<CR>")
    nvim.wait("vim.bo.filetype == 'claude-board'")
    # While the user chooses, the process goes on with another session.
    nvim.lua("vim.ui.select = function(items, _, done) choose = function() done(items[2]) end end")
    nvim.keys("x")
    nvim.wait("choose ~= nil", what="the question")
    other = sessions.write(project, ("three", "four"), title="After it")
    sessions.record(pid, other, "idle", cwd=project)
    nvim.wait(lambda: any("idle        After it" in line for line in board(nvim)), what="the other session")
    nvim.lua("choose()")
    assert nvim.lua("return Ide.terminal.is_running()")
    nvim.keys("gg")
    nvim.wait(lambda: "After it" in line_here(nvim), what="the cursor to be on it")
    nvim.answer(2)
    nvim.keys("x")
    nvim.wait("not Ide.terminal.is_running()", what="the end of the CLI")


def test_a_chat_is_a_row_whose_cost_is_known_at_once(begin_chat_with_stand_in, sessions):
    nvim = begin_chat_with_stand_in("SAY hello")
    chat = "Ide.chat.current()"
    wait_idle(nvim)
    session, pid = nvim.lua(f"local chat = {chat} chat.cost = 1.5 return {{ chat.session, chat.pid }}")
    sessions.write(nvim.project, ("hello", "there"), id=session, title="The chat")  # it has begun: its file is ours
    sessions.record(pid, session, "idle", cwd=nvim.project, kind="interactive", entrypoint="sdk-cli")
    nvim.wait("#require('claude-ide').sessions.live() == 1")
    nvim.cmd("tabnew")
    lines = open_board(nvim, "The chat")
    assert lines[0].startswith("○ idle        The chat") and "$1.50" in lines[0]
    nvim.answer("one more thing")
    nvim.keys("i")
    wait_text(nvim, "one more thing")
    nvim.keys("<CR>")
    nvim.wait_kind("prompt")


@pytest.mark.slow
def test_two_hundred_sessions_are_redrawn_within_16_ms_and_older_ones_stay_counted(start_nvim, sessions, project):
    for number in range(230):
        session = sessions.write(
            project, (f"prompt {number}", f"answer {number} " * 9), title=f"Session {number}", tokens=number * 1000
        )
        if number < 20:
            sessions.record(sessions.sleeper(), session, "busy", project, startedAt=1_000 - number)
    nvim = start_nvim()
    nvim.lua(
        """
        took = {}
        local transport = Ide.sessions_transport
        local request = transport.request
        transport.request = function(what, listener)
          local reply = listener.reply
          listener.reply = function(...)
            local start = os.clock() -- of this process: others may be busy, too
            reply(...)
            took[#took + 1] = (os.clock() - start) * 1e3
          end
          return request(what, listener)
        end
        """
    )
    lines = open_board(nvim, "older")
    assert (len(lines), lines[-1]) == (20 * 2 + 200 + 1, "… 10 older: :Claude sessions")
    for number in range(3):
        sessions.append(project, session, said(f"more {number}"))
    nvim.wait("#took > 3", what="the board to be drawn again")
    assert min(nvim.lua("return took")) <= 16
    assert board(nvim)[-1] == lines[-1]
    nvim.wait_screen("20 working  210 ended")
