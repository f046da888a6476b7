-- Where on the screen the windows of a diff are made: in a tab page of their own, among the user's windows, or over them.
local M = {}

---@param name claude-ide.ui.PlaceName
---@return claude-ide.ui.Place
function M.of(name)
  return require("claude-ide.ui.place." .. name)
end

---The place of the next diff.
---@return claude-ide.ui.PlaceName
function M.preferred()
  return require("claude-ide.config").get().diff.open_in
end

return M
