-- How what was decided reaches the agent that asked.
-- Invariant: where an answer can take no changes along, the editor writes what the user made of an edit, and the agent is told.
local M = {}

---@class claude-ide.chat.Answer : claude-ide.decisions.Answer
---@field choice? string the id of a choice; nil: the one that holds for this time
---@field rules? integer[] which of the rules are to hold from now on, from 0
---@field changes? table<string, any> arguments that are to be others
---@field message? string why not, for the agent

---Lets it be done.
---@param request claude-ide.chat.Request
---@param answer claude-ide.chat.Answer
function M.allow(request, answer)
  local chat, ask = request.chat, request.ask
  local allowing = vim.tbl_filter(function(choice)
    return choice.kind:find("^allow") ~= nil and (not answer.choice or choice.id == answer.choice)
  end, ask.choices or {})
  local is_possible = not ask.choices or #allowing > 0
  if ask.call then
    chat.granted[ask.call] = is_possible or nil
  end
  chat.unasked = chat.unasked or answer.choice and is_possible and allowing[1].kind == "allow_always"
  if not is_possible then
    require("claude-ide.ui.notice").error(("%s offers no way to allow it: nothing was."):format(chat.name))
  end
  request.send({
    allow = {
      request = request.id,
      choice = answer.choice,
      rules = answer.rules or {},
      changes = answer.changes and next(answer.changes) and answer.changes or vim.empty_dict(),
    },
  })
end

---Refuses it.
---@param request claude-ide.chat.Request
---@param opts { choice?: string, message?: string, status?: "rejected"|"changed" }
function M.deny(request, opts)
  local chat, ask = request.chat, request.ask
  if ask.call then
    chat.refused[ask.call] = opts.status or "rejected"
  end
  for _, path in ipairs(ask.paths or {}) do
    require("claude-ide.chat.acp.written").refused(chat, path)
  end
  request.send({ deny = { request = request.id, choice = opts.choice, message = opts.message } })
end

---Nobody decided.
---@param request claude-ide.chat.Request
---@param message? string
function M.unanswered(request, message)
  if request.ask.call then
    request.chat.refused[request.ask.call] = "rejected"
  end
  request.send({ unanswered = { request = request.id, message = message } })
end

---An agent whose answers take no words along gets them as the next prompt.
---@param chat claude-ide.chat.Chat
---@param words string
local function say_as_prompt(chat, words)
  local content = { { type = "text", text = require("claude-ide.position").valid(words) } }
  if not chat:say(words, content) then
    require("claude-ide.ui.kept_words").give_back(words, ("%s is gone"):format(chat.name))
  end
end

---@param request claude-ide.chat.Request
---@param answer claude-ide.proposal.FilesAnswer
local function accepted_files(request, answer)
  local chat, files, became =
    request.chat, require("claude-ide.chat.acp.files"), require("claude-ide.chat.edit").became_of(answer)
  for _, one in ipairs(became) do
    if answer.written and one.accepted then
      require("claude-ide.chat.acp.written").reviewed(chat, one.path)
    elseif one.bytes then
      files.accept(chat, one.path, one.bytes, one.accepted)
    end
  end
  if not answer.written then
    return M.allow(request, { outcome = "accepted" })
  end
  M.deny(request, { status = "changed" })
  require("claude-ide.chat.acp.changed").tell(chat, became, answer.report.words)
end

---The user has accepted an edit. What they changed of it goes back with the answer, or is written by the editor, which the agent is
---told.
---@param request claude-ide.chat.Request
---@param answer claude-ide.chat.Answer
local function accepted_edit(request, answer)
  local chat, files = request.chat, require("claude-ide.chat.acp.files")
  if answer.jobs then ---@diagnostic disable-line: undefined-field -- of a changeset
    return accepted_files(request, answer --[[@as claude-ide.proposal.FilesAnswer]])
  end
  local proposed, accepted =
    request.proposed, --[[@as string]]
    answer.contents
  if request.ask.takes_changes then
    return M.allow(request, {
      outcome = "accepted",
      changes = require("claude-ide.chat.edit").arguments_for(request, accepted or proposed --[[@as string]]),
    })
  end
  local path = request.ask.edit.path
  local bytes = accepted and files.in_its_encoding(path, accepted, request.held)
  if not bytes or accepted == proposed then
    if bytes then
      files.accept(chat, path, bytes, accepted)
    end
    return M.allow(request, answer)
  end
  local ok, why = files.put(chat, path, bytes)
  if not ok then
    require("claude-ide.ui.notice").error(("%s was not written: %s."):format(path, why or "unknown"))
    return request.send({ unanswered = { request = request.id } })
  end
  M.deny(request, { status = "changed" })
  local became = { path = path, proposed = proposed, accepted = accepted }
  require("claude-ide.chat.acp.changed").tell(chat, { became }, nil, answer.on_top)
end

---@param request claude-ide.chat.Request
---@param answer? claude-ide.chat.Answer
---@param err? string
function M.take(request, answer, err)
  if request.reply then
    return request.reply(answer, err)
  end
  local chat, ask = request.chat, request.ask
  local words = chat.asker_words
  chat.asker_words = nil
  if not answer or err then
    return M.unanswered(request, err or "the editor could not ask")
  end
  words = answer.message or answer.words or words
  if answer.outcome == "closed" then
    return M.unanswered(request, words)
  elseif answer.outcome ~= "accepted" then
    M.deny(request, { choice = answer.choice, message = words })
    if ask.kind == "permission" and not ask.takes_changes and words and vim.trim(words) ~= "" then
      say_as_prompt(chat, words)
    end
  elseif request.proposed or answer.jobs then ---@diagnostic disable-line: undefined-field -- of a changeset
    accepted_edit(request, answer)
  else
    M.allow(request, answer)
  end
end

return M
