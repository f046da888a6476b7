-- getOpenFiles, a plain method: the files in the buffer list.
local M = {}

---How the plain methods speak of one file.
---@param buf integer
---@param active integer?
---@return { path: string, name: string, isActive: boolean, isDirty: boolean, languageId: string }
function M.describe(buf, active)
  local path = vim.api.nvim_buf_get_name(buf)
  return {
    path = path,
    name = vim.fs.basename(path),
    isActive = buf == active,
    isDirty = vim.bo[buf].modified,
    languageId = require("claude-ide.buffer").language(buf),
  }
end

---@param args table
---@param respond claude-ide.Respond
function M.run(args, respond)
  local editors = require("claude-ide.tools.get_open_editors")
  local active, files = editors.active(), {}
  for _, buf in ipairs(editors.buffers()) do
    files[#files + 1] = M.describe(buf, active)
  end
  respond(#files > 0 and files or require("claude-ide.json").EMPTY_ARRAY)
end

return M
