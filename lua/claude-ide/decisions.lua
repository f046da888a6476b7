-- What waits for a user to decide, whoever asked for it: an edit today, and any other kind that is registered. No windows, no wire.
-- A source asks, the presenter of the kind puts it before the user and settles it, the source takes the answer back to where
-- the question came from.
-- Invariants: a decision ends once; its source gets one answer, or none where it no longer waits. Ids are made here.
local M = {}

---One that asks, as long as it is there: a client of the server, for one.
---@class claude-ide.decisions.Source
---@field id integer made here
---@field name string what the user calls it
---@field client? integer claude-ide.Client.id, where it is one
---@field writes "agent"|"editor" who writes an edit that is accepted
---@field takes_empty? boolean an empty new file can be accepted: it does not take that for a no
---@field overwrites? boolean whoever writes what is accepted does not look whether the file is another one by then
---@field answer fun(request: any, answer?: claude-ide.decisions.Answer, err?: string) takes it to where the question came from; err: nobody can be asked here
---@field tell fun(words: string) what the user says to it, who rejected what it asked
---@field cannot_hear fun(): string? why words cannot be told to it now: a sentence without its end
---@field session? fun(): string? the session that it asks in, where its client does not tell
---@field call? fun(request: any): string? the call that a request is about, where it tells what becomes of calls

---@class claude-ide.decisions.Answer
---@field outcome string a word of the kind; "closed": nobody decided
---@field contents? string of an edit that is accepted: the exact bytes to write
---@field on_top? boolean they are the edit of a file that others changed while it waited, with what those changed
---@field report? any of a kind that has more to tell
---@field words? string of the user, who rejected it

---A kind may know more of each of its own.
---@class claude-ide.Decision
---@field id integer made here; what is asked for later has a higher one
---@field kind string
---@field source claude-ide.decisions.Source
---@field request any what the source knows it by; nobody else looks into it. nil from its end on
---@field state string "pending", then how it ended: a word of the kind, or "closed" where nobody decided

---What puts the decisions of a kind before the user. It ends them with `settle` and `fail`, and takes away then what it shows.
---@class claude-ide.decisions.Presenter
---@field one string what one that waits is called
---@field many string
---@field present fun(decision: claude-ide.Decision)
---@field withdraw fun(decision: claude-ide.Decision, why?: string) it was not the presenter that ended it
---@field remote? fun(): claude-ide.decisions.Remote where somebody can decide who does not see this Neovim

---How a kind is decided without its windows.
---@class claude-ide.decisions.Remote
---@field describe fun(decision: claude-ide.Decision): claude-ide.decisions.Described
---@field answer fun(decision: claude-ide.Decision, answer: claude-ide.decisions.RemoteAnswer): string? why it could not be done
---@field over? fun(decision: claude-ide.Decision) it has ended

---@class claude-ide.decisions.Described
---@field kind "permission"|"question"|"plan"|"diff"|"code"
---@field title string
---@field choices claude-ide.decisions.Choice[]
---@field text? string
---@field files? { path: string, diff: string }[]
---@field questions? table[] as AskUserQuestion has them; what more one may have: `questionOf` in web/decisions.js

---@class claude-ide.decisions.Choice
---@field id string
---@field label string
---@field message? boolean words to Claude may go with it
---@field answers? boolean it needs answers

---@class claude-ide.decisions.RemoteAnswer
---@field choice string
---@field message? string
---@field answers? table<string, string> by question

---@type table<string, claude-ide.decisions.Presenter>
local presenters = {}
---In the order in which they came.
local kinds = {} ---@type string[]
---@type claude-ide.Decision[] the longest waiting first
local waiting = {}
local last_decision, last_source = 0, 0

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

---@class claude-ide.decisions.SourceFields what `claude-ide.decisions.Source` is made from
---@field name string
---@field client? integer
---@field writes "agent"|"editor"
---@field takes_empty? boolean
---@field overwrites? boolean
---@field answer fun(request: any, answer?: claude-ide.decisions.Answer, err?: string)
---@field tell fun(words: string)
---@field cannot_hear fun(): string?
---@field session? fun(): string?
---@field call? fun(request: any): string?

---@param fields claude-ide.decisions.SourceFields
---@return claude-ide.decisions.Source
function M.source(fields)
  last_source = last_source + 1
  ---@diagnostic disable-next-line: return-type-mismatch -- the id makes it one
  return vim.tbl_extend("error", fields, { id = last_source })
end

---Ends a decision. The first call ends it, later ones change nothing.
---@param decision claude-ide.Decision
---@param answer? claude-ide.decisions.Answer
---@param err? string
---@return boolean ended false: it had ended before
local function finish(decision, outcome, answer, err)
  if decision.state ~= "pending" then
    return false
  end
  local request = decision.request
  decision.state, decision.request = outcome, nil
  for i, other in ipairs(waiting) do
    if other == decision then
      table.remove(waiting, i)
      break
    end
  end
  if answer or err then
    safely("answer a question", decision.source.answer, request, answer, err)
  end
  require("claude-ide.bus").emit("decisions_changed")
  return true
end

---The user has decided.
---@param decision claude-ide.Decision
---@param answer claude-ide.decisions.Answer
---@return boolean settled false: it had ended before
function M.settle(decision, answer)
  return finish(decision, answer.outcome, answer)
end

---The user cannot be asked here. Whoever asked may have a prompt of its own for it.
---@param decision claude-ide.Decision
---@param message string for who asked
---@return boolean failed false: it had ended before
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

---Its source no longer waits: it ends without an answer.
---@param decision claude-ide.Decision
---@param why? string for the user
function M.cancel(decision, why)
  withdraw(decision, why)
end

---It is of no use any more, and nobody has decided. Its source is told just that.
---@param decision claude-ide.Decision
---@param why? string for the user
function M.close(decision, why)
  withdraw(decision, why, { outcome = "closed" })
end

---The user has decided, away from what shows it: that goes.
---@param decision claude-ide.Decision
---@param answer claude-ide.decisions.Answer
---@return boolean settled false: it had ended before
function M.settle_elsewhere(decision, answer)
  local settled = finish(decision, answer.outcome, answer)
  if settled then
    safely("take an answered question away", presenters[decision.kind].withdraw, decision)
  end
  return settled
end

---How a decision is made without its windows; nil where only this Neovim can.
---@param decision claude-ide.Decision
---@return claude-ide.decisions.Remote?
function M.remote(decision)
  local presenter = presenters[decision.kind]
  return presenter and presenter.remote and presenter.remote()
end

---Closes those that match.
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

---A source is gone, and with it all that it waits for.
---@param source claude-ide.decisions.Source
---@param why? string for the user
function M.gone(source, why)
  local its_own = M.pending(function(decision)
    return decision.source == source
  end)
  for _, decision in ipairs(its_own) do
    M.cancel(decision, why)
  end
end

---Asks the user.
---@param kind string a registered one
---@param source claude-ide.decisions.Source
---@param request any what the source knows it by
---@param subject table what the kind knows of it beside; becomes the decision
---@return claude-ide.Decision
function M.ask(kind, source, request, subject)
  last_decision = last_decision + 1
  local decision = subject
  decision.id, decision.kind, decision.state = last_decision, kind, "pending"
  decision.source, decision.request = source, request
  waiting[#waiting + 1] = decision
  require("claude-ide.bus").emit("decisions_changed")
  require("claude-ide.safely").catch(presenters[kind].present, function(trace)
    require("claude-ide.log").error("%s %d cannot be put before the user: %s", kind, decision.id, trace)
    M.fail(decision, "the editor could not ask")
  end)(decision)
  return decision
end

---The decisions that wait, the longest waiting first.
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

---What waits, in words: "2 diffs".
---@return string[] one for each kind that any waits of
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
