"""Code actions that ask Claude, among those of `vim.lsp.buf.code_action()`."""

import pytest
from fake_lsp import LSP

pytestmark = [pytest.mark.dealt, pytest.mark.every_nvim]

OURS = "#vim.lsp.get_clients({ bufnr = 0, name = 'claude-ide' })"
# The list of actions waits until `pick(n)`. Events of language server clients are kept.
WATCH = """
shown, seen = nil, {}
vim.ui.select = function(items, opts, choose)
  shown = vim.tbl_map(function(item) return item.action.title end, items)
  lines = vim.tbl_map(opts.format_item, items)
  pick = function(n) choose(items[n], n) end
end
vim.keymap.set({ "n", "x" }, "ga", vim.lsp.buf.code_action)
vim.api.nvim_create_autocmd({ "LspAttach", "LspDetach" }, {
  callback = function(event) table.insert(seen, event.event .. " " .. vim.lsp.get_client_by_id(event.data.client_id).name) end,
})
"""
ASK = """
  local context, first, last = ...
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    range = { start = { line = first or 1, character = 0 }, ["end"] = { line = last or first or 1, character = 0 } },
    context = context,
  }
  local id = vim.lsp.get_clients({ name = "claude-ide" })[1].id
  return vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 2000)[id].result
"""
INVOKED = {"diagnostics": [], "triggerKind": 1}
TEXT = "good\nERROR\nWARN ERROR\n"


@pytest.fixture
def editor(start_nvim, fake):
    return start_nvim(
        ["plain.txt"],
        files={"a.py": TEXT, ".env": "ERROR\n", "plain.txt": "plain\n"},
        init_lua=LSP + WATCH,
        env=fake.environment(),
        notices=True,
    )


def begin(editor, connect, server="{}"):
    """A client is connected, and a language server has reported diagnostics of `a.py`, the current buffer."""
    client = connect(editor)
    editor.lua(f"fake.start('one', {server})")
    editor.cmd("edit a.py")
    editor.wait("#vim.diagnostic.get(0) > 0", what="the diagnostics")
    editor.wait(f"{OURS} == 1", what="our client")
    return client


def titles(editor, keys):
    editor.lua("shown = nil")
    editor.keys(keys + "ga")
    editor.wait("shown ~= nil", what="the list")
    return editor.lua("return shown")


def nothing(editor, keys, said="No code actions available"):
    editor.lua("shown = nil")
    before = editor.notices().count(said)
    editor.keys(keys + "ga")
    editor.wait(lambda: editor.notices().count(said) > before, what="the end of the list")
    assert editor.lua("return shown") is None


@pytest.fixture
def with_terminal(editor, connect, in_terminal, sessions, project):
    """Begun, with a session in Neovim's terminal, which is idle at its empty prompt; and a function that sets its state."""
    (sessions.config / "sessions").mkdir(parents=True, exist_ok=True)
    session = sessions.write(project, ("one", "two"))
    begin(editor, connect)
    state = in_terminal(editor, session)
    editor.keys("<C-\\><C-n><C-w>p")
    editor.wait("vim.fn.expand('%:t') == 'a.py'")
    return state


def typed(fake):
    return fake.typed().decode().replace("\x1b[200~", "").replace("\x1b[201~", "").replace("\r", "\n")


def test_fix_is_offered_on_lines_with_diagnostics_and_explain_of_a_selection(editor, connect):
    begin(editor, connect)
    assert titles(editor, "2G") == ["Fix with Claude: ERROR in line 2"]
    assert editor.lua("return lines")[0].removesuffix(" [claude-ide]") == "Fix with Claude: ERROR in line 2"
    assert titles(editor, "3G") == ["Fix with Claude: ERROR in line 3 (and 1 more)"]
    assert titles(editor, "<Esc>ggV") == ["Explain with Claude"]
    assert titles(editor, "<Esc>gglv") == ["Explain with Claude"]
    assert titles(editor, "<Esc>2GV") == ["Fix with Claude: ERROR in line 2", "Explain with Claude"]
    nothing(editor, "<Esc>gg")
    editor.lua("shown = nil vim.lsp.buf.code_action({ range = { start = { 1, 0 }, ['end'] = { 2, 3 } } })")
    editor.wait("shown ~= nil")
    assert editor.lua("return shown") == ["Fix with Claude: ERROR in line 2", "Explain with Claude"]


def test_a_language_servers_own_actions_stay(editor, connect):
    action = "{ { title = 'Real fix', kind = 'quickfix' } }"
    begin(
        editor,
        connect,
        f"{{ capabilities = {{ codeActionProvider = true }}, answers = {{ ['textDocument/codeAction'] = function() return {action} end }} }}",
    )
    assert sorted(titles(editor, "2G")) == ["Fix with Claude: ERROR in line 2", "Real fix"]
    assert titles(editor, "gg") == ["Real fix"]


def test_it_serves_the_current_buffer_beside_a_language_server_while_claude_is_connected(editor, connect):
    client = connect(editor)
    editor.cmd("edit a.py")
    assert editor.lua("return #vim.lsp.get_clients()") == 0
    editor.lua("fake.start('one', {})")
    editor.cmd("edit a.py")
    editor.wait(f"{OURS} == 1")
    assert editor.lua("return #Ide.lsp.clients(0)") == 1, "it is no language server to us"
    editor.cmd("edit plain.txt")
    assert editor.lua(f"return {OURS}") == 0
    for buffer in ("enew", "edit .env", "new | setlocal buftype=nofile"):
        editor.cmd(f"{buffer} | setfiletype python")
        editor.wait("#vim.lsp.get_clients({ bufnr = 0, name = 'one' }) == 1", what=f"the server in {buffer}")
        editor.cmd("doautocmd BufEnter")
        assert editor.lua(f"return {OURS}") == 0, buffer
    editor.cmd("edit a.py")
    editor.lua("vim.b.claude_private = true")
    editor.wait(f"{OURS} == 0", what="a private buffer to be left")
    editor.lua("vim.b.claude_private = nil")
    editor.wait(f"{OURS} == 1")
    client.close()
    editor.wait(f"{OURS} == 0", what="its end")
    connect(editor)
    editor.wait(f"{OURS} == 1", what="the next one")
    editor.lua("vim.lsp.stop_client(vim.lsp.get_clients({ name = 'one' }), true)")
    editor.wait(f"{OURS} == 0", what="its end beside the language server")


def test_users_autocommands_and_the_server_see_no_second_client(editor, connect):
    client = begin(editor, connect)
    editor.lua("""
      local got = vim.lsp.get_clients({ name = "claude-ide" })[1]
      notified = {}
      local notify = got.rpc.notify
      got.rpc.notify = function(method, ...) table.insert(notified, method) return notify(method, ...) end
    """)
    editor.cmd("enew | edit a.py")
    editor.keys("onew text<Esc>")
    editor.wait("vim.fn.line('$') == 4")
    editor.cmd("write")
    editor.wait("vim.tbl_contains(fake.seen, 'textDocument/didChange')")
    assert editor.lua("return notified") == []
    client.close()
    editor.wait(f"{OURS} == 0")
    connect(editor)
    editor.wait(f"{OURS} == 1")
    editor.lua(
        "if vim.fn.has('nvim-0.12') == 1 then vim.cmd('lsp restart claude-ide') else vim.lsp.stop_client(vim.lsp.get_clients(), true) end"
    )
    editor.wait(f"{OURS} == 0")
    editor.cmd("edit! | edit plain.txt | edit a.py")
    editor.wait(f"{OURS} == 1", what="it to be there again")
    assert editor.lua("return vim.tbl_filter(function(one) return one:find('claude') end, seen)") == []


@pytest.mark.parametrize("close", ["bwipeout", "bdelete", "bunload", "edit!"])
def test_a_buffer_that_is_closed_or_read_anew_is_served_again(editor, connect, close):
    begin(editor, connect)
    editor.cmd(close)
    editor.cmd("edit a.py")
    editor.wait(f"{OURS} == 1")
    assert editor.lua("return vim.tbl_contains(seen, 'LspAttach claude-ide')") is False
    editor.wait("#vim.diagnostic.get(0) > 0")
    assert titles(editor, "2G") == ["Fix with Claude: ERROR in line 2"]


def test_a_server_with_another_position_encoding_gets_a_client_with_the_same(editor, connect):
    begin(editor, connect, "{ capabilities = { positionEncoding = 'utf-8' } }")
    encodings = "vim.tbl_map(function(one) return one.offset_encoding end, vim.lsp.get_clients({ bufnr = 0 }))"
    assert editor.lua(f"return {encodings}") == ["utf-8", "utf-8"]
    assert titles(editor, "2G") == ["Fix with Claude: ERROR in line 2"]
    editor.lua(
        "vim.lsp.stop_client(vim.lsp.get_clients({ name = 'one' }), true) vim.api.nvim_clear_autocmds({ event = 'FileType' })"
    )
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 0")
    editor.lua("fake.start('two', {})")
    editor.lua("vim.api.nvim_exec_autocmds('FileType', { pattern = 'python' })")
    editor.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 2")
    assert editor.lua(f"return {encodings}") == ["utf-16", "utf-16"]


def test_nothing_is_offered_to_light_bulbs_actions_on_save_and_by_option(editor, connect):
    begin(editor, connect)
    assert len(editor.lua(ASK, INVOKED)) == 1
    assert editor.lua(ASK, INVOKED | {"triggerKind": 2}) == []
    assert editor.lua(ASK, {"diagnostics": []}) == []
    assert editor.lua(ASK, INVOKED | {"only": ["source.organizeImports"]}) == []
    assert editor.lua(ASK, INVOKED | {"only": ["quickfix"]}) == []
    editor.lua("require('claude-ide').setup({ code_actions = false })")
    assert editor.lua(ASK, INVOKED) == []
    editor.cmd("edit plain.txt | edit a.py")
    assert editor.lua(f"return {OURS}") == 0


def test_formatting_hover_and_rename_are_the_language_servers(editor, connect):
    begin(editor, connect, "{ format = 'upper' }")
    assert editor.lua("return vim.lsp.buf.format()") is None
    editor.wait("vim.fn.getline(1) == 'GOOD'")
    for ask in ("hover()", "rename('x')"):
        before = len(editor.notices())
        editor.lua(f"vim.lsp.buf.{ask}")
        editor.wait(lambda since=before: len(editor.notices()) > since, what=f"what {ask} says")
    assert not [said for said in editor.notices() if "claude-ide" in said]
    supported = """
      return vim.tbl_filter(function(method) return #vim.lsp.get_clients({ name = "claude-ide", method = method }) > 0 end, {
        "textDocument/hover", "textDocument/formatting", "textDocument/rename", "textDocument/definition", "textDocument/completion",
        "textDocument/codeAction",
      })
    """
    assert editor.lua(supported) == ["textDocument/codeAction"]


def test_the_chosen_action_says_the_diagnostics_and_the_lines_to_the_terminals_session(editor, fake, with_terminal):
    titles(editor, "3G")
    assert fake.typed() == b""
    editor.lua("pick(1)")
    text = "@a.py#L3 Fix this:\n- line 3, error: ERROR in line 3 (one)\n- line 3, warning: WARN in line 3 (one) \n"
    editor.wait(lambda: typed(fake) == text, what="the prompt")
    assert editor.lua("return Ide.outbox.list()") == []


def test_a_failed_test_is_fixed_where_neotest_shows_it(editor, fake, with_terminal):
    """neotest sets diagnostics for failed tests, unless the user switches that off."""
    failed = "{ lnum = 0, col = 0, message = 'assert 1 == 2', severity = 1, source = 'neotest' }"
    editor.lua(f"vim.diagnostic.set(vim.api.nvim_create_namespace('neotest'), 0, {{ {failed} }})")
    assert titles(editor, "gg") == ["Fix with Claude: assert 1 == 2"]
    editor.lua("pick(1)")
    text = "@a.py#L1 Fix this:\n- line 1, error: assert 1 == 2 (neotest) \n"
    editor.wait(lambda: typed(fake) == text, what="the prompt")


def test_it_waits_until_claude_is_idle_and_says_so(editor, fake, with_terminal):
    with_terminal("busy")
    titles(editor, "ggVj")
    editor.lua("pick(2)")
    editor.wait_notice("Not sent yet: Claude works.")
    assert fake.typed() == b""
    editor.lua("Ide.terminal.hide()")
    with_terminal("idle")
    editor.wait(lambda: typed(fake) == "@a.py#L1-2 Explain this. \n", what="the prompt")
    editor.wait_notice("Sent to Claude.")


def test_unsaved_lines_are_said_as_they_are_in_the_editor(editor, fake, with_terminal):
    editor.keys("ggOnew ``` line<Esc>")
    editor.wait("vim.fn.line('$') == 4")
    titles(editor, "ggV")
    editor.lua("pick(#shown)")
    wanted = (
        "@a.py#L1 Explain this.\n\nThe file has unsaved changes in the editor. Its text from line 1 on is there:\n"
        "````\nnew ``` line\n````"
    )
    editor.wait(lambda: typed(fake).rstrip() == wanted, what="the prompt")


def test_resolve_is_offered_within_a_merge_conflict_with_all_of_its_lines(editor, fake, with_terminal):
    ours = "=" * 7
    text = f"good\n<<<<<<< HEAD\na\n||||||| base\nb\n{ours}\nc\n>>>>>>> theirs\nbetween\n<<<<<<< HEAD\n{ours}\nd\n>>>>>>> x\nafter\n"
    text += f"heading\n{ours}\n<<<<<<<< eight\n{ours}\n>>>>>>>\n<<<<<<< without an end\n{ours}\n"
    (editor.project / "a.py").write_text(text)
    editor.cmd("edit!")
    editor.wait(f"{OURS} == 1 and vim.fn.line('$') > 20")
    lines = {
        row: [
            one["command"]["arguments"][0]["text"].split(" ")[0]
            for one in editor.lua(ASK, INVOKED, row - 1)
            if one["title"] == "Resolve with Claude"
        ]
        for row in range(1, len(text.splitlines()) + 1)
    }
    first, second = dict.fromkeys(range(2, 9), ["@a.py#L2-8"]), dict.fromkeys(range(10, 14), ["@a.py#L10-13"])
    assert {row: found for row, found in lines.items() if found} == first | second
    assert "Resolve with Claude" in titles(editor, "11G")
    editor.lua("pick(#shown)")
    editor.wait(lambda: typed(fake).startswith("@a.py#L10-13 Resolve this merge conflict: "), what="the prompt")


def test_nothing_is_said_of_a_file_that_became_private_while_the_list_was_open(editor, fake, with_terminal):
    titles(editor, "2G")
    editor.lua("vim.b.claude_private = true")
    editor.lua("pick(1)")
    editor.wait_notice("Not sent: the buffer is gone, or private.")
    editor.lua("vim.b.claude_private = nil")
    editor.wait(f"{OURS} == 1")
    titles(editor, "3G")
    editor.lua("pick(1)")
    editor.wait(lambda: "line 3" in typed(fake), what="the next prompt")
    assert "line 2" not in typed(fake)


def test_without_a_session_here_the_prompt_is_saved_and_where_it_can_be_said_is_told(editor, connect):
    client = begin(editor, connect)
    titles(editor, "2G")
    editor.lua("pick(1)")
    editor.wait_notice("Claude runs in another terminal. Your text is in")
    assert editor.lua("return vim.fn.getreg('\"')").startswith("@a.py#L2 Fix this:\n- line 2, error")
    titles(editor, "2G")
    client.close()
    editor.wait(f"{OURS} == 0")
    editor.lua("pick(1)")
    editor.wait_notice("Claude is not running (`:Claude` starts it).")


def test_odd_names_and_texts_are_offered_and_bounded(editor, connect):
    (editor.project / "wéird [x] %20 'n\".py").write_text("ERROR ünï 😀\n")
    begin(editor, connect)
    editor.lua("vim.cmd.edit(vim.fn.fnameescape(...))", "wéird [x] %20 'n\".py")
    editor.wait(f"#vim.diagnostic.get(0) > 0 and {OURS} == 1")
    bufs = editor.lua("return #vim.api.nvim_list_bufs()")
    editor.lua("""
      vim.diagnostic.set(vim.api.nvim_create_namespace("lint"), 0, {
        { lnum = 0, col = 6, end_lnum = 0, end_col = 8, severity = 1, message = "a\\27[201~\\nb " .. ("é"):rep(5000) .. "\\255" },
      })
    """)
    fix, explain = editor.lua(ASK, INVOKED, 0, 1)
    assert editor.lua("return #vim.api.nvim_list_bufs()") == bufs
    text = fix["command"]["arguments"][0]["text"]
    assert text.startswith('@"wéird [x] %20 \'n".py#L1" Fix this:\n- line 1, error: ')
    assert "\x1b" not in text
    assert len(text.encode()) < 1400
    assert len(fix["title"]) < 100
    assert explain["title"] == "Explain with Claude"
