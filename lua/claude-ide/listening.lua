-- When a connected CLI really takes notifications. It throws away, without a word, what comes before its prompt listens:
-- with 2.1.329 up to 50 ms after its handshake (measured; nothing on the wire tells when), so a pause is kept.
local M = {}

---Six times the longest that was measured on a machine with nothing else to do.
local PAUSE_MS = 300

---A machine that is slow now shows it in the handshake, which took 27 ms there: so many times that is as long.
local TIMES_THE_HANDSHAKE = 12

---No longer than this, whatever the handshake took.
local MAX_PAUSE_MS = 3000

---@type table<integer, true> by client id
local listening = {}

---@type table<integer, integer> when each client connected, in milliseconds
local connected = {}

---@param client claude-ide.Client as it was when the pause began
local function pause_is_over(client)
  local server = require("claude-ide.server")
  local now = server.client(client.id)
  if not now then
    return
  end
  listening[client.id] = true
  require("claude-ide.bus").emit("client_listening", now)
end

---Follows clients from now on, to tell of each once it listens. Harmless when done before.
M.attach = require("claude-ide.once")(function()
  local server = require("claude-ide.server")
  require("claude-ide.bus").on("client_connected", function(client)
    connected[client.id] = vim.uv.now()
  end)
  require("claude-ide.bus").on("client_ready", function(client)
    local handshake = vim.uv.now() - (connected[client.id] or vim.uv.now())
    vim.defer_fn(function()
      pause_is_over(client)
    end, math.min(math.max(PAUSE_MS, TIMES_THE_HANDSHAKE * handshake), MAX_PAUSE_MS))
  end)
  require("claude-ide.bus").on("client_disconnected", function(client)
    listening[client.id], connected[client.id] = nil, nil
  end)
  require("claude-ide.bus").on("server_stopped", function()
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
