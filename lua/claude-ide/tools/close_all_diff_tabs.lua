-- Ends all diffs of the client. The CLI asks for it with each prompt.
---@type claude-ide.Tool
local M = {}

---@param _ table
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(_, respond, call)
  require("claude-ide.journal").turn_started(call.client)
  respond({ count = require("claude-ide.diff").close_client(call.client) })
end

return M
