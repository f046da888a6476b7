"""The server inside Neovim: start, stop, restart, every way to exit, and the client events that Lua gets."""

import os
import re
import resource
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from harness.client import Client, RpcError, ToolError

pytestmark = pytest.mark.dealt

START = "return assert(Ide.server.start())"

RECORD = """
received = {}
for _, name in ipairs({ "server_started", "server_stopping", "server_stopped", "client_connected", "client_ready", "client_changed",
                        "client_disconnected" }) do
  Ide.bus.on(name, function(client)
    received[#received + 1] = name .. ((client and client.id) and (" " .. client.id) or "")
  end)
end
"""

# A tool controlled by the test, in place of a real one without arguments.
TOOL = """
calls, cancelled = {}, {}
Ide.claude_client.close_tab = {
  run = function(args, respond, call)
    calls[#calls + 1] = { args = args, respond = respond, call = call }
    if on_call then on_call(args, respond, call) end
  end,
  cancel = function(call) cancelled[#cancelled + 1] = call.id end,
}
"""


def lock_paths(nvim) -> list[Path]:
    return sorted((nvim.home / ".claude" / "ide").glob("*.lock"))


def clients(nvim):
    return nvim.lua("return Ide.server.clients()")


# Lock file and exit


def test_start_writes_a_lock_file_of_this_neovim_and_its_project(nvim):
    info = nvim.lua(START)
    assert nvim.lua(START) == info, "to start twice is to start once"
    [path] = lock_paths(nvim)
    assert info["lock_files"] == [str(path)]
    assert path.name == f"{info['port']}.lock"
    [lock] = nvim.locks()
    assert lock["pid"] == nvim.server_pid
    assert lock["workspaceFolders"] == [str(nvim.project)]
    assert lock["ideName"].startswith("Neovim")


def test_writes_to_the_xdg_folder_too_where_a_cli_has_made_it_and_leaves_locks_of_others_alone(nvim):
    folders = [nvim.home / ".claude" / "ide", nvim.home / ".config" / "claude" / "ide"]
    folders[0].mkdir(parents=True)
    folders[1].parent.mkdir(parents=True)
    foreign = '{"pid": 999999999, "workspaceFolders": [], "ideName": "Other IDE", "transport": "ws"}'
    (folders[0] / "4711.lock").write_text(foreign)
    (folders[0] / "4712.lock").write_text("no JSON")
    info = nvim.lua(START)
    assert [Path(path).parent for path in info["lock_files"]] == folders
    nvim.lua("Ide.server.stop()")
    assert not [path for path in info["lock_files"] if Path(path).exists()]
    assert [path.name for path in lock_paths(nvim)] == ["4711.lock", "4712.lock"]


def test_follows_claude_config_dir(start_nvim, tmp_path):
    nvim = start_nvim(env={"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})
    nvim.lua(START)
    assert len(list((tmp_path / "elsewhere" / "ide").glob("*.lock"))) == 1
    assert lock_paths(nvim) == []


def test_stop_removes_the_lock_file_and_says_goodbye(nvim, connect):
    client = connect(nvim)
    nvim.lua("Ide.server.stop()")
    assert lock_paths(nvim) == []
    assert client.wait_closed()[0] == 1001
    assert clients(nvim) == []
    assert nvim.lua("return Ide.server.is_running()") is False
    assert nvim.lua('return { Ide.server.notify("x", {}) }')[1] == "the server does not run"


def test_a_client_that_takes_the_plugin_for_too_old_is_warned_of_once(start_nvim, connect):
    nvim = start_nvim(notices=True)
    one, two = connect(nvim), connect(nvim)
    one.notify("ide_connected", {"pid": 4711, "isPluginVersionUnsupported": False})
    nvim.wait("Ide.server.client(1).pid == 4711", what="the process")
    assert nvim.notices() == []
    for client in (one, two, one):
        client.notify("ide_connected", {"pid": 4712, "isPluginVersionUnsupported": True})
    nvim.wait("Ide.server.client(2).unsupported", what="the second client's word")
    nvim.wait_notice("is too old for it")
    assert len(nvim.notices()) == 1
    one.notify("ide_connected", {"pid": 4713})
    nvim.wait("Ide.server.client(1).pid == 4713", what="the process")
    assert nvim.lua("return Ide.server.client(1).unsupported") is False


@pytest.mark.every_nvim
@pytest.mark.parametrize("how", ["qa!", "cq", "SIGTERM", "SIGHUP"])
def test_every_orderly_exit_removes_the_lock_file(nvim, connect, how):
    client = connect(nvim)
    assert len(lock_paths(nvim)) == 1
    left = nvim.home / ".local" / "state" / "nvim" / "claude-ide" / "handover"
    nvim.wait(lambda: list(left.glob("*.json")), what="the client's process to be known: else it is not to come back")
    if how.startswith("SIG"):
        os.kill(nvim.server_pid, getattr(signal, how))
    else:
        nvim.keys(f":{how}<CR>")
    nvim.terminal.wait_exit()
    assert lock_paths(nvim) == []
    assert client.wait_closed()[0] == 1001


def test_a_port_that_is_taken_is_an_answer_not_an_error(start_nvim):
    first = start_nvim()
    port = first.lua(START)["port"]
    second = start_nvim(opts={"server": {"port": port}})
    info, err = second.lua("local info, err = Ide.server.start() return { info or vim.NIL, err }")
    assert info is None
    assert str(port) in err and "in use" in err
    assert second.lua("return Ide.server.is_running()") is False


@pytest.mark.every_nvim
def test_modules_that_are_loaded_anew_take_the_server_over(nvim, connect):
    """`:Lazy reload`, and people who work on their configuration."""
    client = connect(nvim)
    [before] = nvim.locks()
    nvim.lua(
        """
        for name in pairs(package.loaded) do
          if name:find("^claude%-ide") then package.loaded[name] = nil end
        end
        assert(Ide.native.load())
        assert(require("claude-ide").connect())
        """
    )
    client.wait_closed()
    [after] = nvim.locks()
    assert (after["port"], after["authToken"]) == (before["port"], before["authToken"])
    assert connect(nvim).call("getWorkspaceFolders")


# Clients


def test_clients_are_known_in_the_order_in_which_they_came(nvim, connect):
    one, two = connect(nvim), connect(nvim, roots=["/elsewhere"])
    nvim.wait(lambda: [c.get("roots") for c in clients(nvim)] == [[str(nvim.project)], ["/elsewhere"]])
    known = clients(nvim)
    assert [client["state"] for client in known] == ["ready", "ready"]
    assert [client["name"] for client in known] == ["claude-code", "claude-code"]
    assert known[0]["id"] < known[1]["id"]
    nvim.wait(lambda: all(client.get("pid") == os.getpid() for client in clients(nvim)), what="the pids")
    one.close()
    nvim.wait(lambda: len(clients(nvim)) == 1, what="the first to be gone")
    assert clients(nvim)[0]["id"] == known[1]["id"]
    two.drop()
    nvim.wait(lambda: clients(nvim) == [], what="the second to be gone")


def test_events_come_in_the_order_in_which_they_happened(nvim, connect):
    nvim.lua(RECORD)
    nvim.keep_events("ClaudeConnected", "ClaudeDisconnected")
    client = connect(nvim)
    client.close()
    nvim.wait("vim.startswith(received[#received], 'client_disconnected')")
    nvim.lua("Ide.server.stop()")
    received = [event.split()[0] for event in nvim.lua("return received")]
    order = "server_started client_connected client_ready client_disconnected server_stopping server_stopped"
    assert [event for event in received if event != "client_changed"] == order.split(" ")
    # The user's own handler, with the client in its event.
    (connected, with_client), (disconnected, with_reason) = nvim.events()
    assert (connected, disconnected) == ("ClaudeConnected", "ClaudeDisconnected")
    assert with_client["client"]["name"] == "claude-code"
    assert with_reason["client"]["id"] == with_client["client"]["id"]
    assert with_reason["reason"]


def test_a_failing_subscriber_does_not_keep_others_from_being_told(nvim, connect):
    nvim.lua(
        """
        local server = Ide.server
        Ide.bus.on("client_ready", function() error("first") end)
        local unsubscribe
        unsubscribe = Ide.bus.on("client_ready", function() unsubscribe() reported_once = (reported_once or 0) + 1 end)
        Ide.bus.on("client_ready", function() reported = (reported or 0) + 1 end)
        """
    )
    connect(nvim)
    connect(nvim)
    assert nvim.lua("return { reported_once, reported }") == [1, 2]
    assert "a handler of client_ready failed" in nvim.log()
    nvim.cmd("autocmd User ClaudeConnected throw 'of my own making'")
    client = connect(nvim, wait_ready=False)
    nvim.wait_screen("of my own making")  # it is the user's
    nvim.keys("<CR>")
    assert client.call("getWorkspaceFolders")


def test_the_client_that_called_last_is_known(nvim, connect):
    one, two = connect(nvim), connect(nvim)
    last = "local client = Ide.server.last_client() return client and client.id or vim.NIL"
    assert nvim.lua(last) is None
    first_id, second_id = (client["id"] for client in clients(nvim))
    two.call("getWorkspaceFolders")
    assert nvim.lua(last) == second_id
    one.call("getWorkspaceFolders")
    assert nvim.lua(last) == first_id
    one.close()
    nvim.wait(lambda: nvim.lua(last) is None, what="the last client to be forgotten")


# While Neovim has other things to do


def test_answers_while_the_main_loop_stands_still(nvim, connect):
    client = connect(nvim)
    [lock] = nvim.locks()
    fifo = nvim.project / "fifo"
    os.mkfifo(fifo)
    nvim.lua("local fifo = ... vim.schedule(function() assert(io.open(fifo)):read('*a') awake = true end)", str(fifo))
    with fifo.open("w"):  # opens once Neovim waits there; releases it at the end
        for _ in range(20):
            assert client.request("ping") == {}
            assert client.request("tools/list")["tools"]
        other = Client(lock["port"], lock["authToken"])
        assert other.initialize()["serverInfo"]["name"]
        with pytest.raises(RpcError, match="32602|none"):
            other.result(other.send("tools/call", {"name": "none", "arguments": {"padding": "ü\n" * (2 << 20)}}))
        other.close()
    nvim.wait("awake")


@pytest.mark.every_nvim
def test_answers_while_neovim_waits_for_enter_and_while_a_shell_command_runs(nvim, connect):
    client = connect(nvim)
    nvim.keys(":echo 'one' | echo 'two' | echo 'three'<CR>")
    nvim.wait_screen("Press ENTER")
    assert client.request("ping") == {}
    assert client.request("tools/list")["tools"]
    waiting = client.start_call("getWorkspaceFolders")
    nvim.keys("<CR>")
    assert client.call_result(waiting)
    fifo = nvim.project / "fifo"
    os.mkfifo(fifo)
    nvim.keys(":!cat fifo<CR>")
    nvim.wait_screen(":!cat fifo")
    assert client.request("ping") == {}
    assert client.request("tools/list")["tools"]
    fifo.write_text("done\n")
    nvim.wait_screen(re.compile("done.*Press ENTER", re.DOTALL))
    nvim.keys("<CR>")
    assert client.call("getWorkspaceFolders")


@pytest.mark.slow
@pytest.mark.every_nvim
def test_a_flood_of_calls_leaves_room_for_the_users_keys(nvim, connect):
    client = connect(nvim)
    fifo = nvim.project / "fifo"
    os.mkfifo(fifo)
    nvim.lua(
        TOOL
        + """
        function on_call(_, respond)
          local start = vim.uv.hrtime()
          while vim.uv.hrtime() - start < 1e6 do end
          respond({ closed = false })
        end
        local last = os.clock() -- of this process: others may be busy, too
        longest = 0
        vim.uv.new_timer():start(0, 5, function()
          longest = math.max(longest, os.clock() - last)
          last = os.clock()
        end)
        vim.api.nvim_buf_attach(0, false, { on_lines = function() calls_before = #calls end })
        local fifo = ...
        vim.schedule(function() assert(io.open(fifo)):read("*a") end)
        """,
        str(fifo),
    )
    with fifo.open("w"):  # opens once Neovim waits there; releases it when all calls and keys are queued
        waiting = [client.start_call("close_tab", tab_name="x") for _ in range(1000)]
        assert client.request("ping") == {}
        nvim.input("ityped meanwhile")
    nvim.wait(lambda: nvim.lines() == ["typed meanwhile"])
    assert nvim.lua("return calls_before") < 1000, "the keys came after all calls"
    for request in waiting:
        client.call_result(request)
    assert nvim.lua("return longest * 1e3") < 500, "1,000 calls of 1 ms each came in one piece"


# Tools: every call is answered once


def test_a_tool_that_fails_answers_with_the_reason_alone(nvim, connect):
    client = connect(nvim)
    nvim.lua(TOOL + "function on_call() local nothing = nil; return nothing.field end")
    with pytest.raises(ToolError, match="close_tab failed: .*attempt to index") as caught:
        client.call("close_tab", tab_name="x")
    assert "\n" not in str(caught.value) and "traceback" not in str(caught.value)
    assert "stack traceback" in nvim.log()
    assert client.request("ping") == {}


ANSWERS = {
    "respond({ closed = true }) respond({ closed = false }) respond()": None,
    "respond({ closed = true }) error('afterwards')": None,
    "respond(nil, { code = 'failed', message = 'no such luck' })": "^no such luck$",
    "respond({ closed = print })": "cannot be sent",
    "respond({ 'odd' })": ".",
}
"""A tool's behaviour, and the resulting failure."""


def test_a_call_is_answered_by_the_first_answer_whatever_a_tool_does(nvim, connect):
    client = connect(nvim)
    nvim.lua(TOOL)
    for does, failure in ANSWERS.items():
        nvim.lua(f"function on_call(_, respond) {does} end")
        if failure is None:
            assert client.call("close_tab", tab_name="x") == ["TAB_CLOSED"], does
        else:
            with pytest.raises(ToolError, match=failure):
                client.call("close_tab", tab_name="x")
        nvim.lua("calls[#calls].respond(nil, { code = 'failed', message = 'late' })")
    nvim.wait(lambda: "afterwards" in nvim.log(), what="the failure after an answer in the log")
    nvim.lua('on_call = nil Ide.claude_client.close_tab.cancel = function() error("in cancel") end')
    for name in ("x", "y"):
        client.cancel(client.start_call("close_tab", tab_name=name))
    nvim.lua("function on_call(_, respond) respond({ closed = true }) end")
    assert client.call("close_tab", tab_name="z") == ["TAB_CLOSED"]
    nvim.lua("Ide.claude_client.close_tab = { walk = true }")
    with pytest.raises(ToolError, match="cannot run close_tab"):
        client.call("close_tab", tab_name="x")


def test_a_cancelled_call_cancels_its_tool_once(nvim, connect):
    client = connect(nvim)
    nvim.lua(TOOL)
    request = client.start_call("close_tab", tab_name="x")
    nvim.wait("#calls == 1")
    client.cancel(request)
    nvim.wait("#cancelled == 1")
    assert nvim.lua("return cancelled[1] == calls[1].call.id")
    nvim.lua("calls[1].respond({ closed = true })")
    client.close()
    nvim.wait(lambda: clients(nvim) == [])
    assert nvim.lua("return #cancelled") == 1


@pytest.mark.every_nvim
@pytest.mark.parametrize("end", ["Ide.server.stop()", 'vim.cmd("qa!")'])
def test_answers_that_are_given_while_stopping_leave_before_the_end(nvim, connect, end):
    """So quitting answers a pending diff instead of dropping it."""
    client = connect(nvim)
    nvim.lua(TOOL + 'Ide.bus.on("server_stopping", function() calls[1].respond({ closed = true }) end)')
    request = client.start_call("close_tab", tab_name="x")
    nvim.wait("#calls == 1")
    nvim.lua("local code = ... vim.schedule(function() loadstring(code)() end)", end)
    assert client.call_result(request) == ["TAB_CLOSED"]
    assert client.wait_closed()[0] == 1001


# Notifications


def test_a_notification_that_cannot_be_sent_is_an_answer(nvim, connect):
    connect(nvim)
    notify = 'local sent, err = Ide.server.notify(...) return { sent or false, err or "" }'
    sent, err = nvim.lua('local sent, err = Ide.server.notify("x", { print }) return { sent or false, err }')
    assert sent is False and "function" in err
    sent, err = nvim.lua(notify, "at_mentioned", {"filePath": "/a"}, 99999)
    assert sent is False and "99999" in err
    assert nvim.lua("return 1") == 1


# The log


def test_the_log_holds_both_sides_in_one_form_and_only_its_owner_reads_it(nvim, connect):
    connect(nvim)
    nvim.lua("Ide.server.stop()")
    path = Path(nvim.lua("return Ide.log.path()"))
    assert path.stat().st_mode & 0o777 == 0o600
    lines = nvim.log().splitlines()
    assert lines
    for line in lines:
        stamp, level, place = line.split(maxsplit=2)
        assert time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S") and stamp.endswith("Z") and len(stamp) == 27
        assert level in {"INFO", "WARN", "ERROR"}
        assert place.split(":")[0] in {"lua"} or place.startswith(("server", "nvim", "protocol"))


def test_the_log_never_holds_the_token(start_nvim, connect):
    nvim = start_nvim(opts={"log": {"level": "trace"}})
    client = connect(nvim)
    client.call("getWorkspaceFolders")
    token = nvim.locks()[0]["authToken"]
    nvim.lua("Ide.server.restart()")
    assert len(nvim.log()) > 200
    assert token not in nvim.log()


def test_log_lines_below_the_level_cost_nothing_and_do_not_appear(start_nvim):
    nvim = start_nvim(opts={"log": {"level": "warn"}})
    nvim.lua(
        """
        local log = Ide.log
        log.info("quiet %s", function() expensive = true return "" end)
        log.warn("loud %s %d %s", function() return "lazily" end, 7, { a = 1 })
        log.error("100% of it")
        log.error("odd %d", "no number")
        log.error(nil)
        """
    )
    assert nvim.lua("return expensive") is None
    log = nvim.log()
    assert "quiet" not in log
    assert "WARN  lua: loud lazily 7 { a = 1 }" in log
    assert "ERROR lua: 100% of it" in log
    assert "odd %d (cannot be formatted" in log


def test_the_log_is_bounded(nvim):
    nvim.lua(
        """
        local log = Ide.log
        local line = ("x"):rep(64 * 1024)
        for _ = 1, 200 do log.info(line) end
        """
    )
    path = Path(nvim.lua("return Ide.log.path()"))
    assert 0 < path.stat().st_size <= 4 * 1024 * 1024 + 70000
    assert 0 < path.with_name(path.name + ".1").stat().st_size <= 4 * 1024 * 1024 + 70000
    assert len(list(path.parent.glob("claude-ide*"))) == 2


@pytest.mark.every_nvim
def test_nothing_is_said_in_the_users_face(nvim, connect):
    before = nvim.lua("return vim.fn.execute('messages')")
    client = connect(nvim)
    client.call("getWorkspaceFolders")
    client.drop()
    nvim.wait(lambda: clients(nvim) == [])
    nvim.lua("Ide.server.restart()")
    assert nvim.lua("return vim.fn.execute('messages')") == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prlimit")
def test_strangers_that_hold_all_descriptors_make_room(start_nvim, connect):
    nvim = start_nvim(reads_ahead=True)
    connect(nvim).close()
    nvim.wait("#Ide.server.clients() == 0")
    nvim.modules_are_cached()  # none can be read below
    port = nvim.lua("return Ide.server.info().port")
    folder = Path(f"/proc/{nvim.server_pid}/fd")
    used = len(list(folder.iterdir()))
    _, hard = resource.prlimit(nvim.server_pid, resource.RLIMIT_NOFILE)
    resource.prlimit(nvim.server_pid, resource.RLIMIT_NOFILE, (used + 10, hard))
    strangers = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
    try:
        assert connect(nvim, wait_ready=False).request("ping") == {}
    finally:
        for stranger in strangers:
            stranger.close()
        resource.prlimit(nvim.server_pid, resource.RLIMIT_NOFILE, (hard, hard))
