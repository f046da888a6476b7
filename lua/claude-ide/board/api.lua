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

---@param action claude-ide.sessions.ActionName
---@return fun(id: string, words?: string)
local function on(action)
  return function(id, words)
    actions.run_by_id(action, id, words)
  end
end

---Opens its transcript.
---@type fun(id: string)
M.read = on("read")

---Resumes it in Neovim's terminal. Asks if a CLI runs there, or the session runs elsewhere.
---@type fun(id: string)
M.resume = on("resume")

---Forks it in Neovim's terminal.
---@type fun(id: string)
M.fork = on("fork")

---Copies its full id into the unnamed register and the clipboard.
---@type fun(id: string)
M.copy = on("copy")

---Renames it, like `/rename` of the CLI; asks for a title if none is given.
---@type fun(id: string, title?: string)
M.rename = on("rename")

---Keeps a copy, which stays when the CLI deletes the session.
---@type fun(id: string)
M.keep = on("keep")

---Removes the copy; asks first.
---@type fun(id: string)
M.unkeep = on("unkeep")

---Exports it as Markdown into a new buffer.
---@type fun(id: string)
M.export = on("export")

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
