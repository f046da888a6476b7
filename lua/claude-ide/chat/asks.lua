-- Puts an agent's requests to the user: an edit is a diff or a changeset, a question has choices, a plan is a text, all else is a permission.
-- Also its requests to the editor.
-- Invariant: each is answered once, by the process that made it, or withdrawn by it.
local lazy = require("claude-ide.lazy")
local answers = lazy("claude-ide.chat.answers")
local card = lazy("claude-ide.requests.card")
local edit = lazy("claude-ide.chat.edit")
local files = lazy("claude-ide.chat.acp.files")
local ide_once = lazy("claude-ide.base.once")
local interrupt = lazy("claude-ide.chat.interrupt")
local log = lazy("claude-ide.base.log")
local requests = lazy("claude-ide.requests")
local safely = lazy("claude-ide.base.safely")
local terminals = lazy("claude-ide.chat.acp.terminals")

local M = {}

---@class claude-ide.chat.Request what an agent asks: the handle of a claude-ide.Request
---@field requester claude-ide.requests.Requester
---@field chat claude-ide.chat.Chat
---@field id string of the agent
---@field ask claude-ide.chat.Ask
---@field send fun(command: table) to the process that made the request: `allow`, `deny`, `unanswered`, see `crates/agent/src/command.rs`
---@field reply? fun(answer?: claude-ide.requests.Answer, err?: string) handles the answer, if the request is about a file
---@field proposed? string edit: the proposed text shown
---@field on_disk? string edit: the file's bytes before
---@field otherwise? fun(request: claude-ide.chat.Request) used if an edit cannot be shown

---A request; its fields depend on the kind. See `crates/agent/src/ask.rs`.
---@class claude-ide.chat.Ask
---@field kind string
---@field call? string id of the tool call
---@field title string permission
---@field parts claude-ide.card.AskedPart[] permission
---@field choices { id: string, label: string, key_label?: string, kind: string }[] permission
---@field rules string[] permission
---@field default_to_no boolean permission
---@field is_destructive boolean permission: its command destroys something, as the title says
---@field takes_changes boolean permission: an answer can change the arguments, and take words along
---@field changeable? string permission: name of the argument in the first part, if a buffer can hold it
---@field edit? claude-ide.chat.AskedEdit permission
---@field paths string[] permission: files that it would change
---@field questions claude-ide.card.AskedQuestion[] questions
---@field plan string plan
---@field name string form
---@field message string form
---@field url? string form
---@field fields claude-ide.card.form.Field[] form
---@field path string read_file, write_file
---@field line? integer read_file
---@field limit? integer read_file
---@field missing_is_empty boolean read_file
---@field content string write_file
---@field command string create_terminal
---@field args string[] create_terminal
---@field env { [1]: string, [2]: string }[] create_terminal
---@field cwd? string create_terminal
---@field output_limit? integer create_terminal
---@field terminal string of the other kinds of terminals

---What fails on the way is answered, too: nothing else would ever tell the agent.
local function answer_to(request, answer, err)
  safely.catch(answers.take, function(trace)
    log.error("an answer to a chat failed: %s", trace)
    answers.unanswered(request, "the editor could not do it")
  end)(request, answer, err)
end

---The requester of a chat's requests.
---@param chat claude-ide.chat.Chat
---@return claude-ide.requests.Requester
function M.requester(chat)
  return requests.requester({
    name = chat.name,
    writes = "agent",
    takes_empty = true,
    overwrites = chat.driver.overwrites == true,
    answer = answer_to,
    tell = function(words)
      chat.requester_words = words
    end,
    cannot_hear = function()
      return nil
    end,
    session = function()
      return chat.session
    end,
    call = function(request)
      return request.ask.call
    end,
    map_keys = function(buf)
      interrupt.map(chat, buf, { "n" })
    end,
  })
end

---@alias claude-ide.chat.Reply fun(result?: table, code?: "invalid"|"not_found"|"failed", message?: string)

---Requests to the editor.
---@type table<string, fun(chat: claude-ide.chat.Chat, ask: claude-ide.chat.Ask, reply: claude-ide.chat.Reply, request: claude-ide.chat.Request, give_file: fun(part: table))>
local OF_EDITOR = {
  read_file = function(...)
    files.read(...)
  end,
  write_file = function(...)
    files.write(...)
  end,
}
for kind, name in pairs({
  create_terminal = "create",
  terminal_output = "output",
  wait_for_exit = "wait_for_exit",
  kill_terminal = "kill",
  release_terminal = "release",
}) do
  OF_EDITOR[kind] = function(...)
    terminals[name](...)
  end
end

---@param request claude-ide.chat.Request
---@param serve fun(...)
local function serve_editor(request, serve)
  local once = ide_once(request.send)
  local function reply(result, code, message)
    local fields = { request = request.id } ---@type table
    if code then
      fields.error = { code = code, message = message or "it failed" }
    else
      fields.result = result and next(result) ~= nil and result or vim.empty_dict()
    end
    once({ reply = fields })
  end
  local function give_file(part)
    once({ reply_with_file = { request = request.id, file = part } })
  end
  local doing = ("%s of %s"):format(request.ask.kind, request.chat.name)
  files.anyway(reply, doing, serve)(request.chat, request.ask, reply, request, give_file)
end

---@param request claude-ide.chat.Request
local function ask_user(request)
  if request.ask.edit then
    edit.ask(request)
  else
    card.show(request)
  end
end

---Handles a request.
---@param chat claude-ide.chat.Chat
---@param id string
---@param ask claude-ide.chat.Ask
function M.ask(chat, id, ask)
  local request = { requester = chat.requester, chat = chat, id = id, ask = ask, send = chat:answerer() } ---@type claude-ide.chat.Request
  local serve = OF_EDITOR[ask.kind]
  if serve then
    return serve_editor(request, serve)
  end
  safely.catch(ask_user, function(trace)
    log.error("a question of a chat failed: %s", trace)
    answers.unanswered(request, "the editor could not ask")
  end)(request)
end

---@param chat claude-ide.chat.Chat
---@return claude-ide.Request[]
local function pending(chat)
  return requests.pending(function(request)
    return request.requester == chat.requester
  end)
end

---@return table? the proposals, if there was one
local function proposals()
  local loaded = package.loaded["claude-ide.edits.proposal"]
  return type(loaded) == "table" and loaded or nil -- not while it is loaded
end

---Withdraws a chat's requests: its process is gone.
---@param chat claude-ide.chat.Chat
---@param why string for the user
function M.gone(chat, why)
  edit.forget(chat)
  requests.gone(chat.requester, why)
  local proposal = proposals()
  if proposal then
    proposal.requester_gone(chat.requester)
  end
end

---Withdraws one request.
---@param chat claude-ide.chat.Chat
---@param id string
function M.withdraw(chat, id)
  edit.forget(chat, id)
  for _, waiting in ipairs(pending(chat)) do
    if waiting.handle.id == id then
      requests.cancel(waiting, chat.name .. " withdrew it")
    end
  end
end

---Ends a turn's edits.
---@param chat claude-ide.chat.Chat
function M.turn_over(chat)
  local proposal = proposals()
  if proposal then
    proposal.end_of_turn(chat.requester)
  end
end

---Handles ended calls: for an accepted edit, they show whether it was written.
---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
function M.results(chat, results)
  local proposal = proposals()
  for _, pair in ipairs(results) do
    -- Edits written by the editor were denied to the agent.
    if proposal and not chat.refused[pair[1]] then
      proposal.call_ended(chat.requester, pair[1], pair[2])
    end
  end
end

---Shows a chat's first pending request again.
---@param chat claude-ide.chat.Chat
function M.show(chat)
  local first = pending(chat)[1]
  if first then
    requests.focus(first)
  end
end

---The number of a chat's pending requests.
---@param chat claude-ide.chat.Chat
---@return integer
function M.count(chat)
  return #pending(chat)
end

return M
