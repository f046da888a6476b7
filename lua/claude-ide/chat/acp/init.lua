-- A chat with an agent that speaks the Agent Client Protocol: how it begins, and what only this protocol has. What all chats have is
-- in `chat/`.
local lazy = require("claude-ide.lazy")
local agents = lazy("claude-ide.chat.acp.agents")
local ide_once = lazy("claude-ide.base.once")
local native = lazy("claude-ide.library.native")
local program = lazy("claude-ide.chat.program")
local server = lazy("claude-ide.server")
local terminals = lazy("claude-ide.chat.acp.terminals")

---@class claude-ide.chat.acp : claude-ide.chat.Driver
local M = { overwrites = true }

---@class claude-ide.chat.acp.State
---@field agent claude-ide.chat.acp.Agent
---@field accepted table<string, claude-ide.chat.acp.Accepted> by path
---@field signing_in? table the last sign-in request
---@field signed_in? table the successful sign-in, kept for restarts of the agent
---@field terminals table<string, claude-ide.chat.acp.Terminal>
---@field outputs table<string, string> the end of released terminals' output
---@field last_terminal integer

---Delay before a missing answer is reported.
M.PATIENCE_MS = 30000
---How long an agent may take to close its session before it is killed.
M.CLOSE_MS = 1000

function M.check(begin)
  return agents.check(begin.agent --[[@as claude-ide.chat.acp.Agent]], begin.cwd)
end

function M.begin(chat, begin)
  local agent = begin.agent --[[@as claude-ide.chat.acp.Agent]]
  chat.name, chat.keeper = agent.name, agent.key
  chat.can = { terminal = agent.key == "claude" }
  chat.acp = {
    agent = agent,
    accepted = {},
    terminals = {},
    outputs = {},
    last_terminal = 0,
  }
end

---The editor's tools as an MCP server for the agent.
---@param run string the chat's name for the tools
---@return table[]
local function servers(run)
  program.start_server()
  local access = server.agent_access(run)
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

function M.program(chat, opts)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local cwd, why = agents.check(acp.agent, opts.cwd)
  if not cwd then
    return nil, nil, why
  end
  local options = {
    key = acp.agent.key,
    name = acp.agent.name,
    cwd = cwd,
    resume = opts.resume,
    shown = chat.store:info().len > 0,
    list = chat.wanted and not opts.resume or false,
    mcp_servers = servers(chat.run),
    patience_ms = M.PATIENCE_MS,
    version = native.VERSION,
  }
  acp.accepted = {}
  local env = program.environment(acp.agent.env)
  return { argv = acp.agent.cmd, cwd = cwd, env = env }, { acp = options }
end

function M.session(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  chat.wanted = nil
  acp.signed_in = acp.signed_in or acp.signing_in
end

---A terminal's text is in the terminal.
function M.results(chat, results)
  for _, pair in ipairs(results) do
    for at, part in ipairs(pair[2].content or {}) do
      local id = type(part.text) == "string" and part.text:match("^%(in the terminal (.-)%)$")
      local text = id and terminals.text(chat, id)
      if text then
        chat.store:replace_result(pair[1], at, text)
      end
    end
  end
end

---What was accepted in a turn is not for the next one.
function M.turn_over(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  acp.accepted = {}
end

function M.ended(chat)
  terminals.end_all(chat)
end

---An agent may close its session before it is ended.
function M.close(chat, close)
  terminals.end_all(chat)
  if chat.state ~= "idle" or not chat.can.close then
    return close()
  end
  local once = ide_once(close)
  chat:ask("close_session", {}, once)
  vim.defer_fn(once, M.CLOSE_MS)
end

return M
