"""The agents' endpoint: its own access, the tools listed there, and how a CLI gets it."""

import json

import pytest
from fake_lsp import LSP

from harness.asker import ask, ask_below, only_where_known
from harness.client import Client, ToolError
from harness.fake_cli import FakeCli

pytestmark = pytest.mark.dealt

DEFINES = """
fake.start("definer", {
  capabilities = { definitionProvider = true },
  answers = { ["textDocument/definition"] = function(params)
    return { uri = params.textDocument.uri, range = { start = { line = 0, character = 4 }, ["end"] = { line = 0, character = 5 } } }
  end },
})
"""
PYTHON = {"a.py": "def f():\n    pass\n\nf()\n", "b.py": "x = 1\n"}


def test_a_token_of_its_own_opens_it(nvim, connect, connect_agent):
    agent = connect_agent(nvim)
    assert agent.initialized["instructions"].startswith("This is the editor")
    assert set(agent.initialized["capabilities"]) == {"tools", "prompts", "resources"}
    assert "open_buffers" in agent.tools()
    assert "openDiff" not in agent.tools()
    port = nvim.lua("return Ide.server.info().port")
    token = nvim.lua("return Ide.server.agent_access().token")
    lock = nvim.locks()[0]
    assert token != lock["authToken"]
    for headers in ({"Authorization": f"Bearer {lock['authToken']}"}, {"Authorization": token}, {}):
        client = Client(port, None, path="/nvim", headers=headers)
        assert client.wait_closed()[0] == 1008
    ide = connect(nvim)
    assert "open_buffers" not in ide.tools()


def test_an_agent_is_no_client_that_is_shown_or_told_things(nvim, connect_agent):
    agent = connect_agent(nvim)
    nvim.lua('Ide.server.notify("at_mentioned", { filePath = "/a" })')
    assert nvim.lua("return #Ide.server.clients()") == 0
    agent.request("ping")
    assert agent.notifications == []


def wait_listed(agent, tool, is_listed):
    """Waits until the agent is told that its tools have changed, to a list with this one or without it."""
    while (tool in agent.tools()) is not is_listed:
        agent.wait_notification("notifications/tools/list_changed")


def test_a_tool_is_listed_while_a_server_that_serves_it_runs(start_nvim, connect_agent):
    nvim = start_nvim(args=["a.py"], files=PYTHON, init_lua=LSP + "vim.g.start = function()" + DEFINES + " end")
    agent = connect_agent(nvim)
    assert "definition" not in agent.tools()
    nvim.lua(DEFINES + 'vim.cmd("setfiletype python | doautocmd FileType python")')
    agent.wait_notification("notifications/tools/list_changed")
    wait_listed(agent, "definition", is_listed=True)
    assert agent.tools()["definition"]["_meta"]["anthropic/alwaysLoad"] is True
    assert agent.tools()["definition"]["annotations"]["readOnlyHint"] is True
    nvim.lua("for _, client in ipairs(vim.lsp.get_clients()) do vim.lsp.stop_client(client.id, true) end")
    wait_listed(agent, "definition", is_listed=False)


def test_hidden_tools_are_not_there(start_nvim, connect_agent):
    nvim = start_nvim(opts={"tools": {"hidden": ["open_buffers"]}})
    agent = connect_agent(nvim)
    assert "open_buffers" not in agent.tools()
    with pytest.raises(Exception, match="there is no tool"):
        agent.call("open_buffers")


def test_switched_off_there_is_no_door(start_nvim, tmp_path):
    cli = FakeCli(tmp_path)
    nvim = start_nvim(opts={"tools": {"enabled": False}}, env=cli.environment())
    nvim.cmd("Claude")
    nvim.wait_screen("fake CLI ready")
    assert cli.starts()[0]["tools"] is None
    assert nvim.lua("return Ide.server.agent_access()") is None
    port = nvim.lua("return Ide.server.info().port")
    with pytest.raises(Exception, match="404"):
        Client(port, None, path="/nvim", headers={})


def test_a_cli_is_handed_the_tools_and_a_token_of_its_own_in_a_file(start_nvim, connect_agent, tmp_path):
    cli = FakeCli(tmp_path)
    nvim = start_nvim(env=cli.environment())
    nvim.cmd("Claude --mcp-config mine.json")
    nvim.wait_screen("fake CLI ready")
    (started,) = cli.starts()
    assert started["argv"] == ["--mcp-config", "mine.json"]
    server = json.loads(started["tools"])["mcpServers"]["nvim"]
    port = nvim.lua("return Ide.server.info().port")
    assert server["url"] == f"ws://127.0.0.1:{port}/nvim"
    token = server["headers"]["Authorization"].removeprefix("Bearer ")
    assert token != nvim.lua("return Ide.server.agent_access().token")
    assert token not in json.dumps(started["argv"]) + json.dumps(started["env"])
    agent = connect_agent(nvim, token=token)
    assert agent.request("ping") == {}
    assert nvim.lua("return Ide.server.agents()[1].run") == "terminal:1"
    assert set(agent.initialized["capabilities"]) == {"tools"}, "it has resources and prompts at its other connection"


PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


@only_where_known
def test_a_token_is_of_use_to_the_process_that_it_was_made_for_alone(nvim, connect):
    connect(nvim)
    run, other = (nvim.lua("return Ide.server.agent_access(...)", name) for name in ("one", "two"))
    general = nvim.lua("return Ide.server.agent_access().token")
    url, own = run["url"], run["token"]
    answers = ask(url, PING, f"{own} {own}", f"{own} {general}", other["token"])
    assert answers == ["200", "200", "403", "403", "403"], "what an agent starts has no rights"
    assert ask(url, PING, own) == ["403"], "nor has a process of another tree"
    assert ask(url, PING, general) == ["200"], "which may use the token that the user hands out"


@only_where_known
def test_an_agent_below_neovim_may_use_the_token_in_each_of_its_processes(nvim, connect):
    connect(nvim)
    run = nvim.lua("return Ide.server.agent_access(...)", "chat")
    url, token = run["url"], run["token"]
    for _ in range(2):
        assert ask_below(nvim, url, PING, token) == ["200"]
    assert ask_below(nvim, url, PING, token, token) == ["200", "403"]


@only_where_known
def test_what_an_agent_starts_has_no_use_for_another_agents_token(nvim, connect):
    connect(nvim)
    one, two = (nvim.lua("return Ide.server.agent_access(...)", name) for name in ("one", "two"))
    assert ask_below(nvim, one["url"], PING, one["token"], two["token"]) == ["200", "403"]
    assert ask_below(nvim, two["url"], PING, two["token"], one["token"]) == ["200", "403"], "whoever was first"


@only_where_known
def test_what_an_agent_starts_is_known_by_an_ipv6_socket_too(nvim, connect):
    connect(nvim)
    run = nvim.lua("return Ide.server.agent_access(...)", "one")
    general = nvim.lua("return Ide.server.agent_access().token")
    url = run["url"].replace("127.0.0.1", "[::ffff:127.0.0.1]")
    assert ask(url, PING, run["token"], general) == ["200", "403"]


@only_where_known
def test_a_process_that_hides_has_no_use_for_any_token_while_an_agent_runs(nvim, connect):
    connect(nvim)
    run = nvim.lua("return Ide.server.agent_access(...)", "one")
    general = nvim.lua("return Ide.server.agent_access().token")
    assert ask(run["url"], PING, f"hide {general}") == ["200"], "none runs yet"
    assert ask(run["url"], PING, run["token"], f"hide {general}") == ["200", "403"]


def test_the_address_is_one_to_connect_to(start_nvim, tmp_path):
    cli = FakeCli(tmp_path)
    nvim = start_nvim(env=cli.environment(), opts={"server": {"host": "::1"}})
    nvim.cmd("Claude")
    nvim.wait_screen("fake CLI ready")
    port = nvim.lua("return Ide.server.info().port")
    server = json.loads(cli.starts()[0]["tools"])["mcpServers"]["nvim"]
    assert server["url"] == f"ws://[::1]:{port}/nvim"


def test_open_buffers_tells_what_the_user_has_open(start_nvim, connect_agent):
    nvim = start_nvim(args=["a.py", "b.py"], files=PYTHON)
    agent = connect_agent(nvim)
    nvim.keys("Gonew<Esc>")
    nvim.wait(lambda: nvim.lines()[-1] == "new" and nvim.mode() == "n")
    (text,) = agent.call("open_buffers")
    assert text.splitlines() == [
        "2 files open:",
        "a.py  (the user is here, in line 5; unsaved changes; 5 lines; python)",
        "b.py  (not read yet)",
    ]


def test_definition_finds_the_place_in_text_that_is_not_saved(start_nvim, connect_agent):
    nvim = start_nvim(args=["a.py"], files=PYTHON, init_lua=LSP + DEFINES)
    agent = connect_agent(nvim)
    nvim.keys("ggO# one more<Esc>")
    nvim.wait(lambda: nvim.lines()[0] == "# one more" and nvim.mode() == "n")
    (text,) = agent.call("definition", path="a.py", symbol="f", line=5)
    assert text.splitlines() == ["1 definition of `f`:", "a.py (with unsaved changes)", "  1:5  # one more"]


def test_a_file_that_is_not_open_is_loaded_unseen(start_nvim, connect_agent):
    nvim = start_nvim(files=PYTHON, init_lua=LSP + DEFINES)
    agent = connect_agent(nvim)
    (text,) = agent.call("definition", path="a.py", symbol="f", line=3)
    assert "(`f` is not in line 3; taken from line 4, the nearest.)" in text
    assert "  1:5  def f():" in text
    assert (
        nvim.lua("return vim.tbl_filter(function(b) return vim.bo[b].buflisted end, vim.api.nvim_list_bufs())[2]")
        is None
    )


REFUSED = [
    ("../outside.py", "x", "outside of the workspace"),
    ("/etc/passwd", "root", "outside of the workspace"),
    (".env", "SECRET", "the user keeps .env private"),
    ("none.py", "x", "none.py cannot be opened: no such file"),
    ("a.py", "nowhere", "`nowhere` is not in a.py"),
]


def test_what_cannot_be_asked_is_said_in_a_sentence(start_nvim, connect_agent):
    files = {**PYTHON, ".env": "SECRET=1\n"}
    nvim = start_nvim(args=["a.py"], files=files, init_lua=LSP + DEFINES)
    (nvim.project.parent / "outside.py").write_text("x = 1\n")
    agent = connect_agent(nvim)
    for path, symbol, said in REFUSED:
        with pytest.raises(ToolError, match=said):
            agent.call("definition", path=path, symbol=symbol)
