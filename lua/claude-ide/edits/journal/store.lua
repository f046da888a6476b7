-- The journal's data, kept by the library (crates/edits): histories of files, turns, and Claude's changes in a text.
-- Invariant: the library is loaded only when a turn or a file has to be kept.

local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local at_exit = lazy("claude-ide.base.at_exit")
local bus = lazy("claude-ide.base.bus")
local ide_event = lazy("claude-ide.config.event")
local ide_path = lazy("claude-ide.base.path")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local pending = lazy("claude-ide.edits.journal.pending")
local privacy = lazy("claude-ide.server.privacy")

---A tracked file.
---@class claude-ide.journal.File
---@field id integer
---@field path string its first name
---@field real string resolved

---@alias claude-ide.journal.Actor
---| "claude"
---| "user"
---| "accepted" # Claude's, accepted by the user

---@alias claude-ide.journal.State
---| "claude" # Claude's, as Claude left it
---| "conflict" # Claude's, and changed by the user since
---| "gone" # undone by the user already

---The kind of a current text.
---@alias claude-ide.journal.TextKind
---| "disk"
---| "unsaved" # of a buffer with unsaved changes
---| "behind" # the disk's; a buffer has unsaved changes of an older text
---| "recorded" # the last recorded contents on disk

---@alias claude-ide.journal.Scope
---| "unreviewed"
---| "turn" # the last one
---| "session" # that of the last turn
---| "all"
---| string # "turn 3", "session 3": of that client
---| integer # the turn with that id

---@class claude-ide.journal.Undo preview of an undo
---@field bytes? string new contents; nil: the file would be deleted
---@field places integer hunks present
---@field hunks integer to undo
---@field left integer hunks that stay because the user has changed them since
---@field since? integer start of the first turn, in seconds since the epoch

---@class claude-ide.journal.Turn a CLI's work between two prompts
---@field id integer
---@field client integer
---@field began integer when its prompt was submitted, as far as that is known, in milliseconds since the epoch
---@field started integer the same in seconds
---@field ended? integer nil: running
---@field files string[] paths that Claude changed
---@field left_out integer files changed by commands that cannot be undone

---@class claude-ide.journal.Store
---@field open fun(path: string, real: string, secret: boolean, bytes?: string): { file: claude-ide.journal.File, is_new: boolean }
---@field file fun(id: integer): claude-ide.journal.File? nil: forgotten
---@field rename fun(file: integer, path: string, real: string): boolean the user has given it this name; false: another tracked file has it
---@field is_landing fun(file: integer): boolean whether this editor is writing it
---@field mode fun(file: integer): integer? permissions, for creating it again
---@field set_mode fun(file: integer, mode?: integer)
---@field links fun(file: integer): integer names (hard links) that it had before it was changed
---@field set_links fun(file: integer, links: integer)
---@field turn_of fun(file: integer): integer? the running turn that announced an edit
---@field revision fun(file: integer): integer differs after each change of the recorded state
---@field is_last fun(file: integer, bytes?: string): boolean whether these bytes were recorded last
---@field is_undone fun(file: integer): boolean whether an undo has made what was recorded last
---@field note fun(file: integer, bytes?: string, actor?: claude-ide.journal.Actor, turn?: integer) records contents on disk, and who wrote them
---@field before_edit fun(client: integer, path: string, real: string, secret: boolean, most: integer): { file?: claude-ide.journal.File, why_not?: string } reads the file, of at most so many bytes; why_not: "large", or the system's error
---@field release fun(file: integer, turn: integer) ends that turn's edits
---@field accepted fun(path: string, contents: string) accepted by the user in a diff: the CLI will write it
---@field set_landing fun(file: integer, actor?: claude-ide.journal.Actor, turn?: integer) who the writes of this editor are attributed to
---@field now fun(): integer nanoseconds
---@field copied_for fun(turn: integer, at: integer) records a checkpoint of a turn
---@field found fun(path: string, real: string, secret: boolean, turn: integer, before?: string, mode?: integer, since: integer, taken: integer, is_start: boolean): claude-ide.journal.File
---@field met_in fun(turn: integer, since: integer): string[] files whose announced edit found unrecorded contents, as resolved paths
---@field reported fun(path: string, real: string, secret: boolean, client: integer, time: integer, ended: integer, by_user: boolean, transcript: integer, call: string, most: integer): boolean takes the texts of a change that an open transcript has told last; texts of more than so many bytes are ignored
---@field may_have fun(file: integer, scope: string): boolean whether it may have changes of Claude's
---@field change fun(file: integer, scope: string, kind: claude-ide.journal.TextKind, text?: string): claude-ide.journal.Change?
---@field keep fun(file: integer, scope: string, kind: claude-ide.journal.TextKind, text?: string, hunk?: integer): boolean? false: kept already; nil: no such change
---@field undo fun(file: integer, scope: string, kind: claude-ide.journal.TextKind, text?: string, hunk?: integer): claude-ide.journal.Undo?
---@field set_undoing fun(file: integer, undoing: boolean) whether writes carry out the last requested `undo`
---@field take_prompt fun(client: integer): boolean takes a prompt for that of the running turn, if that began before it was announced
---@field start_turn fun(client: integer, at: integer, sent?: integer, reports_end: boolean): claude-ide.journal.Turn
---@field turn_alone fun(client: integer): claude-ide.journal.Turn a turn beside the client's current one
---@field only_turn fun(client: integer, since: integer): claude-ide.journal.Turn of a client whose prompts are not known
---@field await_work fun(client: integer) work that its session tells of begins a turn
---@field activity fun(client: integer, is_busy: boolean, since?: integer): { began?: claude-ide.journal.Turn, is_over?: true }? what its session does, and what follows
---@field edits_over fun(client: integer): boolean whether its turn is over, not just a step of it
---@field is_busy fun(client: integer): boolean whether its session is known to work on its turn
---@field is_running fun(client: integer): boolean whether its turn is known to be running
---@field is_followed fun(client: integer): boolean whether the start of its turn is known
---@field current_turn fun(client: integer): claude-ide.journal.Turn a new one if none is running
---@field finish_turn fun(client: integer)
---@field leave fun(client: integer)
---@field turn fun(id: integer): claude-ide.journal.Turn?
---@field last_turn fun(client: integer): integer?
---@field folder fun(): string? for files on disk
---@field clean fun() removes leftovers of dead Neovims
---@field forget fun() removes this Neovim's files
local M = {}

---Whether any operation has loaded the library: until then the journal is empty.
local is_used = false

---Handlers of the library's events.
local TELL = {
  turn_started = function(turn)
    ide_event.emit("ClaudeTurnStarted", { turn = turn })
  end,
  turn_ended = function(turn)
    vim.schedule(function() -- what looks for changes of commands begins now
      pending.await(function()
        local known = M.turn(turn.id) or turn
        bus.emit("turn_ended", known)
        ide_event.emit("ClaudeTurnEnded", { turn = known })
      end)
    end)
  end,
  turn_forgotten = function(turn)
    bus.emit("turn_forgotten", turn)
  end,
  file_changed = function(change)
    bus.emit("file_changed", change.path)
    ide_event.emit("ClaudeFileChanged", change)
  end,
  stale = function(file)
    announce.tell(file)
  end,
}

---@param operation string
---@return any
local function call(operation, ...)
  local value, err = native.journal(operation, ...)
  if err then
    log.error("the journal: %s: %s", operation, err)
  end
  return value
end

local function use()
  is_used = true
  call("keep_in", vim.fn.stdpath("state") .. "/claude-ide/journal", vim.uv.os_gethostname())
  at_exit("the journal", function()
    call("forget")
  end)
end

---@param path string
---@return claude-ide.journal.File?
function M.find(path)
  return is_used and call("find", ide_path.real(path)) or nil
end

---@param turn? integer only files that it changed
---@return claude-ide.journal.File[] by path
function M.files(turn)
  return is_used and call("files", turn) or {}
end

---@return claude-ide.journal.Turn[] oldest first
function M.turns()
  return is_used and call("turns") or {}
end

---@return { total: integer, memory: integer, count: integer } stored bytes, and number of texts
function M.stored()
  return is_used and call("stored") or { total = 0, memory = 0, count = 0 }
end

---The files changed by commands in a turn that cannot be undone.
---@param turn integer
---@return string[] paths
function M.left_out(turn)
  return is_used and call("left_out", turn) or {}
end

---Records files changed by commands in a turn that cannot be undone.
---@param turn integer
---@param paths string[]
function M.leave_out(turn, paths)
  if #paths > 0 then
    call("leave_out", turn, table.concat(paths, "\0"))
  end
end

---A file's arguments for the library: path, resolved path, and whether it is withheld from Claude.
---@param path string
---@return string path
---@return string real
---@return boolean secret
function M.named(path)
  return path, ide_path.real(path), privacy.denied_by(path) ~= nil
end

setmetatable(M --[[@as table]], {
  __index = function(_, operation)
    local function run(...)
      if not is_used then
        use()
      end
      local value = call(operation, ...)
      for _, event in ipairs(call("events") or {}) do
        TELL[event.name](event.value)
      end
      return value
    end
    rawset(M --[[@as table]], operation, run)
    return run
  end,
})

return M --[[@as claude-ide.journal.Store]]
