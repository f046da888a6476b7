-- Finds the receiver of a session's message: a chat of this Neovim, its terminal, or a CLI resumed in the terminal. A session that is
-- running elsewhere is neither written to nor started again.
local M = {}

---@class claude-ide.web.Route
---@field kind "chat"|"terminal"|"dead"
---@field chat? claude-ide.chat.Chat
---@field buf? integer of the terminal
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

---The terminal's last process: it may outlive the terminal for a moment.
local own ---@type integer?

---Records the terminal's process.
function M.note()
  local terminal = package.loaded["claude-ide.terminal"]
  local inside = type(terminal) == "table" and terminal.session()
  own = inside and inside.pid or own
end

---@param session string
---@return claude-ide.web.Route?
---@return string? why there is none
function M.of(session)
  local chat = chat_of(session)
  if chat and chat.state ~= "ended" then
    return { kind = "chat", chat = chat }
  end
  local terminal = require("claude-ide.terminal")
  local buf = terminal.bufnr()
  local inside = buf and terminal.session()
  if inside and inside.id == session and inside.state.activity ~= "gone" then
    return { kind = "terminal", buf = buf, live = inside }
  end
  local sessions = require("claude-ide.sessions")
  local problem = sessions.problem()
  local live = require("claude-ide.sessions.catalogue").running(session)
  if live and live.pid ~= own then
    return nil, ("it runs elsewhere (pid %d): write there"):format(live.pid)
  elseif problem then
    return nil, "whether it runs elsewhere cannot be seen"
  end
  return chat and { kind = "chat", chat = chat } or { kind = "dead" }
end

return M
