-- The notebook that a call names: its buffer where it is open, with the user's unsaved changes, else its file.
local M = {}

---@param task claude-ide.language.Task
---@param path string absolute
---@return claude-ide.notebook.Cell[]
---@return boolean unsaved
function M.cells(task, path)
  local locate = require("claude-ide.language.locate")
  local refusal = locate.refusal(path)
  if refusal then
    task:fail(refusal)
  end
  local text, err, unsaved = task:await(function(resume)
    require("claude-ide.notebook.document").text(path, resume)
  end)
  local notebook
  if text then
    notebook, err = require("claude-ide.notebook.cells").parse(text)
  end
  if not notebook then
    task:fail(("%s: %s"):format(locate.shown(path), err))
  end
  return notebook.cells, unsaved == true
end

return M
