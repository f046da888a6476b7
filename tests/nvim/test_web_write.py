"""Messages from a page: their receiver, their time, and refusals. The CLI is a stand-in, its state a record that the
test writes.
"""

import contextlib
import json
import socket

import pytest

from harness.site import Site

pytestmark = pytest.mark.dealt

WRITE = {"web": {"port": 0, "write": True}}


def pasted(text):
    return f"\x1b[200~{text} \x1b[201~\r".encode()


@pytest.fixture
def begin(start_nvim, fake, sessions, project):
    """A Neovim that serves one session, and its id."""

    def begin(opts=WRITE):
        (sessions.config / "sessions").mkdir(parents=True, exist_ok=True)
        session = sessions.write(project, ("one", "two"))
        nvim = start_nvim(opts=opts, env=fake.environment())
        return nvim, Site(nvim), session

    return begin


@pytest.fixture
def inside(begin, in_terminal):
    """The same, with the session in Neovim's terminal, at an empty prompt."""

    def inside(opts=WRITE):
        nvim, site, session = begin(opts)
        state = in_terminal(nvim, session)
        nvim.lua(COUNT_LOOKS)
        return nvim, site, session, state

    return inside


MARK = b"<mark>"
COUNT_LOOKS = """
local route, of = Ide.outbox_route, Ide.outbox_route.of
_G.looks = 0
route.of = function(...) looks = looks + 1 return of(...) end
"""
SEND_MARK = """
local mark = ...
vim.schedule(function()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].buftype == "terminal" then vim.api.nvim_chan_send(vim.bo[buf].channel, mark) end
  end
end)
"""


def typed(fake):
    """The input typed, without our marks."""
    return fake.typed().replace(MARK, b"")


def still(nvim, fake, waits=True, behind=b""):
    """Asserts that nothing was typed `behind` what was: only our mark, sent later to the same terminal, has come.

    For a message that `waits`, Neovim has checked three more times whether it may type.
    """
    if waits:
        looked = nvim.lua("return looks")
        nvim.wait(f"looks > {looked + 2}", what="Neovim to look whether it may type")
    marks = fake.typed().count(MARK)
    nvim.lua(SEND_MARK, MARK)
    nvim.wait(lambda: fake.typed().count(MARK) > marks, what="the mark to be typed")
    assert typed(fake) == behind


def test_a_message_is_typed_into_the_terminal_and_acknowledged_with_its_line(inside, fake, sessions, project):
    nvim, site, session, _ = inside()
    with site.read(session) as reader:
        reader.until({"type": "caught_up"})
        reader.say(type="user_message", id="m", content="hello\x1b[201~\x03 there")
        reader.until({"type": "sent", "id": "m"})
        nvim.wait(lambda: fake.typed() == pasted("hello there"), what="what is typed")
        sessions.append(project, session, {"type": "user", "uuid": "u9", "message": {"content": "hello there"}})
        assert reader.until({"type": "ack"}) == {"type": "ack", "id": "m", "uuid": "u9"}


def test_it_waits_while_claude_works_or_asks_and_while_somebody_types(inside, fake):
    nvim, site, session, state = inside()
    with site.read(session) as reader:
        for status in ("busy", "waiting"):
            state(status)
            reader.say(type="user_message", id=status, content=status)
            assert reader.until({"type": "queued", "id": status})["position"] == 1
            still(nvim, fake)
            reader.say(type="cancel_message", id=status)
            assert reader.until({"type": "unqueued", "id": status})["reason"] == "cancelled"
        state("idle")
        fake.show_prompt("half a sen")
        nvim.wait_screen("half a sen")
        reader.say(type="user_message", id="m", content="wait for me")
        reader.until({"type": "queued", "id": "m"})
        still(nvim, fake)
        fake.show_prompt()
        reader.until({"type": "sent", "id": "m"})
        nvim.wait(lambda: typed(fake) == pasted("wait for me"), what="what is typed")


# A little longer, so that the library has the message, too; if it has not, the test proves less.
BUSY = "while not vim.uv.fs_stat(...) do vim.uv.sleep(1) end vim.uv.sleep(100)"


def test_what_comes_while_neovim_is_busy_goes_into_no_question_that_came_before(
    inside, fake, sessions, project, tmp_path
):
    nvim, site, session, _ = inside()
    with site.read(session) as reader:
        reader.until({"type": "state", "state": "idle"})
        nvim.cmd("wincmd p")  # no typing in the terminal
        nvim.notify(BUSY, str(tmp_path / "go"))
        sessions.record(fake.starts()[0]["pid"], session, "waiting", cwd=project)
        reader.until({"type": "state", "state": "waiting"})
        reader.say(type="user_message", id="m", content="yes")
        reader.until({"type": "queued", "id": "m"})
        (tmp_path / "go").touch()
        still(nvim, fake)


@pytest.fixture
def queued(connect, fake):
    """Connects the CLI, which works, and queues a message of a page."""

    def queued(reader, nvim, state):
        pid = fake.starts()[0]["pid"]
        connect(nvim).notify("ide_connected", {"pid": pid})
        nvim.wait(f"Ide.server.clients()[1].pid == {pid}", what="the pid of the client")
        nvim.cmd("wincmd p")  # no typing in the terminal
        state("busy")
        reader.say(type="user_message", id="m", content="wait for me")
        reader.until({"type": "queued", "id": "m"})

    return queued


def waits_behind(nvim, fake, words):
    """Nothing follows these bytes, which the CLI has not drawn."""
    nvim.wait(lambda: fake.typed() == words, what=f"{words} to be typed")
    still(nvim, fake, behind=words)


def test_why_something_was_rejected_is_a_prompt_of_its_own_and_comes_first(inside, fake, queued):
    nvim, site, session, state = inside()
    with site.read(session) as reader:
        queued(reader, nvim, state)
        nvim.lua("Ide.outbox_reason.tell(1, 'use two words')")
        state("idle")
        waits_behind(nvim, fake, pasted("use two words"))
        state("busy")
        fake.show_prompt()
        state("idle")
        reader.until({"type": "sent", "id": "m"})
        both = pasted("use two words") + pasted("wait for me")
        nvim.wait(lambda: typed(fake) == both, what="the message to be typed")


def test_what_was_pasted_and_is_not_drawn_yet_is_no_empty_prompt(inside, fake, queued):
    nvim, site, session, state = inside()
    with site.read(session) as reader:
        queued(reader, nvim, state)
        paste = "Ide.terminal_prompt.paste(Ide.terminal.bufnr(), 'half a thought')"
        nvim.lua(paste)
        state("idle")
        waits_behind(nvim, fake, b"\x1b[200~half a thought\x1b[201~")
        fake.show_prompt("half a thought")
        nvim.wait_screen("half a thought")
        fake.show_prompt()  # they have taken it back
        reader.until({"type": "sent", "id": "m"})


def test_it_waits_while_no_prompt_is_on_the_screen(inside, fake):
    nvim, site, session, _ = inside()
    fake.show("\x1b[2J\x1b[HDo you trust this folder?\r\n❯ 1. Yes\r\n")
    nvim.wait_screen("Do you trust")
    with site.read(session) as reader:
        reader.say(type="user_message", id="m", content="yes")
        reader.until({"type": "queued", "id": "m"})
        still(nvim, fake)


def test_one_that_runs_elsewhere_is_never_written_to_nor_started_again(begin, fake, sessions, project):
    nvim, site, session = begin()
    pid = sessions.sleeper()
    sessions.record(pid, session, "idle", cwd=project)
    with site.read(session) as reader:
        reader.until({"type": "state", "state": "idle"})
        reader.say(type="user_message", id="m", content="hello")
        assert reader.until({"type": "unqueued"})["reason"] == f"it runs in another terminal (pid {pid}): write there"
    assert fake.starts() == []


ATTACH_BESIDE = """
local nothing = function() end
Ide.config.get().terminal.provider = {
  open = function() return {} end,
  is_visible = function() return true end,
  show = nothing, hide = nothing, focus = nothing, close = nothing,
}
Ide.terminal.attach(require("claude-ide").sessions.live()[1], { "true" })
"""


def test_one_of_the_background_that_is_shown_beside_neovim_is_not_written_to(begin, fake, sessions, project):
    nvim, site, session = begin()
    sessions.record(sessions.sleeper(), session, "idle", cwd=project, kind="bg", jobId=session[:8])
    nvim.wait("#require('claude-ide').sessions.live() == 1", what="it to be known")
    nvim.lua(ATTACH_BESIDE)
    with site.read(session) as reader:
        reader.say(type="user_message", id="m", content="hello")
        reason = "it runs in the background: write in a terminal that shows it"
        assert reader.until({"type": "unqueued"})["reason"] == reason
    assert fake.starts() == []


def test_a_session_that_nobody_runs_goes_on_in_the_terminal_and_the_keys_stay_where_they_are(
    begin, fake, sessions, project
):
    nvim, site, session = begin()
    window = nvim.lua("return vim.api.nvim_get_current_win()")
    with site.read(session) as reader:
        reader.say(type="user_message", id="m", content="go on")
        nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
        (started,) = fake.starts()
        assert started["argv"][-2:] == ["--resume", session] and started["cwd"] == str(project)
        assert nvim.lua("return vim.api.nvim_get_current_win()") == window
        assert nvim.lua("return vim.api.nvim_get_mode().mode") == "n"
        nvim.wait_screen("fake CLI ready")
        fake.show_prompt()
        sessions.record(started["pid"], session, "idle", cwd=project)
        reader.until({"type": "sent", "id": "m"})
        nvim.wait(lambda: fake.typed() == pasted("go on"), what="what is typed")


def test_what_the_terminal_runs_is_not_ended_for_another_session(inside, fake, sessions, project):
    nvim, site, _, _ = inside()
    other = sessions.write(project, ("three", "four"))
    nvim.wait(lambda: site.has(other), what="the other session")
    nvim.cmd("Claude focus")  # back to the file
    with site.read(other) as reader:
        reader.say(type="user_message", id="m", content="go on")
        nvim.wait(lambda: len(fake.starts()) == 2, what="a terminal of its own")
    assert nvim.lua("return #Ide.terminal.list()") == 2
    assert fake.typed(0) == b""


def test_a_terminal_that_the_user_is_in_does_not_go_for_another_session(inside, fake, sessions, project):
    nvim, site, _, _ = inside()
    other = sessions.write(project, ("three", "four"))
    nvim.wait(lambda: site.has(other), what="the other session")
    with site.read(other) as reader:
        reader.say(type="user_message", id="m", content="go on")
        assert reader.until({"type": "unqueued"})["reason"] == "the user is in the terminal of another session"
    assert len(fake.starts()) == 1 and fake.typed() == b""


OF_THE_BOARD = """
Ide.outbox.send({
  kind = "board", session = ..., text = "first", ran = true,
})
"""


@pytest.mark.parametrize("is_behind_the_board", [False, True])
def test_to_stop_claude_starts_nothing_that_waits(inside, fake, is_behind_the_board):
    nvim, site, session, state = inside()
    state("busy")
    if is_behind_the_board:
        nvim.lua(OF_THE_BOARD, session)
    with site.read(session) as reader:
        for id in ("a", "b"):
            reader.say(type="user_message", id=id, content=id)
        waiting = f"Ide.outbox.counts()['{session}']"
        nvim.wait(f"{waiting} == {1 + is_behind_the_board}", what="it to wait")
        reader.say(type="interrupt")
        for id in ("a", "b"):
            assert reader.until({"type": "unqueued", "id": id})["reason"] == "you stopped Claude"
        state("idle")
        nvim.wait("next(Ide.outbox.counts()) == nil", what="nothing to wait")
    still(nvim, fake, waits=False, behind=b"\x1b")


def test_what_waits_is_given_up_where_claude_ends_or_begins_anew(inside, fake, sessions, project):
    nvim, site, session, state = inside()
    state("busy")
    with site.read(session) as reader:
        for id in ("a", "b"):
            reader.say(type="user_message", id=id, content=id)
            reader.until({"type": "queued", "id": id})
        new = sessions.write(project, ("five", "six"))
        state("idle", of=new)
        for id in ("a", "b"):
            reason = reader.until({"type": "unqueued", "id": id})["reason"]
            assert reason == "Claude switched to another session"
    state("busy", of=new)
    with site.read(new) as reader:
        nvim.lua(
            """
            local route = Ide.outbox_route
            local of = route.of
            route.of = function(session)
              _G.asked_of = session
              return of(session)
            end
            """
        )
        reader.say(type="user_message", id="c", content="c")
        reader.until({"type": "queued", "id": "c"})
        nvim.wait(f"_G.asked_of == '{new}'", what="Neovim to know of the message")
        nvim.lua("Ide.terminal.close()")
        assert reader.until({"type": "unqueued", "id": "c"})["reason"] == "Claude has ended"
    assert len(fake.starts()) == 1 and fake.typed() == b""


HEAR_LATER = """
local event = ...
local wake = Ide.library_wake
local _, receivers = debug.getupvalue(wake.on, 1)
deferred, take = {}, receivers[event]
wake.on({ event }, function(event) table.insert(deferred, event) end)
"""


def test_what_came_before_claude_ended_starts_nothing_though_neovim_hears_of_it_later(inside, fake):
    nvim, site, session, state = inside()
    state("busy")
    with site.read(session) as reader:
        reader.until({"type": "state", "state": "working"})
        nvim.lua(HEAR_LATER, "web_ask")
        reader.say(type="user_message", id="m", content="lost")
        nvim.wait("#deferred == 1", what="the message")
        nvim.lua("Ide.terminal.close()")
        nvim.wait("not Ide.terminal.is_running()", what="the end of the CLI")
        nvim.lua("take(deferred[1])")
        assert reader.until({"type": "unqueued", "id": "m"})["reason"] == "Claude has ended"
    assert len(fake.starts()) == 1


def test_a_client_that_knows_of_the_next_session_before_neovim_is_heard(inside, fake, sessions, project):
    nvim, site, _, state = inside()
    fake.show_prompt()
    nvim.lua(HEAR_LATER, "session_live")
    new = sessions.write(project, ("five", "six"))
    state("idle", of=new)
    nvim.wait("#deferred > 0", what="the news of it")
    with site.read(new) as reader:
        reader.until({"type": "state", "state": "idle"})
        reader.say(type="user_message", id="m", content="hello")
        reader.until({"type": "queued", "id": "m"})
        nvim.lua(
            "local route = Ide.outbox_route local of = route.of "
            "route.of = function(...) looked = (looked or 0) + 1 return of(...) end"
        )
        nvim.wait("(looked or 0) > 1", what="it to be looked again")
        nvim.lua("for _, event in ipairs(deferred) do take(event) end")
        reader.until({"type": "sent", "id": "m"})
    nvim.wait(lambda: fake.typed() == pasted("hello"), what="what is typed")


def test_a_command_is_typed_as_it_is(inside, fake):
    nvim, site, session, _ = inside({"web": {"port": 0, "write": True, "commands": True}})
    with site.read(session) as reader:
        reader.say(type="user_message", id="m", content="/clear")
        reader.until({"type": "sent", "id": "m"})
        nvim.wait(lambda: fake.typed() == pasted("/clear"), what="what is typed")


def test_nothing_is_written_and_nobody_stopped_unless_the_options_say_so(inside, fake):
    nvim, site, session, state = inside({"web": {"port": 0}})
    state("busy")
    with site.read(session) as reader:
        assert reader.until({"type": "state"})["canWrite"] is False
        for frame in ({"type": "user_message", "content": "hello"}, {"type": "interrupt"}):
            reader.say(**frame, id="m")
            assert reader.until({"type": "error"})["reason"] == "only reading is allowed: web.write is false"
        still(nvim, fake, waits=False)


def test_what_a_client_wrote_is_not_delivered_once_nothing_is_served(start_nvim):
    nvim = start_nvim()
    nvim.lua(
        """
        _G.routes = 0
        Ide.outbox_route.of = function() routes = routes + 1 return nil, "nobody" end
        Ide.library_wake.on = function(_, receive) _G.receive = receive end
        local deliver = Ide.web_deliver
        deliver.attach()
        deliver.detach()
        receive({ type = "web_ask", ask = { type = "deliver", key = 1, session = "s", text = "words" } })
        """
    )
    assert nvim.lua("return routes") == 0


def is_free(port):
    with contextlib.closing(socket.socket()) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def test_the_port_is_free_after_serve_stop_and_the_cli_does_not_know_it(inside, fake):
    nvim, site, _, _ = inside()
    (started,) = fake.starts()
    settings = json.loads(started["settings"])
    hooks = [hook for event in settings["hooks"].values() for one in event for hook in one["hooks"]]
    # What concerns a call is printed by a command, see `Ide.hook_folder`.
    assert {(hook["type"], hook.get("server")) for hook in hooks} == {("mcp_tool", "ide"), ("command", None)}
    reported = json.dumps([started["settings"], started["tools"], started["argv"], started["env"]])
    assert f":{site.info['port']}" not in reported and site.info["token"] not in reported
    nvim.cmd("Claude serve stop")
    assert is_free(site.info["port"])


def test_a_cli_without_a_prompt_is_listed_and_takes_its_first_one(begin, fake, sessions, tmp_path):
    nvim, site, written = begin()
    folder = tmp_path / "new"  # without any session so far
    folder.mkdir()
    nvim.cmd(f"cd {folder}")
    nvim.keys(":Claude<CR>")
    nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
    nvim.wait_screen("fake CLI ready")
    fake.show_prompt()
    new = "0f8fad5b-d9cb-469f-a165-70867728950e"
    sessions.record(fake.starts()[0]["pid"], new, "idle", cwd=folder)
    nvim.wait(lambda: site.has(new), what="the session to be known")
    listed = site.get("/api/claude/sessions")
    first, second = listed["sessions"]
    assert (first["id"], first["title"], first["state"], first["cwd"]) == (new, None, "idle", str(folder))
    assert second["id"] == written
    assert site.get(f"/api/claude/sessions/{new}") == first
    since = site.get(f"/api/claude/sessions?since={listed['revision']}")
    assert (since["sessions"], since["revision"]) == ([], listed["revision"]), "nothing changed"
    assert site.get(f"/api/claude/sessions/{new}/messages")["messages"] == []
    with site.read(new) as reader:
        reader.until({"type": "caught_up", "messages": 0})
        reader.say(type="user_message", id="m", content="hello")
        nvim.wait(lambda: fake.typed() == pasted("hello"), what="what is typed")
        sessions.write(folder, ("hello", "hi"), id=new)
        reader.until({"type": "ack", "id": "m"})
    assert site.get(f"/api/claude/sessions/{new}")["firstPrompt"] == "hello"


def test_claude_is_stopped_in_the_terminal_while_it_works_and_at_no_other_time(inside, fake):
    nvim, site, session, state = inside()
    with site.read(session) as reader:
        reader.until({"type": "caught_up"})
        for status, words in [("idle", "is not working"), ("waiting", "waits for an answer")]:
            state(status)
            reader.say(type="interrupt", id="stop")
            error = reader.until({"type": "error", "id": "stop"})
            assert error["error"] == "Failed to interrupt" and words in error["reason"]
            still(nvim, fake, waits=False)
        state("busy")
        reader.say(type="interrupt")
        nvim.wait(lambda: typed(fake) == b"\x1b", what="the key to be typed")


def test_one_that_runs_elsewhere_is_stopped_there(begin, fake, sessions, project):
    nvim, site, session = begin()
    pid = sessions.sleeper()
    sessions.record(pid, session, "busy", cwd=project)
    with site.read(session) as reader:
        reader.until({"type": "state", "state": "working"})
        reader.say(type="interrupt", id="stop")
        assert "in another terminal" in reader.until({"type": "error", "id": "stop"})["reason"]
