-- The session of a transcript: whether it still runs. A call without a result runs only where Claude does.

local M = {}

---@param view claude-ide.transcript.View
---@return boolean
function M.is_ended(view)
  if view.source.runs then
    return not view.source:runs()
  end
  return require("claude-ide.sessions.catalogue").running(view.session) == nil
end

return M
