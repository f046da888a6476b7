-- A chat with an agent that speaks the Agent Client Protocol: how it begins, and what only this protocol tells. What all chats
-- have is in `chat/`.
local M = {}

---Delay before a missing answer is reported.
M.PATIENCE_MS = 30000
---How long an agent may take to close its session before it is killed.
M.CLOSE_MS = 1000

---What a chat with an agent knows more.
---@param agent claude-ide.chat.acp.Agent
---@param list? boolean|string
---@return claude-ide.chat.acp.State
function M.state(agent, list)
  return {
    agent = agent,
    list = list,
    accepted = {},
    absent = {},
    written = {},
    terminals = {},
    outputs = {},
    last_terminal = 0,
  }
end

---The editor's tools as an MCP server for the agent.
---@param run string the chat's name for the tools
---@return table[]
local function servers(run)
  local _, problem = require("claude-ide.server").start()
  if problem then
    require("claude-ide.log").warn("a chat has no tools of the editor: %s", problem)
  end
  local access = require("claude-ide.server").agent_access(run)
  if not access then
    return {}
  end
  return {
    {
      type = "http",
      name = "nvim",
      url = "http://" .. access.url,
      headers = { { name = "Authorization", value = "Bearer " .. access.token } },
    },
  }
end

---How the agent of a chat is run.
---@param chat claude-ide.chat.Chat
---@param opts claude-ide.chat.ProgramOpts
---@return claude-ide.chat.Program? program
---@return table? backend for the library
---@return string? why it cannot run
function M.program(chat, opts)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local program, why = require("claude-ide.chat.acp.agents").program(acp.agent, opts.cwd)
  if not program then
    return nil, nil, why
  end
  local options = {
    key = acp.agent.key,
    name = acp.agent.name,
    cwd = program.cwd,
    resume = opts.resume,
    shown = #chat.store.messages > 0,
    list = acp.list ~= nil and acp.list ~= false and not opts.resume,
    mcp_servers = servers(chat.run),
    patience_ms = M.PATIENCE_MS,
    version = require("claude-ide.native").VERSION,
  }
  acp.accepted = {}
  return program, { acp = options }
end

---A session began.
---@param chat claude-ide.chat.Chat
function M.session(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  acp.list = nil
  acp.signed_in = acp.signed_in or acp.signing_in
end

---Calls ended: what was written after a review was not written unasked, and a terminal's text is in the terminal.
---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param places string[] that they may have changed
---@return string[] paths that were changed unasked, beside those of the outcomes
function M.results(chat, results, places)
  local unasked = {}
  for _, pair in ipairs(results) do
    vim.list_extend(unasked, require("claude-ide.chat.acp.written").judge(chat, pair[1], pair[2], places))
    for _, part in ipairs(pair[2].content or {}) do
      local id = type(part.text) == "string" and part.text:match("^%(in the terminal (.-)%)$")
      local text = id and require("claude-ide.chat.acp.terminals").text(chat, id)
      if text then
        part.text, part.bytes = text, #text
      end
    end
  end
  return unasked
end

---A turn is over: what was accepted in it is not for the next one.
---@param chat claude-ide.chat.Chat
function M.turn_over(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  acp.accepted, acp.written = {}, {}
end

---Ends an agent: it may close its session first.
---@param chat claude-ide.chat.Chat
---@param close fun()
function M.close(chat, close)
  require("claude-ide.chat.acp.terminals").end_all(chat)
  if chat.state ~= "idle" or not chat.can.close then
    return close()
  end
  local is_over = false
  local function once()
    if not is_over then
      is_over = true
      close()
    end
  end
  chat:ask("close_session", {}, once)
  vim.defer_fn(once, M.CLOSE_MS)
end

return M
