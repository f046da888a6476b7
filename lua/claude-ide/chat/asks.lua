-- What an agent asks, as decisions: an edit is a diff, a question has choices, a plan is a text, all else is a permission.
-- Invariant: each is answered once, or was taken back by who asked.
local M = {}

---@class claude-ide.chat.Request what the source of a chat knows a decision by
---@field chat claude-ide.chat.Chat
---@field id string of the agent
---@field ask table the agent's own words
---@field answer? fun(answer: table) to the process that asked; nil: it has a `reply`
---@field reply? fun(answer?: claude-ide.decisions.Answer, err?: string) takes the answer to an agent with words of its own
---@field proposed? string of an edit: what is shown as proposed
---@field held? string of an edit: bytes that the file held
---@field otherwise? fun(request: claude-ide.chat.Request) asks where an edit cannot be shown
---@field changes? fun(answer: claude-ide.decisions.Answer): table? arguments that are to be others; nil: it cannot be

---The CLI's own words for a plain no.
local NO = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
  .. "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."

---@class claude-ide.chat.Answer : claude-ide.decisions.Answer
---@field always? integer[] which of the suggestions are to hold from now on, from 0
---@field changes? table<string, any> arguments that are to be others
---@field message? string why not, for the agent

---@param request claude-ide.chat.Request
---@param answer? claude-ide.chat.Answer
---@param err? string
local function answer_to(request, answer, err)
  if request.reply then
    return request.reply(answer, err)
  end
  local chat, call = request.chat, request.ask.tool_use_id
  local function deny(message, interrupt)
    if call then
      chat.refused[call] = "rejected"
    end
    request.answer({ deny = { request = request.id, message = message, interrupt = interrupt } })
  end
  local words = chat.asker_words
  chat.asker_words = nil
  if not answer then
    return deny(err or "the editor could not ask", false)
  elseif answer.outcome ~= "accepted" then
    words = answer.message or words
    return deny(words or NO, words == nil)
  end
  local changes = answer.changes or request.changes and request.changes(answer) or {}
  if request.changes and not next(changes) then
    return deny("The editor could not make the edit that the user accepted. Read the file again.", false)
  end
  if call then
    chat.granted[call] = true
  end
  request.answer({
    allow = {
      request = request.id,
      changes = next(changes) and changes or vim.empty_dict(),
      always = answer.always or {},
    },
  })
end

---A chat as one that asks.
---@param chat claude-ide.chat.Chat
---@return claude-ide.decisions.Source
function M.source(chat)
  return require("claude-ide.decisions").source({
    name = chat.name,
    writes = "agent",
    takes_empty = true,
    overwrites = chat.acp ~= nil,
    answer = answer_to,
    tell = function(words)
      chat.asker_words = words
    end,
    cannot_hear = function()
      return nil
    end,
    session = function()
      return chat.session
    end,
    call = function(request)
      return request.ask.tool_use_id
    end,
  })
end

---What asks for which tool; all else is a permission.
---@type table<string, fun(request: claude-ide.chat.Request)>
local TOOLS = {
  Edit = function(request)
    require("claude-ide.chat.edit").ask(request)
  end,
  Write = function(request)
    require("claude-ide.chat.edit").ask(request)
  end,
  AskUserQuestion = function(request)
    require("claude-ide.chat.question").ask(request)
  end,
  ExitPlanMode = function(request)
    require("claude-ide.chat.plan").ask(request)
  end,
}

---The agent asks.
---@param chat claude-ide.chat.Chat
---@param id string
---@param ask table
function M.ask(chat, id, ask)
  if ask.subtype == "acp" then
    return require("claude-ide.chat.acp.asks").ask(chat, id, ask)
  end
  local request = { chat = chat, id = id, ask = ask, answer = chat:answerer() } ---@type claude-ide.chat.Request
  local take = ask.subtype ~= "can_use_tool" and require("claude-ide.chat.form").ask
    or TOOLS[ask.tool_name]
    or require("claude-ide.chat.permission").ask
  require("claude-ide.safely").catch(take, function(trace)
    require("claude-ide.log").error("a question of a chat failed: %s", trace)
    answer_to(request, nil, "the editor could not ask")
  end)(request)
end

---@param chat claude-ide.chat.Chat
---@param matches fun(request: claude-ide.chat.Request): boolean
---@param why string
local function cancel(chat, matches, why)
  local decisions = require("claude-ide.decisions")
  local taken_back = decisions.pending(function(decision)
    return decision.source == chat.asker and matches(decision.request)
  end)
  for _, decision in ipairs(taken_back) do
    decisions.cancel(decision, why)
  end
end

---Nobody takes an answer any more.
---@param chat claude-ide.chat.Chat
---@param why string for the user
function M.gone(chat, why)
  require("claude-ide.chat.reading").forget(chat)
  require("claude-ide.decisions").gone(chat.asker, why)
  local diff = package.loaded["claude-ide.diff"]
  if type(diff) == "table" then
    diff.source_gone(chat.asker)
  end
end

---The agent takes a question back.
---@param chat claude-ide.chat.Chat
---@param id string
function M.withdraw(chat, id)
  require("claude-ide.chat.reading").forget(chat, id)
  cancel(chat, function(request)
    return request.id == id
  end, chat.name .. " has taken it back")
end

---A turn is over: the edits of it are.
---@param chat claude-ide.chat.Chat
function M.turn_over(chat)
  local diff = package.loaded["claude-ide.diff"]
  if type(diff) == "table" then
    diff.end_of_turn(chat.asker)
  end
end

---Calls came to an end: of an edit that the user accepted that says whether it is written.
---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
function M.results(chat, results)
  local diff = package.loaded["claude-ide.diff"]
  if type(diff) ~= "table" then
    return
  end
  for _, pair in ipairs(results) do
    -- What the editor wrote in its place, the agent was refused.
    if not chat.refused[pair[1]] then
      diff.call_ended(chat.asker, pair[1], pair[2])
    end
  end
end

---How many questions of a chat wait.
---@param chat claude-ide.chat.Chat
---@return integer
function M.count(chat)
  return #require("claude-ide.decisions").pending(function(decision)
    return decision.source == chat.asker
  end)
end

return M
