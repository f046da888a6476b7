"""Answers of the agents' tools with language servers that are late, slow, busy, dying, or verbose."""

import json
import re

import pytest
from diff_steps import Diffs
from fake_lsp import LSP

from harness.client import RpcError, ToolError

pytestmark = pytest.mark.dealt

MODULE = "class Shape:\n    def area(self):\n        return 0\n\n\ndef use(shape):\n    return shape.area()\n"
FILES = {"shapes.py": MODULE, "main.py": "from shapes import use\n\nuse(None)\n"}


def server(answers, capabilities, **options):
    """A language server whose answers are Lua expressions of `params`."""
    made = ", ".join(f'["{method}"] = function(params) return {answer} end' for method, answer in answers.items())
    reported = ", ".join(f"{name} = true" for name in capabilities)
    more = "".join(f", {name} = {value}" for name, value in options.items())
    return f"""{LSP}
      function place(uri, line, from, to)
        return {{ uri = uri, range = {{ start = {{ line = line, character = from }}, ["end"] = {{ line = line, character = to }} }} }}
      end
      function at(line, from) return place("", line, from, from + 1).range end
      fake.start("fakels", {{ capabilities = {{ {reported} }}, answers = {{ {made} }}{more} }})"""


def many(count):
    return (
        f"vim.tbl_map(function(row) return place(params.textDocument.uri, row - 1, 0, 3) end, vim.fn.range(1, {count}))"
    )


REFERENCES = {
    "textDocument/references": "{ place(params.textDocument.uri, 6, 17, 21), place(params.textDocument.uri, 1, 8, 12) }"
}


@pytest.fixture
def opened(start_nvim, connect_agent):
    """A Neovim with a file and a language server, and an agent."""

    def opened(init_lua, args=("shapes.py",), files=FILES, **more):
        nvim = start_nvim(args=list(args), files=files, init_lua=init_lua, **more)
        return nvim, connect_agent(nvim)

    return opened


def test_references_are_sorted_each_with_its_line(opened):
    _, agent = opened(server(REFERENCES, ["referencesProvider"]))
    (text,) = agent.call("references", path="shapes.py", symbol="area", line=2)
    assert text.splitlines() == [
        "2 references of `area`:",
        "shapes.py",
        "  2:9  def area(self):",
        "  7:18  return shape.area()",
    ]


def test_a_server_that_starts_late_is_waited_for_and_the_wait_is_reported(opened):
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"], slow_start='"deferred"'), args=())
    nvim.cmd("edit shapes.py")
    call = agent.send(
        "tools/call",
        {
            "name": "references",
            "arguments": {"path": "shapes.py", "symbol": "area"},
            "_meta": {"progressToken": "mine"},
        },
    )
    reported = agent.wait_notification("notifications/progress")
    assert (reported["progressToken"], reported["message"]) == ("mine", "Waiting for the language server")
    nvim.lua("fake.release()")
    assert agent.call_result(call)[0].startswith("2 references of `area`:")


def test_a_server_that_never_comes_is_not_waited_for_for_ever(opened):
    _, agent = opened(
        server(REFERENCES, ["referencesProvider"], slow_start='"deferred"'), opts={"tools": {"server_wait_ms": 300}}
    )
    with pytest.raises(ToolError, match=r"the language server of shapes\.py is still starting"):
        agent.call("references", path="shapes.py", symbol="area")


GROWING = {
    "textDocument/references": "(function() asked = (asked or 0) + 1; local all = {} "
    "for row = 1, math.min(asked, 4) do all[row] = place(params.textDocument.uri, row - 1, 0, 3) end return all end)()"
}


@pytest.mark.slow
def test_references_of_a_server_that_still_reads_the_project_are_all_of_them(opened):
    nvim, agent = opened(server(GROWING, ["referencesProvider"]))
    (text,) = agent.call("references", path="shapes.py", symbol="area")
    assert text.startswith("4 references of `area`:"), "it is asked until it says the same twice"
    before = nvim.lua("return asked")
    (text,) = agent.call("references", path="shapes.py", symbol="area")
    assert text.startswith("4 references of `area`:")
    assert nvim.lua("return asked") == before + 1, "and from then on once"
    nvim.lua("""
      local client = vim.lsp.get_clients()[1]
      vim.lsp.handlers["$/progress"](nil, { token = 1, value = { kind = "begin", title = "read" } }, { client_id = client.id })
      Ide.config.get().tools.server_wait_ms = 100
    """)
    nvim.wait("Ide.language_servers.is_busy(vim.lsp.get_clients()[1])")
    (text,) = agent.call("references", path="shapes.py", symbol="area")
    assert "(fakels is still reading the project; there may be more.)" in text


@pytest.mark.slow
def test_a_server_that_publishes_nothing_is_waited_for_once_and_not_for_long(opened):
    answers = REFERENCES | {
        "textDocument/codeAction": "{ { title = 'Fix', kind = 'quickfix' } }",
        "textDocument/rename": "{ changes = { [params.textDocument.uri] = { { range = place('', 1, 8, 12).range, newText = params.newName } } } }",
    }
    capabilities = ["referencesProvider", "codeActionProvider", "renameProvider"]
    nvim, agent = opened(server(answers, capabilities, silent="true"), files=FILES)
    agent.call("references", path="shapes.py", symbol="area", line=2)
    nvim.lua("""
      local fresh = Ide.diagnostics_fresh
      waits = {}
      local wait = fresh.wait
      fresh.wait = function(bufs, ...) vim.list_extend(waits, bufs) return wait(bufs, ...) end
      Ide.proposal.propose = (function(propose)
        return function(requester, handle, edit)
          edit.plan.unasked = true
          return propose(requester, handle, edit)
        end
      end)(Ide.proposal.propose)
    """)
    assert "Fix (quickfix)" in agent.call("code_actions", path="shapes.py", line=2)[0]
    assert agent.call("rename", path="shapes.py", symbol="area", line=2, new_name="size")[0].startswith("Rename area")
    assert nvim.lua("return waits") == []


def test_what_no_server_does_is_said(opened):
    _, agent = opened(server({}, ["hoverProvider"]))
    with pytest.raises(ToolError, match="fakels cannot find references"):
        agent.call("references", path="shapes.py", symbol="area")


def test_a_file_without_a_server_gets_a_sentence(opened):
    _, agent = opened("", files={"notes.txt": "word\n"}, args=())
    with pytest.raises(ToolError, match=r"no language server of the editor is attached to notes\.txt"):
        agent.call("references", path="notes.txt", symbol="word")


def test_a_cancelled_call_cancels_the_request(opened):
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"], delay='"deferred"', silent="true"))
    call = agent.start_call("references", path="shapes.py", symbol="area")
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/references')", what="the server to be asked")
    agent.cancel(call)
    nvim.wait("fake.withdrawn == 1", what="the request to be withdrawn")
    assert nvim.lua("return Ide.tools.pending()") == 0


def test_a_server_that_takes_too_long_is_given_up(opened):
    nvim, agent = opened(
        server(REFERENCES, ["referencesProvider"], delay='"deferred"', silent="true"),
        opts={"tools": {"request_timeout_ms": 200}},
    )
    with pytest.raises(ToolError, match="fakels: it gave no answer within 1 s"):
        agent.call("references", path="shapes.py", symbol="area")
    nvim.wait("fake.withdrawn == 1", what="the request to be withdrawn")


def test_a_server_that_dies_ends_the_call(opened):
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"], delay='"deferred"', silent="true"))
    call = agent.start_call("references", path="shapes.py", symbol="area")
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/references')", what="the server to be asked")
    nvim.lua("for _, client in ipairs(vim.lsp.get_clients()) do vim.lsp.stop_client(client.id, true) end")
    with pytest.raises(ToolError, match="fakels"):
        agent.call_result(call)


def test_a_long_answer_comes_in_pages_of_two_thousand_tokens(opened):
    lines = "".join(f"use({number})  # {'x' * 40}\n" for number in range(1000))
    references = {"textDocument/references": many(1000)}
    _, agent = opened(server(references, ["referencesProvider"]), files={"shapes.py": lines})
    seen, cursor = [], None
    while True:
        args = {"cursor": cursor} if cursor else {}
        (text,) = agent.call("references", path="shapes.py", symbol="use", line=1, **args)
        assert len(text) <= 6600
        seen += re.findall(r"^  (\d+) ", text, re.MULTILINE)
        more = re.search(r'for more pass cursor "(\d+)"', text)
        if not more:
            break
        cursor = more[1]
    assert seen == [str(number) for number in range(1, 1001)]
    with pytest.raises(RpcError, match="this cursor is of no answer"):
        agent.call("references", path="shapes.py", symbol="use", line=1, cursor="nonsense")


def test_many_references_are_reported_in_few_words(opened):
    files = {
        f"m{i:02}.py": f"from core import add\n\n\ndef use_{i}() -> int:\n    return add({i}, 1)\n" for i in range(39)
    }
    uses = """(function() local all = {} for i = 0, 38 do
      local uri = vim.uri_from_fname(("%s/m%02d.py"):format(vim.uv.cwd(), i))
      vim.list_extend(all, { place(uri, 0, 17, 20), place(uri, 4, 11, 14), place(uri, 4, 11, 15), place(uri, 4, 12, 14) })
    end return all end)()"""
    answers = {"textDocument/references": uses}
    _, agent = opened(server(answers, ["referencesProvider"]), ("m00.py",), files)
    (text,) = agent.call("references", path="m00.py", symbol="add", line=5)
    assert text.splitlines()[1:8] == [
        "(lines that say the same are quoted once)",
        "m00.py",
        "  1 from core import add",
        "  5 return add(0, 1)",
        "m01.py",
        "  1",
        "  5 return add(1, 1)",
    ]
    assert len(text) / 4 <= 370, "some 30 tokens more are the call"


def test_hits_in_what_is_private_or_outside_show_no_text(opened):
    answers = {
        "textDocument/references": "{ place(vim.uri_from_fname(vim.uv.cwd() .. '/.env'), 0, 0, 3), "
        "place('file:///etc/hostname', 0, 0, 3), place(params.textDocument.uri, 1, 8, 12) }"
    }
    files = {**FILES, ".env": "SECRET=1\n"}
    _, agent = opened(server(answers, ["referencesProvider"]), files=files)
    (text,) = agent.call("references", path="shapes.py", symbol="area", line=2)
    assert "SECRET" not in text
    assert ".env" not in text
    assert "(files that the user keeps private)" in text
    assert text.splitlines()[1:3] == ["/etc/hostname", "  1:1  "]


def test_a_hard_link_to_what_is_private_is_not_read(opened):
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"]), files={**FILES, "sub/.env": "SECRET=1\n"})
    (nvim.project / "plain.py").hardlink_to(nvim.project / "sub" / ".env")
    (nvim.project / "copy.py").hardlink_to(nvim.project / "main.py")
    with pytest.raises(ToolError, match=r"the user keeps plain\.py private"):
        agent.call("references", path="plain.py", symbol="SECRET")
    assert agent.call("references", path="copy.py", symbol="use", line=1)


def test_a_private_buffer_is_not_read(opened):
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"]))
    nvim.lua("vim.b.claude_private = true")
    with pytest.raises(ToolError, match=r"the user keeps shapes\.py private"):
        agent.call("references", path="shapes.py", symbol="area")
    assert agent.call("open_buffers") == ["The user has no file open."]


def test_columns_count_as_the_server_counts(opened):
    seen = {
        "textDocument/definition": "(function() position = params.position return place(params.textDocument.uri, 0, 8, 9) end)()"
    }
    nvim, agent = opened(server(seen, ["definitionProvider"]), files={"shapes.py": 's = "😀ü" + name\n'})
    (text,) = agent.call("definition", path="shapes.py", symbol="name", line=1)
    assert nvim.lua("return position") == {"line": 0, "character": 12}
    assert "  1:12  " in text


def test_hover_gives_type_and_documentation(opened):
    answers = {"textDocument/hover": "{ contents = { kind = 'markdown', value = '```python\\n(method) area\\n```' } }"}
    _, agent = opened(server(answers, ["hoverProvider"]))
    (text,) = agent.call("hover", path="shapes.py", symbol="Shape.area", line=2)
    assert text == "`area` in shapes.py:2:\n```python\n(method) area\n```"


QUOTES = """{ contents = "(variable) y: Literal['hunter2secret'] of a 'hunter2' or a 'known'" }"""


def test_hover_tells_nothing_that_is_defined_in_what_is_private(opened):
    answers = {
        "textDocument/hover": QUOTES,
        "textDocument/definition": "place(vim.uri_from_fname(vim.uv.cwd() .. (params.position.line == 0 and '/keys.secret.py' or '/main.py')), 0, 0, 3)",
    }
    nvim, agent = opened(
        server(answers, ["hoverProvider", "definitionProvider"]),
        args=("main.py",),
        files={"main.py": "KEY\ny = KEY\n", "keys.secret.py": "KEY = 'hunter2secret'\n", "mine.py": "'hunter2'\n"},
        opts={"selection": {"deny": ["*.secret.py"]}},
    )
    with pytest.raises(ToolError, match="the user keeps the file that defines `KEY` private"):
        agent.call("hover", path="main.py", symbol="KEY", line=1)
    (text,) = agent.call("hover", path="main.py", symbol="y", line=2)
    assert text.endswith("(variable) y: Literal['(withheld)'] of a 'hunter2' or a 'known'")
    nvim.cmd("edit mine.py | let b:claude_private = v:true | edit main.py")
    (text,) = agent.call("hover", path="main.py", symbol="y", line=2)
    assert text.endswith("of a '(withheld)' or a 'known'"), "a buffer that is private"


def test_diagnostics_quote_nothing_that_is_private(start_nvim, connect, connect_agent):
    nvim = start_nvim(
        args=["main.py"],
        files={"main.py": "x\n", ".env.py": "KEY = 'hunter2secret'\nLONG = '" + "a1" * 40 + "'\n"},
        opts={"selection": {"deny": [".env*"]}},
    )
    agent, client = connect_agent(nvim), connect(nvim)
    long = "a1" * 20 + "…"
    nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('x'), 0, { { lnum = 0, col = 0, message = ... } })",
        f"""Can't assign "Literal['hunter2secret', '{long}']" to 'int'""",
    )
    said = """Can't assign "Literal['(withheld)', '(withheld)']" to 'int'"""
    assert said in agent.call("diagnostics", path="main.py")[0]
    (text,) = client.call("getDiagnostics")
    assert said in json.loads(text)[0]["diagnostics"][0]["message"]


def test_symbols_of_the_project(opened):
    symbol = "{ name = '%s', kind = %d, location = place(vim.uri_from_fname(vim.uv.cwd() .. '/shapes.py'), %d, 4, 8) }"
    answers = {"workspace/symbol": "{ " + symbol % ("areas", 12, 5) + ", " + symbol % ("area", 6, 1) + " }"}
    nvim, agent = opened(server(answers, ["workspaceSymbolProvider"]))
    nvim.wait(lambda: "symbols" in agent.tools(), what="the server to run, which starts in its own time")
    (text,) = agent.call("symbols", query="area")
    assert text.splitlines() == [
        "2 symbols like `area` in 1 file:",
        "shapes.py",
        "  2:5  method area  def area(self):",
        "  6:5  function areas  def use(shape):",
    ]
    assert agent.call("symbols", query="area", kind="function")[0].startswith("1 symbol like")
    assert agent.call("symbols", query="area", path="main.py")[0] == "fakels knows no symbol like `area` here."


def test_outline_of_a_server_and_of_the_syntax_tree(opened):
    answers = {
        "textDocument/documentSymbol": "{ { name = 'Shape', kind = 5, range = { start = { line = 0, character = 0 }, ['end'] = { line = 2, character = 0 } }, "
        "selectionRange = at(0, 6), children = { { name = 'area', kind = 6, range = at(1, 4), selectionRange = at(1, 8) } } } }"
    }
    _, agent = opened(
        server(answers, ["documentSymbolProvider"]),
        files={**FILES, "a.lua": "local M = {}\nfunction M.one()\n  return 1\nend\nreturn M\n"},
    )
    (text,) = agent.call("outline", path="shapes.py")
    assert text.splitlines() == ["shapes.py, 7 lines (fakels):", "class Shape  1-3", "  method area  2"]
    (text,) = agent.call("outline", path="a.lua")
    assert text.splitlines() == ["a.lua, 5 lines (syntax tree):", "function M.one  2-4"]


HIERARCHY = {
    "textDocument/prepareCallHierarchy": "{ { name = 'area', kind = 6, uri = params.textDocument.uri, range = at(1, 8), selectionRange = at(1, 8) } }",
    "callHierarchy/incomingCalls": "{ { from = { name = 'use', kind = 12, uri = params.item.uri, range = at(5, 4), selectionRange = at(5, 4) }, fromRanges = { at(6, 17) } } }",
    "callHierarchy/outgoingCalls": "{}",
    "textDocument/prepareTypeHierarchy": "{ { name = 'Shape', kind = 5, uri = params.textDocument.uri, range = at(0, 6), selectionRange = at(0, 6) } }",
    "typeHierarchy/subtypes": "{ { name = 'Round', kind = 5, uri = params.item.uri, range = at(5, 4), selectionRange = at(5, 4) } }",
}


def test_hierarchies_of_calls_and_types(opened):
    _, agent = opened(server(HIERARCHY, ["callHierarchyProvider", "typeHierarchyProvider"]))
    (text,) = agent.call("call_hierarchy", path="shapes.py", symbol="area", line=2)
    assert text.splitlines() == ["1 incoming call of `area`:", "shapes.py", "  7:18  in use:  return shape.area()"]
    (text,) = agent.call("call_hierarchy", path="shapes.py", symbol="area", line=2, direction="outgoing")
    assert text == "fakels knows none of `area` at shapes.py:2."
    (text,) = agent.call("type_hierarchy", path="shapes.py", symbol="Shape")
    assert text.splitlines() == ["1 subtype of `Shape`:", "shapes.py", "  6:5  Round:  def use(shape):"]


def test_diagnostics_are_those_of_the_present_text(opened):
    nvim, agent = opened(LSP + 'fake.start("fakels", { delay = 50 })')
    (nvim.project / "shapes.py").write_text("x = ERROR\ny = WARN\n")  # like the CLI
    (text,) = agent.call("diagnostics", path="shapes.py")
    assert text.splitlines() == [
        "1 error, 1 warning in shapes.py:",
        "shapes.py",
        "  1:5  error: ERROR in line 1 [fakels E1]",
        "  2:5  warning: WARN in line 2 [fakels E2]",
    ]
    (text,) = agent.call("diagnostics", severity="error")
    assert text.splitlines()[0] == "1 error in the files that the editor knows:"
    (nvim.project / "shapes.py").write_text("x = 1\n")
    assert agent.call("diagnostics", path="shapes.py") == ["Nothing is wrong in shapes.py."]


def test_quickfix_and_location_list(opened):
    nvim, agent = opened("")
    assert agent.call("quickfix") == ["The quickfix list is empty."]
    nvim.lua("""
      vim.fn.setqflist({}, " ", { title = ":make", idx = 2, items = {
        { filename = "main.py", lnum = 3, col = 1, text = "it fails", type = "E" },
        { filename = "shapes.py", lnum = 1, text = "a note" },
      } })
    """)
    (text,) = agent.call("quickfix")
    assert text.splitlines() == [
        '2 entries in the quickfix list ":make"; the user is at number 2:',
        "main.py",
        "  3:1  error: it fails",
        "shapes.py",
        "  1:1  a note",
    ]
    assert agent.call("quickfix", list="location") == ["The location list is empty."]


def test_prompts_tell_of_the_editor_as_it_is(opened):
    opts = {"prompts": {"mine": "Look at #quickfix", "review_changes": "My own"}}
    nvim, agent = opened(LSP + 'fake.start("fakels", {})', files={"a.py": "x = ERROR\n"}, args=["a.py"], opts=opts)
    nvim.wait("#vim.diagnostic.get(0) == 1")
    prompts = agent.request("prompts/list")["prompts"]
    assert [prompt["name"] for prompt in prompts] == [
        "explain_selection",
        "fix_diagnostics",
        "mine",
        "review_changes",
        "tour",
    ]
    assert prompts[1]["arguments"][0]["name"] == "path" and prompts[3]["description"] == "My own"

    def texts(name, **arguments):
        answer = agent.request("prompts/get", {"name": name, "arguments": arguments})
        return [message["content"]["text"] for message in answer["messages"]]

    context, words = texts("fix_diagnostics", path="a.py")
    assert "error: ERROR in line 1" in context and words.startswith("Fix what")
    assert "error: ERROR in line 1" in texts("fix_diagnostics")[0]
    context, words = texts("explain_selection")
    assert "\n1\tx = ERROR\n" in context and "around line 1, where my cursor is" in words
    nvim.cmd("let @/ = '' | normal! Vy")
    assert "(nothing: the quickfix list is empty)" in texts("mine")[0]
    nvim.keys("onew line<Esc>")
    nvim.wait(lambda: nvim.lines() == ["x = ERROR", "new line"] and nvim.mode() == "n")
    nvim.lua("Ide.config.get().prompts.review_changes = nil")
    assert "\n+new line\n" in texts("review_changes")[0]
    with pytest.raises(RpcError, match="there is no prompt"):
        texts("nothing")


def test_resources_are_what_the_editor_has_without_what_is_withheld(opened):
    nvim, agent = opened(LSP + 'fake.start("fakels", {})', files={"a.py": "x = ERROR\n", ".env": "S\n"}, args=["a.py"])
    nvim.wait("#vim.diagnostic.get(0) == 1")

    def uris():
        return [resource["uri"] for resource in agent.request("resources/list")["resources"]]

    def read(uri):
        (content,) = agent.request("resources/read", {"uri": uri})["contents"]
        assert (content["uri"], content["mimeType"]) == (uri, "text/plain")
        return content["text"]

    parts = [f"nvim://{name}" for name in ("buffers", "selection", "diagnostics", "quickfix", "diff", "review")]
    nvim.wait(lambda: uris() == [*parts, "buffer://a.py", "diagnostics://a.py"], what="its diagnostics to be listed")
    nvim.keys("onew<Esc>")
    nvim.wait(lambda: nvim.lines() == ["x = ERROR", "new"] and nvim.mode() == "n")
    assert read("buffer://a.py") == "x = ERROR\nnew\n"
    assert "ERROR in line 1" in read("diagnostics://a.py") and "ERROR in line 1" in read("nvim://diagnostics")
    assert read("nvim://selection") == "Selection: (nothing: nothing was selected there)"
    assert read("nvim://review") == "Changes to review: (nothing: there is no change of Claude's to review)"
    assert read("nvim://diff").endswith("+new\n(git finds no commit here to compare with)")
    for uri in ("buffer://.env", "buffer:///etc/passwd", "nothing://a.py", "nvim://terminal", "nvim://nothing"):
        with pytest.raises(RpcError):
            agent.request("resources/read", {"uri": uri})
    nvim.cmd("edit b.py")
    agent.wait_notification("notifications/resources/list_changed")
    nvim.wait(lambda: "buffer://b.py" in uris(), what="the file to be listed")
    nvim.cmd("Claude selection off")
    nvim.wait(lambda: "nvim://selection" not in uris(), what="the selection to be withheld")
    with pytest.raises(RpcError, match="there is no resource"):
        read("nvim://selection")


def test_a_large_file_is_cut_and_says_so(opened):
    _, agent = opened("", files={"a.txt": "0123456789\n" * 20_000}, args=["a.txt"])
    (content,) = agent.request("resources/read", {"uri": "buffer://a.txt"})["contents"]
    text = content["text"]
    assert len(text) < 65 * 1024 and text.endswith("\n0123456789\n(cut here: it has 220000 bytes)")


def test_the_screen_and_the_buffer_list_stay_as_they_are(opened):
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"]), args=["main.py"])
    drawn = Diffs(nvim).drawn  # the terminal's copy comes later
    before = drawn(), nvim.lua("return vim.fn.getbufinfo({ buflisted = 1 })[2]")
    agent.call("references", path="shapes.py", symbol="area")
    assert (drawn(), nvim.lua("return vim.fn.getbufinfo({ buflisted = 1 })[2]")) == before
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1


def test_a_neovim_that_quits_in_the_middle_of_a_call_answers_it_or_closes(opened):
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"], delay='"deferred"', silent="true"))
    nvim.lua(
        "vim.api.nvim_create_autocmd('VimLeave', { callback = function() vim.fn.writefile({ fake.withdrawn }, 'withdrawn') end })"
    )
    call = agent.start_call("references", path="shapes.py", symbol="area")
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/references')", what="the server to be asked")
    nvim.keys(":qa!<CR>")
    # The harness itself says with an AssertionError that the connection closed.
    with pytest.raises((RpcError, ToolError, AssertionError), match="closing|exiting|closed|going away"):
        agent.call_result(call)


def test_a_call_that_waits_for_long_goes_on_telling(opened):
    """The CLI moves calls of over two minutes to the background; it gets progress."""
    nvim, agent = opened(server(REFERENCES, ["referencesProvider"], slow_start='"deferred"'), args=())
    nvim.cmd("edit shapes.py")
    # Moves the clock of Neovim's loop, so that minutes pass at once.
    nvim.lua("""
      local now, skipped = vim.uv.now, 0
      vim.uv.now = function() return now() + skipped end
      Ide.config.get().tools.server_wait_ms = 600 * 1000
      function _G.skip() skipped = skipped + 130 * 1000 end
    """)
    asked = {"path": "shapes.py", "symbol": "area"}
    call = agent.send("tools/call", {"name": "references", "arguments": asked, "_meta": {"progressToken": 1}})
    assert agent.wait_notification("notifications/progress")["message"] == "Waiting for the language server"
    nvim.lua("skip()")
    for _ in range(20):
        reported = agent.wait_notification("notifications/progress")["message"]
        if re.fullmatch(r"Waiting for the language server, 1[3-9]\d s", reported):
            break
    else:
        raise AssertionError(reported)
    nvim.lua("fake.release()")
    assert agent.call_result(call)[0].startswith("2 references of `area`:")


@pytest.mark.slow
def test_no_answer_is_longer_than_the_cli_takes(opened):
    """For the model, an answer of over 25,000 tokens is an error; ours stay near 2,000, whatever a server returns."""
    long_word = '("x"):rep(300 * 1000)'
    answers = {
        "textDocument/hover": f"{{ contents = {long_word} }}",
        "textDocument/references": many(20_000),
        "textDocument/documentSymbol": "vim.tbl_map(function(row) return { name = ('n'):rep(200) .. row, kind = 12, "
        "range = at(0, 0), selectionRange = at(0, 0) } end, vim.fn.range(1, 5000))",
        "textDocument/codeAction": f"vim.tbl_map(function() return {{ title = {long_word} }} end, vim.fn.range(1, 50))",
    }
    capabilities = ["hoverProvider", "referencesProvider", "documentSymbolProvider", "codeActionProvider"]
    _, agent = opened(server(answers, capabilities))
    area = {"path": "shapes.py", "symbol": "area"}
    said = {
        "hover": agent.call("hover", **area),
        "references": agent.call("references", **area),
        "outline": agent.call("outline", path="shapes.py"),
        "code_actions": agent.call("code_actions", path="shapes.py"),
    }
    assert {tool: len(text) <= 8000 for tool, (text,) in said.items()} == dict.fromkeys(said, True)
