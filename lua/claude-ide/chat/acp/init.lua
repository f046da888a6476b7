-- A chat with an agent that speaks the Agent Client Protocol: how it begins, and what only this protocol tells. What all chats
-- have is in `chat/`.
local M = {}

---How long an answer may take before that is said.
M.PATIENCE_MS = 30000
---How long an agent may take to close its session before it is ended.
M.CLOSE_MS = 1000

---What agents told of modes and options when a session was new: some do not say it again of one that is gone on with. Which of
---them are set is not among it.
---@type table<string, claude-ide.chat.acp.Choices>
local told_before = {}

---What a chat with an agent knows more.
---@param agent claude-ide.chat.acp.Agent
---@param list? boolean|string
---@return claude-ide.chat.acp.State
function M.state(agent, list)
  return {
    agent = agent,
    list = list,
    capabilities = {},
    config_options = {},
    accepted = {},
    absent = {},
    written = {},
    terminals = {},
    outputs = {},
    last_terminal = 0,
  }
end

---The editor's tools, as a server that the agent may ask.
---@param run string what it is called there
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
  require("claude-ide.chat.acp.options").forget(chat)
  return program, { acp = options }
end

---@param value any
---@return table?
local function table_of(value)
  return type(value) == "table" and next(value) ~= nil and value or nil
end

---A session began.
---@param chat claude-ide.chat.Chat
---@param about table
function M.session(chat, about)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local options = require("claude-ide.chat.acp.options")
  local before = options.choices(not about.is_new and told_before[acp.agent.key] or {})
  local told = options.told(about.config_options)
  acp.modes = options.told_choice(about.modes, "availableModes", "id") or acp.modes or before.modes
  acp.models = options.told_choice(about.models, "availableModels", "modelId") or acp.models or before.models
  acp.config_options = #told > 0 and told or table_of(acp.config_options) or before.config_options
  if about.is_new then
    told_before[acp.agent.key] = options.choices(acp)
  end
  acp.list = nil
  acp.signed_in = acp.signed_in or acp.signing_in
  options.read(chat)
end

---@type table<string, fun(chat: claude-ide.chat.Chat, about: table)>
local STATUS = {}

function STATUS.greeted(chat, about)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  acp.capabilities = table_of(about.capabilities) or {}
  local agent = table_of(about.agent) or {}
  acp.program = agent.name
  if not acp.greeted then
    acp.greeted = true
    local version = type(agent.version) == "string" and " " .. agent.version or ""
    chat.store:put(
      "notice",
      ("%s%s, by the Agent Client Protocol. It draws on the account that it is signed in with."):format(
        acp.agent.name,
        version
      )
    )
  end
end

function STATUS.mode(chat, about)
  chat.acp.told_mode = type(about.currentModeId) == "string" and about.currentModeId or nil
  require("claude-ide.chat.acp.options").set_mode(chat, about.currentModeId)
end

function STATUS.config_options(chat, about)
  chat.acp.config_options = require("claude-ide.chat.acp.options").told(about.configOptions)
  require("claude-ide.chat.acp.options").read(chat)
end

function STATUS.session_info(chat, about)
  if type(about.title) == "string" and about.title ~= "" then
    chat.source.title = about.title
  end
end

---@param value any
---@return number? nil: it counts nothing
local function amount_of(value)
  local amount = tonumber(value)
  return amount and amount >= 0 and amount < 2 ^ 53 and amount or nil
end

function STATUS.usage(chat, about)
  local size = amount_of(about.size)
  chat.window_size = size ~= 0 and size or nil -- some do not know it
  local cost = table_of(about.cost)
  if cost and cost.currency == "USD" then
    chat.cost = amount_of(cost.amount) or chat.cost
  end
  local used = amount_of(about.used)
  if used then
    local usage = { input = used, output = 0, cache_write = 0, cache_read = 0 }
    chat.store.last_reply = { id = 0, kind = "reply", usage = usage, model = chat.model } --[[@as any]]
  end
end

function STATUS.notice(chat, about)
  local description = type(about.description) == "string" and "\n" .. about.description or ""
  chat.store:put("notice", tostring(about.title or "") .. description)
end

function STATUS.compaction(chat, about)
  chat.doing = about.status == "in_progress" and "compacting" or nil
  if about.status == "completed" then
    chat.store:put("compaction", "")
  end
end

function STATUS.failed(chat, about)
  chat.store:put("notice", tostring(about.text))
  chat.acp.failed = true -- it says no more of its end than this
  chat:close()
end

function STATUS.auth(chat, about)
  require("claude-ide.chat.acp.sign_in").ask(chat, about)
end

function STATUS.choose_session(chat)
  require("claude-ide.chat.acp.sessions").choose(chat)
end

---@param chat claude-ide.chat.Chat
---@param subject string
---@param about table
---@return boolean taken
function M.status(chat, subject, about)
  local take = chat.acp and STATUS[subject]
  if take then
    take(chat, about)
  end
  return take ~= nil
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
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  require("claude-ide.chat.acp.terminals").end_all(chat)
  local can = table_of(acp.capabilities.sessionCapabilities)
  if chat.state ~= "idle" or not can or not can.close then
    return close()
  end
  local is_over = false
  local function once()
    if not is_over then
      is_over = true
      close()
    end
  end
  chat:ask("close", {}, once)
  vim.defer_fn(once, M.CLOSE_MS)
end

---The process is gone.
---@param chat claude-ide.chat.Chat
function M.ended(chat)
  chat.acp.failed = nil
  require("claude-ide.chat.acp.terminals").end_all(chat)
end

return M
