"""A recording stand-in for the module `server`, for tests of the messages to clients and their timing.

It has the functions that selection and mentions use. The test adds and removes clients.
"""

from . import PATIENCE
from .nvim import Nvim

_LUA = """
local M = { sent = {}, list = {}, running = true, last = nil, refuse = {} }

local publish = Ide.bus.emit

function M.is_running() return M.running end
function M.start() if not M.running then M.running = true publish("server_started", {}) end return {} end
function M.stop() M.running = false M.list = {} publish("server_stopped") end
function M.clients() return vim.deepcopy(M.list) end
function M.companions() return {} end
function M.last_client() return M.last and M.client(M.last) or nil end

function M.client(id)
  for _, client in ipairs(M.list) do
    if client.id == id then return vim.deepcopy(client) end
  end
end

function M.notify(method, params, client_id)
  if not M.running then return nil, "the server does not run" end
  if client_id and (M.refuse[client_id] or not M.client(client_id)) then return nil, "gone" end
  local json = vim.json.encode(params)
  table.insert(M.sent, { method = method, json = json, client = client_id, at = vim.uv.hrtime() / 1e6 })
  return true
end

function M.connect(id, roots, state)
  local client = { id = id, roots = roots or {}, state = "connected", name = "claude-code" }
  table.insert(M.list, client)
  publish("client_connected", vim.deepcopy(client))
  if state ~= "connected" then M.ready(id) end
end

function M.ready(id)
  for _, client in ipairs(M.list) do
    if client.id == id then
      client.state = "ready"
      publish("client_ready", vim.deepcopy(client))
    end
  end
end

function M.disconnect(id)
  for index, client in ipairs(M.list) do
    if client.id == id then
      table.remove(M.list, index)
      publish("client_disconnected", vim.deepcopy(client), "closed")
    end
  end
end

package.loaded[Ide("server")] = M
for _, name in ipairs({ ... }) do
  Ide[name].attach()
end
"""


class FakeServer:
    """The fake server in a Neovim, with the modules attached to it."""

    def __init__(self, nvim: Nvim, *modules: str) -> None:
        self.nvim = nvim
        nvim.lua(_LUA, *modules)

    def _call(self, function: str, *args: object) -> None:
        self.nvim.lua(f"Ide.server.{function}(...)", *args)

    def connect(self, id: int = 1, roots: list[str] | None = None, state: str = "ready") -> None:
        self._call("connect", id, [str(root) for root in roots or []], state)

    def ready(self, id: int) -> None:
        self._call("ready", id)

    def disconnect(self, id: int = 1) -> None:
        self._call("disconnect", id)

    def used_last(self, id: int) -> None:
        """Makes a client the most recent caller of a tool."""
        self.nvim.lua("Ide.server.last = ...", id)

    def refuse(self, id: int, refuses: bool = True) -> None:
        """Makes the notifications to a client fail, as after it disconnected."""
        self.nvim.lua("local id, refuses = ... Ide.server.refuse[id] = refuses or nil", id, refuses)

    def sent(self, method: str) -> list[dict[str, object]]:
        """The params of every notification of a method that went to all clients, in order."""
        return [message["params"] for message in self.messages(method) if "client" not in message]

    def messages(self, method: str) -> list[dict[str, object]]:
        """Every notification of a method, in order: `params`, `client` (when to one), `at` in milliseconds."""
        return self.nvim.lua(
            """
            local found = {}
            for _, message in ipairs(Ide.server.sent) do
              if message.method == ... then
                table.insert(found, {
                  params = vim.json.decode(message.json),
                  client = message.client,
                  at = message.at,
                })
              end
            end
            return found
            """,
            method,
        )

    def wait_sent(self, method: str, match, timeout: float = PATIENCE) -> dict[str, object]:
        """Waits until the latest notification of a method matches, and returns its params."""

        def check():
            sent = self.sent(method)
            return sent[-1] if sent and match(sent[-1]) else None

        return self.nvim.wait(check, timeout, what=f"{method} as expected; sent {self.sent(method)[-3:]}")
