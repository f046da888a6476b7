-- Sends the user's decisions to the agent.
-- Invariant: if an answer cannot carry changes, the editor writes the user's version of an edit, and the agent is informed.
local lazy = require("claude-ide.lazy")
local changed = lazy("claude-ide.chat.acp.changed")
local changed_calls = lazy("claude-ide.requests.changed_calls")
local edit = lazy("claude-ide.chat.edit")
local files = lazy("claude-ide.chat.acp.files")
local kept_words = lazy("claude-ide.ui.kept_words")
local notice = lazy("claude-ide.base.notice")
local unapproved = lazy("claude-ide.edits.unapproved")

local M = {}

---@class claude-ide.chat.Answer : claude-ide.requests.Answer
---@field choice? string id; nil: the one that allows this once
---@field rules? integer[] 0-based rules that hold from now on
---@field changes? table<string, any> changed arguments
---@field mode? string the mode that follows
---@field message? string reason for the agent

---Allows the request.
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
    notice.error(("%s offers no way to allow this, so nothing was allowed."):format(chat.name))
  end
  request.send({
    allow = {
      request = request.id,
      choice = answer.choice,
      rules = answer.rules or {},
      mode = answer.mode,
      changes = answer.changes and next(answer.changes) and answer.changes or vim.empty_dict(),
    },
  })
end

---@param chat claude-ide.chat.Chat
---@param call string
---@param status "rejected"|"changed"
local function refuse(chat, call, status)
  chat.refused[call] = status
  chat.store:refuse(call, status)
end

---Denies the request.
---@param request claude-ide.chat.Request
---@param opts { choice?: string, message?: string, status?: "rejected"|"changed" }
function M.deny(request, opts)
  local chat, ask = request.chat, request.ask
  if ask.call then
    refuse(chat, ask.call, opts.status or "rejected")
  end
  for _, path in ipairs(ask.paths or {}) do
    unapproved.refused(chat, path)
  end
  request.send({ deny = { request = request.id, choice = opts.choice, message = opts.message } })
end

---Answers a request that the user has not decided.
---@param request claude-ide.chat.Request
---@param message? string
function M.unanswered(request, message)
  if request.ask.call then
    refuse(request.chat, request.ask.call, "rejected")
  end
  request.send({ unanswered = { request = request.id, message = message } })
end

---If an agent's answers carry no message, it is sent as the next prompt.
local function say_as_prompt(chat, words)
  if not chat:say(words) then
    kept_words.give_back(words, ("%s is gone"):format(chat.name))
  end
end

---@param request claude-ide.chat.Request
---@param answer claude-ide.proposal.PlanAnswer
local function accepted_files(request, answer)
  local chat, became = request.chat, edit.became_of(answer)
  for _, one in ipairs(became) do
    if answer.written and one.accepted then
      unapproved.approved(chat, one.path)
    elseif one.bytes then
      files.accept(chat, one.path, one.bytes, one.accepted)
    end
  end
  if not answer.written then
    return M.allow(request, { outcome = "accepted" })
  end
  M.deny(request, { status = "changed" })
  changed.tell(chat, became, answer.report.words)
end

---Answers an accepted edit. The user's changes to it are part of the answer, or are written by the editor and reported to the agent.
---@param request claude-ide.chat.Request
---@param answer claude-ide.chat.Answer
local function accepted_edit(request, answer)
  local chat = request.chat
  if answer.jobs then ---@diagnostic disable-line: undefined-field -- of a changeset
    return accepted_files(request, answer --[[@as claude-ide.proposal.PlanAnswer]])
  end
  local proposed, accepted =
    request.proposed, --[[@as string]]
    answer.contents
  if request.ask.takes_changes then
    return M.allow(request, {
      outcome = "accepted",
      changes = edit.arguments_for(request, accepted or proposed --[[@as string]]),
    })
  end
  local asked = request.ask.edit --[[@as claude-ide.chat.AskedEdit]]
  local path = asked.path
  local bytes = accepted and files.in_its_encoding(path, accepted, request.on_disk)
  if not bytes or accepted == proposed then
    if bytes then
      files.accept(chat, path, bytes, accepted)
    end
    return M.allow(request, answer)
  end
  local ok, why = files.put(chat, path, bytes)
  if not ok then
    notice.error(("%s was not written: %s."):format(path, why or "unknown"))
    return request.send({ unanswered = { request = request.id } })
  end
  M.deny(request, { status = "changed" })
  local became = { path = path, proposed = proposed, accepted = accepted }
  changed.tell(chat, { became }, nil, answer.on_top)
end

---@param request claude-ide.chat.Request
---@param answer? claude-ide.chat.Answer
---@param err? string
function M.take(request, answer, err)
  if request.reply then
    return request.reply(answer, err)
  end
  local chat, ask = request.chat, request.ask
  local words = chat.requester_words
  chat.requester_words = nil
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
    for name, value in pairs(answer.changes or {}) do
      -- The call's own line is as Claude made it.
      chat.store:put("notice", changed_calls.said(name, tostring(value)))
    end
  end
end

return M
