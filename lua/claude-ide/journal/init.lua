-- The journal of Claude's changes by turn: edits announced by the CLI, found by checkpoints, or read in the transcript; and the user's
-- decisions on them: kept or undone, by hunk, file or turn. The public functions; the parts are beside it.
-- Invariants: undoing Claude's changes never undoes the user's later ones. Of changes that the journal does not track (rest.lua), only
-- files that are still as the turn left them are restored.
local M = {}

---Delay after start before leftovers of dead Neovims are removed.
local CLEAN_AFTER_MS = 2000

local GROUP = "claude-ide.journal"

local function observe()
  return require("claude-ide.journal.observe")
end

---A client that is not connected to the server, such as a chat.
---@class claude-ide.journal.Unconnected
---@field folder string its working directory
---@field session? fun(): string? its current session; nil: it has no transcript

---Handles what commands of a client changed.
---@param client integer
---@return claude-ide.journal.OnFound
local function on_found(client)
  return function(change, turn, looked)
    observe().found_changed(change, turn, looked)
    require("claude-ide.unapproved").found(client, change.path)
  end
end

---@param client integer
---@param turn claude-ide.journal.Turn
---@param at? integer time of the prompt, in milliseconds since the epoch
---@param unconnected? claude-ide.journal.Unconnected
local function follow_turn(client, turn, at, unconnected)
  local folder, session = unconnected and unconnected.folder, unconnected and unconnected.session
  local began, found = at or require("claude-ide.clock").now(), on_found(client)
  require("claude-ide.journal.shell").begin(client, turn.id, began, folder, found, function()
    M.edits_over(client)
  end)
  require("claude-ide.journal.transcript_edits").begin(client, turn.id, at, session)
end

---@return claude-ide.journal.Store
local function store()
  return require("claude-ide.journal.store")
end

---The last turns whose start was not announced, by client.
---@type table<integer, integer>
local unannounced = {}

---Handles a submitted prompt. The notification may be late: the turn begins at the prompt's time.
---@param client integer
---@param at? integer milliseconds since the epoch; default: now
---@param unconnected? claude-ide.journal.Unconnected
function M.turn_started(client, at, unconnected)
  local begun = unannounced[client] and store().turn(unannounced[client])
  unannounced[client] = nil
  if begun and not begun.ended and #begun.files == 0 then
    return -- this is its prompt: the CLI started to work before the notification
  end
  observe().settle(client, true)
  require("claude-ide.journal.refusals").turn_over(client, at)
  if not unconnected then
    require("claude-ide.unapproved").turn_started(client)
  end
  follow_turn(client, store().start_turn(client), at, unconnected)
end

---Clients that were checked for a running turn when they connected.
---@type table<integer, true>
local joined = {}

---Tracks a turn that was not announced: the CLI does not announce a prompt given before it was connected, or at that moment.
---@param client claude-ide.Client with its process id
local function look_for_work(client)
  require("claude-ide.journal.shell").await_work(client, function()
    local turn = store().current_turn(client.id)
    unannounced[client.id] = turn.id
    follow_turn(client.id, turn)
  end)
end

---@param client claude-ide.Client
local function join(client)
  if client.state ~= "ready" or not client.pid or joined[client.id] then
    return
  end
  joined[client.id] = true
  require("claude-ide.journal.shell").prepare(client)
  look_for_work(client)
end

---Handles the announcement of an edit: keeps the file's contents before this returns.
---@param client integer
---@param path string absolute
---@param call? string id of the tool call, if `edit_over` will name it: until then the file is tracked, even past the end of a turn
function M.before_edit(client, path, call)
  observe().before_edit(client, path, call)
  local known = require("claude-ide.server").client(client)
  if known and known.pid and not require("claude-ide.journal.shell").is_watching(client) then
    look_for_work(known)
  end
end

---Handles the end of a tool call that may have announced an edit.
---@param client integer
---@param call string
function M.edit_over(client, call)
  observe().edit_over(client, call)
end

---Handles a write of a file seen by other code; announced files are watched already.
---@param path string absolute
function M.landed(path)
  observe().landed(path)
end

---Records that the user accepted contents that the CLI will write: they count as reviewed.
---@param path string absolute
---@param contents string
function M.accepted(path, contents)
  store().accepted(path, contents)
end

---Waits for the result of an allowed edit in the client's transcript.
---@param client integer
---@param path string absolute
---@param done fun(words?: string, is_gone?: boolean) words: the tool's error; nil: it wrote, or the result stays unknown. is_gone: the client left in that turn, with an unknown result
---@return fun() cancel for when the result is known otherwise
function M.await_allowed(client, path, done)
  return require("claude-ide.journal.refusals").await(client, path, done)
end

---Handles the reported end of a turn's edits.
---@param client integer
function M.edits_over(client)
  -- The CLI reports this after each step of a turn; if its session is known, that tells the end of the turn.
  observe().settle(client, not require("claude-ide.journal.shell").is_busy(client))
  require("claude-ide.journal.shell").finish(client, on_found(client))
  require("claude-ide.journal.transcript_edits").finish(client)
end

---Handles a client's exit, perhaps in the middle of a turn.
---@param client integer
function M.left(client)
  unannounced[client] = nil
  require("claude-ide.journal.shell").stop(client, observe().found_changed)
  observe().left(client)
  require("claude-ide.journal.transcript_edits").stop(client)
  store().leave(client)
end

---@return claude-ide.journal.Turn[] list newest last
function M.turns()
  return store().turns()
end

---Claude's changes that still exist, by file.
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return claude-ide.journal.Change[] by path
function M.changes(scope)
  local changes, found = require("claude-ide.journal.changes"), {}
  local unsaved = changes.unsaved()
  for _, file in ipairs(store().files()) do
    found[#found + 1] = changes.of(file, scope or "unreviewed", unsaved)
  end
  changes.pair_moves(found)
  return found
end

---Claude's changes of one file.
---@param path string
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return claude-ide.journal.Change?
function M.change(path, scope)
  local file = store().find(path)
  return file and require("claude-ide.journal.changes").of(file, scope or "unreviewed") or nil
end

---Counts the unreviewed changes.
---@return claude-ide.journal.Counts
function M.counts()
  return require("claude-ide.journal.changes").counts()
end

---@param action "keep"|"undo"
---@param path string
---@param hunk? claude-ide.journal.Hunk
local function reviewed(action, path, hunk)
  require("claude-ide.event").emit("ClaudeReviewed", { action = action, path = path, hunk = hunk })
  require("claude-ide.journal.changed").tell()
end

---Files with unreviewed changes, by the clients that changed them.
---@return table<integer, string[]>
function M.files_to_review()
  local files = {} ---@type table<integer, string[]>
  for _, change in ipairs(M.changes()) do
    local clients = {} ---@type table<integer, true>
    for _, id in ipairs(change.turns) do
      local turn = store().turn(id)
      clients[turn and turn.client or 0] = true
    end
    for client in pairs(clients) do
      files[client] = files[client] or {}
      table.insert(files[client], change.path)
    end
  end
  return files
end

---A file with its current text.
---@class claude-ide.journal.View
---@field file claude-ide.journal.File
---@field scope string
---@field kind claude-ide.journal.TextKind
---@field text? string nil: no such file
---@field undo? claude-ide.journal.Undo

---@param file? claude-ide.journal.File
---@param scope? claude-ide.journal.Scope
---@return claude-ide.journal.View? nil: no changes of Claude's
local function view_of(file, scope)
  local name = tostring(scope or "unreviewed")
  if not file or not store().may_have(file.id, name) then
    return nil
  end
  local kind, text = require("claude-ide.journal.changes").text(file)
  return kind and { file = file, scope = name, kind = kind, text = text } or nil
end

---@param path string
---@param scope? claude-ide.journal.Scope
---@return claude-ide.journal.View?
local function view_of_path(path, scope)
  local file = store().find(path)
  if file and store().turn_of(file.id) then
    -- Claude may have written it since the last check.
    observe().look_now(file)
  end
  return view_of(file, scope)
end

---@param view claude-ide.journal.View
---@param hunk? claude-ide.journal.Hunk
---@return integer? index nil: it no longer exists
local function find(view, hunk)
  local change = hunk and store().change(view.file.id, view.scope, view.kind, view.text)
  return change and hunk and require("claude-ide.journal.changes").find(change.hunks, hunk) or nil
end

local NOTHING = "Claude has changed nothing there that waits for a review."

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
  local buf = require("claude-ide.buffer").find(path)
  if buf and vim.bo[buf].modified and store().undo(view.file.id, view.scope, "recorded") then
    -- The history is of the file on disk: unsaved text is not part of it.
    view.kind, view.text = "recorded", nil
  end
  local index = find(view, hunk)
  if hunk and not index then
    return nil, "The text has changed since. Save it first if it has unsaved changes."
  end
  local kept = store().keep(view.file.id, view.scope, view.kind, view.text, index)
  if not kept then
    return nil, kept == nil and NOTHING or "That is reviewed already."
  end
  reviewed("keep", view.file.path, hunk)
  return true
end

---@param view claude-ide.journal.View
---@param only? integer index of the one hunk to undo
---@return boolean? ok
---@return string? err
---@return integer? left hunks that the user has changed since
local function undo_view(view, only)
  local file = view.file
  local undo = store().undo(file.id, view.scope, view.kind, view.text, only)
  if not undo then
    return nil, NOTHING
  elseif view.kind == "behind" then
    return nil, "You have unsaved changes of an older text: `:Claude resolve` decides first.", 0
  elseif undo.hunks == 0 then
    return nil,
      undo.left > 0 and "You have changed the same lines since, so they stay." or "Nothing is left to undo.",
      undo.left
  end
  -- Later writes by other programs must not be undone.
  observe().look_now(file)
  store().set_undoing(file.id, true)
  local ok, err = require("claude-ide.journal.write").through_buffer(
    file.path,
    undo.bytes,
    store().mode(file.id),
    math.min(undo.since or os.time(), os.time())
  )
  if ok then
    observe().look_now(file)
    -- A running turn did not do that; a deletion causes no write event.
    require("claude-ide.journal.shell").user_wrote(file.path)
  end
  store().set_undoing(file.id, false)
  if not ok then
    return nil, ("%s could not be written: %s"):format(file.path, err or "unknown"), undo.left
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

---@class claude-ide.journal.Preview
---@field path string
---@field action "restore"|"remove"|"recreate"|"leave" leave: the user has changed all of it since
---@field behind boolean left, because the buffer has unsaved changes of an older text
---@field hunks integer that will be undone
---@field conflicts integer that stay
---@field unsaved boolean the file has unsaved changes, so the undo will not be saved

---@param file claude-ide.journal.File
---@param turn integer
---@return claude-ide.journal.View? nil: no changes of the turn are left
local function undoable(file, turn)
  local view = view_of(file, turn)
  local undo = view and store().undo(file.id, view.scope, view.kind, view.text)
  if not view or not undo or undo.places == 0 then
    return nil
  end
  view.undo = undo
  return view
end

---@param turn integer
---@return claude-ide.journal.View[]
local function undoables(turn)
  local found = {}
  for _, file in ipairs(store().files(turn)) do
    found[#found + 1] = undoable(file, turn)
  end
  return found
end

---The turn to undo by default: the last one with changes that can be undone, else the last with any changes left.
---@return integer? id nil: none of Claude's changes are left
function M.undoable_turn()
  local turns, fallback = store().turns(), nil
  for i = #turns, 1, -1 do
    local found = #turns[i].files > 0 and undoables(turns[i].id) or {}
    local has_undoable = vim.iter(found):any(function(one)
      return one.undo ~= nil and one.undo.hunks > 0
    end)
    if has_undoable or require("claude-ide.journal.rest").count(turns[i].id) > 0 then
      return turns[i].id
    end
    fallback = fallback or (#found > 0 and turns[i].id or nil)
  end
  return fallback
end

---Previews the undo of a turn.
---@param id integer
---@return claude-ide.journal.Preview[]
function M.preview_undo(id)
  return vim.tbl_map(function(one)
    local undo, buf =
      one.undo, --[[@as claude-ide.journal.Undo]]
      require("claude-ide.buffer").find(one.file.path)
    local action = undo.hunks == 0 and "leave"
      or not undo.bytes and "remove"
      or not one.text and "recreate"
      or "restore"
    return {
      path = one.file.path,
      action = action,
      behind = one.kind == "behind",
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

---Files whose contents are requested from git at a time.
local PORTION = 40

local EXECUTE, READ = 73, 292 -- 0111, 0444

---@param mode string
---@return "none"|"link"|"file"
local function kind_of(mode)
  return mode == "000000" and "none" or mode:sub(1, 3) == "120" and "link" or "file"
end

local function is_executable(mode)
  return bit.band(tonumber(mode:sub(4), 8) or 0, EXECUTE) ~= 0
end

local function set_executable(path, mode)
  local stat = vim.uv.fs_stat(path)
  if stat then
    local now = stat.mode % 4096
    local wanted = is_executable(mode) and bit.bor(now, bit.rshift(bit.band(now, READ), 2))
      or bit.band(now, bit.bnot(EXECUTE))
    if wanted ~= now then
      vim.uv.fs_chmod(path, wanted)
    end
  end
end

---Whether a file is still as the turn left it.
---@param item claude-ide.journal.Rest
---@param new? string contents
---@return boolean
local function is_untouched(item, new)
  local stat, kind = vim.uv.fs_lstat(item.path), kind_of(item.new_mode)
  if item.mode_only then
    return stat ~= nil
      and stat.type == "file"
      and (bit.band(stat.mode, EXECUTE) ~= 0) == is_executable(item.new_mode)
  elseif kind == "none" or not stat then
    return kind == "none" and not stat
  elseif kind ~= stat.type or not new then
    return false
  elseif kind == "link" then
    return vim.uv.fs_readlink(item.path) == new
  end
  return require("claude-ide.file").read_now(item.path, #new) == new
end

---@param item claude-ide.journal.Rest
---@param old? string contents
---@param new? string contents
---@param since integer seconds since the epoch: when the turn began
---@return boolean? ok
---@return string? err
local function put_back(item, old, new, since)
  if not is_untouched(item, new) then
    return nil, "you have changed it since, so it stays"
  elseif item.mode_only then
    set_executable(item.path, item.old_mode)
    return true
  end
  local write, kind, was = require("claude-ide.journal.write"), kind_of(item.old_mode), kind_of(item.new_mode)
  if kind ~= "none" and not old then
    return nil, "what it was is no longer known"
  elseif was == "link" or kind == "link" then
    local ok, err = write.replace(item.path, kind == "link" and old or nil, since)
    if not ok or kind ~= "file" then
      return ok, err
    end
  end
  local ok, err
  if kind == "none" or require("claude-ide.buffer").loaded(item.path) then
    ok, err = write.through_buffer(item.path, kind == "file" and old or nil, nil, since)
  else
    ok, err = write.to_disk(item.path, old --[[@as string]])
  end
  if ok and kind == "file" then
    set_executable(item.path, item.old_mode)
  end
  return ok, err
end

---@param items claude-ide.journal.Rest[]
---@param done fun(old: table<string, string>, new: table<string, string>) by name
local function read(items, done)
  local checkpoints = require("claude-ide.journal.checkpoints")
  local old, new = {}, {}
  for _, item in ipairs(items) do
    if not item.mode_only then
      old[#old + 1] = kind_of(item.old_mode) ~= "none" and { blob = item.blob, name = item.name } or nil
      new[#new + 1] = kind_of(item.new_mode) ~= "none" and { blob = item.new_blob, name = item.name } or nil
    end
  end
  local folder = items[1].folder
  checkpoints.read(folder, old, function(before)
    checkpoints.read(folder, new, function(after)
      done(before, after)
    end)
  end)
end

---Undoes the changes in portions. Each is tried once, with or without success.
---@param turn integer
---@param since integer seconds since the epoch: when the turn began
---@param pace fun(step: fun(): boolean) calls the step until it returns false, and lets keys be read in between
---@param result fun(result: claude-ide.journal.Undone)
---@param done fun()
local function take_back_rest(turn, since, pace, result, done)
  local items = require("claude-ide.journal.rest").items(turn)
  table.sort(items, function(a, b)
    return a.path < b.path
  end)
  local at = 1
  local function portion()
    local these = vim.list_slice(items, at, at + PORTION - 1)
    -- One repository at a time.
    while #these > 1 and these[#these].folder ~= these[1].folder do
      these[#these] = nil
    end
    at = at + #these
    if #these == 0 then
      return done()
    end
    read(these, function(old, new)
      local i = 0
      pace(function()
        i = i + 1
        local item = these[i]
        if not item then
          portion()
          return false
        end
        local ok, err = put_back(item, old[item.name], new[item.name], since)
        if ok then
          require("claude-ide.journal.shell").user_wrote(item.path)
        end
        -- A `<C-c>` may end the reading of a portion: what could not be read is tried again when it is asked for again.
        if ok or item.mode_only or kind_of(item.new_mode) == "none" or new[item.name] then
          require("claude-ide.journal.rest").remove(turn, item)
        end
        result({ path = item.path, ok = ok == true, err = err, left = 0 })
        return true
      end)
    end)
  end
  portion()
end

---Length of one step, after which the event loop gets a turn.
local STEP_NS = 8 * 1000 * 1000

---@class claude-ide.journal.Undoing
---@field stop fun() leaves the rest as it is
---@field tried integer
---@field total integer

---Undoes a turn's changes in steps, including those that no review shows. A small turn is undone before this returns.
---@param id integer
---@param done fun(results: claude-ide.journal.Undone[], stopped: boolean)
---@return claude-ide.journal.Undoing
function M.take_back_turn(id, done)
  local rest, turn = require("claude-ide.journal.rest"), store().turn(id)
  require("claude-ide.journal.landing").move_back(id)
  local list, results, stopped, at = store().files(id), {}, false, 0
  ---@type claude-ide.journal.Undoing
  local undoing = {
    tried = 0,
    total = #list + rest.count(id),
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
    local file = list[at]
    if not file then
      take_back_rest(id, turn and turn.started or os.time(), pace, tried, function()
        done(results, false)
      end)
      return false
    end
    local view = undoable(file, id) -- current
    if view then
      tried(undo_file(view))
    end
    return true
  end)
  return undoing
end

---Checks for changes by running turns.
function M.look_again()
  observe().look_again()
  require("claude-ide.journal.shell").look_again(observe().found_changed)
end

---Calls back when the running checks for changes are complete; at once if there are none.
---@param done fun()
function M.when_known(done)
  M.look_again()
  require("claude-ide.journal.pending").await(done)
end

---The number of a turn's files that can be undone but are not in a review: beyond its limit, links, or changes of permissions.
---@param id integer
---@return integer
function M.count_rest(id)
  return require("claude-ide.journal.rest").count(id)
end

---Loads the modules for announced edits, which wait for this editor.
local function warm_up()
  require("claude-ide.journal.observe")
  require("claude-ide.journal.store").now()
  require("claude-ide.journal.changed")
  require("claude-ide.file")
  -- The first watch sets up file events and libuv's threads.
  local folder = require("claude-ide.workspace").folders()[1]
  require("claude-ide.watch.files").follow(folder .. "/.claude-ide", function() end)()
  require("claude-ide.privacy").denied_by("/")
end

---Clients of the journal that are sessions of the background, by session. No connection has a negative id, no chat so low a one.
---@type table<string, integer>
local in_background, next_background = {}, -1000000

---A session of the background that has changes to review.
---@param session string
---@return integer? client
function M.of_session(session)
  return in_background[session]
end

---Follows a session that runs without an editor. Its changes are one turn.
---@param session string
---@param since integer milliseconds since the epoch
local function follow_background(session, since)
  if not in_background[session] then
    next_background = next_background - 1
    in_background[session] = next_background
    local turn = store().turn_alone(next_background)
    require("claude-ide.journal.transcript_edits").follow(next_background, turn.id, since, session)
  end
end

---@param sessions claude-ide.sessions.Live[]
local function look_at_background(sessions)
  for _, live in ipairs(require("claude-ide.sessions.background").those_here(sessions)) do
    follow_background(live.id, live.started or require("claude-ide.clock").now())
  end
end

local follow_server = require("claude-ide.once")(function()
  local bus = require("claude-ide.bus")
  bus.on("client_ready", function(client)
    vim.defer_fn(warm_up, 0)
    require("claude-ide.journal.transcript_edits").begin(client.id)
    join(client)
  end)
  bus.on("client_changed", join)
  bus.on("session_changed", function(change)
    look_at_background({ change.session })
  end)
  look_at_background(require("claude-ide.sessions").live())
  bus.on("session_left", follow_background)
  bus.on("client_disconnected", function(client)
    joined[client.id] = nil
    M.left(client.id)
  end)
end)

---Starts to track file changes.
function M.attach()
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = group,
    desc = "Claude: attribute the user's writes",
    callback = function(event)
      observe().user_wrote(vim.api.nvim_buf_get_name(event.buf))
    end,
  })
  vim.api.nvim_create_autocmd("FileChangedShellPost", {
    group = group,
    desc = "Claude: update changes after a write",
    callback = function(event)
      local file = store().find(vim.api.nvim_buf_get_name(event.buf))
      if file then
        require("claude-ide.journal.changed").tell(file.id)
      end
    end,
  })
  follow_server()
  vim.defer_fn(function()
    store().clean()
  end, CLEAN_AFTER_MS)
end

return M
