-- The notebook that a call names: its buffer where it is open, with the person's unsaved changes, else its file.
local M = {}

local MAX_BYTES = 64 * 1024 * 1024

---@param task claude-ide.language.Task
---@param path string absolute
---@return claude-ide.notebook.Cell[]
---@return boolean unsaved
function M.cells(task, path)
  local locate, buffer = require("claude-ide.language.locate"), require("claude-ide.buffer")
  local refusal = locate.refusal(path)
  if refusal then
    task:fail(refusal)
  end
  local buf = buffer.find(path)
  local text, unsaved ---@type string?, boolean
  -- A plugin may show a notebook as something else in its buffer: then the file counts.
  if buf and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
    text, unsaved = buffer.text(buf), true
  else
    text = task:await(function(resume)
      require("claude-ide.file").read_later(path, MAX_BYTES, resume)
    end)
  end
  if not text then
    task:fail(locate.shown(path) .. " cannot be read")
  end
  local cells, err = require("claude-ide.notebook.cells").parse(text --[[@as string]])
  if not cells then
    task:fail(("%s: %s"):format(locate.shown(path), err))
  end
  ---@cast cells claude-ide.notebook.Cell[]
  return cells, unsaved == true
end

return M
