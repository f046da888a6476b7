-- What Claude is told of the file the user is in and of what they selected there.
-- Owns the switch and the messages; tracker.lua knows when, region.lua what, privacy/ of which buffers.
-- Nothing runs while no server does, and nearly nothing while nobody is connected.
local M = {}

---@class claude-ide.selection.Message `selection_changed` of the IDE protocol
---@field text string empty where nothing is selected
---@field filePath? string absolute; not there when nothing may be known
---@field fileUrl? string
---@field selection claude-ide.selection.Range

---Takes back what was told. The CLI (2.1.329) passes over a message without a range, so there is one, but no file.
local function nothing()
  local start = { line = 0, character = 0 }
  return { text = "", selection = { start = start, ["end"] = start, isEmpty = true } }
end

local attached = false
local enabled ---@type boolean? nil: as configured
local latest ---@type claude-ide.selection.Message?
local active ---@type string? the file that the server knows as the active one

local function tell_active(path)
  if path ~= active then
    active = path
    require("claude-ide.server").notify("active_editor", { filePath = path or vim.NIL })
  end
end

---@param subject? claude-ide.selection.Subject
local function tell(subject)
  local server = require("claude-ide.server")
  if not (subject and subject.buf) then
    latest = nil
    tell_active(nil)
    server.notify("selection_changed", nothing())
    return
  end
  local max_bytes = require("claude-ide.config").get().selection.max_bytes
  local text, range = require("claude-ide.selection.region").read(subject.buf, subject, max_bytes)
  latest = {
    text = text,
    filePath = subject.name,
    fileUrl = require("claude-ide.path").to_uri(subject.name),
    selection = range,
  }
  tell_active(subject.name)
  server.notify("selection_changed", latest)
end

---Follows where the server runs and the user wants it, and speaks where somebody listens.
local function refresh()
  local tracker = require("claude-ide.selection.tracker")
  local server = require("claude-ide.server")
  if not (server.is_running() and M.is_enabled()) then
    tracker.forget()
    tracker.stop()
  elseif #server.clients() == 0 then
    tracker.forget()
    tracker.listen(false)
  else
    tracker.listen(true)
  end
end

local function start()
  if M.is_enabled() then
    local pause_ms = require("claude-ide.config").get().selection.debounce_ms
    require("claude-ide.selection.tracker").start({ tell = tell, pause_ms = pause_ms })
  end
  refresh()
end

---Follows the server's life from now on. Harmless when done before.
function M.attach()
  if attached then
    return
  end
  attached = true
  local server = require("claude-ide.server")
  require("claude-ide.bus").on("server_started", start)
  require("claude-ide.bus").on("client_connected", refresh)
  require("claude-ide.bus").on("client_disconnected", refresh)
  require("claude-ide.listening").attach()
  require("claude-ide.bus").on("client_listening", function(client)
    if latest then
      server.notify("selection_changed", latest, client.id)
    end
  end)
  require("claude-ide.bus").on("server_stopped", function()
    latest, active = nil, nil
    require("claude-ide.selection.tracker").stop()
  end)
  if server.is_running() then
    start()
  end
end

---Takes up options that have changed: what is withheld, the pause, the switch.
function M.reconfigure()
  if attached and require("claude-ide.server").is_running() then
    require("claude-ide.selection.tracker").forget()
    start()
  end
end

---Whether the selection is told, apart from single buffers that are withheld.
---@return boolean
function M.is_enabled()
  if enabled == nil then
    return require("claude-ide.config").get().selection.enabled
  end
  return enabled
end

---Tells Claude from now on, until this Neovim ends.
function M.enable()
  local was_enabled = M.is_enabled()
  enabled = true
  if attached and not was_enabled and require("claude-ide.server").is_running() then
    start()
  end
end

---Tells Claude nothing from now on, and takes back what it was told.
function M.disable()
  enabled = false
  if attached then
    refresh()
  end
end

---@return boolean enabled as it is now
function M.toggle()
  if M.is_enabled() then
    M.disable()
  else
    M.enable()
  end
  return M.is_enabled()
end

---What clients were told last; nil when they know of nothing.
---@return claude-ide.selection.Message?
function M.latest()
  return latest
end

return M
