-- Requests to the library about sessions, and its responses: one callback per request, in order, on the main loop.
-- Works without the server. Invariant: a cancelled request gets no callback; every other one is answered.
local lazy = require("claude-ide.lazy")
local at_exit = lazy("claude-ide.base.at_exit")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local live = lazy("claude-ide.sessions.live")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local path = lazy("claude-ide.base.path")
local server = lazy("claude-ide.server")
local wake = lazy("claude-ide.library.wake")

local M = {}

---@class claude-ide.sessions.Listener
---@field reply fun(result: any, err: string?)
---@field hits? fun(hits: claude-ide.sessions.Hit[])
---@field change? fun(delta: claude-ide.sessions.Delta, info: claude-ide.sessions.Info)

---@type table<integer, claude-ide.sessions.Listener>
local listeners = {}
---Folders that the library was told to watch, one a line.
---@type string?
local watched
---Connected CLIs whose folders it was asked to watch, too.
---@type table<integer, true> by process
local asked = {}

---Claude's configuration folder in this Neovim's environment.
---@return string
function M.config_dir()
  local configured = vim.env.CLAUDE_CONFIG_DIR
  if configured and configured ~= "" then
    return path.normalize(configured)
  end
  return path.normalize((vim.uv.os_homedir() or "/") .. "/.claude")
end

---Those whose sessions are read: this Neovim's, that of the CLIs that it starts, and the user's others.
---@return string[]
function M.config_dirs()
  local options, dirs = config.get(), { M.config_dir() }
  local others = { options.terminal.env.CLAUDE_CONFIG_DIR }
  for _, other in ipairs(vim.list_extend(others, vim.tbl_map(vim.fs.normalize, options.sessions.config_dirs))) do
    local dir = path.normalize(other)
    if not vim.list_contains(dirs, dir) then
      dirs[#dirs + 1] = dir
    end
  end
  return dirs
end

---Copies of sessions that stay when the CLI deletes its own.
---@return string
function M.kept_dir()
  return vim.fn.stdpath("state") .. "/claude-ide/kept"
end

---Has the folder of a connected CLI read, too: it may be another account's.
---@param client claude-ide.Client
local function take_client(client)
  local pid = client.pid
  if watched and pid and not client.mapped and not asked[pid] then
    asked[pid] = true
    M.request({ process = { pid = pid } }, { reply = function() end })
  end
end

local take_clients = require("claude-ide.base.once")(function()
  bus.on("client_ready", take_client)
  bus.on("client_changed", take_client)
  bus.on("client_disconnected", function(client)
    asked[client.pid or 0] = nil
  end)
end)

local function fail_all(err)
  local before = listeners
  listeners = {}
  for _, listener in pairs(before) do
    listener.reply(nil, err)
  end
end

---Starts watching running sessions, once; restarts if the configuration folders have changed.
---@return boolean started
---@return string? err
function M.start()
  local dirs = M.config_dirs()
  local wanted = table.concat(dirs, "\n")
  if watched == wanted then
    return true
  end
  local options = {
    configDirs = dirs,
    keptDir = M.kept_dir(),
    cacheFile = vim.fn.stdpath("cache") .. "/claude-ide/sessions.json",
    log = { path = log.path(), level = config.get().log.level },
  }
  fail_all("Claude's configuration folder is another one now")
  live.reset()
  local started, err = native.sessions_start(vim.json.encode(options), wake.handle())
  if not started then
    log.warn("sessions are not watched: %s", err)
    return false, err
  end
  watched, asked = wanted, {}
  at_exit("sessions", function()
    listeners, watched = {}, nil
    native.sessions_stop()
  end)
  take_clients()
  vim.iter(server.clients()):each(take_client)
  return true
end

local function cancel(number)
  if listeners[number] then
    listeners[number] = nil
    native.session_cancel(number)
  end
end

---Sends a request. A failure to send is reported as its response.
---@param request table one field, named after the request: see `crates/session/src/service/request.rs`
---@param listener claude-ide.sessions.Listener
---@return fun() cancel
---@return integer? number id in the library
function M.request(request, listener)
  local started, err = M.start()
  local number
  if started then
    local ok, json = pcall(vim.json.encode, request)
    if ok then
      number, err = native.session_request(json)
    else
      err = tostring(json)
    end
  end
  if number then
    listeners[number] = listener
    return function()
      cancel(number)
    end, number
  end
  local cancelled = false
  vim.schedule(function()
    if not cancelled then
      listener.reply(nil, err)
    end
  end)
  return function()
    cancelled = true
  end
end

---@param event { type: string, id: integer, result: any, err: string?, hits: table[]?, delta: table?, info: table?, change: table? }
local function receive(event)
  if event.type == "session_live" then
    live.take(event.change --[[@as claude-ide.sessions.LiveChange]])
    return
  end
  local listener = listeners[event.id]
  if not listener then
    return
  end
  if event.type == "session_hits" and listener.hits then
    listener.hits(event.hits --[[@as claude-ide.sessions.Hit[] ]])
  elseif event.type == "session_change" and listener.change then
    listener.change(
      event.delta --[[@as claude-ide.sessions.Delta]],
      event.info --[[@as claude-ide.sessions.Info]]
    )
  elseif event.type == "session_reply" then
    -- An opened transcript will report changes.
    if event.err or not listener.change then
      listeners[event.id] = nil
    end
    listener.reply(event.result, event.err)
  end
end

require("claude-ide.library.wake").on(
  { "session_reply", "session_hits", "session_change", "session_live" },
  receive
)

return M
