-- The journal of Claude's changes by turn: edits announced by the CLI, found by checkpoints, or read in the transcript. The public
-- functions; the parts are beside it. What the user decides on the changes is in undo.lua.
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local background = lazy("claude-ide.terminal.background")
local bus = lazy("claude-ide.base.bus")
local changes = lazy("claude-ide.edits.journal.changes")
local client_transcripts = lazy("claude-ide.sessions.client_transcripts")
local clients = lazy("claude-ide.edits.journal.clients")
local clock = lazy("claude-ide.base.clock")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local ide_sessions = lazy("claude-ide.sessions")
local observe = lazy("claude-ide.edits.journal.observe")
local pending = lazy("claude-ide.edits.journal.pending")
local privacy = lazy("claude-ide.server.privacy")
local renames = lazy("claude-ide.edits.journal.renames")
local server = lazy("claude-ide.server")
local shell = lazy("claude-ide.edits.journal.shell")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local store = lazy("claude-ide.edits.journal.store")
local transcript_edits = lazy("claude-ide.edits.journal.transcript_edits")
local turns = lazy("claude-ide.edits.journal.turns")
local unapproved = lazy("claude-ide.edits.unapproved")
local watch_files = lazy("claude-ide.edits.watch.files")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Delay after start before leftovers of dead Neovims are removed.
local CLEAN_AFTER_MS = 2000

local GROUP = "claude-ide.journal"

---A client that is not connected to the server, such as a chat.
---@class claude-ide.journal.Unconnected
---@field folder string its working directory
---@field session? fun(): string? its current session; nil: it has no transcript

---Handles what commands of a client changed.
---@param client integer
---@return claude-ide.journal.OnFound
local function on_found(client)
  return function(change, turn, looked)
    observe.found_changed(change, turn, looked)
    unapproved.found(client, store.turn(turn), change.path)
  end
end

---@param client integer
---@param session_of? fun(): string? its current session; default: the client process's
---@param since? integer milliseconds since the epoch; default: now
local function read_transcript(client, session_of, since)
  transcript_edits.attach()
  client_transcripts.read(client, session_of, since)
end

---@param client integer
---@param turn integer
---@param at integer when Neovim learned of it, in milliseconds since the epoch
---@param was_running boolean the end of the turn before was not seen
---@param unconnected? claude-ide.journal.Unconnected
local function follow_turn(client, turn, at, was_running, unconnected)
  observe.note_silent_writes()
  local folder, session = unconnected and unconnected.folder, unconnected and unconnected.session
  shell.begin(client, turn, at, folder, was_running, on_found(client))
  read_transcript(client, session)
  if not unconnected then
    turns.follow(client)
  end
end

---@class claude-ide.journal.Prompt
---@field at? integer when Neovim learned of it, in milliseconds since the epoch; default: now
---@field sent? integer when the user sent it

---Handles a submitted prompt. The notification may be late: the turn begins at the prompt's time.
---@param client integer
---@param prompt claude-ide.journal.Prompt
---@param unconnected? claude-ide.journal.Unconnected a client that reports the end of its turns
function M.turn_started(client, prompt, unconnected)
  if store.take_prompt(client) then
    return -- the CLI started to work before the notification
  end
  observe.settle(client, true)
  expected_write.turn_over(client, prompt.at)
  local at, was_running = prompt.at or clock.now(), store.is_running(client)
  local turn = store.start_turn(client, at, prompt.sent, unconnected ~= nil)
  follow_turn(client, turn.id, at, was_running, unconnected)
end

---Clients that were checked for a running turn when they connected.
---@type table<integer, true>
local joined = {}

---@param client claude-ide.Client
local function join(client)
  if client.state ~= "ready" or not client.pid or joined[client.id] then
    return
  end
  joined[client.id] = true
  shell.prepare(client)
  turns.await_work(client.id)
end

---Handles the announcement of an edit: keeps the file's contents before this returns.
---@param client integer
---@param path string absolute
---@param call? string id of the tool call, if `edit_over` will name it: until then the file is tracked, even past the end of a turn
function M.before_edit(client, path, call)
  observe.before_edit(client, path, call)
  local known = server.client(client)
  if known and known.pid and not store.is_followed(client) then
    turns.await_work(client)
  end
end

---When a client's turn began.
---@param client integer
---@return integer? milliseconds since the epoch; nil: no turn of it is known
function M.began(client)
  local turn = store.is_followed(client) and store.turn(assert(store.last_turn(client)))
  return turn and turn.began or nil
end

---Handles the end of a tool call that may have announced an edit.
---@param client integer
---@param call string
function M.edit_over(client, call)
  observe.edit_over(client, call)
end

---Handles a write of a file seen by other code; announced files are watched already.
---@param path string absolute
function M.landed(path)
  observe.landed(path)
end

---Records that the user accepted contents that the CLI will write: they count as reviewed.
---@param path string absolute
---@param contents string
function M.accepted(path, contents)
  store.accepted(path, contents)
end

---Handles the reported end of a turn's edits.
---@param client integer
function M.edits_over(client)
  observe.note_silent_writes()
  observe.settle(client, store.edits_over(client))
  shell.finish(client, on_found(client))
  read_transcript(client)
end

---Handles a client's exit, perhaps in the middle of a turn.
---@param client integer
function M.left(client)
  observe.note_silent_writes()
  shell.stop(client, observe.found_changed)
  observe.left(client)
  expected_write.client_gone(client)
  client_transcripts.stop(client)
  store.leave(client)
end

---@return claude-ide.journal.Turn[] list newest last
function M.turns()
  return store.turns()
end

---Claude's changes that still exist, by file.
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return claude-ide.journal.Change[] by path
function M.changes(scope)
  local found = {}
  local unsaved = changes.unsaved()
  for _, file in ipairs(store.files()) do
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
  local file = store.find(path)
  return file and changes.of(file, scope or "unreviewed") or nil
end

---Whether a file is as an undo of Claude's changes has left it.
---@param path string
---@return boolean
function M.is_undone(path)
  local file = store.find(path)
  return file ~= nil and store.is_undone(file.id)
end

---Counts the unreviewed changes.
---@return claude-ide.journal.Counts
function M.counts()
  return changes.counts()
end

---Files with unreviewed changes, by the clients that changed them.
---@return table<integer, string[]>
function M.files_to_review()
  local files = {} ---@type table<integer, string[]>
  for _, change in ipairs(M.changes()) do
    local by = {} ---@type table<integer, true>
    for _, id in ipairs(change.turns) do
      local turn = store.turn(id)
      by[turn and turn.client or clients.NOBODY] = true
    end
    for client in pairs(by) do
      files[client] = files[client] or {}
      table.insert(files[client], change.path)
    end
  end
  return files
end

---Checks for changes by running turns.
function M.look_again()
  observe.note_silent_writes()
  observe.look_again()
  shell.look_again(observe.found_changed)
  renames.look()
end

---Calls back when the running checks for changes are complete; at once if there are none.
---@param done fun()
function M.when_known(done)
  M.look_again()
  pending.await(done)
end

---Loads the modules for announced edits, which wait for this editor.
local function warm_up()
  require("claude-ide.edits.journal.observe")
  store.now()
  require("claude-ide.edits.journal.announce")
  require("claude-ide.base.file")
  -- The first watch sets up file events and libuv's threads.
  local folder = workspace.folders()[1]
  watch_files.follow(folder .. "/.claude-ide", function() end)()
  privacy.denied_by("/")
end

---Clients that are sessions of the background.
---@type table<string, integer> by session
local in_background = {}

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
    local client = clients.of_background(vim.tbl_count(in_background) + 1)
    in_background[session] = client
    store.only_turn(client, since)
    read_transcript(client, function()
      return session
    end, since)
  end
end

---@param sessions claude-ide.sessions.Live[]
local function look_at_background(sessions)
  for _, live in ipairs(background.those_here(sessions)) do
    follow_background(live.id, live.started or clock.now())
  end
end

local follow_server = require("claude-ide.base.once")(function()
  bus.on("client_ready", function(client)
    vim.defer_fn(warm_up, 0)
    read_transcript(client.id)
    join(client)
  end)
  bus.on("client_changed", join)
  bus.on("session_changed", function(change)
    look_at_background({ change.session })
  end)
  look_at_background(ide_sessions.live())
  bus.on("session_left", follow_background)
  bus.on("client_disconnected", function(client)
    joined[client.id] = nil
    M.left(client.id)
  end)
end)

---Starts to track file changes.
function M.attach()
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd({ "BufWritePost", "FileWritePost", "FileAppendPost" }, {
    group = group,
    desc = "Claude: attribute the user's writes",
    callback = function(event)
      if not stamp.has_failed(event) then
        -- The file written, which with `:w copy` is not the buffer's.
        observe.user_wrote(event.match, stamp.had_no_changes(event))
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufFilePost" }, {
    group = group,
    desc = "Claude: follow files that the user has renamed",
    callback = function(event)
      renames.look_at(vim.api.nvim_buf_get_name(event.buf))
    end,
  })
  vim.api.nvim_create_autocmd("FileChangedShellPost", {
    group = group,
    desc = "Claude: update changes after a write",
    callback = function(event)
      local file = store.find(vim.api.nvim_buf_get_name(event.buf))
      if file then
        announce.tell(file.id)
      end
    end,
  })
  turns.attach({
    began = function(client, turn)
      follow_turn(client, turn.id, clock.now(), false)
    end,
    over = M.edits_over,
  })
  follow_server()
  renames.attach()
  vim.defer_fn(function()
    store.clean()
  end, CLEAN_AFTER_MS)
end

return M
