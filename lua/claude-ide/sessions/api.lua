-- `require("claude-ide").sessions`: what the commands on sessions do, as functions, and what a picker of your own needs.
-- A session is named by its id or the beginning of it. What fails later is a notice, as with the commands.

---@class claude-ide.sessions.Api
local M = {}

---The sessions that run now, of this Neovim and elsewhere. From memory: empty until the first look at them is over.
---@return claude-ide.sessions.Live[]
function M.live()
  local sessions = require("claude-ide.sessions")
  sessions.attach()
  return sessions.live()
end

---The sessions of this project, or of all projects, the one last written to first.
---@param options? claude-ide.sessions.CatalogueOptions
---@param done fun(items?: claude-ide.sessions.Item[], err?: string)
---@return fun() cancel
function M.list(options, done)
  return require("claude-ide.sessions.catalogue").load(options or {}, done)
end

---Lets the user choose one, and what to do with it.
---@param options? claude-ide.sessions.CatalogueOptions
function M.select(options)
  require("claude-ide.sessions.picker").open(options)
end

---Shows what was said in it.
---@param id string
function M.read(id)
  require("claude-ide.sessions.actions").run_by_id("read", id)
end

---Goes on with it in Neovim's terminal. Asks where a CLI runs there already, or the session runs elsewhere.
---@param id string
function M.resume(id)
  require("claude-ide.sessions.actions").run_by_id("resume", id)
end

---Goes on with a copy of it, in Neovim's terminal.
---@param id string
function M.fork(id)
  require("claude-ide.sessions.actions").run_by_id("fork", id)
end

---Puts its whole id into the unnamed register and the clipboard.
---@param id string
function M.copy(id)
  require("claude-ide.sessions.actions").run_by_id("copy", id)
end

---Gives it a title, as `/rename` of the CLI does; asks for one where none is given.
---@param id string
---@param title? string
function M.rename(id, title)
  require("claude-ide.sessions.actions").run_by_id("rename", id, title)
end

---Writes it as Markdown into a new buffer.
---@param id string
function M.export(id)
  require("claude-ide.sessions.actions").run_by_id("export", id)
end

---Searches what was said and lists it in the quickfix window. A new search ends the one before.
---@param pattern string
---@param options? claude-ide.sessions.GrepOptions
function M.grep(pattern, options)
  require("claude-ide.sessions.grep").start(pattern, options)
end

---Ends the search that runs.
---@return boolean cancelled
function M.cancel_grep()
  return require("claude-ide.sessions.grep").cancel()
end

return M
