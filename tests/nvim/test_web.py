"""`:Claude serve`: sessions on a page, as a foreign client sees them (the `websockets` package and plain HTTP)."""

import json
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from harness import LONGEST
from harness.site import Site

pytestmark = pytest.mark.dealt

OPTS = {"web": {"port": 0}}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def serve(start_nvim):
    def serve(**opts):
        nvim = start_nvim(opts={**OPTS, **opts})
        nvim.cmd("Claude serve")
        nvim.wait("Ide.web.info() ~= nil", what="the site")
        return nvim, Site(nvim)

    return serve


def test_nothing_is_served_unless_it_is_asked_for(nvim):
    nvim.cmd("ClaudeConnect")
    nvim.wait("Ide.server.is_running()")
    assert nvim.lua("return package.loaded[Ide('web')] == nil")
    assert nvim.lua("return (Ide.native.web_info())") is None


def test_is_served_with_the_server_where_the_options_say_so(start_nvim):
    nvim = start_nvim(opts={"web": {"enabled": True, "port": 0}})
    nvim.cmd("ClaudeConnect")
    nvim.wait("(Ide.native.web_info()) ~= nil", what="the site")
    assert Site(nvim).get("/api/claude/sessions")["sessions"] == []


def test_a_foreign_client_lists_reads_and_follows(serve, sessions, project):
    id = sessions.write(project, ("Explain the build", "It is cargo."), title="The build")
    nvim, site = serve()
    (listed,) = site.get("/api/claude/sessions")["sessions"]
    assert (listed["id"], listed["title"], listed["cwd"]) == (id, "The build", str(project))
    assert site.get(f"/api/claude/sessions/{id}")["title"] == "The build"
    with site.read(id) as reader:
        reader.until({"type": "caught_up"})
        texts = [frame["message"]["content"] for frame in reader.frames if frame["type"] in ("user", "assistant")]
        assert texts == ["Explain the build", [{"type": "text", "text": "It is cargo."}]]
        sessions.append(project, id, {"type": "user", "uuid": "new", "message": {"content": "And the tests?"}})
        reader.until({"uuid": "new"})
    page = site.get(f"/api/claude/sessions/{id}/messages?limit=1")
    assert [line["uuid"] for line in page["messages"]] == ["new"] and page["hasMore"]


def test_the_address_lets_one_browser_in_once_and_is_shown_with_a_picture(start_nvim):
    nvim = start_nvim(opts=OPTS)
    nvim.cmd("Claude serve url")
    nvim.wait_screen("Web page")
    lines = nvim.lines()
    (url,) = [line.strip() for line in lines if "http://" in line]
    match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#code=([\w-]{22})", url)
    assert match, url
    assert sum("█" in line for line in lines) > 15, "the picture"
    body = json.dumps({"code": match[2]}).encode()

    def log_in():
        return urllib.request.urlopen(f"http://127.0.0.1:{match[1]}/api/login", data=body, timeout=LONGEST)

    key = json.load(log_in())["key"]
    assert Site(nvim).get("/api/claude/sessions", headers={"X-Claude-Ide-Key": key})["sessions"] == []
    with pytest.raises(urllib.error.HTTPError, match="401"):
        log_in()
    log = nvim.lua("return Ide.log.path()")
    with open(log) as file:
        text = file.read()
    assert match[2] not in text and Site(nvim).info["token"] not in text
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1")


def test_a_small_screen_shows_the_address_alone(start_nvim):
    nvim = start_nvim(opts=OPTS)
    nvim.cmd("set lines=20 columns=80")
    nvim.cmd("Claude serve url")
    nvim.wait_screen("#code=")
    assert not any("█" in line for line in nvim.lines())


@pytest.mark.parametrize("size", [(24, 80), (20, 60), (40, 140)])
def test_the_address_is_shown_with_its_keys_which_are_listed_too(start_nvim, size):
    nvim = start_nvim(opts=OPTS)
    nvim.terminal.resize(*size)
    nvim.wait(lambda: nvim.lua("return { vim.o.lines, vim.o.columns }") == list(size), what="the size")
    nvim.keys(":Claude serve url<CR>")
    nvim.wait_screen(re.compile("claude-ide-web-remote.*q closes", re.DOTALL))
    nvim.keys("g?")
    nvim.wait_screen(re.compile("Keys of the web page's address.*q +close.*y +copy the address", re.DOTALL))
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 2", what="the list to be closed")
    nvim.wait_screen("q closes")
    nvim.keys("<C-w>w")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the address that was left to be closed")


CLIPBOARD = """
vim.cmd([[
  function! Copies(lines, kind) abort
    if exists("g:broken") | throw "no display" | endif
    let g:copied = a:lines[0]
  endfunction
  let way = {"+": function("Copies"), "*": function("Copies")}
  let g:clipboard = {"name": "stand-in", "copy": way, "paste": way}
]])
"""


def test_the_address_is_copied_to_the_clipboard_else_to_the_register(start_nvim):
    nvim = start_nvim(opts=OPTS, init_lua=CLIPBOARD, notices=True)
    nvim.lua("vim.fn.setreg([[\"]], 'kept')")
    nvim.cmd("Claude serve url")
    nvim.wait_screen("#code=")
    nvim.keys("y")
    nvim.wait_notice("The address is in the clipboard.")
    assert nvim.lua("return { vim.g.copied:match('^http.*#code=') ~= nil, vim.fn.getreg() }") == [True, "kept"]
    nvim.lua("vim.g.broken = true")
    nvim.keys("y")
    nvim.wait_notice('The address is in register ".')
    assert nvim.lua("return vim.fn.getreg() == vim.g.copied") is True


def test_stopping_ends_the_sockets_and_frees_the_port(serve, sessions, project):
    id = sessions.write(project, ("one", "two"))
    nvim, site = serve()
    with site.read(id) as reader:
        reader.until({"type": "caught_up"})
        nvim.cmd("Claude serve stop")
        with pytest.raises(Exception, match="1001|going away"):
            reader.until({"type": "none"})
    with pytest.raises(urllib.error.URLError):
        site.get("/api/claude/sessions")
    assert nvim.lua("return (Ide.native.web_info())") is None


def test_a_taken_port_gives_the_next_one_and_says_so(serve, start_nvim):
    _, site = serve()
    taken = site.info["port"]
    other = start_nvim(opts={"web": {"port": taken}}, notices=True)
    other.cmd("Claude serve start")
    other.wait("#notices > 0")
    port = Site(other).info["port"]
    assert port != taken
    assert f"Port {taken} is taken: the web page is on {port}." in other.notices()


def test_another_host_than_the_loopback_is_served_only_where_it_is_asked_for_and_warned_of(start_nvim):
    nvim = start_nvim(opts={"web": {"port": 0, "host": "0.0.0.0"}}, notices=True)
    nvim.cmd("Claude serve start")
    nvim.wait("#notices > 0")
    assert "The web page listens on 0.0.0.0: other machines can reach it." in nvim.notices()
    assert nvim.lua("return Ide.web.info().host") == "0.0.0.0"
    nvim.cmd("Claude serve url")
    nvim.wait_screen("http://127.0.0.1:")


def test_another_word_is_an_error(nvim):
    nvim.cmd("Claude serve everything")
    nvim.wait_screen("expected start, stop or url")


def test_leaving_neovim_is_quick_while_somebody_reads(serve, sessions, project):
    id = sessions.write(project, ("one", "two"))
    nvim, site = serve()
    with site.read(id) as reader:
        reader.until({"type": "caught_up"})
        nvim.keys(":qa!<CR>")
        with pytest.raises(Exception, match="1001|going away"):
            reader.until({"type": "none"})


@pytest.mark.slow
def test_the_client_of_the_seed_reads_one_tree_and_knows_who_works(serve, sessions, project):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    id = sessions.write(project, ("List it", [call], {"t1": "total 48"}), ("And?", "Done."))
    path = sessions.path(project, id)
    # The CLI writes such lines between messages, as their parents.
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    last = [line for line in lines if line.get("uuid")][-1]["uuid"]
    hidden = {"type": "attachment", "uuid": "hidden", "parentUuid": last, "secret": "s3cr3t"}
    more = {"type": "user", "uuid": "more", "parentUuid": "hidden", "timestamp": "2026-01-19T04:45:15.012Z"}
    more["message"] = {"role": "user", "content": "More?"}
    path.write_text("\n".join(json.dumps(line) for line in [*lines, hidden, more]) + "\n")
    _, site = serve()
    modules = ROOT / ".deps" / "node" / "package.json"
    address = f"ws://{site.at}/api/claude/sessions/{id}/subscribe"
    client = subprocess.Popen(
        ["node", Path(__file__).with_name("seed_client.mjs"), address, site.info["token"], modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with client:
        known = json.loads(client.stdout.readline())
        assert [message["content"] for message in known["messages"]] == ["List it", "", "", "And?", "Done.", "More?"]
        assert (known["roots"], known["depth"], known["isWorking"]) == (1, known["lines"], True)
        client.stdin.close()
        client.wait(timeout=LONGEST)
