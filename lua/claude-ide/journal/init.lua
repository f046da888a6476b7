-- What Claude changed, turn by turn, whether or not it asked: told by what the CLI calls before and after its edits, found by
-- checkpoints, named in its transcript. The one module that others call; what it is made of lies beside it.
local M = {}

---Leftovers of dead Neovims are removed when the start is over.
local CLEAN_AFTER_MS = 2000

local GROUP = "claude-ide.journal"

local function observe()
  return require("claude-ide.journal.observe")
end

---What somebody says of itself who is no connected client, which is asked.
---@class claude-ide.journal.Unconnected
---@field folder string that it works in
---@field session? fun(): string? the one that it is in now; nil: there is no transcript of it

---@param client integer
---@param turn claude-ide.journal.Turn
---@param at? integer when its prompt came, in milliseconds since the epoch
---@param unconnected? claude-ide.journal.Unconnected
local function follow_turn(client, turn, at, unconnected)
  local folder, session = unconnected and unconnected.folder, unconnected and unconnected.session
  require("claude-ide.journal.shell").begin(client, turn.id, folder, observe().found_changed, function()
    M.edits_over(client)
  end)
  require("claude-ide.journal.transcript_edits").begin(client, turn.id, at, session)
end

---@return claude-ide.journal.Store
local function store()
  return require("claude-ide.journal.store")
end

---The turns whose begin nobody announced, by client, where they are the last.
---@type table<integer, integer>
local unannounced = {}

---A prompt was submitted. Neovim may hear of it late: its turn begins when it came.
---@param client integer
---@param at? integer milliseconds since the epoch; default: now
---@param unconnected? claude-ide.journal.Unconnected
function M.turn_started(client, at, unconnected)
  local begun = unannounced[client] and store().turn(unannounced[client])
  unannounced[client] = nil
  if begun and not begun.ended and #begun.files == 0 then
    return -- this is its prompt: the CLI was at work before it said so
  end
  observe().settle(client, true)
  require("claude-ide.journal.refusals").turn_over(client, at)
  follow_turn(client, store().start_turn(client), at, unconnected)
end

---Clients that were looked at when they came, whether they are at work.
---@type table<integer, true>
local joined = {}

---Follows a turn whose prompt nobody announced: the CLI does not tell of one that it was given before it was connected, or
---at the very moment of it.
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

---A client is about to edit a file: what it holds now is kept, before this returns.
---@param client integer
---@param path string absolute
---@param call? string that writes it, where `edit_over` will name it: until then the file is followed, whatever turns end
function M.before_edit(client, path, call)
  observe().before_edit(client, path, call)
  local known = require("claude-ide.server").client(client)
  if known and known.pid and not require("claude-ide.journal.shell").is_watching(client) then
    look_for_work(known)
  end
end

---A call that may have announced an edit is over.
---@param client integer
---@param call string
function M.edit_over(client, call)
  observe().edit_over(client, call)
end

---Something saw that a file was written; the watch of announced files does so itself.
---@param path string absolute
function M.landed(path)
  observe().landed(path)
end

---Notes that the user accepted contents that the CLI will write now: they are reviewed.
---@param path string absolute
---@param contents string
function M.accepted(path, contents)
  store().accepted(path, contents)
end

---Waits for what becomes of an edit that a client was allowed, as its transcript tells.
---@param client integer
---@param path string absolute
---@param done fun(words?: string, is_gone?: boolean) words: the tool's, which refused; nil: it wrote, or nobody will know. is_gone: its client is, in that turn, and neither is known
---@return fun() cancel it is known otherwise
function M.await_allowed(client, path, done)
  return require("claude-ide.journal.refusals").await(client, path, done)
end

---What this editor itself writes for Claude, as one step that `:Claude undo` takes back.
function M.landing()
  return require("claude-ide.journal.landing")
end

---The edits of a client's turn are over, as far as it tells.
---@param client integer
function M.edits_over(client)
  -- The CLI tells so after each step of a turn; where its status can be seen, that says when the turn is over.
  observe().settle(client, not require("claude-ide.journal.shell").is_busy(client))
  require("claude-ide.journal.shell").finish(client, observe().found_changed)
  require("claude-ide.journal.transcript_edits").finish(client)
end

---A client is gone, perhaps in the middle of a turn.
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

---What Claude changed and is still there, file by file.
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

---What Claude changed in one file.
---@param path string
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return claude-ide.journal.Change?
function M.change(path, scope)
  local file = store().find(path)
  return file and require("claude-ide.journal.changes").of(file, scope or "unreviewed") or nil
end

---How much of what Claude changed waits for a review.
---@return claude-ide.journal.Counts
function M.counts()
  return require("claude-ide.journal.counts").get()
end

---Takes a hunk, or all of a file, as reviewed.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes(scope)`
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return boolean? ok
---@return string? err
function M.keep(path, hunk, scope)
  return require("claude-ide.journal.decide").keep(path, hunk, scope)
end

---Takes back a hunk, or all of Claude's hunks in a file. What the user changed since stays.
---@param path string absolute
---@param hunk? claude-ide.journal.Hunk of `changes(scope)`
---@param scope? claude-ide.journal.Scope default: "unreviewed"
---@return boolean? ok
---@return string? err also with `ok`, where something is left to do
---@return integer? left hunks that stay because the user has changed them since
function M.undo(path, hunk, scope)
  return require("claude-ide.journal.decide").undo(path, hunk, scope)
end

---Looks what turns that go on have changed until now.
function M.look_again()
  observe().look_again()
  require("claude-ide.journal.shell").look_again(observe().found_changed)
end

---Calls when what turns changed until now is known; where none goes on or has just ended, that is at once.
---@param done fun()
function M.when_known(done)
  M.look_again()
  require("claude-ide.journal.pending").await(done)
end

---The turn that an undo without a number is about: the last one of which something can be taken back.
---@return integer? id nil: nothing of Claude's is left
function M.undoable_turn()
  return require("claude-ide.journal.decide").undoable_turn()
end

---What undoing a turn would do.
---@param id? integer default: `undoable_turn()`
---@return claude-ide.journal.Preview[]
function M.preview_undo(id)
  return require("claude-ide.journal.decide").preview_undo(id)
end

---Takes back what a turn changed in files.
---@param id? integer default: `undoable_turn()`
---@return claude-ide.journal.Undone[] one a file
function M.undo_turn(id)
  return require("claude-ide.journal.decide").undo_turn(id)
end

---How many files of a turn can be taken back though no review shows them: there are too many, or they are links, or their
---permissions changed.
---@param id integer
---@return integer
function M.count_rest(id)
  return require("claude-ide.journal.rest").count(id)
end

---Takes back what a turn changed, also what no review shows, a little at a time.
---@param id integer
---@param done fun(results: claude-ide.journal.Undone[], stopped: boolean)
---@return claude-ide.journal.Undoing
function M.take_back_turn(id, done)
  return require("claude-ide.journal.decide").take_back_turn(id, done)
end

---What an announced edit needs is loaded before the first one waits for it.
local function warm_up()
  require("claude-ide.journal.observe")
  require("claude-ide.journal.store").now()
  require("claude-ide.journal.changed")
  require("claude-ide.file")
  -- The system's events and the threads for files are set up with the first file that is followed.
  local folder = require("claude-ide.workspace").folders()[1]
  require("claude-ide.watch.files").follow(folder .. "/.claude-ide", function() end)()
  require("claude-ide.privacy").denied_by("/")
end

local follows_server = false

---Follows what happens to files from now on.
function M.attach()
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = group,
    desc = "Claude: what the user writes is not Claude's",
    callback = function(event)
      observe().user_wrote(vim.api.nvim_buf_get_name(event.buf))
    end,
  })
  vim.api.nvim_create_autocmd("FileChangedShellPost", {
    group = group,
    desc = "Claude: what is left of its changes, where somebody else wrote a file",
    callback = function(event)
      local file = store().find(vim.api.nvim_buf_get_name(event.buf))
      if file then
        require("claude-ide.journal.changed").tell(file.id)
      end
    end,
  })
  if not follows_server then
    follows_server = true
    require("claude-ide.bus").on("client_ready", function(client)
      vim.defer_fn(warm_up, 0)
      require("claude-ide.journal.transcript_edits").begin(client.id)
      join(client)
    end)
    require("claude-ide.bus").on("client_changed", join)
    require("claude-ide.bus").on("client_disconnected", function(client)
      joined[client.id] = nil
      M.left(client.id)
    end)
  end
  vim.defer_fn(function()
    store().clean()
  end, CLEAN_AFTER_MS)
end

return M
