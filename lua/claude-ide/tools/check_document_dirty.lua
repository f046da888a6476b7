-- checkDocumentDirty: whether an open file has changes that are not on disk.
local M = {}

---@param args { filePath: string }
---@param respond claude-ide.Respond
function M.run(args, respond)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(args.filePath)
  if not buf or not buffer.is_file(buf) then
    respond({ success = false, message = "Document not open: " .. args.filePath })
    return
  end
  respond({
    success = true,
    filePath = args.filePath,
    isDirty = vim.api.nvim_get_option_value("modified", { buf = buf }),
    isUntitled = false,
  })
end

return M
