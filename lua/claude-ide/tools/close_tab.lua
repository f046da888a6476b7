-- Ends a diff of the client by its name: most often because it was answered in the terminal.
---@type claude-ide.Tool
local M = {}

---@class claude-ide.tool.CloseTab.Args
---@field tab_name string what the client called the diff, or the path of its file

---@param args claude-ide.tool.CloseTab.Args
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(args, respond, call)
  respond({ closed = require("claude-ide.tools.client_source").close_by_name(call.client, args.tab_name) })
end

return M
