-- Edits that somebody proposes and a person decides on. The facade: what the tools, the commands and other people call.
local M = {}

---Shows a proposed edit, and has its source told when the person has decided.
---@param source claude-ide.decisions.Source
---@param request any what the source knows it by
---@param edit claude-ide.diff.Edit
---@return claude-ide.Diff
function M.propose(source, request, edit)
  M.attach()
  return require("claude-ide.diff.state").propose(source, request, edit)
end

---@param diff claude-ide.Diff
---@return boolean
local function is_here(diff)
  local entry = require("claude-ide.diff.on_screen").get(diff.id)
  return entry ~= nil and entry.view ~= nil and require("claude-ide.diff.view").is_current(entry.view)
end

---The diff that a command without an id means: the one in this tab, else the one that has waited longest.
---@param id? integer
---@return claude-ide.Diff?
---@return string? err
local function find(id)
  local state = require("claude-ide.diff.state")
  if id then
    local diff = state.get(id)
    return diff, not diff and ("There is no diff %d that waits."):format(id) or nil
  end
  local diff = state.pending(is_here)[1] or state.pending()[1]
  return diff, not diff and "No diff waits for a decision." or nil
end

---Whether the person can have seen a diff.
---@param diff claude-ide.Diff
---@return boolean
local function is_seen(diff)
  local entry = require("claude-ide.diff.on_screen").get(diff.id)
  return entry ~= nil
    and entry.text ~= nil
    and require("claude-ide.diff.seen").is_seen(entry.text.bufs.proposal)
end

---The diff that is to be decided. One that was not named and that the person has not seen is shown instead.
---@param id? integer
---@return claude-ide.Diff?
---@return string? err
local function find_to_decide(id)
  local diff, err = find(id)
  if not diff or id or is_seen(diff) then
    return diff, err
  end
  local ok, why = M.focus(diff.id)
  return nil, not ok and why or ("Look at %s first, then decide."):format(vim.fs.basename(diff.path))
end

---Accepts a proposal as it now stands.
---@param id? integer default: the diff in the current tab, else the one that has waited longest, if it has been on the screen
---@return boolean? ok
---@return string? err
function M.accept(id)
  local diff, err = find_to_decide(id)
  if not diff then
    return nil, err
  end
  return require("claude-ide.diff.presenter").accept(diff)
end

---Rejects a proposal.
---@param id? integer default: as for `accept`
---@param reason? string becomes Claude's next prompt where it runs in our terminal, else it is kept in a register
---@return boolean? ok
---@return string? err
function M.reject(id, reason)
  local diff, err = find_to_decide(id)
  if not diff then
    return nil, err
  end
  require("claude-ide.diff.presenter").reject(diff, reason)
  return true
end

---Goes to a diff, also to one that waits for a pause in typing.
---@param id? integer default: the one that has waited longest
---@return boolean? ok
---@return string? err
function M.focus(id)
  local diff, err = find(id)
  if not diff then
    return nil, err
  end
  local entry = require("claude-ide.diff.on_screen").get(diff.id)
  if not entry or not entry.text then
    return nil, "The diff is still being made."
  elseif vim.fn.getcmdwintype() ~= "" then
    return nil, "Close the command-line window first."
  elseif require("claude-ide.ui.quietly").windows_are_locked() then
    return nil, "No window can be opened now."
  end
  require("claude-ide.ui.attention").forget(diff.id)
  if not require("claude-ide.diff.presenter").show(entry, { asked = true }) then
    return nil, "The diff cannot be shown."
  end
  require("claude-ide.diff.view").focus(entry.view --[[@as claude-ide.diff.View]])
  return true
end

---Decides on all diffs that wait, as they now stand.
---@param outcome "accepted"|"rejected"
---@return integer count of those that are decided; one that cannot be accepted says so and stays
function M.decide_all(outcome)
  local presenter, count = require("claude-ide.diff.presenter"), 0
  for _, diff in ipairs(require("claude-ide.diff.state").pending()) do
    if outcome == "rejected" then
      presenter.reject(diff)
    else
      presenter.accept_or_say(diff)
    end
    count = count + (diff.state ~= "pending" and 1 or 0)
  end
  return count
end

---Goes from diff to diff, around the end too.
---@param direction 1|-1 1: to the one that has waited less long
---@return boolean? ok
---@return string? err
function M.step(direction)
  local diffs = require("claude-ide.diff.state").pending()
  if #diffs == 0 then
    return nil, "No diff waits for a decision."
  end
  local at = direction == 1 and 0 or 1
  for i, diff in ipairs(diffs) do
    at = is_here(diff) and i or at
  end
  return M.focus(diffs[(at - 1 + direction) % #diffs + 1].id)
end

---@class claude-ide.diff.Item one diff that waits, for lists and pickers
---@field id integer
---@field source string what the person calls whoever proposed it
---@field client? integer nil: it was no client that proposed it
---@field path string
---@field tab_name string
---@field added? integer lines; nil: it is still being made
---@field removed? integer lines
---@field first? integer line of the present text that the first change is in
---@field against? "disk"|"buffer"|"nothing"
---@field tab? integer tabpage handle; nil: not on the screen yet
---@field current boolean it is in the current tab
---@field seen boolean it has been on the screen, long enough to be looked at: what decides on no diff by its id decides on it

---@return claude-ide.diff.Item[] the longest waiting first
function M.list()
  return vim.tbl_map(function(diff)
    local entry = require("claude-ide.diff.on_screen").get(diff.id) or {}
    local text, view = entry.text, entry.view
    return {
      id = diff.id,
      source = diff.source.name,
      client = diff.source.client,
      path = diff.path,
      tab_name = diff.tab_name,
      added = text and text.comparison.added,
      removed = text and text.comparison.removed,
      first = text and text.comparison.hunks[1] and text.comparison.hunks[1].old,
      against = text and text.now.against,
      tab = view and view.tab,
      current = is_here(diff),
      seen = is_seen(diff),
    }
  end, require("claude-ide.diff.state").pending())
end

---How many diffs wait.
---@return integer
function M.count()
  return require("claude-ide.diff.state").count()
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
  })
  local hub, keys = require("claude-ide.hub"), require("claude-ide.ui.typing")
  hub.on("decisions_changed", function()
    require("claude-ide.diff.upkeep").recount()
  end)
  hub.on("client_ready", function()
    keys.attach("clients")
  end)
  hub.on("client_disconnected", function()
    if #require("claude-ide.server").clients() == 0 then
      keys.detach("clients")
    end
  end)
  hub.on("server_stopped", function()
    keys.detach("clients")
  end)
end

return M
