-- The card: what Claude asks, over the user's file. Chats and CLIs in terminals ask here: for a permission, answers to questions, or the
-- fields of a form. A plan gets a tab page. Edits are diffs (proposal/).
local lazy = require("claude-ide.lazy")
local plan = lazy("claude-ide.requests.card.plan")
local window = lazy("claude-ide.requests.card.window")

local M = {}

---Shows a request to the user.
---@param asked { requester: claude-ide.requests.Requester, ask: claude-ide.chat.Ask }
function M.show(asked)
  local kind = asked.ask.kind == "questions" and "question" or asked.ask.kind
  require("claude-ide.requests.card." .. kind).ask(asked --[[@as claude-ide.chat.Request]])
end

---Focuses the oldest pending request.
function M.focus()
  if not window.focus() then
    plan.focus()
  end
end

return M
