-- Requests that wait for the user: edits, permissions, questions, and other registered kinds. No windows, no protocol.
-- A requester asks, the kind's presenter shows the request and settles it, the requester returns the answer to its origin.
-- Invariants: a request ends once; its requester gets one answer, or none if it has cancelled. Ids are assigned here.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local ide_safely = lazy("claude-ide.base.safely")
local log = lazy("claude-ide.base.log")

local M = {}

---Makes requests, such as a client of the server.
---@class claude-ide.requests.Requester: claude-ide.requests.RequesterFields
---@field id integer assigned here
---@field is_one_of_several? boolean the name tells the user which Claude it is

---@class claude-ide.requests.RequesterFields
---@field name string for the user
---@field client? integer claude-ide.Client.id, if it is a client
---@field writes "agent"|"editor" who writes an accepted edit
---@field takes_empty? boolean an empty new file is accepted, not taken for a rejection
---@field overwrites? boolean the writer of an accepted edit does not check whether the file has changed
---@field answer fun(handle: any, answer?: claude-ide.requests.Answer, err?: string) returns the answer to the origin; err: the user cannot be asked here
---@field tell fun(words: string, done?: fun(err?: string)): boolean? sends the user's reason for a rejection; true: `done` is called when Claude has it, else it goes with the answer
---@field cannot_hear fun(): string? why no reason can be sent now: a sentence without its full stop
---@field session? fun(): string? its session, if the client does not tell
---@field call? fun(handle: any): string? tool call of a request, if the requester reports results of calls
---@field asks_here? fun(): boolean the focus is on the requester's own prompt, over which no window must open
---@field title_if_several? fun(): string? what the user calls it where there are several
---@field map_keys? fun(buf: integer) maps the requester's own keys in a card, such as the one that interrupts its turn

---@class claude-ide.requests.Answer
---@field outcome string defined by the kind; "closed": no decision
---@field contents? string accepted edit: exact bytes to write
---@field on_top? boolean the file changed meanwhile, and the edit was merged with those changes
---@field report? any defined by the kind
---@field words? string reason of a rejection

---Kinds add fields of their own.
---@class claude-ide.Request
---@field id integer assigned here, increasing
---@field kind string
---@field requester claude-ide.requests.Requester
---@field handle any the requester's own data, opaque to others; nil after the end
---@field state string "pending", then the outcome: defined by the kind, or "closed" without a decision

---Shows requests of a kind. Ends them with `settle` and `fail`, and removes its windows then.
---@class claude-ide.requests.Presenter
---@field one string name of one waiting request
---@field many string
---@field present fun(request: claude-ide.Request)
---@field withdraw fun(request: claude-ide.Request, why?: string) removes a request that others have ended
---@field focus? fun(request: claude-ide.Request): boolean?, string? goes to the request's window; nil and a sentence if it cannot
---@field reject? fun(request: claude-ide.Request, round: claude-ide.comments.Round): boolean rejects it with comments; false: it has ended
---@field remote? fun(): claude-ide.requests.Remote if requests can be decided outside of this Neovim

---Decides requests of a kind without windows.
---@class claude-ide.requests.Remote
---@field describe fun(request: claude-ide.Request): claude-ide.requests.Described
---@field answer fun(request: claude-ide.Request, answer: claude-ide.requests.RemoteAnswer): string? err reason of a failure
---@field over? fun(request: claude-ide.Request) called when it has ended

---@class claude-ide.requests.Described
---@field kind "permission"|"question"|"plan"|"diff"|"code"
---@field title string
---@field destructive? boolean permission
---@field choices claude-ide.requests.Choice[]
---@field text? string
---@field files? { path: string, diff: string }[]
---@field questions? table[] as in AskUserQuestion; extensions: `questionOf` in web/decisions.js

---@class claude-ide.requests.Choice
---@field id string
---@field label string
---@field message? boolean may have a message to Claude
---@field answers? boolean requires answers

---@class claude-ide.requests.RemoteAnswer
---@field choice string
---@field message? string
---@field answers? table<string, string> by question

---@type table<string, claude-ide.requests.Presenter>
local presenters = {}
---In order of registration.
local kinds = {} ---@type string[]
---@type claude-ide.Request[] oldest first
local waiting = {}
local last_request, last_requester = 0, 0

---@param doing string for the log
---@param fn function
local function safely(doing, fn, ...)
  ide_safely.wrap(doing, fn)(...)
end

---@param kind string
---@param presenter claude-ide.requests.Presenter
function M.register(kind, presenter)
  if not presenters[kind] then
    kinds[#kinds + 1] = kind
  end
  presenters[kind] = presenter
end

---@param fields claude-ide.requests.RequesterFields
---@return claude-ide.requests.Requester
function M.requester(fields)
  last_requester = last_requester + 1
  ---@diagnostic disable-next-line: return-type-mismatch -- the id makes it one
  return vim.tbl_extend("error", fields, { id = last_requester })
end

---Ends a request. Later calls have no effect.
---@param request claude-ide.Request
---@param answer? claude-ide.requests.Answer
---@param err? string
---@return boolean ended false: it has ended before
local function finish(request, outcome, answer, err)
  if request.state ~= "pending" then
    return false
  end
  local handle = request.handle
  request.state, request.handle = outcome, nil
  for i, other in ipairs(waiting) do
    if other == request then
      table.remove(waiting, i)
      break
    end
  end
  if answer or err then
    safely("answer a question", request.requester.answer, handle, answer, err)
  end
  bus.emit("requests_changed", request)
  return true
end

---The user has decided.
---@param request claude-ide.Request
---@param answer claude-ide.requests.Answer
---@return boolean settled false: it has ended before
function M.settle(request, answer)
  return finish(request, answer.outcome, answer)
end

---The user cannot be asked here. The requester may have its own prompt.
---@param request claude-ide.Request
---@param message string for the requester
---@return boolean failed false: it has ended before
function M.fail(request, message)
  return finish(request, "closed", nil, message)
end

---@param request claude-ide.Request
---@param why? string for the user
---@param answer? claude-ide.requests.Answer
local function withdraw(request, why, answer)
  if finish(request, "closed", answer) then
    safely("take a question back", presenters[request.kind].withdraw, request, why)
  end
end

---The requester has cancelled: ends a request without an answer.
---@param request claude-ide.Request
---@param why? string for the user
function M.cancel(request, why)
  withdraw(request, why)
end

---Ends a request without a decision; the requester gets "closed".
---@param request claude-ide.Request
---@param why? string for the user
function M.close(request, why)
  withdraw(request, why, { outcome = "closed" })
end

---The user has decided outside of the presenter's windows, which are removed.
---@param request claude-ide.Request
---@param answer claude-ide.requests.Answer
---@return boolean settled false: it has ended before
function M.settle_elsewhere(request, answer)
  local settled = finish(request, answer.outcome, answer)
  if settled then
    safely("take an answered question away", presenters[request.kind].withdraw, request)
  end
  return settled
end

---How to decide a request remotely; nil: only in this Neovim.
---@param request claude-ide.Request
---@return claude-ide.requests.Remote?
function M.remote(request)
  local presenter = presenters[request.kind]
  return presenter and presenter.remote and presenter.remote()
end

---How to reject a request with comments; nil: it takes none.
---@param request claude-ide.Request
---@return (fun(request: claude-ide.Request, round: claude-ide.comments.Round): boolean)?
function M.rejection(request)
  return presenters[request.kind].reject
end

---Goes to a request's window.
---@param request claude-ide.Request
---@return boolean? ok
---@return string? err a sentence
function M.focus(request)
  local presenter = presenters[request.kind]
  if request.state ~= "pending" then
    return nil, "This request was answered."
  elseif not presenter.focus then
    return nil, "This request is shown where it was asked."
  end
  return presenter.focus(request)
end

---Closes matching requests.
---@param matches? fun(request: claude-ide.Request): boolean default: all
---@param why? string for the user
---@return integer count
function M.close_those(matches, why)
  local requests = M.pending(matches)
  for _, request in ipairs(requests) do
    M.close(request, why)
  end
  return #requests
end

---A requester is gone: cancels its requests.
---@param requester claude-ide.requests.Requester
---@param why? string for the user
function M.gone(requester, why)
  local its_own = M.pending(function(request)
    return request.requester == requester
  end)
  for _, request in ipairs(its_own) do
    M.cancel(request, why)
  end
end

---@param kind string registered
---@param requester claude-ide.requests.Requester
---@param handle any the requester's own data
---@param subject table the kind's fields; becomes the request
---@return claude-ide.Request
function M.ask(kind, requester, handle, subject)
  last_request = last_request + 1
  local request = subject
  request.id, request.kind, request.state = last_request, kind, "pending"
  request.requester, request.handle = requester, handle
  waiting[#waiting + 1] = request
  bus.emit("requests_changed")
  ide_safely.catch(presenters[kind].present, function(trace)
    log.error("%s %d cannot be put before the user: %s", kind, request.id, trace)
    M.fail(request, "the editor could not ask")
  end)(request)
  return request
end

---Waiting requests, oldest first.
---@param matches? fun(request: claude-ide.Request): boolean
---@return claude-ide.Request[]
function M.pending(matches)
  return vim.tbl_filter(matches or function()
    return true
  end, waiting)
end

---@param kind string
---@return integer
function M.count(kind)
  local count = 0
  for _, request in ipairs(waiting) do
    count = count + (request.kind == kind and 1 or 0)
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
