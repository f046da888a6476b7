-- Errors of language servers that are new when Claude ends its turn: it is told, and goes on. Only errors in files as they are on disk
-- count, so that what the user types meanwhile does not; nor do those in files that the user saved and Claude did not touch.
local lazy = require("claude-ide.lazy")
local fresh = lazy("claude-ide.language.diagnostics.fresh")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local journal = lazy("claude-ide.edits.journal")
local new_ones = lazy("claude-ide.language.diagnostics.new_ones")
local privacy = lazy("claude-ide.server.privacy")
local problems = lazy("claude-ide.language.problems")
local process = lazy("claude-ide.base.process")
local server = lazy("claude-ide.server")
local stamp = lazy("claude-ide.editor.buffer.stamp")

local M = {}

---How often in a turn.
local MOST_TIMES = 2
---Maximum wait for language servers.
local WAIT_MS = 2500

local WORDS = "These errors are new since the turn began:\n%s\n"

---How the editor was when a turn began, and what came since.
---@class claude-ide.hook_context.Snapshot
---@field errors table<string, integer> their counts
---@field ticks table<integer, integer> of the loaded buffers
---@field saved table<integer, true> buffers that the user has written since
---@field times integer how often Claude was told

---@type table<integer, claude-ide.hook_context.Snapshot> by process of the CLI
local snapshots = {}

---@return vim.Diagnostic[]
local function errors()
  return vim.tbl_filter(function(diagnostic)
    local buf = diagnostic.bufnr --[[@as integer]]
    return vim.api.nvim_buf_is_loaded(buf) and not vim.bo[buf].modified and privacy.verdict(buf) == "tell"
  end, vim.diagnostic.get(nil, { severity = vim.diagnostic.severity.ERROR }))
end

---@param pid integer
local function take_snapshot(pid)
  ---@type claude-ide.hook_context.Snapshot
  local snapshot = { errors = new_ones.counted(errors()), ticks = {}, saved = {}, times = 0 }
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    snapshot.ticks[buf] = vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_changedtick(buf) or nil
  end
  snapshots[pid] = snapshot
end

---The buffers whose errors are the user's own. All of them, if the user has saved something and Claude has changed nothing in the turn.
---@param snapshot claude-ide.hook_context.Snapshot
---@param pid integer
---@return fun(buf: integer): boolean
local function users_own(snapshot, pid)
  local client = vim.iter(server.clients()):find(function(one)
    return one.pid == pid and not one.mapped
  end)
  local scope = client and ("turn %d"):format(client.id) or "turn"
  local is_idle = next(snapshot.saved) ~= nil and #journal.changes(scope) == 0
  return function(buf)
    return is_idle
      or snapshot.saved[buf] == true and journal.change(vim.api.nvim_buf_get_name(buf), "all") == nil
  end
end

---@param snapshot claude-ide.hook_context.Snapshot
---@param pid integer
---@return string? text nil: there are none
local function text_since(snapshot, pid)
  local lines, is_users = {}, users_own(snapshot, pid)
  for _, diagnostic in ipairs(new_ones.since(errors(), vim.deepcopy(snapshot.errors))) do
    local buf = diagnostic.bufnr --[[@as integer]]
    local path = not is_users(buf) and vim.api.nvim_buf_get_name(buf)
    lines[#lines + 1] = path and path .. problems.line_of(diagnostic) or nil
  end
  return #lines > 0 and WORDS:format(table.concat(lines, "\n")) or nil
end

---@param pid integer
---@param done fun(): boolean
---@return boolean? later
local function tell(pid, done)
  local snapshot = snapshots[pid]
  if not snapshot or snapshot.times == MOST_TIMES then
    return
  end
  local changed = vim.tbl_filter(function(buf)
    return vim.api.nvim_buf_is_loaded(buf) and snapshot.ticks[buf] ~= vim.api.nvim_buf_get_changedtick(buf)
  end, vim.api.nvim_list_bufs())
  fresh.wait(changed, WAIT_MS, function()
    local text = text_since(snapshot, pid)
    hook_folder.put("errors." .. pid, "Stop", nil)
    hook_folder.put("errors." .. pid, "Stop", text and hook_folder.bounded(text))
    snapshot.times = snapshot.times + (done() and text and 1 or 0)
  end)
  return true
end

---Handles turns once a CLI has hooks.
M.attach = require("claude-ide.base.once")(function()
  hook_folder.on("turn", take_snapshot)
  hook_folder.on("stop", tell)
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = vim.api.nvim_create_augroup("claude-ide.hook_context.new_errors", { clear = true }),
    desc = "Claude: tell the user's errors from Claude's",
    callback = function(event)
      for pid, snapshot in pairs(stamp.is_done(event) and snapshots or {}) do
        snapshot.saved[event.buf] = true
        snapshots[pid] = process.runs(pid) and snapshot or nil
      end
    end,
  })
end)

return M
