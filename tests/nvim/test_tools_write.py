"""The agents' tools that change files: their proposals, answers and refusals."""

import pytest
from fake_lsp import LSP

from harness.client import RpcError, ToolError

pytestmark = pytest.mark.dealt

FILES = {
    "a.py": "import os\n\n\ndef add(a, b):\n    return a + b\n\n\ndef other():\n    return add(1, 2)\n",
    "b.py": "from a import add\n\nx = add(1, 2)\n",
}
SERVER = """
local function range(line, first, last_line, last)
  return { start = { line = line, character = first }, ["end"] = { line = last_line, character = last } }
end
local function uri(name) return vim.uri_from_fname(vim.uv.cwd() .. "/" .. name) end
fake.start("fake", {
  capabilities = {
    renameProvider = true, documentSymbolProvider = true, referencesProvider = true, documentFormattingProvider = true,
    codeActionProvider = { resolveProvider = true }, executeCommandProvider = { commands = { "fix" } },
  },
  answers = {
    ["textDocument/rename"] = function(params)
      if params.newName == "none" then return vim.NIL end
      return { changes = {
        [uri("a.py")] = { { range = range(3, 4, 3, 7), newText = params.newName }, { range = range(8, 11, 8, 14), newText = params.newName } },
        [uri("b.py")] = { { range = range(0, 14, 0, 17), newText = params.newName }, { range = range(2, 4, 2, 7), newText = params.newName } },
      } }
    end,
    ["textDocument/documentSymbol"] = function()
      return {
        { name = "add", kind = 12, range = range(3, 0, 4, 16), selectionRange = range(3, 4, 3, 7) },
        { name = "other", kind = 12, range = range(7, 0, 8, 20), selectionRange = range(7, 4, 7, 9) },
      }
    end,
    ["textDocument/references"] = function(params)
      if params.position.line == 7 then return {} end
      return { { uri = uri("a.py"), range = range(8, 11, 8, 14) }, { uri = uri("b.py"), range = range(2, 4, 2, 7) } }
    end,
    ["textDocument/formatting"] = function() return { { range = range(1, 0, 3, 0), newText = "\\n" } } end,
    ["textDocument/codeAction"] = function(params)
      if params.context.only then
        return { { title = "Organize", kind = "source.organizeImports", edit = { changes = { [uri("a.py")] = { { range = range(0, 0, 3, 0), newText = "" } } } } } }
      end
      return {
        { title = "Lazy", kind = "quickfix", data = 7 },
        { title = "By command", command = "fix", arguments = { 1 } },
        { title = "Of the editor", command = "editor.action.rename" },
        { title = "Not here", disabled = { reason = "no selection" } },
        { title = "With its edit", edit = { changes = { [uri("b.py")] = { { range = range(2, 0, 2, 1), newText = "w" } } } } },
      }
    end,
    ["codeAction/resolve"] = function(action)
      action.edit = { changes = { [uri("b.py")] = { { range = range(2, 0, 2, 1), newText = "y" } } } }
      return action
    end,
    ["workspace/executeCommand"] = function()
      local client = vim.lsp.get_clients()[1]
      local handler = client.handlers["workspace/applyEdit"]
      fake.reply = handler(nil, { edit = { changes = { [uri("b.py")] = { { range = range(2, 0, 2, 1), newText = "z" } } } } }, { client_id = client.id })
      return vim.NIL
    end,
  },
})
"""
SEEN = "(Ide.proposal.list()[1] or {}).seen"


@pytest.fixture
def agent(start_nvim, connect_agent):
    nvim = start_nvim(files=FILES, init_lua=LSP + SERVER)
    agent = connect_agent(nvim)  # before the file, so that its language server's first report is noticed
    nvim.cmd("edit a.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    agent.nvim = nvim
    return agent


def texts(agent):
    return {name: (agent.nvim.project / name).read_text() for name in FILES}


def accepted(agent, tool, **args):
    """Calls a tool, accepts what it proposes, and returns its answer."""
    call = agent.start_call(tool, **args)
    agent.nvim.wait(SEEN, what="the changeset to have been seen")
    agent.nvim.keys("ZZ")
    (text,) = agent.call_result(call)
    return text


def test_rename_answers_what_was_written(agent):
    text = accepted(agent, "rename", path="a.py", line=4, symbol="add", new_name="plus")
    assert text.splitlines()[:4] == [
        "Rename add to plus: accepted, 4 changes in 2 files.",
        "Written:",
        "  a.py (2 changes)",
        "  b.py (2 changes)",
    ]
    assert "Diagnostics now: no error, no warning." in text
    assert texts(agent) == {name: text.replace("add", "plus") for name, text in FILES.items()}


def test_what_is_wrong_now_in_a_file_that_was_left_as_it_is_belongs_to_the_answer(agent):
    nvim = agent.nvim
    nvim.cmd("edit b.py | edit a.py")
    judged = "Ide.diagnostics_servers.has_judged(vim.lsp.get_clients()[1].id, vim.fn.bufnr('b.py'))"
    nvim.wait(judged, what="the server to have judged b.py")
    nvim.lua("""
      local fresh = Ide.diagnostics_fresh
      local wait = fresh.wait
      fresh.wait = function(...)
        wait(...)
        if #... < 2 then return end
        vim.defer_fn(function() -- a server looks at the changed file first
          local client = vim.lsp.get_clients()[1]
          local method, at = "textDocument/publishDiagnostics", { line = 0, character = 14 }
          local wrong = { range = { start = at, ["end"] = at }, severity = 1, message = "no add in a" }
          local params = { uri = vim.uri_from_fname(vim.uv.cwd() .. "/b.py"), diagnostics = { wrong } }
          client.handlers[method](nil, params, { client_id = client.id, method = method })
        end, 150)
      end
    """)
    call = agent.start_call("rename", path="a.py", line=4, symbol="add", new_name="plus")
    nvim.wait(SEEN, what="the changeset to have been seen")
    nvim.keys("<C-w>tG")
    nvim.wait_screen("b.py")
    nvim.keys("dx")
    nvim.wait_screen("◌ b.py")
    nvim.keys("ZZ")
    nvim.wait_screen("Reason")
    nvim.keys("<CR>")
    (text,) = agent.call_result(call)
    assert "b.py:1: error: no add in a" in text


@pytest.mark.slow
def test_a_server_that_has_run_for_long_is_not_waited_for(start_nvim, connect_agent):
    nvim = start_nvim(args=["a.py"], files=FILES, init_lua=LSP + SERVER)
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    agent = connect_agent(nvim)  # the language server has reported on the file before
    agent.nvim = nvim
    nvim.lua("""
      Ide.language_ready.YOUNG_MS = -1
      local fresh = Ide.diagnostics_fresh
      waits, wait = {}, fresh.wait
      fresh.wait = function(bufs, ms, resume) waits[#waits + 1] = ms; return wait(bufs, ms, resume) end
    """)
    client = "vim.lsp.get_clients({ bufnr = 0 })[1].id"
    nvim.wait(f"Ide.diagnostics_servers.is_settled({client}, vim.api.nvim_get_current_buf())")
    assert accepted(agent, "rename", path="a.py", line=4, symbol="add", new_name="plus").startswith(
        "Rename add to plus"
    )
    assert max(nvim.lua("return waits")) <= 5000, "for what it says of the new text, and not for the project"


def test_a_server_that_reported_before_the_plugin_listened_is_waited_for_before_there_is_no_error(
    start_nvim, connect_agent
):
    server = LSP + SERVER.replace('fake.start("fake", {', 'fake.start("fake", { delay = 100,')
    files = {**FILES, "a.py": FILES["a.py"] + "# HINT\n"}
    nvim = start_nvim(args=["a.py"], files=files, init_lua=server)
    nvim.wait("#vim.diagnostic.get(0) == 1")
    agent = connect_agent(nvim)  # the language server has reported on the file before
    agent.nvim = nvim
    nvim.lua("local now = vim.uv.now; vim.uv.now = function() return now() + 10000 end")  # and is silent since
    assert "a.py:4: error: ERROR in line 4" in accepted(
        agent, "rename", path="a.py", line=4, symbol="add", new_name="ERROR"
    )


def test_no_error_is_said_of_no_file_that_nobody_judges(start_nvim, connect_agent):
    nvim = start_nvim(args=["m.lua"], files={"m.lua": "local function f() end\n"})
    agent = connect_agent(nvim)
    agent.nvim = nvim
    nvim.wait(lambda: "insert_after_symbol" in agent.tools(), what="the tool to be listed")
    text = accepted(agent, "insert_after_symbol", path="m.lua", symbol="f", text="f(")
    assert text.endswith("Diagnostics now: not known: no language server reports on these files.")


def test_a_rejected_rename_is_an_error_with_the_words_of_the_user(agent):
    call = agent.start_call("rename", path="a.py", line=4, symbol="add", new_name="plus")
    agent.nvim.wait(SEEN)
    agent.nvim.keys("ZW")
    agent.nvim.wait_screen("Reason:")
    agent.nvim.keys("keep the name<CR>")
    with pytest.raises(ToolError, match="the user rejected it, and nothing was written. They say: keep the name"):
        agent.call_result(call)
    assert texts(agent) == FILES


def test_a_call_that_is_cancelled_or_whose_agent_is_gone_takes_its_review_away(agent):
    gone = "#Ide.requests.pending() == 0 and #vim.api.nvim_list_tabpages() == 1"
    call = agent.start_call("rename", path="a.py", line=4, symbol="add", new_name="plus")
    agent.nvim.wait(SEEN)
    agent.notify("notifications/cancelled", {"requestId": call, "reason": "AbortError: user-cancel"})
    agent.nvim.wait(gone)
    agent.start_call("rename", path="a.py", line=4, symbol="add", new_name="plus")
    agent.nvim.wait(SEEN)
    agent.close()
    agent.nvim.wait(gone)
    assert {name: (agent.nvim.project / name).read_text() for name in FILES} == FILES


def test_what_cannot_be_renamed_is_said(agent):
    with pytest.raises(ToolError, match="fake cannot rename `add`"):
        agent.call("rename", path="a.py", symbol="add", new_name="none")
    with pytest.raises(RpcError, match="end_line 3 lies before line 4"):
        agent.call("code_actions", path="a.py", line=4, end_line=3)


def test_a_symbol_is_replaced_and_lines_are_put_around_it(agent):
    accepted(agent, "replace_symbol_body", path="a.py", symbol="add", body="def add(a, b):\n    return b + a\n")
    assert "def add(a, b):\n    return b + a\n\n\ndef other" in texts(agent)["a.py"]
    accepted(agent, "insert_after_symbol", path="a.py", symbol="other", text="\n\nTWO = 2")
    assert texts(agent)["a.py"].endswith("return add(1, 2)\n\n\nTWO = 2\n")
    accepted(agent, "insert_before_symbol", path="a.py", symbol="add", text="ONE = 1\n\n")
    assert "\n\nONE = 1\n\ndef add" in texts(agent)["a.py"]
    with pytest.raises(ToolError, match="a.py has no symbol `nope`. Its symbols: add, other."):
        agent.call("insert_after_symbol", path="a.py", symbol="nope", text="x")


def test_safe_delete_refuses_what_is_used_and_deletes_what_is_not(agent):
    with pytest.raises(ToolError) as refused:
        agent.call("safe_delete", path="a.py", symbol="add")
    assert str(refused.value).splitlines() == [
        "nothing was deleted: `add` is still used in 2 places:",
        "  a.py:9: return add(1, 2)",
        "  b.py:3: x = add(1, 2)",
    ]
    accepted(agent, "safe_delete", path="a.py", symbol="other")
    assert texts(agent)["a.py"] == "import os\n\n\ndef add(a, b):\n    return a + b\n\n\n"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_lines_of_a_closed_file_are_told_in_words_whatever_its_encoding(agent, encoding):
    (agent.nvim.project / "b.py").write_bytes("from a import add\n\nx = add(1, 2)  # für\n".encode(encoding))
    line = "x = add(1, 2)  # für"
    with pytest.raises(ToolError) as refused:
        agent.call("safe_delete", path="a.py", symbol="add")
    assert str(refused.value).splitlines()[-1] == f"  b.py:3: {line}"
    (text,) = agent.call("references", path="a.py", symbol="add")
    assert text.splitlines()[-1].endswith(line)


def test_a_word_that_no_server_knows_a_use_of_is_said_and_the_user_decides(agent):
    (agent.nvim.project / "c.cfg").write_text("call = other\nanother = 1\n")
    text = accepted(agent, "safe_delete", path="a.py", symbol="other")
    assert "Note: fake knows no use of `other`, but the word stands in c.cfg:1." in text


def test_format_and_organize_imports(agent):
    assert "1 change in 1 file" in accepted(agent, "format", path="a.py")
    assert texts(agent)["a.py"].startswith("import os\n\ndef add")
    accepted(agent, "organize_imports", path="a.py")
    assert texts(agent)["a.py"].startswith(("def add", "\n", "    return"))


def test_code_actions_are_listed_and_done_by_their_id(agent):
    (text,) = agent.call("code_actions", path="a.py", line=4)
    lines = text.splitlines()
    assert lines[0] == "5 code actions; apply_action does one by its id:"
    ids = {line.split(": ")[1].split(" (")[0]: line.split(":")[0].strip() for line in lines[1:]}
    accepted(agent, "apply_action", id=ids["Lazy"])
    assert texts(agent)["b.py"].endswith("y = add(1, 2)\n"), "what is resolved later counts"
    accepted(agent, "apply_action", id=int(ids["By command"]))
    assert texts(agent)["b.py"].endswith("z = add(1, 2)\n"), "a command's edit waits for the user, too"
    assert agent.nvim.lua("return fake.reply.applied") is True
    with pytest.raises(ToolError, match='editor\'s command "editor.action.rename", which is not run for a model'):
        agent.call("apply_action", id=ids["Of the editor"])
    with pytest.raises(ToolError, match="it cannot be done here: no selection"):
        agent.call("apply_action", id=ids["Not here"])
    with pytest.raises(ToolError, match='there is no code action "999"'):
        agent.call("apply_action", id="999")
    agent.nvim.keys("Goz<Esc>")
    agent.nvim.wait("vim.bo.modified")
    with pytest.raises(ToolError, match="the file has changed since; list its code actions again"):
        agent.call("apply_action", id=ids["Lazy"])


def test_an_action_that_was_listed_with_its_edit_is_not_done_in_a_file_that_has_changed_since(agent):
    nvim = agent.nvim
    (text,) = agent.call("code_actions", path="a.py", line=4)
    (line,) = [line for line in text.splitlines() if ": With its edit" in line]
    changed = "# a line more\n" + FILES["b.py"]
    (nvim.project / "b.py").write_text(changed)
    with pytest.raises(ToolError, match=r"b\.py has changed since the server looked at it"):
        agent.call("apply_action", id=line.split(":")[0].strip())
    assert texts(agent)["b.py"] == changed


def test_a_code_action_is_done_for_an_agent_that_came_back_on_another_connection(agent, connect_agent):
    (text,) = agent.call("code_actions", path="a.py", line=4)
    (line,) = [line for line in text.splitlines() if line.endswith(": Lazy (quickfix)")]
    again = connect_agent(agent.nvim)
    again.nvim = agent.nvim
    accepted(again, "apply_action", id=line.split(":")[0].strip())
    assert texts(agent)["b.py"].endswith("y = add(1, 2)\n")


COMMANDS = """
local function range(line, first, last)
  return { start = { line = line, character = first }, ["end"] = { line = line, character = last } }
end
local function uri(name) return vim.uri_from_fname(vim.uv.cwd() .. "/" .. name) end
function fake.commands()
  return #vim.tbl_filter(function(method) return method == "workspace/executeCommand" end, fake.seen)
end
function fake.send_edit(text)
  local client = vim.lsp.get_clients()[1]
  local edit = { changes = { [uri("a.py")] = { { range = range(0, 0, 0), newText = text .. "\\n" } } } }
  local context = { client_id = client.id, method = "workspace/applyEdit" }
  local handler = client.handlers["workspace/applyEdit"] or vim.lsp.handlers["workspace/applyEdit"]
  return handler(nil, { edit = edit }, context)
end
fake.start("fake", {
  delay = "deferred",
  capabilities = { codeActionProvider = true, executeCommandProvider = { commands = { "one", "two", "mine" } } },
  answers = {
    ["textDocument/codeAction"] = function()
      return { { title = "One", command = "one" }, { title = "Two", command = "two" } }
    end,
    ["workspace/executeCommand"] = function(params)
      if params.command ~= "one" then fake.send_edit(params.command) end
      return vim.NIL
    end,
  },
})
"""


@pytest.fixture
def commanded(start_nvim, connect_agent):
    nvim = start_nvim(files=FILES, init_lua=LSP + COMMANDS, notices=True)
    agent = connect_agent(nvim)
    nvim.cmd("edit a.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1 and #fake.deferred > 0")
    nvim.lua("fake.release()")
    call = agent.start_call("code_actions", path="a.py", line=4)
    nvim.wait("vim.list_contains(fake.seen, 'textDocument/codeAction')")
    nvim.lua("fake.release()")
    (text,) = agent.call_result(call)
    agent.ids = {line.split(": ")[1]: line.split(":")[0].strip() for line in text.splitlines()[1:]}
    agent.nvim = nvim
    return agent


TEXT = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.py'), 0, -1, false)"


def apply(agent, title):
    count = agent.nvim.lua("return fake.commands()")
    call = agent.start_call("apply_action", id=agent.ids[title])
    agent.nvim.wait(f"fake.commands() > {count}", what="the command to be sent")
    return call


def of_the_user(nvim):
    """The user executes a command of their own, and gets its edit."""
    nvim.lua("""
      local client = vim.lsp.get_clients()[1]
      Ide.lsp.request(client, "workspace/executeCommand", { command = "mine" }, function() end, 0)
      fake.release()
    """)
    nvim.wait(lambda: nvim.lines()[0] == "mine", what="the edit of the user's own command")


@pytest.mark.every_nvim
def test_an_edit_that_comes_late_is_proposed_and_the_next_of_the_user_is_theirs(commanded):
    call = apply(commanded, "One")
    nvim = commanded.nvim
    nvim.lua("fake.release(); vim.defer_fn(function() fake.send_edit('late') end, 300)")
    nvim.wait(SEEN, what="the changeset to have been seen")
    assert nvim.lua(TEXT) == FILES["a.py"].splitlines()
    nvim.keys("ZZ")
    assert commanded.call_result(call)[0].startswith("One: accepted, 1 change in 1 file.")
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.lines()[0] == "late"
    of_the_user(nvim)


def test_an_edit_of_a_call_that_was_cancelled_is_refused_and_the_next_of_the_user_is_theirs(commanded):
    call = apply(commanded, "One")
    nvim = commanded.nvim
    commanded.cancel(call)
    nvim.wait("fake.withdrawn == 1")
    assert nvim.lua("return fake.send_edit('late').applied") is False
    nvim.wait_notice("An edit of fake was not applied: the command one of Claude's is over.")
    assert nvim.lines()[0] == "import os"
    nvim.lua("Ide.language_command.LATE_MS = 0")
    of_the_user(nvim)


def test_commands_of_two_calls_run_one_after_the_other(commanded):
    nvim = commanded.nvim
    one = apply(commanded, "One")
    two = commanded.start_call("apply_action", id=commanded.ids["Two"])
    nvim.lua("fake.release()")
    assert commanded.call_result(one)[0].endswith('Note: fake has run its command "one", and has requested no edit.')
    nvim.wait("fake.commands() == 2", what="the second command to be sent")
    nvim.lua("fake.release()")
    nvim.wait(SEEN, what="the changeset to have been seen")
    assert nvim.lua(TEXT) == FILES["a.py"].splitlines()
    nvim.keys("ZZ")
    assert commanded.call_result(two)[0].startswith("Two: accepted, 1 change in 1 file.")


RUNNER = """
import sys
print("ran", sys.argv[1:])
print("t_a.py:3: assert 1 == 2")
sys.exit(1)
"""


def test_tests_are_run_with_makeprg_into_words_and_the_quickfix_list(start_nvim, connect_agent):
    files = {"t_a.py": "def test_a():\n    pass\n    assert 1 == 2\n", "runner.py": RUNNER}
    nvim = start_nvim(args=["t_a.py"], files=files)
    agent = connect_agent(nvim)
    assert "run_test" not in agent.tools(), "there is no command"
    nvim.cmd("set makeprg=python3\\ runner.py errorformat=%f:%l:\\ %m")
    agent.wait_notification("notifications/tools/list_changed")
    # That may have been one of the start.
    nvim.wait(lambda: "run_test" in agent.tools(), what="the tool")
    (text,) = agent.call("run_test", scope="file", path="t_a.py")
    assert text.splitlines() == [
        "Tests of t_a.py: failed (exit code 1). Command: python3 runner.py 't_a.py'",
        "Places, in the user's quickfix list too:",
        "  t_a.py:3: assert 1 == 2",
        "Its output:",
        "ran ['t_a.py']",
        "t_a.py:3: assert 1 == 2",
    ]
    assert nvim.lua("return vim.fn.getqflist({ title = 0 }).title") == "Tests of t_a.py"
    (again,) = agent.call("run_test", scope="last")
    assert again == text


def test_a_file_that_looks_like_an_option_is_none(start_nvim, connect_agent):
    nvim = start_nvim(args=["./-x.py"], files={"-x.py": "x\n", "runner.py": RUNNER})
    nvim.cmd("set makeprg=python3\\ runner.py\\ %\\ %:t")
    agent = connect_agent(nvim)
    nvim.wait(lambda: "run_test" in agent.tools(), what="the tool")
    (text,) = agent.call("run_test", scope="file", path="-x.py")
    assert "ran ['./-x.py', './-x.py']" in text


def test_tests_that_are_cancelled_end_with_all_that_they_started(start_nvim, connect_agent, tmp_path):
    pid = tmp_path / "pid"
    nvim = start_nvim(args=["t_a.py"], files={"t_a.py": "x\n"})
    nvim.lua("vim.o.makeprg = ...", f"sleep 1000 & echo $! > {pid}; wait; true")
    agent = connect_agent(nvim)
    nvim.wait(lambda: "run_test" in agent.tools())
    call = agent.start_call("run_test", scope="file", path="t_a.py")
    nvim.wait(lambda: pid.exists() and pid.read_text().strip(), what="the command to run")
    agent.cancel(call)
    child = pid.read_text().strip()
    nvim.wait(lambda: _is_gone(child), what="what it has started to end")


def _is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


LUA = 'local M = {}\n\n---Adds.\nfunction M.add(a, b)\n  return "é", a + b\nend\n\nlocal function other() return M.add(1, 2) end\n\nreturn M\n'


def test_symbols_are_edited_by_the_syntax_tree_where_no_server_is(start_nvim, connect_agent):
    nvim = start_nvim(args=["m.lua"], files={"m.lua": LUA})
    agent = connect_agent(nvim)
    agent.nvim = nvim
    nvim.wait(lambda: "replace_symbol_body" in agent.tools(), what="the tool to be listed")
    assert "rename" not in agent.tools(), "a tree knows no references"
    assert "function other  8" in agent.call("outline", path="m.lua")[0]
    accepted(agent, "replace_symbol_body", path="m.lua", symbol="M.add", body="function M.add(a, b)\n  return b\nend\n")
    accepted(agent, "insert_after_symbol", path="m.lua", symbol="other", text="\nlocal x = 1")
    assert (nvim.project / "m.lua").read_text() == (
        LUA.replace('return "é", a + b', "return b").replace("(1, 2) end\n", "(1, 2) end\n\nlocal x = 1\n")
    )
    with pytest.raises(ToolError, match=r"m\.lua has no symbol `nope`\. Its symbols: M\.add, other\."):
        agent.call("insert_before_symbol", path="m.lua", symbol="nope", text="x")


def test_a_last_line_that_does_not_end_keeps_its_bytes(start_nvim, connect_agent):
    text = 'local function first() return 1 end\nlocal function last() return "ééééé" end'
    nvim = start_nvim(args=["m.lua"], files={"m.lua": text})
    agent = connect_agent(nvim)
    agent.nvim = nvim
    nvim.wait(lambda: "insert_after_symbol" in agent.tools(), what="the tool to be listed")
    accepted(agent, "insert_after_symbol", path="m.lua", symbol="last", text="local x = 1")
    assert (nvim.project / "m.lua").read_text() == text + "\nlocal x = 1"


ODD = "a = 'x\ry'\n\n\ndef add(a, b):\n    return a + b\n\n\nc = add(1, 2)\n"
COUNTS_CR = """
local function at(line, first, last_line, last)
  return { start = { line = line, character = first }, ["end"] = { line = last_line, character = last } }
end
fake.start("fake", {
  capabilities = { renameProvider = true, documentSymbolProvider = true, referencesProvider = true },
  answers = {
    ["textDocument/documentSymbol"] = function()
      return { { name = "add", kind = 12, range = at(4, 0, 5, 16), selectionRange = at(4, 4, 4, 7) } }
    end,
    ["textDocument/rename"] = function(params)
      if not vim.deep_equal(params.position, { line = 4, character = 4 }) then return vim.NIL end
      local new = params.newName
      return { changes = { [params.textDocument.uri] = {
        { range = at(4, 4, 4, 7), newText = new }, { range = new == "wrong" and at(7, 4, 7, 7) or at(8, 4, 8, 7), newText = new },
      } } }
    end,
    ["textDocument/references"] = function(params) return { { uri = params.textDocument.uri, range = at(8, 4, 8, 7) } } end,
  },
})
"""


def test_a_server_that_ends_lines_at_a_lone_cr_is_asked_and_believed_in_its_own_lines(start_nvim, connect_agent):
    nvim = start_nvim(files={"odd.py": ODD}, init_lua=LSP + COUNTS_CR)
    agent = connect_agent(nvim)
    agent.nvim = nvim
    nvim.cmd("edit odd.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    assert agent.call("outline", path="odd.py")[0].endswith("function add  4-5")
    assert agent.call("references", path="odd.py", symbol="add")[0].endswith("  8:5  c = add(1, 2)")
    with pytest.raises(ToolError, match="would replace other text than `add` at line 8"):
        agent.call("rename", path="odd.py", symbol="add", new_name="wrong")
    accepted(agent, "rename", path="odd.py", symbol="add", new_name="plus")
    assert (nvim.project / "odd.py").read_bytes().decode() == ODD.replace("add", "plus")
    accepted(agent, "replace_symbol_body", path="odd.py", symbol="add", body="def add(a, b):\n    return b")
    assert (nvim.project / "odd.py").read_bytes().decode() == ODD.replace("c = add", "c = plus").replace("a + b", "b")


def test_what_was_written_beside_the_editor_is_known_to_the_server_before_it_renames(agent):
    nvim = agent.nvim
    nvim.cmd("edit b.py | edit a.py")
    (nvim.project / "b.py").write_text("# a line more\n" + FILES["b.py"])
    nvim.lua("""
      local client = vim.lsp.get_clients()[1]
      local lsp = Ide.lsp
      local request = lsp.request
      lsp.request = function(client, method, ...)
        if method == "textDocument/rename" then known = fake.texts[vim.uri_from_fname(vim.uv.cwd() .. "/b.py")] end
        return request(client, method, ...)
      end
    """)
    with pytest.raises(ToolError, match="would replace other text than `add`"):
        agent.call("rename", path="a.py", line=4, symbol="add", new_name="plus")
    assert nvim.lua("return known").startswith("# a line more")


def test_a_symbol_may_be_written_as_a_call(agent):
    accepted(agent, "rename", path="a.py:4", symbol="add()", new_name="plus")
    assert texts(agent)["a.py"].startswith("import os\n\n\ndef plus(")
    accepted(agent, "replace_symbol_body", path=f"file://{agent.nvim.project}/a.py", symbol="add(a, b)", body="x = 1")
    assert texts(agent)["a.py"].startswith("import os\n\n\nx = 1\n")


NARROW = """
local function range(line, first, last_line, last)
  return { start = { line = line, character = first }, ["end"] = { line = last_line, character = last } }
end
local function symbol(name, line, first, last, of)
  return { name = name, kind = 13, range = range(line, of and 0 or first, of or line, last), selectionRange = range(line, first, line, first + #name) }
end
fake.start("fake", {
  capabilities = { documentSymbolProvider = true, referencesProvider = true },
  answers = {
    ["textDocument/documentSymbol"] = function()
      local parse = symbol("parse", 3, 8, 26)
      return {
        symbol("used", 1, 0, 4), symbol("spare", 1, 6, 11),
        { name = "A", kind = 5, range = range(2, 0, 3, 26), selectionRange = range(2, 6, 2, 7), children = { parse } },
        { name = "B", kind = 5, range = range(4, 0, 5, 26), selectionRange = range(4, 6, 4, 7), children = { symbol("parse", 5, 8, 26) } },
      }
    end,
    ["textDocument/references"] = function(params)
      fake.asked_at = params.position
      return {}
    end,
  },
})
"""
BESIDE = """# used, spare
used, spare = 1, 2
class A:
    def parse(self): pass
class B:
    def parse(self): pass
"""


@pytest.fixture
def narrow(start_nvim, connect_agent):
    nvim = start_nvim(files={"a.py": BESIDE}, init_lua=LSP + NARROW)
    agent = connect_agent(nvim)
    nvim.cmd("edit a.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
    agent.nvim = nvim
    return agent


def test_a_symbol_that_shares_its_line_is_neither_deleted_nor_has_lines_put_beside_it(narrow):
    why = r"`spare` cannot be told exactly from the text beside it: other code is in its line: `used, spare = 1, 2`"
    for tool, more in (
        ("safe_delete", {}),
        ("insert_before_symbol", {"text": "x"}),
        ("insert_after_symbol", {"text": "x"}),
    ):
        with pytest.raises(ToolError, match=why):
            narrow.call(tool, path="a.py", symbol="spare", **more)
    assert (narrow.nvim.project / "a.py").read_text() == BESIDE


def test_a_symbol_without_a_line_is_where_it_is_declared_and_not_where_a_comment_names_it(narrow):
    narrow.call("references", path="a.py", symbol="spare")
    assert narrow.nvim.lua("return fake.asked_at") == {"line": 1, "character": 6}
    (text,) = narrow.call("references", path="a.py", symbol="parse")
    assert "`parse` is declared in lines 4, 6; taken from line 4." in text
    narrow.call("references", path="a.py", symbol="B.parse")
    assert narrow.nvim.lua("return fake.asked_at") == {"line": 5, "character": 8}


def test_a_name_with_two_definitions_is_not_guessed_for_an_edit(narrow):
    with pytest.raises(ToolError, match="a.py has several symbols `parse`, in lines 4, 6: pass `line`"):
        narrow.call("replace_symbol_body", path="a.py", symbol="parse", body="def parse(self): return 1")
    accepted(narrow, "replace_symbol_body", path="a.py", symbol="B.parse", body="def parse(self): return 1")
    assert (narrow.nvim.project / "a.py").read_text() == BESIDE[: -len("pass\n")] + "return 1\n"
