-- How things stand, asked of what is in use: nothing is loaded for it.
local M = {}

---@class claude-ide.Status
---@field running boolean the server listens
---@field problem? string why it cannot, where that is the library's fault
---@field port? integer
---@field clients claude-ide.Client[] first the one that connected first
---@field diffs integer proposed edits that wait for a decision
---@field review claude-ide.journal.Counts what Claude changed and nobody reviewed
---@field mentions integer mentions that wait for a client
---@field selection boolean whether the selection is sent
---@field sessions claude-ide.sessions.Live[] what the connected CLIs do, as far as that can be seen; see ClaudeWorking
---@field terminal { running: boolean, visible: boolean }

---@param loaded table? a module, if it is in use
---@param name string of its function
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
  local problem = not running and ask(package.loaded["claude-ide.native"], "problem", nil) or nil
  return {
    running = running,
    problem = problem and (problem.what:gsub("^The", "the")) or nil,
    port = info and info.port,
    clients = running and ask(package.loaded["claude-ide.server"], "clients", {}) or {},
    diffs = ask(package.loaded["claude-ide.proposal"], "count", 0),
    review = ask(package.loaded["claude-ide.journal"], "counts", { files = 0, hunks = 0, conflicts = 0 }),
    mentions = ask(package.loaded["claude-ide.mention"], "pending", 0),
    selection = ask(
      package.loaded["claude-ide.selection"],
      "is_enabled",
      require("claude-ide.config").get().selection.enabled
    ),
    sessions = vim.tbl_map(function(ours)
      return ours.session
    end, ask(package.loaded["claude-ide.sessions.ours"], "list", {})),
    terminal = {
      running = ask(package.loaded["claude-ide.terminal"], "is_running", false),
      visible = ask(package.loaded["claude-ide.terminal"], "is_visible", false),
    },
  }
end

return M
