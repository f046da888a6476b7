-- What is to be known of a message beside itself, to render it.

local M = {}

---What is to be known of a call.
---@class claude-ide.transcript.Context
---@field cwd? string the session's
---@field source string the key of the source
---@field max_lines integer lines of a text that are shown
---@field message integer
---@field agents? table<string, claude-ide.transcript.AgentView> by tool call
---@field speaker? string who replies; nil: Claude
---@field of_agent? boolean it is said by a subagent, or to one
---@field ended? boolean the session, or the subagent, does not run any more
---@field waited? fun(start: integer, stop: integer): integer milliseconds that the session waited for the user

---@class claude-ide.transcript.RowContext : claude-ide.transcript.Context
---@field row claude-ide.sessions.Row
---@field previous? claude-ide.sessions.Row the one shown before; nil for the first

---Of a message of the view's own source.
---@param view claude-ide.transcript.View
---@param known table<integer, claude-ide.sessions.Row> rows by number: those before, too
---@param row integer
---@return claude-ide.transcript.RowContext
function M.of_row(view, known, row)
  return {
    row = known[row],
    previous = require("claude-ide.transcript.render").previous(known, row),
    cwd = view.cwd,
    source = view.source.key,
    max_lines = view.source.max_lines,
    message = known[row].id,
    agents = view.agents,
    speaker = view.source.speaker,
    of_agent = view.source.is_agent,
    ended = require("claude-ide.transcript.state").is_ended(view),
    waited = require("claude-ide.transcript.state").waits_of(view),
  }
end

---Of a message of a subagent that is shown within the view.
---@param view claude-ide.transcript.View
---@param agent claude-ide.transcript.AgentView
---@param row claude-ide.sessions.Row
---@param previous? claude-ide.sessions.Row
---@return claude-ide.transcript.RowContext
function M.of_agent(view, agent, row, previous)
  local source = agent.source or view.source
  return {
    row = row,
    previous = previous,
    cwd = view.cwd,
    source = source.key,
    max_lines = source.max_lines,
    message = row.id,
    agents = view.agents,
    of_agent = true,
    ended = agent.agent ~= nil and not agent.agent.running
      or require("claude-ide.transcript.state").is_ended(view),
    waited = require("claude-ide.transcript.state").waits_of(view),
  }
end

return M
