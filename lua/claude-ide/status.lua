-- The plugin's state, collected from loaded modules only.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")

local M = {}

---@class claude-ide.Status
---@field running boolean the server listens
---@field problem? string why it cannot run, if the library is the cause
---@field port? integer
---@field clients claude-ide.Client[] sorted by time of connection
---@field diffs integer waiting proposals
---@field review claude-ide.journal.Counts unreviewed changes of Claude
---@field comments integer to be sent
---@field mentions integer queued mentions
---@field selection boolean whether selections are sent
---@field sessions claude-ide.sessions.Live[] states of connected CLIs, if known; see ClaudeWorking
---@field terminal { running: boolean, visible: boolean }

---@param loaded table? a module, if it is loaded
---@param name string of a function
local function ask(loaded, name, fallback)
  if type(loaded) ~= "table" or loaded[name] == nil then
    return fallback
  end
  return loaded[name]()
end

---@return claude-ide.Status
function M.get()
  local running = ask(package.loaded["claude-ide.server"], "is_running", false)
  local info = running and ask(package.loaded["claude-ide.server"], "info", nil) or nil
  local problem = not running and ask(package.loaded["claude-ide.library.native"], "problem", nil) or nil
  return {
    running = running,
    problem = problem and (problem.what:gsub("^The", "the")) or nil,
    port = info and info.port,
    clients = running and ask(package.loaded["claude-ide.server"], "clients", {}) or {},
    diffs = ask(package.loaded["claude-ide.edits.proposal"], "count", 0),
    review = ask(
      package.loaded["claude-ide.edits.journal"],
      "counts",
      { files = 0, hunks = 0, conflicts = 0 }
    ),
    comments = ask(package.loaded["claude-ide.comments"], "count_drafts", 0),
    mentions = ask(package.loaded["claude-ide.context.mention"], "pending", 0),
    selection = ask(
      package.loaded["claude-ide.context.selection"],
      "is_enabled",
      config.get().selection.enabled
    ),
    sessions = vim.tbl_map(function(ours)
      return ours.session
    end, ask(package.loaded["claude-ide.terminal.own"], "list", {})),
    terminal = {
      running = ask(package.loaded["claude-ide.terminal"], "is_running", false),
      visible = ask(package.loaded["claude-ide.terminal"], "is_visible", false),
    },
  }
end

return M
