-- One session, one chat: two processes that write to one session leave it with two ends, of which each knows only its own.
local M = {}

---Who keeps a chat's session. Claude's adapter does it where the CLI does.
---@param agent? claude-ide.chat.acp.Agent
---@return string
local function keeper(agent)
  return agent and agent.key or "claude"
end

---The chat that has a session, or is about to go on with it.
---@param chats claude-ide.chat.Chat[]
---@param session string
---@param agent? claude-ide.chat.acp.Agent nil: the CLI
---@param but? claude-ide.chat.Chat another one than this
---@return claude-ide.chat.Chat?
function M.find(chats, session, agent, but)
  return vim.iter(chats):find(function(chat)
    local acp = chat.acp
    return chat ~= but
      and chat.state ~= "ended"
      and keeper(acp and acp.agent) == keeper(agent)
      and (chat.session == session or acp ~= nil and acp.list == session)
  end)
end

---Why a chat whose process ended cannot go on with its session.
---@param chats claude-ide.chat.Chat[]
---@param chat claude-ide.chat.Chat
---@return string? why
function M.elsewhere(chats, chat)
  if M.find(chats, chat.session, chat.acp and chat.acp.agent, chat) then
    return "This session goes on in another chat by now."
  end
  local live = not chat.acp and require("claude-ide.sessions.catalogue").running(chat.session)
  if live then
    return ("This session goes on elsewhere by now (pid %d)."):format(live.pid)
  end
end

---Lets the chat that has the session be shown instead of one that was to go on with it, with what was said here meanwhile and what
---stands at the prompt.
---@param chat claude-ide.chat.Chat
---@param there? claude-ide.chat.Chat the one that has it
---@param close fun(chat: claude-ide.chat.Chat)
---@param show fun(chat: claude-ide.chat.Chat)
---@return boolean there is one
function M.give_way(chat, there, close, show)
  if not there then
    return false
  end
  local said = chat.queue
  chat.queue = {}
  require("claude-ide.chat.content").return_all(chat, said)
  close(chat)
  show(there)
  local kept = require("claude-ide.chat.open_prompts").kept(there.cwd)
  local draft = require("claude-ide.chat.history").take_draft(there.cwd, kept)
  if draft and there.give_back then
    there.give_back(draft)
  end
  return true
end

return M
