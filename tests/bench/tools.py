"""What the tools of agents add to the time that a language server takes, and whether they hold Neovim up."""

import statistics
import time
from pathlib import Path

from harness.client import Client

from . import editor

SERVER = """
local function place(uri, line) return { uri = uri, range = { start = { line = line, character = 0 }, ["end"] = { line = line, character = 3 } } } end
local answers = {
  initialize = function()
    return { capabilities = { definitionProvider = true, hoverProvider = true, referencesProvider = true } }
  end,
  ["textDocument/definition"] = function(params) return place(params.textDocument.uri, 0) end,
  ["textDocument/hover"] = function() return { contents = { kind = "markdown", value = "(function) use" } } end,
  ["textDocument/references"] = function(params)
    local found = {}
    for row = 0, 999 do found[#found + 1] = place(vim.uri_from_fname(vim.fs.dirname(vim.uri_to_fname(params.textDocument.uri)) .. "/f" .. row % 40 .. ".py"), math.floor(row / 40)) end
    return found
  end,
}
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
}, { bufnr = 0 })
"""

DIRECT = """
local method, count = ...
bench_times = {}
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 0, character = 0 } }
local function once()
  local began = vim.uv.hrtime()
  require("claude-ide.lsp").request(client, method, params, function()
    bench_times[#bench_times + 1] = (vim.uv.hrtime() - began) / 1e6
    if #bench_times < count then vim.schedule(once) end
  end, 0)
end
once()
"""

ROUNDS = 200


def through_the_endpoint(directory: Path, version: str) -> dict[str, float]:
    """Milliseconds: what definition, hover and 1,000 references take beyond the server, and the longest stop of Neovim."""
    files = {f"f{number}.py": "use(1)\n" * 30 for number in range(40)}
    with editor.Editor(directory, version, files=files) as nvim:
        nvim.edit("f0.py")
        nvim.lua(SERVER)
        nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1", 20)
        token = nvim.lua('return require("claude-ide.server").agent_access().token')
        client = Client(int(nvim.port), None, path="/nvim", headers={"Authorization": f"Bearer {token}"})
        try:
            client.initialize()
            asked = {"path": nvim.path("f0.py"), "symbol": "use", "line": 1}
            figures = {}
            for tool, method in [("definition", "textDocument/definition"), ("hover", "textDocument/hover")]:
                nvim.lua(DIRECT, method, ROUNDS)
                nvim.wait(f"#bench_times >= {ROUNDS}", 60)
                direct = statistics.median(nvim.lua("return bench_times"))
                figures[tool] = statistics.median(_timed(client, tool, asked) for _ in range(ROUNDS)) - direct
            _timed(client, "references", asked)
            nvim.lua(editor.HEARTBEAT)
            figures["references"] = min(_timed(client, "references", asked) for _ in range(5))
            figures["longest"] = nvim.lua("return bench_longest") / 1e6
            return figures
        finally:
            client.close()


def _timed(client: Client, tool: str, arguments: dict[str, object]) -> float:
    began = time.perf_counter()
    client.call(tool, **arguments)
    return (time.perf_counter() - began) * 1000
