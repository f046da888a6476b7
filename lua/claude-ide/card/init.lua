-- The card: what Claude asks, over the user's file. Chats and CLIs in terminals ask here: for a permission, answers to questions, or the
-- fields of a form. A plan gets a tab page. Edits are diffs (proposal/).
local M = {}

---Shows a request to the user.
---@param request { source: claude-ide.decisions.Source, ask: claude-ide.chat.Ask }
function M.show(request)
  local kind = request.ask.kind == "questions" and "question" or request.ask.kind
  require("claude-ide.card." .. kind).ask(request --[[@as claude-ide.chat.Request]])
end

---Focuses the oldest pending request.
function M.focus()
  if not require("claude-ide.card.window").focus() then
    require("claude-ide.card.plan").focus()
  end
end

return M
