-- The journal's memory, which the library keeps (crates/edits): the histories of files, turns, and what of Claude's is in a text.
-- Invariant: nothing here loads the library before a turn or a file has to be kept.

---A file that the journal follows.
---@class claude-ide.journal.File
---@field id integer
---@field path string as it was named first
---@field real string with links followed

---@alias claude-ide.journal.Actor
---| "claude"
---| "user"
---| "accepted" # Claude's, and the user has seen and taken it

---@alias claude-ide.journal.State
---| "claude" # Claude's, as Claude left it
---| "conflict" # Claude's, and changed by the user since
---| "gone" # the user has taken it back already

---What a text of now is.
---@alias claude-ide.journal.TextKind
---| "disk"
---| "unsaved" # of a buffer with unsaved changes
---| "behind" # the disk's, where a buffer has unsaved changes of an older text
---| "recorded" # what was last seen on disk

---@alias claude-ide.journal.Scope "unreviewed"|"turn"|"session"|"all"|integer a number: the turn with that id

---@class claude-ide.journal.Undo what taking changes back would do
---@field bytes? string what the file would hold; nil: it should go
---@field places integer hunks that are there
---@field hunks integer that are taken back
---@field left integer hunks that stay because the user has changed them since
---@field since? integer when the first of the turns began, in seconds since the epoch

---@class claude-ide.journal.Turn what a CLI does between two prompts
---@field id integer
---@field client integer
---@field started integer seconds since the epoch
---@field ended? integer nil: it goes on
---@field files string[] paths that Claude changed in it
---@field left_out integer files that commands changed in it and that are not known well enough to be taken back

---@class claude-ide.journal.Store
---@field open fun(path: string, real: string, secret: boolean, bytes?: string): { file: claude-ide.journal.File, is_new: boolean }
---@field file fun(id: integer): claude-ide.journal.File? nil: it was forgotten
---@field is_landing fun(file: integer): boolean whether this editor writes it
---@field mode fun(file: integer): integer? permissions of the file, to make it again with
---@field set_mode fun(file: integer, mode?: integer)
---@field turn_of fun(file: integer): integer? the turn that announced an edit and is not over
---@field revision fun(file: integer): integer another one after everything that changes what is known of it
---@field steps fun(file: integer): integer
---@field is_last fun(file: integer, bytes?: string): boolean whether that is what was recorded last
---@field note fun(file: integer, bytes?: string, actor?: claude-ide.journal.Actor, turn?: integer) what was found on disk, and whose it is
---@field before_edit fun(client: integer, path: string, real: string, secret: boolean, bytes?: string): claude-ide.journal.File
---@field release fun(file: integer, turn: integer) the edits of that turn are over
---@field accepted fun(path: string, contents: string) by the user in a diff: the CLI will write it now
---@field set_landing fun(file: integer, actor?: claude-ide.journal.Actor, turn?: integer) whose it is what this editor writes
---@field now fun(): integer nanoseconds
---@field copied_for fun(turn: integer, at: integer) a checkpoint of a turn was taken
---@field found fun(path: string, real: string, secret: boolean, turn: integer, before?: string, mode?: integer, since: integer, taken: integer, is_start: boolean): claude-ide.journal.File
---@field met_in fun(turn: integer, since: integer): string[] files in which an announced edit met what was not seen before, links followed
---@field told fun(path: string, real: string, secret: boolean, turn: integer, by_user: boolean, before?: string, after: string, current?: string): boolean
---@field may_have fun(file: integer, scope: string): boolean whether something of Claude's may be there
---@field change fun(file: integer, scope: string, kind: claude-ide.journal.TextKind, text?: string): claude-ide.journal.Change?
---@field keep fun(file: integer, scope: string, kind: claude-ide.journal.TextKind, text?: string, hunk?: integer): boolean? false: that is so already; nil: nothing is there
---@field undo fun(file: integer, scope: string, kind: claude-ide.journal.TextKind, text?: string, hunk?: integer): claude-ide.journal.Undo?
---@field set_undoing fun(file: integer, undoing: boolean) whether what is written takes back what `undo` was asked for last
---@field start_turn fun(client: integer): claude-ide.journal.Turn
---@field turn_alone fun(client: integer): claude-ide.journal.Turn one beside that which the client is in
---@field current_turn fun(client: integer): claude-ide.journal.Turn a new one where none was seen to begin
---@field finish_turn fun(client: integer)
---@field leave fun(client: integer)
---@field turn fun(id: integer): claude-ide.journal.Turn?
---@field last_turn fun(client: integer): integer?
---@field folder fun(): string? for what is kept on disk
---@field clean fun() removes what Neovims that are no more have left
---@field forget fun() removes what this one has on disk
local M = {}

---Without these nothing is in it.
local is_used = false

---What happened, in order.
local TELL = {
  turn_started = function(turn)
    require("claude-ide.event").emit("ClaudeTurnStarted", { turn = turn })
  end,
  turn_ended = function(turn)
    require("claude-ide.event").emit("ClaudeTurnEnded", { turn = turn })
  end,
  turn_forgotten = function(turn)
    require("claude-ide.bus").emit("turn_forgotten", turn)
  end,
  file_changed = function(change)
    require("claude-ide.event").emit("ClaudeFileChanged", change)
  end,
  stale = function(file)
    require("claude-ide.journal.changed").tell(file)
  end,
}

---@param operation string
---@return any
local function call(operation, ...)
  local value, err = require("claude-ide.native").journal(operation, ...)
  if err then
    require("claude-ide.log").error("the journal: %s: %s", operation, err)
  end
  return value
end

local function use()
  is_used = true
  call("keep_in", vim.fn.stdpath("state") .. "/claude-ide/journal", vim.uv.os_gethostname())
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("claude-ide.journal.store", { clear = true }),
    desc = "Claude: the journal goes with this Neovim",
    callback = function()
      call("forget")
    end,
  })
end

---@param path string
---@return claude-ide.journal.File?
function M.find(path)
  return is_used and call("find", require("claude-ide.path").real(path)) or nil
end

---@param turn? integer only those that it changed
---@return claude-ide.journal.File[] by path
function M.files(turn)
  return is_used and call("files", turn) or {}
end

---@return claude-ide.journal.Turn[] oldest first
function M.turns()
  return is_used and call("turns") or {}
end

---@return { total: integer, memory: integer, count: integer } stored bytes, and how many texts
function M.stored()
  return is_used and call("stored") or { total = 0, memory = 0, count = 0 }
end

---Notes files that commands changed in a turn and that cannot be taken back.
---@param turn integer
---@param paths string[]
function M.leave_out(turn, paths)
  if #paths > 0 then
    call("leave_out", turn, table.concat(paths, "\0"))
  end
end

---How the library is told of a file: its name, with links followed, and whether it is kept from Claude.
---@param path string
---@return string path
---@return string real
---@return boolean secret
function M.named(path)
  return path, require("claude-ide.path").real(path), require("claude-ide.privacy").denied_by(path) ~= nil
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
