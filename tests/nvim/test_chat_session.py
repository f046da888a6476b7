"""A chat is a session like any other: statusline, review, undo, rewind, the terminal and back; with the real CLI.

Everything that one CLI can be asked is one test, since starting another takes longer. Each step is a function, named
after what it asserts.
"""

import json
import os
import re
import signal
import sys

import pytest
from chat_steps import at_work_in, call, chat, say, text, wait_answer, wait_idle, wait_text
from session_files import Sessions

from harness import asking_server
from harness.scripted_model import Reply

pytestmark = pytest.mark.dealt


def the_effort_is_read_back(nvim):
    nvim.answer(1)
    nvim.keys("gE")
    nvim.wait("Ide.chat.current().effort == 'low'", what="the effort")
    nvim.wait_screen("low effort")


def the_model_is_told_of_the_editors_tools_and_uses_one(nvim, mock_api):
    say(nvim, f"{call('mcp__nvim__open_buffers')} THEN SAY seen")
    wait_text(nvim, "\nseen")
    assert mock_api.seen("open.txt")
    wait_idle(nvim)


def a_task_in_the_background_is_listed_and_stopped(nvim):
    say(
        nvim,
        f"{call('Bash', command='touch begun; sleep 600', description='Sleeps long', run_in_background=True)} THEN SAY on",
    )
    wait_text(nvim, "\non")
    nvim.wait("next(Ide.chat.current().tasks) ~= nil", what="the task")
    nvim.wait_screen("1 task")
    nvim.answer(1)
    wait_idle(nvim)
    nvim.keys("gB")
    nvim.wait("next(Ide.chat.current().tasks) == nil", what="the task to be stopped")
    assert nvim.asked()[0]["lines"] == ["Sleeps long"]
    wait_idle(nvim)


def is_told(nvim, event):
    nvim.wait(f"return vim.iter(events):any(function(one) return one[1] == '{event}' end)", what=event)


def what_it_does_is_told_and_in_the_list_of_sessions(nvim, mock_api):
    nvim.wait("require('claude-ide.statusline').text():find('^Claude idle') ~= nil", what="what came before to be told")
    nvim.keep_events("ClaudeTurnStarted", "ClaudeTurnEnded", "ClaudeWorking", "ClaudeWaiting", "ClaudeIdle")
    wait_for_go = call("Bash", command="until test -e go; do sleep 0.05; done")
    say(nvim, f"{wait_for_go} THEN {call('mcp__asker__plan')} THEN SAY planned")
    is_told(nvim, "ClaudeWorking")
    (nvim.project / "go").touch()
    is_told(nvim, "ClaudeWaiting")
    nvim.answer()
    nvim.cmd("Claude sessions")
    nvim.wait("#asked > 0", what="the list")
    (listed,) = nvim.asked()[0]["lines"]
    assert "waiting: answer" in listed and wait_for_go[:30] in listed
    a_form_of_a_server_is_filled_in_and_sent(nvim, mock_api)
    is_told(nvim, "ClaudeIdle")
    is_told(nvim, "ClaudeTurnEnded")  # either may be the first
    about, events = chat(nvim, "return { chat.session, chat.pid }"), nvim.events()
    turns = [(name, data["turn"]) for name, data in events if "turn" in data]
    assert [name for name, _ in turns] == ["ClaudeTurnStarted", "ClaudeTurnEnded"]
    assert turns[0][1]["id"] == turns[1][1]["id"] and "ended" not in turns[0][1] and turns[1][1]["ended"]
    states = [(name, data) for name, data in events if "turn" not in data]
    assert [name for name, _ in states if name != "ClaudeWorking"] == ["ClaudeWaiting", "ClaudeIdle"]
    assert [[data["session"], data["pid"]] for _, data in states] == [about] * len(states)
    assert next(data["waiting_for"] for name, data in states if name == "ClaudeWaiting") == "input"


def a_form_of_a_server_is_filled_in_and_sent(nvim, mock_api):
    nvim.wait_screen("Which trip?")
    nvim.wait_kind("question")
    nvim.keys("y", counts=True)
    nvim.wait_screen("is missing")
    nvim.answer("Nowhere")
    nvim.keys("<CR>")
    nvim.wait_screen("Nowhere")
    nvim.keys("y")
    wait_text(nvim, "\nplanned")
    assert mock_api.seen('"content": {"nights": 2, "place": "Nowhere", "quiet": false}'.replace('"', '\\"'))
    wait_idle(nvim)


def a_model_is_chosen_and_the_mode_is_what_the_cli_says(nvim, mock_api):
    nvim.answer(-1)
    nvim.keys("gm")
    nvim.wait("(Ide.chat.current().model or ''):find('haiku') ~= nil", what="the model")
    nvim.keys("<S-Tab>")
    nvim.wait("Ide.chat.current().mode == 'acceptEdits'", what="the mode")
    nvim.wait_screen("acceptEdits")
    say(nvim, "SAY with it")
    wait_text(nvim, "\nwith it")
    assert "haiku" in mock_api.requests[-1]["model"]
    wait_idle(nvim)


def edit(path, old, new, words):
    return (
        f"{call('Read', file_path=str(path))} THEN {call('Edit', file_path=str(path), old_string=old, new_string=new)} "
        f"THEN SAY {words}"
    )


def it_says_on_what_account_it_draws(nvim):
    nvim.wait_screen("billed to an API key")
    nvim.keys("g?")
    nvim.wait_screen("draws on an API key (ANTHROPIC_API_KEY)")
    nvim.keys("q")
    nvim.wait_kind("prompt")


def files_are_completed_from_the_first_moment(nvim):
    """Until the CLI has scanned the project, it knows no files."""
    nvim.wait("(vim.b.claude_ide or {}).kind == 'prompt' and vim.bo.filetype == 'markdown'", what="the prompt")
    nvim.keys("i@ope")
    words = "return vim.tbl_map(function(item) return item.word end, vim.fn.complete_info({ 'items' }).items)"
    nvim.wait(lambda: nvim.lua(words) == ["open.txt"] and nvim.lua("return vim.fn.pumvisible()"), what="the menu")
    nvim.keys("<C-n><C-y> <C-u><Esc>")
    nvim.wait(lambda: nvim.lines() == [""] and nvim.mode() == "n", what="an empty prompt")


def a_subagent_is_followed_within_its_call_as_it_works(nvim, mock_api):
    """Also in the first turn of a session, before which its file does not exist."""
    fifo = nvim.project / "fifo"
    os.mkfifo(fifo)
    agent = {
        "description": "Look",
        "prompt": call("Bash", command="cat fifo"),
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    mock_api.script(Reply(calls=[("Agent", agent)]))
    say(nvim, "look at it")
    shown = "Subagent general-purpose · Enter shows what it did"
    wait_text(nvim, shown)
    nvim.keys("<C-w>k")
    nvim.wait_kind("transcript")
    nvim.lua("vim.fn.search(..., 'bw') vim.cmd('normal! zv')", shown)
    nvim.keys("<CR>")
    wait_text(nvim, "\n      Bash cat fifo")
    assert "\n    Done." not in text(nvim)
    fifo.write_text("")
    wait_text(nvim, "\n    Done.")
    assert not re.search("SendMessage|hand-back|tools-used", text(nvim)), "that is for the model"
    wait_idle(nvim)
    nvim.keys("G<C-w>b")  # new text is drawn only near a window
    nvim.wait_kind("prompt")


def one_in_the_background_runs_until_its_end_begins_a_turn(nvim, mock_api):
    """As the CLI starts them by itself."""
    fifo, other = nvim.project / "first.fifo", nvim.project / "other.fifo"
    os.mkfifo(fifo)
    os.mkfifo(other)
    prompt = call("Bash", command="cat first.fifo")
    agent = {"description": "Look again", "prompt": prompt, "subagent_type": "general-purpose"}
    mock_api.script(Reply(calls=[("Agent", agent)]))
    say(nvim, "look THEN SAY it is on its way")
    wait_answer(nvim, "\nit is on its way")
    wait_text(nvim, "  Agent Look again · running")
    assert "internal metadata" not in text(nvim)
    # Its first request to the model may come after the end of the turn that began it.
    nvim.wait(lambda: any("cat first.fifo" in line for line in at_work_in(nvim.project)), what="it to be at work")
    mock_api.script(Reply("I have looked"), Reply(calls=[("Bash", {"command": "cat other.fifo"})]))
    fifo.write_text("")
    wait_text(nvim, "  Bash cat other.fifo · running")
    assert re.search(r"^  Agent Look again · ok · ", text(nvim), re.M)
    assert chat(nvim, "return chat.state") == "working"
    nvim.keys("<C-c>")
    wait_answer(nvim, "Interrupted by you")


def undo(nvim):
    """Runs `:Claude undo` to its end, which comes after the file is written; no other undo begins before it."""
    count = "(select(2, vim.fn.execute('messages'):gsub('Undid', '')))"
    before = nvim.lua(f"return {count}")
    nvim.cmd("Claude undo")
    nvim.wait(f"{count} > {before}", what="the undo to be over")


def what_a_subagent_writes_unasked_waits_for_a_review(nvim, mock_api):
    """Outside a repository, and without a record in its transcript; it waits until the file's content is kept."""
    path = nvim.project / "a.txt"
    nvim.lua("""
      local journal = Ide.journal
      local before_edit = journal.before_edit
      journal.before_edit = function(client, path, call)
        journal.before_edit = before_edit
        vim.uv.sleep(100)
        deferred = vim.fn.readfile(path)[1]
        return before_edit(client, path, call)
      end
    """)
    steps = [call("Read", file_path=str(path)), call("Edit", file_path=str(path), old_string="one", new_string="ONE")]
    agent = {"description": "Change it", "prompt": " THEN ".join(steps), "subagent_type": "general-purpose"}
    mock_api.script(Reply(calls=[("Agent", agent)]))
    say(nvim, "change it THEN SAY somebody changes it")
    nvim.wait(lambda: path.read_text() == "ONE\ntwo\n", what="the file")
    assert nvim.lua("return deferred") == "one"
    nvim.wait("Ide.journal.counts().files == 1", what="a file to review")
    nvim.wait(lambda: re.search(r"^  Agent Change it · ok · ", text(nvim), re.M), what="its end")
    wait_idle(nvim)
    nvim.answer(1)
    undo(nvim)
    nvim.wait(lambda: path.read_text() == "one\ntwo\n", what="the turn to be undone")


def an_edit_that_is_announced_too_late_is_known_by_the_transcript(nvim):
    """Neovim was busy for so long that the CLI went on: the file is written before Neovim learns of the edit."""
    path = nvim.project / "a.txt"
    nvim.lua("""
      local record, late = Ide.chat_record, {}
      local before_edit, results = record.before_edit, record.results
      record.before_edit = function(...) late = { ... } end
      record.results = function(...) before_edit(unpack(late)) results(...) end
      in_time = function() record.before_edit, record.results = before_edit, results end
    """)
    say(nvim, edit(path, "one", "ONE", "it late"))
    wait_answer(nvim, "\nit late")
    nvim.wait("Ide.journal.counts().files == 1", what="a file to review")
    nvim.lua("in_time()")
    nvim.answer(1)
    undo(nvim)
    assert path.read_text() == "one\ntwo\n"


def a_turn_is_undone_alone_though_neovim_heard_of_it_when_it_was_over(nvim):
    path = nvim.project / "a.txt"
    say(nvim, edit(path, "one", "ONE", "the first"))
    wait_answer(nvim, "\nthe first")
    nvim.wait("Ide.journal.counts().files == 1", what="a file to review")
    ended = "local turns = Ide.journal.turns() return turns[#turns].ended ~= nil"
    nvim.wait(ended, what="the first turn to be read to its end")
    nvim.lua(
        """
        local path, record = ..., Ide.chat_record
        local turn_begins = record.turn_begins
        record.turn_begins = function(...)
          record.turn_begins = turn_begins
          while vim.fn.readfile(path)[2] ~= "TWO" do vim.uv.sleep(1) end
          return turn_begins(...)
        end
        """,
        str(path),
    )
    say(nvim, edit(path, "two", "TWO", "the second"))
    wait_answer(nvim, "\nthe second")
    nvim.wait(
        "local now = Ide.journal.changes()[1] return now and now.after == 'ONE\\nTWO\\n'",
        what="both changes to be known",
    )
    nvim.answer(1, 1)
    undo(nvim)
    assert path.read_text() == "ONE\ntwo\n", "the second turn is undone"
    undo(nvim)
    assert path.read_text() == "one\ntwo\n", "the first one, too"


def unsaved_text_goes_along_when_it_reads_the_file(nvim, mock_api):
    path = nvim.project / "a.txt"
    nvim.lua(
        "buf = vim.fn.bufadd(...) vim.fn.bufload(buf) vim.api.nvim_buf_set_lines(buf, 0, 0, true, { 'UNSAVED' })",
        str(path),
    )
    nvim.wait("#Ide.hook_folder.texts() == 1", what="the note")
    say(nvim, f"{call('Read', file_path=str(path))} THEN SAY read")
    wait_answer(nvim, "\nread")
    assert mock_api.seen("+UNSAVED")
    nvim.lua("vim.api.nvim_buf_delete(buf, { force = true })")


def what_a_turn_changed_is_reviewed_undone_and_rewound(nvim):
    path = nvim.project / "a.txt"
    nvim.wait("require('claude-ide.statusline').text():find('^Claude idle') ~= nil", what="the statusline")
    say(nvim, edit(path, "one", "ONE", "done"))
    wait_answer(nvim, "\ndone")
    nvim.wait("Ide.journal.counts().files == 1", what="a file to review")
    nvim.wait("require('claude-ide.statusline').text():find('1 to review') ~= nil", what="the statusline")
    nvim.answer(1)
    undo(nvim)
    assert path.read_text() == "one\ntwo\n"
    say(nvim, edit(path, "two", "TWO", "done too"))
    wait_answer(nvim, "\ndone too")
    assert path.read_text() == "one\nTWO\n"
    nvim.answer(1, 1)
    # The choice is held back: nothing may be written before it.
    nvim.lua("""
      local select = vim.ui.select
      vim.ui.select = function(items, options, done)
        if options.prompt:find("1 file") then
          go = function() select(items, options, done) end
        else
          select(items, options, done)
        end
      end
    """)
    chat(nvim, "Ide.chat_rewind.choose(chat)")
    nvim.wait("go ~= nil", what="the dry run")
    assert path.read_text() == "one\nTWO\n", "a dry run writes nothing"
    nvim.lua("go()")
    nvim.wait(lambda: path.read_text() == "one\ntwo\n", what="the file to be as before")
    assert nvim.asked()[-1]["lines"][0] == "Restore a.txt"
    wait_text(nvim, "Restored a.txt")


def test_a_chat_is_set_and_uses_tools_and_what_it_changes_is_undone(begin_chat, mock_api):
    server = {"command": sys.executable, "args": [asking_server.__file__]}
    config = json.dumps({"mcpServers": {"asker": server}})
    command = ["claude", "--permission-mode", "bypassPermissions", f"--mcp-config={config}"]
    files = {"a.txt": "one\ntwo\n", "open.txt": "one\n"}
    nvim = begin_chat(files=files, args=["open.txt"], opts={"terminal": {"command": command}})
    wait_idle(nvim)
    it_says_on_what_account_it_draws(nvim)
    files_are_completed_from_the_first_moment(nvim)
    a_subagent_is_followed_within_its_call_as_it_works(nvim, mock_api)
    one_in_the_background_runs_until_its_end_begins_a_turn(nvim, mock_api)
    what_a_subagent_writes_unasked_waits_for_a_review(nvim, mock_api)
    the_effort_is_read_back(nvim)
    the_model_is_told_of_the_editors_tools_and_uses_one(nvim, mock_api)
    a_task_in_the_background_is_listed_and_stopped(nvim)
    what_it_does_is_told_and_in_the_list_of_sessions(nvim, mock_api)
    a_model_is_chosen_and_the_mode_is_what_the_cli_says(nvim, mock_api)
    an_edit_that_is_announced_too_late_is_known_by_the_transcript(nvim)
    a_turn_is_undone_alone_though_neovim_heard_of_it_when_it_was_over(nvim)
    unsaved_text_goes_along_when_it_reads_the_file(nvim, mock_api)
    what_a_turn_changed_is_reviewed_undone_and_rewound(nvim)


def test_an_edit_that_a_turns_end_overtakes_is_reviewed(begin_chat_with_stand_in):
    """A background subagent announces an edit, the turn that began it ends, and only then the file is written."""
    nvim = begin_chat_with_stand_in("SAY begun", files={"a.txt": "one\n"})
    wait_answer(nvim, "\nbegun")
    path = nvim.project / "a.txt"
    take_in = "Ide.chat_events.take_in(Ide.chat.current(), ...)"
    nvim.lua(take_in, {"type": "prompt", "state": "started", "id": "p"})
    nvim.lua(take_in, {"type": "before_edit", "request": "h", "call": "edit", "paths": [str(path)]})
    nvim.lua(take_in, {"type": "turn", "outcome": "done"})
    nvim.lua("Ide.journal.when_known(function() known = true end)")
    nvim.wait("known", what="the file to be looked at")
    path.write_text("ONE\n")
    result = {"content": [], "is_error": False}
    nvim.lua(take_in, {"type": "results", "by": "agent", "results": [["edit", result]]})
    nvim.wait("Ide.journal.counts().files == 1", what="a file to review")
    (turn,) = nvim.wait(
        "local turns = Ide.journal.turns() return turns[#turns].ended and { turns[#turns] }",
        what="the end of the turn",
    )
    assert turn["files"] == [str(path)]
    path.write_text("of another program\n")
    nvim.lua("Ide.journal.look_again()")
    nvim.lua("known = false Ide.journal.when_known(function() known = true end)")
    nvim.wait("known")
    undone = nvim.lua("return Ide.journal_undo.preview(...)", turn["id"])
    assert undone == [] or undone[0].get("hunks", 0) == 0, undone


def it_goes_on_in_the_terminal_and_back(nvim):
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    nvim.cmd(f"Claude open --resume {session}")
    nvim.wait("(Ide.terminal.session() or {}).id ~= nil", what="the terminal's session")
    assert nvim.lua("return Ide.terminal.session().id") == session
    assert nvim.lua("return #Ide.chat.list()") == 0
    assert nvim.lua("return vim.uv.kill(...) == nil", pid, 0), "the chat's process is gone"
    nvim.wait_screen("remember")
    nvim.answer(2)
    nvim.stop_insert()
    nvim.cmd(f"Claude chat --resume {session} SAY again")
    wait_text(nvim, "\nagain")
    assert nvim.asked()[0]["prompt"] == "This session runs in the terminal"
    assert chat(nvim, "return chat.session") == session
    assert not nvim.lua("return Ide.terminal.is_running()")
    wait_idle(nvim)


def it_goes_on_where_another_session_in_the_terminal_is_kept(nvim):
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    nvim.lua("Ide.terminal.open_in_background({})")
    nvim.wait("(Ide.terminal.session() or {}).id ~= nil", what="the terminal's session")
    other = nvim.lua("return Ide.terminal.session().id")
    assert other != session
    nvim.answer(1, 1, 2)
    nvim.lua("current = Ide.chat.current()")
    for ask in ("Ide.chat.to_terminal(current)", f"vim.cmd('Claude open --resume {session}')"):
        nvim.lua(ask)
        assert chat(nvim, "return { chat.session, chat.pid, chat.state }") == [session, pid, "idle"]
    assert len(nvim.asked()) == 2
    nvim.stop_insert()
    nvim.lua("Ide.chat.show(nil, current)")  # the terminal took its place
    say(nvim, "SAY still here")
    wait_answer(nvim, "\nstill here")
    assert nvim.lua("return Ide.terminal.session().id") == other
    nvim.lua("Ide.chat.to_terminal(current)")  # "End it and continue the chat"
    nvim.wait(f"(Ide.terminal.session() or {{}}).id == '{session}'", what="the chat in the terminal")
    assert nvim.lua("return #Ide.chat.list()") == 0


def test_a_chat_goes_on_in_the_terminal_and_back(begin_chat):
    nvim = begin_chat("SAY remember")
    wait_answer(nvim, "\nremember")
    it_goes_on_in_the_terminal_and_back(nvim)
    it_goes_on_where_another_session_in_the_terminal_is_kept(nvim)


def test_a_session_that_is_open_in_a_chat_is_shown_there_and_not_begun_twice(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in("SAY hello")
    wait_answer(nvim, "\nhello")
    nvim.answer()
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    starts = nvim.home / "starts"
    for number, which in enumerate([f"--resume {session}", f"--resume {session[:8]}", "--continue"]):
        nvim.cmd("Claude chat --new")
        nvim.wait(f"Ide.chat.current().session ~= '{session}'", what="another chat")
        wait_idle(nvim)
        begun = len(starts.read_text().splitlines())
        nvim.cmd(f"Claude chat {which} SAY again {number}")
        wait_answer(nvim, f"\nagain {number}")
        assert chat(nvim, "return { chat.session, chat.pid }") == [session, pid]
        assert nvim.asked() == [] and len(starts.read_text().splitlines()) == begun
        assert nvim.lua("return #Ide.chat.list()") == 2
        nvim.lua("local chats = Ide.chat chats.close(chats.list()[1])")
    nvim.cmd(f"Claude chat --fork {session} SAY in a copy")
    nvim.wait(f"Ide.chat.current().session ~= '{session}'", what="the copy")
    assert nvim.lua("return #Ide.chat.list()") == 2


def test_one_that_ended_and_whose_session_goes_on_elsewhere_is_not_begun_again(begin_chat_with_stand_in):
    nvim = begin_chat_with_stand_in("SAY hello")
    wait_answer(nvim, "\nhello")
    session, pid = chat(nvim, "return { chat.session, chat.pid }")
    os.kill(pid, signal.SIGKILL)
    nvim.wait("Ide.chat.current().state == 'ended'", what="the end of the first")
    first = "Ide.chat.list()[1]"
    nvim.cmd(f"Claude chat --resume {session} SAY from the second")
    nvim.wait_screen(re.compile("│from the second"))
    wait_idle(nvim)
    starts = len((nvim.home / "starts").read_text().splitlines())
    why = nvim.lua(f"return select(2, Ide.chat.say({first}, 'SAY never'))")
    assert why == "This session is open in another chat."
    assert nvim.lua(f"return {first}.state") == "ended"
    nvim.lua("local chats = Ide.chat chats.close(chats.list()[2])")
    nobody = f"Ide.sessions_catalogue.running('{session}') == nil"
    nvim.wait(f"#Ide.chat.list() == 1 and {nobody}", what="the second to be gone")
    Sessions(nvim.home).record(os.getpid(), session, "idle", nvim.project)
    nvim.wait(f"not ({nobody})", what="another process")
    why = nvim.lua(f"return select(2, Ide.chat.say({first}, 'SAY never'))")
    assert why == f"This session now runs in another terminal (pid {os.getpid()})."
    Sessions(nvim.home).forget(os.getpid())
    nvim.wait(nobody, what="its end")
    nvim.lua(f"Ide.chat.say({first}, 'SAY from the first')")
    nvim.wait(f"{first}.state == 'idle' and #{first}.queue == 0", what="the first to go on")
    assert len((nvim.home / "starts").read_text().splitlines()) == starts + 1


def test_what_is_said_to_a_chat_that_is_closed_before_it_begins_is_kept(start_nvim):
    nvim = start_nvim(opts={"terminal": {"command": ["/bin/cat"]}})
    nvim.lua("""
      local chats = Ide.chat
      assert(chats.open({ text = "not to be lost" }))
      chats.close(chats.current())
    """)
    nvim.wait("vim.fn.getreg('\"'):find('not to be lost', 1, true) ~= nil", what="the words where they are kept")


@pytest.mark.every_nvim
@pytest.mark.parametrize("leave", ["close", "hide"])
def test_a_chat_that_goes_at_once_takes_both_its_windows_along(start_nvim, leave):
    """Its transcript follows its prompt turns of the loop later."""
    nvim = start_nvim(opts={"terminal": {"command": ["/bin/cat"]}})
    nvim.lua(
        """
        local chats, later = Ide.chat, vim.defer_fn
        to_come = 0
        vim.defer_fn = function(fn, ms)
          to_come = to_come + 1
          return later(function()
            to_come = to_come - 1
            fn()
          end, ms)
        end
        assert(chats.open())
        chat = chats.current()
        chats[...](chat)
        windows = #vim.api.nvim_list_wins()
        """,
        leave,
    )
    nvim.wait("to_come == 0", what="all turns that were to come")
    transcripts = """
      local count = 0
      for _, buf in ipairs(vim.api.nvim_list_bufs()) do
        count = count + ((vim.b[buf].claude_ide or {}).kind == "transcript" and 1 or 0)
      end
      return { windows, #vim.api.nvim_list_wins(), count }
    """
    assert nvim.lua(transcripts) == [1, 1, 0]
    if leave == "hide":
        assert nvim.lua("return Ide.chat.show()")
        nvim.wait("#vim.api.nvim_list_wins() == 3")
