-- A subagent: what it did, here or in a transcript of its own.

---@type claude-ide.transcript.TargetKind
local M = {}

---On the line of its call, what it did comes and goes with the fold.
function M.enter(view, target)
  local agents, tool_id = require("claude-ide.transcript.agent_reader"), target.tool_id
  local agent = tool_id and view.agents[tool_id]
  if not tool_id or not agent then
    return
  elseif not target.call then
    agents.toggle(view, tool_id)
  elseif vim.fn.foldclosed(".") > 0 then
    vim.cmd("normal! zo")
    if not agent.open then
      agents.toggle(view, tool_id)
    end
  else
    if agent.open then
      agents.toggle(view, tool_id)
    end
    vim.cmd("normal! zc")
  end
end

function M.go(view, target, _, how)
  local source = view.source
  if not target.agent or not source.subagent then
    require("claude-ide.ui.notice").info("This subagent has no file of its own.")
    return
  end
  vim.cmd("normal! m'")
  if how ~= "edit" then
    vim.cmd(how == "split" and "split" or "tab split")
  end
  local win = vim.api.nvim_get_current_win()
  local wanted = { source = source:subagent(target.agent, view.cwd) }
  require("claude-ide.hub").tell("transcript_wanted", wanted, { win = win })
end

return M
