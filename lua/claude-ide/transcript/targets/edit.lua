-- A call that changed a file: the file before and after it.

---@type claude-ide.transcript.TargetKind
local M = {}

---Where an edit is: in the session, or in a subagent that is shown within it.
---@param view claude-ide.transcript.View
---@param tool_id string
---@return claude-ide.transcript.Source
local function owner_of(view, tool_id)
  for _, agent in pairs(view.agents) do
    local source = agent.source
    for _, message in ipairs(source and agent.messages or {}) do
      for _, block in ipairs(message.blocks) do
        if source and block.id == tool_id then
          return source
        end
      end
    end
  end
  return view.source
end

function M.enter(view, target)
  local tool_id = target.tool_id
  if not tool_id then
    return false
  end
  require("claude-ide.transcript.edit").open(owner_of(view, tool_id), tool_id)
end

M.go = require("claude-ide.transcript.targets.file").go

return M
