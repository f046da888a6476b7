-- `:Claude context`: shows what Claude is told about the editor while it works.
local M = {}

---@return boolean ok
function M.run()
  local folder = require("claude-ide.terminal.hook_folder")
  local texts = folder.texts()
  local text = #texts > 0 and table.concat(texts, "\n\n") or "Nothing now."
  if not folder.is_used() then
    text = "Nothing: `:Claude` has not started a CLI, or `hooks.enabled` or all of `context` is off."
  end
  require("claude-ide.ui.text_float").show(text, "What Claude is told")
  return true
end

return M
