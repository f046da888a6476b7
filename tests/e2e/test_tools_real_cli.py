"""The real CLI in Neovim's terminal calls the tools of the editor, with a real language server."""

import itertools
import json
import sys

import every_tool
import pytest
from e2e_servers import PYRIGHT, RUFF

from harness import PATIENCE
from harness.cli import QUESTION, call, submitting, typing
from harness.scripted_model import Reply

pytestmark = [pytest.mark.cli, pytest.mark.dealt]

FILES = {
    "shapes.py": "class Shape:\n    def area(self) -> float:\n        return 0.0\n",
    "main.py": "from shapes import Shape\n\n\ndef total(shapes: list[Shape]) -> float:\n    return sum(s.area() for s in shapes)\n",
    "notes.txt": "Shape\n",
}

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG of one pixel."""

SILENT = """
asked, withdrawn = 0, 0
vim.api.nvim_create_autocmd("FileType", {
  pattern = "text",
  callback = function(event)
    local server = {}
    function server.request(method, _, callback)
      local is_start = method == "initialize"
      asked = asked + (is_start and 0 or 1)
      if is_start then vim.schedule(function() callback(nil, { capabilities = { definitionProvider = true } }) end) end
      return true, asked + 1
    end
    function server.notify(method) withdrawn = withdrawn + (method == "$/cancelRequest" and 1 or 0) return true end
    function server.is_closing() return false end
    function server.terminate() end
    vim.lsp.start({ name = "silent", cmd = function() return server end, root_dir = vim.uv.cwd() }, { bufnr = event.buf })
  end,
})
"""
"""A language server that answers nothing."""

PROMPTS = itertools.count(1)


def ask(nvim, api, text):
    """Types a prompt into the terminal and waits until the model has it."""
    buf = nvim.lua("return Ide.terminal.bufnr()")
    channel = nvim.lua("return vim.bo[...].channel", buf)
    nvim.wait_screen("❯")

    def write(keys):
        nvim.lua("vim.api.nvim_chan_send(...)", channel, keys)

    nvim.wait(typing(text, lambda: "\n".join(nvim.lines(buf)), write), what="the prompt to be shown")
    enter = submitting(api, lambda: write("\r"))
    nvim.terminal.wait(enter, PATIENCE, "the CLI to ask the model")


def tool_results(api):
    """The tools' answers in the conversation, in order."""
    results = []
    for message in api.conversation():
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block.get("type") == "tool_result":
                content = block["content"]
                results.append(
                    content if isinstance(content, str) else "".join(item.get("text", "") for item in content)
                )
    return results


def one_by_one(claude, api, steps, end):
    """The model calls these tools, each after the answer of the one before. One long prompt would take the CLI longer."""
    calls = [Reply(calls=[(f"mcp__nvim__{tool}", arguments)]) for tool, arguments, _ in steps]
    api.script(*calls, Reply(end))
    claude.prompt(f"go on {next(PROMPTS)}")  # all different: the screen still shows earlier ones
    claude.wait_screen(f"● {end}")


def test_the_model_finds_the_tools_of_the_editor_and_the_user_its_prompts(start_with_claude, mock_api):
    command = ["claude", "--permission-mode", "default", "--allowedTools", "mcp__nvim"]
    terminal = {"command": command, "size": 100}
    nvim = start_with_claude(terminal, args=["main.py"], files=FILES, init_lua=PYRIGHT + SILENT)
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) > 0", what="the language server to start")
    nvim.cmd("Claude")
    nvim.wait("#Ide.server.agents() == 1", what="the CLI to connect to the endpoint of agents")
    the_model_finds_and_calls_the_tools_of_the_editor(nvim, mock_api)
    nvim.wait_screen("● all done")
    a_prompt_of_the_editor_is_a_command_of_the_cli(nvim, mock_api)
    nvim.wait_screen("● Hello from the mock.")
    escape_in_the_cli_ends_the_request_of_the_language_server(nvim, mock_api)


STEAL = """
import base64, http.client, json, os, pathlib, sys
found = [value for value in os.environ.values() if len(value) == 86 and "/" not in value]
pid = os.getpid()
while pid > 1:
    words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\\0")
    for word in words:
        if word.startswith("--mcp-config=/"):
            server = json.loads(pathlib.Path(word[13:]).read_text())["mcpServers"]["nvim"]
    pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
host, _, path = server["url"].removeprefix("ws://").partition("/")
lock = json.loads(pathlib.Path(sys.argv[1]).read_text())["authToken"]
answers = []
for path, headers in [("/nvim", server["headers"]), ("/", {"X-Claude-Code-Ide-Authorization": lock})]:
    connection = http.client.HTTPConnection(host, timeout=60)
    key = base64.b64encode(b"0123456789abcdef").decode()
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    more = {"Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": "mcp"}
    connection.request("GET", path, None, {**upgrade, **more, **headers})
    answers.append(connection.getresponse().status)
pathlib.Path("stolen.tmp").write_text(json.dumps([found, answers]))
os.rename("stolen.tmp", "stolen.json")
"""
"""A command of the model that searches for the tokens: in its environment, and wherever its user may read."""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells which process connects")
def test_what_the_cli_runs_cannot_use_the_tools_in_its_name(start_with_claude, mock_api):
    terminal = {"command": ["claude", "--permission-mode", "default", "--allowedTools", "Bash"], "size": 100}
    nvim = start_with_claude(terminal, files={"steal.py": STEAL})
    nvim.cmd("Claude")
    nvim.wait("#Ide.server.agents() == 1", what="the CLI to connect to the endpoint of agents")
    nvim.wait("#Ide.server.clients() == 1", what="the CLI to connect")
    lock = nvim.lua("return Ide.server.info().lock_files[1]")
    ask(nvim, mock_api, call("Bash", command=f"{sys.executable} steal.py {lock}", description="Look"))
    nvim.wait(lambda: (nvim.project / "stolen.json").exists(), what="the command to have run")
    assert json.loads((nvim.project / "stolen.json").read_text()) == [[], [403, 403]]
    # The CLI's own connections come back.
    nvim.lua("Ide.server.restart()")
    nvim.wait("#Ide.server.agents() == 1", what="the CLI to connect again")
    nvim.wait("#Ide.server.clients() == 1", what="the CLI to connect again")


def the_model_finds_and_calls_the_tools_of_the_editor(nvim, mock_api):
    ask(
        nvim,
        mock_api,
        f"{call('mcp__nvim__open_buffers')} THEN "
        f"{call('mcp__nvim__definition', path='main.py', symbol='area', line=5)} THEN SAY all done",
    )
    nvim.wait(lambda: len(tool_results(mock_api)) >= 2, what="both tools to have answered")
    buffers, definition = tool_results(mock_api)[:2]
    assert buffers.startswith("1 file open:\nmain.py")
    assert definition.splitlines() == ["1 definition of `area`:", "shapes.py", "  2:9  def area(self) -> float:"]
    body = [body for body in mock_api.requests if body.get("tools")][-1]
    names = [tool["name"] for tool in body["tools"]]
    assert "mcp__nvim__definition" in names, "it is there without a search"
    assert "mcp__nvim__open_buffers" not in names, "it is found when it is searched for"
    assert "Prefer its tools to text search" in json.dumps(body), "the model is told what they are good for"


def a_prompt_of_the_editor_is_a_command_of_the_cli(nvim, mock_api):
    channel = nvim.lua("return vim.bo[Ide.terminal.bufnr()].channel")
    nvim.wait_screen("❯")
    nvim.lua("vim.api.nvim_chan_send(...)", channel, "/explain_sel")
    nvim.wait_screen("Explain the selection, or the code around")  # the menu: the CLI has loaded it by now
    nvim.lua("vim.api.nvim_chan_send(...)", channel, "\x15")
    ask(nvim, mock_api, "/mcp__ide__explain_selection")
    nvim.wait(
        lambda: mock_api.seen("Explain the code around line 1, where my cursor is"),
        what="the prompt to reach the model",
    )


def escape_in_the_cli_ends_the_request_of_the_language_server(nvim, mock_api):
    nvim.lua("vim.fn.bufload(vim.fn.bufadd('notes.txt'))")
    ask(nvim, mock_api, call("mcp__nvim__definition", path="notes.txt", symbol="Shape", line=1))
    nvim.wait("asked == 1", what="the server to be asked")
    nvim.lua('vim.api.nvim_chan_send(vim.bo[Ide.terminal.bufnr()].channel, "\\27")')
    nvim.wait("withdrawn == 1", what="the request to be withdrawn")


def test_the_cli_runs_code_and_calls_each_tool_that_changes_no_file(start_nvim, cli, mock_api):
    reads = every_tool.READS
    nvim = every_tool.start(start_nvim)
    argv = nvim.lua('return Ide.agent_tools.of("test")')
    claude = cli(nvim, args=("--ide", *argv, "--allowedTools", "mcp__nvim"))
    the_model_runs_code_once_the_user_allows_it(nvim, claude, mock_api)
    known = len(tool_results(mock_api))
    one_by_one(claude, mock_api, reads, "all is read")
    for (tool, _, says), text in zip(reads, tool_results(mock_api)[known:], strict=True):
        assert says in text, (tool, text)


def the_model_runs_code_once_the_user_allows_it(nvim, claude, mock_api):
    """executeCode: besides getDiagnostics, the only tool of the IDE endpoint that the model gets."""
    tool = "mcp__ide__executeCode"
    picture = f"import base64; from IPython.display import *; display(Image(base64.b64decode('{DOT}'), width=x))"
    compute = "x = 6; print('it is', x * 7)"
    claude.prompt(f"{call(tool, code=compute)} THEN {call(tool, code=picture)}")
    claude.wait_screen(QUESTION)
    assert nvim.lua("return #Ide.notebook.list()") == 0, "nothing runs before the answer"
    claude.answer("2")  # and the second without a question
    claude.wait_screen("● Done.", 4 * PATIENCE)
    assert mock_api.seen("it is 42")
    assert mock_api.seen("iVBORw0KGgo"), "a PNG"
    assert mock_api.seen("image/png")
    [kernel] = nvim.lua("return vim.tbl_map(function(k) return k.state end, Ide.notebook.list())")
    assert kernel == "idle"


def test_in_a_mode_that_accepts_edits_the_cli_writes_without_a_review_and_it_is_undone(start_nvim, cli, mock_api):
    core = "def add(a: int, b: int) -> int:\n    return a + b\n\n\ndef unused() -> None:\n    pass\n"
    files = {
        "core.py": core,
        "m.py": "from core import add\n\nx = add(1, 2)\n",
        "untidy.py": "import sys\nimport re\nimport os\nx = [ os.name,re.escape('.') ]\n",
    }
    nvim = start_nvim(args=["core.py"], files=files, init_lua=PYRIGHT + RUFF)
    nvim.lua('require("claude-ide").connect()')
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0, method = 'textDocument/rename' }) == 1", what="it to rename")
    argv = nvim.lua('return Ide.agent_tools.of("test")')
    claude = cli(nvim, args=("--ide", *argv, "--allowedTools", "mcp__nvim"), mode="acceptEdits")
    steps = [
        (
            "rename",
            {"symbol": "add", "line": 1, "new_name": "plus"},
            "Rename add to plus: applied, 3 changes in 2 files.",
        ),
        (
            "replace_symbol_body",
            {"symbol": "plus", "body": "def plus(a: int, b: int) -> int:\n    return b + a\n"},
            "applied",
        ),
        ("insert_before_symbol", {"symbol": "plus", "text": "ONE = 1"}, "applied"),
        ("insert_after_symbol", {"symbol": "plus", "text": "TWO = 2"}, "applied"),
        ("safe_delete", {"symbol": "unused"}, "applied"),
        (
            "code_actions",
            {"path": "untidy.py", "line": 1, "kind": "quickfix"},
            "  1: Ruff (F401): Remove unused import",
        ),
        ("apply_action", {"path": None, "id": "1"}, "applied, 1 change in 1 file."),
        ("organize_imports", {"path": "untidy.py"}, "Organize the imports of untidy.py: applied, "),
        ("format", {"path": "untidy.py"}, "Format untidy.py: applied, "),
    ]
    steps = [
        (tool, {name: value for name, value in {"path": "core.py", **arguments}.items() if value}, says)
        for tool, arguments, says in steps
    ]
    for first in range(0, len(steps), 3):
        turn = steps[first : first + 3]
        one_by_one(claude, mock_api, turn, f"turn {first} is over")
        for (tool, _, says), text in zip(turn, tool_results(mock_api)[-len(turn) :], strict=True):
            assert says in text, (tool, text)
    assert nvim.lua("return #Ide.proposal.pending()") == 0
    assert (nvim.project / "m.py").read_text() == files["m.py"].replace("add", "plus")
    text = (nvim.project / "core.py").read_text()
    assert text.startswith("ONE = 1\ndef plus(a: int, b: int) -> int:\n    return b + a\nTWO = 2\n")
    assert "unused" not in text
    tidy = 'import os\nimport re\n\nx = [os.name, re.escape(".")]\n'
    assert (nvim.project / "untidy.py").read_text() == tidy
    for _ in steps:
        nvim.undo_turn()
        if {name: (nvim.project / name).read_text() for name in files} == files:
            break
    assert {name: (nvim.project / name).read_text() for name in files} == files
