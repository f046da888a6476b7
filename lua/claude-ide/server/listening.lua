-- Delays notifications until a connected CLI handles them. It silently drops those sent before its prompt is ready: with 2.1.329 up to
-- 50 ms after its handshake (measured; the protocol has no signal for it).
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local server = lazy("claude-ide.server")
local timer = lazy("claude-ide.base.timer")

local M = {}

---Six times the maximum measured on an idle machine.
local PAUSE_MS = 300

---A slow machine also has a slow handshake, 27 ms on the idle one: this multiple of it equals the pause.
local TIMES_THE_HANDSHAKE = 12

---Maximum pause.
local MAX_PAUSE_MS = 3000

---@type table<integer, true> by client id
local listening = {}

---@type table<integer, integer> connection time of each client, in milliseconds
local connected = {}

---@param client claude-ide.Client as of the start of the pause
local function pause_is_over(client)
  local now = server.client(client.id)
  if not now then
    return
  end
  listening[client.id] = true
  bus.emit("client_listening", now)
end

---Emits "client_listening" for each client once it handles notifications. Idempotent.
M.attach = require("claude-ide.base.once")(function()
  bus.on("client_connected", function(client)
    connected[client.id] = vim.uv.now()
  end)
  bus.on("client_ready", function(client)
    local handshake = vim.uv.now() - (connected[client.id] or vim.uv.now())
    local pause = math.min(math.max(PAUSE_MS, TIMES_THE_HANDSHAKE * handshake), MAX_PAUSE_MS)
    timer.new("send to a new client"):start(pause, function()
      pause_is_over(client)
    end)
  end)
  bus.on("client_disconnected", function(client)
    listening[client.id], connected[client.id] = nil, nil
  end)
  bus.on("server_stopped", function()
    listening, connected = {}, {}
  end)
  for _, client in ipairs(server.clients()) do
    if client.state == "ready" then
      listening[client.id] = true
    end
  end
end)

---@param client claude-ide.Client
---@return boolean
function M.is_listening(client)
  return listening[client.id] == true
end

return M
