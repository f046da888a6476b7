-- The user's decisions on Claude's changes: kept or undone, by hunk, file or turn.
-- Invariant: undoing Claude's changes never undoes the user's later ones.
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local buffer = lazy("claude-ide.editor.buffer")
local changes = lazy("claude-ide.edits.journal.changes")
local event = lazy("claude-ide.config.event")
local ide_file = lazy("claude-ide.base.file")
local log = lazy("claude-ide.base.log")
local observe = lazy("claude-ide.edits.journal.observe")
local shell = lazy("claude-ide.edits.journal.shell")
local slice = lazy("claude-ide.base.slice")
local store = lazy("claude-ide.edits.journal.store")
local transaction = lazy("claude-ide.edits.journal.transaction")
local undo_untracked = lazy("claude-ide.edits.journal.undo_untracked")
local untracked = lazy("claude-ide.edits.journal.untracked")
local write = lazy("claude-ide.edits.journal.write")

local M = {}

---@param action "keep"|"undo"
---@param path string
---@param hunk? claude-ide.journal.Hunk
local function reviewed(action, path, hunk)
  event.emit("ClaudeReviewed", { action = action, path = path, hunk = hunk })
  announce.tell()
end

---A file with its current text.
---@class claude-ide.journal.View
---@field file claude-ide.journal.File
---@field scope string
---@field kind claude-ide.journal.TextKind
---@field text? string nil: no such file
---@field stays? string why nothing may be written: something else is at its path
---@field undo? claude-ide.journal.Undo

---@param file? claude-ide.journal.File
---@param scope? claude-ide.journal.Scope
---@return claude-ide.journal.View? nil: no changes of Claude's
local function view_of(file, scope)
  local name = tostring(scope or "unreviewed")
  if not file or not store.may_have(file.id, name) then
    return nil
  end
  local stays, is_folder = write.obstacle(file.path, file.real, store.links(file.id))
  if stays then
    -- A folder may be of this turn, and go when its files are undone.
    return { file = file, scope = name, kind = is_folder and "disk" or "recorded", stays = stays }
  end
  local kind, text = changes.text(file)
  return kind and { file = file, scope = name, kind = kind, text = text } or nil
end

---@param path string
---@param scope? claude-ide.journal.Scope
---@return claude-ide.journal.View?
local function view_of_path(path, scope)
  local file = store.find(path)
    or vim.iter(store.files()):find(function(other)
      return other.path == path -- a link has taken its place
    end)
  if file and store.turn_of(file.id) then
    -- Claude may have written it since the last check.
    observe.look_now(file)
  end
  return view_of(file, scope)
end

---@param view claude-ide.journal.View
---@param hunk? claude-ide.journal.Hunk
---@return integer? index nil: it no longer exists
local function find(view, hunk)
  local change = hunk and store.change(view.file.id, view.scope, view.kind, view.text)
  return change and hunk and changes.find(change.hunks, hunk) or nil
end

local NOTHING = "No changes by Claude to review there."

---Marks a hunk, or all of a file, as reviewed.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes(scope)`
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return boolean? ok
---@return string? err
function M.keep(path, hunk, scope)
  local view = view_of_path(path, scope)
  if not view then
    return nil, NOTHING
  end
  local buf = buffer.find(path)
  if buf and vim.bo[buf].modified and store.undo(view.file.id, view.scope, "recorded") then
    -- The history is of the file on disk: unsaved text is not part of it.
    view.kind, view.text = "recorded", nil
  end
  local index = find(view, hunk)
  if hunk and not index then
    return nil, "The text has changed since. Save it first if it has unsaved changes."
  end
  local kept = store.keep(view.file.id, view.scope, view.kind, view.text, index)
  if not kept then
    return nil, kept == nil and NOTHING or "This change is reviewed already."
  end
  reviewed("keep", view.file.path, hunk)
  return true
end

local DELETED = "you have deleted this file since"

---Whether the user has deleted a file that Claude has only changed.
---@param view claude-ide.journal.View
---@return boolean
local function is_deleted_by_user(view)
  local change = not view.text and store.change(view.file.id, view.scope, view.kind)
  return change and change.by_user or false
end

---@param view claude-ide.journal.View
---@param only? integer index of the one hunk to undo
---@return boolean? ok
---@return string? err
---@return integer? left hunks that the user has changed since
local function undo_view(view, only)
  local file = view.file
  local undo = store.undo(file.id, view.scope, view.kind, view.text, only)
  local stays = write.obstacle(file.path, file.real, store.links(file.id))
  if not undo then
    return nil, NOTHING
  elseif stays then
    return nil, stays .. ", so it stays.", 0
  elseif view.kind == "behind" then
    return nil, "You have unsaved changes of an older text: resolve that first (`:Claude resolve`).", 0
  elseif undo.hunks == 0 then
    return nil,
      is_deleted_by_user(view) and "You have deleted this file since, so it stays deleted."
        or undo.left > 0 and "You have changed the same lines since, so they stay."
        or "Nothing is left to undo.",
      undo.left
  end
  -- Later writes by other programs must not be undone.
  observe.look_now(file)
  store.set_undoing(file.id, true)
  local ok, err = write.through_buffer(
    file.path,
    undo.bytes,
    store.mode(file.id),
    math.min(undo.since or os.time(), os.time())
  )
  if ok then
    observe.look_now(file)
    -- A running turn did not do that; a deletion causes no write event.
    shell.user_wrote(file.path)
  end
  store.set_undoing(file.id, false)
  if not ok then
    return nil, ("it could not be written: %s"):format(err or "unknown"), undo.left
  end
  return true, err, undo.left
end

---Undoes a hunk, or all of Claude's hunks in a file. The user's later changes stay.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes(scope)`
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return boolean? ok
---@return string? err also with `ok`, if something is left to do
---@return integer? left hunks that stay because the user has changed them since
function M.undo(path, hunk, scope)
  local view = view_of_path(path, scope)
  if not view then
    return nil, NOTHING
  end
  local index = find(view, hunk)
  if hunk and not index then
    return nil, "The text has changed since."
  end
  local ok, problem, left = undo_view(view, index)
  if ok then
    reviewed("undo", view.file.path, hunk)
  end
  return ok, problem, left
end

---Deletes a file again that an undo has made again, unless it has changed since: the user takes that undo back.
---@param path string absolute
---@param since integer seconds since the epoch: empty folders that were made since go with it
---@return boolean? ok
---@return string? err
function M.delete(path, since)
  local file, bytes = store.find(path), ide_file.read_now(path, observe.MAX_BYTES)
  if not file or not bytes or not store.is_last(file.id, bytes) then
    return nil, "The file has changed since, so it stays."
  end
  local stays = write.obstacle(file.path, file.real, store.links(file.id))
  if stays then
    return nil, stays .. ", so it stays."
  end
  local ok, err = write.through_buffer(file.path, nil, nil, since)
  if ok then
    observe.user_wrote(file.path)
  end
  return ok, err
end

---@class claude-ide.journal.Preview
---@field path string
---@field action "restore"|"remove"|"recreate"|"leave" leave: the user has changed all of it since
---@field behind boolean left, because the buffer has unsaved changes of an older text
---@field stays? string why it is left: something else is at its path
---@field hunks integer that will be undone
---@field conflicts integer that stay
---@field unsaved boolean the file has unsaved changes, so the undo will not be saved

---@param file claude-ide.journal.File
---@param turn integer
---@return claude-ide.journal.View? nil: no changes of the turn are left
local function undoable(file, turn)
  local view = view_of(file, turn)
  local undo = view and store.undo(file.id, view.scope, view.kind, view.text)
  if not view or not undo or undo.places == 0 then
    return nil
  end
  if view.stays and view.kind == "recorded" then
    undo.hunks = 0
  end
  view.undo = undo
  return view
end

---@param turn integer
---@return claude-ide.journal.View[]
local function undoables(turn)
  local found = {}
  for _, file in ipairs(store.files(turn)) do
    found[#found + 1] = undoable(file, turn)
  end
  return found
end

---The turn to undo by default: the last one with changes that can be undone, else the last with any changes left.
---@param client? integer only its turns
---@return integer? id nil: none of Claude's changes are left
function M.undoable_turn(client)
  local turns, fallback = store.turns(), nil
  for i = #turns, 1, -1 do
    local is_meant = not client or turns[i].client == client
    local found = is_meant and #turns[i].files > 0 and undoables(turns[i].id) or {}
    local has_undoable = vim.iter(found):any(function(one)
      return one.undo ~= nil and one.undo.hunks > 0
    end)
    if has_undoable or is_meant and untracked.count(turns[i].id) > 0 then
      return turns[i].id
    end
    fallback = fallback or (#found > 0 and turns[i].id or nil)
  end
  return fallback
end

---Previews the undo of a turn.
---@param id integer
---@return claude-ide.journal.Preview[]
function M.preview(id)
  return vim.tbl_map(function(one)
    local undo, buf = one.undo, buffer.find(one.file.path)
    ---@cast undo -nil
    local action = undo.hunks == 0 and "leave"
      or not undo.bytes and "remove"
      or not one.text and "recreate"
      or "restore"
    return {
      path = one.file.path,
      action = action,
      behind = one.kind == "behind",
      stays = one.stays or undo.hunks == 0 and is_deleted_by_user(one) and DELETED or nil,
      hunks = undo.hunks,
      conflicts = undo.left,
      unsaved = buf ~= nil and vim.bo[buf].modified,
    }
  end, undoables(id))
end

---@class claude-ide.journal.Undone
---@field path string
---@field ok boolean
---@field err? string
---@field left integer

---@param view claude-ide.journal.View
---@return claude-ide.journal.Undone
local function undo_file(view)
  local ok, err, left = undo_view(view)
  if ok then
    reviewed("undo", view.file.path)
  end
  return { path = view.file.path, ok = ok == true, err = err, left = left or 0 }
end

---@class claude-ide.journal.Undoing
---@field stop fun() leaves the rest as it is
---@field tried integer
---@field total integer

---Undoes a turn's changes in steps, including those that no review shows. A small turn is undone before this returns.
---@param id integer
---@param done fun(results: claude-ide.journal.Undone[], stopped: boolean)
---@return claude-ide.journal.Undoing
function M.turn(id, done)
  local turn = store.turn(id)
  transaction.move_back(id)
  local list, results, stopped, at = store.files(id), {}, false, 0
  local count = #list
  ---@type claude-ide.journal.Undoing
  local undoing = {
    tried = 0,
    total = count + untracked.count(id),
    stop = function()
      stopped = true
    end,
  }
  ---@param result claude-ide.journal.Undone
  local function tried(result)
    undoing.tried = math.min(undoing.tried + 1, undoing.total)
    results[#results + 1] = result
  end
  ---@param step fun(): boolean
  local function pace(step)
    local is_over = slice.begin()
    repeat
      if stopped then
        return done(results, true)
      end
      local ok, more = xpcall(step, debug.traceback)
      if not ok then
        log.error("a file could not be taken back: %s", more)
      elseif not more then
        return
      end
    until is_over()
    slice.later(function()
      pace(step)
    end)
  end
  pace(function()
    at = at + 1
    local file = list[at]
    if not file then
      undo_untracked.undo(id, turn and turn.started or os.time(), pace, tried, function()
        done(results, false)
      end)
      return false
    end
    local view = undoable(file, id) -- current
    if view and view.stays and view.kind == "disk" and at <= count then
      list[#list + 1] = file -- the folder in its place may go with its files
    elseif view then
      tried(undo_file(view))
    end
    return true
  end)
  return undoing
end

return M
