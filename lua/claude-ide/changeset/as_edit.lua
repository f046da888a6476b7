-- A changeset as one of the proposed edits that commands list, go to and decide (`claude-ide.decisions.Edits`).
local M = {}

---@return table
local function presenter()
  return require("claude-ide.changeset.presenter")
end

---@param changeset claude-ide.Changeset
---@return boolean
function M.is_here(changeset)
  return presenter().is_here(changeset)
end

---@param changeset claude-ide.Changeset
---@return boolean
function M.is_seen(changeset)
  return presenter().is_seen(changeset)
end

---@param changeset claude-ide.Changeset
---@return string
function M.called(changeset)
  return changeset.title
end

---@param changeset claude-ide.Changeset
---@return table
function M.item(changeset)
  local files, added, removed = {}, 0, 0
  for i, entry in ipairs(changeset.entries) do
    local left = require("claude-ide.changeset.texts").left(entry)
    local comparison = entry.file.comparison
    files[i] = {
      path = entry.file.path,
      added = left.added,
      removed = left.removed,
      first = comparison and comparison.hunks[1] and comparison.hunks[1].old,
    }
    added, removed = added + left.added, removed + left.removed
  end
  return {
    path = files[1].path,
    tab_name = changeset.title,
    files = files,
    added = added,
    removed = removed,
    first = files[1].first,
    tab = presenter().tab(changeset),
  }
end

---@param changeset claude-ide.Changeset
---@param path? string
---@return boolean? ok
---@return string? err
function M.focus(changeset, path)
  local locked = require("claude-ide.ui.guard.waits").why_locked()
  if locked then
    return nil, locked
  end
  presenter().show(changeset, true, path)
  return true
end

---@param changeset claude-ide.Changeset
---@return boolean? ok
function M.accept(changeset)
  presenter().accept(changeset)
  return true
end

---@param changeset claude-ide.Changeset
---@param words? string
function M.reject(changeset, words)
  presenter().reject(changeset, words)
end

return M
