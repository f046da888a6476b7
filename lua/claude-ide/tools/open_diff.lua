-- Shows an edit that the client proposes, and answers when the person has decided: `diff/`.
---@type claude-ide.Tool
local M = {}

---@class claude-ide.tool.OpenDiff.Result
---@field outcome "saved"|"rejected"
---@field contents? string the exact bytes to write, with "saved"

---@param args claude-ide.diff.Args
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(args, respond, call)
  require("claude-ide.diff").open(args, respond, call)
end

---@param call claude-ide.Call
function M.cancel(call)
  require("claude-ide.diff").close_call(call)
end

return M
