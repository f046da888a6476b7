-- getCurrentFile, a plain method: the file the user works on, or null.
local M = {}

---@param args table
---@param respond claude-ide.Respond
function M.run(args, respond)
  local active = require("claude-ide.tools.get_open_editors").active()
  respond(active and require("claude-ide.tools.get_open_files").describe(active, active) or vim.NIL)
end

return M
