-- Files that were moved: one is gone, another holds the same bytes.
local M = {}

---Notes in changes which of them are the two halves of a move.
---@param changes claude-ide.journal.Change[]
function M.pair(changes)
  local gone = {} ---@type table<string, claude-ide.journal.Change> by what they held
  for _, change in ipairs(changes) do
    change.moved_from, change.moved_to = nil, nil
    if change.kind == "deleted" and change.before and change.before ~= "" then
      gone[change.before] = change
    end
  end
  for _, change in ipairs(changes) do
    local from = change.kind == "created" and gone[change.current] or nil
    if from then
      change.moved_from, from.moved_to = from.path, change.path
      gone[change.current] = nil
    end
  end
end

return M
