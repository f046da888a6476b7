-- Says loudly that a file changed though nobody allowed it here: a mode, a rule or a hook did.
local M = {}

---Modes in which the person has said that edits need no question.
local UNASKED = { acceptEdits = true, bypassPermissions = true, auto = true }

---@param chat claude-ide.chat.Chat
---@param results { [1]: string, [2]: claude-ide.sessions.ToolResult }[]
function M.results(chat, results)
  for _, pair in ipairs(results) do
    local outcome = pair[2].outcome
    local is_change = outcome and outcome.type == "file_change" and not pair[2].is_error
    -- A plan is the agent's own file: it may write that one while it plans.
    local is_plan = is_change
      and chat.mode == "plan"
      and (outcome.path or ""):find("/plans/[^/]+%.md$") ~= nil
    if is_change and not is_plan and not chat.granted[pair[1]] and not UNASKED[chat.mode or "default"] then
      local path = outcome.path or "a file"
      local name = vim.fs.basename(path)
      require("claude-ide.log").warn(
        "%s changed in mode %s with no permission asked here",
        path,
        chat.mode or "default"
      )
      require("claude-ide.ui.notice").warn({
        ("%s was changed without asking you: a rule or a hook allows it. `:Claude review` shows it."):format(
          name
        ),
        ("%s was changed without asking you."):format(name),
      })
      chat.store:put(
        "notice",
        ("%s was changed without asking you: a rule or a hook of Claude's allows it."):format(path)
      )
    end
  end
end

return M
