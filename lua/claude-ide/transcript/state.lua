-- The session of a transcript: whether it still runs (a call without a result runs only where Claude does), and when it waited
-- for the user.

local M = {}

---@param view claude-ide.transcript.View
---@return boolean
function M.is_ended(view)
  if view.source.runs then
    return not view.source:runs()
  end
  return require("claude-ide.sessions.catalogue").running(view.session) == nil
end

---How long the session waited for the user, for the times of its calls.
---@param view claude-ide.transcript.View
---@return fun(start: integer, stop: integer): integer milliseconds
function M.waits_of(view)
  return function(start, stop)
    return require("claude-ide.sessions.waits").within(view.session, start, stop)
  end
end

return M
