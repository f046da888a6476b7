-- Requests that wait for the user: edits, permissions, questions, and other registered kinds. No windows, no protocol.
-- A requester asks, the kind's presenter shows the request and settles it, the requester returns the answer to its origin.
-- Invariants: a request ends once; its requester gets one answer, or none if it has cancelled. Ids are assigned here.
local M = {}

---Makes requests, such as a client of the server.
---@class claude-ide.decisions.Requester: claude-ide.decisions.RequesterFields
---@field id integer assigned here
---@field is_one_of_several? boolean the name tells the user which Claude it is

---@class claude-ide.decisions.RequesterFields
---@field name string for the user
---@field client? integer claude-ide.Client.id, if it is a client
---@field writes "agent"|"editor" who writes an accepted edit
---@field takes_empty? boolean an empty new file is accepted, not taken for a rejection
---@field overwrites? boolean the writer of an accepted edit does not check whether the file has changed
---@field answer fun(handle: any, answer?: claude-ide.decisions.Answer, err?: string) returns the answer to the origin; err: the user cannot be asked here
---@field tell fun(words: string) sends the user's reason for a rejection
---@field cannot_hear fun(): string? why no reason can be sent now: a sentence without its full stop
---@field session? fun(): string? its session, if the client does not tell
---@field call? fun(handle: any): string? tool call of a request, if the requester reports results of calls
---@field asks_here? fun(): boolean the focus is on the requester's own prompt, over which no window must open
---@field map_keys? fun(buf: integer) maps the requester's own keys in a card, such as the one that interrupts its turn

---@class claude-ide.decisions.Answer
---@field outcome string defined by the kind; "closed": no decision
---@field contents? string accepted edit: exact bytes to write
---@field on_top? boolean the file changed meanwhile, and the edit was merged with those changes
---@field report? any defined by the kind
---@field words? string reason of a rejection

---Kinds add fields of their own.
---@class claude-ide.Decision
---@field id integer assigned here, increasing
---@field kind string
---@field requester claude-ide.decisions.Requester
---@field handle any the requester's own data, opaque to others; nil after the end
---@field state string "pending", then the outcome: defined by the kind, or "closed" without a decision

---Shows requests of a kind. Ends them with `settle` and `fail`, and removes its windows then.
---@class claude-ide.decisions.Presenter
---@field one string name of one waiting request
---@field many string
---@field present fun(decision: claude-ide.Decision)
---@field withdraw fun(decision: claude-ide.Decision, why?: string) removes a request that others have ended
---@field focus? fun(decision: claude-ide.Decision): boolean?, string? goes to the request's window; nil and a sentence if it cannot
---@field remote? fun(): claude-ide.decisions.Remote if requests can be decided outside of this Neovim

---Decides requests of a kind without windows.
---@class claude-ide.decisions.Remote
---@field describe fun(decision: claude-ide.Decision): claude-ide.decisions.Described
---@field answer fun(decision: claude-ide.Decision, answer: claude-ide.decisions.RemoteAnswer): string? err reason of a failure
---@field over? fun(decision: claude-ide.Decision) called when it has ended

---@class claude-ide.decisions.Described
---@field kind "permission"|"question"|"plan"|"diff"|"code"
---@field title string
---@field destructive? boolean permission
---@field choices claude-ide.decisions.Choice[]
---@field text? string
---@field files? { path: string, diff: string }[]
---@field questions? table[] as in AskUserQuestion; extensions: `questionOf` in web/decisions.js

---@class claude-ide.decisions.Choice
---@field id string
---@field label string
---@field message? boolean may have a message to Claude
---@field answers? boolean requires answers

---@class claude-ide.decisions.RemoteAnswer
---@field choice string
---@field message? string
---@field answers? table<string, string> by question

---@type table<string, claude-ide.decisions.Presenter>
local presenters = {}
---In order of registration.
local kinds = {} ---@type string[]
---@type claude-ide.Decision[] oldest first
local waiting = {}
local last_decision, last_requester = 0, 0

---@param doing string for the log
---@param fn function
local function safely(doing, fn, ...)
  require("claude-ide.safely").wrap(doing, fn)(...)
end

---@param kind string
---@param presenter claude-ide.decisions.Presenter
function M.register(kind, presenter)
  if not presenters[kind] then
    kinds[#kinds + 1] = kind
  end
  presenters[kind] = presenter
end

---@param fields claude-ide.decisions.RequesterFields
---@return claude-ide.decisions.Requester
function M.requester(fields)
  last_requester = last_requester + 1
  ---@diagnostic disable-next-line: return-type-mismatch -- the id makes it one
  return vim.tbl_extend("error", fields, { id = last_requester })
end

---Ends a request. Later calls have no effect.
---@param decision claude-ide.Decision
---@param answer? claude-ide.decisions.Answer
---@param err? string
---@return boolean ended false: it has ended before
local function finish(decision, outcome, answer, err)
  if decision.state ~= "pending" then
    return false
  end
  local handle = decision.handle
  decision.state, decision.handle = outcome, nil
  for i, other in ipairs(waiting) do
    if other == decision then
      table.remove(waiting, i)
      break
    end
  end
  if answer or err then
    safely("answer a question", decision.requester.answer, handle, answer, err)
  end
  require("claude-ide.bus").emit("decisions_changed", decision)
  return true
end

---The user has decided.
---@param decision claude-ide.Decision
---@param answer claude-ide.decisions.Answer
---@return boolean settled false: it has ended before
function M.settle(decision, answer)
  return finish(decision, answer.outcome, answer)
end

---The user cannot be asked here. The requester may have its own prompt.
---@param decision claude-ide.Decision
---@param message string for the requester
---@return boolean failed false: it has ended before
function M.fail(decision, message)
  return finish(decision, "closed", nil, message)
end

---@param decision claude-ide.Decision
---@param why? string for the user
---@param answer? claude-ide.decisions.Answer
local function withdraw(decision, why, answer)
  if finish(decision, "closed", answer) then
    safely("take a question back", presenters[decision.kind].withdraw, decision, why)
  end
end

---The requester has cancelled: ends a request without an answer.
---@param decision claude-ide.Decision
---@param why? string for the user
function M.cancel(decision, why)
  withdraw(decision, why)
end

---Ends a request without a decision; the requester gets "closed".
---@param decision claude-ide.Decision
---@param why? string for the user
function M.close(decision, why)
  withdraw(decision, why, { outcome = "closed" })
end

---The user has decided outside of the presenter's windows, which are removed.
---@param decision claude-ide.Decision
---@param answer claude-ide.decisions.Answer
---@return boolean settled false: it has ended before
function M.settle_elsewhere(decision, answer)
  local settled = finish(decision, answer.outcome, answer)
  if settled then
    safely("take an answered question away", presenters[decision.kind].withdraw, decision)
  end
  return settled
end

---How to decide a request remotely; nil: only in this Neovim.
---@param decision claude-ide.Decision
---@return claude-ide.decisions.Remote?
function M.remote(decision)
  local presenter = presenters[decision.kind]
  return presenter and presenter.remote and presenter.remote()
end

---Goes to a request's window.
---@param decision claude-ide.Decision
---@return boolean? ok
---@return string? err a sentence
function M.focus(decision)
  local presenter = presenters[decision.kind]
  if decision.state ~= "pending" then
    return nil, "It was answered."
  elseif not presenter.focus then
    return nil, "It is shown where it was asked."
  end
  return presenter.focus(decision)
end

---Closes matching requests.
---@param matches? fun(decision: claude-ide.Decision): boolean default: all
---@param why? string for the user
---@return integer count
function M.close_those(matches, why)
  local decisions = M.pending(matches)
  for _, decision in ipairs(decisions) do
    M.close(decision, why)
  end
  return #decisions
end

---A requester is gone: cancels its requests.
---@param requester claude-ide.decisions.Requester
---@param why? string for the user
function M.gone(requester, why)
  local its_own = M.pending(function(decision)
    return decision.requester == requester
  end)
  for _, decision in ipairs(its_own) do
    M.cancel(decision, why)
  end
end

---@param kind string registered
---@param requester claude-ide.decisions.Requester
---@param handle any the requester's own data
---@param subject table the kind's fields; becomes the request
---@return claude-ide.Decision
function M.ask(kind, requester, handle, subject)
  last_decision = last_decision + 1
  local decision = subject
  decision.id, decision.kind, decision.state = last_decision, kind, "pending"
  decision.requester, decision.handle = requester, handle
  waiting[#waiting + 1] = decision
  require("claude-ide.bus").emit("decisions_changed")
  require("claude-ide.safely").catch(presenters[kind].present, function(trace)
    require("claude-ide.log").error("%s %d cannot be put before the user: %s", kind, decision.id, trace)
    M.fail(decision, "the editor could not ask")
  end)(decision)
  return decision
end

---Waiting requests, oldest first.
---@param matches? fun(decision: claude-ide.Decision): boolean
---@return claude-ide.Decision[]
function M.pending(matches)
  return vim.tbl_filter(matches or function()
    return true
  end, waiting)
end

---@param kind string
---@return integer
function M.count(kind)
  local count = 0
  for _, decision in ipairs(waiting) do
    count = count + (decision.kind == kind and 1 or 0)
  end
  return count
end

---Counts of waiting requests: "2 diffs".
---@return string[] phrases one per kind
function M.phrases()
  local phrases = {}
  for _, kind in ipairs(kinds) do
    local count = M.count(kind)
    if count > 0 then
      phrases[#phrases + 1] = ("%d %s"):format(
        count,
        count == 1 and presenters[kind].one or presenters[kind].many
      )
    end
  end
  return phrases
end

return M
