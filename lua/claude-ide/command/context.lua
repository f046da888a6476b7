-- `:Claude context`: shows what Claude is told about the editor while it works.
local lazy = require("claude-ide.lazy")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local text_float = lazy("claude-ide.ui.text_float")

local M = {}

---@return boolean ok
function M.run()
  local texts = hook_folder.texts()
  local text = #texts > 0 and table.concat(texts, "\n\n") or "Nothing now."
  if not hook_folder.is_used() then
    text = "Nothing: `:Claude` has not started a CLI, or `hooks.enabled` or all of `context` is off."
  end
  text_float.show(text, "What Claude is told")
  return true
end

return M
