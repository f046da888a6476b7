-- What Claude changed, turn by turn, whether or not it asked: told by what the CLI calls before and after its edits.
-- Invariant: the bytes of a file are kept before the CLI may write it, and nothing the person typed counts as Claude's.
-- Longer than most files here: it is the one place where turns, histories, checkpoints and reviews meet.
local M = {}

---Larger files are not followed: keeping their bytes would hold up the CLI.
local MAX_BYTES = 4 * 1024 * 1024

---Those who show changes are told at most so often.
local TELL_MS = 30

---Leftovers of dead Neovims are removed when the start is over.
local CLEAN_AFTER_MS = 2000

local GROUP = "claude-ide.journal"

---@type table<integer, fun()>
local subscribers = {}
local next_subscriber = 0
local told = true

---Files of turns that go on, by client: no longer followed when the edits are over.
---@type table<integer, table<claude-ide.journal.History, fun()>>
local followed = {}

---What the person accepted in a diff and the CLI has not written yet, by path.
---@type table<string, string>
local accepted = {}

---@return table
local function histories()
  return require("claude-ide.journal.history")
end

local function tell()
  if not told then
    return
  end
  told = false
  vim.defer_fn(function()
    told = true
    for _, subscriber in pairs(vim.tbl_extend("force", {}, subscribers)) do
      local ok, err = pcall(subscriber)
      if not ok then
        require("claude-ide.log").error("a subscriber to the journal failed: %s", err)
      end
    end
  end, TELL_MS)
end

---Calls a function a moment after what `changes()` gives may have changed, until the returned function is called.
---@param fn fun()
---@return fun() unsubscribe
function M.on(fn)
  next_subscriber = next_subscriber + 1
  local id = next_subscriber
  subscribers[id] = fn
  return function()
    subscribers[id] = nil
  end
end

---Notes what was found on disk, and whose it is.
---@param history claude-ide.journal.History
---@param bytes? string
---@param actor? "person"|"accepted"|"claude" where that is known
---@param turn? integer default: the turn that announced an edit of it
local function observed(history, bytes, actor, turn)
  turn = turn or history.turn
  if not actor and bytes and accepted[history.path] == bytes then
    accepted[history.path], actor = nil, "accepted"
  end
  local who = actor or (turn and "claude" or "person")
  if not histories().record(history, who, bytes, who ~= "person" and turn or nil) then
    return
  end
  if who ~= "person" and turn then
    local turns = require("claude-ide.journal.turns")
    turns.touch(turn, history.path)
    local owner = turns.get(turn)
    require("claude-ide.event").emit("ClaudeFileChanged", {
      path = history.path,
      turn = turn,
      client = owner and owner.client,
      accepted = who == "accepted",
    })
  end
  tell()
end

---@param history claude-ide.journal.History
---@param done? fun()
local function look(history, done)
  require("claude-ide.file").read_later(history.path, MAX_BYTES, function(bytes, why_not)
    if bytes or why_not == "missing" then
      observed(history, bytes)
    end
    if done then
      done()
    end
  end)
end

---Sees what was written last, then ends a client's turn: what is written from now on is not taken for Claude's.
---@param client integer
local function settle(client)
  local mine = followed[client] or {}
  followed[client] = nil
  local turns = require("claude-ide.journal.turns")
  local turn = turns.last_of(client)
  if not turn then
    return
  end
  local open = 1
  local function one_less()
    open = open - 1
    if open == 0 and followed[client] == nil and turns.last_of(client) == turn then
      turns.finish(client)
    end
  end
  for history, unfollow in pairs(mine) do
    unfollow()
    open = open + 1
    look(history, function()
      if history.turn == turn.id and followed[client] == nil then
        history.turn, accepted[history.path] = nil, nil
      end
      one_less()
    end)
  end
  one_less()
end

---A checkpoint shows that a file changed in a turn: by a shell command, or by an edit that is known already.
---@param path string
---@param before? string what it held when the turn began; nil: there was no file
---@param turn integer
local function found_changed(path, before, turn)
  local history, is_new = histories().open(path, before, "checkpoint")
  local seen = vim.iter(history.steps):any(function(step)
    return step.turn == turn
  end)
  if not is_new and not seen then
    observed(history, before, "person")
  end
  require("claude-ide.file").read_later(path, MAX_BYTES, function(bytes, why_not)
    if bytes or why_not == "missing" then
      observed(history, bytes, "claude", turn)
    end
  end)
end

---A prompt was submitted.
---@param client integer
function M.turn_started(client)
  settle(client)
  local turn = require("claude-ide.journal.turns").start(client)
  require("claude-ide.journal.shell").begin(client, turn.id, function()
    M.edits_over(client)
  end)
end

---A client is about to edit a file: what it holds now is kept, before this returns.
---@param client integer
---@param path string absolute
function M.before_edit(client, path)
  local bytes, why_not = require("claude-ide.file").read_now(path, MAX_BYTES)
  if not bytes and why_not ~= "missing" then
    require("claude-ide.log").debug("%s is not kept before its edit: %s", path, why_not)
    return
  end
  local turn = require("claude-ide.journal.turns").current(client)
  local history, is_new = histories().open(path, bytes, "announced")
  if not is_new then
    observed(history, bytes)
  end
  history.turn = turn.id
  local mine = followed[client] or {} ---@type table<claude-ide.journal.History, fun()>
  followed[client] = mine
  if not mine[history] then
    local real = require("claude-ide.path").real(path)
    local unfollow = require("claude-ide.watch.files").follow(real, function()
      look(history)
    end)
    rawset(mine, history, unfollow)
  end
end

---Something saw that a file was written; the watch of announced files does so itself.
---@param path string absolute
function M.landed(path)
  local history = histories().find(path)
  if history then
    look(history)
  end
end

---The edits of a client's turn are over, as far as it tells.
---@param client integer
function M.edits_over(client)
  settle(client)
  require("claude-ide.journal.shell").finish(client, found_changed)
end

---@return claude-ide.journal.Turn[] list newest last
function M.turns()
  return require("claude-ide.journal.turns").list()
end

---What Claude changed and is still there, file by file.
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return claude-ide.journal.Change[] by path
function M.changes(scope)
  local changes, found = require("claude-ide.journal.changes"), {}
  for _, history in ipairs(histories().all()) do
    local view = changes.view(history, scope or "unreviewed")
    found[#found + 1] = view and changes.describe(view) or nil
  end
  return found
end

---@param action "keep"|"undo"
---@param path string
---@param hunk? claude-ide.journal.Hunk
local function reviewed(action, path, hunk)
  require("claude-ide.event").emit("ClaudeReviewed", { action = action, path = path, hunk = hunk })
  tell()
end

---@param path string
---@param scope claude-ide.journal.Scope
---@return claude-ide.journal.View?
---@return string? err
local function view_of(path, scope)
  local history = histories().find(path)
  local view = history and require("claude-ide.journal.changes").view(history, scope)
  if not view then
    return nil, "Claude has changed nothing there that is unreviewed."
  end
  return view
end

---Takes a hunk, or all of a file, as reviewed.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes()`
---@return boolean? ok
---@return string? err
function M.keep(path, hunk)
  local view, err = view_of(path, "unreviewed")
  if not view then
    return nil, err
  end
  local buf = require("claude-ide.buffer").find(path)
  if buf and vim.bo[buf].modified then
    -- The history is of what was on disk: unsaved text is not part of it.
    view = require("claude-ide.journal.changes").of_disk(view.history)
  end
  local rest = {}
  if hunk then
    local index = require("claude-ide.journal.changes").find(view, hunk)
    if not index then
      return nil, "The text has changed since. Save it first if it has unsaved changes."
    end
    table.remove(view.regions, index)
    rest = require("claude-ide.journal.merge").drop_gone(view.regions)
  end
  histories().record(view.history, "person", view.current)
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
---@param only? integer index of the one region to undo
---@return boolean? ok
---@return string? err
---@return integer? left hunks that the person has changed since
local function undo_view(view, only)
  local chosen, left = {}, 0
  for i, region in ipairs(view.regions) do
    if (not only or i == only) and region.state == "claude" then
      chosen[#chosen + 1] = region
    elseif (not only or i == only) and region.state == "conflict" then
      left = left + 1
    end
  end
  if #chosen == 0 then
    return nil,
      left > 0 and "You have changed the same lines since, so they stay." or "Nothing is left to undo.",
      left
  end
  local path = view.history.path
  local ok, err = require("claude-ide.journal.write").through_buffer(path, undone(view, chosen))
  if not ok then
    return nil, ("%s could not be written: %s"):format(path, err or "unknown"), left
  end
  local bytes, why_not = require("claude-ide.file").read_now(path, MAX_BYTES)
  if bytes or why_not == "missing" then
    observed(view.history, bytes, "person")
  end
  return true, err, left
end

---Takes back a hunk, or all of Claude's hunks in a file. What the person changed since stays.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes()`
---@return boolean? ok
---@return string? err also with `ok`, where something is left to do
---@return integer? left hunks that stay because the person has changed them since
function M.undo(path, hunk)
  local view, err = view_of(path, "unreviewed")
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
---@field action "restore"|"remove"|"recreate"|"leave" leave: the person has changed all of it since
---@field hunks integer that will be taken back
---@field conflicts integer that stay
---@field unsaved boolean the file has unsaved changes, so the undo is not saved

---@param id? integer default: the last turn
---@return claude-ide.journal.View[]
local function views_of_turn(id)
  local changes, found = require("claude-ide.journal.changes"), {}
  for _, history in ipairs(histories().all()) do
    local view = changes.view(history, id or "turn")
    if view and changes.describe(view) then
      found[#found + 1] = view
    end
  end
  return found
end

---What undoing a turn would do.
---@param id? integer default: the last turn
---@return claude-ide.journal.Preview[]
function M.preview_undo(id)
  return vim.tbl_map(function(view)
    local chosen, conflicts = {}, 0
    for _, region in ipairs(view.regions) do
      if region.state == "claude" then
        chosen[#chosen + 1] = region
      elseif region.state == "conflict" then
        conflicts = conflicts + 1
      end
    end
    local buf = require("claude-ide.buffer").find(view.history.path)
    local action = #chosen == 0 and "leave"
      or not undone(view, chosen) and "remove"
      or not view.current and "recreate"
      or "restore"
    return {
      path = view.history.path,
      action = action,
      hunks = #chosen,
      conflicts = conflicts,
      unsaved = buf ~= nil and vim.bo[buf].modified,
    }
  end, views_of_turn(id))
end

---Takes back what a turn changed in files.
---@param id? integer default: the last turn
---@return { path: string, ok: boolean, err?: string, left: integer }[] one a file
function M.undo_turn(id)
  return vim.tbl_map(function(view)
    local ok, err, left = undo_view(view)
    if ok then
      reviewed("undo", view.history.path)
    end
    return { path = view.history.path, ok = ok == true, err = err, left = left or 0 }
  end, views_of_turn(id))
end

local follows_server = false

---Follows what happens to files from now on.
function M.attach()
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = group,
    desc = "Claude: what the person writes is not Claude's",
    callback = function(event)
      require("claude-ide.journal.shell").person_wrote(vim.api.nvim_buf_get_name(event.buf))
      local history = histories().find(vim.api.nvim_buf_get_name(event.buf))
      if history then
        local bytes, why_not = require("claude-ide.file").read_now(history.path, MAX_BYTES)
        if bytes or why_not == "missing" then
          observed(history, bytes, "person")
        end
      end
    end,
  })
  if not follows_server then
    follows_server = true
    require("claude-ide.server").on("client_disconnected", function(client)
      settle(client.id)
      require("claude-ide.journal.shell").stop(client.id)
      require("claude-ide.journal.turns").leave(client.id)
    end)
  end
  vim.defer_fn(function()
    pcall(require("claude-ide.journal.blob").clean)
  end, CLEAN_AFTER_MS)
end

---Notes that the person accepted contents that the CLI will write now: they are reviewed.
---@param path string absolute
---@param contents string
function M.accepted(path, contents)
  accepted[path] = contents
end

return M
