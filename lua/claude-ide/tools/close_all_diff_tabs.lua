-- Ends all diffs of the client. The CLI asks for it with each prompt.
---@type claude-ide.Tool
local M = {}

---@param _ table
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(_, respond, call)
  require("claude-ide.journal").turn_started(call.client, call.at)
  respond({ count = require("claude-ide.tools.client_source").prompt_submitted(call.client) })
end

return M
