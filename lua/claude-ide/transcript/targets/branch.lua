-- A message where the conversation forks: its other branches.

---@type claude-ide.transcript.TargetKind
local M = {}

function M.enter(view)
  require("claude-ide.transcript.branch").choose(view)
end

return M
