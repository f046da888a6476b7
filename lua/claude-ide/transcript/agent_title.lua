-- What a subagent within a transcript is called, and how much of it there is to see. Pure.

local M = {}

---@param view claude-ide.transcript.AgentView
---@return string
function M.of(view)
  local agent = view.agent
  local words = {}
  words[1] = agent and agent.agent_type and ("Subagent %s"):format(agent.agent_type) or "Subagent"
  if view.err then
    words[2] = view.err
  elseif view.loading then
    words[2] = "reading …"
  elseif view.open then
    words[2] = ("%d message%s"):format(#view.rows, #view.rows == 1 and "" or "s")
    words[3] = view.left_out > 0 and ("%d before: gf shows all"):format(view.left_out) or nil
  else
    words[2] = "Enter shows what it did"
  end
  return table.concat(words, " · ")
end

return M
