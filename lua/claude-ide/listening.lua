-- When a connected CLI really takes notifications. It throws away, without a word, what comes before its prompt listens:
-- with 2.1.329 up to 50 ms after its handshake (measured; nothing on the wire tells when), so a pause is kept.
local M = {}

---Six times the longest that was measured, for slower machines.
local PAUSE_MS = 300

---@type table<integer, true> by client id
local listening = {}

---@type fun(client: claude-ide.Client)[]
local subscribers = {}

local attached = false

---@param client claude-ide.Client as it was when the pause began
local function pause_is_over(client)
  local server = require("claude-ide.server")
  local now = server.client(client.id)
  if not now then
    return
  end
  listening[client.id] = true
  for _, subscriber in ipairs(subscribers) do
    subscriber(now)
  end
end

local function attach()
  attached = true
  local server = require("claude-ide.server")
  local function begin_pause(client)
    vim.defer_fn(function()
      pause_is_over(client)
    end, PAUSE_MS)
  end
  server.on("client_ready", begin_pause)
  server.on("client_disconnected", function(client)
    listening[client.id] = nil
  end)
  server.on("stopped", function()
    listening = {}
  end)
  for _, client in ipairs(server.clients()) do
    if client.state == "ready" then
      listening[client.id] = true
    end
  end
end

---Calls a function with each client once it listens.
---@param fn fun(client: claude-ide.Client)
function M.on_listening(fn)
  if not attached then
    attach()
  end
  subscribers[#subscribers + 1] = fn
end

---@param client claude-ide.Client
---@return boolean
function M.is_listening(client)
  return listening[client.id] == true
end

return M
