-- What other plugins and an init.lua call. Everything here works without setup().

local M = {}

---@class claude-ide.Status
---@field running boolean the server listens
---@field port? integer
---@field clients claude-ide.Client[] first the one that connected first
---@field diffs integer proposed edits that wait for a decision
---@field review claude-ide.journal.Counts what Claude changed and nobody reviewed
---@field mentions integer mentions that wait for a client
---@field selection boolean whether the selection is sent
---@field sessions claude-ide.sessions.Live[] what the connected CLIs do, as far as that can be seen; see ClaudeWorking
---@field terminal { running: boolean, visible: boolean }

---Takes your options. Not needed for the defaults. A second call replaces the first.
---@param opts? claude-ide.Opts
function M.setup(opts)
  require("claude-ide.config").setup(opts)
  local selection = package.loaded["claude-ide.selection"]
  if type(selection) == "table" then
    selection.reconfigure()
  end
end

---How things stand. Loads nothing that is not in use, so it may be called often.
---@return claude-ide.Status
function M.status()
  ---@param module string
  ---@param name string
  ---@param fallback any
  local function ask(module, name, fallback)
    local loaded = package.loaded["claude-ide." .. module]
    if type(loaded) ~= "table" or loaded[name] == nil then
      return fallback
    end
    return loaded[name]()
  end
  local running = ask("server", "is_running", false)
  local info = running and ask("server", "info", nil) or nil
  return {
    running = running,
    port = info and info.port,
    clients = running and ask("server", "clients", {}) or {},
    diffs = ask("diff", "count", 0),
    review = ask("journal", "counts", { files = 0, hunks = 0, conflicts = 0 }),
    mentions = ask("mention", "pending", 0),
    selection = ask("selection", "is_enabled", require("claude-ide.config").get().selection.enabled),
    sessions = vim.tbl_map(function(ours)
      return ours.session
    end, ask("sessions.ours", "list", {})),
    terminal = {
      running = ask("terminal", "is_running", false),
      visible = ask("terminal", "is_visible", false),
    },
  }
end

---Starts the server, so that a CLI in any terminal can connect.
---@return { host: string, port: integer, lock_files: string[] }? info
---@return string? err
function M.connect()
  return require("claude-ide.server").start()
end

---Stops the server. Diffs that wait are rejected first.
function M.disconnect()
  require("claude-ide.server").stop()
end

---Shows or hides the terminal; starts the CLI if it does not run.
---@param args? string[] arguments for the CLI, e.g. { "--resume" }
function M.toggle(args)
  require("claude-ide.terminal").toggle(args)
end

---Shows the terminal and goes to it.
---@param args? string[]
function M.open(args)
  require("claude-ide.terminal").open(args)
end

---Goes to the terminal, or back from it.
function M.focus()
  require("claude-ide.terminal").focus()
end

---Mentions a file, a folder, or some of a file's lines to Claude.
---@param path string
---@param first? integer first line, from 1
---@param last? integer last line
function M.mention(path, first, last)
  require("claude-ide.mention").send_file(path, first, last)
end

---Accepts a proposed edit: the one in this tab page, else the one that has waited longest.
---@return boolean? ok nil: it was not accepted
---@return string? err why not
function M.accept()
  return require("claude-ide.diff").accept()
end

---Rejects a proposed edit: the one in this tab page, else the one that has waited longest.
---@param reason? string told to Claude as its next prompt, see |:Claude-reject|
---@return boolean? ok nil: none waits
---@return string? err
function M.reject(reason)
  return require("claude-ide.diff").reject(nil, reason)
end

---The review of what Claude changed: the functions behind `:Claude review`, its keys and `:Claude undo`.
---And its sessions: the functions behind `:Claude sessions` and `:Claude grep`.
---@class claude-ide.Api
---@field review claude-ide.review
---@field sessions claude-ide.sessions.Api

---@type table<string, string> loaded when they are used
local PARTS = { review = "claude-ide.review", sessions = "claude-ide.sessions.api" }

return setmetatable(M, {
  __index = function(_, key)
    return PARTS[key] and require(PARTS[key]) or nil
  end,
})
