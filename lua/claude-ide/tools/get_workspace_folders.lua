-- getWorkspaceFolders: the folders of the project, the main one first.
local M = {}

---@param _ table
---@param respond claude-ide.Respond
function M.run(_, respond)
  local folders = require("claude-ide.workspace").folders()
  respond({
    success = true,
    folders = #folders > 0 and folders or require("claude-ide.json").EMPTY_ARRAY,
    rootPath = folders[1] or vim.uv.cwd(),
  })
end

return M
