-- What the user decides on Claude's changes: kept, or taken back, hunk by hunk, file by file, turn by turn.
-- Invariant: what the user changed since is never taken back with them.
local M = {}

---@return table
local function histories()
  return require("claude-ide.journal.history")
end

---@param action "keep"|"undo"
---@param path string
---@param hunk? claude-ide.journal.Hunk
local function reviewed(action, path, hunk)
  require("claude-ide.event").emit("ClaudeReviewed", { action = action, path = path, hunk = hunk })
  require("claude-ide.journal.changed").tell()
end

---@param path string
---@param scope? claude-ide.journal.Scope
---@return claude-ide.journal.View?
---@return string? err
local function view_of(path, scope)
  local history = histories().find(path)
  if history and history.turn then
    -- Claude may have written it and nobody looked yet.
    require("claude-ide.journal.observe").look_now(history)
  end
  local view = history and require("claude-ide.journal.changes").view(history, scope or "unreviewed")
  if not view then
    return nil, "Claude has changed nothing there that waits for a review."
  end
  return view
end

---Takes a hunk, or all of a file, as reviewed.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes(scope)`
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return boolean? ok
---@return string? err
function M.keep(path, hunk, scope)
  local changes = require("claude-ide.journal.changes")
  local view, err = view_of(path, scope)
  if not view then
    return nil, err
  end
  local buf = require("claude-ide.buffer").find(path)
  if buf and vim.bo[buf].modified then
    -- The history is of what was on disk: unsaved text is not part of it.
    view = changes.of_disk(view.history, scope or "unreviewed") or view
  end
  local chosen = view.regions ---@type claude-ide.journal.Region[]
  if hunk then
    local index = changes.find(view, hunk)
    if not index then
      return nil, "The text has changed since. Save it first if it has unsaved changes."
    end
    chosen = vim.list_slice(view.regions, index, index)
  end
  local rest = changes.waiting_without(view, chosen)
  if #rest == #(view.waiting or view.regions) then
    return nil, "That is reviewed already."
  end
  histories().record(view.history, "user", view.current)
  histories().set_unreviewed(view.history, rest)
  reviewed("keep", view.history.path, hunk)
  return true
end

---@param view claude-ide.journal.View
---@param chosen claude-ide.journal.Region[]
---@return string? bytes nil: the file should go
local function undone(view, chosen)
  local merge = require("claude-ide.journal.merge")
  local lines = merge.revert(view.lines, chosen)
  local first = view.history.steps[view.first - 1]
  if #lines == 0 and not first.blob then
    return nil
  end
  return merge.encode(lines)
end

---@param view claude-ide.journal.View
---@return integer seconds since the epoch
local function began(view)
  local turns, first = require("claude-ide.journal.turns"), os.time()
  for id in pairs(view.turns) do
    local turn = turns.get(id)
    first = math.min(first, turn and turn.started or first)
  end
  return first
end

---@param view claude-ide.journal.View
---@return claude-ide.journal.Region[] chosen that can be taken back
---@return integer conflicts that the user has changed since
local function sorted(view)
  local chosen, conflicts = {}, 0
  if view.behind then
    return chosen, conflicts -- neither of the two texts may be written before the user has chosen one
  end
  for _, region in ipairs(view.regions) do
    if region.state == "claude" then
      chosen[#chosen + 1] = region
    elseif region.state == "conflict" then
      conflicts = conflicts + 1
    end
  end
  return chosen, conflicts
end

---@param view claude-ide.journal.View
---@param only? integer index of the one region to undo
---@return boolean? ok
---@return string? err
---@return integer? left hunks that the user has changed since
local function undo_view(view, only)
  if view.behind then
    return nil, "You have unsaved changes of an older text: `:Claude resolve` decides first.", 0
  end
  local chosen, left = sorted(view)
  if only then
    local region = view.regions[only]
    chosen, left = { region }, 0
    if region.state ~= "claude" then
      chosen, left = {}, region.state == "conflict" and 1 or 0
    end
  end
  if #chosen == 0 then
    return nil,
      left > 0 and "You have changed the same lines since, so they stay." or "Nothing is left to undo.",
      left
  end
  local history, bytes = view.history, undone(view, chosen)
  -- What others wrote since nobody looked is no part of what is taken back.
  require("claude-ide.journal.observe").look_now(history)
  history.undoing = view.turns
  local ok, err =
    require("claude-ide.journal.write").through_buffer(history.path, bytes, history.mode, began(view))
  if ok then
    require("claude-ide.journal.observe").look_now(history)
    -- A turn that goes on did not do that; of a file that was removed no write tells.
    require("claude-ide.journal.shell").user_wrote(history.path)
  end
  history.undoing = nil
  if not ok then
    return nil, ("%s could not be written: %s"):format(history.path, err or "unknown"), left
  end
  return true, err, left
end

---Takes back a hunk, or all of Claude's hunks in a file. What the user changed since stays.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes(scope)`
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return boolean? ok
---@return string? err also with `ok`, where something is left to do
---@return integer? left hunks that stay because the user has changed them since
function M.undo(path, hunk, scope)
  local view, err = view_of(path, scope)
  if not view then
    return nil, err
  end
  local index
  if hunk then
    index = require("claude-ide.journal.changes").find(view, hunk)
    if not index then
      return nil, "The text has changed since."
    end
  end
  local ok, problem, left = undo_view(view, index)
  if ok then
    reviewed("undo", view.history.path, hunk)
  end
  return ok, problem, left
end

---@class claude-ide.journal.Preview
---@field path string
---@field action "restore"|"remove"|"recreate"|"leave" leave: the user has changed all of it since
---@field behind boolean left, because the buffer has unsaved changes of an older text
---@field hunks integer that will be taken back
---@field conflicts integer that stay
---@field unsaved boolean the file has unsaved changes, so the undo is not saved

---@param id integer
---@return claude-ide.journal.View[]
local function views_of_turn(id)
  local changes, found = require("claude-ide.journal.changes"), {}
  for _, history in ipairs(histories().all()) do
    local view = changes.view(history, id)
    if view and changes.describe(view) then
      found[#found + 1] = view
    end
  end
  return found
end

---The turn that an undo is about: the last one of which something can be taken back, else the last of which anything is
---left.
---@return integer? id nil: nothing of Claude's is left
function M.undoable_turn()
  local turns, fallback = require("claude-ide.journal.turns").list(), nil
  for i = #turns, 1, -1 do
    local views = #turns[i].files > 0 and views_of_turn(turns[i].id) or {}
    local able = vim.iter(views):any(function(view)
      return #sorted(view) > 0
    end)
    if able or require("claude-ide.journal.rest").count(turns[i].id) > 0 then
      return turns[i].id
    end
    fallback = fallback or (#views > 0 and turns[i].id or nil)
  end
  return fallback
end

---What undoing a turn would do.
---@param id? integer default: `undoable_turn()`
---@return claude-ide.journal.Preview[]
function M.preview_undo(id)
  id = id or M.undoable_turn()
  return vim.tbl_map(function(view)
    local chosen, conflicts = sorted(view)
    local buf = require("claude-ide.buffer").find(view.history.path)
    local action = #chosen == 0 and "leave"
      or not undone(view, chosen) and "remove"
      or not view.current and "recreate"
      or "restore"
    return {
      path = view.history.path,
      action = action,
      behind = view.behind,
      hunks = #chosen,
      conflicts = conflicts,
      unsaved = buf ~= nil and vim.bo[buf].modified,
    }
  end, id and views_of_turn(id) or {})
end

---Takes back what a turn changed in files.
---@param id? integer default: `undoable_turn()`
---@return { path: string, ok: boolean, err?: string, left: integer }[] one a file
function M.undo_turn(id)
  id = id or M.undoable_turn()
  return vim.tbl_map(function(view)
    local ok, err, left = undo_view(view)
    if ok then
      reviewed("undo", view.history.path)
    end
    return { path = view.history.path, ok = ok == true, err = err, left = left or 0 }
  end, id and views_of_turn(id) or {})
end

---@param id integer
---@return claude-ide.journal.History[]
local function histories_of_turn(id)
  return vim.tbl_filter(function(history)
    return vim.iter(history.steps):any(function(step)
      return step.turn == id
    end)
  end, histories().all())
end

---How long a step may take; then the user's keys get their turn.
local STEP_NS = 8 * 1000 * 1000

---@class claude-ide.journal.Undoing
---@field stop fun() what is not taken back yet stays
---@field tried integer
---@field total integer

---Takes back what a turn changed, also what no review shows, a little at a time. A small turn is taken back before this returns.
---@param id integer
---@param done fun(results: { path: string, ok: boolean, err?: string, left: integer }[], stopped: boolean)
---@return claude-ide.journal.Undoing
function M.take_back_turn(id, done)
  local rest, turn = require("claude-ide.journal.rest"), require("claude-ide.journal.turns").get(id)
  require("claude-ide.journal.landing").move_back(id)
  local list, results, stopped, at = histories_of_turn(id), {}, false, 0
  ---@type claude-ide.journal.Undoing
  local undoing = {
    tried = 0,
    total = #list + rest.count(id),
    stop = function()
      stopped = true
    end,
  }
  ---@param path string
  ---@param ok? boolean
  ---@param err? string
  ---@param left? integer
  local function result(path, ok, err, left)
    undoing.tried = math.min(undoing.tried + 1, undoing.total)
    results[#results + 1] = { path = path, ok = ok == true, err = err, left = left or 0 }
  end
  ---@param step fun(): boolean
  local function pace(step)
    local since = vim.uv.hrtime()
    repeat
      if stopped then
        return done(results, true)
      end
      local ok, more = xpcall(step, debug.traceback)
      if not ok then
        require("claude-ide.log").error("a file could not be taken back: %s", more)
      elseif not more then
        return
      end
    until vim.uv.hrtime() - since > STEP_NS
    vim.defer_fn(function()
      pace(step)
    end, 1)
  end
  pace(function()
    at = at + 1
    local history = list[at]
    if not history then
      require("claude-ide.journal.take_back").run(
        id,
        turn and turn.started or os.time(),
        pace,
        result,
        function()
          done(results, false)
        end
      )
      return false
    end
    local changes = require("claude-ide.journal.changes")
    local view = changes.view(history, id) -- as it is by now
    if view and changes.describe(view) then
      local ok, err, left = undo_view(view)
      if ok then
        reviewed("undo", history.path)
      end
      result(history.path, ok, err, left)
    end
    return true
  end)
  return undoing
end

return M
