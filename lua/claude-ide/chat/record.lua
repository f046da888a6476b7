-- Reports a chat's turns to the journal, so that `:Claude review` and `:Claude undo` include it.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local clients = lazy("claude-ide.edits.journal.clients")
local ide_path = lazy("claude-ide.base.path")
local journal = lazy("claude-ide.edits.journal")

local M = {}

---Files of one call that are looked at.
local MOST_PLACES = 50
---No file has a longer path (PATH_MAX).
local MOST_PATH = 4096

---@param chat claude-ide.chat.Chat
---@return integer client of the journal
function M.client(chat)
  return clients.of_chat(chat.count)
end

---Starts a turn. Its start may be read late; the agent may have written before.
---@param chat claude-ide.chat.Chat
---@param prompt claude-ide.journal.Prompt
function M.turn_begins(chat, prompt)
  journal.attach()
  journal.turn_started(M.client(chat), prompt, {
    folder = chat.cwd,
    session = chat.is_cli and function()
      return chat.session
    end or nil,
  })
end

---When the chat's turn began.
---@param chat claude-ide.chat.Chat
---@return integer? milliseconds since the epoch; nil: none did
function M.began(chat)
  return journal.began(M.client(chat))
end

---The agent is about to write files, a subagent of it too: what they hold is kept.
---@param chat claude-ide.chat.Chat
---@param paths string[] as the agent names them
---@param call? string that writes them, if that is known: see `calls_over`
function M.before_edit(chat, paths, call)
  for _, path in ipairs(paths) do
    if path:sub(1, 1) == "/" and #path <= MOST_PATH then
      journal.before_edit(M.client(chat), ide_path.normalize(path), call)
    end
  end
end

---A call is at a location, as `:Claude follow` shows.
---@param chat claude-ide.chat.Chat
---@param call string
---@param location claude-ide.sessions.Location
function M.located(chat, call, location)
  local path = location.path
  if path:sub(1, 1) == "/" and #path <= MOST_PATH and not path:find("\0", 1, true) then
    local id = ("%s %s:%d"):format(call, path, location.first) -- a call may go on to others
    bus.emit("call_located", M.client(chat), { id = id, location = location, who = chat.name })
  end
end

---Handles ended calls, also of subagents: a background edit may end after its turn.
---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
function M.calls_over(chat, results)
  for _, pair in ipairs(results) do
    journal.edit_over(M.client(chat), pair[1])
  end
end

---Handles ended calls of the agent itself.
---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param places string[] files that they may have written
function M.results(chat, results, places)
  M.calls_over(chat, results)
  local paths = vim.list_slice(places, 1, MOST_PLACES)
  for _, pair in ipairs(results) do
    local outcome = pair[2].outcome
    if outcome and outcome.type == "file_change" and not pair[2].is_error then
      paths[#paths + 1] = outcome.path
    end
  end
  for _, path in ipairs(paths) do
    journal.landed(ide_path.normalize(path))
  end
end

---@param chat claude-ide.chat.Chat
function M.turn_over(chat)
  journal.edits_over(M.client(chat))
end

---Handles an agent's exit, perhaps in the middle of a turn.
---@param chat claude-ide.chat.Chat
function M.ended(chat)
  journal.left(M.client(chat))
end

return M
