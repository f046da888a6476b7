-- `require("claude-ide").sessions`: the session commands as functions, and what a custom picker needs.
-- A session is given by id or prefix. Later errors are notices, as with the commands.

local lazy = require("claude-ide.lazy")
local actions = lazy("claude-ide.terminal.session_actions")
local catalogue = lazy("claude-ide.sessions.catalogue")
local grep = lazy("claude-ide.board.grep")
local picker = lazy("claude-ide.board.picker")
local sessions = lazy("claude-ide.sessions")

---@class claude-ide.sessions.Api
local M = {}

---The running sessions, of this Neovim and others. From memory: empty until the first scan is complete.
---@return claude-ide.sessions.Live[]
function M.live()
  sessions.attach()
  return sessions.live()
end

---The sessions of this project, or of all, most recently written first.
---@param options? claude-ide.sessions.CatalogueOptions
---@param done fun(items?: claude-ide.sessions.Item[], err?: string)
---@return fun() cancel
function M.list(options, done)
  return catalogue.load(options or {}, done)
end

---Opens a list of sessions, then of actions.
---@param options? claude-ide.sessions.CatalogueOptions
function M.select(options)
  picker.open(options)
end

---Opens its transcript.
---@param id string
function M.read(id)
  actions.run_by_id("read", id)
end

---Resumes it in Neovim's terminal. Asks if a CLI runs there, or the session runs elsewhere.
---@param id string
function M.resume(id)
  actions.run_by_id("resume", id)
end

---Forks it in Neovim's terminal.
---@param id string
function M.fork(id)
  actions.run_by_id("fork", id)
end

---Copies its full id into the unnamed register and the clipboard.
---@param id string
function M.copy(id)
  actions.run_by_id("copy", id)
end

---Renames it, like `/rename` of the CLI; asks for a title if none is given.
---@param id string
---@param title? string
function M.rename(id, title)
  actions.run_by_id("rename", id, title)
end

---Keeps a copy, which stays when the CLI deletes the session.
---@param id string
function M.keep(id)
  actions.run_by_id("keep", id)
end

---Removes the copy; asks first.
---@param id string
function M.unkeep(id)
  actions.run_by_id("unkeep", id)
end

---Exports it as Markdown into a new buffer.
---@param id string
function M.export(id)
  actions.run_by_id("export", id)
end

---Searches transcripts and lists the hits in the quickfix window. Cancels a running search.
---@param pattern string
---@param options? claude-ide.sessions.GrepOptions
function M.grep(pattern, options)
  grep.start(pattern, options)
end

---Cancels the running search.
---@return boolean cancelled
function M.cancel_grep()
  return grep.cancel()
end

return M
