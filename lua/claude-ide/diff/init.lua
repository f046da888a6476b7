-- Edits that somebody proposes and a user decides on. The facade: what the tools, the commands and other people call.
local M = {}

---Shows a proposed edit, and has its source told when the user has decided.
---@param source claude-ide.decisions.Source
---@param request any what the source knows it by
---@param edit claude-ide.diff.Edit
---@return claude-ide.Diff
function M.propose(source, request, edit)
  M.attach()
  return require("claude-ide.diff.state").propose(source, request, edit)
end

---The proposed edits that wait for the user, of one file or of several, the longest waiting first.
---@param matches? fun(decision: claude-ide.Decision): boolean
---@return claude-ide.Decision[]
local function pending(matches)
  local decisions = require("claude-ide.decisions")
  return decisions.pending(function(decision)
    local edits = decisions.edits(decision)
    ---@cast decision claude-ide.Changeset one that is not asked for is none to decide on
    return edits ~= nil and not decision.unasked and (not matches or matches(decision))
  end)
end

---@param decision claude-ide.Decision of `pending`
---@return claude-ide.decisions.Edits
local function edits_of(decision)
  return require("claude-ide.decisions").edits(decision) --[[@as claude-ide.decisions.Edits]]
end

---@param decision claude-ide.Decision
---@return boolean
local function is_here(decision)
  return edits_of(decision).is_here(decision)
end

---The edit that a command without an id means: the one in this tab, else the one that has waited longest.
---@param id? integer
---@return claude-ide.Decision?
---@return string? err
local function find(id)
  if id then
    local named = pending(function(decision)
      return decision.id == id
    end)[1]
    return named, not named and ("There is no diff %d that waits."):format(id) or nil
  end
  local decision = pending(is_here)[1] or pending()[1]
  return decision, not decision and "No diff waits for a decision." or nil
end

---The edit that is to be decided. One that was not named and that the user has not seen is shown instead.
---@param id? integer
---@return claude-ide.Decision?
---@return string? err
local function find_to_decide(id)
  local decision, err = find(id)
  if not decision or id or edits_of(decision).is_seen(decision) then
    return decision, err
  end
  local ok, why = M.focus(decision.id)
  return nil, not ok and why or ("Look at %s first, then decide."):format(edits_of(decision).called(decision))
end

---Accepts a proposal as it now stands.
---@param id? integer default: the one in the current tab, else the one that has waited longest, if it has been on the screen
---@return boolean? ok
---@return string? err
function M.accept(id)
  local decision, err = find_to_decide(id)
  if not decision then
    return nil, err
  end
  return edits_of(decision).accept(decision)
end

---Rejects a proposal.
---@param id? integer default: as for `accept`
---@param reason? string becomes Claude's next prompt where it runs in our terminal, else it is kept in a register
---@return boolean? ok
---@return string? err
function M.reject(id, reason)
  local decision, err = find_to_decide(id)
  if not decision then
    return nil, err
  end
  edits_of(decision).reject(decision, reason)
  return true
end

---Goes to a proposal, also to one that waits for a pause in typing.
---@param id? integer default: the one that has waited longest
---@param path? string of a file that it is of: that one is shown
---@return boolean? ok
---@return string? err
function M.focus(id, path)
  local decision, err = find(id)
  if not decision then
    return nil, err
  end
  return edits_of(decision).focus(decision, path)
end

---Decides on all proposals that wait, as they now stand.
---@param outcome "accepted"|"rejected"
---@return integer count of those that are decided; one that cannot be accepted says so and stays
function M.decide_all(outcome)
  local count = 0
  for _, decision in ipairs(pending()) do
    local edits = edits_of(decision)
    local ok, err = true, nil ---@type boolean?, string?
    if outcome == "rejected" then
      edits.reject(decision)
    else
      ok, err = edits.accept(decision)
    end
    if err then
      require("claude-ide.ui.notice").error(err)
    end
    count = count + ((ok or decision.state ~= "pending") and 1 or 0)
  end
  return count
end

---Goes from proposal to proposal, around the end too.
---@param direction 1|-1 1: to the one that has waited less long
---@return boolean? ok
---@return string? err
function M.step(direction)
  local waiting = pending()
  if #waiting == 0 then
    return nil, "No diff waits for a decision."
  end
  local at = direction == 1 and 0 or 1
  for i, decision in ipairs(waiting) do
    at = is_here(decision) and i or at
  end
  return M.focus(waiting[(at - 1 + direction) % #waiting + 1].id)
end

---@class claude-ide.diff.ItemFile
---@field path string
---@field added integer lines
---@field removed integer lines
---@field first? integer line of the present text that the first change is in

---@class claude-ide.diff.Item one proposal that waits, for lists and pickers
---@field id integer
---@field source string what the user calls whoever proposed it
---@field client? integer nil: it was no client that proposed it
---@field path string of several files: the first
---@field tab_name string of several files: what it is about
---@field files? claude-ide.diff.ItemFile[] where it is of several
---@field added? integer lines; nil: it is still being made
---@field removed? integer lines
---@field first? integer line of the present text that the first change is in
---@field against? "disk"|"buffer"|"nothing"
---@field tab? integer tabpage handle; nil: not on the screen yet
---@field current boolean it is in the current tab
---@field seen boolean it has been on the screen, long enough to be looked at: what decides on no diff by its id decides on it

---@return claude-ide.diff.Item[] the longest waiting first
function M.list()
  return vim.tbl_map(function(decision)
    local edits = edits_of(decision)
    local item = edits.item(decision) --[[@as claude-ide.diff.Item]]
    item.id, item.source, item.client = decision.id, decision.source.name, decision.source.client
    item.current, item.seen = edits.is_here(decision), edits.is_seen(decision)
    return item
  end, pending())
end

---How many proposals wait.
---@return integer
function M.count()
  return #pending()
end

---A source has said that the edits of its turn are over: the screen need not wait for another one.
---@param source claude-ide.decisions.Source
function M.end_of_turn(source)
  require("claude-ide.diff.on_screen").end_of_turn(source)
end

---A call of a source came to an end: what was accepted for it is written, or the tool refused.
---@param source claude-ide.decisions.Source
---@param call string
---@param result claude-ide.sessions.ToolResult
function M.call_ended(source, call, result)
  require("claude-ide.diff.unwritten").ended(source, call, result)
end

---A source is gone that told of its calls.
---@param source claude-ide.decisions.Source
function M.source_gone(source)
  require("claude-ide.diff.unwritten").gone(source)
end

local attached = false

---Makes edits a kind of decision and listens to the hub, once. From the first client on the keys are watched, so that a diff
---knows whether somebody types.
function M.attach()
  if attached then
    return
  end
  attached = true
  require("claude-ide.diff.state").register({
    one = "diff",
    many = "diffs",
    present = function(decision)
      require("claude-ide.diff.presenter").present(decision --[[@as claude-ide.Diff]])
    end,
    withdraw = function(decision, why)
      require("claude-ide.diff.presenter").withdraw(decision --[[@as claude-ide.Diff]], why)
    end,
    remote = function()
      return require("claude-ide.diff.remote") --[[@as claude-ide.decisions.Remote]]
    end,
    edits = function()
      return require("claude-ide.diff.as_edit") --[[@as claude-ide.decisions.Edits]]
    end,
  })
  local hub, keys = require("claude-ide.hub"), require("claude-ide.ui.guard.keys")
  hub.on("decisions_changed", function()
    require("claude-ide.diff.upkeep").recount()
  end)
  hub.on("client_ready", keys.listen)
end

return M
