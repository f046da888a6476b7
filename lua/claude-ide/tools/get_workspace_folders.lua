-- getWorkspaceFolders: the folders of the project, the main one first.
local M = {}

local function read()
  local folders = require("claude-ide.workspace").folders()
  return {
    success = true,
    folders = #folders > 0 and folders or require("claude-ide.json").EMPTY_ARRAY,
    rootPath = folders[1] or vim.uv.cwd(),
  }
end

---@param args { asked: integer }
---@param respond claude-ide.Respond
function M.run(args, respond)
  respond(read())
  require("claude-ide.tools.lasting_replies").keep("get_workspace_folders", read, args.asked)
end

return M
