-- What the health check says of agents that chats may be with: which of them are there, and how they are run.
local M = {}

function M.check()
  vim.health.start("Agents (Agent Client Protocol)")
  local agents = require("claude-ide.chat.acp.agents")
  local own = require("claude-ide.config").get().agents
  for _, name in ipairs(agents.names()) do
    local agent, err = agents.get(name)
    local path = agent and vim.fn.exepath(agent.cmd[1] --[[@as string]]) or ""
    if agent and path ~= "" then
      vim.health.ok(("%s: %s"):format(name, table.concat(vim.list_extend({ path }, agent.cmd, 2), " ")))
    elseif own[name] then
      vim.health.warn(agent and ("%s: `%s` was not found"):format(name, agent.cmd[1]) or err or name)
    else
      vim.health.info(("%s: not installed (%s)"):format(name, agent and agent.hint or "?"))
    end
  end
end

return M
