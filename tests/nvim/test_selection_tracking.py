"""When the cursor and the selection are sent to Claude, how long a selection lasts, and what stays private."""

import itertools

import pytest

from harness.fake_server import FakeServer

pytestmark = pytest.mark.dealt

FILES = {
    "a.txt": "one two three\nfour five six\nseven\n",
    "b.txt": "bee\n",
    ".env": "SECRET=1\n",
    "keys/site.pem": "-----\n",
    "conf/inner/x.txt": "x\n",
}


@pytest.fixture
def editor(start_nvim):
    """A Neovim in a.txt with a listening client (unless `connect=False`)."""

    def start(connect=True, files=FILES, args=("a.txt",), **kwargs):
        nvim = start_nvim(list(args), files=files, **kwargs)
        nvim.server = FakeServer(nvim, "selection")
        if connect:
            nvim.server.connect()
            nvim.server.wait_sent("selection_changed", lambda sent: True)
        return nvim

    return start


def wait_text(nvim, text):
    return nvim.server.wait_sent("selection_changed", lambda sent: sent["text"] == text)


def wait_cursor(nvim, line, character):
    start = {"line": line, "character": character}
    return nvim.server.wait_sent(
        "selection_changed",
        lambda sent: sent["selection"] == {"start": start, "end": start, "isEmpty": True} and sent["text"] == "",
    )


def wait_nothing_known(nvim):
    sent = nvim.server.wait_sent("selection_changed", lambda sent: "filePath" not in sent)
    start = {"line": 0, "character": 0}
    assert sent == {"text": "", "selection": {"start": start, "end": start, "isEmpty": True}}
    assert nvim.server.sent("active_editor")[-1] == {"filePath": None}


def settle(nvim):
    """Waits until a running debounce pause has passed and its result was sent: timers fire in the order of their ends,
    and scheduled functions in that order.
    """
    nvim.lua("""
      settled = false
      vim.uv.update_time() -- as the tracker does
      vim.defer_fn(function() settled = true end, 2 * Ide.config.get().selection.debounce_ms)
    """)
    nvim.wait("settled", what="the pause to be over")
    return nvim.server.sent("selection_changed")


# --- how long a selection lasts


@pytest.mark.every_nvim
def test_a_selection_outlives_visual_mode_until_the_cursor_moves(editor):
    nvim = editor()
    nvim.keys("ve")
    wait_text(nvim, "one")
    nvim.keys("<Esc>")
    nvim.wait(lambda: nvim.mode() == "n")
    assert settle(nvim)[-1]["text"] == "one"
    nvim.keys("j")
    wait_cursor(nvim, 1, 2)


# Keys, faster than the pause, and the selection that they leave.
LEFT = {"lwviw<Esc>": "two", "Vj:": "one two three\nfour five six", "wviwy": "two"}


@pytest.mark.every_nvim
def test_a_selection_that_is_left_at_once_is_reported_and_lasts(editor):
    nvim = editor()
    for keys, text in LEFT.items():
        nvim.keys(keys)
        wait_text(nvim, text)
        assert settle(nvim)[-1]["text"] == text, keys
        nvim.keys("<Esc>:call cursor(1, 12)<CR>")
        wait_cursor(nvim, 0, 11)
        nvim.keys("0")
        wait_cursor(nvim, 0, 0)


def test_another_text_ends_the_selection(editor):
    nvim = editor()
    for keys, text, then, column in (("wve", "two", "d", 4), ("0v<Esc>", "o", "~u", 0)):
        nvim.keys(keys)
        wait_text(nvim, text)
        nvim.keys(then)
        wait_cursor(nvim, 0, column)


@pytest.mark.every_nvim
def test_going_to_a_terminal_keeps_the_selection(editor):
    nvim = editor()
    nvim.cmd("vsplit | terminal cat")
    nvim.cmd("wincmd p")
    nvim.keys("wviw<C-w>p")
    wait_text(nvim, "two")
    nvim.keys("ihello<CR>")
    nvim.wait_screen("hello")
    assert settle(nvim)[-1]["text"] == "two"
    nvim.keys("<C-\\><C-n><C-w>p")
    nvim.wait("vim.bo.buftype == ''")
    assert settle(nvim)[-1]["text"] == "two"
    nvim.keys("j")
    wait_cursor(nvim, 1, 6)


@pytest.mark.every_nvim
def test_a_terminal_entered_from_visual_mode_by_a_mapping_keeps_the_selection(editor):
    nvim = editor(init_lua="vim.keymap.set('x', 'Q', function() vim.api.nvim_set_current_win(Other) end)")
    nvim.lua("vim.cmd('vsplit | terminal cat') Other = vim.api.nvim_get_current_win() vim.cmd('wincmd p')")
    nvim.keys("wviwQ")
    wait_text(nvim, "two")
    nvim.keys("<Esc>")
    nvim.wait(lambda: nvim.mode() in ("n", "nt"))
    assert settle(nvim)[-1]["text"] == "two"


@pytest.mark.every_nvim
def test_a_terminal_in_the_same_window_keeps_the_selection(editor):
    nvim = editor()
    nvim.keys("ve<Esc>:terminal cat<CR>")
    nvim.wait("vim.bo.buftype == 'terminal' and vim.fn.mode() == 'n'")
    assert settle(nvim)[-1]["text"] == "one"


def test_another_file_ends_the_selection(editor):
    nvim = editor()
    nvim.keys("ve<Esc>")
    wait_text(nvim, "one")
    nvim.wait("vim.fn.mode() == 'n'")
    nvim.cmd("edit b.txt")
    sent = wait_cursor(nvim, 0, 0)
    assert sent["filePath"].endswith("/b.txt")
    assert nvim.server.sent("active_editor")[-1] == {"filePath": sent["filePath"]}


@pytest.mark.every_nvim
@pytest.mark.parametrize(
    "commands", [["vsplit | terminal cat", "wincmd p", "quit"], ["terminal cat", "bwipeout a.txt"]]
)
def test_closing_the_last_window_of_the_file_or_wiping_it_out_takes_it_back(editor, commands):
    nvim = editor()
    for command in commands:
        nvim.cmd(command)
    wait_nothing_known(nvim)


def test_a_selection_whose_text_claude_changed_ends_while_the_user_is_elsewhere(editor):
    nvim = editor()
    nvim.keys("ve<Esc>")
    wait_text(nvim, "one")
    nvim.wait("vim.fn.mode() == 'n'")
    nvim.cmd("vsplit | terminal cat")
    (nvim.project / "a.txt").write_text("changed by someone else\n")
    nvim.cmd("checktime")
    nvim.wait("vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, 1, false)[1]:find('changed') ~= nil")
    wait_text(nvim, "")


# --- when it is sent


def test_two_messages_are_a_pause_apart_and_the_last_is_never_lost(editor):
    nvim = editor()
    settle(nvim)
    nvim.keys("jkjkjkjkjklllllll")
    wait_cursor(nvim, 0, 7)
    nvim.keys("".join(["jkjk", "lh" * 30, "j"]))
    wait_cursor(nvim, 1, 7)
    times = [one["at"] for one in nvim.server.messages("selection_changed") if "client" not in one]
    assert all(later - earlier >= 48 for earlier, later in itertools.pairwise(times))


def test_nothing_is_reported_when_nothing_changed(editor):
    nvim = editor()
    before = len(settle(nvim))
    nvim.lua("inserted = false vim.cmd('autocmd InsertLeave * lua inserted = true')")
    nvim.keys(":<Esc>i<Esc>")
    nvim.wait("inserted")
    nvim.cmd("doautocmd CursorMoved | doautocmd TextChanged | doautocmd WinEnter | doautocmd BufEnter")
    settle(nvim)
    nvim.cmd("doautocmd CursorMoved")
    assert settle(nvim)[before:] == []


def test_moving_in_the_pause_costs_no_look_at_the_buffer(editor):
    nvim = editor()
    count = nvim.lua(
        """
        local calls = 0
        local get_mode = vim.api.nvim_get_mode
        vim.api.nvim_get_mode = function() calls = calls + 1 return get_mode() end
        for _ = 1, 10000 do
          vim.api.nvim_exec_autocmds("CursorMoved", { group = "claude-ide.selection.live" })
        end
        vim.api.nvim_get_mode = get_mode
        return calls
        """
    )
    assert count <= 20  # the timer may end a pause meanwhile


@pytest.mark.every_nvim
def test_typing_tells_the_cursor(editor):
    nvim = editor()
    nvim.keys("ihé😀")
    wait_cursor(nvim, 0, 4)


# --- what is sent


NO_FILES = ["help", "enew", "new | setlocal buftype=nofile | file scratch", "terminal cat", "edit .", "copen"]
NO_FILES += ["edit oil:///tmp/"]


def test_a_buffer_that_is_no_file_sends_nothing(editor):
    nvim = editor()
    nvim.lua("typed = 0 vim.on_key(function(_, keys) typed = typed + #(keys or '') end)")
    for command in NO_FILES:
        before = settle(nvim)
        nvim.cmd(command)
        if nvim.lua("return vim.bo.modifiable and vim.bo.buftype ~= 'terminal'"):
            nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'some text', 'more' })")
        nvim.lua("typed = 0")
        nvim.keys("jlvl<Esc>")
        nvim.wait("typed >= 5")
        assert settle(nvim) == before, command
        nvim.cmd("tabnew a.txt | tabonly | only")
        nvim.server.wait_sent("selection_changed", lambda sent: "filePath" in sent)


@pytest.mark.parametrize("keys", [":edit new.txt<CR>", ":enew<CR>ihello<Esc>:write new.txt<CR>"])
def test_a_file_that_is_not_on_disk_yet_is_reported(editor, keys):
    nvim = editor()
    nvim.keys(keys)
    nvim.server.wait_sent("selection_changed", lambda sent: sent["filePath"].endswith("/new.txt"))


# --- privacy


def test_switching_off_takes_back_what_was_reported_and_on_tells_again(editor):
    nvim = editor()
    nvim.keys("ve")
    wait_text(nvim, "one")
    assert nvim.lua("return Ide.selection.toggle()") is False
    wait_nothing_known(nvim)
    nvim.keys("<Esc>jll")
    nvim.wait(lambda: nvim.cursor() == (2, 4))
    assert len(settle(nvim)) == len(nvim.server.sent("selection_changed"))
    assert "filePath" not in settle(nvim)[-1]
    assert nvim.lua("return Ide.selection.toggle()") is True
    wait_cursor(nvim, 1, 4)


def test_switched_off_in_the_configuration_nothing_is_reported(editor):
    nvim = editor(connect=False, opts={"selection": {"enabled": False}})
    nvim.server.connect()
    nvim.keys("ve<Esc>j")
    nvim.wait(lambda: nvim.cursor() == (2, 2))
    assert settle(nvim) == []
    nvim.lua("Ide.selection.enable()")
    wait_cursor(nvim, 1, 2)


@pytest.mark.parametrize("name", [".env", "keys/site.pem", "link.txt"])
def test_entering_a_file_that_is_denied_takes_back_what_was_reported(editor, name):
    nvim = editor()
    (nvim.project / "link.txt").symlink_to(nvim.project / ".env")
    nvim.cmd(f"edit {name}")
    wait_nothing_known(nvim)
    nvim.keys("vl<Esc>")
    nvim.wait("vim.fn.mode() == 'n' and vim.fn.visualmode() == 'v'")
    nvim.cmd("vsplit | terminal cat")
    assert "filePath" not in settle(nvim)[-1]
    assert "SECRET" not in str(nvim.server.messages("selection_changed"))
    nvim.cmd("edit a.txt")
    wait_cursor(nvim, 0, 0)


GLOBS = {
    "conf/inner/x.txt": "conf/** **/conf/**/x.txt X.TXT* conf/inner/{x,y}.txt [!a].?xt **/x.txt",
    "": "inner/* */x.txt",
}


def test_a_deny_glob_is_compared_with_the_name_or_with_the_path(editor):
    nvim = editor()
    nvim.cmd("edit conf/inner/x.txt")
    for withheld, globs in GLOBS.items():
        for glob in globs.split():
            nvim.lua("require('claude-ide').setup({ selection = { deny = { ... } } })", glob)
            if withheld:
                wait_nothing_known(nvim)
                nvim.lua("require('claude-ide').setup()")
            nvim.server.wait_sent("selection_changed", lambda sent: sent.get("filePath", "").endswith("x.txt"))
            settle(nvim)


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", ["ve", "ve<Esc>"])
def test_a_selection_is_withdrawn_when_its_buffer_becomes_private(editor, keys):
    nvim = editor()
    nvim.keys(keys)
    wait_text(nvim, "one")
    nvim.lua("vim.b.claude_private = true")
    wait_nothing_known(nvim)
    nvim.keys("<Esc>")
    nvim.wait(lambda: nvim.mode() == "n")
    assert "filePath" not in settle(nvim)[-1]


def test_a_private_buffer_is_not_reported(editor):
    nvim = editor()
    nvim.cmd("let b:claude_private = v:true")
    nvim.keys("l")
    wait_nothing_known(nvim)
    nvim.cmd("unlet b:claude_private")
    nvim.keys("l")
    wait_cursor(nvim, 0, 2)


def test_options_that_change_later_count_from_then_on(editor):
    nvim = editor()
    wait_cursor(nvim, 0, 0)
    for deny in ({"deny": ["a.txt"]}, {"enabled": False}):
        nvim.lua("require('claude-ide').setup({ selection = ... })", deny)
        wait_nothing_known(nvim)
        nvim.lua("require('claude-ide').setup()")
        wait_cursor(nvim, 0, 0)


# --- clients that come and go


@pytest.mark.parametrize("keys", ["Vj", "jl"], ids=["selection", "cursor"])
def test_a_client_that_connects_late_gets_what_was_selected_or_where_the_cursor_was(editor, keys):
    nvim = editor(connect=False)
    nvim.cmd("vsplit | terminal cat")
    nvim.cmd("wincmd p")
    nvim.keys(keys + "<C-w>p")
    nvim.wait("vim.bo.buftype == 'terminal'")
    assert nvim.server.sent("selection_changed") == []
    nvim.server.connect()
    if keys == "Vj":
        wait_text(nvim, "one two three\nfour five six")
    else:
        wait_cursor(nvim, 1, 1)


def test_a_client_is_told_again_once_it_listens(editor):
    # The CLI drops what reaches it in the first moments after the handshake.
    nvim = editor()
    nvim.keys("ve")
    wait_text(nvim, "one")
    nvim.server.connect(2)
    nvim.wait(
        lambda: (
            [m["params"]["text"] for m in nvim.server.messages("selection_changed") if m.get("client") == 2] == ["one"]
        )
    )


def test_nobody_connected_means_no_autocommand_for_the_cursor(editor):
    nvim = editor(connect=False)
    groups = "vim.fn.getcompletion('claude-ide.selection', 'augroup')"
    assert nvim.lua(f"return {groups}") == ["claude-ide.selection"]
    assert nvim.lua("return #vim.api.nvim_get_autocmds({ group = 'claude-ide.selection', event = 'CursorMoved' })") == 0
    nvim.server.connect()
    assert nvim.lua(f"return {groups}") == ["claude-ide.selection", "claude-ide.selection.live"]
    nvim.server.disconnect()
    assert nvim.lua(f"return {groups}") == ["claude-ide.selection"]
    nvim.lua("Ide.server.stop()")
    assert nvim.lua(f"return {groups}") == []


def test_what_was_reported_is_not_kept_for_a_client_that_comes_after_the_last_has_gone(editor):
    nvim = editor()
    nvim.server.disconnect()
    wait_nothing_known(nvim)
    nvim.server.connect()
    wait_cursor(nvim, 0, 0)
