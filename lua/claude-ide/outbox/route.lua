-- Finds the receiver of what is said to a session: a chat of this Neovim, its terminal (one outside of Neovim over the bridge), or a CLI
-- resumed in the terminal. A session that is running elsewhere is neither written to nor started again.
local lazy = require("claude-ide.lazy")
local bridge = lazy("claude-ide.terminal.bridge")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local ide_terminal = lazy("claude-ide.terminal")
local sessions = lazy("claude-ide.sessions")

local M = {}

---@alias claude-ide.outbox.RouteKind "chat"|"terminal"|"dead"

---@class claude-ide.outbox.Route
---@field kind claude-ide.outbox.RouteKind
---@field chat? claude-ide.chat.Chat
---@field buf? integer of the terminal; nil: it is outside of Neovim
---@field terminal? claude-ide.terminal.Session
---@field live? claude-ide.sessions.Live of the terminal

---@param session string
---@return claude-ide.chat.Chat?
local function chat_of(session)
  local chats = package.loaded["claude-ide.chat"]
  for _, chat in ipairs(type(chats) == "table" and chats.list() or {}) do
    if chat.session == session then
      return chat
    end
  end
end

---Processes of terminals: they may outlive a terminal for a moment.
local own = {} ---@type table<integer, true?>

---Sessions whose process has switched to another one.
local left = {} ---@type table<string, true?>

---Records the terminals' processes, and the sessions that they have left.
---@param change claude-ide.sessions.LiveChange
local function note(change)
  local changed = change.session
  left[changed.id] = nil
  if change.previous then
    left[change.previous] = true
  end
  local terminals = package.loaded["claude-ide.terminal"]
  for _, terminal in ipairs(type(terminals) == "table" and terminals.list() or {}) do
    local inside = terminal:live()
    own[inside and inside.pid or 0] = true
  end
  own[changed.pid] = changed.state.activity ~= "gone" and own[changed.pid] or nil
end

---Follows the sessions, before any of them can end.
M.attach = require("claude-ide.base.once")(function()
  bus.on("session_changed", note)
end)

---Whether the process of a session has switched to another one.
---@param session string
---@return boolean
function M.was_left(session)
  return left[session] == true
end

---Why a session is not written to from here.
---@param live claude-ide.sessions.Live
---@return string
function M.elsewhere(live)
  if live.job then
    return "it runs in the background: write in a terminal that shows it"
  end
  return ("it runs in another terminal (pid %d): write there"):format(live.pid)
end

---@param session string
---@param wanted? claude-ide.terminal.Session of several terminals that run it
---@return claude-ide.outbox.Route?
---@return string? why there is none
function M.of(session, wanted)
  local chat = chat_of(session)
  if chat and chat.state ~= "ended" then
    return { kind = "chat", chat = chat }
  end
  local inside = wanted and wanted:live()
  local terminal = inside and inside.id == session and wanted or ide_terminal.of_session(session)
  local buf = terminal and terminal:bufnr()
  if terminal and (buf or bridge.of(terminal)) then
    return { kind = "terminal", terminal = terminal, buf = buf, live = terminal:live() }
  end
  local problem = sessions.problem()
  local live = terminal and terminal:live() or catalogue.running(session)
  if live and (live.job or not own[live.pid]) then
    return nil, M.elsewhere(live)
  elseif problem then
    return nil, "whether it runs in another terminal is not known"
  end
  return chat and { kind = "chat", chat = chat } or { kind = "dead" }
end

return M
