-- Shows an edit that the client proposes, and answers when the user has decided: `diff/`.
---@type claude-ide.Tool
local M = {}

---@class claude-ide.tool.OpenDiff.Args
---@field old_file_path string
---@field new_file_path? string default: old_file_path
---@field new_file_contents string
---@field tab_name? string default: the path
---@field written_by? "server" who writes the file when it is accepted; default: the client

---@class claude-ide.tool.OpenDiff.Result
---@field outcome "saved"|"rejected"
---@field contents? string the exact bytes to write, with "saved"

---@param text? string
---@return string? text nil: it is not given
local function given(text)
  return text ~= "" and text or nil
end

---@param args claude-ide.tool.OpenDiff.Args
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(args, respond, call)
  local writes = args.written_by == "server" and "editor" or "agent"
  require("claude-ide.tools.client_source").propose(call, respond, writes, {
    path = given(args.new_file_path) or args.old_file_path,
    old_path = given(args.old_file_path),
    tab_name = given(args.tab_name),
    contents = args.new_file_contents,
  })
end

---@param call claude-ide.Call
function M.cancel(call)
  require("claude-ide.tools.client_source").cancel(call)
end

return M
