-- Sends the user's file and selection to Claude.
-- Owns the switch and the messages; tracker.lua decides when, region.lua what, server/privacy.lua which buffers.
-- Inactive while the server is stopped, nearly so without clients.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local file_side = lazy("claude-ide.ui.file_side")
local listening = lazy("claude-ide.server.listening")
local paths = lazy("claude-ide.base.path")
local region = lazy("claude-ide.context.selection.region")
local server = lazy("claude-ide.server")
local tracker = lazy("claude-ide.context.selection.tracker")

local M = {}

---@class claude-ide.selection.Message `selection_changed` of the IDE protocol
---@field text string empty without a selection
---@field filePath? string absolute; absent if withheld
---@field fileUrl? string
---@field selection claude-ide.selection.Range

---Withdraws the last message. The CLI (2.1.329) ignores a message without a range, so it has a range but no file.
local function nothing()
  local start = { line = 0, character = 0 }
  return { text = "", selection = { start = start, ["end"] = start, isEmpty = true } }
end

local attached = false
local enabled ---@type boolean? nil: as configured
local latest ---@type claude-ide.selection.Message?
local latest_buf ---@type integer? that its text was read from
local active ---@type string? active file as sent to the server

---Moves a range in a text of a file to where its first line is in the file now. It keeps its length: the text is what was seen.
---@param subject claude-ide.selection.Subject
---@param range claude-ide.selection.Range
local function move_to_file(subject, range)
  local _, lnum = file_side.at(subject.buf --[[@as integer]], subject.lnum1, subject.lnum2)
  local moved = lnum and lnum - 1 - range.start.line or 0
  range.start.line, range["end"].line = range.start.line + moved, range["end"].line + moved
end

local function tell_active(path)
  if path ~= active then
    active = path
    server.notify("active_editor", { filePath = path or vim.NIL })
  end
end

---@param subject? claude-ide.selection.Subject
local function tell(subject)
  if not (subject and subject.buf) then
    latest = nil
    tell_active(nil)
    server.notify("selection_changed", nothing())
    bus.emit("selection_changed", nil)
    return
  end
  local max_bytes = config.get().selection.max_bytes
  local text, range = region.read(subject.buf, subject, max_bytes)
  move_to_file(subject, range)
  latest_buf = subject.buf
  latest = {
    text = text,
    filePath = subject.name,
    fileUrl = paths.to_uri(subject.name),
    selection = range,
  }
  tell_active(subject.name)
  server.notify("selection_changed", latest)
  bus.emit("selection_changed", latest)
end

---Tracks while the server runs and the option is on; reports while clients are connected.
local function refresh()
  if not (server.is_running() and M.is_enabled()) then
    tracker.forget()
    tracker.stop()
  elseif #server.clients() + #server.companions() == 0 then
    tracker.forget()
    tracker.listen(false)
  else
    tracker.listen(true)
  end
end

local function start()
  if M.is_enabled() then
    local pause_ms = config.get().selection.debounce_ms
    tracker.start({ tell = tell, pause_ms = pause_ms })
  end
  refresh()
end

---Follows the server's state. Idempotent.
function M.attach()
  if attached then
    return
  end
  attached = true
  bus.on("server_started", start)
  bus.on("client_connected", refresh)
  bus.on("client_disconnected", refresh)
  bus.on("agent_ready", refresh)
  bus.on("agent_disconnected", refresh)
  listening.attach()
  bus.on("client_listening", function(client)
    if latest then
      server.notify("selection_changed", latest, client.id)
    end
  end)
  bus.on("server_stopped", function()
    latest, active = nil, nil
    tracker.stop()
  end)
  if server.is_running() then
    start()
  end
end

---Applies changed options.
function M.reconfigure()
  if attached and server.is_running() then
    tracker.forget()
    start()
  end
end

---Whether selections are sent, apart from withheld buffers.
---@return boolean
function M.is_enabled()
  if enabled == nil then
    return config.get().selection.enabled
  end
  return enabled
end

---Sends selections until this Neovim exits.
function M.enable()
  local was_enabled = M.is_enabled()
  enabled = true
  if attached and not was_enabled and server.is_running() then
    start()
  end
  bus.emit("abilities_changed")
end

---Stops sending selections, and withdraws the last one.
function M.disable()
  enabled = false
  if attached then
    refresh()
  end
  bus.emit("abilities_changed")
end

---@return boolean enabled new state
function M.toggle()
  if M.is_enabled() then
    M.disable()
  else
    M.enable()
  end
  return M.is_enabled()
end

---The last message to clients; nil: none, or withdrawn.
---@return claude-ide.selection.Message?
---@return boolean of_side its text is that of a buffer of ours, not of the file's
function M.latest()
  return latest, latest ~= nil and latest_buf ~= nil and file_side.is(latest_buf)
end

return M
