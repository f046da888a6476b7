-- Resolves a path given by a model to a file or buffer.
-- Invariant: no file outside the workspace is opened, and none that is withheld.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local disk = lazy("claude-ide.editor.buffer.disk")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local paths = lazy("claude-ide.base.path")
local privacy = lazy("claude-ide.server.privacy")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---A path as shown to the model: relative to its own folder, which is the first, so that the model's use of it finds the same file.
---@param path string absolute
---@param folders? string[] of the workspace; pass them for many paths, since finding them reads the disk
---@return string
function M.shown(path, folders)
  local own = (folders or workspace.folders())[1]
  return own and paths.within(path, own) and paths.relative(path, own) or path
end

---Resolves a path given by the model.
---@param path string
---@return string
function M.absolute(path)
  return path:sub(1, 1) == "/" and path or (workspace.folders()[1] or "") .. "/" .. path
end

---Whether a path is in the workspace, with symbolic links resolved.
---@param path string absolute
---@param folders? string[] of the workspace
---@return boolean
function M.is_inside(path, folders)
  local real = paths.real(path)
  return vim.iter(folders or workspace.folders()):any(function(folder)
    return paths.within(real, paths.real(folder))
  end)
end

---Why Claude may not access a file, if so.
---@param path string absolute
---@return string?
function M.refusal(path)
  if not M.is_inside(path) then
    return ("%s is outside of the workspace"):format(path)
  end
  if privacy.withholds(path) then
    return ("the user keeps %s private"):format(M.shown(path))
  end
  return nil
end

---The buffer of a file, with the text on disk unless modified. A file that is not open is loaded in a hidden buffer, with its language
---servers.
---@param task claude-ide.language.Task
---@param path string absolute
---@return integer buf
function M.buffer(task, path)
  path = paths.normalize(path)
  local refusal = M.refusal(path)
  if refusal then
    task:fail(refusal)
  end
  local found = buffer.find(path)
  if found and vim.api.nvim_buf_is_loaded(found) then
    hidden.load(path) -- extends the life of a hidden buffer
    task:await(function(resume)
      disk.reload_all({ found }, function()
        resume()
      end)
    end)
    return found
  end
  local buf, err = hidden.load(path)
  if not buf then
    task:fail(("%s cannot be opened: %s"):format(M.shown(path), err or "?"))
  end
  ---@cast buf integer
  return buf
end

---A symbol without arguments: `parse()` and `parse(text)` mean `parse`.
---@param symbol string
---@return string
function M.bare(symbol)
  return symbol:match("^([^(]*[^(%s])%s*%(") or symbol
end

return M
