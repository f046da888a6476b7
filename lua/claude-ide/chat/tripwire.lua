-- Says loudly that a file changed though nobody allowed it here: a mode, a rule or a hook did, or the agent itself.
local M = {}

---Modes in which the user has said that edits need no question.
local UNASKED = { acceptEdits = true, bypassPermissions = true, auto = true }
---Files of one call that are named.
local MOST_NAMED = 20

---@param chat claude-ide.chat.Chat
---@param paths string[]
local function tell(chat, paths)
  local name, were = vim.fs.basename(paths[1]), "was"
  if #paths > 1 then
    name, were = ("%s and %d more"):format(name, #paths - 1), "were"
  end
  local why = chat.acp and "" or ": a rule or a hook allows it"
  require("claude-ide.ui.notice").warn({
    ("%s %s changed without asking you%s. `:Claude review` shows it."):format(name, were, why),
    ("%s %s changed without asking you."):format(name, were),
  })
  why = chat.acp and "" or ": a rule or a hook of Claude's allows it"
  local lines = {}
  for at = 1, math.min(#paths, MOST_NAMED) do
    lines[at] = ("%s was changed without asking you%s."):format(paths[at], why)
  end
  if #paths > MOST_NAMED then
    lines[#lines + 1] = ("… and %d more files."):format(#paths - MOST_NAMED)
  end
  local words = table.concat(lines, "\n")
  require("claude-ide.log").warn("in mode %s: %s", chat.mode or "default", words)
  chat.store:put("notice", words)
end

---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
---@param more? string[] paths that were changed beside those of the outcomes
function M.results(chat, results, more)
  if UNASKED[chat.mode or "default"] then
    return
  end
  local paths = {}
  for _, pair in ipairs(results) do
    local outcome = pair[2].outcome
    local is_change = outcome and outcome.type == "file_change" and not pair[2].is_error
    -- A plan is the agent's own file: it may write that one while it plans.
    local is_plan = is_change
      and chat.mode == "plan"
      and (outcome.path or ""):find("/plans/[^/]+%.md$") ~= nil
    local is_judged = chat.acp and chat.refused[pair[1]] -- by what is on the disk
    if is_change and not is_plan and not is_judged and not chat.granted[pair[1]] then
      paths[#paths + 1] = outcome.path or "a file"
    end
  end
  vim.list_extend(paths, more or {})
  if #paths > 0 then
    tell(chat, paths)
  end
end

return M
