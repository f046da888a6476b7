-- The server's lifecycle in this Neovim: start, stop, events, and connected clients.
-- Events arrive through library/wake.lua, one by one on the main loop.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local address = lazy("claude-ide.base.address")
local at_exit = lazy("claude-ide.base.at_exit")
local bus = lazy("claude-ide.base.bus")
local ide_config = lazy("claude-ide.config")
local ide_event = lazy("claude-ide.config.event")
local ide_workspace = lazy("claude-ide.server.workspace")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local path = lazy("claude-ide.base.path")
local process = lazy("claude-ide.base.process")
local wake = lazy("claude-ide.library.wake")

local M = {}

---A server that ends unexpectedly is restarted, unless it did so within this time.
local RESTART_GAP_NS = 60 * 1000 * 1000 * 1000

---In the lock file, beside the name for the user, and sent to clients.
local SERVER_NAME = "claude-ide.nvim"

---How long the server waits for dismissed clients. They are notified within milliseconds.
local DISMISS_MS = 1000

---@class claude-ide.server.Info
---@field host string
---@field port integer
---@field lock_files string[]

---@type claude-ide.server.Info?
local running
---@type table<integer, claude-ide.Client>
local clients = {}
---Clients of the other endpoints, but for mods. Notifications for Claude Code are not sent to them.
---@type table<integer, claude-ide.Client>
local agents = {}
---@type integer?
local last_client
---@type integer? when the server last ended unexpectedly
local ended_at
---@type table<integer, true> dismissed clients
local sent_away = {}
---@class claude-ide.server.Lost
---@field client claude-ide.Client
---@field sent_away boolean
---@field tries boolean it still tries to connect again

---A CLI tries five times, for 13 seconds if the port refuses (2.1.329). While no server runs ours accepts: then each time is 30 seconds.
local RECONNECTS_S = 15

---CLIs that are no longer connected, by process; and since when, in seconds since the epoch.
---@type table<integer, { client: claude-ide.Client, sent_away: boolean, at: integer }>
local lost = {}
---When the server was started, likewise.
local started_at = 0
---Runs while dismissed clients disconnect.
local dismissing = timers.new("stop the server")
---@param event { type: string, client: claude-ide.Client, reason?: string }
local function on_agent_event(event)
  local client = event.client
  if event.type == "client_disconnected" then
    agents[client.id] = nil
    log.info("agent %d (%s) disconnected: %s", client.id, client.name or "unnamed", event.reason or "?")
    bus.emit("agent_disconnected", client, event.reason)
    return
  end
  agents[client.id] = client
  if event.type == "client_ready" then
    log.info("agent %d (%s %s) is ready", client.id, client.name or "unnamed", client.version or "")
    bus.emit("agent_ready", client)
  elseif event.type == "client_changed" then
    bus.emit("agent_changed", client)
  end
end

---Keeps those whose process still runs.
local function prune_lost()
  for pid in pairs(lost) do
    lost[pid] = process.runs(pid) and lost[pid] or nil
  end
end

---@param client claude-ide.Client
---@param is_lost boolean
local function note_lost(client, is_lost)
  if client.pid and not client.mapped then
    lost[client.pid] = is_lost
        and { client = client, sent_away = sent_away[client.id] ~= nil, at = os.time() }
      or nil
    prune_lost()
  end
end

local warn_unsupported = require("claude-ide.base.once")(function()
  notice.warn("Claude Code says that this version of claude-ide.nvim is too old for it. Update the plugin.")
end)

---@param event { type: string, client: claude-ide.Client, reason?: string }
local function on_client_event(event)
  if event.client.endpoint == "mod" then
    if event.type == "client_connected" then
      bus.emit("mod_connected", event.client)
    elseif event.type == "client_disconnected" then
      bus.emit("mod_disconnected", event.client)
    end
    return
  elseif event.client.endpoint ~= "ide" then
    on_agent_event(event)
    return
  end
  local client = event.client
  note_lost(client, event.type == "client_disconnected")
  if event.type == "client_disconnected" then
    clients[client.id] = nil
    if last_client == client.id then
      last_client = nil
    end
    log.info(
      "client %d (%s) disconnected: %s",
      client.id,
      client.name or "unnamed",
      event.reason or "no reason given"
    )
  else
    clients[client.id] = client
  end
  if client.unsupported then
    warn_unsupported()
  end
  bus.emit(event.type --[[@as claude-ide.bus.Topic]], client, event.reason)
  if event.type == "client_ready" then
    log.info("client %d (%s %s) is ready", client.id, client.name or "unnamed", client.version or "")
    ide_event.emit("ClaudeConnected", { client = client })
  elseif event.type == "client_disconnected" and client.state == "ready" then
    ide_event.emit("ClaudeDisconnected", { client = client, reason = event.reason })
  end
  if dismissing:is_active() and not next(clients) then
    M.stop()
  end
end

---The server's thread has ended. If it should run, logs that and restarts it, but not repeatedly.
local function on_end()
  if not running then
    return
  end
  log.error("the server ended by itself")
  M.stop()
  local now = vim.uv.hrtime()
  if ended_at and now - ended_at < RESTART_GAP_NS then
    notice.error(
      "The server ended twice in a short time. `:Claude log` tells more, `:Claude restart` tries again."
    )
    return
  end
  ended_at = now
  M.start()
end

require("claude-ide.library.wake").on({
  "client_connected",
  "client_ready",
  "client_changed",
  "client_disconnected",
}, on_client_event)
require("claude-ide.library.wake").on({ "ended" }, on_end)

---Folders where CLIs look for lock files.
---@return string[]
function M.lock_dirs()
  local configured = ide_config.get().server.lock_dir
  if configured then
    return { path.normalize(vim.fs.normalize(configured)) }
  end
  local config_dir = vim.env.CLAUDE_CONFIG_DIR
  if config_dir and config_dir ~= "" then
    return { path.normalize(config_dir) .. "/ide" }
  end
  local home = vim.uv.os_homedir() or "/"
  local dirs = { home .. "/.claude/ide" }
  -- Used by some versions of the CLI, if it exists.
  local xdg = vim.env.XDG_CONFIG_HOME
  local other = ((xdg and xdg:sub(1, 1) == "/") and xdg or home .. "/.config") .. "/claude"
  if vim.uv.fs_stat(other) then
    dirs[#dirs + 1] = other .. "/ide"
  end
  return dirs
end

---@return string[] names
local function hidden_tools(config)
  return vim.list_extend(config.diff.enabled and {} or { "openDiff" }, config.tools.hidden)
end

---@return [string, string][] a folder, and its path for clients
local function path_map()
  local list = {} ---@type [string, string][]
  for here, there in pairs(ide_config.get().workspace.path_map) do
    list[#list + 1] = { path.normalize(vim.fs.normalize(here)), there }
  end
  return list
end

---@param workspace claude-ide.workspace.Announcement
---@return string json options of native.start
local function start_options(workspace)
  local config = ide_config.get()
  local server = config.server
  return vim.json.encode({
    host = server.host,
    port = server.port,
    portRange = server.port_range,
    lockDirs = M.lock_dirs(),
    handoverDir = vim.fn.stdpath("state") .. "/claude-ide/handover",
    workspace = workspace,
    serverName = SERVER_NAME,
    version = native.VERSION,
    handshakeTimeoutMs = server.handshake_timeout_ms,
    maxConnections = server.max_connections,
    maxMessageBytes = server.max_message_bytes,
    keepalive = {
      intervalMs = server.keepalive.interval_ms,
      timeoutMs = server.keepalive.timeout_ms,
      mcpPing = server.keepalive.mcp_ping,
    },
    hiddenTools = hidden_tools(config),
    servesAgents = config.tools.enabled,
    agentsIde = config.agents_ide,
    pathMap = path_map(),
    offers = config.tools.offers,
    writeFile = server.write_file,
    log = { path = log.path(), level = config.log.level },
  })
end

---Starts the server, unless it is running.
---@return claude-ide.server.Info? info
---@return string? err for the user
function M.start()
  dismissing:stop()
  if running then
    return running
  end
  if native.is_loaded() and native.status() then
    -- Started by an earlier instance of this module (`:Lazy reload`), whose handle it would wake.
    native.stop()
  end
  local workspace = ide_workspace.announcement()
  local info, err = native.start(start_options(workspace), wake.handle())
  if not info then
    log.error("the server did not start: %s", err)
    return nil, err
  end
  running, sent_away, started_at = info, {}, os.time()
  log.info("listening on %s port %d", info.host, info.port)
  at_exit("the server", function()
    M.stop(true)
  end)
  ide_workspace.attach(workspace)
  bus.emit("server_starting", info)
  bus.emit("server_started", info)
  return info
end

---Stops the server: notifies clients and removes the lock file.
---@param is_exiting? boolean Neovim exits
function M.stop(is_exiting)
  dismissing:stop()
  if not running then
    return
  end
  bus.emit("server_stopping")
  running = nil
  ide_workspace.detach()
  local _, err = native.stop(is_exiting)
  if err then
    log.warn("stopping the server: %s", err)
  end
  wake.drain()
  clients, agents, last_client = {}, {}, nil
  log.info("stopped")
  bus.emit("server_stopped")
end

---Restarts with the same port and token: connected CLIs reconnect.
---@return claude-ide.server.Info? info
---@return string? err
function M.restart()
  M.stop()
  return M.start()
end

---Disconnects all clients, then stops: CLIs stay disconnected until asked to connect. Pending requests are left to their prompts in the
---terminal. A plain stop would make them reconnect.
function M.dismiss()
  local sent = vim.tbl_filter(function(client)
    return M.disconnect(client.id) == true
  end, M.clients())
  if #sent == 0 then
    return M.stop()
  end
  dismissing:start(DISMISS_MS, M.stop)
end

---@return boolean
function M.is_running()
  return running ~= nil
end

---The server's address, while it runs.
---@return claude-ide.server.Info?
function M.info()
  return running
end

---@param those table<integer, claude-ide.Client>
---@return claude-ide.Client[]
local function in_order(those)
  local list = vim.tbl_values(those)
  table.sort(list, function(left, right)
    return left.id < right.id
  end)
  return list
end

---Connected clients in order of connection. Those that accept notifications are in state "ready".
---@return claude-ide.Client[]
function M.clients()
  return in_order(clients)
end

---@param id integer
---@return claude-ide.Client?
function M.client(id)
  return clients[id]
end

---A client of another endpoint than `ide`.
---@param id integer
---@return claude-ide.Client?
function M.agent(id)
  return agents[id]
end

---Connected agents in order of connection.
---@return claude-ide.Client[]
function M.agents()
  return in_order(agents)
end

---Connected CLIs that speak the IDE companion specification.
---@return claude-ide.Client[]
function M.companions()
  return vim.tbl_filter(function(agent)
    return agent.endpoint == "companion"
  end, M.agents())
end

---Records the last caller of a tool.
---@param id integer
function M.note_caller(id)
  if clients[id] then
    last_client = id
  end
end

---The client that last called a tool, if connected.
---@return claude-ide.Client?
function M.last_client()
  return last_client and clients[last_client]
end

---Disconnects a client. A CLI does not reconnect by itself then; `/ide` in it does.
---@param client_id integer
---@return boolean? ok
---@return string? err
function M.disconnect(client_id)
  if not running then
    return nil, "the server does not run"
  end
  local ok, err = native.disconnect(client_id)
  sent_away[client_id] = ok and true or nil
  return ok, err
end

---@param endpoint "nvim"|"mod"
---@param run? string
---@return { url: string, token: string }?
local function access(endpoint, run)
  if not running then
    return nil
  end
  local token, err
  if run then
    token, err = native.begin_run(run, endpoint)
  else
    token, err = native.agents_token()
  end
  if err then
    log.error("no token for an agent: %s", err)
  end
  return token and { url = ("%s/%s"):format(address.of(running), endpoint), token = token } or nil
end

---URL and token of the `nvim` endpoint; nil: the server is not running, or has none.
---@param run? string name of a program about to start, which gets its own token
---@return { url: string, token: string }?
function M.agent_access(run)
  return access("nvim", run)
end

---URL and token for our mod in a CLI; nil: the server is not running.
---@param run string name of the CLI, which is about to start
---@return { url: string, token: string }?
function M.mod_access(run)
  return access("mod", run)
end

---Whether we disconnected this client, which still runs.
---@param client_id integer
---@return boolean
function M.was_sent_away(client_id)
  return sent_away[client_id] ~= nil
end

---CLIs that run without the connection that they had.
---@return claude-ide.server.Lost[]
function M.lost()
  prune_lost()
  local list = {}
  for _, one in pairs(lost) do
    local seconds = os.time() - math.max(one.at, started_at)
    list[#list + 1] = {
      client = one.client,
      sent_away = one.sent_away,
      tries = not running or seconds <= RECONNECTS_S,
    }
  end
  table.sort(list, function(left, right)
    return left.client.id < right.client.id
  end)
  return list
end

---Sends a notification to one client or to all. No effect while the server is stopped.
---@param method string
---@param params table
---@param client_id? integer
---@return boolean? sent
---@return string? err
function M.notify(method, params, client_id)
  if not running then
    return nil, "the server does not run"
  end
  local ok, json = pcall(vim.json.encode, params)
  if not ok then
    log.error("%s cannot be sent: %s", method, json)
    return nil, tostring(json)
  end
  return native.notify(method, json, client_id)
end

return M
