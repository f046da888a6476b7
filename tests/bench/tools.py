"""What the agents' tools add to the time of a language server, and whether they block Neovim."""

import contextlib
import statistics
import time
from pathlib import Path

from harness.client import Client, ToolError

from . import editor

SERVER = """
-- A language server inside Neovim whose answers are made beforehand: what stops Neovim meanwhile is not it.
local function uri(name) return vim.uri_from_fname(vim.uv.cwd() .. "/" .. name) end
local function range(line, from, last, to)
  return { start = { line = line, character = from }, ["end"] = { line = last or line, character = to or from + 3 } }
end
local here, references, renames, tidy = uri("f0.py"), {}, {}, {}
for row = 0, 999 do references[#references + 1] = { uri = uri("f" .. row % 40 .. ".py"), range = range(math.floor(row / 40), 0) } end
for file = 0, 39 do
  local edits = {}
  for row = 0, 29 do edits[#edits + 1] = { range = range(row, 0), newText = "apply" } end
  renames[uri("f" .. file .. ".py")] = edits
end
-- A formatter that says the whole text anew, and one that says each place.
local lines = vim.fn.readfile("big.py")
local whole = table.concat(vim.tbl_map(function(line) return (line:gsub(",", ", ")) end, lines), "\\n") .. "\\n"
for row, line in ipairs(lines) do
  local at = line:find(",")
  if at then tidy[#tidy + 1] = { range = range(row - 1, at, row - 1, at), newText = " " } end
end
local actions = {}
for number = 1, 50 do
  actions[number] = { title = "Fix " .. number, kind = "quickfix", edit = { changes = { [here] = { { range = range(number % 30, 0), newText = "run" } } } } }
end
bench_formats = "places"
local answers = {
  initialize = function()
    return { capabilities = {
      definitionProvider = true, hoverProvider = true, referencesProvider = true, renameProvider = true,
      documentFormattingProvider = true, codeActionProvider = true,
    } }
  end,
  ["textDocument/definition"] = function() return { uri = here, range = range(0, 0) } end,
  ["textDocument/hover"] = function() return { contents = { kind = "markdown", value = "(function) use" } } end,
  ["textDocument/references"] = function() return references end,
  ["textDocument/rename"] = function() return { changes = renames } end,
  ["textDocument/codeAction"] = function() return actions end,
  ["textDocument/formatting"] = function()
    return bench_formats == "places" and tidy or { { range = range(0, 0, #lines, 0), newText = whole } }
  end,
}
bench_attach = function(buf)
  vim.lsp.start({
    name = "bench",
    root_dir = vim.uv.cwd(),
    cmd = function()
      return {
        request = function(method, params, callback)
          local answer = answers[method]
          vim.schedule(function() callback(nil, answer and answer(params) or vim.NIL) end)
          return true, 1
        end,
        notify = function() return true end,
        is_closing = function() return false end,
        terminate = function() end,
      }
    end,
  }, { bufnr = buf })
end
bench_attach(0)
"""

DIRECT = """
local method, count = ...
bench_times = {}
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 0, character = 0 } }
local function once()
  local began = vim.uv.hrtime()
  Ide.lsp.request(client, method, params, function()
    bench_times[#bench_times + 1] = (vim.uv.hrtime() - began) / 1e6
    if #bench_times < count then vim.schedule(once) end
  end, 0)
end
once()
"""

ROUNDS = 200
USES = "use(1)\n" * 30
BIG = "".join(f"call_{number}(alpha,beta)  # a line like those of a real program\n" for number in range(20_000))
FILES = {**{f"f{number}.py": USES for number in range(40)}, "big.py": BIG}
SEEN = "(Ide.proposal.list()[1] or {}).seen"


@contextlib.contextmanager
def agent(directory: Path, version: str):
    """A Neovim with a language server that costs nothing, and an agent."""
    with editor.Editor(directory, version, files=FILES) as nvim:
        nvim.edit("f0.py")
        nvim.lua(SERVER)
        nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1", 20)
        token = nvim.lua("return Ide.server.agent_access().token")
        client = Client(int(nvim.port), None, path="/nvim", headers={"Authorization": f"Bearer {token}"})
        try:
            client.initialize()
            yield nvim, client
        finally:
            client.close()


def through_the_endpoint(directory: Path, version: str) -> dict[str, float]:
    """Milliseconds that definition, hover and 1,000 references take beyond the server, and Neovim's longest freeze."""
    with agent(directory, version) as (nvim, client):
        asked = {"path": nvim.path("f0.py"), "symbol": "use", "line": 1}
        figures = {}
        for tool, method in [("definition", "textDocument/definition"), ("hover", "textDocument/hover")]:
            nvim.lua(DIRECT, method, ROUNDS)
            nvim.wait(f"#bench_times >= {ROUNDS}", 60)
            direct = statistics.median(nvim.lua("return bench_times"))
            figures[tool] = statistics.median(_timed(client, tool, asked) for _ in range(ROUNDS)) - direct
        _timed(client, "references", asked)
        nvim.start_heartbeat()
        figures["references"] = min(_timed(client, "references", asked) for _ in range(5))
        figures["longest"] = nvim.longest_freeze_ms()
        return figures


def stops_of_writes(directory: Path, version: str) -> dict[str, float]:
    """Milliseconds for which tools that change files block Neovim while they compute, show and write a change."""
    figures = {}
    with agent(directory, version) as (nvim, client):
        nvim.start_heartbeat()

        def longest(name: str) -> None:
            nvim.settle()
            figures[name] = nvim.longest_freeze_ms()
            nvim.lua("bench_longest = 0")

        longest("nothing at all")
        rename = {"path": nvim.path("f0.py"), "symbol": "use", "line": 1, "new_name": "apply"}
        call = client.start_call("rename", **rename)
        nvim.wait(SEEN, 60)
        longest("rename over 40 files, until it is seen")
        nvim.lua("Ide.proposal.accept()")
        client.call_result(call)
        longest("rename over 40 files, written and judged")
        nvim.lua("return Ide.journal ~= nil")
        client.call("code_actions", path=nvim.path("f0.py"))
        longest("code_actions")
        nvim.edit("big.py")
        nvim.lua("bench_attach(0)")
        for form in ("places", "whole"):
            nvim.lua("bench_formats = ...", form)
            nvim.settle()
            nvim.lua("bench_longest = 0")
            call = client.start_call("format", path=nvim.path("big.py"))
            nvim.wait(SEEN, 60)
            longest(f"format of 20,000 lines ({form}), until it is seen")
            nvim.lua("Ide.proposal.reject()")
            with contextlib.suppress(ToolError):
                client.call_result(call)
    return figures


def _timed(client: Client, tool: str, arguments: dict[str, object]) -> float:
    began = time.perf_counter()
    client.call(tool, **arguments)
    return (time.perf_counter() - began) * 1000
