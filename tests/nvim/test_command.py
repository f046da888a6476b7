"""`:Claude` and its subcommands: their effect, their completion, and one-line errors."""

import pytest

pytestmark = pytest.mark.dealt

FAKE_MENTION = """
_G.sent = {}
package.preload[Ide("mention")] = function()
  return {
    send_file = function(...) table.insert(_G.sent, { "file", ... }) return true end,
    send_files = function(paths) table.insert(_G.sent, { "files", unpack(paths) }) return true end,
    send_range = function(...) table.insert(_G.sent, { "range", ... }) return true end,
    from_here = function(...) table.insert(_G.sent, { "here", ... }) return true end,
    pending = function() return 0 end,
    attach = function() end,
  }
end
"""


def completions(nvim, line):
    return nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", line)


# ── completion ──


@pytest.mark.every_nvim
def test_subcommands_are_completed_by_their_beginning(start_nvim):
    nvim = start_nvim()
    assert completions(nvim, "Claude ") == nvim.lua(
        "return vim.tbl_map(function(sub) return sub.name end, Ide.command_registry)"
    )
    assert completions(nvim, "Claude se") == ["send", "sessions", "serve", "selection"]
    assert completions(nvim, "1,2Claude re") == ["restart", "reject", "review", "resolve"]
    assert completions(nvim, "silent Claude foc") == ["focus"]


def test_what_follows_a_subcommand_is_completed(start_nvim):
    nvim = start_nvim(files={"alpha.txt": "", "alpine/b.txt": "", "other": ""})
    assert completions(nvim, "Claude selection ") == ["on", "off", "toggle"]
    assert completions(nvim, "Claude selection o") == ["on", "off"]
    assert completions(nvim, "Claude selection on ") == []
    assert completions(nvim, "Claude add al") == ["alpha.txt", "alpine/"]
    assert completions(nvim, "Claude add alpha.txt ot") == ["other"]
    assert completions(nvim, "Claude add alpine/") == ["alpine/b.txt"]
    assert completions(nvim, "Claude log ") == []


def test_names_with_blanks_are_completed_so_that_they_stay_one_word(start_nvim):
    nvim = start_nvim(init_lua=FAKE_MENTION, files={"two words and more.txt": "", "it's.txt": ""})
    nvim.keys(":Claude add two<Tab><CR>")
    nvim.wait("#_G.sent == 1")
    assert nvim.lua("return _G.sent[1][2]") == "two words and more.txt"
    nvim.keys(":Claude add two\\ wo<Tab><CR>")
    nvim.wait("#_G.sent == 2")
    assert nvim.lua("return _G.sent[2][2]") == "two words and more.txt"
    nvim.keys(":Claude add it<Tab><CR>")
    nvim.wait("#_G.sent == 3")
    assert nvim.lua("return _G.sent[3][2]") == "it's.txt"


def test_flags_of_the_cli_are_completed(start_nvim):
    nvim = start_nvim()
    assert completions(nvim, "Claude --res") == ["--resume"]
    assert completions(nvim, "Claude --resume --mod") == ["--model"]
    assert completions(nvim, "Claude open --cont") == ["--continue"]
    assert completions(nvim, "Claude log --res") == []


# ── mistakes ──


def test_an_unknown_subcommand_is_one_line_with_a_suggestion(start_nvim):
    nvim = start_nvim(notices=True)
    nvim.cmd("Claude selectoin off")
    nvim.cmd("Claude xyzzy")
    nvim.cmd("Claude foo")
    assert nvim.notices() == [
        "`:Claude selectoin`: no such subcommand. Did you mean `:Claude selection`?",
        "`:Claude xyzzy`: no such subcommand. See `:help :Claude`.",
        "`:Claude foo`: no such subcommand. See `:help :Claude`.",
    ]


WHY_NOT = {
    "Claude add": "`:Claude add` needs a file or a folder, e.g. `:Claude add %`.",
    "Claude add nowhere.txt": "`:Claude add`: there is no nowhere.txt.",
    "Claude add a.txt 5 2": "`:Claude add`: line 5 comes after line 2.",
    "Claude selection maybe": "`:Claude selection maybe`: expected on, off or toggle.",
    "Claude disconnect": "The server is not running.",
    "Claude close": "Claude is not running in Neovim's terminal.",
    "Claude close parser": "`:Claude close parser`: no terminal has that name.",
    "Claude undo 3": "`:Claude undo 3`: `undo` takes no arguments.",
    "1Claude undo": "`:Claude undo` takes no range: `:Claude review` undoes single changes.",
    "Claude list parser": "`:Claude list parser`: `list` takes no arguments.",
    "Claude hide parser": "`:Claude hide parser`: `hide` takes no arguments.",
    'Claude new ""': "`:Claude new`: the name is empty.",
    "Claude new fix the parser": '`:Claude new fix the parser`: quote text with spaces: "fix the parser".',
    "Claude open fix the parser": '`:Claude open fix the parser`: quote text with spaces: "fix the parser".',
    "Claude add a.txt 0": "`:Claude add`: there is no line 0: a.txt has 2 lines.",
    "Claude add a.txt 0 1": "`:Claude add`: there is no line 0: a.txt has 2 lines.",
    "Claude add a.txt 2 3": "`:Claude add`: there is no line 3: a.txt has 2 lines.",
    "Claude add a.txt 99999999999999999999": (
        "`:Claude add`: there is no line 100000000000000000000: a.txt has 2 lines."
    ),
    "Claude diffs": "No open diffs.",
    "Claude accept": "No open diffs.",
    "Claude reject": "No open diffs.",
}


def test_a_command_that_cannot_be_done_says_why_in_one_line(start_nvim):
    nvim = start_nvim(notices=True, files={"a.txt": "1\n2\n"})
    for command in WHY_NOT:
        nvim.cmd(command)
    assert nvim.notices() == list(WHY_NOT.values())


@pytest.mark.every_nvim
def test_a_fault_of_ours_is_one_line_and_its_trace_is_in_the_log(start_nvim):
    nvim = start_nvim(notices=True)
    nvim.lua("Ide.terminal.focus = function() error('it broke') end")
    nvim.cmd("Claude focus")
    assert nvim.notices() == ["it broke (`:Claude log` has more)"]
    assert "stack traceback" in nvim.log()


def test_a_library_that_is_missing_is_explained_by_every_command_that_needs_it(start_nvim):
    nvim = start_nvim(init_lua=FAKE_MENTION, notices=True)
    nvim.lua("Ide.server.start = function() return nil, 'Build it with `make build`.' end")
    for command in ["ClaudeConnect", "ClaudeSend", "Claude connect", "Claude send"]:
        nvim.cmd(command)
    assert nvim.notices() == ["Build it with `make build`."] * 4


# ── the server ──


def test_connect_says_where_the_server_listens_and_who_is_connected(start_nvim, connect):
    nvim = start_nvim(notices=True)
    nvim.cmd("ClaudeConnect")
    (lock,) = nvim.locks()
    assert nvim.notices() == [f"Port {lock['port']}, lock ~/.claude/ide/{lock['port']}.lock, no CLI connected yet"]
    connect(nvim, clientInfo={"name": "claude-code", "version": "9.8.7"})
    nvim.wait("(Ide.server.clients()[1] or {}).state == 'ready'", what="the client")
    nvim.cmd("ClaudeConnect")
    assert "connected: claude-code 9.8.7 (pid " in nvim.notices()[-1]


def test_disconnect_takes_the_lock_away_and_connect_brings_the_same_port_back(start_nvim):
    nvim = start_nvim(notices=True)
    nvim.cmd("ClaudeConnect")
    (before,) = nvim.locks()
    nvim.cmd("Claude disconnect")
    assert nvim.locks() == []
    nvim.cmd("Claude connect")
    (after,) = nvim.locks()
    nvim.cmd("Claude restart")
    (again,) = nvim.locks()
    assert before["port"] == after["port"] == again["port"]
    assert before["authToken"] == after["authToken"] == again["authToken"]


STAY_AWAY = (4001, "Another Claude Code session connected to this IDE")
"""The close code and reason that keep a CLI from reconnecting, verbatim."""


def test_disconnect_tells_the_cli_to_stay_away_and_leaves_it_the_question(start_nvim, connect):
    nvim = start_nvim(notices=True, args=["a.txt"], files={"a.txt": "one\n"})
    client = connect(nvim)
    path = str(nvim.project / "a.txt")
    diff = {"old_file_path": path, "new_file_path": path, "new_file_contents": "two\n", "tab_name": "a.txt"}
    asked = client.start_call("openDiff", **diff)
    nvim.wait("#vim.api.nvim_list_tabpages() == 2", what="the diff")
    nvim.cmd("Claude disconnect")
    assert client.wait_closed() == STAY_AWAY
    assert not client.answered(asked)
    nvim.wait("not Ide.server.is_running()", what="the server to stop")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="the diff to go")
    assert nvim.locks() == []
    nvim.wait("#notices == 2")
    assert nvim.notices() == [
        "Disconnected. `/ide` in Claude connects it again after `:Claude connect`.",
        "a.txt: Claude asks in its terminal.",
    ]


def test_disconnect_takes_one_of_several_by_its_name(start_nvim, connect):
    nvim = start_nvim(notices=True)
    staying, leaving = connect(nvim), connect(nvim, roots=["/some/where else"])
    nvim.wait("vim.tbl_get(Ide.server.clients(), 2, 'roots', 1)", what="the folder of the second")
    assert completions(nvim, "Claude disconnect some") == []
    assert completions(nvim, "Claude disconnect where") == ["where\\ else"]
    nvim.cmd("Claude disconnect nobody")
    nvim.cmd("Claude disconnect where\\ else")
    assert leaving.wait_closed() == STAY_AWAY
    assert nvim.notices() == [
        "`:Claude disconnect nobody`: no CLI of that name is connected.",
        "where else is disconnected. `/ide` in it connects it again.",
    ]
    staying.request("ping", {})
    nvim.wait("#Ide.server.clients() == 1")
    assert nvim.locks() != []


def test_connect_right_after_disconnect_keeps_the_server(start_nvim, connect):
    nvim = start_nvim()
    client = connect(nvim)
    nvim.lua(
        """
        stops = 0
        Ide.bus.on("server_stopped", function() stops = stops + 1 end)
        vim.cmd("Claude disconnect")
        vim.cmd("Claude connect")
        """
    )
    assert client.wait_closed() == STAY_AWAY
    nvim.wait("#Ide.server.clients() == 0")
    connect(nvim).request("ping", {})
    assert nvim.lua("return stops") == 0


@pytest.mark.every_nvim
def test_status_is_one_line_that_needs_no_key(start_nvim, connect):
    nvim = start_nvim()
    nvim.keys(":Claude status<CR>")
    nvim.wait_screen("Claude: off · selection on")
    nvim.cmd("Claude connect")
    nvim.keys(":Claude status<CR>")
    nvim.wait_screen("no CLI connected · selection on")
    connect(nvim, clientInfo={"name": "claude-code", "version": "9.8.7"})
    nvim.wait("(Ide.server.clients()[1] or {}).pid", what="the client, and its process")
    nvim.keys(":Claude status<CR>")
    nvim.wait_screen("claude-code 9.8.7 (pid ")
    for columns, text in [(60, "Claude: claude-code 9.8.7 (pid "), (40, "Claude: 1 CLI")]:
        nvim.cmd(f"set columns={columns}")
        nvim.keys(":echo<CR>")
        nvim.wait(lambda: "Claude: " not in nvim.terminal.text(), what="the line of before to go")
        nvim.keys(":Claude status<CR>")
        nvim.wait_screen(text)
        nvim.wait(lambda: nvim.mode() == "n", what="no key to be asked for")


# ── mentions ──


def test_send_hands_the_range_over_and_without_one_the_place(start_nvim):
    nvim = start_nvim(init_lua=FAKE_MENTION, files={"a.txt": "1\n2\n3\n4\n"}, args=["a.txt"])
    nvim.cmd("ClaudeSend")
    nvim.cmd("2,3ClaudeSend")
    nvim.cmd("4Claude send")
    nvim.keys("ggVj:ClaudeSend<CR>")
    nvim.wait("#_G.sent == 4")
    nvim.lua("vim.keymap.set({ 'n', 'x' }, 'gs', '<Plug>(claude-send)')")
    nvim.keys("GVgs")
    nvim.wait("#_G.sent == 5")
    nvim.keys("gs")
    nvim.wait("#_G.sent == 6")
    here, last = ["here"], ["range", 4, 4]
    assert nvim.lua("return _G.sent") == [here, ["range", 2, 3], last, ["range", 1, 2], last, here]


def test_add_takes_files_folders_lines_and_names_with_blanks(start_nvim):
    files = {"a.txt": "1\n" * 7, "b c.txt": "", "[id].tsx": "", "sub/d.txt": ""}
    nvim = start_nvim(init_lua=FAKE_MENTION, files=files, args=["a.txt"])
    nvim.cmd("Claude add a.txt sub [id].tsx")
    nvim.cmd("Claude add a.txt 3")
    nvim.cmd("Claude add a.txt 3 7")
    nvim.cmd('Claude add "b c.txt" %')
    assert nvim.lua("return _G.sent") == [
        ["files", "a.txt", "sub", "[id].tsx"],
        ["file", "a.txt", 3, 3],
        ["file", "a.txt", 3, 7],
        ["files", "b c.txt", "a.txt"],
    ]


def test_several_files_of_one_command_reach_the_cli_in_order(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": "1\n", "b c.txt": "", "sub/d.txt": ""})
    nvim.keys(':Claude add a.txt "b c.txt" sub<CR>')
    nvim.wait("Ide.mention.pending() == 3", what="mentions that wait")
    nvim.wait("require('claude-ide.statusline').text() == 'Claude not connected · 3 queued'", what="the statusline")
    client = connect(nvim)
    nvim.wait(
        lambda: len([n for n in client.notifications if n["method"] == "at_mentioned"]) == 3, what="three mentions"
    )
    sent = [n["params"]["filePath"] for n in client.notifications if n["method"] == "at_mentioned"]
    assert [path.rsplit("/", 1)[1] for path in sent] == ["a.txt", "b c.txt", "sub"]
    nvim.wait("require('claude-ide.statusline').text() == 'Claude'", what="the statusline")


# ── selection, diffs, log ──


def test_selection_is_switched_and_told(start_nvim):
    nvim = start_nvim(notices=True)
    for command in ["", "off", "toggle", "toggle", "on"]:
        nvim.cmd("Claude selection " + command)
    sees = "Selection on: Claude sees your file and selection."
    blind = "Selection off: Claude does not see your file and selection."
    assert nvim.notices() == [sees, blind, sees, blind, sees]


def test_diffs_are_offered_and_the_chosen_one_is_gone_to(start_nvim):
    nvim = start_nvim(
        init_lua="""
        vim.ui.select = function(items, opts, on_choice)
          _G.labels = vim.tbl_map(opts.format_item, items)
          on_choice(items[2])
        end
        """
    )
    nvim.lua(
        """
        local diff, cwd = Ide.proposal, vim.fn.getcwd()
        diff.list = function()
          return {
            { id = 7, client = 1, path = cwd .. "/a.txt", added = 2, removed = 1 },
            { id = 9, client = 2, path = cwd .. "/sub/b.txt" },
          }
        end
        diff.focus = function(id) _G.focused = id return true end
        """
    )
    nvim.cmd("Claude diffs")
    assert nvim.lua("return _G.labels") == [
        "a.txt      +2 −1 · connection 1",
        "sub/b.txt  is being made · connection 2",
    ]
    assert nvim.lua("return _G.focused") == 9


def test_log_opens_the_log_at_its_end_read_only_also_in_a_second_neovim_and_without_a_word(start_nvim):
    for nvim in (start_nvim(), start_nvim()):
        nvim.cmd("set swapfile | Claude connect")
        nvim.cmd("Claude log")
        assert "swap" not in nvim.lua("return vim.fn.execute('messages')")
        shown = nvim.lua("return { vim.fs.basename(vim.api.nvim_buf_get_name(0)), vim.bo.readonly }")
        assert shown == ["claude-ide.log", True]
        assert nvim.cursor()[0] == nvim.lua("return vim.api.nvim_buf_line_count(0)")


# ── status for other plugins ──


def test_status_tells_everything_in_one_table_and_loads_nothing(start_nvim):
    nvim = start_nvim()
    status = nvim.lua("return require('claude-ide').status()")
    assert status == {
        "running": False,
        "clients": [],
        "diffs": 0,
        "review": {"files": 0, "hunks": 0, "conflicts": 0},
        "comments": 0,
        "mentions": 0,
        "selection": True,
        "sessions": [],
        "terminal": {"running": False, "visible": False},
    }
    assert nvim.lua("return package.loaded[Ide('server')]") is None


def test_the_statusline_follows_events_without_working_at_each_redraw(start_nvim, connect):
    nvim = start_nvim()
    text = "return require('claude-ide.statusline').text()"
    assert nvim.lua(text) == "Claude off"
    nvim.cmd("Claude connect")
    assert nvim.lua(text) == "Claude not connected"
    built = nvim.lua(
        """
        local status, text = Ide.status, require("claude-ide.statusline").text
        local get, built = status.get, 0
        status.get = function() built = built + 1 return get() end
        require("claude-ide.statusline").refresh() -- what an event does
        for _ = 1, 3 do text() end
        status.get = get
        return built
        """
    )
    assert built == 1
    first = connect(nvim)
    nvim.wait("require('claude-ide.statusline').text() == 'Claude'", what="one client")
    connect(nvim)
    nvim.wait("require('claude-ide.statusline').text() == 'Claude 2'", what="two clients")
    nvim.cmd("Claude selection off")
    assert nvim.lua(text) == "Claude 2 · selection off"
    first.close()
    nvim.wait("require('claude-ide.statusline').text() == 'Claude · selection off'", what="one client")
    nvim.cmd("Claude disconnect")
    nvim.wait(lambda: nvim.lua(text) == "Claude off", what="the server to stop")


@pytest.mark.every_nvim
def test_any_statusline_can_show_it(start_nvim):
    nvim = start_nvim()
    nvim.cmd("set laststatus=2 statusline=%{v:lua.require'claude-ide.statusline'.text()}")
    nvim.wait_screen("Claude off")
    nvim.cmd("Claude connect")
    nvim.wait_screen("Claude not connected")


# ── in each mode ──

OPENS = {
    "board": "board (Claude)",
    "chat": "Claude (prompt)",
    "context": "Claude (text)",
    "hooks": "Claude (text)",
    "log": "claude-ide.log",
    "mcp": "Claude (MCP)",
    "open": "Claude (terminal)",
    "sessions": "Claude (choices)",
    "transcript": "A title",
}
"""The current window's buffer after a command."""

IN_MODES = ("", "ione", "ione<C-o>", "R", "vj", "<C-v>j", "gh", ":vertical terminal cat<CR>i")


@pytest.mark.every_nvim
@pytest.mark.parametrize("command", OPENS)
def test_a_mapping_opens_a_window_in_each_mode(start_nvim, sessions, project, command):
    sessions.write(project, ("one", "two"), title="A title")
    opts = {"auto_start": False, "terminal": {"command": ["sh", "-c", "cat", "x"]}}
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\ntwo\n"}, opts=opts)
    nvim.lua("Ide.log.error('a first line')")
    for mode in "nixst":
        nvim.cmd(f"{mode}noremap <C-g> <Cmd>Claude {command}<CR>")
    for keys in IN_MODES:
        nvim.keys(keys + "<C-g>")
        mode = "t" if command == "open" else "n"
        there = f"vim.fn.fnamemodify(vim.fn.bufname(), ':t') == '{OPENS[command]}' and vim.fn.mode() == '{mode}'"
        nvim.wait(there, what=f"the window after {keys}")
        nvim.keys("<C-\\><C-n>")
        nvim.wait("vim.fn.mode() == 'n'", what="Normal mode")
        for undone in ("Claude close", "Claude chat close", "fclose!", "tabonly", "only", "%bwipeout!", "edit! a.txt"):
            nvim.cmd(f"silent! {undone}")
        nvim.wait("vim.fn.bufname() == 'a.txt' and #vim.api.nvim_list_wins() == 1", what="the file alone")


@pytest.mark.every_nvim
@pytest.mark.parametrize("command", ["board", "transcript"])
def test_a_window_opens_while_a_macro_is_recorded(start_nvim, sessions, project, command):
    sessions.write(project, ("one", "two"), title="A title")
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, opts={"auto_start": False})
    nvim.keys(f"qa:Claude {command}<CR>")
    nvim.wait(f"vim.fn.fnamemodify(vim.fn.bufname(), ':t') == '{OPENS[command]}'", what="the window")
    assert nvim.lua("return vim.fn.reg_recording()") == "a"


def test_the_command_line_stays_as_a_window_opens(start_nvim):
    nvim = start_nvim(opts={"auto_start": False})
    nvim.keys(":Claude board<CR>")
    nvim.wait("vim.fn.bufname() == 'board (Claude)'", what="the board")
    assert nvim.screen()[-1].startswith(":Claude board")


def test_a_mapping_that_opens_nothing_leaves_the_mode(start_nvim):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\ntwo\n"}, opts={"auto_start": False}, notices=True)
    nvim.cmd("noremap! <C-g> <Cmd>Claude selection<CR>")
    nvim.keys("ione<C-g>")
    nvim.wait(nvim.notices)
    nvim.keys(" and two")
    nvim.wait("vim.api.nvim_get_current_line() == 'one and twoone'")


# ── the command-line window ──

WITH_WINDOWS = (
    "",
    "--continue",
    "open",
    "toggle",
    "new",
    "list",
    "worktree a",
    "focus",
    "hide",
    "close",
    "chat",
    "edit words",
    "ask words",
    "prompt words",
    "decide",
    "hooks",
    "diffs",
    "review",
    "comment",
    "comments",
    "follow next",
    "undo",
    "resolve",
    "sessions",
    "board",
    "grep words",
    "transcript",
    "serve url",
    "context",
    "mcp",
    "kernel log",
    "log",
    "health",
)
WITHOUT_WINDOWS = {
    "connect": "Port",
    "status": "",
    "add a.txt": "Queued for Claude",
    "send": "",
    "accept": "No open diffs.",
    "reject": "No open diffs.",
    "follow": "",
    "follow stop": "",
    "selection": "Selection on",
    "serve": "The web page is on port",
    "serve stop": "The web page is closed.",
    "kernel": "",
    "restart": "",
    "disconnect": "",
}


@pytest.mark.every_nvim
def test_in_the_command_line_window_a_command_opens_no_window_and_says_why(start_nvim, sessions, project):
    sessions.write(project, ("one", "two"), title="A title")
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, opts={"auto_start": False}, notices=True)
    nvim.lua("Ide.log.error('a first line')")
    nvim.keys("q:")
    nvim.wait("vim.fn.getcmdwintype() == ':'")
    wins, tabs = nvim.lua("return { #vim.api.nvim_list_wins(), #vim.api.nvim_list_tabpages() }")
    for count, command in enumerate(WITH_WINDOWS, 1):
        nvim.keys(f":Claude {command}<CR>")
        nvim.wait(lambda count=count: len(nvim.notices()) >= count, what=f"a word about {command}")
        assert nvim.notices()[count - 1 :] == ["Close the command-line window first: `:q`, or `<C-c>` twice."], command
    for command, part in WITHOUT_WINDOWS.items():
        before = len(nvim.notices())
        nvim.cmd(f"Claude {command}")
        said = nvim.notices()[before:]
        assert not any("E11" in text or "has more" in text for text in said), (command, said)
        assert any(part in text for text in said) or not part, (command, said)
    assert nvim.lua("return { #vim.api.nvim_list_wins(), #vim.api.nvim_list_tabpages() }") == [wins, tabs]
    assert nvim.lua("return vim.fn.getcmdwintype()") == ":"
